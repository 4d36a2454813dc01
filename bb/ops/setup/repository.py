"""Ops on the repository as a whole: make its ledger, take it away again, see that all is well."""

from __future__ import annotations

from bb.coordination.agents import thresholds
from bb.coordination.facts import Pinned
from bb.kernel import ids
from bb.kernel.errors import BbError, Refused, Usage
from bb.kernel.event import GENESIS
from bb.ledger.git import git
from bb.ledger.git import place as places
from bb.ledger.git.place import NoWorkTree
from bb.ledger.journal import clone
from bb.ledger.published import pins
from bb.ledger.records import walk
from bb.ops.catalogue import op
from bb.ops.desk import signs_of_life
from bb.ops.params import Plain, invalid
from bb.ops.setup import skill as skills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.ledger.git.place import Place
    from bb.ledger.index.index import Index
    from bb.ledger.wiring.skill import Piece
    from bb.ops.desk.desk import Desk


class HistoryPresent(Refused):
    """The ledger holds more than `bb init` put there."""

    code = "HISTORY_PRESENT"
    hint = "to delete the history for good, say so with --delete-history"


class NothingToUndo(Usage):
    """--delete-history goes with --undo."""

    code = "NOTHING_TO_UNDO"
    hint = "to delete the ledger and all its history: bb init --undo --delete-history"


class NoSession(Usage):
    """Options that start a session stand where none is started."""

    code = "NO_SESSION"
    hint = "run the two one after the other"


class ProblemsFound(Refused):
    """Something is wrong."""

    code = "PROBLEMS_FOUND"
    hint = "each problem names the command that mends it"


class Adopt(Plain):
    """Go on as this agent, whose work lies here unfinished."""

    metavar = "ID"
    is_agent = True


class Register(Plain):
    """Start as this agent: a name nobody has yet."""

    metavar = "NAME"


class Claimed(Plain):
    """With --adopt: what it worked on, instead of what it holds or held last."""

    metavar = "SCOPE"


class ItsBead(Plain):
    """With --adopt: the bead the work is about."""

    metavar = "BEAD"


class StaleMinutes(Plain):
    """Pin after how many minutes of silence an agent counts as stale, in every clone; `default` unpins it."""

    metavar = "MINUTES"
    takes_numbers = True


class ItsRole(Plain):
    """With --register: what the agent does here; `agent` unless given."""

    metavar = "ROLE"


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
    skill="Also have agents read how to work with bb: in AGENTS.md, .agents/skills and .claude/skills.",
    non_interactive="Never ask; fail when it cannot be told safely what to do.",
    home="Make the ledger for what belongs to no repository.",
    dry_run="Say what would be done, and do nothing.",
    undo="Take away what `bb init` made; with --skill, only that.",
    delete_history="With --undo: delete all recorded events too, for good.",
)
def init(
    desk: Desk,
    *,
    skill: bool = False,
    home: bool = False,
    dry_run: bool = False,
    undo: bool = False,
    delete_history: bool = False,
    register: Register | None = None,
    adopt: Adopt | None = None,
    role: ItsRole | None = None,
    scope: list[Claimed] | None = None,
    bead: ItsBead | None = None,
    non_interactive: bool = False,
    stale_minutes: StaleMinutes | None = None,
) -> dict[str, Any]:
    """Make this repository's ledger, and give this session its identity. Running it again changes nothing.

    --register starts as a new agent, --adopt goes on as an earlier one. Adopting needs evidence: uncommitted changes
    in what that agent claimed, or a bead in progress that it owns. Otherwise it is rejected, or, at a terminal, you
    are asked; so it is while another session is known to be alive under that name. With --non-interactive one of the
    two is required. Every answer recommends what to do, and says why.

    --stale-minutes is yours to say, as the person: from then on no BB_AGENT_STALE_MINUTES makes a judgement of others
    stricter, in any clone. `bb status` shows it.

    The ledger lives in git's own directory, shared by all worktrees and branches of this clone; no index or branch is
    touched, and nothing leaves this machine. --skill is the only thing that writes into the work tree: the skill for
    agents, and a section in AGENTS.md between two markers. At a terminal you are asked whether you want it.

    --undo takes away what init made, as far as nobody has changed it since, and refuses when the ledger has events
    beyond that unless --delete-history is said as well. --home makes the ledger for what belongs to no repository.
    """
    if delete_history and not undo:
        raise NothingToUndo
    if skill and home:
        raise NoWorkTree("the skill goes into a work tree, and --home has none")
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
        from bb.ops.setup import session_start  # noqa: PLC0415  (what other agents do: help needs none of it)

        try:
            _refuse_what_means_nothing(idle, is_alone=undo or dry_run or home)
            given = session_start.session(
                desk,
                adopt=adopt,
                register=register,
                role=role,
                scope=scope or (),
                bead=bead,
                non_interactive=non_interactive,
            )
        except BbError as refusal:
            session_start.advise(desk, refusal, role)
            raise
        return {"store": desk.store.path, "created": False} | given | _taught(desk, planned)
    place = places.at_home(desk.env) if home else desk.place
    if undo and skill and not delete_history:
        return {"store": place.store, "skill": skills.remove(desk, dry_run=dry_run)}
    if undo:
        return _undo(desk, place, is_home=home, dry_run=dry_run, delete_history=delete_history)
    return _make(desk, place, planned, is_home=home, dry_run=dry_run)


def _pin(desk: Desk, said: str, *, is_alone: bool) -> dict[str, Any]:
    """Pin the stale minutes, or unpin them; the ledger is made first where there is none."""
    if not is_alone:
        raise invalid("--stale-minutes goes alone", "stale_minutes")
    signs_of_life.person(desk, None)
    minutes, now = thresholds.minutes(said), desk.now()
    created = desk.store.make(desk.place.title, ids.PERSON, now)

    def decide(index: Index) -> list[Any]:
        before = thresholds.pinned(index.state(thresholds.NAME, thresholds.ENTRY))
        return [] if (before or 0) == minutes else [Pinned(ids.PERSON, minutes)]

    recorded = desk.store.record(decide, by=ids.PERSON, now=now)
    signs_of_life.mark(desk)
    pinned = thresholds.pinned(desk.store.caught_up().state(thresholds.NAME, thresholds.ENTRY))
    return {"store": desk.store.path, "created": created, "stale_minutes": pinned, "changed": bool(recorded)}


def _make(desk: Desk, place: Place, planned: list[Piece] | None, *, is_home: bool, dry_run: bool) -> dict[str, Any]:
    """Make the ledger, and install the skill as it was PLANNED; or only say what that comes to."""
    if is_home and not dry_run:
        git.init_bare(place.common)
    store = desk.store_at(place)
    try:
        if dry_run:
            is_missing = not (store.exists and store.caught_up().heads())
            made = {"store": store.path, "created": False, "would_create": is_missing}
            return made | _taught(desk, planned, dry_run=True)
        created = store.make(place.title, desk.principal(), desk.now())
        made = {
            "store": store.path,
            "created": created,
            "has_work_tree": place.work_tree is not None,
            "writer": store.writer,
            "repo": store.clone.repo,
            "group_id": store.clone.group_id,
        }
        if is_home:
            return made
        from bb.ops.setup import session_start  # noqa: PLC0415

        offered = skills.offered(desk) if planned is None else None
        taught = {"skill": offered} if offered else _taught(desk, planned)
        return {**made, "recommendation": session_start.advice(desk), **taught}
    finally:
        store.close()


def _taught(desk: Desk, planned: list[Piece] | None, *, dry_run: bool = False) -> dict[str, Any]:
    """The skill installed as it was PLANNED, where it was asked for."""
    return {} if planned is None else {"skill": skills.install(desk, planned, dry_run=dry_run)}


def _refuse_what_means_nothing(idle: Mapping[str, bool], *, is_alone: bool) -> None:
    """Refuse IDLE options, which go with one that was not given, and a session with what goes alone."""
    if is_alone:
        raise NoSession(
            "--register, --adopt and --non-interactive start a session; "
            "they go with neither --undo, --dry-run nor --home"
        )
    for option in (option for option, is_idle in idle.items() if is_idle):
        raise NoSession(f"{option} goes with {'--register' if option == '--role' else '--adopt'}")


@op(
    "doctor",
    reads=True,
    examples=("bb doctor", "bb doctor --fix --json"),
    fix="Mend what can be mended without losing a whole line.",
)
def doctor(desk: Desk, *, fix: bool = False) -> dict[str, Any]:
    """Check everything bb stands on, and name the command that mends what is wrong.

    Looks at Python, git and the settings in the environment, at which program the shell runs as `bb`, and at the
    ledger: format, journals, index, leftovers, clock. --fix mends what can be mended without losing anything.
    """
    from bb.ledger.care import checkup  # noqa: PLC0415  (it looks at everything, and help at nothing)

    now = desk.now_or_none()
    mended = checkup.mend(desk.cwd, desk.env, now) if fix else []
    findings = checkup.check(desk.cwd, desk.env, now, desk.progress)
    report: dict[str, Any] = {"checks": [finding.as_dict() for finding in findings], "mended": mended}
    if broken := [finding for finding in findings if finding.state == checkup.BROKEN]:
        names = ", ".join(finding.name for finding in broken)
        raise ProblemsFound(f"{len(broken)} of {len(findings)} checks failed: {names}", **report)
    return report


def _undo(desk: Desk, place: Place, *, is_home: bool, dry_run: bool, delete_history: bool) -> dict[str, Any]:
    """Take away what init made. History only goes when it was asked for by name."""
    from bb.ledger.care import repair  # noqa: PLC0415  (only where something is taken away)

    events = _events_beyond_genesis(desk, place, is_lost_too=delete_history)
    if events and not delete_history:
        raise HistoryPresent(f"the ledger holds {events:,} events beyond the first", events=events)
    ours = repair.belongings(place.store)
    published = [name for name, pin in pins.read(place.store).remotes.items() if pin.publishes]
    if not dry_run:
        repair.remove(ours)
        if published or delete_history:
            git.forget(place.common, "refs/bb/")
        if place.common == places.home_ledger(desk.env):
            repair.remove_empty_repository(place.common)
    return {
        "store": place.store,
        "removed": 0 if dry_run else len(ours),
        "would_remove": len(ours) if dry_run else 0,
        "events_deleted": 0 if dry_run else events,
        "left": [] if dry_run else repair.files_in(place.store),
        "published_on": published,
        **({} if is_home else {"skill": skills.remove(desk, dry_run=dry_run)}),
    }


def _events_beyond_genesis(desk: Desk, place: Place, *, is_lost_too: bool) -> int:
    """How many events there are beyond the first; a ledger too broken to be counted may only be lost on purpose."""
    try:
        store = desk.store_at(place)
    except clone.StoreUnreadable:
        if not is_lost_too:
            raise
        return 0
    try:
        if not store.exists:
            return 0
        total = sum(store.caught_up().heads().values()) + len(store.caught_up().damages())
        return total - len(walk.latest(store, walk.Filter(kinds=frozenset([GENESIS])), 2))
    finally:
        store.close()
