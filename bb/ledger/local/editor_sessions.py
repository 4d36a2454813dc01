"""Editor sessions: the agent and work tree of each, and the messages and hints it has already received.

Each session has one small file, `<store>/sessions/<digest>.json`. The name is a digest, because an editor can choose
any text as the name of a session. If a file is lost, some messages are shown a second time.
"""

from __future__ import annotations

import os

from bb.kernel import ids, json_text
from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER, SUFFIX = "sessions", ".json"
MOST = 250  # remembered entries of each kind; more than an agent ever has unread


class Session(Record):
    """One session of an editor."""

    agent: str | None = None
    work_tree: str | None = None
    told: tuple[str, ...] = ()  # messages and hints that it has received
    reminded: tuple[str, ...] = ()  # reminders that it has received when it was about to stop


def read(store: str, session: str) -> Session:
    """The saved session; an empty one if there is no file, or the file cannot be read."""
    try:
        return _session(json_text.read(disk.read_small(_path(store, session)) or b""))
    except (ValueError, BbError):
        return Session()


def write(store: str, session: str, known: Session) -> None:
    """Save the session KNOWN under its name."""
    text = json_text.dumps(known.replace(told=known.told[-MOST:], reminded=known.reminded[-MOST:]).as_dict())
    disk.replace_in_new_folder(_path(store, session), text.encode())


def all_sessions(store: str) -> list[Session]:
    """Every session whose file can be read."""
    folder = os.path.join(store, FOLDER)
    sessions = []
    for name in disk.names(folder):
        try:
            sessions.append(_session(json_text.read(disk.read_small(os.path.join(folder, name)) or b"")))
        except (ValueError, BbError):
            continue
    return sessions


def export_agent(env_file: str, agent: str) -> None:
    """Set BB_AGENT in the shell of a session, through the environment file that Claude Code reads."""
    try:
        fd = os.open(env_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        with open(fd, "a", encoding="utf-8") as file:
            file.write(f"export BB_AGENT={agent}\n")
    except OSError as error:
        raise disk.refusal(error) from error


def _session(members: Any) -> Session:
    if not isinstance(members, dict):
        return Session()
    agent, work_tree = members.get("agent"), members.get("work_tree")
    return Session(
        agent if isinstance(agent, str) and ids.is_actor_id(agent) else None,
        work_tree if isinstance(work_tree, str) else None,
        _texts(members.get("told")),
        _texts(members.get("reminded")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _path(store: str, session: str) -> str:
    return os.path.join(store, FOLDER, digest(session.encode("utf-8", "surrogatepass")) + SUFFIX)
