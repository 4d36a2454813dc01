"""Commands that are not ops: `call`, `demo`, `attach`, `chat serve`, `cbcl batch`, `mcp`, and the daemon's.

Their modules are imported when a command runs, so listing the commands stays fast.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from typer.core import TyperArgument, TyperCommand, TyperOption

from bb.cli.calls import offers, run, say
from bb.cli.programs import mcp_command, page_commands
from bb.cli.watch import commands
from bb.kernel import json_text
from bb.kernel.errors import Usage
from bb.ops import catalogue
from bb.ops.params import ActorId, AgentId, GroupId, Number, Seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    Chosen = Callable[[bool], int]
    Examples = Callable[[tuple[str, ...]], str | None]


class InvalidJson(Usage):
    """The arguments are not a JSON object."""

    code = "INVALID_JSON"
    hint = """for example --args '{"agent": "amber-otter"}'"""


def _call(op: str | None = None, args: str | None = None, list_: bool = False, **_: Any) -> Chosen:
    """Run any op by its name, with its arguments as one JSON object.

    The names are the same as on the socket: `agent.register` for `bb agent register`. Arguments are checked strictly:
    an unknown field or a wrong type is refused, and the answer names its path. `--args -` reads them from stdin.
    """
    if list_:
        return _list
    return lambda as_json: run.guarded("call", lambda: _run(op, args, as_json), as_json=as_json)


def _list(as_json: bool) -> int:
    ops = [{"op": op.name, "summary": op.summary} for op in catalogue.all_ops()]
    if as_json:
        say.success("call", ops, as_json=True)
    else:
        say.lines(f"{op['op']:<16}  {op['summary']}" for op in ops)
    return 0


def _run(name: str | None, args: str | None, as_json: bool) -> int:
    if not name:
        raise catalogue.MissingOption("call needs OP", hint="`bb call --list` lists all ops")
    op = catalogue.find(name)
    try:
        given = json_text.loads(sys.stdin.buffer.read().decode() if args == "-" else args or "{}")
    except UnicodeDecodeError as error:
        raise json_text.InvalidText("the arguments on stdin are not valid UTF-8") from error
    except json_text.NotJson as error:
        raise InvalidJson(f"the arguments are not valid JSON: {error}") from error
    if type(given) is not dict:
        raise InvalidJson
    if op.is_flat:
        _must_be_text(given)  # other ops name the invalid value themselves
    return run.perform(op, given, as_json=as_json, is_typed=True)


def _must_be_text(given: dict[str, Any]) -> None:
    try:
        json_text.dumps(given).encode()
    except UnicodeEncodeError as error:
        raise json_text.InvalidText("a text contains an unpaired surrogate") from error


def _demo(keep: bool = False, **_: Any) -> Chosen:
    """Watch agents share a repository, in one clone and across two. Each step shows a command and its answer.

    The demo uses a temporary directory, real commands and real git repositories.
    """

    def chosen(as_json: bool) -> int:
        from bb.cli.programs import demo  # noqa: PLC0415

        return demo.play(keep=keep, as_json=as_json)

    return chosen


# -- the daemon


def _start(exit_when_idle: str | None = None, allow_anonymous_tcp: bool = False, **_: Any) -> Chosen:
    """Start the daemon in the background, and return once it answers.

    Each home directory (CCCC_HOME, else BB_HOME, else ~/.cccc) has one daemon. If it is already running, it keeps
    running, and the answer says so.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import daemon  # noqa: PLC0415

        say.success(
            "daemon start",
            daemon.start(os.environ, _seconds(exit_when_idle), anonymous=allow_anonymous_tcp),
            as_json=as_json,
            screen="chat",
        )
        return 0

    return _guarded("daemon start", call)


def _stop(**_: Any) -> Chosen:
    """Stop the daemon, and return once it has ended.

    The daemon first answers pending requests and stops its actors. The next daemon starts these actors again, except
    those that you stopped yourself. If no daemon is running, the command does nothing and succeeds.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import daemon  # noqa: PLC0415

        say.success("daemon stop", daemon.stop(os.environ), as_json=as_json, screen="chat")
        return 0

    return _guarded("daemon stop", call)


def _status(**_: Any) -> Chosen:
    """Show whether a daemon is running, its process and address, and its groups and actors.

    The exit status is 0 in both cases; see `running`.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import daemon  # noqa: PLC0415

        say.success("daemon status", daemon.status(os.environ), as_json=as_json, screen="chat")
        return 0

    return _guarded("daemon status", call)


def _run_daemon(exit_when_idle: str | None = None, allow_anonymous_tcp: bool = False, **_: Any) -> Chosen:
    """Run the daemon in the foreground, until interrupted.

    With --json, it prints one document at its start.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import daemon  # noqa: PLC0415

        return daemon.run(os.environ, _seconds(exit_when_idle), anonymous=allow_anonymous_tcp, as_json=as_json)

    return _guarded("daemon run", call)


def _logs(follow: bool = False, lines: str | None = None, **_: Any) -> Chosen:
    """Show the last lines of the daemon's log. With --follow, also show new lines, until interrupted."""

    def call(as_json: bool) -> int:
        from bb.cli.programs import daemon_log  # noqa: PLC0415
        from bb.ledger.local import machine_registry  # noqa: PLC0415

        home = machine_registry.home(os.environ)
        count = Number.from_text(lines, "lines") if lines is not None else USUAL_LINES
        if not follow:
            found = {"log": daemon_log.path(home), "lines": daemon_log.last(home, count)}
            say.success("daemon logs", found, as_json=as_json, screen="chat")
            return 0
        for line in daemon_log.follow(home, count):
            if as_json:
                say.document({"line": line})
            else:
                say.lines([line])
            say.flush()
        return 0

    return _guarded("daemon logs", call)


# -- a terminal


class NoJson(Usage):
    """A terminal cannot be shown as JSON."""

    code = "NO_JSON"
    hint = "`bb actor tail ACTOR --json` answers with the terminal's last output"


def _attach(actor: str | None = None, group_id: str | None = None, read_only: bool = False, **_: Any) -> Chosen:
    """Use an actor's terminal from your own, until you detach with Ctrl-\\.

    Several terminals may be attached: the first can type, the others watch. With --read-only you only watch; output
    can then also go to a pipe or a file.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import attach  # noqa: PLC0415

        if as_json:
            raise NoJson
        return attach.attach(actor, group_id, read_only=read_only)

    return _guarded("attach", call)


# -- C2A


class StdioOrSocket(Usage):
    """`bb chat serve` needs exactly one of --stdio and --socket."""

    code = "STDIO_OR_SOCKET"
    hint = "pass --stdio, or --socket PATH"


def _serve(stdio: bool = False, socket: str | None = None, agent: str | None = None, **_: Any) -> Chosen:
    """Serve agent harnesses: deliver events to their agents, and run their chat tools (C2A, JSON-RPC 2.0).

    With --stdio it serves one harness, the parent process, on stdin and stdout. With --socket it serves several
    harnesses on a Unix socket that only you can open. After a lost connection, unacknowledged deliveries are sent
    again. docs/harness.md shows a complete harness.
    """

    def call(as_json: bool) -> int:
        from bb.cli.programs import serve  # noqa: PLC0415

        if stdio == bool(socket):
            raise StdioOrSocket
        return serve.on_socket(socket, agent, as_json=as_json) if socket else serve.on_stdio(agent)

    return _guarded("chat serve", call)


# -- CBCL


def _batch(**_: Any) -> Chosen:
    """Answer CBCL requests line by line: one JSON object on stdin, one envelope on stdout, until stdin ends.

    A request has `do` (parse, format, canonical, hash, verify, expand, sign or check) and `text`, or `bytes_hex`.
    `max_depth` and `max_size` set limits. verify and expand take `dialects`, a list of texts; expand also takes
    `max_expansion_size`; sign takes `seed`, and `teach` to make the message that teaches a dialect; check takes
    `public_key`, and `signature` unless the text is signed. The answer repeats the `id`. An invalid line is answered
    with ok false, and the next line is read. No file, key or ledger is read.
    """

    def call(_: bool) -> int:
        from bb.cli.programs import cbcl_batch  # noqa: PLC0415

        return cbcl_batch.run()

    return _guarded("cbcl batch", call)


def _guarded(words: str, call: Callable[[bool], int]) -> Chosen:
    return lambda as_json: run.guarded(words, lambda: call(as_json), as_json=as_json)


def _seconds(written: str | None) -> int | None:
    return None if written is None else int(Seconds.from_text(written, "exit-when-idle"))


USUAL_LINES = 50
IDLE = TyperOption(
    param_decls=["--exit-when-idle"],
    type=str,
    metavar="SECONDS",
    help="End after this time without a connected client or a running actor.",
)
ANONYMOUS = TyperOption(
    param_decls=["--allow-anonymous-tcp"],
    is_flag=True,
    default=False,
    help="Over TCP, require no token, for clients that cannot send it. Every user of the machine can then connect.",
)
# group -> its help
GROUPS = {"daemon": "The daemon, which runs actors and answers clients on a socket: start it, stop it, see its state."}
COMMANDS: dict[str, tuple[Callable[..., Chosen], list[Any], tuple[str, ...]]] = {
    "call": (
        _call,
        [
            TyperArgument(
                param_decls=["op"], type=str, required=False, metavar="OP", help="The op, such as agent.heartbeat."
            ),
            TyperOption(
                param_decls=["--args", "args"], type=str, metavar="JSON", help="Its arguments, or - for stdin."
            ),
            TyperOption(param_decls=["--list", "list_"], is_flag=True, default=False, help="List all ops."),
        ],
        ("bb call --list", """bb call agent.heartbeat --args '{"agent": "amber-otter"}' --json"""),
    ),
    "demo": (
        _demo,
        [TyperOption(param_decls=["--keep"], is_flag=True, default=False, help="Keep the scratch repository.")],
        ("bb demo",),
    ),
    "attach": (
        _attach,
        [
            TyperArgument(
                param_decls=["actor"],
                type=str,
                required=False,
                metavar="ACTOR",
                help=ActorId.__doc__,
                autocompletion=offers.completion(ActorId),
            ),
            TyperOption(param_decls=["--read-only"], is_flag=True, default=False, help="Watch only, without typing."),
            TyperOption(
                param_decls=["--group-id"],
                type=str,
                metavar="GROUP",
                help=GroupId.__doc__,
                autocompletion=offers.completion(GroupId),
            ),
        ],
        ("bb attach peer-1", "bb attach peer-1 --read-only > log"),
    ),
    "chat serve": (
        _serve,
        [
            TyperOption(
                param_decls=["--stdio"],
                is_flag=True,
                default=False,
                help="Serve the parent process on stdin and stdout.",
            ),
            TyperOption(
                param_decls=["--socket"], type=str, metavar="PATH", help="Serve on a Unix socket created at PATH."
            ),
            TyperOption(
                param_decls=["--agent"],
                type=str,
                metavar="ID",
                help="The agent of the harness. Default: with --stdio BB_AGENT, else the harness names its agent.",
                autocompletion=offers.completion(AgentId),
            ),
        ],
        ("bb chat serve --stdio --agent amber-otter", "bb chat serve --socket .git/bb/chat.sock"),
    ),
    "cbcl batch": (
        _batch,
        [],
        (
            """echo '{"do": "parse", "text": "(hello @bob)", "id": 1}' | bb cbcl batch""",
            "bb cbcl batch < requests.jsonl > answers.jsonl",
        ),
    ),
    "mcp": mcp_command.COMMAND,
    "daemon start": (_start, [IDLE, ANONYMOUS], ("bb daemon start", "bb daemon start --exit-when-idle 600")),
    "daemon stop": (_stop, [], ("bb daemon stop",)),
    "daemon status": (_status, [], ("bb daemon status", "bb daemon status --json")),
    "daemon run": (_run_daemon, [IDLE, ANONYMOUS], ("bb daemon run",)),
    "daemon logs": (
        _logs,
        [
            TyperOption(
                param_decls=["--follow"], is_flag=True, default=False, help="Also show new lines, until interrupted."
            ),
            TyperOption(
                param_decls=["--lines"], type=str, metavar="N", help=f"The number of lines. [default: {USUAL_LINES}]"
            ),
        ],
        ("bb daemon logs", "bb daemon logs --follow --lines 5"),
    ),
    **page_commands.COMMANDS,
    **commands.COMMANDS,
}


# Options of a command that its op does not have. Attached files are stored, and the message refers to them.
ATTACH = TyperOption(
    param_decls=["--attach"],
    type=str,
    metavar="FILE",
    multiple=True,
    help="A file to attach. Repeat it for several.",
)
EXTRA = {"send": [ATTACH], "reply": [ATTACH], "problems": commands.WATCHING}
# The help of --json for commands that stream.
IN_JSON = commands.IN_JSON | dict.fromkeys(
    ("daemon logs", "ledger log", "events"), "Answer with one JSON document; with --follow, one for each item."
)
# The command to run in place of the op; None if the options do not ask for it.
INSTEAD: dict[str, Callable[[dict[str, Any]], Chosen | None]] = {"problems": commands.instead_of_problems}


def in_group(group: str) -> list[str]:
    """The words of the commands in a group; for an empty group, of the top-level commands."""
    return [words for words in COMMANDS if words.rpartition(" ")[0] == group]


def command(words: str, json_option: TyperOption, examples: Examples) -> TyperCommand:
    """One of these commands."""
    callback, params, shown = COMMANDS[words]
    return TyperCommand(
        name=words.rpartition(" ")[2],
        callback=callback,
        help=callback.__doc__,
        epilog=examples(shown),
        rich_markup_mode=None,
        params=[*params, json_option],
    )
