"""The short way for hot verbs: from words to the op and its answer, on the standard library alone.

It understands `bb GROUP VERB` with long options, each once, as `--option value` or `--option=value`, and `--json`
anywhere. What an option is called and whether it takes a value comes from the op's own declaration. Everything else,
every mistake included, is left to Typer unchanged, so there is one place that explains mistakes. A test holds the two
ways against each other.
"""

from __future__ import annotations

from bb.cli import run
from bb.ops import catalogue
from bb.ops.params import Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.ops.catalogue import Op, Parameter

JSON = "--json"


def answer(words: list[str]) -> int | None:
    """The exit status, having answered; None when these words are for Typer."""
    plain = [word for word in words if word != JSON]
    name = ".".join(plain[:2])
    if name not in catalogue.HOT or not all(map(str.isascii, plain)):  # text beyond ASCII may be no text at all
        return None
    op = catalogue.find(name)
    given = _options(op, plain[2:])
    return None if given is None else run.perform(op, given, as_json=len(plain) < len(words))


def _options(op: Op, words: list[str]) -> dict[str, str | bool] | None:
    known = {parameter.option: parameter for parameter in op.parameters if not parameter.is_argument}
    given: dict[str, str | bool] = {}
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        parameter = known.get(option)
        if parameter is None or parameter.name in given or not _is_plain(parameter, equals):
            return None
        if parameter.kind is Flag:
            given[parameter.name] = True
            continue
        found = value if equals else next(rest, None)
        if found is None or (found.startswith("-") and not equals):
            return None
        given[parameter.name] = found
    return given


def _is_plain(parameter: Parameter, equals: str) -> bool:
    return not parameter.is_repeated and not (equals and parameter.kind is Flag)
