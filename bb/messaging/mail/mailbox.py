"""The state of each copy of a message: unread, read, acked. A copy is named `<event> <recipient>`.

    unread ──read──> read ──ack──> acked        acknowledging an unread copy also marks it as read
       └────────────ack──────────────^          acked is final; the first time of each step counts

Only the recipient's own facts count. Each step is a register that keeps its earliest time.
"""

from __future__ import annotations

from bb.coordination.protocol.events import HANDOFF
from bb.kernel.total_order import earliest, event, sortable
from bb.messaging.facts import Acked, Agreed, Read, Sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.kernel.total_order import Place, State
    from bb.messaging.facts import MailFact

NAME = "copy"
FACTS = (Sent, Read, Acked, Agreed)

UNREAD, READ, ACKED = "unread", "read", "acked"


def keys(fact: MailFact, at: Place) -> list[str]:
    """The copies that FACT is about."""
    if isinstance(fact, Sent):
        return [copy(event(at), agent) for agent in fact.to]
    return [copy(fact.message, fact.agent)]


def step(state: State | None, fact: MailFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    match fact:
        case Sent(sender=sender, bead=bead, category=category, requires_ack=requires_ack):
            earliest(after, "sent", at, [category, bead, requires_ack, len(fact.to) == 1, sender])
        case Read():
            earliest(after, "read", at, ts)
        case Acked() | Agreed():
            earliest(after, "acked", at, ts)
    return after


def terms(name: str, state: State) -> list[tuple[str, str]]:
    """The search terms of a copy; none until the message itself has arrived in this clone."""
    if "sent" not in state:
        return []
    _, _, agent = name.partition(" ")
    *at, (category, _, requires_ack, _, sender) = state["sent"]
    place = sortable(at)
    terms = [(f"to {agent}", place)]
    if category == HANDOFF:
        terms.append((f"handed to {agent}", place))
    if state_of(state) == UNREAD:
        terms.append((f"unread {agent}", place))
    if requires_ack and "acked" not in state:
        terms += [("owed", f"{place} {agent}"), (f"owed {agent}", place)]
    elif requires_ack:
        terms.append((accepted_term(sender), sortable(state["acked"][:3])))
    return terms


def accepted_term(sender: str) -> str:
    """The search term for the messages of SENDER that were accepted, at the place of the acceptance."""
    return f"accepted {sender}"


def state_of(state: State) -> str:
    """Unread, read or acked."""
    return ACKED if "acked" in state else READ if "read" in state else UNREAD


def copy(message: str, agent: str) -> str:
    """The name of one recipient's copy."""
    return f"{message} {agent}"
