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
from bb.coordination.facts import ACCEPTED, OVERLAPPING, TOUCHED, TRANSFERRED, Incurred
from bb.coordination.guards import commit_authors
from bb.coordination.guards.changes import OURS
from bb.coordination.guards.commit_authors import Author, Signed
from bb.coordination.holdings import scopes
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.leases import Contests, Lease, LeaseIndex
from bb.coordination.holdings.scopes import Scope
from bb.coordination.protocol.notices import is_known, notice, resolution
from bb.coordination.records.signed_lines import Verification
from bb.kernel import clock, ids
from bb.kernel.errors import Conflict, Refusal
from bb.kernel.escaping import name, quotation
from bb.kernel.plurals import counted
from bb.kernel.record import Record
from bb.kernel.total_order import State

Agreement = tuple[str, str, str]  # incoming agent, owner, and the commit or path that the owner accepted

HELD_THEN, HELD_NOW, OUTSIDE = "held-then", "held-now", "outside-declared"
STALE_TOKEN, PAUSED, UNCLEAR_AUTHOR = "stale-token", "paused-author", "unclear-author"
FORGED_LINES, UNVERIFIED_LINES, LOST_LINES = "forged-lines", "unverified-lines", "lost-lines"
SIGNERS_FILE = "signers-file"
RULES = {
    HELD_THEN: "A commit changed a path that another agent held at that time, or that was frozen.",
    HELD_NOW: "A commit changed a path that another agent holds now, or that is frozen.",
    STALE_TOKEN: "A commit was made under a global reservation that a later one has superseded.",
    PAUSED: "A commit was made by an agent that the person has paused.",
    OUTSIDE: "A commit changed a path that its author had not declared.",
    UNCLEAR_AUTHOR: "The agent that made a commit is unclear.",
    LOST_LINES: "A line of the ledger lost its content without a valid redaction.",
    SIGNERS_FILE: "A line of the file of allowed signers cannot be used.",
    FORGED_LINES: "A signature in the ledger does not match its lines.",
    UNVERIFIED_LINES: "Lines of the ledger are not signed with a listed key.",
}
ERROR, WARNING = "error", "warning"
MOST_WRITERS = 3  # writers named in a finding
ABBREVIATED = 12

CiIncursion = Conflict.declare(
    "CI_INCURSION",
    "This change includes paths that another agent holds or held, or that are or were frozen",
    hint="remove those paths from the change, or let the holder accept the commit: `bb protocol accept COMMIT`",
)

OutsideDeclared = Conflict.declare(
    "OUTSIDE_DECLARED",
    "This change includes paths that its author had not declared",
    hint="reserve those paths (`bb reserve`) and explain why they are needed, or remove them from this change",
)

PausedAuthor = Conflict.declare(
    "PAUSED_AUTHOR",
    "A commit was made by an agent that the person has paused",
    hint="a person reviews the commit and unpauses the agent: `bb agent unpause NAME`",
)

UnclearAuthor = Conflict.declare(
    "UNCLEAR_AUTHOR",
    "The agent that made a commit is unclear",
    hint="end the commit message with one trailer such as `BB-Agent: amber-otter`",
)

LedgerLacking = Conflict.declare(
    "LEDGER_LACKING",
    "Some lines of the published ledger have lost their content, so this change cannot be checked",
    hint="find the commit that emptied those lines (`git log bb-ledger`) and restore the branch: see docs/sync.md",
)


class Commit(Record):
    """One commit to check. PATHS are those that differ from all of its parents."""

    id: str
    written_at: int  # the author date, which a rebase keeps
    committed_at: int
    signed: Signed
    paths: tuple[str, ...]
    parents: int = 1


class Finding(Record):
    """A finding about one path, or about the ledger, with its commits."""

    rule: str
    severity: str
    text: str
    commits: tuple[str, ...] = ()
    path: str | None = None
    agent: str | None = None
    lease: Lease | None = None
    agents: tuple[str, ...] = ()  # all agents that the commit names

    @property
    def way_out(self) -> str | None:
        """The command by which the holder, or the person, accepts the change."""
        if self.lease is None or self.severity != ERROR or self.rule == STALE_TOKEN:
            return None
        return f"bb protocol accept {self.commits[0][:ABBREVIATED]} --agent {self.lease.reservation.agent}"

    def as_json(self) -> dict[str, Any]:
        held = self.lease.reservation if self.lease else None
        return {
            "rule": self.rule,
            "severity": self.severity,
            "path": self.path,
            "agent_id": self.agent,
            "agent_ids": list(self.agents) or ([self.agent] if self.agent else []),
            "commits": list(self.commits),
            "text": self.text,
            "held_by": held.agent if held else None,
            "scope": held.scope if held else None,
            "bead_id": held.bead if held else None,
            "reservation_id": held.id if held else None,
            "accept_with": self.way_out,
        }


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
    changes: Callable[[str, str], RegionChange] | None = None  # by commit and path; None: every region changes
    settled: Admitted = Admitted()
    overlaps: frozenset[Agreement] = frozenset()  # agreed: the owner, the other agent, and its scope
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
    """Whether the verdict needs the order of publication, which is not KNOWN: two clones reserved a changed path."""
    if len({ids.split_event_id(lease.reservation.id)[0] for lease in known.leases}) < 2:
        return False
    near = LeaseIndex(known.leases, ignore_case=wanted.ignore_case)
    contests = Contests(near, known.settled, known.overlaps)
    paths = {path for commit in commits for path in commit.paths}
    covering = {id(lease): lease for path in paths for lease in near.covering(path)}
    return any(map(contests.is_undecided, covering.values()))


def _lines(count: int) -> str:
    return f"{counted(count, 'line')} {'is' if count == 1 else 'are'}"


VERDICTS = tuple(each.code for each in (CiIncursion, OutsideDeclared, PausedAuthor, UnclearAuthor, LedgerLacking))


def refusal(findings: Sequence[Finding]) -> Refusal | None:
    """The refusal for FINDINGS; None if all are warnings."""
    rules = {finding.rule for finding in findings if finding.severity == ERROR}
    if rules & {HELD_THEN, HELD_NOW, STALE_TOKEN}:
        return CiIncursion
    if LOST_LINES in rules:
        return LedgerLacking
    if OUTSIDE in rules:
        return OutsideDeclared
    return PausedAuthor if PAUSED in rules else UnclearAuthor if rules else None


def signature_findings(standings: Iterable[Verification], *, is_required: bool) -> list[Finding]:
    """The findings about lines that are not verified. They are warnings: with errors, any user who can push could block
    every change."""
    writers_known = list(standings)
    kinds = ((FORGED_LINES, "forged", "forged"), (UNVERIFIED_LINES, "unverified", "not verified"))
    findings = []
    for rule, member, what in kinds:
        some = [(writer, count) for writer in writers_known if (count := getattr(writer, member))]
        if some:
            writers = ", ".join(f"{writer.writer} ({writer.why})" for writer, _ in some[:MOST_WRITERS])
            more = f" and {len(some) - MOST_WRITERS} more" if len(some) > MOST_WRITERS else ""
            effect = "; they are ignored" if is_required else ""
            text = f"{_lines(sum(count for _, count in some))} {what}{effect}: writer {writers}{more}"
            findings.append(Finding(rule, WARNING, text))
    return findings


def signers_file_findings(problems: Sequence[str]) -> list[Finding]:
    """The findings about unusable lines of the base's file of signers."""
    return [Finding(SIGNERS_FILE, WARNING, problem) for problem in problems]


def lost_line_findings(events: Sequence[str]) -> list[Finding]:
    """The finding about lines that lost their payload without a valid redaction. It is an error for every author,
    because one of the lines may have been a freeze."""
    if not events:
        return []
    named = ", ".join(events[:MOST_WRITERS]) + (" and more" if len(events) > MOST_WRITERS else "")
    text = f"{counted(len(events), 'line')} of the ledger lost their content without a valid redaction: {named}"
    return [Finding(LOST_LINES, ERROR, text)]


def is_incursion(finding: Finding) -> bool:
    """Whether FINDING is an incursion. An agent that gets only a warning had held the path too."""
    return finding.lease is not None and (finding.severity == ERROR or finding.agent is None)


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


def agreed_overlaps(notices: Iterable[State]) -> frozenset[Agreement]:
    """The overlaps to which owners agreed: a scope was reserved with --allow-overlap, or the reservation passed on."""
    facts = (notice(state) for state in notices if is_known(state))
    return frozenset(
        (fact.owner, fact.incoming, fact.scope)
        for fact in facts
        if isinstance(fact, Incurred) and fact.outcome == OVERLAPPING
    )


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
        mine, others = _parted(commit, path, near.covering(path), by.agents or (() if by.named else (None,)), known)
        touch = _Touch(commit, path, by, severity, min(commit.committed_at, wanted.now), mine, others, contests)
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
        if by.token is not None and token is not None and by.token < token:
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
    text += f"; {held.agent} has agreed" if has_agreed else ""
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
