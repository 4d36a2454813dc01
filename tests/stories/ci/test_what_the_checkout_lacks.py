"""What a checkout does not have is fetched beside it: history, bases, and what git needs to repeat a merge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.ci.ci_support import HARBOR, OTTER, Project, project, told
from tests.stories.ci.test_which_ledger import everything

LEX = "src/parser/lex.py"
TEXT = "".join(f"{number}\n" for number in range(30))


@pytest.fixture
def work(tmp_path: Path) -> Project:
    """OTTER holds src/parser. HARBOR has made three commits, and the second changes what OTTER holds."""
    made = project(tmp_path)
    made.publish()
    made.commit(HARBOR, {"docs/a.md": "A\n"})
    made.commit(HARBOR, {LEX: "2\n"})
    made.commit(HARBOR, {"docs/b.md": "B\n"})
    made.push("work")
    return made


FOUND = [("error", "held-then", LEX)]


@pytest.mark.parametrize("base", ["origin/main", "main", "refs/heads/main", "refs/remotes/origin/main", "work~3"])
def test_a_checkout_of_depth_1_gets_its_verdict_and_stays_as_it_is(work: Project, base: str, tmp_path: Path):
    ci = work.checkout("checkout", "--depth=1")
    (tmp_path / "temporary").mkdir()
    before = everything(ci)

    ran = ci.json("ci", "check", "--base", base, TMPDIR=str(tmp_path / "temporary"))

    assert told(ran) == FOUND, ran.out
    assert ran.envelope["error"]["details"]["commits"] == 3
    assert everything(ci) == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_pull_request_is_judged_in_a_checkout_of_its_merge(work: Project):
    """actions/checkout makes a checkout of depth 1 of refs/pull/7/merge: neither base nor head are in it."""
    head, base = work.head("work"), work.head("origin/main")
    work.repo.git("checkout", "--quiet", "--detach", "origin/main")
    work.git("merge", "--quiet", "--no-ff", "-m", "Merge", "work")
    work.repo.git("push", "--quiet", "origin", "HEAD:refs/pull/7/merge")
    ci = work.checkout("checkout", "--depth=1", branch="main")
    ci.git("fetch", "--quiet", "--depth=1", "origin", "+refs/pull/7/merge:refs/remotes/pull/7/merge")
    ci.git("checkout", "--quiet", "--detach", "refs/remotes/pull/7/merge")

    assert told(work.check(ci, "--head", head, base=base)) == FOUND
    assert told(work.check(ci)) == FOUND
    assert told(work.check(ci, "--head", "refs/pull/7/merge", base=base)) == FOUND
    assert told(work.check(ci, base="HEAD^1")) == FOUND


def test_a_long_history_is_fetched_step_by_step(work: Project):
    for number in range(60):
        work.git("commit", "--quiet", "--allow-empty", "-m", f"Step {number}")
    work.push("work")

    ran = work.check(work.checkout("checkout", "--depth=1"), base="main")

    assert told(ran) == FOUND
    assert ran.envelope["error"]["details"]["commits"] == 63


def test_commits_that_were_made_in_the_checkout_are_judged_too(work: Project):
    work.repo.git("checkout", "--quiet", "-B", "other", "origin/main")
    work.commit(HARBOR, {"docs/c.md": "C\n"})
    work.push("other")
    ci = work.checkout("checkout", "--depth=1", branch="other")
    here = Project(ci, work.hub, 10)
    here.commit(HARBOR, {LEX: "3\n"})

    assert told(work.check(ci, base="main")) == FOUND


def test_the_rules_for_signatures_come_from_the_base_also_in_a_checkout_of_depth_1(work: Project):
    """The change must not be able to take effect by leaving the base's file out of the checkout."""
    work.repo.git("checkout", "--quiet", "main")
    work.commit(None, {".bb/allowed_signers": "this is no key\n", ".bbignore": "*.py\n"})
    work.push("main")
    work.repo.git("checkout", "--quiet", "-B", "work")
    work.commit(HARBOR, {".bb/allowed_signers": "# nothing\n", ".bbignore": "", LEX: "3\n"})
    work.push("work")

    for options in (("--depth=1",), ("--filter=blob:none",), ("--depth=1", "--filter=blob:none")):
        ci = work.checkout("-".join(("checkout", *options)).replace("=", "-").replace(":", "-"), *options)
        before = everything(ci)
        found = {rule for _, rule, _ in told(work.check(ci, base="main"))}
        assert found == {"signers-file", "unverified-lines"}, options
        assert everything(ci) == before


def test_what_is_not_at_the_remote_either_is_refused(work: Project):
    ci = work.checkout("checkout", "--depth=1")

    assert work.check(ci, base="nowhere").code == "REVISION_NOT_FOUND"
    assert work.check(ci, base="0" * 40).code == "REVISION_NOT_FOUND"
    missing = work.check(ci, base="1" * 40)
    assert missing.code == "REVISION_NOT_FOUND"
    assert "cannot be fetched" in missing.envelope["error"]["message"]
    assert work.check(ci, "--local", base="main").code in ("REVISION_NOT_FOUND", "NOT_INITIALIZED")


def test_what_is_before_the_first_commit_is_refused_by_the_name_that_was_given(work: Project):
    ci = work.checkout("checkout", "--depth=1")
    ci.json("init").data  # noqa: B018

    deepened = work.check(ci, base="HEAD~50").envelope["error"]
    not_deepened = work.check(ci, "--local", base="HEAD~50").envelope["error"]

    assert "'HEAD~50' is not a commit" in deepened["message"]
    assert deepened["hint"] == "name a commit; `git log --oneline HEAD` lists those that HEAD has"
    assert "fetch-depth: 0" in not_deepened["hint"]


def test_a_remote_that_is_away_leaves_the_refusal_and_says_why(work: Project):
    ci = work.checkout("checkout", "--depth=1", "--no-single-branch")
    ci.git("config", "remote.origin.url", "https://user:hunter2@127.0.0.1:1/x.git")

    ran = work.check(ci, "--remote", work.url)

    assert (ran.status, ran.code) == (4, "HISTORY_CUT")
    assert "cannot be fetched" in ran.envelope["error"]["message"]
    assert "fetch-depth: 0" in ran.envelope["error"]["hint"]
    assert "hunter2" not in ran.out


def test_a_base_that_another_clone_pushed_later_is_found_by_its_name(work: Project):
    """The checkout of one branch does not know of the other one."""
    work.repo.git("checkout", "--quiet", "-B", "release", "origin/main")
    work.commit(OTTER, {"docs/r.md": "R\n"})
    work.push("release")
    ci = work.checkout("checkout", "--single-branch")

    assert told(work.check(ci, base="release")) == FOUND


# -- merges


def merged(work: Project, *options: str) -> None:
    """HARBOR merges OTTER's change of one end of a file into its own of the other end."""
    work.repo.git("checkout", "--quiet", "-B", "base", "origin/main")
    work.commit(OTTER, {LEX: TEXT})
    work.repo.git("push", "--quiet", "--force", "origin", "HEAD:main")
    work.repo.git("fetch", "--quiet", "origin")
    work.repo.git("checkout", "--quiet", "-B", "theirs")
    work.commit(OTTER, {LEX: TEXT + "end\n"})
    work.repo.git("checkout", "--quiet", "-B", "work", "base")
    work.commit(OTTER, {LEX: "start\n" + TEXT})
    work.git("merge", "--quiet", "--no-ff", *options, "-m", f"Merge\n\nBB-Agent: {HARBOR}", "theirs")


@pytest.mark.parametrize("options", [(), ("--depth=1",), ("--filter=blob:none",), ("--depth=1", "--filter=blob:none")])
def test_a_merge_that_git_would_make_the_same_way_is_nobodys_edit(work: Project, options: tuple[str, ...]):
    merged(work)
    work.push("work")
    ci = work.checkout("checkout", *options)
    before = everything(ci)

    ran = work.check(ci)

    assert (ran.status, told(ran)) == (0, [])
    assert everything(ci) == before


def test_a_merge_with_an_edit_of_its_own_is_stopped(work: Project):
    merged(work)
    (work.repo.path / LEX).write_text("start\n" + TEXT + "end, and more\n")
    work.repo.git("add", "--all")
    work.git("commit", "--quiet", "--amend", "--no-edit")
    work.push("work")

    assert told(work.check(work.checkout("checkout"))) == FOUND


def test_a_conflict_that_was_resolved_is_an_edit(work: Project):
    work.repo.git("checkout", "--quiet", "-B", "theirs", "origin/main")
    work.commit(OTTER, {LEX: "theirs\n"})
    work.repo.git("checkout", "--quiet", "-B", "work", "origin/main")
    work.commit(OTTER, {LEX: "ours\n"})
    work.git("merge", "--quiet", "--no-ff", "-s", "ours", "--no-commit", "theirs")
    work.commit(HARBOR, {LEX: "both\n"})
    work.push("work")

    assert told(work.check(work.checkout("checkout"))) == FOUND


def test_with_an_older_git_a_merge_is_judged_by_its_paths(work: Project, monkeypatch: pytest.MonkeyPatch):
    from bb.ledger.git.program import Done
    from bb.ledger.travel.code_copy import CodeCopy

    merged(work)
    ask = CodeCopy.ask
    refused = Done(129, b"", "usage: git merge-tree <base-tree> <branch1> <branch2>")
    monkeypatch.setattr(
        CodeCopy, "ask", lambda self, words, *a, **k: refused if "merge-tree" in words else ask(self, words, *a, **k)
    )
    work.push("work")

    assert told(work.check(work.checkout("checkout"))) == FOUND


def test_a_change_that_touches_nothing_of_others_makes_no_copy(work: Project, monkeypatch: pytest.MonkeyPatch):
    from bb.ledger.travel.code_copy import CodeCopy

    work.repo.git("reset", "--quiet", "--hard", "origin/main")
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.git("merge", "--quiet", "--no-ff", "-m", "Merge", "origin/main")
    monkeypatch.setattr(CodeCopy, "ask", lambda *_, **__: pytest.fail("a copy was used"))

    assert work.check().data["findings"] == []
