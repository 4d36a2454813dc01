"""Reads the messages of a log on NATS as rows, and computes which ones are void.

A NATS server stores every message that a user may publish; it does not look into it. So every reader applies the same
rule to every message, in the order of the stream:

    - a writer is bound to the first named machine that one of its rows comes from; rows from elsewhere are void;
    - a row's first line has the number after the writer's last one; other rows are void;
    - a message whose form is wrong is a void row.

Honest machines make no void rows, because they let the server compare the last message of their subject. A reader
begins at a *checkpoint*, which the keeper made: the state at the beginning of the log, or where it was pruned.
"""

from __future__ import annotations

from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.carrier.door import VOID, Row, first_digest, next_digest
from bb.ledger.carrier.nats_names import ANY, Names, is_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PAGE = 8000  # writers in one message of a checkpoint; half of what a server takes by default
MOST_DIGITS = 15


class Message(Record):
    """A message of the log: its number in the stream, its subject, the header with the number of the first line, the
    lines, and the server's time in milliseconds."""

    place: int
    subject: str
    first: str
    octets: bytes
    at: int


class Written(Record):
    """How far a writer has come, and the machine that it is bound to; empty if it is bound to none."""

    last: int
    machine: str = ""


class Checkpoint(Record):
    """The state of a log after PLACE."""

    place: int
    digest: str
    writers: Mapping[str, Written] = {}

    def pages(self) -> Iterator[bytes]:
        """The checkpoint as messages."""
        names = sorted(self.writers)
        for start in range(0, max(len(names), 1), PAGE):
            part = {name: [*self.writers[name].as_dict().values()] for name in names[start : start + PAGE]}
            yield json_text.dumps({"place": self.place, "digest": self.digest, "writers": part}).encode()

    @classmethod
    def from_pages(cls, pages: Iterable[bytes]) -> Checkpoint:
        """Raises ValueError, or another error, if the form is invalid."""
        found = [json_text.read(page) for page in pages]
        place, digest = int(found[0]["place"]), str(found[0]["digest"])
        if any((page["place"], page["digest"]) != (place, digest) for page in found):
            raise ValueError("pages of two checkpoints")
        rows = ((name, Written(int(row[0]), str(row[1]))) for page in found for name, row in page["writers"].items())
        return cls(place, digest, dict(rows))


def beginning(repo: str, incarnation: str, first: int, heads: Mapping[str, int]) -> Checkpoint:
    """The checkpoint before the first row."""
    writers = {writer: Written(last) for writer, last in heads.items()}
    return Checkpoint(first - 1, first_digest(repo, incarnation), writers)


class RowReader:
    """Makes rows of messages, in order."""

    def __init__(self, names: Names, start: Checkpoint) -> None:
        self._prefix = names.row("", "")[:-1]  # up to the machine
        self.place = start.place
        self.digest = start.digest
        self.writers = dict(start.writers)

    def take(self, message: Message) -> Row:
        """The row of the next message."""
        read = self._accepted(message)
        writer, first, octets = read or (VOID, 0, b"")
        self.place = message.place
        self.digest = next_digest(self.digest, message.place, writer, first, octets)
        return Row(message.place, writer, first, octets, self.digest, message.at)

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.place, self.digest, dict(self.writers))

    def _accepted(self, message: Message) -> tuple[str, int, bytes] | None:
        """The writer, first number and lines; None if the row is void."""
        machine, _, writer = message.subject.removeprefix(self._prefix).partition(".")
        first, octets = number(message.first), message.octets
        is_named = message.subject.startswith(self._prefix) and is_token(machine) and is_token(writer)
        if not (is_named and octets.endswith(b"\n")):
            return None
        before = self.writers.get(writer) or Written(0)
        if first != before.last + 1 or (before.machine and before.machine != machine):
            return None
        self.writers[writer] = Written(before.last + octets.count(b"\n"), "" if machine == ANY else machine)
        return writer, first, octets


def number(text: str) -> int:
    """The number in a header; 0 if it is none."""
    is_one = text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and text[:1] != "0"
    return int(text) if is_one else 0
