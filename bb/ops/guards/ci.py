"""Continuous integration: checks the paths of a change against current and past reservations of other agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bb.coordination.agents import pauses
from bb.coordination.facts import CI
from bb.coordination.guards import ci, ignore_files
from bb.coordination.holdings import leases, scopes
from bb.coordination.holdings.held import Held
from bb.coordination.holdings.scopes import ScopeOutside
from bb.coordination.protocol import notices
from bb.coordination.records import signers
from bb.coordination.records.signers import Policy
from bb.kernel import clock, ids
from bb.kernel.escaping import harmless
from bb.ledger.git import work_tree
from bb.ledger.index import counting
from bb.ledger.index.index import Index
from bb.ledger.records import policy
from bb.ledger.signing import verdicts
from bb.ledger.signing.verdicts import SigningLaw
from bb.ledger.travel import remote_reader
from bb.ledger.views import commits
from bb.ledger.views.commits import Change
from bb.ledger.views.holdings import Holdings, scope_of
from bb.ops.agent_params import Name
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentOrPerson, Scope, Text, UncheckedText

SHOWN = 1000  # most findings in an answer; the answer gives their total number
PASS, FAIL = "pass", "fail"
ELSEWHERE = (
    "{remote} is not the arbiter of this ledger, so it is unknown which global reservations were admitted: they keep "
    "other agents out and excuse nothing; --remote {url} reads the arbiter"
)
IGNORE_CASE = True  # the clone that made a reservation may be on a case-insensitive file system


class Unreachable(Text):
    """The verdict if the ledger cannot be reached: fail or pass."""

    metavar = "fail|pass"
    choices = (FAIL, PASS)


class Form(Text):
    """The format of the report: text, github (annotations), sarif or junit."""

    metavar = "FORMAT"
    choices = ("text", "github", "sarif", "junit")


@op(
    "ci.check",
    reads=True,
    output="report",
    verdicts=ci.VERDICTS,
    examples=(
        "bb ci check --base origin/main",
        "bb ci check --base origin/main --declared --format github",
        "bb ci check --base 1a2b3c4 --head 5d6e7f8 --format sarif --output bb.sarif",
        "bb ci check --base main --local --json",
    ),
)
def check(
    desk: Desk,
    *,
    base: UncheckedText,
    head: UncheckedText = UncheckedText("HEAD"),  # noqa: B008  (a text)
    agent: AgentOrPerson | None = None,
    declared: bool = False,
    scope: list[Scope] | None = None,
    strict: bool = False,
    remote: Name | None = None,
    local: bool = False,
    record: bool = False,
    unreachable: Unreachable = Unreachable(FAIL),  # noqa: B008
    format_: Form = Form("text"),  # noqa: B008
    output: Name | None = None,
) -> dict[str, Any]:
    """Check whether a change touches paths that other agents hold, or held when it was made.

    Each commit is checked; of a merge, only the paths that differ from all its parents. The author of a commit is the
    agent in its BB-Agent trailer. A commit without one is a person's: it causes warnings, not errors. Fails with
    CI_INCURSION (exit status 7) if another agent held or holds a path or the person has frozen it, with
    OUTSIDE_DECLARED if a path is outside its author's reservations, and with PAUSED_AUTHOR if a paused agent committed.
    The ledger is fetched from the remote into a temporary place. The history between the two commits must be available;
    the contents of files need not be, unless an agent reserved a region of a file: a region whose file is not there
    counts as the whole file. Paths in the .bbignore of the base are not checked. Without --record, nothing is changed.

    Parameters:
        base (REV): The commit that the change is based on, such as origin/main. The commits from there to --head are
            checked.
        head (REV): The last commit of the change.
        agent: The author of commits that have no BB-Agent trailer.
        declared: Every changed path must be in a reservation of its author, or in a --scope.
        scope: A scope that counts as declared for every author. Implies --declared.
        strict: Also fail for changes by people and for repositories without a ledger.
        remote (REMOTE): The remote with the published ledger: its name or URL. Default: origin, or the only remote.
        local: Use the ledger of this clone and fetch nothing.
        record: Record the findings as INCURSIONs in the ledger of this clone; the holders are notified by mail.
        output (FILE): Write the report to this file. The terminal then gets text, or annotations in GitHub Actions.
    """
    if record:
        desk.store.require_ledger()
    change = commits.between(desk.place, base, head)
    judged, ignored = _without_ignored(desk, change)
    rules = ci.Wanted(
        now=desk.now(),
        otherwise=agent,
        must_declare=declared or scope is not None,
        declared=tuple(_scope(desk, text) for text in scope or ()),
        is_strict=strict,
        ignore_case=IGNORE_CASE,
    )
    law = _law(desk, change.base)
    reservations, source = _ledger(desk, remote, law, is_local=local, may_pass=unreachable == PASS, is_strict=strict)
    findings = [] if reservations is None else ci.judge(judged, reservations, rules)
    findings += ci.signers_file_findings(law.policy.problems if law else ())
    findings += ci.lost_line_findings(source.pop("lost", ()))
    findings += ci.signature_findings(
        source.pop("standings", ()), is_required=law is not None and law.mode == "require"
    )
    answer = _answer(change, findings, source) | {"ignored_paths": ignored, "format": _shown_as(desk, format_, output)}
    if record:
        answer["recorded"] = _recorded(desk, findings)
    if refusal := ci.refusal(findings):
        raise refusal(_summary(findings), **answer)
    return answer


def _shown_as(desk: Desk, form: str, output: str | None) -> str:
    """The format for the terminal. If the report goes to a file, GitHub Actions still gets annotations."""
    if output is None:
        return form
    return "github" if desk.env.get("GITHUB_ACTIONS") == "true" else "text"


def _ledger(
    desk: Desk, remote: str | None, law: SigningLaw | None, *, is_local: bool, may_pass: bool, is_strict: bool
) -> tuple[ci.Known | None, dict[str, Any]]:
    """The reservations from the published ledger, else from this clone's, or None without a ledger; and the source."""
    if is_local:
        desk.store.require_ledger()
        return _own(desk, None, law)
    try:
        with remote_reader.published_ledger(desk.place, remote, law) as published:
            return _published(desk, published, law)
    except remote_reader.LedgerUnreachable.error as failed:
        if not may_pass:
            raise
        return None, {"kind": "unreachable", "note": f"{failed.message}; nothing was checked"}
    except remote_reader.LedgerUnpublished.error as none:
        if desk.store.exists:
            return _own(desk, f"{none.message}; the ledger of this clone was used", law)
        if is_strict or remote:
            raise
        note = f"{none.message}, so there are no reservations; `bb sync --publish` publishes a ledger"
        return None, {"kind": "none", "note": note}


def _own(desk: Desk, note: str | None, law: SigningLaw | None) -> tuple[ci.Known, dict[str, Any]]:
    """The reservations from this clone's ledger. As in every answer of this clone, the signers file of the default
    branch decides which lines count. The file is read again now, because the answer replaces one from CI."""
    seen = policy.refresh(desk.store, desk.now())
    if (law.policy if law else Policy()) != (seen.policy if seen.mode != signers.OFF else Policy()):
        where = seen.where or "the default branch"
        apart = f"{signers.PATH} in the base of this change differs from the one in {where}, which this clone uses"
        note = f"{note}; {apart}" if note else apart
    return _known(desk, desk.store.caught_up(), desk.place.store), {"kind": "local", "note": note}


def _law(desk: Desk, base: str) -> SigningLaw | None:
    """The signing rules from the base of the change. The change itself cannot alter them."""
    octets = commits.file_at(desk.place, base, signers.PATH, signers.LARGEST)
    if octets is None:
        return None
    text = octets.decode("utf-8", "replace")
    rules = signers.read(text)
    mode = rules.mode or signers.WARN
    if mode == signers.OFF:
        return None
    return verdicts.SigningLaw("", rules, mode, basis=verdicts.basis("", text, mode, (None, False, False)))


def _published(desk: Desk, found: remote_reader.Peek, law: SigningLaw | None) -> tuple[ci.Known, dict[str, Any]]:
    age = max(desk.now() - found.committed_at, 0) // clock.SECOND
    signed = {}
    if law and found.index.law:
        of = counting.signatures(found.index, found.index.law.repo)
        standings = [of.standing(law.policy, writer, n) for writer, n in found.index.heads().items()]
        signed = {"signatures": {"mode": law.mode, "lines": verdicts.totals(standings)}, "standings": standings}
    return _known(desk, found.index, found.store), {
        "kind": "published",
        "note": found.elsewhere and ELSEWHERE.format(remote=found.remote, url=found.elsewhere.url),
        "remote": found.remote,
        "tip": found.commit,
        "generation": found.generation,
        "committed_at": clock.text(found.committed_at),
        "age_seconds": age,
        "lost": found.lost,
        **signed,
    }


def _known(desk: Desk, index: Index, store: str) -> ci.Known:
    """All past and present reservations with the time that each was held, and the agreements. A global reservation
    that was not admitted was never held. If that is unknown, it keeps other agents out, but excuses nothing."""
    now = desk.now()
    held = Holdings(index, store, now, desk.stale_after_in(index), ignore_case=IGNORE_CASE)
    ever = [one for one in held.all_ever() if one.base is None or held.token(one) or held.is_unknown(one)]
    unknown = frozenset(one.id for one in ever if held.is_unknown(one) or held.is_of_rival(one))
    acts = leases.last_acts(ever)
    spans = [
        leases.lease(one, scope, max(held.seen_at(one.agent), acts[one.agent]), now, held.token(one))
        for one in ever
        if (scope := scope_of(one))
    ]
    agreed = ci.agreed(state for _, state in index.states(notices.NAME))
    known = ci.Known(spans, agreed, pauses=dict(index.states(pauses.NAME)), unknown=unknown)
    has_regions = any(one.region is not None for one in ever)
    return known.replace(changes=lambda commit, path: _RegionChange(desk, commit, path)) if has_regions else known


class _RegionChange:
    """What a commit changed in one file, compared with each of its parents. The contents must be in this clone. If they
    are not, or cannot be read as text, every region counts as changed."""

    def __init__(self, desk: Desk, commit: str, path: str) -> None:
        from bb.coordination.holdings.region_changes import FileChange  # noqa: PLC0415  (few ledgers have regions)
        from bb.ledger.lines.regions_now import MOST_READ, version  # noqa: PLC0415

        before, after = commits.versions(desk.place, commit, path, MOST_READ)
        new, olds = version(path, after), [version(path, octets) for octets in before]
        self._changes = [FileChange(old, new) for old in olds if old and new]
        self._is_readable = len(self._changes) == len(olds)

    def touches(self, region: str) -> bool:
        return not self._is_readable or all(change.touches(region) for change in self._changes)

    def stays_in(self, own: Sequence[str]) -> bool:
        return self._is_readable and any(change.stays_in(own) for change in self._changes)


def _recorded(desk: Desk, findings: Sequence[ci.Finding]) -> list[str]:
    """Record FINDINGS as INCURSIONs. Returns the ids of the new ones. Reservations that this clone's ledger does not
    have yet are skipped."""
    from bb.ops.holdings import incursions  # noqa: PLC0415  (needed only with --record)

    held = desk.holdings(desk.store.caught_up(), desk.now())
    touched: dict[tuple[str, str], list[tuple[str, Held]]] = {}
    for finding in filter(ci.is_incursion, findings):
        local_reservation = held.by_id(finding.lease.reservation.id) if finding.lease else None
        if local_reservation and finding.path and (reservation := held.held(local_reservation)):
            for commit in finding.commits:
                touched.setdefault((finding.agent or ids.PERSON, commit), []).append((finding.path, reservation))
    events = (incursions.report(desk, who, CI, met, commit) for (who, commit), met in touched.items())
    return [event.id for several in events for event in several]


def _without_ignored(desk: Desk, change: Change) -> tuple[list[ci.Commit], int]:
    """The commits without the paths that the base's ignore file names, and the number of those paths."""
    octets = commits.file_at(desk.place, change.base, work_tree.IGNORE_FILE, work_tree.LARGEST_IGNORE)
    if not octets:
        return list(change.commits), 0
    rules = ignore_files.read(octets, ignore_case=work_tree.is_case_insensitive(desk.place))
    paths = {path for commit in change.commits for path in commit.paths}
    ignored = {path for path in paths if rules.ignores(path)}
    return [
        commit.replace(paths=tuple(path for path in commit.paths if path not in ignored)) for commit in change.commits
    ], len(ignored)


def _scope(desk: Desk, written: str) -> scopes.Scope:
    """A scope from --scope. The work tree is not consulted, because its content is part of the change."""
    root = work_tree.root_of(desk.place)
    cwd = desk.cwd if desk.place.work_tree else root
    scopes.refuse_ambiguous(written, work_tree.PLATFORM)
    try:
        return scopes.scope(written, root=root, cwd=cwd, platform=work_tree.PLATFORM)
    except ScopeOutside.error:
        raise ScopeOutside(f"{harmless(written[:200])} is outside the repository") from None


def _answer(change: Change, findings: Sequence[ci.Finding], source: dict[str, Any]) -> dict[str, Any]:
    errors = sum(finding.severity == ci.ERROR for finding in findings)
    return {
        "base": change.base,
        "head": change.head,
        "merge_base": change.merge_base,
        "commits": len(change.commits),
        "paths": len({path for commit in change.commits for path in commit.paths}),
        "errors": errors,
        "warnings": len(findings) - errors,
        "findings": [finding.as_json() for finding in findings[:SHOWN]],
        "ledger": source,
        "clock_trust": "low",  # the times come from several machines
    }


def _summary(findings: Sequence[ci.Finding]) -> str:
    """The first error in short, and the number of further errors."""
    errors = [finding for finding in findings if finding.severity == ci.ERROR]
    first = errors[0]
    text = harmless(first.path) if first.path else first.text
    if first.lease:
        text += f" was changed by {first.agent or 'a person'}, but {first.lease.reservation.agent} held it"
    elif first.rule == ci.OUTSIDE:
        text += f" is outside the declared scopes of {first.agent or 'a person'}"
    return f"{text}; and {len(errors) - 1} more" if len(errors) > 1 else text
