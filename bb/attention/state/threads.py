"""The facts about a thread that decide at which agents its next message is aimed. A fold.

An agent that has written in a thread takes part in it from then on. An entry keeps the first author, the agents'
messages since a person last wrote, and the last message of each agent, which may be a question. It depends only on
their places, so the order of arrival does not matter.
"""

from __future__ import annotations

from bb.attention.facts import Posted
from bb.attention.words import AGENT, HUMAN, STATUS
from bb.kernel.record import Record
from bb.kernel.total_order import earliest, latest
from bb.kernel.total_order import event as event_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.kernel.total_order import Place, State

NAME = "c2a.thread"
FACTS = (Posted,)
REMEMBERED = 32  # at most, counted messages of agents in a row


class Question(Record):
    """The last message of an agent in a thread that asks."""

    event: str
    agent: str
    latest: str  # the agent's last message there: this one, or a later one that asks nothing
    is_last: bool = True  # whether no person has written after it


class Thread(Record):
    """A thread, or a conversation without threads."""

    opener: str = ""  # the agent that wrote its first message, if an agent did
    root: str = ""  # the line of that message
    opened_by: str = ""  # the top-level message that it hangs under, if a reply has named it
    participants: tuple[str, ...] = ()  # agents that have written in it
    run: int = 0  # how many messages agents have written since a person last did
    last: tuple[str, str, int] = ("", "", 0)  # the last message of a person, the author and the time
    speaker: tuple[str, str] = ("", "")  # the agent that has written after it, if one has, and its message
    questions: tuple[Question, ...] = ()  # the newest first


NONE = Thread()
NOBODY = ("", "")


def keys(fact: Posted, at: Place) -> list[str]:  # noqa: ARG001
    """The thread of the message, or its conversation, where only turns are counted.

    An event about another message, such as a reaction, is not part of a thread.
    """
    return [window(fact.c2a)] if "conversation" in fact.c2a and not fact.c2a.get("reason") else []


def window(c2a: Mapping[str, Any]) -> str:
    """The name of the thread that a message is in."""
    return f"{c2a.get('conversation', '')} {c2a.get('thread', '')}"


def step(state: State | None, fact: Posted, at: Place, ts: str) -> State:  # noqa: ARG001
    """STATE after one more message."""
    after = dict(state or {"first": {}, "run": []})
    who = fact.c2a.get("agent") or ""  # the agent that wrote it, if an agent did
    earliest(after, "opened", at, who)
    if root := fact.c2a.get("root"):
        earliest(after, "root", at, root)
    event = fact.c2a.get("event") or event_at(at)
    if fact.c2a.get("author_kind", HUMAN) == HUMAN and not who:
        latest(after, "last", at, [event, fact.c2a.get("author", ""), fact.c2a.get("at", 0)])
    if fact.c2a.get("author_kind") == AGENT:
        # Only messages after the last message of a person count.
        if at not in after["run"] and ("person" not in after or after["person"][:3] < at):
            after["run"] = sorted([*after["run"], at])[-REMEMBERED:]
    elif "person" not in after or after["person"][:3] < at:
        after["person"] = at
        after["run"] = [place for place in after["run"] if place > at]
    if who and fact.c2a.get("intent") != STATUS:  # a report of progress takes no question back
        after["said"] = said = dict(after.get("said", {}))
        latest(said, who, at, event)
        if isinstance(fact.c2a.get("asks"), list):
            after["asked"] = asked = dict(after.get("asked", {}))
            latest(asked, who, at, event)
    if who and (who not in after["first"] or at < after["first"][who]):
        after["first"] = {**after["first"], who: at}
    return after


def thread(state: State | None) -> Thread:
    """The thread that STATE describes."""
    if not state:
        return NONE
    event, author, ms = state["last"][3] if "last" in state else NONE.last
    return Thread(
        opener=state["opened"][3],
        root=event_at(state["opened"]),
        opened_by=_opened_by(state),
        participants=tuple(sorted(state["first"])),
        run=len(state["run"]),
        last=(event, author, ms),
        speaker=_speaker(state),
        questions=_questions(state),
    )


def _questions(state: State) -> tuple[Question, ...]:
    asked = sorted(((place[:3], agent, place[3]) for agent, place in state.get("asked", {}).items()), reverse=True)
    return tuple(
        Question(event, agent, state["said"][agent][3], place > _person_at(state)) for place, agent, event in asked
    )


def _speaker(state: State) -> tuple[str, str]:
    said = [(place[:3], agent, place[3]) for agent, place in state.get("said", {}).items()]
    place, agent, event = max(said, default=([], "", ""))
    return (agent, event) if place > _person_at(state) else NOBODY


def _person_at(state: State) -> Place:
    """The place of the last message of a person; before every other place if there is none."""
    return state["last"][:3] if "last" in state else []


def thread_before(state: State | None, at: Place) -> Thread:
    """The thread as it was before the message at the place AT, without later authors."""
    if not state or at <= state["opened"][:3]:
        return NONE
    run = sum(1 for place in state["run"] if place < at)
    participants = tuple(sorted(who for who, place in state["first"].items() if place < at))
    return Thread(state["opened"][3], event_at(state["opened"]), _opened_by(state), participants, run)


def _opened_by(state: State) -> str:
    return str(state["root"][3]) if "root" in state else ""
