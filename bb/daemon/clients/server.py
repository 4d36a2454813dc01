"""Serves requests in batches: many requests in a turn of the loop, one `fdatasync` for each ledger, then the answers.

The requests of a turn are decided one after the other, and each sees the results of those before it. Their events are
written to disk together, and then all clients are answered. Eight clients that send at once therefore wait for the disk
once. Ops that may take long, such as a sync, run beside the loop (`daemon/clients/threads.py`).
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bb.daemon.clients.connection import LOCAL, Connection
from bb.daemon.clients.streams import Streams
from bb.daemon.clients.threads import ThreadedOps
from bb.daemon.loop.log import InternalError, Log
from bb.daemon.loop.loop import READ, Loop, Timer
from bb.kernel.errors import BbError, Busy
from bb.kernel.errors import BbError as Refusal
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local.machine_registry import RegisteredGroup
from bb.ledger.records.batch import Batch
from bb.ledger.records.store import Store
from bb.ledger.views.chat import ChatIndex
from bb.ops import catalogue
from bb.ops.catalogue import Op
from bb.ops.desk import group_desk
from bb.ops.desk.desk import Desk
from bb.ops.groups import daemon
from bb.wire import access, cccc

AT_ONCE = 64  # requests decided in one turn
LAST_ANSWERS = 2.0  # seconds for long operations at shutdown
SPARE_FILES = 5 * group_desk.MOST_OPEN + 100  # file handles for indexes, locks and terminals
MOST_CLIENTS = 8000
MOST_STRANGERS = 512  # clients that have not shown the token yet
TIDY = 0.1  # seconds after an event was recorded
SWEEP = 2.0  # seconds between checks for overdue clients
LARGE = 4 << 20  # bytes of journals above which building an index may take a while

UnknownOp = catalogue.UnknownOp.declare(
    "UNKNOWN_OP", "There is no such operation", hint="`ping` lists the operations in its capabilities"
)
TooManyClients = Busy.declare(
    "TOO_MANY_CLIENTS", "Too many clients are connected", hint="close idle connections and try again"
)


class Request:
    """One request, until it is answered."""

    def __init__(self, connection: Connection, op: Op, args: dict[str, Any]) -> None:
        self.connection = connection
        self.op = op
        self.args = args
        self.result: dict[str, Any] | None = None
        self.refusal: Refusal | None = None
        self.wanted: dict[str, Any] = {}  # of a stream
        # the groups in whose ledgers it may record
        self.groups = {str(args[name]) for name in ("group_id", "dst_group_id") if name in args}


class Server:
    """The clients of one daemon."""

    def __init__(
        self,
        loop: Loop,
        listener: socket.socket,
        desk: Desk,
        streams: Streams,
        log: Log,
        upgrade: Callable[[str, Connection, dict[str, Any]], None],
        token: str | None = None,
        on_recorded: Callable[[str], None] = lambda _: None,  # called with each store that has new events
    ) -> None:
        self._loop = loop
        self._listener = listener
        self._waiting = _watch(listener)
        self._is_local = listener.family == LOCAL
        self._desk = desk
        self._streams = streams
        self._log = log
        self._upgrade = upgrade
        self._asked: list[Request] = []
        self._token = token  # if set, clients must show it
        self._clients: set[Connection] = set()
        self._strangers: dict[Connection, None] = {}  # clients that have not shown the token, oldest first
        self._beside = ThreadedOps(loop, desk, log)
        self._beside.on_recorded = on_recorded
        self._on_recorded = on_recorded
        self._warm: set[str] = set()  # groups whose index exists
        self._warming: dict[str, list[Request]] = {}  # groups whose index is being built, with the waiting requests
        self._tidying: Timer | None = None
        self._most = _most_clients()
        self.last_asked = time.monotonic()
        self.ops = {op.name: op for op in catalogue.all_ops()}
        self._flat = {op.name for op in self.ops.values() if op.is_flat}
        loop.watch(listener.fileno(), READ, self._accept)
        loop.at_end_of_turn.append(self._turn)
        loop.later(SWEEP, self._sweep)

    @property
    def is_busy(self) -> bool:
        """Whether a client is connected or an operation is running."""
        return bool(self._clients or self._beside.working)

    # -- clients

    def _accept(self, _: int) -> None:
        for count in range(AT_ONCE):
            if count and not self._is_anybody_waiting():
                return
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:  # for example no file handles are left: retry later
                self._log.error(f"cannot accept a client: {error}")
                self._loop.forget(self._listener.fileno())
                self._loop.later(0.1, lambda: self._loop.watch(self._listener.fileno(), READ, self._accept))
                return
            sock.setblocking(False)
            connection = Connection(
                sock,
                self._loop,
                self._came,
                self._forget,
                is_local=self._is_local,
                token=self._token,
                known=self._knows,
            )
            self._clients.add(connection)
            if self._is_local and not access.is_own(sock):
                connection.refuse(access.another_user())
            elif len(self._clients) > self._most:
                connection.refuse(TooManyClients())
            else:
                self._loop.attempt(connection.start)
                self._note_stranger(connection)

    def _note_stranger(self, connection: Connection) -> None:
        """Track a client without token. If there are too many, the oldest is closed."""
        if connection.is_stranger:
            self._strangers[connection] = None
        if len(self._strangers) > MOST_STRANGERS:
            next(iter(self._strangers)).close()

    def _knows(self, connection: Connection) -> None:
        self._strangers.pop(connection, None)

    def _forget(self, connection: Connection) -> None:
        self._clients.discard(connection)
        self._strangers.pop(connection, None)

    def _is_anybody_waiting(self) -> bool:
        """Whether another client is waiting; `poll` is cheaper than a failing `accept`."""
        return self._waiting is None or bool(self._waiting.poll(0))

    def _sweep(self) -> None:
        now = time.monotonic()
        for connection in [client for client in self._clients if client.is_overdue(now)]:
            connection.close()
        self._loop.later(SWEEP, self._sweep)

    def _came(self, connection: Connection, line: bytes) -> None:
        """A complete request has arrived."""
        self.last_asked = time.monotonic()
        try:
            name, args = cccc.request(line)
            op = self.ops.get(name)
            if op is None:
                raise UnknownOp(f"there is no op {name[:60]!r}")
        except BbError as refusal:
            connection.answer(cccc.failure(refusal))
            return
        if name in self._flat:
            self._asked.append(Request(connection, op, args))
        else:
            self._beside.answer(connection, op, args)

    # -- in the loop

    def _turn(self) -> None:
        """Decide the waiting requests, write their events to disk, and answer."""
        if not self._asked:
            return
        requests = self._next()
        batches = {} if requests and requests[0].op.name in ALONE else self._batches(requests)
        for request in requests:
            self._decide(request)
        recorded = self._settle(requests, batches)
        for request in requests:
            if not self._loop.attempt(partial(self._release, request)):
                request.connection.close()
        for group_id in [group_id for group_id, batch in batches.items() if batch.is_behind]:
            if group_id in self._desk.groups:  # another process may have deleted it
                self._desk.groups[group_id].refresh_index()
        self._streams.pump(recorded)
        for store in {group.store.path for group_id in recorded if (group := self._desk.groups.get(group_id))}:
            self._on_recorded(store)
        if recorded and (self._tidying is None or self._tidying.do is None):
            self._tidying = self._loop.later(TIDY, self._tidy)

    def _next(self) -> list[Request]:
        """The requests for this turn. Some ops run alone. A request about a group waits while the group's index is
        being built."""
        taken: list[Request] = []
        while self._asked and len(taken) < AT_ONCE:
            is_alone = self._asked[0].op.name in ALONE
            if taken and (is_alone or taken[0].op.name in ALONE):
                break
            request = self._asked.pop(0)
            if not self._must_wait(request):
                taken.append(request)
        if self._asked:
            self._loop.call_soon(lambda: None)
        return taken

    def _batches(self, asked: list[Request]) -> dict[str, Batch]:
        """A batch for each ledger that the requests name. Other ledgers write to disk themselves."""
        groups, named = self._desk.groups, {group_id for request in asked for group_id in request.groups}
        return {group_id: groups[group_id].store.batch() for group_id in named if group_id in groups}

    def _must_wait(self, asked: Request) -> bool:
        """Whether the group's index must be built first; this happens in another thread."""
        group_id = asked.args.get("group_id")
        if not isinstance(group_id, str) or group_id in self._warm:
            return False
        if group_id in self._warming:
            self._warming[group_id].append(asked)
            return True
        registered = knowns.read(knowns.home(self._desk.env), group_id)
        if registered is None:
            return False
        if knowns.size(registered) < LARGE:
            self._warm.add(group_id)
            return False
        self._warming[group_id] = [asked]
        self._beside.do(lambda: self._warm_up(registered), lambda _: self._is_warm(group_id))
        return True

    def _warm_up(self, known: RegisteredGroup) -> None:
        """Build the index of a group, with a store of its own."""
        store = Store(known.place)
        try:
            ChatIndex(store).catch_up()
        except BbError as refusal:
            self._log.warning(f"{known.group_id}: {refusal.message}")  # requests about the group get the refusal
        except Exception as error:
            self._log.bug(f"the index of {known.group_id}", error)
        finally:
            store.close()

    def _is_warm(self, group_id: str) -> None:
        self._warm.add(group_id)
        self._asked[:0] = self._warming.pop(group_id, [])

    def _tidy(self) -> None:
        """Update the message indexes while no request waits, so that the next request is fast."""
        self._tidying = None
        for group in list(self._desk.groups.values()):
            try:
                group.talk.catch_up()
            except BbError as refusal:
                self._log.debug(f"{group.id}: {refusal.message}")

    def _decide(self, asked: Request) -> None:
        try:
            arguments = catalogue.bind(asked.op, asked.args, is_typed=True, ignores_unknown=True)
            asked.result = asked.op.run(self._desk, arguments)
            if asked.op.name == "events_stream":
                options = {name: asked.args.get(name) for name in daemon.SUBSCRIPTION}
                asked.wanted = daemon.subscription(group_desk.open_group(self._desk, asked.args["group_id"]), **options)
        except BbError as refusal:
            asked.refusal = refusal
        except Exception as error:  # a bug must not stop the daemon
            asked.refusal = self._log.bug(asked.op.name, error)

    def _settle(self, asked: list[Request], batches: Mapping[str, Batch]) -> set[str]:
        """Write the batches to disk; the groups with new events. A failed batch is undone and its requests refused."""
        recorded = {group_id for request in asked for group_id in request.groups}
        for group_id, batch in batches.items():
            if batch.has_recorded:
                recorded.add(group_id)
            if refusal := self._refusal_of(batch):
                for request in asked:
                    if group_id in request.groups and request.refusal is None:
                        request.refusal = refusal
        return recorded

    def _refusal_of(self, batch: Batch) -> Refusal | None:
        """The refusal if a batch cannot be written; the other batches are still written."""
        try:
            with batch:
                return None
        except BbError as refusal:
            return refusal
        except Exception as error:
            return self._log.bug("a batch", error)

    def _release(self, asked: Request) -> None:
        connection = asked.connection
        if asked.refusal is not None or asked.result is None:
            connection.answer(cccc.failure(asked.refusal or InternalError()))
        elif asked.op.name in cccc.UPGRADES:
            self._upgraded(asked, cccc.success(asked.result))
        else:
            connection.answer(cccc.success(asked.result))

    def _upgraded(self, asked: Request, line: bytes) -> None:
        """Turn the connection into a stream. It has every event from the moment of its request."""
        asked.connection.upgrade(line)
        if asked.op.name == "events_stream":
            group = group_desk.open_group(self._desk, asked.args["group_id"])
            self._streams.subscribe(group, asked.connection, asked.wanted)
        else:
            self._upgrade(asked.op.name, asked.connection, asked.args)

    # -- the end

    def close(self) -> None:
        """Answer the requests that have arrived, and close all connections."""
        self._loop.forget(self._listener.fileno())
        self._listener.close()
        while self._asked:
            self._turn()
        deadline = time.monotonic() + LAST_ANSWERS
        while self._beside.working and time.monotonic() < deadline:
            self._loop.later(0.05, lambda: None)
            self._loop.turn()
        for connection in list(self._clients):
            connection.close()


# Ops that move whole ledgers, or whose effect the next request must see.
ALONE = frozenset(["attach", "group_create_from_template", "group_delete", "term_attach"])


def _watch(listener: socket.socket) -> select.poll | None:
    if not hasattr(select, "poll"):
        return None
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    return waiting


def _most_clients() -> int:
    """The number of clients that the system's limit of open files permits."""
    if sys.platform == "win32":
        return 500
    import resource  # noqa: PLC0415

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = min(hard if hard != resource.RLIM_INFINITY else MOST_CLIENTS + SPARE_FILES, MOST_CLIENTS + SPARE_FILES)
    if soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        soft = limit
    return max(min(soft - SPARE_FILES, MOST_CLIENTS), 10)
