"""The findings of the CI check: their rules, and the refusal that they amount to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bb.coordination.holdings.leases import Lease
from bb.coordination.records.signed_lines import Verification
from bb.kernel.errors import Conflict, Refusal
from bb.kernel.plurals import counted
from bb.kernel.record import Record

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
