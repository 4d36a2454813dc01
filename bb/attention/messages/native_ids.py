"""Ids of messages on their platform, and the event ids that bb makes of them.

A platform knows a message by its own id: the `ts` of Slack, the number of Discord, the event id of Matrix. The event id
of bb adds the platform and the place, as docs/surfaces.md describes. A top-level message opens the thread that has its
own id.
"""

from __future__ import annotations


def native_id(event: str, place: str) -> str:
    """The platform's own id in an event id such as `slack:TEAM:CHANNEL:TS`; EVENT itself if it has another form."""
    return event.rpartition(f":{place}:")[2] or event


def ids_of_posted(platform_id: str, platform: str, workspace: str, conversation: str, thread: str) -> dict[str, str]:
    """The ids of a message that bb posted: the platform's own one, and the event id with which it comes back.

    A bridge may give either of them as PLATFORM ID. The platform's own id names the thread that the message opens.
    """
    place = thread if platform == "discord" and thread else conversation
    event = _event_id(platform_id, platform, workspace, place)
    return {"native": native_id(platform_id, place), **({} if event == platform_id else {"posted_as": event})}


def _event_id(platform_id: str, platform: str, workspace: str, place: str) -> str:
    if platform_id.startswith(f"{platform}:"):
        return platform_id
    match platform:
        case "slack":
            return f"slack:{workspace}:{place}:{platform_id}"
        case "discord" | "matrix" | "github":  # on Discord a thread is a channel of its own
            return f"{platform}:{place}:{platform_id}"
    return platform_id
