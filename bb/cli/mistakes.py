"""Mistakes in the words of a command line: the refusals, and the command line that was probably meant.

Nothing here needs Typer: the program without it (`cli/ci_program.py`) explains mistakes in the same words.
`cli/typer_mistakes.py` translates those that Typer found.
"""

from __future__ import annotations

import difflib
import shlex

from bb.kernel.errors import Usage
from bb.ops.params import Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bb.ops.catalogue import Op

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
SIMILAR = 0.7  # how much alike two options must be spelt
LONGEST = 160  # characters of a suggested command line


def where_to_look(command: str) -> str:
    return f"see `{' '.join(['bb', *command.split()])} --help`"


def did_you_mean(words: list[str]) -> str | None:
    """The hint with a corrected command line; None if it is too long or has characters that need escapes."""
    line = shlex.join(["bb", *words])
    return f"did you mean `{line}`?" if len(line) <= LONGEST and line.isprintable() and "`" not in line else None


def meant_option(
    typed: str, words: list[str], op: Op | None, known: Sequence[str], arguments: Iterable[Iterable[str]] = ()
) -> str | None:
    """The command line with the option that was meant by the one that was TYPED, or with its value as an argument.

    KNOWN are the command's long options, and ARGUMENTS the names of each of its arguments.
    """
    if chosen := _meant_choice(typed, op):
        return did_you_mean([part for word in words for part in (chosen if word == typed else [word])])
    wanted = [typed.lstrip("-").replace("-", "_"), *SYNONYMS.get(typed.lstrip("-"), ())]
    if any(set(names).intersection(wanted) for names in arguments):
        return did_you_mean(_without(words, typed))
    named = ["--" + name.replace("_", "-") for name in wanted]
    close = [name for name in named if name in known] or difflib.get_close_matches(typed, known, cutoff=SIMILAR)
    return did_you_mean(_without(words, typed, close[0])) if close else None


def _meant_choice(typed: str, op: Op | None) -> list[str] | None:
    """The option that has the word of an unknown option as a choice: `--state unread` for `--unread`."""
    for parameter in op.parameters if op else ():
        if typed.lstrip("-") in (*parameter.kind.choices, *parameter.kind.offered) and not parameter.is_argument:
            return [parameter.option, typed.lstrip("-")]
    return None


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


def meant_argument(words: list[str], command: str, op: Op | None) -> str | None:
    """The short verb, which takes arguments, or the command line with an argument as the value of an option."""
    rest = words[len(command.split()) :]
    if op is None or not rest:
        return None
    if op.typed:
        return None
    if op.positional:
        return did_you_mean([op.short, *rest])
    option = _option_for(op, rest)
    place = next((place for place, word in enumerate(rest) if _is_plain(op, rest, place)), None)
    if place is None or not option or any(parameter.is_argument for parameter in op.parameters):
        return None
    return did_you_mean([*command.split(), *rest[:place], option, *rest[place:]])


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
