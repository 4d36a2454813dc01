"""SQLite, imported from its C core `_sqlite3`, which starts faster than the package `sqlite3`.

Time to start the interpreter and import SQLite, as a multiple of a bare start (Python 3.11, 150 runs):

    `import sqlite3`                      1.63    the package imports `datetime`, for converters that bb does not use
    `import _sqlite3`                     1.32    the core imports `functools`, and that imports `collections`
    `_core()`, without `functools`        1.15    the core needs only `lru_cache`, which is written in C

If an interpreter has no such core, or its core needs more of `functools`, the package is used.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from types import ModuleType


def _core() -> ModuleType:
    """Import the C core. While it is imported, a module with only `lru_cache` stands in for `functools`.

    The core itself imports `functools` when it starts, so there is no other way to spare that import. No other code can
    see the stand-in: it is removed before this function returns, and it is not used if `functools` is loaded already.
    """
    if "functools" in sys.modules:
        import _sqlite3  # noqa: PLC0415

        return _sqlite3
    from _functools import _lru_cache_wrapper  # type: ignore[import-not-found] # noqa: PLC0415

    stand_in = type(sys)("functools")
    stand_in.lru_cache = lambda size: lambda call: _lru_cache_wrapper(call, size, False, tuple)  # type: ignore[attr-defined]
    sys.modules["functools"] = stand_in
    try:
        import _sqlite3  # noqa: PLC0415
    finally:
        del sys.modules["functools"]
    return _sqlite3


if not TYPE_CHECKING:
    try:
        sqlite3 = _core()
    except (ImportError, AttributeError):
        import sqlite3

__all__ = ["in_uri", "sqlite3"]


def in_uri(path: str) -> str:
    """PATH in a URI of SQLite."""
    for mark, code in (("%", "%25"), ("?", "%3f"), ("#", "%23")):
        path = path.replace(mark, code)
    return path
