"""Pages that were made and are still right: while the ledger stands where it stood, so does every page.

Two windows at one page, and one that asks again to be sure, cost nothing more. Ages are told by the browser, so a page
does not change because time passes; what does (somebody falls silent, a time is over) moves the cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bb.kernel.digest import digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

MOST = 32  # pages, each some ten or hundred kilobytes


class Kept:
    """The pages made while the ledger stood at one CURSOR."""

    def __init__(self) -> None:
        self._cursor = ""
        self._pages: dict[Hashable, tuple[str, str]] = {}

    async def page(self, cursor: str, name: Hashable, make: Callable[[], Awaitable[str]]) -> tuple[str, str]:
        """The page of that NAME as it is at CURSOR, and its mark; MAKE makes it if need be."""
        if cursor != self._cursor:
            self._cursor, self._pages = cursor, {}
        pages = self._pages
        if name not in pages:
            made = await make()  # meanwhile others may have come, and the ledger gone on
            if len(pages) >= MOST:
                pages.pop(next(iter(pages)))
            pages[name] = made, f'"{digest(made.encode())}"'
        return pages[name]
