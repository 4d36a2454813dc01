"""Whole screens for people: status, problems, timeline, sessions, resume; lists of agents, messages, reservations."""

from __future__ import annotations

from bb.cli import order_screens as orders
from bb.cli import paint, text
from bb.cli.paint import brief, column, flowing, hanging, whole
from bb.kernel import clock
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Section = tuple[str, list[str], str]  # its title, its lines, and the command that shows all of them


def of(command: str, data: Any) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS[command](data))


def status(shown: dict[str, Any]) -> list[str]:
    """One screen: agents by liveness, what they hold, what waits to be accepted, who collides."""
    now = clock.parse_or(shown["at"], 0)
    head = [paint.heading(f"{flowing(shown['repository'])}, {shown['at']}")]
    if shown["is_damaged"]:
        head.append(paint.painted(f"The ledger is damaged: run {whole('`bb doctor`')}.", "red"))
    if pause := shown["paused"]:
        head.append(paint.painted(f"Everybody is {orders.since(pause)}.", "yellow"))
    held, unacked = shown["reservations"], shown["unacked"]
    if paint.height():  # what does not fit on the screen should be what is least urgent
        held = sorted(held, key=lambda each: (_is_well(each), each["seconds_left"] or 0))
        unacked = sorted(unacked, key=lambda each: str(each["created_at"]))
    sections = [
        _section("Agents", [_agent(each, now) for each in shown["agents"]], "bb agent list", "nobody has registered"),
        _section("Held", [_held(each) for each in held], "bb agent status"),
        _section("To be accepted", [_unacked(each, now) for each in unacked], "bb status | less"),
    ]
    if shown["incursions"]:
        sections.append(
            _section("In each other's way", [_incursion(each) for each in shown["incursions"]], "bb problems")
        )
    if shown["waiting"]:
        rows = [f"{each['agent_id']}  for {', '.join(map(whole, each['scopes']))}" for each in shown["waiting"]]
        sections.append(_section("In line", rows, "bb status | less"))
    if shown["sync"]:
        head.append(_synced(shown["sync"], now))
    return _on_one_screen(head, sections)


def _synced(sync: dict[str, Any], now: int) -> str:
    """When the remote was last met, what it lacks, and what went wrong."""
    when = f"{paint.span((now - clock.parse_or(sync['ok_at'], now)) // 1000)} ago" if sync["ok_at"] else "never"
    lacks = f"; {sync['unpublished']:,} not published yet" if sync["unpublished"] else ""
    wrong = f"; the last attempt failed: {sync['failed_with']}" if sync["failed_with"] else ""
    return paint.painted(f"Synced with {flowing(sync['remote'])} {when}{lacks}{flowing(wrong)}", "dim")


def problems(found: list[dict[str, Any]]) -> list[str]:
    """What needs a person, oldest first, each with its next step."""
    if not found:
        return ["Nothing needs you."]
    lines = []
    for each in found:
        when = f"{each['since'][:16].replace('T', ' ')}  "
        lines.append(f"{when}{hanging(paint.painted(_problem(each), 'bold'))}")
        indent = " " * paint.inset(len(when))
        lines += [f"{indent}{hanging(flowing(line))}" for line in each.get("body", "").splitlines() if line.strip()]
        if "answer" in each:
            lines.append(f"{indent}{hanging('-> ' + flowing(each['answer']))}")
        lines.append(f"{indent}{hanging('-> ' + _next_step(each['next_step']))}")
    return lines


def timeline(told: list[dict[str, Any]]) -> list[str]:
    """One line for each thing that happened, oldest first, day by day."""
    if not told:
        return ["Nothing to tell."]
    lines, day, wide = [], "", max(len(harmless(each["by"])) for each in told)
    for each in told:
        if each["at"][:10] != day:
            day = each["at"][:10]
            lines.append(paint.heading(harmless(day)))
        who = column(paint.painted(harmless(each["by"]), "cyan"), wide)
        bead = f" [{whole(each['bead_id'])}]" if each["bead_id"] else ""
        lines.append(f"  {each['at'][11:19]}  {who}  {_told(each['text'])}{bead}")
    return lines


def sessions(shown: dict[str, Any]) -> list[str]:
    """The beads in hand, epic by epic."""
    lines = []
    for group in shown["feed"]:
        epic = group["epic"]
        name = f"{whole(epic['id'])}  {brief(epic['title'] or '')}" if epic["id"] else epic["title"]
        lines.append(paint.heading(f"{name}  ({len(group['tasks'])})"))
        lines += [_task(task) for task in group["tasks"]]
    for each in shown["incursions"]:
        lines.append(paint.painted(f"Conflict: {_incursion(each)}", "red"))
    beads = shown["beads"]
    if note := beads["note"] or (beads["skipped"] and f"{beads['skipped']} lines of {beads['path']} cannot be read"):
        lines.append(paint.painted(f"Beads: {flowing(str(note))}", "dim"))
    return lines or ["No sessions to show."]


def session(shown: dict[str, Any]) -> list[str]:
    """One bead, and its conversation."""
    title = f"{whole(shown['id'])}  {flowing(shown['title'] or '')}".rstrip()
    owner = f", {harmless(shown['owner'])}" if shown["owner"] else ", unassigned"
    lines = [f"{paint.heading(title)}  {paint.state(shown['session_state'])}{owner}"]
    if shown["contested"]:
        scopes = ", ".join(map(whole, shown["contested"]))
        lines.append(f"  {paint.state('contested')}: {scopes}; what stands was reserved in another clone")
    if not shown["conversation"]:
        return [*lines, "  No activity or messages yet for this task."]
    for row in shown["conversation"]:
        at = row["at"][:16].replace("T", " ")
        if row["type"] == "activity":
            lines.append(
                "  " + paint.painted(f"{at}  {harmless(row['from'] or '')} {_activity(row['subject'])}", "dim")
            )
            continue
        to = f" -> {harmless(row['to'])}" if row["to"] else ""
        label = paint.painted(whole(row["label"]), "cyan")
        lines.append(f"  {at}  {harmless(row['from'])}{to}  {label}: {flowing(row['subject'])}  {_done(row)}")
        lines += [f"      {hanging(flowing(line))}" for line in row["body"].splitlines() if line.strip()]
    return lines


def resume(shown: dict[str, Any]) -> list[str]:
    """All an agent needs to go on, in few words."""
    lines = [f"You are {shown['agent_id']} ({flowing(shown['role'])}), {shown['liveness']}."]
    if pause := shown.get("paused"):
        lines.append(f"You are {orders.since(pause)}. Change nothing; you may read, answer, hand over and give back.")
    for each in shown["holds"]:
        over = ", EXPIRED" if each.get("is_expired") else ""
        lines.append(f"You hold {whole(each['scope'])} for {whole(each['bead'])} until {each['expires_at']}{over}.")
    left_out = shown.get("left_out", {})
    if not shown["holds"] and "holds" not in left_out:
        lines.append("You hold nothing.")
    lines += [
        f"To accept: {each['id']} from {harmless(each['from'])}: {flowing(each['subject'])}"
        for each in shown["to_accept"]
    ]
    if shown["unread"]:
        command = whole("`bb agent inbox --state unread`")
        lines.append(f"Unread messages: {shown['unread']}. {command} shows them.")
    if last := shown["last_handoff"]:
        lines.append(f"Last hand-off, from {harmless(last['from'])} ({last['state']}): {flowing(last['summary'])}")
        lines += [f"Next: {flowing(last['next_action'])}"] if last["next_action"] else []
    if shown["dirty"]:
        lines.append(f"Uncommitted in your scopes: {', '.join(map(whole, shown['dirty']))}")
    more = {"holds": "you hold", "to_accept": "to accept", "dirty": "with uncommitted changes"}
    lines += [f"({count} more {more[name]})" for name, count in left_out.items()]
    return lines


def agents(listed: list[dict[str, Any]]) -> list[str]:
    """Who is registered."""
    if not listed:
        return [f"No agents to show. {whole('`bb agent register --name NAME --role ROLE`')} adds one."]
    wide = max(len(agent["agent_id"]) for agent in listed)
    return [
        f"{column(agent['agent_id'], wide)}  {paint.state(agent['liveness'], 7)}"
        f"  {whole('seen ' + agent['last_seen_at'])}  {brief(_role(agent))}{orders.if_paused(agent)}"
        for agent in listed
    ]


def holdings(found: dict[str, Any]) -> list[str]:
    """What is held, and how much there is of everything."""
    summary = found["summary"]
    first = (
        f"{summary['active']} held, {summary['released']} released, {summary['expired']} expired, "
        f"{summary['taken_over']} taken over, {summary['unacked_required_messages']} messages to be accepted"
    )
    held = [
        f"{whole(each['scope'])}  {each['agent_id']} ({paint.state(each['owner_liveness'])})"
        f"  {'until ' + each['expires_at'] if each['state'] == 'active' else paint.state(each['state'])}"
        f"  [{whole(each['bead_id'])}]"
        for each in found["reservations"]
        if "frozen" not in each
    ]
    frozen = [
        f"{whole(each['scope'])}  {orders.frozen_by(each, each['expires_at'] and 'until ' + each['expires_at'])}"
        for each in found["reservations"]
        if "frozen" in each
    ]
    return [first, *frozen, *held, *(map(_headline, found["unacked_required_messages"]))]


def inbox(messages: list[dict[str, Any]]) -> list[str]:
    """Messages without their bodies."""
    return [_headline(each) for each in messages] or ["No messages."]


def letters(messages: list[dict[str, Any]]) -> list[str]:
    """Messages with all that they say."""
    return [line for each in messages for line in letter(each)]


def letter(message: dict[str, Any]) -> list[str]:
    """One message with all that it says."""
    bead = f", about {whole(message['bead_id'])}" if message["bead_id"] else ""
    about = f"  {message['created_at']}{bead}"
    body = [f"  {hanging(flowing(line))}" for line in message["body"].splitlines() if line.strip()]
    return [_headline(message), about, *body]


def _headline(message: dict[str, Any]) -> str:
    owed = ", to be accepted" if _is_owed(message) else ""
    proved = _proved(message["verified"]) if "verified" in message else ""
    who = f"{message['from_agent']} to {message['to_agent']}, {message['state']}{owed}{proved}"
    return f"[{message['message_id']}] {message['category']}: {flowing(message['subject'])} ({who})"


def _proved(found: dict[str, Any]) -> str:
    from bb.cli import proofs  # noqa: PLC0415  (most mail is not in CBCL)

    text = proofs.said(found)
    return f", {text}" if text else ""


def protocol_event(event: dict[str, Any]) -> list[str]:
    """One protocol event with all that it says."""
    to = f" -> {', '.join(event['recipients'])}" if "recipients" in event else f" -> {event['to_agent']}"
    scope = f" in {whole(event['scope'])}" if event["scope"] else ""
    head = f"{event['id']}  {event['created_at']}  {event['label']}: {event['from_agent']}{to}{scope}, {event['state']}"
    said = [f"  {name}: {flowing(text.short(value))}" for name, value in event["payload"].items()]
    return [head, *said, *(_discovered(event) if event.get("paths") else []), *_resolution(event)]


def _discovered(event: dict[str, Any]) -> list[str]:
    """What was found to be touched."""
    left_out = [f"… and {event['count'] - len(event['paths'])} more"] if event["count"] > len(event["paths"]) else []
    commit = f", commit {whole(event['commit'])}" if event["commit"] else ""
    return [
        f"  found by: {harmless(event['found_by'])}{commit}",
        *(f"    {each}" for each in [*map(whole, event["paths"]), *left_out]),
    ]


def _resolution(event: dict[str, Any]) -> list[str]:
    said = event.get("resolution")
    if not said:
        return []
    note = f": {flowing(said['note'])}" if said["note"] else ""
    return [f"  {paint.state(said['state'])} by {said['by']}, {said['at']}{note}"]


def incursions(events: list[dict[str, Any]]) -> list[str]:
    """INCURSIONs, each with who did what where and what became of it."""
    lines = []
    for event in events:
        by = f" by {event['resolution']['by']}" if event["resolution"] else ""
        state = paint.state(event["state"])
        lines.append(
            f"{event['created_at']}  {_incursion(event)}  {event['outcome']}, {state}{by}  [{whole(event['id'])}]"
        )
    return lines or ["No incursions."]


def protocol_events(events: list[dict[str, Any]]) -> list[str]:
    """Protocol events, each with what it is about."""
    lines = []
    for event in events:
        subject = (
            event["payload"].get("subject")
            or event["payload"].get("resolution_hint")
            or event["payload"].get("evidence")
        )
        lines.append(
            f"{event['created_at']}  {event['event_type']:<9}  {event['from_agent']} -> {event['to_agent']}"
            f"  {brief(text.short(subject))}  ({event['state']})  [{event['id']}]"
        )
    return lines or ["No protocol events."]


def _section(title: str, rows: list[str], more: str, otherwise: str = "nothing") -> Section:
    return title, [f"  {row}" for row in (rows or [paint.painted(otherwise, "dim")])], more


def _on_one_screen(head: list[str], sections: list[Section]) -> list[str]:
    """HEAD and SECTIONS, shortened where the terminal has too few lines for them."""
    gap, kept = [""], [len(rows) for _, rows, _ in sections]
    if height := paint.height():
        room = height - 1 - paint.lines_taken(head) - 2 * len(sections)  # the prompt takes a line, too
        if room < len(sections):
            gap, room = [], room + len(sections)
        kept = _shared_out([rows for _, rows, _ in sections], room)
    lines = head
    for (title, rows, more), count in zip(sections, kept, strict=True):
        left_out = [f"  … {len(rows) - count} more: {whole(more)}"] if count < len(rows) else []
        lines = [*lines, *gap, paint.heading(title), *rows[:count], *left_out]
    return lines


def _shared_out(sections: list[list[str]], room: int) -> list[int]:
    """How many rows of each of SECTIONS have ROOM: one more for each in turn, as long as there is any."""
    heights = [[paint.lines_taken([row]) for row in rows] for rows in sections]
    kept = [0] * len(sections)
    room -= len(sections)  # each says in a line how many are left out; the last row takes that line's place
    grew = True
    while grew:
        grew = False
        for number, tall in enumerate(heights):
            shown = kept[number]
            if shown < len(tall) and (needed := tall[shown] - (shown == len(tall) - 1)) <= room:
                kept[number], room, grew = shown + 1, room - needed, True
    return kept


def _agent(agent: dict[str, Any], now: int) -> str:
    seen = paint.span((now - clock.parse_or(agent["last_seen_at"], now)) // 1000)
    line = f"{column(agent['agent_id'], 24)} {paint.state(agent['liveness'], 8)} seen {seen} ago, {brief(_role(agent))}"
    return line + orders.if_paused(agent)


def _role(agent: dict[str, Any]) -> str:
    """What an agent does, and what people are to call it, where that is not its id."""
    name = agent["display_name"]
    return agent["role"] if name == agent["agent_id"] else f"{agent['role']} ({name})"


def _held(each: dict[str, Any]) -> str:
    if "frozen" in each:
        left = None if each["seconds_left"] is None else paint.span(each["seconds_left"]) + " left"
        return f"{column(whole(each['scope']), 30)} {orders.frozen_by(each, left)}"
    left = paint.span(each["seconds_left"]) + " left" if each["state"] == "active" else paint.state(each["state"])
    shared = ", shared" if each["shared"] else ""
    who = f"{each['agent_id']} ({paint.state(each['owner_liveness'])})"
    return f"{column(whole(each['scope']), 30)} {who}, {left}{shared} [{whole(each['bead_id'])}]"


def _is_well(each: dict[str, Any]) -> bool:
    """Whether a reservation runs, and its holder is there. That something is frozen is news to all."""
    return bool(each["state"] == each["owner_liveness"] == "active") and "frozen" not in each


def _unacked(each: dict[str, Any], now: int) -> str:
    age = paint.span((now - clock.parse_or(each["created_at"], now)) // 1000)
    said = brief(f"{each['label']}: {each['subject']}")
    return f"{each['from_agent']} -> {each['to_agent']}  {said}  {whole(age + ' ago')}  [{each['message_id']}]"


def _incursion(each: dict[str, Any]) -> str:
    verb = "changed" if each["outcome"] == "touched" else "in"
    what = whole(each["scope"]) + (f" and {each['count'] - 1} more" if each["count"] > 1 else "")
    return f"{each['from_agent']} {verb} {what}, held by {each['to_agent']} ({whole(each['held'])})"


def _problem(each: dict[str, Any]) -> str:
    """What is the matter. Somebody's own words follow the colon; before it, and where there are none, are names."""
    names, colon, said = each["text"].partition(": ") if "message_id" in each else (each["text"], "", "")
    sentence = harmless(names) + colon + flowing(said)
    return sentence.replace(harmless(each["scope"]), whole(each["scope"])) if each.get("scope") else sentence


def _next_step(step: str) -> str:
    """STEP, with the command it ends in on one line."""
    advice, colon, command = step.rpartition(": ")
    return f"{harmless(advice)}{colon}{whole(command)}" if command.startswith("bb ") else harmless(step)


# Sentences of the timeline that end in somebody's own words: how they begin, and what those words follow.
ENDINGS = (("started as ", "started as "), ("", ": "))


def _told(sentence: str) -> str:
    """SENTENCE, with the words that somebody chose cut to one line."""
    for beginning, mark in ENDINGS:
        if sentence.startswith(beginning) and mark in sentence:
            names, _, said = sentence.partition(mark)
            return f"{harmless(names)}{mark}{brief(said)}"
    return harmless(sentence)


def _activity(subject: str) -> str:
    """SUBJECT, which ends in a scope."""
    for verb in ("took over ", "reserved ", "let lapse ", "released "):
        if subject.startswith(verb):
            return verb + whole(subject.removeprefix(verb))
    return harmless(subject)


def _is_owed(message: dict[str, Any]) -> bool:
    return bool(message["requires_ack"]) and message["state"] != "acked"


def _task(task: dict[str, Any]) -> str:
    owner = task["owner"] or "Unassigned"
    talk = task["communication"]
    notes = [f"{talk['unread_count']} unread"] if talk["unread_count"] else []
    notes += [f"{talk['pending_required']} to accept"] if talk["pending_required"] else []
    title = brief(task["title"] or talk["latest_snippet"] or "")
    more = f"  ({', '.join(notes)})" if notes else ""
    name, state = column(whole(task["id"]), 16), paint.state(task["session_state"], 12)
    return f"  {name} {state} {harmless(owner)}  {title}{more}".rstrip()


def _done(row: dict[str, Any]) -> str:
    return paint.state(row["state"]) if row["event_type"] == "INCURSION" else row["state_label"]


FORMS: dict[str, Callable[[Any], Iterable[str]]] = {
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
