"""A command that goes on: what it has said so far, line by line, in a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Self

from tests.support import Scratch, environment
from tests.waiting import PATIENCE


class Following:
    """`bb WORDS`, read at its other end."""

    def __init__(self, repo: Scratch, *words: str, program: Sequence[str] = ("-m", "bb"), **settings: str) -> None:
        self._child = subprocess.Popen(
            [sys.executable, *program, *words],
            cwd=repo.path,
            env=environment(**(repo.settings | {"PYTHONIOENCODING": "utf-8"} | settings)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._child.stdout
        assert self._child.stderr
        self._out, self._err = self._child.stdout, self._child.stderr
        self._rest = b""
        self.pid = self._child.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._child.kill()
        self._child.wait(PATIENCE)
        self._out.close()
        self._err.close()

    def line(self) -> str:
        """The next line."""
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._out], [], [], max(left, 0))
            octets = os.read(self._out.fileno(), 1 << 16) if ready else b""
            if not octets:
                raise AssertionError(f"no line came within {PATIENCE} s: {self._rest!r}")
            self._rest += octets
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line())
        return found

    def is_silent(self, seconds: float) -> bool:
        """Whether nothing more comes for so long."""
        ready, _, _ = select.select([self._out], [], [], seconds)
        return not ready and not self._rest

    def stop_reading(self) -> None:
        self._out.close()

    def end(self, number: int = signal.SIGINT) -> int:
        self._child.send_signal(number)
        return self.status()

    def status(self) -> int:
        return self._child.wait(PATIENCE)

    def complained(self) -> str:
        """What stands on stderr, once it has ended."""
        return self._err.read().decode()
