"""`bb ci check` on histories as they come: linear, merged, renamed, rewritten, forked, cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.near import Near
from tests.stories.ci.ci_support import HARBOR, OTTER, Project, project, reserve, told
from tests.support import Scratch, scratch

LEX = "src/parser/lex.py"


@pytest.fixture
def work(tmp_path: Path) -> Project:
    """OTTER has held src/parser since noon; it is ten past, and the ledger is published."""
    made = project(tmp_path)
    made.publish()
    return made


def pushed(work: Project) -> Scratch:
    work.push("work")
    return work.checkout("checkout")


def test_an_agent_that_changed_what_another_holds_is_stopped_and_told_who_holds_it(work: Project):
    work.commit(HARBOR, {LEX: "2\n", "docs/a.md": "A\n"})

    ran = work.check(pushed(work))

    assert (ran.status, ran.code) == (7, "CI_INCURSION")
    (found,) = ran.envelope["error"]["details"]["findings"]
    assert (found["path"], found["held_by"], found["agent_id"], found["scope"]) == (LEX, OTTER, HARBOR, "src/parser")
    assert found["commits"] == [work.head()]


def test_the_holder_and_who_touches_nothing_of_it_pass(work: Project):
    work.commit(OTTER, {LEX: "2\n"})
    work.commit(HARBOR, {"docs/a.md": "A\n"})

    ran = work.check(pushed(work))

    assert ran.data["findings"] == []
    assert (ran.data["commits"], ran.data["paths"]) == (2, 2)


def test_the_answer_says_which_ledger_it_went_by_and_how_old_that_is(work: Project):
    tip = work.at(3).publish()
    ran = work.check(pushed(work.at(10)))

    ledger = ran.data["ledger"]
    assert (ledger["kind"], ledger["remote"], ledger["tip"]) == ("published", "origin", tip)
    assert (ledger["generation"], ledger["age_seconds"]) == (1, 420), "counted, whatever the message says"
    assert ran.data["clock_trust"] == "low"


def test_a_person_is_told_and_not_stopped_unless_strict(work: Project):
    work.commit(None, {LEX: "2\n"})
    ci = pushed(work)

    assert told(work.check(ci)) == [("warning", "held-then", LEX)]
    assert work.check(ci).status == 0
    assert work.check(ci, "--strict").code == "CI_INCURSION"
    assert work.check(ci, "--agent", HARBOR).code == "CI_INCURSION"
    assert work.check(ci, "--agent", OTTER).data["findings"] == []


def test_what_was_given_back_before_the_commit_is_free(work: Project):
    work.repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018
    work.at(20).publish()
    work.commit(HARBOR, {LEX: "2\n"})

    assert work.check(pushed(work)).data["findings"] == []


def test_what_was_held_then_counts_when_it_has_been_given_back(work: Project):
    work.commit(HARBOR, {LEX: "2\n"})
    work.at(20).repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018
    work.publish()

    assert told(work.check(pushed(work))) == [("error", "held-then", LEX)]


def test_what_somebody_took_up_later_is_held_now(work: Project):
    reserve(work.repo, HARBOR, "docs").data  # noqa: B018
    work.commit(OTTER, {"tests/a.py": "1\n"})
    reserve(work.at(20).repo, HARBOR, "tests").data  # noqa: B018
    work.publish()

    assert told(work.check(pushed(work))) == [("error", "held-now", "tests/a.py")]


def test_a_deletion_and_both_sides_of_a_renaming_are_changes(work: Project):
    work.repo.git("mv", LEX, "docs/lex.py")
    work.committed(HARBOR)

    assert told(work.check(pushed(work))) == [("error", "held-then", LEX)]

    work.repo.git("reset", "--quiet", "--hard", "origin/main")
    work.repo.git("mv", "docs/index.md", "src/parser/index.md")
    work.committed(HARBOR)
    work.push("work")

    assert told(work.check(work.checkout("again"))) == [("error", "held-then", "src/parser/index.md")]


def test_what_was_changed_and_changed_back_was_touched(work: Project):
    work.commit(HARBOR, {LEX: "2\n"})
    work.commit(HARBOR, {LEX: "1\n"})

    (found,) = work.check(pushed(work)).envelope["error"]["details"]["findings"]

    assert (found["path"], len(found["commits"])) == (LEX, 2)


def test_a_merge_is_judged_by_what_it_changes_itself(work: Project):
    """The holder's own work comes in by the merge; who merges has not touched it."""
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.repo.git("checkout", "--quiet", "-b", "other", "origin/main")
    work.commit(OTTER, {LEX: "2\n"})
    work.repo.git("checkout", "--quiet", "work")
    work.git("merge", "--quiet", "--no-ff", "-m", f"Merge\n\nBB-Agent: {HARBOR}", "other")
    ci = pushed(work)

    assert work.check(ci).data["findings"] == []
    assert work.check(ci).data["commits"] == 3


def test_a_merge_that_changes_more_than_it_brings_together_is_stopped(work: Project):
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.repo.git("checkout", "--quiet", "-b", "other", "origin/main")
    work.commit(OTTER, {LEX: "2\n", "src/parser/b.py": "1\n"})
    work.repo.git("checkout", "--quiet", "work")
    work.git("merge", "--quiet", "--no-ff", "--no-commit", "other")
    work.commit(HARBOR, {LEX: "3\n"})

    assert told(work.check(pushed(work))) == [("error", "held-then", LEX)]


def test_merging_the_base_brings_nothing_of_the_base_into_the_verdict(work: Project):
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.repo.git("checkout", "--quiet", "main")
    work.commit(OTTER, {LEX: "2\n"})
    work.push("main")
    work.repo.git("checkout", "--quiet", "work")
    work.git("merge", "--quiet", "--no-ff", "-m", f"Merge\n\nBB-Agent: {HARBOR}", "main")
    ci = pushed(work)

    assert work.check(ci).data["findings"] == []
    assert work.check(ci).data["commits"] == 2


def test_what_the_base_has_gained_since_is_not_the_changes_doing(work: Project):
    """The common ancestor is compared, as pull requests do, and not the base's tip."""
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.push("work")
    work.repo.git("checkout", "--quiet", "main")
    work.commit(OTTER, {LEX: "2\n"})
    work.push("main")
    ci = work.checkout("checkout")

    ran = work.check(ci)

    assert (ran.data["commits"], ran.data["findings"]) == (1, [])
    assert ran.data["merge_base"] != ran.data["base"]


def test_nothing_new_is_nothing_to_judge(work: Project):
    ran = work.check(pushed(work), base="HEAD")

    assert (ran.data["commits"], ran.data["paths"], ran.data["findings"]) == (0, 0, [])


def test_a_rebase_keeps_when_it_was_written(work: Project):
    """HARBOR wrote it while it held docs, which OTTER has taken up since."""
    reserve(work.repo, HARBOR, "docs").data  # noqa: B018
    work.at(20).repo.json("agent", "release", "--agent", HARBOR, "--all").data  # noqa: B018
    reserve(work.at(30).repo, OTTER, "docs").data  # noqa: B018
    work.publish()
    work.commit(HARBOR, {"docs/a.md": "A\n"}, written=15)

    assert told(work.check(pushed(work))) == [("warning", "held-then", "docs/a.md")]


def test_who_leaves_what_it_declared_is_stopped(work: Project):
    reserve(work.repo, HARBOR, "docs/**/*.md").data  # noqa: B018
    work.publish()
    work.commit(HARBOR, {"docs/a.md": "A\n", "docs/a.py": "1\n"})
    ci = pushed(work)

    assert work.check(ci).data["findings"] == []
    ran = work.check(ci, "--declared")
    assert (ran.status, ran.code) == (7, "OUTSIDE_DECLARED")
    assert told(ran) == [("error", "outside-declared", "docs/a.py")]
    assert work.check(ci, "--scope", "docs").data["findings"] == []


def test_a_scope_that_was_declared_by_word_must_be_one(work: Project):
    ci = pushed(work)

    assert work.check(ci, "--scope", "../x").code == "SCOPE_OUTSIDE"
    assert work.check(ci, "--scope", "a{b,c}").code == "INVALID_SCOPE"


def test_a_link_that_the_change_brings_does_not_widen_what_was_declared(work: Project):
    work.repo.git("rm", "--quiet", "-r", "docs")
    (work.repo.path / "docs").symlink_to("src")
    work.commit(HARBOR, {"src/a.py": "1\n"})

    found = told(work.check(pushed(work), "--scope", "docs"))

    assert ("error", "outside-declared", "src/a.py") in found


def test_two_authors_of_one_commit_are_told_of_and_the_last_one_counts(work: Project):
    work.commit(HARBOR, {LEX: "2\n"}, f"BB-Agent: {OTTER}")

    found = told(work.check(pushed(work)))

    assert found == [("error", "held-then", LEX), ("warning", "unclear-author", None)]


@pytest.mark.parametrize("message", ["Change\n\nSo\nBB-Agent: cobalt-harbor", "BB-Agent: cobalt-harbor"])
def test_only_a_trailer_says_who_the_author_is(work: Project, message: str):
    work.commit(None, {LEX: "2\n"})
    work.git("commit", "--quiet", "--amend", "-m", message)

    assert told(work.check(pushed(work))) == [("warning", "held-then", LEX)]


def test_a_message_full_of_separators_says_no_more_than_any_other(work: Project):
    work.commit(None, {LEX: "2\n"})
    message = f"x\n\nBB-Agent: {OTTER}\x1eBB-Agent: {OTTER}\n  commit 1234\n 1 2\nBB-Agent: {HARBOR}"
    work.git("commit", "--quiet", "--amend", "-m", message)

    found = told(work.check(pushed(work)))

    assert ("error", "held-then", LEX) in found


ODD = [
    'a"b\\c.py',
    "a\nb.py",
    "a\tb.py",
    "::error::x.py",
    "a b,c:d%e.py",
    "ünïcödé.py",
    "-rf.py",
    "[slug].py",
    "\x1b[31m.py",
    "*.py",
]


def test_odd_names_are_names(work: Project):
    work.commit(HARBOR, {f"src/parser/{name}": "1\n" for name in ODD})
    ci = pushed(work)

    assert sorted(path for _, _, path in told(work.check(ci))) == sorted(f"src/parser/{name}" for name in ODD)
    for form in ("text", "github", "sarif", "junit"):
        out = ci.bb("ci", "check", "--base", "origin/main", "--format", form).out
        assert all(line.isprintable() for line in out.splitlines()), form


def test_a_name_that_is_no_text_is_held_like_any_other(work: Project):
    raw = work.repo.path / "src" / "parser"
    with open(bytes(raw) + b"/caf\xe9.py", "w") as file:
        file.write("1\n")
    work.repo.git("add", "--all")
    work.committed(HARBOR)
    ci = pushed(work)

    (found,) = told(work.check(ci))

    assert found[:2] == ("error", "held-then")
    assert "caf%E9.py" in ci.bb("ci", "check", "--base", "origin/main", "--format", "sarif").out


def test_a_submodule_is_a_path(work: Project):
    work.repo.git("update-index", "--add", "--cacheinfo", f"160000,{work.head()},src/parser/sub")
    work.committed(HARBOR)

    assert told(work.check(pushed(work))) == [("error", "held-then", "src/parser/sub")]


# -- .bbignore


def test_what_the_base_ignores_is_not_judged_and_what_the_change_wants_ignored_is(work: Project):
    """The base says what is ignored: a change must not be able to excuse itself."""
    work.commit(HARBOR, {LEX: "2\n", ".bbignore": "*.py\n"})
    assert told(work.check(pushed(work))) == [("error", "held-then", LEX)]

    work.repo.git("checkout", "--quiet", "main")
    work.commit(None, {".bbignore": "*.py\n!keep.py\n"})
    work.push("main")
    work.repo.git("checkout", "--quiet", "work")
    work.repo.git("reset", "--quiet", "--hard", "main")
    work.commit(HARBOR, {LEX: "2\n", "src/parser/keep.py": "1\n", ".bbignore": "\n"})
    work.push("work")
    ran = work.check(work.checkout("again"))

    assert told(ran) == [("error", "held-then", "src/parser/keep.py")]
    assert ran.envelope["error"]["details"]["ignored_paths"] == 1


# -- what is not there


@pytest.mark.parametrize("depth", [1, 2])
def test_a_checkout_that_is_too_shallow_is_refused_if_nothing_may_be_fetched(work: Project, depth: int):
    for text in "234":
        work.commit(HARBOR, {LEX: text})
    work.push("work")
    ci = work.checkout("checkout", f"--depth={depth}", "--no-single-branch")
    ci.json("init").data  # noqa: B018

    ran = work.check(ci, "--local")

    assert (ran.status, ran.code) == (4, "HISTORY_CUT")
    assert "fetch-depth: 0" in ran.envelope["error"]["hint"]


def test_a_shallow_checkout_without_the_base_is_told_how_to_mend_it(work: Project):
    work.commit(HARBOR, {LEX: "2\n"})
    work.push("work")
    ci = work.checkout("checkout", "--depth=1")
    ci.json("init").data  # noqa: B018

    ran = work.check(ci, "--local", base=work.head("origin/main"))

    assert (ran.status, ran.code) == (3, "REVISION_NOT_FOUND")
    assert "fetch-depth: 0" in ran.envelope["error"]["hint"]


def test_a_shallow_checkout_that_is_deep_enough_is_judged(work: Project):
    work.commit(HARBOR, {"docs/a.md": "A\n"})
    work.commit(HARBOR, {LEX: "2\n"})
    work.push("work")
    ci = work.checkout("checkout", "--depth=2")

    assert told(work.check(ci, base="HEAD^")) == [("error", "held-then", LEX)]
    assert work.check(ci, base="HEAD^^").envelope["error"]["details"]["commits"] == 2


def test_a_deepened_checkout_is_judged(work: Project):
    for text in "234":
        work.commit(HARBOR, {LEX: text})
    work.push("work")
    ci = work.checkout("checkout", "--depth=1", "--no-single-branch")
    ci.git("fetch", "--quiet", "--deepen=3")

    assert told(work.check(ci)) == [("error", "held-then", LEX)]


def test_contents_of_files_are_not_needed(work: Project):
    """In a blobless checkout no contents come later either: what they were fetched from is gone."""
    work.commit(HARBOR, {LEX: "2\n"})
    work.repo.git("mv", "docs/index.md", "docs/first.md")
    work.committed(HARBOR)
    ledger = work.repo.path.parent / "ledger.git"
    work.push("work")
    ci = work.checkout("checkout", "--filter=blob:none", "--no-checkout")
    ci.git("clone", "--quiet", "--bare", work.url, str(ledger))
    ci.git("config", "remote.origin.url", "file:///nowhere")

    ran = work.check(ci, "--remote", f"file://{ledger}")

    assert told(ran) == [("error", "held-then", LEX)]
    assert "?" in ci.git("rev-list", "--objects", "--all", "--missing=print")


def test_a_checkout_without_trees_is_refused_and_not_fetched_for_tree_by_tree(work: Project):
    work.commit(HARBOR, {LEX: "2\n"})
    work.push("work")
    ci = work.checkout("checkout", "--filter=tree:0", "--no-checkout")
    ci.git("config", "remote.origin.url", "file:///nowhere")

    ran = work.check(ci, "--remote", work.url)

    assert (ran.status, ran.code) == (4, "GIT_FAILED")


def test_a_fork_is_judged_by_the_ledger_of_the_repository_it_came_from(work: Project):
    fork = work.repo.path.parent / "fork.git"
    work.repo.git("clone", "--quiet", "--bare", "--single-branch", "--branch=main", work.url, str(fork))
    work.commit(HARBOR, {LEX: "2\n"})
    work.repo.git("push", "--quiet", str(fork), "work")
    ci = Near(work.repo.path.parent / "checkout", dict(work.repo.settings))
    work.repo.git("clone", "--quiet", "--branch=work", f"file://{fork}", str(ci.path))

    assert work.check(ci).data["ledger"]["kind"] == "none"
    assert told(work.check(ci, "--remote", work.url)) == [("error", "held-then", LEX)]
    ci.git("remote", "add", "upstream", work.url)
    assert told(work.check(ci, "--remote", "upstream")) == [("error", "held-then", LEX)]


def test_histories_that_have_nothing_in_common_are_refused(work: Project):
    work.repo.git("checkout", "--quiet", "--orphan", "work2")
    work.commit(HARBOR, {LEX: "2\n"})

    ran = work.check()

    assert (ran.status, ran.code) == (4, "BASE_UNRELATED")


@pytest.mark.parametrize("name", ["nowhere", "0" * 40, "HEAD^{tree}", "--all", "-n1"])
def test_what_is_no_commit_is_refused(work: Project, name: str):
    assert (ran := work.repo.json("ci", "check", f"--base={name}")).code == "REVISION_NOT_FOUND", ran.out


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("HEAD~50", "name a commit; `git log --oneline HEAD` lists those that HEAD has"),
        ("main^{tree}", "name a commit; `git log --oneline main` lists those that main has"),
        ("0" * 40, "it stands for no commit, as for a new branch"),
        ("1" * 40, f"fetch it: `git fetch origin {'1' * 40}`"),
        ("1a2b3c4", "if it is the beginning of an id, fetch the branches: `git fetch origin`"),
        ("nowhere", "fetch it: `git fetch origin nowhere`; `git ls-remote origin` lists"),
        ("origin/nowhere~3", "fetch it: `git fetch origin nowhere`; `git ls-remote origin` lists"),
        ("it's", "fetch it: `git fetch origin 'it'\\''s'`; "),
        ("--all", "name a commit, for example"),
    ],
)
def test_a_name_of_no_commit_is_answered_with_what_can_help(work: Project, name: str, hint: str):
    error = work.repo.json("ci", "check", f"--base={name}").envelope["error"]

    assert error["hint"].startswith(hint)


def test_without_a_remote_or_a_commit_no_fetch_is_proposed(tmp_path: Path):
    scratch(tmp_path / "alone", commit=False)
    repo = Near(tmp_path / "alone")
    repo.json("init").data  # noqa: B018

    unborn = repo.json("ci", "check", "--local", "--base", "HEAD~1").envelope["error"]
    unknown = repo.json("ci", "check", "--local", "--base", "nowhere").envelope["error"]

    assert unborn["hint"] == "no commit is checked out here: `git switch BRANCH` checks out a branch"
    assert unknown["hint"].startswith("this clone has no remote to fetch it from")


@pytest.mark.parametrize("name", ["", " ", "a\nHEAD"])
def test_what_cannot_name_a_commit_is_refused(work: Project, name: str):
    assert work.repo.json("ci", "check", f"--base={name}").code == "INVALID_REVISION"


def test_outside_of_any_repository_there_is_nothing_to_judge(tmp_path: Path):
    assert Near(tmp_path).json("ci", "check", "--base", "main").code == "NOT_A_REPOSITORY"


def test_a_bare_repository_is_judged_like_any_other(work: Project):
    work.commit(HARBOR, {LEX: "2\n"})
    work.push("work")

    ran = work.check(work.hub, "--head", "work", "--remote", work.url, base="main")

    assert told(ran) == [("error", "held-then", LEX)]


def test_a_worktree_is_judged_by_its_own_head(work: Project):
    side = work.repo.path.parent / "side"
    work.repo.git("worktree", "add", "--quiet", "-b", "side", str(side), "origin/main")
    here = Project(Near(side, work.repo.settings), work.hub, 10)
    here.commit(HARBOR, {LEX: "2\n"})

    assert told(work.check(Near(side, work.repo.settings))) == [("error", "held-then", LEX)]
    assert work.check().data["findings"] == []
