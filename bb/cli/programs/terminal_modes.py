"""Tracks the terminal modes that a program has switched on, so that they can be switched off on detach.

A program resets its modes when it ends. On detach it keeps running, so the alternate screen, mouse reports and keyboard
modes would stay on in the user's terminal.
"""

from __future__ import annotations

import re

SEQUENCE = re.compile(rb"\x1b(?:\[\?([\d;]{1,64})([hl])|\[([<>])(\d{0,4})(?:;\d{0,4})?u|\[>4(;[12])?m|([=>])|(c))")
LONGEST = 80  # bytes of a sequence that may be split between two reads
CURSOR = 25
# Cursor keys, mouse, focus, alternate screens, bracketed paste, synchronized updates.
KNOWN = (1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004, 2026, 47, 1047, 1049)


class Switches:
    """The modes that are on, tracked from the output."""

    def __init__(self) -> None:
        self._rest = b""
        self._reset()

    def _reset(self) -> None:
        self._on: set[int] = set()
        self._is_hidden = False  # the cursor
        self._pushed = 0  # keyboard modes on the stack of the kitty protocol
        self._others = False  # modifyOtherKeys
        self._keypad = False

    def follow(self, octets: bytes) -> None:
        octets = self._rest + octets
        end = 0
        for match in SEQUENCE.finditer(octets):
            end = match.end()
            self._heed(match)
        rest = octets[end:][-LONGEST:]
        self._rest = rest[rest.rfind(b"\x1b") :] if b"\x1b" in rest else b""

    def _heed(self, found: re.Match[bytes]) -> None:
        numbers, to, stack, count, others, keypad, reset = found.groups()
        if reset:
            self._reset()
        elif numbers is not None:
            self._switch({int(number) for number in numbers.split(b";") if number}, is_on=to == b"h")
        elif stack is not None:
            self._pushed = self._pushed + 1 if stack == b">" else max(self._pushed - int(count or 1), 0)
        elif keypad is not None:
            self._keypad = keypad == b"="
        else:
            self._others = others is not None

    def _switch(self, modes: set[int], *, is_on: bool) -> None:
        if CURSOR in modes:
            self._is_hidden = not is_on
        known_modes = modes & set(KNOWN)
        self._on = self._on | known_modes if is_on else self._on - known_modes

    def off(self) -> bytes:
        """The sequences that switch all active modes off."""
        written = [b"\x1b[<%du" % self._pushed] if self._pushed else []
        written += [b"\x1b[>4m"] if self._others else []
        written += [b"\x1b>"] if self._keypad else []
        written += [b"\x1b[?%dl" % mode for mode in KNOWN if mode in self._on]
        written += [b"\x1b[?25h"] if self._is_hidden else []
        return b"".join([*written, b"\x1b[0m"])
