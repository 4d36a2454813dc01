"""Whole screens for people: status, problems, timeline, sessions, resume."""

from __future__ import annotations

from bb.cli import paint
from bb.kernel import clock
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def status(shown: dict[str, Any]) -> list[str]:
    """One screen: agents by liveness, what they hold, what waits to be accepted, who collides."""
    now = clock.parse_or(shown["at"], 0)
    lines = [paint.heading(f"{harmless(shown['repository'])}, {shown['at']}")]
    if shown["is_damaged"]:
        lines.append(paint.painted("The ledger is damaged: run `bb doctor`.", "red"))
    lines += _section("Agents", [_agent(each, now) for each in shown["agents"]], "nobody has registered")
    lines += _section("Held", [_held(each) for each in shown["reservations"]], "nothing")
    lines += _section("To be accepted", [_unacked(each, now) for each in shown["unacked"]], "nothing")
    if shown["incursions"]:
        lines += _section("In each other's way", [_incursion(each) for each in shown["incursions"]], "")
    if shown["waiting"]:
        rows = [f"{each['agent_id']}  for {', '.join(map(harmless, each['scopes']))}" for each in shown["waiting"]]
        lines += _section("In line", rows, "")
    return lines


def problems(found: list[dict[str, Any]]) -> list[str]:
    """What needs a person, oldest first, each with its next step."""
    if not found:
        return ["Nothing needs you."]
    lines = []
    for each in found:
        when = f"{each['since'][:16].replace('T', ' ')}  "
        lines.append(f"{when}{paint.painted(harmless(each['text']), 'bold')}")
        lines.append(f"{' ' * len(when)}-> {harmless(each['next_step'])}")
    return lines


def timeline(told: list[dict[str, Any]]) -> list[str]:
    """One line for each thing that happened, oldest first, day by day."""
    if not told:
        return ["Nothing has happened."]
    lines, day, wide = [], "", max(len(harmless(each["by"])) for each in told)
    for each in told:
        if each["at"][:10] != day:
            day = each["at"][:10]
            lines.append(paint.heading(harmless(day)))
        who = f"{harmless(each['by']):<{wide}}"
        bead = f" [{each['bead_id']}]" if each["bead_id"] else ""
        start = f"  {each['at'][11:19]}  "
        text = paint.fitted(each["text"] + bead, len(start) + wide + 2)
        lines.append(f"{start}{paint.painted(who, 'cyan')}  {text}")
    return lines


def sessions(shown: dict[str, Any]) -> list[str]:
    """The beads in hand, epic by epic."""
    lines = []
    for group in shown["feed"]:
        epic = group["epic"]
        name = f"{harmless(epic['id'])}  {paint.fitted(epic['title'] or '', 24)}" if epic["id"] else epic["title"]
        lines.append(paint.heading(f"{name}  ({len(group['tasks'])})"))
        lines += [_task(task) for task in group["tasks"]]
    for each in shown["incursions"]:
        lines.append(paint.painted(f"Conflict: {_incursion(each)}", "red"))
    return lines or ["No sessions found."]


def session(shown: dict[str, Any]) -> list[str]:
    """One bead, and its conversation."""
    title = f"{harmless(shown['id'])}  {paint.fitted(shown['title'] or '', 24)}".rstrip()
    owner = f", {harmless(shown['owner'])}" if shown["owner"] else ", unassigned"
    lines = [f"{paint.heading(title)}  {paint.state(shown['session_state'])}{owner}"]
    if not shown["conversation"]:
        return [*lines, "  No activity or messages yet for this task."]
    for row in shown["conversation"]:
        at = row["at"][:16].replace("T", " ")
        if row["type"] == "activity":
            lines.append(paint.painted(f"  {at}  {harmless(row['from'] or '')} {harmless(row['subject'])}", "dim"))
            continue
        to = f" -> {harmless(row['to'])}" if row["to"] else ""
        label = paint.painted(row["label"], "cyan")
        lines.append(f"  {at}  {harmless(row['from'])}{to}  {label}: {paint.fitted(row['subject'], 40)}  {_done(row)}")
        lines += [f"      {paint.fitted(line, 6)}" for line in row["body"].splitlines() if line.strip()]
    return lines


def resume(shown: dict[str, Any]) -> list[str]:
    """All an agent needs to go on, in few words."""
    lines = [f"You are {shown['agent_id']} ({harmless(shown['role'])}), {shown['liveness']}."]
    for each in shown["holds"]:
        over = ", EXPIRED" if each.get("is_expired") else ""
        lines.append(
            f"You hold {harmless(each['scope'])} for {harmless(each['bead'])} until {each['expires_at']}{over}."
        )
    if not shown["holds"]:
        lines.append("You hold nothing.")
    lines += [
        f"To accept: {each['id']} from {harmless(each['from'])}: {harmless(each['subject'])}"
        for each in shown["to_accept"]
    ]
    if shown["unread"]:
        lines.append(f"Unread messages: {shown['unread']}. `bb agent inbox --state unread` shows them.")
    if last := shown["last_handoff"]:
        lines.append(f"Last hand-off, from {harmless(last['from'])} ({last['state']}): {harmless(last['summary'])}")
        lines.append(f"Next: {harmless(last['next_action'])}")
    if shown["dirty"]:
        lines.append(f"Uncommitted in your scopes: {', '.join(map(harmless, shown['dirty']))}")
    for name, count in shown.get("left_out", {}).items():
        lines.append(f"({count} more in {name})")
    return lines


def _section(title: str, rows: list[str], otherwise: str) -> list[str]:
    return ["", paint.heading(title), *(f"  {row}" for row in (rows or [paint.painted(otherwise, "dim")]))]


def _agent(agent: dict[str, Any], now: int) -> str:
    seen = paint.span((now - clock.parse_or(agent["last_seen_at"], now)) // 1000)
    return f"{agent['agent_id']:<24} {paint.state(agent['liveness'], 8)} seen {seen} ago, {harmless(agent['role'])}"


def _held(each: dict[str, Any]) -> str:
    left = paint.span(each["seconds_left"]) + " left" if each["state"] == "active" else paint.state("expired")
    shared = ", shared" if each["shared"] else ""
    who = f"{each['agent_id']} ({paint.state(each['owner_liveness'])})"
    return f"{paint.fitted(each['scope'], 50):<30} {who}, {left}{shared} [{harmless(each['bead_id'])}]"


def _unacked(each: dict[str, Any], now: int) -> str:
    age = paint.span((now - clock.parse_or(each["created_at"], now)) // 1000)
    text = f"{each['from_agent']} -> {each['to_agent']}  {each['label']}: {each['subject']}"
    return f"{paint.fitted(text, 40)}  {age} ago  [{each['message_id']}]"


def _incursion(each: dict[str, Any]) -> str:
    return harmless(f"{each['from_agent']} in {each['scope']}, held by {each['to_agent']} ({each['held']})")


def _task(task: dict[str, Any]) -> str:
    owner = task["owner"] or "Unassigned"
    talk = task["communication"]
    notes = [f"{talk['unread_count']} unread"] if talk["unread_count"] else []
    notes += [f"{talk['pending_required']} to accept"] if talk["pending_required"] else []
    title = paint.fitted(task["title"] or talk["latest_snippet"] or "", 60)
    more = f"  ({', '.join(notes)})" if notes else ""
    return f"  {harmless(task['id']):<16} {paint.state(task['session_state'], 12)} {harmless(owner)}  {title}{more}"


def _done(row: dict[str, Any]) -> str:
    return paint.state(row["state"]) if row["event_type"] == "INCURSION" else row["state_label"]


FORMS: dict[str, Callable[[Any], Iterable[str]]] = {
    "status": status,
    "problems": lambda shown: problems(shown["problems"]),
    "timeline": timeline,
    "sessions list": sessions,
    "sessions show": session,
    "resume": resume,
}
