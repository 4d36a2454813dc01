"""Who has said a message, as far as a signature proves it.

The signature of a message covers in which ledger it is said, who says it, and all of the message:

    (bb-message "LEDGER" @AUTHOR MESSAGE)

is what is signed, in canonical form. Nothing of that but the message is sent: who checks it knows in which ledger it
came, and from whom. So a signed message that is copied into another ledger, or said again in the name of somebody else
who has the same key, has no good signature there. No message and no definition has that head, so that the signature of
one is never that of the other. A definition is signed by itself, as the draft says: a dialect is meant to travel.
"""

from __future__ import annotations

from bb.cbcl.judge import signatures
from bb.cbcl.judge.signatures import InvalidSignature
from bb.cbcl.judge.trust import REQUIRED, UntrustedAuthor
from bb.cbcl.read import canonical
from bb.cbcl.read.fuel import CHECKING
from bb.cbcl.read.message import SIGNED, Signed, layers
from bb.cbcl.read.tree import Node, agent, listed, string, symbol
from bb.kernel.errors import Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.cbcl.judge.trust import Trust
    from bb.cbcl.read.fuel import Fuel
    from bb.cbcl.read.message import Message

BOUND = "bb-message"
VERIFIED, UNSIGNED, UNCHECKED, ELSEWHERE, FORGED = "verified", "unsigned", "unchecked", "other-ledger", "forged"
OWN, REVOKED = "own", "revoked"  # said by whoever looks; verified with a key that is trusted no longer
STATES = (VERIFIED, UNSIGNED, UNCHECKED, ELSEWHERE, FORGED)


class UnsignedMessage(Refused):
    """The message is not signed, although its author's messages have to be."""

    code = "UNSIGNED_MESSAGE"
    hint = "its author signs with `bb cbcl keygen NAME`; `bb cbcl trust signed AUTHOR preferred` takes it unsigned"


class Ledger(Record):
    """A ledger: by its id, and by those that it had before it joined one that was published."""

    id: str
    former: tuple[str, ...] = ()


class Proof(Record):
    """What a signature proves: one of STATES, the fingerprint of the KEY that fits, and WHY it proves no more."""

    state: str
    key: str = ""
    why: str = ""

    @property
    def is_good(self) -> bool:
        return self.state == VERIFIED

    def as_plain(self) -> dict[str, Any]:
        """What is proved, as every face is told of it."""
        return {"state": self.state, "key": self.key or None, **({"why": self.why} if self.why else {})}

    def shown(self, author: str, trust: Trust) -> dict[str, Any]:
        """Likewise, and whether AUTHOR's messages have to be signed."""
        return {**self.as_plain(), "demanded": trust.signed_of(author)}


NONE = Proof(UNSIGNED)


def octets(message: Node, author: str, ledger: str | None, fuel: Fuel | None = None) -> bytes:
    """What AUTHOR signs of a MESSAGE that is said in a LEDGER; the message alone where it is said in none."""
    if ledger is None:
        return canonical.octets(message, fuel)
    return canonical.octets(listed(symbol(BOUND), string(ledger), agent(author), message), fuel)


def signed_message(message: Node, seed: bytes, author: str, ledger: str | None) -> Node:
    """A MESSAGE with AUTHOR's signature around it."""
    signature = signatures.sign(seed, octets(message, author, ledger))
    return listed(symbol(SIGNED), string(signature), message)


def signature_in(message: Message) -> Signed | None:
    """The outermost signature of a message: what stands around it, nobody has signed."""
    return next((layer for layer in layers(message) if isinstance(layer, Signed)), None)


def prove(message: Message, author: str, trust: Trust, ledger: Ledger | None, said_in: str, fuel: Fuel) -> Proof:
    """What the signatures of MESSAGE prove of its having been said by AUTHOR in this LEDGER. SAID_IN is the ledger that
    its line names, which proves nothing and only tells why a signature does not fit. Signatures within a good one are
    somebody else's, whose message is handed on."""
    found = NONE
    for layer in layers(message):
        if isinstance(layer, Signed):
            proof = _proof(layer, author, trust, ledger, said_in, fuel)
            if proof.is_good:
                return proof
            found = proof if found is NONE or proof.state == FORGED else found
    return found


def _proof(signed: Signed, author: str, trust: Trust, ledger: Ledger | None, said_in: str, fuel: Fuel) -> Proof:
    keys = trust.keys_of(author)
    if not keys:
        return Proof(UNCHECKED, why=f"nobody here has a key of @{author}")
    for where, why in _contexts(ledger, said_in):
        what = octets(signed.inner.node, author, where, fuel)
        for key in keys:
            fuel.spend(CHECKING)
            try:
                signatures.check(signed.signature, what, key)
            except InvalidSignature:
                continue
            return Proof(ELSEWHERE if why else VERIFIED, signatures.fingerprint(key), why)
    return Proof(FORGED, why=f"the signature is none that @{author} made of this")


def _contexts(ledger: Ledger | None, said_in: str) -> Iterator[tuple[str | None, str]]:
    """The ledgers that a message may have been signed in, and why that is not this one."""
    if ledger is None:
        yield None, ""
        return
    known = (ledger.id, *ledger.former)
    yield from ((each, "") for each in known)
    if said_in and said_in not in known:
        yield said_in, f"it was signed in the ledger {said_in}, and this is {ledger.id}"
    yield None, "it was signed in no ledger"


def must_be_believed(proof: Proof, author: str, trust: Trust) -> None:
    """Refuse what is forged, and what proves too little where AUTHOR's messages have to be signed."""
    if proof.state == FORGED:
        raise InvalidSignature("the signature does not fit this text and this key")
    if proof.is_good or trust.signed_of(author) != REQUIRED:
        return
    if proof.state == UNCHECKED:
        raise UntrustedAuthor(f"there is no key here to check the signature of @{author} with")
    why = f": {proof.why}" if proof.why else ""
    raise UnsignedMessage(f"messages of @{author} have to be signed, and this one is not{why}")


def revised(state: str, key: str, author: str, trust: Trust) -> str:
    """What was proved with a KEY, as it stands now: a key may have been taken back since."""
    is_trusted = any(signatures.fingerprint(each) == key for each in trust.keys_of(author))
    return REVOKED if state == VERIFIED and not is_trusted else state
