"""The bead tracker's program, asked one question that changes nothing, with limits on time and output.

The answer is untrusted. `bd` 1.3 puts its list into `items`, `br` into `issues`; older versions print a bare list.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from bb.kernel import json_text
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PATIENCE = 5.0  # seconds; a slower tracker counts as unavailable
LARGEST_ANSWER = 64 << 20  # bytes
LISTS = ("data", "items", "issues")

# The default limit of `bd`, and of older `br`, is 50.
LIST = ("list", "--status", "in_progress", "--json", "--limit", "0")
QUESTIONS = {
    "bd": ("--readonly", *LIST),
    "br": ("--no-auto-import", "--no-auto-flush", "--allow-stale", *LIST),
}
# Reading must not export, back up, push or report anything.
ONLY_READ = {
    "BD_EXPORT_AUTO": "false",
    "BD_BACKUP_ENABLED": "false",
    "BD_DOLT_AUTO_PUSH": "false",
    "BD_METRICS_DISABLED": "true",
}


class Answer(Record):
    """The records that the program NAME listed, or the problem if there is no answer."""

    name: str
    records: list[Any] | None
    problem: str = ""


def ask(programs: tuple[str, ...], work_tree: str, env: Mapping[str, str], patience: float = PATIENCE) -> Answer | None:
    """The answer of the first of PROGRAMS that is installed. None if none is."""
    for name in programs:
        if path := shutil.which(name, path=env.get("PATH")):
            octets, problem = _run([path, *QUESTIONS[name]], work_tree, env, patience)
            return Answer(name, None, problem) if octets is None else _read(name, octets)
    return None


def _read(name: str, octets: bytes) -> Answer:
    try:
        found = json_text.read(octets)
    except json_text.NotJson:
        return Answer(name, None, f"the answer of `{name}` is not valid JSON")
    records = _records(found)
    return Answer(name, records, "" if records is not None else f"the answer of `{name}` is not a list of beads")


def _records(answer: Any) -> list[Any] | None:
    """The list in a tracker's answer, bare or wrapped in objects."""
    while isinstance(answer, dict):
        answer = next((answer[name] for name in LISTS if name in answer), None)
    return answer if isinstance(answer, list) else None


def _run(words: list[str], work_tree: str, env: Mapping[str, str], patience: float) -> tuple[bytes | None, str]:
    name = os.path.basename(words[0])
    try:
        done = subprocess.run(  # noqa: S603  (a fixed question to an installed tracker)
            words,
            cwd=work_tree,
            env={**env, **ONLY_READ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"`{name}` took longer than {patience:g} s"
    except OSError as error:
        return None, f"`{name}` could not be run: {error.strerror}"
    if done.returncode:
        return None, f"`{name}` failed with status {done.returncode}"
    if len(done.stdout) > LARGEST_ANSWER:
        return None, f"the answer of `{name}` is too large to be read"
    return done.stdout, ""
