"""The commands that connect agents with their messages: `bb chat serve` and `bb chat attach`."""

from __future__ import annotations

from bb.cli.calls.own_command import Asked, command
from bb.kernel.errors import Usage
from bb.ops.params import Seconds, UncheckedText

StdioOrSocket = Usage.declare(
    "STDIO_OR_SOCKET",
    "`bb chat serve` needs exactly one of --stdio and --socket",
    hint="`bb chat serve --stdio`, or `bb chat serve --socket PATH`",
)


class SocketPath(UncheckedText):
    """Serve on a Unix socket created at PATH."""

    metavar = "PATH"


class HarnessAgent(UncheckedText):
    """The agent of the harness. Default: with --stdio BB_AGENT, else the harness names its agent."""

    metavar = "ID"
    is_agent = True


@command(
    "chat serve",
    *("bb chat serve --stdio --agent amber-otter", "bb chat serve --socket .git/bb/chat.sock"),
)
def serve(
    asked: Asked, *, stdio: bool = False, socket: SocketPath | None = None, agent: HarnessAgent | None = None
) -> int:
    """Serve agent harnesses: deliver events to their agents, and run their chat tools (C2A, JSON-RPC 2.0).

    With --stdio it serves one harness, the parent process, on stdin and stdout. With --socket it serves several
    harnesses on a Unix socket that only you can open. After a lost connection, unacknowledged deliveries are sent
    again. docs/harness.md shows a complete harness.

    Parameters:
        stdio: Serve the parent process on stdin and stdout.
    """
    from bb.cli.programs import serve as program  # noqa: PLC0415

    if stdio == bool(socket):
        raise StdioOrSocket()
    return program.on_socket(socket, agent, as_json=asked.as_json) if socket else program.on_stdio(agent)


class AttachedAgent(UncheckedText):
    """The agent whose messages the program gets. Default: BB_AGENT."""

    metavar = "ID"
    is_agent = True


class PermissionPolicy(UncheckedText):
    """What becomes of the program's requests to run its own tools: `ask` the person, `allow` all, or `deny` all."""

    metavar = "POLICY"
    choices = ("ask", "allow", "deny")


class Wake(UncheckedText):
    """What starts a turn: messages that the agent `must` answer, or also those that it `may` answer."""

    metavar = "WHEN"
    choices = ("must", "may")


class Lease(Seconds):
    """Cancel a turn in which the program is silent for this time. Default: `turn_lease_ms` of `bb chat policy`."""

    least = 1


class AcpSession(UncheckedText):
    """Go on with this session of the program, if it can."""

    metavar = "SESSION"


class AgentCommand(UncheckedText):
    """The program and its arguments, behind `--`."""

    metavar = "COMMAND"


@command(
    "chat attach",
    *("bb chat attach --agent amber-otter -- gemini --acp", "bb chat attach --permissions allow -- opencode acp"),
    in_json="Print what happens to stdout, one JSON document a line. There is no terminal to ask then.",
)
def chat_attach(
    asked: Asked,
    command: list[AgentCommand] | None = None,
    *,
    agent: AttachedAgent | None = None,
    permissions: PermissionPolicy = PermissionPolicy("ask"),  # noqa: B008
    wake: Wake = Wake("must"),  # noqa: B008
    lease: Lease | None = None,
    tools_only: bool = False,
    session: AcpSession | None = None,
) -> int:
    """Run an agent program, and start a turn for each message that its agent must answer.

    The program speaks the Agent Client Protocol (ACP). It gets messages as prompts, and the tools of bb as an MCP
    server. If it must answer and sends nothing, the last text of its turn is sent as the answer, where the message
    stands. This runs until it is interrupted; the turn is then cancelled, and repeated by the next run.
    docs/attach.md shows it with several programs.

    Parameters:
        tools_only: Send only what the program sends with its chat tools, never the text of a turn.
    """
    from bb.cli.programs import chat_attach as program  # noqa: PLC0415

    options = program.Options(
        permissions=permissions,
        wake=wake,
        lease=lease,
        tools_only=tools_only,
        session=session or "",
        as_json=asked.as_json,
    )
    return program.run(command, agent, options)


COMMANDS = (serve, chat_attach)
