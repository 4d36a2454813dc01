"""Text screens for the chat commands that show events to agents (C2A).

Message texts and names from other platforms are not trusted. They are escaped, and shown in quotation marks or on
marked lines. Events that need an answer are highlighted; events that need none are dimmed or only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from bb.attention.words import ACK_ONLY, CLAIMED, MAY, MUST, MUST_NOT, PLAIN, SIGNALS
from bb.cli.screens import styling
from bb.cli.screens.styling import block, coloured, column, flowing, hanging, heading, whole
from bb.kernel import clock
from bb.kernel.foreign import Foreign, names, page, sentence, shell_word

AUTHOR, PLACE, WORD = 24, 24, 18  # column widths: author, conversation, keyword
MARKS = {MUST: "!", MAY: "?", MUST_NOT: "·"}
DONE = "-"  # the mark of a closed event


# -- events, one line each


def listed(found: Foreign) -> list[str]:
    """An agent's events, newest first. Events that need no answer are counted, unless their content was requested."""
    rows = found["events"]
    if not rows:
        bind, ingest = whole("`bb chat bind`"), whole("`bb chat ingest`")
        return [f"No events to show. {ingest} imports messages, {bind} maps platform names to agents."]
    shown_rows = [row for row in rows if row["policy"] != MUST_NOT or "content" in row]
    lines = []
    for row, line in zip(shown_rows, _rows(shown_rows), strict=True):
        lines += [line, *spoken(row.get("content"))]
    lines += _counted([row for row in rows if row["policy"] == MUST_NOT and "content" not in row])
    more = whole(f"--cursor {shell_word(found['cursor'])}")
    return [*lines, *([f"-> the same with {more}"] if found["cursor"] else [])]


def _rows(rows: Sequence[Foreign], when: Callable[[Foreign], str] | None = None) -> list[str]:
    """One line for each event: required action, age, author, conversation, reason and id."""
    authors = min(styling.widest(map(_author, rows)), AUTHOR)
    places = min(styling.widest(_where(row["conversation"]) for row in rows), PLACE)
    return [_row(row, (when or _age)(row), authors, places) for row in rows]


def _author(each: Foreign) -> str:
    return f"{each['author']}{_doubt(each)}"


def _doubt(each: Foreign) -> str:
    """A note on a message that carries the person's name without the person's signature."""
    return ", unverified" if each.get("unverified") else ""


def _row(each: Foreign, when: str, authors: int, places: int) -> str:
    who, where = column(_author(each), authors), column(_where(each["conversation"]), places)
    why = ", ".join([whole(each["reason"]), *_notes(each)])
    line = f"{column(_mark(each), 2)} {when}  {who}  {where}  {why}  [{whole(each['eventId'])}]"
    if int(each["contentVersion"]) > 1:
        line += f" version {each['contentVersion']}"
    is_quiet = each["policy"] in (ACK_ONLY, MUST_NOT) or not each["open"]
    return coloured(line, "dim") if is_quiet else line


def _mark(each: Foreign) -> str:
    """The mark before an event; for an event that may only be acknowledged, the glyph of its signal."""
    if each["policy"] == ACK_ONLY:
        return each.get("signal").among(SIGNALS, SIGNALS["seen"]).glyph
    if MUST in (each["policy"], each.get("originalPolicy")) and each["open"]:
        return coloured(MARKS[MUST], "red")
    return each["policy"].among(MARKS, "?") if each["open"] or each["policy"] == MUST_NOT else DONE


def _age(each: Foreign) -> str:
    return f"{styling.span(int(each['ageMs']) // 1000):>6}"


def _where(conversation: Foreign) -> str:
    """The conversation of an event, with its thread in the form that `--thread` takes."""
    thread = f"/{conversation['threadId']}" if conversation.get("threadId") else ""
    return whole(f"{conversation['kind']} {conversation['id']}{thread}")


def _notes(each: Foreign) -> list[str]:
    """Notes on an event that its reason does not cover."""
    claim = each.get("claim") if each.get("reason") != CLAIMED else Foreign(None)
    signal, linked = each.get("signal") if each["policy"] != ACK_ONLY else None, each.get("linked")
    disposition = each["disposition"] if each["policy"] != MUST_NOT or each["open"] else None
    notes = [f"about {whole(linked)}"] if linked else []
    notes += [str(each["priority"])] if each["priority"] in ("high", "urgent") else []
    notes += [f"claimed by {claim['owner']}"] if claim else []
    notes += [str(disposition)] if disposition and not (disposition == CLAIMED and each.get("claim")) else []
    notes += [f"back in {_left(each['until'], each)}"] if each.get("until") else []
    notes += [f"signal {signal}"] if signal else []
    notes += ["stale"] if each.get("stale") and each["open"] else []
    notes += ["read the thread first"] if each.get("threadCheckRequired") and each["open"] else []
    notes += ["waiting for clarification"] if each.get("awaitingClarification") else []
    notes += ["although an answer is required"] if each.get("deviation") else []
    notes += [f"by {whole(each['supersededBy'])}"] if each.get("supersededBy") else []
    return [*notes, *(["deleted"] if each.get("deleted") else [])]


def _left(until: Foreign, each: Foreign) -> str:
    """The time from this answer until UNTIL."""
    return styling.span((int(until) - _now(each)) // 1000) if until.is_number else "some time"


def _now(each: Foreign) -> int:
    """The time at which the answer that contains this event was made."""
    return clock.parse_or(str(each["at"]), 0) + int(each["ageMs"])


def _counted(rows: Sequence[Foreign]) -> list[str]:
    """One line that counts the events that need no answer, by reason."""
    if not rows:
        return []
    why: dict[str, int] = {}
    for row in rows:
        why[str(row["reason"])] = why.get(str(row["reason"]), 0) + 1
    most = sorted(why.items(), key=lambda each: -each[1])
    reasons = ", ".join(whole(f"{count} {reason}") for reason, count in most)
    verb = "need" if len(rows) > 1 else "needs"
    look = whole(f"bb chat list --policy {MUST_NOT} --body")
    return [coloured(f"{MARKS[MUST_NOT]}  {len(rows)} {verb} no answer: {reasons}", "dim"), f"-> {look}"]


def spoken(parts: Foreign, inset: str = "    ") -> list[str]:
    """The parts of a message, line by line, indented and marked as untrusted text."""
    lines: list[str] = []
    for part in parts:
        if part.get("type") == "text":
            lines += block(part.get("text", ""), inset)
        else:
            about = f"({part.get('type')}: {flowing(part.without('type'))})"
            lines.append(f"{inset}{hanging(about)}")
    return lines


def pending(found: Foreign) -> list[str]:
    """The events that an agent must answer or has claimed, the most urgent first."""
    if not found["events"]:
        return [f"{found['agent']} owes no answers. {whole('`bb chat list`')} shows its other events."]
    return _rows(list(found["events"]), _due)


def _due(each: Foreign) -> str:
    if each["dueAt"].is_none:
        return f"{'':<10}"
    left = (clock.parse_or(str(each["dueAt"]), 0) - _now(each)) // 1000
    return f"due {styling.span(left):<6}" if left > 0 else coloured(f"{styling.span(-left) + ' late':<10}", "red")


def knocks(found: Foreign) -> list[str]:
    """The knocks whose messages the agent has not read yet. A knock contains no message text."""
    if not found["knocks"]:
        return [f"No knocks for {found['agent']}. {whole('`bb chat pending`')} shows what it owes."]
    return [*map(_knock, found["knocks"]), f"-> {whole('bb chat read EVENT')} shows the message"]


def _knock(each: Foreign) -> str:
    knock = each["knock"]
    count = f", {knock['count']} of them" if knock.get("count") else ""
    where = whole(str(knock["where"]).replace(":", " ", 1))
    mark = SIGNALS["seen"].glyph if knock["policy"] == ACK_ONLY else knock["policy"].among(MARKS, "?")
    topic = f"{flowing(sentence(knock['topic']))}{count}"
    who = f"{knock['from']}{_doubt(knock)}"
    line = f"{column(mark, 2)} {topic}, from {who} in {where}  [{whole(each['eventId'])}]"
    return coloured(line, "dim") if knock["policy"] == ACK_ONLY else line


# -- one event, or what was said


def read(found: Foreign) -> list[str]:
    """A thread, or the end of a conversation, oldest first."""
    thread = f", thread {whole(found['thread'])}" if found["thread"] else ""
    lines = [f"{heading(whole(found['conversation']))}{thread}"]
    if found["truncated"]:
        first = shell_word(found["items"][0]["eventId"])
        lines.append(f"-> the same with {whole(f'--before {first}')} shows earlier messages")
    for item in found["items"]:
        is_edited = int(item["contentVersion"]) > 1 and not item.get("tombstone")
        notes = f", version {item['contentVersion']}" if is_edited else ""
        who = coloured(_author(item), "cyan")
        lines.append(f"{minutes_text(item['at'])}  {who}{notes}  [{whole(item['eventId'])}]")
        lines += [f"    {coloured('deleted', 'dim')}"] if item.get("tombstone") else spoken(item["parts"])
    return lines if found["items"] else [*lines, "  no messages"]


def show(found: Foreign) -> list[str]:
    """One event and its history, step by step."""
    is_edited = int(found["version"]) > 1
    deletion = ", deleted" if found.get("deleted") else f", version {found['version']}" if is_edited else ""
    author, ago = coloured(_author(found), "cyan"), styling.span(int(found["ageMs"]) // 1000)
    lines = [f"{heading(whole(found['eventId']))}  {author} in {_where(found['conversation'])}, {ago} ago{deletion}"]
    posting = f", {found['state']}" if found["state"] else ""
    lines += [f"  to {found['agent']}: {_decision(found)}", f"  {_state(found)}{posting}", *_cancelled(found)]
    if not found["steps"]:
        return [*lines, coloured("  no action was required", "dim")]
    for entry in found["steps"]:
        about, step = step_details(entry.get("about", {})), str(entry["step"])
        lines.append(f"  {minutes_text(entry['at'], 19)}  {f'{column(step, 10)}  {hanging(about)}' if about else step}")
    return lines


def _cancelled(found: Foreign) -> list[str]:
    """The reason that the sender gave for cancelling a message."""
    return [f"  cancelled: {flowing(found['deletionReason'])}"] if found.get("deletionReason") else []


def _decision(found: Foreign) -> str:
    return f"{found['policy']}, {found['directedness']}, {found['injection']} ({whole(found['reason'])})"


def _state(found: Foreign) -> str:
    """The state of an event: open or closed, its phase, and notes."""
    is_open = "open" if found["open"] else "closed"
    phase = str(found["phase"]).replace("_", " ")
    tried = f", offered {found['attempt']} times" if int(found["attempt"]) > 1 else ""
    about = found.otherwise(priority="normal", ageMs=0, at="")
    return ", ".join([*dict.fromkeys([is_open, phase + tried, *_notes(about)])])


def step_details(about: Foreign) -> str:
    """The details of a step."""
    if not about.is_mapping:
        return flowing(about)
    decision = about.get("decision")
    if decision.is_mapping or decision.is_list:
        return flowing(names(Foreign((decision.values() if decision.is_mapping else list(decision))[:4])))
    details = [f"{name} {_detail(name, value)}" for name, value in about.items() if name != "version"]
    return flowing(", ".join(details))


def _detail(name: Foreign, value: Foreign) -> str:
    """VALUE as text; a time if NAME is `until`."""
    is_moment = name == "until" and value.is_number and clock.FIRST <= int(value) <= clock.LAST
    return minutes_text(Foreign(clock.text(int(value)))) if is_moment else str(value)


POLICY = {
    MUST: "the agent must answer",
    MAY: "the agent may answer, but need not",
    ACK_ONLY: "the agent may only acknowledge it",
    MUST_NOT: "the agent must not answer",
}
AIM = {
    "to_me": "addressed to this agent",
    "to_my_role": "addressed to a role, a thread or work of this agent",
    "to_other": "addressed to another participant",
    "ambient": "not addressed to anyone in particular",
}
SEEN = {
    "immediate": "shown to the agent at once",
    "buffered": "shown in the agent's next turn, once the author has stopped typing",
    "notify": "announced by a knock; the agent requests the content itself",
    "tool_mailbox": "shown when the agent reads its mailbox",
    "digest": "shown in the agent's next digest",
    "silent": "not shown to the agent",
}
REASONS = {
    "direct_message": "a private message to the agent",
    "direct_mention": "the message mentions the agent",
    "thread_question": "a question about the agent's own message",
    "role_mention": "the message mentions the agent's role",
    "thread_participation": "the agent has written in this thread",
    "owned_thread": "a question in a thread that the agent owns",
    "owned_stream": "a question in a work stream that the agent owns",
    "owned_work_changed": "a change to work that the agent owns",
    "assignment": "work assigned to the agent",
    "approval_request": "the agent is asked for approval",
    "blocker": "the author is blocked",
    "acknowledgement": "only thanks or a receipt",
    "addressed_to_other": "the message mentions another participant",
    "before_bind": "the message named the agent before the agent was bound to that name",
    "cancel": "the message is an order to stop",
    "agent_chatter": "an agent's message that addresses no one",
    "unaddressed": "the message addresses no one",
    "status_broadcast": "a status report",
    "tool_output": "the output of a tool",
    "unbound": "the agent has no name on that platform",
    "claimed_by_other": "another agent has claimed it",
    "claimed": "the agent has claimed it",
    "escalated": "the agent that was asked first has not answered",
    "edited_after_response": "edited after it was answered",
    "reaction": "a reaction to the agent's own message",
    "loop_guard": "too many turns in a row between agents",
    "rate_limited": "the author sends too many messages",
}


KINDS = {
    "dm": "in private",
    "channel": "in a channel",
    "thread": "in a thread",
    "system": "by the system",
    "tool": "by a tool",
}


def explain(found: Foreign) -> list[str]:
    """Why an event got its policy for an agent."""
    current, inputs = found["now"], found["inputs"]
    original = found["recorded"] or found
    intent = f", {_article(inputs['intent'])}" if inputs["intent"] != PLAIN else ""
    author = coloured(_author(inputs), "cyan")
    where = inputs["kind"].among(KINDS, str(inputs["kind"]))
    lines = [f"{heading(whole(found['eventId']))}  {author} {where}{intent}; to {found['agent']}:"]
    lines += _explained(current["policy"], POLICY) + _explained(current["directedness"], AIM)
    lines += _explained(current["injection"], SEEN) + _explained(current["reason"], REASONS)
    due = f", due {minutes_text(found['dueAt'])}" if found["dueAt"] and found["open"] else ""
    lines += [f"  {_state(found.but(priority=current['priority']))}{due}", *_cancelled(found)]
    if _decision(original) != _decision(current):
        lines.append(f"On arrival it was {_decision(original)}; claims or time have changed that since.")
    if found["recorded"]:
        lines.append(f"Recorded on arrival: {_decision(original)}. By the current rules: {_decision(found)}.")
    aimed = found["rule"]["aimed"]  # for a reaction, for instance, the decision does not depend on it
    lines += [
        "",
        heading("Inputs to the decision"),
        *_inputs(inputs, aimed if aimed["directedness"] == found["directedness"] else Foreign({})),
    ]
    return [*lines, *(coloured(f"Warning: {flowing(sentence(warning))}", "yellow") for warning in found["warnings"])]


def _article(intent: Foreign) -> str:
    plain = str(intent).replace("_", " ")
    return f"{'an' if plain[:1] in 'aeiou' else 'a'} {plain}"


def _explained(word: Foreign, means: Mapping[str, str]) -> list[str]:
    return [f"  {column(whole(word), WORD)}  {hanging(flowing(word.among(means, '')))}".rstrip()]


def _inputs(inputs: Foreign, aimed: Foreign) -> list[str]:
    """The inputs to the decision that are not empty, and the resulting directedness."""
    labels = {
        "mentions": "mentions",
        "recipient": "recipient",
        "declared": "declared by sender",
        "thread": "thread",
        "stream": "stream",
        "participants": "thread participants",
        "turnsOfAgents": "agent turns",
    }
    about = {label: inputs.get(name) for name, label in labels.items()}
    about |= {"agents mentioned": inputs["calls"]["agents"], "by role": inputs["calls"]["groups"]}
    rows = {label: str(value) for label, value in about.items() if value}
    rows |= {"directedness": f"{aimed['directedness']}, {sentence(aimed['why'])}"} if aimed else {}
    wide = max(map(len, rows), default=0)
    lines = [f"  {column(label, wide)}  {hanging(flowing(value))}" for label, value in rows.items()]
    return lines or [coloured("  none", "dim")]


# -- for prompts


def injected(found: Foreign) -> Iterator[str]:
    """The exact text for a turn; then one line that counts the events held back."""
    if found["text"]:
        yield from page(found["text"])
    if held := found["held"]:
        yield from styling.wrap_lines([coloured(f"Held back: {_held(held)}", "dim")])


def _held(held: Foreign) -> str:
    why: dict[str, int] = {}
    for hold in held:
        why[str(hold["why"])] = why.get(str(hold["why"]), 0) + 1
    counts = ", ".join(f"{count} {flowing(reason.replace('_', ' '))}" for reason, count in why.items())
    times = [int(hold["until"]) for hold in held if hold["until"].is_number]
    return counts + (f"; next at {clock.text(min(times))[11:19]}" if times else "")


def digest(found: Foreign) -> list[str]:
    return [hanging(flowing(line)) for line in page(found["text"])] if found["text"] else ["Nothing new."]


def minutes_text(written: Foreign, length: int = 16) -> str:
    """A time as text: to the minute, or to LENGTH characters."""
    return str(written)[:length].replace("T", " ")


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "chat list": listed,
    "chat read": read,
    "chat show": show,
    "chat explain": explain,
    "chat pending": pending,
    "chat knocks": knocks,
    "chat inject": injected,
    "chat digest": digest,
}
UNWRAPPED = ("chat inject",)  # this text goes into a prompt
