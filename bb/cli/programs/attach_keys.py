"""Separates typed bytes for the actor's program from the key that detaches.

The key is Ctrl-\\, because shells and editors rarely use it, and users expect it to end a program. A terminal in an
extended keyboard mode sends it as an escape sequence.
"""

from __future__ import annotations

import re

# The plain control character; the kitty protocol, with or without lock keys; xterm's modifyOtherKeys.
DETACH = re.compile(rb"\x1c|\x1b\[92(?::\d*)*;(?:5|69|133|197)(?::[12])?(?:;[\d:]*)?u|\x1b\[27;5;92~")
LEAVE = re.compile(DETACH.pattern + rb"|[\x03qQ]|\x1b\[99(?::\d*)*;(?:5|69|133|197)(?::[12])?u")
# A terminal's answers to queries for its type, cursor position and colours.
ANSWER = re.compile(
    rb"\x1b\[[?>=]?[\d;:]*(?:c|R|n|t|\$y)|\x1b\[\?[\d;]*u|\x1b[\]P_][^\x07\x1b]*(?:\x07|\x1b\\)",
)


def until(key: re.Pattern[bytes], octets: bytes) -> tuple[bytes, bool]:
    """OCTETS before KEY, and whether KEY was found."""
    found = key.search(octets)
    return (octets[: found.start()], True) if found else (octets, False)


def without_answers(octets: bytes) -> bytes:
    """OCTETS without the terminal's own answers."""
    return ANSWER.sub(b"", octets)
