"""Verification of a writer's lines: they count up to the last line that a listed key has signed.

A signature covers the writer's whole chain up to it, because each line's head has the digest of the previous head. So
the last valid signature is enough, and the lines after it are unsigned. bb never makes a signature that does not match
its chain; lines with such a signature are called forged.

    verified     covered by a signature of a listed key
    unverified   not signed, or signed with a key that is not listed
    forged       covered only by a signature that does not match
"""

from __future__ import annotations

from bb.coordination.records import signers
from bb.kernel import clock, ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from bb.coordination.records.signers import Policy, Signer

Flaw: TypeAlias = "Callable[[Signed], str | None]"

VERIFIED, UNVERIFIED, FORGED = "verified", "unverified", "forged"
ENDLESS = 10**15  # longer than any chain

# Kinds of lines that change no state. Every other kind is an order if it is in the person's name, so a new kind is an
# order until it is listed here.
ONLY_SAID = ("chat.", "system.", "context.", "x.bb.c2a.", "x.bb.cbcl.")
NO_ORDERS = frozenset(
    ["actor.add", "actor.update", "group.create", "x.bb.seen", "x.bb.override", "x.bb.merged", "x.bb.signed"]
)
# Exceptions from ONLY_SAID: lines in the person's name that change what agents may do.
DECIDING = ("x.bb.c2a.settings", "x.bb.c2a.confirmation")


class Signed(Record):
    """A signature in a chain: its line's number and time, and the key that it names, in base64."""

    n: int
    ts: str
    key: str | None  # None if the signature cannot be parsed


class Reach(Record):
    """The number of the last line that counts, and of the last line up to which the person's orders count."""

    upto: int
    orders: int


class Verification(Record):
    """The verification result for one writer's lines."""

    writer: str
    lines: int
    verified: int
    forged: int
    persons: int  # the last line signed with a key of the person
    by: str | None = None  # the principals of the signing keys
    key: str | None = None  # the fingerprint of the last valid key, otherwise of the last key
    why: str | None = None  # the reason why some lines are not verified

    @property
    def unverified(self) -> int:
        return self.lines - self.verified - self.forged

    def verdict(self, n: int) -> str:
        """The verdict on line N."""
        if n <= self.verified:
            return VERIFIED
        return FORGED if n <= self.verified + self.forged else UNVERIFIED

    def shown(self) -> dict[str, object]:
        return self.as_dict() | {"unverified": self.unverified}


def is_order(kind: str, by: str) -> bool:
    """Whether a line is the person's order. If keys of the person are listed, only orders signed with them count."""
    return by == ids.PERSON and changes_how_things_stand(kind)


def changes_how_things_stand(kind: str) -> bool:
    """Whether a line of this KIND changes state, other than the list of agents."""
    return kind not in NO_ORDERS and (kind in DECIDING or not kind.startswith(ONLY_SAID))


def signed_by(policy: Policy, writer: str, signature: Signed) -> tuple[int, tuple[Signer, ...]]:
    """The last line that a valid SIGNATURE covers, and the lines of the file that permit it."""
    if signature.key is None:
        return 0, ()
    listed = policy.listed(signature.key, clock.parse_or(signature.ts, 0))
    revoked = policy.revoked.get(signers.fingerprint(signature.key)) if listed and policy.revoked else None
    reach = signature.n if revoked is None else min(signature.n, revoked.get(writer, 0))
    return (reach, listed) if listed and reach else (0, ())


def reach(policy: Policy, writer: str, newest_first: Iterable[Signed], flaw: Flaw) -> Reach:
    """The last lines of WRITER signed with listed keys and with the person's keys. FLAW returns what is wrong with a
    signature; it is slow, so it is called as rarely as possible."""
    upto = orders = 0
    for signature in newest_first:
        if signature.n <= orders or (signature.n <= upto and not policy.names_the_person):
            break
        far, listed = signed_by(policy, writer, signature)
        is_persons = any(signer.is_persons for signer in listed)
        if (far > upto or (is_persons and far > orders)) and flaw(signature) is None:
            upto = max(upto, far)
            orders = max(orders, far) if is_persons else orders
    return Reach(upto, orders)


def verify(policy: Policy, writer: str, lines: int, newest_first: Iterable[Signed], flaw: Flaw) -> Verification:
    """The verification result for the lines of WRITER."""
    signed = list(newest_first)
    far = reach(policy, writer, signed, flaw)
    later = [one for one in signed if one.n > far.upto]
    flaws = [(one.n, why) for one in later if (why := flaw(one))]
    good = [one for one in signed if one.n >= far.upto and signed_by(policy, writer, one)[0] == far.upto > 0]
    last = next((one.key for one in (*good, *signed) if one.key), None)
    return Verification(
        writer=writer,
        lines=lines,
        verified=min(far.upto, lines),
        forged=max((n for n, _ in flaws), default=far.upto) - far.upto,
        persons=min(far.orders, lines),
        by=signers.names([signer for one in good[:1] for signer in signed_by(policy, writer, one)[1]]) or None,
        key=signers.fingerprint(last) if last else None,
        why=None if far.upto >= lines else flaws[0][1] if flaws else _why(policy, far, later),
    )


def _why(policy: Policy, far: Reach, later: list[Signed]) -> str:
    """The reason why the lines after the verified ones are not verified."""
    keys = [one.key for one in later if one.key]
    if not keys:
        return "no signature follows them" if far.upto else "nothing is signed"
    name = signers.fingerprint(keys[0])
    if name in policy.revoked:
        return f"the key {name} has been revoked"
    if any(signer.key == keys[0] for signer in policy.signers):
        return f"the key {name} is not listed for that time, or not for the ledger"
    return f"the key {name} is not listed"
