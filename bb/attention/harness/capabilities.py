"""The capabilities that a harness and this host have in common. A missing one is answered with `false`."""

from __future__ import annotations

from typing import Any

from bb.attention.messages.envelopes import EnvelopeMembers
from bb.attention.words import OFFERED
from bb.kernel.record import Record

OURS = {
    "delivery": ("ack", "redelivery", "idempotency"),
    "injection": ("immediate", "buffered", "notify", "tool_mailbox", "digest", "interrupt"),
    "chatTools": ("readThread", "sendMessage", "react", "reactionSignals", "claim", "defer", "resolve"),
    "utilities": ("progress", "cancellation", "logging"),
}
ACK, REDELIVERY = "delivery.ack", "delivery.redelivery"
IMMEDIATELY, BUFFERING, NOTIFYING = (f"injection.{mode}" for mode in OFFERED)
INTERRUPT, DIGESTS = "injection.interrupt", "injection.digest"
PROGRESS, CANCELLATION, LOGGING = "utilities.progress", "utilities.cancellation", "utilities.logging"
# tool -> the capabilities that it needs
TOOLS = {
    "chat.list_events": ("chatTools.readThread",),
    "chat.read_thread": ("chatTools.readThread",),
    "chat.send_message": ("chatTools.sendMessage",),
    "chat.react": ("chatTools.react", "chatTools.reactionSignals"),
    "chat.claim": ("chatTools.claim",),
    "chat.defer": ("chatTools.defer",),
    "chat.resolve": ("chatTools.resolve",),
}


class Capabilities(Record):
    """The agreed capabilities, as `section.name`."""

    agreed: frozenset[str]
    asked: frozenset[str] = frozenset()

    def __call__(self, name: str) -> bool:
        return name in self.agreed

    def tool(self, name: str) -> bool:
        """Whether this harness has the tool NAME."""
        return all(capability in self.agreed for capability in TOOLS[name])

    @property
    def takes_deliveries(self) -> bool:
        """Whether the harness takes deliveries at all. A program that only sends messages takes none."""
        return any(self(capability) for capability in (IMMEDIATELY, BUFFERING, NOTIFYING))

    def shown(self) -> dict[str, Any]:
        """The capabilities as the harness sees them."""
        sections: dict[str, Any] = {}
        for section, names in OURS.items():
            requested = [
                capability.partition(".")[2]
                for capability in sorted(self.asked)
                if capability.partition(".")[0] == section
            ]
            sections[section] = {name: self(f"{section}.{name}") for name in dict.fromkeys([*names, *requested])}
        return sections


def negotiate(given: EnvelopeMembers) -> Capabilities:
    """The requested capabilities that this host has. Without acknowledgements there is no redelivery."""
    agreed, requested = set(), set()
    for section, names in OURS.items():
        section_members = given.object(section)
        requested |= {f"{section}.{name}" for name in list(section_members.value)[:MOST]}
        agreed |= {f"{section}.{name}" for name in names if section_members.flag(name)}
    if ACK not in agreed:
        agreed.discard(REDELIVERY)
    return Capabilities(frozenset(agreed), frozenset(requested))


MOST = 50  # requested names of a section that are answered
