"""Which commands bring changes of commits, stashes and patches, and what git is asked about them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.guards import brought_changes
from tests.examples import examples


def asked(text: str) -> list[str]:
    """The words of each question that are not the same for all of its kind."""
    same = {*brought_changes.COMMITS, *brought_changes.NAMES, *brought_changes.PATCH, "-z", "--name-only", "--"}
    found = brought_changes.find_questions(text)
    return [
        " ".join([one.words[0], *(word for word in one.words[1:] if word not in same), *one.patches]) for one in found
    ]


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("git revert HEAD", ["log HEAD"]),
        ("git revert --no-edit -n A..B", ["log A..B"]),
        ("git revert -m 1 HEAD~2", ["log HEAD~2"]),
        ("git cherry-pick -x -S a1 b2", ["log a1 b2"]),
        ("git checkout HEAD~1 -- a.py docs", ["diff HEAD~1 a.py docs"]),
        ("git checkout main a.py", ["diff main a.py"]),
        ("git restore --source=main -- a.py", ["diff main a.py"]),
        ("git restore -s main -SW a.py", ["diff main a.py"]),
        ("git merge --squash work", ["diff HEAD...work"]),
        ("git stash apply", ["diff stash@{0}^1 stash@{0}", "ls-tree -r --full-tree stash@{0}^3"]),
        ("git stash pop 2", ["diff stash@{2}^1 stash@{2}", "ls-tree -r --full-tree stash@{2}^3"]),
        ("git apply x.patch y.patch", ["apply x.patch y.patch"]),
        ("git apply -p2 --directory=lib x.patch", ["apply -p2 --directory=lib x.patch"]),
        ("git apply < x.patch", ["apply x.patch"]),
        ("cd sub && git am ../x.mbox", ["apply sub/../x.mbox"]),
        ("patch -p1 -i x.patch", ["apply -p1 x.patch"]),
        ("patch -p1 < x.patch", ["apply -p1 x.patch"]),
        ("patch --strip=0 --input=x.patch", ["apply -p0 x.patch"]),
        ("bash -c 'git revert HEAD'; ls", ["log HEAD"]),
    ],
)
def test_a_command_that_brings_changes_is_a_question_to_git(text: str, questions: list[str]):
    assert asked(text) == questions


@pytest.mark.parametrize(
    "text",
    [
        *("git revert --abort", "git cherry-pick --continue", "git am --skip", "git revert", "git revert $COMMIT"),
        *("git checkout main", "git checkout -b work main", "git checkout -- a.py", "git restore a.py"),
        *("git restore --staged --source=main a.py", "git merge work", "git stash", "git stash list"),
        *("git apply --check x.patch", "git apply --stat x.patch", "git apply --cached x.patch", "git apply *.patch"),
        *("git restore --source=--output=x a.py", "git restore -s --output=x a.py"),
        *("patch < x.patch", "patch --dry-run -p1 < x.patch", "curl example.com | git am", "echo git revert HEAD"),
        *('cd "$DIR" && git revert HEAD', "GIT_DIR=/x git revert HEAD", "git revert $(cat commit)"),
    ],
)
def test_what_brings_nothing_or_cannot_be_known_is_no_question(text: str):
    assert asked(text) == []


def test_a_patch_in_a_here_document_is_given_to_git():
    text = "cat <<A && git apply -p1 <<'B'\nnot this\nA\n--- a/x\n+++ b/x\nB\nls"
    (found,) = brought_changes.find_questions(text)

    assert (found.given, found.patches, found.command) == ("--- a/x\n+++ b/x\n", (), "git apply -p1")


@examples(100)
@given(
    st.lists(st.sampled_from(["git", "patch", "revert", "am", "-p", "-m", "--", "<", "<<X", "\n", "X", "|", "$A", "'"]))
)
def test_no_command_line_is_too_odd(words: list[str]):
    brought_changes.find_questions(" ".join(words))
