"""Hints for a fleet, where no line is kept: a reservation is waited for instead."""

from __future__ import annotations

WAIT = "--wait 300"
IN_LINE = (
    ("get in line, and do something else meanwhile", "wait for it"),
    ("get in line for the rest", "wait for the rest"),
    ("get in line for it", "wait for it"),
    ("get in line for them", "wait for them"),
    ("get in line for the file", "wait for the file"),
    ("get in line behind it", "wait for it"),
    ("get in line", "wait for it"),
    ("gets in line and keeps the place without waiting", "waits again"),
)


def without_line(text: str) -> str:
    """TEXT with the command that waits in place of the one that gets in line."""
    for one, other in IN_LINE:
        text = text.replace(one, other)
    return text.replace("--queue", WAIT)
