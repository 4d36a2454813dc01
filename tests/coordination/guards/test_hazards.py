"""Which git commands may hurt others, and when they do."""

from __future__ import annotations

import pytest

from bb.coordination.guards import hazards
from bb.coordination.guards.hazards import Change, Circumstances, Hazard

ME, OTHER = "amber-otter", "cobalt-harbor"
MINE, THEIRS, NOBODYS = Change("a.py", ME, True), Change("b.py", OTHER, True), Change("c.py", None, True)


def only(text: str) -> Hazard:
    (found,) = hazards.find_hazards(text)
    return found


def kinds(text: str) -> list[str]:
    return [hazard.kind for hazard in hazards.find_hazards(text)]


HAZARDS = {
    "stash": [
        "git stash",
        "git stash -u",
        "git stash push -m x -- a.py",
        "git stash pop",
        "git stash drop stash@{1}",
        "git stash clear",
        "git stash save x",
        "git -C . stash",
        "git -c user.name=x stash",
        "git --no-pager stash pop",
        "bash -lc 'git stash'",
    ],
    "push": [
        "git push --force",
        "git push -f origin main",
        "git push origin +main",
        "git push -uf origin x",
        "git push --mirror",
        "git push --force-with-lease --force",
    ],
    "discard": [
        "git reset --hard",
        "git reset --hard HEAD~1",
        "git reset -q --merge",
        "git checkout -f",
        "git checkout -f main",
        "git checkout .",
        "git checkout -- a.py",
        "git checkout HEAD -- a.py",
        "git checkout a.py",
        "git restore .",
        "git restore a.py",
        "git restore -s HEAD --staged --worktree a.py",
        "git switch -f main",
        "git switch --discard-changes main",
    ],
    "clean": ["git clean -f", "git clean -fdx", "git clean -d --force", "git clean -e x -f src", "git clean -ffd"],
    "autostash": ["git rebase main", "git rebase -i HEAD~2", "git pull --rebase --autostash", "git rebase --autostash"],
    "gather": [
        "git add -A",
        "git add .",
        "git add --all",
        "git add -u",
        "git add src a.py",
        "git stage .",
        "git commit -a -m x",
        "git commit -am 'a b'",
        "git commit --all",
        "git commit -m x -- a.py",
        "git commit --amend -a --no-edit",
    ],
    "worktree": ["git worktree remove ../x", "git worktree remove --force ../x", "git worktree move ../x ../y"],
    "branch": ["git branch -D x", "git branch --delete --force x", "git branch -d x", "git branch -M main"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in HAZARDS.items() for text in texts])
def test_a_hazard_is_known_for_what_it_is(kind: str, text: str):
    assert kinds(text) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        *("git status", "git diff", "git log --all", "git", "git --version", "git -C", "git help stash", "digit stash"),
        *("git stash list", "git stash show -p", "git stash apply", "git stash create"),
        *("git reset", "git reset HEAD a.py", "git reset --soft HEAD~1", "git clean -n", "git clean -nfd", "git clean"),
        *("git push", "git push origin main", "git push --force-with-lease", "git push -n -f", "git push -o f x"),
        *("git checkout -b x", "git checkout -b x origin/y", "git checkout", "git switch main", "git switch -c x"),
        *("git restore --staged a.py", "git restore -S .", "git add", "git add -n .", "git commit", "git commit -m -a"),
        *("git commit -m 'add -A'", "git commit --amend --no-edit", "git commit -F file -q", "git commit -C HEAD"),
        *(
            "git worktree list",
            "git worktree add ../x",
            "git worktree prune",
            "git worktree",
            "git branch",
            "git branch x",
        ),
        *("git branch -r -d origin/x", "git branch -m old new", "git rebase --continue", "git rebase --abort"),
        *("git pull", "git pull --rebase", "git -c alias.x=stash x", "echo git stash", "git log --grep='git stash'"),
    ],
)
def test_what_is_no_hazard_is_left_alone(text: str):
    assert kinds(text) == []


def test_several_hazards_in_a_line_are_all_found_with_where_they_happen():
    found = hazards.find_hazards("cd sub && git add -A && git commit -am x; git -C ../other push -f; (git stash)")

    assert [(each.kind, each.directory) for each in found] == [
        ("gather", "sub"),
        ("gather", "sub"),
        ("push", "sub/../other"),
        ("stash", "sub"),
    ]
    assert hazards.find_hazards("git --git-dir=/x stash")[0].directory is None


def test_paths_are_those_that_stand_where_paths_do():
    assert only("git checkout main -- a.py b.py").paths == ("a.py", "b.py")
    assert only("git checkout main a.py").paths == ("main", "a.py")
    assert only("git commit -m 'x y' a.py -- b.py").paths == ("a.py", "b.py")
    assert only("git clean -f").paths == (".",)
    assert only("git add -A").paths == only("git reset --hard").paths == hazards.WHOLE
    assert only("git worktree remove -f ../x").paths == ("../x",)


def why(text: str, *changes: Change, others: tuple[str, ...] = (OTHER,), **more: object) -> str | None:
    return hazards.refusal_reason(only(text), Circumstances(ME, others, changes, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [texts[0] for texts in HAZARDS.values()])
def test_alone_everything_passes(text: str):
    assert why(text, MINE, NOBODYS, others=(), checked_out=None) is None


@pytest.mark.parametrize("text", ["git stash", "git push -f"])
def test_what_all_worktrees_share_is_left_alone_while_others_are_at_work(text: str):
    assert f"other active agents here: {OTHER}." in (why(text) or "")
    assert "Instead: " in (why(text) or "")


@pytest.mark.parametrize(
    "text", ["git reset --hard", "git checkout .", "git clean -fd", "git rebase --autostash", "git restore ."]
)
def test_what_sweeps_over_everything_spares_what_is_not_ones_own(text: str):
    assert why(text) is None
    assert why(text, MINE) is None
    assert f"b.py, held by {OTHER}" in (why(text, MINE, THEIRS, NOBODYS) or "")
    assert "c.py, which you do not hold" in (why(text, MINE, NOBODYS) or "")
    assert why(text, MINE, NOBODYS, others=()) is None
    assert THEIRS.path in (why(text, THEIRS, others=()) or ""), "held is held, whoever is at work"


@pytest.mark.parametrize("text", ["git restore c.py", "git add -A", "git commit -am x", "git rebase main"])
def test_what_names_its_files_or_keeps_them_is_only_kept_from_what_others_hold(text: str):
    assert why(text, MINE, NOBODYS) is None
    assert f"held by {OTHER}" in (why(text, MINE, THEIRS) or "")


def test_ignored_files_may_be_what_others_build_with():
    assert "ignored files" in (why("git clean -fdx") or "")
    assert why("git clean -fdx", others=()) is None
    assert why("git clean -fd") is None


def test_a_worktree_that_somebody_works_in_stays():
    assert why("git worktree remove ../x") is None
    assert f"would remove the worktree of {OTHER}" in (why("git worktree remove ../x", sitting=(OTHER,)) or "")
    assert "would delete in that worktree" in (why("git worktree remove -f ../x", NOBODYS) or "")


def test_a_branch_that_is_checked_out_elsewhere_stays():
    assert why("git branch -D x") is None
    assert "checked out in /trees/x" in (why("git branch -D x", checked_out="/trees/x") or "")


def test_a_refusal_names_few_and_counts_the_rest():
    many = [Change(f"f{number}.py", OTHER, True) for number in range(9)]

    assert "f0.py, f1.py, f2.py and 6 more, held by cobalt-harbor" in (why("git add -A", *many) or "")
