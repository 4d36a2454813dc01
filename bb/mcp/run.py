"""The MCP server process: on stdin and stdout for the host that started it, or on a local port."""

from __future__ import annotations

import os
import signal
import sys

from bb.kernel.errors import BbError, Usage
from bb.mcp import stdio
from bb.mcp.log import print_json, report, write_lines
from bb.mcp.tool_calls import Toolbox
from bb.wire import envelope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

A_BUG, INTERRUPTED = 1, 130
USUAL_PORT = 7323

NoHost = Usage.declare(
    "NOBODY_THERE",
    "Stdin or stdout is closed, so no host is connected",
    hint="let an MCP host start it, or serve with --http",
)


def main(words: Sequence[str]) -> int:
    """Serve as the arguments WORDS say; the exit status."""
    options = _options(words)
    try:
        return _serve(options)
    except BbError as refusal:
        _refuse(refusal, as_json="json" in options)
        return refusal.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        report("bb mcp", error)
        return A_BUG


def _options(words: Sequence[str]) -> dict[str, str]:
    """The arguments, as `bb mcp` passes them on: `--http`, `--json`, `--channel`, `--port=N`, `--agent=ID`,
    `--directory=DIR`. It has checked them, and importing a parser would take an eighth of the start-up time."""
    pairs = (word.partition("=") for word in words)
    return {name.removeprefix("--"): value for name, _, value in pairs}


def _serve(wanted: Mapping[str, str]) -> int:
    directory = os.path.abspath(wanted.get("directory") or _here())
    env = dict(os.environ) | ({"BB_AGENT": wanted["agent"]} if wanted.get("agent") else {})
    if os.path.isdir(directory):
        os.chdir(directory)  # for subprocesses
    toolbox = Toolbox(directory, env, report, is_hosts_child="http" not in wanted)
    if "http" in wanted:
        from bb.mcp import http  # noqa: PLC0415  (stdio needs no web server)

        return http.serve(toolbox, env, int(wanted.get("port", USUAL_PORT)), as_json="json" in wanted)
    _serve_stdio(toolbox, has_channel="channel" in wanted)
    return 0


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # every call is then refused with NO_SUCH_DIRECTORY
        return os.environ.get("PWD", os.curdir)


def _serve_stdio(toolbox: Toolbox, *, has_channel: bool) -> None:
    """Serve the host until it closes stdin."""
    if sys.stdin is None or sys.stdout is None:
        raise NoHost()
    # A call in a thread may hold a lock for long. Everything that was answered is on disk.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        stdio.serve(toolbox, has_channel=has_channel)
    except BrokenPipeError:
        write_lines("the host disconnected")


def _refuse(refusal: BbError, *, as_json: bool) -> None:
    if as_json:
        print_json(envelope.failure("mcp", refusal))
    else:
        hint = [f"Hint: {refusal.hint}"] if refusal.hint else []
        write_lines(f"Error: [{refusal.code}] {refusal.message}", *hint)
