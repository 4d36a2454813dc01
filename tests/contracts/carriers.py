"""The engines that the contract suite tries, each behind the same few words."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bb.ledger.carrier.door import Row, first_digest, next_digest
from tests import engines, nats_servers
from tests.support import ROOT, environment

if TYPE_CHECKING:
    from bb.ledger.carrier.door import Carrier, Keeper

REPO, INCARNATION, FIRST = "ledger-of-tests", "0123456789abcdef", 1000
ADA, BOB = "aaaaaaaaaaaa", "bbbbbbbbbbbb"


class Engine(Protocol):
    """A server with room for logs that no other test uses."""

    kind: str

    def address(self, *, through: engines.Proxy | None = None) -> str:
        """Where a carrier connects, directly or THROUGH a proxy."""

    def carrier(
        self, address: str = "", repo: str = REPO, incarnation: str = INCARNATION, patience: float | None = None
    ) -> Carrier: ...

    def keeper(self) -> Keeper: ...

    def machine(self, name: str) -> str:
        """The address with which an enrolled machine connects."""

    def proxy(self) -> engines.Proxy: ...

    def kill_hard(self) -> None: ...

    def start_again(self) -> None: ...


class PostgresEngine:
    kind = "postgres"

    def __init__(self, server: engines.Postgres) -> None:
        self.server, self.database = server, server.database()

    def address(self, *, through: engines.Proxy | None = None) -> str:
        if through is None:
            return self.server.conninfo(self.database)
        return f"host=127.0.0.1 port={through.port} dbname={self.database} user=postgres"

    def carrier(
        self, address: str = "", repo: str = REPO, incarnation: str = INCARNATION, patience: float | None = None
    ) -> Carrier:
        from bb.ledger.carrier.postgres import PATIENCE, PostgresCarrier

        return PostgresCarrier(address or self.address(), repo, incarnation, patience or PATIENCE)

    def keeper(self) -> Keeper:
        from bb.ledger.carrier.postgres_keeper import PostgresKeeper

        return PostgresKeeper(self.address())

    def machine(self, name: str) -> str:
        from bb.ledger.carrier.postgres_keeper import PostgresKeeper

        keeper = PostgresKeeper(self.address())
        with contextlib.closing(keeper):
            keeper.run(keeper.enroll(name))
        return self.server.conninfo(self.database, name)

    def proxy(self) -> engines.Proxy:
        return engines.Proxy(("127.0.0.1", self.server.port))

    def kill_hard(self) -> None:
        self.server.kill_hard()

    def start_again(self) -> None:
        self.server.start_again()


OPEN_USER = "open"  # may append for every machine
NO_MACHINES = f"authorization: {{users: [{{user: {OPEN_USER}, password: {OPEN_USER}}}]}}\nno_auth_user: {OPEN_USER}\n"


class NatsEngine:
    kind = "nats"

    def __init__(self, server: nats_servers.Nats) -> None:
        self.server = server

    def address(self, *, through: engines.Proxy | None = None) -> str:
        return self.server.address(through.port if through else None)

    def carrier(
        self, address: str = "", repo: str = REPO, incarnation: str = INCARNATION, patience: float | None = None
    ) -> Carrier:
        from bb.ledger.carrier.nats import PATIENCE, NatsCarrier

        return NatsCarrier(address or self.address(), repo, incarnation, patience or PATIENCE)

    def keeper(self) -> Keeper:
        from bb.ledger.carrier.nats import NatsKeeper

        return NatsKeeper(self.address())

    def machine(self, name: str) -> str:
        """What `enroll` says goes into the server's configuration, with the public half of a new key."""
        import nkeys
        from nacl.signing import SigningKey

        seed = nkeys.encode_seed(bytes(SigningKey.generate()), nkeys.PREFIX_BYTE_USER)
        file = self.server.folder / f"{name}.nk"
        file.write_bytes(seed)
        with contextlib.closing(self.keeper()) as keeper:
            block = "\n".join(keeper.enroll(name)).replace("U…", nkeys.from_seed(bytearray(seed)).public_key.decode())
        self.server.reload(self.server.more.replace("users: [", f"users: [\n{block}\n"))
        return f"{self.address()}&nkey={file}"

    def proxy(self) -> engines.Proxy:
        return engines.Proxy(("127.0.0.1", self.server.port))

    def kill_hard(self) -> None:
        self.server.kill_hard()

    def start_again(self) -> None:
        self.server.start_again()


@contextlib.contextmanager
def _own_nats() -> Iterator[Engine]:
    with nats_servers.nats(more=NO_MACHINES) as server:
        yield NatsEngine(server)


@contextlib.contextmanager
def _shared_postgres() -> Iterator[Engine]:
    yield PostgresEngine(engines.shared_postgres())


@contextlib.contextmanager
def _own_postgres() -> Iterator[Engine]:
    with engines.postgres() as server:
        yield PostgresEngine(server)


SHARED = {"postgres": _shared_postgres, "nats": _own_nats}  # the server of this process's tests; nobody may stop it
OWN = {"postgres": _own_postgres, "nats": _own_nats}  # a server of the test's own


def begun(engine: Engine, heads: dict[str, int] | None = None, **names: str) -> Engine:
    """The ENGINE with an empty log."""
    keeper = engine.keeper()
    with contextlib.closing(keeper):
        keeper.begin(names.get("repo", REPO), names.get("incarnation", INCARNATION), FIRST, heads or {})
    return engine


def everything(carrier: Carrier, since: int = FIRST - 1) -> list[Row]:
    """Every row after a place, checked: places without gaps, and the digests of the rule."""
    rows: list[Row] = []
    while found := carrier.read(rows[-1].place if rows else since):
        rows += found
    assert [row.place for row in rows] == list(range(since + 1, since + 1 + len(rows)))
    if since == FIRST - 1:
        digest = first_digest(REPO, INCARNATION)
        for row in rows:
            digest = next_digest(digest, row.place, row.writer, row.first, row.octets)
            assert row.digest == digest
    return rows


def lines_of(rows: Sequence[Row], writer: str) -> list[bytes]:
    """The lines of a writer, whose numbers must follow each other."""
    lines: list[bytes] = []
    before = None
    for row in rows:
        if row.writer == writer:
            assert before in (None, row.first - 1), "the numbers of the lines have a gap, or lines are there twice"
            lines += row.octets.splitlines()
            before = row.last
    return lines


def must_have(rows: Sequence[Row], said: dict[str, list[dict[str, int]]], number: int) -> None:
    """ROWS must have what each writer was told, once, where it was told. Each has appended a NUMBER of batches."""
    at = {row.place: row for row in rows}
    for writer, results in said.items():
        assert len(results) == number
        assert len(lines_of(rows, writer)) == sum(each["lines"] for each in results), "each line once"
        for each in results:
            row = at[each["place"]]
            assert row.writer == writer
            assert row.first <= each["first"] + each["lines"] - 1 <= row.last


@contextlib.contextmanager
def appending(engine: Engine, writers: Sequence[str], **how: Any) -> Iterator[list[Appender]]:
    """A process for each of the WRITERS, which appends as `appending.py` says."""
    started = [Appender(engine, writer, how) for writer in writers]
    try:
        yield started
    finally:
        for each in started:
            each.process.kill()
            each.process.communicate()


class Appender:
    def __init__(self, engine: Engine, writer: str, how: dict[str, Any]) -> None:
        asked = {"kind": engine.kind, "address": engine.address(), "repo": REPO, "incarnation": INCARNATION} | how
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "appending.py"), json.dumps(asked | {"writer": writer})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            cwd=ROOT,
        )
        self.writer = writer

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def said(self) -> dict[str, Any] | None:
        """The next thing that it says; None if it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def results(self) -> list[dict[str, Any]]:
        """What it has left to say until it ends."""
        found = []
        while (said := self.said()) is not None:
            found.append(said)
        assert self.process.wait() == 0
        return found


CUTS = 8
THREE = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"]


def append_through_power_cuts(engine: Engine, fail_and_return: Callable[[], None]) -> None:
    """Append from three processes at once, while the power of the server fails again and again. Every row that was
    acknowledged must be there."""
    rows = 100 * CUTS
    with appending(engine, THREE, rows=rows) as processes:
        for each in processes:
            each.said()
            each.go()
        said: dict[str, list[dict[str, Any]]] = {each.writer: [] for each in processes}
        for _ in range(CUTS):
            for each in processes:
                said[each.writer] += [each.said() or {} for _ in range(60)]
            fail_and_return()
        for each in processes:
            said[each.writer] += each.results()
    with contextlib.closing(engine.carrier()) as carrier:
        must_have(everything(carrier), said, rows)
