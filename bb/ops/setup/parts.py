"""Installs the parts of `bb setup`, each through the older command that installs it alone.

`apply` does or plans one part; `PARTS` in `coordination/wiring/setup_parts.py` lists them. A part that cannot be
installed is refused by its own command, and the others go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from bb.coordination.wiring import hook_options, setup_parts
from bb.coordination.wiring import mcp_hosts as mcp_texts
from bb.coordination.wiring.editor_hooks import FILES, LOCAL_FILES, Wiring
from bb.coordination.wiring.mcp_hosts import Wanted
from bb.coordination.wiring.setup_parts import Part
from bb.kernel.errors import Refused
from bb.kernel.json_text import NotJson
from bb.kernel.record import Record
from bb.ledger.files import launchers, work_tree_files
from bb.ledger.git.place import NoWorkTree
from bb.ledger.records import creation
from bb.ledger.wiring import ci_files, editor_settings, hook_script, setup_record, snapshots
from bb.ledger.wiring import skill as skill_files
from bb.ops.desk.desk import Desk
from bb.ops.guards.editor_hook import AutoBead
from bb.ops.params import AgentId
from bb.ops.setup import editor_hooks, hooks, mcp_hosts, skill, steps
from bb.ops.setup.editor_hooks import Editor, Program
from bb.ops.setup.mcp_hosts import HostName

SettingsReadOnly = Refused.declare(
    "SETTINGS_READ_ONLY",
    "The host's settings file is read-only, so it was left unchanged",
    hint="make the file writable, then run `bb setup` again",
)


ANY_WRITER = 0o222
LOCALLY = "bb hooks install --editor claude --local --register --auto-reserve"


class Site(Record):
    """Where parts are installed: the repository, and the word that starts bb."""

    desk: Desk
    program: str

    @property
    def work_tree(self) -> str:
        if self.desk.place.work_tree is None:
            raise NoWorkTree("a bare repository has no work tree", hint="run `bb setup` in a work tree of it")
        return self.desk.place.work_tree


class Change(Record):
    """What a part changes, or would change."""

    is_changed: bool
    is_there: bool  # whether an earlier version of the part was there
    where: str
    files: tuple[str, ...] = ()  # that it writes
    note: str = ""
    by_hand: str = ""  # what a person has to do for it


def apply(part: Part, site: Site, *, dry_run: bool) -> Change:
    """Install PART at SITE, or plan it. Every part is planned before it is installed."""
    change = KINDS[part.kind](part, site, dry_run)
    if dry_run and change.is_changed and part.kind in (setup_parts.HOOKS, setup_parts.MCP):
        _refuse_read_only(change.files)
    return change


def _ledger(_: Part, site: Site, dry_run: bool) -> Change:
    store = site.desk.store
    is_missing = not (store.exists and store.caught_up().heads())
    if not dry_run:
        creation.make(store, site.desk.place.title, site.desk.principal(), site.desk.now())
    return Change(is_missing, not is_missing, store.path)


def _git_hooks(_: Part, site: Site, dry_run: bool) -> Change:
    done = hooks.install(site.desk, dry_run=dry_run)
    outcomes = {hook["outcome"] for hook in done["hooks"]}
    kept = [hook["hook"] for hook in done["hooks"] if hook["outcome"] == "chained"]
    notes = [f"your own {', '.join(kept)} runs first" if kept else "", done["note"] or ""]
    paths = [os.path.join(done["folder"], hook["hook"]) for hook in done["hooks"]]
    return Change(
        outcomes != {"unchanged"},
        "renewed" in outcomes and not outcomes & {"installed", "chained"},
        done["folder"],
        tuple(name for path in paths for name in (path, path + hook_script.KEPT)),
        "; ".join(filter(None, notes)),
    )


def _editor_hooks(part: Part, site: Site, dry_run: bool) -> Change:
    name = FILES[part.host]
    try:
        return _plain_hooks(part, site, dry_run)
    except editor_settings.SettingsUnreadable.error as refusal:
        if mcp_texts.is_relaxed(text_of(site, name)):
            refusal.message = f"{name} has comments or trailing commas; bb edits only plain JSON"
        again = f"bb setup --only {part.name}"
        local = f"; or install the hooks for yourself alone: {LOCALLY}" if part.host in LOCAL_FILES else ""
        refusal.hint = f"make {name} plain JSON, then: {again}{local}"
        raise


def _plain_hooks(part: Part, site: Site, dry_run: bool) -> Change:
    for is_local in (True, False):  # personal hooks help even if the shared settings cannot be read
        if not is_local or part.host in LOCAL_FILES:
            path, moments = editor_settings.installed(site.work_tree, part.host, is_local=is_local)
            if moments:
                return _renewed_hooks(part, site, path, is_local=is_local, dry_run=dry_run)
    wanted = Wiring(part.host, site.program, auto_reserve=True, register=True)
    return _written_hooks(site, wanted, is_there=False, is_local=False, dry_run=dry_run)


def _renewed_hooks(part: Part, site: Site, path: str, *, is_local: bool, dry_run: bool) -> Change:
    """Write hooks that are there again, with the options that they have."""
    text = text_of(site, (LOCAL_FILES if is_local else FILES)[part.host])
    wanted = hook_options.wiring_of(text, part.host)
    if wanted is None:
        return Change(False, True, path)
    wanted = wanted.replace(program=_better(wanted.program, site))
    return _written_hooks(site, wanted, is_there=True, is_local=is_local, dry_run=dry_run)


def _written_hooks(site: Site, wanted: Wiring, *, is_there: bool, is_local: bool, dry_run: bool) -> Change:
    done = editor_hooks.install(
        site.desk,
        editor=Editor(wanted.editor),
        agent=None if wanted.agent is None else AgentId(wanted.agent),
        register=wanted.register,
        auto_reserve=wanted.auto_reserve,
        bead=None if wanted.bead is None else AutoBead(wanted.bead),
        program=Program(wanted.program),
        local=is_local,
        dry_run=dry_run,
    )
    return Change(done["changed"], is_there, done["path"], (done["path"],))


def _mcp(part: Part, site: Site, dry_run: bool) -> Change:
    found = entry_of(part.host, site)
    wanted = Wanted(part.host, site.program) if found is None else mcp_texts.options(found, part.host)
    if wanted is None:  # a person has written it
        return Change(False, True, mcp_texts.HOSTS[part.host].file)
    done = mcp_hosts.install(
        site.desk,
        host=HostName(part.host),
        agent=None if wanted.agent is None else AgentId(wanted.agent),
        program=Program(_better(wanted.program, site)),
        dry_run=dry_run,
    )
    return Change(done["changed"], found is not None, done["path"], (done["path"],))


def _skill(_: Part, site: Site, dry_run: bool) -> Change:
    planned = skill.plan(site.desk)
    skill.install(site.desk, planned, dry_run=dry_run)
    changed = [piece for piece in planned if piece.outcome not in (skill_files.UNCHANGED, skill_files.LEFT)]
    is_there = any(piece.outcome == skill_files.UNCHANGED for piece in planned)
    left = [piece.path for piece in planned if piece.outcome == skill_files.LEFT]
    note = f"{', '.join(left)} stays as it is: {skill_files.NOT_OURS}" if left else ""
    where = ", ".join(dict.fromkeys(steps.by_folder(piece.path) for piece in planned))
    paths = tuple(os.path.join(site.work_tree, *piece.path.split("/")) for piece in changed)
    return Change(bool(changed), is_there, where, paths, note)


def _ci(part: Part, site: Site, dry_run: bool) -> Change:
    planned = ci_files.plan(site.work_tree, part.host)
    name = ci_files.FILES[part.host]
    path = os.path.join(site.work_tree, *name.split("/"))
    is_there = not planned.files
    if planned.called_in == name and _is_as_written(site, part, path):
        planned = ci_files.renewal(site.work_tree, part.host)
    if not dry_run:
        ci_files.write(site.work_tree, planned)
    paths = tuple(os.path.join(site.work_tree, *file.path.split("/")) for file in planned.files)
    where = ", ".join(file.path for file in planned.files) or planned.called_in or name
    return Change(bool(planned.files), is_there, where, paths, by_hand=planned.by_hand)


KINDS: dict[str, Callable[[Part, Site, bool], Change]] = {
    setup_parts.LEDGER: _ledger,
    setup_parts.GIT_HOOKS: _git_hooks,
    setup_parts.HOOKS: _editor_hooks,
    setup_parts.MCP: _mcp,
    setup_parts.SKILL: _skill,
    setup_parts.CI: _ci,
}


def entry_of(host: str, site: Site) -> dict[str, Any] | None:
    try:
        return mcp_texts.installed(text_of(site, mcp_texts.HOSTS[host].file), host)
    except NotJson:
        return None  # installing refuses it, with the reason


def _is_as_written(site: Site, part: Part, path: str) -> bool:
    """Whether the file at PATH is unchanged since an earlier setup wrote it."""
    entries = [entry for entry in setup_record.read(site.desk.place) if entry.part == part.name]
    marks = [file.after for entry in entries for file in entry.files if file.path == path and file.after]
    return marks[-1:] == [snapshots.state_of(path).mark]


def _refuse_read_only(paths: Sequence[str]) -> None:
    """Refuse to replace a file that nobody may write, as a text editor does."""
    for path in paths:
        if os.path.isfile(path) and not os.stat(path).st_mode & ANY_WRITER:
            raise SettingsReadOnly(f"{path} is read-only", path=path)


def _better(program: str, site: Site) -> str:
    """A name on the PATH instead of an absolute path to bb, so that the file is valid on other machines."""
    is_path = os.path.isabs(program) and os.path.basename(program).removesuffix(".cmd") in launchers.NAMES
    return site.program if is_path and not os.path.isabs(site.program) else program


def text_of(site: Site, name: str) -> str:
    return (work_tree_files.read(site.work_tree, name, editor_settings.LARGEST) or b"").decode("utf-8", "replace")
