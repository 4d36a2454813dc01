"""A few commits are read with fewer processes of git than many are, and with the same result."""

from __future__ import annotations

import pytest

from bb.ledger.published import differences, pins
from bb.ledger.published.charter import LedgerRewritten
from bb.ledger.published.tip import Commit, Tip
from bb.ledger.travel.branch import History
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, settle


def read(one: Clone, known: Tip, commit: str) -> tuple[list[Commit], Tip]:
    history = History(str(one.path / ".git"), known)
    commits = list(history.upto(commit))
    return commits, history.tip


def tip_of(one: Clone) -> Tip:
    tip = pins.read(str(one.store)).remote("origin").tip
    assert tip
    return tip


def test_a_few_commits_are_verified_as_many_are(pair: list[Clone], monkeypatch: pytest.MonkeyPatch):
    here, there = pair
    settle(pair)
    known = tip_of(here)
    for turn in range(4):
        here.ask("agent.reserve", agent=AMBER, scope=[f"src/{turn}"], bead="bb-1")
        there.ask("agent.reserve", agent=COBALT, scope=[f"docs/{turn}"], bead="bb-1")
        for one in pair:
            one.sync()
    tip = tip_of(there)

    few = read(there, known, tip.commit)
    monkeypatch.setattr(differences, "FEW", 0)
    many = read(there, known, tip.commit)

    assert len(few[0]) == 8
    assert few == many


@pytest.mark.parametrize("few", [0, differences.FEW])
def test_a_commit_that_does_not_follow_is_refused_whether_a_few_are_read_or_many(
    pair: list[Clone], monkeypatch: pytest.MonkeyPatch, few: int
):
    here, _ = pair
    settle(pair)
    known = tip_of(here)
    tree, parent = known.commit + "^{tree}", known.commit + "^"
    aside = here.git("commit-tree", tree, "-p", parent, "-m", "aside").strip()
    merge = here.git("commit-tree", tree, "-p", known.commit, "-p", aside, "-m", "merge").strip()
    monkeypatch.setattr(differences, "FEW", few)

    for commit in (aside, merge, parent):
        with pytest.raises(LedgerRewritten.error):
            read(here, known, here.git("rev-parse", commit).strip())
