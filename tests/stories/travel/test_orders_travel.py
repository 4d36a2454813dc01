"""What the person says in one clone holds in every other that has synced, in whatever order it came."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub, settle

WHY = "the release is being cut"


@pytest.fixture
def pair(tmp_path: Path) -> list[Clone]:
    return agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)


def test_a_freeze_and_a_pause_bind_the_agents_of_other_clones_once_they_have_synced(pair: list[Clone]):
    here, there = pair
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    here.ask("freeze", scope=["src/core"], why=WHY)
    here.ask("agent.pause", name=COBALT, why=WHY)
    assert there.ask("check", path=["src/core/a.py"], agent=COBALT)["may_touch"]

    here.sync()
    there.sync()

    assert there.ask("agent.heartbeat", agent=COBALT)["paused"]["why"] == WHY
    assert there.refused("check", path=["src/core/a.py"], agent=COBALT).code == "AGENT_PAUSED"
    there.ask("agent.unpause", all=True)
    assert "paused" not in there.ask("agent.heartbeat", agent=COBALT)
    assert there.refused("check", path=["src/core/a.py"], agent=COBALT).code == "PATH_HELD"
    assert there.ask("check", path=["src/lib/a.py"], agent=COBALT)["may_touch"]
    settle(pair)
    assert here.digest == there.digest
    assert "paused" not in str(here.ask("agent.list"))


def test_a_freeze_that_comes_from_elsewhere_contests_nothing_and_the_reservation_is_there_when_it_is_lifted(
    pair: list[Clone],
):
    here, there = pair
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    here.ask("freeze", scope=["src"], why=WHY)
    here.sync()
    assert there.sync()["contested"] == []
    assert here.sync()["contested"] == []
    assert there.holds() == {(COBALT, "src", "active"), ("user", "src", "active")}

    here.ask("thaw", scope=["src"])
    settle(pair)
    assert here.holds() == there.holds() == {(COBALT, "src", "active")}
    assert there.ask("check", path=["src/a.py"], agent=COBALT)["may_touch"]


@pytest.mark.parametrize("first", [0, 1])
def test_two_clones_that_passed_the_same_on_to_different_agents_agree_whose_it_is(pair: list[Clone], first: int):
    here, there = pair
    for each, name in ((here, "dusty-wren"), (there, "tidy-crane")):
        each.ask("agent.register", name=name, role="tester")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    settle(pair)
    here.ask("agent.transfer", agent=AMBER, scope=["src"], to="dusty-wren")
    there.ask("agent.transfer", agent="user", scope=["src"], to="tidy-crane")

    settle([pair[first], pair[1 - first]])

    assert here.holds() == there.holds()
    ((holder, _, state),) = here.holds()
    assert (holder in ("dusty-wren", "tidy-crane"), state) == (True, "active")
    assert here.digest == there.digest


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_three_clones_come_to_the_same_in_whatever_order_they_sync(tmp_path: Path, order: tuple[int, ...]):
    clones = agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT, "dusky-falcon")
    one, two, three = clones
    one.ask("agent.reserve", agent=AMBER, scope=["docs"], bead="bb-1")
    settle(clones)
    one.ask("agent.pause", all=True, why=WHY)
    two.ask("agent.pause", name=AMBER)
    two.ask("agent.unpause", all=True)
    three.ask("freeze", scope=["docs"], why=WHY)
    two.ask("agent.transfer", agent="user", scope=["docs"], to=COBALT)
    three.ask("agent.release", agent="user", scope=["docs"])

    settle([clones[place] for place in order])

    assert one.digest == two.digest == three.digest
    assert one.holds() == two.holds() == three.holds()
    paused = [[(each["agent_id"], each.get("paused")) for each in clone.ask("agent.list")] for clone in clones]
    assert paused[0] == paused[1] == paused[2]
    fresh = Clone(clones[0].path)
    fresh.ask("ledger.rebuild")
    assert fresh.holds() == one.holds()
