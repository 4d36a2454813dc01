"""A commit that an agent makes says so: `BB-Agent: cobalt-harbor`, once, in its message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.guards.guards_support import HARBOR, OTTER, git, history, well, write
from tests.support import Scratch

AS_HARBOR = {"BB_AGENT": HARBOR}
SIGNED = f"BB-Agent: {HARBOR}"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = history(tmp_path / "repo")
    assert made.bb("hooks", "install").status == 0
    return made


def commit(repo: Scratch, *words: str, text: str = "changed\n", **settings: str) -> str:
    """The message of a commit that changes lib/x.py."""
    write(repo, "lib/x.py", text)
    repo.git("add", "lib")
    well(git(repo, "commit", *words, **settings))
    return message(repo)


def message(repo: Scratch) -> str:
    return repo.git("log", "-1", "--format=%B").rstrip("\n")


def test_an_agents_commit_is_signed_and_a_persons_is_not(repo: Scratch):
    assert commit(repo, "-m", "One", **AS_HARBOR) == f"One\n\n{SIGNED}"
    assert commit(repo, "-m", "Two", text="2") == "Two"
    assert commit(repo, "-m", "Three", text="3", BB_AGENT="user") == "Three"


def test_a_commit_in_the_shell_of_a_session_is_its_agents(repo: Scratch):
    shell = {"CODEX_THREAD_ID": "one"}
    repo.json("agent", "register", "--name", "quiet-heron", "--role", "builder", **shell).data  # noqa: B018

    assert commit(repo, "-m", "One", **shell) == "One\n\nBB-Agent: quiet-heron"
    assert commit(repo, "-m", "Two", text="2", CODEX_THREAD_ID="of nobody") == "Two"
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", "src")
    assert "PATH_HELD" in git(repo, "commit", "-m", "Three", **shell).err
    assert message(repo) == "Two"
    assert well(git(repo, "commit", "-m", "Three")).status == 0, "a person is warned and not stopped"


def test_the_trailer_joins_those_that_are_there(repo: Scratch):
    found = commit(repo, "-m", "One", "-m", "Why.\n---\nMore.", "-m", "Fixes: #1", "--signoff", **AS_HARBOR)

    assert found == f"One\n\nWhy.\n---\nMore.\n\nFixes: #1\nSigned-off-by: Tester <tester@example.invalid>\n{SIGNED}"


def test_amending_does_not_sign_twice_and_leaves_another_agents_name(repo: Scratch):
    commit(repo, "-m", "One", **AS_HARBOR)

    assert commit(repo, "--amend", "--no-edit", text="2", **AS_HARBOR) == f"One\n\n{SIGNED}"
    assert commit(repo, "--amend", "--no-edit", text="3", BB_AGENT=OTTER) == f"One\n\n{SIGNED}"
    assert commit(repo, "-C", "HEAD", text="4", **AS_HARBOR) == f"One\n\n{SIGNED}"


def test_the_diff_and_the_comments_of_an_editor_are_not_in_its_way(repo: Scratch):
    repo.git("config", "core.commentChar", ";")
    commit(repo, "-m", "One", "-m", "# not a comment here")

    found = commit(repo, "--amend", "-v", text="2", **AS_HARBOR)

    assert found == f"One\n\n# not a comment here\n\n{SIGNED}"


def test_a_merge_and_a_squash_are_signed(repo: Scratch):
    for name in ("side", "other"):
        well(git(repo, "checkout", "--quiet", "-b", name))
        write(repo, f"docs/{name}.md", "new\n")
        repo.git("add", ".")
        well(git(repo, "commit", "--quiet", "-m", name))
        well(git(repo, "checkout", "--quiet", "main"))

    well(git(repo, "merge", "--quiet", "--no-ff", "--no-edit", "side", **AS_HARBOR))
    assert message(repo) == f"Merge branch 'side'\n\n{SIGNED}"
    well(git(repo, "merge", "--quiet", "--squash", "other"))
    well(git(repo, "commit", "--no-edit", **AS_HARBOR))

    assert message(repo).endswith(SIGNED)


def test_what_is_made_again_stays_its_authors(repo: Scratch):
    well(git(repo, "checkout", "--quiet", "-b", "side"))
    commit(repo, "-m", "A person's", text="theirs\n")
    well(git(repo, "checkout", "--quiet", "main"))
    write(repo, "docs/new.md", "new\n")
    repo.git("add", ".")
    well(git(repo, "commit", "--quiet", "-m", "Docs"))

    well(git(repo, "cherry-pick", "side", **AS_HARBOR))
    assert message(repo) == "A person's"
    well(git(repo, "reset", "--hard", "HEAD~1"))
    well(git(repo, "checkout", "--quiet", "side"))
    well(git(repo, "rebase", "--quiet", "main", **AS_HARBOR))
    assert message(repo) == "A person's"
    well(git(repo, "revert", "--no-edit", "HEAD", **AS_HARBOR))
    assert message(repo).endswith(SIGNED), "a revert is a change of the agent's own"


@pytest.mark.parametrize("agent", ["dusty-wren", "../x", "--help", "x\ny"])
def test_a_name_that_nobody_registered_signs_nothing(repo: Scratch, agent: str):
    write(repo, "lib/x.py", "changed\n")
    repo.git("add", "lib")

    well(git(repo, "commit", "--no-verify", "-m", "One", BB_AGENT=agent))

    assert message(repo) == "One"


def test_an_empty_message_stays_empty_so_that_git_refuses_it(repo: Scratch):
    write(repo, "lib/x.py", "changed\n")
    repo.git("add", "lib")

    for words in (["-m", ""], []):
        assert "empty commit message" in git(repo, "commit", *words, **AS_HARBOR).err


def test_a_trailer_that_cannot_be_added_keeps_nobody_from_committing(repo: Scratch):
    (repo.store / "clone.json").write_text('{"format": 99}')

    write(repo, "lib/x.py", "changed\n")
    repo.git("add", "lib")
    made = well(git(repo, "commit", "--no-verify", "-m", "One", **AS_HARBOR))

    assert message(repo) == "One"
    assert "no trailer added to the message" in made.err


def test_a_linked_worktree_signs_too(repo: Scratch, tmp_path: Path):
    side = tmp_path / "side"
    repo.git("worktree", "add", "--quiet", "-b", "side", str(side))
    write(repo, "lib/x.py", "changed\n", cwd=side)

    well(git(repo, "commit", "-a", "-m", "One", cwd=side, **AS_HARBOR))

    assert repo.git("log", "-1", "--format=%B", "side").rstrip() == f"One\n\n{SIGNED}"
