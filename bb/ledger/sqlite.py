"""SQLite by its C core: the package around it imports `datetime`, a sixth of a bare start, for converters that nobody
here uses. Where an interpreter has no such core the package itself is used."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import _sqlite3 as sqlite3
    except ImportError:
        import sqlite3

__all__ = ["sqlite3"]
