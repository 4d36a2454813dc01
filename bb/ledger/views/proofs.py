"""Proofs that the sender of a CBCL message wrote it, in this ledger, by the keys that this user trusts.

The result at the time when the message was heard is on the line of the hearing, and decided its effects. But anyone who
can write to the repository can write such a line. So a message is checked whenever it is shown. The recorded result is
used only for keys that were trusted then and are not any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.cbcl.judge import authorship
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.trust import Trust
from bb.cbcl.read import fuel, grammar
from bb.cbcl.read.message import Lang, core_of
from bb.cbcl.read.reader import MAXIMUM_BOUNDS, SIZE_RECOMMENDED
from bb.kernel.errors import BbError
from bb.ledger.index.index import Index
from bb.ledger.journal import clone
from bb.ledger.records.store import Store
from bb.ledger.signing.keyring import Keyring
from bb.messaging import messages
from bb.messaging.cbcl import conversation_state, registers
from bb.messaging.facts import Sent

MARK = "signed"  # a message without this word has no signature


def ledger_of(store: Store) -> Ledger:
    """The ledger of STORE, as signatures name it."""
    return Ledger(store.clone.repo, store.clone.former)


def claimed_ledger(sent: Sent) -> str:
    """The ledger that the line of a message names. This is a claim, not a proof."""
    named = (sent.cbcl or {}).get("ledger")
    return str(named) if clone.is_repo_id(named) else ""


class Proofs:
    """Checks messages one by one."""

    def __init__(self, store: Store, index: Index, env: Mapping[str, str]) -> None:
        self._index, self._keyring, self._ledger = index, Keyring(env), ledger_of(store)
        self._trust: dict[str, Trust] = {}

    def proof_of(self, agent: str, event: str, text: str = "") -> dict[str, Any]:
        """The proof for AGENT about a message, or about a TEXT that the line of its hearing repeats."""
        letter = self._index.state(messages.NAME, event)
        if letter is None:
            return authorship.NONE.as_json_for(agent, self._of_author(agent))
        sent = messages.sent(letter)
        trust = self._of_author(sent.sender)
        if sent.sender == agent:
            return authorship.Proof(authorship.OWN).as_json_for(agent, trust)
        proof = self._now(sent, text)
        state = self._index.state(conversation_state.NAME, f"{registers.MESSAGE} {agent} {event}")
        recorded = conversation_state.proof_in(state) if state else None
        if recorded and proof.state in (authorship.UNCHECKED, authorship.FORGED):
            before, key, why = recorded
            if authorship.current_state(before, key, sent.sender, trust) == authorship.REVOKED:
                proof = authorship.Proof(authorship.REVOKED, key, why)
        return proof.as_json_for(sent.sender, trust)

    def _now(self, sent: Sent, text: str) -> authorship.Proof:
        """The proof of a message by the keys that are trusted now."""
        if MARK not in sent.body:
            return authorship.NONE
        try:
            message = grammar.message(sent.body.encode("utf-8", "surrogatepass"), MAXIMUM_BOUNDS)
            if text and not isinstance(core_of(message), Lang):  # else a dialect produced TEXT from the message
                return authorship.Proof(authorship.UNSIGNED, why="the message does not contain this text")
            trust, granted = self._of_author(sent.sender), fuel.for_text(SIZE_RECOMMENDED)
            return authorship.prove(message, sent.sender, trust, self._ledger, claimed_ledger(sent), granted)
        except BbError as refusal:  # hearing the message reports the error
            return authorship.Proof(authorship.UNSIGNED, why=refusal.message)

    def _of_author(self, author: str) -> Trust:
        if author not in self._trust:
            try:
                self._trust[author] = self._keyring.trust_ignoring_own_key_errors(author)
            except BbError:  # the user's trusted keys cannot be read; hearing reports that, and display works without
                self._trust[author] = Trust()
        return self._trust[author]
