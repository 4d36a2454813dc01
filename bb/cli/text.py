"""Answers as a person reads them: a few lines, nothing raw from the ledger, the important thing first."""

from __future__ import annotations

from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from bb.kernel.errors import BbError

# Commands whose answers have a file of their own, which is only loaded where it is needed.
ELSEWHERE = (
    dict.fromkeys(
        [
            *("status", "problems", "timeline", "sessions list", "sessions show", "resume"),
            *("agent list", "agent status", "agent inbox", "agent wait", "agent read"),
            *("protocol list", "protocol show", "protocol handoff", "protocol blocked"),
            *("protocol incursions", "protocol resolve"),
        ],
        "bb.cli.screens",
    )
    | dict.fromkeys(["freeze", "thaw", "agent pause", "agent unpause", "agent transfer"], "bb.cli.order_screens")
    | dict.fromkeys(["sync", "ledger commit", "ledger mirror", "ledger rotate"], "bb.cli.travel")
    | dict.fromkeys(
        [
            *(
                "check",
                "hook pre-commit",
                "hook prepare-commit-msg",
                "hooks install",
                "hooks uninstall",
                "hooks status",
            ),
            "mcp install",
        ],
        "bb.cli.guards",
    )
    | dict.fromkeys(
        [
            *("chat list", "chat read", "chat show", "chat explain", "chat pending", "chat knocks", "chat inject"),
            "chat digest",
        ],
        "bb.cli.attention_screens",
    )
    | dict.fromkeys(
        ["chat claim", "chat defer", "chat resolve", "chat progress", "chat tick", "chat cancel"],
        "bb.cli.attention_act_screens",
    )
    | dict.fromkeys(
        [
            *("chat audit", "chat ingest", "chat bind", "chat arrange", "chat policy", "chat signals", "chat outbox"),
            "chat replay",
        ],
        "bb.cli.attention_host_screens",
    )
    | dict.fromkeys(
        [
            *("cbcl parse", "cbcl format", "cbcl canonical", "cbcl hash", "cbcl verify", "cbcl expand", "cbcl explain"),
            *("cbcl diff", "cbcl replay", "cbcl keygen", "cbcl sign", "cbcl check-signature", "cbcl policy"),
            *("cbcl trust add", "cbcl trust list", "cbcl trust remove", "cbcl trust signed"),
        ],
        "bb.cli.cbcl_screens",
    )
    | dict.fromkeys(
        [
            *("cbcl dialect list", "cbcl dialect show", "cbcl dialect install", "cbcl dialect remove"),
            *("cbcl dialect teach", "cbcl dialect query", "cbcl send", "cbcl hear", "cbcl pending", "cbcl beliefs"),
            "cbcl conversations",
        ],
        "bb.cli.cbcl_talk_screens",
    )
)
TALK = ("group ", "actor ", "chat ", "blob ", "daemon ", "events")  # how commands begin that `talk_screens` knows
MARKS = {"good": "ok  ", "odd": "note", "broken": "FAIL"}


def of(command: str, data: Any) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND."""
    if command in ELSEWHERE:
        lines: Iterable[str] = __import__(ELSEWHERE[command], fromlist=["of"]).of(command, data)
        return lines
    if command.startswith(TALK) and command not in FORMS:
        from bb.cli import talk_screens  # noqa: PLC0415

        return talk_screens.of(command, data)
    return FORMS.get(command, plain)(data)


def of_error(error: BbError) -> list[str]:
    return [
        f"Error: [{error.code}] {harmless(error.message)}",
        *([f"Hint: {harmless(error.hint)}"] if error.hint else []),
    ]


def findings(error: BbError) -> Iterable[str]:
    """What a refusal carries that a person wants to see first."""
    if "checks" in error.details:
        return _doctor(error.details)
    if "forks" in error.details or "shows" in error.details:
        return of("sync", error.details)
    if "findings" in error.details:
        return _judged(error.details)
    if "refused" in error.details:
        from bb.cli import attention_host_screens  # noqa: PLC0415  (a line that was taken in is hardly ever odd)

        return attention_host_screens.of("refused", error.details)
    if error.code == "DIALECT_REJECTED" and error.details.get("violations"):
        from bb.cli import cbcl_screens  # noqa: PLC0415  (most dialects are sound)

        return cbcl_screens.of("violations", error.details)
    if error.code == "CONFIRM_REQUIRED":
        return [f"-> once the person agrees, the same with --confirm {harmless(str(error.details['confirm']))}"]
    if error.code == "PATH_HELD":
        from bb.cli import guards  # noqa: PLC0415

        return guards.in_the_way(error.details)
    return of("problems", error.details) if "problems" in error.details else []


def plain(data: Any) -> list[str]:
    if isinstance(data, dict):
        width = max(map(len, data), default=0)
        return [f"{name:<{width}}  {short(value)}" for name, value in data.items()]
    if isinstance(data, list):
        return [short(item) for item in data]
    return [short(data)]


def short(value: Any) -> str:
    """VALUE in words, on one line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{harmless(str(name))}={short(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "; ".join(map(short, value)) or "none"
    return "-" if value is None else harmless(str(value))


def _heartbeat(agent: dict[str, Any]) -> list[str]:
    lines = [f"{agent['agent_id']} is {agent['liveness']}, seen {agent['last_seen_at']}"]
    if lost := agent.get("contested"):
        lines.append(f"You do not hold {', '.join(map(harmless, lost))}: another clone was first. Your mail says more.")
    if pause := agent.get("paused"):
        why = f": {harmless(pause['why'])}" if pause["why"] else ""
        lines.append(f"You are paused by {pause['by']}, since {pause['since']}{why}. Change nothing.")
    return lines


def _registered(agent: dict[str, Any]) -> list[str]:
    return [f"{agent['agent_id']} is registered as {harmless(agent['role'])}"]


def _name(found: dict[str, Any]) -> list[str]:
    return list(found["names"])


def _retired(found: dict[str, Any]) -> list[str]:
    lines = [f"{found['agent_id']} is retired; {found['released']} reservations given back"]
    left = found["not_accepted"]
    return [*lines, f"Not accepted, so ask somebody else: {', '.join(left)}"] if left else lines


def _reserved(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{each['agent_id']} holds {harmless(each['scope'])}{_where(each)} until {each['expires_at']}  "
        f"[{each['reservation_id']}]"
        for each in found["reservations"]
    ]
    lines += [f"In this clone only: {harmless(found['why'])}"] if found.get("fallback") else []
    lines += [f"Note: there is no {harmless(text)} yet" for text in found["not_there"]]
    lines += [
        f"Taken over: {harmless(each['scope'])} from {each['agent_id']}, who was {each['owner_liveness']} and is told"
        for each in found["taken_over"]
    ]
    lines += [
        f"Overlaps {harmless(each['held'])}, held by {each['owner_agent']}: {harmless(each['resolution_hint'])}"
        for each in found["incursions"]
        if each["outcome"] == "overlapping"
    ]
    return lines


def _where(each: dict[str, Any]) -> str:
    """That it is held in every clone, where it is."""
    return f" in every clone, by token {each['token']}," if each.get("global") else ""


def _renewed(found: dict[str, Any]) -> list[str]:
    return [f"{harmless(each['scope'])} until {each['expires_at']}" for each in found["reservations"]] or [
        "You hold nothing."
    ]


def _released(found: dict[str, Any]) -> list[str]:
    return [f"{harmless(each['scope'])} is {each['state']}" for each in found["reservations"]] or ["You held nothing."]


def _message(message: dict[str, Any]) -> list[str]:
    to = message.get("recipients", [message["to_agent"]])
    return [f"{message['message_id']} to {', '.join(to)}: {message['state']}"]


def _judged(answer: dict[str, Any]) -> Iterable[str]:
    from bb.cli import reports  # noqa: PLC0415  (only CI wants any)

    return reports.of(answer)


def _compared(found: dict[str, Any]) -> list[str]:
    return [
        found["class"],
        f"a  {harmless(found['a']['canonical'])}  {harmless(found['a']['absolute'])}",
        f"b  {harmless(found['b']['canonical'])}  {harmless(found['b']['absolute'])}",
    ]


def _session(made: dict[str, Any]) -> list[str]:
    how = f"goes on as {made['agent_id']}" if made["mode"] == "adopt" else f"starts as {made['agent_id']}"
    lines = [f"This session {how}", f"  {harmless(made['recommendation']['why'])}"]
    if note := made.get("looked_at", {}).get("beads", {}).get("note"):
        lines.append(f"  Beads: {harmless(note)}")
    return [*lines, *([f"  Note: {harmless(made['warning'])}"] if made.get("warning") else [])]


def _init(made: dict[str, Any]) -> list[str]:
    if made.keys() == {"store", "skill"}:
        return _skill(made["skill"]) or ["There is no skill of bb's here"]
    return [*(_session(made) if "mode" in made else _ledger_of(made)), *_skill(made.get("skill"))]


def _ledger_of(made: dict[str, Any]) -> list[str]:
    store = harmless(made["store"])
    if "would_create" in made:
        return [f"Would make a ledger in {store}" if made["would_create"] else f"There is a ledger in {store} already"]
    if "removed" in made:
        left = [f"Left, because it is not ours: {harmless(path)}" for path in made["left"]]
        left += [f"What was published on {harmless(name)} is still there" for name in made["published_on"]]
        if made["would_remove"]:
            return [f"Would remove {made['would_remove']} files and folders from {store}"]
        return [f"Removed {made['removed']} files and folders from {store}", *left]
    if made["created"]:
        advice = made.get("recommendation")
        following = [f"Next: bb init --register {advice['agent_id']}"] if made["has_work_tree"] and advice else []
        return [f"Made a ledger in {store}", *following]
    return [f"The ledger in {store} is there already"]


def _skill(done: dict[str, Any] | None) -> list[str]:
    """What has become, or would become, of the files of the skill."""
    if done is None:
        return []
    would = "" if done["is_done"] else "would be "
    lines = []
    for file in done["files"]:
        how = file["outcome"] if file["outcome"] in ("unchanged", "left") else would + file["outcome"]
        why = f": {harmless(file['why'])}" if "why" in file else ""
        lines.append(f"{how:<{len(would) + 9}}  {harmless(file['path'])}{why}")
    return lines


def _doctor(report: dict[str, Any]) -> list[str]:
    checks = report["checks"]
    width = max(len(check["name"]) for check in checks)
    lines = [f"mended: {harmless(done)}" for done in report["mended"]]
    for check in checks:
        lines.append(f"{MARKS[check['state']]}  {check['name']:<{width}}  {harmless(check['text'])}")
        if check["mend"] and check["state"] != "good":
            lines.append(f"{'':<{width + 6}}  -> {harmless(check['mend'])}")
    return lines


def _event(event: dict[str, Any]) -> list[str]:
    what = ", ".join(f"{harmless(name)}={short(value)}" for name, value in event["data"].items())
    return [f"{harmless(event['ts'])}  {harmless(event['kind'])}  {harmless(event['by'])}  {what}  [{event['id']}]"]


def _verified(found: dict[str, Any]) -> list[str]:
    chains = [
        f"{'our' if chain['is_ours'] else 'other'} writer {chain['writer']}: "
        f"{chain['lines']:,} lines, head {chain['head']}{', damaged and retired' if chain['damage'] else ''}"
        for chain in found["chains"]
    ]
    known = f"{found['events']:,} events, every chain in use holds; state {found['state']}"
    return [*chains, known, *map(_published, found.get("published", ()))]


def _published(found: dict[str, Any]) -> str:
    snapshot = {None: "no snapshot", True: "the snapshot is right", False: "the snapshot is wrong"}
    events = f"{found['events']:,} events, {found['archived']:,} of them archived"
    commits = f"in {found['commits']:,} commits of epoch {found['epoch']}"
    return f"published on {harmless(found['remote'])}: {events}, {commits}; {snapshot[found['is_snapshot_right']]}"


def _status(status: dict[str, Any]) -> list[str]:
    if not status["exists"]:
        return [f"No ledger in {harmless(status['store'])} yet. `{status['made_by']}` makes one."]
    size = f"{status['bytes'] / 1e6:,.1f} MB"
    health = "damaged: run `bb ledger verify`" if status["is_damaged"] else "well"
    return [
        f"{status['events']:,} events, {size}, in {harmless(status['store'])}",
        f"{len(status['writers'])} writers, ours is {status['writer'] or 'not made yet'}; the ledger is {health}",
    ]


FORMS: dict[str, Callable[[Any], Iterable[str]]] = {
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
