"""A stray push to the branch stops nobody. Every clone skips the same commits, and goes on from the last good one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stories.travel.branch_support import Branch, Chain, File, Name, chains
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub, settle

Files = dict[Name, File]


@pytest.fixture
def branch(tmp_path: Path) -> Branch:
    """The branch of a hub that lets nobody force or delete anything."""
    made = Branch(hub(tmp_path / "hub.git"))
    for name in ("receive.denyNonFastForwards", "receive.denyDeletes"):
        made.git("config", name, "true")
    return made


@pytest.fixture
def pair(branch: Branch) -> list[Clone]:
    made = agents_at_work(branch.hub, AMBER, COBALT)
    settle(made)
    return made


def first_chain(files: Files) -> Chain:
    return chains(files)[0]


def _readme(branch: Branch) -> str:
    return branch.commit(branch.files() | {"NOTES.md": File(b"hello\n")}, [branch.tip])


def _emptied(branch: Branch) -> str:
    return branch.commit({}, [branch.tip])


def _a_file_deleted(branch: Branch) -> str:
    files = branch.files()
    del files[first_chain(files).path]
    return branch.commit(files, [branch.tip])


def _forged(branch: Branch) -> str:
    files = branch.files()
    chain = first_chain(files)
    return branch.commit(files | {chain.path: File(chain.octets + chain.forged(p="0" * 32) + b"\n")}, [branch.tip])


def _merged_code(branch: Branch) -> str:
    root = branch.commit({"x": File(b"x")}, [])
    code = branch.commit({"x": File(b"y"), "src/a.c": File(b"int main;")}, [root])
    return branch.commit(branch.files() | {"x": File(b"y")}, [code, branch.tip])


def _merged_edit(branch: Branch) -> str:
    """Somebody edited an older state, pulled with a merge, and pushed."""
    edit = branch.commit(branch.files(branch.parents()[0]) | {"NOTES.md": File(b"hello\n")}, branch.parents())
    return branch.commit(branch.files() | {"NOTES.md": File(b"hello\n")}, [edit, branch.tip])


def _many(branch: Branch) -> str:
    at = _emptied(branch)
    for number in range(5):
        at = branch.commit({"x": File(b"%d" % number)}, [at])
    return at


STRAYS: dict[str, Callable[[Branch], str]] = {
    "a foreign file": _readme,
    "everything deleted": _emptied,
    "a file deleted": _a_file_deleted,
    "a line that does not chain": _forged,
    "a merge of the code": _merged_code,
    "a merge of an edit": _merged_edit,
    "several commits": _many,
}


def late(branch: Branch, name: str = "late") -> Clone:
    made = clone(branch.hub, name)
    made.sync(pull=True)
    return made


@pytest.mark.parametrize("stray", STRAYS)
def test_a_stray_push_stops_nobody_and_all_skip_the_same(branch: Branch, pair: list[Clone], stray: str):
    here, there = pair
    good = branch.tip
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    found = STRAYS[stray](branch)
    branch.point_at(found)

    only_looks = there.sync(pull=True)
    newcomer = late(branch)
    assert only_looks["tip"] == good
    assert found in {each["commit"] for each in only_looks["quarantined"]}
    assert newcomer.digest == there.digest
    assert branch.tip == found, "whoever only looks leaves the branch alone"

    went = here.sync()

    assert went["went"] >= 1
    assert branch.parents() == [found]
    assert branch.git("merge-base", "--is-ancestor", found, branch.tip) == b""
    settle(pair)
    newcomer.sync(pull=True)
    assert here.digest == there.digest == newcomer.digest == late(branch, "later").digest
    assert (AMBER, "src", "active") in there.holds()
    assert not here.sync()["quarantined"]
    for each in (here, there, newcomer):
        (published,) = each.ask("ledger.verify", published=True)["published"]
        assert found in {each["commit"] for each in published["quarantined"]}


def test_two_that_go_on_at_the_same_time_converge(branch: Branch, pair: list[Clone]):
    here, there = pair
    branch.point_at(_readme(branch))
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")
    here.sync(pull=True)
    there.sync(pull=True)

    here.sync()
    there.sync()

    settle(pair)
    assert here.holds() == there.holds() == {(AMBER, "src", "active"), (COBALT, "docs", "active")}
    assert here.digest == there.digest == late(branch).digest


def test_a_global_reservation_is_granted_on_top_of_a_stray_commit(branch: Branch, pair: list[Clone]):
    here, there = pair
    branch.point_at(_emptied(branch))

    granted = here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})

    assert granted["global"] is True
    wanted = {"agent": COBALT, "scope": ["src"], "bead": "bb-2", "global": True}
    assert there.refused("agent.reserve", **wanted).code == "RESERVATION_CONFLICT"
    newcomer = late(branch)
    assert here.digest == newcomer.digest
    assert [(each["scope"], each["state"]) for each in newcomer.ask("agent.status")["reservations"]] == [
        ("src", "active")
    ]


def test_the_arbiter_moves_past_stray_commits_and_takes_over_all_results(
    branch: Branch, pair: list[Clone], tmp_path: Path
):
    here, there = pair
    upstream = Branch(hub(tmp_path / "upstream.git"))
    for each in pair:
        each.git("remote", "add", "upstream", str(upstream.hub))
        each.sync(publish=True, remote="upstream")
    token = here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})["token"]
    branch.point_at(_emptied(branch))
    upstream.point_at(_merged_code(upstream))

    moved = here.ask("ledger.arbiter", remote="upstream", reason="the project is there", agent="user")

    assert moved["told"] == "origin"
    there.sync()
    there.sync(remote="upstream")
    wanted = {"agent": COBALT, "bead": "bb-2", "global": True}
    assert there.refused("agent.reserve", scope=["src"], **wanted).code == "RESERVATION_CONFLICT"
    assert there.ask("agent.reserve", scope=["docs"], **wanted)["token"] > token
    here.sync(remote="upstream")
    newcomer = late(upstream)
    assert here.digest == there.digest == newcomer.digest
    assert {AMBER, COBALT} == {each["agent_id"] for each in newcomer.ask("agent.status")["reservations"]}


def test_a_grant_in_a_stray_commit_does_not_count(branch: Branch, pair: list[Clone]):
    """Its lines are those of a clone that pushed them in one commit with a foreign file."""
    here, there = pair
    granted = here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})
    taken = branch.files()
    branch.point_at(branch.parents()[0])
    branch.put(taken | {"x": File(b"x")})

    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-2", **{"global": True})

    assert there.holds() == {(COBALT, "src", "active")}
    assert granted["global"] is True
    assert here.refused("sync").code == "LEDGER_REWRITTEN", "here, the commit without the file was verified"


def test_a_commit_that_says_it_continues_from_elsewhere_is_a_stray_one_itself(branch: Branch, pair: list[Clone]):
    """Otherwise anybody could let a commit be skipped that counts."""
    here, there = pair
    before = branch.tip
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.sync()
    tree = branch.git("rev-parse", f"{before}^{{tree}}").decode().strip()
    text = f"tree {tree}\nparent {branch.tip}\nauthor A <a@b.c> 1 +0000\ncommitter A <a@b.c> 1 +0000\n\nx\n\n"
    good = branch.tip
    branch.point_at(branch.write("commit", f"{text}Bb-Continues: {before}\n".encode()))

    assert there.sync(pull=True)["tip"] == good
    assert (AMBER, "src", "active") in there.holds()
    assert late(branch).digest == there.digest


def test_two_continuations_that_somebody_merged_are_refused(branch: Branch, pair: list[Clone]):
    """Nobody can tell which one was on the branch."""
    here, there = pair
    base = branch.tip
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.sync()
    first = branch.tip
    branch.point_at(base)
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")
    there.sync()
    second = branch.tip
    branch.point_at(branch.commit(branch.files(), [second, first]))

    for each in (here, there, clone(branch.hub, "late")):
        assert each.refused("sync", pull=True).code == "LEDGER_REWRITTEN"


def test_what_somebody_put_on_top_of_a_stray_commit_is_published_again(branch: Branch, pair: list[Clone]):
    """Here, a program that does not see that the commit is stray: sound lines on top of a foreign file."""
    here, there = pair
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")
    there.sync()
    sound = branch.files()
    branch.point_at(branch.parents()[0])
    branch.point_at(_readme(branch))
    branch.put(sound | {"NOTES.md": File(b"hello\n")})
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")

    here.sync()

    assert here.holds() == {(AMBER, "src", "active")}
    assert there.refused("sync").code == "LEDGER_REWRITTEN", "what it published before is gone: see restore"


def test_the_answer_and_doctor_say_who_made_it(branch: Branch, pair: list[Clone]):
    here, _ = pair
    found = _readme(branch)
    branch.point_at(found)

    text = here.bb("sync").out

    assert f"Quarantined on origin: commit {found[:12]} by Somebody <somebody@example.invalid>" in text
    checks = {each["name"]: each for each in here.ask("doctor")["checks"]}
    assert checks["quarantine"]["state"] == "good"
    assert found[:12] in checks["quarantine"]["text"]


def test_a_new_epoch_is_followed_although_a_stray_commit_hides_it(branch: Branch, pair: list[Clone]):
    here, there = pair
    branch.git("config", "receive.denyNonFastForwards", "false")
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    here.sync()
    here.ask("ledger.rotate", reason="too long", agent="user")
    branch.point_at(_emptied(branch))
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")

    assert there.sync()["begun_anew"]["epoch"] == 2

    settle(pair)
    assert here.digest == there.digest == late(branch).digest
    assert here.holds() == {(AMBER, "src", "active"), (COBALT, "docs", "active")}


def _changed(one: Clone) -> str:
    """Commit a change of src/ by the agent of the second clone; the commit that it is meant for."""
    base = one.git("rev-parse", "HEAD").strip()
    (one.path / "src").mkdir()
    (one.path / "src" / "a.py").write_text("")
    one.git("add", "--force", "src")
    one.git("commit", "--quiet", "-m", f"Change\n\nBB-Agent: {COBALT}")
    return base


def _without_the_holder(branch: Branch) -> str:
    files = branch.files()
    (path,) = (path for path, file in files.items() if b'"scope":"src"' in file.octets)
    del files[path]
    return branch.commit(files, [branch.tip])


@pytest.mark.parametrize("stray", [_without_the_holder, _emptied, _forged, _merged_code, _readme])
@pytest.mark.parametrize("is_global", [False, True])
def test_ci_reads_the_last_good_commit(
    branch: Branch, pair: list[Clone], stray: Callable[[Branch], str], is_global: bool
):
    """Also where the stray commit deletes what somebody holds."""
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": is_global})
    here.sync()
    base, good = _changed(there), branch.tip
    found = stray(branch)
    branch.point_at(found)

    refused = there.refused("ci.check", base=base)

    assert refused.code == "CI_INCURSION"
    assert refused.details["ledger"]["tip"] == good
    assert found in {each["commit"] for each in refused.details["ledger"]["quarantined"]}
    here.sync()
    refused = there.refused("ci.check", base=base)
    assert (refused.code, refused.details["ledger"]["tip"]) == ("CI_INCURSION", branch.tip)
