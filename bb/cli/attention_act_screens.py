"""What agents do about chat (C2A), and what became of it, as a person reads it."""

from __future__ import annotations

from bb.cli import paint
from bb.cli.attention_screens import AUTHOR, moment
from bb.cli.paint import column, flowing, painted, whole
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any


def of(command: str, data: Any) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS[command](data))


def claim(found: dict[str, Any]) -> list[str]:
    """Who is responsible, and for how long."""
    subject = _subject(found["subject"])
    if not found["granted"]:
        return [f"Given back: {subject}"]
    return [f"{found['owner']} is responsible for {subject} until {moment(found['expiresAt'])}"]


def _subject(subject: str) -> str:
    """An event by its id; a thread as `--thread` takes it."""
    kind, _, name = subject.partition(" ")
    return whole("thread " + "/".join(name.rsplit(" ", 1)) if kind == "thread" else name)


def deferred(found: dict[str, Any]) -> list[str]:
    return [f"Put off until {moment(found['resurfaceAt'])}; then it comes back  [{whole(found['eventId'])}]"]


def resolved(found: dict[str, Any]) -> list[str]:
    """What is settled now."""
    if found["disposition"] is None:
        return [f"Nothing was open there for you: {whole('/'.join(found['eventId'].rsplit(' ', 1)))}"]
    also = [f"  and with it {whole(each)}" for each in found["alsoClosed"]]
    return [f"Settled: {found['disposition']}  [{whole(found['eventId'])}]", *also]


def progress(found: dict[str, Any]) -> list[str]:
    total = f" of {found['total']}" if found.get("total") is not None else ""
    note = f": {flowing(found['message'])}" if found.get("message") else ""
    return [f"{whole(found['token'])}: {found['progress']}{total}{note}"]


def ticked(found: dict[str, Any]) -> list[str]:
    """What time has brought about."""
    rows = [
        f"{column(str(each['what']).replace('_', ' '), 12)}  {each['agent']}"
        f"{' -> ' + harmless(each['to']) if 'to' in each else ''}  [{whole(each['eventId'])}]"
        for each in found["due"]
    ]
    return rows or ["Nothing is due."]


def cancelled(found: dict[str, Any]) -> list[str]:
    before = "It was called back already" if found.get("already") else "Called back"
    return [f"{before}  [{whole(found['eventId'])}]"]


def sent(found: dict[str, Any]) -> list[str]:
    """What became of a message, whom it reaches, and what would have been better."""
    state = STATES.get(found["state"], harmless(str(found["state"])))
    again = "Sent before, and not again: " if found["deduplicated"] else ""
    done = f"; what it answers is {found['disposition']}" if found["disposition"] else ""
    head = f"{again}{state[:1].lower() + state[1:] if again else state}{done}  [{whole(found['messageId'])}]"
    warned = [painted(f"Warning: {flowing(each['message'])}  ({each['code']})", "yellow") for each in found["warnings"]]
    nobody = [] if found["effects"] or again else ["  no agent is asked anything"]
    return [head, *warned, *effects(found["effects"]), *nobody]


STATES = {
    "sent": "Sent",
    "pending": "Waits in the outbox until it is posted",
    "unknown": "Not known whether it was posted",
    "failed": "Refused for good where it was to be posted",
}


def effects(effects: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a message is to those it concerns, the one who is asked first before the others."""
    first = sorted(effects.items(), key=lambda each: not each[1].get("defaultResponder"))
    return [f"  {column(harmless(agent), AUTHOR)}  {_effect(each)}" for agent, each in first]


def _effect(decision: Mapping[str, Any]) -> str:
    first = ", is asked first" if decision.get("defaultResponder") else ""
    return f"{decision['policy']}, {decision['injection']} ({whole(str(decision['reason']))}){first}"


def reacted(found: dict[str, Any]) -> list[str]:
    before = f", instead of {harmless(str(found['superseded']))}" if found.get("superseded") else ""
    sign = f"{harmless(found['glyph'])} {harmless(found['signal'])}{before}"
    return [f"{sign}; the event is {found['disposition'] or 'still open'}  [{whole(found['eventId'])}]"]


FORMS: dict[str, Callable[[Any], Iterable[str]]] = {
    "chat claim": claim,
    "chat defer": deferred,
    "chat resolve": resolved,
    "chat progress": progress,
    "chat tick": ticked,
    "chat cancel": cancelled,
    "chat send": sent,
    "chat react": reacted,
}
