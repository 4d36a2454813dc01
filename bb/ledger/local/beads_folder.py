"""The folder in which a bead tracker keeps its data: where it is, the export in it, and whether the data are newer.

`bd` keeps its beads in a Dolt database and writes `issues.jsonl` only if `export.auto` is on, at most once a minute.
`br` keeps them in an SQLite database and writes `issues.jsonl` after each change. Everything in the folder is
untrusted: names that lead out of it do not count, and no file larger than a setting is read here.
"""

from __future__ import annotations

import os

from bb.kernel import clock, json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bb.ledger.git.place import Place

FOLDERS = (".beads", "_beads")
REDIRECT = "redirect"
MOST_REDIRECTS = 3
FILES = ("issues.jsonl", "beads.jsonl")  # current and older installations
BACKUP = os.path.join("backup", "issues.jsonl")  # `bd` wrote it before its backups became Dolt's own
DOLT, SQLITE = ("embeddeddolt", "dolt", "proxieddb"), "beads.db"
LAST_TOUCHED = "last-touched"  # both programs write it when a bead changes
# Dolt's own files within a database: the list of its tables, and the journal of its latest changes.
DOLT_DATA = tuple(os.path.join(".dolt", "noms", name) for name in ("manifest", "v" * 32))
AT_ONCE = clock.SECOND  # a tracker may note the end of an export in its database


class TrackerFolder(Record):
    """One tracker's folder, after redirects."""

    path: str

    @property
    def export(self) -> str | None:
        """The file that holds the beads."""
        return self._first(self._configured(), *FILES)

    @property
    def backup(self) -> str | None:
        return self._first(BACKUP)

    @property
    def programs(self) -> tuple[str, ...]:
        """The trackers that can read this folder, the likeliest first."""
        if self._is_dolt():
            return ("bd",)
        return ("br", "bd") if os.path.isfile(os.path.join(self.path, SQLITE)) else ("bd", "br")

    def exported_at(self) -> int | None:
        """The time at which the tracker wrote the export, according to the tracker."""
        timestamp = self._settings("export-state.json").get("timestamp")
        return clock.parse_or(timestamp, 0) or None if isinstance(timestamp, str) else None

    def changed_after(self, moment: int) -> bool:
        """Whether the tracker's own data have changed after MOMENT."""
        return any(_changed_at(sign) > moment + AT_ONCE for sign in self.signs())

    def signs(self) -> Iterator[str]:
        """Files that the tracker writes with each change. Not all of them exist."""
        yield os.path.join(self.path, LAST_TOUCHED)
        yield from (os.path.join(self.path, SQLITE + end) for end in ("", "-wal"))
        named = self._settings("metadata.json").get("dolt_database")
        for name in {"beads", str(named) if is_plain(named) else "beads"}:
            yield from (os.path.join(self.path, dolt, name, data) for dolt in DOLT for data in DOLT_DATA)

    def _first(self, *names: str | None) -> str | None:
        paths = (os.path.join(self.path, name) for name in names if name)
        return next((path for path in paths if os.path.isfile(path)), None)

    def _is_dolt(self) -> bool:
        is_set = self._settings("metadata.json").get("backend") == "dolt"
        return is_set or any(os.path.isdir(os.path.join(self.path, name)) for name in DOLT)

    def _configured(self) -> str | None:
        """The file that `metadata.json` or `config.yaml` names, if it is in the same folder."""
        name = self._settings("metadata.json").get("jsonl_export")
        section = ""
        for line in _small(self.path, "config.yaml").decode("utf-8", "replace").splitlines():
            key, colon, value = line.partition(":")
            if colon and not line[:1].isspace():
                section = key.strip()
            full = f"{section}.{key.strip()}" if line[:1].isspace() else key.strip()
            if colon and full in ("export.path", "jsonl_export"):
                name = value.partition(" #")[0].strip().strip("\"'")
        return name if is_plain(name) else None

    def _settings(self, name: str) -> dict[str, Any]:
        """The JSON object in a small file; empty if there is none."""
        try:
            found = json_text.read(_small(self.path, name) or b"{}")
        except json_text.NotJson:
            return {}
        return found if isinstance(found, dict) else {}


def find(place: Place, env: Mapping[str, str]) -> tuple[TrackerFolder | None, str | None]:
    """The tracker's folder for PLACE after redirects, and the problem if a redirect fails."""
    main = os.path.dirname(place.common) if os.path.basename(place.common) == ".git" else None
    roots = [root for root in (place.work_tree, main) if root]
    candidates = [env.get("BEADS_DIR"), *(os.path.join(root, name) for root in roots for name in FOLDERS)]
    folder = next((path for path in candidates if path and os.path.isdir(path)), None)
    if folder is None:
        return None, None
    for _ in range(MOST_REDIRECTS + 1):
        target = _target(folder)
        if not target:
            return TrackerFolder(folder), None
        folder = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(folder)), target))
        if not os.path.isdir(folder):
            break
    return None, "the redirects in .beads lead nowhere"


def is_plain(name: object) -> bool:
    """Whether NAME is a file name that stays in its folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", "\\", "\0"}


def _target(folder: str) -> str:
    """The first line of the redirect that is no comment; empty without a redirect."""
    for line in _small(folder, REDIRECT).removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if (written := line.strip()) and not written.startswith(b"#"):
            return "" if b"\0" in written else os.fsdecode(written)
    return ""


def _small(folder: str, name: str) -> bytes:
    """A small file of the tracker; empty if it cannot be read."""
    try:
        return disk.read_small(os.path.join(folder, name)) or b""
    except BbError:
        return b""


def _changed_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns // 1_000_000
    except (OSError, ValueError):
        return 0
