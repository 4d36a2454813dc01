"""SQLite by its C core: the package around it imports `datetime`, a sixth of a bare start, for converters that nobody
here uses. Of `functools` the core wants the cache alone, which is written in C as well, and the module around that is a
tenth of a bare start. Where an interpreter has no such core, or wants more, the package itself is used."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from types import ModuleType


def _core() -> ModuleType:
    """The C core, imported while its caller stands in for `functools`, unless that is there anyway."""
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
