"""Ids as a script writes them: without the platform in front, as long as only one platform has that id.

A script is read and compared by people, and almost every script has one platform.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ID = r"[^\s\"'`,;()\[\]{}<>|]+"
ENDS = ".:!?"


class NativeIds:
    """The ids that were given, each with its platforms."""

    def __init__(self) -> None:
        self._platforms: dict[str, set[str]] = {}
        self._pattern: re.Pattern[str] | None = None

    def note(self, given: Any) -> None:
        """Note the ids in a line, an envelope, or a list of them."""
        for line in given if isinstance(given, list) else [given]:
            source = line.get("source") if isinstance(line, Mapping) else None
            platform = source.get("platform") if isinstance(source, Mapping) else None
            if isinstance(platform, str) and platform and not str(line.get("eventId")).startswith(f"{platform}:"):
                self._platforms.setdefault(str(line.get("eventId")), set()).add(platform)
                self._pattern = None

    def scoped(self, given: str) -> str:
        """The id here of an event that was given, if only one platform has it."""
        platforms = self._platforms.get(given, set())
        return f"{next(iter(platforms))}:{given}" if len(platforms) == 1 else given

    def shortened(self, value: Any) -> Any:
        """VALUE with these ids as they were given."""
        if not self._platforms:
            return value
        if isinstance(value, str):
            return self._in_text(value)
        if isinstance(value, Mapping):
            return {self.shortened(name): self.shortened(inner) for name, inner in value.items()}
        return [self.shortened(item) for item in value] if isinstance(value, list | tuple) else value

    def _in_text(self, text: str) -> str:
        if self._pattern is None:
            platforms = sorted({platform for every in self._platforms.values() for platform in every})
            self._pattern = re.compile(rf"(?<![\w:])({'|'.join(map(re.escape, platforms))}):({ID})")
        return self._pattern.sub(self._short, text)

    def _short(self, found: re.Match[str]) -> str:
        platform, name = found[1], found[2]
        words = name.rstrip(ENDS)
        given = next(
            (one for one in (words, words.partition("~")[0], words.rpartition(":")[0]) if one in self._platforms), ""
        )
        return name if self._platforms.get(given) == {platform} else found[0]
