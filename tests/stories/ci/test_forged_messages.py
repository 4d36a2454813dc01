"""A commit that deletes or changes lines of the ledger misleads no check, whatever its message says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bb.kernel.event import Event
from bb.ledger.journal import line as lines
from tests.stories.ci.ci_support import told
from tests.stories.ci.test_contested import LEX, checked, commit, pair, readings, with_snapshot
from tests.stories.travel.branch_support import Branch, File, Name
from tests.stories.travel.travel_support import AMBER, COBALT, Clone

__all__ = ["pair"]

Files = dict[Name, File]
HELD = b'"kind":"x.bb.reserved"'


def holding(files: Files) -> tuple[Name, list[bytes], int]:
    """The file with AMBER's reservation, its lines, and the place of the reservation among them."""
    for path, file in files.items():
        raws = file.octets.split(b"\n")[:-1]
        for place, raw in enumerate(raws):
            if str(path).startswith("w/") and HELD in raw and AMBER.encode() in raw:
                return path, raws, place
    raise AssertionError(files)


def _deleted(files: Files) -> Files:
    path, _, _ = holding(files)
    return {name: file for name, file in files.items() if name != path}


def _cut(files: Files) -> Files:
    path, raws, place = holding(files)
    kept = b"".join(raw + b"\n" for raw in raws[:place])
    return files | {path: File(kept)} if kept else _deleted(files)


def _changed(files: Files) -> Files:
    """Other lines in place of the reservation, and their chain is right."""
    path, raws, place = holding(files)
    link = lines.link_without_previous(raws[place], writer := str(path).split("/")[2])
    before = lines.members(raws[place])
    event = Event(before["id"], link.lamport, before["ts"], "x.other", before["by"], {}, before["group_id"])
    other, _ = lines.write(event, lines.Link(link.n - 1, link.lamport - 1, before["p"]), "aaaaaaaa")
    assert lines.link_without_previous(other[:-1], writer).n == link.n
    return files | {path: File(b"".join(raw + b"\n" for raw in (*raws[:place], other[:-1])))}


FORGERIES: dict[str, Callable[[Files], Files]] = {"deleted": _deleted, "cut": _cut, "changed": _changed}


def forge(branch: Branch, files: Files) -> str:
    """Push FILES in a commit with the message of a commit of bb."""
    generation = int(branch.git("rev-list", "--count", branch.tip)) + 1
    message = f"bb: 1 event of {AMBER} [skip ci]\n\nBb-Generation: {generation}\n"
    made = branch.commit(files, [branch.tip], message)
    branch.point_at(made)
    return made


def let_go(pair: list[Clone]) -> None:
    """Both agents release what they hold."""
    for at, agent in zip(pair, (AMBER, COBALT), strict=True):
        at.ask("agent.release", agent=agent, all=True)
    for at in (*pair, pair[0]):
        at.sync()


@pytest.fixture
def branch(tmp_path: Path, pair: list[Clone]) -> Branch:
    commit(pair[1], COBALT)
    return Branch(tmp_path / "hub.git")


@pytest.mark.parametrize("how", FORGERIES)
@pytest.mark.parametrize("is_covered", [False, True])
def test_lines_that_a_forged_commit_takes_away_count_all_the_same(
    pair: list[Clone], branch: Branch, how: str, is_covered: bool, monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    if is_covered:  # the reservation is in a file that was written since the snapshot
        let_go(pair)
        with_snapshot(pair, monkeypatch)
        here.ask("agent.reserve", agent=AMBER, scope=["src/lib"], bead="bb-1")
        here.sync()
    before = told(checked(there))
    assert before == [("error", "held-then", LEX)]

    strays = [forge(branch, FORGERIES[how](branch.files()))]
    assert told(checked(there)) == before
    strays.append(forge(branch, branch.files()))  # its tree is that of its parent
    ran = checked(there)
    assert told(ran) == before
    assert [each["commit"] for each in ran.envelope["error"]["details"]["ledger"]["quarantined"]] == strays

    here.sync()
    assert told(checked(there)) == before


def test_the_tree_of_an_earlier_commit_with_an_earlier_snapshot_is_not_believed(
    pair: list[Clone], branch: Branch, monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    let_go(pair)
    with_snapshot(pair, monkeypatch)
    earlier = branch.files()
    here.ask("agent.reserve", agent=AMBER, scope=["src/lib"], bead="bb-1")
    with_snapshot(pair, monkeypatch)
    before = told(checked(there))

    forge(branch, earlier)

    assert told(checked(there)) == before != []


def test_after_a_stray_commit_the_commits_since_the_snapshot_are_still_enough(
    pair: list[Clone], branch: Branch, monkeypatch: pytest.MonkeyPatch
):
    here, there = pair
    with_snapshot(pair, monkeypatch)
    for number in range(3):
        branch.put(branch.files() | {"NOTES.md": File(b"%d" % number)})
    here.ask("agent.reserve", agent=AMBER, scope=["docs"], bead="bb-1")
    here.sync()
    there.sync()
    there.ask("agent.release", agent=COBALT, all=True)
    there.sync()

    seen = readings(monkeypatch)
    ran = checked(there)

    assert told(ran) == [("error", "held-then", LEX)]
    assert not seen, "the snapshot and the commits since then were enough"
