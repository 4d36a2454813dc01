"""The inputs of CBCL commands: the text, the dialects that count as installed, and the limits for reading them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from bb.cbcl.judge import trust
from bb.cbcl.judge.expansion import Limits
from bb.cbcl.judge.library import Overlay
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.reader import BOUNDS, DEPTH_MOST, LIMIT, SIZE_MOST, Bounds, Malformed
from bb.kernel.errors import BbError, Refused
from bb.kernel.escaping import harmless
from bb.ledger.signing.keyring import Keyring
from bb.ops.agent_params import Name
from bb.ops.cbcl import answers
from bb.ops.desk import input_text
from bb.ops.desk.desk import Desk
from bb.ops.desk.input_text import Source
from bb.ops.params import Number, Text


class File(Name):
    """The file with the text; - reads stdin."""

    metavar = "FILE"


class InlineText(Text):
    """The text, instead of a file."""

    metavar = "TEXT"
    longest = SIZE_MOST


class MaxDepth(Number):
    """The maximum nesting depth of lists; 32 unless given, 64 at most."""

    most = DEPTH_MOST


class MaxSize(Number):
    """The maximum number of octets to read; 1,048,576 unless given."""

    metavar = "OCTETS"
    most = SIZE_MOST


class MaxExpansion(Number):
    """The maximum number of characters of the expansion; your policy's unless given. The dialect's also applies."""

    metavar = "CHARACTERS"
    most = trust.MOST["max_expansion_size"]


class DialectFile(Name):
    """A file with a dialect that counts as installed for this command only. May be repeated, parents first."""

    metavar = "FILE"


def bounds_of(depth: int | None, size: int | None) -> Bounds:
    """The limits for reading a text."""
    return Bounds(depth or BOUNDS.depth, size or BOUNDS.size)


def read_input(desk: Desk, file: str | None, text: str | None, bounds: Bounds) -> Source:
    """The text of a command, from a file, stdin or an argument."""
    return input_text.file_or_text(desk, file, text, bounds.size, _too_large(bounds.size))


def read(desk: Desk, file: str, bounds: Bounds) -> Source:
    """Read FILE."""
    return input_text.read(desk, file, bounds.size, _too_large(bounds.size))


def _too_large(most: int) -> Callable[[str, int], BbError]:
    """The refusal of a text that is too long. Its offset is the limit."""

    def refusal(name: str, size: int) -> BbError:
        why = f"{name} has {size:,} octets or more; the limit is {most:,}"
        return Malformed(why, hint="pass --max-size with a larger limit", reason=LIMIT, offset=most)

    return refusal


def known_with(desk: Desk, files: list[DialectFile] | None, bounds: Bounds) -> Overlay:
    """The installed dialects and the dialects in FILES."""
    dialects = Overlay(installed_dialects(desk))
    for file in files or ():
        octets = read(desk, file, bounds).octets
        with naming_file(file):
            answers.add_definitions([answers.defined(octets, bounds)[1]], dialects)
    return dialects


def installed_dialects(desk: Desk) -> Mapping[str, Definition]:
    """The dialects installed in the current repository; none if it has no ledger."""
    from bb.ledger.views.cbcl import InstalledDialects  # noqa: PLC0415  (not needed for most commands)

    try:
        store = desk.store_or_home
    except Refused:
        return {}
    return InstalledDialects(store, store.caught_up(), Keyring(desk.env)) if store.exists else {}


@contextmanager
def naming_file(file: str) -> Iterator[None]:
    """Add the name of FILE to refusals, for commands that read several files."""
    try:
        yield
    except BbError as refusal:
        refusal.message = f"{harmless(file[: input_text.LONGEST_NAME])}: {refusal.message}"
        refusal.details["file"] = file[: input_text.LONGEST_NAME]
        raise


def expansion_limits(desk: Desk, depth: int | None, size: int | None) -> Limits:
    """The limits of an expansion: the given ones, else those of the user's policy."""
    policy = Keyring(desk.env).trust().policy
    return Limits(depth or policy.max_depth, size or policy.max_expansion_size)
