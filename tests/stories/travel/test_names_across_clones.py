"""Two clones register one name before either knows of the other: it belongs to the one that published it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.git.place import find
from bb.ledger.published import pins, tip
from bb.ledger.travel import remote_reader
from tests.stories.travel.travel_support import AMBER, Clone, clone, settle

HERON = "coral-heron"
EVERYWHERE = {"global": True}


@pytest.fixture
def twice(origin: Path) -> tuple[Clone, Clone]:
    """Two clones that have met. In each, another agent registered as amber-otter and reserved something before."""
    here, there = clone(origin, "here"), clone(origin, "there")
    for each, scope in ((here, "src"), (there, "lib")):
        each.ask("agent.register", name=AMBER, role="builder")
        each.ask("agent.reserve", agent=AMBER, scope=[scope], bead="bb-1")
    here.sync(publish=True)
    there.sync(publish=True)
    here.sync()
    return here, there


def reserve(at: Clone, agent: str, scope: str, **given: object) -> str:
    return at.refused_or("agent.reserve", agent=agent, scope=[scope], bead="bb-1", **given)


def test_the_later_one_is_told_by_every_verb_and_the_first_one_works_on(twice: tuple[Clone, Clone]):
    here, there = twice

    told = [
        there.refused_or("agent.heartbeat", agent=AMBER),
        there.refused_or("agent.send", **{"from": AMBER}, to="user", category="INFO", bead="b", subject="s", body="b"),
        there.refused_or("check", path=["lib/a"], agent=AMBER),
        there.refused_or("agent.release", agent=AMBER, all=True),
        reserve(there, AMBER, "web"),
        reserve(there, AMBER, "web", **EVERYWHERE),
    ]

    assert set(told) == {"NAME_TAKEN_ELSEWHERE"}
    assert here.ask("agent.heartbeat", agent=AMBER)["liveness"] == "active"
    assert reserve(here, AMBER, "web", **EVERYWHERE) == ""


def test_reservations_of_the_later_one_are_not_the_first_ones(twice: tuple[Clone, Clone]):
    here, there = twice

    for each in twice:
        assert each.holds() == {(AMBER, "src", "active"), (AMBER, "lib", "contested")}
    assert here.ask("check", path=["lib/a"], agent=AMBER)["paths"][0]["verdict"] != "yours"
    assert "contested" not in here.ask("agent.heartbeat", agent=AMBER)
    here.ask("agent.release", agent=AMBER, all=True)
    settle([here, there])
    assert here.holds() == there.holds() == {(AMBER, "lib", "contested")}, "nothing of the other one is lost"
    assert here.digest == there.digest


def test_others_respect_the_later_ones_reservations(twice: tuple[Clone, Clone]):
    here, _ = twice
    here.ask("agent.register", name="dusky-falcon", role="tester")

    assert reserve(here, "dusky-falcon", "lib/a") == "RESERVATION_CONFLICT"


def test_only_the_first_one_gets_a_global_reservation(origin: Path):
    here, there = clone(origin, "here"), clone(origin, "there")
    for each in (here, there):
        each.ask("agent.register", name=AMBER, role="builder")
    here.sync(publish=True)
    assert reserve(here, AMBER, "src", **EVERYWHERE) == ""
    there.sync(pull=True)

    assert there.refused_or("sync", publish=True) == ""
    assert reserve(there, AMBER, "src", **EVERYWHERE) == "NAME_TAKEN_ELSEWHERE"
    settle([here, there])
    assert [state for _, _, state in here.holds()] == ["active"]


def test_the_later_one_takes_another_name_and_its_reservations_with_it(twice: tuple[Clone, Clone]):
    here, there = twice

    answer = there.ask("agent.rename", to=HERON, agent=AMBER)

    assert (answer["agent_id"], answer["transferred"], answer["released"]) == (HERON, 1, 0)
    assert reserve(there, HERON, "web") == ""
    settle([here, there])
    for each in twice:
        assert each.holds() == {(AMBER, "src", "active"), (HERON, "lib", "active"), (HERON, "web", "active")}
        assert {one["agent_id"] for one in each.ask("agent.list")} == {AMBER, HERON}
    assert here.ask("agent.heartbeat", agent=AMBER)["liveness"] == "active"
    assert here.digest == there.digest
    assert there.refused_or("agent.rename", to="web-heron", agent=HERON) == "NAME_NOT_TAKEN"
    assert here.refused_or("agent.rename", to="web-heron", agent=AMBER) == "NAME_NOT_TAKEN"


def test_a_name_that_is_taken_too_is_refused(twice: tuple[Clone, Clone]):
    _, there = twice
    there.ask("agent.register", name=HERON, role="tester")

    refused = there.refused("agent.rename", to=HERON, agent=AMBER)
    assert refused.code == "DUPLICATE_AGENT_ID"
    assert "--force-update" not in str(refused.hint), "`bb agent rename` has no such option"
    assert there.refused_or("agent.rename", to="Heron", agent=AMBER) != ""


def test_one_agent_in_two_clones_says_so_and_works_in_both(twice: tuple[Clone, Clone]):
    here, there = twice

    there.ask("agent.merge", agent=AMBER)

    settle([here, there])
    for each, scope in ((here, "docs"), (there, "web")):
        assert each.holds() >= {(AMBER, "src", "active"), (AMBER, "lib", "active")}
        assert each.ask("check", path=["src/a", "lib/a"], agent=AMBER)["paths"][1]["verdict"] == "yours"
        assert reserve(each, AMBER, scope, **EVERYWHERE) == ""
    settle([here, there])
    assert here.digest == there.digest


def test_each_clone_of_a_merged_agent_keeps_its_session(origin: Path):
    here, there = clone(origin, "here"), clone(origin, "there")
    for each in (here, there):
        each.settings["BB_SESSION"] = f"session of {each.path.name}"
        each.ask("agent.register", name=AMBER, role="builder")
    here.sync(publish=True)
    there.sync(publish=True)
    here.sync()
    assert here.ask("agent.heartbeat", agent=AMBER)["liveness"] == "active", "its session is not superseded"
    assert there.refused_or("agent.heartbeat", agent=AMBER) == "NAME_TAKEN_ELSEWHERE"
    there.settings["BB_SESSION"] = "a stranger"
    assert there.refused_or("agent.merge", agent=AMBER) == "NOT_YOUR_NAME"

    there.settings["BB_SESSION"] = "session of there"
    there.ask("agent.merge", agent=AMBER)

    settle([here, there])
    for each in (here, there):
        assert reserve(each, AMBER, f"of-{each.path.name}") == ""


def test_who_was_first_is_decided_by_publication_and_not_by_registration(origin: Path):
    first, second = clone(origin, "first"), clone(origin, "second")
    for each in (first, second):
        each.ask("agent.register", name=AMBER, role="builder")
    second.sync(publish=True)
    first.sync(publish=True)

    assert first.refused_or("agent.heartbeat", agent=AMBER) == "NAME_TAKEN_ELSEWHERE"
    second.sync()
    assert second.ask("agent.heartbeat", agent=AMBER)["liveness"] == "active"


def test_a_name_is_free_for_another_clone_once_its_agent_is_retired(origin: Path):
    here, there = clone(origin, "here"), clone(origin, "there")
    here.ask("agent.register", name=AMBER, role="builder")
    there.ask("agent.register", name=AMBER, role="builder")
    here.ask("agent.retire", agent=AMBER)
    here.sync(publish=True)
    there.sync(publish=True)

    assert there.ask("agent.heartbeat", agent=AMBER)["liveness"] == "active"
    here.sync()
    assert [one["agent_id"] for one in here.ask("agent.list")] == [AMBER]


def test_the_later_one_that_retires_takes_the_name_from_nobody(twice: tuple[Clone, Clone], origin: Path):
    third = clone(origin, "third")
    third.ask("agent.register", name=AMBER, role="builder")
    third.ask("agent.retire", agent=AMBER)
    third.sync(publish=True)
    here, _ = twice
    here.sync()

    assert here.ask("agent.heartbeat", agent=AMBER)["liveness"] == "active"


def test_ci_lets_the_later_ones_reservation_excuse_nothing(twice: tuple[Clone, Clone]):
    here, there = twice
    here.git("checkout", "--quiet", "-b", "work")
    (here.path / "lib").mkdir()
    (here.path / "lib" / "a").write_text("changed\n")
    here.git("add", "lib/a")
    here.git("commit", "--quiet", "--message", f"Change\n\nBB-Agent: {AMBER}")

    assert here.refused_or("ci.check", base="HEAD~1", declared=True) == "OUTSIDE_DECLARED"
    there.ask("agent.merge", agent=AMBER)
    there.sync()
    assert here.refused_or("ci.check", base="HEAD~1", declared=True) == ""


def test_a_snapshot_says_who_has_a_name(twice: tuple[Clone, Clone], origin: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tip, "AT_LEAST", 20)
    here, there = twice
    here.ask("agent.register", name=HERON, role="builder")
    for n in range(30):
        here.ask(
            "agent.send", **{"from": HERON}, to="user", category="INFO", bead="b", subject="s", body=f"nothing {n}"
        )
    assert here.sync()["archived"] is not None

    monkeypatch.setattr(remote_reader, "_everything", lambda *_: pytest.fail("every commit was read"))
    with remote_reader.published_ledger(find(str(here.path), {}), "origin") as found:
        seen = pins.read(found.store).admitted.names
    assert seen == pins.read(str(here.store)).admitted.names
    assert len(seen[AMBER]) == 2

    there.sync(pull=True)
    there.ask("agent.merge", agent=AMBER)
    there.sync()
    here.sync(pull=True)
    with remote_reader.published_ledger(find(str(here.path), {}), "origin") as found:
        seen = pins.read(found.store).admitted.names
    assert seen == pins.read(str(here.store)).admitted.names
    assert len(seen[AMBER]) == 1
    for each in twice:
        assert each.ask("ledger.verify", published=True)["published"][0]["is_snapshot_right"]


def test_who_has_settled_a_name_is_told_what_to_do_next(twice: tuple[Clone, Clone]):
    _, there = twice

    assert there.bb("agent", "rename", HERON, "--agent", AMBER).out == (
        f"{AMBER} of this clone is {HERON} now; 1 reservation transferred\n"
        f"Work under the new name: export BB_AGENT={HERON}\n"
    )


def test_who_has_merged_a_name_is_told_what_counts_now(twice: tuple[Clone, Clone]):
    _, there = twice

    assert there.bb("agent", "merge", "--agent", AMBER).out == (
        f"{AMBER} is one agent in all clones now, and its reservations in each of them count for all\n"
    )


def test_the_sync_that_learns_of_it_and_the_overviews_say_so(twice: tuple[Clone, Clone]):
    here, there = twice

    assert there.sync()["names_taken"] == [AMBER]
    assert here.sync()["names_taken"] == []
    said = there.bb("sync").out
    assert f"`bb agent rename NEW --agent {AMBER}`" in said
    (row,) = there.ask("status")["agents"]
    assert row["name_taken"] is True
    assert "name_taken" not in here.ask("status")["agents"][0]
    found = {each["kind"]: each for each in there.refused("problems").details["problems"]}
    assert found["name_taken"]["next_step"].startswith(f"bb agent rename NEW --agent {AMBER}; or")

    there.ask("agent.merge", agent=AMBER)

    assert there.sync()["names_taken"] == []
