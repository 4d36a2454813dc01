"""Writes all pages into one self-contained HTML file, for CI artifacts, mail and archives."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from bb.coordination.agents import work_state
from bb.ledger.files import output_files
from bb.ops.desk.desk import Desk
from bb.web import pages, rendering
from bb.web.queries import answer

STDOUT = "-"
ORDER = ("problems", *(name for name in pages.TITLES if name != "problems"))
CONVERSATIONS = 100  # the newest ones are included


def write_report(cwd: str, env: Mapping[str, str], path: str) -> dict[str, Any]:
    """Write the report of the repository at CWD to PATH. An existing file is replaced atomically."""
    desk = Desk(cwd, env, only_reads=True)
    try:
        octets = render_report(desk).encode("utf-8", "backslashreplace")
    finally:
        desk.close()
    if path == STDOUT:
        sys.stdout.buffer.write(octets)
        sys.stdout.buffer.flush()
    else:
        with output_files.Replacement(os.path.join(cwd, path)) as file:
            file.write(octets)
    return {"path": path, "bytes": len(octets)}


def render_report(desk: Desk) -> str:
    """The report: all current pages, one below the other."""
    contents = {name: pages.page(desk, name, {}) | {"is_static": True} for name in ORDER}
    feed = answer(desk, "sessions.list", all=True)["feed"]
    tasks = [task for group in feed for task in group["tasks"]]
    latest = sorted(tasks, key=pages.last_activity, reverse=True)
    in_hand = sorted(latest, key=lambda task: task["session_state"] == work_state.COMPLETED)
    names = [task["id"] for task in in_hand[:CONVERSATIONS]]
    about = contents["sessions"]
    return rendering.page(
        "report",
        {
            "pages": contents,
            "parts": {name: rendering.part(name, content) for name, content in contents.items()},
            "conversations": {
                name: rendering.part("conversation", about | _conversation(desk, name)) for name in names
            },
            "left_out": len(tasks) - len(names),
        },
    )


def _conversation(desk: Desk, bead: str) -> dict[str, Any]:
    return {
        "bead": bead,
        "conversation": pages.merge_copies(answer(desk, "sessions.show", bead=bead)["conversation"]),
    }
