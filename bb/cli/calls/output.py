"""Prints answers: one JSON document or short text on stdout; refusals as text on stderr."""

from __future__ import annotations

import sys

from bb.kernel import json_text
from bb.kernel.escaping import harmless, on_screen
from bb.ops import catalogue
from bb.wire import envelope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType
    from typing import Any, TextIO

    from bb.kernel.errors import BbError
    from bb.ops.catalogue import Op


# Editors take exit status 2 of a hook as "stop". A usage error of a hook therefore ends with status 1.
NO_VERDICT = 1
CURSOR = "before_event_id"
NEWS = "turn"  # the screen whose empty answer is no line; most turns have no news, so no screen is imported for them


class OutputFailed(Exception):
    """The output cannot be written, for example to a full disk. Recorded facts stay recorded."""


def success(command: str, data: object, *, as_json: bool, screen: str = "") -> None:
    """Print the answer of an op; as text, with the module SCREEN of `cli/screens`."""
    if as_json:
        document(envelope.success(command, data))
    elif data or screen != NEWS:
        lines(_words().format_answer(command, data, screen))
        _say_more(data)


def limited(op: Op, answer: object) -> None:
    """Note on stderr that more rows exist, if the screen of OP does not show it.

    The plain screen shows `has_more`, and the screen of an op with a cursor shows the command that continues.
    """
    is_shown = not op.screen or CURSOR in op.by_name
    if not is_shown and isinstance(answer, dict) and answer.get("has_more") is True:
        lines(["Note: more rows exist; --limit N shows them"], sys.stderr)


def _say_more(data: object) -> None:
    """Note on stderr that rows were omitted, and how to get them."""
    if more := getattr(data, "more", None):
        count = f"{more['omitted']:,} " if more["omitted"] else ""
        lines([f"Note: {count}{more['hint']}"], sys.stderr)


def refusal(command: str, error: BbError, *, as_json: bool) -> int:
    """Print a refusal and return its exit status."""
    if as_json:
        document(envelope.failure(command, error))
    elif error.is_verdict:
        found, hints = _words().format_verdict(error)
        lines(found)
        flush()  # so that the hint stands below, also in a pipe
        lines(hints, sys.stderr)
    else:
        lines(_words().refusal_details(error))
        flush()
        lines(_words().format_refusal(error), sys.stderr)
    return error.exit_status


def to_editor(answer: Mapping[str, Any]) -> int:
    """Print the answer of an editor's hook in the editor's format, and return the exit status for the editor."""
    if answer["reply"] is not None:
        document(answer["reply"])
    lines((harmless(note) for note in answer["notes"]), sys.stderr)
    return int(answer["exit_status"])


def _words() -> ModuleType:
    """The text screens, imported only if text is printed."""
    from bb.cli.screens import text  # noqa: PLC0415

    return text


def stream(op: Op, items: Iterable[Any], *, as_json: bool, is_endless: bool) -> None:
    """Print the items of a streaming op one by one, or collected in one document."""
    if as_json and not is_endless:
        gathered: list[Any] = [
            item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item for item in items
        ]
        if isinstance(items, catalogue.TruncatedRows):
            gathered = catalogue.TruncatedRows(gathered, items.hint, items.omitted)
        document(envelope.success(op.words, gathered))
        return
    for item in items:
        if isinstance(item, bytes):
            octets(item + b"\n")
        elif as_json or op.output == catalogue.DOCUMENTS or (is_endless and op.output == catalogue.FEED):
            document(item)
        else:
            lines(_words().format_answer(op.words, item, op.screen))
        if is_endless:
            flush()
    if not as_json:
        _say_more(items)


def document(value: object) -> None:
    """Print one JSON document on one line, in ASCII, so that it is valid in every terminal encoding."""
    _write(sys.stdout, json_text.dumps_ascii(value) + "\n")


def lines(texts: Iterable[str], where: TextIO | None = None) -> None:
    """Print text for people to WHERE, by default stdout."""
    for line in texts:
        _write(where or sys.stdout, on_screen(line) + "\n")


def octets(what: bytes) -> None:
    """Write bytes unchanged to stdout."""
    flush()
    try:
        sys.stdout.buffer.write(what)
    except OSError as error:
        raise _failed(error) from error


def flush() -> None:
    """Flush stdout."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _failed(error) from error


def _write(where: TextIO, what: str) -> None:
    try:
        try:
            where.write(what)
        except UnicodeEncodeError:
            where.write(what.encode(where.encoding, "backslashreplace").decode(where.encoding))
    except OSError as error:
        if where is not sys.stderr:  # ignored on stderr, because the exit status reports the error too
            raise _failed(error) from error


def _failed(error: OSError) -> Exception:
    """ERROR itself if the reader has closed the pipe, which is not a failure; else OutputFailed."""
    return error if isinstance(error, BrokenPipeError) else OutputFailed(error.strerror)
