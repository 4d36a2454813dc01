"""Having an MCP host start `bb mcp`: its configuration of this project written, put back, looked at."""

from __future__ import annotations

from bb.coordination.wiring import mcp_hosts
from bb.coordination.wiring.mcp_hosts import HOSTS, Wanted
from bb.kernel import ids
from bb.ledger.git.place import NoWorkTree
from bb.ledger.wiring import editor_settings as files
from bb.ops.catalogue import op
from bb.ops.params import AgentId, Text, invalid
from bb.ops.setup.editor_hooks import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk


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
    undo="Take our entry out again.",
    dry_run="Say what would be done, and do nothing.",
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
    """Have an MCP host start `bb mcp` in this project. Running it again changes nothing.

    Writes one entry, `bb`, into the host's configuration of the project (.mcp.json, .cursor/mcp.json,
    .vscode/mcp.json, .gemini/settings.json, .codex/config.toml or opencode.json), beside what stands there, which stays
    as it is. There is no secret in it and no path of this machine, so it may be committed. --agent is for a
    configuration that is one agent's alone: without it the server acts for BB_AGENT, or else each call says who asks.
    """
    if undo and agent is not None:
        raise invalid("--undo takes out our entry, whoever it is for: leave out --agent", "agent")
    if desk.place.work_tree is None:
        raise NoWorkTree
    wanted = Wanted(host, program, None if agent is None else ids.actor_id(agent))
    path = files.whole(desk.place.work_tree, HOSTS[host].file)

    def edit(text: str) -> str:
        return mcp_hosts.unwired(text, host) if undo else mcp_hosts.wired(text, wanted)

    try:
        is_changed = files.change(desk.place.work_tree, HOSTS[host].file, edit, dry_run=dry_run)
    except files.SettingsUnreadable as refusal:
        refusal.hint = _by_hand(wanted, undo=undo)
        refusal.details |= {"servers": HOSTS[host].servers, "entry": mcp_hosts.entry(wanted)}
        raise
    done = {"host": host, "path": path, "changed": is_changed, "is_done": not dry_run}
    return done | {"entry": None if undo else mcp_hosts.entry(wanted), "note": None if undo else HOSTS[host].note}


def _by_hand(wanted: Wanted, *, undo: bool) -> str:
    """What to do where the file is not ours to change."""
    if undo:
        return (
            f"mend the file, or take {mcp_hosts.NAME} out of its {HOSTS[wanted.host].servers} by hand: see docs/mcp.md"
        )
    return f"mend the file, or have it say by hand, as docs/mcp.md shows: {mcp_hosts.by_hand(wanted)}"
