"""SQLite, imported from its C core `_sqlite3` to start faster.

The package `sqlite3` imports `datetime` for converters that bb does not use, which takes a sixth of the interpreter's
start. The core needs only `lru_cache` from `functools`, which is written in C too; importing `functools` takes a tenth
of the start. If an interpreter has no such core, or its core needs more, the package itself is used.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from types import ModuleType


def _core() -> ModuleType:
    """Import the C core with a substitute for `functools`, unless `functools` is imported already."""
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

__all__ = ["sqlite3"]
