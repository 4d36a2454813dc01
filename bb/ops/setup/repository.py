"""Ops on the whole repository: `init` creates or removes its ledger, `doctor` checks the installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.coordination.agents import thresholds
from bb.coordination.facts import Pinned
from bb.kernel import ids
from bb.kernel.errors import BbError, Refused, Usage
from bb.kernel.event import GENESIS
from bb.kernel.plurals import counted
from bb.ledger.git import git
from bb.ledger.git import place as places
from bb.ledger.git.place import NoWorkTree, Place
from bb.ledger.index.index import Index
from bb.ledger.journal import clone
from bb.ledger.published import pins
from bb.ledger.records import creation, event_filters
from bb.ledger.wiring.skill import Piece
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.params import UncheckedAgent, UncheckedNumber, UncheckedText, invalid
from bb.ops.setup import skill as skills

HistoryPresent = Refused.declare(
    "HISTORY_PRESENT",
    "The ledger contains events that were recorded after `bb init`",
    hint="to delete the history for good: `bb init --undo --delete-history`",
)

NothingToUndo = Usage.declare(
    "NOTHING_TO_UNDO",
    "--delete-history needs --undo",
    hint="to delete the ledger and all its history: bb init --undo --delete-history",
)

NoSession = Usage.declare(
    "NO_SESSION",
    "Options that start a session cannot be combined with these options",
    hint="run two commands, one after the other",
)

ProblemsFound = Refused.declare(
    "PROBLEMS_FOUND", "Some checks failed", hint="repair what can be repaired: `bb doctor --fix`"
)


@op(
    "init",
    examples=(
        "bb init",
        "bb init --register amber-otter --role builder --json",
        "bb init --adopt amber-otter --non-interactive --json",
        "bb init --skill",
        "bb init --stale-minutes 30",
        "bb init --dry-run",
        "bb init --undo",
    ),
)
def init(
    desk: Desk,
    *,
    skill: bool = False,
    home: bool = False,
    dry_run: bool = False,
    undo: bool = False,
    delete_history: bool = False,
    register: UncheckedText | None = None,
    adopt: UncheckedAgent | None = None,
    role: UncheckedText | None = None,
    scope: list[UncheckedText] | None = None,
    bead: UncheckedText | None = None,
    non_interactive: bool = False,
    stale_minutes: UncheckedNumber | None = None,
) -> dict[str, Any]:
    """Create this repository's ledger, and give this session its identity. Running it again changes nothing.

    --register starts as a new agent, --adopt continues as an earlier one. Adopting needs evidence: uncommitted changes
    in the agent's scopes, or a bead in progress that it owns. Without evidence, or while another session is alive under
    that name, the adoption is rejected; at a terminal you are asked instead. --non-interactive requires --register or
    --adopt. Every answer recommends a next step and gives the reason.

    --stale-minutes is for the person only. After that, BB_AGENT_STALE_MINUTES cannot set a shorter time in any clone.
    `bb status` shows the value.

    The ledger is stored in git's own directory, shared by all worktrees and branches of this clone. No index or branch
    is changed, and nothing is sent to other machines. Only --skill writes into the work tree: the skill for agents,
    a section in AGENTS.md between two markers, and, where they would not read AGENTS.md, a section in an existing
    CLAUDE.md for Claude Code and context.fileName in .gemini/settings.json for Gemini CLI. At a terminal you are asked
    whether to install it.

    --undo removes what init created and was not changed since. If the ledger has later events, it is refused without
    --delete-history. --home creates a ledger in bb's home directory, for use outside repositories.

    Parameters:
        skill: Also install instructions for agents in AGENTS.md, .agents/skills and .claude/skills.
        home: Create the ledger in bb's home directory, for use outside repositories.
        dry_run: Show what would be done, without doing it.
        undo: Remove what `bb init` created; with --skill, only the skill.
        delete_history: With --undo: also delete all recorded events, for good.
        register (NAME): Start as a new agent with this unused name.
        adopt: Continue as this agent, which has unfinished work here.
        role (ROLE): With --register: the agent's role. Default: `agent`.
        scope (SCOPE): With --adopt: the agent's scope. Default: its current or last reservations.
        bead (BEAD): With --adopt: the bead (work item) of the work.
        non_interactive: Never ask; fail if the right identity is not certain.
        stale_minutes (MINUTES): Pin the minutes of silence after which an agent is stale, in every clone; `default`
            unpins them.
    """
    if delete_history and not undo:
        raise NothingToUndo()
    if skill and home:
        raise NoWorkTree("the skill needs a work tree, and --home has none")
    idle = {
        "--role": role is not None and register is None,
        "--scope": bool(scope) and adopt is None,
        "--bead": bead is not None and adopt is None,
    }
    if stale_minutes is not None:
        starts = adopt is not None or register is not None or non_interactive or any(idle.values())
        return _pin(desk, stale_minutes, is_alone=not (starts or skill or home or undo or dry_run))
    planned = skills.plan(desk) if skill and not undo else None
    if adopt is not None or register is not None or non_interactive or any(idle.values()):
        from bb.ops.setup import session_start  # noqa: PLC0415  (not needed for the help text)

        try:
            _refuse_useless_options(idle, is_alone=undo or dry_run or home)
            started = session_start.session(
                desk,
                adopt=adopt,
                register=register,
                role=role,
                scope=scope or (),
                bead=bead,
                non_interactive=non_interactive,
            )
        except BbError as refusal:
            session_start.add_recommendation(desk, refusal, role)
            raise
        return {"store": desk.store.path, "created": False} | started | _with_skill(desk, planned)
    place = places.home_place(desk.env) if home else desk.place
    if undo and skill and not delete_history:
        return {"store": place.store, "skill": skills.remove(desk, dry_run=dry_run)}
    if undo:
        return _undo(desk, place, is_home=home, dry_run=dry_run, delete_history=delete_history)
    return _make(desk, place, planned, is_home=home, dry_run=dry_run)


def _pin(desk: Desk, text: str, *, is_alone: bool) -> dict[str, Any]:
    """Pin or unpin the stale minutes. The ledger is created first if there is none."""
    if not is_alone:
        raise invalid("--stale-minutes cannot be used with other options", "stale_minutes")
    signs_of_life.person(desk, None)
    minutes, now = thresholds.minutes(text), desk.now()
    created = creation.make(desk.store, desk.place.title, ids.PERSON, now)

    def decide(index: Index) -> list[Any]:
        before = thresholds.pinned(index.state(thresholds.NAME, thresholds.ENTRY))
        return [] if (before or 0) == minutes else [Pinned(ids.PERSON, minutes)]

    recorded = desk.store.record(decide, by=ids.PERSON, now=now)
    signs_of_life.update_presence(desk)
    pinned = thresholds.pinned(desk.store.caught_up().state(thresholds.NAME, thresholds.ENTRY))
    return {"store": desk.store.path, "created": created, "stale_minutes": pinned, "changed": bool(recorded)}


def _make(desk: Desk, place: Place, planned: list[Piece] | None, *, is_home: bool, dry_run: bool) -> dict[str, Any]:
    """Create the ledger and install the PLANNED skill, or only report what would be done."""
    if is_home and not dry_run:
        git.init_bare(place.common)
    store = desk.store_at(place)
    try:
        if dry_run:
            is_missing = not (store.exists and store.caught_up().heads())
            answer = {"store": store.path, "created": False, "would_create": is_missing}
            return answer | _with_skill(desk, planned, dry_run=True)
        created = creation.make(store, place.title, desk.principal(), desk.now())
        answer = {
            "store": store.path,
            "created": created,
            "has_work_tree": place.work_tree is not None,
            "writer": store.writer,
            "repo": store.clone.repo,
            "group_id": store.clone.group_id,
        }
        if is_home:
            return answer
        from bb.ops.setup import session_start  # noqa: PLC0415

        offered = skills.offer(desk) if planned is None else None
        with_skill = {"skill": offered} if offered else _with_skill(desk, planned)
        return {**answer, "recommendation": session_start.advice(desk), **with_skill}
    finally:
        store.close()


def _with_skill(desk: Desk, planned: list[Piece] | None, *, dry_run: bool = False) -> dict[str, Any]:
    """The `skill` member of the answer; installs the PLANNED skill if --skill was given."""
    return {} if planned is None else {"skill": skills.install(desk, planned, dry_run=dry_run)}


def _refuse_useless_options(idle: Mapping[str, bool], *, is_alone: bool) -> None:
    """Refuse IDLE options, whose main option is missing, and session options with options that exclude them."""
    if is_alone:
        raise NoSession(
            "--register, --adopt and --non-interactive start a session; "
            "they cannot be used with --undo, --dry-run or --home"
        )
    for option in (option for option, is_idle in idle.items() if is_idle):
        raise NoSession(f"{option} needs {'--register' if option == '--role' else '--adopt'}")


@op("doctor", reads=True, verdicts=("PROBLEMS_FOUND",), examples=("bb doctor", "bb doctor --fix --json"))
def doctor(desk: Desk, *, fix: bool = False) -> dict[str, Any]:
    """Check bb's installation and the ledger, and name the command that repairs each problem.

    Checks Python, git, the environment variables, which program the shell runs as `bb`, and the ledger: its format,
    journals, index, leftover files and clock. It proves the installed hooks and MCP entries as `bb setup --check` does.
    --fix repairs what can be repaired without losing anything.

    Parameters:
        fix: Repair what can be repaired without losing a complete line.
    """
    from bb.ledger.care import checkup  # noqa: PLC0415  (not needed for the help text)
    from bb.ledger.care.finding import BROKEN  # noqa: PLC0415
    from bb.ops.setup import proof  # noqa: PLC0415

    now = desk.now_or_none()
    mended = checkup.mend(desk.cwd, desk.env, now) if fix else []
    findings = [*checkup.check(desk.cwd, desk.env, now, desk.progress), *proof.findings(desk)]
    report: dict[str, Any] = {"checks": [finding.as_dict() for finding in findings], "mended": mended}
    if broken := [finding for finding in findings if finding.state == BROKEN]:
        names = ", ".join(finding.name for finding in broken)
        raise ProblemsFound(f"{len(broken)} of {len(findings)} checks failed: {names}", **report)
    return report


def _undo(desk: Desk, place: Place, *, is_home: bool, dry_run: bool, delete_history: bool) -> dict[str, Any]:
    """Remove what init created. The history is deleted only with --delete-history."""
    removed = remove_ledger(desk, place, dry_run=dry_run, delete_history=delete_history)
    return {**removed, **({} if is_home else {"skill": skills.remove(desk, dry_run=dry_run)})}


def remove_ledger(desk: Desk, place: Place, *, dry_run: bool, delete_history: bool) -> dict[str, Any]:
    """Remove the ledger. Refused if it contains events beyond the first, unless its history is to be deleted."""
    from bb.ledger.care import repair  # noqa: PLC0415  (needed only for --undo)

    events = _events_beyond_genesis(desk, place, is_lost_too=delete_history)
    if events and not delete_history:
        raise HistoryPresent(f"the ledger has {counted(events, 'event')} beyond the first", events=events)
    ours = repair.owned_paths(place.store)
    published = [name for name, pin in pins.read(place.store).remotes.items() if pin.publishes]
    if not dry_run:
        repair.remove(ours)
        if published or delete_history:
            git.delete_refs(place.common, "refs/bb/")
        if place.common == places.home_ledger(desk.env):
            repair.remove_empty_repository(place.common)
    return {
        "store": place.store,
        "removed": 0 if dry_run else len(ours),
        "would_remove": len(ours) if dry_run else 0,
        "events_deleted": 0 if dry_run else events,
        "left": [] if dry_run else repair.files_in(place.store),
        "published_on": published,
    }


def _events_beyond_genesis(desk: Desk, place: Place, *, is_lost_too: bool) -> int:
    """The number of events after the first. An unreadable ledger is refused, unless it may be lost (IS_LOST_TOO)."""
    try:
        store = desk.store_at(place)
    except clone.StoreUnreadable.error:
        if not is_lost_too:
            raise
        return 0
    try:
        if not store.exists:
            return 0
        total = sum(store.caught_up().heads().values()) + len(store.caught_up().damages())
        return total - len(event_filters.latest(store, event_filters.Filter(kinds=frozenset([GENESIS])), 2))
    finally:
        store.close()
