"""Caches rendered pages until the ledger changes.

Several windows on one page, and repeated requests, are rendered once. The browser computes ages, so a page does not
change with time alone. Changes that time causes (liveness, expired reservations) move the cursor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bb.kernel.digest import digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

MOST = 32  # pages, each some ten or hundred kilobytes


class PageCache:
    """The pages rendered for one CURSOR of the ledger."""

    def __init__(self) -> None:
        self._cursor = ""
        self._pages: dict[Hashable, tuple[str, str]] = {}

    async def page(self, cursor: str, name: Hashable, make: Callable[[], Awaitable[str]]) -> tuple[str, str]:
        """The page NAME at CURSOR and its ETag; MAKE renders it if it is not cached."""
        if cursor != self._cursor:
            self._cursor, self._pages = cursor, {}
        pages = self._pages
        if name not in pages:
            made = await make()  # other requests and ledger changes may happen meanwhile
            if len(pages) >= MOST:
                pages.pop(next(iter(pages)))
            pages[name] = made, f'"{digest(made.encode())}"'
        return pages[name]
