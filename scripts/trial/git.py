"""Git, as the agents and the judge of the trial call it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from bb.coordination.agents import callers

if TYPE_CHECKING:
    from collections.abc import Mapping

FOREIGN = ("BB_", "GIT_", "CCCC_", "_BB", "PYTHON", "PYTEST", *callers.HOSTS, *callers.MARKS)


def environment(name: str = "trial", **settings: str) -> dict[str, str]:
    """This process's environment for NAME, without what leads git, bb or Python elsewhere."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    mail = f"{name}@example.invalid"
    return clean | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": mail,
        "GIT_EDITOR": "true",
        # Two edits of the same length in one second would leave a stale .pyc, in any of the ways.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **settings,
    }


def git(place: str, *words: str, env: Mapping[str, str] | None = None) -> str:
    """What `git WORDS` prints at PLACE; an error of git ends the trial."""
    env = environment() if env is None else env
    return subprocess.run(["git", "-C", place, *words], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def content(place: str, commit: str, file: str) -> str:
    """FILE as COMMIT has it; empty if COMMIT has no such file."""
    ran = subprocess.run(
        ["git", "-C", place, "show", f"{commit}:{file}"], env=environment(), capture_output=True, text=True, check=False
    )
    return ran.stdout if ran.returncode == 0 else ""
