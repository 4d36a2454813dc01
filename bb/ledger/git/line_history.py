"""Which commit each line of a committed file is from, as `git blame` tells."""

from __future__ import annotations

from bb.kernel import clock
from bb.ledger.git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.git.place import Place

PATIENCE = 120.0  # seconds; a long history takes its time


def blame(place: Place, commit: str, path: str) -> list[dict[str, Any]]:
    """For each line of PATH in COMMIT: its commit, the author and the time."""
    arguments = ["blame", "--porcelain", commit, "--", path]
    octets = git.output(arguments, at=place.work_tree, patience=PATIENCE)
    commits: dict[str, dict[str, Any]] = {}
    lines: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    for row in octets.decode("utf-8", "backslashreplace").split("\n"):
        if row.startswith("\t"):
            lines.append(current or {})
            current = None
        elif current is None:
            name = row.partition(" ")[0]
            current = commits.setdefault(name, {"commit": name, "author": "", "at": None})
        elif row.startswith("author "):
            current["author"] = row.removeprefix("author ")
        elif row.startswith("author-time ") and row[12:].isdigit():
            current["at"] = clock.text(int(row[12:]) * clock.SECOND)
    return lines
