"""Parses the words of one command whose parameters are all options, and prints its help, without Typer.

A program that must run without packages uses this. Values, refusals and help are those of Typer; a test compares them.
"""

from __future__ import annotations

import difflib
import itertools
import textwrap

from bb.cli import mistakes
from bb.ops.params import Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bb.ops.catalogue import Op
    from bb.ops.signatures import Parameter

JSON, HELP = "--json", ("-h", "--help")
IN_JSON, ABOUT_HELP = "Answer with one JSON document.", "Show this message and exit."
WIDTH, INDENT = 78, "  "
MOST_LEFT = 30  # columns of the options; what is longer has a line of its own


def values(op: Op, words: list[str]) -> Mapping[str, Any] | None:
    """The values in WORDS, which follow the command and do not include `--json`; None if they ask for help."""
    try:
        return _Words(op, words).values()
    except _Mistake as mistake:
        typed = [*op.words.split(), *words]
        hint = mistakes.meant_option(mistake.option, typed, op, _long_options(op)) if mistake.is_unknown else None
        raise mistake.kind(str(mistake), hint=hint or mistakes.where_to_look(op.words)) from None


class _Mistake(Exception):
    def __init__(self, kind: Any, message: str, option: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.option = option
        self.is_unknown = kind is mistakes.UnknownOption


class _Words:
    """The words of a command line, while they are read."""

    def __init__(self, op: Op, words: list[str]) -> None:
        self._op = op
        self._words = words
        self._options = {option: each for each in op.parameters for option in each.options}
        self._values: dict[str, Any] = {}
        self._wants_help = False

    def values(self) -> Mapping[str, Any] | None:
        self._refuse_unclear()
        plain: list[str] = []
        rest = iter(self._words)
        for word in rest:
            if word == "--":
                plain += rest
            elif word.startswith("--"):
                self._take_long(word, rest)
            elif word.startswith("-") and word != "-":
                self._take_short(word)
            else:
                plain.append(word)
        if self._wants_help:
            return None
        if plain:
            typed = [*self._op.words.split(), *self._words]
            hint = mistakes.meant_argument(typed, self._op.words, self._op)
            raise mistakes.UnexpectedArgument(
                f"Got unexpected extra argument(s) ({' '.join(plain)})",
                hint=hint or mistakes.where_to_look(self._op.words),
            )
        return self._values

    def _refuse_unclear(self) -> None:
        """Refuse an option in the place of a value, and a repeated option."""
        words = self._words[: self._words.index("--")] if "--" in self._words else self._words
        takes_value = {name: each for name, each in self._options.items() if each.kind is not Flag}
        for word, following in itertools.pairwise(words):
            needs_value = word in takes_value and not _alone(takes_value[word])
            if needs_value and following.partition("=")[0] in {*self._options, *HELP, JSON}:
                raise _lacks_value(word)
        names = [name for word in words if (name := word.partition("=")[0]) in takes_value]
        for name in names:
            if names.count(name) > 1 and not takes_value[name].is_repeated:
                raise _Mistake(mistakes.RepeatedOption, f"Option '{name}' is given more than once", name)

    def _take_long(self, word: str, rest: Iterator[str]) -> None:
        name, equals, value = word.partition("=")
        parameter = self._options.get(name)
        if parameter is None and name not in (*HELP, JSON):
            raise _unknown(name, [*_long_options(self._op), "--help"])
        if parameter is None or parameter.kind is Flag:
            if equals:
                raise _Mistake(mistakes.UnexpectedArgument, f"Option '{name}' does not take a value", name)
            if parameter:
                self._values[parameter.name] = True
            self._wants_help = self._wants_help or name in HELP
            return
        following = value if equals else _alone(parameter) or next(rest, None)
        if following is None:
            raise _lacks_value(name)
        if parameter.is_repeated:
            self._values.setdefault(parameter.name, []).append(following)
        else:
            self._values[parameter.name] = following

    def _take_short(self, word: str) -> None:
        for letter in word[1:]:
            if f"-{letter}" not in HELP:
                raise _unknown(f"-{letter}", [])
            self._wants_help = True


def _alone(parameter: Parameter) -> str:
    """The value of an option that may stand alone; empty if it needs a value."""
    return parameter.kind.alone


def _long_options(op: Op) -> list[str]:
    return [*(option for each in op.parameters for option in each.options if option.startswith("--")), JSON]


def _unknown(option: str, known: Sequence[str]) -> _Mistake:
    close = sorted(difflib.get_close_matches(option, known))
    possible = f" (Possible options: {', '.join(close)})" if close else ""
    return _Mistake(mistakes.UnknownOption, f"No such option: {option}{possible}", option)


def _lacks_value(option: str) -> _Mistake:
    return _Mistake(mistakes.MissingValue, f"Option '{option}' requires an argument", option)


# -- help


def explained(op: Op) -> list[str]:
    """The help of the command, as lines."""
    paragraphs = [op.summary, *op.description.split("\n\n")]
    lines = [f"Usage: bb {op.words} [OPTIONS]"]
    for paragraph in paragraphs:
        lines += ["", *_wrapped(" ".join(paragraph.split()), INDENT)]
    rows = [(f"{each.option} {each.metavar}".strip(), _about(each)) for each in op.parameters]
    rows += [(JSON, IN_JSON), (", ".join(HELP), ABOUT_HELP)]
    column = min(max(len(left) for left, _ in rows), MOST_LEFT) + 2 * len(INDENT)
    lines += ["", "Options:"]
    for left, about in rows:
        first, *more = _wrapped(about, " " * column)
        lines += [f"{INDENT}{left}".ljust(column) + first[column:], *more]
    return [*lines, "", f"{INDENT}Examples:", *(f"{2 * INDENT}{example}" for example in op.examples)]


def _about(parameter: Parameter) -> str:
    notes = ["[required]"] if parameter.is_required else []
    has_default = parameter.kind is not Flag and parameter.default not in (None, ())
    notes += [f"[default: {parameter.default}]"] if has_default else []
    return " ".join([*parameter.about.split(), *notes])


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
