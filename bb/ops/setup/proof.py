"""Proves the installed parts for `bb setup --check` and `bb doctor`: a refusal is played through each hook.

The trials use a repository of their own, with a ledger in which one agent holds a file and another wants to edit it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from bb.coordination.wiring import hosts, setup_parts
from bb.coordination.wiring.setup_parts import Part
from bb.kernel import clock
from bb.ledger.care.finding import BROKEN, GOOD, ODD, Finding
from bb.ledger.files import launchers
from bb.ledger.git import ownership
from bb.ledger.git.place import NotARepository
from bb.ledger.local import hook_calls
from bb.ledger.wiring import editor_settings, trial_runs
from bb.ops.desk.desk import Desk
from bb.ops.setup import editor_hooks, installing, part_trials
from bb.ops.setup.part_trials import NOT_FOUND, NOT_ON_PATH, STARTS, Bench
from bb.ops.setup.parts import Site

PROVED, UNPROVED, IN_PLACE, MISSING, SKIPPED = "proved", "not proved", "in place", "not installed", "skipped"
REPAIR = "bb setup"
# What a trial has shown, by kind of part.
DOES = {
    setup_parts.HOOKS: "refused an edit of a held file",
    setup_parts.GIT_HOOKS: "refused a commit of a held file",
    setup_parts.MCP: "the server listed its tools",
}
PLUGIN = "the command in the plugin refused an edit of a held file"


def findings(desk: Desk) -> list[Finding]:
    """The installed hooks and MCP entries, for `bb doctor`. Commands run only in a repository of the user."""
    try:
        if desk.is_served or not ownership.is_ours(desk.place, desk.env):
            return []
    except NotARepository.error:
        return []
    site = Site(desk, launchers.name_of_bb(desk.env)[0])
    rows = prove(site, [part for part in setup_parts.PARTS if part.kind in STARTS])
    return [_finding(row) for row in rows if row["state"] in (PROVED, UNPROVED) and row["where"]]


def _finding(row: Mapping[str, Any]) -> Finding:
    if row["state"] != PROVED:
        return Finding(row["part"], BROKEN, row["why"], row["mend"])
    shown = f"{row['where']}: {row['shown']}"
    if row["note"]:
        return Finding(row["part"], ODD, shown, row["note"])
    called = f"; last called {row['last_call']}" if row["last_call"] else ""
    return Finding(row["part"], GOOD, f"{shown}{called}", row["mend"])


def bad_states(*, is_named: bool) -> tuple[str, ...]:
    """The states that fail a check. A part that is missing fails it only if the caller has named it."""
    return (UNPROVED, MISSING) if is_named else (UNPROVED,)


def prove(site: Site, chosen: Sequence[Part]) -> list[dict[str, Any]]:
    """The state of each of the CHOSEN parts."""
    rows = {part.name: _before(part, site) for part in chosen}
    to_try = [part for part in chosen if rows[part.name]["state"] == PROVED]
    if to_try:
        with trial_runs.Folder() as folder:
            part_trials.make_ledger(site, folder, to_try)
            bench = Bench(folder, {})
            started = [(part, part_trials.start(part, site, bench)) for part in to_try]
            for part, trial in started:
                why = trial if isinstance(trial, str) else trial.judge(trial.finish())
                rows[part.name] |= {"state": UNPROVED, "why": why, "mend": _mend(part, site, why)} if why else {}
    for part in to_try:
        row = rows[part.name]
        row["shown"] = _shown(part) if row["state"] == PROVED else None
        row |= _calls(part, site, row["where"])
    return list(rows.values())


def _shown(part: Part) -> str:
    return PLUGIN if part.host == hosts.OPENCODE and part.kind == setup_parts.HOOKS else DOES[part.kind]


def _calls(part: Part, site: Site, path: str) -> dict[str, Any]:
    """When the host last called the hook by itself, and what helps if it never has. A trial is no such call."""
    if part.kind == setup_parts.GIT_HOOKS:
        last = hook_calls.last_calls(site.desk.place.store).get((hook_calls.GIT, "pre-commit"))
        return {"last_call": None if last is None else clock.text(last)}
    if part.kind == setup_parts.MCP:
        return {}
    use = editor_hooks.use_of(site.desk, part.host, path, _moments(part, site, path))
    return {"last_call": max(filter(None, use["calls"].values()), default=None), "note": use["note"]} if use else {}


def _moments(part: Part, site: Site, path: str) -> list[str]:
    """The moments at which the host calls the hooks in the settings at PATH."""
    is_local = path == editor_settings.file_of(site.work_tree, part.host, is_local=True)
    return editor_settings.installed(site.work_tree, part.host, is_local=is_local)[1]


def _mend(part: Part, site: Site, why: str) -> str:
    """What helps if the trial of PART failed because of WHY."""
    if why.endswith(NOT_ON_PATH):
        return f"add {os.path.dirname(launchers.beside_python())} to the PATH"
    if part.kind == setup_parts.GIT_HOOKS:
        return "bb hooks install"
    if part.kind == setup_parts.MCP:
        return f"bb mcp install --host {part.host} --undo, then: {REPAIR} --only {part.name}"
    again = f"bb hooks install --editor {part.host} --register --auto-reserve"
    if not why.startswith(NOT_FOUND):
        return again
    return f"correct the program that {site.program} starts, or name another: {again} --program PROGRAM"


def _before(part: Part, site: Site) -> dict[str, Any]:
    """The state of a part without a trial: whether it is installed. Parts that can be tried count as proved so far."""
    planned = installing.install(part, site, dry_run=True)
    outcome = planned["outcome"]
    row = {"part": part.name, "host": planned["host"], "where": planned["where"], "kind": part.kind, "shown": None}
    row |= {"last_call": None, "note": None}
    if outcome == setup_parts.PLANNED:
        return row | {"state": MISSING, "why": None, "mend": f"{REPAIR} --only {part.name}"}
    if outcome in (setup_parts.REFUSED, setup_parts.SKIPPED):
        state = UNPROVED if outcome == setup_parts.REFUSED else SKIPPED
        return row | {"state": state, "why": planned["why"], "mend": planned["by_hand"]}
    is_old = outcome == setup_parts.NEWER
    state = PROVED if part.kind in STARTS else IN_PLACE
    return row | {
        "state": state,
        "why": "a newer version is available" if is_old else None,
        "mend": REPAIR if is_old else None,
    }
