"""The inbox: the messages sent to an agent. Listing them never changes their state."""

from __future__ import annotations

from bb.kernel import ids
from bb.ledger.views import mail as mails
from bb.messaging.mail import mail, mailbox
from bb.ops.catalogue import first_rows, op
from bb.ops.desk import signs_of_life
from bb.ops.params import AgentOrPerson, UncheckedNumber, UncheckedText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk


class State(UncheckedText):
    """Only messages in this state: unread, read or acked."""

    metavar = "STATE"
    offered = (mailbox.UNREAD, mailbox.READ, mailbox.ACKED)


MOST = 500


@op(
    "agent.inbox",
    reads=True,
    screen="overview",
    examples=(
        "bb agent inbox --agent amber-otter",
        "bb agent inbox --state unread --json",
        "bb inbox",
        "bb inbox --state unread",
    ),
    short="inbox",
)
def inbox(
    desk: Desk,
    *,
    agent: AgentOrPerson | None = None,
    state: State | None = None,
    bead: UncheckedText | None = None,
    limit: UncheckedNumber = UncheckedNumber("50"),  # noqa: B008  (a text)
) -> list[dict[str, Any]]:
    """List the messages to an agent, newest first. This does not mark them as read.

    `--agent user` shows the person's inbox.

    Parameters:
        agent: The agent whose messages to list. Default: the caller.
        bead (BEAD): Only messages about this bead (work item).
        limit: The number of newest messages to show, 1 to 500.
    """
    who, index = inbox_owner(desk, agent)
    if state is not None and state not in State.offered:
        raise mail.InvalidState(f"state must be unread, read or acked, not {state[:40]!r}")
    if not (limit.isascii() and limit.isdigit() and len(limit) < 5 and 1 <= int(limit) <= MOST):
        raise mail.InvalidLimit(f"limit must be a whole number from 1 to 500, not {limit[:40]!r}")
    matching = (message for message in mails.inbox(index, who, state) if bead in (None, message["bead_id"]))
    messages = first_rows(matching, int(limit), MOST)
    if any("content_type" in message for message in messages):
        _add_verified(desk, index, who, messages)
    return messages


def _add_verified(desk: Desk, index: Index, who: str, messages: list[dict[str, Any]]) -> None:
    """Add to each CBCL message whether its sender is proved."""
    from bb.ledger.views.proofs import Proofs  # noqa: PLC0415  (loads CBCL and its keys; most mail is not in CBCL)

    proofs = Proofs(desk.store, index, desk.env)
    for message in messages:
        if "content_type" in message:
            message["verified"] = proofs.proof_of(who, str(message["message_id"]).partition("_")[0])


def inbox_owner(desk: Desk, agent: str | None, *, acts: bool = False) -> tuple[str, Index]:
    """The owner of the requested inbox, and the index. The person always has an inbox. Every caller may read an inbox;
    a caller that ACTS on it must be its owner."""
    who = ids.PERSON if agent == ids.PERSON else desk.caller(agent) if acts else desk.subject(agent)
    index = signs_of_life.index_of(desk, who)
    if who != ids.PERSON:
        signs_of_life.registered(index, who)
    return who, index
