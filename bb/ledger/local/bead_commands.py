"""The only door to bead trackers' own commands: asked one bounded question, read-only."""

from __future__ import annotations

import os
import shutil
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 5.0  # seconds; a tracker that takes longer is as good as none
LARGEST = 64 << 20  # bytes of an answer

# In the order they are asked. The default limit of `bd` is 50.
QUESTIONS = {
    "bd": ("--readonly", "list", "--status", "in_progress", "--json", "--limit", "0"),
    "br": ("list", "--status", "in_progress", "--json"),
}


def asked(work_tree: str, env: Mapping[str, str], patience: float = PATIENCE) -> tuple[str, bytes | None, str] | None:
    """Which tracker was asked, its answer if it gave one, and what went wrong else. None when none is installed."""
    for name, words in QUESTIONS.items():
        if path := shutil.which(name, path=env.get("PATH")):
            answer, problem = _run([path, *words], work_tree, env, patience)
            return name, answer, problem
    return None


def _run(words: list[str], work_tree: str, env: Mapping[str, str], patience: float) -> tuple[bytes | None, str]:
    try:
        done = subprocess.run(  # noqa: S603  (a fixed question to an installed tracker)
            words,
            cwd=work_tree,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"`{os.path.basename(words[0])}` took longer than {patience:g} s"
    except OSError as error:
        return None, f"`{os.path.basename(words[0])}` could not be run: {error.strerror}"
    if done.returncode:
        return None, f"`{os.path.basename(words[0])}` failed with status {done.returncode}"
    if len(done.stdout) > LARGEST:
        return None, f"`{os.path.basename(words[0])}` answered more than can be read"
    return done.stdout, ""
