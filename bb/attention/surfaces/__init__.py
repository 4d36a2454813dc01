"""The chat surfaces that bb understands. Pure: what a platform sent goes in, what happened comes out.

A surface turns one stored payload into *lines*, which are alike for every platform: a message, an edit, a deletion, a
reaction, somebody typing. Who is meant, and what it deserves, is decided elsewhere. What each platform's events become
is told in docs/surfaces.md.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Lines = list[dict[str, Any]]
    Surface = Callable[[Mapping[str, str], Mapping[str, Any]], Lines]


def _surface(name: str) -> Surface:
    """The surface NAME, whose module is imported when the first payload comes: nobody has all of them."""

    def lines(headers: Mapping[str, str], payload: Mapping[str, Any]) -> Lines:
        told: Lines = import_module(f"{__name__}.{name}").lines(headers, payload)
        return told

    return lines


SURFACES = {name: _surface(name) for name in ("github", "slack", "discord", "matrix")}
