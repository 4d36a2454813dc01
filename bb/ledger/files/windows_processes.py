"""`child.Child` for systems without a suitable `posix_spawn` (Windows, old macOS), by `subprocess`."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from bb.ledger.files.child import BLOCK, GRACE, Child, TooMuch


class SubprocessChild(Child):
    """A program started by `subprocess`."""

    _rest = b""  # `subprocess` keeps what was read ahead

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(list(command), env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603

    def communicate(self, given: bytes, patience: float, most: int | None = None) -> tuple[int | None, bytes, bytes]:
        if most is not None:
            return self._finish_within(given, patience, most)
        try:
            out, err = self._child.communicate(given, timeout=max(patience, 0.01))
        except subprocess.TimeoutExpired:
            self.stop()
            return None, b"", b""
        except BaseException:
            self.stop()
            raise
        return self._child.returncode, out, err

    def _finish_within(self, given: bytes, patience: float, most: int) -> tuple[int | None, bytes, bytes]:
        """Like `finish`, but keep at most MOST bytes of each stream. One thread serves each stream."""
        outputs: dict[str, bytes] = {}
        is_too_slow = threading.Event()

        def hear(name: str, stream: IO[bytes]) -> None:
            with suppress(OSError, ValueError):
                outputs[name] = stream.read(most + 1)
                if len(outputs[name]) > most:
                    self._child.kill()

        def tell(stream: IO[bytes]) -> None:
            with suppress(OSError, ValueError):
                stream.write(given)
                stream.close()

        def give_up() -> None:
            is_too_slow.set()
            self._child.kill()

        child = self._child
        assert child.stdin  # noqa: S101  (pipes)
        assert child.stdout  # noqa: S101
        assert child.stderr  # noqa: S101
        work = [
            threading.Thread(target=hear, args=("out", child.stdout), daemon=True),
            threading.Thread(target=hear, args=("err", child.stderr), daemon=True),
            threading.Thread(target=tell, args=(child.stdin,), daemon=True),
        ]
        clock = threading.Timer(max(patience, 0.01), give_up)
        try:
            for thread in [clock, *work]:
                thread.start()
            for thread in work:
                thread.join()
            status = child.wait()
        finally:
            clock.cancel()
            self.stop()
        out, err = outputs.get("out", b""), outputs.get("err", b"")
        if max(len(out), len(err)) > most:
            raise TooMuch
        return None if is_too_slow.is_set() else status, out, err

    def write(self, octets: bytes) -> None:
        assert self._child.stdin  # noqa: S101  (a pipe)
        self._child.stdin.write(octets)
        self._child.stdin.flush()

    def read_line(self) -> bytes:
        assert self._child.stdout  # noqa: S101
        return self._child.stdout.readline()

    def read(self, length: int) -> bytes:
        assert self._child.stdout  # noqa: S101
        return self._child.stdout.read(length)

    def _block(self) -> bytes:
        assert self._child.stdout  # noqa: S101
        return os.read(self._child.stdout.fileno(), BLOCK)

    def end(self) -> int:
        assert self._child.stdin  # noqa: S101
        self._child.stdin.close()
        return self._child.wait()

    def stop(self) -> None:
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            with suppress(OSError):  # input that was not written yet does not matter any more
                if stream:
                    stream.close()
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(GRACE)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
