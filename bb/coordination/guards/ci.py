"""The CI check: findings about commits that change other agents' reservations, or paths that were not declared.

    the author held the path                       another agent held it then     another agent holds it now
    at the time of the commit                      no finding: both knew          a warning
    when it was written, not when committed        a warning                      a warning
    never                                          an error: HELD_THEN            an error: HELD_NOW

A change to a path that was frozen at the time of the commit, or is frozen now, is an error, even if the author held the
path. A commit made by an agent while it was paused is an error until the agent is unpaused.

An error becomes a warning if the owner has agreed: the INCURSION was resolved as accepted or transferred, or the author
holds the path now.

A reservation that is contested, or void, was not held (`leases.Contests`): it never excuses its author. A merge that
git would make in the same way is nobody's edit: the commits that it brings together are judged.

`commit_authors` tells which agents made a commit. If there are none, a person made it. Errors of people are only
warnings, unless the check is strict about everyone. The trailer `BB-Token: 41` has the token of the global reservation
under which the commit was made.

Commits and reservations have times from different machines, so findings are only as accurate as their clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from bb.coordination.agents import pauses
from bb.coordination.agents.pauses import Pause
from bb.coordination.facts import ACCEPTED, TOUCHED, TRANSFERRED, Incurred
from bb.coordination.guards import commit_authors
from bb.coordination.guards.changes import OURS
from bb.coordination.guards.ci_findings import (
    ABBREVIATED,
    ERROR,
    HELD_NOW,
    HELD_THEN,
    OUTSIDE,
    PAUSED,
    RULES,
    STALE_TOKEN,
    UNCLEAR_AUTHOR,
    WARNING,
    Finding,
)
from bb.coordination.guards.commit_authors import Author, Signed
from bb.coordination.holdings import scopes
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.leases import Contests, Lease, LeaseIndex
from bb.coordination.holdings.scopes import Scope
from bb.coordination.protocol.notices import is_known, notice, overlaps, resolution
from bb.kernel import clock, ids
from bb.kernel.escaping import name, quotation
from bb.kernel.record import Record
from bb.kernel.total_order import State

Agreement = tuple[str, str, str]  # incoming agent, owner, and the commit or path that the owner accepted


class Commit(Record):
    """One commit to check. PATHS are those that differ from all of its parents."""

    id: str
    written_at: int  # the author date, which a rebase keeps
    committed_at: int
    signed: Signed
    paths: tuple[str, ...]
    parents: int = 1


class RegionChange(Protocol):
    """What a commit changed in one file."""

    def touches(self, region: str) -> bool:
        """Whether it changed a region."""

    def stays_in(self, own: Sequence[str]) -> bool:
        """Whether it changed nothing outside these regions."""


class Known(Record):
    """The facts from the ledger: leases and their order of publication, agreements of owners, and pauses.

    SETTLED is empty if the order is unknown. MERGES tells whether git makes the same merge from a commit's parents.
    """

    leases: Sequence[Lease]
    agreements: frozenset[Agreement] = frozenset()
    pauses: Mapping[str, State] = {}
    unknown: frozenset[str] = frozenset()  # reservations that excuse nothing: perhaps not admitted, or of a rival
    changes: Callable[[str, str], RegionChange] | None = None  # by commit and path; None: every region changes
    settled: Admitted = Admitted()
    overlaps: frozenset[Agreement] = frozenset()  # known to both: a reservation, the other agent, and its scope
    addresses: Mapping[str, Sequence[str]] = {}  # the agents of each address
    merges: Callable[[str], bool] | None = None


class Wanted(Record):
    """The settings of the check."""

    now: int
    otherwise: str | None = None  # the author of commits that name no agent
    must_declare: bool = False
    declared: tuple[Scope, ...] = ()  # scopes that count as declared in addition to the author's reservations
    is_strict: bool = False  # an unclear author is an error
    is_about_people: bool = False  # errors of people are errors too
    ignore_case: bool = False


def judge(commits: Sequence[Commit], known: Known, wanted: Wanted) -> list[Finding]:
    """The findings about COMMITS, errors first. The same finding about several commits is merged into one."""
    near = LeaseIndex(known.leases, ignore_case=wanted.ignore_case)
    contests = Contests(near, known.settled, known.overlaps)
    findings: dict[tuple[object, ...], Finding] = {}
    for commit in commits:
        for one in _judged(commit, near, contests, known, wanted):
            name = one.lease.reservation.id if one.lease else one.text
            key = (one.rule, one.severity, one.path, one.agent, name)
            same = findings.get(key)
            findings[key] = same.replace(commits=(*same.commits, commit.id)) if same else one
    order = list(RULES)
    return sorted(
        findings.values(), key=lambda one: (one.severity != ERROR, order.index(one.rule), one.path or "", one.text)
    )


def needs_order(commits: Sequence[Commit], known: Known, wanted: Wanted) -> bool:
    """Whether the verdict needs the order of publication, which is not KNOWN: two clones reserved a changed path, or a
    fleet has forgotten who was admitted."""
    near = LeaseIndex(known.leases, ignore_case=wanted.ignore_case)
    if known.settled.floor and any(_needs_forgotten(commit, near, known, wanted) for commit in commits):
        return True
    if len({ids.split_event_id(lease.reservation.id)[0] for lease in known.leases}) < 2:
        return False
    contests = Contests(near, known.settled, known.overlaps)
    paths = {path for commit in commits for path in commit.paths}
    covering = {id(lease): lease for path in paths for lease in near.covering(path)}
    return any(map(contests.is_undecided, covering.values()))


def _needs_forgotten(commit: Commit, near: LeaseIndex, known: Known, wanted: Wanted) -> bool:
    """Whether the verdict on a commit may depend on a lease of which a fleet has forgotten if it was admitted."""
    forgotten = [lease for path in commit.paths for lease in near.covering(path) if lease.is_forgotten]
    if not forgotten:
        return False
    token = commit_authors.author(commit.signed, known.addresses, wanted.otherwise).token
    is_old = token is not None and token < known.settled.floor
    return is_old or any(lease.until >= min(commit.written_at, commit.committed_at) for lease in forgotten)


def agreed(notices: Iterable[State]) -> frozenset[Agreement]:
    """The incursions that owners resolved as accepted or transferred: each with its commit, or its paths if there was
    no commit."""
    incidents: dict[str, tuple[Incurred, list[State]]] = {}
    for state in filter(is_known, notices):
        fact = notice(state)
        if isinstance(fact, Incurred) and fact.outcome == TOUCHED:
            incidents.setdefault(fact.incident, (fact, []))[1].append(state)
    return frozenset(
        (fact.incoming, fact.owner, what)
        for fact, twins in incidents.values()
        if (resolved := resolution(fact, twins)) and resolved.state in (ACCEPTED, TRANSFERRED)
        for what in ([fact.commit] if fact.commit else fact.paths)
    )


def known_overlaps(notices: Iterable[State]) -> frozenset[Agreement]:
    """The overlaps that both agents know of: a reservation, the agent that reserved a part of it with --allow-overlap,
    and that agent's scope. What either of them reserves later without the other's knowledge is contested."""
    known = ((state, notice(state)) for state in notices if is_known(state))
    return frozenset(pair for state, fact in known if isinstance(fact, Incurred) for pair in overlaps(fact, [state]))


class _Touch(Record):
    """One path that a commit changed, and the leases that cover it."""

    commit: Commit
    path: str
    by: Author
    severity: str
    second: int  # in which it was committed
    mine: list[Lease]
    others: list[Lease]
    contests: Contests
    begun: str | None  # the place of the author's first reservation of it in the order of the ledger

    def may_be_fenced_by(self, lease: Lease) -> bool:
        """Whether another agent's LEASE, whose token is forgotten, may have a later token than the commit. It has not
        if it ended before the author reserved the path."""
        token, held = self.by.token, lease.reservation
        if token is None or not lease.is_forgotten or token >= self.contests.floor:
            return False
        return held.ended_place is None or not self.begun or held.ended_place > self.begun

    @property
    def had_it(self) -> bool:
        return self._held_in(self.second)

    @property
    def has_it(self) -> bool:
        return any(map(self.contests.holds_now, self.mine))

    @property
    def wrote_it(self) -> bool:
        """Whether the author held the path when the change was written. A rebase changes only the commit date."""
        return self.had_it or self._held_in(self.commit.written_at)

    def _held_in(self, second: int) -> bool:
        return any(self.contests.holds_in(lease, second) for lease in self.mine)


def _judged(commit: Commit, near: LeaseIndex, contests: Contests, known: Known, wanted: Wanted) -> Iterator[Finding]:
    by = commit_authors.author(commit.signed, known.addresses, wanted.otherwise)
    severity = ERROR if by.named or wanted.is_about_people else WARNING
    doubts = [*((doubt, ERROR if wanted.is_strict else WARNING) for doubt in by.doubts)]
    for doubt, how_grave in [*doubts, *((note, WARNING) for note in by.notes)]:
        yield Finding(UNCLEAR_AUTHOR, how_grave, f"commit {commit.id[:ABBREVIATED]}: {doubt}", (commit.id,), **_by(by))
    for agent in by.named:
        if (pause := pauses.pause(known.pauses, agent)) and _is_since(commit, pause):
            yield Finding(PAUSED, ERROR, pause.sentence(agent), (commit.id,), agent=agent)
    found = list(_about_paths(commit, by, severity, near, contests, known, wanted))
    if not (found and commit.parents > 1 and known.merges and known.merges(commit.id)):
        yield from found


def _about_paths(
    commit: Commit,
    by: Author,
    severity: str,
    near: LeaseIndex,
    contests: Contests,
    known: Known,
    wanted: Wanted,
) -> Iterator[Finding]:
    for path in commit.paths:
        covering, authors = near.covering(path), by.agents or (() if by.named else (None,))
        mine, others = _parted(commit, path, covering, authors, known)
        begun = min((one.reservation.place for one in covering if one.reservation.agent in authors), default=None)
        second = min(commit.committed_at, wanted.now)
        touch = _Touch(commit, path, by, severity, second, mine, others, contests, begun)
        yield from _touched(touch, known.agreements)
        if wanted.must_declare and not _is_declared(touch, wanted) and (by.named or _judges_people(wanted)):
            text = f"{by.shown} had not declared this path"
            yield Finding(OUTSIDE, severity, text, (commit.id,), path, **_by(by))


def _by(by: Author) -> dict[str, Any]:
    return {"agent": by.agent, "agents": by.named}


def _parted(
    commit: Commit, path: str, covering: Sequence[Lease], authors: Sequence[str | None], known: Known
) -> tuple[list[Lease], list[Lease]]:
    """The leases of a changed path that count: the author's, and those of others.

    In a file that another agent held open, lines decide, not files. A region counts for another agent if the commit
    changes it, and for the author if the commit stays in the author's regions.
    """
    mine = [lease for lease in covering if lease.reservation.agent in authors]
    mine = [lease for lease in mine if lease.reservation.id not in known.unknown]
    others = [lease for lease in covering if lease.reservation.agent not in authors and not lease.reservation.is_open]
    if known.changes is None or not any(lease.scope.region for lease in (*mine, *others)):
        return mine, others
    change = known.changes(commit.id, path)
    regions = [lease.scope.region for lease in mine if lease.scope.region]
    if regions and not change.stays_in(regions):
        mine = [lease for lease in mine if not lease.scope.region]
    return mine, [lease for lease in others if not lease.scope.region or change.touches(lease.scope.region)]


def _touched(touch: _Touch, agreements: frozenset[Agreement]) -> Iterator[Finding]:
    """The findings about other agents' leases of a changed path. If the author also held it, one knew of the other."""
    by = touch.by
    for lease in touch.others:
        token, owner = lease.token, lease.reservation.agent
        has_agreed = _has_agreed(touch, owner, agreements)
        is_frozen = lease.reservation.is_freeze
        is_shared = (touch.wrote_it or touch.has_it) and not is_frozen
        severity = WARNING if is_shared or has_agreed else touch.severity
        if touch.may_be_fenced_by(lease):
            text = f"made under token {by.token}; {owner} had {name(lease.reservation.scope)} too, so long ago that "
            text += "nobody knows any more who had the later token"
            yield Finding(STALE_TOKEN, touch.severity, text, (touch.commit.id,), touch.path, lease=lease, **_by(by))
        elif by.token is not None and token is not None and by.token < token:
            text = f"made under token {by.token}; {owner} holds {name(lease.reservation.scope)} under token {token}"
            yield Finding(STALE_TOKEN, touch.severity, text, (touch.commit.id,), touch.path, lease=lease, **_by(by))
        elif lease.held_in(touch.second) and (is_frozen or not touch.had_it):
            yield _finding(HELD_THEN, severity, touch, lease, has_agreed)
        elif lease.is_live and (is_frozen or not touch.has_it):
            yield _finding(HELD_NOW, severity, touch, lease, has_agreed)


def _has_agreed(touch: _Touch, owner: str, agreements: frozenset[Agreement]) -> bool:
    """Whether OWNER accepted this commit, by whichever agent, or a change of the path by an author that is certain."""
    by, person = touch.by, () if touch.by.named else (ids.PERSON,)
    return any((who, owner, touch.commit.id) in agreements for who in (*by.named, *person)) or any(
        (who, owner, touch.path) in agreements for who in (*by.agents, *person)
    )


def _finding(rule: str, severity: str, touch: _Touch, lease: Lease, has_agreed: bool) -> Finding:
    held = lease.reservation
    verb = "has held" if lease.is_live else "held"
    until = f", until {_minute(min(lease.until, clock.LAST))}" if not (lease.is_live and held.has_no_end) else ""
    span = f"since {_minute(held.made_at)}{until}"
    changed = f"{touch.by.shown} changed this at {_minute(min(touch.commit.committed_at, clock.LAST))}"
    about = f" for {name(held.bead)}" if held.bead else ""
    text = f"{held.agent} {verb} {name(held.scope)}{about} {span}; {changed}"
    if held.is_freeze:
        verb, why = "has frozen" if lease.is_live else "had frozen", f" ({quotation(held.why)})" if held.why else ""
        text = f"{held.agent} {verb} {name(held.scope)} {span}{why}; {changed}"
    text += "; this was accepted" if has_agreed else ""  # by the holder, or by the person
    return Finding(rule, severity, text, (touch.commit.id,), touch.path, lease=lease, **_by(touch.by))


def _is_since(commit: Commit, pause: Pause) -> bool:
    """Whether the commit was made after its author was paused."""
    return commit.committed_at + clock.SECOND > clock.parse_or(pause.since, 0)


def _minute(moment: int) -> str:
    return f"{clock.text(moment)[:16]}Z"


def _is_declared(touch: _Touch, wanted: Wanted) -> bool:
    """Whether the author holds or held the path, or it was declared. Files of tools need no declaration."""
    if not OURS.isdisjoint(touch.path.split("/")) or touch.has_it or touch.wrote_it:
        return True
    file = scopes.existing(touch.path)
    return any(scopes.covers(scope, file, ignore_case=wanted.ignore_case) for scope in wanted.declared)


def _judges_people(wanted: Wanted) -> bool:
    """Whether people's changes are checked too. People reserve nothing, so a list of declared paths is needed."""
    return wanted.is_about_people or bool(wanted.declared)
