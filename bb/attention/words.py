"""The vocabulary of C2A: the values of each axis, and the nine reaction signals."""

from __future__ import annotations

from bb.kernel.record import Record

# Directedness: is the message aimed at this agent?
TO_ME, TO_MY_ROLE, TO_OTHER, AMBIENT = "to_me", "to_my_role", "to_other", "ambient"
DIRECTEDNESS = (TO_ME, TO_MY_ROLE, TO_OTHER, AMBIENT)  # if several apply, the first one wins

# Response policy: must, may or must not the agent answer?
MUST, MAY, ACK_ONLY, MUST_NOT = "must_respond", "may_respond", "ack_only", "must_not_respond"
POLICIES = (MUST, MAY, ACK_ONLY, MUST_NOT)  # the strictest obligation first

# Injection mode: how is the message shown to the agent?
IMMEDIATE, BUFFERED, NOTIFY = "immediate", "buffered", "notify"
MAILBOX, DIGEST, SILENT = "tool_mailbox", "digest", "silent"
MODES = (IMMEDIATE, BUFFERED, NOTIFY, MAILBOX, DIGEST, SILENT)
OFFERED = (IMMEDIATE, BUFFERED, NOTIFY)  # these enter a turn; the agent has to look up the others

DM, CHANNEL, THREAD, SYSTEM, TOOL = "dm", "channel", "thread", "system", "tool"
CONVERSATIONS = (DM, CHANNEL, THREAD, SYSTEM, TOOL)

LOW, NORMAL, HIGH, URGENT = "low", "normal", "high", "urgent"
PRIORITIES = (LOW, NORMAL, HIGH, URGENT)

HUMAN, AGENT = "human", "agent"
AUTHORS = (HUMAN, AGENT, SYSTEM, TOOL)

# Reasons: why a message has its directedness.
DIRECT_MESSAGE, DIRECT_MENTION, THREAD_QUESTION = "direct_message", "direct_mention", "thread_question"
ROLE_MENTION, PARTICIPATION = "role_mention", "thread_participation"
REPLY = "reply"  # an answer, by the platform's own means, to a message of the agent
FOLLOW_UP = "follow_up"  # its author is talking with the agent in the thread
NO_REPLY = "no_reply_wanted"  # its author asks for no answer
OWNED_THREAD, OWNED_STREAM, OWNED_WORK = "owned_thread", "owned_stream", "owned_work_changed"
ADDRESSED_TO_OTHER, AGENT_CHATTER, UNADDRESSED = "addressed_to_other", "agent_chatter", "unaddressed"
STATUS_BROADCAST, TOOL_OUTPUT, UNBOUND = "status_broadcast", "tool_output", "unbound"
BEFORE_BIND = "before_bind"
ESCALATED, REACTION, CLAIM_LOST, SEND_FAILED = "escalated", "reaction", "claim_lost", "send_failed"
CONFIRMATION = "confirmation"

# Dispositions: how a delivery ended, or how far it has come. The last five are final.
CLAIMED, DEFERRED = "claimed", "deferred"
RESPONDED, ACKNOWLEDGED, IGNORED, SUPERSEDED, FAILED = "responded", "acknowledged", "ignored", "superseded", "failed"
DISPOSITIONS = (CLAIMED, DEFERRED, RESPONDED, ACKNOWLEDGED, IGNORED, SUPERSEDED, FAILED)
FINAL = (RESPONDED, ACKNOWLEDGED, IGNORED, SUPERSEDED, FAILED)

EPHEMERAL = "ephemeral"
VISIBILITIES = (DM, THREAD, CHANNEL, EPHEMERAL)

# Also a reason: an answer to the agent's pending question has the reason `answer`.
# Intents: what a message is for. The list is closed because the topic of a knock is built from it.
QUESTION, ANSWER, ASSIGNMENT, APPROVAL, BLOCKER = "question", "answer", "assignment", "approval_request", "blocker"
STATUS, THANKS, RECEIPT, CANCEL, PLAIN = "status", "thanks", "receipt", "cancel", "message"
INTENTS = (PLAIN, QUESTION, ANSWER, ASSIGNMENT, APPROVAL, BLOCKER, STATUS, THANKS, RECEIPT, CANCEL)
OBLIGING = (ASSIGNMENT, APPROVAL, BLOCKER)
FILLER = (THANKS, RECEIPT)


class Signal(Record):
    """A reaction with a defined meaning. It costs neither a turn nor a message."""

    glyph: str
    disposition: str | None
    commitment: int  # how strongly it binds the agent; decides which of several signals a person is shown
    answers: str = ""  # what it tells the author of the message


REACTED = "signal "  # prefix of the reason of an event that is a reaction


def signal_in(reason: str) -> str:
    """The signal in an event's REASON; empty if the event is not a reaction."""
    return reason.removeprefix(REACTED) if reason.startswith(REACTED) else ""


SIGNALS = {
    "seen": Signal("👀", ACKNOWLEDGED, 1),
    "agree": Signal("👍", ACKNOWLEDGED, 2, "proceed"),
    "queued": Signal("🕐", DEFERRED, 3),
    "working": Signal("🔧", CLAIMED, 4),
    "claimed": Signal("✋", CLAIMED, 5),
    "done": Signal("✅", RESPONDED, 6, "already handled"),
    "declined": Signal("🙅", IGNORED, 2, "revise"),
    "blocked": Signal("🚧", DEFERRED, 3),
    "unclear": Signal("❓", None, 0),
}


def signal_shown(reason: str, linked: str) -> dict[str, str]:
    """Of a reaction: its signal, the message it is on, and its meaning for the author of that message.

    Empty for every other event.
    """
    signal = signal_in(reason)
    if not signal:
        return {}
    meaning = SIGNALS[signal].answers if signal in SIGNALS else ""
    return {"signal": signal, "onMessage": linked, **({"meaning": meaning} if meaning else {})}
