"""Saying an answer: one JSON document on stdout, or short text; errors as text go to stderr."""

from __future__ import annotations

import sys

from bb.kernel import json_text
from bb.kernel.show import harmless, on_screen
from bb.ops import catalogue
from bb.wire import envelope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType
    from typing import Any, TextIO

    from bb.kernel.errors import BbError
    from bb.ops.catalogue import Op


# To every editor, status 2 from a hook means: stop. A mistake in calling one must not look like a verdict.
NO_VERDICT = 1
LIMITED = frozenset(["chat inbox", "cbcl beliefs", "cbcl conversations"])  # whose screens do not say that there is more


class OutputFailed(Exception):
    """What was to be said cannot be written, to a full disk for instance. What was recorded stays recorded."""


def success(command: str, data: object, *, as_json: bool, screen: str = "") -> None:
    """What an op answered; as text, by the module SCREEN of `cli/screens`."""
    if as_json:
        document(envelope.success(command, data))
    else:
        lines(_words().of(command, data, screen))
        _say_more(command, data)


def _say_more(command: str, data: object) -> None:
    """That rows were left out, and how to get them: beside the answer, where nobody counts lines."""
    if isinstance(data, dict) and data.get("has_more") is True and command in LIMITED:
        lines(["Note: others are left out; --limit N shows more"], sys.stderr)
    elif more := getattr(data, "more", None):
        count = f"{more['omitted']:,} " if more["omitted"] else ""
        lines([f"Note: {count}{more['hint']}"], sys.stderr)


def refusal(command: str, error: BbError, *, as_json: bool) -> int:
    """Why there is no answer; the exit status."""
    if as_json:
        document(envelope.failure(command, error))
    else:
        lines(_words().findings(error))
        lines(_words().of_error(error), sys.stderr)
    return error.exit_status


def to_editor(answer: Mapping[str, Any]) -> int:
    """What an editor's hook answers, in the editor's own form; the exit status it understands."""
    if answer["reply"] is not None:
        document(answer["reply"])
    lines((harmless(note) for note in answer["notes"]), sys.stderr)
    return int(answer["exit_status"])


def _words() -> ModuleType:
    """How answers read; programs, which ask for JSON, need not wait for that."""
    from bb.cli.screens import text  # noqa: PLC0415

    return text


def stream(op: Op, items: Iterable[Any], *, as_json: bool, is_endless: bool) -> None:
    """What a streaming op yields: as it comes, or gathered in one document."""
    if as_json and not is_endless:
        gathered: list[Any] = [
            item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item for item in items
        ]
        if isinstance(items, catalogue.Rows):
            gathered = catalogue.Rows(gathered, items.hint, items.omitted)
        document(envelope.success(op.words, gathered))
        return
    for item in items:
        if isinstance(item, bytes):
            octets(item + b"\n")
        elif as_json or op.output == catalogue.DOCUMENTS or (is_endless and op.output == catalogue.FEED):
            document(item)
        else:
            lines(_words().of(op.words, item, op.screen))
        if is_endless:
            flush()
    if not as_json:
        _say_more(op.words, items)


def document(value: object) -> None:
    """One JSON document on a line. ASCII, so that no terminal's encoding can spoil it."""
    _write(sys.stdout, json_text.dumps_ascii(value) + "\n")


def lines(texts: Iterable[str], where: TextIO | None = None) -> None:
    """Text for people, on stdout unless WHERE says otherwise."""
    for line in texts:
        _write(where or sys.stdout, on_screen(line) + "\n")


def octets(what: bytes) -> None:
    """Bytes as they are, text or not."""
    flush()
    try:
        sys.stdout.buffer.write(what)
    except OSError as error:
        raise _failed(error) from error


def flush() -> None:
    """Let the reader have what was said so far."""
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
        if where is not sys.stderr:  # an error that nobody can read is no failure: the exit status says it too
            raise _failed(error) from error


def _failed(error: OSError) -> Exception:
    """ERROR itself where the reader has gone away, for that is nobody's failure."""
    return error if isinstance(error, BrokenPipeError) else OutputFailed(error.strerror)
