"""Repositories come in many shapes, and users and administrators do many things to them. The ledger travels all the
same, or says clearly why not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.stories.travel.branch_support import Branch
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, clone, hub, settle
from tests.support import NOON, environment, is_running, scratch
from tests.waiting import until


@pytest.fixture
def there(origin: Path) -> Clone:
    """Somebody who has published, and holds docs."""
    (made,) = agents_at_work(origin, COBALT, after=publish_docs)
    return made


def publish_docs(made: list[Clone]) -> None:
    (there,) = made
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
    there.sync()
    there.git("push", "--quiet", "origin", "HEAD:refs/heads/main")


def assert_travels(here: Clone, there: Clone) -> None:
    """What one of them records the other knows, both ways."""
    here.ask("agent.register", name=AMBER, role="builder")
    here.sync(publish=True)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    assert here.ask("agent.reserve", agent=AMBER, scope=["lib"], bead="bb-1", **{"global": True})["global"] is True
    settle([here, there])
    assert (
        here.holds() == there.holds() == {(AMBER, s, "active") for s in ("src", "lib")} | {(COBALT, "docs", "active")}
    )
    assert here.digest == there.digest


def cloned(there: Clone, *how: str, name: str = "here") -> Clone:
    """A clone that git made."""
    path = there.path.with_name(name)
    there.git("clone", "--quiet", *how, "file://" + str(there.path.with_name("hub.git")), str(path))
    return Clone(path)


SHAPES: dict[str, list[str]] = {
    "shallow": ["--depth=1", "--branch=main"],
    "shallow, all branches": ["--depth=1", "--no-single-branch", "--branch=main"],
    "single branch": ["--single-branch", "--branch=main"],
    "without blobs": ["--filter=blob:none", "--branch=main"],
    "without trees": ["--filter=tree:0", "--branch=main"],
    "no checkout": ["--no-checkout", "--branch=main"],
    "the ledger itself checked out": ["--branch=bb-ledger"],
    "another name for the remote": ["--origin=upstream", "--branch=main"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_clone_of_any_shape(origin: Path, there: Clone, shape: str):
    for setting in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        there.git("config", setting, "true", cwd=origin)
    here = cloned(there, *SHAPES[shape])

    assert_travels(here, there)
    assert Branch(origin).git("rev-list", "--count", "bb-ledger").decode().strip() == str(here.sync()["generation"])


def test_a_clone_without_blobs_has_those_of_the_ledger(origin: Path, there: Clone):
    """Each of them fetched by itself would take its time, and a newer git would not do it at all."""
    there.git("config", "uploadpack.allowFilter", "true", cwd=origin)
    here = cloned(there, "--filter=blob:none", "--branch=main")

    here.sync(pull=True)

    missing = here.git("rev-list", "--objects", "--missing=print", "refs/bb/remote/origin").splitlines()
    assert not [row for row in missing if row.startswith("?")]


def test_a_worktree_of_a_bare_repository(tmp_path: Path, there: Clone):
    bare = tmp_path / "bare.git"
    there.git("clone", "--quiet", "--bare", str(tmp_path / "hub.git"), str(bare))
    there.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), "main", cwd=bare)

    here = Clone(tmp_path / "tree")
    assert_travels(here, there)
    assert (bare / "bb" / "pins.json").exists()
    assert Clone(bare).holds() == here.holds()


def test_a_submodule(tmp_path: Path, there: Clone):
    outer = scratch(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "hub.git"), "inner")

    assert_travels(Clone(outer.path / "inner"), there)
    assert not (outer.path / ".git" / "bb").exists()


def test_a_git_directory_of_its_own(tmp_path: Path, there: Clone):
    assert_travels(cloned(there, "--separate-git-dir", str(tmp_path / "elsewhere"), "--branch=main"), there)


@pytest.mark.parametrize("where", ["detached", "unborn"])
def test_a_head_that_is_at_no_branch(there: Clone, where: str):
    here = cloned(there, "--branch=main")
    here.git(
        *{"detached": ["checkout", "--quiet", "--detach"], "unborn": ["checkout", "--quiet", "--orphan", "x"]}[where]
    )

    assert_travels(here, there)


def test_a_repository_with_longer_names_of_objects(tmp_path: Path):
    scratch(tmp_path / "unused").git("init", "--quiet", "--bare", "--object-format=sha256", str(tmp_path / "hub.git"))
    made = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        each = Clone(tmp_path / name)
        each.git("init", "--quiet", "--object-format=sha256")
        each.git("commit", "--quiet", "--allow-empty", "-m", "Start")
        each.git("remote", "add", "origin", "../hub.git")
        made.append(each)
    here, there = made
    there.ask("agent.register", name=COBALT, role="builder")
    there.ask("agent.reserve", agent=COBALT, scope=["docs"], bead="bb-1")
    assert len(there.sync(publish=True)["tip"]) == 64

    assert_travels(here, there)


def test_a_remote_named_by_a_path_is_found_from_every_folder(there: Clone):
    """As git finds it: from the top of the work tree."""
    there.git("remote", "set-url", "origin", "../hub.git")
    (there.path / "deep" / "down").mkdir(parents=True)

    assert there.json("sync", cwd=there.path / "deep" / "down", BB_NOW=NOON).status == 0


def test_the_environment_of_a_hook_leads_nobody_astray(tmp_path: Path, there: Clone):
    here = cloned(there, "--branch=main")
    other = scratch(tmp_path / "other")
    before = sorted((other.path / ".git" / "objects").rglob("*"))
    astray = {
        "GIT_INDEX_FILE": str(tmp_path / "no-index"),
        "GIT_OBJECT_DIRECTORY": str(other.path / ".git" / "objects"),
        "GIT_PREFIX": "src/",
        "GIT_NAMESPACE": "elsewhere",
        "GIT_QUARANTINE_PATH": str(tmp_path),
        "GIT_DIR": str(here.path / ".git"),
        "GIT_WORK_TREE": str(here.path),
        "BB_NOW": NOON,
    }
    here.ask("agent.register", name=AMBER, role="builder")

    assert here.json("sync", "--publish", **astray).status == 0

    there.sync()
    assert here.digest == there.digest
    assert sorted((other.path / ".git" / "objects").rglob("*")) == before
    assert not (tmp_path / "no-index").exists()


def test_inside_a_real_hook_it_goes_where_the_hook_is(there: Clone):
    here = cloned(there, "--branch=main")
    here.ask("agent.register", name=AMBER, role="builder")
    here.sync(publish=True)
    here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1")
    hook = here.path / ".git" / "hooks" / "pre-commit"
    said = here.path.with_name("said")
    python = f"PYTHONPATH={environment()['PYTHONPATH']} {os.sys.executable}"  # type: ignore[attr-defined]
    hook.write_text(f"#!/bin/sh\nBB_NOW={NOON} {python} -m bb sync --json > {said}\n")
    hook.chmod(0o755)
    (here.path / "x").write_text("x")
    here.git("add", "x")

    here.git("commit", "--quiet", "-m", "X")

    assert '"ok":true' in said.read_text().replace(" ", "")
    there.sync()
    assert (AMBER, "src", "active") in there.holds()


# -- two remotes


def test_two_remotes_come_to_hold_the_same(tmp_path: Path, there: Clone):
    """A fork: others publish upstream, we publish to our own, and carry things between the two."""
    hub(tmp_path / "upstream.git")
    here = cloned(there, "--branch=main")
    here.git("remote", "add", "upstream", str(tmp_path / "upstream.git"))
    other = cloned(there, "--branch=main", "--single-branch", name="other")
    other.git("remote", "set-url", "origin", str(tmp_path / "upstream.git"))
    other.ask("agent.register", name="late-heron", role="builder")
    other.ask("agent.reserve", agent="late-heron", scope=["web"], bead="bb-1")
    other.sync(publish=True)
    here.ask("agent.register", name=AMBER, role="builder")
    here.sync(publish=True, remote="origin")
    granted = here.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", **{"global": True})

    for _ in range(2):
        here.sync(publish=True, remote="upstream")
        here.sync()
        other.sync()
        there.sync()

    assert here.digest == there.digest
    assert here.lines == other.lines
    assert (AMBER, "src", "pending") in other.holds(), "it does not read the arbiter"
    found = {each["scope"]: each for each in here.ask("agent.status")["reservations"]}
    assert (found["src"]["global"], found["src"]["token"]) == (True, granted["token"]), "origin decides, and still does"
    assert set(found) == {"src", "docs", "web"}


def test_what_git_has_thrown_away_is_fetched_again(tmp_path: Path, there: Clone):
    hub(tmp_path / "other.git")
    there.git("remote", "add", "other", str(tmp_path / "other.git"))
    there.ask("agent.reserve", agent=COBALT, scope=["lib"], bead="bb-1")
    there.sync()
    there.sync(publish=True, remote="other")
    for ref in there.git("for-each-ref", "--format=%(refname)", "refs/remotes", "refs/bb").split():
        there.git("update-ref", "-d", ref)
    there.git("gc", "--quiet", "--prune=now")
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")

    assert there.sync(remote="origin")["went"] == 1
    assert there.sync(remote="other")["went"] == 1


# -- what users and administrators do


def test_pruning_and_collecting_lose_nothing_that_is_needed(tmp_path: Path, there: Clone):
    hub(tmp_path / "other.git")
    there.git("remote", "add", "other", str(tmp_path / "other.git"))
    for turn in range(3):
        there.ask("agent.reserve", agent=COBALT, scope=[f"a{turn}"], bead="bb-1")
        there.sync()
        there.sync(publish=True, remote="other")
        there.git("fetch", "--quiet", "--prune", "--all")
        there.git("reflog", "expire", "--expire=now", "--all")
        there.git("gc", "--quiet", "--prune=now")
        there.git("fsck", "--strict")

    late = clone(tmp_path / "other.git", "late")
    late.sync(pull=True)
    assert late.lines == there.lines


def test_a_mirroring_push_that_deletes_the_branch_is_found_out_and_mended(origin: Path, there: Clone):
    there.git("push", "--quiet", "--mirror", str(origin))

    assert there.refused("sync").code == "LEDGER_REWRITTEN"
    there.sync(publish=True)
    assert_travels(cloned(there, "--branch=main"), there)


OTHER_THINGS = [
    *(("remote.origin.mirror", "true"), ("push.default", "nothing"), ("push.followTags", "true")),
    *(("push.gpgSign", "true"), ("push.pushOption", "x=y"), ("push.recurseSubmodules", "on-demand")),
    *(("push.useForceIfIncludes", "true"), ("push.negotiate", "true"), ("fetch.prune", "true")),
    *(("fetch.pruneTags", "true"), ("remote.origin.tagOpt", "--tags"), ("fetch.writeCommitGraph", "true")),
    *(("fetch.fsckObjects", "false"), ("commit.gpgSign", "true"), ("core.hooksPath", "/nowhere")),
    *(("remote.origin.push", "refs/heads/*:refs/heads/*"), ("remote.origin.fetch", "+refs/*:refs/*")),
    *(("transfer.hideRefs", "refs/bb"), ("core.logAllRefUpdates", "always"), ("core.quotePath", "true")),
    *(("fetch.unpackLimit", "1"), ("fastimport.unpackLimit", "1"), ("core.fsync", "all")),
    *(("remote.pushDefault", "elsewhere"), ("color.ui", "always"), ("diff.renames", "copies")),
    *(("diff.noprefix", "true"), ("diff.orderFile", "/nowhere"), ("log.showSignature", "true")),
    *(("diff.ignoreSubmodules", "all"), ("diff.external", "/nowhere"), ("core.abbrev", "5")),
    *(("i18n.logOutputEncoding", "latin1"), ("i18n.commitEncoding", "utf-16"), ("gc.auto", "1")),
    *(("core.attributesFile", "/nowhere"), ("core.autocrlf", "true"), ("user.useConfigOnly", "true")),
    *(("protocol.version", "0"), ("protocol.version", "1"), ("fetch.negotiationAlgorithm", "skipping")),
]
BATCHES = 8  # an ordinary run tries some settings at once


@pytest.mark.parametrize(
    "settings",
    [
        *(OTHER_THINGS[at::BATCHES] for at in range(BATCHES)),
        *(pytest.param([each], marks=pytest.mark.long) for each in OTHER_THINGS),
    ],
    ids=lambda settings: " ".join(name for name, _ in settings)[:60],
)
def test_settings_for_other_things_do_not_matter(there: Clone, settings: list[tuple[str, str]]):
    here = cloned(there, "--branch=main")
    here.git("tag", "mine")
    for name, value in settings:
        here.git("config", name, value)

    assert_travels(here, there)
    assert here.git("ls-remote", "origin", "refs/tags/*") == "", "nothing of ours but the ledger was pushed"
    assert here.git("rev-parse", "mine")


def test_an_address_that_stands_for_another_is_that(there: Clone):
    here = cloned(there, "--branch=main")
    here.git("config", f"url.file://{there.path.parent}/.insteadOf", "short:")
    here.git("remote", "set-url", "origin", "short:hub.git")

    assert_travels(here, there)


def test_two_addresses_of_one_repository_are_one_remote(origin: Path, there: Clone):
    here = cloned(there, "--branch=main")
    here.git("config", "remote.origin.pushurl", f"file://{origin}")

    assert_travels(here, there)
    there.ask("agent.reserve", agent=COBALT, scope=["web"], bead="bb-1")
    there.sync()
    here.ask("agent.reserve", agent=AMBER, scope=["app"], bead="bb-1")
    assert here.sync()["went"] == 1, "somebody was faster, and that is all"


def test_a_remote_that_is_pushed_elsewhere_than_it_is_fetched_from_is_told_by_both_places(tmp_path: Path, there: Clone):
    here = cloned(there, "--branch=main")
    fork = hub(tmp_path / "fork.git")
    here.git("remote", "set-url", "--push", "origin", f"file://me:secret@localhost{fork}")
    here.ask("agent.register", name=AMBER, role="builder")

    refusal = here.refused("sync", publish=True)

    assert refusal.code == "PUSH_DENIED"
    assert str(there.path.parent / "hub.git") in refusal.message
    assert str(fork) in refusal.message
    assert "secret" not in refusal.message
    assert "git remote set-url --push origin" in str(refusal.hint)
    assert here.sync(pull=True)["came"] == 0


def decline(origin: Path, name: str, said: str) -> None:
    hook = origin / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    hook.chmod(0o755)


@pytest.mark.parametrize("hook", ["pre-receive", "update"])
def test_a_protected_branch_refuses_for_good(origin: Path, there: Clone, hook: str):
    decline(origin, hook, "GH006: Protected branch update failed for refs/heads/bb-ledger.")
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")

    started = time.monotonic()
    refusal = there.refused("sync")

    assert refusal.code == "BRANCH_PROTECTED"
    assert refusal.hint
    assert time.monotonic() - started < 20, "asking again would not help"
    assert there.sync(pull=True)["came"] == 0
    (origin / "hooks" / hook).unlink()
    assert there.sync()["went"] == 1


@pytest.mark.parametrize(
    "how", ["hidden", "checked out", "a branch below it", "objects read-only", "no fast-forward allowed but those"]
)
def test_a_hub_that_will_not_take_it_says_so_at_once(origin: Path, there: Clone, how: str):
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    git = Branch(origin).git
    if how == "hidden":
        git("config", "receive.hideRefs", "refs/heads/bb-ledger")
    elif how == "checked out":
        git("config", "core.bare", "false")
        git("symbolic-ref", "HEAD", "refs/heads/bb-ledger")
    elif how == "a branch below it":
        tip = Branch(origin).tip
        git("update-ref", "-d", "refs/heads/bb-ledger")
        git("update-ref", "refs/heads/bb-ledger/x", tip)
    elif how == "objects read-only":
        (origin / "objects").rename(origin / "kept")
        (origin / "objects").mkdir()
        shutil.copytree(origin / "kept" / "info", origin / "objects" / "info")
        (origin / "objects" / "info" / "alternates").write_text(str(origin / "kept") + "\n")
        (origin / "objects" / "pack").write_text("no folder")
    else:
        git("config", "receive.denyNonFastForwards", "true")
        git("config", "receive.denyDeletes", "true")

    started = time.monotonic()
    code = there.refused_or("sync", timeout=30)

    assert time.monotonic() - started < 20, "asking again would not help"
    assert code in {
        "no fast-forward allowed but those": [""],
        "a branch below it": ["LEDGER_REWRITTEN"],
        "objects read-only": ["PUSH_DENIED", ""],
    }.get(how, ["PUSH_DENIED"])


def test_a_hub_with_a_branch_below_ours_cannot_be_published_to(tmp_path: Path):
    here = clone(hub(tmp_path / "hub.git"), "here")
    here.git("push", "--quiet", "origin", "HEAD:refs/heads/bb-ledger/x")
    here.ask("agent.register", name=AMBER, role="builder")

    started = time.monotonic()

    assert here.refused("sync", publish=True, timeout=30).code == "PUSH_DENIED"
    assert time.monotonic() - started < 20, "asking again would not help"


def test_whoever_checks_the_ledger_out_and_edits_it_is_found_out(there: Clone):
    other = cloned(there, "--branch=bb-ledger", name="meddler")
    (path,) = other.path.glob("w/*/*/*.jsonl")
    path.write_text(path.read_text().replace("builder", "burglar"))
    other.git("commit", "--quiet", "-am", "Better")
    other.git("push", "--quiet")
    before = there.digest

    assert there.refused("sync").code == "LEDGER_REWRITTEN"
    assert there.digest == before
    other.git("push", "--quiet", "--force", "origin", "HEAD~1:bb-ledger")
    there.sync()


def test_whoever_has_the_ledger_checked_out_here_can_sync_and_keeps_his_files(there: Clone):
    there.git("fetch", "--quiet", "origin")
    there.git("checkout", "--quiet", "bb-ledger")
    (there.path / "README.md").write_text("mine")
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    at = there.git("rev-parse", "bb-ledger")

    there.sync()

    assert (there.path / "README.md").read_text() == "mine"
    assert there.git("rev-parse", "bb-ledger") == at


def test_a_copied_clone_writes_under_an_id_of_its_own(there: Clone):
    shutil.copytree(there.path, there.path.with_name("copy"), symlinks=True)
    copy = Clone(there.path.with_name("copy"))
    there.ask("agent.reserve", agent=COBALT, scope=["src"], bead="bb-1")
    copy.ask("agent.reserve", agent=COBALT, scope=["lib"], bead="bb-1")

    settle([there, copy])

    assert len(list(there.store.glob("j/*"))) == len(list(there.store.glob("received/*/"))) == 1
    assert there.digest == copy.digest


# -- nothing asks, nothing hangs


def test_no_password_is_asked_for(tmp_path: Path, there: Clone):
    asked = tmp_path / "asked"
    ask = tmp_path / "ask"
    ask.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n")
    ask.chmod(0o755)
    there.git("remote", "add", "web", "http://user@127.0.0.1:9/x.git")
    there.git("config", "core.askPass", str(ask))

    ran = there.json("sync", "--pull", "--remote", "web", GIT_ASKPASS=str(ask), SSH_ASKPASS=str(ask), DISPLAY=":0")

    assert ran.code == "OFFLINE"
    assert not asked.exists()


def fake_ssh(folder: Path, body: str) -> Path:
    path = folder / "fake-ssh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("trap", ["", "trap '' TERM INT HUP"], ids=["obedient", "stubborn"])
@pytest.mark.parametrize("by", ["setting", "environment"])
def test_a_connection_that_hangs_is_given_up_and_leaves_nothing_running(
    tmp_path: Path, there: Clone, by: str, trap: str
):
    pids = tmp_path / "pids"
    ssh = fake_ssh(tmp_path, f"{trap}\necho $$ >> {pids}\nsleep 97 & echo $! >> {pids}\nwait; sleep 97")
    there.git("remote", "add", "far", "ssh://nobody@nowhere.invalid/x.git")
    settings = {"GIT_SSH_COMMAND": str(ssh)} if by == "environment" else {}
    if not settings:
        there.git("config", "core.sshCommand", str(ssh))

    started = time.monotonic()
    ran = there.json("sync", "--pull", "--remote", "far", "--timeout", "1", **settings)

    assert ran.code == "OFFLINE"
    assert time.monotonic() - started < 20
    found = [int(pid) for pid in pids.read_text().split()]
    until(lambda: not any(map(is_running, found)), f"the end of {found}")


def test_a_connection_that_is_kept_for_the_next_time_is_not_waited_for(tmp_path: Path, there: Clone):
    """ssh with ControlPersist leaves a process behind that goes on holding the error stream it was given."""
    pids = tmp_path / "pids"
    hub = tmp_path / "hub.git"
    kept = f'(sleep 60 </dev/null >/dev/null & echo $! >> {pids})\nfor last; do :; done\nexec sh -c "$last"'
    there.git("config", "core.sshCommand", str(fake_ssh(tmp_path, kept)))
    there.git("remote", "add", "near", f"ssh://somebody@nowhere.invalid{hub}")

    started = time.monotonic()
    try:
        assert there.sync(pull=True, remote="near", timeout=30)["remote"] == "near"
        assert time.monotonic() - started < 15
    finally:
        for pid in pids.read_text().split():
            subprocess.run(["kill", pid], check=False, capture_output=True)
