"""`bb mcp` alone: the server, which is a program of its own (`python -m bb.mcp`)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from typer.core import TyperOption

from bb.cli.calls import offers, run
from bb.cli.calls.say import lines
from bb.cli.programs import extras
from bb.kernel.errors import Usage
from bb.ops.params import AgentId, Number, invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    Chosen = Callable[[bool], int]

FOR_HOSTS = "This is for an MCP host to start: `bb mcp install --host HOST` has it do so. ^C ends it."


class StdoutIsTaken(Usage):
    """On stdin and stdout only MCP is spoken there."""

    code = "STDOUT_IS_TAKEN"
    hint = "leave --json out; with --http one document says where it is served"


def choose(
    http: bool = False, port: str | None = None, agent: str | None = None, directory: str | None = None, **_: Any
) -> Chosen:
    """Serve an MCP host: ten tools, and resources, for agents that work in this repository.

    The host starts it and talks to it on stdin and stdout; `bb mcp install --host HOST` has it do so. With --http it
    serves several hosts at a port of this machine, to whoever shows the token in the file that it names. Without
    --agent or BB_AGENT, each call says who is asking. It starts in any directory, and where there is no ledger; calls
    are refused then. docs/mcp.md has the tools, and what each host is to be told. It needs the extra `mcp`.
    """

    def call(as_json: bool) -> int:
        extras.need("bb mcp", "mcp")
        if as_json and not http:
            raise StdoutIsTaken
        if port is not None and not http:
            raise invalid("--port goes with --http", "port")
        given = {
            "--port": None if port is None else str(_port(port)),
            "--agent": None if agent is None else AgentId.from_text(agent, "agent"),
            "--directory": directory,
        }
        words = [f"{option}={value}" for option, value in given.items() if value is not None]
        flags = [flag for flag, is_set in (("--http", http), ("--json", as_json)) if is_set]
        if not http and sys.stdin is not None and sys.stdin.isatty():
            lines([FOR_HOSTS], sys.stderr)
        extras.become("mcp", [*flags, *words])

    return lambda as_json: run.guarded("mcp", lambda: call(as_json), as_json=as_json)


class Port(Number):
    """A port."""

    least = 0
    most = 65_535


def _port(written: str) -> int:
    return int(Port.from_text(written, "port"))


OPTIONS = [
    TyperOption(
        param_decls=["--http"], is_flag=True, default=False, help="Serve at a port of this machine, not on stdin."
    ),
    TyperOption(
        param_decls=["--port"],
        type=str,
        metavar="N",
        help="With --http: the port; 0 for any that is free. [default: 7323]",
    ),
    TyperOption(
        param_decls=["--agent"],
        type=str,
        metavar="ID",
        help="For whom it acts; BB_AGENT unless given. Else each call says so itself.",
        autocompletion=offers.completion(AgentId),
    ),
    TyperOption(
        param_decls=["--directory"],
        type=str,
        metavar="DIR",
        help="Where to work, for a host that starts it elsewhere; the current directory unless given.",
    ),
]
COMMAND = (choose, OPTIONS, ("bb mcp", "bb mcp --agent amber-otter", "bb mcp --http --port 7323"))
