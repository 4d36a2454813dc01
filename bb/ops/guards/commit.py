"""Checks whether a commit may be made, for `bb check --staged` and the commit hook.

If the check fails for any reason, an agent is refused. A person gets a warning and is never stopped.
"""

from __future__ import annotations

from bb.coordination.facts import COMMIT, Overridden
from bb.coordination.holdings import scopes
from bb.kernel.errors import BbError
from bb.kernel.escaping import quoted
from bb.ledger.git import work_tree
from bb.ledger.git.staging import StagedCommit
from bb.ledger.lines import lines_folder
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.desk.desk import NoAgent
from bb.ops.guards.path_verdicts import HELD, Override, is_frozen, path_held, refuse_damage, verdict_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.guards.changes import Change
    from bb.coordination.holdings.region_changes import FileChange
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

IGNORED = "ignored"  # another agent holds the path, but the ignore file names it
OVERRIDE = "BB_OVERRIDE"
NAMED = 5  # most paths in the hint
RECORDED = 100  # most paths in the recorded override; its reservations are always recorded
HINT = "unstage it: `git restore --staged {0}`; to get in line for it: `bb reserve {0} --queue`"


def commit_verdict(desk: Desk, who: str | None, override: str | None) -> dict[str, Any]:
    """Whether WHO, an agent or (None) the person, may commit the staged changes."""
    desk.place  # noqa: B018  (refuses outside a repository, for a person too)
    if who is None:
        if override is not None:
            raise NoAgent("an override needs an agent, because only agents are stopped")
        return _for_person(desk)
    if override is None and (set_before := desk.env.get(OVERRIDE)):
        override = Override.from_text(set_before, OVERRIDE)
    return _for_agent(desk, who, override)


def _for_person(desk: Desk) -> dict[str, Any]:
    try:
        return _answer(desk, None)
    except BbError as error:
        return _answered(None, [], not_judged={"code": error.code, "message": error.message})


def _for_agent(desk: Desk, who: str, override: str | None) -> dict[str, Any]:
    answer = _answer(desk, who)
    if answer["may_touch"]:
        if not answer["lines"]:
            return answer
        if override is None:
            from bb.ops.guards import staged_lines  # noqa: PLC0415  (rarely needed)

            raise staged_lines.refusal(answer["lines"], answer)
    in_way = [path for path in answer["paths"] if path["verdict"] == HELD]
    if override is None or any(map(is_frozen, in_way)):  # an agent cannot override a freeze
        named = " ".join(quoted(path["path"]) for path in in_way[:NAMED])
        raise path_held(in_way, who, answer, HINT.format(named if len(in_way) <= NAMED else f"{named} …"))
    others = [held["reservation_id"] for path in in_way for held in path["held_by"] if held["agent_id"] != who]
    paths = tuple(path["path"] for path in in_way[:RECORDED])
    fact = Overridden(who, override, paths, tuple(dict.fromkeys(others)))
    from bb.ops.holdings import incursions  # noqa: PLC0415  (rarely needed)

    (*_, event) = signs_of_life.act(desk, who, lambda _, __: [fact])
    holdings = desk.holdings(desk.store.caught_up(), desk.now())
    overridden = [scopes.existing(path["path"]) for path in in_way]
    met = incursions.overlapping_reservations(holdings, overridden, who)
    incursions.report(desk, who, COMMIT, [one for one in met if one[1].reservation.id in others])
    return answer | {"may_touch": True, "override": {"reason": override, "event_id": event.id}}


def _answer(desk: Desk, who: str | None) -> dict[str, Any]:
    """The staged paths with their verdicts. Without a ledger, git is not run."""
    if not desk.store.exists:
        return _answered(who, [], is_managed=False)
    if who:
        who = signs_of_life.caller(desk, who)
    index = desk.store.caught_up()
    refuse_damage(desk)
    if who:
        pause_check.refuse(index, who)
    coming = StagedCommit(desk.place, desk.env)
    changes = coming.changes()
    held = desk.holdings(index, desk.now())
    rows = [
        _judged(verdict_on(held, _scope(change), who, _StagedEdit(coming, held, change)), change) for change in changes
    ]
    in_way = [(row, change) for row, change in zip(rows, changes, strict=True) if row["verdict"] == HELD]
    if in_way:
        rules = coming.ignoring(ignore_case=work_tree.is_case_insensitive(desk.place))
        for row, change in in_way:
            if rules.ignores(change.path, is_folder=change.is_submodule):
                row["verdict"] = IGNORED
    return _answered(who, rows, lines=_lines_of_others(desk, coming, changes, who) if who else [])


def _lines_of_others(desk: Desk, coming: StagedCommit, changes: Sequence[Change], who: str) -> list[dict[str, Any]]:
    """The uncommitted lines of other agents that the commit contains."""
    if not lines_folder.has_lines(desk.place):
        return []
    from bb.ops.guards import staged_lines  # noqa: PLC0415  (many work trees have no lines of several agents)

    return staged_lines.of_others(desk, coming, changes, who)


class _StagedEdit:
    """What a commit changes in one file. The file is read only if another agent holds a region of it."""

    def __init__(self, coming: StagedCommit, held: Holdings, change: Change) -> None:
        self._coming, self._held, self._change = coming, held, change
        self._changes: list[FileChange] | None = None
        self._is_readable = True

    def touches(self, scope: scopes.Scope) -> bool:
        """Whether the commit changes a region: against each of the commits that it is based on."""
        changes = self._against_each(scope)
        return not self._is_readable or all(change.touches(scope.region or "") for change in changes)

    def stays_in(self, own: Sequence[scopes.Scope]) -> bool:
        """Whether the commit stays in regions of the caller."""
        changes = self._against_each(own[0])
        return self._is_readable and any(change.stays_in([scope.region or "" for scope in own]) for change in changes)

    def _against_each(self, scope: scopes.Scope) -> list[FileChange]:
        if self._changes is None:
            from bb.coordination.holdings.region_changes import FileChange  # noqa: PLC0415  (few files have regions)
            from bb.ledger.lines.regions_now import MOST_READ, version  # noqa: PLC0415

            path = self._change.path
            before, after = self._coming.versions(path, MOST_READ)
            new, now = version(path, after), self._held.regions.file(scope)
            olds = [version(path, octets) for octets in before]
            self._changes = [FileChange(old, new, now) for old in olds if old and new]
            self._is_readable = len(self._changes) == len(olds)
        return self._changes


def _answered(
    who: str | None, paths: Sequence[dict[str, Any]], *, is_managed: bool = True, **more: Any
) -> dict[str, Any]:
    may_touch = all(path["verdict"] != HELD for path in paths)
    more = {"override": None, "not_judged": None, "lines": []} | more
    return {"agent_id": who, "may_touch": may_touch, "is_managed": is_managed, "paths": list(paths), **more}


def _scope(change: Change) -> scopes.Scope:
    return scopes.existing(change.path).replace(is_file=not change.is_submodule)


def _judged(verdict: dict[str, Any], change: Change) -> dict[str, Any]:
    """VERDICT with the path as git writes it. Bytes that are not valid UTF-8 are escaped, so that the JSON is valid."""
    path = change.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return verdict | {"path": path}
