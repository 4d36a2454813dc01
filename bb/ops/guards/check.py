"""May these paths be touched? Asked before an edit, by hooks and by hand."""

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
    hint = "leave them alone, or ask the holder: `bb agent send`; `bb agent reserve --wait SECONDS` stands in line"


class TokenFenced(Conflict):
    """Another agent was granted these paths in every clone since, under a later token."""

    code = "TOKEN_FENCED"
    hint = "stop there; what you hold in every clone now is shown by `bb sync` and `bb agent status`"


class Token(Number):
    """The token of the global reservation that this work is done under: refused when a later one has been granted."""

    most = 10**15


class Path(Plain):
    """A file or directory. Wildcards in it are not patterns but its name."""

    metavar = "PATH"


class Override(Reason):
    """With --staged: go ahead although another agent holds some of it, and say why; it is recorded."""


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
    staged="Judge what the coming commit changes, instead of PATH.",
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
    """Who holds these paths, and may you touch them? Changes nothing.

    PATH_HELD (exit status 7) when another agent holds one of them, even one that has fallen silent: take it over first;
    or when the person has frozen it. AGENT_PAUSED (exit status 4) when the person has paused the agent.
    Without --agent or BB_AGENT a person is asking; a person is told, and not stopped. The answer is the same from
    every worktree and sub-directory. Without a ledger everything is free.

    --token refuses work under a global reservation that another agent's later one has superseded.

    --staged judges what is in the index, as a commit hook should: of a merge only what it changes itself, and nothing
    that the last commit's .bbignore names. An agent is also refused when it cannot be judged at all; a person never is.
    --override REASON, or BB_OVERRIDE=REASON in the environment, goes ahead all the same, and is recorded.
    """
    if not staged and path is None:
        raise MissingOption("check needs PATH, or --staged", hint="`bb check --help` shows how", option="PATH")
    if staged and path is not None:
        raise invalid("--staged judges what is in the index; name no paths with it", "path")
    if override is not None and not staged:
        raise invalid("--override goes with --staged", "override")
    if token is not None and staged:
        raise invalid("--token goes with PATH; a commit names its own in a trailer `BB-Token:`", "token")
    named = desk.actor(agent)
    who = None if named in (None, "", ids.PERSON) else named
    if staged:
        from bb.ops.guards import commit  # noqa: PLC0415  (an edit is no commit)

        return commit.verdict(desk, who, override)
    scopes = [desk.scope(each, is_path=True) for each in path or ()]
    if not desk.store.exists:
        found: list[dict[str, Any]] = [{"path": each.text, "verdict": FREE, "held_by": []} for each in scopes]
        return {"agent_id": who, "may_touch": True, "is_managed": False, "paths": found}
    if who:
        who = signs_of_life.caller(desk, who)
        refuse_damage(desk)
        pause_check.refuse(desk.store.caught_up(), who)
    held = desk.holdings(desk.store.caught_up(), desk.now())
    if who and token is not None:
        _refuse_old_token(held, who, token, scopes)
    found = [judged(held, each, who) for each in scopes]
    in_way = [each for each in found if each["verdict"] == HELD]
    answer: dict[str, Any] = {"agent_id": who, "may_touch": not in_way, "is_managed": True, "paths": found}
    if in_way and who:
        raise refusal(in_way, who, answer)
    return answer


def refuse_damage(desk: Desk) -> None:
    """Refuse where a part of the ledger cannot be read: what stands there may be a reservation."""
    if desk.store.caught_up().damages() and (broken := desk.store.damages()):
        raise LedgerDamaged(f"line {broken[0].n} of the journal {broken[0].writer} is damaged: {broken[0].reason}")


def _refuse_old_token(held: Holdings, who: str, token: int, scopes: Sequence[Scope]) -> None:
    """Refuse work under a TOKEN that another agent's later grant has superseded."""
    from bb.coordination.holdings import admission  # noqa: PLC0415  (who works under a token)

    for scope in scopes:
        if later := admission.fenced(held.settled, who, token, scope):
            raise TokenFenced(
                f"{later.agent} was granted {name(later.scope)} under token {later.token}, so {token} is over",
                agent_id=later.agent,
                scope=later.scope,
                token=later.token,
                path=scope.text,
            )


def refusal(in_way: Sequence[dict[str, Any]], who: str, answer: dict[str, Any], hint: str | None = None) -> PathHeld:
    """Why WHO may not touch what is IN_WAY, told by the first of it; by what is frozen, if anything is."""
    first, more = next((each for each in in_way if is_frozen(each)), in_way[0]), len(in_way) - 1
    holder = next(each for each in first["held_by"] if each["agent_id"] != who)
    rest = f" and {more} more" if more else ""
    if is_frozen(first):
        why = f": {quotation(holder['why'])}" if holder["why"] else ""
        message = f"{holder['agent_id']} has frozen {name(holder['scope'])}, so not {name(first['path'])}{rest}{why}"
        return PathHeld(message, hint=freezing.HINT, **answer)
    take = f"bb agent reserve --scope {quoted(holder['scope'])} --bead {quoted(holder['bead_id'])} --takeover-stale"
    hint = hint if holder["is_protected"] else f"take it over first: {take}"
    return PathHeld(
        f"{holder['agent_id']} holds {name(holder['scope'])}, so not {name(first['path'])}{rest}", hint=hint, **answer
    )


def judged(held: Holdings, path: Scope, who: str | None) -> dict[str, Any]:
    """Whose a path is, as WHO must see it: one's own reservation counts when it covers the whole of it, and nothing of
    it is frozen. What is frozen comes first."""
    met = sorted((overlap.held for overlap in held.met_by([path])), key=lambda each: not each.reservation.is_freeze)
    is_anything_frozen = bool(met) and met[0].reservation.is_freeze
    mine = [each for each in met if each.reservation.agent == who]
    others = [each for each in met if each.reservation.agent != who]
    # What was reserved in two clones at once is only one's own if it is one's own that stands.
    is_mine = not is_anything_frozen and any(
        held.covers(each, path) and not (others and held.contested_by(each)) for each in mine
    )
    if is_mine:
        beside = OVERLAPPING if any(not each.reservation.shared for each in [*mine, *others]) else SHARED
        verdict = beside if others else YOURS
    else:
        verdict = HELD if others else FREE
    shown = [each.shown() | {"is_protected": each.is_protected} for each in met]
    return {"path": path.text, "verdict": verdict, "held_by": shown}


def is_frozen(judged: dict[str, Any]) -> bool:
    """Whether the person has frozen a path, or a part of it."""
    return bool(judged["held_by"]) and "frozen" in judged["held_by"][0]
