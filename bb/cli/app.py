"""The complete command line, built with Typer: every op as a command, with help, completion and suggestions.

Typer only parses words and prints help. `ops/catalogue.py` checks values by the op's declaration, so this parser and
the lean one refuse the same values with the same codes. The commands of a group are built when the group is used.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from typer._click import Context, HelpFormatter
from typer._click.exceptions import ClickException, NoArgsIsHelpError
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_install_completion_arguments

import bb
from bb.cli import mistakes, own_commands, typer_commands, typer_mistakes
from bb.cli.calls import output, run
from bb.cli.typer_commands import JSON, examples_text, help_text, json_option, params
from bb.kernel.json_text import InvalidText
from bb.ops import catalogue, command_groups, docstrings
from bb.ops.catalogue import Op
from bb.ops.command_groups import SECTIONS

ABOUT = """Coordinates coding agents, and the people who steer them, in one repository, so that they do not overwrite
each other's work.

Every command takes --json, before or after the verb, and then prints exactly one JSON document:
{"ok", "command", "data", "error"}. Commands that run until interrupted print one for each item. Exit status: 0 ok,
1 bug, 2 usage, 3 not found, 4 refused by a rule, 5 not yours, 6 busy, 7 conflict.

The caller is --agent, which every command takes, or BB_AGENT. A bead is a work item of an issue tracker, such as bb-12.
Other variables are BB_SESSION, BB_AGENT_STALE_MINUTES, BB_SYNC, BB_NOW, BB_HOME and CCCC_HOME: see docs/answers.md."""
START = (
    "bb init --register amber-otter --role builder",
    "bb reserve src/parser docs/parser.md --bead bb-12",
    "bb send cobalt-harbor 'parse is renamed to read.'",
    "bb doctor",
)


def answer(words: list[str]) -> int:
    """Parse WORDS, run the command and return the exit status."""
    options = words[: words.index("--")] if "--" in words else words
    as_json = JSON in options
    plain = _help_last([word for word in options if word != JSON] + words[len(options) :])
    command = " ".join(_command_words(plain))

    def call() -> int:
        try:
            "".join(plain).encode()
        except UnicodeEncodeError as error:
            raise InvalidText("the command line is not valid UTF-8") from error
        if plain == ["--version"]:
            if as_json:
                output.success("version", {"version": bb.__version__}, as_json=True)
            else:
                output.lines([f"bb {bb.__version__}"])
            return 0
        chosen, printed = _parsed(plain, command, as_json)
        if callable(chosen):
            return int(chosen(as_json))
        if as_json:
            output.success(_long(command), {"help": printed}, as_json=True)
        else:
            output.lines(printed.splitlines())
        return int(chosen or 0)

    return run.guarded(_long(command), call, as_json=as_json, answers_editor=_answers_editor(command))


def _long(command: str) -> str:
    """The words of COMMAND for the envelope: those of the op, also for its short verb."""
    return catalogue.find(catalogue.SHORT[command]).words if command in catalogue.SHORT else command


def _answers_editor(command: str) -> bool:
    """Whether an editor's hook calls this command. Its usage errors need an exit status that does not mean "stop"."""
    group = command.partition(" ")[0]
    ops = catalogue.ops_in_group(group) if group in command_groups.GROUPS else []
    return any(op.output == catalogue.EDITOR for op in ops if op.words == command)


def _parsed(words: list[str], command: str, as_json: bool) -> tuple[Any, str]:
    """Typer's result for WORDS: a function to run, or an exit status; and its printed output, such as help."""
    printed, complained = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
            chosen = root().main(words, prog_name=_program(), standalone_mode=False)
    except NoArgsIsHelpError as error:
        if as_json:
            raise mistakes.MissingCommand(hint=mistakes.where_to_look(command)) from error
        return 0, error.message
    except ClickException as error:
        raise typer_mistakes.translated(error, words, command) from error
    except SystemExit as end:  # raised after a completion script is printed
        chosen = end.code
    if chosen and not callable(chosen):
        raise mistakes.UnknownShell(complained.getvalue().strip() or None)
    return chosen, printed.getvalue()


def _help_last(words: list[str]) -> list[str]:
    """Turn `bb help agent list` and `bb agent help list` into `bb agent list --help`."""
    for place, word in enumerate(words):
        if word == "help":
            return [*words[:place], *words[place + 1 :], "--help"]
        if not _is_group(" ".join(words[: place + 1])):
            break
    return words


def _is_group(words: str) -> bool:
    """Whether WORDS name a group or a nested group of commands."""
    is_known = words in command_groups.GROUPS and words not in command_groups.HIDDEN
    return is_known or words in command_groups.SUBGROUPS or words in own_commands.GROUPS


def _about(group: str) -> str:
    return own_commands.GROUPS.get(group) or command_groups.SUBGROUPS.get(group) or command_groups.GROUPS[group][1]


NAMES = {"help_option_names": ["-h", "--help"]}


def root() -> TyperGroup:
    """The command `bb` itself."""
    return _Root(
        name="bb",
        help=ABOUT,
        epilog=examples_text(START),
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings=NAMES,
        params=[
            json_option(),
            TyperOption(param_decls=["--version"], is_flag=True, help="Show the version."),
            *get_install_completion_arguments(),
        ],
    )


class _Root(TyperGroup):
    """The groups and the top-level commands, built when they are used."""

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        names = [
            *catalogue.SHORT,
            *(op.name for op in catalogue.ops_in_group("")),
            *own_commands.in_group(""),
            *own_commands.GROUPS,
            *(name for name in command_groups.GROUPS if name and name not in command_groups.HIDDEN),
        ]
        return list(dict.fromkeys(names))  # a name may be both a group and a command

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The commands by subject. All names are in one column."""
        names = self.list_commands(ctx)
        sections = {title: [name for name in words.split() if name in names] for title, words in SECTIONS.items()}
        placed = [name for section in sections.values() for name in section]
        list(sections.values())[-1].extend(name for name in names if name not in placed)
        for title, section in sections.items():
            _list_commands(self, ctx, formatter, title, section, max(map(len, names)))

    def get_command(self, ctx: Context, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name and _is_group(cmd_name):
            return _Group(cmd_name)
        if cmd_name in catalogue.SHORT:
            op = catalogue.typed(cmd_name)
            return typer_commands.command(op, op.parameters, functools.partial(run.perform, op))
        return _find_command(cmd_name, catalogue.ops_in_group(""))


class _Group(TyperGroup):
    """One group, identified by its words. Its ops are imported on first use.

    A group may also be a command: `bb mcp` and `bb mcp install`.
    """

    def __init__(self, words: str) -> None:
        self._words = words
        alone = own_commands.COMMANDS.get(words)
        super().__init__(
            name=words.rpartition(" ")[2],
            help=help_text(alone.declared) if alone else _about(words),
            short_help=_about(words),
            epilog=examples_text(alone.declared.examples if alone else ()),
            rich_markup_mode=None,
            no_args_is_help=alone is None,
            invoke_without_command=alone is not None,
            subcommand_metavar="[COMMAND [ARGS]...]" if alone else "COMMAND [ARGS]...",
            callback=typer_commands.callback(alone.parameters, alone.run) if alone else None,
            params=[*(params(alone.parameters) if alone else ()), json_option()],
        )

    def invoke(self, ctx: Context) -> Any:
        if ctx._protected_args and any(ctx.params.values()):  # options of `bb mcp` have no effect on `bb mcp install`
            ctx.fail(f"Name {ctx._protected_args[0]!r} first, and only its own options.")
        return super().invoke(ctx)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        names = self.list_commands(ctx)
        _list_commands(self, ctx, formatter, "Commands", names, max(map(len, names)))

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        below = f"{self._words} "
        commands = [*own_commands.in_group(self._words), *(op.words for op in self._ops())]
        return list(dict.fromkeys(words[len(below) :].split()[0] for words in commands if words.startswith(below)))

    def get_command(self, ctx: Context, cmd_name: str) -> Any:  # noqa: ARG002
        words = f"{self._words} {cmd_name}"
        if words in command_groups.SUBGROUPS:
            return _Group(words)
        return _find_command(words, self._ops())

    def _ops(self) -> list[Op]:
        """The ops of the group, and of the one that it is in."""
        group = self._words.partition(" ")[0]
        return catalogue.ops_in_group(group) if group in command_groups.GROUPS else []


def _list_commands(
    group: TyperGroup, ctx: Context, formatter: HelpFormatter, title: str, names: list[str], column: int
) -> None:
    """A section of a group's help: each command with as much of its summary as fits on a line."""
    room = formatter.width - column - 4
    commands = {name: group.get_command(ctx, name) for name in names}
    rows = [
        (f"{name:<{column}}", docstrings.brief(one.short_help or "", room)) for name, one in commands.items() if one
    ]
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def _find_command(words: str, ops: Sequence[Op]) -> TyperCommand | None:
    """The command WORDS, written by hand or one of the OPS."""
    if by_hand := own_commands.COMMANDS.get(words):
        return typer_commands.command(by_hand.declared, by_hand.parameters, by_hand.run, by_hand.in_json)
    op = next((op for op in ops if op.words == words), None)
    return typer_commands.command(op, op.parameters, functools.partial(run.perform, op)) if op else None


def _command_words(words: list[str]) -> list[str]:
    """The command in WORDS, for the envelope: groups and a verb."""
    command: list[str] = []
    for word in words:
        if word.startswith("-") or (command and not _is_group(" ".join(command))):
            break
        command.append(word)
    return command


def _program() -> str:
    name = os.path.basename(sys.argv[0])
    return name if name in ("bb", "beadboard") else "bb"
