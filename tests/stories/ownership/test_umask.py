"""Whatever the umask: others write nothing that bb made, unless `core.sharedRepository` asks for it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bb.ledger.git import sharing
from tests.support import Ran, Scratch, environment, scratch

LETTER = ["--bead", "bb-1", "--category", "INFO", "--subject", "Parser", "--body", "Done."]
# The umask of the process that the command is.
UNDER = "import os, sys; os.umask(int(sys.argv[1], 8)); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


def bb(repo: Scratch, umask: str, *words: str, **settings: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-c", UNDER, umask, "-m", "bb", *words],
        cwd=repo.path,
        env=environment(**(repo.settings | settings)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def wide(folder: Path, bits: int = 0o022) -> dict[str, str]:
    """What below a folder, and the folder itself, others may do something with."""
    found = [folder, *folder.rglob("*")]
    return {str(each): oct(mode(each)) for each in found if not each.is_symlink() and mode(each) & bits}


def everything(repo: Scratch, umask: str) -> None:
    """Have most that bb writes be written."""
    for name in ("amber-otter", "cobalt-harbor"):
        bb(repo, umask, "agent", "register", "--name", name, "--role", "x")
    bb(repo, umask, "agent", "reserve", "--agent", "amber-otter", "--scope", "a", "--bead", "b", "--wait", "1")
    bb(repo, umask, "agent", "send", "--from", "amber-otter", "--to", "cobalt-harbor", *LETTER)
    bb(repo, umask, "agent", "heartbeat", "--agent", "amber-otter")
    bb(repo, umask, "hooks", "install")
    bb(repo, umask, "hooks", "install", "--editor", "claude")
    bb(repo, umask, "init", "--skill")
    start = '{"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}'
    env_file = repo.path.parent / f"{repo.path.name}.env"
    bb(
        repo,
        umask,
        "hook",
        "session-start",
        "--agent",
        "amber-otter",
        "--payload",
        start,
        CLAUDE_ENV_FILE=str(env_file),
    )
    assert mode(env_file) == 0o600
    (repo.path / "file").write_text("x")
    bb(repo, umask, "blob", "put", "file")
    bb(repo, umask, "sync", "--publish")
    bb(repo, umask, "ledger", "mirror")
    bb(repo, umask, "ledger", "export", "--output", "out.jsonl")


def with_hub(path: Path, *how: str) -> Scratch:
    before = os.umask(0o022)
    try:
        repo = scratch(path)
        for words in how:
            repo.git("config", *words.split("="))
        hub = path.parent / f"{path.name}-hub.git"
        repo.git("init", "--quiet", "--bare", str(hub))
        repo.git("remote", "add", "origin", str(hub))
    finally:
        os.umask(before)
    repo.settings |= {"CCCC_HOME": str(path.parent / f"{path.name}-home" / "below")}
    repo.settings["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # hooks find bb there
    return repo


@pytest.mark.parametrize("umask", ["000", "002", "022", "077"])
def test_with_any_umask_others_may_write_neither_hooks_nor_ledger_nor_files(tmp_path: Path, umask: str):
    repo = with_hub(tmp_path / "repo")

    everything(repo, umask)

    assert wide(repo.store) == {}
    assert wide(repo.path / ".git" / "hooks") == {}
    assert all(mode(each) & 0o100 for each in (repo.path / ".git" / "hooks").iterdir() if each.suffix != ".sample")
    for name in (".claude", ".agents", "AGENTS.md", ".bb", "out.jsonl"):
        assert wide(repo.path / name) == {}
    assert wide(repo.path / ".git" / "refs" / "bb", 0o002 if umask == "002" else 0o022) == {}
    if umask == "077":
        assert wide(repo.store, 0o077) == {}


def test_what_is_private_is_its_owner_s_alone_whatever_the_umask(tmp_path: Path):
    repo = with_hub(tmp_path / "repo")
    home = tmp_path / "new" / "home"
    bb(repo, "000", "init", "--home", BB_HOME=str(home))
    bb(repo, "000", "group", "create", "--title", "Secret", CCCC_HOME=str(home))
    bb(repo, "000", "group", "attach", ".", CCCC_HOME=str(home))

    assert wide(home, 0o022) == {}
    assert mode(home) == 0o700
    assert mode(home / "ledger.git") == 0o700
    (own,) = [each for each in (home / "groups").rglob("*.git") if each.is_dir()] or [home / "groups"]
    assert mode(own) == 0o700
    assert wide(home / "groups", 0o077) == {} or mode(home / "groups") == 0o700


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize(
    ("setting", "folders", "files"),
    [
        ("group", 0o2770, 0o660),
        ("all", 0o2775, 0o664),
        ("0660", 0o2770, 0o660),
        ("0664", 0o2775, 0o664),
        ("0666", 0o2775, 0o664),
        ("true", 0o2770, 0o660),
        ("2", 0o2775, 0o664),
    ],
)
@pytest.mark.parametrize("umask", ["000", "077"])
def test_a_shared_repository_s_ledger_is_shared_as_it_asks_and_no_more(
    tmp_path: Path, setting: str, folders: int, files: int, umask: str
):
    repo = with_hub(tmp_path / "repo", f"core.sharedRepository={setting}")

    everything(repo, umask)

    keys = repo.store / "keys"
    shared = [each for each in [repo.store, *repo.store.rglob("*")] if each != keys and keys not in each.parents]
    assert {mode(each) for each in shared if each.is_dir()} == {folders}
    assert {mode(each) for each in shared if each.is_file()} == {files}
    assert wide(keys, 0o077) == {}, "a key is its owner's alone"


@pytest.mark.parametrize("setting", ["umask", "false", "0", "0640", "nonsense", "0066", "9"])
def test_what_asks_for_no_sharing_gives_none(tmp_path: Path, setting: str):
    repo = with_hub(tmp_path / "repo")
    with (repo.path / ".git" / "config").open("a") as config:
        config.write(f"[core]\n\tsharedRepository = {setting}\n")

    mode_wanted = sharing.folder_mode(setting)

    assert mode_wanted is None or not mode_wanted & 0o022


def test_doctor_finds_what_others_may_write_and_mends_it(tmp_path: Path):
    repo = with_hub(tmp_path / "repo")
    everything(repo, "022")
    for path in [repo.store, *repo.store.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)

    found = {each["name"]: each for each in repo.json("doctor").data["checks"]}
    assert found["permissions"]["state"] == "odd"
    assert found["permissions"]["mend"] == "bb doctor --fix"
    assert any("permissions" in each for each in repo.json("doctor", "--fix").data["mended"])
    assert wide(repo.store) == {}
    found = {each["name"]: each for each in repo.json("doctor").data["checks"]}
    assert found["permissions"]["state"] == "good"


def test_doctor_follows_a_repository_that_is_shared_later(tmp_path: Path):
    repo = with_hub(tmp_path / "repo")
    everything(repo, "077")
    repo.git("config", "core.sharedRepository", "0660")

    found = {each["name"]: each for each in repo.json("doctor").data["checks"]}
    assert found["permissions"]["state"] == "odd"
    repo.json("doctor", "--fix").data  # noqa: B018  (must succeed)
    assert mode(repo.store) == 0o2770
    bb(repo, "077", "agent", "heartbeat", "--agent", "amber-otter")
    assert mode(repo.store / "presence" / "amber-otter.json") == 0o660
