"""A copy of this process on another core, which computes answers to numbered questions.

A copy starts at once and needs no interpreter, modules or arguments of its own. It must use nothing of this process but
its memory: it closes all files, and ends without cleaning up. A process with several threads is not copied, because
another thread may hold a lock that the copy would wait for.
"""

from __future__ import annotations

import _thread
import os
import sys

from bb.ledger.files import disk, readiness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = 8  # bytes of a number: of a question, or of an answer's length
PIPE_SIZE, SET_PIPE_SIZE = 1 << 20, 1031  # F_SETPIPE_SZ
MOST_FILES = 1 << 16


def is_useful() -> bool:
    """Whether a copy would be safe, and would have a core of its own."""
    return sys.platform == "linux" and _thread._count() == 0 and len(os.sched_getaffinity(0)) > 1


class Forked:
    """A copy of this process. ANSWER computes an answer there; it must return bytes."""

    def __init__(self, answer: Callable[[int], bytes]) -> None:
        asked, self._ask = os.pipe2(os.O_CLOEXEC)
        self._answers, answered = os.pipe2(os.O_CLOEXEC)
        self._pid = os.fork()
        if not self._pid:
            _answer_all(answer, asked, answered)
        os.close(asked)
        os.close(answered)

    def ask(self, number: int) -> None:
        """Ask a question. The answers come in the order of the questions."""
        try:
            os.write(self._ask, number.to_bytes(LENGTH, "big"))
        except BrokenPipeError:  # the copy has ended; `answer` tells that
            return

    def has_answer(self) -> bool:
        """Whether `answer` would return without waiting for long."""
        return bool(readiness.readable([self._answers], 0))

    def answer(self) -> bytes | None:
        """The next answer; None if the copy has ended."""
        length = _read(self._answers, LENGTH)
        return None if length is None else _read(self._answers, int.from_bytes(length, "big"))

    def close(self) -> None:
        """End the copy."""
        os.close(self._ask)
        os.close(self._answers)
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:  # this process ignores the ends of its children
            return


def _answer_all(answer: Callable[[int], bytes], asked: int, answered: int) -> None:
    """The life of the copy."""
    try:
        _become_quiet(asked, answered)
        while (number := _read(asked, LENGTH)) is not None:
            octets = answer(int.from_bytes(number, "big"))
            disk.write_all(answered, len(octets).to_bytes(LENGTH, "big") + octets)
    finally:
        os._exit(0)


def _become_quiet(asked: int, answered: int) -> None:
    """Close the files of the process that was copied, among them its locks, and end with it."""
    import _signal as signal  # type: ignore[import-not-found] # noqa: PLC0415

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    low, high = sorted((asked, answered))
    os.closerange(0, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, MOST_FILES)
    import fcntl  # noqa: PLC0415

    try:
        fcntl.fcntl(answered, SET_PIPE_SIZE, PIPE_SIZE)  # otherwise we would wait until every answer is read
    except OSError:
        return


def _read(fd: int, length: int) -> bytes | None:
    """LENGTH bytes; None at the end."""
    octets = b""
    while len(octets) < length:
        more = os.read(fd, length - len(octets))
        if not more:
            return None
        octets += more
    return octets
