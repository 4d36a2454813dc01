"""What is to be done with a message, once it is known at whom it is aimed: the default matrix of C2A.

Directedness sets what an agent sees; what the message is for sets whether it answers. Each row is one line of the
specification's table. The first row that fits holds.
"""

from __future__ import annotations

from bb.attention.decision import Decision
from bb.attention.words import (
    ACK_ONLY,
    AMBIENT,
    BUFFERED,
    DIGEST,
    FILLER,
    HIGH,
    IMMEDIATE,
    MAILBOX,
    MAY,
    MUST,
    MUST_NOT,
    NOTIFY,
    OBLIGING,
    SILENT,
    STATUS_BROADCAST,
    TO_ME,
    TO_MY_ROLE,
    TO_OTHER,
    TOOL_OUTPUT,
    URGENT,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.attention.messages.message import Message
    from bb.attention.state.tuning import Tuning

ANY = ""
ACKNOWLEDGEMENT = "acknowledgement"

# directedness, why or what for -> policy, injection
MATRIX: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (TO_ME, FILLER, ACK_ONLY, NOTIFY),
    (TO_ME, OBLIGING, MUST, BUFFERED),
    (TO_ME, (), MUST, BUFFERED),
    (TO_MY_ROLE, FILLER, ACK_ONLY, MAILBOX),
    (TO_MY_ROLE, (), MAY, NOTIFY),
    (TO_OTHER, (), MUST_NOT, MAILBOX),
    (AMBIENT, (TOOL_OUTPUT,), MUST_NOT, SILENT),
    (AMBIENT, (STATUS_BROADCAST,), MUST_NOT, DIGEST),
    (AMBIENT, (), MUST_NOT, MAILBOX),
)


def weigh(message: Message, directedness: str, why: str, tuning: Tuning) -> Decision:
    """What the default matrix says of a message that is aimed so."""
    policy, mode = next(
        (policy, mode)
        for aimed, fits, policy, mode in MATRIX
        if aimed == directedness and (not fits or why in fits or message.intent in fits)
    )
    reason = why
    if policy == ACK_ONLY:
        reason = ACKNOWLEDGEMENT
    elif directedness == TO_ME and message.intent in OBLIGING:
        reason = message.intent
    if mode == BUFFERED and (message.priority == URGENT or (message.priority == HIGH and message.intent in OBLIGING)):
        mode = IMMEDIATE
    deadline = message.deadline if message.deadline is not None and policy == MUST else tuning.time_for(policy)
    return Decision(directedness, policy, mode, reason, message.priority, deadline)
