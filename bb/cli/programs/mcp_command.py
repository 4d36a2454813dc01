"""`bb mcp` without a verb: starts the MCP server, which is a separate program (`python -m bb.mcp`)."""

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

FOR_HOSTS = "An MCP host should start this command: `bb mcp install --host HOST` configures that. ^C ends it."


class StdoutIsTaken(Usage):
    """Without --http, stdout carries MCP only, so --json is not possible."""

    code = "STDOUT_IS_TAKEN"
    hint = "omit --json; with --http, --json prints one document with the address"


def choose(
    http: bool = False, port: str | None = None, agent: str | None = None, directory: str | None = None, **_: Any
) -> Chosen:
    """Serve an MCP host: ten tools, and resources, for agents that work in this repository.

    The host starts this command and talks to it on stdin and stdout; `bb mcp install --host HOST` configures the host.
    With --http it serves several hosts on a port of this machine; a client needs the token from the file that is
    printed. Without --agent or BB_AGENT, each call names its agent. It starts in any directory; without a ledger, it
    refuses calls. docs/mcp.md lists the tools and the configuration of each host. It needs the extra `mcp`.
    """

    def call(as_json: bool) -> int:
        extras.require_extra("bb mcp", "mcp")
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
        extras.exec_face("mcp", [*flags, *words])

    return lambda as_json: run.guarded("mcp", lambda: call(as_json), as_json=as_json)


class Port(Number):
    """A port."""

    least = 0
    most = 65_535


def _port(written: str) -> int:
    return int(Port.from_text(written, "port"))


OPTIONS = [
    TyperOption(
        param_decls=["--http"], is_flag=True, default=False, help="Serve on a port of this machine, not on stdin."
    ),
    TyperOption(
        param_decls=["--port"],
        type=str,
        metavar="N",
        help="With --http: the port; 0 for any free port. [default: 7323]",
    ),
    TyperOption(
        param_decls=["--agent"],
        type=str,
        metavar="ID",
        help="The agent to act for. Default: BB_AGENT, else each call names its agent.",
        autocompletion=offers.completion(AgentId),
    ),
    TyperOption(
        param_decls=["--directory"],
        type=str,
        metavar="DIR",
        help="The directory to work in, for a host that starts it elsewhere. Default: the current directory.",
    ),
]
COMMAND = (choose, OPTIONS, ("bb mcp", "bb mcp --agent amber-otter", "bb mcp --http --port 7323"))
