"""The desk: what an op works with. It holds the repository, its ledger, the clock and the caller of one request.

The ledger (SQLite, journals) is opened on first use. A heartbeat usually does not open it.
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
    from typing import IO, Any

    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.git.place import Place
    from bb.ledger.index.index import Index
    from bb.ledger.records.store import Store
    from bb.ledger.views.holdings import Holdings


SERVED_PATIENCE = 1.0  # seconds that a client of the daemon waits while another process builds the index
RARELY = 300.0  # least seconds between two automatic syncs

USE_YOUR_NAME = "use the name that session-start gave you: pass --agent NAME, or set BB_AGENT"
NoAgent = Usage.declare(
    "NO_AGENT",
    "The request names no agent",
    hint=f"{USE_YOUR_NAME}; if it gave you none, take one: `bb agent register --name NAME --role ROLE`",
)


class Desk:
    """The context of one request: the caller, its directory and its time."""

    def __init__(
        self,
        cwd: str,
        env: Mapping[str, str],
        progress: Callable[..., None] | None = None,
        ask_person: Callable[[str], bool] | None = None,
        show_progress: Callable[[str], None] | None = None,
        stdin: IO[bytes] | None = None,
        *,
        is_client_gone: Callable[[], bool] = lambda: False,
        is_served: bool = False,
        only_reads: bool = False,
    ) -> None:
        self.cwd = cwd
        self.env = env
        self.progress = progress
        self.request = ""  # digest of the request, if it has an idempotency key
        self.show_progress = show_progress  # shows a progress message to a watching user; None without one
        self.ask_person = ask_person  # asks the person a yes/no question; None if no person is present
        self.stdin = stdin  # the caller's standard input; None if there is none, such as on a socket
        self.is_client_gone = is_client_gone  # whether the client has disconnected
        self.is_served = is_served  # whether a daemon runs this request for a client on its socket
        self.groups: dict[str, Any] = {}  # open groups by their ids (`group_desk.GroupDesk`)
        self.live: Any = None  # running actors (`live_daemon.Live`); only a daemon has them
        self._only_reads = only_reads  # whether the op changes nothing; then a ledger of another user may be read
        self._records = 0  # of the store, before this request
        self._has_beaten = False  # whether this request was a heartbeat, which other clones do not know of yet
        self._said: tuple[str, ...] = ()  # the session ids that the host has sent with this request
        self._place: Place | None = None
        self._is_ours = False
        self._engine: bool | None = None  # whether this clone has joined a fleet
        self.lacks_relay = False  # whether this request has found that no relay of this clone runs
        self._sent = 0  # of the store's records, those that the relay has sent
        self._store: Store | None = None

    def begin(self, *, only_reads: bool, request: str = "") -> None:
        """Begin a request. REQUEST is its digest, if it has an idempotency key."""
        self._only_reads, self.request, self._engine, self.lacks_relay = only_reads, request, None, False
        self._records = self._store.records if self._store is not None else 0

    @property
    def has_recorded(self) -> bool:
        """Whether this request has recorded something."""
        return self._store is not None and self._store.records > self._records

    def add_to_request_digest(self, octets: bytes) -> None:
        """Add OCTETS to the request digest: content that the request only names, such as that of a file."""
        if self.request:
            from bb.kernel.digest import digest  # noqa: PLC0415  (most requests have no key)

            self.request = digest(self.request.encode() + octets)

    def act_as(self, caller: str | None) -> None:
        """Act as the CALLER named on the command line, as if BB_AGENT named it. None changes nothing."""
        if caller:
            self.env = {**self.env, "BB_AGENT": self.actor(caller)}

    def note_heartbeat(self) -> None:
        """Note that this request was a heartbeat: it changes a presence file, and nothing in the ledger."""
        self._has_beaten = True

    def note_session(self, *sessions: str) -> None:
        """Note the caller's session, as the host names it in the payload of a hook or in the metadata of a call."""
        self._said = tuple(session for session in sessions if session)

    def serve_actors(self, live: Any) -> None:
        """Answer for the actors that run in this process. Only a daemon runs actors."""
        self.live = live

    def now(self) -> int:
        """The current time, or the fixed time in BB_NOW."""
        fixed = self.env.get("BB_NOW")
        if not fixed:
            return time.time_ns() // 1_000_000
        try:
            return clock.parse(fixed)
        except clock.NotATime.error as error:
            raise clock.NotATime(f"BB_NOW is {fixed[:40]!r}, which is not a valid RFC 3339 time") from error

    def now_or_none(self) -> int | None:
        """The current time; None if BB_NOW is invalid. `doctor` reports that instead of refusing."""
        try:
            return self.now()
        except clock.NotATime.error:
            return None

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions that the caller may be; none if unknown. A host may go on under another id (`/clear`)."""
        sessions = callers.sessions(self.env, *self._said)
        is_hosted = self.host_sessions or self.env.get(callers.GEMINI)
        return (*sessions, *self._earlier_sessions()) if is_hosted else sessions

    def _processes(self) -> tuple[str, ...]:
        """The processes around the caller, if its host is known to pass no session id."""
        if not self.env.get(callers.GEMINI):
            return ()
        from bb.ledger.local import host_processes  # noqa: PLC0415  (only in a shell or a server of Gemini CLI)

        return tuple(host_processes.around())

    def _earlier_sessions(self) -> tuple[str, ...]:
        from bb.ledger.local import editor_sessions  # noqa: PLC0415  (only for a caller in a host's session)

        try:
            store = self.place.store
        except places.NotARepository.error:
            return ()
        sessions = self._said or (*self.host_sessions, *self._processes())
        return tuple(also for session in sessions for also in editor_sessions.read(store, session).also)

    def ignore_environment_sessions(self) -> None:
        """Ignore the host's session ids in the environment: the caller has shown that it is another session."""
        self.env = callers.without_session_variables(self.env, keeps_own=True)

    @property
    def host_sessions(self) -> tuple[str, ...]:
        """The session ids from the host. Those that it has sent with the request are its own; in the environment there
        may be those of a program around it."""
        return self._said or callers.host_sessions(self.env)

    @property
    def stale_after(self) -> int:
        """Milliseconds without a sign of life after which an agent is stale, including the value that the person has
        pinned. The ledger is not opened, so a heartbeat can use this."""
        minutes = self.env.get("BB_AGENT_STALE_MINUTES")
        try:
            return liveness.stale_after(minutes, pinned_threshold.read(self.place.store))
        except places.NotARepository.error:
            return liveness.stale_after(minutes)

    def stale_after_in(self, index: Index) -> int:
        """The same threshold, read from the ledger behind INDEX."""
        from bb.coordination.agents import thresholds  # noqa: PLC0415  (a heartbeat does not open the ledger)

        minutes = thresholds.pinned(index.state(thresholds.NAME, thresholds.ENTRY))
        return liveness.stale_after(self.env.get("BB_AGENT_STALE_MINUTES"), minutes)

    def switch_to(self, cwd: str, place: Place | None) -> None:
        """Switch to directory CWD and the repository at PLACE; without PLACE, to the repository that contains CWD."""
        self.close()
        self.cwd, self._place, self._store, self._is_ours, self._engine = cwd, place, None, False, None

    @property
    def place(self) -> Place:
        """The current repository. If it belongs to another user, only reading is allowed."""
        if self._place is None:
            self._place = places.find(self.cwd, self.env)
        if not self._only_reads and not self._is_ours:
            ownership.refuse_foreign(self._place, self.env)
            self._is_ours = True
        return self._place

    @property
    def store(self) -> Store:
        """The ledger of the current repository."""
        if self._store is None:
            self._store = self.store_at(self.place)
        return self._store

    def store_at(self, place: Place) -> Store:
        from bb.ledger.records.store import Store  # noqa: PLC0415  (SQLite and git: not for a heartbeat)

        if not self._only_reads:
            ownership.refuse_foreign(place, self.env)
        return Store(place, self.progress, SERVED_PATIENCE if self.is_served else None)

    def may_write(self) -> None:
        """Refuse if the ledger belongs to another user, or has a format that this version of bb must not write."""
        if not self._is_ours:
            ownership.refuse_foreign(self.place, self.env)
            self._is_ours = True
        if clone := clones.read(self.place.store):
            clone.may_write()

    @property
    def store_or_home(self) -> Store:
        """The ledger of the current repository; outside a repository, the one in bb's home directory."""
        try:
            return self.store
        except places.NotARepository.error:
            self._store = self.store_at(places.home_place(self.env))
            return self._store

    @property
    def ledger(self) -> Store:
        """The ledger as in `store_or_home`; it must exist."""
        store = self.store_or_home
        store.require_ledger()
        return store

    def scope(self, written: str, *, is_path: bool = False) -> Scope:
        """The scope that WRITTEN names, relative to the current directory."""
        from bb.ledger.git import work_tree  # noqa: PLC0415

        return work_tree.scope_of(self.place, self.cwd, written, is_path=is_path)

    def holdings(self, index: Index, now: int) -> Holdings:
        """The reservations in this repository, as of NOW."""
        return self.holdings_at(self.place, index, now)

    def holdings_at(self, place: Place, index: Index, now: int) -> Holdings:
        """The reservations in the repository at PLACE."""
        from bb.ledger.git import work_tree  # noqa: PLC0415
        from bb.ledger.views.holdings import Holdings  # noqa: PLC0415

        threshold = self.stale_after_in(index)
        ignore_case = work_tree.is_case_insensitive(place)
        return Holdings(index, place.store, now, threshold, ignore_case=ignore_case, work_tree=place.work_tree)

    @property
    def is_in_fleet(self) -> bool:
        """Whether this clone has joined a fleet, and the ledger that it publishes to has one. Outside a fleet, this is
        one look at the disk."""
        if not self._has_engine:
            return False
        from bb.ledger.published import pins  # noqa: PLC0415  (needed only in a fleet)

        return pins.read(self.place.store).terms is not None

    @property
    def _has_engine(self) -> bool:
        """Whether this clone has joined a fleet (`fleet_results.has_joined`, without its import)."""
        if self._engine is None:
            self._engine = os.path.exists(os.path.join(self.place.store, "fleet", "engine.json"))
        return self._engine

    def note_all_sent(self) -> None:
        """Note that the relay has sent all that was recorded so far, so it need not be woken for that."""
        self._sent = self.store.records

    def caller(self, named: str | None = None) -> str:
        """The calling agent: the one NAMED in the request, else BB_AGENT, else the agent of the host's session. The
        first two must not contradict each other."""
        agent = self.actor(named)
        if not agent:
            raise NoAgent()
        return ids.actor_id(agent)

    def actor(self, named: str | None) -> str:
        """The calling agent or the person; empty if the request names none."""
        return callers.actor(named, self.env.get("BB_AGENT")) or self.session_agent()

    def session_agent(self) -> str:
        """The agent of the host's session; empty if it is unknown. Refused if the caller may be several agents."""
        sessions = self._said or (*callers.named_sessions(self.env), *self._processes())
        if not sessions:
            return ""
        from bb.ledger.local import editor_sessions  # noqa: PLC0415  (only for a caller that names no agent)

        try:
            found = callers.agents_of(editor_sessions.agents(self.place.store, sessions))
        except places.NotARepository.error:
            return ""
        if len(found) > 1:
            raise NoAgent(f"the environment has the session ids of {' and '.join(found)}", hint=USE_YOUR_NAME)
        return found[0] if found else ""

    def subject(self, named: str | None) -> str:
        """The agent that a read-only request is about: the one NAMED, else the caller."""
        return ids.actor_id(named) if named else self.caller()

    def principal(self) -> str:
        """The author of an event that is not an agent's own act: BB_AGENT, else the agent of the host's session, else
        the person."""
        try:
            agent = self.actor(None)
        except NoAgent.error:
            return "user"
        return agent if ids.is_actor_id(agent) else "user"

    def sync_later(self) -> None:
        """Let other clones know of what this request changed: start a background sync if one is due; in a fleet, wake
        the relay of this clone."""
        records = self._store.records if self._store is not None else 0
        if not (self._has_beaten or records or self.lacks_relay):
            return
        age = last_sync.age(self.place.store)
        is_due = age is not None and age >= RARELY
        if (is_due or records > self._sent or self.lacks_relay) and self._has_engine:
            from bb.ledger.fleet import waking  # noqa: PLC0415  (needed only in a fleet)

            if waking.wake(self.place.store, self.cwd, self.env) and is_due:
                last_sync.touch(self.place.store)  # a heartbeat looks for the relay only now and then
        elif is_due:
            from bb.ledger.travel import background  # noqa: PLC0415  (rarely needed)

            background.start_if_due(self.place, self.cwd, self.env, RARELY)

    def close(self, *, at_exit: bool = False) -> None:
        """Close the stores that were opened. AT_EXIT means that the process ends at once."""
        if self._store is not None:
            self._store.close(at_exit=at_exit)
        for group in self.groups.values():
            group.store.close()
        self.groups.clear()


def desk_here(
    progress: Callable[..., None] | None = None,
    ask_person: Callable[[str], bool] | None = None,
    show_progress: Callable[[str], None] | None = None,
    stdin: IO[bytes] | None = None,
    *,
    only_reads: bool = False,
) -> Desk:
    """A desk for this process's directory and environment."""
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        raise places.NotARepository("the current directory is gone") from None
    return Desk(cwd, os.environ, progress, ask_person, show_progress, stdin, only_reads=only_reads)
