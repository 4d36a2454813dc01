"""The beads of a repository, read from the tracker's file or, without a file, from the tracker's command. Read-only.

The folder is searched in this order: `BEADS_DIR`, `.beads` in the work tree, `.beads` in the main work tree, following
`.beads/redirect`. The file in it is the one that the configuration names, `issues.jsonl`, or the older `beads.jsonl`.
If it cannot be read, beads are unknown. Unknown is not the same as free. A tracker's command is asked one read-only
question, with limits on time and output.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from bb.coordination.agents.beads import Bead, bead, is_something_else
from bb.kernel import clock, json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.git import ownership

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO, Any

    from bb.ledger.git.place import Place

FOLDER, REDIRECT = ".beads", "redirect"
FILES = ("issues.jsonl", "beads.jsonl")  # current and older installations
LARGEST, MOST = 256 << 20, 500_000  # bytes and lines of the file
MOST_REDIRECTS = 3
PATIENCE = 5.0  # seconds; a slower tracker counts as unavailable
LARGEST_ANSWER = 64 << 20  # bytes

# In the order of preference. The default limit of `bd` is 50.
QUESTIONS = {
    "bd": ("--readonly", "list", "--status", "in_progress", "--json", "--limit", "0"),
    "br": ("list", "--status", "in_progress", "--json"),
}


class KnownBeads(Record):
    """The known beads, their source, and the time of the data."""

    source: str  # jsonl, bd, br, or none
    path: str | None = None
    as_of: int | None = None
    skipped: int = 0
    beads: tuple[Bead, ...] = ()
    note: str | None = None

    @property
    def is_known(self) -> bool:
        return self.source != "none"


def read_beads(place: Place, env: Mapping[str, str], patience: float = PATIENCE) -> KnownBeads:
    """The beads of the repository at PLACE."""
    if place.work_tree is None:
        return KnownBeads("none", note="this repository has no work tree")
    folder, note = _folder(place, env)
    if folder and (path := _file(folder)):
        return _read(path, folder)
    if folder is None:
        return KnownBeads("none", note=note)
    if not ownership.is_ours(place, env):  # a tracker may run programs that its configuration names
        return KnownBeads("none", note="the repository belongs to another user, so no tracker is run")
    return _asked(place.work_tree, env, patience)


def file_of(place: Place, env: Mapping[str, str]) -> str | None:
    """The tracker's file of beads, if there is one."""
    folder = _folder(place, env)[0] if place.work_tree else None
    return _file(folder) if folder else None


def _folder(place: Place, env: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The tracker's folder after redirects, and the problem if a redirect fails."""
    main = os.path.dirname(place.common) if os.path.basename(place.common) == ".git" else None
    candidates = [
        env.get("BEADS_DIR"),
        os.path.join(place.work_tree or "", FOLDER),
        main and os.path.join(main, FOLDER),
    ]
    folder = next((path for path in candidates if path and os.path.isdir(path)), None)
    if folder is None:
        return None, None
    for _ in range(MOST_REDIRECTS + 1):
        target = _small(folder, REDIRECT).split(b"\n")[0].strip()
        if not target:
            return folder, None
        folder = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(folder)), os.fsdecode(target)))
        if not os.path.isdir(folder):
            break
    return None, "the redirects in .beads lead nowhere"


def _file(folder: str) -> str | None:
    """The file that holds the beads."""
    for name in (_configured(folder), *FILES):
        if name and os.path.isfile(path := os.path.join(folder, name)):
            return path
    return None


def _configured(folder: str) -> str | None:
    """The file that `metadata.json` or `config.yaml` names, if it is in the same folder."""
    try:
        metadata = json_text.read(_small(folder, "metadata.json") or b"{}")
        name = metadata.get("jsonl_export") if isinstance(metadata, dict) else None
    except json_text.NotJson:
        name = None
    for line in _small(folder, "config.yaml").decode("utf-8", "replace").splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() in ("export.path", "jsonl_export"):
            name = value.partition(" #")[0].strip().strip("\"'")
    is_plain = isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", "\\", "\0"}
    return name if is_plain else None


def _read(path: str, folder: str) -> KnownBeads:
    try:
        with disk.reader(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > LARGEST:
                return KnownBeads("none", path, note=f"{path} is too large to be read")
            beads, skipped = _beads(file)
    except OSError as error:
        return KnownBeads("none", path, note=f"{path} cannot be read: {error.strerror}")
    if len(beads) + skipped > MOST:
        return KnownBeads("none", path, note=f"{path} has more than {MOST:,} lines")
    as_of = _exported_at(folder) or status.st_mtime_ns // 1_000_000
    return KnownBeads("jsonl", path, as_of, skipped, tuple(beads))


def _beads(file: IO[bytes]) -> tuple[list[Bead], int]:
    """The beads in a FILE, and the number of lines that are not valid beads. Stops at one line above the limit."""
    beads: list[Bead] = []
    skipped = 0
    for line in file:
        if len(beads) + skipped > MOST:
            break
        record = _record(line) if line.strip() else None
        if not line.strip() or is_something_else(record):
            continue
        parsed = bead(record)
        if parsed:
            beads.append(parsed)
        else:
            skipped += 1
    return beads, skipped


def _record(line: bytes) -> object:
    try:
        record: object = json_text.read(line)
    except json_text.NotJson:
        return None
    return record


def _exported_at(folder: str) -> int | None:
    """The time at which the tracker wrote the file, according to the tracker."""
    try:
        state = json_text.read(_small(folder, "export-state.json") or b"{}")
    except json_text.NotJson:
        return None
    timestamp = state.get("timestamp") if isinstance(state, dict) else None
    return clock.parse_or(timestamp, 0) or None if isinstance(timestamp, str) else None


def _asked(work_tree: str, env: Mapping[str, str], patience: float) -> KnownBeads:
    """The beads that the tracker's command lists."""
    if (answer := _list_beads(work_tree, env, patience)) is None:
        return KnownBeads("none", note="there is no issues.jsonl in .beads, and neither bd nor br is installed")
    name, octets, problem = answer
    if octets is None:
        return KnownBeads("none", note=problem)
    try:
        records = _records(json_text.read(octets))
    except json_text.NotJson:
        return KnownBeads("none", note=f"the answer of `{name}` is not valid JSON")
    if records is None:
        return KnownBeads("none", note=f"the answer of `{name}` is not a list of beads")
    beads = tuple(parsed for record in records if (parsed := bead(record)))
    return KnownBeads(name, None, None, len(records) - len(beads), beads)


def _small(folder: str, name: str) -> bytes:
    """A small file of the tracker; empty if it cannot be read."""
    try:
        return disk.read_small(os.path.join(folder, name)) or b""
    except BbError:
        return b""


def _records(answer: Any) -> list[Any] | None:
    """The list in a tracker's answer, bare or wrapped in objects."""
    while isinstance(answer, dict):
        answer = next((answer[name] for name in ("data", "issues") if name in answer), None)
    return answer if isinstance(answer, list) else None


def _list_beads(
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
    if len(done.stdout) > LARGEST_ANSWER:
        return None, f"the answer of `{os.path.basename(words[0])}` is too large to be read"
    return done.stdout, ""
