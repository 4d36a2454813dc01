"""In the repository of another user, bb reads what it can without git, changes nothing, and starts nobody's program."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from bb.ledger.local import last_sync
from tests.faces.good_calls import AMBER, GOOD, OF_REMOTES, commands, good_words, prepare
from tests.near import Near, near
from tests.stories.ownership.ownership_support import WAYS, everything_in, give_away, only_root, planted
from tests.support import ROOT, Scratch, environment

PROMPT = '{"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Hello"}'
START = '{"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}'
EDIT = '{"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "web/a.py", "content": ""}}'


def published(tmp_path: Path) -> Scratch:
    """A repository whose last sync was long ago, so that whatever is recorded starts the next one."""
    repo = near(tmp_path / "theirs")
    hub = tmp_path / "hub.git"
    repo.git("init", "--quiet", "--bare", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    assert repo.bb("agent", "register", "--name", AMBER, "--role", "builder").status == 0
    assert repo.bb("sync", "--publish").status == 0
    long_ago = time.time() - 3600
    os.utime(repo.store / last_sync.NAME, (long_ago, long_ago))
    (repo.path / "sub").mkdir()
    return repo


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "words",
    [
        ["agent", "register", "--name", "dusty-wren", "--role", "builder"],
        ["hook", "prompt", "--agent", AMBER, "--payload", PROMPT],
        ["hook", "session-start", "--agent", AMBER, "--payload", START],
        ["agent", "heartbeat", "--agent", AMBER],
        ["sync"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_nobody_elses_upload_pack_runs_through_a_background_sync(tmp_path: Path, way: str, words: list[str]):
    repo = published(tmp_path)
    repo.settings["BB_SYNC"] = "on"
    mark, program = planted(tmp_path)
    repo.git("config", "remote.origin.uploadpack", f"{program}; git-upload-pack")
    before = (repo.store / last_sync.NAME).stat().st_mtime_ns
    give_away(repo, way)

    ran = repo.bb(*words, cwd=repo.path / "sub")

    assert "UNSAFE_REPOSITORY" in ran.err or "belongs to user" in ran.err or "another user's" in ran.err
    assert (repo.store / last_sync.NAME).stat().st_mtime_ns == before, "no sync was started"
    assert not mark.exists()


@only_root
def test_the_refusal_names_the_command_that_git_itself_names(tmp_path: Path):
    repo = give_away(near(tmp_path / "it's theirs"))

    refused = repo.json("init")
    done = subprocess.run(
        ["git", "status"], cwd=repo.path, env=environment(SUDO_UID=""), capture_output=True, text=True
    )

    command = next(line.strip() for line in done.stderr.splitlines() if "--add safe.directory" in line)
    error = refused.envelope["error"]
    assert error["code"] == "UNSAFE_REPOSITORY"
    assert refused.status == 5
    assert shlex.split(error["hint"].split(": ", 1)[1]) == shlex.split(command)
    assert error["details"]["owner"] == 65534


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scratch, dict[str, list[str]]]:
    """A repository in which every op has something to be about, and a right call of each. Then it is given away."""
    repo = near(tmp_path_factory.mktemp("all") / "theirs")
    prepare(repo)
    calls = {op.name: good_words(op, repo) for op in commands().values() if op.name not in OF_REMOTES}
    (repo.path / "message").write_text("Change the parser\n")
    return give_away(repo, "assumed"), calls


OURS_TO_RUN = sorted(op.name for op in commands().values() if op.reads)
# What has nothing to do with any repository, or only with a group's own ledger in the user's home.
ELSEWHERE = {
    *("cbcl.keygen", "cbcl.sign", "cbcl.trust.add", "cbcl.trust.remove", "cbcl.policy", "group_create"),
    *("cbcl.trust.signed", "group_create_from_template"),
}


@pytest.mark.parametrize("name", OURS_TO_RUN)
def test_what_only_reads_changes_nothing_in_a_foreign_repository(
    theirs: tuple[Scratch, dict[str, list[str]]], name: str
):
    repo, calls = theirs
    before = everything_in(repo.path)

    ran = repo.json(*calls[name])

    after = everything_in(repo.path)
    assert after == before, {path for path in {*before, *after} if before.get(path) != after.get(path)}
    if name in ("ci.check", "hooks.status"):  # they cannot do without git
        assert ran.code == "UNSAFE_REPOSITORY"
    elif name == "hook.pre-commit":  # a person is told, and not stopped
        assert ran.data["not_judged"]["code"] == "UNSAFE_REPOSITORY"
    else:
        assert "UNSAFE_REPOSITORY" not in ran.out


@pytest.mark.parametrize(
    "name",
    sorted(
        op.name
        for op in commands().values()
        if not op.reads and op.name not in ELSEWHERE and not op.is_live and op.name not in OF_REMOTES
    ),
)
def test_what_acts_is_refused_in_a_foreign_repository(theirs: tuple[Scratch, dict[str, list[str]]], name: str):
    repo, calls = theirs
    before = everything_in(repo.path)

    ran = repo.json(*calls[name])

    after = everything_in(repo.path)
    assert after == before, {path for path in {*before, *after} if before.get(path) != after.get(path)}
    if name == "hook.prepare-commit-msg":  # git's hook must not make the commit fail
        assert ran.data["signed"] is False
    elif name == "hook.post-commit":  # git calls it after the commit, so it has nothing to refuse
        assert ran.data["commit"] is None
    else:
        assert ran.code == "UNSAFE_REPOSITORY", ran.out


@pytest.mark.parametrize("way", WAYS)
def test_a_foreign_ledger_is_read_without_opening_the_database_its_owner_made(tmp_path: Path, way: str):
    repo = near(tmp_path / "theirs")
    assert repo.bb("agent", "register", "--name", AMBER, "--role", "builder").status == 0
    (repo.store / "index.sqlite").write_bytes(b"no database, and who opens it will complain")
    give_away(repo, way)

    found = repo.json("agent", "list")

    assert [each["agent_id"] for each in found.data] == [AMBER]
    assert repo.json("ledger", "status").data["index"] == "memory"
    assert (repo.store / "index.sqlite").read_bytes().startswith(b"no database")


def test_the_guards_do_not_pass_an_agent_because_the_repository_is_foreign(tmp_path: Path):
    repo = near(tmp_path / "theirs")
    for name in (AMBER, "cobalt-harbor"):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    words = ["--agent", "cobalt-harbor", "--bead", "bb-1", "--scope", "web"]
    assert repo.bb("agent", "reserve", *words).status == 0
    (repo.path / "web").mkdir()
    (repo.path / "web" / "a.py").write_text("1\n")
    repo.git("add", "web")
    give_away(repo, "assumed")

    assert repo.json("check", "web/a.py", "--agent", AMBER).code == "PATH_HELD"
    assert repo.json("check", "--staged", "--agent", AMBER).code == "UNSAFE_REPOSITORY"
    assert repo.bb("hook", "pre-commit", BB_AGENT=AMBER).status == 5
    told = repo.bb("hook", "pre-tool", "--agent", AMBER, "--payload", EDIT)
    assert "deny" in told.out
    assert "cobalt-harbor" in told.out


def test_an_editor_may_edit_where_a_foreign_repository_has_no_ledger(tmp_path: Path):
    repo = give_away(near(tmp_path / "theirs"), "assumed")

    for words in (["pre-tool", "--payload", EDIT], ["prompt", "--payload", PROMPT], ["session-start"]):
        told = repo.bb("hook", words[0], "--agent", AMBER, *words[1:], stdin=START)
        assert (told.status, told.out, told.err) == (0, "", "")


# -- what the user has told git


def declared(tmp_path: Path, *values: str) -> dict[str, str]:
    path = tmp_path / "gitconfig"
    path.write_text("[safe]\n" + "".join(f'\tdirectory = "{value}"\n' for value in values))
    return {"GIT_CONFIG_GLOBAL": str(path), "HOME": str(tmp_path)}


@pytest.mark.parametrize(
    ("values", "is_safe"),
    [
        (["{repo}"], True),
        (["*"], True),
        (["{parent}/*"], True),
        (["~/theirs"], True),
        (["."], True),
        (["*", "", "/elsewhere"], False),
        (["", "*"], True),
        (["/elsewhere", "{parent}"], False),
        (["theirs"], False),
        (["~nobody-of-that-name/x", "%(prefix)/x"], False),
        ([], False),
    ],
)
def test_safe_directory_is_read_as_git_reads_it(tmp_path: Path, values: list[str], is_safe: bool):
    repo = give_away(near(tmp_path / "theirs"), "assumed")
    given = [value.format(repo=repo.path, parent=repo.path.parent) for value in values]

    ran = repo.json("init", **declared(tmp_path, *given))

    assert (ran.status == 0) is is_safe, ran.out


def test_a_repository_that_was_declared_safe_is_used_in_full(tmp_path: Path):
    repo = give_away(published(tmp_path), "assumed")
    settings = declared(tmp_path, str(repo.path), str(tmp_path / "hub.git"))  # git asks about the hub by itself

    ran = repo.json("agent", "register", "--name", "dusty-wren", "--role", "x", **settings)
    assert ran.status == 0, ran.out
    assert repo.json("ledger", "status", **settings).data["index"].endswith("index.sqlite")
    assert repo.json("sync", **settings).data["went"] > 0


def test_safe_directory_of_the_repository_itself_and_of_one_around_it_does_not_count(tmp_path: Path):
    outer = near(tmp_path / "theirs")
    outer.git("config", "safe.directory", "*")
    give_away(outer, "assumed")

    assert outer.json("init").code == "UNSAFE_REPOSITORY"


def test_safe_directory_counts_from_the_command_line_of_git(tmp_path: Path):
    repo = give_away(near(tmp_path / "theirs"), "assumed")
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": str(repo.path)}

    assert repo.json("init", **settings).status == 0


@pytest.mark.parametrize("value", ["0", "false", "", "x"])
@only_root
def test_no_variable_for_git_tests_makes_a_foreign_repository_ours(tmp_path: Path, value: str):
    repo = give_away(near(tmp_path / "theirs"))

    assert repo.json("init", GIT_TEST_ASSUME_DIFFERENT_OWNER=value).code == "UNSAFE_REPOSITORY"


@only_root
def test_root_counts_as_the_user_who_called_sudo(tmp_path: Path):
    repo = give_away(near(tmp_path / "theirs"))

    assert repo.json("init", SUDO_UID="1").code == "UNSAFE_REPOSITORY"
    assert repo.json("init", SUDO_UID="65534").status == 0


@only_root
@pytest.mark.parametrize("part", ["", ".git", "worktree", "common", "link"])
def test_each_part_of_a_repository_must_be_ones_own(tmp_path: Path, part: str):
    repo = near(tmp_path / "mine")
    there = Near(repo.path, {"SUDO_UID": ""})
    side = tmp_path / "side"
    if part in ("worktree", "common"):
        repo.git("worktree", "add", "--quiet", "-b", "side", str(side))
        there = Near(side, {"SUDO_UID": ""})
    if part == "link":
        (repo.path / ".git").rename(tmp_path / "away")
        (repo.path / ".git").symlink_to(tmp_path / "away")
    lost = {"": repo.path, ".git": repo.path / ".git", "worktree": side / ".git", "common": repo.path / ".git"}
    os.lchown(lost.get(part, tmp_path / "away"), 65534, 65534)

    assert there.json("init").code == "UNSAFE_REPOSITORY"


def test_a_git_dir_that_was_named_is_trusted_as_git_trusts_it(tmp_path: Path):
    """git has asked already before it starts a hook with GIT_DIR set, and asks nothing where the user sets it."""
    repo = give_away(near(tmp_path / "theirs"), "assumed")

    assert repo.json("init", GIT_DIR=str(repo.path / ".git")).status == 0
    assert repo.json("init", GIT_DIR=str(tmp_path / "nowhere")).code == "UNSAFE_REPOSITORY"


@pytest.mark.parametrize(("setting", "is_refused"), [("explicit", True), ("all", False), (None, False)])
def test_a_bare_repository_that_lies_about_is_obeyed_as_safe_bare_repository_says(
    tmp_path: Path, setting: str | None, is_refused: bool
):
    bare = Near(tmp_path / "found.git", {})
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare")
    path = tmp_path / "gitconfig"
    path.write_text(f"[safe]\n\tbareRepository = {setting}\n" if setting else "")
    bare.git("config", "safe.bareRepository", "all")

    refused = bare.json("init", GIT_CONFIG_GLOBAL=str(path))
    named = bare.json("init", GIT_CONFIG_GLOBAL=str(path), GIT_DIR=str(bare.path))

    assert (refused.status != 0 and refused.code == "UNSAFE_REPOSITORY") is is_refused
    assert named.status == 0


def test_the_owner_is_asked_after_without_starting_git(tmp_path: Path):
    """The ordinary case costs a few stats. A git that only complains is on the PATH."""
    repo = near(tmp_path / "mine")
    assert repo.bb("agent", "register", "--name", AMBER, "--role", "builder").status == 0
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text(f"#!/bin/sh\necho ran >> {tmp_path}/started\nexit 1\n")
    (tools / "git").chmod(0o755)

    for words in (["agent", "heartbeat", "--agent", AMBER], ["check", "a", "--agent", AMBER], ["status"]):
        assert repo.bb(*words, PATH=str(tools)).status == 0
    assert not (tmp_path / "started").exists()


def test_doctor_says_whose_repository_it_is_and_mends_nothing_there(tmp_path: Path):
    repo = near(tmp_path / "theirs")
    repo.bb("init")
    give_away(repo, "assumed")

    found = repo.json("doctor")
    about = next(each for each in found.data["checks"] if each["name"] == "repository")
    assert "another user" in about["text"]
    assert about["mend"] == f"git config --global --add safe.directory {repo.path}"
    assert repo.json("doctor", "--fix").code == "UNSAFE_REPOSITORY"


def test_no_tracker_is_asked_in_a_foreign_repository(tmp_path: Path):
    repo = near(tmp_path / "theirs")
    repo.bb("agent", "register", "--name", AMBER, "--role", "builder")
    (repo.path / ".beads").mkdir()
    mark, program = planted(tmp_path)
    (tmp_path / "bin").mkdir()
    os.symlink(program, tmp_path / "bin" / "bd")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert repo.json("sessions", "list", PATH=path).status == 0
    assert mark.exists(), "in one's own it is asked"
    mark.unlink()
    give_away(repo, "assumed")

    assert repo.json("sessions", "list", PATH=path).status == 0
    assert not mark.exists()


def test_everything_that_starts_git_goes_through_the_one_door():
    folder = ROOT / "bb"
    sources = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.py")}

    def counts(text: str) -> dict[str, int]:
        return {path: source.count(text) for path, source in sources.items() if text in source}

    program, door, commit = "ledger/git/program.py", "ledger/git/git.py", "ledger/git/commit_index.py"
    index = "ledger/git/real_index.py"
    assert counts(" processes.start(") == {
        program: 1,
        "ledger/signing/ed25519.py": 1,
        "ledger/signing/keys.py": 1,
        "ledger/wiring/trial_runs.py": 1,
        "ledger/lines/commit_hooks.py": 1,
    }, "git, ssh-keygen, the hooks of bb that a trial plays in a repository of its own, and a commit's hooks"
    assert counts(" spawned(") == {program: 2}, "the definition, and outside of any repository"
    assert counts("program.spawned(") == {door: 1, commit: 1, index: 1}, (
        "for a repository, for a commit, and for an index"
    )
    assert sources[door].count("refuse_foreign(") == 2, "the definition, and before git is started for a repository"
    assert sources[commit].count("refuse_foreign(") == sources[index].count("refuse_foreign(") == 1
    assert set(counts('["git", *HARMLESS')) | set(counts('["git", *program.HARMLESS')) == {program, door, commit, index}
    assert GOOD
