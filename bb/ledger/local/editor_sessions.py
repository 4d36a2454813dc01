"""What is remembered of an editor's session: who works in it and where, and what it has been told already.

One small file for each, `<store>/sessions/<digest>.json`, named by a digest because a session's name is the editor's
business and may be anything. Losing one loses nothing but that something is told a second time.
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
MOST = 250  # things a session has been told; so many that are still unread, nobody has


class Session(Record):
    """One session of an editor, as far as it is known here."""

    agent: str | None = None
    work_tree: str | None = None
    told: tuple[str, ...] = ()  # messages and hints it has been given
    reminded: tuple[str, ...] = ()  # what it has been reminded of at a stop


def read(store: str, session: str) -> Session:
    """What is known of a session; nothing of one that was never heard of, or whose file says nothing we understand."""
    try:
        return _session(json_text.read(disk.read_small(_path(store, session)) or b""))
    except (ValueError, BbError):
        return Session()


def write(store: str, session: str, known: Session) -> None:
    """Remember what is KNOWN of a session."""
    text = json_text.dumps(known.but(told=known.told[-MOST:], reminded=known.reminded[-MOST:]).as_dict())
    try:
        disk.replace(_path(store, session), text.encode())
    except disk.NoSuchFolder:
        disk.make_folder(os.path.join(store, FOLDER))
        disk.replace(_path(store, session), text.encode())


def everybody(store: str) -> list[Session]:
    """Every session there is a file of."""
    folder = os.path.join(store, FOLDER)
    found = []
    for name in disk.names(folder):
        try:
            found.append(_session(json_text.read(disk.read_small(os.path.join(folder, name)) or b"")))
        except (ValueError, BbError):
            continue
    return found


def export(env_file: str, agent: str) -> None:
    """Let the shell of a session know its AGENT, by the file that Claude Code reads settings from."""
    try:
        fd = os.open(env_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        with open(fd, "a", encoding="utf-8") as file:
            file.write(f"export BB_AGENT={agent}\n")
    except OSError as error:
        raise disk.refusal(error) from error


def _session(found: Any) -> Session:
    if not isinstance(found, dict):
        return Session()
    agent, work_tree = found.get("agent"), found.get("work_tree")
    return Session(
        agent if isinstance(agent, str) and ids.is_actor_id(agent) else None,
        work_tree if isinstance(work_tree, str) else None,
        _texts(found.get("told")),
        _texts(found.get("reminded")),
    )


def _texts(found: Any) -> tuple[str, ...]:
    return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


def _path(store: str, session: str) -> str:
    return os.path.join(store, FOLDER, digest(session.encode("utf-8", "surrogatepass")) + SUFFIX)
