"""Throw-away trees, with real git: what they contain, and that nothing that happens in them gets out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from bb.ledger.git import place as places
from bb.ledger.git.place import NoWorkTree
from bb.ledger.git.program import GitFailed
from bb.ledger.lines import throwaway_tree, tree_places
from bb.ledger.lines.throwaway_tree import ThrowawayTree
from tests.support import ROOT, Scratch, environment, scratch

DAY = 86_400


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = scratch(tmp_path / "parser")
    write(made, {"src/read.py": "one\ntwo\n", "run.sh": "#!/bin/sh\necho ran\n", "README": "Read me.\n"})
    os.chmod(made.path / "run.sh", 0o755)
    (made.path / "link").symlink_to("src/read.py")
    commit(made)
    return made


def write(repo: Scratch, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = repo.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def commit(repo: Scratch) -> None:
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "-m", "More")


def home(repo: Scratch) -> Path:
    return repo.path.parent / "home"


@contextmanager
def a_tree(
    repo: Scratch, revision: str = "HEAD", *, with_ignored: bool = True, at: Path | None = None
) -> Iterator[ThrowawayTree]:
    env = environment(BB_HOME=str(home(repo)))
    tree = repo.git("rev-parse", f"{revision}^{{tree}}").strip()
    with throwaway_tree.throwaway_tree(
        places.find(str(at or repo.path), {}), tree, env, with_ignored=with_ignored
    ) as made:
        yield made


def files(tree: ThrowawayTree | Path) -> set[str]:
    """The files of a tree, except for git's own."""
    top = Path(tree.folder) if isinstance(tree, ThrowawayTree) else tree
    found = {path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_symlink() or not path.is_dir()}
    return {path for path in found if path != ".git" and not path.startswith(".git/")}


def git(tree: ThrowawayTree, *words: str) -> str:
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=tree.folder, env=environment(), check=True, capture_output=True, text=True
    )
    return done.stdout


def state(repo: Scratch) -> tuple[str, str, str, dict[str, bytes]]:
    """What a command in a tree must not change: refs, index and files of the repository."""
    contents = {name: (repo.path / name).read_bytes() for name in sorted(files(repo.path))}
    return repo.git("for-each-ref"), repo.git("ls-files", "--stage"), repo.git("status", "--porcelain"), contents


# -- what is in a tree


def test_a_tree_has_the_files_of_the_tree_object_and_not_those_of_the_work_tree(repo: Scratch):
    write(repo, {"src/read.py": "half-done", "src/new.py": "half-done"})

    with a_tree(repo) as tree:
        assert files(tree) == {"README", "link", "run.sh", "src/read.py"}
        assert Path(tree.folder, "src/read.py").read_text() == "one\ntwo\n"


def test_links_and_executable_files_are_as_in_the_commit(repo: Scratch):
    with a_tree(repo) as tree:
        assert os.readlink(Path(tree.folder, "link")) == "src/read.py"
        assert os.access(Path(tree.folder, "run.sh"), os.X_OK)
        assert not os.access(Path(tree.folder, "README"), os.X_OK)


def test_line_ends_and_filters_are_those_of_the_repository(repo: Scratch):
    write(repo, {".gitattributes": "*.txt eol=crlf\n*.up filter=up\n", "a.txt": "a\nb\n", "b.up": "quiet\n"})
    repo.git("config", "filter.up.smudge", "tr a-z A-Z")
    repo.git("config", "filter.up.clean", "tr A-Z a-z")
    commit(repo)

    with a_tree(repo) as tree:
        assert Path(tree.folder, "a.txt").read_bytes() == b"a\r\nb\r\n"
        assert Path(tree.folder, "b.up").read_text() == "QUIET\n"
        assert git(tree, "status", "--porcelain") == ""


def test_line_ends_that_change_without_the_file_are_noticed(repo: Scratch):
    write(repo, {"a.txt": "a\n"})
    commit(repo)
    with a_tree(repo) as tree:
        assert Path(tree.folder, "a.txt").read_bytes() == b"a\n"
    write(repo, {".gitattributes": "*.txt eol=crlf\n"})
    commit(repo)

    with a_tree(repo) as tree:
        assert Path(tree.folder, "a.txt").read_bytes() == b"a\r\n"

    (repo.path / ".git" / "info").mkdir(exist_ok=True)
    (repo.path / ".git" / "info" / "attributes").write_text("*.txt eol=lf\n")
    with a_tree(repo) as tree:
        assert Path(tree.folder, "a.txt").read_bytes() == b"a\n"


def test_a_submodule_is_an_empty_folder(repo: Scratch, tmp_path: Path):
    other = scratch(tmp_path / "other")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "vendored")
    commit(repo)

    for _ in range(2):
        with a_tree(repo) as tree:
            assert os.listdir(Path(tree.folder, "vendored")) == []
            Path(tree.folder, "vendored", "left").write_text("by a command")


def test_a_linked_worktree_has_its_own_trees(repo: Scratch):
    linked = repo.path.parent / "linked"
    repo.git("worktree", "add", "--quiet", "-b", "topic", str(linked))
    with a_tree(repo) as main, a_tree(repo, "topic", at=linked) as other:
        assert files(main) == files(other)
        assert git(other, "branch", "--show-current") == "topic\n"
        assert git(main, "branch", "--show-current") == "main\n"


def test_a_sparse_work_tree_has_sparse_trees(repo: Scratch):
    write(repo, {"docs/guide.md": "guide"})
    commit(repo)
    repo.git("sparse-checkout", "set", "src")

    with a_tree(repo) as tree:
        assert "src/read.py" in files(tree)
        assert "docs/guide.md" not in files(tree)
        assert git(tree, "status", "--porcelain") == ""


def test_a_bare_repository_has_no_trees(repo: Scratch, tmp_path: Path):
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    with pytest.raises(NoWorkTree.error), a_tree(repo, at=tmp_path / "bare.git"):
        pass


def test_a_tree_that_does_not_exist_is_refused_and_leaves_the_place_free(repo: Scratch):
    place = places.find(str(repo.path), {})
    env = environment(BB_HOME=str(home(repo)))
    for _ in range(2):
        with pytest.raises(GitFailed), throwaway_tree.throwaway_tree(place, "0" * 40, env):
            pass
    with a_tree(repo) as tree:
        assert "/1/work/" in tree.folder


def test_odd_names_of_folders_are_no_obstacle(tmp_path: Path):
    repo = scratch(tmp_path / 'a "b" \\c #d $e\u00e9')
    write(repo, {"src/read.py": "one"})
    commit(repo)
    with a_tree(repo) as tree:
        assert files(tree) == {"src/read.py"}
        assert git(tree, "status", "--porcelain") == ""


# -- ignored files


@pytest.fixture
def ignoring(repo: Scratch) -> Scratch:
    write(
        repo,
        {
            ".gitignore": "node_modules/\n.env\n__pycache__/\nbuild/\n*.log\nnew/\n",
            "packages/app/index.js": "1",
        },
    )
    commit(repo)
    write(
        repo,
        {
            "node_modules/left/index.js": "left",
            "packages/app/node_modules/pad/index.js": "pad",
            ".env": "TOKEN=secret",
            "src/__pycache__/read.pyc": "half-done",
            "build/out.js": "half-done",
            "run.log": "noise",
        },
    )
    return repo


def test_installed_packages_and_settings_are_there_and_what_was_made_from_sources_is_not(ignoring: Scratch):
    with a_tree(ignoring) as tree:
        top = Path(tree.folder)
        assert (top / "node_modules/left/index.js").read_text() == "left"
        assert (top / "packages/app/node_modules/pad/index.js").read_text() == "pad"
        assert (top / ".env").read_text() == "TOKEN=secret"
        assert not any((top / name).exists() for name in ("src/__pycache__", "build", "run.log"))
        assert git(tree, "status", "--porcelain") == ""


def test_a_clean_tree_has_no_ignored_files(ignoring: Scratch):
    with a_tree(ignoring):
        pass
    with a_tree(ignoring, with_ignored=False) as tree:
        assert not any(Path(tree.folder, name).exists() for name in ("node_modules", ".env"))


def test_a_copied_file_can_be_written_and_does_not_stay(ignoring: Scratch):
    with a_tree(ignoring) as tree:
        copy = Path(tree.folder, ".env")
        copy.write_text("TOKEN=other")
    assert not copy.exists()
    assert (ignoring.path / ".env").read_text() == "TOKEN=secret"
    assert (ignoring.path / "node_modules/left/index.js").exists()


def test_removing_a_link_does_not_follow_a_link_that_a_command_made(ignoring: Scratch):
    with a_tree(ignoring) as tree:
        app = Path(tree.folder, "packages/app")
        (app / "node_modules").unlink()
        (app / "index.js").unlink()
        app.rmdir()
        app.symlink_to(ignoring.path / "packages/app")
    assert (ignoring.path / "packages/app/node_modules/pad/index.js").read_text() == "pad"
    with a_tree(ignoring) as tree:
        assert not Path(tree.folder, "packages/app").is_symlink()
    assert (ignoring.path / "packages/app/index.js").read_text() == "1"


# -- nothing gets out


def test_what_a_command_writes_never_reaches_the_work_tree(repo: Scratch):
    before = state(repo)
    with a_tree(repo) as tree:
        for name in files(tree):
            with open(Path(tree.folder, name), "r+b") as file:  # in place, also through links
                file.write(b"CHANGED")
        assert "src/read.py" in git(tree, "status", "--porcelain")
    assert state(repo) == before


def test_git_in_a_tree_changes_no_ref_and_no_index_of_the_repository(repo: Scratch):
    repo.git("tag", "v1")
    before = state(repo)
    with a_tree(repo) as tree:
        assert git(tree, "describe", "--tags") == "v1\n"
        assert git(tree, "rev-parse", "HEAD") == repo.git("rev-parse", "HEAD")
        Path(tree.folder, "src/read.py").write_text("x")
        git(tree, "stash")
        Path(tree.folder, "src/new.py").write_text("x")
        git(tree, "add", "--all")
        git(tree, "commit", "--quiet", "-m", "In the tree")
        git(tree, "tag", "v2")
        git(tree, "checkout", "--quiet", "-b", "topic")
        git(tree, "config", "core.hooksPath", "/nowhere")
        git(tree, "reset", "--quiet", "--hard", "HEAD~1")
    assert state(repo) == before
    with a_tree(repo) as tree:
        assert git(tree, "tag") == "v1\n"
        assert git(tree, "branch", "--show-current") == "main\n"


def test_bb_in_a_tree_finds_the_ledger_of_the_repository(repo: Scratch):
    with a_tree(repo) as tree:
        found = places.find(os.path.join(tree.folder, "src"), {})
        in_hook = {"GIT_DIR": str(repo.path / ".git"), "GIT_WORK_TREE": tree.folder}
        assert places.find(tree.folder, in_hook).is_aside
    assert (found.common, found.work_tree, found.is_aside) == (str(repo.path / ".git"), tree.folder, True)
    assert not places.find(str(repo.path), {}).is_aside


# -- again, and at the same time

DAMAGES = {
    "a changed file": "printf 'XXX\\n' > src/read.py",
    "a change that keeps size and time": "touch -r src/read.py t; printf 'XXX\\nYYY\\n' > src/read.py;"
    "touch -r t src/read.py; rm t",
    "a file removed": "rm README",
    "a folder in the place of a file": "rm README; mkdir README; touch README/a",
    "a file in the place of a folder": "rm -r src; touch src",
    "new files and empty folders": "mkdir -p a/b; touch new src/new",
    "a link in the place of a folder": "rm -r src; ln -s / src",
    "a link in the place of the tree": 'here=$PWD; cd ..; rm -r "$here"; ln -s "$REAL" "$here"',
    "no tree": 'rm -r "$PWD"',
    "another repository": "rm .git; git init --quiet .; git add --all",
    "a repository inside": "git init --quiet inside; touch inside/file",
    "files hidden from git": "git update-index --assume-unchanged README; echo changed > README",
    "files ignored by git": "echo '*' > .gitignore; mkdir x; touch x/y",
    "an index of nonsense": 'echo nonsense > "$(git rev-parse --git-dir)/index"',
    "a lock left behind": 'touch "$(git rev-parse --git-dir)/index.lock"',
    "no git directory": 'rm -r "$(git rev-parse --git-dir)"',
    "modes": "chmod a-w src; chmod +x README; chmod -x run.sh",
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_whatever_a_command_left_behind_the_next_tree_is_as_new(repo: Scratch, damage: str):
    before = state(repo)
    with a_tree(repo) as tree:
        first = tree.folder
        subprocess.run(
            ["sh", "-c", DAMAGES[damage]],
            cwd=first,
            env=environment(REAL=str(repo.path)),
            check=True,
            capture_output=True,
        )
    with a_tree(repo) as tree:
        assert tree.folder == first
        assert files(tree) == {"README", "link", "run.sh", "src/read.py"}
        assert sorted(os.listdir(first)) == [".git", "README", "link", "run.sh", "src"]
        assert Path(first, "src/read.py").read_text() == "one\ntwo\n"
        assert Path(first, "README").read_text() == "Read me.\n"
        assert os.access(Path(first, "run.sh"), os.X_OK)
        assert git(tree, "status", "--porcelain") == ""
    assert state(repo) == before


def test_two_trees_at_once_are_two_folders(repo: Scratch):
    with a_tree(repo) as one, a_tree(repo) as two:
        assert one.folder != two.folder
        Path(one.folder, "README").write_text("one")
        assert Path(two.folder, "README").read_text() == "Read me.\n"


def test_the_next_tree_may_be_another_commit(repo: Scratch):
    write(repo, {"src/read.py": "three\n", "new/file": "new\n"})
    (repo.path / "README").unlink()
    commit(repo)
    for revision, wanted in (("HEAD", {"new/file"}), ("HEAD~1", {"README"}), ("HEAD", {"new/file"})):
        with a_tree(repo, revision) as tree:
            assert files(tree) == {"link", "run.sh", "src/read.py", *wanted}


def test_the_index_serves_beside_the_real_repository(repo: Scratch):
    write(repo, {"src/read.py": "half-done"})
    with a_tree(repo) as tree:
        env = environment(GIT_DIR=str(repo.path / ".git"), GIT_WORK_TREE=tree.folder, GIT_INDEX_FILE=tree.index)
        for command in (["status", "--porcelain"], ["diff-files"], ["diff-index", "--cached", "HEAD"]):
            assert subprocess.check_output(["git", *command], cwd=tree.folder, env=env) == b""


# -- kills and ages

HOLD = """
import os, sys
from bb.ledger.git import place as places
from bb.ledger.lines.throwaway_tree import throwaway_tree
with throwaway_tree(places.find(sys.argv[1], {}), sys.argv[2], os.environ) as tree:
    if sys.argv[3:]:
        import subprocess
        child = subprocess.Popen(["sh", "-c", "echo $$; read _"], pass_fds=[tree.fd])
    else:
        print(os.getpid(), flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), 9) if sys.argv[3:] else None
"""


def holder(repo: Scratch, *words: str) -> subprocess.Popen[str]:
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    made = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(repo.path), tree, *words],
        cwd=ROOT,
        env=environment(BB_HOME=str(home(repo))),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout is not None
    made.stdout.readline()
    return made


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_tree_of_a_killed_process_is_free(repo: Scratch, how: signal.Signals):
    killed = holder(repo)
    with a_tree(repo) as tree:
        assert "/2/work/" in tree.folder
    killed.send_signal(how)
    killed.communicate()
    with a_tree(repo) as tree:
        assert "/1/work/" in tree.folder


def test_a_tree_is_not_free_while_a_command_runs_in_it_though_bb_was_killed(repo: Scratch):
    killed = holder(repo, "with a command")
    killed.wait()
    with a_tree(repo) as tree:
        assert "/2/work/" in tree.folder
    assert killed.stdin is not None
    killed.communicate()  # the command reads the end of its input, and ends
    with a_tree(repo) as tree:
        assert "/1/work/" in tree.folder


def test_a_kept_tree_stays_as_it_is(repo: Scratch):
    with a_tree(repo) as kept:
        kept.keep()
        Path(kept.folder, "README").write_text("kept")
    age(repo, 30)
    with a_tree(repo) as tree:
        assert tree.folder != kept.folder
    assert Path(kept.folder, "README").read_text() == "kept"


def age(repo: Scratch, days: int) -> None:
    for path in home(repo).glob("trees/*/*/lock"):
        then = path.stat().st_mtime - days * DAY
        os.utime(path, (then, then))


def test_a_tree_that_was_not_used_for_days_is_removed_unless_it_is_in_use(repo: Scratch):
    with a_tree(repo):
        with a_tree(repo) as idle:
            os.makedirs(Path(idle.folder, "a/b"))
            os.chmod(Path(idle.folder, "a"), 0o500)
        age(repo, 4)
        tree_places.sweep(environment(BB_HOME=str(home(repo))))
        assert [path.name for path in home(repo).glob("trees/*/[0-9]*")] == ["1"]


def test_the_trees_of_a_repository_that_is_gone_are_removed(repo: Scratch, tmp_path: Path):
    other = scratch(tmp_path / "other")
    with a_tree(repo):
        pass
    repo.path.rename(tmp_path / "moved")
    env = environment(BB_HOME=str(home(repo)))
    with throwaway_tree.throwaway_tree(
        places.find(str(other.path), {}), other.git("rev-parse", "HEAD^{tree}").strip(), env
    ):
        pass
    assert len(list(home(repo).glob("trees/*"))) == 1


def test_only_the_user_can_enter_a_tree(repo: Scratch):
    with a_tree(repo):
        (pool,) = home(repo).glob("trees/*")
    assert pool.stat().st_mode & 0o077 == 0
