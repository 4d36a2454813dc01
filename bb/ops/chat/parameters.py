"""The parameters of the ops that send messages."""

from __future__ import annotations

from bb.attention.words import DIRECTEDNESS, INTENTS, PRIORITIES, VISIBILITIES
from bb.messaging.chat import message as chat_message
from bb.ops.json_params import Json, JsonText
from bb.ops.params import Number


class Text(JsonText):
    """The text of the message."""


class Recipient(JsonText):
    """An actor, `user`, @all, @peers or @foreman. May be repeated. Default: all members; for a reply, the author."""

    metavar = "ID"
    is_agent = True
    offered = ("user", "@all", "@peers", "@foreman")


class Priority(JsonText):
    """normal or attention. Recipients must acknowledge an attention message."""

    offered = chat_message.PRIORITIES


class Format(JsonText):
    """plain or markdown."""

    offered = chat_message.FORMATS


class Mode(JsonText):
    """send; request_reply: each recipient must answer; mail: the message waits in the inbox. For later CCCC clients."""

    offered = chat_message.MODES


class ClientId(JsonText):
    """An id chosen by the sender. A repetition within ten minutes sends nothing and answers with the first message."""

    metavar = "KEY"


class EventId(JsonText):
    """The message's id."""

    metavar = "EVENT"


class Attachments(Json):
    """Files stored in the group, as `bb blob put` answers. Use --attach for other files."""


class Refs(Json):
    """References of the message: a list of task_ref, presentation_ref and others, each with its kind."""


class ClientTime(JsonText):
    """The time of sending by the sender's clock. It is recorded; it does not affect the order of messages."""

    metavar = "TIME"


class Insight(JsonText):
    """A remark for the person, in addition to the text. For later CCCC clients."""


class Suggestion(JsonText):
    """A suggested answer for the person. For later CCCC clients."""


class Visibility(JsonText):
    """C2A: the visibility of the message: dm, thread, channel or ephemeral."""

    offered = VISIBILITIES


class Directed(JsonText):
    """C2A: the agents that must answer. to_me: the named ones; to_my_role: one of a role; to_other, ambient: none."""

    offered = DIRECTEDNESS


class Intent(JsonText):
    """C2A: the intent: question, answer, assignment, approval_request, blocker, status, thanks, receipt or cancel."""

    offered = INTENTS


class ContentVersion(Number):
    """C2A: the contentVersion of the event that you answer, as you saw it. Default: the last one you were shown."""

    metavar = "N"
    most = 1_000_000


class Urgency(JsonText):
    """C2A: the urgency: low, normal, high or urgent."""

    offered = PRIORITIES
