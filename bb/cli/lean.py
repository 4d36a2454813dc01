"""The short way for hot verbs: from words to the op and its answer, on the standard library alone.

It understands `bb GROUP VERB` or `bb VERB` with plain arguments and with long options, as `--option value` or
`--option=value`, and `--json` anywhere. What an option is called, whether it takes a value and whether it may be
repeated comes from the op's own declaration. Everything else,
every mistake included, is left to Typer unchanged, so there is one place that explains mistakes. A test holds the two
ways against each other.
"""

from __future__ import annotations

from bb.cli.calls import run
from bb.ops import catalogue
from bb.ops.params import Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ops.catalogue import Op, Parameter

JSON = "--json"


def answer(words: list[str]) -> int | None:
    """The exit status, having answered; None when these words are for Typer."""
    plain = [word for word in words if word != JSON]
    name = verb(plain)
    if name is None or not all(map(str.isascii, plain)):  # text beyond ASCII may be no text at all
        return None
    op = catalogue.find(name)
    given = _given(op, plain[name.count(".") + 1 :])
    return None if given is None else run.perform(op, given, as_json=len(plain) < len(words))


def verb(plain: list[str]) -> str | None:
    """The hot verb that words without `--json` begin with."""
    names = 1 if plain and plain[0] in catalogue.HOT and "." not in plain[0] else 2
    name = ".".join(plain[:names])
    return name if name in catalogue.HOT else None


def _given(op: Op, words: list[str]) -> dict[str, Any] | None:
    """What WORDS give for the parameters of OP; None when they are not as plain as that."""
    options = {parameter.option: parameter for parameter in op.parameters if not parameter.is_argument}
    arguments = [parameter for parameter in op.parameters if parameter.is_argument]
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word.startswith("-"):
            option, equals, value = word.partition("=")
            parameter = options.get(option)
            found = _value(parameter, equals, value, rest) if parameter else None
        else:
            parameter, found = _next(arguments, given), word
        if parameter is None or found is None or not _keep(parameter, found, given):
            return None
    return given


def _value(parameter: Parameter, equals: str, value: str, rest: Iterator[str]) -> str | bool | None:
    """What stands for an option: after `=`, or in the next word; nothing where it is a flag."""
    if parameter.kind is Flag:
        return None if equals else True
    found = value if equals else next(rest, None)
    return None if found is None or (found.startswith("-") and not equals) else found


def _next(arguments: list[Parameter], given: dict[str, Any]) -> Parameter | None:
    """The argument that the next plain word is for."""
    return next((each for each in arguments if each.is_repeated or each.name not in given), None)


def _keep(parameter: Parameter, found: str | bool, given: dict[str, Any]) -> bool:
    """Note what was FOUND; whether it may be given, for the first time or once more."""
    if parameter.is_repeated:
        given.setdefault(parameter.name, []).append(found)
        return True
    if parameter.name in given:
        return False
    given[parameter.name] = found
    return True
