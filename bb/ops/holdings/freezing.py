"""Freezing paths, and thawing them: the person's word, before which every agent's reservation gives way."""

from __future__ import annotations

from bb.coordination.facts import Released, Reserved
from bb.coordination.holdings import freezing
from bb.coordination.holdings.reservations import InvalidArgs
from bb.kernel import clock, ids
from bb.ledger.git import work_tree
from bb.ledger.journal import kinds
from bb.messaging.mail import person_notices
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.holdings.reservations import answer
from bb.ops.params import AsPerson, Key, Number, Reason, Scope, Why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings import scopes
    from bb.kernel.event import Event
    from bb.ledger.index.index import Index
    from bb.ledger.views.holdings import Holdings
    from bb.ops.desk.desk import Desk


class Place(Scope):
    """A path or pattern in this repository, as agents reserve it: src/parser, docs/**/*.md; `.` is all of it."""


class Minutes(Number):
    """For so many minutes, up to a year; until it is lifted unless given."""

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
    allow_secret: Reason | None = None,
) -> dict[str, Any]:
    """Let no agent change these paths, not even one that holds them: yours to say, as the person.

    Agents keep what they hold there, and are told by mail; until the freeze is lifted (`bb thaw`) nothing of it may be
    reserved, edited or committed by any of them, and no option of theirs goes past it. It is shown wherever
    reservations are, held by `user`. Freezing the same again changes why or how long. People are told, not stopped.
    Refused with PERSON_ONLY where BB_AGENT names an agent, unless --agent user says that it is you.
    """
    signs_of_life.person(desk, agent)
    desk.store.must_exist()
    wanted = _scopes(desk, scope)
    until = None if minutes is None else clock.text(desk.now() + minutes * clock.MINUTE)

    def decide(_: Index, held: Holdings) -> list[Any]:
        met = held.met_by(wanted)
        facts = freezing.freeze(wanted, why, minutes, met)
        new = {fact.scope for fact in facts if isinstance(fact, Reserved)}
        told = freezing.concerned(each for each in met if each.wanted.text in new)
        return [*facts, *person_notices.frozen(sorted(new), until, why, told)]

    recorded = signs_of_life.act(desk, ids.PERSON, decide, key=key, allow_secret=allow_secret)
    held = desk.holdings(desk.store.index, desk.now())
    names = [each.reservation.id for one in wanted for each in held.on(one) if each.reservation.is_freeze]
    return answer(desk, names) | {
        "told": _told(recorded),
        "not_there": [one.text for one in wanted if not work_tree.is_there(desk.place, one)],
    }


@op(
    "thaw",
    screen="person_orders",
    examples=("bb thaw src/core", "bb thaw --all --json"),
    all_="Everything that is frozen.",
)
def thaw(
    desk: Desk,
    scope: list[Place] | None = None,
    *,
    all_: bool = False,
    agent: AsPerson | None = None,
    key: Key | None = None,
) -> dict[str, Any]:
    """Lift a freeze: these paths are as free as they were before, or everything with --all.

    Whoever holds something there may go on, and is told. Exactly what was frozen is lifted, not a part of it.
    """
    signs_of_life.person(desk, agent)
    desk.store.must_exist()
    if (scope is None) is not all_:
        hint = "`bb agent status --agent user` shows what is frozen"
        raise InvalidArgs("say which paths to thaw, or --all, and not both", hint=hint, path="$.scope")
    wanted = _scopes(desk, scope or ())

    def decide(_: Index, held: Holdings) -> list[Any]:
        if all_:
            frozen = held.of(ids.PERSON)
            lifted = [each.scope for each in frozen if not each.is_over]
            facts = freezing.thaw_all(frozen)
        else:
            lifted = list(wanted)
            facts = [fact for one in wanted for fact in freezing.thaw(one, held.met_by([one]))]
        told = freezing.concerned(held.met_by(lifted))
        return [*facts, *person_notices.thawed(sorted(each.text for each in lifted), told)]

    recorded = signs_of_life.act(desk, ids.PERSON, decide, key=key)
    facts = [kinds.fact_of(event.kind, event.data, event.by) for event in recorded]
    names = [fact.reservation for fact in facts if isinstance(fact, Released)]
    return answer(desk, names) | {"told": _told(recorded)}


def _scopes(desk: Desk, written: Sequence[str]) -> list[scopes.Scope]:
    """The scopes that were written, each once."""
    if any(not text.strip() for text in written):
        raise InvalidArgs("a path must not be blank", hint="`.` is the whole repository", path="$.scope")
    return list({(found := desk.scope(text)).text: found for text in written}.values())


def _told(recorded: Sequence[Event]) -> list[str]:
    """Who has a letter about it."""
    return [to for event in recorded if event.kind == "chat.message" for to in event.data["to"]]
