"""Text screens: answers and refusals as a few lines for people, the important part first.

Every screen receives its answer as `Foreign`, because any text in it may come from an agent. Ids and paths are shown as
names, agents' texts in quotation marks or on marked lines, and sentences of an op on one line.
"""

from __future__ import annotations

from bb.cli.screens import styling
from bb.kernel.foreign import Foreign, block, names, quotation, sentence, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.kernel.errors import BbError

MARKS = {"good": "ok  ", "odd": "note", "broken": "FAIL"}


def format_answer(command: str, data: object, screen: str = "") -> Iterable[str]:
    """Format DATA, the answer of COMMAND, as lines. SCREEN names the module of this package; empty means this one.

    The lines of other modules are broken to fit the terminal, except for the commands that they list as UNWRAPPED.
    """
    module = __import__(f"bb.cli.screens.{screen or 'text'}", fromlist=["FORMS"])
    lines: Iterable[str] = module.FORMS.get(command, styling.plain)(Foreign(data))
    is_unwrapped = not screen or command in getattr(module, "UNWRAPPED", ())
    return lines if is_unwrapped else styling.wrap_lines(lines)


def format_refusal(error: BbError) -> list[str]:
    """A refusal. Its sentences may contain names that agents chose, so they are escaped."""
    return [
        f"Error: [{error.code}] {sentence(error.message)}",
        *([f"Hint: {sentence(error.hint)}"] if error.hint else []),
    ]


def format_verdict(error: BbError) -> tuple[list[str], list[str]]:
    """A refusal that is an answer: what was found; and the hint, unless each finding has its own next step."""
    found = list(refusal_details(error))
    if "problems" in error.details or "checks" in error.details:
        return [sentence(error.message), *found], []
    return found, [f"Hint: {sentence(error.hint)}"] if error.hint else []


def refusal_details(error: BbError) -> Iterable[str]:
    """The details of a refusal that are shown before its message."""
    details = Foreign(error.details)
    if "checks" in details:
        return _doctor(details)
    if "repository" in details and ("parts" in details or "checked" in details):
        return format_answer("setup", details, "setup")
    if "forks" in details or "shows" in details:
        return format_answer("sync", details, "travel")
    if "hook" in details and "output" in details:
        return block(details["output"])
    if "findings" in details:
        return _judged(details)
    if "refused" in details:
        return format_answer("refused", details, "attention_host")
    if error.code == "DIALECT_REJECTED" and details.get("violations"):
        return format_answer("violations", details, "cbcl")
    if error.code == "CONFIRM_REQUIRED":
        return [f"-> it waits for the person  [{details['confirmation']}]"]
    if error.code == "PATH_HELD":
        from bb.cli.screens import guards  # noqa: PLC0415

        rows = guards.in_the_way(details)
        return rows if error.is_verdict or len(rows) > 1 else []  # the message names the only path
    return format_answer("problems", details, "overview") if "problems" in details else []


def _heartbeat(agent: Foreign) -> list[str]:
    lines = [f"{agent['agent_id']} is {agent['liveness']}, seen {styling.ago(agent['last_seen_at'])}"]
    if lost := agent.get("contested"):
        why = "another clone reserved first, or the reservation is void"
        lines.append(f"You do not hold {names(lost)}: {why}. See your mail for details.")
    if pause := agent.get("paused"):
        why = f": {quotation(pause['why'])}" if pause["why"] else ""
        lines.append(f"{pause['by']} paused you {styling.ago(pause['since'])}{why}. Do not change anything.")
    return lines


def _agent(agent: Foreign) -> list[str]:
    """One agent. Its `status` is left out: it says idle of everybody, also of an agent that holds files."""
    name = "" if agent["display_name"] == agent["agent_id"] else f" ({agent['display_name']})"
    state = agent["liveness"] or agent["status"]
    lines = [
        f"{agent['agent_id']}{name} is {state}, seen {styling.ago(agent['last_seen_at'])}",
        f"{agent['role']}, registered {styling.ago(agent['created_at'])}",
    ]
    if pause := agent.get("paused"):
        why = f": {quotation(pause['why'])}" if pause["why"] else ""
        lines.append(f"{pause['by']} paused it {styling.ago(pause['since'])}{why}.")
    return lines


def _registered(agent: Foreign) -> list[str]:
    emails = f", with the addresses {names(agent['emails'])}" if agent.get("emails") else ""
    return [f"{agent['agent_id']} is registered as {agent['role']}{emails}"]


def _name(found: Foreign) -> list[str]:
    return [str(name) for name in found["names"]]


def _retired(found: Foreign) -> list[str]:
    lines = [f"{found['agent_id']} is retired; {styling.counted(int(found['released']), 'reservation')} released"]
    left = found["not_accepted"]
    return [*lines, f"Never accepted, so ask another agent: {names(left)}"] if left else lines


def _renamed(found: Foreign) -> list[str]:
    ended = f", {styling.counted(int(found['released']), 'global reservation')} ended" if found["released"] else ""
    came = styling.counted(int(found["transferred"]), "reservation")
    return [
        f"{found['renamed_from']} of this clone is {found['agent_id']} now; {came} transferred{ended}",
        f"Work under the new name: export BB_AGENT={shell_word(found['agent_id'])}",
    ]


def _merged(found: Foreign) -> list[str]:
    return [f"{found['agent_id']} is one agent in all clones now, and its reservations in each of them count for all"]


def _message(message: Foreign) -> Iterable[str]:
    if "event" in message or "messageId" in message:  # a reply to a message of a chat
        return format_answer("chat reply", message, "chat")
    to = names(message["recipients"]) if "recipients" in message else str(message["to_agent"])
    event, _, _ = message["message_id"].parted("_")
    lines = [f"{event} to {to}: {'accepted' if message['state'] == 'acked' else message['state']}"]
    if message.get("recorded_only"):
        lines.append("No other agent is here to receive it: it is recorded, and the person can read it.")
    return lines


def _judged(answer: Foreign) -> Iterable[str]:
    from bb.cli.screens import ci_reports  # noqa: PLC0415  (only CI needs it)

    return ci_reports.of(answer)


def _compared(found: Foreign) -> list[str]:
    return [
        str(found["class"]),
        f"a  {found['a']['canonical']}  {found['a']['absolute']}",
        f"b  {found['b']['canonical']}  {found['b']['absolute']}",
    ]


def _session(made: Foreign) -> list[str]:
    how = f"continues as {made['agent_id']}" if made["mode"] == "adopt" else f"starts as {made['agent_id']}"
    lines = [f"This session {how}", f"  {sentence(made['recommendation']['why'])}"]
    if note := made.get("looked_at", {}).get("beads", {}).get("note"):
        lines.append(f"  Beads: {sentence(note)}")
    if made.get("session_id"):
        lines.append(f"  To stay in this session, run: export BB_SESSION={shell_word(made['session_id'])}")
    return [*lines, *([f"  Note: {sentence(made['warning'])}"] if made.get("warning") else [])]


ONLY_SKILL = ("store", "skill")


def _init(made: Foreign) -> list[str]:
    if len(made) == len(ONLY_SKILL) and all(name in made for name in ONLY_SKILL):
        return _skill(made["skill"]) or ["The skill of bb is not installed here"]
    if "stale_minutes" in made:
        minutes = made["stale_minutes"]
        when = (
            f"{styling.counted(int(minutes), 'minute')}, in every clone"
            if minutes
            else "BB_AGENT_STALE_MINUTES of each clone, or 15 minutes"
        )
        return [f"Agents without a heartbeat become stale after {when}"]
    return [*(_session(made) if "mode" in made else _ledger_of(made)), *_skill(made.get("skill"))]


def _ledger_of(made: Foreign) -> list[str]:
    store = str(made["store"])
    if "would_create" in made:
        return [f"Would create a ledger in {store}" if made["would_create"] else f"{store} already has a ledger"]
    if "removed" in made:
        left = [f"Kept, because bb did not create it: {path}" for path in made["left"]]
        left += [f"Published lines remain on {name}" for name in made["published_on"]]
        if made["would_remove"]:
            return [f"Would remove {styling.counted(int(made['would_remove']), 'path')} from {store}"]
        return [f"Removed {styling.counted(int(made['removed']), 'path')} from {store}", *left]
    if made["created"]:
        advice = made.get("recommendation")
        following = ["Next: bb start"] if made["has_work_tree"] and advice else []
        return [f"Created a ledger in {store}", *following]
    return [f"{store} already has a ledger"]


def _skill(done: Foreign) -> list[str]:
    """The outcome for each file of the skill, done or planned."""
    if done.is_none:
        return []
    would = "" if done["is_done"] else "would be "
    lines = []
    for file in done["files"]:
        how = f"{'' if file['outcome'] in ('unchanged', 'left') else would}{file['outcome']}"
        why = f": {sentence(file['why'])}" if "why" in file else ""
        lines.append(f"{how:<{len(would) + 9}}  {file['path']}{why}")
    return lines


def _doctor(report: Foreign) -> list[str]:
    checks = report["checks"]
    width = max(len(sentence(check["name"])) for check in checks)
    lines = [f"repaired: {sentence(done)}" for done in report["mended"]]
    for check in checks:
        mark, name = check["state"].among(MARKS, "?   "), sentence(check["name"])
        lines.append(f"{mark}  {name:<{width}}  {sentence(check['text'])}")
        if check["mend"] and check["state"] != "good":
            lines.append(f"{'':<{width + 6}}  -> {sentence(check['mend'])}")
    return lines


def _event(event: Foreign) -> list[str]:
    if event.get("unreadable"):
        return [f"{event['ts'] or '?'}  unreadable: {sentence(event['unreadable'])}  [{event['id']}]"]
    return [f"{event['ts']}  {event['kind']}  {event['by']}  {event['data']}  [{event['id']}]"]


def _verified(found: Foreign) -> list[str]:
    chains = [
        f"{'our' if chain['is_ours'] else 'other'} writer {chain['writer']}: "
        f"{styling.counted(int(chain['lines']), 'line')}, head {chain['head']}"
        f"{', damaged and retired' if chain['damage'] else ''}"
        for chain in found["chains"]
    ]
    summary = f"{styling.counted(int(found['events']), 'event')}, every chain in use is intact; state {found['state']}"
    from bb.cli.screens import travel  # noqa: PLC0415

    signed = travel.signatures_known(found["signatures"])
    unread = [f"unreadable: {line['id']}: {sentence(line['reason'])}" for line in found["unreadable"]]
    published = [row for branch in found.get("published", ()) for row in (_published(branch), *_skipped(branch))]
    return [*chains, summary, *signed, *unread, *published]


def _published(found: Foreign) -> str:
    is_right = found["is_snapshot_right"]
    snapshot = "no snapshot" if is_right.is_none else f"the snapshot is {'right' if is_right else 'wrong'}"
    events = f"{styling.counted(int(found['events']), 'event')}, {found['archived']:,} of them archived"
    commits = f"in {styling.counted(int(found['commits']), 'commit')} of epoch {found['epoch']}"
    return f"published on {found['remote']}: {events}, {commits}; {snapshot}"


def _skipped(found: Foreign) -> list[str]:
    """The commits on a published branch that do not count."""
    return [f"  quarantined: {stray['commit'][:12]}: {sentence(stray['why'])}" for stray in found["quarantined"]]


def _status(status: Foreign) -> list[str]:
    if not status["exists"]:
        return [f"No ledger in {status['store']} yet. `{sentence(status['made_by'])}` creates one."]
    size = f"{int(status['bytes']) / 1e6:,.1f} MB"
    health = "damaged: run `bb ledger verify`" if status["is_damaged"] else "intact"
    count = len(status["writers"]) + int(status.get("left_out", {}).get("writers") or 0)
    writers, ours = styling.counted(count, "writer"), status["writer"] or "not created yet"
    return [
        f"{styling.counted(int(status['events']), 'event')}, {size}, in {status['store']}",
        f"{writers}, ours is {ours}; the ledger is {health}",
    ]


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "agent heartbeat": _heartbeat,
    "agent register": _registered,
    "agent show": _agent,
    "agent name": _name,
    "agent merge": _merged,
    "agent rename": _renamed,
    "agent retire": _retired,
    "agent send": _message,
    "agent reply": _message,
    "agent ack": _message,
    "ci check": _judged,
    "scope compare": _compared,
    "init": _init,
    "doctor": _doctor,
    "ledger log": _event,
    "ledger status": _status,
    "ledger verify": _verified,
}
