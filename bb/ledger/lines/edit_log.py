"""The log of one file's uncommitted changes: what happened to it, one JSON object a line, newest last.

The last whole line is the current state. A line that a killed writer left half-written is ignored, and the next append
begins a new line. The caller holds the lock of the work tree's lines.
"""

from __future__ import annotations

import os
import sys

from bb.coordination.lines import file_state
from bb.kernel import json_text
from bb.kernel.digest import digest
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.coordination.lines.file_state import FileState

SUFFIX = ".jsonl"
TAIL = 1 << 13  # bytes that are read first; most states are shorter
LONGEST = 1 << 19  # bytes; a longer log keeps its latest part
KEPT = 1 << 17
MOST_RECENT = 30  # earlier states that a look compares the file with


class EditLog:
    """The log of the file PATH in FOLDER."""

    def __init__(self, folder: str, path: str) -> None:
        self._file = os.path.join(folder, digest(path.encode("utf-8", "surrogatepass")) + SUFFIX)
        self._path = path

    def last(self) -> FileState | None:
        """The current state; None if nothing is known of the file.

        Behind a damaged line it is not known which edits are going on.
        """
        for most in (TAIL, LONGEST * 2, sys.maxsize):
            lines, is_torn = _lines(self._file, most)
            if lines:
                state = _state(lines[-1])
                if state and state.path == self._path and not is_torn:
                    return state
                break
        found = next(self._states(LONGEST * 2), None)
        return found and found.replace(editing={})

    def recent(self) -> list[FileState]:
        """The latest states, latest first."""
        found = []
        for state in self._states(LONGEST):
            found.append(state)
            if len(found) == MOST_RECENT:
                break
        return found

    def _states(self, most: int) -> Iterator[FileState]:
        for line in reversed(_tail(self._file, most)):
            state = _state(line)
            if state and state.path == self._path:
                yield state

    def append(self, state: FileState) -> None:
        """Append a state, and wait until it is on the disk."""
        line = json_text.dumps_ascii(file_state.as_json(state)).encode() + b"\n"
        try:
            fd = disk.create(self._file, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            disk.make_folder(os.path.dirname(self._file))
            fd = disk.create(self._file, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise disk.refusal(error) from error
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line
            disk.write_all(fd, line)
            disk.sync_data(fd)
        except OSError as error:
            raise disk.refusal(error) from error
        finally:
            os.close(fd)
        if size > LONGEST:
            kept = _tail(self._file, KEPT) or [line.strip()]
            disk.replace(self._file, b"".join(line + b"\n" for line in kept), durable=True)

    def contents(self) -> set[str]:
        """The ids of all contents that the log names."""
        found = {
            blob for one in self._states(sys.maxsize) for blob in (one.base.blob, one.now.blob, *one.tools.values())
        }
        return found - {""}

    def remove(self) -> None:
        disk.remove_if_there(self._file)


def names(folder: str) -> list[str]:
    """The paths that have a log."""
    found = []
    for name in disk.names(folder):
        if name.endswith(SUFFIX):
            file = os.path.join(folder, name)
            state = _last_whole(_tail(file, TAIL)) or _last_whole(_tail(file, LONGEST * 2))
            found += [state.path] if state else []
    return sorted(found)


def _last_whole(lines: list[bytes]) -> FileState | None:
    return next((state for line in reversed(lines) if (state := _state(line))), None)


def _state(line: bytes) -> FileState | None:
    """The state in LINE; None if the line is damaged. The name of a file need not be UTF-8."""
    try:
        return file_state.from_json(json_text.loads(line.decode()))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _tail(file: str, most: int) -> list[bytes]:
    """The whole lines at the end of FILE, within MOST bytes."""
    return _lines(file, most)[0]


def _lines(file: str, most: int) -> tuple[list[bytes], bool]:
    """The same, and whether a half-written line is behind them."""
    try:
        fd, status = disk.open_to_read(file)
    except OSError:
        return [], False
    try:
        start = max(status.st_size - most, 0)
        octets = os.pread(fd, status.st_size - start, start) if hasattr(os, "pread") else _read_at(fd, start)
    except OSError:
        return [], False
    finally:
        os.close(fd)
    *lines, torn = octets.split(b"\n")
    return lines[1:] if start else lines, bool(torn)


def _read_at(fd: int, start: int) -> bytes:
    os.lseek(fd, start, os.SEEK_SET)
    pieces = []
    while octets := os.read(fd, 1 << 16):
        pieces.append(octets)
    return b"".join(pieces)
