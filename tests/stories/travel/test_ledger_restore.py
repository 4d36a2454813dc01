"""The branch of the ledger was deleted, set back, replaced or refused. One verb shows what is there and what is
verified, and puts the branch back. No line is lost, and the ledger of another project is never replaced.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.ledger.published.layout import BRANCH
from bb.ledger.travel import remote
from tests.stories.travel.branch_support import Branch, File
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, every_file, hub, settle

PERSON = {"agent": "user"}


@pytest.fixture
def branch(origin: Path) -> Branch:
    return Branch(origin)


@pytest.fixture
def busy(origin: Path) -> list[Clone]:
    """Both hold something, and one of them has something to say."""
    return agents_at_work(origin, AMBER, COBALT, after=_both_have_reserved)


def _both_have_reserved(pair: list[Clone]) -> None:
    here, there = pair
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    settle(pair)
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-2")


def protect(branch: Branch) -> None:
    for name in ("receive.denyNonFastForwards", "receive.denyDeletes"):
        branch.git("config", name, "true")


def assert_all_is_well(branch: Branch, *clones: Clone) -> None:
    settle(list(clones))
    late = clone(branch.hub, f"late-{len(list(branch.hub.parent.iterdir()))}")
    late.sync(pull=True)
    for each in clones:
        assert each.digest == late.digest
        each.ask("ledger.verify", published=True)
    holds = clones[0].holds()
    assert {(AMBER, "src", "active"), (COBALT, "docs", "active")} <= holds


def known(one: Clone) -> dict[str, bytes]:
    """The store, but for notes about syncs and what a look at the branch leaves."""
    files = every_file(one.store)
    passing = ("sync.json", "sync.lock", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "quarantined.json")
    return {name: octets for name, octets in files.items() if name not in passing}


def test_a_deleted_branch_is_put_back(branch: Branch, busy: list[Clone]):
    here, there = busy
    tip = branch.tip
    branch.git("update-ref", "-d", BRANCH)
    refused = here.refused("sync", pull=True)
    assert refused.code == "LEDGER_REWRITTEN"
    assert "bb ledger restore" in str(refused.hint)

    shown = here.ask("ledger.restore", dry_run=True)
    assert (shown["state"], shown["action"], shown["found"], shown["verified"]) == ("missing", "put back", None, tip)
    assert not shown["needs_person"]
    assert here.refused("sync", pull=True).code == "LEDGER_REWRITTEN", "nothing was done yet"

    assert here.ask("ledger.restore")["is_done"]
    assert_all_is_well(branch, here, there)


def test_a_branch_that_was_set_back_is_put_back_without_force(branch: Branch, busy: list[Clone]):
    here, there = busy
    tip = branch.tip
    branch.point_at(branch.parents()[0])
    protect(branch)
    refused = there.refused("sync")
    assert refused.code == "LEDGER_REWRITTEN"
    assert (refused.details["verified"], refused.details["found"]) == (tip, branch.tip)

    found = there.refused("doctor")
    check = next(each for each in found.details["checks"] if each["name"] == "sync")
    assert (found.code, check["state"], check["mend"]) == ("PROBLEMS_FOUND", "broken", "bb ledger restore --dry-run")
    shown = there.ask("ledger.restore", dry_run=True)
    assert (shown["state"], shown["action"], shown["needs_person"]) == ("behind", "put back", False)
    assert shown["only_here"] > 0

    there.ask("ledger.restore")
    assert branch.git("merge-base", "--is-ancestor", tip, branch.tip) == b""
    assert_all_is_well(branch, here, there)


@pytest.fixture
def parted(branch: Branch, busy: list[Clone]) -> list[Clone]:
    """The branch was set back, and a new clone has published there since."""
    branch.point_at(branch.parents()[0])
    third = clone(branch.hub, "third")
    third.sync(pull=True)
    third.ask("agent.register", name="pale-heron", role="builder")
    third.ask("agent.reserve", agent="pale-heron", scope=["web"], bead="bb-3")
    third.sync(publish=True)
    return [*busy, third]


def test_lines_that_only_the_other_history_has_are_kept(branch: Branch, parted: list[Clone]):
    here, there, third = parted
    found = branch.tip
    shown = here.ask("ledger.restore", dry_run=True)
    assert (shown["state"], shown["action"], shown["needs_person"]) == ("diverged", "replace", True)
    assert shown["only_there"] > 0
    assert shown["only_here"] > 0
    before = known(here)

    here.settings["BB_AGENT"] = AMBER
    assert here.refused("ledger.restore").code == "PERSON_ONLY"
    assert branch.tip == found
    assert known(here) == before
    done = here.ask("ledger.restore", **PERSON)
    del here.settings["BB_AGENT"]

    assert here.git("rev-parse", done["kept_as"]).strip() == found
    there.sync()
    assert third.refused("sync").code == "LEDGER_REWRITTEN"
    assert third.ask("ledger.restore", dry_run=True)["action"] in ("follow", "replace")
    third.ask("ledger.restore", **PERSON)
    assert_all_is_well(branch, here, there, third)
    assert ("pale-heron", "web", "active") in here.holds()


def test_a_protected_branch_refuses_and_says_what_to_allow(branch: Branch, parted: list[Clone]):
    here, there, third = parted
    protect(branch)
    found = branch.tip

    refused = here.refused("ledger.restore", **PERSON)

    assert refused.code == "PUSH_DENIED"
    assert "force" in str(refused.hint)
    assert branch.tip == found
    branch.git("config", "receive.denyNonFastForwards", "false")
    here.ask("ledger.restore", **PERSON)
    third.ask("ledger.restore", **PERSON)
    assert_all_is_well(branch, here, there, third)


def test_a_clone_that_knows_all_of_the_new_history_follows_it(branch: Branch, busy: list[Clone]):
    """The branch was replaced by one with the same lines, in other commits."""
    here, there = busy
    before = branch.tip
    branch.point_at(branch.parents()[0])
    for _ in range(2):
        branch.put(branch.files(before))

    assert there.refused("sync").code == "LEDGER_REWRITTEN"
    shown = there.ask("ledger.restore", dry_run=True)
    assert (shown["state"], shown["action"]) == ("contained", "follow")
    found = branch.tip
    there.ask("ledger.restore", **PERSON)
    here.ask("ledger.restore", **PERSON)

    assert branch.git("merge-base", "--is-ancestor", found, branch.tip) == b"", "nothing was replaced"
    assert_all_is_well(branch, here, there)


def test_a_branch_that_was_begun_again_by_a_clone_is_replaced_and_both_agree(branch: Branch, busy: list[Clone]):
    """A clone lost what it knew about the remote, and the branch was gone when it published."""
    here, there = busy
    branch.git("update-ref", "-d", BRANCH)
    (there.store / "pins.json").unlink()
    there.sync(publish=True)
    assert here.refused("sync").code == "LEDGER_REWRITTEN"

    assert here.ask("ledger.restore", dry_run=True)["state"] == "diverged"
    here.ask("ledger.restore", **PERSON)
    there.ask("ledger.restore", **PERSON)

    assert_all_is_well(branch, here, there)


def test_the_ledger_of_another_project_is_never_replaced(branch: Branch, busy: list[Clone], tmp_path: Path):
    here, _ = busy
    stranger = clone(hub(tmp_path / "other.git"), "stranger")
    stranger.git("commit", "--quiet", "--allow-empty", "--amend", "--message", "another project")
    stranger.ask("agent.register", name="odd-fox", role="builder")
    stranger.sync(publish=True)
    other = Branch(tmp_path / "other.git")
    here.git("remote", "set-url", "origin", str(other.hub))
    tip = other.tip

    shown = here.ask("ledger.restore", dry_run=True)
    assert (shown["state"], shown["action"]) == ("another", "refuse")
    refused = here.refused("ledger.restore", **PERSON)
    assert refused.code == "ANOTHER_LEDGER"
    assert str(shown["found_ledger"]) in str(refused.hint)
    for dry_run in (True, False):
        assert here.refused("ledger.restore", adopt="0fba2ae713d9", dry_run=dry_run, **PERSON).code == "OTHER_LEDGER"
    assert other.tip == tip


def test_the_person_can_join_the_other_ledger_by_its_id(branch: Branch, busy: list[Clone]):
    """Somebody began the project's ledger anew."""
    here, there = busy
    branch.git("update-ref", "-d", BRANCH)
    fresh = clone(branch.hub, "fresh")
    fresh.ask("agent.register", name="odd-fox", role="builder")
    fresh.sync(publish=True)
    ledger = here.ask("ledger.restore", dry_run=True)["found_ledger"]

    here.settings["BB_AGENT"] = AMBER
    assert here.refused("ledger.restore", adopt=ledger).code == "PERSON_ONLY"
    del here.settings["BB_AGENT"]
    for each in (here, there):
        each.ask("ledger.restore", adopt=ledger, **PERSON)

    assert_all_is_well(branch, here, there, fresh)


def test_code_that_was_forced_onto_the_branch_is_replaced_and_kept(branch: Branch, busy: list[Clone]):
    here, there = busy
    code = branch.commit({"src/main.c": File(b"int main;")}, [])
    branch.point_at(code)
    assert here.refused("sync").code in ("LEDGER_REWRITTEN", "NOT_A_LEDGER")

    assert here.ask("ledger.restore", dry_run=True)["state"] == "strange"
    done = here.ask("ledger.restore", **PERSON)

    assert here.git("cat-file", "blob", f"{done['kept_as']}:src/main.c") == "int main;"
    assert_all_is_well(branch, here, there)


def test_nothing_is_pushed_if_the_branch_moves_after_the_look(
    branch: Branch, parted: list[Clone], monkeypatch: pytest.MonkeyPatch
):
    here, _, third = parted
    push = remote.push

    def slower(*given: object) -> None:
        monkeypatch.undo()
        third.ask("agent.reserve", agent="pale-heron", scope=["lib"], bead="bb-4")
        third.sync()
        push(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(remote, "push", slower)
    assert here.refused("ledger.restore", **PERSON).code == "BRANCH_CHANGED"
    here.ask("ledger.restore", **PERSON)

    assert ("pale-heron", "lib", "active") in here.holds()


def test_a_branch_that_is_all_right_needs_nothing(branch: Branch, busy: list[Clone]):
    here, there = busy
    there.sync()
    branch.put(branch.files() | {"x": File(b"x")})

    assert here.ask("ledger.restore", dry_run=True)["action"] == "nothing"
    here.ask("ledger.restore")

    assert_all_is_well(branch, here, there)


def test_a_clone_that_has_verified_nothing_cannot_restore(branch: Branch, busy: list[Clone]):
    fresh = clone(branch.hub, "fresh")
    fresh.ask("agent.register", name="odd-fox", role="builder")

    assert fresh.refused("ledger.restore").code == "NOTHING_VERIFIED"


def test_a_clone_that_only_fetches_does_not_push(branch: Branch, busy: list[Clone]):
    fresh = clone(branch.hub, "fresh")
    fresh.sync(pull=True)
    branch.git("update-ref", "-d", BRANCH)

    assert fresh.refused("ledger.restore", **PERSON).code == "NOT_PUBLISHED"


def test_a_first_publication_that_the_host_refuses_is_made_later(origin: Path):
    one = clone(origin, "one")
    one.ask("agent.register", name=AMBER, role="builder")
    hook = origin / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'branches need a ticket' >&2\nexit 1\n")
    hook.chmod(0o755)

    assert one.refused("sync", publish=True).code == "HOOK_DECLINED"
    assert one.refused("ledger.restore").code == "NOTHING_VERIFIED"
    hook.unlink()
    assert one.sync(publish=True)["went"] > 0
