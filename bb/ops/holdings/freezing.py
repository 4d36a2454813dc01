"""Freezing and thawing paths. Only the person may do this; a freeze overrides every agent's reservation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bb.coordination.facts import Released, Reserved
from bb.coordination.holdings import freezing, scopes
from bb.coordination.holdings.reservations import InvalidArgs
from bb.kernel import clock, ids
from bb.kernel.event import Event
from bb.ledger.git import work_tree
from bb.ledger.index.index import Index
from bb.ledger.journal import kinds
from bb.ledger.views.holdings import Holdings
from bb.messaging.mail import person_notices
from bb.ops.agent_params import AsPerson, Why
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.holdings.recording import anchored, answer, scopes_of
from bb.ops.params import AllowSecretReason, Key, Number, Scope


class Place(Scope):
    """A path or pattern in this repository, such as src/parser or docs/**/*.md; `.` is the whole repository."""


class Minutes(Number):
    """The duration in minutes, up to a year. Default: until the freeze is lifted."""

    metavar = "MINUTES"
    most = 366 * 24 * 60


@op(
    "freeze",
    screen="person_orders",
    examples=(
        "bb freeze src/core --why 'the release is being cut'",
        "bb freeze . --minutes 30 --json",
        "bb freeze 'migrations/**' docs/api.md",
    ),
)
def freeze(
    desk: Desk,
    scope: list[Place],
    *,
    why: Why | None = None,
    minutes: Minutes | None = None,
    agent: AsPerson | None = None,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Freeze paths: no agent may change them, even with a reservation. Only the person may do this.

    Agents keep their reservations there and are notified by mail. Until the freeze is lifted (`bb thaw`), no agent may
    reserve, edit or commit these paths, and no option overrides this. The freeze is listed among the reservations,
    with `user` as its holder. Freezing the same paths again changes the reason or the duration. People see a warning
    but are not stopped. Refused with PERSON_ONLY if BB_AGENT names an agent, unless --agent user confirms that you are
    the person.
    """
    signs_of_life.person(desk, agent)
    desk.store.require_ledger()
    wanted_scopes = anchored(desk, _scopes(desk, scope), ids.PERSON)
    until = None if minutes is None else clock.text(desk.now() + minutes * clock.MINUTE)

    def decide(_: Index, held: Holdings) -> list[Any]:
        met = held.overlaps(wanted_scopes)
        facts = freezing.freeze(wanted_scopes, why, minutes, met)
        new = {scopes.shown(fact.scope, fact.region) for fact in facts if isinstance(fact, Reserved)}
        holders = freezing.holders_affected(overlap for overlap in met if overlap.wanted.text in new)
        return [*facts, *person_notices.frozen(sorted(new), until, why, holders)]

    recorded = signs_of_life.act(desk, ids.PERSON, decide, key=key, allow_secret=allow_secret)
    held = desk.holdings(desk.store.index, desk.now())
    names = [
        on.reservation.id for one in wanted_scopes for on in held.reservations_of_scope(one) if on.reservation.is_freeze
    ]
    return answer(desk, names) | {
        "told": _told(recorded),
        "not_there": [one.text for one in wanted_scopes if not work_tree.exists_in_work_tree(desk.place, one)],
    }


@op("thaw", screen="person_orders", examples=("bb thaw src/core", "bb thaw --all --json"))
def thaw(
    desk: Desk,
    scope: list[Place] | None = None,
    *,
    all_: bool = False,
    agent: AsPerson | None = None,
    key: Key | None = None,
) -> dict[str, Any]:
    """Lift the freeze of these paths, or all freezes with --all.

    Agents with reservations there may continue and are notified. Name a path exactly as it was frozen; a part of a
    freeze cannot be lifted.

    Parameters:
        all_: Lift all freezes.
    """
    signs_of_life.person(desk, agent)
    desk.store.require_ledger()
    if (scope is None) is not all_:
        hint = "`bb agent status --agent user` shows what is frozen"
        raise InvalidArgs("name the paths to thaw or pass --all, not both", hint=hint, path="$.scope")
    wanted_scopes = _scopes(desk, scope or ())

    def decide(_: Index, held: Holdings) -> list[Any]:
        if all_:
            frozen = held.reservations_of_agent(ids.PERSON)
            lifted = [freeze.scope for freeze in frozen if not freeze.is_over]
            facts = freezing.thaw_all(frozen)
        else:
            lifted = list(wanted_scopes)
            facts = [fact for one in wanted_scopes for fact in freezing.thaw(one, held.overlaps([one]))]
        holders = freezing.holders_affected(held.overlaps(lifted))
        return [*facts, *person_notices.thawed(sorted(one.text for one in lifted), holders)]

    recorded = signs_of_life.act(desk, ids.PERSON, decide, key=key)
    facts = [kinds.fact_of(event.kind, event.data, event.by) for event in recorded]
    names = [fact.reservation for fact in facts if isinstance(fact, Released)]
    return answer(desk, names) | {"told": _told(recorded)}


def _scopes(desk: Desk, written: Sequence[str]) -> tuple[scopes.Scope, ...]:
    """The scopes as parsed, without duplicates."""
    if any(not text.strip() for text in written):
        raise InvalidArgs("a path must not be blank", hint="`.` is the whole repository", path="$.scope")
    return scopes_of(desk, written)


def _told(recorded: Sequence[Event]) -> list[str]:
    """The recipients of the messages in RECORDED."""
    return [to for event in recorded if event.kind == "chat.message" for to in event.data["to"]]
