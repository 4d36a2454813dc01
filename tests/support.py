"""What tests share: a scratch repository, a `bb` that runs in it as a user would run it, and short ways to record."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bb.coordination.agents import callers

ROOT = Path(__file__).resolve().parents[1]
NOON = "2026-01-05T12:00:00.000Z"
FOR_ALL = "BB_TESTS_FOR_ALL"  # the environment variable with the folder that the workers of a run share


def environment(**settings: str) -> dict[str, str]:
    """This process's environment without anything that leads bb or git elsewhere."""
    ours = (
        *callers.HOSTS,
        *callers.MARKS,
        "BB_",
        "GIT_",
        "CCCC_",
        "_BB",
    )  # whoever runs the tests may be in an agent's session
    clean = {name: value for name, value in os.environ.copy().items() if not name.startswith(ours)}
    # A repository that tests copy was last synced when it was made: minutes ago, late in a run. None starts by chance.
    settled = {"PYTHONPATH": str(ROOT), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "BB_SYNC": "off"}
    return clean | settled | {"CCCC_HOME": _home(), "XDG_CONFIG_HOME": _config()} | settings


@functools.cache
def _home() -> str:
    """Where commands find no daemon, and where they leave what they know of groups: never in whoever tests's own."""
    return str(made_once("home"))


@functools.cache
def _config() -> str:
    """Where commands find no keys but those that tests have made: never in whoever tests's own."""
    return str(made_once("config"))


@dataclass
class Ran:
    """A finished `bb`."""

    status: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        """The one JSON document on stdout."""
        assert self.out.count("\n") == 1, f"not one line: {self.out!r} {self.err!r}"
        found = json.loads(self.out)
        members = list(found)
        if members[4:] == ["more"]:  # follows where rows were left out
            assert found["more"]["hint"]
            members.pop()
        assert members == ["ok", "command", "data", "error"]
        assert found["ok"] is (self.status == 0), "exit status 0 and ok go together"
        return found

    @property
    def data(self) -> Any:
        assert self.envelope["ok"], self.out
        return self.envelope["data"]

    @property
    def code(self) -> str:
        return self.envelope["error"]["code"]


@dataclass
class Scratch:
    """A repository and a way to run commands in it."""

    path: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        return self.path / ".git" / "bb"

    def journal(self) -> Path:
        """The only journal's only segment."""
        (found,) = self.store.glob("j/*/*.jsonl")
        return found

    def bb(self, *words: str | bytes, cwd: Path | None = None, stdin: str | None = None, **settings: str) -> Ran:
        """Run `bb WORDS` here, in a fork, or started if a setting needs an interpreter of its own."""
        from tests import forks  # it imports this module

        given = self.settings | settings
        if not forks.may_run(given):
            return self.started(*words, cwd=cwd, stdin=stdin, **settings)
        call = forks.Call([os.fsdecode(word) for word in words], given, stdin)
        return forks.run(cwd or self.path, environment(), call)

    def started(self, *words: str | bytes, cwd: Path | None = None, stdin: str | None = None, **settings: str) -> Ran:
        """Run `bb WORDS` here as a user does, with an interpreter of its own. Several may be started at once."""
        done = subprocess.run(
            [sys.executable, "-m", "bb", *words],
            cwd=cwd or self.path,
            env=environment(**(self.settings | settings)),
            input=None if stdin is None else stdin.encode(),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
        )
        return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def json(self, *words: str | bytes, **settings: Any) -> Ran:
        """Run `bb WORDS --json` here."""
        return self.bb(*words, "--json", **settings)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        identity = [
            "-c",
            "user.name=Tester",
            "-c",
            "user.email=tester@example.invalid",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "maintenance.auto=false",  # which git else looks for after each commit
        ]
        done = subprocess.run(
            ["git", *identity, *words], cwd=cwd or self.path, env=environment(), check=True, capture_output=True
        )
        return done.stdout.decode()


def scratch(path: Path, *, commit: bool = True, **settings: str) -> Scratch:
    """A fresh repository at PATH."""
    copied(_fresh(commit), path)
    return Scratch(path, settings)


def copied(original: str | os.PathLike[str], to: Path) -> Path:
    """Copy a folder with its modes, times and links TO a path, where it may be already. `shutil.copytree` takes more
    than twice as long, and thousands of tests begin with a copy."""
    os.makedirs(to, exist_ok=True)
    _fill(os.fspath(original), os.fspath(to))
    return to


def _fill(original: str, to: str) -> None:
    with os.scandir(original) as entries:
        for entry in entries:
            there = f"{to}{os.sep}{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), there)
            elif entry.is_dir():
                with contextlib.suppress(FileExistsError):
                    os.mkdir(there)
                _fill(entry.path, there)
            else:
                _copy_file(entry.path, there)
    _be_like(original, to)


def _copy_file(original: str, to: str) -> None:
    with open(original, "rb", buffering=0) as file, open(to, "wb", buffering=0) as copy:
        copy.write(file.read())
        _be_like(file.fileno(), copy.fileno())


def _be_like(original: str | int, to: str | int) -> None:
    """Give a copy the mode and the times of its original."""
    found = os.stat(original)
    os.chmod(to, found.st_mode & 0o7777)
    os.utime(to, ns=(found.st_atime_ns, found.st_mtime_ns))


@functools.cache
def _fresh(commit: bool) -> Path:
    """The repository that every other is a copy of: git takes several times as long to make one."""
    before = os.umask(0o022)  # as most have it; tests about permissions say what else they want
    try:
        made = Scratch(made_once("fresh"))
        made.git("init", "--quiet")
        for sample in (made.path / ".git" / "hooks").glob("*.sample"):
            sample.unlink()  # half of all files to be copied
        if commit:
            made.git("commit", "--quiet", "--allow-empty", "-m", "Start")
    finally:
        os.umask(before)
    return made.path


def process_state(pid: int) -> str:
    """The letter that the system has for the state of a process; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def is_running(pid: int) -> bool:
    """Whether a process runs. One that has ended and waits for its parent does not."""
    return process_state(pid) not in ("", "Z", "X")


def made_once(name: str) -> Path:
    """A folder for what is made once and then copied by every test that needs it; it goes when the tests have ended."""
    import shutil
    import tempfile

    outside = Path(tempfile.mkdtemp(prefix="bb-tests-"))
    atexit.register(shutil.rmtree, outside, ignore_errors=True)
    made = outside / name
    made.mkdir()
    return made


def made_for_all(name: str, make: Callable[[Path], object]) -> Path:
    """What MAKE makes in a folder called NAME, once for all workers of a run. It is there to be copied."""
    if FOR_ALL not in os.environ:
        folder = made_once(name)
        make(folder)
        return folder

    import fcntl
    import shutil

    folder = Path(os.environ[FOR_ALL], name)
    done = folder.with_name(f"{name}.done")
    with folder.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # another worker has failed at it
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
