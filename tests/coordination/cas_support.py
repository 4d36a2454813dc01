"""Publication without git: a hub that takes a commit only on its tip, and clones that go about it step by step.

Each step is one that another clone, a crash or a lost answer can come between. Which facts are recorded is decided by
the real rules, `reservations.reserve` and `admission`; around them stands the least that they need.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bb.coordination.agents import liveness
from bb.coordination.facts import Incurred, Released, Reserved, TakenOver
from bb.coordination.holdings import admission, holdings, reservations, scopes
from bb.coordination.holdings.admission import Admitted, Grant
from bb.coordination.holdings.held import Held, Overlap
from bb.coordination.holdings.holdings import Reservation
from bb.coordination.holdings.reservations import Wanted
from bb.kernel import clock
from bb.kernel.errors import BbError

NOW = 1_767_614_400_000
PERSON = "user"
# what becomes of a push: answered, not sent at all, arrived without an answer, or under way for longer than we wait
ANSWERED, NOT_SENT, UNANSWERED, UNDER_WAY = "answered", "not sent", "unanswered", "under way"


@dataclass(frozen=True)
class Commit:
    name: str
    parent: str | None
    writer: str
    lines: tuple[tuple[str, Any], ...]


@dataclass
class Hub:
    """One branch. What is under way may arrive whenever it likes, and more than once."""

    commits: list[Commit] = field(default_factory=list)
    under_way: list[Commit] = field(default_factory=list)

    def take(self, commit: Commit) -> bool:
        """A push that expects the branch to be where the commit stands."""
        if commit.parent != (self.commits[-1].name if self.commits else None):
            return False
        self.commits.append(commit)
        return True


@dataclass
class Attempt:
    """A `sync`, or a `reserve --global` of an agent, on its way: what a crash forgets."""

    wanted: Wanted | None = None
    names: list[str] = field(default_factory=list)  # recorded by this attempt
    later: list[Any] = field(default_factory=list)
    void: list[str] = field(default_factory=list)
    commit: Commit | None = None
    next: str = "look"


@dataclass
class Clone:
    """A store: its journal, what it knows of the hub, and the one attempt that may be on its way."""

    writer: str
    hub: Hub
    lines: dict[str, Any] = field(default_factory=dict)  # everybody's, by event
    own: int = 0
    pinned: int = 0  # commits that were verified
    admitted: Admitted = Admitted()  # noqa: RUF009  (frozen)
    silent: set[str] = field(default_factory=set)
    attempt: Attempt | None = None
    believed: dict[str, tuple[str, int]] = field(default_factory=dict)  # what agents were told is theirs

    # -- what is known

    @property
    def tip(self) -> str | None:
        return self.hub.commits[self.pinned - 1].name if self.pinned else None

    def unpublished(self) -> tuple[tuple[str, Any], ...]:
        out = sum(len(commit.lines) for commit in self.hub.commits[: self.pinned] if commit.writer == self.writer)
        return tuple((name, self.lines[name]) for name in (f"{self.writer}.{n}" for n in range(out + 1, self.own + 1)))

    def reservations(self) -> dict[str, Reservation]:
        """Every reservation there ever was, by the real fold."""
        states: dict[str, Any] = {}
        for name, fact in self.lines.items():
            writer, _, n = name.partition(".")
            place = [int(n), writer, int(n)]
            for key in holdings.keys(fact, place):  # type: ignore[arg-type]
                states[key] = holdings.step(states.get(key), fact, place, clock.text(NOW))  # type: ignore[arg-type]
        return {key: found for key, state in states.items() if (found := holdings.reservation(key, state))}

    def live(self) -> dict[str, Reservation]:
        return {name: each for name, each in self.reservations().items() if each.state == holdings.ACTIVE}

    def met_by(self, scope: scopes.Scope) -> list[Overlap]:
        lies = scopes.comparison(scope, ignore_case=True)
        found = []
        for name, each in self.live().items():
            grant = self.admitted.grants.get(name)
            if each.base is None or (grant and grant.ended is None):
                other = scopes.Scope(each.scope, each.is_file)
                if (kind := lies(other)) != scopes.DISJOINT:
                    alive = liveness.STALE if each.agent in self.silent else liveness.ACTIVE
                    found.append(Overlap(scope, Held(each, other, alive, NOW + 1, is_over=False), kind))
        return sorted(found, key=lambda overlap: overlap.kind != scopes.EXACT)

    # -- what is done at once, by any process of this clone

    def record(self, *facts: Any) -> list[str]:
        names = []
        for fact in facts:
            self.own += 1
            names.append(f"{self.writer}.{self.own}")
            self.lines[names[-1]] = fact
            self.silent.discard(getattr(fact, "agent", ""))
        return names

    def decide(self, wanted: Wanted) -> list[Any]:
        met = [overlap for scope in wanted.scopes for overlap in self.met_by(scope)]
        facts = reservations.reserve(wanted, met, lambda _: True)
        return [fact for fact in facts if not isinstance(fact, Incurred)]  # those are mail

    def release(self, who: str, names: list[str]) -> None:
        self.record(*(Released(who, name) for name in names))
        for name in names:
            self.believed.pop(name, None)

    def crash(self) -> None:
        """All that is not on the disk is forgotten; what is there is read again."""
        self.attempt = None
        self.admitted = Admitted.from_dict(json.loads(json.dumps(self.admitted.as_json())))

    def give_up(self) -> None:
        """The attempt is refused or interrupted, and ends as it always does."""
        attempt, self.attempt = self.attempt, None
        if attempt and attempt.wanted and attempt.void:
            self.record(*(Released(attempt.wanted.agent, name) for name in attempt.void))

    # -- what is done step by step

    def go_on(self, fate: str, seen: int) -> None:
        """The next step of the attempt. FATE is that of a push, SEEN how many commits a fetch is shown."""
        assert self.attempt
        steps: dict[str, Callable[[str, int], None]] = {
            "look": self._look,
            "decide": self._decide,
            "build": self._build,
            "push": self._push,
            "look again": self._look_again,
        }
        steps[self.attempt.next](fate, seen)

    def take_in(self, seen: int, *, is_pinned: bool = True) -> None:
        """What the commits up to SEEN bring; a crash may come before the pin."""
        for number, commit in enumerate(self.hub.commits[self.pinned : seen], self.pinned + 1):
            self.lines |= commit.lines
            if commit.writer != self.writer:
                self.silent -= {getattr(fact, "agent", "") for _, fact in commit.lines}
            if is_pinned:
                self.admitted = admission.admit(self.admitted, commit.parent, number, commit.lines)
        if is_pinned:
            self.pinned = seen
            for name in [name for name in self.believed if self.admitted.grants[name].ended is not None]:
                del self.believed[name]

    def _look(self, _: str, seen: int) -> None:
        assert self.attempt
        if seen < self.pinned:  # an answer of yesterday: the branch seems to be set back
            self.give_up()
            return
        self.take_in(seen)
        self.attempt.next = "decide" if self.attempt.wanted else "build"

    def _decide(self, _: str, __: int) -> None:
        attempt = self.attempt
        assert attempt
        assert attempt.wanted
        wanted = attempt.wanted.replace(base=self.tip)
        try:
            facts = self.decide(wanted)
            takes = " ".join(fact.reservation for fact in facts if isinstance(fact, TakenOver)) or None
            asked = [fact.replace(takes=takes) for fact in facts if isinstance(fact, Reserved)]
            self._refuse_what_is_in_way(asked)
        except BbError:
            self.give_up()
            return
        attempt.later = [fact for fact in facts if not isinstance(fact, Reserved)]
        self.record(*(Released(wanted.agent, name) for name in attempt.void))
        attempt.names = attempt.void = self.record(*asked)
        attempt.next = "build"

    def _refuse_what_is_in_way(self, asked: list[Reserved]) -> None:
        ever = self.reservations()
        for fact in asked:
            grant = Grant(fact.agent, fact.scope, fact.is_file, fact.shared, 0)
            blockers = set(admission.in_way(grant, self.admitted.grants)) - set((fact.takes or "").split())
            if any(ever[name].ended_by not in (ever[name].agent, PERSON) for name in blockers):
                raise reservations.ReservationConflict()

    def _build(self, _: str, __: int) -> None:
        assert self.attempt
        if not (wanted := self.unpublished()):
            self.attempt = None
            return
        name = f"{self.writer}:{self.pinned}:{self.own}"
        self.attempt.commit = Commit(name, self.tip, self.writer, wanted)
        self.attempt.next = "push"

    def _push(self, fate: str, _: int) -> None:
        attempt = self.attempt
        assert attempt
        assert attempt.commit
        if fate == ANSWERED:
            if self.hub.take(attempt.commit):
                self.take_in(self.pinned + 1)
                self._judge()
            else:
                attempt.next = "look"
            return
        if fate == UNANSWERED:
            self.hub.take(attempt.commit)
        elif fate == UNDER_WAY:
            self.hub.under_way.append(attempt.commit)
        attempt.next = "look again"

    def _look_again(self, fate: str, seen: int) -> None:
        """After an answer was lost; out of reach still, unless the fate is a good one."""
        assert self.attempt
        if fate == NOT_SENT:
            self.attempt = None  # pending: neither granted nor given up
        elif seen < self.pinned:
            self.give_up()
        else:
            self.take_in(seen)
            self._judge()

    def _judge(self) -> None:
        attempt = self.attempt
        assert attempt
        if attempt.wanted is None:
            attempt.next = "build"
        elif all(name in self.admitted.grants for name in attempt.names):
            self.attempt = None
            grants = self.admitted.grants
            self.believed |= {
                name: (grants[name].agent, grants[name].token) for name in attempt.names if grants[name].ended is None
            }
            self.record(*attempt.later)
            for fact in attempt.later:
                self.believed.pop(fact.reservation, None)
        else:
            attempt.next = "look"


def finished(clone: Clone) -> Iterator[str]:
    """The steps of an attempt that nothing happens to."""
    while clone.attempt:
        yield clone.attempt.next
        clone.go_on(ANSWERED, len(clone.hub.commits))
