"""The words of C2A: what each axis may say, and the nine signals."""

from __future__ import annotations

from bb.kernel.record import Record

# Is it aimed at this agent?
TO_ME, TO_MY_ROLE, TO_OTHER, AMBIENT = "to_me", "to_my_role", "to_other", "ambient"
DIRECTEDNESS = (TO_ME, TO_MY_ROLE, TO_OTHER, AMBIENT)  # where several hold, the first one does

# Is it to answer?
MUST, MAY, ACK_ONLY, MUST_NOT = "must_respond", "may_respond", "ack_only", "must_not_respond"
POLICIES = (MUST, MAY, ACK_ONLY, MUST_NOT)  # the strictest obligation first

# What does it see?
IMMEDIATE, BUFFERED, NOTIFY = "immediate", "buffered", "notify"
MAILBOX, DIGEST, SILENT = "tool_mailbox", "digest", "silent"
MODES = (IMMEDIATE, BUFFERED, NOTIFY, MAILBOX, DIGEST, SILENT)
OFFERED = (IMMEDIATE, BUFFERED, NOTIFY)  # these enter a turn; the others wait until somebody looks

DM, CHANNEL, THREAD, SYSTEM, TOOL = "dm", "channel", "thread", "system", "tool"
CONVERSATIONS = (DM, CHANNEL, THREAD, SYSTEM, TOOL)

LOW, NORMAL, HIGH, URGENT = "low", "normal", "high", "urgent"
PRIORITIES = (LOW, NORMAL, HIGH, URGENT)

HUMAN, AGENT = "human", "agent"
AUTHORS = (HUMAN, AGENT, SYSTEM, TOOL)

# Why a message is aimed at somebody, or at nobody.
DIRECT_MESSAGE, DIRECT_MENTION, THREAD_QUESTION = "direct_message", "direct_mention", "thread_question"
ROLE_MENTION, PARTICIPATION = "role_mention", "thread_participation"
OWNED_THREAD, OWNED_STREAM, OWNED_WORK = "owned_thread", "owned_stream", "owned_work_changed"
ADDRESSED_TO_OTHER, AGENT_CHATTER, UNADDRESSED = "addressed_to_other", "agent_chatter", "unaddressed"
STATUS_BROADCAST, TOOL_OUTPUT, UNBOUND = "status_broadcast", "tool_output", "unbound"
ESCALATED, REACTION, CLAIM_LOST, SEND_FAILED = "escalated", "reaction", "claim_lost", "send_failed"

# What became of it. The last five are final.
CLAIMED, DEFERRED = "claimed", "deferred"
RESPONDED, ACKNOWLEDGED, IGNORED, SUPERSEDED, FAILED = "responded", "acknowledged", "ignored", "superseded", "failed"
DISPOSITIONS = (CLAIMED, DEFERRED, RESPONDED, ACKNOWLEDGED, IGNORED, SUPERSEDED, FAILED)
FINAL = (RESPONDED, ACKNOWLEDGED, IGNORED, SUPERSEDED, FAILED)

EPHEMERAL = "ephemeral"
VISIBILITIES = (DM, THREAD, CHANNEL, EPHEMERAL)

# What a message is for. Closed, since the topic of a knock is made of it.
QUESTION, ANSWER, ASSIGNMENT, APPROVAL, BLOCKER = "question", "answer", "assignment", "approval_request", "blocker"
STATUS, THANKS, RECEIPT, PLAIN = "status", "thanks", "receipt", "message"
INTENTS = (PLAIN, QUESTION, ANSWER, ASSIGNMENT, APPROVAL, BLOCKER, STATUS, THANKS, RECEIPT)
OBLIGING = (ASSIGNMENT, APPROVAL, BLOCKER)
FILLER = (THANKS, RECEIPT)


class Signal(Record):
    """A reaction that says something, without a turn and without a message."""

    glyph: str
    disposition: str | None
    commitment: int  # how far it binds; of two, the later one counts, and this says what a person is shown
    answers: str = ""  # what it says to whoever wrote the message


REACTED = "signal "  # how the reason of an event begins that is a reaction


def signal_in(reason: str) -> str:
    """What a reaction says, of an event's reason; empty where it is none."""
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
    """Of an event that is a reaction: what it says, of which message, and what that means to who wrote it."""
    signal = signal_in(reason)
    if not signal:
        return {}
    meaning = SIGNALS[signal].answers if signal in SIGNALS else ""
    return {"signal": signal, "onMessage": linked, **({"meaning": meaning} if meaning else {})}
