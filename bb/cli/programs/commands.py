"""The commands that run other programs or talk to them: the daemon, harnesses, terminals, hosts and browsers."""

from __future__ import annotations

import os
import sys
from typing import Any

from bb.cli.calls import output as calls_output
from bb.cli.calls.own_command import Asked, command
from bb.cli.programs import chat_commands, extras, mcp_start
from bb.kernel.errors import Usage
from bb.ops import callers
from bb.ops.agent_params import Name
from bb.ops.params import AgentId, Number, Seconds, UncheckedText, invalid


class Idle(Seconds):
    """End after this time without a connected client or a running actor."""


class MetricsPort(Number):
    """Serve numbers about the relays of fleets at this port of the loopback interface, as Prometheus reads them
    (`/metrics`). They are off unless this or BB_DAEMON_METRICS is given."""

    metavar = "PORT"
    least = 1
    most = 65535


class Lines(Number):
    """The number of lines."""


@command("daemon start", "bb daemon start", "bb daemon start --exit-when-idle 600")
def start(
    asked: Asked,
    *,
    exit_when_idle: Idle | None = None,
    allow_anonymous_tcp: bool = False,
    metrics: MetricsPort | None = None,
) -> int:
    """Start the daemon in the background, and return once it answers.

    Each home directory (CCCC_HOME, else BB_HOME, else ~/.cccc) has one daemon. If it is already running, it keeps
    running, and the answer says so. In a clone that has joined a fleet, the daemon connects the clone to the engine
    from now on, and again each time it starts.

    Parameters:
        allow_anonymous_tcp: Over TCP, require no token, for clients that cannot send it. Every user of the machine
            can then connect.
    """
    from bb.cli.programs import daemon  # noqa: PLC0415

    answer = daemon.start(os.environ, exit_when_idle, anonymous=allow_anonymous_tcp, metrics=metrics)
    return _print(asked, answer)


@command("daemon stop", "bb daemon stop")
def stop(asked: Asked) -> int:
    """Stop the daemon, and return once it has ended.

    The daemon first answers pending requests and stops its actors. The next daemon starts these actors again, except
    those that you stopped yourself. If no daemon is running, the command does nothing and succeeds.
    """
    from bb.cli.programs import daemon  # noqa: PLC0415

    return _print(asked, daemon.stop(os.environ))


@command("daemon status", "bb daemon status", "bb daemon status --json")
def status(asked: Asked) -> int:
    """Show whether a daemon is running, its process and address, and its groups and actors.

    The exit status is 0 in both cases; see `running`.
    """
    from bb.cli.programs import daemon  # noqa: PLC0415

    return _print(asked, daemon.status(os.environ))


@command("daemon run", "bb daemon run")
def run_daemon(
    asked: Asked,
    *,
    exit_when_idle: Idle | None = None,
    allow_anonymous_tcp: bool = False,
    metrics: MetricsPort | None = None,
) -> int:
    """Run the daemon in the foreground, until interrupted.

    With --json, it prints one document at its start.

    Parameters:
        allow_anonymous_tcp: Over TCP, require no token, for clients that cannot send it. Every user of the machine
            can then connect.
    """
    from bb.cli.programs import daemon  # noqa: PLC0415

    anonymous = allow_anonymous_tcp
    return daemon.run(os.environ, exit_when_idle, anonymous=anonymous, as_json=asked.as_json, metrics=metrics)


@command(
    "daemon logs",
    *("bb daemon logs", "bb daemon logs --follow --lines 5"),
)
def logs(asked: Asked, *, follow: bool = False, lines: Lines = Lines(50)) -> int:  # noqa: B008
    """Show the last lines of the daemon's log. With --follow, also show new lines, until interrupted.

    Parameters:
        follow: Also show new lines, until interrupted.
    """
    from bb.cli.programs import daemon_log  # noqa: PLC0415
    from bb.ledger.local import machine_registry  # noqa: PLC0415

    home = machine_registry.home(os.environ)
    if not follow:
        return _print(asked, {"log": daemon_log.path(home), "lines": daemon_log.last(home, lines)})
    for line in daemon_log.follow(home, lines):
        if asked.as_json:
            calls_output.document({"line": line})
        else:
            calls_output.lines([line])
        calls_output.flush()
    return 0


def _print(asked: Asked, answer: dict[str, Any]) -> int:
    calls_output.success(asked.op.words, answer, as_json=asked.as_json, screen="chat")
    return 0


NoJson = Usage.declare(
    "NO_JSON",
    "A terminal cannot be shown as JSON",
    hint="`bb actor tail ACTOR --json` answers with the terminal's last output",
)


@command(
    "attach",
    *("bb attach peer-1", "bb attach peer-1 --read-only > log"),
    op="term_attach",
    takes=("actor_id", "read_only", "group_id"),
)
def attach(asked: Asked) -> int:
    """Use an actor's terminal from your own, until you detach with Ctrl-\\.

    Several terminals may be attached: the first can type, the others watch. With --read-only you only watch; output
    can then also go to a pipe or a file.
    """
    from bb.cli.programs import attach as program  # noqa: PLC0415

    if asked.as_json:
        raise NoJson()
    return program.attach(asked.given)


@command(
    "cbcl batch",
    """echo '{"do": "parse", "text": "(hello @bob)", "id": 1}' | bb cbcl batch""",
    "bb cbcl batch < requests.jsonl > answers.jsonl",
)
def batch(_: Asked) -> int:
    """Answer CBCL requests line by line: one JSON object on stdin, one envelope on stdout, until stdin ends.

    A request has `do` (parse, format, canonical, hash, verify, expand, sign or check) and `text`, or `bytes_hex`.
    `max_depth` and `max_size` set limits. verify and expand take `dialects`, a list of texts; expand also takes
    `max_expansion_size`; sign takes `seed`, and `teach` to make the message that teaches a dialect; check takes
    `public_key`, and `signature` unless the text is signed. The answer repeats the `id`. An invalid line is answered
    with ok false, and the next line is read. No file, key or ledger is read.
    """
    from bb.cli.programs import cbcl_batch  # noqa: PLC0415

    return cbcl_batch.run()


StdoutIsTaken = Usage.declare(
    "STDOUT_IS_TAKEN",
    "Without --http, stdout carries MCP only, so --json is not possible",
    hint="omit --json; with --http, --json prints one document with the address",
)


class McpPort(Number):
    """With --http: the port; 0 for any free port. [default: 7323]"""

    least, most = 0, 65_535


class McpAgent(AgentId):
    """The agent to act for. Default: BB_AGENT, else that of the host's session, else each call names it."""


class McpDirectory(UncheckedText):
    """The directory to work in, for a host that starts it elsewhere. Default: the current directory."""

    metavar = "DIR"


@command(
    "mcp",
    *("bb mcp", "bb mcp --agent amber-otter", "bb mcp --http --port 7323"),
)
def mcp(
    asked: Asked,
    *,
    http: bool = False,
    port: McpPort | None = None,
    agent: McpAgent | None = None,
    directory: McpDirectory | None = None,
    channel: bool = False,
) -> int:
    """Serve an MCP host: ten tools, and resources, for agents that work in this repository.

    The host starts this command and talks to it on stdin and stdout; `bb mcp install --host HOST` configures the host.
    With --http it serves several hosts on a port of this machine; a client needs the token from the file that is
    printed. The agent is --agent, else BB_AGENT, else that of the host's session; else each call names it. The server
    starts in any directory; without a ledger, it refuses calls. docs/mcp.md lists the tools and the configuration of
    each host. It needs the extra `mcp` for --http, and nothing for stdin.

    Parameters:
        http: Serve on a port of this machine, not on stdin.
        channel: Also push the agent's messages into the open session, as a channel of Claude Code.
    """
    if channel and http:
        raise invalid("--channel goes with stdin, not with --http", "channel")
    if asked.as_json and not http:
        raise StdoutIsTaken()
    if http:
        extras.require_extra("bb mcp --http", "mcp")
    if port is not None and not http:
        raise invalid("--port goes with --http", "port")
    if not http and sys.stdin is not None and sys.stdin.isatty():
        hosts = "An MCP host should start this command: `bb mcp install --host HOST` configures that. ^C ends it."
        calls_output.lines([hosts], sys.stderr)
    options = {"--port": port, "--agent": agent, "--directory": directory}
    words = [f"{option}={value}" for option, value in options.items() if value is not None]
    flags = [flag for flag, is_on in (("--http", http), (mcp_start.CHANNEL, channel)) if is_on]
    extras.exec_face("mcp", [*flags, *_json(asked), *words])


class WebPort(Number):
    """Listen on this port of 127.0.0.1; 0 for any free port. [default: 4780, or any]"""

    metavar = "PORT"
    least, most = 0, 65_535


@command("web", "bb web", "bb web --open", "bb web --port 8080 --json")
def web(asked: Asked, *, port: WebPort | None = None, open_: bool = False) -> int:
    """Show agents, the map, the timeline and problems in a browser, live, until interrupted.

    The pages are served on this machine only, to every client with the printed address. Actions on the pages (accept,
    answer, settle, release) are recorded as `user`, the person. It needs the extra `web`.

    Parameters:
        open_: Also open a browser.
    """
    extras.require_extra("bb web", "web")
    number = "" if port is None else str(port)
    extras.exec_face("web", ["serve", number, *(["--open"] if open_ else []), *_json(asked)])


class ReportFile(Name):
    """The file to write, or - for standard output."""

    metavar = "FILE"


@command("report", "bb report --output report.html", "bb report --output - > report.html")
def report(asked: Asked, *, output: ReportFile) -> int:
    """Write the pages of `bb web` into one self-contained HTML file: for CI, mail or archives.

    It needs the extra `web`.
    """
    extras.require_extra("bb report", "web")
    extras.exec_face("web", ["report", output, *_json(asked)])


class CommandWord(UncheckedText):
    """The command and its arguments, behind `--`."""

    metavar = "COMMAND"


@command(
    "run",
    *("bb run -- pytest tests", "bb run --clean -- make check"),
    in_json="Print one JSON document when the command has ended. The command's own output then goes to stderr.",
)
def run(asked: Asked, command: list[CommandWord] | None = None, *, clean: bool = False, keep: bool = False) -> int:
    """Run a command on HEAD plus only your own uncommitted changes.

    The command runs in a throw-away tree. So half-done work of others in the same work tree does not break your tests,
    and nothing that the command writes changes the work tree. Files that git ignores and that tests need are there as
    well: folders such as node_modules and .venv as links, files such as .env as copies. What is built from the sources,
    and caches, are left out.

    The command starts in the current folder's counterpart, and BB_RUN_TREE is the top folder of the tree. git works
    there as in a clone of its own. The exit status is that of the command, 128 plus the number of a signal that ended
    it, 127 if the command was not found, and 126 if it could not be started. docs/lines.md has more.

    Parameters:
        clean: Leave out all files that git ignores.
        keep: Keep the tree, and print its path to stderr.
    """
    from bb.cli.programs import run_aside  # noqa: PLC0415

    caller = asked.given.get(callers.NAME)
    return run_aside.run(command, caller, is_clean=clean, is_kept=keep, as_json=asked.as_json)


def _json(asked: Asked) -> list[str]:
    return ["--json"] if asked.as_json else []


COMMANDS = (run, attach, *chat_commands.COMMANDS, batch, mcp, start, stop, status, run_daemon, logs, web, report)
