"""What agents see of chat (C2A), as a person reads it.

Whatever was said elsewhere is somebody's own words, and so are the names there: each is shown on lines of its own or
within quotation, and harmless. What is owed stands out; what may be let be does not ask for anything.
"""

from __future__ import annotations

from bb.attention.words import ACK_ONLY, CLAIMED, MAY, MUST, MUST_NOT, PLAIN, SIGNALS
from bb.cli.screens import paint
from bb.cli.screens.paint import block, column, flowing, hanging, heading, painted, whole
from bb.kernel import clock
from bb.kernel.outside import Outside, names, page, sentence, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

AUTHOR, PLACE, WORD = 24, 24, 18  # columns for who says something, for where, and for a word that is then explained
MARKS = {MUST: "!", MAY: "?", MUST_NOT: "·"}
DONE = "-"  # what stands before an event that is settled


def of(command: str, data: Outside) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    if command == "chat inject":  # goes into a prompt as it is: no line of it is broken
        return injected(data)
    return paint.laid_out(FORMS[command](data))


# -- events, one line each


def listed(found: Outside) -> list[str]:
    """What there is for an agent, newest first. What wants no answer is counted, unless its words were asked for."""
    rows = found["events"]
    if not rows:
        bind, ingest = whole("`bb chat bind`"), whole("`bb chat ingest`")
        return [f"Nothing to show. {ingest} takes in what was said elsewhere, {bind} says whom it means."]
    shown = [each for each in rows if each["policy"] != MUST_NOT or "content" in each]
    lines = []
    for each, line in zip(shown, _rows(shown), strict=True):
        lines += [line, *spoken(each.get("content"))]
    lines += _counted([each for each in rows if each["policy"] == MUST_NOT and "content" not in each])
    more = whole(f"--cursor {shell_word(found['cursor'])}")
    return [*lines, *([f"-> the same with {more}"] if found["cursor"] else [])]


def _rows(rows: Sequence[Outside], when: Callable[[Outside], str] | None = None) -> list[str]:
    """One line for each event: what is to be done, since when, who, where, why, and its id."""
    authors = min(max((paint.occupied(_author(each)) for each in rows), default=0), AUTHOR)
    places = min(max((paint.occupied(_where(each["conversation"])) for each in rows), default=0), PLACE)
    return [_row(each, (when or _age)(each), authors, places) for each in rows]


def _author(each: Outside) -> str:
    return f"{each['author']}{_doubt(each)}"


def _doubt(each: Outside) -> str:
    """That a message is in the person's name, and the person has not signed it."""
    return ", unverified" if each.get("unverified") else ""


def _row(each: Outside, when: str, authors: int, places: int) -> str:
    who, where = column(_author(each), authors), column(_where(each["conversation"]), places)
    why = ", ".join([whole(each["reason"]), *_notes(each)])
    line = f"{column(_mark(each), 2)} {when}  {who}  {where}  {why}  [{whole(each['eventId'])}]"
    is_quiet = each["policy"] in (ACK_ONLY, MUST_NOT) or not each["open"]
    return painted(line, "dim") if is_quiet else line


def _mark(each: Outside) -> str:
    """What stands before an event: of what may only be acknowledged, the sign that does so."""
    if each["policy"] == ACK_ONLY:
        return each.get("signal").among(SIGNALS, SIGNALS["seen"]).glyph
    if MUST in (each["policy"], each.get("originalPolicy")) and each["open"]:
        return painted(MARKS[MUST], "red")
    return each["policy"].among(MARKS, "?") if each["open"] or each["policy"] == MUST_NOT else DONE


def _age(each: Outside) -> str:
    return f"{paint.span(int(each['ageMs']) // 1000):>6}"


def _where(conversation: Outside) -> str:
    """Where it was said; a thread as `--thread` takes it."""
    thread = f"/{conversation['threadId']}" if conversation.get("threadId") else ""
    return whole(f"{conversation['kind']} {conversation['id']}{thread}")


def _notes(each: Outside) -> list[str]:
    """What is to be known of an event besides why it is there."""
    claim = each.get("claim") if each.get("reason") != CLAIMED else Outside(None)
    signal, linked = each.get("signal") if each["policy"] != ACK_ONLY else None, each.get("linked")
    disposition = each["disposition"] if each["policy"] != MUST_NOT or each["open"] else None
    notes = [f"about {whole(linked)}"] if linked else []
    notes += [str(each["priority"])] if each["priority"] in ("high", "urgent") else []
    notes += [f"claimed by {claim['owner']}"] if claim else []
    notes += [str(disposition)] if disposition and not (disposition == CLAIMED and each.get("claim")) else []
    notes += [f"back in {_left(each['until'], each)}"] if each.get("until") else []
    notes += [f"signal {signal}"] if signal else []
    notes += ["its time is over"] if each.get("stale") and each["open"] else []
    notes += ["look at the thread first"] if each.get("threadCheckRequired") and each["open"] else []
    notes += ["asked back"] if each.get("awaitingClarification") else []
    notes += ["though an answer is owed"] if each.get("deviation") else []
    notes += [f"by {whole(each['supersededBy'])}"] if each.get("supersededBy") else []
    return [*notes, *(["deleted"] if each.get("deleted") else [])]


def _left(until: Outside, each: Outside) -> str:
    """How long it still takes from when an answer was given."""
    return paint.span((int(until) - _now(each)) // 1000) if until.is_number else "some time"


def _now(each: Outside) -> int:
    """When the answer that an event stands in was given."""
    return clock.parse_or(str(each["at"]), 0) + int(each["ageMs"])


def _counted(rows: Sequence[Outside]) -> list[str]:
    """What wants no answer: how much there is of it, and why."""
    if not rows:
        return []
    why: dict[str, int] = {}
    for each in rows:
        why[str(each["reason"])] = why.get(str(each["reason"]), 0) + 1
    most = sorted(why.items(), key=lambda each: -each[1])
    reasons = ", ".join(whole(f"{count} {reason}") for reason, count in most)
    verb = "want" if len(rows) > 1 else "wants"
    look = whole(f"bb chat list --policy {MUST_NOT} --body")
    return [painted(f"{MARKS[MUST_NOT]}  {len(rows)} {verb} no answer: {reasons}", "dim"), f"-> {look}"]


def spoken(parts: Outside, inset: str = "    ") -> list[str]:
    """The words of somebody, line by line, set in from what is ours and marked."""
    lines: list[str] = []
    for part in parts:
        if part.get("type") == "text":
            lines += block(part.get("text", ""), inset)
        else:
            about = f"({part.get('type')}: {flowing(part.without('type'))})"
            lines.append(f"{inset}{hanging(about)}")
    return lines


def pending(found: Outside) -> list[str]:
    """What an agent owes, or has taken on, the most urgent first."""
    if not found["events"]:
        return [f"{found['agent']} owes nobody an answer. {whole('`bb chat list`')} shows what else there is."]
    return _rows(list(found["events"]), _due)


def _due(each: Outside) -> str:
    if each["dueAt"].is_none:
        return f"{'':<10}"
    left = (clock.parse_or(str(each["dueAt"]), 0) - _now(each)) // 1000
    return f"due {paint.span(left):<6}" if left > 0 else painted(f"{paint.span(-left) + ' late':<10}", "red")


def knocks(found: Outside) -> list[str]:
    """The knocks that were not followed: nothing in them was said by anybody."""
    if not found["knocks"]:
        return [f"Nobody knocks at {found['agent']}. {whole('`bb chat pending`')} shows what it owes."]
    return [*map(_knock, found["knocks"]), f"-> {whole('bb chat read EVENT')} shows what was said"]


def _knock(each: Outside) -> str:
    knock = each["knock"]
    count = f", {knock['count']} of them" if knock.get("count") else ""
    where = whole(str(knock["where"]).replace(":", " ", 1))
    mark = SIGNALS["seen"].glyph if knock["policy"] == ACK_ONLY else knock["policy"].among(MARKS, "?")
    topic = f"{flowing(sentence(knock['topic']))}{count}"
    who = f"{knock['from']}{_doubt(knock)}"
    line = f"{column(mark, 2)} {topic}, from {who} in {where}  [{whole(each['eventId'])}]"
    return painted(line, "dim") if knock["policy"] == ACK_ONLY else line


# -- one event, or what was said


def read(found: Outside) -> list[str]:
    """A thread, or the end of a conversation, oldest first."""
    thread = f", thread {whole(found['thread'])}" if found["thread"] else ""
    lines = [f"{heading(whole(found['conversation']))}{thread}"]
    if found["truncated"]:
        first = shell_word(found["items"][0]["eventId"])
        lines.append(f"-> the same with {whole(f'--before {first}')} shows what was said before")
    for each in found["items"]:
        notes = ", edited" if each.get("version") else ""
        who = painted(_author(each), "cyan")
        lines.append(f"{moment(each['at'])}  {who}{notes}  [{whole(each['eventId'])}]")
        lines += [f"    {painted('deleted', 'dim')}"] if each.get("tombstone") else spoken(each["parts"])
    return lines if found["items"] else [*lines, "  nothing to read there"]


def show(found: Outside) -> list[str]:
    """One event, and what has become of it, step by step."""
    is_edited = int(found["version"]) > 1
    deletion = ", deleted" if found.get("deleted") else f", version {found['version']}" if is_edited else ""
    author, ago = painted(_author(found), "cyan"), paint.span(int(found["ageMs"]) // 1000)
    lines = [f"{heading(whole(found['eventId']))}  {author} in {_where(found['conversation'])}, {ago} ago{deletion}"]
    posting = f", {found['state']}" if found["state"] else ""
    lines += [f"  to {found['agent']}: {_decision(found)}", f"  {_state(found)}{posting}", *_called_back(found)]
    if not found["steps"]:
        return [*lines, painted("  nothing was to be done about it", "dim")]
    for each in found["steps"]:
        about, step = told_about(each.get("about", {})), str(each["step"])
        lines.append(f"  {moment(each['at'], 19)}  {f'{column(step, 10)}  {hanging(about)}' if about else step}")
    return lines


def _called_back(found: Outside) -> list[str]:
    """Why a message was called back, in its sender's words."""
    return [f"  called back: {flowing(found['deletionReason'])}"] if found.get("deletionReason") else []


def _decision(found: Outside) -> str:
    return f"{found['policy']}, {found['directedness']}, {found['injection']} ({whole(found['reason'])})"


def _state(found: Outside) -> str:
    """How far it has come, and what has become of it."""
    is_open = "open" if found["open"] else "closed"
    phase = str(found["phase"]).replace("_", " ")
    tried = f", offered {found['attempt']} times" if int(found["attempt"]) > 1 else ""
    about = found.otherwise(priority="normal", ageMs=0, at="")
    return ", ".join([*dict.fromkeys([is_open, phase + tried, *_notes(about)])])


def told_about(about: Outside) -> str:
    """What a step says besides its name."""
    if not about.is_mapping:
        return flowing(about)
    decision = about.get("decision")
    if decision.is_mapping or decision.is_list:
        return flowing(names(Outside((decision.values() if decision.is_mapping else list(decision))[:4])))
    told = [f"{name} {_told(name, value)}" for name, value in about.items() if name != "version"]
    return flowing(", ".join(told))


def _told(name: Outside, value: Outside) -> str:
    """VALUE in words; a moment, where its NAME says that it is one."""
    is_moment = name == "until" and value.is_number and clock.FIRST <= int(value) <= clock.LAST
    return moment(Outside(clock.text(int(value)))) if is_moment else str(value)


POLICY = {
    MUST: "it owes an answer",
    MAY: "it may answer, and need not",
    ACK_ONLY: "it may show that it has seen it, and no more",
    MUST_NOT: "it is not to answer",
}
AIM = {
    "to_me": "meant for this agent",
    "to_my_role": "meant for a role, a thread or work of this agent",
    "to_other": "meant for somebody else",
    "ambient": "meant for nobody in particular",
}
SEEN = {
    "immediate": "it sees this at once",
    "buffered": "it sees this in its next turn, once the author has stopped",
    "notify": "it hears of it, and asks for the words itself",
    "tool_mailbox": "it sees this when it looks",
    "digest": "it sees this in its next digest",
    "silent": "it does not see this",
}
REASONS = {
    "direct_message": "a private message to it",
    "direct_mention": "it is named",
    "thread_question": "a question to what it wrote itself",
    "role_mention": "its role is called",
    "thread_participation": "it writes in that thread",
    "owned_thread": "a question in a thread it owns",
    "owned_stream": "a question in a stream of work it owns",
    "owned_work_changed": "something new about work it owns",
    "assignment": "work is given to it",
    "approval_request": "it is asked to approve",
    "blocker": "somebody cannot go on",
    "acknowledgement": "no more than thanks, or a receipt",
    "addressed_to_other": "somebody else is named",
    "agent_chatter": "an agent said it to nobody in particular",
    "unaddressed": "nobody is named",
    "status_broadcast": "how far things are",
    "tool_output": "what a tool has put out",
    "unbound": "it has no name on that platform",
    "claimed_by_other": "another agent is responsible for it",
    "claimed": "it is responsible for it",
    "escalated": "whoever was asked before has not answered",
    "edited_after_response": "edited after it was answered",
    "reaction": "a reaction to what it said itself",
    "loop_guard": "too many turns of agents among themselves",
    "rate_limited": "its author says too much at a time",
}


KINDS = {
    "dm": "in private",
    "channel": "in a channel",
    "thread": "in a thread",
    "system": "by the system",
    "tool": "by a tool",
}


def explain(found: Outside) -> list[str]:
    """Why an event is to an agent what it is."""
    stands, inputs = found["now"], found["inputs"]
    came = found["recorded"] or found
    intent = f", {_article(inputs['intent'])}" if inputs["intent"] != PLAIN else ""
    author = painted(_author(inputs), "cyan")
    where = inputs["kind"].among(KINDS, str(inputs["kind"]))
    lines = [f"{heading(whole(found['eventId']))}  {author} {where}{intent}; to {found['agent']}:"]
    lines += _explained(stands["policy"], POLICY) + _explained(stands["directedness"], AIM)
    lines += _explained(stands["injection"], SEEN) + _explained(stands["reason"], REASONS)
    due = f", due {moment(found['dueAt'])}" if found["dueAt"] and found["open"] else ""
    lines += [f"  {_state(found.but(priority=stands['priority']))}{due}", *_called_back(found)]
    if _decision(came) != _decision(stands):
        lines.append(f"When it came it was {_decision(came)}; claims and time have changed that since.")
    if found["recorded"]:
        lines.append(f"Recorded when it came: {_decision(came)}. By the rules of now: {_decision(found)}.")
    aimed = found["rule"]["aimed"]  # of a reaction, say, it is not what was decided by
    lines += [
        "",
        heading("What went in"),
        *_inputs(inputs, aimed if aimed["directedness"] == found["directedness"] else Outside({})),
    ]
    return [*lines, *(painted(f"Warning: {flowing(sentence(each))}", "yellow") for each in found["warnings"])]


def _article(intent: Outside) -> str:
    plain = str(intent).replace("_", " ")
    return f"{'an' if plain[:1] in 'aeiou' else 'a'} {plain}"


def _explained(word: Outside, means: Mapping[str, str]) -> list[str]:
    return [f"  {column(whole(word), WORD)}  {hanging(flowing(word.among(means, '')))}".rstrip()]


def _inputs(inputs: Outside, aimed: Outside) -> list[str]:
    """What was looked at, as far as there was any of it, and at what it was found to be aimed."""
    labels = {
        "mentions": "names",
        "recipient": "recipient",
        "declared": "sender means it",
        "thread": "thread",
        "stream": "stream",
        "participants": "write in the thread",
        "turnsOfAgents": "turns of agents",
    }
    about = {label: inputs.get(name) for name, label in labels.items()}
    about |= {"agents called": inputs["calls"]["agents"], "by their role": inputs["calls"]["groups"]}
    rows = {label: str(value) for label, value in about.items() if value}
    rows |= {"found to be": f"{aimed['directedness']}, {sentence(aimed['why'])}"} if aimed else {}
    wide = max(map(len, rows), default=0)
    told = [f"  {column(label, wide)}  {hanging(flowing(value))}" for label, value in rows.items()]
    return told or [painted("  nothing but that", "dim")]


# -- for prompts


def injected(found: Outside) -> Iterator[str]:
    """What is to enter a turn, exactly; and at the end, what is held back."""
    if found["text"]:
        yield from page(found["text"])
    if held := found["held"]:
        yield from paint.laid_out([painted(f"Held back: {_held(held)}", "dim")])


def _held(held: Outside) -> str:
    why: dict[str, int] = {}
    for each in held:
        why[str(each["why"])] = why.get(str(each["why"]), 0) + 1
    counts = ", ".join(f"{count} {flowing(reason.replace('_', ' '))}" for reason, count in why.items())
    times = [int(each["until"]) for each in held if each["until"].is_number]
    return counts + (f"; next at {clock.text(min(times))[11:19]}" if times else "")


def digest(found: Outside) -> list[str]:
    return [hanging(flowing(line)) for line in page(found["text"])] if found["text"] else ["Nothing new."]


def moment(written: Outside, length: int = 16) -> str:
    """A moment without its fractions; down to the minute unless LENGTH asks for more."""
    return str(written)[:length].replace("T", " ")


FORMS: dict[str, Callable[[Outside], Iterable[str]]] = {
    "chat list": listed,
    "chat read": read,
    "chat show": show,
    "chat explain": explain,
    "chat pending": pending,
    "chat knocks": knocks,
    "chat inject": injected,
    "chat digest": digest,
}
