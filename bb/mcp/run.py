"""The MCP server process: on stdin and stdout for the host that started it, or on a local port."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

from bb.kernel.errors import BbError, Usage
from bb.mcp.log import print_json, report, write_lines
from bb.mcp.tool_calls import Toolbox
from bb.wire import envelope

if TYPE_CHECKING:
    from collections.abc import Sequence

A_BUG, INTERRUPTED = 1, 130
USUAL_PORT = 7323

NoHost = Usage.declare(
    "NOBODY_THERE",
    "Stdin or stdout is closed, so no host is connected",
    hint="let an MCP host start it, or serve with --http",
)


def main(words: Sequence[str]) -> int:
    """Serve as the arguments WORDS say; the exit status."""
    options = _parser().parse_args(words)
    try:
        return _serve(options)
    except BbError as refusal:
        _refuse(refusal, as_json=options.json)
        return refusal.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        report("bb mcp", error)
        return A_BUG


def _parser() -> argparse.ArgumentParser:
    """The arguments that `bb mcp` passes on. Users see the help of `bb mcp`, not this one."""
    parser = argparse.ArgumentParser(prog="python -m bb.mcp", allow_abbrev=False)
    for flag in ("--http", "--json"):
        parser.add_argument(flag, action="store_true")
    for option in ("--agent", "--directory"):
        parser.add_argument(option)
    parser.add_argument("--port", type=int, default=USUAL_PORT)
    return parser


def _serve(wanted: argparse.Namespace) -> int:
    directory = os.path.abspath(wanted.directory or _here())
    env = dict(os.environ) | ({"BB_AGENT": wanted.agent} if wanted.agent else {})
    if os.path.isdir(directory):
        os.chdir(directory)  # for subprocesses
    logging.getLogger("mcp").setLevel(logging.ERROR)  # its warnings quote the requests
    toolbox = Toolbox(directory, env, report)
    if wanted.http:
        from bb.mcp import http  # noqa: PLC0415  (stdio needs no web server)

        return http.serve(toolbox, env, wanted.port, as_json=wanted.json)
    _serve_stdio(toolbox)
    return 0


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # every call is then refused with NO_SUCH_DIRECTORY
        return os.environ.get("PWD", os.curdir)


def _serve_stdio(toolbox: Toolbox) -> None:
    """Serve the host until it closes stdin."""
    if sys.stdin is None or sys.stdout is None:
        raise NoHost()
    gc.disable()  # the imports create no garbage; collecting during them costs a tenth of the start-up time
    import anyio  # noqa: PLC0415  (after the arguments were checked)
    from mcp.server.stdio import stdio_server  # noqa: PLC0415

    from bb.mcp.server import server  # noqa: PLC0415
    from bb.mcp.stdio import wrap_streams  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    # The thread that reads stdin cannot be interrupted. Everything that was answered is on disk.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    serving = server(toolbox)

    async def serve() -> None:
        async with stdio_server() as streams:
            await serving.run(*wrap_streams(*streams), serving.create_initialization_options())

    try:
        anyio.run(serve)
    except* BrokenPipeError:
        write_lines("the host disconnected")


def _refuse(refusal: BbError, *, as_json: bool) -> None:
    if as_json:
        print_json(envelope.failure("mcp", refusal))
    else:
        hint = [f"Hint: {refusal.hint}"] if refusal.hint else []
        write_lines(f"Error: [{refusal.code}] {refusal.message}", *hint)
