"""Who joins and leaves conversations, and which of them become private or public, on each platform.

A change is reported only if the event itself proves it. Where an event can prove only that a conversation is private,
nothing is said about public ones: that would show texts to agents by mistake.
"""

from __future__ import annotations

from bb.attention.surfaces.line import Line, without_empty
from bb.attention.surfaces.payload import Part

VIEW_CHANNEL = 1 << 10  # a permission of Discord
PRIVATE_THREAD = 12  # a type of channel of Discord
OF_MEMBER = 1  # a permission overwrite of Discord that is about a user
IN_ROOM, GONE = ("join",), ("leave", "ban")
PUBLIC_RULE = "public"


def membership(platform: str, workspace: str, conversation: str, user: str, *, joined: bool) -> Line:
    """A user joined a conversation, or left it."""
    source = without_empty(platform=platform, workspaceId=workspace)
    about = {"conversation": {"id": conversation}, "member": {"id": user}, "joined": joined}
    return {"type": "membership", "source": source, **about}


def visibility(platform: str, workspace: str, conversation: str, *, private: bool) -> Line:
    """A conversation is private from now on, or public."""
    source = without_empty(platform=platform, workspaceId=workspace)
    return {"type": "conversation", "source": source, "conversation": {"id": conversation, "private": private}}


# -- Slack

SLACK_MEMBERS = {"member_joined_channel": True, "member_left_channel": False}
SLACK_CONVERSIONS = {"channel_convert_to_private": True, "channel_convert_to_public": False}


def slack(whole: Part, event: Part) -> list[Line]:
    """The lines of an event about a channel; empty if it is about something else."""
    kind, team = event.needed("type"), whole.needed("team_id")
    conversion = event.text("subtype") or kind
    if kind in SLACK_MEMBERS:
        joined = SLACK_MEMBERS[kind]
        return [membership("slack", team, event.needed("channel"), event.needed("user"), joined=joined)]
    if conversion in SLACK_CONVERSIONS:
        return [visibility("slack", team, event.needed("channel"), private=SLACK_CONVERSIONS[conversion])]
    return []


# -- Discord


def discord_channel(channel: Part) -> list[Line]:
    """A channel was created or changed. It is private if its guild's role for everybody may not view it."""
    guild, place = channel.text("guild_id"), channel.needed("id")
    overwrites = channel.objects("permission_overwrites")
    is_denied = any(each.text("id") == guild and _has(each, "deny") for each in overwrites)
    if not guild or not (is_denied or channel.number("type") == PRIVATE_THREAD):
        return []
    allowed = [each.needed("id") for each in overwrites if each.number("type") == OF_MEMBER and _has(each, "allow")]
    members = [membership("discord", guild, place, user, joined=True) for user in allowed]
    return [visibility("discord", guild, place, private=True), *members]


def discord_thread_members(event: Part) -> list[Line]:
    """Users were added to a thread or removed from it."""
    guild, place = event.text("guild_id"), event.needed("id")
    added = [member.needed("user_id") for member in event.objects("added_members")]
    removed = event.texts("removed_member_ids")
    return [
        *(membership("discord", guild, place, user, joined=True) for user in added),
        *(membership("discord", guild, place, user, joined=False) for user in removed),
    ]


def _has(overwrite: Part, name: str) -> bool:
    """Whether a permission overwrite is about viewing the channel. Discord writes the bits as a decimal number."""
    written = overwrite.text(name)
    return written.isascii() and written.isdigit() and len(written) <= 20 and bool(int(written) & VIEW_CHANNEL)


# -- Matrix


def matrix_member(event: Part, content: Part, room: Line) -> list[Line]:
    """A user joined a room or left it. An invitation changes nothing yet."""
    state = content.needed("membership")
    if state not in (*IN_ROOM, *GONE):
        return []
    user = event.needed("state_key")
    return [membership("matrix", _server(room["id"]), room["id"], user, joined=state in IN_ROOM)]


def matrix_rules(_event: Part, content: Part, room: Line) -> list[Line]:
    """The rule by which users may join: all but `public` make the room private."""
    is_private = content.needed("join_rule") != PUBLIC_RULE
    return [visibility("matrix", _server(room["id"]), room["id"], private=is_private)]


def _server(room: str) -> str:
    return room.partition(":")[2] or "matrix"  # room ids of version 12 or later have no server


# -- GitHub

GITHUB_VISIBILITY = {"privatized": True, "publicized": False}
GITHUB_MEMBERS = {"added": True, "removed": False}


def github(event: str, whole: Part) -> list[Line]:
    """A repository became private or public, or a collaborator was added or removed."""
    place, action = whole.part("repository").needed("full_name"), whole.needed("action")
    if event == "repository" and action in GITHUB_VISIBILITY:
        return [visibility("github", place, place, private=GITHUB_VISIBILITY[action])]
    if event == "member" and action in GITHUB_MEMBERS:
        user = whole.part("member").needed("login")
        return [membership("github", place, place, user, joined=GITHUB_MEMBERS[action])]
    return []
