"""Answers as a person reads them: a few lines, nothing raw from the ledger, the important thing first."""

from __future__ import annotations

from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from bb.kernel.errors import BbError

MARKS = {"good": "ok  ", "odd": "note", "broken": "FAIL"}


def of(command: str, data: Any) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND."""
    return FORMS.get(command, _plain)(data)


def of_error(error: BbError) -> list[str]:
    return [
        f"Error: [{error.code}] {harmless(error.message)}",
        *([f"Hint: {harmless(error.hint)}"] if error.hint else []),
    ]


def findings(error: BbError) -> Iterable[str]:
    """What a refusal carries that a person wants to see first."""
    return _doctor(error.details) if "checks" in error.details else []


def _plain(data: Any) -> list[str]:
    if isinstance(data, dict):
        width = max(map(len, data), default=0)
        return [f"{name:<{width}}  {_short(value)}" for name, value in data.items()]
    if isinstance(data, list):
        return [_short(item) for item in data]
    return [_short(data)]


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{harmless(str(name))}={_short(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "; ".join(map(_short, value)) or "none"
    return "-" if value is None else harmless(str(value))


def _heartbeat(agent: dict[str, Any]) -> list[str]:
    return [f"{agent['agent_id']} is {agent['liveness']}, seen {agent['last_seen_at']}"]


def _registered(agent: dict[str, Any]) -> list[str]:
    return [f"{agent['agent_id']} is registered as {harmless(agent['role'])}"]


def _agents(agents: list[dict[str, Any]]) -> list[str]:
    if not agents:
        return ["No agents. `bb agent register --name NAME --role ROLE` adds one."]
    width = max(len(agent["agent_id"]) for agent in agents)
    return [
        f"{agent['agent_id']:<{width}}  {agent['liveness']:<7}  seen {agent['last_seen_at']}  {harmless(agent['role'])}"
        for agent in agents
    ]


def _init(made: dict[str, Any]) -> list[str]:
    store = harmless(made["store"])
    if "would_create" in made:
        return [f"Would make a ledger in {store}" if made["would_create"] else f"There is a ledger in {store} already"]
    if "removed" in made:
        left = [f"Left, because it is not ours: {harmless(path)}" for path in made["left"]]
        if made["would_remove"]:
            return [f"Would remove {made['would_remove']} files and folders from {store}"]
        return [f"Removed {made['removed']} files and folders from {store}", *left]
    if made["created"]:
        following = ["Next: bb agent register --name NAME --role ROLE"] if made["has_work_tree"] else []
        return [f"Made a ledger in {store}", *following]
    return [f"The ledger in {store} is there already"]


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
    what = ", ".join(f"{harmless(name)}={_short(value)}" for name, value in event["data"].items())
    return [f"{harmless(event['ts'])}  {harmless(event['kind'])}  {harmless(event['by'])}  {what}  [{event['id']}]"]


def _verified(found: dict[str, Any]) -> list[str]:
    chains = [
        f"{'our' if chain['is_ours'] else 'other'} writer {chain['writer']}: "
        f"{chain['lines']:,} lines, head {chain['head']}{', damaged and retired' if chain['damage'] else ''}"
        for chain in found["chains"]
    ]
    return [*chains, f"{found['events']:,} events, every chain in use holds; state {found['state']}"]


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
    "agent list": _agents,
    "init": _init,
    "doctor": _doctor,
    "ledger log": _event,
    "ledger status": _status,
    "ledger verify": _verified,
}
