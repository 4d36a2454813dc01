"""Checks whether an agent may change some paths. Hooks and agents ask before an edit."""

from __future__ import annotations

from bb.coordination.holdings import freezing
from bb.kernel import ids
from bb.kernel.errors import Conflict
from bb.kernel.show import name, quotation, quoted
from bb.ledger.journal.journal import LedgerDamaged
from bb.ops.catalogue import MissingOption, op
from bb.ops.desk import pause_check, signs_of_life
from bb.ops.params import Number, Plain, Reason, Someone, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.scopes import Scope
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk

FREE, YOURS, SHARED, OVERLAPPING, HELD = "free", "yours", "shared", "overlapping", "held"


class PathHeld(Conflict):
    """Another agent holds some of these paths, or the person has frozen them."""

    code = "PATH_HELD"
    hint = "do not edit them; ask the holder: `bb agent send`; `bb agent reserve --wait SECONDS` waits for them"


class TokenFenced(Conflict):
    """Another agent has a newer global reservation of these paths, with a later token."""

    code = "TOKEN_FENCED"
    hint = "stop work there; `bb sync`, then `bb agent status` shows your global reservations"


class Token(Number):
    """The token of your global reservation. The check is refused if another agent has a later token."""

    most = 10**15


class Path(Plain):
    """A file or directory. Wildcards are part of its name, not patterns."""

    metavar = "PATH"


class Override(Reason):
    """With --staged: allow the commit although another agent holds a path. Give the reason; it is recorded."""


@op(
    "check",
    reads=True,
    screen="guards",
    examples=(
        "bb check src/parser.py --agent amber-otter",
        "bb check src/parser.py docs --json",
        "bb check --staged",
        "bb check --staged --agent amber-otter --override 'agreed with cobalt-harbor'",
    ),
    staged="Check the staged changes instead of PATH.",
)
def check(
    desk: Desk,
    path: list[Path] | None = None,
    *,
    staged: bool = False,
    agent: Someone | None = None,
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

        return commit.verdict(desk, who, override)
    scopes = [desk.scope(text, is_path=True) for text in path or ()]
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
    rows = [judged(held, scope, who) for scope in scopes]
    in_way = [row for row in rows if row["verdict"] == HELD]
    answer: dict[str, Any] = {"agent_id": who, "may_touch": not in_way, "is_managed": True, "paths": rows}
    if in_way and who:
        raise refusal(in_way, who, answer)
    return answer


def refuse_damage(desk: Desk) -> None:
    """Refuse if a part of the ledger cannot be read, because it may contain a reservation."""
    if desk.store.caught_up().damages() and (broken := desk.store.damages()):
        raise LedgerDamaged(f"line {broken[0].n} of the journal {broken[0].writer} is damaged: {broken[0].reason}")


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


def refusal(in_way: Sequence[dict[str, Any]], who: str, answer: dict[str, Any], hint: str | None = None) -> PathHeld:
    """The refusal for WHO, about the first path IN_WAY that is frozen, else about the first path."""
    first, more = next((row for row in in_way if is_frozen(row)), in_way[0]), len(in_way) - 1
    holder = next(row for row in first["held_by"] if row["agent_id"] != who)
    rest = f" and {more} more" if more else ""
    denied = f"so you may not change {name(first['path'])}{rest}"
    if is_frozen(first):
        why = f": {quotation(holder['why'])}" if holder["why"] else ""
        message = f"{holder['agent_id']} has frozen {name(holder['scope'])}, {denied}{why}"
        return PathHeld(message, hint=freezing.HINT, **answer)
    take = f"bb agent reserve --scope {quoted(holder['scope'])} --bead {quoted(holder['bead_id'])} --takeover-stale"
    hint = hint if holder["is_protected"] else f"take it over first: {take}"
    return PathHeld(f"{holder['agent_id']} holds {name(holder['scope'])}, {denied}", hint=hint, **answer)


def judged(held: Holdings, path: Scope, who: str | None) -> dict[str, Any]:
    """The verdict on PATH for WHO, with its reservations, freezes first. A reservation of WHO counts only if it covers
    the whole path and no part of the path is frozen."""
    met = sorted((overlap.held for overlap in held.met_by([path])), key=lambda one: not one.reservation.is_freeze)
    is_anything_frozen = bool(met) and met[0].reservation.is_freeze
    mine = [one for one in met if one.reservation.agent == who]
    others = [one for one in met if one.reservation.agent != who]
    # If two clones reserved the path at the same time, WHO's reservation counts only if it is the one that holds.
    is_mine = not is_anything_frozen and any(
        held.covers(one, path) and not (others and held.contested_by(one)) for one in mine
    )
    if is_mine:
        beside = OVERLAPPING if any(not one.reservation.shared for one in [*mine, *others]) else SHARED
        verdict = beside if others else YOURS
    else:
        verdict = HELD if others else FREE
    shown = [one.shown() | {"is_protected": one.is_protected} for one in met]
    return {"path": path.text, "verdict": verdict, "held_by": shown}


def is_frozen(judged: dict[str, Any]) -> bool:
    """Whether the person has frozen a path, or a part of it."""
    return bool(judged["held_by"]) and "frozen" in judged["held_by"][0]
