"""Text screens for the operator of a chat host: audit, ingest, bindings, policy, signals, outbox and replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bb.attention.state.tuning import Tuning
from bb.attention.words import MUST
from bb.cli.screens import styling
from bb.cli.screens.attention import MARKS, WORD, minutes_text, spoken, step_details
from bb.cli.screens.attention_acts import STATES, effects, thread
from bb.cli.screens.styling import block, coloured, column, flowing, hanging, heading, whole
from bb.kernel import clock
from bb.kernel.foreign import Foreign, names, sentence, shell_word

# -- audit


def audit(found: Foreign) -> list[str]:
    """Counters, the events left open, and the last records, newest first."""
    counters = found["counters"]
    total = counters.get("deliveries", 0)
    others = counters.without(*FAULTS, "deliveries")
    rest = ", ".join(f"{count} {name}" for name, count in others.items())
    is_first = not counters.is_mapping or len(list(counters.items())) > 0
    lines = [f"{total} deliveries{': ' + rest if rest else ''}", *_faults(found)] if is_first else []
    if "verified" in found:
        is_sound = found["verified"]["sound"]
        damaged = f"The ledger is damaged: run {whole('`bb doctor`')}."
        lines.append("The chain of the ledger is intact." if is_sound else coloured(damaged, "red"))
    if found["open"]:
        lines.append(heading("Still open"))
        lines += [
            f"{coloured(MARKS[MUST], 'red')} since {minutes_text(event['openSince'])}  {event['agent']}"
            f"  [{whole(event['eventId'])}]"
            for event in found["open"]
        ]
    if not found["records"]:
        return [*lines, f"No records yet; {whole('`bb chat ingest`')} imports messages."]
    day = ""
    for record in found["records"]:
        if record["at"][:10] != day:
            day = str(record["at"][:10])
            lines.append(heading(day))
        lines.append(f"  {record['at'][11:19]}  {_record(record)}")
    following = f"bb chat audit --cursor {shell_word(found['cursor'])}" if found.get("cursor") else ""
    return [*lines, *([f"-> {whole(following)}"] if following else [])]


def _record(each: Foreign) -> str:
    who = str(each.get("agent") or each.get("by") or "")
    event = f"  [{whole(each['eventId'])}]" if each.get("eventId") else ""
    if each["what"] == "refused":
        details = step_details(each.without("at", "what", "by", "code", "eventId"))
        refused = coloured("refused", "yellow")
        return f"{refused}     {who}  {whole(each['code'])}  {details}".rstrip() + event
    about = each.get("about") or Foreign({})
    decision = each["decision"] if "decision" in each else about.get("decision")
    summary = step_details(about) if decision.is_none else _weighed(decision)
    return f"{column(str(each['what']), 10)}  {who}  {summary}".rstrip() + event


def _weighed(decision: Foreign) -> str:
    """A decision as `policy: reason`."""
    if decision.is_mapping:
        return whole(f"{decision['policy']}: {decision['reason']}")
    return whole(f"{decision[1]}: {decision[3]}") if decision.is_list and len(decision) > 3 else ""


# -- input and output


def ingested(found: Foreign) -> list[str]:
    """The number of lines imported, and the agents that they concern."""
    if not found["counts"]:
        return [f"The input is empty. {whole('`bb chat ingest --help`')} describes the input format."]
    lines = [_counts(found["counts"])]
    concerned = [event for event in found["events"] if event.get("decisions")]
    for event in concerned:
        lines.append(f"{whole(event['eventId'])}  {event['type']} {event['status']}")
        lines += effects(event["decisions"])
    if not concerned and found["counts"].get("recorded"):
        bind = whole("`bb chat bind AGENT --handle PLATFORM:ID`")
        lines.append(f"No agent is asked to act. {bind} maps a platform name to an agent.")
    return lines


def refused(details: Foreign) -> list[str]:
    """The lines that were refused, and the status of the others."""
    counts = details.get("counts")
    lines = [
        f"line {refusal['line']}: [{refusal['code']}] {flowing(sentence(refusal['message']))}"
        for refusal in details["refused"]
    ]
    return [*([f"The others: {_counts(counts)}"] if counts else []), *(lines if len(lines) > 1 else [])]


def _counts(counts: Foreign) -> str:
    return ", ".join(f"{count:,} {str(status).replace('_', ' ')}" for status, count in counts.items())


NAMES = {
    "handles": "known as",
    "roles": "in the roles",
    "streams": "owns the streams",
    "threads": "owns the threads",
    "conversations": "private in",
}


def bound(found: Foreign) -> list[str]:
    """The platform names of agents, and the streams and threads that they own."""
    if "bindings" not in found:
        return [*_binding(found), *_before_bind(found)]
    empty = f"No agents are registered. {whole('`bb agent register --name NAME --role ROLE`')} adds an agent."
    return [line for binding in found["bindings"] for line in _binding(binding)] or [empty]


def _before_bind(found: Foreign) -> list[str]:
    """How many messages already used a name that was bound just now, and the next command."""
    if not (earlier := found.get("beforeBind")):
        return []
    count, age = int(earlier["count"]), styling.span(int(earlier["oldestAgeMs"]) // 1000)
    messages = f"{count} message{'' if count == 1 else 's'} named {found['agent']} before; the oldest is {age} old"
    command = whole(f"bb chat knocks --agent {shell_word(found['agent'])}")
    return [f"  {messages}", f"-> {command} lists them"]


def _binding(each: Foreign) -> list[str]:
    names_by_kind = {name: listed for name in NAMES if (listed := each.get(name))}
    if not names_by_kind:
        command = whole(f"`bb chat bind {shell_word(each['agent'])} --handle PLATFORM:ID`")
        return [f"{heading(str(each['agent']))}  has no name on any platform; {command}"]
    rows = []
    for name, listed in names_by_kind.items():
        texts = [thread(one) if name == "threads" else whole(one) for one in listed]
        rows.append(f"  {column(NAMES[name], WORD)}  {hanging(', '.join(texts))}")
    return [heading(str(each["agent"])), *rows]


def arranged(found: Foreign) -> list[str]:
    """The settings of a conversation."""
    points = [f"on {whole(found['platform'])}"] if found["platform"] else []
    points += ["agents' messages are posted by a bridge"] if found["is_external"] else []
    points += ["muted"] if found.get("is_muted") else []
    seen = "visible to its members only" if found["is_private"] else "visible to everybody"
    if found.get("kind") == "dm":
        seen = "visible to its participants only"
    named = ("members", "lead", "owner", "stream", "workspace")
    rows = [(name, str(found[name])) for name in named if found.get(name)]
    return [
        f"{heading(whole(found['id']))}  {'; '.join([str(found['kind']), seen, *points])}",
        *(f"  {column(name, 9)}  {hanging(flowing(value))}" for name, value in rows),
    ]


def policy(found: Foreign) -> list[str]:
    """The settings changed here, the policy matrix, and the default settings."""
    usual = _plain(Tuning().as_dict())
    own = [(name, value) for name, value in found["settings"].items() if value != usual.get(str(name))]
    lines = [heading("Changed settings"), *(_settings(own) or [coloured("  none", "dim")])]
    if "matrix" not in found:
        return lines
    named = [name for name, _ in own]
    rest = [(name, value) for name, value in found["settings"].items() if name not in named]
    rows = [
        _cells(str(row["directedness"]), str(row["policy"]), str(row["injection"]), names(row["for"]) or OTHERS)
        for row in found["matrix"]
    ]
    change = whole("""bb chat policy --set '{"compose_ms": 2000}'""")
    lines += ["", heading("The matrix"), coloured(_cells("it is", "answer", "seen", "for"), "dim"), *rows]
    return [*lines, "", heading("Defaults"), *_settings(rest), f"-> {change}"]


OTHERS = "anything else"


def _cells(*cells: str) -> str:
    """A row of the matrix."""
    aimed, answer, seen, what = cells
    return f"  {column(aimed, 10)} {column(answer, 16)} {column(seen, 12)} {hanging(what)}"


def _plain(settings: Mapping[str, object]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def _settings(settings: Sequence[tuple[Foreign, Foreign]]) -> list[str]:
    """One line for each setting; a length of time also in a readable unit."""
    lines = []
    for name, value in settings:
        if name == "rules" and value:
            lines += [f"  {column('rule', WORD)}  {hanging(_rule(rule))}" for rule in value]
            continue
        is_time = str(name).endswith("_ms") and int(value) % clock.SECOND == 0
        about = f"  ({styling.span(int(value) // 1000).removesuffix(' 0h').removesuffix(' 0m')})" if is_time else ""
        text = str(value) if value or value.is_truth or value.is_number else "none"
        lines.append(f"  {column(str(name), WORD)}  {hanging(flowing(text))}{about}")
    return lines


def _rule(rule: Foreign) -> str:
    match = ", ".join(f"{name} {value}" for name, value in rule["match"].items())
    chosen = ", ".join(f"{name} {value}" for name, value in rule["set"].items())
    return flowing(f"{match or 'everything'}: {chosen}")


FAULTS = {
    "overSilence": "Too little was answered",
    "overTalk": "Too much was answered",
}
KINDS = {
    "unanswered": "no answer came in time",
    "late": "the answer came late",
    "failed": "the message could not be delivered",
    "declined": "the agent refused",
    "not_taken_up": "no agent took up the question",
    "refused": "an answer was refused",
    "forbidden": "an answer got out that was not allowed",
    "second_answer": "another agent had already answered",
    "duplicate": "the same answer was sent again",
}


def _faults(found: Foreign, *, with_events: bool = False) -> list[str]:
    """What went wrong, by counter and kind, and WITH EVENTS the events."""
    lines = []
    for name, title in FAULTS.items():
        about = found[name]
        kinds = ", ".join(f"{count} {kind}" for kind, count in about["kinds"].items())
        lines.append(f"{title}: {about['count']}{f' ({kinds})' if kinds else ''}")
        if not with_events:
            continue
        for event in about["events"]:
            who = names(event["agents"]) if "agents" in event else str(event["agent"])
            code = f": {whole(event['code'])}" if "code" in event else ""
            text = f"{KINDS[str(event['kind'])]}{code}"
            lines.append(f"  {minutes_text(event['at'])}  {who}  {text}  [{whole(event['eventId'])}]")
        if not about["cursor"].is_none:
            lines.append(f"  {whole('`bb chat signals --all`')} shows all of them.")
    return lines


def signals(found: Foreign) -> list[str]:
    """The signals, their glyphs, and the disposition that each gives an event; then what went wrong."""
    rows = [
        f"{column(str(signal['glyph']), 4)}{column(str(name), 10)}  {signal['disposition'] or 'leaves it open'}"
        for name, signal in found["signals"].items()
    ]
    rows += [f"    {whole(name)}  counts as {one}" for name, one in found["own"].items()]
    return rows + _faults(found, with_events=True)


def outbox(found: Foreign) -> list[str]:
    """An item to post, or the confirmed result of posting it."""
    if "type" not in found:
        return _confirmed(found)
    is_unknown = found["state"] == "unknown"
    state = coloured("perhaps already posted: check first", "yellow") if is_unknown else str(found["state"])
    head, event = f"{state}  {found.get('agent')}", f"[{whole(found['id'])}]"
    target = found.get("target")
    if found["type"] != "message" or not target.is_mapping:
        if found["type"] == "confirmation":
            return [f"{head} asks the person in {whole(found['target']['conversation'])}", *spoken(found["content"])]
        if found["type"] == "delete":
            return [f"{head} deletes {whole(found.get('onMessage'))}  {event}"]
        verb = "removes" if found.get("remove") else "adds"
        sign = f"{found.get('glyph')} {found.get('signal')}"
        return [f"{head} {verb} {sign} to {whole(found.get('onMessage'))}  {event}"]
    thread = f"/{target['thread']}" if target["thread"] else ""
    to = f", to {whole(target['recipient'])}" if target["recipient"] else ""
    answers = f", answers {whole(found['inReplyTo'])}" if found["inReplyTo"] else ""
    where = whole(f"{found['platform']} {target['conversation']}{thread}".strip())
    return [f"{head} -> {where}{to}{answers}  {event}", *spoken(found["content"])]


def _confirmed(found: Foreign) -> list[str]:
    if found.get("already"):
        return [f"Already {found['state']}  [{whole(found['id'])}]"]
    named = f" as {whole(found['platform_id'])}" if found.get("platform_id") else ""
    states = {"sent": f"Posted{named}", "failed": f"Permanently refused: {flowing(found.get('reason', ''))}"}
    return [f"{found['state'].among(states, STATES['unknown'])}  [{whole(found['id'])}]"]


# -- requests to the person


def confirmations(found: Foreign) -> list[str]:
    """The requests that wait for the person, each with its text and the commands that answer it."""
    if not found["confirmations"]:
        return ["No agent asks for anything."]
    return [line for request in found["confirmations"] for line in _request(request)]


def _request(request: Foreign) -> list[str]:
    where = f"from {whole(request['from'])} to {whole(request['to'] or 'another conversation')}"
    wish = request["kind"].among({"tool": "wants to run this tool"}, f"wants to send this {where}")
    command = f"bb chat confirm {shell_word(request['id'])}"
    return [
        f"{heading(str(request['agent']))} {wish}  {minutes_text(request['askedAt'])}",
        f"  {hanging(flowing(sentence(request['why'])))}",
        *block(request["text"], "    "),
        f"-> {whole(command)}, or {whole(f'{command} --refuse')}",
    ]


def confirmed(found: Foreign) -> list[str]:
    """The person's answer to a request."""
    verb = found["state"].among({"allowed": "Allowed", "refused": "Refused"}, "Answered")
    already = "Already " + verb.lower() if found.get("already") else verb
    is_told = not found.get("already") and found["kind"] != "tool"
    told = f". {found['agent']} is notified" if is_told else ""
    return [f"{already}{told}  [{whole(found['id'])}]"]


# -- replay


def replayed(found: Foreign) -> list[str]:
    """One step, its result, and the events that each agent would see after it."""
    error = found.get("error")
    result = f"[{error['code']}] {sentence(error['message'])}" if error else _brief(found.get("answer"))
    sees = [f"    {agent} sees {'; '.join(map(sentence, events))}" for agent, events in found["sees"].items() if events]
    return [f"{found['step']:>3}  {minutes_text(found['at'], 19)[11:]}  {found['do']}  {result}", *sees]


def _brief(answer: Foreign) -> str:
    """The short values of an answer, on one line."""
    if answer.is_list:
        return f"{len(answer)} answers" if len(answer) != 1 else _brief(answer[0])
    due = [f"{change['what']} {change['eventId']} of {change['agent']}" for change in answer.get("due")]
    plain = [
        f"{name} {value}"
        for name, value in answer.items()
        if (value.is_text and len(value.lines()) < 2) or value.is_number or value.is_truth
    ]
    return flowing(", ".join([*due, *plain]))


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "chat audit": audit,
    "chat ingest": ingested,
    "chat bind": bound,
    "chat arrange": arranged,
    "chat policy": policy,
    "chat signals": signals,
    "chat outbox": outbox,
    "chat confirmations": confirmations,
    "chat confirm": confirmed,
    "refused": refused,
    "chat replay": replayed,
}
