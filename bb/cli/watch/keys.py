"""Decodes the bytes from a terminal into keys.

A key is named by its letter, or by a name such as `up`. Input may end in the middle of a sequence or of a letter; the
rest then comes with the next bytes. A single ESC is a key or the start of a sequence, so it counts as a key only if
nothing follows within a short time.
"""

from __future__ import annotations

import re

ESCAPE = 0x1B
# The sequences of keys, in normal mode and in application mode.
SEQUENCES = {
    **dict.fromkeys((b"\x1b[A", b"\x1bOA"), "up"),
    **dict.fromkeys((b"\x1b[B", b"\x1bOB"), "down"),
    **dict.fromkeys((b"\x1b[H", b"\x1bOH", b"\x1b[1~", b"\x1b[7~"), "home"),
    **dict.fromkeys((b"\x1b[F", b"\x1bOF", b"\x1b[4~", b"\x1b[8~"), "end"),
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[Z": "back tab",
}
CONTROLS = {
    3: "interrupt",
    4: "end of input",
    8: "backspace",
    9: "tab",
    10: "enter",
    13: "enter",
    21: "clear line",
    23: "clear word",
    26: "suspend",
    127: "backspace",
}
# All complete sequences, known or not: CSI, a single shifted key, and strings that end with ST or BEL.
WHOLE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|[^\x1b\[O\]P_^X])")
BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O|[\]P_^X][^\x07\x1b]*\x1b?)?\Z")
LONGEST = 4096  # bytes; a longer sequence is discarded


def pressed(octets: bytes, *, is_all: bool = False) -> tuple[list[str], bytes]:
    """The keys in OCTETS, and a rest that may be the start of another key. With IS_ALL there is no rest."""
    keys: list[str] = []
    while octets:
        if octets[0] == ESCAPE:
            if BEGUN.match(octets) and not is_all:
                return keys, octets if len(octets) < LONGEST else b""
            match = WHOLE.match(octets)
            keys += [name] if (name := _named(match[0] if match else b"")) else []
            octets = octets[match.end() if match else 1 :]
            continue
        size = _letter(octets[0])
        if len(octets) < size and not is_all:
            return keys, octets
        keys += _plain(octets[:size])
        octets = octets[size:]
    return keys, b""


def _named(sequence: bytes) -> str:
    """The name of the key that sends SEQUENCE; empty if unknown. An empty sequence is the ESC key itself."""
    return SEQUENCES.get(sequence, "") if sequence else "escape"


def _letter(first: int) -> int:
    """The length of a UTF-8 letter, from its first byte."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _plain(octets: bytes) -> list[str]:
    if octets[0] in CONTROLS:
        return [CONTROLS[octets[0]]]
    letter = octets.decode("utf-8", "ignore")
    return [letter] if letter.isprintable() and letter else []
