"""A ledger outside refs/heads: plain clones do not get it, all clones of bb find it, and it can be moved there."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.git.place import find
from bb.ledger.published.layout import BRANCH, HIDDEN
from bb.ledger.travel import remote_reader
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, clone, settle


def refs(at: Clone) -> set[str]:
    return {row.split("\t")[1] for row in at.git("ls-remote", "origin").splitlines()}


def reserve(at: Clone, agent: str, scope: str) -> None:
    at.ask("agent.reserve", agent=agent, scope=[scope], bead="bb-1")


def begun_hidden(origin: Path) -> Clone:
    here = clone(origin, "here")
    here.ask("agent.register", name=AMBER, role="builder")
    assert here.sync(publish=True, place="hidden")["place"] == "hidden"
    return here


def test_a_ledger_published_at_the_hidden_place_is_found_by_every_clone_and_fetched_by_no_plain_one(origin: Path):
    here = begun_hidden(origin)
    reserve(here, AMBER, "src")
    here.sync()
    there = clone(origin, "there")
    there.sync(pull=True)
    there.ask("agent.register", name=COBALT, role="builder")
    assert there.sync(publish=True)["place"] == "hidden"
    here.sync()

    assert refs(here) == {HIDDEN}
    assert here.digest == there.digest
    there.git("fetch", "--quiet", "origin")
    assert "bb-ledger" not in there.git("for-each-ref", "refs/remotes", "refs/heads")


def test_ci_finds_it(origin: Path):
    here = begun_hidden(origin)
    reserve(here, AMBER, "src")
    here.sync()

    with remote_reader.published_ledger(find(str(clone(origin, "ci").path), {}), "origin") as found:
        assert found.index.count("reservation", "live") == 1


def test_a_ledger_that_moves_is_followed_and_nothing_is_lost(origin: Path, pair: list[Clone]):
    here, there = pair
    reserve(there, COBALT, "docs")
    assert here.sync(publish=True, place="hidden")["place"] == "hidden"
    assert refs(here) == {HIDDEN}
    reserve(here, AMBER, "src")
    settle([there, here])

    assert there.sync()["place"] == "hidden"
    assert refs(here) == {HIDDEN}, "a clone that still knew the branch has not made it again"
    assert here.digest == there.digest
    there.sync(publish=True, place="branch")
    settle(pair)
    assert refs(here) == {BRANCH}
    assert here.digest == there.digest
    assert here.ask("ledger.verify", published=True)["published"]


def test_a_global_reservation_follows_a_ledger_that_has_moved(pair: list[Clone]):
    here, there = pair
    here.sync(publish=True, place="hidden")
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1", **{"global": True})
    here.sync()

    assert (COBALT, "docs", "active") in here.holds()
    assert refs(here) == {HIDDEN}


def test_of_two_ledgers_on_one_remote_neither_is_used(origin: Path, pair: list[Clone]):
    here, _ = pair
    commit = here.tip
    here.git("push", "--quiet", "origin", f"{commit}:{HIDDEN}")
    fresh = clone(origin, "fresh")

    assert fresh.refused("sync", pull=True).code == "TWO_LEDGERS"
    with (
        pytest.raises(Exception, match="has a ledger at"),
        remote_reader.published_ledger(find(str(fresh.path), {}), "origin"),
    ):
        pass
    assert not list(fresh.store.glob("j/*/*.jsonl"))


def test_it_is_moved_by_both_steps_or_by_none(origin: Path, pair: list[Clone]):
    """The host that does not let the branch be deleted keeps the ledger where it was."""
    here, there = pair
    here.git("--git-dir", str(origin), "config", "receive.denyDeletes", "true")
    assert here.refused("sync", publish=True, place="hidden").code == "PUSH_DENIED"

    assert refs(here) == {BRANCH}
    reserve(here, AMBER, "src")
    settle([here, there])
    assert here.digest == there.digest


def test_only_the_person_moves_it(pair: list[Clone]):
    here = pair[0]
    here.settings["BB_AGENT"] = AMBER
    assert here.refused("sync", publish=True, place="hidden").code == "PERSON_ONLY"
    assert here.refused("sync", place="hidden").code == "ONE_DIRECTION"
    assert refs(here) == {BRANCH}


# -- a clone that will not come back


def test_after_a_farewell_everything_is_published_and_the_clone_writes_under_a_new_writer(pair: list[Clone]):
    here, there = pair
    reserve(here, AMBER, "src")
    said = here.sync(farewell=True)["farewell"]
    there.sync()

    assert said["still_held"] == [{"agent_id": AMBER, "scope": "src"}]
    assert here.digest == there.digest
    assert here.sync()["went"] == 0
    here.ask("agent.release", agent=AMBER, scope=["src"])
    settle(pair)
    assert here.digest == there.digest
    assert here.ask("ledger.log")[-1]["id"].split(".")[0] != said["writer"]


def test_a_second_farewell_still_names_what_the_first_writer_holds(pair: list[Clone]):
    here = pair[0]
    reserve(here, AMBER, "src")
    here.sync(farewell=True)

    again = here.sync(farewell=True)["farewell"]
    assert (again["writer"], again["still_held"]) == (None, [{"agent_id": AMBER, "scope": "src"}])
    reserve(here, AMBER, "docs")
    assert {each["scope"] for each in here.sync(farewell=True)["farewell"]["still_held"]} == {"src", "docs"}


def test_a_dry_run_says_that_the_ledger_would_move(pair: list[Clone]):
    here = pair[0]

    assert here.sync(publish=True, dry_run=True, place="hidden")["moves_to"] == "hidden"
    assert "moves_to" not in here.sync(publish=True, dry_run=True, place="branch")
    assert "moves_to" not in here.sync(dry_run=True)


def test_a_farewell_that_cannot_publish_retires_nobody(origin: Path, pair: list[Clone]):
    here = pair[0]
    reserve(here, AMBER, "src")
    origin.rename(origin.parent / "away")
    assert here.refused("sync", farewell=True)
    assert here.refused("sync", farewell=True, pull=True).code == "ONE_DIRECTION"
    (origin.parent / "away").rename(origin)

    here.ask("agent.release", agent=AMBER, scope=["src"])
    assert {file.parent.name for file in here.store.glob("j/*/owner.json") if "farewell" in file.read_text()} == set()
