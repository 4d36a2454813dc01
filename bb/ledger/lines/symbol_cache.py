"""A cache of the symbols of large files, `<store>/symbols/<digest of the path>.json`.

To find the symbols of 20,000 lines takes as long as starting Python twice, and loading tree-sitter takes as long again.
A hook asks at every edit, mostly about a file that has not changed since the last question. The cache belongs to exact
contents, and is only a cache: a damaged file is ignored, and one that cannot be written is not needed.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bb.coordination.lines.symbol import Symbol
from bb.kernel import json_text
from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.ledger.files import disk
from bb.ledger.lines import grammars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "symbols"
LARGEST = 1 << 24  # bytes of a cache file
VERSION = 1  # of the rules: raised if they find other symbols
MOST = 8  # files whose symbols this process keeps
_latest: dict[str, tuple[bytes, list[Symbol]]] = {}
SMALL = 1 << 15  # bytes of a file whose symbols the simple rules find in a millisecond


def symbols(path: str, content: bytes, store: str | None) -> list[Symbol]:
    """The symbols of a file. Without a STORE, no cache is used."""
    if (latest := _latest.get(path)) and latest[0] == content:
        return latest[1]
    found = _found(path, content, store)
    if len(_latest) >= MOST:
        _latest.clear()
    _latest[path] = (content, found)
    return found


def _found(path: str, content: bytes, store: str | None) -> list[Symbol]:
    is_quick = len(content) < SMALL and not grammars.is_installed()
    if store is None or is_quick:
        return grammars.symbols(path, content)
    file = os.path.join(store, FOLDER, f"{digest(os.fsencode(path))}.json")
    of = f"{digest(content)} {'tree-sitter' if grammars.is_installed() else 'rules'} {VERSION}"
    if (known := _read(file, of)) is not None:
        return known
    found = grammars.symbols(path, content)
    rows = [[one.name, one.kind, one.first, one.end] for one in found]
    with suppress(BbError, OSError, UnicodeError):  # it is found again next time
        disk.replace_in_new_folder(file, json_text.dumps({"of": of, "symbols": rows}).encode())
    return found


def _read(file: str, of: str) -> list[Symbol] | None:
    """The symbols in a cache file; None if it is about other contents, or damaged."""
    try:
        octets = disk.read_small(file, LARGEST)
        found = json_text.read(octets) if octets else None
        rows = found["symbols"] if isinstance(found, dict) and found.get("of") == of else None
        return None if rows is None or not all(map(_is_symbol, rows)) else [Symbol(*row) for row in rows]
    except (BbError, ValueError, TypeError, KeyError):
        return None


def _is_symbol(row: Any) -> bool:
    name, kind, first, end = row
    return type(name) is type(kind) is str and type(first) is type(end) is int and 0 <= first < end
