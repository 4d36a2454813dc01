"""The checks and repairs of `bb doctor`. Each finding has a state, a text, and a command that helps."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping

import bb
from bb.coordination.agents import callers, liveness, roster
from bb.kernel import clock, ids
from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless
from bb.kernel.plurals import counted
from bb.ledger.care import audit, fleet_checks, repair, restore
from bb.ledger.care.finding import BROKEN, GOOD, ODD, Finding
from bb.ledger.files import disk, file_systems, launchers
from bb.ledger.git import git, ownership, sharing
from bb.ledger.git import place as places
from bb.ledger.index.reader import Progress
from bb.ledger.journal import clone, writers
from bb.ledger.journal.cursors import Damage
from bb.ledger.local import descriptor, last_sync, machine_registry, presence
from bb.ledger.published import pins
from bb.ledger.published.charter import NotOurLedger
from bb.ledger.records import policy, set_aside, signature_status
from bb.ledger.records.store import Store
from bb.ledger.travel import quarantine_record

OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 30)
MOST_NAMED = 5  # unreadable lines in a finding
MOST_JOURNALS = 50  # with more, those of other clones that are intact are one finding
# Refusals of a sync that do not go away by themselves.
REWRITTEN = ("LEDGER_REWRITTEN", "NOT_A_LEDGER", "ANOTHER_LEDGER", "NOT_OUR_LEDGER", "LEDGER_TOO_LARGE")
UNREADABLE = "bb ledger verify --json"


def check(cwd: str, env: Mapping[str, str], now: int | None, progress: Progress | None = None) -> list[Finding]:
    """Check everything bb depends on, from the interpreter to the last line of the ledger."""
    findings = [_python(), _program(env), _git(), *_settings(env), *_daemon(env)]
    try:
        place = places.find(cwd, env)
    except BbError as error:
        home = places.home_place(env)
        at_home = _store(home, env, now, progress) if os.path.isdir(home.store) else ()
        return [*findings, Finding("repository", ODD, error.message, "git init"), *at_home]
    try:
        ownership.refuse_foreign(place, env)
        findings.append(Finding("repository", GOOD, place.work_tree or place.common))
    except ownership.UnsafeRepository as error:
        findings.append(Finding("repository", ODD, error.message, error.command))
    return [*findings, *_store(place, env, now, progress)]


def mend(cwd: str, env: Mapping[str, str], now: int | None) -> list[str]:
    """Repair everything that can be repaired without losing a complete line. Returns the repairs."""
    try:
        place = places.find(cwd, env)
    except BbError:
        return []
    if not os.path.isdir(place.store):
        return []
    ownership.refuse_foreign(place, env)
    done = []
    try:
        our_clone = clone.read(place.store)
        if our_clone:
            our_clone.may_write()  # a line that looks torn to this bb may be valid for a newer one
    except clone.LedgerTooNew.error:
        return []
    except clone.StoreUnreadable.error:
        our_clone = None
    if our_clone is None:
        repair.rewrite_clone(place.store)
        done.append("wrote clone.json again, from the journals")
    done += repair.clear_the_index(place.store)
    store = Store(place)
    try:
        done += [f"removed the holes from {path}; the old file is in torn/" for path in repair.close_holes(store)]
        done += [f"repaired the torn last line of writer {writer}" for writer in repair.repair_torn_line(store)]
        chains = audit.audit(store).chains
        done += _mend_journals(store, [chain.damage for chain in chains if chain.damage and chain.is_ours], now)
        if not audit.audit(store).is_index_right:
            store.index.rebuild(store.sources())
            done.append("rebuilt the index")
        if swept := repair.remove_leftovers(place.store):
            done.append(f"removed {swept} left-over temporary files")
        if os.name != "nt" and (sharing.paths_too_permissive(place) or sharing.lacks_group_permissions(place)):
            done.append(f"corrected the permissions of {counted(sharing.correct_permissions(place), 'path')}")
    finally:
        store.close()
    return done


def _mend_journals(store: Store, damages: list[Damage], now: int | None) -> Iterator[str]:
    """Restore each damaged journal, or retire its writer and record the intact events after the damage again. Also
    completes an earlier attempt that was interrupted."""
    if now is None:
        return
    for damage in damages:
        if restore.restore(store, damage):
            yield f"restored line {damage.n} of writer {damage.writer} from the published copy"
            continue
        repair.retire(store, damage)
        yield f"retired writer {damage.writer}: line {damage.n} is damaged"
    for writer, count in repair.salvage_owed(store, now).items():
        yield f"recorded {count} intact events after the damage of {writer} again"
    for writer, count in set_aside.record_again(store, now).items():
        yield f"recorded {counted(count, 'event')} of writer {writer} again, whose line numbers others have published"


def _python() -> Finding:
    python = f"{platform.python_version()} at {sys.executable}, bb {bb.__version__}"
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", BROKEN, python, "install Python 3.11 or later")
    return Finding("python", GOOD, python)


def _program(env: Mapping[str, str]) -> Finding:
    """Check which `bb` a shell would run. A well-known Clojure interpreter has the same name."""
    path = launchers.first_on_path("bb", env)
    if path is None:
        here = os.path.dirname(sys.executable)
        return Finding("command", ODD, "no `bb` on the PATH", f"add {here} to the PATH, or run python -m bb")
    if not launchers.is_bb(path):
        return Finding("command", ODD, f"the shell runs {path}, which is another program", "call it as beadboard")
    return Finding("command", GOOD, f"the shell runs {path}")


def _git() -> Finding:
    try:
        version = git.version()
    except BbError as error:
        return Finding("git", BROKEN, error.message, error.hint)
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST_GIT:
        return Finding("git", ODD, f"{version} is older than the oldest tested version", "upgrade git to 2.30 or later")
    return Finding("git", GOOD, version)


def _settings(env: Mapping[str, str]) -> Iterator[Finding]:
    """Check the environment variables that bb reads."""
    checks: dict[str, Callable[[str], object]] = {
        "BB_AGENT": ids.agent_id,
        "BB_AGENT_STALE_MINUTES": liveness.stale_after,
        "BB_NOW": clock.parse,
        callers.OWN: lambda value: callers.sessions({callers.OWN: value}),
    }
    for name, parse in checks.items():
        value = env.get(name)
        if not value:
            continue
        try:
            parse(value)
        except BbError as error:
            yield Finding(name, BROKEN, error.message, f"unset {name}")
        else:
            is_odd = name == "BB_NOW"
            text = f"{value}: every command uses this as the current time" if is_odd else value
            yield Finding(name, ODD if is_odd else GOOD, text, f"unset {name}" if is_odd else None)


def _daemon(env: Mapping[str, str]) -> Iterator[Finding]:
    """Check whether a running daemon also serves other users."""
    home = machine_registry.home(env)
    try:
        where = descriptor.address(home)
        if where.warning and descriptor.is_running(home):
            mend = "bb daemon stop, then start it without --allow-anonymous-tcp"
            yield Finding("daemon", ODD, where.warning, mend)
    except BbError as error:
        yield Finding("daemon", ODD, error.message, error.hint)


def _store(
    place: places.Place, env: Mapping[str, str], now: int | None, progress: Progress | None
) -> Iterator[Finding]:
    try:
        store = Store(place, progress)
    except BbError as error:
        yield Finding("ledger", BROKEN, f"{error.message}: {place.store}", error.hint)
        return
    if not store.exists:
        yield Finding("ledger", ODD, "this repository has no ledger yet", "bb init")
        return
    try:
        yield _writable(store)
        yield from _permissions(store)
        yield from _journals(store)
        yield _index(store)
        yield from _caller(store, env.get("BB_AGENT", ""))
        yield from _leftovers(store)
        yield from _put_aside(store)
        yield from _quarantined(store)
        yield from _last_sync(store)
        if now is not None:
            yield from fleet_checks.findings(store.place, now)
        yield from _signatures(store, now)
        if now is not None:
            yield _clock(store, now)
    except BbError as error:
        yield Finding("ledger", BROKEN, error.message, error.hint)
    finally:
        store.close()


def _writable(store: Store) -> Finding:
    try:
        store.clone.may_write()
    except clone.LedgerTooNew.error as error:
        return Finding("ledger", ODD, error.message, error.hint)
    if not os.access(store.path, os.W_OK):
        return Finding("ledger", ODD, f"{store.path} is read-only", "remount or change its permissions")
    kind = file_systems.file_system(store.path)
    if kind in file_systems.NETWORK_FILE_SYSTEMS:
        return Finding("ledger", ODD, f"{store.path} is on {kind}: locks of other machines may have no effect", None)
    return Finding("ledger", GOOD, store.path)


def _permissions(store: Store) -> Iterator[Finding]:
    """Check the permissions of the ledger's files against `core.sharedRepository`."""
    if os.name == "nt":
        return
    if wide := sharing.paths_too_permissive(store.place):
        text = f"other users may write {counted(len(wide), 'path')} of the ledger; the first is {wide[0]}"
        yield Finding("permissions", ODD, text, "bb doctor --fix")
    elif sharing.lacks_group_permissions(store.place):
        text = "core.sharedRepository lets other users write the repository, but they cannot write its ledger"
        yield Finding("permissions", ODD, text, "bb doctor --fix")
    else:
        yield Finding("permissions", GOOD, "no other user may write the ledger without permission")


def _journals(store: Store) -> Iterator[Finding]:
    report = audit.audit(store, store.progress)
    journals = os.path.join(store.path, "j")
    good, lines_in_good = 0, 0
    for chain in report.chains:
        name = f"journal {chain.writer}"
        owner = writers.read_owner(journals, chain.writer)
        if owner and owner.retired:
            yield Finding(name, GOOD, f"{counted(chain.lines, 'line')}; retired: {owner.retired}")
        elif chain.damage:
            where = f"line {chain.damage.n} in {chain.damage.path} at byte {chain.damage.offset}"
            yield Finding(name, BROKEN, f"{where}: {chain.damage.reason}", "bb doctor --fix")
        elif chain.is_torn:
            yield Finding(name, ODD, "the last line is torn; the next write repairs it", "bb doctor --fix")
        elif len(report.chains) > MOST_JOURNALS and not owner:
            good, lines_in_good = good + 1, lines_in_good + chain.lines
        else:
            yield Finding(name, GOOD, f"{counted(chain.lines, 'line')} in {counted(chain.segments, 'file')}")
    if good:
        text = f"{counted(lines_in_good, 'line')} in {counted(good, 'journal')} of other clones, all intact"
        yield Finding("journals", GOOD, text)
    if unread := audit.unreadable_lines(store):
        named = "; ".join(f"{line.id}: {line.reason}" for line in unread[:MOST_NAMED])
        more = f"; and {len(unread) - MOST_NAMED} more" if len(unread) > MOST_NAMED else ""
        yield Finding("unreadable", ODD, f"{_lines(len(unread))}, ignored: {named}{more}", UNREADABLE)
    if not report.is_index_right:
        yield Finding("index content", BROKEN, "the index does not match the journals", "bb ledger rebuild")


def _lines(count: int) -> str:
    return "1 line that no bb could have written" if count == 1 else f"{count:,} lines that no bb could have written"


def _index(store: Store) -> Finding:
    for kind, path in repair.in_place_of_the_index(store.path):
        text = f"{path} is {kind} where a file of the index belongs, so every command reads the whole ledger"
        return Finding("index", ODD, text, "bb doctor --fix")
    if store.index.is_in_memory:
        text = f"{store.path} cannot be written, so every command reads the whole ledger"
        return Finding("index", ODD, text, "give your user write permission there")
    return Finding("index", GOOD, f"{store.index.path} is up to date")


def _signatures(store: Store, now: int | None) -> Iterator[Finding]:
    """Check the list of signers, and our key against it. No findings if there is no list."""
    current = policy.refresh(store, now or 0)
    for doubt in policy.uncertain(store.place, current):
        yield Finding("signers", ODD, doubt)
    if current.text is None:
        return
    state = BROKEN if current.policy.is_unread else ODD  # an unread line may be one that revokes a key
    for problem in current.policy.problems:
        yield Finding("signers", state, problem, "correct the line, and have it reviewed")
    if current.policy.repo not in (None, store.clone.repo):
        named = current.policy.repo or "none"
        text = f"this clone's ledger belongs to {store.clone.repo}, but .bb/allowed_signers names {named}"
        yield Finding("ledger", BROKEN, text, NotOurLedger.hint)
    if current.trouble:
        yield Finding("signing", ODD, current.trouble, "bb ledger key --own")
    elif current.mode != "off" and not current.is_allowed:
        state = BROKEN if current.mode == "require" else ODD
        what = "has been revoked" if current.is_revoked else "is not listed in .bb/allowed_signers"
        mend = "bb ledger key --rotate" if current.is_revoked else "bb ledger key"
        yield Finding("signing", state, f"the key of this clone {what}", mend)
    answer = signature_status.as_answer(store, current)
    forged, doubted = answer["lines"]["forged"], answer["lines"]["unverified"]
    verified = counted(answer["lines"]["verified"], "line")
    text = f"{current.mode}: {verified} verified, {doubted:,} unverified, {forged:,} forged"
    yield Finding("signatures", BROKEN if forged else GOOD, text, "bb ledger verify" if forged else None)


def _caller(store: Store, agent: str) -> Iterator[Finding]:
    """Check that the agent in BB_AGENT is registered and not retired. Commands refuse it otherwise."""
    if ids.is_actor_id(agent) and not roster.in_service([(agent, store.index.state(roster.NAME, agent))]):
        mend = f"bb agent register --name {agent} --role ROLE, or set BB_AGENT to your own name"
        yield Finding("caller", ODD, f"BB_AGENT is {agent}, but no active agent has that name here", mend)


def _leftovers(store: Store) -> Iterator[Finding]:
    if count := len(repair.leftovers(store.path)):
        yield Finding("leftovers", ODD, f"{count} temporary files of killed processes", "bb doctor --fix")
    if aside := disk.names(os.path.join(store.path, "torn")):
        yield Finding("torn", GOOD, f"{len(aside)} fragments of unfinished writes are kept in {store.path}/torn")


def _put_aside(store: Store) -> Iterator[Finding]:
    if files := set_aside.owed_files(store.path):
        text = f"our events in {', '.join(files)} are still to be recorded again"
        yield Finding("forked", ODD, text, "bb sync")


def _quarantined(store: Store) -> Iterator[Finding]:
    """Name the newest commit on a remote that this clone has skipped. It harms nothing, so this is no problem."""
    if found := quarantine_record.read(store.path):
        last = found[-1]
        text = (
            f"{counted(len(found), 'commit')} skipped; the last one is {last.commit[:12]} by {last.by} on {last.remote}"
        )
        yield Finding("quarantine", GOOD, harmless(text))


def _last_sync(store: Store) -> Iterator[Finding]:
    """Report a clone that publishes, and whose last sync was refused. An unreachable remote is not a problem yet."""
    last = last_sync.read(store.path)
    if last is None or not pins.read(store.path).publishes_to:
        return
    if last.code is None:
        yield Finding("sync", GOOD, f"the last sync with {last.remote} succeeded at {clock.text(last.at)}")
        return
    since = f"; the last success was at {clock.text(last.ok_at)}" if last.ok_at else ""
    state = BROKEN if last.code in REWRITTEN else ODD
    mend = "bb ledger restore --dry-run" if last.code in REWRITTEN else "bb sync"
    yield Finding("sync", state, f"{last.code}: {harmless(last.message or '')}{since}", mend)


def _clock(store: Store, now: int) -> Finding:
    """Check for heartbeats from the future: they mean that this machine's clock was, or is, wrong."""
    beats = presence.all_presences(store.path).values()
    ahead = max((beat.seen_at - now for beat in beats), default=0)
    if ahead > clock.MINUTE:
        minutes = counted(ahead // clock.MINUTE, "minute")
        return Finding("clock", ODD, f"a heartbeat is {minutes} ahead of the clock", "check the clock")
    return Finding("clock", GOOD, clock.text(now))
