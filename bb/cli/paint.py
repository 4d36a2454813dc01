"""Colour and width of the terminal, where there is one. In a pipe there is neither: plain text, nothing cut."""

from __future__ import annotations

import os
import sys

from bb.kernel.show import harmless

NARROWEST = 40
COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "dim": "2", "bold": "1"}
OF_STATE = {
    **dict.fromkeys(("active", "acked", "released", "completed"), "green"),
    **dict.fromkeys(("stale", "read", "needs_input", "taken_over", "deciding"), "yellow"),
    **dict.fromkeys(("evicted", "expired", "open", "damaged", "retired"), "red"),
    **dict.fromkeys(("unread",), "bold"),
}


def is_coloured() -> bool:
    """Whether output goes to a terminal that shows colours, and nobody asked for none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


def width() -> int | None:
    """How many columns there are; None where nobody looks at them."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return None
    return max(columns, NARROWEST) if columns else None


def painted(text: str, colour: str) -> str:
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if is_coloured() else text


def state(word: str, pad: int = 0) -> str:
    """The name of a state in its colour."""
    padded = f"{harmless(word):<{pad}}"
    return painted(padded, OF_STATE[word]) if word in OF_STATE else padded


def heading(text: str) -> str:
    return painted(text, "bold")


def fitted(text: str, taken: int = 0) -> str:
    """TEXT harmless, on one line, and cut to what is left of the terminal's width."""
    plain = harmless(text)
    columns = width()
    if columns is None or len(plain) + taken <= columns:
        return plain
    return plain[: max(columns - taken - 1, 8)] + "…"


def span(seconds: int) -> str:
    """A length of time, as people say it: 45s, 12m, 3h 5m, 2d 4h."""
    seconds = max(seconds, 0)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86_400}d {seconds % 86_400 // 3600}h"
