"""What an op works at: the repository, its ledger, the clock, the caller. Built once per request and passed in.

The ledger proper (SQLite, journals) is opened when an op first asks for it: a heartbeat does not.
"""

from __future__ import annotations

import os
import time

from bb.coordination.agents import callers, liveness
from bb.kernel import clock, ids
from bb.kernel.errors import Usage
from bb.ledger.git import ownership
from bb.ledger.git import place as places
from bb.ledger.journal import clone as clones
from bb.ledger.local import last_sync, pinned_threshold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO

    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.git.place import Place
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.group_desk import GroupDesk
    from bb.ops.desk.live_daemon import Live


SERVED_PATIENCE = 1.0  # seconds that somebody who is served waits for another process to make an index
RARELY = 300.0  # seconds between two syncs that nobody asked for


class NoAgent(Usage):
    """The command does not know who is asking."""

    code = "NO_AGENT"
    hint = "pass --agent ID, or set BB_AGENT"


class Desk:
    """One caller, in one directory, at one time."""

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        progress: Callable[..., None] | None = None,
        ask: Callable[[str], bool] | None = None,
        tell: Callable[[str], None] | None = None,
        stdin: IO[bytes] | None = None,
    ) -> None:
        self.cwd = cwd
        self.env = env
        self.progress = progress
        self.has_beaten = False  # whether somebody gave a sign of life, of which other clones know nothing yet
        self.request = ""  # a digest of what is asked for, where that has an idempotency key
        self.tell = tell  # somebody who watches while it takes long; None when nobody does
        self.ask = ask  # a person who can be asked a question; None when nobody is there
        self.stdin = stdin  # the caller's standard input; None if the caller has none, such as on a socket
        self.has_left: Callable[[], bool] = lambda: False  # whether whoever asked has gone, and waits for no answer
        self.is_served = False  # whether it is a daemon that asks, for whoever is on its socket
        self.only_reads = False  # whether what is asked for changes nothing, so that a foreign ledger may be looked at
        self.said_session = ""  # the session in which an editor's hook was called, as its payload has it
        self.groups: dict[str, GroupDesk] = {}  # those that are open
        self.live: Live | None = None  # what runs; only a daemon has any
        self._place: Place | None = None
        self._is_ours = False
        self._store: Store | None = None

    def also_asks(self, octets: bytes) -> None:
        """What is asked for depends on OCTETS too, which the request only names: those of a file, say."""
        if self.request:
            from bb.kernel.digest import digest  # noqa: PLC0415  (which most requests need not pay for)

            self.request = digest(self.request.encode() + octets)

    def now(self) -> int:
        """This moment, or the one that BB_NOW stands still at."""
        fixed = self.env.get("BB_NOW")
        if not fixed:
            return time.time_ns() // 1_000_000
        try:
            return clock.parse(fixed)
        except clock.NotATime as error:
            raise clock.NotATime(f"BB_NOW is {fixed[:40]!r}, which is no RFC 3339 time") from error

    def now_or_none(self) -> int | None:
        """This moment; None when BB_NOW is no time. For `doctor`, which reports that instead of refusing."""
        try:
            return self.now()
        except clock.NotATime:
            return None

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that the caller may be; none where nobody has said."""
        return callers.sessions(self.env, self.said_session)

    @property
    def stale_after(self) -> int:
        """How long an agent may be silent before it counts as stale, in milliseconds; as the person has pinned it here.
        For a heartbeat: the ledger is not opened."""
        minutes = self.env.get("BB_AGENT_STALE_MINUTES")
        try:
            return liveness.stale_after(minutes, pinned_threshold.read(self.place.store))
        except places.NotARepository:
            return liveness.stale_after(minutes)

    def stale_after_in(self, index: Index) -> int:
        """The same, by the word of the ledger that INDEX has read."""
        from bb.coordination.agents import thresholds  # noqa: PLC0415  (a heartbeat opens no ledger)

        minutes = thresholds.pinned(index.state(thresholds.NAME, thresholds.ENTRY))
        return liveness.stale_after(self.env.get("BB_AGENT_STALE_MINUTES"), minutes)

    def go(self, cwd: str, place: Place | None) -> None:
        """Work in that directory from now on, for the repository at that PLACE, or else the one that CWD lies in."""
        self.close()
        self.cwd, self._place, self._store, self._is_ours = cwd, place, None, False

    @property
    def place(self) -> Place:
        """The repository we are in. One of another user can be looked at, and no more."""
        if self._place is None:
            self._place = places.find(self.cwd, self.env)
        if not self.only_reads and not self._is_ours:
            ownership.refuse_foreign(self._place, self.env)
            self._is_ours = True
        return self._place

    @property
    def store(self) -> Store:
        """The ledger of the repository we are in."""
        if self._store is None:
            self._store = self.store_at(self.place)
        return self._store

    def store_at(self, place: Place) -> Store:
        from bb.ledger.records.store import Store  # noqa: PLC0415  (SQLite and git: not for a heartbeat)

        if not self.only_reads:
            ownership.refuse_foreign(place, self.env)
        return Store(place, self.progress, SERVED_PATIENCE if self.is_served else None)

    def may_write(self) -> None:
        """Refuse when the ledger here is another user's, or in a format that this bb must not write."""
        if not self._is_ours:
            ownership.refuse_foreign(self.place, self.env)
            self._is_ours = True
        if found := clones.read(self.place.store):
            found.may_write()

    @property
    def store_or_home(self) -> Store:
        """The ledger here; outside any repository, the one in the home directory of bb."""
        try:
            return self.store
        except places.NotARepository:
            self._store = self.store_at(places.at_home(self.env))
            return self._store

    @property
    def ledger(self) -> Store:
        """The ledger here or at home, which must exist."""
        found = self.store_or_home
        found.must_exist()
        return found

    def scope(self, written: str, *, is_path: bool = False) -> Scope:
        """The scope that WRITTEN names, standing where we are."""
        from bb.ledger.git import work_tree  # noqa: PLC0415

        return work_tree.scope_of(self.place, self.cwd, written, is_path=is_path)

    def holdings(self, index: Index, now: int) -> Holdings:
        """What is held here, as of NOW."""
        return self.holdings_at(self.place, index, now)

    def holdings_at(self, place: Place, index: Index, now: int) -> Holdings:
        """What is held in the repository at PLACE."""
        from bb.ledger.git import work_tree  # noqa: PLC0415
        from bb.ledger.views.holdings import Holdings  # noqa: PLC0415

        threshold = self.stale_after_in(index)
        return Holdings(index, place.store, now, threshold, ignore_case=work_tree.minds_no_case(place))

    def caller(self, named: str | None = None) -> str:
        """Who is asking: as NAMED in the request, else BB_AGENT. They must not contradict each other."""
        agent = self.actor(named)
        if not agent:
            raise NoAgent
        return ids.actor_id(agent)

    def actor(self, named: str | None) -> str:
        """The same, whoever it is; empty where nobody says."""
        return callers.actor(named, self.env.get("BB_AGENT"))

    def subject(self, named: str | None) -> str:
        """Whom a question is about, that changes nothing: anybody who is NAMED, else the caller."""
        return ids.actor_id(named) if named else self.caller()

    def principal(self) -> str:
        """In whose name an event is recorded that is not an agent's own doing."""
        agent = self.env.get("BB_AGENT", "")
        return agent if ids.is_actor_id(agent) else "user"

    def sync_later(self) -> None:
        """If there is something to tell other clones, let a sync do it, should one be due. Nobody waits for it."""
        if not (self.has_beaten or (self._store is not None and self._store.has_recorded)):
            return
        age = last_sync.age(self.place.store)
        if age is not None and age >= RARELY:
            from bb.ledger.travel import background  # noqa: PLC0415  (now and then)

            background.start_if_due(self.place, self.cwd, self.env, RARELY)

    def close(self) -> None:
        """Let go of what was opened."""
        if self._store is not None:
            self._store.close()
        for group in self.groups.values():
            group.store.close()
        self.groups.clear()


def here(
    progress: Callable[..., None] | None = None,
    ask: Callable[[str], bool] | None = None,
    tell: Callable[[str], None] | None = None,
    stdin: IO[bytes] | None = None,
) -> Desk:
    """A desk in this process's directory and environment."""
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        raise places.NotARepository("the current directory is gone") from None
    return Desk(cwd, os.environ, progress, ask, tell, stdin)
