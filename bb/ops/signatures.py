"""The parameters of an op, read from the signature of its function without `inspect`, because hot verbs load this."""

from __future__ import annotations

import sys

from bb.kernel.record import Record
from bb.ops.params import Flag, Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Parameter(Record):
    """One parameter of an op. NAME is its name in requests; KEYWORD is its name in Python, such as `from_`.

    DOCSTRING is that of the op. It is parsed when a text is asked for.
    """

    name: str
    keyword: str
    kind: type[Kind]
    is_argument: bool
    is_required: bool
    is_repeated: bool
    default: Any
    docstring: str = ""
    is_option_too: bool = False  # an argument of a short verb, which may also be given as an option

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def options(self) -> tuple[str, ...]:
        """The option, and its short form if it has one."""
        return (self.option, f"-{self.kind.letter}") if self.kind.letter else (self.option,)

    @property
    def label(self) -> str:
        """The parameter as it is typed: its option, or the word that stands for the argument in help."""
        return (self.metavar or self.name.upper()) if self.is_argument else self.option

    @property
    def about(self) -> str:
        """The help text: the op's own for this parameter, else that of the kind."""
        from bb.ops import docstrings  # noqa: PLC0415  (only help and schemas need it)

        return docstrings.about(self.docstring, self.keyword) or self.kind.__doc__ or ""

    @property
    def metavar(self) -> str:
        """The word for the value in help, such as FILE."""
        from bb.ops import docstrings  # noqa: PLC0415  (only help, completion and some refusals need it)

        return docstrings.metavar(self.docstring, self.keyword) or self.kind.metavar


class UnknownAnnotation(TypeError):
    """An op has an annotation that is not in the grammar of `_kind_of`."""


def parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters after the desk, read from the function's code object."""
    code = function.__code__
    first_option = code.co_argcount
    names = code.co_varnames[1 : first_option + code.co_kwonlyargcount]
    argument_defaults = function.__defaults__ or ()
    defaults = dict(
        zip(code.co_varnames[first_option - len(argument_defaults) : first_option], argument_defaults, strict=True)
    )
    defaults |= function.__kwdefaults__ or {}
    arguments = code.co_varnames[:first_option]
    return tuple(
        Parameter(
            name.rstrip("_"),
            name,
            kind,
            name in arguments,
            name not in defaults,
            is_repeated,
            defaults.get(name),
            function.__doc__ or "",
        )
        for name in names
        for kind, is_repeated in [_kind_of(function, name)]
    )


def with_more(parameters: tuple[Parameter, ...], more: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    last = max((place for place, parameter in enumerate(parameters, start=1) if parameter.is_required), default=0)
    return (*parameters[:last], *more, *parameters[last:]) if more else parameters


def _kind_of(function: Callable[..., Any], name: str) -> tuple[type[Kind], bool]:
    """The kind that a parameter's annotation names, and whether the parameter repeats.

    annotation = (KIND | "list[" KIND "]") [" | None"], where KIND is "bool" or the name of a kind in the op's module.
    """
    annotation: str = function.__annotations__[name]
    form = annotation.removesuffix(" | None")
    is_repeated = form.startswith("list[") and form.endswith("]")
    kind_name = form[len("list[") : -len("]")] if is_repeated else form
    kind = Flag if kind_name == "bool" else vars(sys.modules[function.__module__]).get(kind_name)
    if not (isinstance(kind, type) and issubclass(kind, Kind)):
        raise UnknownAnnotation(
            f"{function.__module__}.{function.__name__}: {name} is annotated as {annotation!r}. Known are `Kind`, "
            "`list[Kind]`, and each with ` | None`; Kind is `bool` or a class of `ops/params.py`."
        )
    return kind, is_repeated
