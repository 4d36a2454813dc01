"""What a program has switched on in a terminal, so that whoever leaves can switch it off again.

A program tidies up when it ends. Who detaches from one that goes on is left with its alternate screen, its mouse, its
names of keys, unless somebody has kept count.
"""

from __future__ import annotations

import re

SEQUENCE = re.compile(rb"\x1b(?:\[\?([\d;]{1,64})([hl])|\[([<>])(\d{0,4})(?:;\d{0,4})?u|\[>4(;[12])?m|([=>])|(c))")
LONGEST = 80  # bytes of a sequence that may be cut in two
CURSOR = 25
# Cursor keys, mouse, focus, alternate screens, pasting, updates at a stroke.
KNOWN = (1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004, 2026, 47, 1047, 1049)


class Switches:
    """Follows what is shown."""

    def __init__(self) -> None:
        self._on: set[int] = set()
        self._is_hidden = False  # the cursor
        self._pushed = 0  # names of keys by the kitty protocol, on its stack
        self._others = False  # modifyOtherKeys
        self._keypad = False
        self._rest = b""

    def follow(self, octets: bytes) -> None:
        octets = self._rest + octets
        end = 0
        for found in SEQUENCE.finditer(octets):
            end = found.end()
            self._heed(found)
        rest = octets[end:][-LONGEST:]
        self._rest = rest[rest.rfind(b"\x1b") :] if b"\x1b" in rest else b""

    def _heed(self, found: re.Match[bytes]) -> None:
        numbers, to, stack, count, others, keypad, reset = found.groups()
        if reset:
            self.__init__()  # type: ignore[misc]
        elif numbers is not None:
            self._switch({int(each) for each in numbers.split(b";") if each}, is_on=to == b"h")
        elif stack is not None:
            self._pushed = self._pushed + 1 if stack == b">" else max(self._pushed - int(count or 1), 0)
        elif keypad is not None:
            self._keypad = keypad == b"="
        else:
            self._others = others is not None

    def _switch(self, modes: set[int], *, is_on: bool) -> None:
        if CURSOR in modes:
            self._is_hidden = not is_on
        known = modes & set(KNOWN)
        self._on = self._on | known if is_on else self._on - known

    def off(self) -> bytes:
        """What switches everything off that is on."""
        written = [b"\x1b[<%du" % self._pushed] if self._pushed else []
        written += [b"\x1b[>4m"] if self._others else []
        written += [b"\x1b>"] if self._keypad else []
        written += [b"\x1b[?%dl" % mode for mode in KNOWN if mode in self._on]
        written += [b"\x1b[?25h"] if self._is_hidden else []
        return b"".join([*written, b"\x1b[0m"])
