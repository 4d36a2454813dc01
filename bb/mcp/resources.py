"""MCP resources: the repository's status, its sessions and single events. Each is the answer of an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from bb.kernel.errors import NotFound, Usage
from bb.kernel.record import Record
from bb.ledger.journal import unreadable
from bb.ledger.records import events, policy, signature_status
from bb.ops.attention import attention, greeting
from bb.ops.attention.attention_desk import Event
from bb.ops.desk.desk import Desk
from bb.ops.mail import protocol
from bb.ops.overview import overview, sessions
from bb.ops.params import Text, invalid

Read = Callable[[Desk, str], dict[str, Any]]

SCHEME = "bb://"
MOST = 200_000  # characters; larger than a tool's answer, since hosts do not put resources into the context unasked
LONGEST_NAME = 500
OURS, PUBLIC = "x.bb.", ("actor.", "group.")

ResourceNotThere = NotFound.declare(
    "RESOURCE_NOT_FOUND",
    "There is no such resource",
    hint="list resources with resources/list and resources/templates/list",
)


class Resource(Record):
    """One resource, or a template: its address then ends in the variable NAME."""

    path: str
    title: str
    about: str
    read: Read
    name: str = ""

    @property
    def uri(self) -> str:
        return SCHEME + self.path + (f"/{{{self.name}}}" if self.name else "")


def _event(desk: Desk, event: str) -> dict[str, Any]:
    """A protocol event, an event of agents and reservations, or a chat event that the caller may see."""
    try:
        return protocol.show(desk, Text(event))
    except protocol.EventNotThere.error:
        if envelope := _open_to_all(desk, event):
            return envelope
        if not desk.actor(None):  # visibility of a chat event depends on the caller
            raise
        return attention.show(desk, Event(event))


def _open_to_all(desk: Desk, event: str) -> dict[str, Any] | None:
    """An event that contains no message; None for all others."""
    try:
        recorded_event = events.event(desk.ledger, event)
    except (NotFound, Usage):
        return None
    # Excludes C2A and CBCL events.
    is_ours = recorded_event.kind.startswith(OURS) and recorded_event.kind.count(".") == OURS.count(".")
    if not (is_ours or recorded_event.kind.startswith(PUBLIC)):
        return None
    envelope = recorded_event.replace(unreadable=unreadable.why(recorded_event)).envelope()
    signer_policy = policy.cached(desk.ledger)
    return (
        next(iter(signature_status.with_verdicts(desk.ledger, signer_policy, [envelope])))
        if signer_policy
        else envelope
    )


def _status(desk: Desk, _: str) -> dict[str, Any]:
    return overview.status(desk)


def _sessions(desk: Desk, _: str) -> dict[str, Any]:
    return sessions.list_sessions(desk)


def _session(desk: Desk, bead: str) -> dict[str, Any]:
    return sessions.show(desk, Text(bead))


def _chat(desk: Desk, _: str) -> dict[str, Any]:
    return greeting.without_session(desk)


RESOURCES = (
    Resource("status", "Status", "Agents, reservations, open mail, incursions.", _status),
    Resource("sessions", "Sessions", "Beads in progress, by epic.", _sessions),
    Resource("chat", "Chat", "The C2A chat tools here: capabilities, signals, limits, rules.", _chat),
    Resource("sessions", "Session", "One bead with its conversation.", _session, "bead"),
    Resource(
        "events",
        "Event",
        "One event. A chat event only if you may see it.",
        _event,
        "event_id",
    ),
)


def read(desk: Desk, uri: str) -> dict[str, Any]:
    """The content of the resource at URI. It contains text from other agents."""
    resource, name = find(uri)
    return {"untrusted": True, **resource.read(desk, name)}


def find(uri: str) -> tuple[Resource, str]:
    """The resource at URI, and the value of its variable."""
    path = uri.removeprefix(SCHEME)
    for resource in RESOURCES:
        folder, _, name = path.partition("/")
        if uri.startswith(SCHEME) and folder == resource.path and bool(name) is bool(resource.name):
            return resource, _plain(name)
    raise ResourceNotThere(f"there is no resource {uri[:200]}")


def _plain(name: str) -> str:
    text = unquote(name)
    if len(text) > LONGEST_NAME:
        raise invalid(f"a name has at most {LONGEST_NAME} characters", "uri")
    return text
