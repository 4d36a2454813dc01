"""Counts in sentences: "1 event", "2 events"."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """COUNT and the noun WHAT, in the plural if needed."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
