"""Commands that are no ops of their own: calling any op by name, and the demonstration."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from bb.cli import demo, run, say
from bb.kernel import jsontext
from bb.kernel.errors import Usage
from bb.ops import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    Chosen = Callable[[bool], int]
    Examples = Callable[[tuple[str, ...]], str | None]


class InvalidJson(Usage):
    """The arguments are no JSON object."""

    code = "INVALID_JSON"
    hint = """for example --args '{"agent": "amber-otter"}'"""


def _call(op: str | None = None, args: str | None = None, list_: bool = False, **_: Any) -> Chosen:
    """Run any op by its name, with its arguments as one JSON object.

    The names are those of the socket and of MCP: `agent.register` for `bb agent register`. Arguments are checked
    strictly: an unknown field or a wrong type is refused with the path to it. `--args -` reads them from stdin.
    """
    if list_:
        return _list
    return lambda as_json: run.guarded("call", lambda: _run(op, args, as_json), as_json=as_json)


def _list(as_json: bool) -> int:
    ops = [{"op": op.name, "summary": op.summary} for op in catalogue.everything()]
    if as_json:
        say.success("call", ops, as_json=True)
    else:
        say.lines(f"{op['op']:<16}  {op['summary']}" for op in ops)
    return 0


def _run(name: str | None, args: str | None, as_json: bool) -> int:
    if not name:
        raise catalogue.MissingOption("call needs OP", hint="`bb call --list` names them all")
    op = catalogue.find(name)
    try:
        given = jsontext.loads(sys.stdin.buffer.read().decode() if args == "-" else args or "{}")
    except UnicodeDecodeError as error:
        raise jsontext.InvalidText("the arguments on stdin are not valid UTF-8") from error
    except jsontext.NotJson as error:
        raise InvalidJson(f"the arguments are no JSON: {error}") from error
    if type(given) is not dict:
        raise InvalidJson
    return run.perform(op, given, as_json=as_json, is_typed=True)


def _demo(keep: bool = False, **_: Any) -> Chosen:
    """See agents share a repository, in one clone and across two: each step as the command and its answer.

    Everything happens in a temporary directory, with real commands and real git repositories.
    """
    return lambda as_json: demo.play(keep=keep, as_json=as_json)


COMMANDS: dict[str, tuple[Callable[..., Chosen], list[Any], tuple[str, ...]]] = {
    "call": (
        _call,
        [
            TyperArgument(
                param_decls=["op"], type=str, required=False, metavar="OP", help="The op, such as agent.heartbeat."
            ),
            TyperOption(
                param_decls=["--args", "args"], type=str, metavar="JSON", help="Its arguments, or - for stdin."
            ),
            TyperOption(param_decls=["--list", "list_"], is_flag=True, default=False, help="Name every op there is."),
        ],
        ("bb call --list", """bb call agent.heartbeat --args '{"agent": "amber-otter"}' --json"""),
    ),
    "demo": (
        _demo,
        [TyperOption(param_decls=["--keep"], is_flag=True, default=False, help="Leave the scratch repository there.")],
        ("bb demo",),
    ),
}


def command(name: str, json_option: TyperOption, examples: Examples) -> TyperCommand:
    """One of these commands."""
    callback, params, shown = COMMANDS[name]
    return TyperCommand(
        name=name,
        callback=callback,
        help=callback.__doc__,
        epilog=examples(shown),
        rich_markup_mode=None,
        params=[*params, json_option],
    )
