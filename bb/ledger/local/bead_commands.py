"""Runs the commands of bead trackers: one read-only query, with limits on time and output."""

from __future__ import annotations

import os
import shutil
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 5.0  # seconds; a slower tracker counts as unavailable
LARGEST = 64 << 20  # bytes of an answer

# In the order of preference. The default limit of `bd` is 50.
QUESTIONS = {
    "bd": ("--readonly", "list", "--status", "in_progress", "--json", "--limit", "0"),
    "br": ("list", "--status", "in_progress", "--json"),
}


def list_beads(
    work_tree: str, env: Mapping[str, str], patience: float = PATIENCE
) -> tuple[str, bytes | None, str] | None:
    """The tracker that was run, its answer or None, and the problem if there is no answer. None if no tracker is
    installed."""
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
        return None, f"the answer of `{os.path.basename(words[0])}` is too large to be read"
    return done.stdout, ""
