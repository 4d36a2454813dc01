"""A terminal that a test looks at: a program on a pseudo-terminal, and what it shows as the lines of a screen.

It understands what `bb watch` writes and nothing else. Whatever else comes is kept in `strange`, so that a test can
say that nothing did.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from collections.abc import Callable, Sequence
from typing import Self

from tests.support import Scratch, environment
from tests.waiting import PATIENCE, until

SEQUENCE = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])")
MODES = ("7", "25", "1049", "2026")


class Terminal:
    """`bb WORDS` in a repository, on a terminal of that size."""

    def __init__(
        self,
        repo: Scratch,
        *words: str,
        columns: int = 80,
        lines: int = 24,
        command: Sequence[str] | None = None,
        stdin: int | None = None,
        **settings: str,
    ) -> None:
        self.columns, self.lines = columns, lines
        self.fd, self.theirs = pty.openpty()
        self._resize()
        self.before = termios.tcgetattr(self.theirs)
        plain = {"TERM": "xterm-256color", "COLUMNS": "", "LINES": "", "PYTHONIOENCODING": "utf-8"}
        self.child = subprocess.Popen(
            command or [sys.executable, "-m", "bb", *words],
            cwd=repo.path,
            env=environment(**(repo.settings | plain | settings)),
            stdin=self.theirs if stdin is None else stdin,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
            preexec_fn=self._control,  # noqa: PLW1509  (there are no threads)
        )
        self.modes: dict[str, bool] = {}
        self.ever: set[str] = set()  # modes that were switched on or off
        self.strange: list[str] = []
        self.written = ""
        self.printed = ""  # outside the alternate screen
        self._rest = ""
        self._cells: list[list[str]] = []
        self._wipe()
        self._at = [0, 0]

    def _control(self) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSCTTY, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(PATIENCE)
        os.close(self.fd)
        os.close(self.theirs)

    # -- what a person does

    def type(self, text: str | bytes) -> None:
        os.write(self.fd, text if isinstance(text, bytes) else text.encode())

    def resize(self, columns: int, lines: int) -> None:
        self.columns, self.lines = columns, lines
        self._wipe()
        self._resize()
        self.child.send_signal(signal.SIGWINCH)

    def _resize(self) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.lines, self.columns, 0, 0))

    # -- what a person sees

    @property
    def screen(self) -> list[str]:
        """The lines, without what is blank at their ends."""
        return ["".join(cells).rstrip() for cells in self._cells]

    @property
    def text(self) -> str:
        return "\n".join(self.screen)

    def until(self, holds: Callable[[Terminal], bool], patience: float = PATIENCE) -> float:
        """Look until that holds; for how many seconds it took."""
        started = time.monotonic()
        until(
            lambda: holds(self),
            lambda: f"something on the screen\n{self.text}\nprinted {self.printed!r}",
            seconds=patience,
            pause=lambda: self._read(0.02),
        )
        return time.monotonic() - started

    def shows(self, text: str, patience: float = PATIENCE) -> float:
        return self.until(lambda _: text in self.text, patience)

    def shows_no(self, text: str, patience: float = PATIENCE) -> float:
        return self.until(lambda _: text not in self.text, patience)

    def rests(self, seconds: float) -> str:
        """Whatever is written within so many seconds."""
        before, deadline = len(self.written), time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read(0.02)
        return self.written[before:]

    def ends(self) -> int:
        """The exit status, once it has ended."""
        self.until(lambda _: self.child.poll() is not None)
        self._read(0.05)
        return self.child.wait()

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal is as it was found."""
        is_off = not self.modes.get("1049", False) and self.modes.get("25", True) and self.modes.get("7", True)
        return is_off and termios.tcgetattr(self.theirs) == self.before

    def _read(self, seconds: float) -> None:
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if ready:
            self._show(os.read(self.fd, 1 << 16).decode("utf-8", "replace"))

    def _show(self, text: str) -> None:
        self.written += text
        text = self._rest + text
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
                continue
            found = SEQUENCE.match(text, at)
            if found is None:
                if len(text) - at < 20:
                    break
                self.strange.append(text[at : at + 20])
                at += 1
                continue
            self._obey(*found.groups())
            at = found.end()
        self._rest = text[at:]

    def _put(self, letter: str) -> None:
        if not self.modes.get("1049"):
            self.printed += letter
            return
        if not letter.isprintable() and letter not in "\u200c\u200d\u3000":
            self.strange.append(letter)
            return
        if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            return
        wide = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        row, column = self._at
        if row < self.lines and column + wide <= self.columns:
            self._cells[row][column : column + wide] = [letter, ""][:wide]
        elif row >= self.lines or column >= self.columns:
            self.strange.append(f"outside: {letter}")
        self._at[1] += wide

    def _obey(self, private: str, numbers: str, letter: str) -> None:
        match private, letter:
            case "?", "h" | "l" if numbers in MODES:
                self.modes[numbers] = letter == "h"
                self.ever.add(numbers)
                if numbers == "1049":
                    self._wipe()
            case "", "H":
                row, _, column = numbers.partition(";")
                self._at = [int(row or 1) - 1, int(column or 1) - 1]
            case "", "J" if numbers == "2":
                self._wipe()
            case "", "K" if numbers == "2":
                if self._at[0] < self.lines:
                    self._cells[self._at[0]] = [" "] * self.columns
            case "", "m":
                pass
            case _:
                self.strange.append(f"{private}{numbers}{letter}")

    def _wipe(self) -> None:
        self._cells = [[" "] * self.columns for _ in range(self.lines)]
