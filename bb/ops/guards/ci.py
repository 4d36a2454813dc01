"""Continuous integration: checks the paths of a change against current and past reservations of other agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bb.coordination.agents import addresses, pauses, roster
from bb.coordination.facts import CI
from bb.coordination.guards import ci, ci_findings, ignore_files
from bb.coordination.holdings import intended_paths, scopes
from bb.coordination.holdings.held import Held
from bb.coordination.holdings.scopes import ScopeOutside
from bb.coordination.protocol import notices
from bb.coordination.records import signers
from bb.coordination.records.signers import Policy
from bb.kernel import clock, ids
from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.git import work_tree
from bb.ledger.index import counting
from bb.ledger.index.index import Index
from bb.ledger.records import policy
from bb.ledger.records.store import NotInitialized
from bb.ledger.signing import verdicts
from bb.ledger.signing.verdicts import SigningLaw
from bb.ledger.travel import remote_reader
from bb.ledger.views.code_source import CodeSource
from bb.ledger.views.commits import Change, HistoryCut
from bb.ledger.views.holdings import Holdings
from bb.ledger.views.past_leases import excuses_nothing, past_leases
from bb.ops.agent_params import Name
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentOrPerson, Scope, Text, UncheckedText, invalid

SHOWN = 1000  # most findings in an answer; the answer gives their total number
PASS, FAIL = "pass", "fail"
ELSEWHERE = (
    "{remote} is not the arbiter of this ledger, so it is unknown which global reservations were admitted: they keep "
    "other agents out and excuse nothing; --remote {url} reads the arbiter"
)
AGENTS, EVERYONE = "agents", "everyone"
WAYS_OUT = "remove those paths from the change; or the holder, or the person, accepts it: `{}`, then `bb sync`"
IGNORE_CASE = True  # the clone that made a reservation may be on a case-insensitive file system


class Unreachable(Text):
    """The verdict if the ledger cannot be reached: fail or pass."""

    metavar = "fail|pass"
    choices = (FAIL, PASS)


class Strict(Text):
    """Whose errors fail the check: agents, or everyone."""

    metavar = "WHOSE"
    choices = (AGENTS, EVERYONE)
    alone = EVERYONE

    @classmethod
    def from_json(cls, value: Any, name: str) -> Any:
        return cls(EVERYONE) if value is True else None if value is False else super().from_json(value, name)


class Form(Text):
    """The format of the report: text, github (annotations), sarif or junit."""

    metavar = "FORMAT"
    choices = ("text", "github", "sarif", "junit")


@op(
    "ci.check",
    reads=True,
    output="report",
    verdicts=ci_findings.VERDICTS,
    examples=(
        "bb ci check --base origin/main",
        "bb ci check --base origin/main --declared --format github",
        "bb ci check --base origin/main --strict=agents",
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
    strict: Strict | None = None,
    remote: Name | None = None,
    local: bool = False,
    record: bool = False,
    unreachable: Unreachable = Unreachable(FAIL),  # noqa: B008
    format_: Form = Form("text"),  # noqa: B008
    output: Name | None = None,
) -> dict[str, Any]:
    """Check whether a change touches paths that other agents hold, or held when it was made.

    Each commit is checked; of a merge, only the paths that differ from all its parents, and none if git makes the same
    merge. The author of a commit is the agent in its BB-Agent trailer, else the agent that registered the address of a
    co-author, of the author or of the committer. If there is none, a person made it: then there are warnings, not
    errors. A contested or void reservation excuses nothing. Fails with
    CI_INCURSION (exit status 7) if another agent held or holds a path or the person has frozen it, with
    OUTSIDE_DECLARED if a path is outside its author's reservations, and with PAUSED_AUTHOR if a paused agent committed.
    The ledger is fetched from the remote into a temporary place, and so is what the checkout lacks of the history
    between the two commits. Paths in the .bbignore of the base are not checked. Without --record, nothing is changed.

    Parameters:
        base (REV): The commit that the change is based on, such as origin/main. The commits from there to --head are
            checked.
        head (REV): The last commit of the change.
        agent: The author of commits that name no agent.
        declared: Every changed path must be in a reservation of its author, or in a --scope.
        scope: A scope that counts as declared for every author. Implies --declared.
        strict (WHOSE): Also fail for unclear authors and for repositories without a ledger; with `--strict` alone or
            `--strict=everyone`, for changes by people, too. With `--strict=agents`, changes by people cause warnings.
        remote (REMOTE): The remote with the published ledger: its name or URL. Default: origin, or the only remote.
        local: Use the ledger of this clone and fetch nothing, not even missing history.
        record: Record the findings as INCURSIONs in the ledger of this clone; the holders are notified by mail.
        output (FILE): Write the report to this file. The terminal then gets text, or annotations in GitHub Actions.
    """
    if local and remote:
        raise invalid("--local fetches nothing, so it cannot be used with --remote", "remote")
    if record:
        _require_ledger(desk, "--record")
    rules = ci.Wanted(
        now=desk.now(),
        otherwise=agent,
        must_declare=declared or scope is not None,
        declared=tuple(_scope(desk, text) for text in scope or ()),
        is_strict=strict is not None,
        is_about_people=strict == EVERYONE,
        ignore_case=IGNORE_CASE,
    )
    with CodeSource(desk.place, remote, may_fetch=not local) as code:
        change = code.change(base, head)
        judged, ignored = _without_ignored(desk, code, change)
        law = _law(code, change.base)
        wanted = _Wanted(remote, law, local, unreachable == PASS, strict is not None)
        reservations, source = _ledger(desk, code, wanted, lambda known: ci.needs_order(judged, known, rules))
        findings = [] if reservations is None else ci.judge(judged, reservations, rules)
    findings += ci_findings.signers_file_findings(law.policy.problems if law else ())
    findings += ci_findings.lost_line_findings(source.pop("lost", ()))
    findings += ci_findings.signature_findings(
        source.pop("standings", ()), is_required=law is not None and law.mode == "require"
    )
    answer = _answer(change, findings, source) | {"ignored_paths": ignored, "format": _shown_as(desk, format_, output)}
    if record:
        answer["recorded"] = _recorded(desk, findings)
    if refusal := ci_findings.refusal(findings):
        way_out = next((finding.way_out for finding in findings if finding.way_out), None)
        raise refusal(_summary(findings), hint=WAYS_OUT.format(way_out) if way_out else None, **answer)
    return answer


def _require_ledger(desk: Desk, option: str) -> None:
    """Refuse if this clone has no ledger, which the OPTION needs."""
    if not desk.store.exists:
        hint = "`bb sync --pull` fetches the published ledger into this clone"
        raise NotInitialized(f"{option} needs a ledger in this clone, and there is none", hint=hint)


class _Wanted(Record):
    """Which ledger is to be read."""

    remote: str | None
    law: SigningLaw | None
    is_local: bool
    may_pass: bool
    is_strict: bool


def _shown_as(desk: Desk, form: str, output: str | None) -> str:
    """The format for the terminal. If the report goes to a file, GitHub Actions still gets annotations."""
    if output is None:
        return form
    return "github" if desk.env.get("GITHUB_ACTIONS") == "true" else "text"


def _ledger(
    desk: Desk, code: CodeSource, wanted: _Wanted, needs_order: Callable[[ci.Known], bool]
) -> tuple[ci.Known | None, dict[str, Any]]:
    """The reservations from the published ledger, else from this clone's, or None without a ledger; and the source."""
    if wanted.is_local:
        _require_ledger(desk, "--local")
        return _own(desk, code, None, wanted.law)
    try:
        known, source = _published(desk, code, wanted)
        if not source.pop("is_whole", False) and needs_order(known):
            known, source = _published(desk, code, wanted, in_order=True)
            del source["is_whole"]
    except remote_reader.LedgerUnreachable.error as failed:
        if not wanted.may_pass:
            raise
        return None, {"kind": "unreachable", "note": f"{failed.message}; nothing was checked"}
    except remote_reader.LedgerUnpublished.error as none:
        if desk.store.exists:
            return _own(desk, code, f"{none.message}; the ledger of this clone was used", wanted.law)
        if wanted.is_strict or wanted.remote:
            raise
        note = f"{none.message}, so there are no reservations; `bb sync --publish` publishes a ledger"
        return None, {"kind": "none", "note": note}
    return known, source


def _own(desk: Desk, code: CodeSource, note: str | None, law: SigningLaw | None) -> tuple[ci.Known, dict[str, Any]]:
    """The reservations from this clone's ledger. As in every answer of this clone, the signers file of the default
    branch decides which lines count. The file is read again now, because the answer replaces one from CI."""
    seen = policy.refresh(desk.store, desk.now())
    if (law.policy if law else Policy()) != (seen.policy if seen.mode != signers.OFF else Policy()):
        where = seen.where or "the default branch"
        apart = f"{signers.PATH} in the base of this change differs from the one in {where}, which this clone uses"
        note = f"{note}; {apart}" if note else apart
    return known_here(desk, code), {"kind": "local", "note": note}


def _law(code: CodeSource, base: str) -> SigningLaw | None:
    """The signing rules from the base of the change. The change itself cannot alter them."""
    octets = code.file_at(base, signers.PATH, signers.LARGEST)
    if octets is None:
        if code.is_file_missing(base, signers.PATH):
            raise HistoryCut(f"the contents of {signers.PATH} in the base are neither in this clone nor at its remote")
        return None
    text = octets.decode("utf-8", "replace")
    rules = signers.read(text)
    mode = rules.mode or signers.WARN
    if mode == signers.OFF:
        return None
    return verdicts.SigningLaw("", rules, mode, basis=verdicts.basis("", text, mode, (None, False, False)))


def _published(
    desk: Desk, code: CodeSource, wanted: _Wanted, *, in_order: bool = False
) -> tuple[ci.Known, dict[str, Any]]:
    law = wanted.law
    with remote_reader.published_ledger(desk.place, wanted.remote, law, in_order=in_order) as found:
        age = max(desk.now() - found.committed_at, 0) // clock.SECOND
        signed = {}
        if law and found.index.law:
            of = counting.signatures(found.index, found.index.law.repo)
            standings = [of.standing(law.policy, writer, n) for writer, n in found.index.heads().items()]
            signed = {"signatures": {"mode": law.mode, "lines": verdicts.totals(standings)}, "standings": standings}
        return _known(desk, code, found.index, found.store), {
            "kind": "published",
            "note": found.elsewhere and ELSEWHERE.format(remote=found.remote, url=found.elsewhere.url),
            "remote": found.remote,
            "tip": found.commit,
            "generation": found.generation,
            "committed_at": clock.text(found.committed_at),
            "age_seconds": age,
            "lost": found.lost,
            **({"quarantined": [stray.as_dict() for stray in found.quarantined]} if found.quarantined else {}),
            "is_whole": found.is_whole,
            **signed,
        }


def known_here(desk: Desk, code: CodeSource) -> ci.Known:
    """What the ledger of this clone says."""
    return _known(desk, code, desk.store.caught_up(), desk.place.store)


def _known(desk: Desk, code: CodeSource, index: Index, store: str) -> ci.Known:
    """What the ledger says about past and present reservations, agreements, pauses and addresses."""
    held = Holdings(index, store, desk.now(), desk.stale_after_in(index), ignore_case=IGNORE_CASE)
    leases = past_leases(held)
    notes = [state for _, state in index.states(notices.NAME)]
    agents = (roster.agent(*entry) for entry in index.states(roster.NAME))
    known = ci.Known(
        leases,
        ci.agreed(notes),
        pauses=dict(index.states(pauses.NAME)),
        settled=held.settled,
        overlaps=ci.known_overlaps(notes),
        unknown=frozenset(lease.reservation.id for lease in leases if excuses_nothing(held, lease.reservation)),
        addresses=addresses.by_address(agent for agent in agents if agent),
        merges=code.makes_merge,
    )
    has_regions = any(lease.scope.region is not None for lease in leases)
    return known.replace(changes=lambda commit, path: _RegionChange(code, commit, path)) if has_regions else known


class _RegionChange:
    """What a commit changed in one file, compared with each of its parents. The contents must be in this clone. If they
    are not, or cannot be read as text, every region counts as changed."""

    def __init__(self, code: CodeSource, commit: str, path: str) -> None:
        from bb.coordination.holdings.region_changes import FileChange  # noqa: PLC0415  (few ledgers have regions)
        from bb.ledger.lines.regions_now import MOST_READ, version  # noqa: PLC0415

        before, after = code.versions(commit, path, MOST_READ)
        new, olds = version(path, after), [version(path, octets) for octets in before]
        self._changes = [FileChange(old, new) for old in olds if old and new]
        self._is_readable = len(self._changes) == len(olds)

    def touches(self, region: str) -> bool:
        return not self._is_readable or all(change.touches(region) for change in self._changes)

    def stays_in(self, own: Sequence[str]) -> bool:
        return self._is_readable and any(change.stays_in(own) for change in self._changes)


def _recorded(desk: Desk, findings: Sequence[ci_findings.Finding]) -> list[str]:
    """Record FINDINGS as INCURSIONs. Returns the ids of the new ones. Reservations that this clone's ledger does not
    have yet are skipped."""
    from bb.ops.holdings import incursions  # noqa: PLC0415  (needed only with --record)

    held = desk.holdings(desk.store.caught_up(), desk.now())
    met = touched(held, filter(ci_findings.is_incursion, findings))
    events = (incursions.report(desk, who, CI, paths, commit) for (who, commit), paths in met.items())
    return [event.id for several in events for event in several]


def touched(held: Holdings, findings: Iterable[ci_findings.Finding]) -> dict[tuple[str, str], list[tuple[str, Held]]]:
    """The paths of FINDINGS, each with its reservation, by author and commit."""
    found: dict[tuple[str, str], list[tuple[str, Held]]] = {}
    for finding in findings:
        known = held.by_id(finding.lease.reservation.id) if finding.lease else None
        if known and finding.path and (reservation := held.held(known)):
            for commit in finding.commits:
                found.setdefault((finding.agent or ids.PERSON, commit), []).append((finding.path, reservation))
    return found


def _without_ignored(desk: Desk, code: CodeSource, change: Change) -> tuple[list[ci.Commit], int]:
    """The commits without the paths that the base's ignore file names, and the number of those paths."""
    octets = code.file_at(change.base, work_tree.IGNORE_FILE, work_tree.LARGEST_IGNORE)
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
    intended_paths.refuse_ambiguous(written, work_tree.PLATFORM)
    try:
        return scopes.scope(written, root=root, cwd=cwd, platform=work_tree.PLATFORM)
    except ScopeOutside.error:
        raise ScopeOutside(f"{harmless(written[:200])} is outside the repository") from None


def _answer(change: Change, findings: Sequence[ci_findings.Finding], source: dict[str, Any]) -> dict[str, Any]:
    errors = sum(finding.severity == ci_findings.ERROR for finding in findings)
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


def _summary(findings: Sequence[ci_findings.Finding]) -> str:
    """The first error in short, and the number of further errors."""
    errors = [finding for finding in findings if finding.severity == ci_findings.ERROR]
    first = errors[0]
    text = harmless(first.path) if first.path else first.text
    if first.lease:
        text += f" was changed by {first.agent or 'a person'}, but {first.lease.reservation.agent} held it"
    elif first.rule == ci_findings.OUTSIDE:
        text += f" is outside the declared scopes of {first.agent or 'a person'}"
    return f"{text}; and {len(errors) - 1} more" if len(errors) > 1 else text
