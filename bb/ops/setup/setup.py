"""`bb setup`: connects a repository, its hosts and its CI to bb with one command, and undoes it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from bb.coordination.wiring import hosts, setup_parts
from bb.coordination.wiring.setup_parts import Part
from bb.kernel.errors import Refused, Usage
from bb.kernel.plurals import counted
from bb.ledger.files import launchers
from bb.ledger.files.folder_lock import FolderLock
from bb.ledger.wiring import setup_record, signs
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.params import Text, invalid
from bb.ops.setup import installing, steps, undoing
from bb.ops.setup.parts import Site

NotConfirmed = Usage.declare(
    "SETUP_NOT_CONFIRMED",
    "`bb setup` changes files of this repository, and nobody is at a terminal to agree",
    hint="to see the plan: bb setup --dry-run; to carry it out: bb setup --yes",
)

SetupIncomplete = Refused.declare(
    "SETUP_INCOMPLETE",
    "Some parts could not be installed",
    hint="each refused part says what to do; then run `bb setup` again, which installs what is missing",
)

UndoIncomplete = Refused.declare(
    "UNDO_INCOMPLETE",
    "Some files were changed after `bb setup` wrote them, so they were left",
    hint="each part that was left names the command that removes only what bb wrote",
)

SetupUnproved = Refused.declare(
    "SETUP_UNPROVED",
    "No hook and no MCP server of bb is installed here",
    hint="each part names what helps; `bb setup` installs what is missing",
)


NO_HOST = "no host was found; name yours, for example: bb setup --only claude"
NO_CI = "no CI service was found; name yours: bb setup --only github, or --only gitlab"
DEFAULT_KINDS = (setup_parts.HOOKS, setup_parts.CI)  # that say so if nothing was found for them


class PartName(Text):
    """A part, a kind of parts, or all parts of a host. It may be repeated."""

    metavar = "PART"
    choices = setup_parts.CHOICES


@op(
    "setup",
    screen="setup",
    examples=(
        "bb setup",
        "bb setup --dry-run",
        "bb setup --yes --json",
        "bb setup --only hooks --only skill",
        "bb setup --only cursor",
        "bb setup --check",
        "bb setup --undo",
    ),
)
def setup(
    desk: Desk,
    *,
    yes: bool = False,
    only: list[PartName] | None = None,
    dry_run: bool = False,
    undo: bool = False,
    check: bool = False,
) -> dict[str, Any]:
    """Set up bb in this repository: ledger, git hooks, hooks and MCP of your hosts, the skill, and a CI file.

    Finds the hosts that you use by their files in the repository and their programs on the PATH. Shows what it would
    do, one line for each part, and asks once. Running it again changes nothing, or says which parts an older bb wrote.
    A part that cannot be installed does not stop the others; the answer says what to do, and the exit status is 4.
    What only you can do is listed last, such as reviewing hooks in Codex.

    --undo gives every file that setup wrote its earlier content back, to the byte, and removes the files and folders
    that it made. Files that were changed since are left. A ledger with events is kept.

    --check proves the installed parts: in a scratch repository it plays a refusal through the hook of each host and of
    git, and starts each MCP server. The exit status is 0 if all are proved, else 4. Nothing is changed or recorded.

    Parameters:
        yes: Do not ask. Required where no person is at a terminal.
        only (PART): Only this part, kind of parts, or host: `ledger`, `git-hooks`, `hooks`, `mcp`, `skill`, `ci`,
            `claude`, `hooks-claude`, … A part that is named is installed even if its host was not found. It may be
            repeated.
        dry_run: Show what would be done, without doing it.
        undo: Undo what `bb setup` did in this work tree.
        check: Prove that the installed parts work.
    """
    if check and (yes or dry_run or undo):
        raise invalid("--check changes nothing, so it takes no other option than --only", "check")
    if yes and dry_run:
        raise invalid("--yes and --dry-run exclude each other", "yes")
    if not (yes or dry_run or check):
        raise NotConfirmed(hint=_how_to_confirm(only, undo=undo))
    program, why = launchers.name_of_bb(desk.env)
    site = Site(desk, program)
    if check:
        return _check(site, only)
    with FolderLock(desk.place.git_dir or desk.place.common):  # several agents may set up one clone at once
        if undo:
            return _undo(site, only, dry_run=dry_run)
        return _install(site, only, why, dry_run=dry_run)


def _how_to_confirm(only: Sequence[str] | None, *, undo: bool) -> str:
    words = " ".join(["bb setup", *(f"--only {part}" for part in only or ()), *(["--undo"] if undo else [])])
    return f"to see the plan: {words} --dry-run; to carry it out: {words} --yes"


def _install(site: Site, only: Sequence[str] | None, why: str, *, dry_run: bool) -> dict[str, Any]:
    desk = site.desk
    used, services = _in_use(desk)
    chosen = setup_parts.chosen(only, [*(each.host for each in used), *services])
    rows = [installing.install(part, site, dry_run=dry_run) for part in chosen]
    rows += _not_found(desk, only or DEFAULT_KINDS, has_hosts=bool(used), has_ci=bool(services))
    report = _report(site, rows, dry_run=dry_run) | {
        "program": site.program,
        "program_note": why,
        "hosts": [
            {"host": each.host, "title": hosts.HOSTS[each.host].title, "signs": list(each.signs)} for each in used
        ],
        "steps": _steps(site, rows),
    }
    is_pending = dry_run and report["changes"]
    report["to_commit"] = None if is_pending else steps.to_commit(desk, _files(site))
    refused = [row["part"] for row in rows if row["outcome"] == setup_parts.REFUSED]
    if refused and not dry_run:
        raise SetupIncomplete(f"{counted(len(refused), 'part')} could not be installed: {', '.join(refused)}", **report)
    return report


def _steps(site: Site, rows: Sequence[dict[str, Any]]) -> list[str]:
    is_named = os.path.isabs(site.program) and any(row["host"] and row["outcome"] in steps.FRESH for row in rows)
    return steps.for_person(rows) + ([steps.ABSOLUTE.format(site.program)] if is_named else [])


def _check(site: Site, only: Sequence[str] | None) -> dict[str, Any]:
    from bb.ops.setup import proof  # noqa: PLC0415  (installing needs no trials)

    used, services = _in_use(site.desk)
    chosen = setup_parts.chosen(only, [*(each.host for each in used), *services])
    rows = proof.prove(site, chosen)
    report: dict[str, Any] = {"repository": site.desk.place.work_tree or site.desk.place.common, "checked": rows}
    bad = [row["part"] for row in rows if row["state"] in proof.bad_states(is_named=bool(only))]
    if bad or not any(row["state"] == proof.PROVED for row in rows):
        raise SetupUnproved(f"{counted(len(bad), 'part')} not proved: {', '.join(bad)}" if bad else None, **report)
    return report


def _undo(site: Site, only: Sequence[str] | None, *, dry_run: bool) -> dict[str, Any]:
    files = _files(site)
    names = [part.name for part in setup_parts.PARTS if not only or _is_meant(part, only)]
    rows = undoing.undo(site, names, dry_run=dry_run)
    by_hand = steps.for_person([row for row in rows if row["by_hand"]])
    report = _report(site, rows, dry_run=dry_run) | {
        "steps": by_hand,
        "to_commit": None if dry_run else steps.to_commit(site.desk, files, is_undo=True),
    }
    left = [row["part"] for row in rows if row["outcome"] == setup_parts.LEFT]
    if left and not dry_run:
        raise UndoIncomplete(
            f"{counted(len(left), 'part')} left, because files were changed: {', '.join(left)}", **report
        )
    return report


def _is_meant(part: Part, only: Sequence[str]) -> bool:
    return part.name in only or part.kind in only or bool(part.host and part.host in only)


def _in_use(desk: Desk) -> tuple[list[hosts.Used], list[str]]:
    """The hosts and the CI services that this repository and this machine use."""
    work_tree = desk.place.work_tree
    if work_tree is None:
        return [], []
    used = hosts.in_use(signs.files_in(work_tree, hosts.all_files()), signs.programs(desk.env))
    return used, setup_parts.ci_services(signs.files_in(work_tree, signs.CI_FILES), signs.origin(work_tree))


def _not_found(desk: Desk, kinds: Sequence[str], *, has_hosts: bool, has_ci: bool) -> list[dict[str, Any]]:
    """A row for each of the KINDS for which nothing shows a host or a service that is in use."""
    is_bare = desk.place.work_tree is None
    of_hosts = "hosts need a work tree; run bb setup in each work tree of this repository" if is_bare else NO_HOST
    whys = {setup_parts.HOOKS: of_hosts, setup_parts.MCP: of_hosts, setup_parts.CI: "" if is_bare else NO_CI}
    found = {setup_parts.HOOKS: has_hosts, setup_parts.MCP: has_hosts, setup_parts.CI: has_ci}
    missing = [kind for kind in dict.fromkeys(kinds) if not found.get(kind, True) and whys[kind]]
    return [installing.row(Part(kind, "", ""), setup_parts.SKIPPED, "", why=whys[kind]) for kind in missing]


def _report(site: Site, rows: Sequence[dict[str, Any]], *, dry_run: bool) -> dict[str, Any]:
    place = site.desk.place
    return {
        "repository": place.work_tree or place.common,
        "is_done": not dry_run,
        "changes": sum(row["outcome"] in setup_parts.CHANGES for row in rows),
        "parts": rows,
    }


def _files(site: Site) -> list[str]:
    """The files that setups wrote in this work tree."""
    return [file.path for entry in setup_record.read(site.desk.place) for file in entry.files]
