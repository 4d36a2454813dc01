"""Translates the mistakes that Typer finds in a command line into refusals of bb, with what was probably meant."""

from __future__ import annotations

import difflib

from typer._click.exceptions import BadOptionUsage, ClickException, NoSuchOption, UsageError
from typer.core import TyperArgument, TyperGroup, TyperOption

from bb.cli.mistakes import (
    MissingValue,
    RepeatedOption,
    UnexpectedArgument,
    UnknownCommand,
    UnknownOption,
    did_you_mean,
    meant_argument,
    meant_option,
    where_to_look,
)
from bb.kernel.errors import BbError, Usage
from bb.ops import callers, catalogue, command_groups
from bb.ops.catalogue import Op

COMMANDS = {  # words of other programs for our commands
    "hold": "reserve",
    "lock": "reserve",
    "unlock": "release",
    "free": "release",
    "mail": "inbox",
    "message": "send",
    "msg": "send",
    "tell": "send",
    "accept": "ack",
    "whoami": "agent show",
    "who": "agent list",
}


def translated(error: ClickException, words: list[str], command: str) -> BbError:
    """A usage error of Typer about WORDS as a refusal of bb. COMMAND is the command in them."""
    message = error.format_message().rstrip(".")
    hint = where_to_look(command)
    if isinstance(error, NoSuchOption):
        meant = _behind_dashes(words) if command == "run" else _meant_option(error, words, command)
        return UnknownOption(message, hint=meant or hint)
    if isinstance(error, BadOptionUsage):
        if "more than once" in message:
            return RepeatedOption(message, hint=hint)
        return (MissingValue if "requires" in message else UnexpectedArgument)(message, hint=hint)
    if message.startswith("No such command"):
        return _unknown_command(error, message, words, command)
    if "unexpected extra argument" in message:
        return UnexpectedArgument(message, hint=meant_argument(words, command, _op(command)) or hint)
    return Usage(message, hint=hint)


def _unknown_command(error: ClickException, message: str, words: list[str], command: str) -> BbError:
    similar = _similar_commands(error, command)
    rest = words[len(command.split()) :]
    within = command.rpartition(" ")[0]
    is_elsewhere = bool(similar) and similar[0].startswith("bb ")
    first = [*([] if is_elsewhere else within.split()), *similar[0].removeprefix("bb ").split()] if similar else []
    meant = did_you_mean([*first, *rest]) if first else None
    close = f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    return UnknownCommand(message + close, hint=meant or where_to_look(within))


def _similar_commands(error: ClickException, command: str) -> list[str]:
    """The commands that are called like the unknown one elsewhere, as `bb …`; else those here that are spelt alike."""
    context = error.ctx if isinstance(error, UsageError) else None
    names = context.command.list_commands(context) if context and isinstance(context.command, TyperGroup) else []
    within, _, word = command.rpartition(" ")
    elsewhere = [f"bb {op.words}" for op in catalogue.all_ops() if word in (op.words, op.words.split()[-1])]
    elsewhere += [f"bb {group}" for group in command_groups.SUBGROUPS if word == group.split()[-1]]
    if not within and word in COMMANDS:
        return [f"bb {COMMANDS[word]}"]
    return elsewhere or difflib.get_close_matches(word, names)


def _meant_option(error: NoSuchOption, words: list[str], command: str) -> str | None:
    parameters = error.ctx.command.params if error.ctx else []
    options = [each for each in parameters if isinstance(each, TyperOption)]
    arguments = [
        (str(each.name), str(each.metavar).removesuffix("...").lower())
        for each in parameters
        if isinstance(each, TyperArgument)
    ]
    known = [name for each in options for name in each.opts if name.startswith("--")]
    return meant_option(error.option_name, words, _op(command), known, arguments)


def _behind_dashes(words: list[str]) -> str | None:
    """The command line of `bb run` with `--` before the command, whose options are not those of bb."""
    places = (place for place in range(1, len(words)) if not words[place].startswith("-"))
    place = next((place for place in places if words[place - 1] != callers.OPTION.option), None)
    return did_you_mean([*words[:place], "--", *words[place:]]) if place else None


def _op(command: str) -> Op | None:
    """The op that is called by COMMAND, its words or its short verb."""
    if command in catalogue.SHORT:
        return catalogue.typed(command)
    return next((op for op in catalogue.all_ops() if op.words == command), None)
