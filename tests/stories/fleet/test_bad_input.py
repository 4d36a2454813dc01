"""Nothing that is typed wrongly about a fleet is half done, crashes bb, shows a password, or reaches a terminal raw:
every verb of `bb fleet`, with an address, a name, a number, a place and a caller that are wrong."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from bb.ledger.fleet import engines
from bb.ledger.fleet.settings import EngineAddress
from bb.ops import catalogue
from bb.ops.params import Flag
from tests import engines as servers
from tests import refused
from tests.engines import Postgres
from tests.forks import Call
from tests.grids import some
from tests.near import Near, near
from tests.refused import BIDI, CONTROLS, NOT_UTF8

OTTER = "amber-otter"
PASSWORD = "hunter2"
VERBS = {  # each with words that are right in a clone of a fleet; ENGINE stands for its address
    "begin": ["ENGINE", "--again", "--reason", "a test"],
    "join": ["ENGINE"],
    "end": ["ENGINE"],
    "status": [],
    "schema": [],
    "enroll": ["build-7", "ENGINE"],
    "prune": ["ENGINE"],
}
WITH_ENGINE = [verb for verb, given in VERBS.items() if "ENGINE" in given]
ORDERS = ["begin", "end", "enroll", "prune"]  # which are the person's to give
DRY = {"begin": "--dry-run", "join": "--dry-run", "end": "--dry-run", "prune": "--dry-run"}


class Place(NamedTuple):
    """Clones in a fleet, without one, and less; and the address of the fleet's engine."""

    fleet: Near
    published: Near  # without a fleet
    unpublished: Near
    empty: Near  # a repository without a ledger
    nowhere: Near  # no repository
    engine: str
    server: Postgres


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """No test changes anything in it."""
    folder, server = tmp_path_factory.mktemp("bad"), servers.shared_postgres()
    settings = {"BB_DAEMON": "off", "CCCC_HOME": str(folder / "home")}
    made = [near(folder / name, **settings) for name in ("fleet", "published", "unpublished", "empty")]
    for at in made[:3]:
        assert at.bb("init").status == 0
        assert at.bb("agent", "register", "--name", OTTER, "--role", "builder").status == 0
    for at in made[:2]:
        at.git("init", "--quiet", "--bare", f"../{at.path.name}.git")
        at.git("remote", "add", "origin", str(folder / f"{at.path.name}.git"))
        assert at.bb("sync", "--publish").status == 0
    (folder / "nowhere").mkdir()
    engine = server.conninfo(server.database())
    begun = made[0].bb("fleet", "begin", engine)
    assert begun.status == 0, begun.err
    return Place(*made, Near(folder / "nowhere", made[0].settings), engine, server)


@pytest.fixture
def untouched(place: Place) -> Iterator[Place]:
    """The same, of which the remotes and the engine are as before at the end."""
    before = _outside(place)
    yield place
    assert _outside(place) == before


def _outside(place: Place) -> object:
    refs = [
        place.fleet.git("ls-remote", str(place.fleet.path.parent / f"{name}.git")) for name in ("fleet", "published")
    ]
    with contextlib.closing(engines.keeper(EngineAddress("postgres", place.engine))) as keeper:
        logs = [(log.head.incarnation, log.head.place, log.head.is_closed, log.rows) for log in keeper.logs()]
    roles = place.server.sql("select count(*) from pg_roles where rolname like '%build-7%'")
    return refs, logs, roles


def words(place: Place, verb: str, engine: str | None = None, *more: str) -> list[str]:
    """The VERB with its right words, and this ENGINE instead of the right one."""
    given = [place.engine if engine is None else engine or "" for word in VERBS[verb] if word == "ENGINE"]
    replaced = [given[0] if word == "ENGINE" else word for word in VERBS[verb]]
    return ["fleet", verb, *replaced, *more]


def codes(at: Near, calls: Sequence[Sequence[str] | Call]) -> list[str]:
    return refused.codes(at, [call if isinstance(call, Call) else Call(call) for call in calls])


def test_every_verb_is_tried_here():
    assert {op.words.removeprefix("fleet ") for op in catalogue.all_ops() if op.name.startswith("fleet.")} == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_tried_wrongly_below_is_right_but_for_one_value(untouched: Place, verb: str):
    dry = [DRY[verb]] if verb in DRY else []

    told = untouched.fleet.bb(*words(untouched, verb), *dry)

    assert (told.status, told.err) == (0, "")


# -- addresses

NO_ADDRESSES = {
    "INVALID_ENGINE": [
        *(
            "postgres",
            "db.example.org",
            "mysql://h/db",
            "http://h",
            "POSTGRES://h/db",
            "x" * 10_000,
            "/run/postgresql",
        ),
        *("host='unterminated", "nonsense=1", "postgres://%00/db", "postgres://h:99999/db", "postgres://h:abc/db"),
        *("host=h port=0", "host=h port=-1", "host=h connect_timeout=soon", "host=a,b port=1,x"),
        *CONTROLS.values(),
        *BIDI.values(),
    ],
    "NO_ENGINE": ["", " ", "\t\n"],
    "INVALID_NATS_ADDRESS": [
        *(
            "nats://",
            "nats://h:abc",
            "nats://h:99999",
            "nats://h?x=y",
            "nats://h?monitor=ftp://x",
            "nats://h?replicas=2",
        ),
    ],
    "INVALID_VALUE": ["x" * 100_000],
    "INVALID_TEXT": [NOT_UTF8],
    "SECRET_IN_ADDRESS": [
        *(f"postgres://u:{PASSWORD}@h/db", f"host=h password={PASSWORD}", f"postgres://h/db?password={PASSWORD}"),
        f"postgres://h/db?sslpassword={PASSWORD}",
    ],
    "SECRET_IN_NATS_ADDRESS": [
        f"nats://u:{PASSWORD}@h",
        f"nats://{PASSWORD}@h",
        f"nats://h?monitor=http://u:{PASSWORD}@x",
    ],
}


@pytest.mark.parametrize("verb", WITH_ENGINE)
@pytest.mark.parametrize("code", [code for code in NO_ADDRESSES if code != "NO_ENGINE"])  # which names the saved one
def test_what_is_no_address_is_refused(untouched: Place, verb: str, code: str):
    calls = [words(untouched, verb, text) for text in some(NO_ADDRESSES[code], 6)]

    assert set(codes(untouched.fleet, calls)) == {code}


@pytest.mark.parametrize("text", NO_ADDRESSES["NO_ENGINE"], ids=ascii)
def test_where_no_engine_is_saved_an_empty_address_names_none(untouched: Place, text: str):
    calls = [["fleet", "begin", text], ["fleet", "enroll", "build-7", text], ["fleet", "begin"]]

    assert set(codes(untouched.published, calls)) == {"NO_ENGINE"}


@pytest.mark.parametrize("verb", WITH_ENGINE)
def test_no_refusal_shows_a_password(untouched: Place, verb: str):
    texts = [*NO_ADDRESSES["SECRET_IN_ADDRESS"], *NO_ADDRESSES["SECRET_IN_NATS_ADDRESS"]]
    texts += [f"mysql://u:{PASSWORD}@h/db", f"u:{PASSWORD}@h/db", f"host=h password={PASSWORD} nonsense='"]
    for text in texts:
        for form in ([], ["--json"]):
            told = untouched.fleet.bb(*words(untouched, verb, text), *form)
            assert told.status == 2
            assert PASSWORD not in told.out + told.err


def test_the_address_of_the_relay_must_be_one_before_anything_begins(untouched: Place):
    calls = [
        words(untouched, "begin", None, "--relay", text) for text in ("nonsense", f"host=h password={PASSWORD}", "")
    ]

    assert codes(untouched.fleet, calls) == ["INVALID_ENGINE", "SECRET_IN_ADDRESS", "NO_ENGINE"]
    assert codes(untouched.fleet, [words(untouched, "begin", None, "--relay", "nats://h")]) == ["ANOTHER_ENGINE"]


UNREACHABLE = [
    "host=/nowhere dbname=bb",
    "host=127.0.0.1 port=1 dbname=bb",
    "service=not-there",
    "nats://127.0.0.1:1?monitor=http://127.0.0.1:1",
]


@pytest.mark.parametrize("verb", WITH_ENGINE)
def test_an_engine_that_cannot_be_reached_is_named_and_the_address_is_doubted(untouched: Place, verb: str):
    taken = [text for text in UNREACHABLE if not (verb in ("join", "end", "enroll") and text.startswith("nats"))]

    assert set(codes(untouched.fleet, [words(untouched, verb, text) for text in taken])) == {"ENGINE_UNREACHABLE"}
    hint = untouched.fleet.json(*words(untouched, verb, taken[0])).envelope["error"]["hint"]
    assert hint.startswith("check the address")
    assert "--fallback" not in hint


def test_an_engine_of_another_kind_is_not_the_fleets(untouched: Place):
    calls = [words(untouched, verb, "nats://127.0.0.1:1") for verb in ("join", "end")]

    assert set(codes(untouched.fleet, calls)) == {"ANOTHER_ENGINE"}


def test_a_database_without_the_log_is_not_the_fleets(untouched: Place):
    empty = untouched.server.conninfo(untouched.server.database())

    assert codes(untouched.fleet, [words(untouched, "join", empty)]) == ["ENGINE_UNPREPARED"]
    assert codes(untouched.fleet, [words(untouched, "end", empty)]) == ["ENGINE_UNPREPARED"]
    told = untouched.fleet.bb(*words(untouched, "prune", empty))
    assert (told.status, told.err) == (0, "")
    assert "Nothing to remove" in told.out


# -- libraries

LIBRARIES = {"psycopg": ("postgres", "beadboard[fleet]"), "nats": ("nats", "beadboard[nats]")}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_is_not_installed_is_named_with_the_command_to_install_it(
    untouched: Place, library: str, monkeypatch: pytest.MonkeyPatch
):
    carrier, extra = LIBRARIES[library]
    for name in list(sys.modules):
        uses_it = name.startswith((f"bb.ledger.carrier.{carrier}", "bb.ledger.fleet.postgres_address", f"{library}."))
        if uses_it and name != "bb.ledger.carrier.postgres_schema":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    engine = untouched.engine if library == "psycopg" else "nats://127.0.0.1:1"
    verbs = WITH_ENGINE if library == "psycopg" else ["begin", "enroll", "prune"]

    assert set(codes(untouched.fleet, [words(untouched, verb, engine) for verb in verbs])) == {"ENGINE_LIBRARY_MISSING"}

    hint = untouched.fleet.json(*words(untouched, verbs[0], engine)).envelope["error"]["hint"]
    assert extra in hint
    if library == "psycopg":
        status = untouched.fleet.bb("fleet", "status")
        assert status.status == 0, status.err
        assert extra in status.out
        assert untouched.fleet.bb("fleet", "schema").status == 0, "it asks no engine"


# -- places


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("schema", "enroll")])
def test_where_there_is_less_than_a_verb_needs_it_says_what_is_missing(untouched: Place, verb: str):
    call = words(untouched, verb) if verb != "begin" else ["fleet", "begin", untouched.engine]

    assert codes(untouched.nowhere, [call]) == ["NOT_A_REPOSITORY"]
    assert codes(untouched.empty, [call]) == ["NOT_INITIALIZED"]
    if verb == "status":
        assert untouched.unpublished.bb(*call).status == 0
        return
    assert codes(untouched.unpublished, [call]) == ["NO_REMOTE" if verb == "join" else "NOT_PUBLISHED"]
    if verb in ("join", "end"):
        assert codes(untouched.published, [call]) == ["NO_FLEET"]


def test_what_does_not_fit_the_state_of_the_fleet_is_refused(untouched: Place):
    assert codes(untouched.fleet, [["fleet", "begin", untouched.engine]]) == ["FLEET_EXISTS"]
    assert codes(untouched.published, [words(untouched, "begin")]) == ["NO_FLEET"]


# -- names, numbers and flags

NO_MACHINES = [
    "",
    " ",
    "Build-7",
    "build 7",
    "_build",
    "büild",
    "a" * 41,
    "a/b",
    "a.b",
    "x;drop role y",
    "'",
    '"',
]


def test_what_is_no_machine_is_refused(untouched: Place):
    names = [*NO_MACHINES, *CONTROLS.values(), *BIDI.values()]
    calls = [["fleet", "enroll", name, untouched.engine, "--do"] for name in names]

    assert set(codes(untouched.fleet, calls)) == {"INVALID_VALUE"}
    assert codes(untouched.fleet, [["fleet", "enroll", NOT_UTF8, untouched.engine]]) == ["INVALID_TEXT"]


def test_a_machine_in_capital_letters_is_told_its_name(untouched: Place):
    told = untouched.fleet.json("fleet", "enroll", "build-A", untouched.engine)

    assert "build-a" in told.envelope["error"]["message"]


@pytest.mark.parametrize("name", ["postgres", "public", "pg_monitor", "user", "none", "current_user"])
def test_a_role_that_is_no_machines_is_not_given_to_one(untouched: Place, name: str):
    for more in ([], ["--do"], ["--revoke"], ["--revoke", "--do"]):
        if name == "postgres" and "--revoke" in more:
            continue
        assert codes(untouched.fleet, [["fleet", "enroll", name, untouched.engine, *more]]) in (
            ["NOT_A_MACHINE"],
            ["INVALID_VALUE"],
        )


def test_only_a_machine_that_is_enrolled_can_lose_its_rights(untouched: Place):
    for more in ([], ["--do"]):
        call = ["fleet", "enroll", "build-7", untouched.engine, "--revoke", *more]
        assert codes(untouched.fleet, [call]) == ["MACHINE_NOT_ENROLLED"]


def test_the_role_that_administers_the_server_keeps_its_rights(untouched: Place):
    call = ["fleet", "enroll", "postgres", untouched.engine, "--revoke", "--do"]

    assert codes(untouched.fleet, [call]) == ["NOT_A_MACHINE"]


FLAGS = [
    (["begin", "ENGINE", "--again"], "INVALID_ARGS"),
    (["end", "--lost"], "INVALID_ARGS"),
    (["enroll", "build-7", "ENGINE", "--writer", "abcdefghijkl"], "INVALID_ARGS"),
    (["enroll", "build-7", "ENGINE", "--writer", "x", "--do"], "INVALID_VALUE"),
    (["enroll", "build-7", "ENGINE", "--writer", "", "--do"], "INVALID_VALUE"),
    (["enroll"], "MISSING_OPTION"),
    (["enroll", "build-7", "nats://127.0.0.1:1", "--do"], "NO_ROLES"),
    (["enroll", "build-7", "nats://127.0.0.1:1", "--revoke"], "NO_ROLES"),
    (["join", "--relay", "x"], "UNKNOWN_OPTION"),
    (["prune", "--lost"], "UNKNOWN_OPTION"),
    (["begin", "a", "b"], "UNEXPECTED_ARGUMENT"),
    (["status", "x"], "UNEXPECTED_ARGUMENT"),
    (["stop"], "UNKNOWN_COMMAND"),
    *(
        ([verb, "ENGINE", "--timeout", text], "INVALID_VALUE")
        for verb in ("join", "end")
        for text in ("0", "-1", "3601", "abc", "1.5", "", " ", "9" * 5000)
    ),
    *((["begin", "--again", "ENGINE", "--reason", text], "INVALID_VALUE") for text in ("", " ", "x" * 100_000)),
    *((["end", "ENGINE", "--reason", text], "INVALID_VALUE") for text in ("\x1b[2J", "a\nb", "a\u202eb")),
]


@pytest.mark.parametrize(("given", "code"), FLAGS, ids=lambda value: ascii(value)[:60])
def test_flags_that_do_not_fit_are_refused_with_the_command_that_does(untouched: Place, given: list[str], code: str):
    call = ["fleet", *(untouched.engine if word == "ENGINE" else word for word in given)]

    assert codes(untouched.fleet, [call]) == [code]
    hint = untouched.fleet.json(*call).envelope["error"]["hint"]
    assert "bb fleet" in hint or code in ("INVALID_VALUE", "UNKNOWN_COMMAND"), hint


# -- who is asking


@pytest.mark.parametrize("verb", ORDERS)
def test_only_the_person_gives_orders_about_a_fleet(untouched: Place, verb: str):
    names = [OTTER, "never-was", "amber otter", NOT_UTF8, "\x1b[2J", " ", "x" * 1000]

    told = codes(untouched.fleet, [Call(words(untouched, verb), {"BB_AGENT": name}) for name in names])
    assert set(told) == {"PERSON_ONLY"}
    assert codes(untouched.fleet, [words(untouched, verb, None, "--agent", OTTER)]) == ["PERSON_ONLY"]


@pytest.mark.parametrize("verb", ["begin", "end", "prune", "enroll"])
def test_a_role_that_does_not_own_the_tables_is_told_to_use_the_one_that_does(untouched: Place, verb: str):
    role = f"guest_{untouched.engine.partition('dbname=')[2].split()[0]}"
    if untouched.server.sql(f"select count(*) from pg_roles where rolname = '{role}'") == "0":
        untouched.server.sql(f"create role {role} login")
    engine = untouched.engine.replace("user=postgres", f"user={role}")
    more = ["--do"] if verb == "enroll" else []

    call = words(untouched, verb, engine, *more)

    assert codes(untouched.fleet, [call]) == ["ENGINE_DENIED"]
    assert "the role that owns" in untouched.fleet.json(*call).envelope["error"]["hint"]


def test_every_option_that_takes_a_value_is_tried_here():
    """A new one needs its place above."""
    known = {"engine", "relay", "reason", "agent", "timeout", "machine", "writer"}
    ops = [op for op in catalogue.all_ops() if op.name.startswith("fleet.")]
    assert {found.name for op in ops for found in op.parameters if found.kind is not Flag} == known


def test_printed_statements_can_be_run_as_they_are(place: Place):
    """`bb fleet enroll … | psql`, for a role that exists."""
    role = f"m-{place.engine.partition('dbname=')[2].split()[0].replace('_', '-')}"
    database = place.engine.partition("dbname=")[2].split()[0]
    for more in ([], ["--revoke"]):
        printed = place.fleet.bb("fleet", "enroll", role, place.engine, *more)
        assert printed.status == 0, printed.err
        place.server.sql(printed.out, database)
    assert place.server.sql(f"select rolcanlogin from pg_roles where rolname = '{role}'") == "f"
    place.server.sql(f'drop owned by "{role}"; drop role "{role}"', database)
