"""Mistakes in the words of a command line: the refusals, each with the command line that was probably meant."""

from __future__ import annotations

import difflib
import shlex

from typer._click.exceptions import BadOptionUsage, ClickException, NoSuchOption, UsageError
from typer.core import TyperArgument, TyperGroup, TyperOption

from bb.kernel.errors import BbError, Usage
from bb.ops import callers, catalogue, command_groups
from bb.ops.catalogue import Op
from bb.ops.params import Flag

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

# Words that other programs use for an option or an argument of ours.
SYNONYMS = {
    "path": ("scope", "file"),
    "paths": ("scope", "path"),
    "file": ("scope", "path"),
    "files": ("scope", "path"),
    "scopes": ("scope",),
    "text": ("body", "summary"),
    "content": ("body", "text"),
    "message": ("body", "text"),
    "msg": ("body", "text"),
    "id": ("message", "event", "event_id", "agent"),
    "event": ("message",),
    "recipient": ("to",),
    "agent-id": ("agent",),
    "name": ("to", "agent"),
    "reason": ("why",),
    "title": ("subject",),
    "issue": ("bead",),
    "task": ("bead",),
    "next": ("next_action",),
    "scope": ("path",),
}
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
SIMILAR = 0.7  # how much alike two options must be spelt
LONGEST = 160  # characters of a suggested command line


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
        return UnexpectedArgument(message, hint=_meant_argument(words, command) or hint)
    return Usage(message, hint=hint)


def where_to_look(command: str) -> str:
    return f"see `{' '.join(['bb', *command.split()])} --help`"


def _did_you_mean(words: list[str]) -> str | None:
    """The hint with a corrected command line; None if it is too long or has characters that need escapes."""
    line = shlex.join(["bb", *words])
    return f"did you mean `{line}`?" if len(line) <= LONGEST and line.isprintable() and "`" not in line else None


# -- commands


def _unknown_command(error: ClickException, message: str, words: list[str], command: str) -> BbError:
    similar = _similar_commands(error, command)
    rest = words[len(command.split()) :]
    within = command.rpartition(" ")[0]
    is_elsewhere = bool(similar) and similar[0].startswith("bb ")
    first = [*([] if is_elsewhere else within.split()), *similar[0].removeprefix("bb ").split()] if similar else []
    meant = _did_you_mean([*first, *rest]) if first else None
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


# -- options and arguments


def _meant_option(error: NoSuchOption, words: list[str], command: str) -> str | None:
    """The command line with the option that was meant, or with its value as an argument."""
    if chosen := _meant_choice(error.option_name, command):
        return _did_you_mean([part for word in words for part in (chosen if word == error.option_name else [word])])
    parameters = error.ctx.command.params if error.ctx else []
    options = [each for each in parameters if isinstance(each, TyperOption)]
    arguments = [each for each in parameters if isinstance(each, TyperArgument)]
    typed = error.option_name
    wanted = [typed.lstrip("-").replace("-", "_"), *SYNONYMS.get(typed.lstrip("-"), ())]
    if any({each.name, str(each.metavar).removesuffix("...").lower()}.intersection(wanted) for each in arguments):
        return _did_you_mean(_without(words, typed))
    named = ["--" + name.replace("_", "-") for name in wanted]
    known = [name for each in options for name in each.opts if name.startswith("--")]
    close = [name for name in named if name in known] or difflib.get_close_matches(typed, known, cutoff=SIMILAR)
    return _did_you_mean(_without(words, typed, close[0])) if close else None


def _behind_dashes(words: list[str]) -> str | None:
    """The command line of `bb run` with `--` before the command, whose options are not those of bb."""
    places = (place for place in range(1, len(words)) if not words[place].startswith("-"))
    place = next((place for place in places if words[place - 1] != callers.OPTION.option), None)
    return _did_you_mean([*words[:place], "--", *words[place:]]) if place else None


def _meant_choice(typed: str, command: str) -> list[str] | None:
    """The option that has the word of an unknown option as a choice: `--state unread` for `--unread`."""
    op = _op(command)
    for parameter in op.parameters if op else ():
        if typed.lstrip("-") in (*parameter.kind.choices, *parameter.kind.offered) and not parameter.is_argument:
            return [parameter.option, typed.lstrip("-")]
    return None


def _op(command: str) -> Op | None:
    """The op that is called by COMMAND, its words or its short verb."""
    if command in catalogue.SHORT:
        return catalogue.typed(command)
    return next((op for op in catalogue.all_ops() if op.words == command), None)


def _without(words: list[str], option: str, other: str = "") -> list[str]:
    """WORDS with the OTHER option in place of OPTION, or only with its value."""
    corrected = []
    for word in words:
        name, equals, value = word.partition("=")
        if name != option:
            corrected.append(word)
        elif equals:
            corrected.append(f"{other}={value}" if other else value)
        elif other:
            corrected.append(other)
    return corrected


def _meant_argument(words: list[str], command: str) -> str | None:
    """The short verb, which takes arguments, or the command line with an argument as the value of an option."""
    op = _op(command)
    rest = words[len(command.split()) :]
    if op is None or not rest:
        return None
    if op.typed:
        return None
    if op.positional:
        return _did_you_mean([op.short, *rest])
    option = _option_for(op, rest)
    place = next((place for place, word in enumerate(rest) if _is_plain(op, rest, place)), None)
    if place is None or not option or any(parameter.is_argument for parameter in op.parameters):
        return None
    return _did_you_mean([*command.split(), *rest[:place], option, *rest[place:]])


def _is_plain(op: Op, words: list[str], place: int) -> bool:
    """Whether the word at PLACE is neither an option nor the value of one."""
    values = [parameter.option for parameter in op.parameters if parameter.kind is not Flag]
    return not words[place].startswith("-") and not (place and words[place - 1] in values)


def _option_for(op: Op, words: list[str]) -> str:
    """The option that an argument was meant for: a required one, else an agent's; empty if there is none."""
    free = [each for each in op.parameters if each.kind is not Flag and each.option not in words]
    needed = [each.option for each in free if each.is_required]
    agents = [each.option for each in free if each.kind.is_agent]
    return next(iter([*needed, *agents]), "")
