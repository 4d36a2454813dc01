"""A ledger with very many agents: answers list those that matter, say what they leave out, and read no more for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bb.cli.watch import filters, layout
from bb.coordination.agents import roster
from bb.coordination.facts import Registered, Reserved
from bb.coordination.holdings import holdings
from bb.kernel import clock
from bb.ledger.journal.journal import Journal
from bb.ledger.local import presence
from bb.ops.desk import agent_rows
from bb.ops.desk.desk import Desk
from bb.ops.overview import sessions
from bb.ops.overview.changes import Alarms
from bb.ops.overview.news import News
from bb.ops.overview.screen_view import ScreenData
from bb.web import pages, timeline, tree
from tests.ledger.ledger_support import opened
from tests.near import Near, near

AMBER, COBALT = "amber-otter", "cobalt-harbor"
NOON = clock.parse("2026-01-05T12:00:00.000Z")
DAYS_AGO = NOON - 3 * 24 * clock.HOUR
MOST = agent_rows.MOST
CROWD = 120


def box(number: int) -> str:
    return f"box-{number:04}"


def crowd(repo: Near, many: int) -> None:
    """MANY agents that registered days ago, each with a reservation for its own bead, and fell silent."""
    with opened(repo.path) as store:
        for first in range(0, many, 10):  # ten at a time, each ten a minute later
            names = [box(number) for number in range(first, min(first + 10, many))]
            facts = [Registered(name, "sandbox", name) for name in names]
            facts += [Reserved(name, f"src/{name}", f"bb-{name}", 60) for name in names]  # type: ignore[misc]
            now = DAYS_AGO + first * clock.MINUTE
            store.record(lambda _, facts=facts: facts, by="user", now=now, author=lambda fact: fact.agent)  # type: ignore[misc, union-attr]


def repository(path: Path, many: int) -> Near:
    """Two agents at work in a crowd of MANY silent ones. In the ledger, the first stands before all of these."""
    repo = near(path, BB_NOW=clock.text(NOON))
    for name, at in ((AMBER, NOON - clock.MINUTE), (COBALT, NOON)):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder", BB_NOW=clock.text(at)).status == 0
        words = ["--agent", name, "--scope", f"lib/{name}", "--bead", f"bb-{name}", "--ttl", "1440"]
        assert repo.bb("agent", "reserve", *words, BB_NOW=clock.text(at)).status == 0
        if name == AMBER:
            crowd(repo, many)
    return repo


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Near:
    return repository(tmp_path_factory.mktemp("crowd") / "repo", CROWD)


@pytest.fixture
def desk(here: Near) -> Iterator[Desk]:
    found = Desk(str(here.path), dict(here.settings))
    yield found
    found.close()


def names(rows: Any) -> list[str]:
    return [row["agent_id"] for row in rows]


# -- agents


def test_status_shows_the_agents_seen_last_and_counts_the_others(here: Near):
    data = here.json("status").data

    assert names(data["agents"])[:2] == [AMBER, COBALT]
    assert set(names(data["agents"])[2:]) <= {box(number) for number in range(CROWD - MOST, CROWD)}
    assert (len(data["agents"]), data["left_out"]["agents"]) == (MOST, CROWD + 2 - MOST)
    assert f"… {CROWD + 2 - MOST} more: bb agent list --all" in here.bb("status").out


def test_status_with_all_leaves_out_nothing(here: Near):
    data = here.json("status", "--all").data

    assert set(names(data["agents"])) == {AMBER, COBALT, *map(box, range(CROWD))}
    assert len(data["reservations"]) == CROWD + 2
    assert "left_out" not in data


def test_a_list_of_agents_says_how_many_it_leaves_out(here: Near):
    short, everybody = here.json("agent", "list"), here.json("agent", "list", "--all")

    assert names(short.data) == sorted(names(short.data))
    assert (len(short.data), short.envelope["more"]["omitted"]) == (MOST, CROWD + 2 - MOST)
    assert "--all" in short.envelope["more"]["hint"]
    assert len(everybody.data) == CROWD + 2
    assert "more" not in everybody.envelope


@pytest.mark.parametrize(
    ("words", "expected", "is_cut"),
    [
        (["--liveness", "active"], {AMBER, COBALT}, False),
        (["--liveness", "stale"], set(), False),
        (["--role", "builder"], {AMBER, COBALT}, False),
        (["--role", "builder", "--liveness", "evicted"], set(), False),
        (["--role", "sandbox", "--liveness", "active"], set(), False),
        (["--role", "sandbox"], None, True),
        (["--liveness", "evicted"], None, True),
    ],
)
def test_a_filter_finds_agents_wherever_they_are_in_the_crowd(
    here: Near, words: list[str], expected: set[str] | None, is_cut: bool
):
    found = here.json("agent", "list", *words)

    assert ("more" in found.envelope) is is_cut
    if expected is None:
        assert len(found.data) == MOST
        assert set(names(found.data)) < set(map(box, range(CROWD)))
    else:
        assert set(names(found.data)) == expected


def test_an_agent_that_is_active_in_another_clone_is_listed_though_it_was_heard_of_long_ago(tmp_path: Path):
    repo = repository(tmp_path / "repo", CROWD)
    record = {"agent_id": box(3), "display_name": box(3), "role": "sandbox", "status": "idle", "changes": 1}
    record["created_at"] = clock.text(DAYS_AGO)
    presence.write(str(repo.store), presence.Presence(box(3), NOON, 1, record, is_remote=True))

    assert set(names(repo.json("agent", "list", "--liveness", "active").data)) == {AMBER, COBALT, box(3)}
    gone = repo.json("problems").envelope["error"]["details"]["problems"]
    assert box(3) not in [problem.get("agent_id") for problem in gone]


def test_a_paused_agent_is_listed_however_long_it_was_silent(tmp_path: Path):
    repo = repository(tmp_path / "repo", CROWD)
    assert repo.bb("agent", "pause", box(5)).status == 0

    assert box(5) in names(repo.json("status").data["agents"])
    assert box(5) in names(repo.json("agent", "list", "--liveness", "active").data)


def test_retired_agents_are_counted_and_not_listed(tmp_path: Path):
    repo = repository(tmp_path / "repo", 3)
    assert repo.bb("agent", "retire", "--agent", COBALT).status == 0

    data = repo.json("status").data
    assert (data["retired_agents"], COBALT in names(data["agents"])) == (1, False)


# -- reservations


def test_the_reservations_of_agents_at_work_are_shown_before_those_of_silent_ones(here: Near):
    for words in (["status"], ["agent", "status"]):
        data = here.json(*words).data
        assert {AMBER, COBALT} <= {row["agent_id"] for row in data["reservations"]}
        assert (len(data["reservations"]), data["left_out"]["reservations"]) == (MOST, CROWD + 2 - MOST)
    assert f"{CROWD + 2 - MOST} more: `bb agent status --all`" in here.bb("agent", "status").out


def test_what_one_agent_or_one_bead_has_is_found_in_the_crowd(here: Near):
    for words in (["--agent", box(0)], ["--bead", f"bb-{box(0)}"]):
        data = here.json("agent", "status", *words).data
        assert [row["scope"] for row in data["reservations"]] == [f"src/{box(0)}"]
        assert "left_out" not in data


def test_a_freeze_is_shown_in_any_crowd(tmp_path: Path):
    repo = repository(tmp_path / "repo", CROWD)
    assert (
        repo.bb("freeze", "docs", "--why", "the release is out", BB_NOW=clock.text(DAYS_AGO - clock.HOUR)).status == 0
    )

    assert "docs" in [row["scope"] for row in repo.json("status").data["reservations"]]


# -- problems


def test_reservations_of_silent_agents_are_problems_one_by_one_and_then_together(here: Near):
    found = here.json("problems").envelope["error"]["details"]["problems"]

    kinds = Counter(problem["kind"] for problem in found)
    assert kinds == {"holder_gone": MOST, "holders_gone": 1}
    (others,) = [problem for problem in found if problem["kind"] == "holders_gone"]
    assert others["text"] == f"{CROWD - MOST} more reservations are held by evicted agents"
    assert {problem["agent_id"] for problem in found if "agent_id" in problem} == set(
        map(box, range(CROWD - MOST, CROWD))
    )


def test_a_problem_that_is_no_longer_listed_one_by_one_is_not_settled(tmp_path: Path):
    repo = repository(tmp_path / "repo", MOST)
    settings = dict(repo.settings)
    desk = Desk(str(repo.path), settings)
    alarms = Alarms(desk)
    assert len(alarms.open) == MOST

    settings["BB_NOW"] = clock.text(NOON + clock.HOUR)  # now the two others are silent, too
    come, settled = alarms.changes()

    assert {problem["kind"] for problem in come} == {"holder_gone", "holders_gone"}
    assert settled == []
    desk.close()


# -- beads


def test_the_beads_that_were_mentioned_last_are_listed(here: Near):
    data = here.json("sessions", "list").data
    listed = {task["id"] for group in data["feed"] for task in group["tasks"]}

    assert (len(listed), data["left_out"]["beads"]) == (MOST, CROWD + 2 - MOST)
    assert f"bb-{COBALT}" in listed
    assert f"{CROWD + 2 - MOST} more: `bb sessions list --all`" in here.bb("sessions", "list").out
    assert len(here.json("sessions", "list", "--all").data["feed"][0]["tasks"]) == CROWD + 2


@pytest.mark.parametrize("is_large", [False, True])
def test_the_beads_of_a_tracker_are_listed_besides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool):
    monkeypatch.setattr(sessions, "MOST_AT_ONCE", 1 if is_large else 500)
    repo = repository(tmp_path / "repo", CROWD)
    (repo.path / ".beads").mkdir()
    tracked = [{"id": name, "title": "T", "status": "open"} for name in (f"bb-{box(0)}", "bb-of-nobody")]
    (repo.path / ".beads" / "issues.jsonl").write_text("".join(json.dumps(bead) + "\n" for bead in tracked))

    data = repo.json("sessions", "list").data

    listed = {task["id"] for group in data["feed"] for task in group["tasks"]}
    assert {f"bb-{box(0)}", "bb-of-nobody", f"bb-{COBALT}"} <= listed
    assert (len(listed), data["left_out"]["beads"]) == (MOST + 2, CROWD + 1 - MOST)


def test_beads_are_found_by_their_owner_and_shown_by_name(here: Near):
    (group,) = here.json("sessions", "list", "--owner", AMBER).data["feed"]
    assert [task["id"] for task in group["tasks"]] == [f"bb-{AMBER}"]
    assert here.json("sessions", "show", f"bb-{box(0)}").data["id"] == f"bb-{box(0)}"
    assert here.json("sessions", "show", "bb-none").code == "SESSION_NOT_FOUND"


# -- what an answer reads

READING = [
    ["status"],
    ["agent", "list"],
    ["agent", "list", "--liveness", "active"],
    ["agent", "status"],
    ["agent", "show", "--agent", AMBER],
    ["problems"],
    ["timeline"],
    ["resume", "--agent", AMBER],
    ["turn", "--agent", AMBER],
    ["sessions", "list"],
    ["sessions", "list", "--owner", AMBER],
    ["sessions", "show", f"bb-{AMBER}"],
    ["agent", "name", "--seed", "a"],
    ["chat", "history"],
    ["chat", "inbox", "--actor-id", AMBER],
    ["call", "context_get"],
]


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Near:
    return repository(tmp_path_factory.mktemp("larger") / "repo", 2 * CROWD)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many agents, presence files, reservations and journals were read."""
    counted: Counter[str] = Counter()

    def count(where: object, name: str) -> None:
        original = getattr(where, name)

        def counting(*given: Any, **named: Any) -> Any:
            counted[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(where, name, counting)

    count(roster, "agent")
    count(presence, "read")
    count(holdings, "tenures")
    count(Journal, "__init__")
    return counted


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_an_answer_reads_no_more_in_a_larger_crowd(here: Near, larger: Near, read: Counter[str], words: list[str]):
    assert here.json("status").status == 0  # the index is up to date
    assert larger.json("status").status == 0
    counts = []
    for repo in (here, larger):
        read.clear()
        repo.json(*words)
        counts.append(dict(read))

    assert counts[0] == counts[1]


# -- screens


def test_a_live_screen_of_one_agent_has_it_wherever_it_is_in_the_crowd(desk: Desk):
    everything, narrowed = ScreenData(desk).picture().status, ScreenData(desk, agent=box(0)).picture().status

    assert box(0) not in names(everything["agents"])
    assert box(0) in names(narrowed["agents"])


@pytest.mark.parametrize(("view", "command"), [("agents", "bb agent list --all"), ("held", "bb agent status --all")])
def test_a_view_says_how_many_it_lacks(desk: Desk, view: str, command: str):
    shown = filters.applied(ScreenData(desk).picture(), filters.of(None, None, ""))

    assert f"{CROWD + 2 - MOST} more: {command}" in layout.VIEWS[view](shown, NOON, 100)[-1]


def test_news_tell_of_a_reservation_that_expires_in_a_crowd(here: Near):
    settings = dict(here.settings)
    desk = Desk(str(here.path), settings)
    news = News(desk)

    settings["BB_NOW"] = clock.text(NOON + 25 * clock.HOUR)

    lapsed = {row["by"] for row in news.new() if row["kind"] == "lapsed"}
    desk.close()
    assert {AMBER, COBALT} <= lapsed


# -- pages


def test_the_map_shows_those_at_work_and_says_how_many_reservations_it_lacks(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tree, "MOST_HOLDS", 5)

    drawn = tree.folder_map(desk, "")

    assert {f"lib/{AMBER}", f"lib/{COBALT}"} <= set(paths(drawn))
    assert drawn["left_out"] == CROWD + 2 - 5


def paths(place: Any) -> Iterator[str]:
    yield place["path"]
    for child in place["children"]:
        yield from paths(child)


def test_the_timeline_draws_those_at_work_in_any_crowd(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(timeline, "MOST_BARS", 5)

    picture = timeline.diagram(desk, DAYS_AGO - clock.HOUR)

    assert {AMBER, COBALT} <= {lane["agent"] for lane in picture["lanes"]}


def test_the_pages_count_the_agents_and_beads_that_they_do_not_show(desk: Desk):
    agents, beads = pages.page(desk, "agents", {}), pages.page(desk, "sessions", {})
    assert (agents["left_out"], beads["left_out"]) == (CROWD + 2 - MOST, CROWD + 2 - MOST)

    more = pages.page(desk, "agents", {"show": str(CROWD)})
    assert sum(map(len, more["groups"].values())) == CROWD
    found = pages.page(desk, "sessions", {"q": box(0)})
    assert (found["found"], found["left_out"]) == (1, 0)
