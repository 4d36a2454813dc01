"""Whole screens for people: status, problems, timeline, sessions, resume; lists of agents, messages, reservations."""

from __future__ import annotations

from bb.cli.screens import endings, styling
from bb.cli.screens import person_orders as orders
from bb.cli.screens.styling import block, brief, column, doubt, flowing, hanging, section, whole
from bb.kernel import clock
from bb.kernel.escaping import LONGEST_QUOTATION
from bb.kernel.foreign import Foreign, names, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def status(shown: Foreign) -> list[str]:
    """One screen: agents by liveness, reservations, messages to accept, incursions and queues."""
    now = clock.parse_or(str(shown["at"]), 0)
    head = [styling.heading(f"{shown['repository']}, {shown['at']}")]
    if shown["is_damaged"]:
        head.append(styling.coloured(f"The ledger is damaged: run {whole('`bb doctor`')}.", "red"))
    if pause := shown["paused"]:
        head.append(styling.coloured(f"All agents are {orders.since(pause)}.", "yellow"))
    if pinned := shown.get("stale_minutes", {}).get("pinned"):
        head.append(styling.coloured(f"Agents become stale after {pinned} minutes, in every clone.", "dim"))
    held, unacked = list(shown["reservations"]), list(shown["unacked"])
    if styling.height():  # rows that do not fit on the screen are the least urgent ones
        held = sorted(held, key=lambda each: (_is_well(each), int(each["seconds_left"] or 0)))
        unacked = sorted(unacked, key=lambda each: str(each["created_at"]))
    sections = [
        section("Agents", [_agent(agent, now) for agent in shown["agents"]], "bb agent list", "no registered agents"),
        section("Held", [_held(reservation) for reservation in held], "bb agent status"),
        section("To be accepted", [_unacked(message, now) for message in unacked], "bb status | less"),
    ]
    if shown["incursions"]:
        sections.append(
            section("In each other's way", [_incursion(incursion) for incursion in shown["incursions"]], "bb problems")
        )
    if shown["waiting"]:
        rows = [f"{waiter['agent_id']}  for {', '.join(map(whole, waiter['scopes']))}" for waiter in shown["waiting"]]
        sections.append(section("In line", rows, "bb status | less"))
    if shown["sync"]:
        head.append(_synced(shown["sync"], now))
    return styling.on_one_screen(head, sections)


def _synced(sync: Foreign, now: int) -> str:
    """The time of the last sync, the number of unpublished events, and the last error."""
    when = f"{styling.age(sync['ok_at'], now)} ago" if sync["ok_at"] else "never"
    lacks = f"; {sync['unpublished']:,} not published yet" if sync["unpublished"] else ""
    failure = f"; the last attempt failed: {flowing(sync['failed_with'])}" if sync["failed_with"] else ""
    return styling.coloured(f"Synced with {sync['remote']} {when}{lacks}{failure}", "dim")


def problems(found: Foreign) -> list[str]:
    """The problems that need a person, oldest first, each with its next step."""
    if not found:
        return ["Nothing needs you."]
    lines = []
    for row in found:
        when = f"{styling.minute(row['since'])}  "
        lines.append(f"{when}{hanging(styling.coloured(problem(row), 'bold'))}")
        indent = " " * styling.inset(len(when))
        lines += block(row.get("body", ""), indent)
        if "answer" in row:
            lines.append(f"{indent}{hanging('-> ' + flowing(sentence(row['answer'])))}")
        lines.append(f"{indent}{hanging('-> ' + _next_step(row['next_step']))}")
    return lines


def timeline(told: Foreign) -> list[str]:
    """One line for each event, oldest first, day by day."""
    if not told:
        return ["No events."]
    lines, day, wide = [], "", styling.widest(event["by"] for event in told)
    for event in told:
        if event["at"][:10] != day:
            day = str(event["at"][:10])
            lines.append(styling.heading(day))
        who = column(styling.coloured(str(event["by"]), "cyan"), wide)
        bead = f" [{whole(event['bead_id'])}]" if event["bead_id"] else ""
        lines.append(f"  {event['at'][11:19]}  {who}  {_told(event)}{bead}")
    return lines


def sessions(shown: Foreign) -> list[str]:
    """The beads being worked on, grouped by epic."""
    lines = []
    for group in shown["feed"]:
        epic = group["epic"]
        name = f"{whole(epic['id'])}  {brief(epic['title'] or '')}" if epic["id"] else sentence(epic["title"])
        lines.append(styling.heading(f"{name}  ({len(group['tasks'])})"))
        lines += [_task(task) for task in group["tasks"]]
    for incursion in shown["incursions"]:
        lines.append(styling.coloured(f"Conflict: {_incursion(incursion)}", "red"))
    beads = shown["beads"]
    if beads["note"] or beads["skipped"]:
        skipped = f"{beads['skipped']} lines of {beads['path']} cannot be read"
        note = sentence(beads["note"]) if beads["note"] else skipped
        lines.append(styling.coloured(f"Beads: {flowing(note)}", "dim"))
    return lines or ["No sessions to show."]


def session(shown: Foreign) -> list[str]:
    """One bead, and its conversation."""
    title = f"{whole(shown['id'])}  {flowing(shown['title'] or '')}".rstrip()
    owner = f", {shown['owner']}" if shown["owner"] else ", unassigned"
    lines = [f"{styling.heading(title)}  {styling.state(shown['session_state'])}{owner}"]
    if shown["contested"]:
        scopes = ", ".join(map(whole, shown["contested"]))
        lines.append(f"  {styling.state('contested')}: {scopes}; a reservation in another clone takes precedence")
    if not shown["conversation"]:
        return [*lines, "  No activity or messages yet for this task."]
    for row in shown["conversation"]:
        at = styling.minute(row["at"])
        if row["type"] == "activity":
            lines.append("  " + styling.coloured(f"{at}  {row['from'] or ''} {_activity(row)}", "dim"))
            continue
        to = f" -> {row['to']}" if row["to"] else ""
        label = styling.coloured(whole(sentence(row["label"])), "cyan")
        lines.append(f"  {at}  {row['from']}{doubt(row)}{to}  {label}: {flowing(row['subject'])}  {_done(row)}")
        lines += block(row["body"], " " * 6)
    return lines


def resume(shown: Foreign) -> list[str]:
    """A short summary with which an agent can resume its work."""
    lines = [f"You are {shown['agent_id']} ({flowing(str(shown['role']))}), {shown['liveness']}."]
    if pause := shown.get("paused"):
        lines.append(
            f"You are {orders.since(pause)}. Do not change files; you may read, answer, hand over and release."
        )
    for reservation in shown["holds"]:
        over = ", EXPIRED" if reservation.get("is_expired") else ""
        lines.append(
            f"You hold {whole(reservation['scope'])} for {whole(reservation['bead'])} "
            f"until {reservation['expires_at']}{over}."
        )
    left_out = shown.get("left_out", {})
    if not shown["holds"] and "holds" not in left_out:
        lines.append("You hold nothing.")
    lines += [
        f"To accept: {message['id']} from {message['from']}{doubt(message)}: {flowing(message['subject'])}"
        for message in shown["to_accept"]
    ]
    if shown["unread"]:
        command = whole("`bb agent inbox --state unread`")
        lines.append(f"Unread messages: {shown['unread']}. {command} shows them.")
    if last := shown["last_handoff"]:
        lines.append(f"Last hand-off, from {last['from']}{doubt(last)} ({last['state']}): {flowing(last['summary'])}")
        lines += [f"Next: {flowing(last['next_action'])}"] if last["next_action"] else []
    if shown["dirty"]:
        lines.append(f"Uncommitted in your scopes: {', '.join(map(whole, shown['dirty']))}")
    more = {"holds": "you hold", "to_accept": "to accept", "dirty": "with uncommitted changes"}
    lines += [f"({count} more {name.among(more, 'left out')})" for name, count in left_out.items()]
    return lines


def agents(listed: Foreign) -> list[str]:
    """The registered agents."""
    if not listed:
        return [f"No agents to show. {whole('`bb agent register --name NAME --role ROLE`')} adds one."]
    wide = styling.widest(agent["agent_id"] for agent in listed)
    return [
        f"{column(str(agent['agent_id']), wide)}  {styling.state(agent['liveness'], 7)}"
        f"  {whole('seen ' + str(agent['last_seen_at']))}  {brief(role(agent))}{orders.if_paused(agent)}"
        for agent in listed
    ]


def holdings(found: Foreign) -> list[str]:
    """Counts, then the reservations and the messages to accept."""
    summary = found["summary"]
    first = (
        f"{summary['active']} held, {summary['released']} released, {summary['expired']} expired, "
        f"{summary['taken_over']} taken over, {summary['unacked_required_messages']} messages to be accepted"
    )
    held = [
        f"{whole(reservation['scope'])}  {reservation['agent_id']} ({styling.state(reservation['owner_liveness'])})"
        f"  {_until(reservation) if reservation['state'] == 'active' else styling.state(reservation['state'])}"
        f"  [{whole(reservation['bead_id'])}]"
        for reservation in found["reservations"]
        if "frozen" not in reservation
    ]
    frozen = [
        f"{whole(reservation['scope'])}  "
        f"{orders.frozen_by(reservation, _until(reservation) if reservation['expires_at'] else '')}"
        for reservation in found["reservations"]
        if "frozen" in reservation
    ]
    return [first, *frozen, *held, *(map(_headline, found["unacked_required_messages"]))]


def _until(each: Foreign) -> str:
    return f"until {each['expires_at']}"


def inbox(messages: Foreign) -> list[str]:
    """Messages without their bodies."""
    return [_headline(message) for message in messages] or ["No messages."]


def letters(messages: Foreign) -> list[str]:
    """Messages in full."""
    return [line for message in messages for line in letter(message)]


def letter(message: Foreign) -> list[str]:
    """One message in full."""
    bead = f", about {whole(message['bead_id'])}" if message["bead_id"] else ""
    about = f"  {message['created_at']}{bead}"
    return [_headline(message), about, *block(message["body"], "  ")]


def _headline(message: Foreign) -> str:
    owed = ", to be accepted" if _is_owed(message) else ""
    proved = _proved(message["verified"]) if "verified" in message else ""
    who = f"{message['from_agent']}{_doubted(message)} to {message['to_agent']}, {message['state']}{owed}{proved}"
    return f"[{message['message_id']}] {message['category']}: {flowing(message['subject'])} ({who})"


def _doubted(message: Foreign) -> str:
    """A note on a message that carries the person's name without the person's signature."""
    return ", unverified," if "signature" in message else ""


def _proved(found: Foreign) -> str:
    from bb.cli.screens import proofs  # noqa: PLC0415  (only mail in CBCL needs it)

    text = proofs.verification_text(found)
    return f", {text}" if text else ""


def protocol_event(event: Foreign) -> list[str]:
    """One protocol event in full."""
    to = f" -> {names(event['recipients']) if 'recipients' in event else event['to_agent']}"
    scope = f" in {whole(event['scope'])}" if event["scope"] else ""
    who = f"{event['from_agent']}{doubt(event)}{to}{scope}, {event['state']}"
    head = f"{event['id']}  {event['created_at']}  {sentence(event['label'])}: {who}"
    lines = [line for name, value in event["payload"].items() for line in _member(name, value)]
    return [head, *lines, *(_discovered(event) if event.get("paths") else []), *_resolution(event)]


def _member(name: Foreign, value: Foreign) -> list[str]:
    """One member of a payload. The sender wrote it, so it is quoted."""
    if value.is_text and (len(value) > LONGEST_QUOTATION or len(value.lines()) > 1):
        return [f"  {name}:", *block(value, "    ")]
    return [f"  {name}: {flowing(value)}"]


def _discovered(event: Foreign) -> list[str]:
    """The paths that were found changed."""
    more = int(event["count"]) - len(event["paths"])
    left_out = [f"… and {more} more"] if more > 0 else []
    commit = f", commit {whole(event['commit'])}" if event["commit"] else ""
    return [
        f"  found by: {event['found_by']}{commit}",
        *(f"    {text}" for text in [*map(whole, event["paths"]), *left_out]),
    ]


def _resolution(event: Foreign) -> list[str]:
    resolution = event.get("resolution")
    if not resolution:
        return []
    note = f": {flowing(resolution['note'])}" if resolution["note"] else ""
    return [f"  {styling.state(resolution['state'])} by {resolution['by']}, {resolution['at']}{note}"]


def incursions(events: Foreign) -> list[str]:
    """INCURSIONs, each with its agents, scope and resolution."""
    lines = []
    for event in events:
        by = f" by {event['resolution']['by']}" if event["resolution"] else ""
        state = styling.state(event["state"])
        lines.append(
            f"{event['created_at']}  {_incursion(event)}  {event['outcome']}, {state}{by}  [{whole(event['id'])}]"
        )
    return lines or ["No incursions."]


def protocol_events(events: Foreign) -> list[str]:
    """Protocol events, each with its subject."""
    lines = []
    for event in events:
        payload = event["payload"]
        subject = payload.get("subject") or payload.get("resolution_hint") or payload.get("evidence")
        who = f"{event['from_agent']}{doubt(event)} -> {event['to_agent']}"
        lines.append(
            f"{event['created_at']}  {event['event_type']:<9}  {who}"
            f"  {brief(subject)}  ({event['state']})  [{event['id']}]"
        )
    return lines or ["No protocol events."]


def _agent(agent: Foreign, now: int) -> str:
    name, state = column(str(agent["agent_id"]), 24), styling.state(agent["liveness"], 8)
    return (
        f"{name} {state} seen {styling.age(agent['last_seen_at'], now)} ago, {brief(role(agent))}"
        + orders.if_paused(agent)
    )


def role(agent: Foreign) -> str:
    """An agent's role, and its display name if that differs from its id."""
    name = agent["display_name"]
    return f"{agent['role']}" if name == agent["agent_id"] else f"{agent['role']} ({name})"


def _held(each: Foreign) -> str:
    if "frozen" in each:
        left = "" if each["seconds_left"].is_none else f"{styling.span(int(each['seconds_left']))} left"
        return f"{column(whole(each['scope']), 30)} {orders.frozen_by(each, left)}"
    is_live = each["state"] == "active"
    left = f"{styling.span(int(each['seconds_left']))} left" if is_live else styling.state(each["state"])
    shared = ", shared" if each["shared"] else ""
    who = f"{each['agent_id']} ({styling.state(each['owner_liveness'])})"
    return f"{column(whole(each['scope']), 30)} {who}, {left}{shared} [{whole(each['bead_id'])}]"


def _is_well(each: Foreign) -> bool:
    """Whether a reservation and its holder are active. A freeze concerns all agents, so it is listed first."""
    return bool(each["state"] == each["owner_liveness"] == "active") and "frozen" not in each


def _unacked(each: Foreign, now: int) -> str:
    text = f"{sentence(each['label'])}: {brief(each['subject'])}"
    who = f"{each['from_agent']}{doubt(each)} -> {each['to_agent']}"
    return f"{who}  {text}  {whole(styling.age(each['created_at'], now) + ' ago')}  [{each['message_id']}]"


def _incursion(each: Foreign) -> str:
    verb = "changed" if each["outcome"] == "touched" else "in"
    what = whole(each["scope"]) + (f" and {int(each['count']) - 1} more" if int(each["count"]) > 1 else "")
    return f"{each['from_agent']}{doubt(each)} {verb} {what}, held by {each['to_agent']} ({whole(each['held'])})"


def problem(each: Foreign) -> str:
    """A problem as one sentence. Its scope is never broken across lines; user text at its end is quoted."""
    ours, theirs = endings.problem(each)
    scope = sentence(each["scope"]) if each.get("scope") else ""
    return (ours.replace(scope, whole(scope)) if scope else ours) + (flowing(theirs) if theirs else "")


def _next_step(step: Foreign) -> str:
    """STEP, with the command at its end kept on one line."""
    advice, colon, command = sentence(step).rpartition(": ")
    return f"{advice}{colon}{whole(command)}" if command.startswith("bb ") else sentence(step)


def _told(told: Foreign) -> str:
    """An entry of the timeline, with user text cut to one line."""
    ours, theirs = endings.happening(told)
    return ours + (brief(theirs) if theirs else "")


def _activity(row: Foreign) -> str:
    """A change to a reservation, with its scope unbroken."""
    scope = sentence(row["scope"])
    return sentence(row["subject"]).replace(scope, whole(scope))


def _is_owed(message: Foreign) -> bool:
    return bool(message["requires_ack"]) and message["state"] != "acked"


def _task(task: Foreign) -> str:
    owner = task["owner"] or "Unassigned"
    talk = task["communication"]
    notes = [f"{talk['unread_count']} unread"] if talk["unread_count"] else []
    notes += [f"{talk['pending_required']} to accept"] if talk["pending_required"] else []
    mark = "unverified: " if talk.get("signature") and not task["title"] else ""
    title = f"{mark}{brief(task['title'] or talk['latest_snippet'] or '')}"
    more = f"  ({', '.join(notes)})" if notes else ""
    name, state = column(whole(task["id"]), 16), styling.state(task["session_state"], 12)
    return f"  {name} {state} {owner}  {title}{more}".rstrip()


def _done(row: Foreign) -> str:
    return styling.state(row["state"]) if row["event_type"] == "INCURSION" else sentence(row["state_label"])


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "status": status,
    "problems": lambda shown: problems(shown["problems"]),
    "timeline": timeline,
    "sessions list": sessions,
    "sessions show": session,
    "resume": resume,
    "agent list": agents,
    "agent status": holdings,
    "agent inbox": inbox,
    "agent wait": lambda come: letters(come["messages"]),
    "agent read": letter,
    "protocol handoff": protocol_event,
    "protocol blocked": protocol_event,
    "protocol show": protocol_event,
    "protocol list": protocol_events,
    "protocol incursions": incursions,
    "protocol resolve": protocol_event,
}
