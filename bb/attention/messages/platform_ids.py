"""Ids of messages on their platform, and the event ids that bb makes of them.

A platform knows a message by its own id: the `ts` of Slack, the number of Discord, the event id of Matrix. An event id
of bb adds the platform and the place, as docs/surfaces.md describes. A top-level message opens the thread that has its
platform's own id.
"""

from __future__ import annotations


def platform_id(event: str, platform: str, conversation: str, thread: str) -> str:
    """The platform's own id in an event id such as `slack:TEAM:CHANNEL:TS`; EVENT itself if it has another form."""
    place = conversation.removeprefix(f"{platform}:")
    of_place = event.rpartition(f":{place}:")[2] or event
    if of_place == event and thread:  # on Discord a thread is a channel of its own
        return event.rpartition(f":{thread}:")[2] or event
    return of_place


def event_id(own_id: str, platform: str, workspace: str, conversation: str, thread: str) -> str:
    """The event id with which a message comes back that a bridge has posted and names by the platform's OWN ID.

    A bridge may also give the event id itself.
    """
    place = conversation.removeprefix(f"{platform}:")
    if own_id.startswith(f"{platform}:"):
        return own_id
    match platform:
        case "slack":
            return f"slack:{workspace}:{place}:{own_id}"
        case "discord":
            return f"discord:{thread or place}:{own_id}"
        case "matrix" | "github":
            return f"{platform}:{place}:{own_id}"
    return own_id
