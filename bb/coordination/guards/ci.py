"""The CI check: findings about commits that change other agents' reservations, or paths that were not declared.

    the author held the path                       another agent held it then     another agent holds it now
    at the time of the commit                      no finding: both knew          a warning
    when it was written, not when committed        a warning                      a warning
    never                                          an error: HELD_THEN            an error: HELD_NOW

A change to a path that was frozen at the time of the commit, or is frozen now, is an error, even if the author held the
path. A commit made by an agent while it was paused is an error until the agent is unpaused.

An error becomes a warning if the owner has agreed: the INCURSION was resolved as accepted or transferred, or the author
holds the path now.

A commit's author is the agent in its last `BB-Agent:` trailer. Without a trailer the author is a person. Errors of
people are only warnings, unless the check is strict. The trailer `BB-Token: 41` has the token of the global reservation
under which the commit was made.

Commits and reservations have times from different machines, so findings are only as accurate as their clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from bb.coordination.agents import pauses
from bb.coordination.agents.pauses import Pause
from bb.coordination.facts import ACCEPTED, TOUCHED, TRANSFERRED, Incurred
from bb.coordination.guards.changes import OURS
from bb.coordination.holdings import scopes
from bb.coordination.holdings.leases import Lease, LeaseIndex
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
AGENT, TOKEN = "bb-agent", "bb-token"  # trailer names are case-insensitive
MOST_WRITERS = 3  # writers named in a finding

CiIncursion = Conflict.declare(
    "CI_INCURSION",
    "This change includes paths that another agent holds or held, or that are or were frozen",
    hint="remove those paths from the change, or ask the holder to transfer or accept them: `bb agent status`",
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
    trailers: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]


class Author(Record):
    """The author of a commit. AGENT is None if a person made it. DOUBTS lists problems with its trailers."""

    agent: str | None
    token: int | None
    doubts: tuple[str, ...]


def author(trailers: Sequence[tuple[str, str]], otherwise: str | None) -> Author:
    """The author according to the trailers. The last valid BB-Agent trailer counts; OTHERWISE is the default."""
    named = [value for name, value in trailers if name.lower() == AGENT]
    sound = [value for value in named if ids.is_principal(value)]
    doubts = [f"{quotation(value, 60)} is not a valid agent id" for value in named if value not in sound]
    if len(set(sound)) > 1:
        doubts.append(f"it names {len(set(sound))} agents; the last one, {sound[-1]}, counts as its author")
    tokens = [value for name, value in trailers if name.lower() == TOKEN]
    fits = [int(value) for value in tokens if value.isascii() and value.isdigit() and len(value) < 16]
    if len(fits) != len(tokens):
        doubts.append("its BB-Token is not a number")
    who = sound[-1] if sound else otherwise
    return Author(None if who == ids.PERSON else who, min(fits, default=None), tuple(doubts))


class Finding(Record):
    """A finding about one path, or about the ledger, with its commits."""

    rule: str
    severity: str
    text: str
    commits: tuple[str, ...] = ()
    path: str | None = None
    agent: str | None = None
    lease: Lease | None = None

    def as_json(self) -> dict[str, Any]:
        held = self.lease.reservation if self.lease else None
        return {
            "rule": self.rule,
            "severity": self.severity,
            "path": self.path,
            "agent_id": self.agent,
            "commits": list(self.commits),
            "text": self.text,
            "held_by": held.agent if held else None,
            "scope": held.scope if held else None,
            "bead_id": held.bead if held else None,
            "reservation_id": held.id if held else None,
        }


class RegionChange(Protocol):
    """What a commit changed in one file."""

    def touches(self, region: str) -> bool:
        """Whether it changed a region."""

    def stays_in(self, own: Sequence[str]) -> bool:
        """Whether it changed nothing outside these regions."""


class Known(Record):
    """The facts from the ledger: leases, agreements of owners, and pauses."""

    leases: Sequence[Lease]
    agreements: frozenset[Agreement] = frozenset()
    pauses: Mapping[str, State] = {}
    unknown: frozenset[str] = frozenset()  # reservations that excuse nothing: perhaps not admitted, or of a rival
    changes: Callable[[str, str], RegionChange] | None = None  # by commit and path; None: every region changes


class Wanted(Record):
    """The settings of the check."""

    now: int
    otherwise: str | None = None  # the author of commits without a trailer
    must_declare: bool = False
    declared: tuple[Scope, ...] = ()  # scopes that count as declared in addition to the author's reservations
    is_strict: bool = False  # errors of people are errors too
    ignore_case: bool = False


def judge(commits: Sequence[Commit], known: Known, wanted: Wanted) -> list[Finding]:
    """The findings about COMMITS, errors first. The same finding about several commits is merged into one."""
    near = LeaseIndex(known.leases, ignore_case=wanted.ignore_case)
    findings: dict[tuple[object, ...], Finding] = {}
    for commit in commits:
        for one in _judged(commit, near, known, wanted):
            name = one.lease.reservation.id if one.lease else one.text
            key = (one.rule, one.severity, one.path, one.agent, name)
            same = findings.get(key)
            findings[key] = same.replace(commits=(*same.commits, commit.id)) if same else one
    order = list(RULES)
    return sorted(
        findings.values(), key=lambda one: (one.severity != ERROR, order.index(one.rule), one.path or "", one.text)
    )


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


class _Touch(Record):
    """One path that a commit changed, and the leases that cover it."""

    commit: Commit
    path: str
    by: Author
    severity: str
    second: int  # in which it was committed
    mine: list[Lease]
    others: list[Lease]

    @property
    def had_it(self) -> bool:
        return any(lease.held_in(self.second) for lease in self.mine)

    @property
    def has_it(self) -> bool:
        return any(lease.is_live for lease in self.mine)

    @property
    def wrote_it(self) -> bool:
        """Whether the author held the path when the change was written. A rebase changes only the commit date."""
        return self.had_it or any(lease.held_in(self.commit.written_at) for lease in self.mine)


def _judged(commit: Commit, near: LeaseIndex, known: Known, wanted: Wanted) -> Iterator[Finding]:
    by = author(commit.trailers, wanted.otherwise)
    severity = ERROR if by.agent or wanted.is_strict else WARNING
    for doubt in by.doubts:
        text = f"commit {commit.id[:12]}: {doubt}"
        yield Finding(UNCLEAR_AUTHOR, ERROR if wanted.is_strict else WARNING, text, (commit.id,), agent=by.agent)
    if by.agent and (pause := pauses.pause(known.pauses, by.agent)) and _is_since(commit, pause):
        yield Finding(PAUSED, ERROR, pause.sentence(by.agent), (commit.id,), agent=by.agent)
    for path in commit.paths:
        covering = near.covering(path)
        mine, others = _parted(commit, path, covering, by.agent, known)
        touch = _Touch(commit, path, by, severity, min(commit.committed_at, wanted.now), mine, others)
        yield from _touched(touch, known.agreements)
        if wanted.must_declare and not _is_declared(touch, wanted) and (by.agent or _judges_people(wanted)):
            text = f"{_who(by)} had not declared this path"
            yield Finding(OUTSIDE, severity, text, (commit.id,), path, by.agent)


def _parted(
    commit: Commit, path: str, covering: Sequence[Lease], author: str | None, known: Known
) -> tuple[list[Lease], list[Lease]]:
    """The leases of a changed path that count: the author's, and those of others.

    In a file that another agent held open, lines decide, not files. A region counts for another agent if the commit
    changes it, and for the author if the commit stays in the author's regions.
    """
    mine = [lease for lease in covering if lease.reservation.agent == author]
    mine = [lease for lease in mine if lease.reservation.id not in known.unknown]
    others = [lease for lease in covering if lease.reservation.agent != author and not lease.reservation.is_open]
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
        has_agreed = any((by.agent or ids.PERSON, owner, what) in agreements for what in (touch.commit.id, touch.path))
        is_frozen = lease.reservation.is_freeze
        is_shared = (touch.wrote_it or touch.has_it) and not is_frozen
        severity = WARNING if is_shared or has_agreed else touch.severity
        if by.token is not None and token is not None and by.token < token:
            text = f"made under token {by.token}; {owner} holds {name(lease.reservation.scope)} under token {token}"
            yield Finding(STALE_TOKEN, touch.severity, text, (touch.commit.id,), touch.path, by.agent, lease)
        elif lease.held_in(touch.second) and (is_frozen or not touch.had_it):
            yield _finding(HELD_THEN, severity, touch, lease, has_agreed)
        elif lease.is_live and (is_frozen or not touch.has_it):
            yield _finding(HELD_NOW, severity, touch, lease, has_agreed)


def _finding(rule: str, severity: str, touch: _Touch, lease: Lease, has_agreed: bool) -> Finding:
    held = lease.reservation
    verb = "has held" if lease.is_live else "held"
    until = f", until {_minute(min(lease.until, clock.LAST))}" if not (lease.is_live and held.has_no_end) else ""
    span = f"since {_minute(held.made_at)}{until}"
    changed = f"{_who(touch.by)} changed this at {_minute(min(touch.commit.committed_at, clock.LAST))}"
    about = f" for {name(held.bead)}" if held.bead else ""
    text = f"{held.agent} {verb} {name(held.scope)}{about} {span}; {changed}"
    if held.is_freeze:
        verb, why = "has frozen" if lease.is_live else "had frozen", f" ({quotation(held.why)})" if held.why else ""
        text = f"{held.agent} {verb} {name(held.scope)} {span}{why}; {changed}"
    text += f"; {held.agent} has agreed" if has_agreed else ""
    return Finding(rule, severity, text, (touch.commit.id,), touch.path, touch.by.agent, lease)


def _is_since(commit: Commit, pause: Pause) -> bool:
    """Whether the commit was made after its author was paused."""
    return commit.committed_at + clock.SECOND > clock.parse_or(pause.since, 0)


def _who(by: Author) -> str:
    return by.agent or "a person"


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
    return wanted.is_strict or bool(wanted.declared)
