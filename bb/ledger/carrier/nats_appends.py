"""Appends the lines of writers to a log on NATS, each line once.

The server stores a row only if the last message of its subject is the one that is named, so a row that was sent twice
is refused the second time. Then the last message is looked at: it has all of the lines, or some, or other ones.
"""

from __future__ import annotations

from base64 import b64decode

from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.carrier.door import (
    MOST_READ,
    AnotherEngine,
    AppendUnknown,
    Denied,
    EngineUnreachable,
    FleetEnded,
    Forked,
    Gap,
)
from bb.ledger.carrier.nats_connection import NOBODY, STATUS, Lost
from bb.ledger.carrier.nats_log import NO_MESSAGE, find, info_of, is_closed, message_of, messages
from bb.ledger.carrier.nats_names import ANY, API, EXPECTED, FIRST
from bb.ledger.carrier.nats_rows import Message, RowReader, Written, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.carrier.door import Row
    from bb.ledger.carrier.nats_connection import Connection
    from bb.ledger.carrier.nats_log import LogReader
    from bb.ledger.carrier.nats_names import Names

LARGEST = 1 << 20  # bytes of a row; more lines are several rows
TRIES = 4
WRONG_LAST = (10071, 10164)


class Known(Record):
    """The end of a writer's lines on the server: the number of the last message of its subject (0: none), the number of
    its next line, and the row of that message if it was looked at."""

    message: int
    next: int
    last_row: Message | None = None


class Appends:
    """Appends over one connection, of a user that the server knows as the machine TOKEN."""

    def __init__(self, connection: Connection, names: Names, reader: LogReader) -> None:
        self._connection = connection
        self._names = names
        self._reader = reader
        self.token = ANY
        self._known: dict[str, Known] = {}
        self._has_stored = False  # whether the current append has stored a row

    def forget(self) -> None:
        """The connection is a new one: look at each subject again."""
        self._known.clear()

    def append(self, writer: str, first: int, lines: Sequence[bytes]) -> int:
        """As `Carrier.append`."""
        if not lines or any(b"\n" in line for line in lines):
            raise ValueError("a row has some whole lines")
        try:
            return self._append(writer, first, lines)
        except Lost as lost:
            self._known.clear()
            raise self._lost(str(lost)) from None
        except EngineUnreachable.error as unreachable:
            self._known.pop(writer, None)
            raise self._lost(unreachable.message) from unreachable
        except BaseException:
            self._known.pop(writer, None)
            raise

    def _lost(self, why: str) -> Exception:
        """The refusal of an append. Of several rows, the server may have some."""
        return AppendUnknown(why) if self._has_stored else EngineUnreachable(why)

    def _append(self, writer: str, first: int, lines: Sequence[bytes]) -> int:
        self._has_stored = False
        for _ in range(TRIES):
            known = self._known.get(writer) or self._look(writer)
            if first > known.next:
                self._refuse_if_closed()
                raise Gap(f"the engine expects line {known.next} of {writer}, not {first}", next=known.next)
            there, rest = lines[: known.next - first], lines[known.next - first :]
            place = self._place(writer, first, there, known) if there else 0
            pieces = _pieces(rest, LARGEST)
            for piece in pieces:
                stored = self._store(writer, known, piece)
                if stored is None:
                    break  # another message came first
                self._has_stored = True
                place, known = stored, Known(stored, known.next + len(piece))
                self._known[writer] = known
            else:
                return place
            self._known.pop(writer, None)
        raise AppendUnknown("other messages of this writer came first")

    def _store(self, writer: str, known: Known, piece: Sequence[bytes]) -> int | None:
        """Store a row. Returns its place; None if the last message of the subject is another one."""
        octets = b"\n".join([*piece, b""])
        headers = {EXPECTED: str(known.message), FIRST: str(known.next)}
        try:
            answer = self._connection.ask(self._names.row(self.token, writer), octets, headers)
        except Lost as lost:
            self._known.clear()
            raise AppendUnknown(f"{lost}") from None
        if answer.headers and answer.headers.get(STATUS) == NOBODY:
            self._refuse_if_closed()
            raise EngineUnreachable("the log's stream has no leader at the moment")
        found: Any = json_text.read(answer.data)
        if not (error := found.get("error")):
            return int(found["seq"])
        if error.get("err_code") in WRONG_LAST:
            return None
        raise EngineUnreachable(f"the server refuses the lines: {error.get('description')}")

    def _refuse_if_closed(self) -> None:
        if is_closed(info_of(self._connection, self._names)):
            raise FleetEnded()

    def _look(self, writer: str) -> Known:
        """Look at the end of a writer's lines. Denied if it belongs to another machine."""
        own = self._last(self._names.row(self.token, writer))
        if own is not None and own.place > self._reader.rows.place and (first := number(own.first)):
            return Known(own.place, first + own.octets.count(b"\n"), own)
        written, _ = self._all_of(writer, own.place if own else 0)
        if written.machine and written.machine != self.token:
            raise Denied(f"the lines of {writer} come from the machine {written.machine}, and this is {self.token}")
        return Known(own.place if own else 0, written.last + 1)

    def _place(self, writer: str, first: int, lines: Sequence[bytes], known: Known) -> int:
        """The place of the row that has the last of these LINES, which the server has. Forked if it has others."""
        last = known.last_row
        if last is not None and number(last.first) <= first:
            rows = [(last.place, number(last.first), last.octets)]
        else:
            rows = [(row.place, row.first, row.octets) for row in self._all_of(writer, known.message)[1]]
        place = self._reader.start.place  # of lines from before the log, or before where it was pruned
        end = first + len(lines)
        for at, begins, octets in rows:
            theirs = octets.split(b"\n")[:-1]
            begin, stop = max(begins, first), min(begins + len(theirs), end)
            if begin >= stop:
                continue
            if theirs[begin - begins : stop - begins] != list(lines[begin - first : stop - first]):
                raise Forked(f"the engine has another line {begin} of {writer}, or one after it")
            place = at
        return place

    def _all_of(self, writer: str, last: int) -> tuple[Written, list[Row]]:
        """How far a writer has come, by every message of it on the server, and its rows. The leader has told of its
        message at place LAST; a server that follows the leader may not have that yet."""
        self._reader.refresh()
        start = self._reader.start
        rows, reader = (
            [],
            RowReader(self._names, start.replace(writers={writer: start.writers.get(writer, Written(0))})),
        )
        subject, place = self._names.row("*", writer), start.place + 1
        while found := messages(
            self._connection, self._names, {"next_by_subj": subject, "seq": place, "batch": MOST_READ}
        ):
            rows += [row for row in map(reader.take, map(message_of, found)) if row.octets]
            place = reader.place + 1
        if reader.place < last:
            raise EngineUnreachable(f"the server that answers does not have place {last} yet")
        return reader.writers[writer], rows

    def _last(self, subject: str) -> Message | None:
        """The last message of a subject, as the leader of the stream has it."""
        answer = self._connection.ask_json(f"{API}.STREAM.MSG.GET.{self._names.log}", {"last_by_subj": subject})
        if answer is None:
            raise EngineUnreachable("no server answers for the log's stream")
        if error := answer.get("error"):
            if error.get("err_code") == NO_MESSAGE:
                return None
            if find(self._connection, self._names.log) is None:
                raise AnotherEngine()
            raise EngineUnreachable(f"JetStream: {error.get('description')}")
        found = answer["message"]
        return Message(found["seq"], found["subject"], _header(found.get("hdrs")), b64decode(found.get("data", "")), 0)


def _header(encoded: str | None) -> str:
    """The header with the number of the first line, in the server's form of all headers."""
    for line in b64decode(encoded or "").decode("ascii", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name == FIRST:
            return value.strip()
    return ""


def _pieces(lines: Sequence[bytes], most: int) -> list[list[bytes]]:
    """The LINES in rows of at most MOST bytes."""
    pieces: list[list[bytes]] = []
    size = 0
    for line in lines:
        if not pieces or size + len(line) + 1 > most:
            pieces.append([])
            size = 0
        pieces[-1].append(line)
        size += len(line) + 1
    return pieces
