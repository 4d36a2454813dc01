"""The regions of scopes in the files of a work tree as they are now. A file is read and parsed at most once, and not
at all if the cache of symbols answers."""

from __future__ import annotations

import os

from bb.coordination.holdings import regions, scopes
from bb.coordination.lines import symbol as rules
from bb.kernel import escaping
from bb.kernel.errors import BbError
from bb.ledger.lines import symbol_cache
from bb.ledger.lines.symbol_cache import MOST_READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bb.coordination.holdings.regions import Range
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.lines.symbol import Symbol
    from bb.coordination.lines.symbol_table import Table

__all__ = ["MOST_READ", "RegionsNow", "Version", "version"]


class Version:
    """One version of a file: its lines and its symbols. CONTENT reads the file, and KEPT asks the cache for its
    symbols. Neither is called before it is needed."""

    def __init__(self, path: str, content: Callable[[], bytes], kept: Callable[[], Table | None] | None = None) -> None:
        self._path = path
        self._content = content
        self._kept = kept  # None once the cache was asked
        self._table: Table | None = None
        self._lines: Sequence[bytes] | None = None
        self._symbols: Sequence[Symbol] | None = None

    @property
    def lines(self) -> Sequence[bytes]:
        """The lines without their ends. A line feed at the end begins no line."""
        if self._lines is None:
            lines = self._content().split(b"\n")
            self._lines = lines[:-1] if lines[-1] == b"" else lines
        return self._lines

    @property
    def symbols(self) -> Sequence[Symbol]:
        """All symbols, in the order of their first lines."""
        if self._symbols is None:
            self._symbols = self._all()
        return self._symbols

    def named(self, name: str) -> Sequence[Symbol]:
        """The symbols that NAME means, as in `symbol.named`."""
        if self._symbols is None and (table := self._known()):
            try:
                return table.named(name)
            except ValueError:  # a program other than bb wrote the cache
                self._table = None
        return rules.named(name, self.symbols)

    def _all(self) -> Sequence[Symbol]:
        if table := self._known():
            try:
                return table.symbols()
            except ValueError:
                self._table = None
        from bb.ledger.lines import grammars  # noqa: PLC0415  (the cache mostly answers)

        return grammars.symbols(self._path, self._content())

    def _known(self) -> Table | None:
        if self._kept is not None:
            self._table, self._kept = self._kept(), None
        return self._table


def version(path: str, content: bytes | None) -> Version | None:
    """A version of a file; None if it is binary, too large, or CONTENT is None because it cannot be read."""
    return Version(path, lambda: content) if content is not None and rules.is_readable(content) else None


class RegionsNow:
    """The regions in the work tree at ROOT; None if there is none. STORE has the cache of symbols, or is None."""

    def __init__(self, root: str | None, store: str | None = None) -> None:
        self._root = root
        self._store = store
        self._files: dict[str, Version | None] = {}

    def file(self, scope: Scope) -> Version | None:
        """The file of a scope. One that does not exist is empty; None if it cannot be read as text."""
        path = scope.path or scope.where
        if path not in self._files:
            self._files[path] = None if self._root is None else self._version(path, os.path.join(self._root, path))
        return self._files[path]

    def _version(self, path: str, file: str) -> Version | None:
        if table := symbol_cache.of_unchanged(file, self._store):
            return Version(path, lambda: _content(file), lambda: table)
        try:
            found = symbol_cache.read(file)
        except (BbError, OSError, ValueError):
            return None
        if not rules.is_readable(found.content):
            return None
        return Version(path, lambda: found.content, lambda: symbol_cache.of_content(file, path, found, self._store))

    def _exists(self, scope: Scope) -> bool:
        return self._root is None or os.path.lexists(os.path.join(self._root, scope.path or scope.where))

    def overlap(self, one: Scope, other: Scope, kind: str) -> str:
        """How two scopes overlap, of which at least one has a region, and whose paths overlap as KIND says."""
        if kind == scopes.PARTIAL or one.region is None or other.region is None:
            return scopes.PARTIAL
        if self._root is None:
            return regions.overlap_by_name(one.region, other.region)
        return regions.overlap(one.region, other.region, self.file(one))

    def located(self, scope: Scope) -> tuple[Range, ...] | None:
        """The lines of a scope with a region; None if they cannot be found."""
        file = self.file(scope)
        return None if file is None or scope.region is None else regions.located(scope.region, file)

    def contains(self, outer: Scope, inner: Scope) -> bool:
        """Whether the region OUTER has all of the region INNER. Both are in one file."""
        if scopes.compare(outer, inner, ignore_case=True) != scopes.EXACT or not outer.region or not inner.region:
            return False
        if self.overlap(outer, inner, scopes.EXACT) == scopes.EXACT:
            return True
        ours, theirs = self.located(outer), self.located(inner)
        return bool(ours and theirs) and regions.contains(ours or (), theirs or ())

    def has_vanished(self, scope: Scope) -> bool:
        """Whether the region of a scope can no longer be found in its file, although that can be read."""
        if scope.region is None or self._root is None or self.file(scope) is None:
            return False
        return self.located(scope) is None

    def is_touched(self, scope: Scope, touched: Iterable[Range] | None) -> bool:
        """Whether an edit of the lines TOUCHED changes what SCOPE covers of its file. None: the whole file changes.

        A region that cannot be found counts as the whole file, so that a guard never errs in the unsafe direction.
        """
        if scope.region is None or touched is None:
            return True
        if regions.is_new(scope.region):
            return False
        found = self.located(scope)
        return found is None or regions.touches(touched, found)

    def is_within(self, own: Iterable[Scope], touched: Sequence[Range]) -> bool:
        """Whether an edit of the lines TOUCHED stays in the regions OWN, which are in one file."""
        ranges: list[Range] = []
        adding: Scope | None = None
        for scope in own:
            if scope.region is not None and regions.is_new(scope.region):
                adding = scope
            ranges += self.located(scope) or ()
        left = [one for one in touched if not regions.contains(ranges, [one])]
        if not left or adding is None:
            return not left
        symbols = file.symbols if (file := self.file(adding)) else ()
        return all(a == b and not any(each.first < a < each.end for each in symbols) for a, b in left)

    def named(self, scope: Scope) -> Scope:
        """SCOPE with the full name of its symbol, if the file has it."""
        file = None if scope.region is None else self.file(scope)
        if file is None or scope.region is None:
            return scope
        return scopes.in_region(scopes.Scope(scope.where, True), regions.full_name(scope.region, file))

    def anchored_or_named(self, scope: Scope, holder: str) -> Scope:
        """SCOPE as `anchored`, but a region that is not there is no reason to refuse."""
        try:
            return self.anchored(scope, holder)
        except regions.SymbolNotFound.error:
            return scope

    def anchored(self, scope: Scope, holder: str) -> Scope:
        """SCOPE with its region as the ledger stores it for HOLDER. Refused if the file has no such region."""
        if scope.region is None:
            return scope
        file = self.file(scope)
        if file is None:
            raise regions.SymbolNotFound(
                f"{escaping.name(scope.where)} cannot be read as text, so it has no regions",
                hint=f"reserve the whole file: `bb reserve {escaping.quoted(scope.where)}`",
            )
        if not (regions.is_to_come(scope.region) or self._exists(scope)):
            path = escaping.name(scope.where)
            hint = f"reserve the whole file, or what you add: `bb reserve {escaping.quoted(scope.where)}`"
            hint += "; a new file whose name has `::` in it is written with `[:]:`"
            raise regions.SymbolNotFound(f"{path} does not exist, so it has no regions", hint=hint)
        region = regions.anchored(scope.region, file, holder)
        return scopes.in_region(scopes.Scope(scope.where, True), region)


def _content(file: str) -> bytes:
    """The content of a file that was there a moment ago. If it is gone, it has no lines, and names decide."""
    try:
        return symbol_cache.read(file).content
    except (BbError, OSError, ValueError):
        return b""
