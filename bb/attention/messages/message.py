"""A message as the rules see it, and as it is recorded on its line of the ledger.

The members of CCCS (`text`, `to`, `reply_to`) are where CCCS puts them; everything else is in `c2a`.
"""

from __future__ import annotations

from bb.attention.messages.platform_ids import platform_id
from bb.attention.words import AUTHORS, CHANNEL, CONVERSATIONS, HUMAN, INTENTS, NORMAL, PLAIN, PRIORITIES
from bb.kernel.record import Record
from bb.kernel.validation import is_line_or_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")

NOTHING: Mapping[str, Any] = {}
UNSIGNED = "unsigned_by_the_person"  # added to the data of a line if the person should have signed it and has not
HERE = "bb"  # the platform of messages that exist only in the ledger


class Message(Record):
    """One message in one conversation."""

    event: str  # its id in every clone; empty if it is not recorded yet and will get the id of its line
    platform: str
    conversation: str
    author: str
    text: str
    at: int  # when it was written, in milliseconds
    kind: str = CHANNEL
    workspace: str = ""
    thread: str = ""
    stream: str = ""
    author_kind: str = HUMAN
    author_name: str = ""
    agent: str = ""  # the agent that wrote it, if an agent did
    mentions: tuple[str, ...] = ()
    recipient: str = ""
    parts: tuple[dict[str, Any], ...] = ()  # if the content is more than one text
    sequence: int | None = None
    intent: str = PLAIN
    priority: str = NORMAL
    deadline: int | None = None
    declared: str = ""  # the directedness that the sending agent chose
    visibility: str = ""
    in_reply_to: str = ""
    key: str = ""
    native: str = ""  # its id on its platform, if bb has put the name of the platform in front
    version: int = 1
    reason: str = ""  # why the event exists, if it is about another event
    linked: str = ""  # the event that it is about
    piece_of: str = ""  # the event that it continues, if the author addressed an agent there
    root: str = ""  # the event that opened its thread
    answers: str = ""  # the question of an agent that it answers
    asks: tuple[str, ...] | None = None  # the people that an agent's message asks; empty: anybody; None: it asks nobody
    more: Mapping[str, Any] = NOTHING  # unknown members
    is_unverified: bool = False  # whether it is in the person's name but not signed by the person

    @property
    def window(self) -> str:
        """The name of its thread, or of its conversation if it is in no thread."""
        return f"{self.conversation} {self.thread}"

    @property
    def platform_id(self) -> str:
        """The platform's own id of it."""
        return platform_id(self.native or self.event, self.platform, self.conversation, self.thread)

    @property
    def content(self) -> list[dict[str, Any]]:
        """The parts of the message."""
        return list(self.parts) or [{"type": "text", "text": self.text}]


# member of `c2a` -> field of Message, in the order in which they are written
MEMBERS = {
    "event": "event",
    "platform": "platform",
    "workspace": "workspace",
    "conversation": "conversation",
    "kind": "kind",
    "thread": "thread",
    "stream": "stream",
    "author": "author",
    "author_kind": "author_kind",
    "author_name": "author_name",
    "agent": "agent",
    "mentions": "mentions",
    "recipient": "recipient",
    "at": "at",
    "sequence": "sequence",
    "intent": "intent",
    "priority": "priority",
    "deadline": "deadline",
    "declared": "declared",
    "visibility": "visibility",
    "in_reply_to": "in_reply_to",
    "key": "key",
    "version": "version",
    "reason": "reason",
    "linked": "linked",
    "piece_of": "piece_of",
    "native": "native",
    "root": "root",
    "answers": "answers",
    "asks": "asks",
    "parts": "parts",
    "more": "more",
}
# Members that hold a name; each is a single line (`envelopes.word`).
NAMES = (
    *("event", "platform", "workspace", "conversation", "thread", "stream", "author", "agent", "recipient"),
    *("declared", "visibility", "in_reply_to", "linked", "piece_of", "native", "root", "answers"),
)
ONE_OF = {"kind": CONVERSATIONS, "author_kind": AUTHORS, "intent": INTENTS, "priority": PRIORITIES}
LISTS = ("mentions", "parts", "asks")
DEFAULTS: dict[str, Any] = {name: getattr(Message, name) for name in Message.__match_args__ if hasattr(Message, name)}


def c2a_member(message: Message) -> dict[str, Any]:
    """The `c2a` member of the line of MESSAGE: all fields that differ from their default."""
    fields = vars(message)  # only the fields that were passed
    return {
        member: list(fields[name]) if name in LISTS else fields[name]
        for member, name in MEMBERS.items()
        if name in fields and fields[name] != DEFAULTS.get(name, "")
    }


def message_of_c2a(c2a: Mapping[str, Any], text: str = "", event: str = "") -> Message:
    """The message on a line. A member of the wrong type counts as absent."""
    fields: dict[str, Any] = {}
    for member, name in MEMBERS.items():
        value = c2a.get(member)
        if value is not None and _fits(name, value):
            fields[name] = tuple(value) if isinstance(value, list) else value
    needed = {"event": event, "platform": HERE, "conversation": "", "author": "", "text": text, "at": 0}
    return Message(**{**needed, **fields})


def is_sound(c2a: Any) -> bool:
    """Whether all members of a line's `c2a` have the right types. If not, the line is skipped."""
    if type(c2a) is not dict:
        return False
    for member, value in c2a.items():
        if type(value) is not TYPES.get(member, type(value)) or (member in ONE_OF and value not in ONE_OF[member]):
            return False
    texts, parts = (
        [*c2a.get("mentions", ()), *c2a.get("asks", ())],
        [*c2a.get("parts", ()), *(() if "for" not in c2a else [c2a["for"]])],
    )
    are_texts = all(map(is_line_or_nothing, [*texts, *(c2a[name] for name in NAMES if name in c2a)]))
    are_objects = all(type(part) is dict for part in parts)
    return are_texts and are_objects and all(type(decision) is list for decision in c2a.get("for", {}).values())


# The members of `about` of a step, with their types.
ABOUT: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("until", "attempt", "version", "ttl_ms"), int),
    **dict.fromkeys(("outbound", "remove"), bool),
    **dict.fromkeys(("signal", "counts_as", "eta", "note", "reason", "by", "to", "as", "why", "outcome"), str),
    **dict.fromkeys(
        ("message", "platform_id", "posted_as", "type", "onMessage", "glyph", "conversation", "agent"), str
    ),
    **dict.fromkeys(("progress", "total"), (int, float)),
    **dict.fromkeys(("merged_from", "decision", "members"), list),
}


def is_sound_about(about: Any) -> bool:
    """Whether all members of `about` have the right types."""
    if not isinstance(about, dict):
        return False
    for name, value in about.items():
        kind = ABOUT.get(name)
        if kind and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            return False
    return all(isinstance(event, str) for event in about.get("merged_from", ()))


def _fits(name: str, value: Any) -> bool:
    if name in ONE_OF:
        return value in ONE_OF[name]
    if name in NAMES:
        return is_line_or_nothing(value)
    if name in ("mentions", "asks"):
        return isinstance(value, list) and all(map(is_line_or_nothing, value))
    if name == "parts":
        return isinstance(value, list) and all(isinstance(part, dict) for part in value)
    return type(value) is (int if name in NUMBERS else dict if name == "more" else str)


NUMBERS: tuple[str, ...] = ("at", "sequence", "deadline", "version")


def in_sequence_order(items: Sequence[T], counted: Callable[[T], tuple[str, int | None]]) -> list[T]:
    """ITEMS with the messages of each conversation in the order of their sequence numbers.

    COUNTED gives the conversation and the sequence number of an item. Items without one keep their place, and so do the
    conversations among each other.
    """
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        conversation, sequence = counted(item)
        if sequence is not None:
            places.setdefault(conversation, []).append(place)
    ordered = list(items)
    for those in places.values():
        in_count = sorted((items[place] for place in those), key=lambda each: counted(each)[1] or 0)
        for place, item in zip(those, in_count, strict=True):
            ordered[place] = item
    return ordered


TYPES: dict[str, type] = {
    **dict.fromkeys([*MEMBERS, "state", "body"], str),
    **dict.fromkeys(NUMBERS, int),
    **dict.fromkeys([*LISTS, "else"], list),
    **dict.fromkeys(("for", "more"), dict),
}
