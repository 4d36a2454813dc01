"""How `bb chat` reads to whoever looks after the host: what was recorded, how chat comes and goes, the policy."""

from __future__ import annotations

from bb.attention.state.tuning import Tuning
from bb.attention.words import MUST
from bb.cli.screens import paint
from bb.cli.screens.attention import MARKS, WORD, moment, spoken, told_about
from bb.cli.screens.attention_acts import STATES, effects, thread
from bb.cli.screens.paint import column, flowing, hanging, heading, painted, whole
from bb.kernel import clock
from bb.kernel.outside import Outside, names, sentence, shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


def of(command: str, data: Outside) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS[command](data))


# -- looking after it


def audit(found: Outside) -> list[str]:
    """How often too little or too much was said, what is left lying, and the last records, newest first."""
    counters = found["counters"]
    too_little, too_much = counters.get("overSilence", 0), counters.get("overTalk", 0)
    total = counters.get("deliveries", 0)
    others = counters.without("overSilence", "overTalk", "deliveries")
    rest = ", ".join(f"{count} {name}" for name, count in others.items())
    lines = [f"{total} deliveries{': ' + rest if rest else ''}; silent too long {too_little}, refused {too_much}"]
    if "verified" in found:
        is_sound = found["verified"]["sound"]
        damaged = f"The ledger is damaged: run {whole('`bb doctor`')}."
        lines.append("The chain of the ledger is sound." if is_sound else painted(damaged, "red"))
    if found["open"]:
        lines.append(heading("Left lying"))
        lines += [
            f"{painted(MARKS[MUST], 'red')} since {moment(each['openSince'])}  {each['agent']}"
            f"  [{whole(each['eventId'])}]"
            for each in found["open"]
        ]
    if not found["records"]:
        return [*lines, f"Nothing has been recorded; {whole('`bb chat ingest`')} takes in what was said."]
    day = ""
    for each in found["records"]:
        if each["at"][:10] != day:
            day = str(each["at"][:10])
            lines.append(heading(day))
        lines.append(f"  {each['at'][11:19]}  {_record(each)}")
    return lines


def _record(each: Outside) -> str:
    who = str(each.get("agent") or each.get("by") or "")
    event = f"  [{whole(each['eventId'])}]" if each.get("eventId") else ""
    if each["what"] == "refused":
        details = told_about(each.without("at", "what", "by", "code", "eventId"))
        refused = painted("refused", "yellow")
        return f"{refused}     {who}  {whole(each['code'])}  {details}".rstrip() + event
    about = each.get("about") or Outside({})
    decision = each["decision"] if "decision" in each else about.get("decision")
    told = told_about(about) if decision.is_none else _weighed(decision)
    return f"{column(str(each['what']), 10)}  {who}  {told}".rstrip() + event


def _weighed(decision: Outside) -> str:
    """What was decided, in short."""
    if decision.is_mapping:
        return whole(f"{decision['policy']}: {decision['reason']}")
    return whole(f"{decision[1]}: {decision[3]}") if decision.is_list and len(decision) > 3 else ""


# -- where it comes from and goes to


def ingested(found: Outside) -> list[str]:
    """How much came in, and whom it concerns."""
    if not found["counts"]:
        return [f"Nothing came in. {whole('`bb chat ingest --help`')} says what it reads from its input."]
    lines = [_counts(found["counts"])]
    concerned = [each for each in found["events"] if each.get("decisions")]
    for each in concerned:
        lines.append(f"{whole(each['eventId'])}  {each['type']} {each['status']}")
        lines += effects(each["decisions"])
    if not concerned and found["counts"].get("recorded"):
        bind = whole("`bb chat bind AGENT --handle PLATFORM:ID`")
        lines.append(f"It asks nobody anything. {bind} says who is meant by which name.")
    return lines


def refused(details: Outside) -> list[str]:
    """Which lines could not be understood, and what became of the others."""
    counts = details.get("counts")
    lines = [
        f"line {each['line']}: [{each['code']}] {flowing(sentence(each['message']))}" for each in details["refused"]
    ]
    return [*([f"The others: {_counts(counts)}"] if counts else []), *(lines if len(lines) > 1 else [])]


def _counts(counts: Outside) -> str:
    return ", ".join(f"{count:,} {str(status).replace('_', ' ')}" for status, count in counts.items())


NAMES = {
    "handles": "known as",
    "roles": "in the roles",
    "streams": "owns the streams",
    "threads": "owns the threads",
    "conversations": "private in",
}


def bound(found: Outside) -> list[str]:
    """Under which names agents are known, and what they own."""
    if "bindings" not in found:
        return _binding(found)
    nobody = f"Nobody is registered. {whole('`bb agent register --name NAME --role ROLE`')} adds an agent."
    return [line for each in found["bindings"] for line in _binding(each)] or [nobody]


def _binding(each: Outside) -> list[str]:
    given = {name: listed for name in NAMES if (listed := each.get(name))}
    if not given:
        command = whole(f"`bb chat bind {shell_word(each['agent'])} --handle PLATFORM:ID`")
        return [f"{heading(str(each['agent']))}  is known on no platform; {command}"]
    rows = []
    for name, listed in given.items():
        shown = [thread(one) if name == "threads" else whole(one) for one in listed]
        rows.append(f"  {column(NAMES[name], WORD)}  {hanging(', '.join(shown))}")
    return [heading(str(each["agent"])), *rows]


def arranged(found: Outside) -> list[str]:
    """What holds in a conversation."""
    points = [f"lives on {whole(found['platform'])}"] if found["platform"] else []
    points += ["agents' messages are posted by a bridge"] if found["is_external"] else []
    points += ["muted"] if found.get("is_muted") else []
    seen = "only its members see it" if found["is_private"] else "everybody may see it"
    if found.get("kind") == "dm":
        seen = "only who is in it sees it"
    named = ("members", "lead", "owner", "stream", "workspace")
    rows = [(name, str(found[name])) for name in named if found.get(name)]
    return [
        f"{heading(whole(found['id']))}  {'; '.join([str(found['kind']), seen, *points])}",
        *(f"  {column(name, 9)}  {hanging(flowing(value))}" for name, value in rows),
    ]


def policy(found: Outside) -> list[str]:
    """What was set here, the matrix, and all that is as it is everywhere."""
    usual = _plain(Tuning().as_dict())
    own = [(name, value) for name, value in found["settings"].items() if value != usual.get(str(name))]
    lines = [heading("Set here"), *(_settings(own) or [painted("  nothing; all is as it comes", "dim")])]
    if "matrix" not in found:
        return lines
    named = [name for name, _ in own]
    rest = [(name, value) for name, value in found["settings"].items() if name not in named]
    rows = [
        _cells(str(each["directedness"]), str(each["policy"]), str(each["injection"]), names(each["for"]) or OTHERS)
        for each in found["matrix"]
    ]
    change = whole("""bb chat policy --set '{"compose_ms": 2000}'""")
    lines += ["", heading("The matrix"), painted(_cells("it is", "answer", "seen", "for"), "dim"), *rows]
    return [*lines, "", heading("As it comes"), *_settings(rest), f"-> {change}"]


OTHERS = "anything else"


def _cells(*cells: str) -> str:
    """A row of the matrix, as narrow as it can be."""
    aimed, answer, seen, what = cells
    return f"  {column(aimed, 10)} {column(answer, 16)} {column(seen, 12)} {hanging(what)}"


def _plain(settings: Mapping[str, object]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def _settings(settings: Sequence[tuple[Outside, Outside]]) -> list[str]:
    """One line for each setting; a time also as people say it."""
    lines = []
    for name, value in settings:
        if name == "rules" and value:
            lines += [f"  {column('rule', WORD)}  {hanging(_rule(each))}" for each in value]
            continue
        is_time = str(name).endswith("_ms") and int(value) % clock.SECOND == 0
        about = f"  ({paint.span(int(value) // 1000).removesuffix(' 0h').removesuffix(' 0m')})" if is_time else ""
        said = str(value) if value or value.is_truth or value.is_number else "none"
        lines.append(f"  {column(str(name), WORD)}  {hanging(flowing(said))}{about}")
    return lines


def _rule(rule: Outside) -> str:
    match = ", ".join(f"{name} {value}" for name, value in rule["match"].items())
    chosen = ", ".join(f"{name} {value}" for name, value in rule["set"].items())
    return flowing(f"{match or 'everything'}: {chosen}")


def signals(found: Outside) -> list[str]:
    """The signals, how they look here, and what each makes of an event."""
    rows = [
        f"{column(str(each['glyph']), 4)}{column(str(name), 10)}  {each['disposition'] or 'leaves it open'}"
        for name, each in found["signals"].items()
    ]
    return rows + [f"    {whole(name)}  counts as {one}" for name, one in found["own"].items()]


def outbox(found: Outside) -> list[str]:
    """One thing that is to be posted; or, acknowledged, what became of it."""
    if "type" not in found:
        return _confirmed(found)
    is_unknown = found["state"] == "unknown"
    state = painted("perhaps posted, so look first", "yellow") if is_unknown else str(found["state"])
    head, event = f"{state}  {found.get('agent')}", f"[{whole(found['id'])}]"
    target = found.get("target")
    if found["type"] != "message" or not target.is_mapping:
        if found["type"] == "delete":
            return [f"{head} takes down {whole(found.get('onMessage'))}  {event}"]
        verb = "takes back" if found.get("remove") else "reacts with"
        sign = f"{found.get('glyph')} {found.get('signal')}"
        return [f"{head} {verb} {sign} to {whole(found.get('onMessage'))}  {event}"]
    thread = f"/{target['thread']}" if target["thread"] else ""
    to = f", to {whole(target['recipient'])}" if target["recipient"] else ""
    answers = f", answers {whole(found['inReplyTo'])}" if found["inReplyTo"] else ""
    where = whole(f"{found['platform']} {target['conversation']}{thread}".strip())
    return [f"{head} -> {where}{to}{answers}  {event}", *spoken(found["content"])]


def _confirmed(found: Outside) -> list[str]:
    if found.get("already"):
        return [f"It was {found['state']} already  [{whole(found['id'])}]"]
    named = f" as {whole(found['platform_id'])}" if found.get("platform_id") else ""
    said = {"sent": f"Posted{named}", "failed": f"Will never be posted: {flowing(found.get('reason', ''))}"}
    return [f"{found['state'].among(said, STATES['unknown'])}  [{whole(found['id'])}]"]


# -- a rehearsal


def replayed(found: Outside) -> list[str]:
    """One step: what it was, what came of it, and what everybody would see now."""
    error = found.get("error")
    told = f"[{error['code']}] {sentence(error['message'])}" if error else _brief(found.get("answer"))
    sees = [f"    {agent} sees {'; '.join(map(sentence, each))}" for agent, each in found["sees"].items() if each]
    return [f"{found['step']:>3}  {moment(found['at'], 19)[11:]}  {found['do']}  {told}", *sees]


def _brief(answer: Outside) -> str:
    """An answer, as far as it fits behind its step."""
    if answer.is_list:
        return f"{len(answer)} answers" if len(answer) != 1 else _brief(answer[0])
    due = [f"{each['what']} {each['eventId']} of {each['agent']}" for each in answer.get("due")]
    plain = [
        f"{name} {each}"
        for name, each in answer.items()
        if (each.is_text and len(each.lines()) < 2) or each.is_number or each.is_truth
    ]
    return flowing(", ".join([*due, *plain]))


FORMS: dict[str, Callable[[Outside], Iterable[str]]] = {
    "chat audit": audit,
    "chat ingest": ingested,
    "chat bind": bound,
    "chat arrange": arranged,
    "chat policy": policy,
    "chat signals": signals,
    "chat outbox": outbox,
    "refused": refused,
    "chat replay": replayed,
}
