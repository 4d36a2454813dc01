"""What the hooks of editors have in common: hearing what the editor says, knowing who works in it, and answering.

A guard must not brick an editor, so what is not understood passes, with a note on stderr. Only where an agent is known
to be at work, and what it is about to touch is known too, does a verdict that cannot be had count as a refusal.
"""

from __future__ import annotations

import os

from bb.coordination.holdings.scopes import ScopeOutside
from bb.coordination.wiring import editors
from bb.coordination.wiring.editors import NotUnderstood
from bb.kernel import ids, json_text, show
from bb.kernel.record import Record
from bb.ledger.git import place, work_tree
from bb.ledger.local import editor_sessions
from bb.ops.params import Plain, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from bb.coordination.guards.ignore_files import Ignoring
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.wiring.editors import Heard
    from bb.ops.desk.desk import Desk

LARGEST = 1 << 25  # bytes of a payload, which may carry a whole file
BLOCKED = 2  # the exit status that stops a tool in every editor
MOST_FOLDERS = 50  # of files that are looked into for a repository
PROJECTS = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")  # where a host says its session belongs
PASSED, REFUSED = "passed", "refused"


class Host(Text):
    """Which editor is calling: claude, codex or gemini; told from what it sends unless given."""

    metavar = "HOST"
    choices = editors.HOSTS


class Worker(Plain):
    """The agent at work in the editor; BB_AGENT or whoever the session was started for, unless given."""

    metavar = "ID"
    is_agent = True


class Payload(Plain):
    """What the editor sends, as JSON; read from stdin unless given."""

    metavar = "JSON"
    longest = LARGEST


def _sent(desk: Desk) -> bytes:
    """What the editor has sent on stdin. At a terminal nothing: no person types a payload."""
    return b"" if desk.stdin is None or desk.stdin.isatty() else desk.stdin.read(LARGEST)


def listen(desk: Desk, moment: str, host: str | None, payload: str | None) -> Heard:
    """What the editor says, in whose directory we are from here on."""
    octets = payload.encode("utf-8", "surrogatepass") if payload is not None else _sent(desk)
    if not octets.strip():
        raise NotUnderstood("nothing was sent on stdin")
    if len(octets) >= LARGEST:
        raise NotUnderstood(f"it is longer than {LARGEST:,} bytes")
    try:
        # Tolerantly: half a character in the text of a file must not hide which file it is.
        heard = editors.heard(json_text.loads(octets.decode("utf-8", "surrogateescape")), moment, host)
    except json_text.NotJson as error:
        raise NotUnderstood(f"it is no JSON: {error}") from None
    _stand(desk, heard)
    desk.said_session = heard.session
    return heard


def _stand(desk: Desk, heard: Heard) -> None:
    """Stand where the editor does, in the repository that matters: that of the files it is about to change.

    An agent that has gone elsewhere, into another repository or none, may still change files of this one by their full
    names. So the first place counts that has a ledger; a relative name is always meant from where the agent is. What a
    command writes elsewhere comes last, for the command may do more where the agent is.
    """
    base = heard.cwd if os.path.isabs(heard.cwd) and os.path.isdir(heard.cwd) else desk.cwd
    files = [os.path.dirname(os.path.join(base, path)) for path in heard.paths[:MOST_FOLDERS]]
    projects = [desk.env.get(name, "") for name in PROJECTS]
    written = [os.path.dirname(os.path.join(base, write.path)) for write in heard.written[:MOST_FOLDERS]]
    found = None
    for folder in dict.fromkeys([*files, base, desk.cwd, *filter(os.path.isabs, projects), *written]):
        try:
            here = place.find(folder, {})
        except (place.NotARepository, ValueError):
            continue
        found = found if found and not os.path.isdir(here.store) else here
        if os.path.isdir(found.store):
            break
    desk.go(base, found)


def worker(desk: Desk, heard: Heard, named: str | None) -> str | None:
    """Who works in the editor: as NAMED, as BB_AGENT says, or as its session was started; None for a person."""
    who = desk.actor(named) or session_of(desk, heard).agent
    return None if who in (None, "", ids.PERSON) else ids.actor_id(who)


def session_of(desk: Desk, heard: Heard) -> editor_sessions.Session:
    """What is known of the editor's session."""
    return editor_sessions.read(desk.place.store, heard.session) if heard.session else editor_sessions.Session()


class File(Record):
    """A file or a whole folder that a tool would change: as everybody here calls it, and the worktree it lies in."""

    scope: Scope
    place: place.Place


def files_of(desk: Desk, paths: Sequence[str]) -> list[File]:
    """The files that a tool would change, without those that lie elsewhere.

    They may lie in another worktree of the same clone, even in one that is nested in ours. What looks like another path
    stands for both: the tool makes the one, and its user may well mean the other.
    """
    if len(paths) > editors.MOST_PATHS:
        raise NotUnderstood(f"it names more than {editors.MOST_PATHS:,} files")
    if any("\0" in path for path in paths):
        raise NotUnderstood("a path in it holds what no path can")
    named = [
        each for path in paths for each in (path, work_tree.meant(desk.place, desk.cwd, path, is_path=True)) if each
    ]
    found = [file for path in named if (file := _file(desk, path))]
    return list({file.scope.text: file for file in found}.values())


def written_by(desk: Desk, heard: Heard) -> list[str]:
    """The paths that a shell command would write."""
    found = []
    for write in heard.written:
        path = os.path.join(desk.cwd, write.path)
        if write.name is None or not os.path.isdir(path):
            found.append(path)
        elif write.name:
            found.append(os.path.join(path, write.name))
    return found


def _file(desk: Desk, path: str) -> File | None:
    written = os.path.join(desk.cwd, path)
    for each in dict.fromkeys([written, os.path.realpath(written)]):
        here = _place_of(desk, each)
        try:
            return File(work_tree.scope_of(here, desk.cwd, each, is_path=True, is_exact=True), here)
        except ScopeOutside:
            continue
    return None


def _place_of(desk: Desk, path: str) -> place.Place:
    """The worktree of our clone that PATH lies in. The files of a submodule lie in ours as well."""
    try:
        found = place.find(os.path.dirname(path), {})
    except place.NotARepository:
        return desk.place
    is_ours = os.path.realpath(found.common) == os.path.realpath(desk.place.common)
    return found if is_ours and found.work_tree else desk.place


def ignored(desk: Desk, files: Iterable[File]) -> set[File]:
    """Those FILES that anybody may change, whoever holds them: the ignore file of their worktree names them."""
    rules: dict[place.Place, Ignoring | None] = {}
    found = set()
    for file in files:
        if file.place not in rules:
            rules[file.place] = _ignoring(desk, file.place)
        if (rule := rules[file.place]) and rule.ignores(file.scope.path or file.scope.text):
            found.add(file)
    return found


def _ignoring(desk: Desk, here: place.Place) -> Ignoring | None:
    """What is ignored HERE, as the guard of a commit sees it. git is only asked where there is an ignore file."""
    if here.work_tree is None or not os.path.lexists(os.path.join(here.work_tree, work_tree.IGNORE_FILE)):
        return None
    from bb.ledger.git.staging import Coming  # noqa: PLC0415  (few repositories have that file)

    return Coming(here, desk.env).ignoring(ignore_case=work_tree.minds_no_case(here))


def holder(judged: dict[str, Any], who: str | None) -> dict[str, Any]:
    """The first reservation of another agent that stands in the way of WHO."""
    found: dict[str, Any] = next(each for each in judged["held_by"] if each["agent_id"] != who)
    return found


# -- answers: what the editor reads, what goes to stderr, and what the exit status says


def passed(heard: Heard | None = None, *notes: str, reply: dict[str, Any] | None = None) -> dict[str, Any]:
    """No objection."""
    return _answer(heard, PASSED, reply, list(notes), 0)


def refused(heard: Heard, reason: str, *notes: str) -> dict[str, Any]:
    """The tool must not run."""
    reply = editors.refused(heard, reason)
    if reply is None:
        return _answer(heard, REFUSED, None, [reason, *notes], BLOCKED)
    return _answer(heard, REFUSED, reply, list(notes), 0)


def _answer(
    heard: Heard | None, verdict: str, reply: dict[str, Any] | None, notes: list[str], status: int
) -> dict[str, Any]:
    notes = [show.sentence(note) for note in notes]
    return {
        "host": heard.host if heard else None,
        "moment": heard.moment if heard else None,
        "verdict": verdict,
        "reply": reply,
        "notes": notes,
        "exit_status": status,
    }
