"""What is left over of a global reservation that went wrong stands in nobody's way, and what was settled is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.travel.travel_support import AMBER, COBALT, Clone, hub, settle


def reserve(at: Clone, agent: str, scope: str, **given: object) -> dict[str, object]:
    return at.ask("agent.reserve", agent=agent, scope=[scope], bead="bb-1", **{"global": True}, **given)


def guarded(origin: Path, script: str) -> Path:
    """A hook on the hub that runs SCRIPT whenever somebody pushes."""
    hook = origin / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)
    return hook


def test_what_the_hub_refused_and_was_given_up_keeps_nobody_out_when_it_comes_out_after_all(
    origin: Path, pair: list[Clone]
):
    """The reservation and its end come out in one commit, on the very commit that it was checked against."""
    here, there = pair
    hook = guarded(origin, "echo no >&2; exit 1")
    assert here.refused("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True}).code == (
        "HOOK_DECLINED"
    )
    hook.unlink()
    here.sync()

    assert reserve(there, COBALT, "src")["global"] is True
    settle(pair)
    assert here.holds() == there.holds() == {(COBALT, "src", "active")}


def lost(origin: Path, here: Clone) -> None:
    """Let a global reservation of src be recorded, and the hub be out of reach before it is published."""
    from bb.kernel.errors import Busy
    from bb.ledger.travel import publish

    def gone(*given: object, **named: object) -> object:
        origin.rename(origin.with_name("away.git"))
        return honest(*given, **named)

    honest = publish.commit_aside
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "commit_aside", gone)
        with pytest.raises(Busy) as refusal:
            reserve(here, AMBER, "src")
    assert refusal.value.code == "GRANT_PENDING"
    origin.with_name("away.git").rename(origin)


def test_what_was_pending_is_held_once_it_turns_out_to_have_been_admitted(origin: Path, pair: list[Clone]):
    here, there = pair
    lost(origin, here)
    assert here.holds() == {(AMBER, "src", "pending")}

    here.sync()

    assert here.holds() == {(AMBER, "src", "active")}
    assert there.refused("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1", **{"global": True}).code == (
        "RESERVATION_CONFLICT"
    )


def test_what_was_pending_is_void_when_somebody_else_came_first(origin: Path, pair: list[Clone]):
    here, there = pair
    lost(origin, here)
    reserve(there, COBALT, "src")

    here.sync()

    assert here.holds() == {(AMBER, "src", "void"), (COBALT, "src", "active")}
    here.ask("agent.release", agent=AMBER, all=True)
    settle(pair)
    assert here.holds() == there.holds() == {(COBALT, "src", "active")}


def test_what_is_pending_can_be_given_up(origin: Path, pair: list[Clone]):
    here, there = pair
    lost(origin, here)

    here.ask("agent.release", agent=AMBER, all=True)
    here.sync()

    assert reserve(there, COBALT, "src")["global"] is True


def test_what_was_given_back_here_can_be_had_by_the_next_agent_before_anybody_has_synced(pair: list[Clone]):
    """The end and the new reservation come out in one commit, and the end counts first."""
    here, there = pair
    here.ask("agent.register", name="coral-heron", role="builder")
    reserve(here, AMBER, "src")
    here.ask("agent.release", agent=AMBER, all=True)

    assert reserve(here, "coral-heron", "src/parser")["global"] is True
    settle(pair)
    assert here.holds() == there.holds() == {("coral-heron", "src/parser", "active")}


def test_what_is_pending_can_be_given_up_by_its_scope(origin: Path, pair: list[Clone]):
    here, _ = pair
    lost(origin, here)

    here.ask("agent.release", agent=AMBER, scope=["src"])

    assert here.holds() == set()


def test_a_look_at_a_second_hub_forgets_no_grant(tmp_path: Path, pair: list[Clone]):
    here, there = pair
    reserve(here, AMBER, "src")
    there.sync()
    second = hub(tmp_path / "second.git")
    here.git("remote", "add", "second", str(second))
    there.git("remote", "add", "second", str(second))
    here.sync(remote="second", publish=True)

    there.sync(remote="second", pull=True)

    assert (AMBER, "src", "active") in there.holds()
    assert there.refused("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1").code == "RESERVATION_CONFLICT"


def test_what_a_second_hub_says_before_the_first_publication_settles_nothing(tmp_path: Path, pair: list[Clone]):
    from tests.stories.travel.travel_support import clone

    here, _ = pair
    second = hub(tmp_path / "second.git")
    here.git("remote", "add", "second", str(second))
    here.sync(remote="second", publish=True)
    here.ask("agent.reserve", agent=AMBER, scope=["docs"], bead="bb-1")
    here.sync(remote="second")
    reserve(here, AMBER, "src")
    fresh = clone(tmp_path / "hub.git", "fresh")
    fresh.git("remote", "add", "second", str(second))

    fresh.sync(pull=True)
    fresh.sync(remote="second", pull=True)
    fresh.ask("agent.register", name="coral-heron", role="builder")
    fresh.sync(publish=True)
    here.sync()

    assert settled(fresh) == settled(here)
    assert (AMBER, "src", "active") in fresh.holds()


def test_what_one_clone_says_has_ended_is_still_held_in_every_clone(pair: list[Clone]):
    """A take-over recorded where --global was not said, by an older version or by somebody who means harm."""
    from bb.coordination.facts import TakenOver
    from bb.kernel import clock
    from bb.ledger.git import place
    from bb.ledger.records.store import Store
    from tests.support import NOON

    here, there = pair
    name = str(reserve(here, AMBER, "src")["reservation_id"])
    there.sync()
    store = Store(place.find(str(there.path), {}))
    fact = TakenOver(COBALT, name, AMBER, "stale", "taken_over")
    store.record(lambda _: [fact], by=COBALT, now=clock.parse(NOON))
    store.close()
    settle(pair)

    assert there.refused("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1").code == "RESERVATION_CONFLICT"
    assert (AMBER, "src", "active") in here.holds()


def settled(at: Clone) -> dict[str, object]:
    """What publication has settled, as AT has it."""
    from bb.ledger.published import pins

    return pins.read(str(at.store)).admitted.as_json()
