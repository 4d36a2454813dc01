"""The symbols of a file, by a simple rule for each kind of file: functions, classes, headings, keys.

The rules read lines, not the language, so they work on a file that somebody is in the middle of changing. They are
right for files that are laid out as formatters do it. A file whose kind is unknown, that is binary or too large, has no
symbols here. docs/scopes.md describes the rules.

`ledger/lines/grammars.py` finds the same symbols with tree-sitter. Both are held to one suite of examples.
"""

from __future__ import annotations

from bb.coordination.lines.symbol import DOCUMENTS, INDENTED, KEYS, Symbol, is_readable, language_of, settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def symbols(path: str, content: bytes) -> list[Symbol]:
    """The symbols of a file, in the order of their first lines. A name may occur several times."""
    language = language_of(path)
    if language is None or not is_readable(content):
        return []
    lines = content.split(b"\n")
    return settled(_rule(language)(lines, language), lines, language)


def _rule(language: str) -> Callable[[Sequence[bytes], str], Iterable[Symbol]]:
    """The rule for a language. Only the module of that rule is loaded."""
    if language in INDENTED:
        from bb.coordination.lines import indented_symbols  # noqa: PLC0415

        return indented_symbols.symbols
    if language in DOCUMENTS:
        from bb.coordination.lines import headings  # noqa: PLC0415

        return headings.symbols
    if language in KEYS:
        from bb.coordination.lines import key_symbols  # noqa: PLC0415

        return key_symbols.symbols
    from bb.coordination.lines import braced_symbols  # noqa: PLC0415

    return braced_symbols.symbols
