"""Answers as a person reads them: a few lines, nothing raw from the ledger, the important thing first.

An answer is `Outside` for every screen, whoever made it: ids and paths stand as names, somebody's own words in
quotation marks or behind marks, and sentences that an op has put together on one line.
"""

from __future__ import annotations

from bb.cli.screens import paint
from bb.kernel.outside import Outside, names, quotation, sentence, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bb.kernel.errors import BbError

MARKS = {"good": "ok  ", "odd": "note", "broken": "FAIL"}


def of(command: str, data: object, screen: str = "") -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, by the module SCREEN beside this one, or by this one."""
    found = Outside(data)
    if not screen:
        return FORMS.get(command, paint.plain)(found)
    module = f"bb.cli.screens.{screen}"
    lines: Iterable[str] = __import__(module, fromlist=["of"]).of(command, found)
    return lines


def of_error(error: BbError) -> list[str]:
    """A refusal: the rule that raised it made the sentences, of names that anybody may have chosen."""
    return [
        f"Error: [{error.code}] {sentence(error.message)}",
        *([f"Hint: {sentence(error.hint)}"] if error.hint else []),
    ]


def findings(error: BbError) -> Iterable[str]:
    """What a refusal carries that a person wants to see first."""
    details = Outside(error.details)
    if "checks" in details:
        return _doctor(details)
    if "forks" in details or "shows" in details:
        return of("sync", details, "travel")
    if "findings" in details:
        return _judged(details)
    if "refused" in details:
        from bb.cli.screens import attention_host  # noqa: PLC0415  (a line that was taken in is hardly ever odd)

        return attention_host.of("refused", details)
    if error.code == "DIALECT_REJECTED" and details.get("violations"):
        from bb.cli.screens import cbcl  # noqa: PLC0415  (most dialects are sound)

        return cbcl.of("violations", details)
    if error.code == "CONFIRM_REQUIRED":
        return [f"-> once the person agrees, the same with --confirm {shell_word(details['confirm'])}"]
    if error.code == "PATH_HELD":
        from bb.cli.screens import guards  # noqa: PLC0415

        return guards.in_the_way(details)
    return of("problems", details, "overview") if "problems" in details else []


def _heartbeat(agent: Outside) -> list[str]:
    lines = [f"{agent['agent_id']} is {agent['liveness']}, seen {agent['last_seen_at']}"]
    if lost := agent.get("contested"):
        lines.append(f"You do not hold {names(lost)}: another clone was first. Your mail says more.")
    if pause := agent.get("paused"):
        why = f": {quotation(pause['why'])}" if pause["why"] else ""
        lines.append(f"You are paused by {pause['by']}, since {pause['since']}{why}. Change nothing.")
    return lines


def _registered(agent: Outside) -> list[str]:
    return [f"{agent['agent_id']} is registered as {agent['role']}"]


def _name(found: Outside) -> list[str]:
    return [str(name) for name in found["names"]]


def _retired(found: Outside) -> list[str]:
    lines = [f"{found['agent_id']} is retired; {found['released']} reservations given back"]
    left = found["not_accepted"]
    return [*lines, f"Not accepted, so ask somebody else: {names(left)}"] if left else lines


def _reserved(found: Outside) -> list[str]:
    lines = [
        f"{each['agent_id']} holds {each['scope']}{_where(each)} until {each['expires_at']}  [{each['reservation_id']}]"
        for each in found["reservations"]
    ]
    lines += [f"In this clone only: {sentence(found['why'])}"] if found.get("fallback") else []
    lines += [f"Note: there is no {path} yet" for path in found["not_there"]]
    lines += [
        f"Taken over: {each['scope']} from {each['agent_id']}, who was {each['owner_liveness']} and is told"
        for each in found["taken_over"]
    ]
    lines += [
        f"Overlaps {each['held']}, held by {each['owner_agent']}: {sentence(each['resolution_hint'])}"
        for each in found["incursions"]
        if each["outcome"] == "overlapping"
    ]
    return lines


def _where(each: Outside) -> str:
    """That it is held in every clone, where it is."""
    return f" in every clone, by token {each['token']}," if each.get("global") else ""


def _renewed(found: Outside) -> list[str]:
    return [f"{each['scope']} until {each['expires_at']}" for each in found["reservations"]] or ["You hold nothing."]


def _released(found: Outside) -> list[str]:
    return [f"{each['scope']} is {each['state']}" for each in found["reservations"]] or ["You held nothing."]


def _message(message: Outside) -> list[str]:
    to = names(message["recipients"]) if "recipients" in message else str(message["to_agent"])
    return [f"{message['message_id']} to {to}: {message['state']}"]


def _judged(answer: Outside) -> Iterable[str]:
    from bb.cli.screens import reports  # noqa: PLC0415  (only CI wants any)

    return reports.of(answer)


def _compared(found: Outside) -> list[str]:
    return [
        str(found["class"]),
        f"a  {found['a']['canonical']}  {found['a']['absolute']}",
        f"b  {found['b']['canonical']}  {found['b']['absolute']}",
    ]


def _session(made: Outside) -> list[str]:
    how = f"goes on as {made['agent_id']}" if made["mode"] == "adopt" else f"starts as {made['agent_id']}"
    lines = [f"This session {how}", f"  {sentence(made['recommendation']['why'])}"]
    if note := made.get("looked_at", {}).get("beads", {}).get("note"):
        lines.append(f"  Beads: {sentence(note)}")
    if made.get("session_id"):
        lines.append(f"  To be known as this session later on: export BB_SESSION={shell_word(made['session_id'])}")
    return [*lines, *([f"  Note: {sentence(made['warning'])}"] if made.get("warning") else [])]


ONLY_SKILL = ("store", "skill")


def _init(made: Outside) -> list[str]:
    if len(made) == len(ONLY_SKILL) and all(name in made for name in ONLY_SKILL):
        return _skill(made["skill"]) or ["There is no skill of bb's here"]
    if "stale_minutes" in made:
        minutes = made["stale_minutes"]
        said = (
            f"after {minutes} minutes of silence" if minutes else "as each clone's BB_AGENT_STALE_MINUTES says, or 15"
        )
        return [f"Agents count as stale {said}{', in every clone' if minutes else ''}"]
    return [*(_session(made) if "mode" in made else _ledger_of(made)), *_skill(made.get("skill"))]


def _ledger_of(made: Outside) -> list[str]:
    store = str(made["store"])
    if "would_create" in made:
        return [f"Would make a ledger in {store}" if made["would_create"] else f"There is a ledger in {store} already"]
    if "removed" in made:
        left = [f"Left, because it is not ours: {path}" for path in made["left"]]
        left += [f"What was published on {name} is still there" for name in made["published_on"]]
        if made["would_remove"]:
            return [f"Would remove {made['would_remove']} files and folders from {store}"]
        return [f"Removed {made['removed']} files and folders from {store}", *left]
    if made["created"]:
        advice = made.get("recommendation")
        following = [f"Next: bb init --register {advice['agent_id']}"] if made["has_work_tree"] and advice else []
        return [f"Made a ledger in {store}", *following]
    return [f"The ledger in {store} is there already"]


def _skill(done: Outside) -> list[str]:
    """What has become, or would become, of the files of the skill."""
    if done.is_none:
        return []
    would = "" if done["is_done"] else "would be "
    lines = []
    for file in done["files"]:
        how = f"{'' if file['outcome'] in ('unchanged', 'left') else would}{file['outcome']}"
        why = f": {sentence(file['why'])}" if "why" in file else ""
        lines.append(f"{how:<{len(would) + 9}}  {file['path']}{why}")
    return lines


def _doctor(report: Outside) -> list[str]:
    checks = report["checks"]
    width = max(len(sentence(check["name"])) for check in checks)
    lines = [f"mended: {sentence(done)}" for done in report["mended"]]
    for check in checks:
        mark, name = check["state"].among(MARKS, "?   "), sentence(check["name"])
        lines.append(f"{mark}  {name:<{width}}  {sentence(check['text'])}")
        if check["mend"] and check["state"] != "good":
            lines.append(f"{'':<{width + 6}}  -> {sentence(check['mend'])}")
    return lines


def _event(event: Outside) -> list[str]:
    if event.get("unreadable"):
        return [f"{event['ts'] or '?'}  unreadable: {sentence(event['unreadable'])}  [{event['id']}]"]
    return [f"{event['ts']}  {event['kind']}  {event['by']}  {event['data']}  [{event['id']}]"]


def _verified(found: Outside) -> list[str]:
    chains = [
        f"{'our' if chain['is_ours'] else 'other'} writer {chain['writer']}: "
        f"{chain['lines']:,} lines, head {chain['head']}{', damaged and retired' if chain['damage'] else ''}"
        for chain in found["chains"]
    ]
    known = f"{found['events']:,} events, every chain in use holds; state {found['state']}"
    from bb.cli.screens import travel  # noqa: PLC0415

    signed = travel.signatures_known(found["signatures"])
    unread = [f"unreadable: {each['id']}: {sentence(each['reason'])}" for each in found["unreadable"]]
    return [*chains, known, *signed, *unread, *map(_published, found.get("published", ()))]


def _published(found: Outside) -> str:
    is_right = found["is_snapshot_right"]
    snapshot = "no snapshot" if is_right.is_none else f"the snapshot is {'right' if is_right else 'wrong'}"
    events = f"{found['events']:,} events, {found['archived']:,} of them archived"
    commits = f"in {found['commits']:,} commits of epoch {found['epoch']}"
    return f"published on {found['remote']}: {events}, {commits}; {snapshot}"


def _status(status: Outside) -> list[str]:
    if not status["exists"]:
        return [f"No ledger in {status['store']} yet. `{sentence(status['made_by'])}` makes one."]
    size = f"{int(status['bytes']) / 1e6:,.1f} MB"
    health = "damaged: run `bb ledger verify`" if status["is_damaged"] else "well"
    return [
        f"{status['events']:,} events, {size}, in {status['store']}",
        f"{len(status['writers'])} writers, ours is {status['writer'] or 'not made yet'}; the ledger is {health}",
    ]


FORMS: dict[str, Callable[[Outside], Iterable[str]]] = {
    "agent heartbeat": _heartbeat,
    "agent register": _registered,
    "agent name": _name,
    "agent retire": _retired,
    "agent reserve": _reserved,
    "agent renew": _renewed,
    "agent release": _released,
    "agent send": _message,
    "agent ack": _message,
    "ci check": _judged,
    "scope compare": _compared,
    "init": _init,
    "doctor": _doctor,
    "ledger log": _event,
    "ledger status": _status,
    "ledger verify": _verified,
}
