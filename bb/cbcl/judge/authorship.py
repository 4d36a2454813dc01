"""Signatures of messages, and what they prove about the author.

The signature of a message covers the ledger, the author and the whole message. The canonical form of

    (bb-message "LEDGER" @AUTHOR MESSAGE)

is signed; only the message is sent, since the receiver knows the ledger and the sender. A signed message that is copied
into another ledger, or repeated under another name with the same key, therefore fails the check. No message and no
definition has the head `bb-message`, so a signature of one kind never fits the other. A definition is signed without a
ledger, as the draft says, because dialects are meant to be passed on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.cbcl.judge import signatures
from bb.cbcl.judge.signatures import InvalidSignature
from bb.cbcl.judge.trust import REQUIRED, Trust, UntrustedAuthor
from bb.cbcl.read import canonical
from bb.cbcl.read.fuel import CHECKING, Fuel
from bb.cbcl.read.message import Message, Signed, layers
from bb.cbcl.read.tree import Node, agent, list_of, string, symbol
from bb.cbcl.read.words import SIGNED
from bb.kernel.errors import Refused
from bb.kernel.record import Record

BOUND = "bb-message"
VERIFIED, UNSIGNED, UNCHECKED, ELSEWHERE, FORGED = "verified", "unsigned", "unchecked", "other-ledger", "forged"
OWN, REVOKED = (
    "own",
    "revoked",
)  # only for display: the reader's own message; a message verified with a key that was removed since
STATES = (VERIFIED, UNSIGNED, UNCHECKED, ELSEWHERE, FORGED)

UnsignedMessage = Refused.declare(
    "UNSIGNED_MESSAGE",
    "The message is not signed, but messages of its author must be signed",
    hint="the author signs after `bb cbcl keygen NAME`; to accept unsigned: `bb cbcl trust signed AUTHOR preferred`",
)


class Ledger(Record):
    """The id of a ledger, and its former ids from before it joined a published ledger."""

    id: str
    former: tuple[str, ...] = ()


class Proof(Record):
    """What a signature proves: one of STATES, the fingerprint of the matching KEY, and WHY it does not prove more."""

    state: str
    key: str = ""
    why: str = ""

    @property
    def is_good(self) -> bool:
        return self.state == VERIFIED

    def as_json(self) -> dict[str, Any]:
        """The proof as JSON."""
        return {"state": self.state, "key": self.key or None, **({"why": self.why} if self.why else {})}

    def as_json_for(self, author: str, trust: Trust) -> dict[str, Any]:
        """The proof as JSON, with the setting for AUTHOR's messages: whether they must be signed."""
        return {**self.as_json(), "demanded": trust.signed_of(author)}


NONE = Proof(UNSIGNED)


def octets(message: Node, author: str, ledger: str | None, fuel: Fuel | None = None) -> bytes:
    """The octets that AUTHOR signs for a MESSAGE in a LEDGER; without a ledger, the message alone."""
    if ledger is None:
        return canonical.octets(message, fuel)
    return canonical.octets(list_of(symbol(BOUND), string(ledger), agent(author), message), fuel)


def signed_message(message: Node, seed: bytes, author: str, ledger: str | None) -> Node:
    """MESSAGE, wrapped in AUTHOR's signature."""
    signature = signatures.sign(seed, octets(message, author, ledger))
    return list_of(symbol(SIGNED), string(signature), message)


def signature_in(message: Message) -> Signed | None:
    """The outermost signature of a message. Wrappers around it are not covered."""
    return next((layer for layer in layers(message) if isinstance(layer, Signed)), None)


def prove(message: Message, author: str, trust: Trust, ledger: Ledger | None, said_in: str, fuel: Fuel) -> Proof:
    """What the signatures of MESSAGE prove: that AUTHOR sent it in this LEDGER, or less. SAID_IN is the ledger that the
    message's line names; it proves nothing and only explains why a signature does not match. Signatures inside a valid
    one belong to the author of a forwarded message and are not checked."""
    best = NONE
    for layer in layers(message):
        if isinstance(layer, Signed):
            proof = _proof(layer, author, trust, ledger, said_in, fuel)
            if proof.is_good:
                return proof
            best = proof if best is NONE or proof.state == FORGED else best
    return best


def _proof(signed: Signed, author: str, trust: Trust, ledger: Ledger | None, said_in: str, fuel: Fuel) -> Proof:
    keys = trust.keys_of(author)
    if not keys:
        return Proof(UNCHECKED, why=f"no key of @{author} is trusted here")
    for where, why in _contexts(ledger, said_in):
        covered = octets(signed.inner.node, author, where, fuel)
        for key in keys:
            fuel.spend(CHECKING)
            try:
                signatures.check(signed.signature, covered, key)
            except InvalidSignature.error:
                continue
            return Proof(ELSEWHERE if why else VERIFIED, signatures.fingerprint(key), why)
    return Proof(FORGED, why=f"the signature does not match this message and any key of @{author}")


def _contexts(ledger: Ledger | None, said_in: str) -> Iterator[tuple[str | None, str]]:
    """The ledgers that a message may have been signed in, each with the reason why it does not count, if any."""
    if ledger is None:
        yield None, ""
        return
    ids = (ledger.id, *ledger.former)
    yield from ((ledger_id, "") for ledger_id in ids)
    if said_in and said_in not in ids:
        yield said_in, f"it was signed for the ledger {said_in}, but this ledger is {ledger.id}"
    yield None, "it was signed outside of any ledger"


def require_proof(proof: Proof, author: str, trust: Trust) -> None:
    """Refuse a forged message, and one that is not proved if AUTHOR's messages must be signed."""
    if proof.state == FORGED:
        raise InvalidSignature("the signature does not match this text and this key")
    if proof.is_good or trust.signed_of(author) != REQUIRED:
        return
    if proof.state == UNCHECKED:
        raise UntrustedAuthor(f"the signature cannot be checked: no key of @{author} is trusted here")
    why = f": {proof.why}" if proof.why else ""
    raise UnsignedMessage(f"messages of @{author} must be signed, and this one is not{why}")


def current_state(state: str, key: str, author: str, trust: Trust) -> str:
    """The current STATE of a past proof: a message verified with a KEY that was removed since is revoked."""
    is_trusted = any(signatures.fingerprint(trusted_key) == key for trusted_key in trust.keys_of(author))
    return REVOKED if state == VERIFIED and not is_trusted else state
