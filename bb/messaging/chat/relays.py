"""A message that crosses from one group into another (CCCS §9; IPC §8.5 `send_cross_group`).

The destination's message says where it comes from. It carries the original's words, or as many as there is room for and
a mark that says so. The origin keeps a copy for the record, addressed to the person, that nobody need acknowledge.
"""

from __future__ import annotations

from bb.kernel.errors import Refused, Usage
from bb.messaging.chat import fields, message
from bb.messaging.chat.principals import USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.messaging.chat.recipients import Member

TRUNCATED = "[Truncated] "


class MissingDstGroupId(Usage):
    """A message that crosses needs a group to go to."""

    code = "MISSING_DST_GROUP_ID"
    hint = "pass dst_group_id"


class InvalidDstGroupId(Usage):
    """A message crosses from one group into another."""

    code = "INVALID_DST_GROUP_ID"
    hint = "within one group, `send` is enough"


class AttachmentsNotSupported(Refused):
    """Attachments stay in their group."""

    code = "ATTACHMENTS_NOT_SUPPORTED"
    hint = "send them again in the other group"


def crossing(group_id: str, dst_group_id: Any, attachments: Any = None) -> str:
    """The group that a message from GROUP_ID goes to, if it may."""
    where = fields.name(dst_group_id, "$.dst_group_id", InvalidDstGroupId)
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
    """What the origin keeps of a message that went to another group: where it went, and to whom there."""
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
    """What the destination is told: the original's words, at most LONGEST characters, and where they are from."""
    kept = {name: value for name, value in said.items() if name not in ("dst_group_id", "dst_to")}
    source = {"src_group_id": src_group_id, "src_event_id": src_event_id}
    if missing := [name for name, value in source.items() if not value]:
        raise message.IncompleteSource(path=f"$.{missing[0]}")
    return message.compose(**kept, **source, by=by, text=carried(text, longest), to=to, members=members)


def carried(text: Any, longest: int | None) -> Any:
    """TEXT as it stands, or its beginning behind a mark that says so: LONGEST characters, the mark included."""
    if not isinstance(text, str) or longest is None or len(text) <= longest:
        return text
    return (TRUNCATED + text)[: max(longest, len(TRUNCATED))]
