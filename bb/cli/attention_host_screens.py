"""How `bb chat` reads to whoever looks after the host: what was recorded, how chat comes and goes, the policy."""

from __future__ import annotations

from bb.attention.tuning import Tuning
from bb.attention.words import MUST
from bb.cli import paint, text
from bb.cli.attention_act_screens import STATES, effects
from bb.cli.attention_screens import MARKS, WORD, moment, spoken, told_about
from bb.cli.paint import column, flowing, hanging, heading, painted, whole
from bb.kernel import clock
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def of(command: str, data: Any) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS[command](data))


# -- looking after it


def audit(found: dict[str, Any]) -> list[str]:
    """How often too little or too much was said, what is left lying, and the last records, newest first."""
    counters = dict(found["counters"])
    too_little, too_much = counters.pop("overSilence", 0), counters.pop("overTalk", 0)
    total = counters.pop("deliveries", 0)
    rest = ", ".join(f"{count} {harmless(name)}" for name, count in counters.items())
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
            day = each["at"][:10]
            lines.append(heading(harmless(day)))
        lines.append(f"  {each['at'][11:19]}  {_record(each)}")
    return lines


def _record(each: dict[str, Any]) -> str:
    who = flowing(str(each.get("agent") or each.get("by") or ""))
    event = f"  [{whole(each['eventId'])}]" if each.get("eventId") else ""
    if each["what"] == "refused":
        about = {name: value for name, value in each.items() if name not in ("at", "what", "by", "code", "eventId")}
        refused = painted("refused", "yellow")
        return f"{refused}     {who}  {whole(each['code'])}  {told_about(about)}".rstrip() + event
    about = {"decision": each["decision"]} if "decision" in each else each.get("about") or {}
    told = _weighed(about["decision"]) if "decision" in about else told_about(about)
    return f"{column(harmless(each['what']), 10)}  {who}  {told}".rstrip() + event


def _weighed(decision: Any) -> str:
    """What was decided, in short."""
    if isinstance(decision, dict):
        return whole(f"{decision['policy']}: {decision['reason']}")
    return whole(f"{decision[1]}: {decision[3]}") if isinstance(decision, list) and len(decision) > 3 else ""


# -- where it comes from and goes to


def ingested(found: dict[str, Any]) -> list[str]:
    """How much came in, and whom it concerns."""
    if not found["counts"]:
        return [f"Nothing came in. {whole('`bb chat ingest --help`')} says what it reads from its input."]
    lines = [_counts(found["counts"])]
    concerned = [each for each in found["events"] if each.get("decisions")]
    for each in concerned:
        lines.append(f"{whole(str(each['eventId']))}  {harmless(each['type'])} {harmless(each['status'])}")
        lines += effects(each["decisions"])
    if not concerned and found["counts"].get("recorded"):
        bind = whole("`bb chat bind AGENT --handle PLATFORM:ID`")
        lines.append(f"It asks nobody anything. {bind} says who is meant by which name.")
    return lines


def refused(details: Mapping[str, Any]) -> list[str]:
    """Which lines could not be understood, and what became of the others."""
    counts = details.get("counts") or {}
    lines = [f"line {each['line']}: [{each['code']}] {flowing(str(each['message']))}" for each in details["refused"]]
    return [*([f"The others: {_counts(counts)}"] if counts else []), *(lines if len(lines) > 1 else [])]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {harmless(status).replace('_', ' ')}" for status, count in counts.items())


NAMES = {
    "handles": "known as",
    "roles": "in the roles",
    "streams": "owns the streams",
    "threads": "owns the threads",
    "conversations": "private in",
}


def bound(found: dict[str, Any]) -> list[str]:
    """Under which names agents are known, and what they own."""
    if "bindings" not in found:
        return _binding(found)
    nobody = f"Nobody is registered. {whole('`bb agent register --name NAME --role ROLE`')} adds an agent."
    return [line for each in found["bindings"] for line in _binding(each)] or [nobody]


def _binding(each: dict[str, Any]) -> list[str]:
    given = {name: listed for name in NAMES if (listed := each.get(name))}
    if not given:
        command = whole(f"`bb chat bind {each['agent']} --handle PLATFORM:ID`")
        return [f"{heading(each['agent'])}  is known on no platform; {command}"]
    rows = []
    for name, listed in given.items():
        shown = ["/".join(one.rsplit(" ", 1)) for one in listed] if name == "threads" else listed
        rows.append(f"  {column(NAMES[name], WORD)}  {hanging(', '.join(map(whole, shown)))}")
    return [heading(each["agent"]), *rows]


def arranged(found: dict[str, Any]) -> list[str]:
    """What holds in a conversation."""
    points = [f"lives on {whole(found['platform'])}"] if found["platform"] else []
    points += ["agents' messages are posted by a bridge"] if found["is_external"] else []
    points += ["muted"] if found.get("is_muted") else []
    seen = "only its members see it" if found["is_private"] else "everybody may see it"
    if found.get("kind") == "dm":
        seen = "only who is in it sees it"
    named = ("members", "lead", "owner", "stream", "workspace")
    rows = [(name, text.short(found[name])) for name in named if found.get(name)]
    return [
        f"{heading(whole(found['id']))}  {'; '.join([harmless(found['kind']), seen, *points])}",
        *(f"  {column(name, 9)}  {hanging(flowing(value))}" for name, value in rows),
    ]


def policy(found: dict[str, Any]) -> list[str]:
    """What was set here, the matrix, and all that is as it is everywhere."""
    usual = _plain(Tuning().as_dict())
    own = {name: value for name, value in found["settings"].items() if value != usual.get(name)}
    lines = [heading("Set here"), *(_settings(own) or [painted("  nothing; all is as it comes", "dim")])]
    if "matrix" not in found:
        return lines
    rest = {name: value for name, value in found["settings"].items() if name not in own}
    rows = [
        _cells(each["directedness"], each["policy"], each["injection"], ", ".join(each["for"]) or "anything else")
        for each in found["matrix"]
    ]
    change = whole("""bb chat policy --set '{"compose_ms": 2000}'""")
    lines += ["", heading("The matrix"), painted(_cells("it is", "answer", "seen", "for"), "dim"), *rows]
    return [*lines, "", heading("As it comes"), *_settings(rest), f"-> {change}"]


def _cells(*cells: str) -> str:
    """A row of the matrix, as narrow as it can be."""
    aimed, answer, seen, what = cells
    return f"  {column(aimed, 10)} {column(answer, 16)} {column(seen, 12)} {hanging(what)}"


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}


def _settings(settings: Mapping[str, Any]) -> list[str]:
    """One line for each setting; a time also as people say it."""
    lines = []
    for name, value in settings.items():
        if name == "rules" and value:
            lines += [f"  {column('rule', WORD)}  {hanging(_rule(each))}" for each in value]
            continue
        is_time = name.endswith("_ms") and value % clock.SECOND == 0
        about = f"  ({paint.span(value // 1000).removesuffix(' 0h').removesuffix(' 0m')})" if is_time else ""
        said = text.short(value) if value or isinstance(value, bool | int) else "none"
        lines.append(f"  {column(name, WORD)}  {hanging(flowing(said))}{about}")
    return lines


def _rule(rule: Mapping[str, Any]) -> str:
    match = ", ".join(f"{harmless(name)} {text.short(value)}" for name, value in rule["match"].items())
    chosen = ", ".join(f"{harmless(name)} {text.short(value)}" for name, value in rule["set"].items())
    return flowing(f"{match or 'everything'}: {chosen}")


def signals(found: dict[str, Any]) -> list[str]:
    """The signals, how they look here, and what each makes of an event."""
    rows = [
        f"{column(harmless(each['glyph']), 4)}{column(harmless(name), 10)}  {each['disposition'] or 'leaves it open'}"
        for name, each in found["signals"].items()
    ]
    return rows + [f"    {whole(name)}  counts as {harmless(one)}" for name, one in found["own"].items()]


def outbox(found: dict[str, Any]) -> list[str]:
    """One thing that is to be posted; or, acknowledged, what became of it."""
    if "type" not in found:
        return _confirmed(found)
    is_unknown = found["state"] == "unknown"
    state = painted("perhaps posted, so look first", "yellow") if is_unknown else harmless(str(found["state"]))
    head, event = f"{state}  {harmless(str(found.get('agent')))}", f"[{whole(str(found['id']))}]"
    if found["type"] != "message" or not isinstance(target := found.get("target"), dict):
        if found["type"] == "delete":
            return [f"{head} takes down {whole(str(found.get('onMessage')))}  {event}"]
        verb = "takes back" if found.get("remove") else "reacts with"
        sign = harmless(f"{found.get('glyph')} {found.get('signal')}")
        return [f"{head} {verb} {sign} to {whole(str(found.get('onMessage')))}  {event}"]
    thread = f"/{target['thread']}" if target["thread"] else ""
    to = f", to {whole(target['recipient'])}" if target["recipient"] else ""
    answers = f", answers {whole(found['inReplyTo'])}" if found["inReplyTo"] else ""
    where = whole(f"{found['platform']} {target['conversation']}{thread}".strip())
    return [f"{head} -> {where}{to}{answers}  {event}", *spoken(found["content"])]


def _confirmed(found: dict[str, Any]) -> list[str]:
    if found.get("already"):
        return [f"It was {found['state']} already  [{whole(found['id'])}]"]
    named = f" as {whole(str(found['platform_id']))}" if found.get("platform_id") else ""
    said = {"sent": f"Posted{named}", "failed": f"Will never be posted: {flowing(found.get('reason', ''))}"}
    return [f"{said.get(found['state'], STATES['unknown'])}  [{whole(found['id'])}]"]


# -- a rehearsal


def replayed(found: dict[str, Any]) -> list[str]:
    """One step: what it was, what came of it, and what everybody would see now."""
    error = found.get("error")
    told = f"[{error['code']}] {harmless(error['message'])}" if error else _brief(found.get("answer"))
    sees = [f"    {harmless(agent)} sees {harmless('; '.join(each))}" for agent, each in found["sees"].items() if each]
    return [f"{found['step']:>3}  {moment(found['at'], 19)[11:]}  {harmless(found['do'])}  {told}", *sees]


def _brief(answer: Any) -> str:
    """An answer, as far as it fits behind its step."""
    if isinstance(answer, list):
        return f"{len(answer)} answers" if len(answer) != 1 else _brief(answer[0])
    due = [f"{each['what']} {each['eventId']} of {each['agent']}" for each in answer.get("due", ())]
    plain = {name: each for name, each in answer.items() if isinstance(each, str | int) and "\n" not in str(each)}
    return flowing(", ".join([*due, *(f"{name} {each}" for name, each in plain.items())]))


FORMS: dict[str, Callable[[Any], Iterable[str]]] = {
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
