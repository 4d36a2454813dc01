"""The terminal of `bb watch`: the alternate screen, and keys in raw mode.

The terminal is restored at the end, on a signal, on a bug, and while the process is suspended. This module needs a
terminal of Linux or macOS; its importer checks that.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from typing import NoReturn, Self

from bb.cli.screens import styling

INPUT, OUTPUT = 0, 1
BLOCK = 1 << 12
USUAL = (80, 24)  # for a terminal of unknown size
# The alternate screen, no cursor, no line wrapping. Without wrapping, a letter that is wider than computed affects only
# its own line.
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l\x1b[?7l", b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
# Synchronized update: terminals that support it draw everything between the two at once; others ignore it.
BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"
CLEAR = "\x1b[0m\x1b[2J"
# A signal is read from a pipe as one of these.
RESIZED, STOPPED, CONTINUED = b"w", b"t", b"c"
GONE = 128 + signal.SIGHUP


class Screen:
    """The screen's content and the keyboard input."""

    def __init__(self) -> None:
        self.has_keys = os.isatty(INPUT)
        self._before = termios.tcgetattr(INPUT) if self.has_keys else None
        self._lines: list[str] = []
        self._is_clear = False  # whether the screen shows exactly `_lines`
        self._bell = self._ring = -1

    def __enter__(self) -> Self:
        self._handlers = contextlib.ExitStack()
        self._handlers.enter_context(self._signalled())
        try:
            self._take()
        except BaseException:
            self._leave()
            self._handlers.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._leave()
        finally:
            self._handlers.close()

    @staticmethod
    def size() -> tuple[int, int]:
        """Columns and lines."""
        columns, lines = styling.size()
        return columns or USUAL[0], lines or USUAL[1]

    def forget(self) -> None:
        """Redraw everything next time, because the screen's content is unknown."""
        self._is_clear = False

    def draw(self, lines: Sequence[str]) -> None:
        """Show LINES. Only changed lines are written, in one update."""
        previous = self._lines if self._is_clear else []
        written = [
            f"\x1b[{place};1H\x1b[2K{line}"
            for place, line in enumerate(lines, 1)
            if place > len(previous) or previous[place - 1] != line
        ]
        written += [f"\x1b[{place};1H\x1b[2K" for place in range(len(lines) + 1, len(previous) + 1)]
        if written or not self._is_clear:
            self._write(_encoded("".join([BEGIN, *([] if self._is_clear else [CLEAR]), *written, END])))
        self._lines, self._is_clear = list(lines), True

    def wait(self, seconds: float | None) -> tuple[bytes, bytes]:
        """The typed bytes and the signals received within SECONDS; None waits without limit."""
        sources = [self._bell, *([INPUT] if self.has_keys else [])]
        ready, _, _ = select.select(sources, [], [], seconds)
        typed = self._typed() if INPUT in ready and self.has_keys else b""
        signals = os.read(self._bell, BLOCK) if self._bell in ready else b""
        return typed, signals

    def suspend(self) -> None:
        """Restore the terminal and stop the process group, as Ctrl-Z does; take the terminal again when continued."""
        self._leave()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)
        self._take()

    def resume(self) -> None:
        """Take the terminal again after another process used it."""
        self._take()

    # -- the terminal itself

    def _take(self) -> None:
        if self.has_keys:
            with _gone():
                # What was typed meanwhile is kept: after Ctrl-Z and `fg` the terminal is taken twice.
                tty.setraw(INPUT, termios.TCSADRAIN)
        self._write(ENTER)
        self._is_clear = False

    def _leave(self) -> None:
        """Restore the terminal, as far as it still exists."""
        with contextlib.suppress(OSError, SystemExit):
            self._write(LEAVE)
        if self._before is not None:
            with contextlib.suppress(OSError, termios.error):
                termios.tcsetattr(INPUT, termios.TCSAFLUSH, self._before)

    def _typed(self) -> bytes:
        with _gone():
            octets = os.read(INPUT, BLOCK)
            if not octets:
                raise SystemExit(GONE)
            return octets

    @staticmethod
    def _write(octets: bytes) -> None:
        with _gone():
            while octets:
                try:
                    octets = octets[os.write(OUTPUT, octets) :]
                except BlockingIOError:  # another program has made the terminal non-blocking, and it is slow
                    select.select([], [OUTPUT], [])

    @contextlib.contextmanager
    def _signalled(self) -> Iterator[None]:
        """Write signals to a pipe; SIGTERM and SIGHUP end the program."""
        self._bell, self._ring = os.pipe()
        os.set_blocking(self._ring, False)
        heard = {signal.SIGWINCH: RESIZED, signal.SIGTSTP: STOPPED, signal.SIGCONT: CONTINUED}

        def hear(number: int, _: object) -> None:
            with contextlib.suppress(BlockingIOError):
                os.write(self._ring, heard[signal.Signals(number)])

        handlers = dict.fromkeys(heard, hear) | dict.fromkeys((signal.SIGTERM, signal.SIGHUP), _end)
        before = [(number, signal.signal(number, handler)) for number, handler in handlers.items()]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)
            os.close(self._bell)
            os.close(self._ring)


def _end(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _gone() -> Iterator[None]:
    """End the program as SIGHUP does, if the terminal no longer exists."""
    try:
        yield
    except (OSError, termios.error) as error:
        raise SystemExit(GONE) from error


def _encoded(text: str) -> bytes:
    return text.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
