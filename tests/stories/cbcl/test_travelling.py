"""CBCL in two clones: what is said in one is heard and answered in the other, and both speak the same dialects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bb.ledger.published import layout, tip
from tests.cbcl.speakers import hashed
from tests.stories.cbcl.cbcl_support import AMBER, COBALT, OTHER, WORK, clone_of
from tests.stories.travel.travel_support import Clone, agents_at_work, clone, hub, settle


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    return [clone_of(each, tmp_path) for each in agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)]


def say(at: Clone, agent: str, text: str, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = at.ask("cbcl.send", message=text, agent=agent, **more)
    return found


def hear(at: Clone, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = at.ask("cbcl.hear", agent=agent)["heard"]
    return found


def open_between(at: Clone) -> list[list[str]]:
    """What each of both waits for and owes, as a clone knows it."""
    found = [at.ask("cbcl.pending", agent=agent) for agent in (AMBER, COBALT)]
    return [[each["id"] for each in side[what]] for side in found for what in ("expects", "owes")]


def known(at: Clone) -> dict[str, Any]:
    """Everything about CBCL that both must agree on."""
    talk = [
        [at.ask(f"cbcl.{what}", agent=agent) for what in ("pending", "beliefs", "conversations")]
        for agent in (AMBER, COBALT)
    ]
    return {"digest": at.digest, "talk": talk, "dialects": at.ask("cbcl.dialect.list")}


def spoken(at: Clone) -> dict[str, bool]:
    """The definitions that are installed, by hash, and whether they are spoken."""
    return {each["hash"]: each["usable"] for each in at.ask("cbcl.dialect.list")["dialects"]}


# -- talk


def test_a_message_its_hearing_and_the_answer_travel(pair: list[Clone]):
    here, there = pair
    asked = say(here, AMBER, f'(ask @{COBALT} "Which format?" :thread format)')
    assert open_between(there) == [[], [], [], []]
    settle(pair)

    (heard,) = hear(there, COBALT)
    assert (heard["event_id"], heard["from"]) == (asked["event_id"], AMBER)
    say(there, COBALT, f'(reply @{AMBER} "JSON" :thread format)')
    settle(pair)

    assert open_between(here) == [[asked["id"]], [], [], []]
    (answer,) = hear(here, AMBER)
    assert answer["effects"][-1] == {"effect": "settled", "to": COBALT, "id": asked["id"], "how": "replied"}
    settle(pair)
    assert open_between(here) == open_between(there) == [[], [], [], []]
    assert known(here) == known(there)


def test_what_was_heard_in_one_clone_is_not_heard_again_in_another(pair: list[Clone]):
    here, there = pair
    say(here, AMBER, f"(hello @{COBALT})")
    assert len(hear(here, COBALT)) == 1
    settle(pair)
    assert hear(there, COBALT) == []


def test_what_is_heard_in_two_clones_at_once_counts_once(pair: list[Clone]):
    here, there = pair
    say(here, AMBER, f"(ask @{COBALT} (x) :id q)")
    settle(pair)
    for each in pair:
        assert len(hear(each, COBALT)) == 1
    settle(pair)

    assert known(here) == known(there)
    assert open_between(here) == [["q"], [], [], ["q"]]
    say(there, COBALT, f"(reply @{AMBER} (y) :in-reply-to q)")
    settle(pair)
    hear(here, AMBER)
    settle(pair)
    assert open_between(here) == open_between(there) == [[], [], [], []]


def test_both_may_greet_at_once_and_nobody_greets_for_ever(pair: list[Clone]):
    here, there = pair
    say(here, AMBER, f"(hello @{COBALT})")
    say(there, COBALT, f"(hello @{AMBER})")
    for _ in range(3):
        settle(pair)
        said = [each["replies"] for at, agent in ((here, AMBER), (there, COBALT)) for each in hear(at, agent)]
        assert not any(said)
    assert known(here) == known(there)


def test_a_cancel_that_crosses_the_reply_harms_nothing(pair: list[Clone]):
    here, there = pair
    say(here, AMBER, f"(ask @{COBALT} (x) :id q)")
    settle(pair)
    say(there, COBALT, f"(reply @{AMBER} (y) :in-reply-to q)")
    say(here, AMBER, f"(cancel @{COBALT} :id q)")
    settle(pair)
    assert [each["replies"] for each in hear(there, COBALT)] == [[]]
    assert [each["status"] for each in hear(here, AMBER)] == ["ok"]
    settle(pair)
    assert open_between(here) == open_between(there) == [[], [], [], []]
    assert known(here) == known(there)


# -- dialects


def test_a_dialect_that_is_installed_in_one_clone_is_spoken_in_the_other(pair: list[Clone]):
    here, there = pair
    here.ask("cbcl.dialect.install", text=WORK)
    settle(pair)

    assert spoken(there) == {hashed(WORK): True}
    assert say(there, AMBER, '(lang work (note "x"))')["to"] == [COBALT]


def test_two_definitions_of_one_name_stand_for_nothing_until_somebody_says_which(pair: list[Clone]):
    here, there = pair
    here.ask("cbcl.dialect.install", text=WORK)
    there.ask("cbcl.dialect.install", text=OTHER)
    settle(pair)

    assert known(here) == known(there)
    for each in pair:
        assert set(spoken(each)) == {hashed(WORK), hashed(OTHER)}
        assert [row["conflicts"] != [] for row in each.ask("cbcl.dialect.list")["dialects"]] == [True, True]
        assert each.refused("cbcl.send", message='(lang work (note "x"))', agent=AMBER).code == "DIALECT_CONFLICT"
        assert each.refused("cbcl.dialect.install", text=OTHER).code == "DIALECT_CONFLICT"

    there.ask("cbcl.dialect.install", text=OTHER, replace=True)
    settle(pair)
    assert known(here) == known(there)
    for each in pair:
        assert spoken(each) == {hashed(OTHER): True}
        assert say(each, AMBER, '(lang work (note "x"))')["to"] == [COBALT]


def test_nobody_takes_a_name_over_by_bringing_another_later(pair: list[Clone], tmp_path: Path):
    """Not even whoever has written so little that all its lines stand before everybody else's."""
    here, there = pair
    here.ask("cbcl.dialect.install", text=WORK)
    fresh = clone_of(clone(tmp_path / "hub.git", "fresh"), tmp_path)
    fresh.ask("agent.register", name="dusty-wren", role="builder")
    fresh.ask("cbcl.dialect.install", text=OTHER)
    settle(pair)
    fresh.sync(publish=True)
    settle([*pair, fresh])

    for each in (here, there, fresh):
        assert each.refused_or("cbcl.send", message='(lang work (note "x"))', agent=AMBER) == "DIALECT_CONFLICT"
    here.ask("cbcl.dialect.install", text=WORK, replace=True)
    settle([*pair, fresh])
    assert [spoken(each) for each in (here, there, fresh)] == [{hashed(WORK): True}] * 3


def test_what_is_replaced_or_removed_is_so_everywhere(pair: list[Clone]):
    here, there = pair
    here.ask("cbcl.dialect.install", text=WORK)
    settle(pair)
    there.ask("cbcl.dialect.install", text=OTHER, replace=True)
    settle(pair)
    assert spoken(here) == spoken(there) == {hashed(OTHER): True}

    here.ask("cbcl.dialect.remove", name="work")
    settle(pair)
    assert spoken(here) == spoken(there) == {}
    assert known(here) == known(there)


def test_one_removes_what_the_other_replaces_and_both_agree(pair: list[Clone]):
    here, there = pair
    here.ask("cbcl.dialect.install", text=WORK)
    settle(pair)
    here.ask("cbcl.dialect.remove", name="work")
    there.ask("cbcl.dialect.install", text=OTHER, replace=True)
    settle(pair)
    assert spoken(here) == spoken(there) == {hashed(OTHER): True}


# -- archives, snapshots, rotation, redaction


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else takes thousands of lines takes a few."""
    monkeypatch.setattr(layout, "MOST_LINES", 8)
    monkeypatch.setattr(tip, "AT_LEAST", 20)


def talked(pair: list[Clone]) -> list[Clone]:
    """Both, once much was said and heard, and something is still open."""
    here, there = pair
    here.ask("cbcl.dialect.install", text=WORK)
    for n in range(6):
        say(here, AMBER, f'(lang work (task "{n}" :thread t-{n}))')
        settle(pair)
        hear(there, COBALT)
        if n % 2:
            say(there, COBALT, f'(reply @{AMBER} "done" :thread t-{n})')
    settle(pair)
    hear(here, AMBER)
    settle(pair)
    return pair


@pytest.mark.usefixtures("often")
def test_whoever_comes_later_knows_all_of_it_from_the_snapshot(pair: list[Clone], tmp_path: Path):
    here, there = talked(pair)
    fresh = clone_of(clone(tmp_path / "hub.git", "fresh"), tmp_path)
    fresh.sync(pull=True)

    assert len(open_between(here)[0]) == 3
    assert known(fresh) == known(here) == known(there)


def test_after_a_rotation_everything_is_as_it_was(pair: list[Clone]):
    here = talked(pair)[0]
    before = known(here)
    here.ask("ledger.rotate", reason="too long", agent="user")
    settle(pair)
    for each in pair:
        now = known(each)
        assert (now["talk"], now["dialects"]) == (before["talk"], before["dialects"])


@pytest.mark.parametrize("when", ["before it is heard", "after it is heard"])
def test_what_is_taken_back_is_nowhere_to_be_read(pair: list[Clone], when: str):
    here, there = pair
    event = say(here, AMBER, f'(tell @{COBALT} "the word is xyzzy" :thread t)')["event_id"]
    settle(pair)
    if when == "after it is heard":
        hear(there, COBALT)
        settle(pair)
    here.ask("ledger.redact", event=event, reason="a slip", agent=AMBER)
    settle(pair)

    assert hear(there, COBALT) == []
    for each in pair:
        for agent in (AMBER, COBALT):
            for what in ("pending", "beliefs", "conversations"):
                assert "xyzzy" not in str(each.ask(f"cbcl.{what}", agent=agent))
            assert "xyzzy" not in str(each.ask("cbcl.conversations", thread="t", agent=agent))
        assert each.ask("ledger.verify")
        assert not any(b"xyzzy" in path.read_bytes() for path in each.store.rglob("*.jsonl"))
    assert known(here) == known(there)
