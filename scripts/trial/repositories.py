"""The repositories of the trial: a package's source archive, by version and hash, with the recorded first edits.

The archives are downloaded once by pip into `.cache/trial`, which git ignores. Nothing of them is in this repository.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from typing import TYPE_CHECKING

from scripts.trial import git as gits
from scripts.trial.edits import Lines, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.trial.edits import Edit
    from scripts.trial.recorded import Recorded

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
CACHE = os.path.join(ROOT, ".cache", "trial")
NOT_SOURCES = ("PKG-INFO", ".egg-info")


class UnavailableError(Exception):
    """A source archive cannot be had, or is not the recorded one; or the recorded tasks do not fit it."""


def archive(recorded: Recorded) -> str:
    """The path of the package's source archive, downloaded if it is not here yet."""
    wanted = f"{recorded.package}=={recorded.version}"
    path = os.path.join(CACHE, f"{recorded.package}-{recorded.version}.tar.gz")
    if not os.path.exists(path):
        os.makedirs(CACHE, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
            ran = subprocess.run(
                [*command, "--dest", folder, wanted],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            found = [name for name in os.listdir(folder) if name.endswith(".tar.gz")]
            if ran.returncode or not found:
                raise UnavailableError(
                    f"the source archive of {wanted} cannot be downloaded; is the package index reachable?\n"
                    f"{ran.stderr.strip()[-800:]}\nTo go on without it, put {os.path.basename(path)} into {CACHE}."
                )
            os.replace(os.path.join(folder, found[0]), path)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != recorded.sha256:
        raise UnavailableError(f"{path} is not the recorded archive of {wanted}: its SHA-256 is {digest}. Delete it.")
    return path


def make(recorded: Recorded, place: str) -> str:
    """Make the repository at PLACE, with one commit on `main`; the commit's name."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(place)) as aside:
        with tarfile.open(archive(recorded)) as packed:
            packed.extractall(aside, filter="data")
        (top,) = os.listdir(aside)
        shutil.move(os.path.join(aside, top), place)
    for name in os.listdir(place):
        if name.endswith(NOT_SOURCES):
            path = os.path.join(place, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for edit in recorded.start:
        change(place, edit)
    gits.git(place, "init", "--quiet", "--initial-branch=main")
    gits.git(place, "add", "--all", "--force")
    gits.git(place, "commit", "--quiet", "--message", f"{recorded.package} {recorded.version}")
    return gits.git(place, "rev-parse", "HEAD").strip()


def change(place: str, edit: Edit) -> None:
    path = os.path.join(place, edit.file)
    try:
        with open(path, encoding="utf-8") as file:
            before = file.read()
    except FileNotFoundError:
        before = ""
    with open(path, "w", encoding="utf-8") as file:
        file.write(edit.applied(before))


def check(recorded: Recorded, place: str, python: str) -> None:
    """Whether the tasks fit the repository at PLACE, in any order, and its tests pass before and after all of them.

    Only then is a failed test of the trial the fault of half-done work, and a missing line a lost one.
    """
    red_before = failure(place, recorded.test, python)
    if red_before:
        raise UnavailableError(f"the tests of {recorded.package} fail before any task: …{red_before}")
    edits = recorded.edits
    contents = [_all_lines(place, order) for order in (tuple(reversed(edits)), edits)]
    if contents[0] != contents[1]:
        raise UnavailableError(f"the tasks of {recorded.package} give different lines in another order")
    red_after = failure(place, recorded.test, python)
    if red_after:
        raise UnavailableError(f"the tests of {recorded.package} fail after all tasks: …{red_after}")
    gits.git(place, "reset", "--quiet", "--hard")


def _all_lines(place: str, edits: Sequence[Edit]) -> dict[str, Lines]:
    """Make all EDITS at PLACE, from its last commit on; the lines of each file."""
    gits.git(place, "reset", "--quiet", "--hard")
    for edit in edits:
        change(place, edit)
    found = {}
    for name in sorted({edit.file for edit in edits}):
        with open(os.path.join(place, name), encoding="utf-8") as file:
            found[name] = lines(file.read())
    return found


def failure(place: str, test: Sequence[str], python: str) -> str:
    """The end of the output of the tests at PLACE, if they fail."""
    ran = subprocess.run(
        [python, *test], cwd=place, env=gits.environment(), capture_output=True, text=True, check=False
    )
    return (ran.stdout + ran.stderr)[-1500:] if ran.returncode else ""
