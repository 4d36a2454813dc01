"""Notifications to agents whose global reservation became void, because the order that decides about it has changed."""

from __future__ import annotations

from bb.kernel import ids
from bb.messaging.facts import Sent
from bb.messaging.mail.mail import INFO, NO_BEAD_THREAD, SUBJECT_LENGTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from bb.coordination.holdings.holdings import Reservation

NEXT = (
    "Another agent may hold these paths now. Do not edit them before you have reserved them again: "
    "bb reserve {scopes}. Then compare what you have changed with the files as they are."
)


def void(holder: str, lost: Sequence[Reservation], why: str) -> Sent:
    """The notification to HOLDER that the reservations LOST do not count in other clones, and WHY."""
    scopes = ", ".join(one.scope for one in lost)
    subject = f"void: {'your reservation' if len(lost) == 1 else 'your reservations'} of {scopes}"
    body = f"You do not hold {scopes}, because {why}. {NEXT.format(scopes=' '.join(one.scope for one in lost))}"
    bead = lost[0].bead or ""
    thread = f"bead:{bead}" if bead else NO_BEAD_THREAD
    return Sent(ids.PERSON, (holder,), INFO, subject[:SUBJECT_LENGTH], body, bead, thread, False)
