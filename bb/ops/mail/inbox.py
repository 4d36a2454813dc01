"""The inbox: what was sent to an agent. Reading never consumes."""

from __future__ import annotations

from bb.kernel import ids
from bb.ledger.views import mail as mails
from bb.messaging.mail import mail, mailbox
from bb.ops.catalogue import first_rows, op
from bb.ops.desk import signs_of_life
from bb.ops.params import Plain, Someone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ledger.index.index import Index
    from bb.ops.desk.desk import Desk


class State(Plain):
    """Only messages in this state: unread, read or acked."""

    metavar = "STATE"
    offered = (mailbox.UNREAD, mailbox.READ, mailbox.ACKED)


class About(Plain):
    """Only what is about this bead."""

    metavar = "BEAD"


MOST = 500


class Limit(Plain):
    """At most so many, the newest; 1 to 500."""

    metavar = "N"
    takes_numbers = True


@op(
    "agent.inbox",
    reads=True,
    screen="overview",
    examples=("bb agent inbox --agent amber-otter", "bb agent inbox --state unread --json"),
)
def inbox(
    desk: Desk,
    *,
    agent: Someone | None = None,
    state: State | None = None,
    bead: About | None = None,
    limit: Limit = Limit("50"),  # noqa: B008  (a text)
) -> list[dict[str, Any]]:
    """Messages to an agent, newest first. Looking at them changes nothing.

    `--agent user` is the person's own inbox.
    """
    who, index = known(desk, agent)
    if state is not None and state not in State.offered:
        raise mail.InvalidState(f"{state[:40]!r} is no state: unread, read or acked")
    if not (limit.isascii() and limit.isdigit() and len(limit) < 5 and 1 <= int(limit) <= MOST):
        raise mail.InvalidLimit(f"{limit[:40]!r} is no limit: a whole number from 1 to 500")
    wanted = (message for message in mails.inbox(index, who, state) if bead in (None, message["bead_id"]))
    found = first_rows(wanted, int(limit), MOST)
    if any("content_type" in message for message in found):
        _tell_who_is_verified(desk, index, who, found)
    return found


def _tell_who_is_verified(desk: Desk, index: Index, who: str, found: list[dict[str, Any]]) -> None:
    """Say of each message in CBCL whether it is proved to be its sender's."""
    from bb.ledger.views.proofs import Proofs  # noqa: PLC0415  (the language and its keys: most mail is not in CBCL)

    proofs = Proofs(desk.store, index, desk.env)
    for message in found:
        if "content_type" in message:
            message["verified"] = proofs.of(who, str(message["message_id"]).partition("_")[0])


def known(desk: Desk, agent: str | None, *, acts: bool = False) -> tuple[str, Index]:
    """Whose inbox is asked for, and the index to find it in. A person always has one. Anybody may look; whoever ACTS
    must be that agent."""
    who = ids.PERSON if agent == ids.PERSON else desk.caller(agent) if acts else desk.subject(agent)
    index = signs_of_life.index_of(desk, who)
    if who != ids.PERSON:
        signs_of_life.registered(index, who)
    return who, index
