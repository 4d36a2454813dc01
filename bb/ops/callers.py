"""The option `--agent`, which every command takes: the calling agent.

An op that acts may have a parameter for its caller under another name, such as `by` or `from`: then `--agent` is that
parameter. An op without one uses the caller of its desk, so `--agent` replaces BB_AGENT for this command.
"""

from __future__ import annotations

from bb.kernel.errors import Usage
from bb.ops.params import AgentOrPerson
from bb.ops.signatures import Parameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

NAME = "calling_agent"  # in the values of a command line; no parameter has such a name

TwoCallers = Usage.declare(
    "TWO_CALLERS", "The request names two different callers", hint="pass --agent ID, and not the other option"
)


class _Caller(AgentOrPerson):
    """The calling agent. Default: BB_AGENT."""


class _Option(Parameter):
    """The option `--agent` of a command whose op has no such option."""

    @property
    def option(self) -> str:
        return "--agent"


OPTION = _Option(NAME, NAME, _Caller, False, False, False, None)


def is_added(parameters: Sequence[Parameter]) -> bool:
    """Whether a command with these PARAMETERS gets the option from here, because it has none of its own."""
    return all(parameter.is_argument or parameter.option != OPTION.option for parameter in parameters)


def split(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """The values GIVEN for PARAMETERS, and the caller if none of them is for it."""
    if NAME not in given:
        return given, None
    caller = _Caller.from_text(given[NAME], "agent")
    rest = {name: value for name, value in given.items() if name != NAME}
    own = next((parameter for parameter in parameters if parameter.kind.is_caller), None)
    if own is None:
        return rest, caller
    if rest.get(own.name) not in (None, caller):
        raise TwoCallers(f"--agent is {caller}, and {own.option} is {rest[own.name][:60]}")
    return {**rest, own.name: caller}, None
