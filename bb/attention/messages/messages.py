"""All messages: the place of each in the ledger, its conversation, and the version that counts. A fold.

An entry holds everything about a message except its content, so listing many messages reads no texts.
"""

from __future__ import annotations

from bb.attention import decision as decisions
from bb.attention.decision import Decision
from bb.attention.facts import Deleted, Edited, Posted, Posting
from bb.attention.messages import outbox_states
from bb.attention.messages.platform_ids import event_id, platform_id
from bb.attention.words import CHANNEL, DIGEST, HUMAN, PLAIN, URGENT
from bb.coordination.facts import Incurred
from bb.kernel import clock
from bb.kernel.ids import PERSON
from bb.kernel.record import Record
from bb.kernel.total_order import earliest, latest, sortable
from bb.kernel.total_order import event as event_at
from bb.messaging.facts import Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from bb.attention.messages.message import Message
    from bb.kernel.total_order import Place, State

MessageFact: TypeAlias = "Posted | Edited | Deleted | Posting | Sent | Incurred"

NAME = "c2a.message"
FACTS = (Posted, Edited, Deleted, Posting, Sent, Incurred)
EVERY, OUTBOX, SUMMED = "every", "outbox", "digest"
# the members of `c2a` that an entry keeps
KEPT: tuple[str, ...] = (
    *("conversation", "thread", "author", "author_name", "author_kind", "agent", "kind", "platform", "workspace"),
    *("stream", "intent", "in_reply_to", "linked", "reason", "key", "state", "sequence", "at", "else", "priority"),
    *("native", "answers", "asks"),
)
TEXTS = frozenset(KEPT) - {"sequence", "at", "else", "priority", "asks"}


class MessageHead(Record):
    """A message without its content."""

    event: str
    line: str  # the line with the text of the version that counts
    first_line: str
    arrived: int
    order: Place  # its place in ledger order
    conversation: str = ""
    thread: str = ""
    author: str = ""
    agent: str = ""  # the agent that wrote it, if an agent did
    kind: str = CHANNEL
    platform: str = "bb"
    workspace: str = ""
    stream: str = ""
    author_kind: str = HUMAN
    author_name: str = ""
    intent: str = PLAIN
    in_reply_to: str = ""
    linked: str = ""
    reason: str = ""
    key: str = ""
    native: str = ""  # its id on its platform, if bb has put the name of the platform in front
    state: str = ""  # its outbox state, if it is to be posted on another platform
    sequence: int | None = None
    at: int = 0
    meant: tuple[str, ...] = ()  # the agents with a decision of their own
    others: Decision = Decision()
    version: int = 1
    is_deleted: bool = False
    deletion_reason: str = ""  # as given by the agent that cancelled it
    posted: Mapping[str, Any] = {}
    answers: str = ""  # the question of an agent that it answers
    asks: tuple[str, ...] | None = None  # the people that it asks; empty: anybody; None: it asks nobody

    @property
    def place(self) -> str:
        return sortable(self.order)

    @property
    def counted(self) -> tuple[str, int | None]:
        """Its conversation, and its sequence number there, if the platform assigns one."""
        return self.conversation, self.sequence

    @property
    def window(self) -> str:
        """The name of its thread, or of its conversation if it is in no thread."""
        return f"{self.conversation} {self.thread}"

    @property
    def platform_id(self) -> str:
        """The platform's own id of it. A message of an agent has one once it is posted there."""
        name = str(self.posted.get("platform_id") or self.native or self.event)
        return platform_id(name, self.platform, self.conversation, self.thread)

    def posted_as(self, name: str) -> str:
        """The event id with which it comes back, once a bridge has posted it there as NAME."""
        return event_id(name, self.platform, self.workspace, self.conversation, self.thread)

    @property
    def thread_window(self) -> str:
        """The name of its thread, or of the thread that it opens: a top-level message opens one under its own id."""
        return f"{self.conversation} {self.thread or self.platform_id}"


def is_the_persons(said: Message | MessageHead) -> bool:
    """Whether a message is in the person's name. This includes one sent by `bb chat send` with the options of C2A."""
    return said.author == PERSON and (said.agent == PERSON or (said.author_kind == HUMAN and not said.agent))


def keys(fact: MessageFact, at: Place) -> list[str]:
    """The message that FACT is about."""
    match fact:
        case Posted(c2a=c2a):
            return [c2a.get("event") or event_at(at)]
        case Sent() | Incurred():
            return [event_at(at)]
    return [fact.event]


def step(state: State | None, fact: MessageFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    match fact:
        case Posted(c2a=c2a):
            earliest(after, "said", at, _head(c2a, ts))
            _mean(after, c2a)
        case Sent() | Incurred():
            earliest(after, "said", at, _head(_of_ours(fact), ts))
        case Edited(version=version, c2a=c2a):
            held = after.get("edit")
            if held is None or (held[3], *held[:3]) < (version, *at):
                after["edit"] = [*at, version]
            _mean(after, c2a)
        case Deleted(reason=reason):
            earliest(after, "deleted", at, reason or True)
        case Posting(state=now, about=about):
            if now in outbox_states.STATES:
                latest(after, "posting", at, [now, about or {}])
    return after


def _of_ours(fact: Sent | Incurred) -> dict[str, Any]:
    from bb.attention.messages import system_messages  # noqa: PLC0415  (not needed to read a folded state)

    return system_messages.c2a_of_mail_or_incursion(fact)


def _mean(after: State, c2a: Mapping[str, Any]) -> None:
    """Add the agents with a decision. Clones that receive the same message may decide for different agents."""
    if by_agent := c2a.get("for"):
        after["meant"] = sorted({*after.get("meant", ()), *by_agent})


def _head(c2a: Mapping[str, Any], ts: str) -> dict[str, Any]:
    return {name: c2a[name] for name in KEPT if name in c2a} | {"for": list(c2a.get("for") or ()), "ts": ts}


def terms(name: str, state: State) -> list[tuple[str, str]]:  # noqa: ARG001
    """The index terms of a message."""
    if "said" not in state:  # a reaction or a question to the person that is to be posted has no message
        return _of_item(state["posting"]) if "posting" in state else []
    *at, data = state["said"]
    place, among = sortable(at), conversation_sort_key(at, data)
    pairs = [(EVERY, place), (f"in {data.get('conversation', '')}", among)]
    if thread := data.get("thread"):
        pairs.append((f"in {data.get('conversation', '')} {thread}", among))
    if native := data.get("native"):
        pairs.append((native_term(native), place))
    if linked := data.get("linked"):
        pairs.append((linked_event_term(linked), place))
    if data["for"]:
        lately = author_minute_term(data.get("author", ""), data["ts"])
        pairs += [(lately, place), *([(urgent_term(lately), place)] if data.get("priority") == URGENT else [])]
    if data.get("else", ())[2:3] == [DIGEST]:
        pairs.append((SUMMED, place))
    if outbox_states.is_due(state_of(state)):
        pairs.append((OUTBOX, place))
    for posted in _posted_as(state):
        pairs.append((posted_as_term(posted), place))
    return pairs + _of_agent(data, place)


def _posted_as(state: State) -> list[str]:
    """The ids under which an agent's message may come back from the platform."""
    about = state["posting"][3][1] if "posting" in state else {}
    return [str(about[name]) for name in ("platform_id", "posted_as") if about.get(name)]


def _of_item(posting: list[Any]) -> list[tuple[str, str]]:
    """The index terms of an item of the outbox that is no message."""
    place, (now, about) = sortable(posting[:3]), posting[3]
    if outbox_states.is_due(now):
        return [(OUTBOX, place)]
    return [(posted_as_term(about["platform_id"]), place)] if about.get("platform_id") else []


def _of_agent(said: Mapping[str, Any], place: str) -> list[tuple[str, str]]:
    """The index terms of a message that an agent wrote."""
    agent, answered = said.get("agent") if not said.get("reason") else None, said.get("in_reply_to")
    pairs = [(f"agent {agent}", place)] if agent else []
    if question := said.get("answers"):
        pairs.append((answers_term(question), place))
    return pairs + ([(f"answer {answered} {agent}", place)] if agent and answered else [])


def answers_term(question: str) -> str:
    """The term that finds the answers of people to an agent's question."""
    return f"answers {question}"


def in_window(window: str) -> str:
    """The term that finds the messages of a thread, or of a conversation."""
    return f"in {window}".rstrip()


def native_term(native: str) -> str:
    """The term that finds a message by its id on its platform."""
    return f"native {native}"


def posted_as_term(name: str) -> str:
    """The term that finds an agent's message by its id on the platform."""
    return f"posted as {name}"


def linked_event_term(event: str) -> str:
    """The term that finds the events about an event: reactions, edits after an answer, escalations."""
    return f"about {event}"


def author_minute_term(author: str, ts: str) -> str:
    """The term that finds the obliging messages of an author within one minute, for the rate limit."""
    return f"by {author} {ts[:16]}"


def urgent_term(lately: str) -> str:
    """The term that finds the urgent ones among them."""
    return f"urgent {lately}"


def conversation_sort_key(at: Place, said: Mapping[str, Any]) -> str:
    """The sort key of a message in its conversation: by sequence number if it has one, otherwise by ledger order."""
    sequence = said.get("sequence")
    return f"{sequence:020x} {sortable(at)}" if type(sequence) is int and sequence >= 0 else sortable(at)


def state_of(state: State) -> str:
    """The outbox state of a message."""
    first = str(state["said"][3].get("state", "")) if "said" in state else ""
    return str(state["posting"][3][0]) if first and "posting" in state else first


def message_of_state(name: str, state: Mapping[str, Any] | None) -> MessageHead | None:
    """The message that STATE describes; None if it has not arrived here yet."""
    if not state or "said" not in state:
        return None
    *at, data = state["said"]
    edit, posted = state.get("edit"), state.get("posting")
    arrived = clock.parse_or(data["ts"], 0)
    texts = {member: data[member] for member in TEXTS if type(data.get(member)) is str}
    meant = dict.fromkeys([*data["for"], *state.get("meant", ())])
    return MessageHead(
        name,
        event_at(edit) if edit else event_at(at),
        event_at(at),
        arrived,
        at,
        **texts
        | {
            "at": data["at"] if type(data.get("at")) is int else arrived,
            "sequence": data["sequence"] if type(data.get("sequence")) is int else None,
            "meant": tuple(meant),
            "others": decisions.decision_of_json(data.get("else")) or Decision(),
            "version": edit[3] if edit else 1,
            "is_deleted": "deleted" in state,
            "deletion_reason": why if (deleted := state.get("deleted")) and type(why := deleted[3]) is str else "",
            "state": state_of(dict(state)),
            "posted": posted[3][1] if posted else {},
            "asks": tuple(asks) if type(asks := data.get("asks")) is list else None,
        },
    )
