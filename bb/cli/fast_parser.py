"""The lean parser for hot verbs, which needs only the standard library.

It understands `bb GROUP VERB`, `bb VERB` and short verbs with plain arguments, long options as `--option value` or
`--option=value`, and `--json` anywhere. The op's declaration gives the options, whether they take a value and whether
they repeat. All other calls, including every mistake, go to Typer unchanged, so only Typer's side explains mistakes. A
test compares the two parsers.
"""

from __future__ import annotations

from bb.cli.calls import run
from bb.ops import callers, catalogue
from bb.ops.params import Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from bb.ops.catalogue import Op
    from bb.ops.signatures import Parameter

JSON = "--json"


def answer(words: list[str], *, at_exit: bool = False) -> int | None:
    """Run the command and return the exit status; None if Typer must parse these words. AT_EXIT means that the process
    ends at once."""
    plain = [word for word in words if word != JSON]
    name = verb(plain)
    if name is None or not all(map(str.isascii, plain)):  # other words may be invalid UTF-8
        return None
    op = catalogue.typed(name)
    values = _given(op, plain[name.count(".") + 1 :])
    return None if values is None else run.perform(op, values, as_json=len(plain) < len(words), at_exit=at_exit)


def verb(plain: list[str]) -> str | None:
    """The hot verb at the start of PLAIN words, which do not include `--json`: `agent.reserve`, or short `reserve`."""
    names = 1 if plain and catalogue.hot_name(plain[0]) and "." not in plain[0] else 2
    name = ".".join(plain[:names])
    return name if catalogue.hot_name(name) else None


def _given(op: Op, words: list[str]) -> dict[str, Any] | None:
    """The values in WORDS for the parameters of OP; None if the words are not plain."""
    options = {
        option: parameter
        for parameter in op.parameters
        if not parameter.is_argument or parameter.is_option_too
        for option in parameter.options
    }
    options.setdefault(callers.OPTION.option, callers.OPTION)
    values: dict[str, Any] = {}
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            plain.append(word)
            continue
        option, equals, value = word.partition("=")
        parameter = options.get(option)
        parameter_value = _value(parameter, equals, value, rest) if parameter else None
        if parameter is None or parameter_value is None or not _keep(parameter, parameter_value, values):
            return None
    return values if place(op.parameters, plain, values) else None


def _value(parameter: Parameter, equals: str, value: str, rest: Iterator[str]) -> str | bool | None:
    """The value of an option: after `=`, or the next word; True for a flag. None if there is no plain value.
    Some options may stand alone."""
    if parameter.kind is Flag:
        return None if equals else True
    word = value if equals else parameter.kind.alone or next(rest, None)
    return None if word is None or (word.startswith("-") and not equals) else word


def place(parameters: Sequence[Parameter], words: list[str], values: dict[str, Any]) -> bool:
    """Store plain WORDS as the arguments among PARAMETERS, in order, without those that options gave. Return False if
    there are too many words."""
    rest = list(words)
    for parameter in parameters if rest else ():
        if parameter.is_argument and parameter.is_repeated:
            values[parameter.name] = [*rest, *values.get(parameter.name, ())]
            return True
        if parameter.is_argument and parameter.name not in values and rest:
            values[parameter.name] = rest.pop(0)
    return not rest


def _keep(parameter: Parameter, found: str | bool, given: dict[str, Any]) -> bool:
    """Store the value FOUND; return False if the parameter was given before and does not repeat."""
    if parameter.is_repeated:
        given.setdefault(parameter.name, []).append(found)
        return True
    if parameter.name in given:
        return False
    given[parameter.name] = found
    return True
