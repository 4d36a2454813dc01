"""What is proved of a message in CBCL: that its sender has said it, in this ledger. For the user whose keys they are.

What was found when it was heard stands on the line of its being heard, and decided what came of it. But that line is a
claim like any other: whoever can write to the repository can write one. So a message is checked when it is looked at,
and the line is only asked whether a key that proves nothing now has proved something then.
"""

from __future__ import annotations

from bb.cbcl.judge import authorship
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.trust import Trust
from bb.cbcl.read import fuel, grammar
from bb.cbcl.read.message import Lang, core_of
from bb.cbcl.read.reader import SIZE_RECOMMENDED, UTMOST
from bb.kernel.errors import BbError
from bb.ledger.journal import clone
from bb.ledger.signing.keyring import Keyring
from bb.messaging import messages
from bb.messaging.cbcl import conversation_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store
    from bb.messaging.facts import Sent

MARK = "signed"  # without this word in it, a message has no signature


def ledger_of(store: Store) -> Ledger:
    """The ledger that STORE keeps, as a signature names it."""
    return Ledger(store.clone.repo, store.clone.former)


def said_in(sent: Sent) -> str:
    """The ledger that the line of a message names. It proves nothing."""
    named = (sent.cbcl or {}).get("ledger")
    return str(named) if clone.is_repo_id(named) else ""


class Proofs:
    """What is proved of messages, one after the other."""

    def __init__(self, store: Store, index: Index, env: Mapping[str, str]) -> None:
        self._index, self._keyring, self._ledger = index, Keyring(env), ledger_of(store)
        self._trust: dict[str, Trust] = {}

    def of(self, agent: str, event: str, text: str = "") -> dict[str, Any]:
        """What is proved to AGENT of a message, or of a TEXT that a line of its being heard repeats."""
        letter = self._index.state(messages.NAME, event)
        if letter is None:
            return authorship.NONE.shown(agent, self._of_author(agent))
        sent = messages.sent(letter)
        trust = self._of_author(sent.sender)
        if sent.sender == agent:
            return authorship.Proof(authorship.OWN).shown(agent, trust)
        found = self._now(sent, text)
        state = self._index.state(conversation_state.NAME, f"{conversation_state.MESSAGE} {agent} {event}")
        recorded = conversation_state.proof_in(state) if state else None
        if recorded and found.state in (authorship.UNCHECKED, authorship.FORGED):
            before, key, why = recorded
            if authorship.revised(before, key, sent.sender, trust) == authorship.REVOKED:
                found = authorship.Proof(authorship.REVOKED, key, why)
        return found.shown(sent.sender, trust)

    def _now(self, sent: Sent, text: str) -> authorship.Proof:
        """What a message proves by the keys that are trusted now."""
        if MARK not in sent.body:
            return authorship.NONE
        try:
            message = grammar.message(sent.body.encode("utf-8", "surrogatepass"), UTMOST)
            if text and not isinstance(core_of(message), Lang):  # else a dialect has made it of what was said
                return authorship.Proof(authorship.UNSIGNED, why="the message does not say this")
            trust, granted = self._of_author(sent.sender), fuel.for_text(SIZE_RECOMMENDED)
            return authorship.prove(message, sent.sender, trust, self._ledger, said_in(sent), granted)
        except BbError as refusal:  # hearing it will tell what is wrong with it
            return authorship.Proof(authorship.UNSIGNED, why=refusal.message)

    def _of_author(self, author: str) -> Trust:
        if author not in self._trust:
            try:
                self._trust[author] = self._keyring.trust_or_nobody(author)
            except BbError:  # it cannot be read whom this user trusts: hearing tells that, and looking needs no trust
                self._trust[author] = Trust()
        return self._trust[author]
