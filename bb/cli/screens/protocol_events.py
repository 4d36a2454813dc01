"""Text screens for protocol events: HANDOFF, BLOCKED, INCURSION and RESUME."""

from __future__ import annotations

from bb.cli.screens import styling
from bb.cli.screens.styling import block, brief, column, doubt, flowing, whole
from bb.kernel.escaping import LONGEST_QUOTATION
from bb.kernel.foreign import Foreign, names, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

AGO = 10  # columns of an age such as `23h 59m ago`, which is longer only rarely


def state_word(state: Foreign) -> str:
    """The state of a message for people: `acked` is the state in which it is accepted."""
    return "accepted" if str(state) == "acked" else str(state)


def protocol_event(event: Foreign) -> list[str]:
    """One protocol event in full."""
    to = f" -> {names(event['recipients']) if 'recipients' in event else event['to_agent']}"
    scope = f" in {whole(event['scope'])}" if event["scope"] else ""
    who = f"{event['from_agent']}{doubt(event)}{to}{scope}, {state_word(event['state'])}"
    head = f"{event['id']}  {styling.ago(event['created_at'])}  {sentence(event['label'])}: {who}"
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
    return [f"  {styling.state(resolution['state'])} by {resolution['by']}, {styling.ago(resolution['at'])}{note}"]


def incursions(events: Foreign) -> list[str]:
    """INCURSIONs, each with its agents, scope and resolution."""
    lines = []
    for event in events:
        by = f" by {event['resolution']['by']}" if event["resolution"] else ""
        state = styling.state(event["state"])
        lines.append(
            f"{column(styling.ago(event['created_at']), AGO)}  {incursion_text(event)}"
            f"  {event['outcome']}, {state}{by}  [{whole(event['id'])}]"
        )
    return lines or ["No incursions."]


def accepted(events: Foreign) -> list[str]:
    """The incursions of a commit that the holder, or the person, accepted."""
    return [*incursions(events), "`bb sync` sends this to CI and to other clones; then run the check again"]


def protocol_events(events: Foreign) -> list[str]:
    """Protocol events, each with its subject."""
    lines = []
    for event in events:
        payload = event["payload"]
        subject = payload.get("subject") or payload.get("resolution_hint") or payload.get("evidence")
        who = f"{event['from_agent']}{doubt(event)} -> {event['to_agent']}"
        lines.append(
            f"{column(styling.ago(event['created_at']), AGO)}  {event['event_type']:<9}  {who}"
            f"  {brief(subject)}  ({state_word(event['state'])})  [{event['id']}]"
        )
    return lines or ["No protocol events."]


def incursion_text(each: Foreign) -> str:
    verb = "changed" if each["outcome"] == "touched" else "in"
    what = whole(each["scope"]) + (f" and {int(each['count']) - 1} more" if int(each["count"]) > 1 else "")
    return f"{each['from_agent']}{doubt(each)} {verb} {what}, held by {each['to_agent']} ({whole(each['held'])})"


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "protocol handoff": protocol_event,
    "protocol blocked": protocol_event,
    "protocol show": protocol_event,
    "protocol list": protocol_events,
    "protocol incursions": incursions,
    "protocol resolve": protocol_event,
    "protocol accept": accepted,
}
