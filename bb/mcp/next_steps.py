"""What an agent does best next, from what is known of it: as calls of tools, the most urgent first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Step = dict[str, Any]

MOST = 3


def next_steps(known: Mapping[str, Any], asked: Sequence[Mapping[str, Any]]) -> list[Step]:
    """What to do next: KNOWN is what `bb resume` answers, ASKED the chat events that oblige the agent."""
    steps = list(_steps(known, asked))
    return steps[:MOST] or [_step("status", "Nothing waits for you: see who holds what, and reserve before you edit.")]


def _steps(known: Mapping[str, Any], asked: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    if known["liveness"] == "retired":
        yield _step("session", "This identity is retired: begin under a new name, with a role.")
        return
    for message in known["to_accept"]:
        why = f"{message['from']} waits for you to accept this, or to say why not."
        yield _step("acknowledge", why, message=message["id"], **{"as": "accepted"})
    if asked:
        yield _step(
            "chat", f"{_count(asked, 'chat event')} to answer.", tool="list_events", arguments={"state": "open"}
        )
    if known["unread"]:
        yield _step("inbox", f"{known['unread']} unread.", state="unread")
    if over := [each["scope"] for each in known["holds"] if each.get("is_expired")]:
        yield _step("reserve", "Your time there is over: reserve again before you go on.", scope=over)
    elif known["holds"]:
        yield _step("release", "Go on with what you hold, and give it back once it is done.")


def _count(found: Sequence[object], what: str) -> str:
    return f"{len(found)} {what}{'' if len(found) == 1 else 's'}"


def _step(tool: str, why: str, /, **arguments: Any) -> Step:
    return {"tool": tool, "arguments": arguments, "why": why}
