"""How far a writer's lines count: up to the last one that a listed key has signed.

A signature covers its writer's whole chain up to it, since every line's head holds the digest of the head before. So
one good signature is enough, the last one, and what follows it is unsigned. A signature that does not fit its chain is
never made by bb: the lines around it are called forged.

    verified     covered by a signature of a listed key
    unverified   not signed, or by a key that is not listed
    forged       a signature stands there that does not fit
"""

from __future__ import annotations

from bb.coordination.records import signers
from bb.kernel import clock, ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.coordination.records.signers import Policy, Signer

    Flaw = Callable[["Signed"], str | None]

VERIFIED, UNVERIFIED, FORGED = "verified", "unverified", "forged"
ENDLESS = 10**15  # no chain is longer

# What is only said, by whomever: everything else in the person's name changes how things stand, and is an order. So a
# kind that comes later is an order until it is listed here.
ONLY_SAID = ("chat.", "system.", "context.", "x.bb.c2a.", "x.bb.cbcl.")
NO_ORDERS = frozenset(
    ["actor.add", "actor.update", "group.create", "x.bb.seen", "x.bb.override", "x.bb.merged", "x.bb.signed"]
)
SETTINGS = "x.bb.c2a.settings"


class Signed(Record):
    """A signature as it stands in a chain: its line's number and time, and the key that it says made it, in base64."""

    n: int
    ts: str
    key: str | None  # None where it is no signature at all


class Reach(Record):
    """How far a writer's lines count, and how far the person's orders among them do."""

    upto: int
    orders: int


class Standing(Record):
    """What is known of one writer's lines."""

    writer: str
    lines: int
    verified: int
    forged: int
    persons: int  # how far a key of the person's has signed
    by: str | None = None  # for whom the keys are listed that signed
    key: str | None = None  # the fingerprint of the last key that counts, else of the last there is
    why: str | None = None  # of what is not verified

    @property
    def unverified(self) -> int:
        return self.lines - self.verified - self.forged

    def verdict(self, n: int) -> str:
        """What line N is."""
        if n <= self.verified:
            return VERIFIED
        return FORGED if n <= self.verified + self.forged else UNVERIFIED

    def shown(self) -> dict[str, object]:
        return self.as_dict() | {"unverified": self.unverified}


def is_order(kind: str, by: str) -> bool:
    """Whether a line is the person's order, which counts only from the person's keys where any are listed."""
    return by == ids.PERSON and changes_how_things_stand(kind)


def changes_how_things_stand(kind: str) -> bool:
    """Whether a line of this KIND does more than to say something, or to say who is here."""
    return kind not in NO_ORDERS and (kind == SETTINGS or not kind.startswith(ONLY_SAID))


def signed_by(policy: Policy, writer: str, signature: Signed) -> tuple[int, tuple[Signer, ...]]:
    """How far a signature reaches if it fits, and the lines of the file that let it."""
    if signature.key is None:
        return 0, ()
    found = policy.listed(signature.key, clock.parse_or(signature.ts, 0))
    revoked = policy.revoked.get(signers.fingerprint(signature.key)) if found and policy.revoked else None
    reach = signature.n if revoked is None else min(signature.n, revoked.get(writer, 0))
    return (reach, found) if found and reach else (0, ())


def reach(policy: Policy, writer: str, newest_first: Iterable[Signed], flaw: Flaw) -> Reach:
    """How far the lines of WRITER are signed by listed keys, and by the person's. FLAW says what is wrong with a
    signature; it is asked as seldom as possible."""
    upto = orders = 0
    for signature in newest_first:
        if signature.n <= orders or (signature.n <= upto and not policy.names_the_person):
            break
        far, found = signed_by(policy, writer, signature)
        is_persons = any(each.is_persons for each in found)
        if (far > upto or (is_persons and far > orders)) and flaw(signature) is None:
            upto = max(upto, far)
            orders = max(orders, far) if is_persons else orders
    return Reach(upto, orders)


def standing(policy: Policy, writer: str, lines: int, newest_first: Iterable[Signed], flaw: Flaw) -> Standing:
    """What is known of the lines of WRITER."""
    found = list(newest_first)
    far = reach(policy, writer, found, flaw)
    later = [each for each in found if each.n > far.upto]
    wrong = [(each.n, why) for each in later if (why := flaw(each))]
    good = [each for each in found if each.n >= far.upto and signed_by(policy, writer, each)[0] == far.upto > 0]
    last = next((each.key for each in (*good, *found) if each.key), None)
    return Standing(
        writer=writer,
        lines=lines,
        verified=min(far.upto, lines),
        forged=max((n for n, _ in wrong), default=far.upto) - far.upto,
        persons=min(far.orders, lines),
        by=signers.names([who for each in good[:1] for who in signed_by(policy, writer, each)[1]]) or None,
        key=signers.fingerprint(last) if last else None,
        why=None if far.upto >= lines else wrong[0][1] if wrong else _why(policy, far, later),
    )


def _why(policy: Policy, far: Reach, later: list[Signed]) -> str:
    """Why the lines behind what is verified are not."""
    keys = [each.key for each in later if each.key]
    if not keys:
        return "no signature follows them" if far.upto else "nothing is signed"
    name = signers.fingerprint(keys[0])
    if name in policy.revoked:
        return f"the key {name} has been revoked"
    if any(each.key == keys[0] for each in policy.signers):
        return f"the key {name} is not listed for that time, or not for the ledger"
    return f"the key {name} is not listed"
