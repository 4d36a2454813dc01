"""Text screens for the fleet: beginning, ending and joining one, and its state."""

from __future__ import annotations

from bb.cli.screens import travel
from bb.cli.screens.styling import counted
from bb.kernel.foreign import Foreign, page, quotation, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST_SHOWN = 60  # machines
MOST_FLAWED = 3  # rows that do not count
STATES = {
    "not_joined": "This clone has not joined the fleet",
    "no_relay": "No relay of this clone runs: commands work in this clone, and nothing is sent or received",
    "away": "The engine cannot be reached: local work goes on, and global reservations are refused",
    "failing": "This clone is not connected to the engine: local work goes on, and global reservations are refused",
    "stopped": "Global reservations are refused, because the engine has another history than this ledger",
    "connected": "Connected",
}
BY_CODE = {  # of the refusal, while the clone is not connected
    "ENGINE_DENIED": "The engine refuses this machine: local work goes on, and global reservations are refused",
    "ENGINE_NOT_DURABLE": "Global reservations are refused, because a power failure of the engine can lose lines",
    "FLEET_ENDED": "Global reservations are refused, because the engine's log is closed",
    "FLEET_RESULTS_NOT_SAVED": "Global reservations are refused, because this machine cannot save what it has read",
}


def _engine(found: Foreign) -> str:
    file = f" in {sentence(found['service_file'])}" if found.get("service_file") else ""
    return f"{found['carrier']}, {sentence(found['address'])}{file}"


def _steps(found: Foreign, verb: str) -> Iterator[str]:
    """What a dry run found."""
    yield f"{verb} would:"
    for step in found["steps"]:
        yield f"  {sentence(step)}"
    for one in found.get("void", ()):
        unless = ", unless the engine still has it" if found.get("again") else ""
        yield f"  {one['agent_id']} would lose its reservation of {one['scope']}{unless}, and be told so"


def _relay(found: Foreign) -> Iterator[str]:
    if not (relay := found.get("relay")):
        return
    if relay["running"]:
        yield "The relay of this clone runs"
        return
    yield f"The relay of this clone does not run: {sentence(relay['why'])}"
    if relay["hint"]:
        yield f"  {sentence(relay['hint'])}"


def begun(found: Foreign) -> Iterator[str]:
    """A fleet that has begun, or would."""
    if found["dry_run"].is_true:
        yield f"Engine: {_engine(found['engine'])}"
        yield from _steps(found, "This")
        return
    terms = found["terms"]
    yield f"The fleet has begun: {_engine(found['engine'])} orders this ledger from place {terms['first']} on"
    yield f"Its log is {terms['incarnation']}; {found['remote']} is its archive"
    if found["rows"]:
        yield f"Published first: {counted(int(found['rows']), 'row')} of the log before"
    if found["still_open"]:
        yield f"The log before could not be closed: {sentence(found['still_open'])}"
        yield "  Until it is, machines that have not fetched the new charter reserve in it, and conflict with others"
        yield "  bb's daemon closes it as soon as it can. As another role: `bb fleet prune ENGINE`, with the old engine"
    yield from travel.void(found)
    yield from _relay(found)
    if found["again"].is_true:
        yield "Other clones go on with the new log by themselves. If it is on another engine: `bb fleet join ENGINE`"
    else:
        yield "Other clones connect with `bb sync --pull`, then `bb fleet join ENGINE`"


def ended(found: Foreign) -> Iterator[str]:
    """A fleet that has ended, or would."""
    if found["dry_run"].is_true:
        yield from _steps(found, "This")
        return
    yield f"The fleet has ended: {found['remote']} orders this ledger again"
    if found["rows"]:
        yield f"Published first: {counted(int(found['rows']), 'row')} of the engine's log"
    if found["went"]:
        yield f"Then this clone published {counted(int(found['went']), 'event')} that the engine had not taken"
    yield from travel.void(found)
    yield "Other clones follow with their next sync"


def joined(found: Foreign) -> Iterator[str]:
    """A clone that has joined its fleet, or would."""
    yield f"Engine: {_engine(found['engine'])}"
    yield f"Its log ends at place {found['head']}; the archive on {found['remote']} at {found['archived']}"
    if found["visible_to"]:
        yield f"What is recorded in this clone is visible to {sentence(found['visible_to'])}, now and later"
    if found["durable"] == False and not found["durable"].is_none:  # noqa: E712  (null means unknown)
        yield "A power failure of the engine can lose acknowledged lines: `bb fleet status` shows the setting"
    for note in found["notes"]:
        yield sentence(note)
    if found["dry_run"].is_true:
        yield from _steps(found, "This")
        return
    yield "This clone has joined the fleet: plain `bb reserve` is valid in every clone now"
    yield from travel.contested(found)
    yield from travel.void(found)
    yield from _relay(found)


def status(found: Foreign) -> Iterator[str]:
    """The state of a fleet."""
    terms = found["terms"]
    if not terms:
        yield "This ledger has no fleet, as far as this clone has fetched: `bb sync --pull` fetches"
        yield "The person begins a fleet with `bb fleet begin ENGINE`: docs/fleet.md"
        return
    state = str(found["state"])
    why = BY_CODE.get(str(found["code"])) if state in ("failing", "stopped") else None
    yield why or STATES.get(state, state)
    if found["message"]:
        yield f"{found['code']}: {sentence(found['message'])}"
    if found["hint"]:
        yield f"  {sentence(found['hint'])}"
    yield f"Engine: {_engine(found['engine'])}" if found["engine"] else f"Engine: {terms['carrier']}"
    yield f"Log: {terms['incarnation']}, from place {terms['first']} on{_begun_by(terms)}"
    yield _progress(found)
    yield from _troubles(found)
    yield from _health(found)
    yield from _machines(found)


def _begun_by(terms: Foreign) -> str:
    by = f", begun by {terms['by']} at {terms['ts']}" if terms["by"] else ""
    return by + (f": {quotation(terms['reason'])}" if terms["reason"] else "")


def _progress(found: Foreign) -> str:
    """How far this clone has read, sent and archived."""
    parts = []
    if not found["head"].is_none:
        told = "has told of" if found["state"] == "stopped" else "is at"
        parts.append(f"the engine {told} {found['head']}")
    if not found["place"].is_none:
        parts.append(f"this clone has read up to {found['place']}")
    if found["lag"]:
        parts.append(f"{counted(int(found['lag']), 'row')} behind")
    if not found["unsent"].is_none:
        parts.append(f"{counted(int(found['unsent']), 'line')} unsent" if found["unsent"] else "nothing unsent")
    if not found["archived"].is_none:
        is_now = found["archives"].is_true or str(found["archived"]) == str(found["head"])
        when = "" if is_now else " when this clone last looked"
        parts.append(f"archived up to {found['archived']}{when}")
    return "Places: " + "; ".join(parts)


def _troubles(found: Foreign) -> Iterator[str]:
    """What needs a person, though the relay may be connected."""
    for writer, code in found["denied"].items():
        yield f"The engine refuses lines of writer {writer} ({code}): they wait here"
    flawed = found["flawed"]
    if flawed:
        yield f"{counted(len(flawed), 'row')} in the engine {'does' if len(flawed) == 1 else 'do'} not count:"
    for row in flawed[-MOST_FLAWED:]:
        yield f"  place {row['place']}, writer {row['writer']}: {sentence(row['reason'])}"
    if found["archive_failure"]:
        yield f"The last attempt to archive failed: {sentence(found['archive_failure'])}"


def _health(found: Foreign) -> Iterator[str]:
    if (health := found["health"]) and found["code"] != "ENGINE_NOT_DURABLE":
        durable = health.get("durable")
        is_now = found["state"] == "connected" or found["heard_seconds"].is_none
        verb = "is" if is_now else "was, when it last answered,"
        word = "durable" if durable.is_true else "NOT durable: a power failure can lose acknowledged lines"
        others = ", ".join(f"{name} {value}" for name, value in health.items() if _is_told(str(name), value))
        yield f"The engine {verb} {word}: {others}" if others else f"The engine {verb} {word}"
    skew = found["clock_skew_seconds"]
    if not skew.is_none and abs(_number(skew)) >= 1:
        yield f"The clock of this machine differs from the engine's by {abs(_number(skew)):.0f} s, which is harmless"


def _is_told(name: str, value: Foreign) -> bool:
    """Whether a setting of the engine is worth a word. The others are usual, or shown elsewhere."""
    is_usual = name == "primary" and value.is_true
    return name not in ("durable", "now") and not is_usual and (bool(value) or value.is_truth)


def _number(value: Foreign) -> float:
    return float(str(value))


def _machines(found: Foreign) -> Iterator[str]:
    machines = found["machines"]
    alive = sum(1 for machine in machines if machine["is_alive"])
    heard = found["heard_seconds"]
    when = (
        "" if found["state"] == "connected" or heard.is_none else f" when it last answered, {_number(heard):.0f} s ago"
    )
    numbers = f"{alive} alive, {len(machines) - alive} silent" if machines else "none has reported"
    yield f"Machines{when}: {numbers}"
    for machine in machines[:MOST_SHOWN]:
        state = "alive" if machine["is_alive"] else "silent"
        lag = f", {counted(int(machine['lag']), 'row')} behind" if machine["lag"] else ""
        agents = counted(int(machine["agents"]), "agent")
        about = f"last beat {machine['age_seconds']} s ago, {agents}{lag}"
        yield f"  {machine['name']} ({machine['writer']}): {state}, {about}"
    if len(machines) > MOST_SHOWN:
        yield f"  and {len(machines) - MOST_SHOWN} more: bb fleet status --json"


def schema(found: Foreign) -> Iterator[str]:
    """Statements to run, as they are."""
    yield from page(found["statements"])


def enrolled(found: Foreign) -> Iterator[str]:
    """The statements that give a machine its rights, or take them away. They can be piped into psql."""
    if found["done"].is_true:
        what = "has no rights any more" if found["revoked"].is_true else "has its role"
        yield f"{found['machine']} {what} in {_engine(found['engine'])}"
        if found["unbound"]:
            yield "The writer will be bound to the next role that uses it"
        elif found.get("writer"):
            yield f"No role has used the writer {found['writer']} in this database, so nothing was changed about it"
        yield from map(sentence, [*found["on_server"], *found["on_machine"]])
        return
    end = ";" if found["engine"]["carrier"] == "postgres" else ""
    for statement in found["statements"]:
        *lines, last = page(statement)
        yield from lines
        yield f"{last}{end}"
    for step in [*found["on_server"], *found["on_machine"]]:
        yield f"-- {sentence(step)}"


def pruned(found: Foreign) -> Iterator[str]:
    """The rows and logs that were removed from the engine, or would be."""
    would = "would be " if found["dry_run"].is_true else ""
    is_in_use = not found["upto"].is_none
    if found["rows"]:
        yield f"{counted(int(found['rows']), 'row')} {would}removed, up to place {found['upto']}; the archive has them"
    elif is_in_use:
        yield "No row can be removed now: all that are left are not archived, or not read by every machine"
    if is_in_use and found["upto"] != found["archived"] and found["slowest"]:
        slowest = found["slowest"]
        yield f"The archive is at {found['archived']}; {slowest} has not read further than {found['upto']}, as it says"
        yield f"  This counts for an hour after its last beat. To end that: `bb fleet enroll {slowest} --revoke --do`"
    for log in found["logs"]:
        yield from _replaced(log, would)
    if not is_in_use and not found["logs"]:
        yield "Nothing to remove: the engine has no log of this ledger"


def _replaced(log: Foreign, would: str) -> Iterator[str]:
    """A log that a later one has replaced."""
    about = f"Log {log['incarnation']}, from place {log['first']} on, is not used any more"
    closed = "" if log["was_closed"].is_true else f"{would}closed, and "
    if log["removed"].is_true:
        rows = counted(int(log["rows"]), "row")
        yield f"{about}: {closed}{would}removed with {rows}; everything in it is published"
        return
    writers = counted(int(log["unpublished"]), "writer")
    yield f"{about}: {closed}kept, because lines of {writers} in it are not published"
    yield "  The machines that recorded them send them again when they are back. Then run this command again"


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "fleet begin": begun,
    "fleet end": ended,
    "fleet join": joined,
    "fleet status": status,
    "fleet schema": schema,
    "fleet enroll": enrolled,
    "fleet prune": pruned,
}
UNWRAPPED = ("fleet schema", "fleet enroll")
