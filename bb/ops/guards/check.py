"""Checks whether an agent may change some paths. Hooks and agents ask before an edit."""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.errors import Conflict
from bb.kernel.escaping import name
from bb.ops.catalogue import MissingOption, op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.guards.path_verdicts import FREE, HELD, Override, path_held, path_verdict, refuse_damage
from bb.ops.holdings import recording
from bb.ops.params import AgentOrPerson, Number, UncheckedText, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

TokenFenced = Conflict.declare(
    "TOKEN_FENCED",
    "Another agent has a newer global reservation of these paths, with a later token",
    hint="stop work there; `bb sync`, then `bb agent status` shows your global reservations",
)


TOO_OLD = "stop work there, and reserve it again: `bb reserve PATH --bead BEAD`"


class Token(Number):
    """The token of your global reservation. The check is refused if another agent has a later token."""

    most = 10**15


@op(
    "check",
    reads=True,
    screen="guards",
    verdicts=("PATH_HELD",),
    examples=(
        "bb check src/parser.py --agent amber-otter",
        "bb check src/parser.py docs --json",
        "bb check src/number.py::roman --agent amber-otter",
        "bb check --staged",
        "bb check --staged --agent amber-otter --override 'agreed with cobalt-harbor'",
    ),
)
def check(
    desk: Desk,
    path: list[UncheckedText] | None = None,
    *,
    staged: bool = False,
    agent: AgentOrPerson | None = None,
    override: Override | None = None,
    token: Token | None = None,
) -> dict[str, Any]:
    """Check whether you may change these paths, and show their holders. Changes nothing.

    Fails with PATH_HELD (exit status 7) if another agent holds one of the paths or the person has frozen it. A silent
    agent's reservation counts too: take it over first. Fails with AGENT_PAUSED (exit status 4) if the person has paused
    the agent. Without --agent or BB_AGENT, the caller is a person: a person gets a warning and is not stopped. The
    answer is the same in every worktree and sub-directory. Without a ledger, all paths are free.

    --token refuses work under a global reservation if another agent has a later one.

    --staged checks the git index, as a commit hook does. Of a merge, only its own changes are checked. Paths in the
    .bbignore of the last commit are not checked. If the check itself fails, an agent is refused and a person is not.
    --override REASON, or BB_OVERRIDE=REASON in the environment, allows the commit and is recorded.

    Parameters:
        path (PATH): A file or directory, or a part of a file, such as src/number.py::roman. Wildcards are part of its
            name, not patterns.
        staged: Check the staged changes instead of PATH.
    """
    if not staged and path is None:
        raise MissingOption("check needs PATH or --staged", hint="`bb check --help` shows how", option="PATH")
    if staged and path is not None:
        raise invalid("--staged checks the git index; do not name paths with it", "path")
    if override is not None and not staged:
        raise invalid("--override needs --staged", "override")
    if token is not None and staged:
        raise invalid("--token needs PATH; a commit names its token in a trailer `BB-Token:`", "token")
    named = desk.actor(agent)
    who = None if named in (None, "", ids.PERSON) else named
    if staged:
        from bb.ops.guards import commit  # noqa: PLC0415  (needed only for commits)

        return commit.commit_verdict(desk, who, override)
    scopes = recording.anchored_if_there(desk, _scopes(desk, path or ()), who or ids.PERSON)
    if not desk.store.exists:
        rows: list[dict[str, Any]] = [{"path": scope.text, "verdict": FREE, "held_by": []} for scope in scopes]
        return {"agent_id": who, "may_touch": True, "is_managed": False, "paths": rows}
    if who:
        who = signs_of_life.caller(desk, who)
        refuse_damage(desk)
        pause_check.refuse(desk.store.caught_up(), who)
    held = desk.holdings(desk.store.caught_up(), desk.now())
    if who and token is not None:
        _refuse_old_token(held, who, token, scopes)
    rows = [path_verdict(held, scope, who) | _vanished(held, scope) for scope in scopes]
    in_way = [row for row in rows if row["verdict"] == HELD]
    answer: dict[str, Any] = {"agent_id": who, "may_touch": not in_way, "is_managed": True, "paths": rows}
    answer |= _fleet_age(desk)
    if in_way and who:
        raise path_held(in_way, who, answer)
    return answer


def _fleet_age(desk: Desk) -> dict[str, Any]:
    """The member that says how old the order of the fleet's engine is; empty outside a fleet."""
    if not desk.is_in_fleet:
        return {}
    from bb.ops.desk import fleet_age  # noqa: PLC0415  (needed only in a fleet)

    return fleet_age.member(desk)


def _vanished(held: Holdings, scope: Scope) -> dict[str, Any]:
    """The member that says that a region is not in its file. Then its name decides about overlaps."""
    return {"vanished": True} if scope.region is not None and held.regions.has_vanished(scope) else {}


def _scopes(desk: Desk, written: Sequence[str]) -> tuple[Scope, ...]:
    return tuple(desk.scope(text, is_path=True) for text in written)


def _refuse_old_token(held: Holdings, who: str, token: int, scopes: Sequence[Scope]) -> None:
    """Refuse work under TOKEN if another agent's grant has a later token."""
    from bb.coordination.holdings import admission  # noqa: PLC0415  (needed only with a token)

    for scope in scopes:
        if later := admission.fenced(held.settled, who, token, scope):
            raise TokenFenced(
                f"{later.agent} was granted {name(later.scope)} with token {later.token}; token {token} is out of date",
                agent_id=later.agent,
                scope=later.scope,
                token=later.token,
                path=scope.text,
            )
        if admission.is_too_old(held.settled, who, token, scope):
            raise TokenFenced(
                f"token {token} is so old that nobody knows any more who was granted {name(scope.text)} since then, and "
                "your reservation with it does not cover that any more",
                hint=TOO_OLD,
                token=token,
                path=scope.text,
            )
