"""Checks whole segments before they are folded, with a second process on another core if there is much to read.

Checking the chain takes half of the time of a rebuild and needs only the files: the link before a segment is the link
of the last line of the segment before it. So the two processes check segments in any order. The reader folds them in
their order, and only if the link before a segment is the one at which it has arrived. If anything is not as expected,
the reader reads the segment itself, line by line.
"""

from __future__ import annotations

import marshal
from collections import deque

from bb.kernel.record import Record
from bb.ledger.files import forked
from bb.ledger.index import known_lines
from bb.ledger.journal import bulk_check
from bb.ledger.journal import line as lines
from bb.ledger.journal.line import BadLine, Link
from bb.ledger.journal.segments import lines_backwards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from bb.ledger.index.known_lines import Known
    from bb.ledger.journal.segments import Segment

MUCH = 16 << 20  # bytes from which on a second process is worth its start
WHOLE = 1 << 20  # bytes from which on a segment is checked as a whole
AHEAD = 3  # segments that the second process has to do, so that it is never idle


class Task(Record):
    """A segment to check, and the one before it, if there is any."""

    writer: str
    segment: Segment
    former: Segment | None


class CheckedSegment(Record):
    """A segment whose lines follow PREVIOUS and each other: how far it was read, its inode, the link of its last line,
    and those of its lines that must be folded."""

    previous: Link
    size: int
    inode: int
    link: Link
    known: list[Known]


class CheckedSegments:
    """`with CheckedSegments(tasks) as checked:` checks the segments of TASKS, in about this order."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._places = {task.segment.path: place for place, task in enumerate(tasks)}
        self._left = deque(range(len(tasks)))  # the tasks that nobody has begun
        self._asked: deque[int] = deque()  # the tasks of the second process
        self._found: dict[int, CheckedSegment | None] = {}
        self._second: forked.Forked | None = None

    def __enter__(self) -> Self:
        if len(self._tasks) > 1 and sum(task.segment.size() for task in self._tasks) >= MUCH and forked.is_useful():
            self._second = forked.Forked(lambda place: _to_octets(self._checked(place)))
        return self

    def __exit__(self, *_: object) -> None:
        if self._second:
            self._second.close()

    def of(self, segment: Segment) -> CheckedSegment | None:
        """The result for SEGMENT; None if the caller has to read it line by line."""
        place = self._places.get(segment.path)
        if place is None:
            return None
        while place not in self._found:
            self._ask()
            if self._second and self._asked and (not self._left or self._second.has_answer()):
                self._receive(self._second)
            else:
                ours = self._left.popleft()
                self._found[ours] = self._checked(ours)
        return self._found.pop(place)

    def _ask(self) -> None:
        while self._second and self._left and len(self._asked) < AHEAD:
            self._asked.append(self._left.popleft())
            self._second.ask(self._asked[-1])

    def _receive(self, second: forked.Forked) -> None:
        octets = second.answer()
        if octets is None:  # it was killed, or the system has an error to report: we do its tasks
            self._left.extendleft(reversed(self._asked))
            self._asked.clear()
            second.close()
            self._second = None
        else:
            self._found[self._asked.popleft()] = _from_octets(octets)

    def _checked(self, place: int) -> CheckedSegment | None:
        task = self._tasks[place]
        try:
            return _check(task.writer, task.segment, task.former)
        except BadLine:
            return None


def _check(writer: str, segment: Segment, former: Segment | None) -> CheckedSegment:
    """Check SEGMENT, which comes after the segment FORMER. BadLine if any line is not as expected."""
    link = previous = _last_link(writer, former) if former else lines.START
    inode, size = segment.status().st_ino, 0
    found: list[Known] = []
    for offset, block in segment.blocks():
        checked = bulk_check.check_octets(block.octets, block.octets.count(b"\n"), writer, link)
        if checked:
            found += known_lines.in_block(checked, link.n + 1)
            link = checked.link
        else:  # perhaps a payload was blanked
            raws, first = block.lines(), link.n + 1
            for raw in raws:
                link = lines.check(raw, writer, link)
            found += known_lines.in_lines(raws, first)
        size = offset + len(block.octets)
    return CheckedSegment(previous, size, inode, link, found)


def _last_link(writer: str, segment: Segment) -> Link:
    return lines.link_without_previous(next(lines_backwards(segment), b""), writer)


def _to_octets(checked: CheckedSegment | None) -> bytes:
    if checked is None:
        return marshal.dumps(None)
    before, last = (tuple(link.as_dict().values()) for link in (checked.previous, checked.link))
    return marshal.dumps((before, checked.size, checked.inode, last, checked.known))


def _from_octets(octets: bytes) -> CheckedSegment | None:
    plain = marshal.loads(octets)  # noqa: S302  (a copy of this process has written it)
    if plain is None:
        return None
    before, size, inode, last, known = plain
    return CheckedSegment(Link(*before), size, inode, Link(*last), known)
