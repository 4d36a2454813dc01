"""Did a change touch what another agent held, or leave what its author had declared? Judged commit by commit.

    the author held the path …                     another agent held it then     another agent holds it now
    at the time of the commit                      both knew: no finding          a warning
    when it was written, and not when committed    a warning                      a warning
    never                                          an error: HELD_THEN            an error: HELD_NOW

What the person had frozen at the time of the commit, or has frozen now, is an error whoever held it besides; and so is
a commit that an agent made while it was paused, until it is let go on.

It is a warning, too, where the owner has agreed since: the INCURSION was accepted or transferred, or the author has the
path by now.

A commit's author is the agent in its last `BB-Agent:` trailer. Who has none is a person; a person is told and not
stopped, so an error is a warning then, unless people are to be stopped too.

Commits and reservations carry time stamps of different machines: no finding says more than that the clocks say so.
"""

from __future__ import annotations

from bb.coordination.agents import pauses
from bb.coordination.facts import ACCEPTED, TOUCHED, TRANSFERRED, Incurred
from bb.coordination.guards.authorship import author
from bb.coordination.guards.changes import OURS
from bb.coordination.holdings import scopes
from bb.coordination.holdings.leases import Near
from bb.coordination.protocol.notices import is_known, notice, resolution
from bb.kernel import clock
from bb.kernel.errors import Conflict
from bb.kernel.ids import PERSON
from bb.kernel.record import Record
from bb.kernel.show import name, quotation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bb.coordination.agents.pauses import Pause
    from bb.coordination.guards.authorship import Author
    from bb.coordination.holdings.leases import Lease
    from bb.coordination.holdings.scopes import Scope
    from bb.coordination.records.vouching import Standing
    from bb.kernel.order import State

    Agreement = tuple[str, str, str]  # who came in, whose it was, and the commit or path that is agreed to

HELD_THEN, HELD_NOW, OUTSIDE = "held-then", "held-now", "outside-declared"
STALE_TOKEN, PAUSED, UNCLEAR_AUTHOR = "stale-token", "paused-author", "unclear-author"
FORGED_LINES, UNVERIFIED_LINES, LOST_LINES = "forged-lines", "unverified-lines", "lost-lines"
SIGNERS_FILE = "signers-file"
RULES = {
    HELD_THEN: "A commit changed a path that another agent held at that time, or that was frozen.",
    HELD_NOW: "A commit changed a path that another agent holds now, or that is frozen.",
    STALE_TOKEN: "A commit was made under a grant that a later one has superseded.",
    PAUSED: "A commit was made by an agent that the person has paused.",
    OUTSIDE: "A commit changed a path outside of what its author had declared.",
    UNCLEAR_AUTHOR: "A commit does not say clearly which agent made it.",
    LOST_LINES: "A line of the ledger was emptied by nobody who may, so what it said cannot be judged.",
    SIGNERS_FILE: "A line of the file that says who may write the ledger cannot be used.",
    FORGED_LINES: "A signature in the ledger does not fit the lines it stands behind.",
    UNVERIFIED_LINES: "Lines of the ledger are not signed by a key that is listed.",
}
ERROR, WARNING = "error", "warning"
MOST_WRITERS = 3  # that a finding names


class CiIncursion(Conflict):
    """This change touches what another agent holds, or held when it was made, or what is or was frozen."""

    code = "CI_INCURSION"
    hint = (
        "ask the holder to hand it over or to agree, or leave those paths out; `bb agent status` shows who holds what"
    )


class OutsideDeclared(Conflict):
    """This change goes beyond what its author had declared."""

    code = "OUTSIDE_DECLARED"
    hint = "reserve those paths and say why they belong to the work, or leave them out of this change"


class PausedAuthor(Conflict):
    """A commit was made by an agent that the person has paused."""

    code = "PAUSED_AUTHOR"
    hint = "a person looks at it, and lets the agent go on: `bb agent unpause NAME`"


class UnclearAuthor(Conflict):
    """A commit does not say clearly which agent made it."""

    code = "UNCLEAR_AUTHOR"
    hint = "end the message with one trailer such as `BB-Agent: amber-otter`"


class LedgerLacking(Conflict):
    """The published ledger lacks what some of its lines said, so nobody can tell what this change may touch."""

    code = "LEDGER_LACKING"
    hint = "find out who emptied those lines (`git log bb-ledger`), and have the branch put back: docs/sync.md says how"


class Commit(Record):
    """One commit, as far as it is judged. Paths are those that differ from every one of its parents."""

    id: str
    written_at: int  # by its author; rewriting a commit, as a rebase does, keeps this
    committed_at: int
    trailers: tuple[tuple[str, str], ...]
    paths: tuple[str, ...]


class Finding(Record):
    """Something to tell about one path, and the commits it is about."""

    rule: str
    severity: str
    path: str | None
    agent: str | None
    lease: Lease | None
    commits: tuple[str, ...]
    text: str

    def shown(self) -> dict[str, Any]:
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


class Known(Record):
    """What the ledger says: who held what and how long, what owners have agreed to, and who is paused."""

    leases: Sequence[Lease]
    agreements: frozenset[Agreement] = frozenset()
    pauses: Mapping[str, State] = {}


class Wanted(Record):
    """How strictly it is judged."""

    now: int
    otherwise: str | None = None  # the author of commits that name none
    must_declare: bool = False
    declared: tuple[Scope, ...] = ()  # what counts as declared beside what an author has reserved
    is_strict: bool = False  # people are stopped too
    ignore_case: bool = False


def judge(commits: Sequence[Commit], known: Known, wanted: Wanted) -> list[Finding]:
    """What there is to say about COMMITS, errors first; the same about several of them is said once."""
    near = Near(known.leases, ignore_case=wanted.ignore_case)
    found: dict[tuple[object, ...], Finding] = {}
    for commit in commits:
        for each in _judged(commit, near, known, wanted):
            name = each.lease.reservation.id if each.lease else each.text
            key = (each.rule, each.severity, each.path, each.agent, name)
            same = found.get(key)
            found[key] = same.but(commits=(*same.commits, commit.id)) if same else each
    order = list(RULES)
    return sorted(
        found.values(), key=lambda each: (each.severity != ERROR, order.index(each.rule), each.path or "", each.text)
    )


def refusal(findings: Sequence[Finding]) -> type[Conflict] | None:
    """The refusal that FINDINGS call for; None when there are only warnings."""
    rules = {each.rule for each in findings if each.severity == ERROR}
    if rules & {HELD_THEN, HELD_NOW, STALE_TOKEN}:
        return CiIncursion
    if LOST_LINES in rules:
        return LedgerLacking
    if OUTSIDE in rules:
        return OutsideDeclared
    return PausedAuthor if PAUSED in rules else UnclearAuthor if rules else None


def of_signatures(standings: Iterable[Standing], *, is_required: bool) -> list[Finding]:
    """What there is to say about lines that are not verified: warnings, or whoever may push could stop every change."""
    found = list(standings)
    kinds = ((FORGED_LINES, "forged", "forged"), (UNVERIFIED_LINES, "unverified", "not verified"))
    findings = []
    for rule, member, what in kinds:
        some = [(each, count) for each in found if (count := getattr(each, member))]
        if some:
            writers = ", ".join(f"{each.writer} ({each.why})" for each, _ in some[:MOST_WRITERS])
            more = f" and {len(some) - MOST_WRITERS} more" if len(some) > MOST_WRITERS else ""
            effect = "; they count for nothing" if is_required else ""
            text = f"{sum(count for _, count in some):,} lines are {what}{effect}: writer {writers}{more}"
            findings.append(Finding(rule, WARNING, None, None, None, (), text))
    return findings


def of_signers(problems: Sequence[str]) -> list[Finding]:
    """What there is to say about lines of the base's file of signers that cannot be used."""
    return [Finding(SIGNERS_FILE, WARNING, None, None, None, (), each) for each in problems]


def of_lost(events: Sequence[str]) -> list[Finding]:
    """What there is to say about lines whose payload is gone, although nobody whose word counts has taken it back. That
    is an error whoever made the change: a freeze may have stood there."""
    if not events:
        return []
    named = ", ".join(events[:MOST_WRITERS]) + (" and more" if len(events) > MOST_WRITERS else "")
    text = f"{len(events):,} lines of the ledger have no payload any more, and no redaction of them counts: {named}"
    return [Finding(LOST_LINES, ERROR, None, None, None, (), text)]


def is_incursion(finding: Finding) -> bool:
    """Whether somebody touched what was not theirs: an agent that is only warned had held it too."""
    return finding.lease is not None and (finding.severity == ERROR or finding.agent is None)


def agreed(notices: Iterable[State]) -> frozenset[Agreement]:
    """What owners have accepted or passed on, given every entry about notices: a commit, or paths where there was none
    when it was found."""
    incidents: dict[str, tuple[Incurred, list[State]]] = {}
    for state in filter(is_known, notices):
        fact = notice(state)
        if isinstance(fact, Incurred) and fact.outcome == TOUCHED:
            incidents.setdefault(fact.incident, (fact, []))[1].append(state)
    return frozenset(
        (fact.incoming, fact.owner, what)
        for fact, twins in incidents.values()
        if (said := resolution(fact, twins)) and said.state in (ACCEPTED, TRANSFERRED)
        for what in ([fact.commit] if fact.commit else fact.paths)
    )


class _Touch(Record):
    """One path that a commit changed, and every reservation that it lay in."""

    commit: Commit
    path: str
    by: Author
    severity: str
    moment: int
    mine: list[Lease]
    others: list[Lease]

    @property
    def had_it(self) -> bool:
        return any(each.held_at(self.moment) for each in self.mine)

    @property
    def has_it(self) -> bool:
        return any(each.is_live for each in self.mine)

    @property
    def wrote_it(self) -> bool:
        """Whether the author held the path when the change was written, which a rebase may have committed anew."""
        return self.had_it or any(each.held_at(self.commit.written_at) for each in self.mine)


def _judged(commit: Commit, near: Near, known: Known, wanted: Wanted) -> Iterator[Finding]:
    by = author(commit.trailers, wanted.otherwise)
    severity = ERROR if by.agent or wanted.is_strict else WARNING
    for doubt in by.doubts:
        text = f"commit {commit.id[:12]}: {doubt}"
        yield Finding(UNCLEAR_AUTHOR, ERROR if wanted.is_strict else WARNING, None, by.agent, None, (commit.id,), text)
    if by.agent and (pause := pauses.pause(known.pauses, by.agent)) and _is_since(commit, pause):
        yield Finding(PAUSED, ERROR, None, by.agent, None, (commit.id,), pause.told(by.agent))
    for path in commit.paths:
        covering = near.covering(path)
        mine = [each for each in covering if each.reservation.agent == by.agent]
        others = [each for each in covering if each.reservation.agent != by.agent]
        touch = _Touch(commit, path, by, severity, min(commit.committed_at, wanted.now), mine, others)
        yield from _touched(touch, known.agreements)
        if wanted.must_declare and not _is_declared(touch, wanted) and (by.agent or _judges_people(wanted)):
            text = f"{_who(by)} had not declared this path"
            yield Finding(OUTSIDE, severity, path, by.agent, None, (commit.id,), text)


def _touched(touch: _Touch, agreements: frozenset[Agreement]) -> Iterator[Finding]:
    """What others held of a path that a commit changed. Who held it too knew of them, or they of it."""
    by = touch.by
    for each in touch.others:
        token, owner = each.token, each.reservation.agent
        has_agreed = any((by.agent or PERSON, owner, what) in agreements for what in (touch.commit.id, touch.path))
        is_frozen = each.reservation.is_freeze
        is_shared = (touch.wrote_it or touch.has_it) and not is_frozen
        severity = WARNING if is_shared or has_agreed else touch.severity
        if by.token is not None and token is not None and by.token < token:
            text = f"made under token {by.token}; {owner} has {name(each.reservation.scope)} under {token}"
            yield Finding(STALE_TOKEN, touch.severity, touch.path, by.agent, each, (touch.commit.id,), text)
        elif each.held_at(touch.moment) and (is_frozen or not touch.had_it):
            yield _finding(HELD_THEN, severity, touch, each, has_agreed)
        elif each.is_live and (is_frozen or not touch.has_it):
            yield _finding(HELD_NOW, severity, touch, each, has_agreed)


def _finding(rule: str, severity: str, touch: _Touch, lease: Lease, has_agreed: bool) -> Finding:
    held = lease.reservation
    verb = "has held" if lease.is_live else "held"
    until = f", until {_minute(min(lease.until, clock.LAST))}" if not (lease.is_live and held.has_no_end) else ""
    span = f"since {_minute(held.made_at)}{until}"
    changed = f"{_who(touch.by)} changed this at {_minute(min(touch.commit.committed_at, clock.LAST))}"
    text = f"{held.agent} {verb} {name(held.scope)} for {name(held.bead)} {span}; {changed}"
    if held.is_freeze:
        verb, why = "has frozen" if lease.is_live else "had frozen", f" ({quotation(held.why)})" if held.why else ""
        text = f"{held.agent} {verb} {name(held.scope)} {span}{why}; {changed}"
    text += f"; {held.agent} has agreed" if has_agreed else ""
    return Finding(rule, severity, touch.path, touch.by.agent, lease, (touch.commit.id,), text)


def _is_since(commit: Commit, pause: Pause) -> bool:
    """Whether a commit was made since its author was paused."""
    return commit.committed_at >= clock.parse_or(pause.since, 0)


def _who(by: Author) -> str:
    return by.agent or "a person"


def _minute(moment: int) -> str:
    return f"{clock.text(moment)[:16]}Z"


def _is_declared(touch: _Touch, wanted: Wanted) -> bool:
    """Whether the author held the path then or holds it now, or somebody declared it. A tool's own files are free."""
    if not OURS.isdisjoint(touch.path.split("/")) or touch.has_it or touch.wrote_it:
        return True
    lies = scopes.existing(touch.path)
    return any(scopes.covers(scope, lies, ignore_case=wanted.ignore_case) for scope in wanted.declared)


def _judges_people(wanted: Wanted) -> bool:
    """People reserve nothing, so what they change can only lie outside of what was declared by word."""
    return wanted.is_strict or bool(wanted.declared)
