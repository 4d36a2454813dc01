"""One connection to a PostgreSQL server, with a limit on every wait.

libpq waits for an answer as long as the server's machine is there, even if the server stands still. So requests are
sent and answers awaited here, over libpq's non-blocking functions. A connection that did not answer in time is closed,
because a late answer would be taken for that of the next request.
"""

from __future__ import annotations

import os
import threading
from time import monotonic

import psycopg
from psycopg import conninfo, pq

from bb.kernel.errors import Refused
from bb.kernel.escaping import harmless
from bb.ledger.carrier import postgres_service
from bb.ledger.carrier.door import Denied, EngineNotDurable, EngineUnreachable
from bb.ledger.files import readiness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from psycopg.pq.abc import PGconn, PGresult

CONNECTING = 1.9  # seconds; a refusal must come within two
PATIENCE = 4.0  # seconds for an answer
LONGEST = 60.0  # seconds that the server works on a statement
SETTLED = {  # what a connection uses unless its address says otherwise
    "fallback_application_name": "bb",
    "connect_timeout": "2",
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
# Where everybody may create in the schema `public`, as before PostgreSQL 15, a machine could make an operator or a
# function there that fits our statements better than those of PostgreSQL do. It would run as the owner of bb's tables.
ONLY_OWN_NAMES = "set search_path = pg_catalog, pg_temp"
DURABLE = ("on", "remote_apply")  # values of synchronous_commit with which an acknowledged row is on the disk
SET_UP = """
select set_config('synchronous_commit',
        case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, false),
    current_setting('fsync', true), current_setting('full_page_writes', true), current_setting('server_version'),
    (not pg_is_in_recovery())::text, current_setting('synchronous_standby_names', true), session_user::text,
    current_setting('server_encoding'),
    set_config('statement_timeout', $1, false), set_config('idle_in_transaction_session_timeout', '10s', false),
    set_config('default_transaction_read_only', 'off', false), set_config('client_min_messages', 'warning', false),
    set_config('jit', 'off', false)
"""
INT, TEXT, OCTETS = 20, 25, 17  # PostgreSQL's numbers of the types bigint, text and bytea
BINARY = 1
LARGEST_INTEGER = 8  # bytes
LOST = ("08", "57")  # classes of errors after which the connection, or the server, is gone
UNPREPARED = ("3F000", "42883", "42P01")  # no such schema, function or table
POOLED = ("26000", "42P05")  # a prepared statement is not there, or another connection has made it
MAY_NOT = "42501"
NEEDS_PASSWORD = ("authentication failed", "no password supplied")
LOGIN_REFUSED = (*NEEDS_PASSWORD, "pg_hba.conf", "is not permitted to log in", "permission denied for database")
NO_SERVICE = "definition of service"

HEALTH = "select (extract(epoch from clock_timestamp()) operator(pg_catalog.*) 1000)::bigint"
STANDBYS = "select application_name, state, sync_state from pg_stat_replication"
VERSION = 1  # of the schema

EngineUnprepared = Refused.declare(
    "ENGINE_UNPREPARED",
    "The database has no tables of bb, or those of another version",
    hint="for a new fleet, `bb fleet begin` makes them (`bb fleet schema` prints them); a fleet that exists has its "
    "log elsewhere: `bb fleet join ENGINE` with the right address",
)

EnginePooled = Refused.declare(
    "ENGINE_POOLED",
    "Between bb and the server there is a pooler in transaction mode, which mixes connections",
    hint="connect to the server itself, or to a pooler in session mode: `bb fleet join ENGINE`",
)


class ServerError(Exception):
    """The server refused a statement, which therefore changed nothing. STATE is PostgreSQL's code of the error."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


class Session:
    """A connection that is open. After EngineUnreachable it is closed."""

    def __init__(self, address: str, patience: float = PATIENCE, longest: float = LONGEST) -> None:
        self.patience = patience
        self.warnings: list[str] = []  # of the server about the last request
        self._connection = _connected(address)
        self._pq: PGconn = self._connection.pgconn
        self._pq.notice_handler = self._note
        self._prepared: dict[str, bytes] = {}
        self._name = os.urandom(6).hex().encode()  # a pooler may give one server connection to several of us
        try:
            self.run(ONLY_OWN_NAMES, patience)
            found = self.ask(SET_UP, f"{round(longest)}s").texts()[0]
        except ServerError as error:
            self.close()
            if error.state in POOLED:
                raise EnginePooled() from error
            raise EngineNotDurable(f"the server does not show its settings: {error}") from error
        names = ("synchronous_commit", "fsync", "full_page_writes", "version", "is_primary", "synchronous_standbys")
        self.settings = dict(zip((*names, "role", "encoding"), found, strict=False))

    @property
    def database(self) -> str:
        return self._pq.db.decode("utf-8", "replace")

    @property
    def is_primary(self) -> bool:
        return self.settings["is_primary"] == "true"

    @property
    def is_durable(self) -> bool:
        return self.settings["fsync"] == "on" and self.settings["synchronous_commit"] in DURABLE

    def must_be_sound(self) -> None:
        """Refuse a server that may lose what it acknowledges, and one that follows another server."""
        if not self.is_primary:
            self.close()
            raise EngineUnreachable("the server is a standby, which takes no lines")
        if not self.is_durable:
            self.close()
            shown = ", ".join(f"{name} is {self.settings[name]}" for name in ("fsync", "synchronous_commit"))
            raise EngineNotDurable(shown)

    def ask(self, statement: str, *values: int | str | bytes, patience: float | None = None) -> Answer:
        """Run one statement, whose $1, $2, … are VALUES. Raises ServerError or EngineUnreachable."""
        deadline = monotonic() + (patience or self.patience)
        self.warnings.clear()
        try:
            name = self._prepared.get(statement) or self._prepare(statement, values, deadline)
            encoded = [_encoded(value) for value in values]
            self._pq.send_query_prepared(name, encoded, [BINARY] * len(encoded), BINARY)
            return Answer(self._result(deadline))
        except psycopg.Error as error:
            raise self._lost(str(error)) from error

    def run(self, script: str, patience: float = 60.0) -> None:
        """Run statements without values, all or none."""
        try:
            self._pq.send_query(script.encode())
            while self._result(monotonic() + patience, is_last=False) is not None:
                pass
        except psycopg.Error as error:
            raise self._lost(str(error)) from error

    def is_lost(self) -> bool:
        """Whether the server has ended the connection, as far as this machine knows."""
        try:
            if readiness.readable([self._pq.socket], 0):
                self._pq.consume_input()
        except psycopg.Error:
            return True
        return self._pq.status != pq.ConnStatus.OK

    def notified(self) -> list[str]:
        """The payloads of the notifications that have come."""
        heard = []
        while (notification := self._pq.notifies()) is not None:
            heard.append(bytes(notification.extra).decode("ascii", "replace"))
        return heard

    def listen(self, seconds: float, also: Sequence[int] = ()) -> bool:
        """Wait until the server says something, or one of the file descriptors ALSO can be read. Returns whether one of
        those can be read."""
        ready = readiness.readable([self._pq.socket, *also], seconds)
        if self._pq.socket in ready:
            try:
                self._pq.consume_input()
            except psycopg.Error as error:
                raise self._lost(str(error)) from error
        return not ready.isdisjoint(also)

    def close(self) -> None:
        self._connection.close()

    def _prepare(self, statement: str, values: Sequence[int | str | bytes], deadline: float) -> bytes:
        name = b"bb_%s_%d" % (self._name, len(self._prepared))
        kinds = [INT if type(value) is int else TEXT if type(value) is str else OCTETS for value in values]
        self._pq.send_prepare(name, statement.encode(), kinds)
        self._result(deadline)
        self._prepared[statement] = name
        return name

    def _result(self, deadline: float, is_last: bool = True) -> Any:
        """The next result of the server, and nothing after it if it IS_LAST. None if there is no other one."""
        found = self._next_result(deadline)
        if found is not None and found.status == pq.ExecStatus.FATAL_ERROR:
            while self._next_result(deadline) is not None:
                pass
            raise self._refusal(found)
        if is_last:
            while self._next_result(deadline) is not None:
                pass
        return found

    def _next_result(self, deadline: float) -> PGresult | None:
        is_sending = self._pq.flush() == 1
        while is_sending or self._pq.is_busy():
            socket = [self._pq.socket]
            reads, writes = readiness.ready(socket, socket if is_sending else (), deadline - monotonic())
            if not reads and not writes:
                raise self._lost("it did not answer in time")
            if reads:
                self._pq.consume_input()
            is_sending = is_sending and self._pq.flush() == 1
        return self._pq.get_result()

    def _refusal(self, found: PGresult) -> Exception:
        state = (found.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode("ascii", "replace")
        text = (found.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode("utf-8", "replace")
        if state.startswith(LOST) or self._pq.status != pq.ConnStatus.OK:
            return self._lost(text)
        return ServerError(state, _shown(text))

    def _lost(self, why: str) -> Exception:
        self.close()
        return EngineUnreachable(f"the connection to the engine was lost: {_shown(why)}")

    def _note(self, notice: PGresult) -> None:
        if len(self.warnings) < 10:
            text = notice.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b""
            self.warnings.append(_shown(text.decode("utf-8", "replace")))


class Answer:
    """The rows of one statement, in PostgreSQL's binary format."""

    def __init__(self, result: PGresult) -> None:
        self.count = result.ntuples
        self._value = result.get_value
        self._columns = result.nfields

    def octets(self, row: int, column: int) -> bytes | None:
        return self._value(row, column)

    def number(self, row: int, column: int) -> int:
        """An integer of any size that PostgreSQL has; 0 for null."""
        octets = self._value(row, column) or b""
        if len(octets) > LARGEST_INTEGER:
            raise EngineUnreachable("the server answers with something else than bb asked for")
        return int.from_bytes(octets, "big", signed=True)

    def text(self, row: int, column: int) -> str | None:
        found = self._value(row, column)
        return None if found is None else str(found, "utf-8", "replace")

    def texts(self) -> list[list[str | None]]:
        return [[self.text(row, column) for column in range(self._columns)] for row in range(self.count)]


def refused(error: ServerError) -> Exception:
    """What it means for a user that the server refused a statement of bb."""
    if error.state == MAY_NOT:
        return Denied(f"the engine refused this machine: {error}")
    if error.state in UNPREPARED:
        return EngineUnprepared()
    if error.state in POOLED:
        return EnginePooled()
    return EngineUnreachable(f"the engine refused, and nothing was changed: {error} ({error.state})")


def health_of(session: Session) -> dict[str, Any]:
    """What a person must know of the server, as this connection sees it."""
    shown = session.settings
    try:
        now = session.ask(HEALTH).number(0, 0)
        standbys = [{"name": name, "state": state, "sync": sync} for name, state, sync in session.ask(STANDBYS).texts()]
    except ServerError as error:
        raise refused(error) from error
    return {
        "durable": session.is_durable,
        "primary": session.is_primary,
        "version": f"PostgreSQL {shown['version']}",
        "fsync": shown["fsync"],
        "synchronous_commit": shown["synchronous_commit"],
        "full_page_writes": shown["full_page_writes"],
        "synchronous_standby_names": shown["synchronous_standbys"],
        "standbys": standbys,
        "role": shown["role"],
        "now": now,
    }


def complete(address: str) -> str:
    """The ADDRESS with what bb wants of a connection where the address says nothing."""
    try:
        given = conninfo.conninfo_to_dict(address)
    except psycopg.Error as error:
        raise EngineUnreachable(f"that is not the address of a PostgreSQL server: {_shown(str(error))}") from error
    missing: dict[str, Any] = {name: value for name, value in SETTLED.items() if name not in given}
    missing |= _server_of_service(given)
    servers = {**missing, **given}
    if "," in str(servers.get("host") or servers.get("hostaddr") or "") and "target_session_attrs" not in given:
        missing["target_session_attrs"] = "primary"
    return conninfo.make_conninfo(address, **missing)


def _server_of_service(given: Mapping[str, Any]) -> dict[str, str]:
    """The host of the service that an address names, unless the address names a host itself. psycopg looks up the name
    of a host that it is given, while other threads go on. libpq, which would read it from the service, stops the whole
    process for as long as nobody answers."""
    named = given.get("service")
    if not named or "host" in given or "hostaddr" in given:
        return {}
    file = given.get("servicefile")
    service = postgres_service.options(str(named), {**os.environ, **({"PGSERVICEFILE": str(file)} if file else {})})
    return {name: service[name] for name in ("host", "hostaddr", "port") if name in service and name not in given}


def _connected(address: str) -> psycopg.Connection[Any]:
    """A new connection. A thread makes it, because looking up a name can take longer than anybody wants to wait."""
    address = complete(address)
    done: list[psycopg.Connection[Any]] = []
    failed: list[Exception] = []
    lock, is_late = threading.Lock(), threading.Event()

    def connect() -> None:
        try:
            made = psycopg.connect(address, autocommit=True)
        except Exception as error:
            failed.append(error)
            return
        with lock:
            done.append(made)
            if is_late.is_set():
                made.close()

    thread = threading.Thread(target=connect, name="bb-connect", daemon=True)
    thread.start()
    thread.join(CONNECTING)
    with lock:
        if done:
            return done[0]
        is_late.set()
    if not failed:
        raise EngineUnreachable("the engine did not answer in time")
    raise _not_connected(str(failed[0])) from failed[0]


def _not_connected(why: str) -> Exception:
    """The refusal for libpq's message WHY there is no connection."""
    if any(words in why for words in NEEDS_PASSWORD):
        hint = "the password belongs into ~/.pgpass with mode 0600; the person who runs the engine sets it"
        return Denied(f"the engine does not let this machine in: {_shown(why)}", hint=hint)
    if any(words in why for words in LOGIN_REFUSED):
        return Denied(f"the engine does not let this machine in: {_shown(why)}")
    if NO_SERVICE in why:
        hint = "write a section with that name into ~/.pg_service.conf: host=…, dbname=…, user=…"
        return EngineUnreachable(f"the engine cannot be reached: {_shown(why)}", hint=hint)
    return EngineUnreachable(f"the engine cannot be reached: {_shown(why)}")


def _encoded(value: int | str | bytes) -> bytes:
    if type(value) is int:
        return value.to_bytes(8, "big", signed=True)
    return value.encode() if type(value) is str else value  # type: ignore[return-value]


def _shown(text: str) -> str:
    """The first line of a foreign message."""
    return harmless(text.strip().partition("\n")[0][:300])
