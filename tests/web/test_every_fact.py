"""A ledger may hold any fact, and whatever it holds, every page and every verb that only reads answers about it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from bb.ledger.journal import kinds
from bb.ops.desk.desk import Desk
from bb.web import pages, rendering, report
from tests import everything
from tests.near import Near
from tests.scene import AMBER, COBALT, JADE, OLIVE, RUSSET
from tests.support import Scratch, copied
from tests.web.conftest import desk_at
from tests.web.served import Caller, Served

AGENTS = (AMBER, COBALT, JADE, OLIVE, RUSSET, "user")
BEADS = ("bb-1.1", "bb-2.1", "nowhere")
THREADS = ("names", "format", "plans", "dates", "forged", "nowhere")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Near:
    """The ledger that has everything; only ever read."""
    return everything.make(tmp_path_factory.mktemp("everything") / "scene").repo


@pytest.fixture
def at_it(whole: Near) -> Iterator[Desk]:
    found = desk_at(whole)
    yield found
    found.close()


def addresses() -> list[tuple[str, dict[str, str]]]:
    """Every page, with everything that can be asked of it."""
    asked: dict[str, list[dict[str, str]]] = {
        "sessions": [
            *({"bead": bead, "rows": rows} for bead in BEADS for rows in ("1", "1000")),
            *({"sort": sort} for sort in pages.SORTS),
            {"state": "stale", "owner": AMBER, "q": "x", "epic": "-", "show": "1"},
        ],
        "agents": [{"show": "1"}, {"show": "no number"}],
        "map": [{"under": each} for each in ("src", "docs", "nowhere", "../..")],
        "timeline": [{"hours": each} for each in ("1", "24", "700", "no number")],
        "attention": [],
        "problems": [{"show": "1"}],
        "ledger": [{"kind": kind} for kind in [*sorted(kinds.KINDS), *everything.UNKNOWN_KINDS]]
        + [{"agent": name, "since": "1d", "show": "1000"} for name in AGENTS[:-1]],
        "cbcl": [{"agent": name, "thread": thread} for name, thread in itertools.product(AGENTS[:2], THREADS)],
    }
    assert asked.keys() == pages.TITLES.keys(), "say what can be asked of the new page"
    return [(name, each) for name in pages.TITLES for each in ({}, *asked[name])]


def test_the_ledger_has_every_kind_of_fact_there_is(whole: Near):
    events = whole.json("ledger", "log", "--limit", "1000").data
    found = {type(kinds.fact_of(each["kind"], each["data"], each["by"])).__name__ for each in events}

    assert {*kinds.BY_FACT, *kinds.WITH_OWN_FORMAT} - found == set(), "add one of these to tests/everything.py"
    assert {each["kind"] for each in events} >= kinds.KINDS


@pytest.mark.parametrize(("name", "asked"), addresses(), ids=str)
def test_every_page_answers_about_every_kind_of_fact(at_it: Desk, name: str, asked: dict[str, str]):
    assert "</html>" in rendering.page(name, pages.page(at_it, name, asked))


def test_every_page_is_served_whatever_is_in_the_ledger(whole: Near):
    with Served(whole) as web:
        caller = Caller(web)
        for name, asked in addresses():
            assert caller.get(f"/{name}?{urlencode(asked)}").status == 200, (name, asked)


def test_the_report_is_written_whatever_is_in_the_ledger(whole: Near, at_it: Desk, tmp_path: Path):
    text = report.render_report(at_it)
    assert all(name in text for name in ("planning", "shipping", "conversation"))

    ran = Scratch(whole.path, whole.settings).bb("report", "--output", str(tmp_path / "report.html"))
    assert (ran.status, ran.err) == (0, "")


def test_dialects_are_shown_with_author_and_signature_and_why_they_are_not_spoken(at_it: Desk):
    text = rendering.page("cbcl", pages.page(at_it, "cbcl", {}))
    assert "adds propose" in text
    assert "2 dialects named shipping are installed, so the name is ambiguous" in text
    assert "the definition installed as odd is not sound" in text


READING = (
    *(
        ("status",),
        ("problems",),
        ("timeline", "--limit", "1000"),
        ("resume", "--agent", AMBER),
        ("check", "src/parser"),
    ),
    *(("agent", "list"), ("sessions", "list"), ("protocol", "list"), ("protocol", "incursions"), ("group", "show")),
    *(("ledger", "log", "--limit", "1000"), ("ledger", "status"), ("ledger", "verify"), ("ledger", "digest")),
    *(("ledger", "export"), ("cbcl", "dialect", "list"), ("events", "--limit", "1000"), ("doctor",)),
    *(("sessions", "show", bead) for bead in BEADS[:2]),
    *(("agent", verb, "--agent", name) for verb in ("show", "status", "inbox") for name in AGENTS[:-1]),
    *(("agent", "inbox", "--agent", "user"), ("chat", "list", "--agent", AMBER), ("chat", "pending", "--agent", AMBER)),
    *(("chat", verb, "--agent", AMBER) for verb in ("knocks", "digest")),
    *(("cbcl", verb, "--agent", name) for verb in ("pending", "beliefs", "conversations") for name in AGENTS),
    *(("cbcl", "conversations", thread, "--agent", name) for thread in THREADS for name in AGENTS[:2]),
    *(("cbcl", "dialect", "show", name) for name in ("planning", "shipping", "parentless")),
    *(("chat", "inbox"), ("chat", "signals"), ("chat", "outbox"), ("chat", "audit")),
)


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_every_verb_that_reads_answers_about_every_kind_of_fact(whole: Near, words: tuple[str, ...]):
    shown, said = whole.bb(*words), whole.bb(*words, "--json")

    assert "Traceback" not in shown.err + said.err
    assert shown.status == said.status
    for line in said.out.splitlines():
        found = json.loads(line)
        error = found.get("error") or {}
        assert error.get("code") not in ("INTERNAL", "BUG"), error
    assert shown.status in (0, 4, 7), shown.err  # `check` and `verify` say what they found


def test_everything_can_be_heard(whole: Near, tmp_path: Path):
    repo = Near(copied(whole.path, tmp_path / "scene"), whole.settings)
    for name in AGENTS:
        heard = repo.json("cbcl", "hear", "--agent", name, "--limit", "1000")
        assert heard.status in (0, 3, 4), heard.envelope  # who is not in service here hears nothing
