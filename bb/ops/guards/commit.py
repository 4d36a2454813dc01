"""May this commit be made? What `bb check --staged` and the commit hook answer.

For an agent whatever cannot be judged is refused; a person is told, and never stopped.
"""

from __future__ import annotations

from bb.coordination.facts import COMMIT, Overridden
from bb.coordination.holdings import scopes
from bb.kernel.errors import BbError
from bb.ledger.git import work_tree
from bb.ledger.git.staging import Coming
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.desk.desk import NoAgent
from bb.ops.guards.check import HELD, Override, is_frozen, judged, refusal, refuse_damage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.guards.changes import Change
    from bb.ops.desk.desk import Desk

IGNORED = "ignored"  # somebody holds it, and the ignore file says that this does not matter
OVERRIDE = "BB_OVERRIDE"
RECORDED = 100  # paths; with more of them the reservations say enough
HINT = f"leave it out: `git restore --staged PATH`; or say why it is right: {OVERRIDE}='reason' git commit …"


def verdict(desk: Desk, who: str | None, override: str | None) -> dict[str, Any]:
    """Whether WHO, an agent or (None) the person, may make the commit that the index is for."""
    desk.place  # noqa: B018  (outside any repository there is nothing to judge, whoever asks)
    if who is None:
        if override is not None:
            raise NoAgent("only an agent is ever stopped, so only an agent overrides")
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
        return answer
    in_way = [each for each in answer["paths"] if each["verdict"] == HELD]
    if override is None or any(map(is_frozen, in_way)):  # what the person has frozen is no agent's to argue about
        raise refusal(in_way, who, answer, HINT)
    others = [each["reservation_id"] for path in in_way for each in path["held_by"] if each["agent_id"] != who]
    paths = tuple(path["path"] for path in in_way[:RECORDED])
    fact = Overridden(who, override, paths, tuple(dict.fromkeys(others)))
    from bb.ops.holdings import incursions  # noqa: PLC0415  (hardly ever)

    (*_, event) = signs_of_life.act(desk, who, lambda _, __: [fact])
    held = desk.holdings(desk.store.caught_up(), desk.now())
    lie = [scopes.existing(path["path"]) for path in in_way]
    incursions.report(desk, who, COMMIT, incursions.touched(held, lie, who))
    return answer | {"may_touch": True, "override": {"reason": override, "event_id": event.id}}


def _answer(desk: Desk, who: str | None) -> dict[str, Any]:
    """What is staged, and whose it is. Where there is no ledger, git is not even asked."""
    if not desk.store.exists:
        return _answered(who, [], is_managed=False)
    if who:
        who = signs_of_life.caller(desk, who)
    index = desk.store.caught_up()
    refuse_damage(desk)
    if who:
        pause_check.refuse(index, who)
    coming = Coming(desk.place, desk.env)
    changes = coming.changes()
    held = desk.holdings(index, desk.now())
    found = [_judged(judged(held, _scope(change), who), change) for change in changes]
    in_way = [place for place, each in enumerate(found) if each["verdict"] == HELD]
    if in_way:
        rules = coming.ignoring(ignore_case=work_tree.minds_no_case(desk.place))
        for place in in_way:
            if rules.ignores(changes[place].path, is_folder=changes[place].is_submodule):
                found[place]["verdict"] = IGNORED
    return _answered(who, found)


def _answered(
    who: str | None, paths: Sequence[dict[str, Any]], *, is_managed: bool = True, **more: Any
) -> dict[str, Any]:
    may_touch = all(each["verdict"] != HELD for each in paths)
    more = {"override": None, "not_judged": None} | more
    return {"agent_id": who, "may_touch": may_touch, "is_managed": is_managed, "paths": list(paths), **more}


def _scope(change: Change) -> scopes.Scope:
    return scopes.existing(change.path).but(is_file=not change.is_submodule)


def _judged(verdict: dict[str, Any], change: Change) -> dict[str, Any]:
    """VERDICT with the path as git writes it; what is no text in it is escaped, as every JSON reader wants it."""
    path = change.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return verdict | {"path": path}
