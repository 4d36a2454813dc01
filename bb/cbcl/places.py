"""Where in a text an octet stands, as people count: lines and columns, from 1."""

from __future__ import annotations


class Places:
    """The lines and columns of one text. Mostly they are asked for in the order of the text, and each look goes on
    from the one before, so that a thousand places take no longer than the last of them."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._at, self._line, self._column = 0, 1, 1

    def __call__(self, at: int) -> tuple[int, int]:
        """The line and the column of the octet AT."""
        if at < self._at:
            self._at, self._line, self._column = 0, 1, 1
        passed = self._octets[self._at : at].decode("utf-8", "replace")
        if breaks := passed.count("\n"):
            self._line += breaks
            self._column = len(passed) - passed.rfind("\n")
        else:
            self._column += len(passed)
        self._at = at
        return self._line, self._column
