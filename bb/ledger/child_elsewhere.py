"""The same as `child.Child` where the system cannot start a process as plainly as that: on Windows, by `subprocess`."""

from __future__ import annotations

import subprocess
from contextlib import suppress

from bb.ledger.child import GRACE, Child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class PlainChild(Child):
    """A program that was started by `subprocess`."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(list(command), env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603

    def finish(self, given: bytes, patience: float) -> tuple[int | None, bytes, bytes]:
        try:
            out, err = self._child.communicate(given, timeout=max(patience, 0.01))
        except subprocess.TimeoutExpired:
            self.stop()
            return None, b"", b""
        except BaseException:
            self.stop()
            raise
        return self._child.returncode, out, err

    def say(self, octets: bytes) -> None:
        assert self._child.stdin  # noqa: S101  (a pipe)
        self._child.stdin.write(octets)
        self._child.stdin.flush()

    def line(self) -> bytes:
        assert self._child.stdout  # noqa: S101
        return self._child.stdout.readline()

    def read(self, length: int) -> bytes:
        assert self._child.stdout  # noqa: S101
        return self._child.stdout.read(length)

    def end(self) -> int:
        assert self._child.stdin  # noqa: S101
        self._child.stdin.close()
        return self._child.wait()

    def stop(self) -> None:
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            with suppress(OSError):  # what it was still to be told does not matter any more
                if stream:
                    stream.close()
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(GRACE)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
