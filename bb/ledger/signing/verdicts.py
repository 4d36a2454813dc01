"""Whether a signature in a chain fits the chain, and under which law lines count here.

What was found of a signature is kept in the index, beside what the lines add up to: it depends on nothing but the
line. The law is what `.bb/allowed_signers` said when somebody last looked (`ledger/records/policy.py`), and is all
that a reader needs. `cryptography` is imported by the one function that checks a signature.
"""

from __future__ import annotations

from bb.coordination.records import signers, vouching
from bb.coordination.records.vouching import ENDLESS, Reach, Signed, Standing
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.record import Record
from bb.ledger.signing import ssh_signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from bb.coordination.records.signers import Policy

    Ask = Callable[..., list[Any]]
    Counting = Callable[[str, int, int, str], bool]

RULES = "2"  # another whenever the same file comes to mean something else
FITS = ""  # what stands in the index of a signature that was checked and is right
NOT_BY_THAT_KEY = "the signature is not over these lines, or was made by another key"


class Law(Record):
    """Which lines count: the repository whose signatures they are to have, the policy, and what our own key may."""

    repo: str
    policy: Policy
    mode: str
    own: str | None = None  # our writer
    is_allowed: bool = False  # our key is listed, so that what we record counts here at once
    is_persons: bool = False  # and it is listed for the person
    basis: str = ""  # another whenever other lines may count

    @property
    def is_felt(self) -> bool:
        """Whether any line might not count."""
        return self.mode == signers.REQUIRE or (self.mode == signers.WARN and self.policy.names_the_person)

    @property
    def needs_persons_key(self) -> bool:
        """Whether the person's orders count only from a key that is listed for the person."""
        return self.mode == signers.REQUIRE or self.policy.names_the_person

    @property
    def is_shut(self) -> bool:
        """Whether what we record would count for nobody."""
        return self.mode == signers.REQUIRE and not self.is_allowed

    def reach(self, writer: str, found: Signatures) -> Reach:
        """How far the lines of WRITER count."""
        is_ours = writer == self.own and self.is_allowed
        needs_lines = self.mode == signers.REQUIRE and not is_ours
        needs_orders = self.needs_persons_key and not (is_ours and self.is_persons)
        if not (needs_lines or needs_orders):
            return Reach(ENDLESS, ENDLESS)
        signed = found.reach(self.policy, writer)
        return Reach(signed.upto if needs_lines else ENDLESS, signed.orders if needs_orders else ENDLESS)

    def counting(self, found: Signatures) -> Counting:
        """Whether line N of a writer counts, by whomever, as of a commit that it was published with up to the LAST.

        It depends on nothing but the policy and what is published, so that all clones settle alike who was admitted.
        """
        known: dict[tuple[str, int], Reach] = {}

        def counts(writer: str, n: int, last: int, by: str) -> bool:
            if (writer, last) not in known:
                known[writer, last] = found.reach(self.policy, writer, last)
            reach = known[writer, last]
            needs_order = by == ids.PERSON and self.needs_persons_key
            return (n <= reach.upto or self.mode != signers.REQUIRE) and (n <= reach.orders or not needs_order)

        return counts


def basis(repo: str, text: str, mode: str, own: tuple[str | None, bool, bool]) -> str:
    """What is another whenever other lines may count."""
    return digest("\0".join([RULES, repo, mode, text, *map(str, own)]).encode())


class Signatures:
    """The signatures that an index has met. It is asked by ASK and told by TELL."""

    def __init__(self, repo: str, ask: Ask, tell: Callable[..., None]) -> None:
        self._repo = repo
        self._ask = ask
        self._tell = tell
        self._rows: dict[str, dict[int, tuple[str, str, str, str | None]]] = {}

    def of(self, writer: str) -> list[Signed]:
        """The signatures of WRITER, newest first."""
        if writer not in self._rows:
            query = "select n, ts, head, said, flaw from signature where writer = ? order by n desc"
            self._rows[writer] = {n: (ts, head, said, flaw) for n, ts, head, said, flaw in self._ask(query, writer)}
        return [Signed(n, ts, _claimed(said)) for n, (ts, _, said, _) in self._rows[writer].items()]

    def reach(self, policy: Policy, writer: str, last: int = ENDLESS) -> Reach:
        """How far the lines of WRITER up to the LAST are signed."""
        found = (each for each in self.of(writer) if each.n <= last)
        return vouching.reach(policy, writer, found, self._flaw(writer))

    def standing(self, policy: Policy, writer: str, lines: int) -> Standing:
        return vouching.standing(policy, writer, lines, self.of(writer), self._flaw(writer))

    def _flaw(self, writer: str) -> Callable[[Signed], str | None]:
        def found(signature: Signed) -> str | None:
            _, head, said, flaw = self._rows[writer][signature.n]
            if flaw is None:
                flaw = check(statement(self._repo, writer, signature.n - 1, head), said) or FITS
                self._tell("update signature set flaw = ? where writer = ? and n = ?", flaw, writer, signature.n)
                self._rows[writer][signature.n] = (signature.ts, head, said, flaw)
            return flaw or None

        return found


def statement(repo: str, writer: str, upto: int, head: str) -> str:
    """What is signed: which repository, which writer, up to which line, and the digest of that line's head."""
    return f"bb ledger v1\nrepo {repo}\nwriter {writer}\nupto {upto}\nhead {head}\n"


def check(message: str, said: str) -> str | None:
    """What is wrong with what stands there as a signature of MESSAGE; None when it is right."""
    try:
        signature = ssh_signatures.read(ssh_signatures.decoded(said))
    except ssh_signatures.Malformed as error:
        return f"what stands there is no signature: {error}"
    if signature.namespace != ssh_signatures.LEDGER:
        return f"the signature was made for {signature.namespace[:40]!r} and not for a ledger"
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  (takes as long as starting Python)
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415

    octets = ssh_signatures.to_sign(signature.namespace, message.encode(), signature.hash)
    try:
        Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.octets, octets)
    except (InvalidSignature, ValueError):
        return NOT_BY_THAT_KEY
    return None


def _claimed(said: str) -> str | None:
    """The key that a signature says made it, in base64."""
    try:
        key = ssh_signatures.read(ssh_signatures.decoded(said)).key
    except ssh_signatures.Malformed:
        return None
    return ssh_signatures.public_line(key).split()[1]


def totals(found: Sequence[Standing]) -> dict[str, int]:
    """How many lines are what, of several writers."""
    return {
        vouching.VERIFIED: sum(each.verified for each in found),
        vouching.UNVERIFIED: sum(each.unverified for each in found),
        vouching.FORGED: sum(each.forged for each in found),
    }
