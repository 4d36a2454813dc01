"""What a command of CBCL is given: the text, the dialects that count as installed, and how much of all that is read."""

from __future__ import annotations

from contextlib import contextmanager

from bb.cbcl.judge import trust
from bb.cbcl.judge.expansion import Room
from bb.cbcl.judge.library import Beside
from bb.cbcl.read.reader import BOUNDS, DEPTH_MOST, LIMIT, SIZE_MOST, Bounds, Malformed
from bb.kernel.errors import BbError, Refused
from bb.kernel.show import harmless
from bb.ledger.signing.keyring import Keyring
from bb.ops.cbcl import answers
from bb.ops.desk import sources
from bb.ops.params import Name, Number, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bb.cbcl.read.definition import Definition
    from bb.ops.desk.desk import Desk
    from bb.ops.desk.sources import Source


class File(Name):
    """The file with the text; - reads stdin."""

    metavar = "FILE"


class Given(Text):
    """The text itself, in place of a file."""

    metavar = "TEXT"
    longest = SIZE_MOST


class MaxDepth(Number):
    """How deep lists may stand in each other; 32 unless given, 64 at most."""

    most = DEPTH_MOST


class MaxSize(Number):
    """How many octets are read; 1,048,576 unless given."""

    metavar = "OCTETS"
    most = SIZE_MOST


class MaxExpansion(Number):
    """How many characters it may come to; what your policy says unless given. A dialect's own limit counts besides."""

    metavar = "CHARACTERS"
    most = trust.MOST["max_expansion_size"]


class DialectFile(Name):
    """A file with a dialect that counts as installed, for this one question. Repeat it for several, parents first."""

    metavar = "FILE"


def bounds_of(depth: int | None, size: int | None) -> Bounds:
    """How much of a text is read."""
    return Bounds(depth or BOUNDS.depth, size or BOUNDS.size)


def given(desk: Desk, file: str | None, text: str | None, bounds: Bounds) -> Source:
    """The text that a command is about."""
    return sources.given(desk, file, text, bounds.size, _too_large(bounds.size))


def read(desk: Desk, file: str, bounds: Bounds) -> Source:
    """What FILE holds."""
    return sources.read(desk, file, bounds.size, _too_large(bounds.size))


def _too_large(most: int) -> Callable[[str, int], BbError]:
    """The refusal of a text that is too long, in which no place is any better than where it became so."""

    def refusal(name: str, size: int) -> BbError:
        why = f"{name} has {size:,} octets or more; {most:,} are read"
        return Malformed(why, hint="pass --max-size, if it may be so long", reason=LIMIT, offset=most)

    return refusal


def known_with(desk: Desk, files: list[DialectFile] | None, bounds: Bounds) -> Beside:
    """The dialects that are installed here, and those in FILES."""
    found = Beside(spoken(desk))
    for file in files or ():
        octets = read(desk, file, bounds).octets
        with about(file):
            answers.install([answers.defined(octets, bounds)[1]], found)
    return found


def spoken(desk: Desk) -> Mapping[str, Definition]:
    """The dialects that are spoken in the repository we are in; none where there is no ledger."""
    from bb.ledger.views.cbcl import Spoken  # noqa: PLC0415  (for which most questions have no use)

    try:
        store = desk.store_or_home
    except Refused:
        return {}
    return Spoken(store, store.caught_up(), Keyring(desk.env)) if store.exists else {}


@contextmanager
def about(file: str) -> Iterator[None]:
    """Where several files are read, a refusal of what is in FILE names it."""
    try:
        yield
    except BbError as refusal:
        refusal.message = f"{harmless(file[: sources.LONGEST_NAME])}: {refusal.message}"
        refusal.details["file"] = file[: sources.LONGEST_NAME]
        raise


def room_of(desk: Desk, depth: int | None, size: int | None) -> Room:
    """What may be spent: what is asked for, else what this user's policy grants."""
    policy = Keyring(desk.env).trust().policy
    return Room(depth or policy.max_depth, size or policy.max_expansion_size)
