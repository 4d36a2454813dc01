"""What of the bytes from one's own terminal is for the actor's program, and which of them mean: let me go.

The key is Ctrl-\\: shells and editors have little use for it, and people who know it expect it to end something. A
terminal that a program has asked to name keys at length sends it as a sequence of its own.
"""

from __future__ import annotations

import re

# As it was sent of old; by the kitty protocol, with or without the locks; by xterm's modifyOtherKeys.
DETACH = re.compile(rb"\x1c|\x1b\[92(?::\d*)*;(?:5|69|133|197)(?::[12])?(?:;[\d:]*)?u|\x1b\[27;5;92~")
LEAVE = re.compile(DETACH.pattern + rb"|[\x03qQ]|\x1b\[99(?::\d*)*;(?:5|69|133|197)(?::[12])?u")
# What a terminal answers when it is asked what it is, where its cursor stands, which colours it has.
ANSWER = re.compile(
    rb"\x1b\[[?>=]?[\d;:]*(?:c|R|n|t|\$y)|\x1b\[\?[\d;]*u|\x1b[\]P_][^\x07\x1b]*(?:\x07|\x1b\\)",
)


def until(key: re.Pattern[bytes], octets: bytes) -> tuple[bytes, bool]:
    """What stands before KEY in OCTETS, and whether it is there at all."""
    found = key.search(octets)
    return (octets[: found.start()], True) if found else (octets, False)


def without_answers(octets: bytes) -> bytes:
    """OCTETS without what the terminal, and nobody at it, has said."""
    return ANSWER.sub(b"", octets)
