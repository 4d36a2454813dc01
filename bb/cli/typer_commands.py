"""One command for Typer, built from the declaration of an op: its parameters, its help and the function to run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from typer._click import Context
from typer._click.exceptions import BadOptionUsage
from typer.core import TyperArgument, TyperCommand, TyperOption

from bb.cli import fast_parser, mistakes
from bb.cli.calls import completion
from bb.ops import callers
from bb.ops.catalogue import Op
from bb.ops.params import Flag
from bb.ops.signatures import Parameter

Chosen = Callable[[bool], int]  # the command to run; its argument: whether to answer in JSON

JSON = "--json"
IN_JSON = "Answer with one JSON document."
GOES_ON = "Answer with one JSON document; with --follow, one for each item."
AS_OPTION = "_as_option"  # ends the name of an argument's value that was given as an option


class _Command(TyperCommand):
    """A command that never takes an option as the value of another one, and refuses repeated options."""

    def __init__(self, alone: Mapping[str, str], **how: Any) -> None:
        super().__init__(**how)
        self.alone = alone  # options that may stand alone, with the value that they have then

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        args = [f"{word}={self.alone[word]}" if word in self.alone else word for word in args[:end]] + args[end:]
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


class _Argument(TyperArgument):
    """An argument. For Typer none is required: bb itself says what is missing (`catalogue.bind`)."""

    def __init__(self, *, is_needed: bool, **how: Any) -> None:
        super().__init__(**how)
        self._is_needed = is_needed

    def make_metavar(self, ctx: Context, *, usage: bool = False) -> str:
        """The word for it. In the usage line it is in brackets if it may be left out."""
        return super().make_metavar(ctx, usage=usage and not self._is_needed)


def command(op: Op, parameters: Sequence[Parameter], perform: Callable[..., int], in_json: str = "") -> TyperCommand:
    """The command of OP; it calls PERFORM with the given values. IN_JSON is the help of `--json`."""
    return _Command(
        {option: one.kind.alone for one in parameters if one.kind.alone for option in one.options},
        name=(op.typed or op.words).split()[-1],
        callback=callback(parameters, perform),
        help=help_text(op),
        short_help=op.summary,
        epilog=examples_text(op.own_examples),
        rich_markup_mode=None,
        params=[*params(parameters), json_option(in_json or (GOES_ON if "follow" in op.by_name else IN_JSON))],
    )


def callback(parameters: Sequence[Parameter], perform: Callable[..., int]) -> Callable[..., Chosen]:
    """A callback for Typer, which returns the function to run with the given parameters."""
    flags = {parameter.name for parameter in parameters if parameter.kind is Flag}

    def choose(**given: Any) -> Chosen:
        values = {name: value for name, value in given.items() if value not in (None, [], ())}
        values = {name: value for name, value in values.items() if value is not False or name not in flags}
        values = _with_arguments(parameters, values)
        return lambda as_json: perform(values, as_json=as_json)

    return choose


def _with_arguments(parameters: Sequence[Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """The values of a short verb by name: plain words are the arguments that no option gave, in order."""
    both = [parameter for parameter in parameters if parameter.is_option_too]
    words: list[str] = []
    for parameter in both:
        word = given.pop(parameter.name, [])
        words += [word] if isinstance(word, str) else word
    values = {name.removesuffix(AS_OPTION): value for name, value in given.items()}
    if not fast_parser.place(parameters, words, values):
        raise mistakes.UnexpectedArgument(f"Got unexpected extra argument ({words[-1]})")
    return values


def help_text(op: Op) -> str:
    """The text at the top of the command's help."""
    also = f"\n\nShort for `bb {op.words}`." if op.typed else ""
    return f"{op.summary}\n\n{op.description}{also}"


def params(parameters: Sequence[Parameter]) -> Iterator[Any]:
    """What Typer parses: arguments of a short verb also as options."""
    for parameter in parameters:
        yield _param(parameter)
        if parameter.is_option_too:
            yield TyperOption(
                param_decls=[parameter.option, parameter.name + AS_OPTION],
                type=str,
                metavar=parameter.metavar,
                multiple=parameter.is_repeated,
                help=f"The same as {parameter.label}.",
                autocompletion=completion.completion(parameter.kind, parameter.metavar),
            )
    if callers.is_added(parameters):
        yield _param(callers.OPTION)


def _param(parameter: Parameter) -> Any:
    kind = parameter.kind
    about = parameter.about
    if parameter.is_argument:
        return _Argument(
            is_needed=parameter.is_required and not parameter.is_option_too,
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
        param_decls=[*parameter.options, parameter.name],
        type=str,
        metavar=parameter.metavar,
        multiple=parameter.is_repeated,
        hidden=parameter is callers.OPTION,
        help=" ".join([about, *notes]),
        autocompletion=completion.completion(kind, parameter.metavar),
    )


def json_option(about: str = IN_JSON) -> TyperOption:
    """The option `--json`."""
    return TyperOption(
        param_decls=[JSON, "_json"],
        is_flag=True,
        default=False,
        expose_value=False,
        help=about,
    )


def examples_text(examples: tuple[str, ...]) -> str | None:
    """The text at the end of the command's help; None without examples."""
    return "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples) if examples else None
