"""Declares a hand-written command as an op is declared: the signature gives the parameters, the docstring the help.

The modules that a command needs are imported when it runs, so listing the commands stays fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bb.cli.calls import run
from bb.kernel.record import Record
from bb.ops import callers, catalogue
from bb.ops.catalogue import Op
from bb.ops.signatures import Parameter

Run = Callable[..., int]

PREFIX = "cli."  # of the names of these declarations; no op has such a name


class Asked(Record):
    """One call of a command. GIVEN has the parameters of its op as they were typed."""

    op: Op
    given: Mapping[str, Any]
    as_json: bool


class Command(Record):
    """A hand-written command. Its parameters are those that it takes from an op, and its own."""

    own: Op
    op: str = ""  # the op that it calls
    takes: tuple[str, ...] | None = None  # names of parameters of the op; None for all
    in_json: str = ""  # help of --json
    is_always: bool = False  # it runs also without options of its own

    @property
    def is_own(self) -> bool:
        """Whether this is a command of its own, and not the command of an op with more options."""
        return not self.op or self.takes is not None

    @property
    def declared(self) -> Op:
        """The declaration with the help and the examples of the command."""
        return self.own if self.is_own else catalogue.find(self.op)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        taken = catalogue.find(self.op).parameters if self.op else ()
        return (
            *(parameter for parameter in taken if self.takes is None or parameter.name in self.takes),
            *self.own.parameters,
        )

    def run(self, given: Mapping[str, Any], *, as_json: bool) -> int:
        """Run the command with the parameters GIVEN; the op alone if it is given none of the command's own."""
        rest = {name: value for name, value in given.items() if name not in self.own.by_name}
        own = {name: value for name, value in given.items() if name in self.own.by_name}
        if not (own or self.is_own or self.is_always):
            return run.perform(self.declared, rest, as_json=as_json)
        callers.split(self.own.parameters, rest)  # refuses an invalid caller
        call = Asked(self.declared, rest, as_json)
        return run.guarded(
            self.declared.words, lambda: int(self.own.call(call, **catalogue.bind(self.own, own))), as_json=as_json
        )


def command(
    words: str,
    *examples: str,
    op: str = "",
    takes: tuple[str, ...] | None = None,
    in_json: str = "",
    always: bool = False,
) -> Callable[[Run], Command]:
    """Declare a function as the command WORDS."""

    def declare(function: Run) -> Command:
        name = PREFIX + words
        catalogue.op(name, words=words, examples=examples)(function)
        return Command(catalogue.find(name), op, takes, in_json, always)

    return declare
