"""Sending a message: the sender's part of the draft's Section 4.

After an ask, the sender expects an answer; after a reply, it no longer owes one; a tell is recorded as its statement.
A message names its own recipients. If it names none (a query, or a call in a dialect that is not installed here), the
sender must pass them. An agent that defines a dialect installs it at once, even without a recipient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from bb.cbcl.judge.expansion import Limits, UnknownDialect, expand
from bb.cbcl.judge.installation import Rules, install
from bb.cbcl.read import grammar, names
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import ResourceLimit
from bb.cbcl.read.message import Define, Envelope, Message, Query, Simple, Teach, core_of, every_layer, layers
from bb.cbcl.read.reader import Bounds
from bb.cbcl.read.tree import text_of
from bb.cbcl.speak.effects import (
    CANCELLED,
    DROPPED,
    FAILED,
    REPLIED,
    Believed,
    Discharged,
    Effect,
    Entered,
    Expected,
    Greeted,
    Parted,
    Settled,
)
from bb.cbcl.speak.processing import cancelled_answer, innermost, require_sender
from bb.cbcl.speak.state import MAX_OPEN_ANSWERS, AgentState
from bb.kernel.errors import BbError, Usage
from bb.kernel.record import Record

NoRecipient = Usage.declare(
    "NO_RECIPIENT",
    "The message names no recipient",
    hint="pass --to AGENT, or wrap the message in (envelope :to @AGENT …)",
)

OtherRecipient = Usage.declare(
    "OTHER_RECIPIENT",
    "The message already names its recipient",
    hint="leave out --to; only a message without a recipient, or a call in a dialect not installed here, needs it",
)


class Speech(Record):
    """A message that may be sent, with its recipients and its effects on the sender."""

    message: Message
    id: str
    thread: str | None
    to: tuple[str, ...]
    effects: tuple[Effect, ...]


def speak(
    standing: AgentState, dialects: Mapping[str, Definition], octets: bytes, rules: Rules, to: Sequence[str] = ()
) -> Speech:
    """The message in OCTETS, checked for sending. TO holds the recipients if the message names none."""
    policy = rules.trust.policy
    message = grammar.message(octets, Bounds(policy.max_depth, policy.max_size))
    comes_to, unknown = _comes_to(message, dialects, Limits(policy.max_depth, policy.max_expansion_size))
    for layer in chain.from_iterable(map(every_layer, (message, *comes_to))):
        require_sender(standing.id, layer)
    simples = [core for part in comes_to if isinstance(core := innermost(part), Simple)]
    recipients = dict.fromkeys(_recipients(message, simples))
    goes_to = tuple(dict.fromkeys(to)) or _envelope_to(message) or tuple(recipients)
    message_id, core = names.id_of(message), core_of(message)
    effects: list[Effect] = []
    if isinstance(core, Define):
        source = f"@{standing.id}"
        effects += install(core.definition, None, dialects, rules, by=standing.id, source=source, is_local=True)
    elif not goes_to:
        raise NoRecipient() if unknown is None else unknown
    if to and simples and recipients.keys() != set(to):
        short_names = [names.shortened(recipient) for recipient in recipients]
        raise OtherRecipient(
            f"the message is addressed to {', '.join(f'@{name}' for name in short_names[:3])}", to=short_names
        )
    within = names.ExpansionIds(message_id)
    now = standing
    for simple in simples:
        new_effects = _effects(now, simple, within.known(simple))
        now = now.after(new_effects)
        effects += new_effects
    if isinstance(core, Query):
        effects += [Expected(recipient, message_id) for recipient in goes_to]
    return Speech(message, message_id, names.thread_of(message), goes_to, tuple(effects))


def _comes_to(
    message: Message, dialects: Mapping[str, Definition], room: Limits
) -> tuple[Sequence[Message], BbError | None]:
    """The messages of the expansion: the message itself if it contains no call, none if its dialect is UNKNOWN."""
    try:
        expansion = expand(message, dialects, room)
    except UnknownDialect.error as unknown:
        return (), unknown
    return (message,) if expansion is None else expansion.messages, None


def _envelope_to(message: Message) -> tuple[str, ...]:
    """The recipient in the outermost envelope: a routing address, possibly an agent that forwards the message."""
    return next(((layer.to,) for layer in layers(message) if isinstance(layer, Envelope) and layer.to), ())


def _recipients(message: Message, said: Sequence[Simple]) -> list[str]:
    core = core_of(message)
    return [core.recipient] if isinstance(core, Teach) else [simple.recipient for simple in said]


def _effects(standing: AgentState, said: Simple, known: str) -> list[Effect]:
    """The effects of sending one simple message with the id KNOWN."""
    return [*entered(standing.id, said, known), *_meaning(standing, said, said.text(names.THREAD), known)]


def entered(who: str, said: Message, known: str) -> list[Entered]:
    """The conversation entry for a message of WHO with the id KNOWN; none if it has no thread."""
    thread = said.text(names.THREAD) if isinstance(said, Simple) else None
    if thread is None or not isinstance(said, Simple):
        return []
    return [Entered(thread, who, said.performative, known, text_of(said.node))]


def _meaning(standing: AgentState, said: Simple, thread: str | None, known: str) -> list[Effect]:
    to = said.recipient
    match said.performative:
        case "tell" if said.content is not None:
            return [Believed(standing.id, text_of(said.content))]
        case "ask":
            if len(standing.expected.of(to)) >= MAX_OPEN_ANSWERS:
                raise ResourceLimit(
                    f"you already wait for {MAX_OPEN_ANSWERS} answers from @{names.shortened(to)}", limit="asks"
                )
            return [Expected(to, known, thread, names.timeout_of(said))]
        case "reply" | "error":
            owed = standing.owed(to, said.text(names.IN_REPLY_TO), thread)
            return [Discharged(to, owed.id, REPLIED if said.performative == "reply" else FAILED)] if owed else []
        case "cancel":
            expected = cancelled_answer(standing.awaited, to, said)
            return [Settled(to, expected.id, CANCELLED)] if expected else []
        case "hello":
            return [Greeted(to)]
        case "bye":
            dropped = [Settled(to, expectation.id, DROPPED) for expectation in standing.expected.of(to)]
            return [Parted(to), *dropped]
    return []
