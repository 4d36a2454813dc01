"""A database in whose schema `public` everybody may create, as before PostgreSQL 15. What a machine makes there must
not run as the owner of bb's tables, nor as another machine."""

from __future__ import annotations

import contextlib

import psycopg
import pytest

from bb.ledger.carrier.door import Machine
from bb.ledger.carrier.postgres import PostgresCarrier
from bb.ledger.carrier.postgres_keeper import PostgresKeeper
from tests import engines
from tests.contracts.carriers import ADA, FIRST, INCARNATION, REPO

# Better candidates for our statements than those in pg_catalog, which need a cast. Each notes as whom it ran.
TRAPS = """
create table public.ran (who name default current_user, what text);
grant all on public.ran to public;
create function public.times(a numeric, b integer) returns numeric language plpgsql as $$
begin insert into public.ran(what) values ('numeric'); return a operator(pg_catalog.*) b::numeric; end $$;
create operator public.* (leftarg = numeric, rightarg = integer, function = public.times);
create function public.times(a float8, b integer) returns float8 language plpgsql as $$
begin insert into public.ran(what) values ('float8'); return a operator(pg_catalog.*) b::float8; end $$;
create operator public.* (leftarg = float8, rightarg = integer, function = public.times);
create function public.quote_ident(name) returns text language plpgsql as $$
begin insert into public.ran(what) values ('quote_ident'); return pg_catalog.quote_ident($1::text); end $$;
"""


@pytest.fixture
def owned(postgres: engines.Postgres) -> tuple[str, str, str]:
    """Where the owner, an honest machine and one that has set traps connect."""
    database = postgres.database()
    names = [f"{database}_{name}" for name in ("owner", "honest", "mallory")]
    postgres.sql(f"create role {names[0]} login createrole; alter database {database} owner to {names[0]}")
    postgres.sql("grant create on schema public to public", database)
    owner, honest, mallory = (postgres.conninfo(database, name) for name in names)
    with contextlib.closing(PostgresKeeper(owner)) as keeper:
        keeper.begin(REPO, INCARNATION, FIRST, {})
        for name in names[1:]:
            keeper.run(keeper.enroll(name))
    with psycopg.connect(mallory, autocommit=True) as connection:
        connection.execute(TRAPS)
    return owner, honest, mallory


def ran(mallory: str) -> list[tuple[str, str]]:
    with psycopg.connect(mallory) as connection:
        return connection.execute("select who, what from public.ran").fetchall()


def test_what_a_machine_makes_in_public_never_runs_for_the_keeper(owned: tuple[str, str, str]) -> None:
    owner, _, mallory = owned
    with contextlib.closing(PostgresKeeper(owner)) as keeper:
        keeper.health()
        keeper.logs()
        keeper.begin(REPO, "e" * 16, FIRST, {ADA: 1})
        keeper.enroll("m-new")
        keeper.prune(REPO, INCARNATION, FIRST)
        keeper.last_lines(REPO, INCARNATION)
        keeper.unbind(ADA)
        keeper.end(REPO, INCARNATION)
        keeper.remove(REPO, INCARNATION)
    assert ran(mallory) == []


@pytest.mark.parametrize("which", [0, 1], ids=["owner", "machine"])
def test_what_a_machine_makes_in_public_never_runs_for_a_relay(owned: tuple[str, str, str], which: int) -> None:
    with contextlib.closing(PostgresCarrier(owned[which], REPO, INCARNATION)) as carrier:
        carrier.append(ADA, 1, [b"x"])
        carrier.beat(Machine("honest", ADA, FIRST, {"ada": 1}))
        carrier.head()
        carrier.read(FIRST - 1)
        carrier.alive()
        carrier.health()
        assert carrier.lead()
        carrier.yield_lead()
    assert ran(owned[2]) == []


def test_the_time_of_the_server_needs_no_operator_of_public(owned: tuple[str, str, str]) -> None:
    owner, _, mallory = owned
    with psycopg.connect(owner) as connection:  # as a person does, whose search_path has `public`
        connection.execute("select bb.milliseconds()")
    assert ran(mallory) == []
