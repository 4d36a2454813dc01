"""Messages relayed from one group to another (CCCS §9; IPC §8.5 `send_cross_group`).

The message in the destination names its source. It has the original text, truncated with a mark if it is too long. The
source group keeps a copy, addressed to the person, that needs no acknowledgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bb.kernel.errors import Refused, Usage
from bb.messaging.chat import message
from bb.messaging.chat.fields import Fields
from bb.messaging.chat.principals import USER
from bb.messaging.chat.recipients import Member

TRUNCATED = "[Truncated] "

MissingDstGroupId = Usage.declare(
    "MISSING_DST_GROUP_ID", "A relayed message needs a destination group", hint="pass `dst_group_id`"
)

InvalidDstGroupId = Usage.declare(
    "INVALID_DST_GROUP_ID",
    "The destination of a relayed message must be another group",
    hint="within one group, use `send`",
)

AttachmentsNotSupported = Refused.declare(
    "ATTACHMENTS_NOT_SUPPORTED",
    "Attachments cannot be relayed to another group",
    hint="send them again in the other group",
)


def crossing(group_id: str, dst_group_id: Any, attachments: Any = None) -> str:
    """The destination group of a message from GROUP_ID, if it may be relayed."""
    arguments = Fields({"dst_group_id": dst_group_id}).refusing(InvalidDstGroupId)
    where = arguments.name("dst_group_id")
    if where is None:
        raise MissingDstGroupId(path="$.dst_group_id")
    if where == group_id:
        raise InvalidDstGroupId(path="$.dst_group_id")
    if attachments:
        raise AttachmentsNotSupported(path="$.attachments")
    return where


def source_copy(
    *, by: Any, members: Sequence[Member], dst_group_id: str, dst_to: Sequence[str], **said: Any
) -> dict[str, Any]:
    """The source group's copy of a message relayed to another group, with its destination and recipients."""
    kept = {name: value for name, value in said.items() if name not in ("src_group_id", "src_event_id")}
    return message.compose(**kept, by=by, to=(USER,), members=members, dst_group_id=dst_group_id, dst_to=list(dst_to))


def relayed(
    *,
    by: Any,
    text: Any,
    to: tuple[str, ...],
    members: Sequence[Member],
    src_group_id: Any,
    src_event_id: Any,
    longest: int | None = None,
    **said: Any,
) -> dict[str, Any]:
    """The message for the destination: its source, and at most LONGEST characters of the original text."""
    kept = {name: value for name, value in said.items() if name not in ("dst_group_id", "dst_to")}
    source = {"src_group_id": src_group_id, "src_event_id": src_event_id}
    if missing := [name for name, value in source.items() if not value]:
        raise message.IncompleteSource(path=f"$.{missing[0]}")
    return message.compose(**kept, **source, by=by, text=truncated(text, longest), to=to, members=members)


def truncated(text: Any, longest: int | None) -> Any:
    """TEXT, or its beginning after a mark if it is longer than LONGEST characters; the mark counts too."""
    if not isinstance(text, str) or longest is None or len(text) <= longest:
        return text
    return (TRUNCATED + text)[: max(longest, len(TRUNCATED))]
