"""The tracked mirror: lines of the ledger as sealed files beside the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.travel.travel_support import AMBER, COBALT, Clone, clone


@pytest.fixture
def here(tmp_path: Path) -> Clone:
    made = clone(tmp_path / "nowhere.git", "here")
    made.ask("agent.register", name=AMBER, role="builder")
    return made


def copy(at: Clone, name: str) -> Clone:
    """What `git clone` makes of it: the code, and no ledger of its own."""
    at.git("clone", "--quiet", str(at.path), str(at.path.parent / name))
    return Clone(at.path.parent / name)


def commit(at: Clone, message: str) -> None:
    at.git("add", "--all")
    at.git("commit", "--quiet", "-m", message)


def test_what_was_recorded_since_goes_into_one_sealed_file(here: Clone):
    first = here.ask("ledger.mirror")
    again = here.ask("ledger.mirror")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    second = here.ask("ledger.mirror")

    assert [each["events"] for each in first["written"]] == [2]
    assert again == {"written": [], "came": 0}
    assert [each["events"] for each in second["written"]] == [1]
    assert len(list(here.path.glob(".bb/ledger/*/*.jsonl"))) == 2
    assert here.git("diff", "--cached", "--name-only") == "", "nothing is staged"


def test_a_clone_takes_in_what_the_branch_brings_along(here: Clone):
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.ask("ledger.mirror")
    commit(here, "Work, and what it was about")
    there = copy(here, "there")
    there.ask("agent.register", name=COBALT, role="reviewer")

    answer = there.ask("ledger.mirror")

    assert answer["came"] == 3
    assert (AMBER, "src", "active") in there.holds()


def test_two_branches_never_conflict(here: Clone):
    here.ask("ledger.mirror")
    commit(here, "One")
    here.git("checkout", "--quiet", "-b", "side")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.ask("ledger.mirror")
    commit(here, "On the side")
    here.git("checkout", "--quiet", "-")
    here.ask("agent.reserve", agent=AMBER, scope=["docs"], bead="bb-1")
    here.ask("ledger.mirror")
    commit(here, "On the main line")

    here.git("merge", "--quiet", "--no-edit", "side")

    assert here.ask("ledger.mirror") == {"written": [], "came": 0}
    there = copy(here, "there")
    there.ask("agent.register", name=COBALT, role="reviewer")
    assert there.ask("ledger.mirror")["came"] == 4


@pytest.mark.parametrize("case", ["cut", "another-line", "forged"])
def test_a_file_that_was_tampered_with_is_refused_and_nothing_is_taken_in(here: Clone, case: str):
    here.ask("ledger.mirror")
    commit(here, "Work")
    there = copy(here, "there")
    there.ask("agent.register", name=COBALT, role="reviewer")
    (path,) = there.path.glob(".bb/ledger/*/*.jsonl")
    octets = path.read_bytes()
    path.write_bytes(
        {
            "cut": octets[:-40],
            "another-line": octets.replace(b"builder", b"foreman"),
            "forged": octets.replace(b'"l":1,', b'"l":2,').replace(b'"l":2,', b'"l":3,'),
        }[case]
    )
    before = there.digest

    assert there.refused("ledger.mirror").code == "NOT_A_LEDGER"
    assert there.digest == before


def test_a_repository_without_a_work_tree_has_no_place_for_it(tmp_path: Path):
    bare = Clone(tmp_path / "bare.git")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare")
    bare.ask("agent.register", name=AMBER, role="builder")

    assert bare.refused("ledger.mirror").code == "NO_WORK_TREE"
