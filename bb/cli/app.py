"""The complete command line, built with Typer: every op as a command, with help, completion and suggestions.

Typer only parses words and prints help. `ops/catalogue.py` checks values by the op's declaration, so this parser and
the lean one refuse the same values with the same codes. The commands of a group are built when the group is used.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import io
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from typer._click import Context
from typer._click.exceptions import (
    BadOptionUsage,
    ClickException,
    NoArgsIsHelpError,
    NoSuchOption,
    UsageError,
)
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_install_completion_arguments

import bb
from bb.cli import own_commands
from bb.cli.calls import completion, output, run
from bb.kernel.errors import BbError, Usage
from bb.kernel.json_text import InvalidText
from bb.ops import catalogue, command_groups
from bb.ops.catalogue import Op, Parameter
from bb.ops.params import Flag

Chosen = Callable[[bool], int]  # the command to run; its argument: whether to answer in JSON

JSON = "--json"
IN_JSON = "Answer with one JSON document."
GOES_ON = "Answer with one JSON document; with --follow, one for each item."
ABOUT = """Coordinates coding agents, and the people who steer them, in one repository, so that they do not overwrite
each other's work.

Every command takes --json, before or after the verb, and then prints exactly one JSON document:
{"ok", "command", "data", "error"}. Commands that run until interrupted print one for each item. Exit status: 0 ok,
1 bug, 2 usage, 3 not found, 4 refused by a rule, 5 not yours, 6 busy, 7 conflict.

The caller is --agent or BB_AGENT. BB_AGENT_STALE_MINUTES (15) sets after how many minutes without a heartbeat an agent
becomes stale; BB_NOW replaces the clock; BB_HOME (~/.bb) is the directory for data outside any repository. The daemon's
home is CCCC_HOME, else BB_HOME, else ~/.cccc, where clients of CCCC look for it."""
START = (
    "bb init",
    "bb agent register --name amber-otter --role builder",
    "bb agent heartbeat --agent amber-otter --json",
    "bb doctor",
)

UnknownOption = Usage.declare("UNKNOWN_OPTION", "There is no such option")
UnknownCommand = Usage.declare("UNKNOWN_COMMAND", "There is no such command")
MissingCommand = Usage.declare("MISSING_COMMAND", "There is no command to run")
MissingValue = Usage.declare("MISSING_VALUE", "An option has no value")
RepeatedOption = Usage.declare("REPEATED_OPTION", "An option that takes one value is given more than once")

UnknownShell = Usage.declare(
    "UNKNOWN_SHELL",
    "Completion is available only for bash, zsh, fish and PowerShell",
    hint="run the command in one of these shells",
)

UnexpectedArgument = Usage.declare("UNEXPECTED_ARGUMENT", "The command line has an extra argument")


def answer(words: list[str]) -> int:
    """Parse WORDS, run the command and return the exit status."""
    options = words[: words.index("--")] if "--" in words else words
    as_json = JSON in options
    plain = _help_last([word for word in options if word != JSON] + words[len(options) :])
    command = " ".join(_command_words(plain))

    def call() -> int:
        if any("\ud800" <= character <= "\udfff" for word in plain for character in word):
            raise InvalidText("the command line is not valid UTF-8")
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
            output.success(command, {"help": printed}, as_json=True)
        else:
            output.lines(printed.splitlines())
        return int(chosen or 0)

    return run.guarded(command, call, as_json=as_json, answers_editor=_answers_editor(command))


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
            raise MissingCommand(hint=_where_to_look(command)) from error
        return 0, error.message
    except ClickException as error:
        raise _translated(error, command) from error
    except SystemExit as end:  # raised after a completion script is printed
        chosen = end.code
    if chosen and not callable(chosen):
        raise UnknownShell(complained.getvalue().strip() or None)
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
        epilog=_examples(START),
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings=NAMES,
        params=[
            _json_option(),
            TyperOption(param_decls=["--version"], is_flag=True, help="Show the version."),
            *get_install_completion_arguments(),
        ],
    )


class _Root(TyperGroup):
    """The groups and the top-level commands, built when they are used."""

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        names = [
            *(op.name for op in catalogue.ops_in_group("")),
            *own_commands.in_group(""),
            *own_commands.GROUPS,
            *(name for name in command_groups.GROUPS if name and name not in command_groups.HIDDEN),
        ]
        return list(dict.fromkeys(names))  # a name may be both a group and a command

    def get_command(self, ctx: Context, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name and _is_group(cmd_name):
            return _Group(cmd_name)
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
            help=_help(alone.declared) if alone else _about(words),
            short_help=_about(words),
            epilog=_examples(alone.declared.examples if alone else ()),
            rich_markup_mode=None,
            no_args_is_help=alone is None,
            invoke_without_command=alone is not None,
            subcommand_metavar="[COMMAND [ARGS]...]" if alone else "COMMAND [ARGS]...",
            callback=_chosen(alone.parameters, alone.run) if alone else None,
            params=[*map(_param, alone.parameters if alone else ()), _json_option()],
        )

    def invoke(self, ctx: Context) -> Any:
        if ctx._protected_args and any(ctx.params.values()):  # options of `bb mcp` have no effect on `bb mcp install`
            ctx.fail(f"Name {ctx._protected_args[0]!r} first, and only its own options.")
        return super().invoke(ctx)

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


class _Command(TyperCommand):
    """A command that never takes an option as the value of another one, and refuses repeated options."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        options = [param for param in self.params if isinstance(param, TyperOption)]
        takes_value = {name: param for param in options if not param.is_flag for name in param.opts}
        option_names = {name for param in options for name in param.opts} | {"-h", "--help", JSON}
        words = args[: args.index("--")] if "--" in args else args
        for word, following in itertools.pairwise(words):
            if word in takes_value and following.partition("=")[0] in option_names:
                raise BadOptionUsage(word, f"Option '{word}' requires an argument.", ctx=ctx)
        names = [name for word in words if (name := word.partition("=")[0]) in takes_value]
        for name in names:
            if names.count(name) > 1 and not takes_value[name].multiple:
                raise BadOptionUsage(name, f"Option '{name}' is given more than once.", ctx=ctx)
        return super().parse_args(ctx, args)


def _find_command(words: str, ops: Sequence[Op]) -> TyperCommand | None:
    """The command WORDS, written by hand or one of the OPS."""
    if by_hand := own_commands.COMMANDS.get(words):
        return _command(by_hand.declared, by_hand.parameters, by_hand.run, by_hand.in_json)
    op = next((op for op in ops if op.words == words), None)
    return _command(op, op.parameters, functools.partial(run.perform, op)) if op else None


def _command(op: Op, parameters: Sequence[Parameter], perform: Callable[..., int], in_json: str = "") -> TyperCommand:
    return _Command(
        name=op.words.split()[-1],
        callback=_chosen(parameters, perform),
        help=_help(op),
        short_help=op.summary,
        epilog=_examples(op.examples),
        rich_markup_mode=None,
        params=[*map(_param, parameters), _json_option(in_json or (GOES_ON if "follow" in op.by_name else IN_JSON))],
    )


def _chosen(parameters: Sequence[Parameter], perform: Callable[..., int]) -> Callable[..., Chosen]:
    """A callback for Typer, which returns the function to run with the given parameters."""
    flags = {parameter.name for parameter in parameters if parameter.kind is Flag}

    def choose(**given: Any) -> Chosen:
        values = {name: value for name, value in given.items() if value not in (None, [], ())}
        values = {name: value for name, value in values.items() if value is not False or name not in flags}
        return lambda as_json: perform(values, as_json=as_json)

    return choose


def _help(op: Op) -> str:
    return f"{op.summary}\n\n{op.description}"


def _param(parameter: Parameter) -> Any:
    kind = parameter.kind
    about = parameter.about
    if parameter.is_argument:
        return TyperArgument(
            param_decls=[parameter.name],
            type=str,
            required=False,
            nargs=-1 if parameter.is_repeated else 1,
            metavar=f"{parameter.metavar}..." if parameter.is_repeated else parameter.metavar,
            help=about,
            autocompletion=completion.completion(kind, parameter.metavar),
        )
    if kind is Flag:
        return TyperOption(param_decls=[parameter.option, parameter.name], is_flag=True, default=False, help=about)
    notes = ["[required]"] if parameter.is_required else []
    notes += [f"[default: {parameter.default}]"] if parameter.default not in (None, ()) else []
    return TyperOption(
        param_decls=[parameter.option, parameter.name],
        type=str,
        metavar=parameter.metavar,
        multiple=parameter.is_repeated,
        help=" ".join([about, *notes]),
        autocompletion=completion.completion(kind, parameter.metavar),
    )


def _json_option(about: str = IN_JSON) -> TyperOption:
    return TyperOption(
        param_decls=[JSON, "_json"],
        is_flag=True,
        default=False,
        expose_value=False,
        help=about,
    )


def _examples(examples: tuple[str, ...]) -> str | None:
    return "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples) if examples else None


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


def _suggestion(error: ClickException, command: str) -> str:
    """Similar commands, for a misspelt one."""
    context = error.ctx if isinstance(error, UsageError) else None
    names = context.command.list_commands(context) if context and isinstance(context.command, TyperGroup) else []
    word = command.rpartition(" ")[2]
    elsewhere = [f"bb {op.words}" for op in catalogue.all_ops() if word in (op.words, op.words.split()[-1])]
    elsewhere += [f"bb {group}" for group in command_groups.SUBGROUPS if word == group.split()[-1]]
    close = elsewhere or difflib.get_close_matches(word, names)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def _where_to_look(command: str) -> str:
    return f"see `{' '.join(['bb', *command.split()])} --help`"


def _translated(error: ClickException, command: str) -> BbError:
    """A usage error of Typer as a refusal of bb."""
    message = error.format_message().rstrip(".")
    hint = _where_to_look(command)
    if isinstance(error, NoSuchOption):
        return UnknownOption(message, hint=hint)
    if isinstance(error, BadOptionUsage):
        if "more than once" in message:
            return RepeatedOption(message, hint=hint)
        return (MissingValue if "requires" in message else UnexpectedArgument)(message, hint=hint)
    if message.startswith("No such command"):
        return UnknownCommand(message + _suggestion(error, command), hint=_where_to_look(command.rpartition(" ")[0]))
    if "unexpected extra argument" in message:
        return UnexpectedArgument(message, hint=hint)
    return Usage(message, hint=hint)
