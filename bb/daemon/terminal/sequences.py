"""Parses a program's terminal output into text, control characters and sequences.

The state machine follows ECMA-48, section 5, and real terminals. It reads one character at a time, and runs of text
or of ignored characters at once:

    ground ──ESC──> escape ──[──> csi ──final──> ground        a control character inside a sequence is executed
                       ├──]──> osc ──BEL, ST──> ground         CAN and SUB cancel a sequence, ESC starts a new one
                       ├──P X ^ _──> string ──ST──> ground
                       └──space to /──> charset ──final──> ground

8-bit control characters are recognised in their UTF-8 form, as in other UTF-8 terminals.
"""

from __future__ import annotations

import re
from typing import Protocol


class Sink(Protocol):
    """Receives text, control characters and CSI sequences."""

    def text(self, run: str) -> None: ...

    def control(self, character: str) -> None: ...

    def csi(self, final: str, arguments: str) -> None: ...


ARGUMENTS = 64  # characters; a sequence with longer arguments is ignored

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
# The common cases: a run of text, a complete plain CSI sequence, the end of a line. The state machine reads the rest.
PLAIN = re.compile("([^\x00-\x1f\x7f-\x9f]+)|\x1b\\[([0-?]{0,64})([@-~])|\r?(\n)")
STRING_ENDS = {"string": re.compile("[\x18\x1a\x1b\x9c]"), "osc": re.compile("[\x07\x18\x1a\x1b\x9c]")}
AFTER_ESCAPE = {"[": "csi", "]": "osc", **dict.fromkeys("PX^_", "string")}
AS_C1 = {"\x9b": "csi", "\x9d": "osc", **dict.fromkeys("\x90\x98\x9e\x9f", "string")}
OBEYED = {"\x0b": "\n", "\x0c": "\n", "\x84": "\n", "\x85": "\n", "\x8d": "\x8d", **{char: char for char in "\n\r\b\t"}}
AFTER_ESCAPE_OBEYED = {"D": "\n", "E": "\n", "M": "\x8d", "c": "c", "7": "7", "8": "8"}


class Parser:
    """Separates text from control sequences. A sequence may continue in the next piece."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._state = "ground"
        self._arguments = ""

    def feed(self, text: str) -> None:
        """Parse the next piece."""
        at, end, sink = 0, len(text), self._sink
        while at < end:
            if self._state == "ground":
                if match := PLAIN.match(text, at):
                    run, arguments, final, line_feed = match.groups()
                    if run:
                        sink.text(run)
                    elif final:
                        sink.csi(final, arguments)
                    else:
                        sink.control(line_feed)
                    at = match.end()
                else:
                    self._control(text[at])
                    at += 1
            elif self._state in STRING_ENDS:
                at = self._string(text, at)
            else:
                at += self._sequence(text[at])

    def _string(self, text: str, at: int) -> int:
        """Skip the content of a string, such as a title or an image: it is not shown as text."""
        match = STRING_ENDS[self._state].search(text, at)
        if not match:
            return len(text)
        self._state = "escape" if match.group() == "\x1b" else "ground"
        return match.end()

    def _control(self, character: str) -> None:
        if character in OBEYED:
            self._sink.control(OBEYED[character])
        if character == "\x1b":
            self._state = "escape"
        elif character in AS_C1:
            self._begin(AS_C1[character])
        elif character in "\x18\x1a" or character >= "\x80":
            self._state = "ground"

    def _begin(self, state: str) -> None:
        self._state, self._arguments = state, ""

    def _sequence(self, character: str) -> int:
        """Read one character of a sequence; 0 if it does not belong to one and must be read again."""
        if CONTROL.match(character):
            self._control(character)
        elif character > "~":
            self._state = "ground"
            return 0
        elif self._state == "csi":
            self._in_csi(character)
        elif " " <= character <= "/":
            self._state = "charset"
        else:
            is_charset, self._state = self._state == "charset", "ground"
            self._after_escape("" if is_charset else character)
        return 1

    def _in_csi(self, character: str) -> None:
        if character >= "@":
            self._state = "ground"
            if len(self._arguments) <= ARGUMENTS:
                self._sink.csi(character, self._arguments)
        elif len(self._arguments) <= ARGUMENTS:
            self._arguments += character

    def _after_escape(self, character: str) -> None:
        if character in AFTER_ESCAPE:
            self._begin(AFTER_ESCAPE[character])
        elif character in AFTER_ESCAPE_OBEYED:
            self._sink.control(AFTER_ESCAPE_OBEYED[character])
