"""Suggests an agent's next steps as tool calls, the most urgent first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from typing import Any

from bb.kernel.foreign import Foreign

Step = dict[str, Any]

MOST = 3


def next_steps(known: Mapping[str, Any], asked: Sized) -> list[Step]:
    """The next steps. KNOWN is the answer of `bb resume`, and has that of `bb turn` as its member `news`. ASKED are the
    chat events that the agent must answer."""
    steps = list(_steps(Foreign(known), len(asked)))
    return steps[:MOST] or [_step("status", "Nothing is waiting. See who holds what; reserve before you edit.")]


def _steps(known: Foreign, asked: int) -> Iterator[Step]:
    if known["liveness"] == "retired":
        yield _step("session", "This name is retired. Start with a new name and a role.")
        return
    for message in known["to_accept"]:
        doubt = " (unverified)" if message.get("signature") else ""
        why = f"{message['from']}{doubt} asks you to accept this or say why not."
        yield _step("acknowledge", why, message=message["id"].raw(), **{"as": "accepted"})
    if asked:
        yield _step(
            "chat", f"{_count(asked, 'chat event')} to answer.", tool="list_events", arguments={"state": "open"}
        )
    if known["unread"]:
        yield _step("inbox", f"{known['unread']} unread.", state="unread")
    if known.get("paused"):
        what_to_do = "Release or hand over what others could go on with." if known["holds"] else "Wait."
        yield _step("release" if known["holds"] else "status", f"You are paused: change nothing. {what_to_do}")
        return
    if over := [reservation["scope"].raw() for reservation in known["holds"] if reservation.get("is_expired")]:
        yield _step("reserve", "Your reservation has expired. Renew it before you go on.", scope=over)
    for waiting in known.get("news", {}).get("waiting_for_me", ()):
        why = f"{waiting['agent_id']} waits for {waiting['scope']}. Release it when you can."
        yield _step("release", why, scope=[waiting["scope"].raw()])
    if known["holds"] and not over:
        yield _step("release", "Go on with your work. Release the scopes when it is done.")


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _step(tool: str, why: str, /, **arguments: Any) -> Step:
    return {"tool": tool, "arguments": arguments, "why": why}
