"""The chat surfaces that bb understands. Pure functions from the payload of a platform to lines.

A line has the same form for every platform: a message, an edit, a deletion, a reaction, or typing. The decisions about
it are made elsewhere. docs/surfaces.md describes the lines for each event of each platform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

Lines = list[dict[str, Any]]
Surface = Callable[[Mapping[str, str], Mapping[str, Any]], Lines]


def _surface(name: str) -> Surface:
    """The surface NAME. Its module is imported with the first payload, because few users need all of them."""

    def lines(headers: Mapping[str, str], payload: Mapping[str, Any]) -> Lines:
        parsed: Lines = import_module(f"{__name__}.{name}").lines(headers, payload)
        return parsed

    return lines


SURFACES = {name: _surface(name) for name in ("github", "slack", "discord", "matrix")}
