"""`bb commit`: exactly one's own lines, from files in which others have uncommitted changes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.near import near
from tests.stories.agents.agents_support import HARBOR, OTTER
from tests.stories.lines.lines_support import TWENTY, Desk, desk
from tests.support import NOON, scratch


@pytest.fixture
def work(tmp_path: Path) -> Desk:
    return desk(tmp_path / "repo")


def test_bb_commit_commits_exactly_the_callers_changes_and_foreign_hunks_stay_in_the_work_tree(work: Desk):
    """Issue 24: `bb commit` commits exactly the caller's changes; foreign hunks stay in the work tree."""
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")
    work.replaces(HARBOR, "a.py", "line 17\n", "line 17, by harbor\n")
    before = work.read("a.py")

    made = work.commits(OTTER, message="Otter's")

    assert work.committed("a.py") == TWENTY.replace("line 3\n", "line 3, by otter\n")
    assert work.read("a.py") == before, "the work tree never changes by a commit"
    assert made["commit"] == work.git("rev-parse", "HEAD").strip()
    assert [(row["path"], row["added"], row["deleted"]) for row in made["files"]] == [("a.py", 1, 1)]
    assert [row["path"] for row in made["left"]] == ["a.py"]
    assert work.git("log", "-1", "--format=%B").strip() == f"Otter's\n\nBB-Agent: {OTTER}"
    work.commits(HARBOR)
    assert work.committed("a.py") == before
    assert work.git("status", "--porcelain") == ""


def test_lines_that_touch_are_taken_apart(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "line 3\notter\n")
    work.replaces(HARBOR, "a.py", "otter\n", "otter\nharbor\n")

    work.commits(HARBOR)
    assert work.committed("a.py") == TWENTY.replace("line 3\n", "line 3\nharbor\n")
    work.commits(OTTER)
    assert work.committed("a.py") == TWENTY.replace("line 3\n", "line 3\notter\nharbor\n")


def test_a_hunk_that_contains_lines_of_two_agents_is_refused_naming_both_and_the_lines(work: Desk):
    """Issue 24: a hunk that contains lines of two agents is refused, naming both and the lines."""
    work.replaces(OTTER, "a.py", "line 3\n", "by otter\n")
    work.replaces(HARBOR, "a.py", "by otter\n", "by both\n")

    error = work.refused(OTTER, "commit", "-m", "Mine")

    assert error["code"] == "LINES_SHARED"
    assert OTTER in error["message"]
    assert HARBOR in error["message"]
    assert "a.py, lines 3 to 3" in error["message"]
    assert error["details"]["lines"] == [{"agents": [OTTER, HARBOR], "line": 3, "last_line": 3}]
    assert f"--with {HARBOR}" in error["hint"]


def test_lines_shared_are_committed_with_the_companion_and_the_message_says_so(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "by otter\n")
    work.replaces(HARBOR, "a.py", "by otter\n", "by both\n")
    work.replaces(HARBOR, "a.py", "line 17\n", "line 17, by harbor\n")

    work.commits(OTTER, "--with", HARBOR)

    assert work.committed("a.py") == TWENTY.replace("line 3\n", "by both\n")
    assert f"BB-With: {HARBOR}" in work.git("log", "-1", "--format=%(trailers)")
    assert "harbor" in work.read("a.py")


def test_only_changes_in_the_named_paths_are_committed(work: Desk):
    for name in ("src/x.py", "src/deep/y.py", "z.py"):
        work.edits(OTTER, name, f"{name}\n")

    work.commits(OTTER, "src")
    assert work.git("show", "--name-only", "--format=").split() == ["src/deep/y.py", "src/x.py"]
    work.commits(OTTER, "./z.py")
    assert work.committed("z.py") == "z.py\n"


def test_new_deleted_and_renamed_files_and_modes_are_committed(work: Desk):
    work.base(old_dot_py=TWENTY, run_dot_sh="#!/bin/sh\n", gone_dot_py="x\n")
    work.edits(OTTER, "new/a.py", "new\n")
    work.edits(OTTER, "gone.py", None)
    assert work.bb(OTTER, "edit", "begin", "run.sh", "old.py", "moved.py").status == 0
    os.chmod(work.repo.path / "run.sh", 0o755)
    os.rename(work.repo.path / "old.py", work.repo.path / "moved.py")
    assert work.bb(OTTER, "edit", "end").status == 0

    work.commits(OTTER)

    status = work.git("diff-tree", "-r", "-M", "--name-status", "--no-commit-id", "HEAD").splitlines()
    assert sorted(status) == ["A\tnew/a.py", "D\tgone.py", "M\trun.sh", "R100\told.py\tmoved.py"]
    assert "100755" in work.git("ls-tree", "HEAD", "run.sh")
    assert work.git("status", "--porcelain") == ""


def test_a_new_file_of_another_agent_is_left_out(work: Desk):
    work.edits(OTTER, "mine.py", "mine\n")
    work.edits(HARBOR, "theirs.py", "theirs\n")

    work.commits(OTTER)

    assert work.git("ls-tree", "--name-only", "HEAD").split() == ["a.py", "mine.py"]
    assert work.git("status", "--porcelain") == "?? theirs.py\n"


def test_a_binary_file_is_committed_whole(work: Desk):
    work.edits(OTTER, "picture.bin", b"\0\1\2")
    work.commits(OTTER)
    work.edits(HARBOR, "picture.bin", b"\0\1\2\3")

    assert work.refused(OTTER, "commit", "-m", "x")["code"] == "NOTHING_TO_COMMIT"
    work.commits(HARBOR)
    assert work.git("status", "--porcelain") == ""


def test_a_binary_file_that_two_agents_have_changed_is_committed_together(work: Desk):
    work.edits(OTTER, "picture.bin", b"\0\1\2")
    work.edits(HARBOR, "picture.bin", b"\0\1\2\3")

    assert work.refused(OTTER, "commit", "-m", "x")["code"] == "LINES_SHARED"
    work.commits(OTTER, "--with", HARBOR)
    assert work.git("status", "--porcelain") == ""


def test_a_link_is_committed_as_a_link(work: Desk):
    assert work.bb(OTTER, "edit", "begin", "link").status == 0
    (work.repo.path / "link").symlink_to("a.py")
    assert work.bb(OTTER, "edit", "end").status == 0

    work.commits(OTTER)

    assert work.git("ls-tree", "HEAD", "link").startswith("120000 blob ")


def test_line_ends_of_windows_are_kept_or_converted_as_git_does_it(work: Desk):
    work.edits(OTTER, "plain.txt", "a\r\nb\r\n")
    work.commits(OTTER)
    assert work.committed("plain.txt") == "a\r\nb\r\n"

    work.write(".gitattributes", "*.txt text\n")
    work.git("add", ".gitattributes")
    work.git("commit", "-qm", "Attributes")
    work.edits(OTTER, "new.txt", "a\r\nb\r\n")
    work.edits(HARBOR, "new.txt", "a\r\nb\r\nc\r\n")
    work.commits(OTTER, "new.txt")

    assert work.committed("new.txt") == "a\nb\n"
    assert work.read("new.txt") == "a\r\nb\r\nc\r\n"


def test_staged_hunks_of_others_stay_staged(work: Desk):
    """Issue 24: staged ones of others stay staged."""
    work.replaces(HARBOR, "a.py", "line 17\n", "line 17, by harbor\n")
    work.edits(HARBOR, "theirs.py", "theirs\n")
    work.git("add", "-A")
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")

    work.commits(OTTER)

    assert work.staged("theirs.py") == "theirs\n"
    assert work.staged("a.py") == work.read("a.py")
    assert work.committed("a.py") == TWENTY.replace("line 3\n", "line 3, by otter\n")
    assert work.git("diff", "--cached", "--name-only").split() == ["a.py", "theirs.py"]


def test_unattributed_changes_are_committed_only_if_they_are_named_and_a_trailer_says_so(work: Desk):
    """Issue 24: `--include-unattributed PATH` says so in a trailer."""
    work.edits(OTTER, "a.py", lambda text: text.replace("line 3\n", "line 3, by otter\n"))
    work.write("a.py", work.read("a.py").replace("line 17\n", "line 17, by nobody\n"))

    work.commits(OTTER)
    assert work.committed("a.py") == TWENTY.replace("line 3\n", "line 3, by otter\n")
    assert work.whose("a.py")[16] == []
    work.commits(OTTER, "--include-unattributed", "a.py")

    assert work.committed("a.py") == work.read("a.py")
    assert "BB-Unattributed: a.py" in work.git("log", "-1", "--format=%(trailers)")


def test_the_person_commits_what_no_agent_is_known_to_have_made(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")
    work.write("a.py", work.read("a.py").replace("line 17\n", "line 17, by a person\n"))

    made = work.commits(None)

    assert made["agent_id"] is None
    assert work.committed("a.py") == TWENTY.replace("line 17\n", "line 17, by a person\n")
    assert "BB-Agent" not in work.git("log", "-1", "--format=%B")
    assert work.whose("a.py")[2] == [OTTER]


def test_the_first_commit_of_a_repository_is_made(tmp_path: Path):
    repo = near(tmp_path / "repo", BB_NOW=NOON)
    repo.git("update-ref", "-d", "HEAD")
    for name in (OTTER, HARBOR):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    work = Desk(repo)
    work.edits(OTTER, "a.py", "x\n")
    work.edits(HARBOR, "b.py", "y\n")

    work.commits(OTTER)

    assert work.git("rev-list", "--count", "HEAD").strip() == "1"
    assert work.git("ls-tree", "--name-only", "HEAD").split() == ["a.py"]


def test_commits_work_on_a_detached_head_and_in_another_work_tree(work: Desk, tmp_path: Path):
    work.git("checkout", "-q", "--detach")
    work.replaces(OTTER, "a.py", "line 3\n", "otter\n")
    made = work.commits(OTTER)
    assert (made["branch"], work.committed("a.py")) == (None, TWENTY.replace("line 3\n", "otter\n"))

    work.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    there = tmp_path / "side"
    assert work.bb(HARBOR, "edit", "begin", "b.py", cwd=there).status == 0
    (there / "b.py").write_text("y\n")
    assert work.bb(HARBOR, "edit", "end", cwd=there).status == 0
    assert work.bb(HARBOR, "commit", "-m", "There", cwd=there).status == 0
    assert work.git("show", "side:b.py") == "y\n"
    assert work.ask(None, "diff")["files"] == []


def test_a_commit_after_a_merge_of_another_s_work_has_only_one_s_own(work: Desk):
    """Issue 24: works with rebases and merges of others in between."""
    work.git("checkout", "-q", "-b", "other")
    work.write("a.py", TWENTY.replace("line 10\n", "line 10, merged\n"))
    work.git("commit", "-qam", "Other")
    work.git("checkout", "-q", "main")
    work.edits(OTTER, "b.py", "otter\n")
    work.git("merge", "-q", "--no-ff", "-m", "Merge", "other")
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")

    work.commits(OTTER)

    assert work.committed("a.py") == TWENTY.replace("line 10\n", "line 10, merged\n").replace(
        "line 3\n", "line 3, by otter\n"
    )
    assert sorted(work.git("show", "--name-only", "--format=").split()) == ["a.py", "b.py"]


# -- hooks of the repository


def hook(work: Desk, name: str, script: str) -> None:
    path = work.repo.path / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_hook_sees_the_tree_of_the_commit_and_not_the_half_done_work_of_others(work: Desk):
    """Issue 24: hooks run as git runs them, on a tree checked out aside."""
    hook(work, "pre-commit", 'cat a.py > "$OUT"; git diff --cached --name-only >> "$OUT"')
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")
    work.replaces(HARBOR, "a.py", "line 17\n", "half-done\n")
    out = work.repo.path.parent / "seen"

    assert work.bb(OTTER, "commit", "-m", "Mine", OUT=str(out)).status == 0

    assert out.read_text() == TWENTY.replace("line 3\n", "line 3, by otter\n") + "a.py\n"


def test_a_hook_that_refuses_stops_the_commit_and_what_it_printed_is_told(work: Desk):
    hook(work, "pre-commit", "echo 'dates are wrong' >&2; exit 3")
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")

    error = work.refused(OTTER, "commit", "-m", "Mine")

    assert error["code"] == "HOOK_FAILED"
    assert error["details"] == {"hook": "pre-commit", "output": "dates are wrong"}
    assert work.whose("a.py")[2] == [OTTER]


def test_a_hook_may_change_files_of_the_commit_and_the_answer_says_so(work: Desk):
    hook(work, "pre-commit", "echo formatted >> a.py; git add a.py")
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")
    before = work.read("a.py")

    made = work.commits(OTTER)

    assert made["changed_by_hooks"] == ["a.py"]
    assert work.committed("a.py").endswith("formatted\n")
    assert work.read("a.py") == before


def test_hooks_may_change_and_refuse_the_message(work: Desk):
    hook(work, "prepare-commit-msg", "sed -i 's/^/[dates] /;q' \"$1\"")
    hook(work, "commit-msg", '! grep -q bad "$1"')
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")

    assert work.refused(OTTER, "commit", "-m", "bad")["details"]["hook"] == "commit-msg"
    work.commits(OTTER, message="good")
    assert work.git("log", "-1", "--format=%s").strip() == "[dates] good"


def test_the_hook_after_a_commit_runs_and_its_failure_changes_nothing(work: Desk):
    hook(work, "post-commit", 'git rev-parse HEAD > "$OUT"; exit 9')
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")
    out = work.repo.path.parent / "seen"

    assert work.bb(OTTER, "commit", "-m", "Mine", OUT=str(out)).status == 0

    assert out.read_text() == work.git("rev-parse", "HEAD")


def test_a_commit_that_comes_first_is_no_conflict(work: Desk):
    """Issue 24: compare-and-swap on the branch, again on a moved HEAD. The hook makes the branch move once."""
    hook(
        work,
        "pre-commit",
        'test -e "$ONCE" || { : > "$ONCE"; unset GIT_INDEX_FILE GIT_WORK_TREE; cd "$REPO"; '
        'git update-ref HEAD "$(git commit-tree -p HEAD -m First "HEAD^{tree}")"; }',
    )
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")
    identity = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    done = work.bb(
        OTTER, "commit", "-m", "Second", ONCE=str(work.repo.path.parent / "once"), REPO=str(work.repo.path), **identity
    )

    assert done.status == 0, done.err
    assert work.git("log", "--format=%s", "-3").split("\n")[:3] == ["Second", "First", "Base"]
    assert work.committed("a.py") == TWENTY.replace("line 3\n", "line 3, by otter\n")


def test_commits_are_signed_where_git_would_sign_them(work: Desk, tmp_path: Path):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for name, value in {"gpg.format": "ssh", "user.signingKey": str(key), "commit.gpgSign": "true"}.items():
        work.git("config", name, value)
    work.replaces(OTTER, "a.py", "line 3\n", "line 3, by otter\n")

    work.commits(OTTER)

    assert "-----BEGIN SSH SIGNATURE-----" in work.git("cat-file", "commit", "HEAD")


# -- bad input


def test_what_cannot_be_committed_is_refused_and_the_hint_says_what_to_do(work: Desk):
    for words, code in [
        (["commit"], "NO_MESSAGE"),
        (["commit", "-m", ""], "NO_MESSAGE"),
        (["commit", "-m", " \n"], "NO_MESSAGE"),
        (["commit", "-m", "x"], "NOTHING_TO_COMMIT"),
        (["commit", "-m", "x", "a.py"], "NOTHING_TO_COMMIT"),
        (["commit", "-m", "x", "missing.py"], "FILE_NOT_FOUND"),
        (["commit", "-m", "x", "../outside.py"], "SCOPE_OUTSIDE"),
        (["commit", "-m", "x", "--include-unattributed", "missing.py"], "FILE_NOT_FOUND"),
        (["commit", "-m", "x", "--with", "never-was"], "NOTHING_TO_COMMIT"),
    ]:
        error = work.refused(OTTER, *words)
        assert error["code"] == code, words
        assert error["hint"], words


def test_nothing_of_one_s_own_names_whose_the_changes_are(work: Desk):
    work.replaces(HARBOR, "a.py", "line 3\n", "line 3, by harbor\n")
    assert HARBOR in work.refused(OTTER, "commit", "-m", "x", "a.py")["hint"]

    work.write("b.py", "by nobody\n")
    error = work.refused(OTTER, "commit", "-m", "x", "b.py")
    assert (error["code"], error["hint"]) == ("NOTHING_TO_COMMIT", "if they are yours: `bb mine b.py`")


def test_an_included_file_must_be_in_the_paths(work: Desk):
    work.write("b.py", "by nobody\n")
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")

    assert work.refused(OTTER, "commit", "-m", "x", "a.py", "--include-unattributed", "b.py")["code"] == "INVALID_VALUE"


def test_a_submodule_is_left_alone(work: Desk, tmp_path: Path):
    """Issue 24: submodules left alone."""
    inner = scratch(tmp_path / "inner")
    work.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "lib")
    work.git("commit", "-qm", "Library")
    work.git("-C", "lib", "commit", "-q", "--allow-empty", "-m", "More")
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")

    assert work.refused(OTTER, "edit", "begin", "lib")["code"] == "NOT_A_FILE"
    work.commits(OTTER)
    assert work.git("show", "--name-only", "--format=").split() == ["a.py"]
    assert work.git("status", "--porcelain").split() == ["M", "lib"]


def test_in_the_middle_of_a_merge_git_is_to_finish_it(work: Desk):
    work.git("checkout", "-q", "-b", "other")
    work.write("a.py", TWENTY.replace("line 3\n", "theirs\n"))
    work.git("commit", "-qam", "Theirs")
    work.git("checkout", "-q", "main")
    work.write("a.py", TWENTY.replace("line 3\n", "ours\n"))
    work.git("commit", "-qam", "Ours")
    work.edits(OTTER, "b.py", "x\n")
    assert work.by_hand("merge", "other").status == 1

    assert work.refused(OTTER, "commit", "-m", "x")["code"] == "GIT_OPERATION_IN_PROGRESS"


def test_without_an_identity_git_s_own_refusal_is_told(work: Desk):
    work.git("config", "--unset", "user.name")
    work.git("config", "--unset", "user.email")
    work.git("config", "user.useConfigOnly", "true")
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")

    error = work.refused(OTTER, "commit", "-m", "x")

    assert error["code"] == "NO_GIT_IDENTITY"
    assert "git config user.email" in error["hint"]


def test_a_paused_a_retired_and_an_unknown_agent_commit_nothing(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")
    assert work.bb(None, "agent", "pause", OTTER).status == 0
    assert work.refused(OTTER, "commit", "-m", "x")["code"] == "AGENT_PAUSED"
    assert work.bb(None, "agent", "unpause", OTTER).status == 0
    assert work.bb(OTTER, "agent", "retire").status == 0
    assert work.refused(OTTER, "commit", "-m", "x")["code"] == "AGENT_RETIRED"
    assert work.refused("never-was", "commit", "-m", "x")["code"] == "AGENT_NOT_FOUND"


def test_a_path_that_another_agent_holds_for_itself_is_not_committed(work: Desk):
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")
    assert work.bb(HARBOR, "reserve", "a.py", "--exclusive").status == 0

    assert work.refused(OTTER, "commit", "-m", "x")["code"] == "PATH_HELD"


def test_a_bare_repository_has_no_lines(work: Desk):
    work.git("clone", "-q", "--bare", ".", "../bare.git")
    bare = work.repo.path.parent / "bare.git"

    for words in (["diff"], ["blame", "a.py"], ["commit", "-m", "x"], ["edit", "begin", "a.py"]):
        ran = work.bb(OTTER, *words, "--json", cwd=bare)
        assert ran.code in ("NO_WORK_TREE", "NOT_INITIALIZED", "AGENT_NOT_FOUND"), ran


def test_a_file_whose_name_is_not_utf_8_is_committed(work: Desk):
    name = os.fsdecode(b"caf\xe9.py")
    work.write(name, "x\n")

    assert [row["change"] for row in work.ask(OTTER, "diff")["files"]] == ["new"]
    work.commits(None, ".")
    assert work.git("ls-tree", "--name-only", "HEAD").splitlines()[1] == '"caf\\351.py"'
    assert work.git("status", "--porcelain") == ""


def test_a_file_that_git_ignores_is_not_committed_unless_it_is_named(work: Desk):
    work.base(_dot_gitignore=".env\n")
    work.edits(OTTER, ".env", "SECRET=1\n")
    work.edits(OTTER, "b.py", "x\n")

    work.commits(OTTER)

    assert work.git("show", "--name-only", "--format=").split() == ["b.py"]


def test_a_file_behind_a_link_to_a_folder_is_committed_under_its_own_name(work: Desk):
    (work.repo.path / "real").mkdir()
    (work.repo.path / "link").symlink_to("real")
    assert work.bb(OTTER, "edit", "begin", "link/x.py").status == 0
    work.write("real/x.py", "x\n")
    assert work.bb(OTTER, "edit", "end").status == 0

    work.commits(OTTER)

    assert work.git("show", "--name-only", "--format=").split() == ["real/x.py"]


def test_a_mode_that_another_agent_has_changed_is_left_out(work: Desk):
    assert work.bb(HARBOR, "edit", "begin", "a.py").status == 0
    os.chmod(work.repo.path / "a.py", 0o755)
    assert work.bb(HARBOR, "edit", "end").status == 0
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")

    work.commits(OTTER)
    assert work.git("ls-tree", "HEAD", "a.py").startswith("100644 ")
    work.commits(HARBOR)
    assert work.git("ls-tree", "HEAD", "a.py").startswith("100755 ")


def test_lines_that_were_deleted_before_another_agent_deleted_the_file_are_committed_first(work: Desk):
    work.edits(OTTER, "a.py", lambda text: text.replace("line 3\n", ""))
    work.edits(HARBOR, "a.py", None)

    work.commits(OTTER)
    assert work.committed("a.py") == TWENTY.replace("line 3\n", "")
    work.commits(HARBOR)
    assert work.git("ls-tree", "--name-only", "HEAD") == ""


def test_a_lock_of_git_s_index_is_waited_for_and_then_named(work: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.ledger.git.real_index.PATIENCE", 0.05)
    work.replaces(OTTER, "a.py", "line 3\n", "x\n")
    lock = work.repo.path / ".git" / "index.lock"
    lock.touch()

    error = work.bb(OTTER, "commit", "-m", "x", "--json").envelope["error"]

    assert error["code"] == "INDEX_BUSY"
    assert lock.exists()
    assert work.git("log", "-1", "--format=%s") == "Base\n"
    lock.unlink()
    work.commits(OTTER)


def test_without_a_ledger_nothing_is_kept_and_bb_init_is_named(tmp_path: Path):
    repo = near(tmp_path / "repo", BB_NOW=NOON)
    (repo.path / "a.py").write_text("x\n")

    for words in (["diff"], ["blame", "a.py"], ["commit", "-m", "x"]):
        ran = repo.bb(*words, "--json")
        assert ran.code == "NOT_INITIALIZED", words
    assert not repo.store.exists()
