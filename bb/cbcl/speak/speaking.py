"""What it means for an agent to say something: the sender's half of the draft's Section 4.

Who asks waits for an answer; who answers owes it no more; who tells has said so itself. To whom a message goes, it says
itself. Where it names nobody (a call in a dialect that is not installed here, a query), the sender must. Who defines a
dialect speaks it from then on, whether somebody is told or not.
"""

from __future__ import annotations

from itertools import chain

from bb.cbcl.judge.expansion import Room, UnknownDialect, expand
from bb.cbcl.judge.installation import install
from bb.cbcl.read import grammar, names
from bb.cbcl.read.fuel import ResourceLimit
from bb.cbcl.read.message import Define, Envelope, Query, Simple, Teach, core_of, every_layer, layers
from bb.cbcl.read.reader import Bounds
from bb.cbcl.read.tree import text_of
from bb.cbcl.speak.effects import (
    CANCELLED,
    DROPPED,
    FAILED,
    REPLIED,
    Believed,
    Discharged,
    Entered,
    Expected,
    Greeted,
    Parted,
    Settled,
)
from bb.cbcl.speak.processing import innermost, must_be_from, named
from bb.cbcl.speak.state import MOST_OPEN
from bb.kernel.errors import Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bb.cbcl.judge.installation import Rules
    from bb.cbcl.read.definition import Definition
    from bb.cbcl.read.message import Message
    from bb.cbcl.speak.effects import Effect
    from bb.cbcl.speak.state import Standing


class NoRecipient(Usage):
    """The message does not say whom it is for."""

    code = "NO_RECIPIENT"
    hint = "pass --to AGENT, or wrap it in (envelope :to @AGENT …)"


class OtherRecipient(Usage):
    """The message says itself whom it is for."""

    code = "OTHER_RECIPIENT"
    hint = "leave --to out: it is for what names nobody, and for a call in a dialect that is not installed here"


class Speech(Record):
    """A message that may be sent: to whom, and what saying it does to its sender."""

    message: Message
    id: str
    thread: str | None
    to: tuple[str, ...]
    effects: tuple[Effect, ...]


def speak(
    standing: Standing, dialects: Mapping[str, Definition], octets: bytes, rules: Rules, to: Sequence[str] = ()
) -> Speech:
    """What sending OCTETS means; TO whom it goes where it does not say so itself."""
    policy = rules.trust.policy
    message = grammar.message(octets, Bounds(policy.max_depth, policy.max_size))
    comes_to, unknown = _comes_to(message, dialects, Room(policy.max_depth, policy.max_expansion_size))
    for layer in chain.from_iterable(map(every_layer, (message, *comes_to))):
        must_be_from(standing.id, layer)
    said = [core for each in comes_to if isinstance(core := innermost(each), Simple)]
    recipients = dict.fromkeys(_recipients(message, said))
    goes_to = tuple(dict.fromkeys(to)) or _envelope_to(message) or tuple(recipients)
    known, core = names.id_of(message), core_of(message)
    effects: list[Effect] = []
    if isinstance(core, Define):
        source = f"@{standing.id}"
        effects += install(core.definition, None, dialects, rules, by=standing.id, source=source, is_local=True)
    elif not goes_to:
        raise NoRecipient if unknown is None else unknown
    if to and said and recipients.keys() != set(to):
        shown = [names.brief(each) for each in recipients]
        raise OtherRecipient(f"it says that it is for {', '.join(f'@{each}' for each in shown[:3])}", to=shown)
    within = names.Within(known)
    now = standing
    for each in said:
        happened = _effects(now, each, within.known(each))
        now = now.after(happened)
        effects += happened
    if isinstance(core, Query):
        effects += [Expected(asked, known) for asked in goes_to]
    return Speech(message, known, names.thread_of(message), goes_to, tuple(effects))


def _comes_to(
    message: Message, dialects: Mapping[str, Definition], room: Room
) -> tuple[Sequence[Message], UnknownDialect | None]:
    """The messages that one comes to in the end: itself where it calls nothing, none where its dialect is UNKNOWN."""
    try:
        found = expand(message, dialects, room)
    except UnknownDialect as unknown:
        return (), unknown
    return (message,) if found is None else found.messages, None


def _envelope_to(message: Message) -> tuple[str, ...]:
    """Whom the outermost envelope says it goes to: that is routing, and may be somebody who passes it on."""
    return next(((layer.to,) for layer in layers(message) if isinstance(layer, Envelope) and layer.to), ())


def _recipients(message: Message, said: Sequence[Simple]) -> list[str]:
    core = core_of(message)
    return [core.recipient] if isinstance(core, Teach) else [each.recipient for each in said]


def _effects(standing: Standing, said: Simple, known: str) -> list[Effect]:
    """What saying one simple message does that is KNOWN by that id."""
    return [*entered(standing.id, said, known), *_meaning(standing, said, said.text(names.THREAD), known)]


def entered(who: str, said: Message, known: str) -> list[Entered]:
    """What WHO says, KNOWN by that id, as part of a conversation; nothing where it is part of none."""
    thread = said.text(names.THREAD) if isinstance(said, Simple) else None
    if thread is None or not isinstance(said, Simple):
        return []
    return [Entered(thread, who, said.performative, known, text_of(said.node))]


def _meaning(standing: Standing, said: Simple, thread: str | None, known: str) -> list[Effect]:
    to = said.recipient
    match said.performative:
        case "tell" if said.content is not None:
            return [Believed(standing.id, text_of(said.content))]
        case "ask":
            if len(standing.expected.of(to)) >= MOST_OPEN:
                raise ResourceLimit(f"you wait for {MOST_OPEN} answers of @{names.brief(to)} already", limit="asks")
            return [Expected(to, known, thread, names.timeout_of(said))]
        case "reply" | "error":
            owed = standing.owed(to, said.text(names.IN_REPLY_TO), thread)
            return [Discharged(to, owed.id, REPLIED if said.performative == "reply" else FAILED)] if owed else []
        case "cancel":
            waited = named(standing.awaited, to, said)
            return [Settled(to, waited.id, CANCELLED)] if waited else []
        case "hello":
            return [Greeted(to)]
        case "bye":
            dropped = [Settled(to, each.id, DROPPED) for each in standing.expected.of(to)]
            return [Parted(to), *dropped]
    return []
