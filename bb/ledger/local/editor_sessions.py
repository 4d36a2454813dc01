"""Sessions of editors and agents: the agent and work tree of each, and the news that it has already been told.

Each session has one small file, `<store>/sessions/<digest>.json`. The name is a digest, because an editor can choose
any text as the name of a session. If a file is lost, some news is told a second time.
"""

from __future__ import annotations

import os

from bb.coordination.agents import callers
from bb.kernel import ids, json_text
from bb.kernel.digest import digest
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FOLDER, SUFFIX = "sessions", ".json"
CLEARED = "clear"  # the reason of an end, and the source of the start that follows
MOST = 700  # remembered entries of each kind; more than are looked through for one turn


class Session(Record):
    """One session of an editor."""

    agent: str | None = None
    work_tree: str | None = None
    told: tuple[str, ...] = ()  # news that it has been told
    reminded: tuple[str, ...] = ()  # reminders that it has received when it was about to stop
    outer: tuple[str, ...] = ()  # digests of the sessions in whose shells this session was started
    is_begun: bool = False  # whether it has had a turn; until then, old losses and acceptances are no news
    also: tuple[str, ...] = ()  # digests of earlier ids of the same run of the host
    over: str = ""  # why the host has ended it; empty if it has not

    @property
    def is_over(self) -> bool:
        """Whether the host has ended the session. It names no agent until it is resumed. If only its conversation was
        cleared, the host goes on under another id."""
        return self.over not in ("", CLEARED)


def read(store: str, session: str) -> Session:
    """The saved session; an empty one if there is no file, or the file cannot be read."""
    return read_file(store, stem(session))


def agents(store: str, sessions: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The agent of each of the SESSIONS that has one, and the sessions around it, by the session's digest."""
    files = {session: read(store, session) for session in sessions}
    return {
        callers.session_digest(session): (file.agent, file.outer)
        for session, file in files.items()
        if file.agent and not file.is_over
    }


def write(store: str, session: str, known: Session) -> None:
    """Save the session KNOWN under its name."""
    write_file(store, stem(session), known)


def stem(session: str) -> str:
    """The name of the session's file, without its suffix."""
    return digest(session.encode("utf-8", "surrogatepass"))


def stem_of_digest(store: str, start: str) -> str | None:
    """The name of the file of the session whose digest begins with START; None if there is none."""
    names = (name for name in disk.names(os.path.join(store, FOLDER)) if name.endswith(SUFFIX))
    return next((name.removesuffix(SUFFIX) for name in names if name.startswith(start)), None)


def read_file(store: str, stem: str) -> Session:
    """The session saved in the file STEM; an empty one if there is no file, or the file cannot be read."""
    try:
        return _session(json_text.read(disk.read_small(_path(store, stem)) or b""))
    except (ValueError, BbError):
        return Session()


def write_file(store: str, stem: str, known: Session) -> None:
    """Save the session KNOWN in the file STEM."""
    text = json_text.dumps(known.replace(told=known.told[-MOST:], reminded=known.reminded[-MOST:]).as_dict())
    disk.replace_in_new_folder(_path(store, stem), text.encode())


def forget_agent(store: str, agent: str) -> None:
    """Forget what callers without a session id were told as AGENT, because another session goes on as this agent."""
    disk.remove_if_there(_path(store, stem(without_id(agent))))


def without_id(agent: str) -> str:
    """The name that stands for the session of AGENT if its id is unknown."""
    return f"agent {agent}"


def all_sessions(store: str) -> list[Session]:
    """Every session whose file can be read."""
    return list(by_digest(store).values())


def by_digest(store: str) -> dict[str, Session]:
    """Every session whose file can be read, by the digest that identifies it in the ledger."""
    folder = os.path.join(store, FOLDER)
    sessions = {}
    for name in disk.names(folder):
        try:
            session = _session(json_text.read(disk.read_small(os.path.join(folder, name)) or b""))
        except (ValueError, BbError):
            continue
        sessions[name[: ids.SESSION_LENGTH]] = session
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
        _texts(members.get("outer")),
        members.get("is_begun") is True,
        _texts(members.get("also")),
        reason if isinstance(reason := members.get("over"), str) else "",
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _path(store: str, stem: str) -> str:
    return os.path.join(store, FOLDER, stem + SUFFIX)
