"""Adds `bb mcp` to the project configuration of an MCP host, or removes it."""

from __future__ import annotations

from typing import Any

from bb.coordination.wiring import mcp_hosts
from bb.coordination.wiring.mcp_hosts import HOSTS, Wanted
from bb.kernel import ids
from bb.ledger.git.place import NoWorkTree
from bb.ledger.wiring import editor_settings as files
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentId, Text, invalid
from bb.ops.setup.editor_hooks import Program


class HostName(Text):
    """The host: claude, cursor, vscode, gemini, codex or opencode."""

    metavar = "HOST"
    choices = tuple(HOSTS)


@op(
    "mcp.install",
    screen="guards",
    examples=(
        "bb mcp install --host claude",
        "bb mcp install --host vscode --dry-run --json",
        "bb mcp install --host codex --program beadboard",
        "bb mcp install --host claude --undo",
    ),
)
def install(
    desk: Desk,
    *,
    host: HostName,
    agent: AgentId | None = None,
    program: Program = Program("bb"),  # noqa: B008  (a text)
    undo: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Configure an MCP host to start `bb mcp` in this project. Running it again changes nothing.

    Writes one entry, `bb`, into the host's project configuration (.mcp.json, .cursor/mcp.json, .vscode/mcp.json,
    .gemini/settings.json, .codex/config.toml or opencode.json). Other entries stay. The entry contains no secret and no
    path of this machine, so it may be committed. Use --agent only if the configuration belongs to one agent. Without
    it, the server acts for BB_AGENT, or each call must name its agent.

    Parameters:
        undo: Remove bb's entry again.
        dry_run: Show what would be done, without doing it.
    """
    if undo and agent is not None:
        raise invalid("--undo removes bb's entry for any agent; leave out --agent", "agent")
    if desk.place.work_tree is None:
        raise NoWorkTree()
    wanted_server = Wanted(host, program, None if agent is None else ids.actor_id(agent))
    path = files.absolute_path(desk.place.work_tree, HOSTS[host].file)

    def edit(text: str) -> str:
        return mcp_hosts.unwired(text, host) if undo else mcp_hosts.wired(text, wanted_server)

    try:
        is_changed = files.change(desk.place.work_tree, HOSTS[host].file, edit, dry_run=dry_run)
    except files.SettingsUnreadable.error as refusal:
        refusal.hint = _by_hand(wanted_server, undo=undo)
        refusal.details |= {"servers": HOSTS[host].servers, "entry": mcp_hosts.entry(wanted_server)}
        raise
    done = {"host": host, "path": path, "changed": is_changed, "is_done": not dry_run}
    return done | {
        "entry": None if undo else mcp_hosts.entry(wanted_server),
        "note": None if undo else HOSTS[host].note,
    }


def _by_hand(wanted: Wanted, *, undo: bool) -> str:
    """The hint for a file that bb cannot change."""
    if undo:
        servers = HOSTS[wanted.host].servers
        return f"repair the file, or remove {mcp_hosts.NAME} from its {servers} by hand: see docs/mcp.md"
    return f"repair the file, or add this by hand (see docs/mcp.md): {mcp_hosts.manual_instruction(wanted)}"
