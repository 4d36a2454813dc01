"""Commits for which git runs no pre-commit hook: a revert, a cherry-pick, `git am`, `--no-verify`. None is without a
trace: the trailer, and an incursion of which the holder is told; `git am` is refused as a commit is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.guards.guards_support import HARBOR, OTTER, git, history, well, write
from tests.support import Ran, Scratch

AS_HARBOR, AS_OTTER = {"BB_AGENT": HARBOR}, {"BB_AGENT": OTTER}
HELD, FREE = "src/parser/a.py", "lib/x.py"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """OTTER holds src/parser. A person has made a commit there, one elsewhere, and one of each kind on a branch."""
    made = history(tmp_path / "repo")
    assert made.bb("hooks", "install").status == 0
    well(git(made, "checkout", "--quiet", "-b", "side"))
    change(made, HELD, "side\n")
    change(made, FREE, "side\n")
    well(git(made, "checkout", "--quiet", "main"))
    change(made, HELD, "a person's\n")
    change(made, FREE, "a person's\n")
    return made


def change(repo: Scratch, path: str, text: str, *words: str, **settings: str) -> Ran:
    write(repo, path, text)
    well(git(repo, "add", path))
    return git(repo, "commit", "--quiet", "-m", f"Change {path}", *words, **settings)


def message(repo: Scratch) -> str:
    return repo.git("log", "-1", "--format=%B").rstrip("\n")


def incursions(repo: Scratch) -> list[tuple[str, str, str]]:
    """The incoming agent, the holder and the path of each incursion."""
    rows = repo.json("protocol", "incursions").data
    return [(row["from_agent"], row["to_agent"], row["scope"]) for row in rows]


def told(repo: Scratch, agent: str) -> str:
    return repo.bb("inbox", "--agent", agent).out


def test_a_revert_of_a_held_file_is_signed_recorded_and_the_holder_is_told(repo: Scratch):
    ran = well(git(repo, "revert", "--no-edit", "HEAD~1", **AS_HARBOR))

    assert message(repo).endswith(f"\n\nBB-Agent: {HARBOR}")
    assert "made without bb's check" in ran.err
    assert f"{HELD}, which {OTTER} holds" in ran.err
    assert incursions(repo) == [(HARBOR, OTTER, HELD)]
    assert HELD in told(repo, OTTER)


@pytest.mark.parametrize(
    "words", [["cherry-pick", "side~1"], ["commit", "--no-verify", "-m", "x"], ["commit", "-nm", "x"]]
)
def test_what_skips_the_check_is_recorded(repo: Scratch, words: list[str]):
    if words[0] == "commit":
        write(repo, HELD, "mine\n")
        well(git(repo, "add", HELD))
    else:
        well(git(repo, "reset", "--quiet", "--hard", "HEAD~2"))
    ran = well(git(repo, *words, **AS_HARBOR))

    assert f"{HELD}, which {OTTER} holds" in ran.err
    assert incursions(repo) == [(HARBOR, OTTER, HELD)]


def test_what_touches_nothing_of_others_says_nothing_and_neither_does_a_person(repo: Scratch):
    for words in (["revert", "--no-edit", "HEAD"], ["commit", "--allow-empty", "-nm", "x"]):
        assert "bb:" not in well(git(repo, *words, **AS_HARBOR)).err
    assert "bb:" not in well(git(repo, "revert", "--no-edit", "HEAD~3")).err
    assert "bb:" not in well(git(repo, "revert", "--no-edit", "HEAD", **AS_OTTER)).err, "the holder"
    assert incursions(repo) == []


def test_a_commit_that_was_judged_is_not_looked_at_again(repo: Scratch):
    ran = well(change(repo, HELD, "agreed\n", BB_OVERRIDE="agreed by mail", **AS_HARBOR))

    assert "without bb's check" not in ran.err
    assert not (repo.path / ".git/bb-judged").exists()
    well(change(repo, FREE, "mine\n", **AS_HARBOR))
    assert change(repo, HELD, "again\n", **AS_HARBOR).status == 1
    assert not (repo.path / ".git/bb-judged").exists()


def test_a_repeated_commit_of_the_holder_is_no_incursion(repo: Scratch):
    well(git(repo, "checkout", "--quiet", "side"))
    well(change(repo, HELD, "the holder's\n", **AS_OTTER))
    well(git(repo, "checkout", "--quiet", "-B", "main", "side~2"))

    assert "bb:" not in well(git(repo, "cherry-pick", "-X", "theirs", "side", **AS_HARBOR)).err

    assert message(repo).endswith(f"BB-Agent: {OTTER}")
    assert incursions(repo) == []


def test_a_mailed_patch_is_judged_as_a_commit_and_signed(repo: Scratch, tmp_path: Path):
    for number in (0, 1):
        patch = tmp_path / f"{number}.patch"
        patch.write_text(repo.git("format-patch", "-1", "--stdout", f"HEAD~{number}"))
    well(git(repo, "reset", "--quiet", "--hard", "HEAD~2"))

    well(git(repo, "am", str(tmp_path / "0.patch"), **AS_HARBOR))
    assert message(repo) == f"Change {FREE}\n\nBB-Agent: {HARBOR}"
    refused = git(repo, "am", str(tmp_path / "1.patch"), **AS_HARBOR)

    assert refused.status != 0
    assert f"[PATH_HELD] {OTTER} holds src/parser" in refused.err
    well(git(repo, "am", "--abort", **AS_HARBOR))
    assert message(repo).startswith(f"Change {FREE}")
    well(git(repo, "am", str(tmp_path / "1.patch")))
    assert message(repo) == f"Change {HELD}", "a person is not stopped"
    assert incursions(repo) == []


@pytest.mark.parametrize("how", ["--merge", "--apply"])
def test_a_rebase_repeats_commits_and_adds_nothing(repo: Scratch, how: str):
    well(git(repo, "checkout", "--quiet", "-b", "other", "side~2"))
    change(repo, "docs/guide.md", "mine\n")

    ran = well(git(repo, "rebase", "--quiet", how, "main", **AS_HARBOR))

    assert message(repo) == "Change docs/guide.md"
    assert "bb:" not in ran.err
    assert incursions(repo) == []


def test_a_message_that_is_written_in_an_editor_is_signed_too(repo: Scratch, tmp_path: Path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i '1s/^/Typed/' \"$1\"\n")
    editor.chmod(0o755)
    write(repo, FREE, "mine\n")
    well(git(repo, "add", FREE))

    well(git(repo, "commit", "-v", GIT_EDITOR=str(editor), **AS_HARBOR))
    assert message(repo) == f"Typed\n\nBB-Agent: {HARBOR}"

    write(repo, FREE, "more\n")
    aborted = git(repo, "commit", "-av", GIT_EDITOR="true", **AS_HARBOR)
    assert "empty commit message" in aborted.err, "an empty message still stops the commit"


def test_a_merge_without_conflicts_is_nobodys_edit(repo: Scratch):
    well(git(repo, "reset", "--quiet", "--hard", "HEAD~2"))
    change(repo, "docs/guide.md", "mine\n")

    ran = well(git(repo, "merge", "--no-edit", "side", **AS_HARBOR))

    assert "bb:" not in ran.err
    assert message(repo).endswith(f"BB-Agent: {HARBOR}")
    assert incursions(repo) == []


def test_a_first_commit_that_skips_the_check_is_recorded_too(tmp_path: Path):
    made = history(tmp_path / "repo")
    assert made.bb("hooks", "install").status == 0
    well(git(made, "checkout", "--quiet", "--orphan", "new"))

    ran = well(git(made, "commit", "--quiet", "--no-verify", "-m", "All of it", **AS_HARBOR))

    assert f"which {OTTER} holds" in ran.err
    assert {(one, owner) for one, owner, _ in incursions(made)} == {(HARBOR, OTTER)}
