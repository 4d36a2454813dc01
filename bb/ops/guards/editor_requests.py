"""Common to the editor hooks: read the payload, find the agent, and answer.

A guard must not make an editor unusable, so a payload that is not understood passes, with a note on stderr. A failed
check is a refusal only if both the agent and the files that it would change are known.
"""

from __future__ import annotations

import os

from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping, ids, json_text
from bb.ledger.git import place
from bb.ledger.local import editor_sessions
from bb.ops.guards.hook_call import note_hook_call
from bb.ops.params import Text, UncheckedAgent, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk

LARGEST = 1 << 25  # bytes of a payload, which may carry a whole file
BLOCKED = 2  # the exit status that stops a tool in every editor
MOST_FOLDERS = 50  # most folders that are searched for a repository
PROJECTS = (
    "CLAUDE_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "CURSOR_PROJECT_DIR",
)  # the project directory of a host's session
PASSED, REFUSED = "passed", "refused"
LINES, OFF = "BB_LINES", ("off", "0", "no", "false")


class Host(Text):
    """The calling editor: claude, codex, gemini, opencode, cursor, vscode, qwen. Default: detected from the payload."""

    metavar = "HOST"
    choices = editors.HOSTS


class EditorAgent(UncheckedAgent):
    """The agent in the editor. Default: BB_AGENT, else the agent of the session."""


class Payload(UncheckedText):
    """The editor's payload as JSON. Default: stdin."""

    metavar = "JSON"
    longest = LARGEST


def _sent(desk: Desk) -> bytes:
    """What the editor has sent on stdin. At a terminal nothing: no person types a payload."""
    return b"" if desk.stdin is None or desk.stdin.isatty() else desk.stdin.read(LARGEST)


def read_payload(desk: Desk, moment: str, host: str | None, payload: str | None) -> HookPayload:
    """Read the editor's payload, and switch the desk to the editor's directory."""
    octets = payload.encode("utf-8", "surrogatepass") if payload is not None else _sent(desk)
    if not octets.strip():
        raise NotUnderstood("stdin is empty")
    if len(octets) >= LARGEST:
        raise NotUnderstood(f"it is longer than {LARGEST:,} bytes")
    try:
        # Invalid UTF-8 in the content of a file is tolerated, so that the file's name can still be read.
        sent = json_text.loads(octets.decode("utf-8", "surrogateescape"))
        heard = editors.parse_payload(sent, moment, _real_host(desk, host))
    except json_text.NotJson as error:
        raise NotUnderstood(f"it is not valid JSON: {error}") from None
    _go_to_editor(desk, heard)
    desk.note_session(heard.session)
    if payload is None:  # typed by an agent or a person otherwise
        note_hook_call(desk, heard.host, heard.moment)
    return heard


def _real_host(desk: Desk, host: str | None) -> str | None:
    """HOST, or the host that runs its hooks: Copilot CLI calls the hooks of Claude Code, and reads other answers."""
    return editors.VSCODE if host == editors.CLAUDE and "COPILOT_CLI" in desk.env else host


def _go_to_editor(desk: Desk, heard: HookPayload) -> None:
    """Switch the desk to the editor's directory and to the repository of the files that it is about to change.

    An agent in another directory may still change files of this repository by absolute paths. So several folders are
    tried, and the first repository with a ledger is used. A relative path starts from the editor's directory. Files
    that a shell command writes come last, because the command may do more in the editor's directory.
    """
    base = heard.cwd if os.path.isabs(heard.cwd) and os.path.isdir(heard.cwd) else desk.cwd
    inner = os.path.join(base, heard.folder)
    base = inner if heard.folder and "\0" not in inner and os.path.isdir(inner) else base
    files = [os.path.dirname(os.path.join(base, path)) for path in heard.paths[:MOST_FOLDERS]]
    projects = [desk.env.get(name, "") for name in PROJECTS]
    written = [os.path.dirname(os.path.join(base, write.path)) for write in heard.written[:MOST_FOLDERS]]
    repository = None
    for folder in dict.fromkeys([*files, base, desk.cwd, *filter(os.path.isabs, projects), *written]):
        try:
            here = place.find(folder, {})
        except (place.NotARepository.error, ValueError):
            continue
        repository = repository if repository and not os.path.isdir(here.store) else here
        if os.path.isdir(repository.store):
            break
    desk.switch_to(base, repository)


def agent_of(desk: Desk, heard: HookPayload, named: str | None) -> str | None:
    """The agent in the editor: the one NAMED, else BB_AGENT, else that of the session; None for a person.

    A hook of a session that has ended shows that it goes on. Some hosts call it before the start of the session.
    """
    who = desk.actor(named) or session_of(desk, heard).agent
    return None if who in (None, "", ids.PERSON) else ids.actor_id(who)


def notes_lines(desk: Desk) -> bool:
    """Whether hooks note whose lines an edit changes. `BB_LINES=off` in the environment switches that off."""
    return desk.env.get(LINES, "").lower() not in OFF


def session_of(desk: Desk, heard: HookPayload) -> editor_sessions.Session:
    """The saved state of the editor's session."""
    return editor_sessions.read(desk.place.store, heard.session) if heard.session else editor_sessions.Session()


# -- answers: the reply for the editor, notes for stderr, and the exit status


def allow(heard: HookPayload | None = None, *notes: str, reply: dict[str, Any] | None = None) -> dict[str, Any]:
    """The tool may run."""
    return _answer(heard, PASSED, reply, list(notes), 0)


def refuse(heard: HookPayload, reason: str, *notes: str) -> dict[str, Any]:
    """The tool must not run."""
    reply = editors.refused(heard, reason)
    if reply is None:
        return _answer(heard, REFUSED, None, [reason, *notes], BLOCKED)
    return _answer(heard, REFUSED, reply, list(notes), 0)


def _answer(
    heard: HookPayload | None, verdict: str, reply: dict[str, Any] | None, notes: list[str], status: int
) -> dict[str, Any]:
    notes = [escaping.sentence(note) for note in notes]
    return {
        "host": heard.host if heard else None,
        "moment": heard.moment if heard else None,
        "verdict": verdict,
        "reply": reply,
        "notes": notes,
        "exit_status": status,
    }
