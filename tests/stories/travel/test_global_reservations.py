"""A global reservation holds against every clone, because the remote takes only one of two that were made at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.travel.travel_support import AMBER, COBALT, SILENT, Clone, clone, hub, settle


def reserve(at: Clone, agent: str, scope: str, **given: object) -> dict[str, object]:
    return at.ask("agent.reserve", agent=agent, scope=[scope], bead="bb-1", **{"global": True}, **given)


def test_it_is_granted_with_a_token_and_refuses_whoever_has_not_synced_yet(pair: list[Clone]):
    here, there = pair

    granted = reserve(here, AMBER, "src")
    refusal = there.refused("agent.reserve", agent=COBALT, scope=["src/parser"], bead="bb-2", **{"global": True})

    assert (granted["state"], granted["global"]) == ("active", True)
    assert isinstance(granted["token"], int)
    assert refusal.code == "RESERVATION_CONFLICT"
    assert (AMBER, "src", "active") in there.holds(), "to ask is to look"


def test_tokens_rise(pair: list[Clone]):
    here, there = pair
    tokens = [
        reserve(here, AMBER, "a")["token"],
        reserve(there, COBALT, "b")["token"],
        reserve(here, AMBER, "c")["token"],
    ]

    assert tokens == sorted(set(tokens))


def test_what_was_released_can_be_granted_to_another_clone(pair: list[Clone]):
    here, there = pair
    reserve(here, AMBER, "src")
    here.ask("agent.release", agent=AMBER, all=True)
    here.sync()

    assert reserve(there, COBALT, "src")["global"] is True
    settle(pair)
    assert here.digest == there.digest
    assert here.holds() == there.holds() == {(COBALT, "src", "active")}


def test_without_a_remote_that_is_published_to_it_is_refused(tmp_path: Path, origin: Path):
    from tests.stories.travel.travel_support import clone

    alone = clone(origin, "alone")
    alone.ask("agent.register", name=AMBER, role="builder")

    refusal = alone.refused("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})

    assert refusal.code == "NOT_PUBLISHED"


def test_offline_it_is_refused_and_nothing_is_reserved(origin: Path, pair: list[Clone]):
    here, _ = pair
    origin.rename(origin.with_name("away.git"))

    refusal = here.refused("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})

    assert refusal.code == "OFFLINE"
    assert here.holds() == set()


def test_offline_it_falls_back_to_this_clone_only_where_that_was_said_and_the_answer_shows_it(
    origin: Path, pair: list[Clone]
):
    here, _ = pair
    origin.rename(origin.with_name("away.git"))

    answer = reserve(here, AMBER, "src", fallback="local")

    assert answer["fallback"] == "local"
    assert "global" not in answer
    assert here.holds() == {(AMBER, "src", "active")}


def test_a_silent_holder_is_taken_over_in_every_clone_or_in_none(pair: list[Clone]):
    here, there = pair
    reserve(here, AMBER, "src")
    there.sync()

    local = there.refused("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1", takeover_stale=True, now=SILENT)
    taken = reserve(there, COBALT, "src", takeover_stale=True, now=SILENT)

    assert local.code == "RESERVATION_STALE_FOUND"
    assert taken["global"] is True
    assert [each["agent_id"] for each in taken["taken_over"]] == [AMBER]
    here.sync(now=SILENT)
    assert {each for each in here.holds() if each[2] == "active"} == {(COBALT, "src", "active")}
    assert [message["from_agent"] for message in here.ask("agent.inbox", agent=AMBER)] == [COBALT]


@pytest.mark.parametrize(
    "given",
    [{"wait": 5}, {"key": "k"}, {"allow_overlap": True}, {"global": False, "fallback": "local"}],
    ids=["wait", "key", "allow-overlap", "fallback-alone"],
)
def test_what_does_not_go_with_it_is_refused(pair: list[Clone], given: dict[str, object]):
    here, _ = pair
    asked = {"agent": AMBER, "scope": ["src"], "bead": "bb-1", "global": True} | given

    assert here.refused("agent.reserve", **asked).code == "INVALID_ARGS"
    assert here.holds() == set()


def test_before_the_first_publication_has_arrived_there_is_no_global_reservation(tmp_path: Path):
    """The host refused it, so there is no ledger that could be restored."""
    at = hub(tmp_path / "hub.git")
    here = clone(at, "here")
    here.ask("agent.register", name=AMBER, role="builder")
    hook = at / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert here.refused_or("sync", publish=True) == "HOOK_DECLINED"

    refusal = here.refused("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})

    assert (refusal.code, refusal.hint) == ("NOT_PUBLISHED", "publish it first: `bb sync`")
    assert "`bb sync --publish`" in str(here.refused("ledger.restore").hint)
