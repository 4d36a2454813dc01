"""Platforms of chat (C2A): the agents' names there, conversations, settings, and messages that a bridge has to post."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from bb.attention.acts import configuration, counters, outbox
from bb.attention.state import tuning
from bb.attention.words import CONVERSATIONS, SIGNALS
from bb.kernel.errors import Usage
from bb.kernel.ids import PERSON
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.catalogue import op
from bb.ops.desk.desk import Desk
from bb.ops.desk.signs_of_life import PersonOnly
from bb.ops.json_params import GroupId, Json
from bb.ops.params import AgentId, Number, Text, invalid

FOR_EVER = 10**9  # seconds


def _by_the_person(desk: Desk) -> str:
    """The author of a change of settings. An agent is refused: names, members and visibility decide what it may read,
    and what it must ask the person about before it shows it to others."""
    by = desk.principal()
    if by != PERSON:
        hint = "ask the person: `bb send user 'text'`; a person at an agent's shell unsets BB_AGENT"
        raise PersonOnly(f"{by} is an agent, and only the person may do this", hint=hint, agent_id=by)
    return by


class KindOf(Text):
    """The kind of conversation: dm, channel, thread, system or tool."""

    metavar = "KIND"
    choices = CONVERSATIONS


class Rows(Number):
    """At most this many messages, the oldest first."""

    most = 1000


@op(
    "chat.bind",
    screen="attention_host",
    examples=(
        "bb chat bind amber-otter --handle slack:U123 --role @backend",
        "bb chat bind amber-otter --stream acme/kettle --conversation slack-D9",
    ),
)
def bind(
    desk: Desk,
    agent: AgentId | None = None,
    *,
    handle: list[Text] | None = None,
    role: list[Text] | None = None,
    stream: list[Text] | None = None,
    thread: list[Text] | None = None,
    conversation: list[Text] | None = None,
    remove: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Set an agent's names on platforms, and what it owns. Without options, show them.

    The answer also counts the messages that already named the agent so. `bb chat knocks` lists them.

    Parameters:
        handle (PLATFORM:ID): A name on a platform, such as slack:U123 or github:amber-bot. May be repeated.
        role (ROLE): A role or group, such as @backend, or slack:@S123. May be repeated.
        stream (STREAM): A work stream that the agent owns. May be repeated.
        thread (THREAD): A thread that the agent owns, as CONVERSATION/THREAD. May be repeated.
        conversation (CONVERSATION): The id of a private conversation with the agent. May be repeated.
        remove: Remove these names; without any, remove all names.
    """
    at = C2aDesk(desk, agent, group_id)
    names = {
        "handles": handle,
        "roles": role,
        "streams": stream,
        "threads": [" ".join(name.rsplit("/", 1)) for name in thread or ()],
        "conversations": conversation,
    }
    given_names = {name: list(listed) for name, listed in names.items() if listed}
    if not given_names and not remove:
        return configuration.bindings(at.book(), agent)
    by = _by_the_person(desk)
    return at.act(lambda book, now: configuration.bind(book, by, at.subject, given_names, now, remove=remove), by)


@op(
    "chat.arrange",
    screen="attention_host",
    examples=("bb chat arrange slack-C123 --private --member amber-otter --lead amber-otter",),
)
def arrange(
    desk: Desk,
    conversation: Text,
    *,
    kind: KindOf | None = None,
    private: bool = False,
    public: bool = False,
    member: list[AgentId] | None = None,
    lead: AgentId | None = None,
    owner: AgentId | None = None,
    stream: Text | None = None,
    platform: Text | None = None,
    external: bool = False,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Configure a conversation: its visibility, members, lead and platform. Without options, show its configuration.

    Parameters:
        conversation (CONVERSATION): The id of the conversation.
        private: Only members may see the conversation.
        public: All agents may see the conversation.
        member: A member: an agent that may see the conversation if it is private. May be repeated.
        lead: The agent that leads the conversation. An unanswered message is escalated to the lead first.
        owner: The agent that owns the work discussed there.
        stream (STREAM): The work stream of the conversation.
        platform (PLATFORM): The platform of the conversation.
        external: A bridge posts the agents' messages there. They wait in the outbox.
    """
    if private and public:
        raise Usage("both --private and --public are given", hint="remove one of the two")
    at = C2aDesk(desk, desk.principal(), group_id)
    about = {
        "kind": kind,
        "is_private": True if private else False if public else None,
        "members": [str(name) for name in member] if member else None,
        "lead": lead,
        "owner": owner,
        "stream": stream,
        "platform": platform,
        "is_external": True if external else None,
    }
    settings = {name: value for name, value in about.items() if value is not None}
    if not settings:
        return configuration.conversation(at.book(), conversation)
    by = _by_the_person(desk)
    return at.act(lambda book, _: configuration.arrange(book, by, conversation, settings), by)


@op(
    "chat.policy",
    screen="attention_host",
    examples=("bb chat policy", """bb chat policy --set '{"compose_ms": 2000}'"""),
)
def policy(desk: Desk, *, set: Json | None = None, group_id: GroupId | None = None) -> dict[str, Any]:  # noqa: A002
    """Show or change the host's policy: the default matrix, the rules of this workspace, all times and limits.

    Parameters:
        set: The new settings, as a JSON object; null resets a setting to its default.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
    if set is None:
        return configuration.policy(at.book())
    by = _by_the_person(desk)
    return at.act(lambda book, _: configuration.tune(book, by, set), by)


class Faults(Number):
    """At most this many events of each counter, the newest."""

    most = 1000


@op(
    "chat.signals",
    reads=True,
    screen="attention_host",
    examples=("bb chat signals", "bb chat signals --all", """bb chat signals --set '{"done": "🏁"}'"""),
)
def signals(
    desk: Desk,
    *,
    set: Json | None = None,  # noqa: A002
    all_: bool = False,
    limit: Faults = Faults(counters.SHOWN),  # noqa: B008
    cursor: Text | None = None,
    group_id: GroupId | None = None,
) -> dict[str, Any]:
    """Show the nine signals, and how often agents answered too little or too much; or change the glyphs.

    The counter `overSilence` counts missing answers, `overTalk` superfluous ones. Each names its events.

    Parameters:
        set: The glyphs of this workspace: a JSON object from the name of a signal to its glyph.
        all_: All events of the counters.
        cursor (CURSOR): Only events before this `cursor` of an earlier answer.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
    if set is not None:
        by = _by_the_person(desk)
        at.act(lambda book, _: configuration.tune(book, by, {"glyphs": set}), by)
    book = at.book()
    tuned = book.tuning
    wrong = counters.counted(book, desk.now(), counters.EVERY if all_ else limit, cursor or "")
    rows = {
        name: {"glyph": tuning.glyph_of(name, tuned), "disposition": signal.disposition}
        for name, signal in SIGNALS.items()
    }
    return {"signals": rows, "own": dict(tuned.signals), **wrong}


@op(
    "chat.outbox",
    screen="attention_host",
    output="feed",
    examples=("bb chat outbox", "bb chat outbox --follow", "bb chat outbox ack ID --platform-id 1748.2"),
    streams=True,
)
def outbox_(
    desk: Desk,
    action: Text | None = None,
    id: Text | None = None,  # noqa: A002
    *,
    platform_id: Text | None = None,
    failed: Text | None = None,
    unknown: bool = False,
    platform: Text | None = None,
    follow: bool = False,
    results: bool = False,
    limit: Rows = Rows(100),  # noqa: B008
    group_id: GroupId | None = None,
) -> Any:
    """List the messages that a bridge has to post. `ack ID` confirms that a message was posted or failed for good.

    Parameters:
        action: `ack` confirms the message with this ID. Default: list the messages.
        id (ID): The message's id in the outbox.
        platform_id (ID): The message's id on the platform.
        failed (REASON): The platform has refused the message for good, for this reason.
        unknown: With `ack ID`: it is unknown whether the message was posted, so check the platform before posting
            again. The answer has the message as it is now.
        platform: List only what is to be posted on this platform.
        follow: Keep showing new messages, one JSON object per line, until interrupted.
        results: With --follow: show one message at a time, marked as unknown, and read its result from stdin, one JSON
            object per line: platformId, failed, or again with a number of seconds or null.
    """
    at = C2aDesk(desk, desk.principal(), group_id)
    if action is None:
        for name, value in (("platform_id", platform_id), ("failed", failed), ("unknown", unknown)):
            if value:
                raise invalid(f"--{name.replace('_', '-')} can only be used with `ack ID`", name)
        return _results_or_rows(at, platform or "", follow=follow, results=results, limit=limit)
    if action != "ack" or not id:
        raise Usage(
            "the only action of the outbox is `ack ID`", hint="run `bb chat outbox ack ID --platform-id PLATFORM-ID`"
        )
    for name, is_given in (("follow", follow), ("results", results), ("platform", platform)):
        if is_given:
            raise invalid(f"--{name} cannot be used with `ack`", name)
    by = desk.principal()
    about = {"platform_id": platform_id, "reason": failed, "unknown": unknown}
    return at.act(lambda book, now: outbox.record_result(book, by, id, about, now), by)


def _results_or_rows(
    at: C2aDesk, platform: str, *, follow: bool, results: bool, limit: int
) -> Iterator[dict[str, Any]]:
    if not results:
        return outbox_rows(at, platform, follow=follow, limit=limit)
    if not follow or at.desk.stdin is None:
        raise invalid("--results can only be used with --follow, on the command line", "results")
    from bb.ops.attention import posting  # noqa: PLC0415  (only needed for a bridge)

    return posting.items(at, platform, at.desk.stdin)


def outbox_rows(at: C2aDesk, platform: str, *, follow: bool, limit: int) -> Iterator[dict[str, Any]]:
    """The messages to post; with FOLLOW also new ones. Each message is returned once."""
    from bb.ledger.records.changes import LedgerWatch  # noqa: PLC0415

    seen: set[str] = set()
    for message in islice(_shown_to(at, platform), limit):
        seen.add(str(message["id"]))
        yield message
    if not follow:
        return
    watch = LedgerWatch(at.store)
    for _ in watch.changes(FOR_EVER, every_minute=lambda: None, is_over=at.desk.is_client_gone):
        for message in _shown_to(at, platform):
            if message["id"] not in seen:
                seen.add(str(message["id"]))
                yield message


def _shown_to(at: C2aDesk, platform: str) -> Iterator[dict[str, Any]]:
    """What is to be posted, as the caller may see it: an agent sees only what it has said itself."""
    by = at.desk.principal()
    return (item for item in outbox.to_post(at.book(), platform) if by in (PERSON, item.get("agent")))
