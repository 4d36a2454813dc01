"""`bb blame`: who wrote each line of a file, committed or not."""

from __future__ import annotations

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.file_state import SEEN
from bb.kernel.errors import Refused
from bb.kernel.escaping import name
from bb.ledger.git import line_history
from bb.ledger.lines import uncommitted, work_files
from bb.ledger.lines.act import Act
from bb.ops.catalogue import op
from bb.ops.lines import diff, files
from bb.ops.lines.files import File

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.lines.weave import Weave
    from bb.ops.desk.desk import Desk

NoLines = Refused.declare(
    "NO_LINES", "That is a directory, or a file without lines", hint="name a text file: `bb blame PATH`"
)


@op("blame", screen="lines", examples=("bb blame src/dates.py", "bb blame src/dates.py --json"))
def blame(desk: Desk, path: File) -> dict[str, Any]:
    """Show who wrote each line of a file: committed lines as git has them, and uncommitted ones by agent."""
    store = files.store_of(desk)
    one = files.path_of(desk, path)
    is_there = files.exists(desk, one)
    if not (is_there or store.base(one).mode):
        raise files.NoSuchFile(f"there is no file {name(path, 200)}", path=one)
    has_lines = is_there and not work_files.is_folder(desk.place, one)
    state = uncommitted.look(store, one, Act(SEEN), desk.now()) if has_lines else None
    if state is None or state.is_whole:
        raise NoLines(f"{name(path, 200)} has no lines")
    committed = line_history.blame(store.place, store.head, one) if state.base.mode else []
    texts = diff.text(store.lines(state.now))
    rows = _rows(state.weave, committed)
    return {
        "path": one,
        "lines": [{"line": n, **row, "text": text} for n, (row, text) in enumerate(zip(rows, texts, strict=True), 1)],
    }


def _rows(weave: Weave, committed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Who wrote each line of the file now. COMMITTED says it of each line of its base."""
    rows: list[dict[str, Any]] = []
    at = 0
    for run in weave:
        if run.kind == weaves.KEPT:
            rows += [{**line, "agents": None} for line in committed[at : at + run.count]]
        elif run.kind == weaves.ADDED:
            row = {"commit": None, "author": None, "at": None, "agents": list(files.names_of(run.owners))}
            rows += [row] * run.count
        at += run.count if run.kind != weaves.ADDED else 0
    return rows
