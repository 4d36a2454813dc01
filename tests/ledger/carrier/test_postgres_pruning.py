"""A long log on PostgreSQL is pruned in pieces, while machines append."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from bb.ledger.carrier import postgres_keeper
from bb.ledger.carrier.postgres import PostgresCarrier
from bb.ledger.carrier.postgres_keeper import PostgresKeeper
from tests import engines
from tests.contracts.carriers import ADA, BOB, FIRST, INCARNATION, REPO, PostgresEngine, begun

ROWS = 10


@pytest.fixture
def engine(postgres: engines.Postgres, monkeypatch: pytest.MonkeyPatch) -> PostgresEngine:
    monkeypatch.setattr(postgres_keeper, "PRUNED_AT_ONCE", 3)
    made = PostgresEngine(postgres)
    begun(made)
    with contextlib.closing(made.carrier()) as carrier:
        for number in range(1, ROWS + 1):
            carrier.append(ADA, number, [b"x"])
    return made


@pytest.fixture
def keeper(engine: PostgresEngine) -> Iterator[PostgresKeeper]:
    with contextlib.closing(PostgresKeeper(engine.address())) as made:
        yield made


@pytest.mark.parametrize("upto", [FIRST - 1, FIRST, FIRST + 2, FIRST + 3, FIRST + 8, FIRST + 9, FIRST + 99])
def test_exactly_the_rows_up_to_a_place_are_removed(engine: PostgresEngine, keeper: PostgresKeeper, upto: int) -> None:
    removed = min(upto + 1 - FIRST, ROWS - 1)  # the last row stays

    assert keeper.prune(REPO, INCARNATION, upto) == removed
    assert keeper.prune(REPO, INCARNATION, upto) == 0

    with contextlib.closing(engine.carrier()) as carrier:
        assert carrier.head().oldest == FIRST + removed
        rows = carrier.read(FIRST + removed - 1)
        assert [row.place for row in rows] == [*range(FIRST + removed, FIRST + ROWS)]
    assert engine.server.sql("select count(*) from bb.row", engine.database) == str(ROWS - removed)


def test_machines_append_while_a_log_is_pruned(engine: PostgresEngine, keeper: PostgresKeeper) -> None:
    """Each piece is a transaction of its own. After it, another one can have the lock on the log."""
    ask, appended = keeper._ask, []

    with contextlib.closing(engine.carrier()) as carrier:
        assert isinstance(carrier, PostgresCarrier)

        def ask_and_append(statement: str, *values: int | str | bytes) -> object:
            found = ask(statement, *values)
            appended.append(carrier.append(BOB, len(appended) + 1, [b"y"]))
            return found

        keeper._ask = ask_and_append  # type: ignore[method-assign, assignment]
        keeper.prune(REPO, INCARNATION, FIRST + 8)

    assert len(appended) == 4, "three pieces, and one that finds nothing"


def test_the_server_works_as_long_for_a_keeper_as_the_keeper_waits(
    engine: PostgresEngine, keeper: PostgresKeeper
) -> None:
    def limit(session: object) -> str | None:
        return session.ask("select current_setting('statement_timeout')").text(0, 0)  # type: ignore[attr-defined]

    assert limit(keeper._ready()) == "10min"
    with contextlib.closing(PostgresCarrier(engine.address(), REPO, INCARNATION)) as carrier:
        assert limit(carrier._ready()) == "1min"
