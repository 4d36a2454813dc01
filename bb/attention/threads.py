"""What was said in a thread so far, as far as it decides at whom the next message is aimed. A fold.

Who has written in a thread takes part in it from then on. An entry keeps who wrote first, and of the last messages who
wrote them, by their places alone, so it is the same whatever arrives first.
"""

from __future__ import annotations

from bb.attention.facts import Posted
from bb.kernel.order import event as event_at
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.order import Place, State

NAME = "c2a.thread"
FACTS = (Posted,)
REMEMBERED = 50  # the last messages whose authors are known


class Thread(Record):
    """A thread, or a conversation without threads."""

    opener: str = ""
    participants: tuple[str, ...] = ()  # agents that have written in it
    authors: Mapping[str, str] = {}
    run: int = 0  # how many messages agents have written since a person last did


NONE = Thread()


def keys(fact: Posted, at: Place) -> list[str]:  # noqa: ARG001
    """The thread that the message is in. Outside any thread nobody takes part in anything, but turns are counted."""
    return [window(fact.c2a)] if "conversation" in fact.c2a else []


def window(c2a: Mapping[str, Any]) -> str:
    """The name of the thread that a message is in."""
    return f"{c2a.get('conversation', '')} {c2a.get('thread', '')}"


def step(state: State | None, fact: Posted, at: Place, ts: str) -> State:  # noqa: ARG001
    """STATE after one more message."""
    after = dict(state or {"last": [], "first": {}})
    named = fact.c2a.get("event") or event_at(at)
    who = fact.c2a.get("agent") or ""  # the agent that wrote it, where one did
    last = [each for each in after["last"] if each[:3] != at]
    after["last"] = sorted([*last, [*at, named, who, fact.c2a.get("author_kind") == "agent"]])[-REMEMBERED:]
    first = after.get("opened")
    if first is None or at < first[:3]:
        after["opened"] = [*at, who]
    if who:
        known = after["first"].get(who)
        if known is None or at < known:
            after["first"] = {**after["first"], who: at}
    return after


def thread(state: State | None) -> Thread:
    """The thread that STATE describes."""
    if not state:
        return NONE
    run = 0
    for *_, is_agent in reversed(state["last"]):
        if not is_agent:
            break
        run += 1
    return Thread(
        opener=state["opened"][3],
        participants=tuple(sorted(state["first"])),
        authors={name: who for *_, name, who, _ in state["last"]},
        run=run,
    )


def before(state: State | None, at: Place) -> Thread:
    """The thread as it was before a message: who wrote in it only afterwards took no part in it then."""
    last = [each for each in (state or {}).get("last", []) if each[:3] < at]
    if not state or not last:
        return NONE
    first = {who: place for who, place in state["first"].items() if place < at}
    return thread({**state, "last": last, "first": first})
