"""Runs an op and prints its answer, for both the lean parser and Typer.

This is the only place of the command line that turns a refusal into an answer.
"""

from __future__ import annotations

import io
import sys

from bb.cli.calls import output, progress
from bb.kernel.errors import BbError
from bb.kernel.escaping import sentence
from bb.ops import callers, catalogue
from bb.ops.desk import desk
from bb.ops.params import InvalidValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType
    from typing import IO, Any

    from bb.ops.catalogue import Op
    from bb.ops.desk.desk import Desk


def perform(
    op: Op,
    given: Mapping[str, Any],
    *,
    as_json: bool,
    is_typed: bool = False,
    files: Sequence[str] = (),
    at_exit: bool = False,
) -> int:
    """Call OP, print its answer and return the exit status. FILES are added as attachments. AT_EXIT means that the
    process ends at once."""

    def call() -> int:
        try:
            return run()
        except BbError as error:
            if not is_typed:
                error.message, error.hint = _named_as_typed(error, op), _as_typed(error.hint, op)
            error.is_verdict = error.code in op.verdicts
            raise

    def run() -> int:
        named, caller = callers.split(op.parameters, given)
        arguments = catalogue.bind(op, named, is_typed=is_typed)
        ask = None if as_json or not _is_somebody_there() else _ask
        tell = _tell if progress.is_watched() else None
        at: Desk = desk.desk_here(progress.shown(), ask, tell, _stdin(), only_reads=op.reads)
        at.act_as(caller)
        try:
            if files:
                arguments["attachments"] = _blobs().attachments_with_files(at, arguments, files)
            if op.output == catalogue.ATTACHMENT and not (as_json or "output" in arguments):
                _blobs().write_attachment(at, arguments)
                return 0
            answer = _answer(op, at, arguments)
            progress.done()
            status = _print(op, arguments, answer, as_json=as_json)
            at.sync_later()
        finally:
            at.close(at_exit=at_exit)
        return status

    return guarded(op.words, call, as_json=as_json, answers_editor=op.output == catalogue.EDITOR)


def _print(op: Op, arguments: Mapping[str, Any], answer: Any, *, as_json: bool) -> int:
    """Print ANSWER as OP declares it; the exit status."""
    if as_json and not op.streams:
        output.success(op.words, answer, as_json=True)
    elif op.output == catalogue.EDITOR:
        return output.to_editor(answer)
    elif op.output == catalogue.OCTETS and arguments.get("raw"):
        _blobs().write_octets(bytes.fromhex(answer["canonical_hex"]))
    elif op.streams and not isinstance(answer, dict):
        output.stream(op, answer, as_json=as_json, is_endless=bool(arguments.get("follow")))
    else:
        output.success(op.words, answer, as_json=as_json, screen=op.screen)
        output.limited(op, answer)
    return 0


def _named_as_typed(error: BbError, op: Op) -> str:
    """The message of ERROR. If it begins with a parameter of the request, that has its name on the command line."""
    named, separator, rest = error.message.partition(" ")
    member = named.partition("[")[0]
    if error.details.get("path") == f"$.{named}" and (parameter := op.by_name.get(member)):
        return f"{parameter.label}{separator}{rest}"
    return error.message


def _as_typed(hint: str | None, op: Op) -> str | None:
    """HINT with the words of the command line in place of marked members of a request, such as `reply_to`; and the
    command that explains its parameters in place of the general hint."""
    if hint == InvalidValue.hint:
        return f"see the parameters: `bb {op.typed or op.words} --help`"
    for parameter in op.parameters if hint else ():
        hint = hint and hint.replace(
            f"`{parameter.name}`", parameter.metavar if parameter.is_argument else parameter.option
        )
    return hint


def _answer(op: Op, at: Desk, arguments: Mapping[str, Any]) -> Any:
    """The answer of OP, run here or by the daemon."""
    if op.is_live or op.asks_daemon:
        from bb.cli.calls import to_daemon  # noqa: PLC0415  (only these ops need sockets)

        if op.is_live:
            return to_daemon.answer(op, at, arguments)
        if (answer := to_daemon.answer_if_any(op, at, arguments)) is not None:
            return answer
    if op.output == catalogue.REPORT and "output" in arguments:
        from bb.cli.screens import ci_reports  # noqa: PLC0415  (no hot verb needs it)

        return ci_reports.write_report(op, at, arguments)
    return op.run(at, arguments)


def _blobs() -> ModuleType:
    from bb.cli.calls import blobs  # noqa: PLC0415  (only commands with attachments need it)

    return blobs


def _is_somebody_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _tell(news: str) -> None:
    output.lines([sentence(news)], sys.stderr)


def _ask(question: str) -> bool:
    """Ask the person at the terminal; anything but yes means no."""
    output.lines([f"{sentence(question)} [y/N]"], sys.stderr)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _stdin() -> IO[bytes]:
    """Standard input; empty if bb was started without one."""
    return io.BytesIO() if sys.stdin is None else sys.stdin.buffer


def guarded(command: str, call: Callable[[], int], *, as_json: bool, answers_editor: bool = False) -> int:
    """The exit status of CALL. A refusal is printed in the requested format."""
    try:
        return call()
    except BbError as error:
        status = output.refusal(command, error, as_json=as_json)
        return output.NO_VERDICT if answers_editor else status
    finally:
        progress.done()
