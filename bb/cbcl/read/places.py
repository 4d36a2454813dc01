"""The line and column of an octet in a text, both counted from 1."""

from __future__ import annotations

STRIDE = 4096
CONTINUED = bytes(range(0x80, 0xC0))  # the octets of a UTF-8 character after its first


class Places:
    """The lines and columns of one text. The position of every STRIDE-th octet is cached, so a lookup far into the text
    does not take longer."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._noted = [(1, 1)]

    def __call__(self, at: int) -> tuple[int, int]:
        """The line and the column of the octet AT."""
        while len(self._noted) * STRIDE <= at:
            self._noted.append(self._after(len(self._noted) * STRIDE))
        return self._after(at)

    def _after(self, at: int) -> tuple[int, int]:
        """The position of AT, counted from the last cached position before it."""
        number = min(at // STRIDE, len(self._noted) - 1)
        line, column = self._noted[number]
        passed = self._octets[number * STRIDE : at]
        if breaks := passed.count(b"\n"):
            line, column, passed = line + breaks, 1, passed[passed.rindex(b"\n") + 1 :]
        return line, column + len(passed.translate(None, CONTINUED))
