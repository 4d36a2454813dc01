"""The default matrix of C2A: from the directedness and intent of a message to its policy and injection mode.

Directedness sets the injection mode, intent sets the policy. Each row is one line of the specification's table. The
first row that matches is used.
"""

from __future__ import annotations

from bb.attention.decision import Decision
from bb.attention.messages.intents import wants_no_reply
from bb.attention.messages.message import Message
from bb.attention.state.tuning import Tuning
from bb.attention.words import (
    ACK_ONLY,
    AMBIENT,
    ANSWER,
    BUFFERED,
    CANCEL,
    DIGEST,
    FILLER,
    HIGH,
    HUMAN,
    IMMEDIATE,
    MAILBOX,
    MAY,
    MUST,
    MUST_NOT,
    NO_REPLY,
    NOTIFY,
    OBLIGING,
    PLAIN,
    SILENT,
    STATUS_BROADCAST,
    TO_ME,
    TO_MY_ROLE,
    TO_OTHER,
    TOOL_OUTPUT,
    URGENT,
)

ANY = ""
ACKNOWLEDGEMENT = "acknowledgement"

# directedness, reason or intent -> policy, injection mode
MATRIX: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (TO_ME, (CANCEL,), MUST, IMMEDIATE),
    (TO_ME, (ANSWER,), MUST, BUFFERED),
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


def default_decision(message: Message, directedness: str, why: str, tuning: Tuning) -> Decision:
    """The decision of the default matrix for a message with this directedness and reason (WHY)."""
    policy, mode = next(
        (policy, mode)
        for aimed, fits, policy, mode in MATRIX
        if aimed == directedness and (not fits or why in fits or message.intent in fits)
    )
    reason = why
    if policy == ACK_ONLY:
        reason = ACKNOWLEDGEMENT
    elif directedness == TO_ME and (message.intent == CANCEL or (message.intent in OBLIGING and why != ANSWER)):
        reason = message.intent
    elif policy == MUST and message.author_kind == HUMAN and message.intent == PLAIN and wants_no_reply(message.text):
        policy, reason = ACK_ONLY, NO_REPLY
    if mode == BUFFERED and (message.priority == URGENT or (message.priority == HIGH and message.intent in OBLIGING)):
        mode = IMMEDIATE
    deadline = message.deadline if message.deadline is not None and policy == MUST else tuning.time_for(policy)
    return Decision(directedness, policy, mode, reason, message.priority, deadline)
