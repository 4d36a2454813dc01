"""What agents do about chat (C2A), and what became of it, as a person reads it."""

from __future__ import annotations

from bb.cli.screens import paint
from bb.cli.screens.attention import AUTHOR, moment
from bb.cli.screens.paint import column, flowing, painted, whole
from bb.kernel.outside import Outside, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def of(command: str, data: Outside) -> Iterable[str]:
    """The lines that say DATA, the answer of COMMAND, as wide as the terminal allows."""
    return paint.laid_out(FORMS[command](data))


def claim(found: Outside) -> list[str]:
    """Who is responsible, and for how long."""
    subject = _subject(found["subject"])
    if not found["granted"]:
        return [f"Given back: {subject}"]
    return [f"{found['owner']} is responsible for {subject} until {moment(found['expiresAt'])}"]


def _subject(subject: Outside) -> str:
    """An event by its id; a thread as `--thread` takes it."""
    kind, _, name = subject.parted(" ")
    return whole("thread ") + thread(name) if kind == "thread" else whole(name)


def thread(name: Outside) -> str:
    """A conversation and a thread in it, as they are typed."""
    return whole("/".join(sentence(name).rsplit(" ", 1)))


def deferred(found: Outside) -> list[str]:
    return [f"Put off until {moment(found['resurfaceAt'])}; then it comes back  [{whole(found['eventId'])}]"]


def resolved(found: Outside) -> list[str]:
    """What is settled now."""
    if found["disposition"].is_none:
        return [f"Nothing was open there for you: {thread(found['eventId'])}"]
    also = [f"  and with it {whole(each)}" for each in found["alsoClosed"]]
    return [f"Settled: {found['disposition']}  [{whole(found['eventId'])}]", *also]


def progress(found: Outside) -> list[str]:
    total = f" of {found['total']}" if not found.get("total").is_none else ""
    note = f": {flowing(found['message'])}" if found.get("message") else ""
    return [f"{whole(found['token'])}: {found['progress']}{total}{note}"]


def ticked(found: Outside) -> list[str]:
    """What time has brought about."""
    rows = [
        f"{column(str(each['what']).replace('_', ' '), 12)}  {each['agent']}"
        f"{' -> ' + str(each['to']) if 'to' in each else ''}  [{whole(each['eventId'])}]"
        for each in found["due"]
    ]
    return rows or ["Nothing is due."]


def cancelled(found: Outside) -> list[str]:
    before = "It was called back already" if found.get("already") else "Called back"
    return [f"{before}  [{whole(found['eventId'])}]"]


def sent(found: Outside) -> list[str]:
    """What became of a message, whom it reaches, and what would have been better."""
    state = found["state"].among(STATES, str(found["state"]))
    again = "Sent before, and not again: " if found["deduplicated"] else ""
    done = f"; what it answers is {found['disposition']}" if found["disposition"] else ""
    head = f"{again}{state[:1].lower() + state[1:] if again else state}{done}  [{whole(found['messageId'])}]"
    warned = [
        painted(f"Warning: {flowing(sentence(each['message']))}  ({each['code']})", "yellow")
        for each in found["warnings"]
    ]
    nobody = [] if found["effects"] or again else ["  no agent is asked anything"]
    return [head, *warned, *effects(found["effects"]), *nobody]


STATES = {
    "sent": "Sent",
    "pending": "Waits in the outbox until it is posted",
    "unknown": "Not known whether it was posted",
    "failed": "Refused for good where it was to be posted",
}


def effects(effects: Outside) -> list[str]:
    """What a message is to those it concerns, the one who is asked first before the others."""
    first = sorted(effects.items(), key=lambda each: not each[1].get("defaultResponder"))
    return [f"  {column(str(agent), AUTHOR)}  {_effect(each)}" for agent, each in first]


def _effect(decision: Outside) -> str:
    first = ", is asked first" if decision.get("defaultResponder") else ""
    return f"{decision['policy']}, {decision['injection']} ({whole(decision['reason'])}){first}"


def reacted(found: Outside) -> list[str]:
    before = f", instead of {found['superseded']}" if found.get("superseded") else ""
    sign = f"{found['glyph']} {found['signal']}{before}"
    return [f"{sign}; the event is {found['disposition'] or 'still open'}  [{whole(found['eventId'])}]"]


FORMS: dict[str, Callable[[Outside], Iterable[str]]] = {
    "chat claim": claim,
    "chat defer": deferred,
    "chat resolve": resolved,
    "chat progress": progress,
    "chat tick": ticked,
    "chat cancel": cancelled,
    "chat send": sent,
    "chat react": reacted,
}
