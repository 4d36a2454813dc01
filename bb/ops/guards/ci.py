"""Continuous integration: what a change touches, against what others hold and held."""

from __future__ import annotations

from bb.coordination.agents import pauses
from bb.coordination.facts import CI
from bb.coordination.guards import ci, ignore_files
from bb.coordination.holdings import leases, scopes
from bb.coordination.holdings.scopes import ScopeOutside
from bb.coordination.protocol import notices
from bb.coordination.records import signers
from bb.coordination.records.signers import Policy
from bb.kernel import clock, ids
from bb.kernel.show import harmless
from bb.ledger.git import work_tree
from bb.ledger.records import policy
from bb.ledger.signing import verdicts
from bb.ledger.travel import peek
from bb.ledger.views import commits
from bb.ledger.views.holdings import Holdings, scope_of
from bb.ops.catalogue import op
from bb.ops.params import Name, Plain, Scope, Someone, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.holdings.reservations import Held
    from bb.ledger.index.index import Index
    from bb.ledger.signing.verdicts import Law
    from bb.ledger.views.commits import Change
    from bb.ops.desk.desk import Desk

SHOWN = 1000  # findings in an answer, which tells how many there are
PASS, FAIL = "pass", "fail"
IGNORE_CASE = True  # in the clone where something was reserved, case may count for nothing


class Revision(Plain):
    """The commit that the change is meant for, such as origin/main. What is judged is what --head has beyond it."""

    metavar = "REV"


class Head(Plain):
    """The last commit of the change; HEAD unless given."""

    metavar = "REV"


class DefaultAgent(Someone):
    """The author of commits that have no BB-Agent trailer."""


class DeclaredScope(Scope):
    """A scope that counts as declared, whoever is the author. Implies --declared."""


class Remote(Name):
    """Where the ledger is published: the name of a remote, or a URL. Unless given, origin or the only remote."""

    metavar = "REMOTE"


class Unreachable(Text):
    """What becomes of the change when the ledger cannot be reached: fail or pass."""

    metavar = "fail|pass"
    choices = (FAIL, PASS)


class Form(Text):
    """How to say it: text, github (annotations), sarif or junit."""

    metavar = "FORMAT"
    choices = ("text", "github", "sarif", "junit")


class ReportFile(Name):
    """Write it in that format to this file. The terminal gets text, or annotations where GitHub runs this."""

    metavar = "FILE"


@op(
    "ci.check",
    reads=True,
    output="report",
    examples=(
        "bb ci check --base origin/main",
        "bb ci check --base origin/main --declared --format github",
        "bb ci check --base 1a2b3c4 --head 5d6e7f8 --format sarif --output bb.sarif",
        "bb ci check --base main --local --json",
    ),
    declared="Every changed path must lie in what its author had reserved, or in a --scope.",
    strict="Stop people too, and repositories without a ledger.",
    local="Judge by the ledger of this clone, and fetch nothing.",
    record="Record what is found as INCURSIONs in the ledger of this clone; the holders are told by mail.",
)
def check(
    desk: Desk,
    *,
    base: Revision,
    head: Head = Head("HEAD"),  # noqa: B008  (a text)
    agent: DefaultAgent | None = None,
    declared: bool = False,
    scope: list[DeclaredScope] | None = None,
    strict: bool = False,
    remote: Remote | None = None,
    local: bool = False,
    record: bool = False,
    unreachable: Unreachable = Unreachable(FAIL),  # noqa: B008
    format_: Form = Form("text"),  # noqa: B008
    output: ReportFile | None = None,
) -> dict[str, Any]:
    """Does this change touch what another agent holds, or held when it was made? For CI.

    The change is judged commit by commit; of a merge, only what differs from all its parents. A commit's author
    is the agent in its BB-Agent trailer; a commit without one is a person's, who is told and not stopped. CI_INCURSION
    (exit status 7) when another agent held or holds a path or the person has frozen it, OUTSIDE_DECLARED when an author
    left what it had declared, PAUSED_AUTHOR when an agent went on committing although it is paused.
    The ledger is fetched from the remote, read and thrown away; contents of files are not needed, the history between
    the two commits is. Paths that .bbignore names, as it is in the base, are not judged. Nothing is changed without
    --record.
    """
    if record:
        desk.store.must_exist()
    change = commits.between(desk.place, base, head)
    judged, ignored = _without_ignored(desk, change)
    wanted = ci.Wanted(
        now=desk.now(),
        otherwise=agent,
        must_declare=declared or scope is not None,
        declared=tuple(_scope(desk, text) for text in scope or ()),
        is_strict=strict,
        ignore_case=IGNORE_CASE,
    )
    law = _law(desk, change.base)
    known, source = _ledger(desk, remote, law, is_local=local, may_pass=unreachable == PASS, is_strict=strict)
    findings = [] if known is None else ci.judge(judged, known, wanted)
    findings += ci.of_signers(law.policy.problems if law else ())
    findings += ci.of_lost(source.pop("lost", ()))
    findings += ci.of_signatures(source.pop("standings", ()), is_required=law is not None and law.mode == "require")
    answer = _answer(change, findings, source) | {"ignored_paths": ignored, "format": _shown_as(desk, format_, output)}
    if record:
        answer["recorded"] = _recorded(desk, findings)
    if refusal := ci.refusal(findings):
        raise refusal(_summary(findings), **answer)
    return answer


def _shown_as(desk: Desk, form: str, output: str | None) -> str:
    """What the terminal gets. Where the report goes to a file, GitHub's log can still annotate the pull request."""
    if output is None:
        return form
    return "github" if desk.env.get("GITHUB_ACTIONS") == "true" else "text"


def _ledger(
    desk: Desk, remote: str | None, law: Law | None, *, is_local: bool, may_pass: bool, is_strict: bool
) -> tuple[ci.Known | None, dict[str, Any]]:
    """What the published ledger says, else the one of this clone; None where there is none to go by; and which."""
    if is_local:
        desk.store.must_exist()
        return _own(desk, None, law)
    try:
        with peek.at(desk.place, remote, law) as found:
            return _published(desk, found, law)
    except peek.LedgerUnreachable as failed:
        if not may_pass:
            raise
        return None, {"kind": "unreachable", "note": f"{failed.message}; nothing was judged"}
    except peek.LedgerUnpublished as none:
        if desk.store.exists:
            return _own(desk, f"{none.message}; judged by the ledger of this clone", law)
        if is_strict or remote:
            raise
        note = f"{none.message}, so nothing is held; `bb sync --publish` publishes a ledger"
        return None, {"kind": "none", "note": note}


def _own(desk: Desk, note: str | None, law: Law | None) -> tuple[ci.Known, dict[str, Any]]:
    """What the ledger of this clone says. Which lines count in it says the reviewed file of the default branch, as in
    everything else that this clone answers; it is looked at now, since the answer stands for that of CI."""
    seen = policy.look(desk.store, desk.now())
    if (law.policy if law else Policy()) != (seen.policy if seen.mode != signers.OFF else Policy()):
        where = seen.where or "the default branch"
        apart = f"{signers.PATH} is another one in the base of this change than in {where}, which this clone goes by"
        note = f"{note}; {apart}" if note else apart
    return _known(desk, desk.store.caught_up(), desk.place.store), {"kind": "local", "note": note}


def _law(desk: Desk, base: str) -> Law | None:
    """Which lines count, by what the base of the change says: the change itself has no say in it."""
    written = commits.file_at(desk.place, base, signers.PATH, signers.LARGEST)
    if written is None:
        return None
    text = written.decode("utf-8", "replace")
    said = signers.read(text)
    mode = said.mode or signers.WARN
    return (
        None
        if mode == signers.OFF
        else verdicts.Law("", said, mode, basis=verdicts.basis("", text, mode, (None, False, False)))
    )


def _published(desk: Desk, found: peek.Peek, law: Law | None) -> tuple[ci.Known, dict[str, Any]]:
    age = max(desk.now() - found.committed_at, 0) // clock.SECOND
    signed = {}
    if law and found.index.law:
        of = found.index.signatures(found.index.law.repo)
        standings = [of.standing(law.policy, writer, n) for writer, n in found.index.heads().items()]
        signed = {"signatures": {"mode": law.mode, "lines": verdicts.totals(standings)}, "standings": standings}
    return _known(desk, found.index, found.store), {
        "kind": "published",
        "note": None,
        "remote": found.remote,
        "tip": found.commit,
        "generation": found.generation,
        "committed_at": clock.text(found.committed_at),
        "age_seconds": age,
        "lost": found.lost,
        **signed,
    }


def _known(desk: Desk, index: Index, store: str) -> ci.Known:
    """Every reservation there ever was and how long it was held, and what was agreed on. A global one that was not
    admitted was never held."""
    now = desk.now()
    held = Holdings(index, store, now, desk.stale_after_in(index), ignore_case=IGNORE_CASE)
    ever = [each for each in held.ever() if each.base is None or held.token(each)]
    acts = leases.last_acts(ever)
    spans = [
        leases.lease(each, where, max(held.seen_at(each.agent), acts[each.agent]), now, held.token(each))
        for each in ever
        if (where := scope_of(each))
    ]
    agreed = ci.agreed(state for _, state in index.states(notices.NAME))
    return ci.Known(spans, agreed, dict(index.states(pauses.NAME)))


def _recorded(desk: Desk, findings: Sequence[ci.Finding]) -> list[str]:
    """The INCURSIONs that are new to the ledger of this clone. What it does not know yet, it cannot tell of."""
    from bb.ops.holdings import incursions  # noqa: PLC0415  (most who ask only want to know)

    held = desk.holdings(desk.store.caught_up(), desk.now())
    touched: dict[tuple[str, str], list[tuple[str, Held]]] = {}
    for each in filter(ci.is_incursion, findings):
        known = held.one(each.lease.reservation.id) if each.lease else None
        if known and each.path and (what := held.held(known)):
            for commit in each.commits:
                touched.setdefault((each.agent or ids.PERSON, commit), []).append((each.path, what))
    events = (incursions.report(desk, who, CI, met, commit) for (who, commit), met in touched.items())
    return [event.id for several in events for event in several]


def _without_ignored(desk: Desk, change: Change) -> tuple[list[ci.Commit], int]:
    """The commits without the paths that the base's ignore file names, and how many paths those are."""
    written = commits.file_at(desk.place, change.base, work_tree.IGNORE_FILE, work_tree.LARGEST_IGNORE)
    if not written:
        return list(change.commits), 0
    rules = ignore_files.read(written, ignore_case=work_tree.minds_no_case(desk.place))
    paths = {path for commit in change.commits for path in commit.paths}
    ignored = {path for path in paths if rules.ignores(path)}
    return [
        commit.but(paths=tuple(path for path in commit.paths if path not in ignored)) for commit in change.commits
    ], len(ignored)


def _scope(desk: Desk, written: str) -> scopes.Scope:
    """A scope that was declared by word. What lies in the work tree is the change's, so it has no say in this."""
    root = work_tree.root_of(desk.place)
    cwd = desk.cwd if desk.place.work_tree else root
    scopes.refuse_ambiguous(written, work_tree.PLATFORM)
    try:
        return scopes.scope(written, root=root, cwd=cwd, platform=work_tree.PLATFORM)
    except ScopeOutside:
        raise ScopeOutside(f"{harmless(written[:200])} lies outside the repository") from None


def _answer(change: Change, findings: Sequence[ci.Finding], source: dict[str, Any]) -> dict[str, Any]:
    errors = sum(each.severity == ci.ERROR for each in findings)
    return {
        "base": change.base,
        "head": change.head,
        "merge_base": change.merge_base,
        "commits": len(change.commits),
        "paths": len({path for commit in change.commits for path in commit.paths}),
        "errors": errors,
        "warnings": len(findings) - errors,
        "findings": [each.shown() for each in findings[:SHOWN]],
        "ledger": source,
        "clock_trust": "low",  # time stamps of several machines were compared
    }


def _summary(findings: Sequence[ci.Finding]) -> str:
    """What the first of the errors is, in short, and how many there are."""
    errors = [each for each in findings if each.severity == ci.ERROR]
    first = errors[0]
    what = harmless(first.path) if first.path else first.text
    if first.lease:
        what += f" was not for {first.agent or 'a person'} to change, but for {first.lease.reservation.agent}"
    elif first.rule == ci.OUTSIDE:
        what += f" lies outside of what {first.agent or 'a person'} had declared"
    return f"{what}; and {len(errors) - 1} more" if len(errors) > 1 else what
