"""What the person who runs a PostgreSQL engine does: makes the schema, begins and ends logs, enrolls machines."""

from __future__ import annotations

import contextlib
import re

from bb.kernel import json_text
from bb.kernel.errors import NotFound, Usage
from bb.kernel.escaping import harmless
from bb.ledger.carrier.door import AnotherEngine, Denied, Head, Log, LogInUse, first_digest
from bb.ledger.carrier.postgres_schema import schema
from bb.ledger.carrier.postgres_session import (
    MAY_NOT,
    UNPREPARED,
    VERSION,
    Answer,
    EngineUnprepared,
    ServerError,
    Session,
    health_of,
    refused,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

PATIENCE = 600.0  # seconds for work on a large log
PRUNED_AT_ONCE = 2000  # rows, while nobody can append
FUNCTIONS = (  # what a machine may execute
    "version()",
    "append(text, text, text, bigint, bytea)",
    "head(text, text)",
    "read(text, text, bigint, integer)",
    "beat(text, text, text, bigint, text)",
    "alive(text, text)",
    "end_stuck()",
)
CONNECTIONS = 40  # of one machine, each of whose clones has one
ROLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
RESERVED = ("public", "none", "user", "current_user", "current_role", "session_user")

OWNERS_ONLY = (
    "use the role that owns bb's tables, in an address such as service=bb-owner; to enroll a machine, it also needs "
    "CREATEROLE: `alter role OWNER createrole`; from PostgreSQL 16 on, a machine's role that another role has made "
    "must also be granted to it: `grant MACHINE to OWNER with admin option`"
)
FOUND = "select bb.version()"
ONE_AT_A_TIME = "select pg_advisory_xact_lock(0, 25186);\n"  # two who make the schema at once
MAKE = """
with made as (
    insert into bb.log as l (repo, incarnation, first, place, oldest, digest) values ($1, $2, $3, $3 - 1, $3, $4)
    on conflict (repo, incarnation) do update
        set first = $3, place = $3 - 1, oldest = $3, digest = $4, is_closed = false
        where l.place = l.first - 1
    returning id
), gone as (
    delete from bb.writer w using made where w.log = made.id and not exists (
        select from jsonb_each_text($5::jsonb) h where h.key = w.writer)
)
insert into bb.writer as w (log, writer, last, role)
    select made.id, h.key, h.value::bigint, (
        select b.role from bb.writer b join bb.log l on l.id = b.log
        where l.repo = $1 and b.writer = h.key and b.role <> current_user order by l.id desc limit 1)
    from made, jsonb_each_text($5::jsonb) h
    on conflict (log, writer) do update set last = excluded.last
"""  # a writer stays bound to the role of its machine, so that no other role can be the first one in the new log
IS_SAME = "select count(*) from bb.log l where l.repo = $1 and l.incarnation = $2 and l.first = $3"
END = "update bb.log set is_closed = true where repo = $1 and incarnation = $2 returning id"
HEAD = "select place, digest, oldest, is_closed, now from bb.head($1, $2)"
LOGS = """
select l.repo, l.first, l.incarnation, l.place, l.digest, l.oldest, l.is_closed, bb.milliseconds(),
    l.place - l.oldest + 1,
    (select coalesce(sum(octet_length(r.octets)), 0)::bigint from bb.row r where r.log = l.id),
    (select count(*) from bb.writer w where w.log = l.id)
from bb.log l where $1 in ('', l.repo) order by l.repo, l.first, l.id
"""
PRUNE = """
with kept as (
    update bb.log set oldest = least($3 + 1, place, oldest + $4)
        where repo = $1 and incarnation = $2 and oldest < least($3 + 1, place)
    returning id, oldest
), removed as (
    delete from bb.row r using kept
        where r.log = kept.id and r.place < kept.oldest and r.place >= kept.oldest - $4 returning r.place
)
select (select count(*) from removed), (select count(*) from kept)
"""  # it locks the log's row, so appends wait for it
LAST_LINES = """
select w.writer, w.last from bb.writer w join bb.log l on l.id = w.log where l.repo = $1 and l.incarnation = $2
"""
REMOVE = """
with gone as (delete from bb.log where repo = $1 and incarnation = $2 and is_closed returning id),
    beats as (delete from bb.beat b using gone where b.log = gone.id),
    writers as (delete from bb.writer w using gone where w.log = gone.id),
    rows as (delete from bb.row r using gone where r.log = gone.id)
select count(*) from gone
"""
ROLE_OF = "select count(*), coalesce(bool_or(rolsuper or rolcreaterole), false)::text from pg_roles where rolname = $1"
END_SESSIONS = """
select pg_terminate_backend(pid) from pg_stat_activity where usename = {role}
    and (pg_has_role(usesysid, 'usage') or pg_has_role('pg_signal_backend', 'usage'))
""".strip()
OWNER = """
select quote_ident(r.rolname), r.rolsuper::text
from pg_namespace n join pg_roles r on r.oid = n.nspowner where n.nspname = 'bb'
"""
UNBIND = "update bb.writer set role = null where writer = $1 and role is not null returning log"

NotAMachine = Usage.declare(
    "NOT_A_MACHINE",
    "That name cannot be the role of a machine",
    hint="use letters, digits, `_`, `-` and `.`, at most 63, and no role that administers the server",
)
NotEnrolled = NotFound.declare(
    "MACHINE_NOT_ENROLLED",
    "The engine has no role of that machine",
    hint="`bb fleet status` shows the machines of the fleet",
)


class PostgresKeeper:
    """The keeper of one database. Its role owns the schema `bb`, or may create it."""

    kind = "postgres"

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._session: Session | None = None

    def prepare(self) -> None:
        """Make the schema, if it is not there."""
        if self._version() == VERSION:
            return
        session = self._ready()
        if session.settings["encoding"] != "UTF8":
            raise EngineUnprepared("the database has another encoding than UTF8", hint="make it with ENCODING 'UTF8'")
        with _translated():
            session.run(ONE_AT_A_TIME + schema())

    def begin(self, repo: str, incarnation: str, first: int, heads: Mapping[str, int]) -> Head:
        self.prepare()
        digest = bytes.fromhex(first_digest(repo, incarnation))
        self._ask(MAKE, repo, incarnation, first, digest, json_text.canonical(dict(heads)))
        if not self._ask(IS_SAME, repo, incarnation, first).number(0, 0):
            raise LogInUse(f"log {incarnation} has rows, and begins at another place than {first}")
        return self._head(repo, incarnation)

    def end(self, repo: str, incarnation: str) -> Head:
        if not self._ask(END, repo, incarnation).count:
            raise _no_log(incarnation)
        return self._head(repo, incarnation)

    def logs(self, repo: str = "") -> list[Log]:
        if not self._version():
            return []
        return list(_logs(self._ask(LOGS, repo)))

    def prune(self, repo: str, incarnation: str, upto: int) -> int:
        count, goes_on = 0, True
        while goes_on:
            found = self._ask(PRUNE, repo, incarnation, upto, PRUNED_AT_ONCE)
            count += found.number(0, 0)
            goes_on = found.number(0, 1) > 0
        return count

    def last_lines(self, repo: str, incarnation: str) -> dict[str, int]:
        found = self._ask(LAST_LINES, repo, incarnation)
        return {found.text(row, 0) or "": found.number(row, 1) for row in range(found.count)}

    def remove(self, repo: str, incarnation: str) -> None:
        if not self._ask(REMOVE, repo, incarnation).number(0, 0) and not self._head(repo, incarnation).is_closed:
            raise LogInUse(f"log {incarnation} is not closed")

    def unbind(self, writer: str) -> int:
        """Let the next machine that uses a WRITER be bound to it: a clone has moved to another machine. Returns in how
        many logs it was bound."""
        return self._ask(UNBIND, writer).count

    def enroll(self, machine: str) -> list[str]:
        """The statements that give a MACHINE its role and its rights. `run` runs them. They set no password: how the
        machine proves its name is for `pg_hba.conf`, see `hba_lines`."""
        role = quoted(machine)
        is_new = not self._has_role(machine)
        rights = "nosuperuser nocreatedb nocreaterole noreplication noinherit"
        return [
            f"create role {role} login {rights} connection limit {CONNECTIONS}"
            if is_new
            else f"alter role {role} login connection limit {CONNECTIONS}",
            f"alter role {role} set idle_in_transaction_session_timeout = '10s'",
            f"alter role {role} set statement_timeout = '60s'",
            f"grant connect on database {_identifier(self._open().database)} to {role}",
            f"grant usage on schema bb to {role}",
            *[f"grant execute on function bb.{function} to {role}" for function in FUNCTIONS],
            *[f"grant {role} to {owner}" for owner in self._owners()],
        ]

    def _owners(self) -> list[str]:
        """The owner of the schema, as it stands in a statement, unless it is a superuser. As a member of a machine's
        role, it can end that machine's sessions (`bb.end_stuck`)."""
        return [owner or "" for owner, is_superuser in self._ask(OWNER).texts() if is_superuser != "true"]

    def revoke(self, machine: str) -> list[str]:
        """The statements that take a MACHINE's rights away and end its connections. Its writers stay bound to it."""
        role = quoted(machine)
        if not self._has_role(machine):
            raise NotEnrolled(f"the server has no role {machine}")
        return [
            f"alter role {role} nologin",
            f"revoke all on all functions in schema bb from {role}",
            f"revoke all on schema bb from {role}",
            END_SESSIONS.format(role=_literal(machine)),
        ]

    def _has_role(self, machine: str) -> bool:
        """Whether the server has that role. Refused if it administers the server."""
        found = self._ask(ROLE_OF, machine)
        if found.text(0, 1) == "true":
            raise NotAMachine(f"{machine} is a role that administers the server")
        return bool(found.number(0, 0))

    def hba_lines(self, machine: str) -> list[str]:
        """Lines for the server's `pg_hba.conf`, of which the person takes one."""
        who = f"hostssl {_identifier(self._open().database)} {quoted(machine)} samenet"
        return [f"{who} cert  # by its certificate", f"{who} scram-sha-256  # by its password"]

    def run(self, statements: list[str]) -> None:
        """Run statements, all or none."""
        with _translated():
            self._ready().run(";\n".join(statements))

    def health(self) -> dict[str, Any]:
        return health_of(self._open())

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    def _head(self, repo: str, incarnation: str) -> Head:
        found = self._ask(HEAD, repo, incarnation)
        if not found.count:
            raise _no_log(incarnation)
        return _head_in(found, 0, 0, incarnation)

    def _version(self) -> int:
        """The version of the schema; 0 if there is none."""
        try:
            return self._ready().ask(FOUND).number(0, 0)
        except ServerError as error:
            if error.state in UNPREPARED:
                return 0
            raise refused(error) from error

    def _ask(self, statement: str, *values: int | str | bytes) -> Answer:
        with _translated():
            return self._ready().ask(statement, *values, patience=PATIENCE)

    def _open(self) -> Session:
        if self._session is None or self._session.is_lost():
            self._session = Session(self._conninfo, longest=PATIENCE)
        return self._session

    def _ready(self) -> Session:
        session = self._open()
        session.must_be_sound()
        return session


def quoted(machine: str) -> str:
    """The role of a MACHINE as it stands in a statement."""
    if not ROLE.fullmatch(machine) or machine.lower() in RESERVED or machine.lower().startswith("pg_"):
        raise NotAMachine(f"{harmless(machine[:80])!r} cannot be the role of a machine")
    return _identifier(machine)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _logs(found: Answer) -> Iterator[Log]:
    for row in range(found.count):
        head = _head_in(found, row, 3, found.text(row, 2) or "")
        rows, octets, writers = (found.number(row, column) for column in (8, 9, 10))
        yield Log(found.text(row, 0) or "", found.number(row, 1), head, rows, octets, writers)


def _head_in(found: Answer, row: int, column: int, incarnation: str) -> Head:
    """The head in five columns of a row from COLUMN on: place, digest, oldest, whether it is closed, and the time."""
    place, oldest, now = (found.number(row, column + each) for each in (0, 2, 4))
    digest = found.octets(row, column + 1) or b""
    return Head(incarnation, place, digest.hex(), oldest, now, bool(found.number(row, column + 3)))


def _no_log(incarnation: str) -> Exception:
    return AnotherEngine(f"the engine has no log {incarnation} of this repository", incarnation=incarnation)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except ServerError as error:
        if error.state == MAY_NOT:
            raise Denied(f"the engine refused this role: {error}", hint=OWNERS_ONLY) from error
        raise refused(error) from error
