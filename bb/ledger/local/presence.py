"""Presence files: when each agent was last seen in this clone.

A heartbeat replaces one small file: no lock, no ledger line, no commit. Beside the time the file carries the agent's
record as the ledger last had it, so that a heartbeat can answer in full without opening the ledger. Losing these
files loses nothing but the time of the last beat.

Which session works under the name stands in the file too, and in a second one beside it, `<agent>.session`. That one is
written when a session is opened, and by no heartbeat: so where a superseded session's heartbeat overtakes the adoption,
and puts back what it had read, the two files differ, and the next heartbeat asks the ledger.
"""

from __future__ import annotations

import os

from bb.coordination.agents import callers, liveness
from bb.kernel import clock, ids, json_text, validity
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FOLDER = "presence"
SUFFIX, SESSION = ".json", ".session"
CAPITAL = "="  # stands before what is a capital letter in an agent's name


class Presence(Record):
    """An agent's last sign of life, and its record at that time."""

    agent_id: str
    seen_at: int
    beats: int
    record: dict[str, Any]
    contested: tuple[str, ...] = ()  # its reservations that do not stand, because another clone's do
    is_remote: bool = False  # it was another clone that heard of it, and this is when we learnt of that
    paused: dict[str, Any] | None = None  # since when the person wants it to change nothing, and why
    session: str = ""  # the session that works under the name, as the ledger last had it

    def shown(self, now: int, threshold: int) -> dict[str, Any]:
        """The agent as every face shows it. `version` grows with every change and every heartbeat."""
        record = dict(self.record)
        changes = record.pop("changes")
        return record | {
            "last_seen_at": clock.text(self.seen_at),
            "version": changes + self.beats,
            "liveness": liveness.ACTIVE if self.paused else liveness.liveness(self.seen_at, now, threshold),
            **({"contested": list(self.contested)} if self.contested else {}),
            **({"paused": self.paused} if self.paused else {}),
        }


def read(store: str, agent_id: str, now: int | None = None) -> Presence | None:
    """The presence of an agent; None when there is none that can be read.

    A time that is more than a day ahead of NOW is not believed, where the file itself is older: somebody's clock was
    wrong, and one wrong date must not keep an agent alive for years.
    """
    path = _path(store, agent_id)
    try:
        found = json_text.read(disk.read_small(path) or b"")
        seen_at, beats, record = clock.parse(found["seen_at"]), found["beats"], found["record"]
        if now is not None and seen_at > now + liveness.CREDIBLE:
            seen_at = min(seen_at, os.stat(path).st_mtime_ns // 1_000_000)
        if type(beats) is int and type(record) is dict and record["agent_id"] == agent_id and _is_record(record):
            contested = tuple(scope for scope in found.get("contested", ()) if validity.is_unfolded(scope))
            paused = found.get("paused")
            paused = paused if _is_pause(paused) else None
            session = found.get("session", "")
            session = session if callers.is_session(session) else ""
            return Presence(agent_id, seen_at, beats, record, contested, found.get("remote") is True, paused, session)
    except (ValueError, TypeError, KeyError, BbError, FileNotFoundError):
        pass
    return None


def last_seen(heard_at: int | None, last: Presence | None, now: int) -> int:
    """When an agent was last seen: as the ledger HEARD of it, or as its presence says. What another clone's clock said
    counts for nothing once we know when we learnt of it."""
    heard = [] if heard_at is None or (last and last.is_remote) else [heard_at]
    return liveness.latest([*heard, *([last.seen_at] if last else [])], now)


def write(store: str, presence: Presence) -> None:
    """Replace an agent's presence."""
    written = {"seen_at": clock.text(presence.seen_at), "beats": presence.beats, "record": presence.record}
    if presence.contested:
        written["contested"] = list(presence.contested)
    if presence.is_remote:
        written["remote"] = True
    if presence.paused:
        written["paused"] = presence.paused
    if presence.session:
        written["session"] = presence.session
    text = json_text.dumps(written)
    try:
        disk.replace(_path(store, presence.agent_id), text.encode())
    except disk.NoSuchFolder:
        disk.make_folder(folder(store))
        disk.replace(_path(store, presence.agent_id), text.encode())


def session(store: str, agent_id: str) -> str:
    """The session that was opened last under the name, as far as this clone has noted it; empty where it has not."""
    return (disk.read_small(_path(store, agent_id, SESSION)) or b"").decode("ascii", "replace")


def open_session(store: str, agent_id: str, session: str) -> None:
    """Note which session works under the name from now on; an empty one where nobody knows."""
    path = _path(store, agent_id, SESSION)
    if session == (disk.read_small(path) or b"").decode("ascii", "replace"):
        return
    if not session:
        disk.remove_if_there(path)
        return
    try:
        disk.replace(path, session.encode())
    except disk.NoSuchFolder:
        disk.make_folder(folder(store))
        disk.replace(path, session.encode())


def remove(store: str, agent_id: str) -> None:
    """Forget when an agent was last seen; its next heartbeat asks the ledger about it."""
    disk.remove_if_there(_path(store, agent_id))
    disk.remove_if_there(_path(store, agent_id, SESSION))


def everybody(store: str, now: int | None = None) -> dict[str, Presence]:
    """Every presence there is, by agent."""
    stems = [name[: -len(SUFFIX)] for name in disk.names(folder(store)) if name.endswith(SUFFIX)]
    found = (read(store, agent, now) for stem in stems if (agent := named_by(stem)))
    return {presence.agent_id: presence for presence in found if presence}


def folder(store: str) -> str:
    return os.path.join(store, FOLDER)


def named_by(stem: str) -> str | None:
    """The agent whose file has this name, without its ending; None when it is no agent's file."""
    agent = "".join(_letters(stem))
    return agent if ids.is_actor_id(agent) and _stem(agent) == stem else None


def _path(store: str, agent_id: str, suffix: str = SUFFIX) -> str:
    return os.path.join(store, FOLDER, _stem(agent_id) + suffix)


def _stem(agent_id: str) -> str:
    """A file's name for an agent. Some file systems do not tell capitals from small letters."""
    if agent_id.islower() and agent_id.isascii():
        return agent_id
    return "".join(CAPITAL + letter.lower() if letter.isupper() else letter for letter in agent_id)


def _letters(stem: str) -> Iterator[str]:
    letters = iter(stem)
    for letter in letters:
        yield next(letters, "").upper() if letter == CAPITAL else letter


RECORD = {"agent_id": str, "display_name": str, "role": str, "status": str, "created_at": str, "changes": int}


def _is_record(record: dict[str, Any]) -> bool:
    """Whether RECORD has the members it must have, and nothing in them that no agent's record could have."""
    return (
        record.keys() == RECORD.keys()
        and all(type(record[name]) is kind for name, kind in RECORD.items())
        and (record["role"] == "" or validity.is_role(record["role"]))
        and (record["display_name"] == "" or validity.is_title(record["display_name"]))
        and validity.is_line(record["status"])
        and validity.is_time(record["created_at"])
    )


def _is_pause(found: object) -> bool:
    if type(found) is not dict or type(found.get("since")) is not str or not validity.is_time(found["since"]):
        return False
    return found.get("why") is None or validity.is_reason(found["why"])
