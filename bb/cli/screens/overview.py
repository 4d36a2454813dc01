"""Whole screens for people: status, problems, timeline, sessions, resume; lists of agents, messages, reservations."""

from __future__ import annotations

from bb.cli.screens import endings, styling
from bb.cli.screens import person_orders as orders
from bb.cli.screens.protocol_events import AGO, incursion_text, state_word
from bb.cli.screens.styling import block, brief, column, doubt, flowing, hanging, section, whole
from bb.kernel import clock
from bb.kernel.foreign import Foreign, sentence

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
        minutes = styling.counted(int(pinned), "minute")
        head.append(styling.coloured(f"Agents become stale after {minutes}, in every clone.", "dim"))
    held, unacked = list(shown["reservations"]), list(shown["unacked"])
    if styling.height():  # rows that do not fit on the screen are the least urgent ones
        held = sorted(held, key=lambda each: (_is_well(each), int(each["seconds_left"] or 0)))
        unacked = sorted(unacked, key=lambda each: str(each["created_at"]))
    agents = [_agent(agent, now) for agent in shown["agents"]]
    more_agents, more_held = _left_out(shown, "agents"), _left_out(shown, "reservations")
    every = [" --all" if left_out else "" for left_out in (more_agents, more_held)]
    sections = [
        section("Agents", agents, f"bb agent list{every[0]}", _no_agents(shown), more_agents),
        section("Held", [_held(reservation) for reservation in held], f"bb agent status{every[1]}", left_out=more_held),
        section("To be accepted", [_unacked(message, now) for message in unacked], "bb status | less"),
    ]
    if shown["incursions"]:
        rows = [incursion_text(incursion) for incursion in shown["incursions"]]
        sections.append(section("In each other's way", rows, "bb problems"))
    if shown["waiting"]:
        sections.append(section("In line", [_in_line(each, now) for each in shown["waiting"]], "bb status | less"))
    if shown["sync"]:
        head.append(_synced(shown["sync"], now))
    if shown.get("fleet"):
        from bb.cli.screens import fleet_age  # noqa: PLC0415  (needed only in a fleet)

        is_well = shown["fleet"]["state"] == "connected"
        head.append(styling.coloured(fleet_age.line(shown["fleet"]), "dim" if is_well else "yellow"))
    head += [styling.coloured(line, "yellow") for line in styling.fleet_age(shown)]
    return styling.on_one_screen(head, sections)


def _left_out(shown: Foreign, name: str) -> int:
    """How many of them the answer left out."""
    return int(shown.get("left_out", {}).get(name) or 0)


def _in_line(each: Foreign, now: int) -> str:
    """A waiting agent: its position, what it wants, who holds that, and how long its place lasts."""
    holders = f", held by {', '.join(map(str, each['holders']))}" if each["holders"] else ""
    ends = clock.parse_or(str(each["deadline"]), now) if each["deadline"] else None
    left = "a process waits" if ends is None else f"{styling.span((ends - now) // clock.SECOND)} left"
    skipped = f", skipped because it is {styling.state(each['skipped'])}" if each["skipped"] else ""
    wanted = ", ".join(map(whole, each["scopes"]))
    return f"{each['position']}. {each['agent_id']}  for {wanted}{holders} ({left}{skipped})"


def _no_agents(shown: Foreign) -> str:
    """What stands in place of the agents."""
    retired = int(shown.get("retired_agents") or 0)
    if not retired:
        return "no registered agents"
    return "all have retired" if retired > 1 else "the only agent has retired"


def _synced(sync: Foreign, now: int) -> str:
    """The time of the last sync, the number of unpublished events, and the last error."""
    when = f"{styling.age(sync['ok_at'], now)} ago" if sync["ok_at"] else "never"
    lacks = f"; {sync['unpublished']:,} not published yet" if sync["unpublished"] else ""
    failure = f"; the last attempt failed: {flowing(sync['failed_with'])}" if sync["failed_with"] else ""
    return styling.coloured(f"Synced with {sync['remote']} {when}{lacks}{failure}", "dim")


def problems(found: Foreign, *, is_log: bool = False) -> list[str]:
    """The problems that need a person, oldest first, each with its next step. A log has the time of day."""
    if not found:
        return ["Nothing needs you."]
    lines = []
    for row in found:
        when = f"{styling.minute(row['since']) if is_log else column(styling.ago(row['since']), AGO)}  "
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
    if others := _left_out(shown, "beads"):
        lines.append(f"… {others:,} more: {whole('`bb sessions list --all`')}")
    for incursion in shown["incursions"]:
        lines.append(styling.coloured(f"Conflict: {incursion_text(incursion)}", "red"))
    source = _bead_source(shown["beads"])
    return [*(lines or ["No sessions to show."]), *([styling.coloured(source, "dim")] if source else [])]


def _bead_source(beads: Foreign) -> str:
    """Where the titles and statuses are from, how old they are, and what is wrong with them."""
    facts = []
    if beads["path"] and beads["age_seconds"] is not None:
        facts.append(f"{whole(beads['path'])}, written {styling.span(int(beads['age_seconds']))} ago")
    if beads["skipped"]:
        facts.append(f"{styling.counted(int(beads['skipped']), 'record')} cannot be read")
    if beads["note"]:
        facts.append(sentence(beads["note"]))
    return f"Beads: {flowing('; '.join(facts))}" if facts else ""


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
            f"({styling.left(reservation['expires_at'])}){over}."
        )
    left_out = shown.get("left_out", {})
    if not shown["holds"] and "holds" not in left_out:
        lines.append("You hold nothing.")
    lines += [
        f"To accept: {message['id']} from {message['from']}{doubt(message)}: {flowing(message['subject'])}"
        for message in shown["to_accept"]
    ]
    if shown["unread"]:
        command = whole("`bb inbox --state unread`")
        lines.append(f"Unread messages: {shown['unread']}. {command} shows them.")
    if last := shown["last_handoff"]:
        lines.append(
            f"Last hand-off, from {last['from']}{doubt(last)} ({state_word(last['state'])}): {flowing(last['summary'])}"
        )
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
    wide, now = styling.widest(agent["agent_id"] for agent in listed), styling.now()
    return [
        f"{column(str(agent['agent_id']), wide)}  {styling.state(agent['liveness'], 7)}"
        f"  {column(_seen(agent, now) + ' ago', 15)}  {brief(role(agent))}{orders.if_paused(agent)}"
        for agent in listed
    ]


def holdings(found: Foreign) -> list[str]:
    """Counts, then the reservations and the messages to accept."""
    summary = found["summary"]
    first = (
        f"{summary['active']} held, {summary['released']} released, {summary['expired']} expired, "
        f"{summary['taken_over']} taken over, "
        f"{styling.counted(int(summary['unacked_required_messages']), 'message')} to be accepted"
    )
    held = [
        f"{whole(reservation['scope'])}  {reservation['agent_id']} ({styling.state(reservation['owner_liveness'])})"
        f"  {_until(reservation) if reservation['state'] == 'active' else styling.state(reservation['state'])}"
        f"{how(reservation)}{_about(reservation)}"
        for reservation in found["reservations"]
        if "frozen" not in reservation
    ]
    frozen = [
        f"{whole(reservation['scope'])}  "
        f"{orders.frozen_by(reservation, _until(reservation) if reservation['expires_at'] else '')}"
        for reservation in found["reservations"]
        if "frozen" in reservation
    ]
    others = _left_out(found, "reservations")
    more = [f"… {others:,} more: {whole('`bb agent status --all`')}"] if others else []
    owed = map(_headline, found["unacked_required_messages"])
    return [first, *frozen, *held, *more, *owed, *styling.fleet_age(found)]


def how(each: Foreign) -> str:
    """The kind of a reservation, if it is not exclusive, and whether its region has vanished."""
    kind = "" if str(each["kind"]) == "exclusive" else f", {each['kind']}"
    token = f", token {each['token']}" if each.get("token") else ""
    return f"{kind}{token}, not there any more" if each.get("vanished") else kind + token


def _until(each: Foreign) -> str:
    return styling.left(each["expires_at"])


def inbox(messages: Foreign) -> list[str]:
    """Messages without their bodies."""
    return [_headline(message) for message in messages] or ["No messages."]


def arrived(come: Foreign) -> list[str]:
    """What a wait brought: the messages, then acceptances and granted places."""
    from bb.attention.turns import agent_news  # noqa: PLC0415  (only for a wait)

    return [*letters(come["messages"]), *agent_news.sentences(come)]


def letters(messages: Foreign) -> list[str]:
    """Messages in full."""
    return [line for message in messages for line in letter(message)]


def letter(message: Foreign) -> list[str]:
    """One message in full."""
    bead = f", about {whole(message['bead_id'])}" if message["bead_id"] else ""
    about = f"  {styling.ago(message['created_at'])}{bead}"
    headline = _headline(message, is_said_below=message["subject"] in message["body"])
    return [headline, about, *block(message["body"], "  ")]


def _headline(message: Foreign, *, is_said_below: bool = False) -> str:
    owed = ", to be accepted" if _is_owed(message) else ""
    proved = _proved(message["verified"]) if "verified" in message else ""
    state = f"{state_word(message['state'])}{owed}{proved}"
    who = f"{message['from_agent']}{_doubted(message)} to {message['to_agent']}, {state}"
    event, _, _ = message["message_id"].parted("_")
    subject = "" if is_said_below else f": {flowing(message['subject'])}"
    return f"[{event}] {message['category']}{subject} ({who})"


def _doubted(message: Foreign) -> str:
    """A note on a message that carries the person's name without the person's signature."""
    return ", unverified," if "signature" in message else ""


def _proved(found: Foreign) -> str:
    from bb.cli.screens import proofs  # noqa: PLC0415  (only mail in CBCL needs it)

    text = proofs.verification_text(found)
    return f", {text}" if text else ""


def _seen(agent: Foreign, now: int) -> str:
    if "session_ended_at" in agent:
        return f"session ended {styling.age(agent['session_ended_at'], now)}"
    return f"seen {styling.age(agent['last_seen_at'], now)}"


def _agent(agent: Foreign, now: int) -> str:
    name, state = column(str(agent["agent_id"]), 24), styling.state(agent["liveness"], 8)
    taken = ", another clone has this name: `bb problems`" if "name_taken" in agent else ""
    return f"{name} {state} {_seen(agent, now)} ago, {brief(role(agent))}{taken}" + orders.if_paused(agent)


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
    who = f"{each['agent_id']} ({styling.state(each['owner_liveness'])})"
    return f"{column(whole(each['scope']), 30)} {who}, {left}{how(each)}{_about(each)}"


def _about(each: Foreign) -> str:
    """The bead of a reservation, if it has one."""
    return f" [{whole(each['bead_id'])}]" if each["bead_id"] else ""


def _is_well(each: Foreign) -> bool:
    """Whether a reservation and its holder are active. A freeze concerns all agents, so it is listed first."""
    return bool(each["state"] == each["owner_liveness"] == "active") and "frozen" not in each


def _unacked(each: Foreign, now: int) -> str:
    text = f"{sentence(each['label'])}: {brief(each['subject'])}"
    who = f"{each['from_agent']}{doubt(each)} -> {each['to_agent']}"
    return f"{who}  {text}  {whole(styling.age(each['created_at'], now) + ' ago')}  [{each['message_id']}]"


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
    "agent wait": arrived,
    "agent read": letter,
}
