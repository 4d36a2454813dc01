"""Checks whether a signature in a chain is valid, and decides under the law which lines count here.

The result of a check depends only on the line, so the index keeps it. The law holds the contents of
`.bb/allowed_signers` as last read (`ledger/records/policy.py`); readers need nothing else.
"""

from __future__ import annotations

from bb.coordination.records import signed_lines, signers
from bb.coordination.records.signed_lines import ENDLESS, Reach, Signed, Verification
from bb.kernel import ids
from bb.kernel.digest import digest
from bb.kernel.record import Record
from bb.ledger.signing import ed25519, ssh_signatures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from bb.coordination.records.signers import Policy
    from bb.ledger.journal.line import Link
    from bb.ledger.signing.keys import Key

Ask: TypeAlias = "Callable[..., list[Any]]"
Counting: TypeAlias = "Callable[[str, int, int, str], bool]"

RULES = "2"  # to be changed whenever the same file gets another meaning
FITS = ""  # the index's entry for a signature that was checked and is valid
NOT_BY_THAT_KEY = "the signature does not cover these lines, or it was made with another key"


class SigningLaw(Record):
    """Which lines count: the repository that signatures must name, the policy, and the rights of our own key."""

    repo: str
    policy: Policy
    mode: str
    own: str | None = None  # our writer
    is_allowed: bool = False  # our key is listed, so our own lines count here at once
    is_persons: bool = False  # our key is listed for the person
    basis: str = ""  # changes whenever other lines may count

    @property
    def may_exclude_lines(self) -> bool:
        """Whether any line might not count."""
        return self.mode == signers.REQUIRE or (self.mode == signers.WARN and self.policy.names_the_person)

    @property
    def needs_persons_key(self) -> bool:
        """Whether the person's orders count only if they are signed with a key that is listed for the person."""
        return self.mode == signers.REQUIRE or self.policy.names_the_person

    @property
    def excludes_own_lines(self) -> bool:
        """Whether our own lines would not count in any clone."""
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
        """A function that tells whether line N of a writer, by an author, counts as of a commit with lines up to LAST.

        The answer depends only on the policy and the published lines, so all clones agree on it.
        """
        reaches: dict[tuple[str, int], Reach] = {}

        def counts(writer: str, n: int, last: int, by: str) -> bool:
            if (writer, last) not in reaches:
                reaches[writer, last] = found.reach(self.policy, writer, last)
            reach = reaches[writer, last]
            needs_order = by == ids.PERSON and self.needs_persons_key
            return (n <= reach.upto or self.mode != signers.REQUIRE) and (n <= reach.orders or not needs_order)

        return counts


def basis(repo: str, text: str, mode: str, own: tuple[str | None, bool, bool]) -> str:
    """A digest that changes whenever other lines may count."""
    return digest("\0".join([RULES, repo, mode, text, *map(str, own)]).encode())


class Signatures:
    """The signatures in an index. ASK queries the index, TELL changes it."""

    def __init__(self, repo: str, ask: Ask, tell: Callable[..., None]) -> None:
        self._repo = repo
        self._ask = ask
        self._tell = tell
        self._rows: dict[str, dict[int, tuple[str, str, str, str | None]]] = {}

    def of_writer(self, writer: str) -> list[Signed]:
        """The signatures of WRITER, newest first."""
        if writer not in self._rows:
            query = "select n, ts, head, said, flaw from signature where writer = ? order by n desc"
            self._rows[writer] = {n: (ts, head, claim, flaw) for n, ts, head, claim, flaw in self._ask(query, writer)}
        return [Signed(n, ts, _claimed(claim)) for n, (ts, _, claim, _) in self._rows[writer].items()]

    def reach(self, policy: Policy, writer: str, last: int = ENDLESS) -> Reach:
        """How far the lines of WRITER up to the LAST are signed."""
        signed = (signature for signature in self.of_writer(writer) if signature.n <= last)
        return signed_lines.reach(policy, writer, signed, self._flaw(writer))

    def standing(self, policy: Policy, writer: str, lines: int) -> Verification:
        return signed_lines.verify(policy, writer, lines, self.of_writer(writer), self._flaw(writer))

    def _flaw(self, writer: str) -> Callable[[Signed], str | None]:
        def found(signature: Signed) -> str | None:
            _, head, claim, flaw = self._rows[writer][signature.n]
            if flaw is None:
                flaw = check(statement(self._repo, writer, signature.n - 1, head), claim) or FITS
                self._tell("update signature set flaw = ? where writer = ? and n = ?", flaw, writer, signature.n)
                self._rows[writer][signature.n] = (signature.ts, head, claim, flaw)
            return flaw or None

        return found


def statement(repo: str, writer: str, upto: int, head: str) -> str:
    """The signed text: the repository, the writer, the number of the last line, and the digest of that line's head."""
    return f"bb ledger v1\nrepo {repo}\nwriter {writer}\nupto {upto}\nhead {head}\n"


def signature(key: Key, repo: str, writer: str, last: Link) -> str:
    """A signature by KEY over all lines of WRITER up to the LAST one."""
    text = statement(repo, writer, last.n, last.head_digest)
    return ssh_signatures.base64(key.sign(text.encode(), ssh_signatures.LEDGER))


def check(message: str, said: str) -> str | None:
    """Why the text SAID is not a valid signature of MESSAGE; None if it is valid."""
    try:
        signature = ssh_signatures.read(ssh_signatures.decoded(said))
    except ssh_signatures.Malformed as error:
        return f"the signature cannot be read: {error}"
    if signature.namespace != ssh_signatures.LEDGER:
        return f"the signature was made for {signature.namespace[:40]!r}, not for a ledger"
    return None if ed25519.is_valid(signature, message.encode()) else NOT_BY_THAT_KEY


def _claimed(said: str) -> str | None:
    """The key that a signature names as its own, in base64."""
    try:
        key = ssh_signatures.read(ssh_signatures.decoded(said)).key
    except ssh_signatures.Malformed:
        return None
    return ssh_signatures.public_line(key).split()[1]


def totals(found: Sequence[Verification]) -> dict[str, int]:
    """The numbers of verified, unverified and forged lines, summed over several writers."""
    return {
        signed_lines.VERIFIED: sum(standing.verified for standing in found),
        signed_lines.UNVERIFIED: sum(standing.unverified for standing in found),
        signed_lines.FORGED: sum(standing.forged for standing in found),
    }
