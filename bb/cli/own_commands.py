"""Commands that are not ops, and options that the command of an op adds to it."""

from __future__ import annotations

import sys
from typing import Any

from bb.cli.calls import output, own_command, run
from bb.cli.calls.own_command import Asked, command
from bb.cli.programs import commands as programs
from bb.cli.watch import commands as watching
from bb.kernel import json_text
from bb.kernel.errors import Usage
from bb.ops import callers, catalogue
from bb.ops.params import UncheckedText

InvalidJson = Usage.declare(
    "INVALID_JSON",
    "The arguments are not a JSON object",
    hint="""for example `bb call agent.heartbeat --args '{"agent": "amber-otter"}'`""",
)


class OpName(UncheckedText):
    """The op, such as agent.heartbeat."""

    metavar = "OP"


class Arguments(UncheckedText):
    """Its arguments, or - for stdin."""

    metavar = "JSON"


@command(
    "call",
    "bb call --list",
    """bb call agent.heartbeat --args '{"agent": "amber-otter"}' --json""",
)
def call(asked: Asked, op: OpName | None = None, *, args: Arguments | None = None, list_: bool = False) -> int:
    """Run any op by its name, with its arguments as one JSON object.

    The names are the same as on the socket: `agent.register` for `bb agent register`. Arguments are checked strictly:
    an unknown field or a wrong type is refused, and the answer names its path. `--args -` reads them from stdin.

    Parameters:
        list_: List all ops.
    """
    if list_:
        return _list(asked.as_json)
    if not op:
        raise catalogue.MissingOption("call needs OP", hint="`bb call --list` lists all ops")
    if op.startswith(own_command.PREFIX):
        raise catalogue.UnknownOp(f"there is no op {op[:60]!r}")
    called = catalogue.find(op)
    try:
        arguments = json_text.loads(sys.stdin.buffer.read().decode() if args == "-" else args or "{}")
    except UnicodeDecodeError as error:
        raise json_text.InvalidText("the arguments on stdin are not valid UTF-8") from error
    except json_text.NotJson as error:
        raise InvalidJson(f"the arguments are not valid JSON: {error}") from error
    if type(arguments) is not dict:
        raise InvalidJson()
    if called.is_flat:
        _must_be_text(arguments)  # other ops name the invalid value themselves
    caller = {name: value for name, value in asked.given.items() if name == callers.NAME}
    return run.perform(called, arguments | caller, as_json=asked.as_json, is_typed=True)


def _list(as_json: bool) -> int:
    ops = [{"op": op.name, "summary": op.summary} for op in catalogue.all_ops()]
    if as_json:
        output.success("call", ops, as_json=True)
    else:
        output.lines(f"{op['op']:<16}  {op['summary']}" for op in ops)
    return 0


def _must_be_text(given: dict[str, Any]) -> None:
    try:
        json_text.dumps(given).encode()
    except UnicodeEncodeError as error:
        raise json_text.InvalidText("a text contains an unpaired surrogate") from error


@command("demo", "bb demo")
def demo(asked: Asked, *, keep: bool = False) -> int:
    """Watch agents share a repository, in one clone and across two. Each step shows a command and its answer.

    The demo uses a temporary directory, real commands and real git repositories.

    Parameters:
        keep: Keep the scratch repository.
    """
    from bb.cli.programs import demo as played  # noqa: PLC0415

    return played.play(keep=keep, as_json=asked.as_json)


class File(UncheckedText):
    """A file to attach. It may be repeated."""

    metavar = "FILE"


def _send_files(asked: Asked, *, attach: list[File] | None = None) -> int:
    """Attached files are stored, and the message refers to them."""
    return run.perform(asked.op, asked.given, as_json=asked.as_json, files=attach or ())


def _set_up(asked: Asked) -> int:
    """At a terminal, the plan is shown and the person is asked once."""
    from bb.cli.programs import asking  # noqa: PLC0415

    return asking.perform_if_agreed(asked.op, asked.given, as_json=asked.as_json)


# group -> its help
GROUPS = {"daemon": "The daemon, which runs actors and answers clients on a socket: start it, stop it, see its state."}
# by the words that call them, in the order of the help
COMMANDS = {
    declared.own.words: declared
    for declared in (
        *(call, demo, *programs.COMMANDS, *watching.COMMANDS),
        *(command(words, op=op)(_send_files) for words, op in (("chat send", "send"), ("chat reply", "reply"))),
        command("setup", op="setup", always=True)(_set_up),
    )
}


def in_group(group: str) -> list[str]:
    """The words of the hand-written commands in a group; for an empty group, of the top-level commands."""
    return [words for words, declared in COMMANDS.items() if declared.is_own and words.rpartition(" ")[0] == group]
