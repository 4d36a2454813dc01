"""Presence files: the time when each agent was last seen in this clone.

A heartbeat replaces one small file. It needs no lock, no ledger line and no commit. The file also has a copy of the
agent's record from the ledger, so that a heartbeat can answer in full without opening the ledger. If a presence file is
lost, only the time of the last heartbeat is lost.

The session that uses the name is in this file, and in a second file, `<agent>.session`. Only opening a session writes
the second file; a heartbeat never does. A heartbeat of a superseded session may race with an adoption and write its old
session back. Then the two files differ, and the next heartbeat reads the ledger.

Agents that were only seen in other clones have their files in a folder of their own, `remote`. There may be ten
thousand of them, and what lists the agents of this clone must not become slower by that. The time of such a file is
that of the sign of life, so it need not be read to know whether the agent is active.

The wall clock may be set while agents work, and runs on while the machine sleeps. So each sign of life also has the
time of the steady clock, which all processes of a machine share until it starts again. By it, nobody has been
silent for longer than it says (docs/decisions/0086). Linux names the start of the machine; elsewhere, only the wall
clock counts.
"""

from __future__ import annotations

import os
import time

from bb.coordination.agents import liveness
from bb.kernel import clock, ids, json_text, validation
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

FOLDER, REMOTE = "presence", "remote"
SUFFIX, SESSION = ".json", ".session"
FEW = 300  # files; with more, only those that may have changed are read
REPLACED = 60  # seconds; a clock that differs more from the machine's is `BB_NOW`
NEVER = float("-inf")
BOOT_ID = "/proc/sys/kernel/random/boot_id"
CAPITAL = "="  # marks the next letter as a capital letter of the agent's name
_started: list[str] = []  # `_boot`, once it is known


class Presence(Record):
    """An agent's last sign of life, and its record at that time."""

    agent_id: str
    seen_at: int
    beats: int
    record: dict[str, Any]
    contested: tuple[str, ...] = ()  # its reservations that lose against reservations of another clone
    is_remote: bool = False  # the agent was seen in another clone; `seen_at` is the time when we learned of it
    paused: dict[str, Any] | None = None  # the person's pause: since when, and why
    session: str = ""  # the session that uses the name, as the ledger last had it
    ended_at: int = 0  # when that session ended; the next sign of life sets it to 0
    is_apart: bool = False  # whether it was read from the folder of the agents of other clones
    steady: int = 0  # `seen_at` by the steady clock, if the machine has not started again since; else 0

    def liveness(self, now: int, threshold: int) -> str:
        """Whether the agent is active, stale or evicted. A paused agent is not silent."""
        return (
            liveness.ACTIVE if self.paused else liveness.liveness(self.seen_at, now, threshold, ended_at=self.ended_at)
        )

    @property
    def has_ended(self) -> bool:
        """Whether the session ended after the last sign of life."""
        return 0 < self.ended_at >= self.seen_at

    def seen(self, now: int) -> Presence:
        """The agent, seen in this clone now."""
        return self.replace(seen_at=now, steady=steady(now), is_remote=False, ended_at=0)

    def shown(self, now: int, threshold: int) -> dict[str, Any]:
        """The agent for display. `version` grows with every change and every heartbeat."""
        record = dict(self.record)
        changes = record.pop("changes")
        return record | {
            "last_seen_at": clock.text(self.seen_at),
            "version": changes + self.beats,
            "liveness": self.liveness(now, threshold),
            **({"session_ended_at": clock.text(self.ended_at)} if self.has_ended else {}),
            **({"contested": list(self.contested)} if self.contested else {}),
            **({"paused": self.paused} if self.paused else {}),
        }


def read(store: str, agent_id: str, now: int | None = None) -> Presence | None:
    """The presence of an agent; None if there is no readable file.

    If the recorded time is more than a day ahead of NOW, the file's own time is used if it is earlier. A clock was
    wrong then, and one wrong date must not keep an agent alive for years. If the clock was set since, or the machine
    slept, the time is moved on: by the steady clock, the agent was seen later.
    """
    path, is_apart = _path(store, agent_id), False
    try:
        octets = disk.read_small(path)
        if octets is None:
            path, is_apart = _remote_path(store, agent_id), True
            octets = disk.read_small(path)
        members = json_text.read(octets or b"")
        seen_at, beats, record = clock.parse(members["seen_at"]), members["beats"], members["record"]
        if now is not None and seen_at > now + liveness.CREDIBLE:
            seen_at = min(seen_at, os.stat(path).st_mtime_ns // 1_000_000)
        if type(beats) is int and type(record) is dict and record["agent_id"] == agent_id and _is_record(record):
            contested = tuple(scope for scope in members.get("contested", ()) if validation.is_unfolded(scope))
            paused = members.get("paused")
            paused = paused if _is_pause(paused) else None
            session = members.get("session", "")
            session = session if ids.is_session(session) else ""
            is_remote = members.get("remote") is True
            ended_at = clock.parse_or(members.get("ended_at", ""), 0)
            at = _steady_of(members)
            seen = Presence(
                agent_id, seen_at, beats, record, contested, is_remote, paused, session, ended_at, is_apart, at
            )
            return _moved_on(seen, now) if at and now is not None else seen
    except (ValueError, TypeError, KeyError, BbError, FileNotFoundError):
        pass
    return None


def steady(now: int) -> int:
    """The time of the steady clock at NOW, in milliseconds; 0 if NOW is not the time of this machine (`BB_NOW`), or if
    this system does not say when it started."""
    if not (_is_of_this_machine(now) and _boot()):
        return 0
    return max(time.monotonic_ns() // 1_000_000 - (round(time.time() * 1000) - now), 0)


def _moved_on(last: Presence, now: int) -> Presence:
    """The presence, with its times by the clock of NOW, if the agent was seen later than its wall clock says."""
    silence = steady(now) - last.steady
    if silence < 0 or now - silence <= last.seen_at:
        return last
    return last.replace(seen_at=now - silence, ended_at=now - silence if last.has_ended else last.ended_at)


def _steady_of(members: dict[str, Any]) -> int:
    """The time of the steady clock in a presence file; 0 if there is none since this machine started."""
    at = members.get("steady")
    return at if type(at) is int and at > 0 and members.get("boot") == _boot() else 0


def _boot() -> str:
    """A name for the time since this machine started; empty if the system has none."""
    if not _started:
        try:
            name = disk.read_small(BOOT_ID) or b""
        except BbError:  # a sandbox may hide it
            name = b""
        _started.append(name.decode("ascii", "replace").strip()[:13])
    return _started[0]


def _is_of_this_machine(now: int) -> bool:
    """Whether NOW is the time of this machine, and not `BB_NOW`."""
    return abs(time.time() - now / 1000) <= REPLACED


def last_seen(heard_at: int | None, last: Presence | None, now: int) -> int:
    """The time when an agent was last seen: the later of its last ledger event (HEARD_AT) and its presence. If the
    presence is remote, only the time when we learned of it counts, not the other clone's clock."""
    heard = [] if heard_at is None or (last and last.is_remote) else [heard_at]
    return liveness.latest([*heard, *([last.seen_at] if last else [])], now)


def write(store: str, presence: Presence) -> None:
    """Replace an agent's presence. An agent that has a file in this clone keeps it there, wherever it is seen."""
    written = {"seen_at": clock.text(presence.seen_at), "beats": presence.beats, "record": presence.record}
    if presence.contested:
        written["contested"] = list(presence.contested)
    if presence.is_remote:
        written["remote"] = True
    if presence.paused:
        written["paused"] = presence.paused
    if presence.session:
        written["session"] = presence.session
    if presence.steady:
        written |= {"steady": presence.steady, "boot": _boot()}
    if presence.ended_at:
        written["ended_at"] = clock.text(presence.ended_at)
    text = json_text.dumps(written)
    path = _path(store, presence.agent_id)
    if presence.is_remote and not os.path.exists(path):
        path = _remote_path(store, presence.agent_id)
        disk.replace_in_new_folder(path, text.encode())
        os.utime(path, ns=(presence.seen_at * 1_000_000,) * 2)
        return
    disk.replace_in_new_folder(path, text.encode())
    if presence.is_apart:  # it comes here
        disk.remove_if_there(_remote_path(store, presence.agent_id))


def session(store: str, agent_id: str) -> str:
    """The session that this clone last opened under the name; empty if there is none."""
    return (disk.read_small(_path(store, agent_id, SESSION)) or b"").decode("ascii", "replace")


def open_session(store: str, agent_id: str, session: str) -> None:
    """Save the session that uses the name from now on; empty if unknown."""
    path = _path(store, agent_id, SESSION)
    if session == (disk.read_small(path) or b"").decode("ascii", "replace"):
        return
    if not session:
        disk.remove_if_there(path)
        return
    disk.replace_in_new_folder(path, session.encode())


def remove(store: str, agent_id: str) -> None:
    """Remove an agent's presence. Its next heartbeat reads the ledger."""
    disk.remove_if_there(_path(store, agent_id))
    disk.remove_if_there(_remote_path(store, agent_id))
    disk.remove_if_there(_path(store, agent_id, SESSION))


def all_presences(store: str, now: int | None = None) -> dict[str, Presence]:
    """Every readable presence, by agent: of this clone, and of others."""
    return _read_all(store, sorted({stem for path in folders(store) for stem in _stems(disk.names(path))}), now)


def of_this_clone(store: str, now: int | None = None) -> dict[str, Presence]:
    """The presences of the agents that were ever seen in this clone."""
    return _read_all(store, _stems(disk.names(folder(store))), now)


def _stems(names: Iterable[str]) -> list[str]:
    """The names of presence files, without their suffix."""
    return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]


def _read_all(store: str, stems: Iterable[str], now: int | None) -> dict[str, Presence]:
    presences = (read(store, agent, now) for stem in stems if (agent := agent_of_file(stem)))
    return {presence.agent_id: presence for presence in presences if presence}


def local_and(store: str, others: Iterable[str], now: int) -> dict[str, Presence]:
    """The presences of the agents of this clone, and of OTHERS. Of very many agents of this clone, only those with a
    session are read."""
    names = disk.names(folder(store))
    stems = _stems(names)
    if len(names) > FEW:
        here = {name.removesuffix(SESSION) for name in names if name.endswith(SESSION)}
        stems = [stem for stem in stems if stem in here]
    return _read_all(store, [*stems, *map(_stem, others)], now)


def written_within(store: str, now: int, age: int) -> dict[str, Presence]:
    """The presences of the agents of this clone, sorted by agent. Of very many files, only those that were written in
    the last AGE milliseconds are read."""
    return _read_all(store, sorted(_written_since(folder(store), _since(now, age))), now)


def seen_here(store: str, now: int, age: int) -> list[str]:
    """The agents of this clone that may have been seen in the last AGE milliseconds. No file is read, and of few files
    all are named."""
    return [agent for stem in _written_since(folder(store), _since(now, age)) if (agent := agent_of_file(stem))]


def seen_elsewhere(store: str, now: int, age: int) -> dict[str, int]:
    """The agents that were only seen in other clones, and that in the last AGE milliseconds, with the times. No file is
    read."""
    path = folders(store)[1]
    if _is_unchanged(path, _since(now, age)):
        return {}
    try:
        with os.scandir(path) as entries:
            files = [entry for entry in entries if entry.name.endswith(SUFFIX)]
            seen = {file.name.removesuffix(SUFFIX): round(_at(file) * 1000) for file in files}
    except FileNotFoundError:
        return {}
    latest = sorted((stem for stem, at in seen.items() if at > now - age), key=lambda stem: (-seen[stem], stem))
    return {agent: seen[stem] for stem in latest if (agent := agent_of_file(stem))}


def _is_unchanged(path: str, since: float) -> bool:
    """Whether no file of a folder was written SINCE a time: each writing changes the folder."""
    try:
        return os.name != "nt" and os.stat(path).st_mtime < since
    except FileNotFoundError:
        return True


def latest_agents(store: str, now: int, most: int) -> list[str]:
    """The MOST agents of this clone that were seen last."""
    files = _written_since(folder(store), NEVER)
    if len(files) <= FEW:
        presences = _read_all(store, files, now)
        return sorted(presences, key=lambda agent: (-presences[agent].seen_at, agent))[:most]
    stems = sorted(files, key=lambda stem: (-files[stem], stem))[:most]
    return [agent for stem in stems if (agent := agent_of_file(stem))]


def _since(now: int, age: int) -> float:
    """The time of writing from which a file may tell of the last AGE milliseconds before NOW. If NOW is not the time of
    this machine (`BB_NOW`), the times of its files tell nothing."""
    return time.time() - age / 1000 if _is_of_this_machine(now) else NEVER


def _written_since(path: str, since: float) -> dict[str, float]:
    """The presence files in a folder that were written SINCE a time, without their suffix, and when. Of few files, all
    are named, because then it is cheaper to read them."""
    if _is_unchanged(path, since):
        return {}
    try:
        with os.scandir(path) as entries:
            files = [entry for entry in entries if entry.name.endswith(SUFFIX)]
    except FileNotFoundError:
        return {}
    written = {file.name.removesuffix(SUFFIX): 0.0 if len(files) <= FEW else _at(file) for file in files}
    return {stem: at for stem, at in written.items() if len(files) <= FEW or at >= since}


def _at(file: os.DirEntry[str]) -> float:
    """When a file was written."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def folder(store: str) -> str:
    """The folder with the presences of the agents of this clone."""
    return os.path.join(store, FOLDER)


def folders(store: str) -> tuple[str, str]:
    """The folders with presences: of the agents of this clone, and of agents that were only seen elsewhere."""
    return folder(store), os.path.join(store, FOLDER, REMOTE)


def agent_of_file(stem: str) -> str | None:
    """The agent whose file has this name without its suffix; None if the name is not an agent's."""
    agent = "".join(_letters(stem))
    return agent if ids.is_actor_id(agent) and _stem(agent) == stem else None


def _path(store: str, agent_id: str, suffix: str = SUFFIX) -> str:
    return os.path.join(store, FOLDER, _stem(agent_id) + suffix)


def _remote_path(store: str, agent_id: str) -> str:
    return os.path.join(store, FOLDER, REMOTE, _stem(agent_id) + SUFFIX)


def _stem(agent_id: str) -> str:
    """The file name for an agent. Capital letters are escaped, because some file systems ignore case."""
    if agent_id.islower() and agent_id.isascii():
        return agent_id
    return "".join(CAPITAL + letter.lower() if letter.isupper() else letter for letter in agent_id)


def _letters(stem: str) -> Iterator[str]:
    letters = iter(stem)
    for letter in letters:
        yield next(letters, "").upper() if letter == CAPITAL else letter


RECORD = {"agent_id": str, "display_name": str, "role": str, "status": str, "created_at": str, "changes": int}


def _is_record(record: dict[str, Any]) -> bool:
    """Whether RECORD has exactly the members of an agent's record, with valid values."""
    return (
        record.keys() == RECORD.keys()
        and all(type(record[name]) is kind for name, kind in RECORD.items())
        and (record["role"] == "" or validation.is_role(record["role"]))
        and (record["display_name"] == "" or validation.is_title(record["display_name"]))
        and validation.is_line(record["status"])
        and validation.is_time(record["created_at"])
    )


def _is_pause(value: object) -> bool:
    if type(value) is not dict or type(value.get("since")) is not str or not validation.is_time(value["since"]):
        return False
    return value.get("why") is None or validation.is_reason(value["why"])
