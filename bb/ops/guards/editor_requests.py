"""Common to the editor hooks: read the payload, find the agent and the files, and answer.

A guard must not make an editor unusable, so a payload that is not understood passes, with a note on stderr. A failed
check is a refusal only if both the agent and the files that it would change are known.
"""

from __future__ import annotations

import os

from bb.coordination.holdings.scopes import ScopeOutside
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import escaping, ids, json_text
from bb.kernel.record import Record
from bb.ledger.git import place, work_tree
from bb.ledger.local import editor_sessions
from bb.ops.params import Text, UncheckedAgent, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bb.coordination.guards.ignore_files import Ignoring
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk

LARGEST = 1 << 25  # bytes of a payload, which may carry a whole file
BLOCKED = 2  # the exit status that stops a tool in every editor
MOST_FOLDERS = 50  # most folders that are searched for a repository
PROJECTS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")  # the project directory of a host's session
PASSED, REFUSED = "passed", "refused"


class Host(Text):
    """The calling editor: claude, codex or gemini. Default: detected from the payload."""

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
        heard = editors.parse_payload(json_text.loads(octets.decode("utf-8", "surrogateescape")), moment, host)
    except json_text.NotJson as error:
        raise NotUnderstood(f"it is not valid JSON: {error}") from None
    _go_to_editor(desk, heard)
    desk.note_session(heard.session)
    return heard


def _go_to_editor(desk: Desk, heard: HookPayload) -> None:
    """Switch the desk to the editor's directory and to the repository of the files that it is about to change.

    An agent in another directory may still change files of this repository by absolute paths. So several folders are
    tried, and the first repository with a ledger is used. A relative path starts from the editor's directory. Files
    that a shell command writes come last, because the command may do more in the editor's directory.
    """
    base = heard.cwd if os.path.isabs(heard.cwd) and os.path.isdir(heard.cwd) else desk.cwd
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
    """The agent in the editor: the one NAMED, else BB_AGENT, else that of the session; None for a person."""
    who = desk.actor(named) or session_of(desk, heard).agent
    return None if who in (None, "", ids.PERSON) else ids.actor_id(who)


def session_of(desk: Desk, heard: HookPayload) -> editor_sessions.Session:
    """The saved state of the editor's session."""
    return editor_sessions.read(desk.place.store, heard.session) if heard.session else editor_sessions.Session()


class File(Record):
    """A file or folder that a tool would change: its scope and its worktree."""

    scope: Scope
    place: place.Place


def files_of(desk: Desk, paths: Sequence[str]) -> list[File]:
    """The files that a tool would change, without those outside this clone.

    They may be in another worktree of the clone, even a nested one. A path that looks like another path counts as both,
    because the tool writes the one and its user may mean the other.
    """
    if len(paths) > editors.MOST_PATHS:
        raise NotUnderstood(f"it names more than {editors.MOST_PATHS:,} files")
    if any("\0" in path for path in paths):
        raise NotUnderstood("a path in it contains a NUL")
    named = [
        name
        for path in paths
        for name in (path, work_tree.probable_path(desk.place, desk.cwd, path, is_path=True))
        if name
    ]
    files = [file for path in named if (file := _file(desk, path))]
    return list({file.scope.text: file for file in files}.values())


def written_paths(desk: Desk, heard: HookPayload) -> list[str]:
    """The paths that a shell command would write."""
    paths = []
    for write in heard.written:
        path = os.path.join(desk.cwd, write.path)
        if write.name is None or not os.path.isdir(path):
            paths.append(path)
        elif write.name:
            paths.append(os.path.join(path, write.name))
    return paths


def _file(desk: Desk, path: str) -> File | None:
    written = os.path.join(desk.cwd, path)
    for name in dict.fromkeys([written, os.path.realpath(written)]):
        here = _place_of(desk, name)
        try:
            return File(work_tree.scope_of(here, desk.cwd, name, is_path=True, is_exact=True), here)
        except ScopeOutside.error:
            continue
    return None


def _place_of(desk: Desk, path: str) -> place.Place:
    """The worktree of this clone that contains PATH. Files of a submodule belong to the containing worktree."""
    try:
        repository = place.find(os.path.dirname(path), {})
    except place.NotARepository.error:
        return desk.place
    is_ours = os.path.realpath(repository.common) == os.path.realpath(desk.place.common)
    return repository if is_ours and repository.work_tree else desk.place


def ignored(desk: Desk, files: Iterable[File]) -> set[File]:
    """The FILES that the ignore file of their worktree names. Every agent may change them."""
    rules: dict[place.Place, Ignoring | None] = {}
    free = set()
    for file in files:
        if file.place not in rules:
            rules[file.place] = _ignoring(desk, file.place)
        if (rule := rules[file.place]) and rule.ignores(file.scope.path or file.scope.text):
            free.add(file)
    return free


def _ignoring(desk: Desk, here: place.Place) -> Ignoring | None:
    """The ignore rules of a worktree, as in the commit hook. git runs only if there is an ignore file."""
    if here.work_tree is None or not os.path.lexists(os.path.join(here.work_tree, work_tree.IGNORE_FILE)):
        return None
    from bb.ledger.git.staging import StagedCommit  # noqa: PLC0415  (few repositories have that file)

    return StagedCommit(here, desk.env).ignoring(ignore_case=work_tree.is_case_insensitive(here))


def holder(judged: dict[str, Any], who: str | None) -> dict[str, Any]:
    """The first reservation of an agent other than WHO on a judged path."""
    reservation: dict[str, Any] = next(row for row in judged["held_by"] if row["agent_id"] != who)
    return reservation


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
