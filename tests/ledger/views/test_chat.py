"""Who is to read what, how far somebody has read, and what was said of a message: by place, and never by time."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.facts import Redacted
from bb.kernel.clock import SECOND
from bb.ledger.care import repair
from bb.ledger.files.sqlite import sqlite3
from bb.ledger.index.index import Index
from bb.ledger.journal.journal import Journal
from bb.ledger.records import events as recorded
from bb.ledger.records import payload_removal
from bb.ledger.records.store import Store
from bb.ledger.views import chat_reader, chat_tables
from bb.ledger.views.chat_tables import ACK, ATTENTION, AUTOMATIC, CANCELLED, MAIL, NOTICE, REQUEST, ReadPosition
from bb.messaging.chat import acks
from tests.examples import examples
from tests.ledger.course_support import Place, another, clones, writer_of
from tests.ledger.ledger_support import NOW, damage_line, forget_index, only_segment, written


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with clones(tmp_path) as (only,):
        yield only


@pytest.fixture
def two(tmp_path: Path) -> Iterator[list[Place]]:
    with clones(tmp_path, 2) as places:
        yield places


# -- to whom


@pytest.mark.parametrize(
    ("to", "readers"),
    [
        ([], {"bob", "cyd", "user"}),
        (["@all"], {"bob", "cyd", "user"}),
        (["bob"], {"bob"}),
        (["bob", "cyd"], {"bob", "cyd"}),
        (["bob", "@peers"], {"bob", "cyd"}),
        (["@peers"], {"cyd"}),
        (["@foreman"], {"bob"}),
        (["user"], {"user"}),
        (["nobody-here"], set()),
    ],
)
def test_a_message_is_found_by_those_it_is_for(here: Place, to: list[str], readers: set[str]):
    here.say("x", to=to)
    tokens = {"bob": ["@foreman"], "cyd": ["@peers"], "user": ["@user"], "ada": ["@peers"]}

    assert {who for who, own in tokens.items() if here.inbox(who, *own) == ["x"]} == readers
    assert {who for who, own in tokens.items() if here.unread(who, *own) == 1} == readers


def test_a_message_that_reaches_somebody_in_two_ways_is_there_once(here: Place):
    here.say("x", to=["bob", "@all", "@peers"])

    assert here.inbox("bob", "@peers") == ["x"]
    assert here.unread("bob", "@peers") == 1


def test_nobody_finds_what_they_said_themselves(here: Place):
    here.say("x", by="bob", to=["bob", "@all"])

    assert here.inbox("bob") == []
    assert here.unread("bob") == 0
    assert here.inbox("ada") == ["x"]


@pytest.mark.parametrize(("target", "readers"), [(None, {"bob", "cyd"}), ("", {"bob", "cyd"}), ("bob", {"bob"})])
def test_a_notice_is_for_one_or_for_all(here: Place, target: str | None, readers: set[str]):
    here.notice("x", target=target)

    assert {who for who in ("bob", "cyd") if here.inbox(who) == ["x"]} == readers


@pytest.mark.parametrize("to", [5, "bob", {"bob": 1}, [""], [None], [["bob"]], [5], True])
def test_a_message_to_what_makes_no_sense_is_for_nobody_wherever_it_is_looked_at(here: Place, to: Any):
    event = here.record("chat.message", {"text": "x", "to": to})

    assert here.inbox("bob") == []
    assert here.unread("bob") == 0
    assert not acks.is_for("bob", event.kind, event.data, {"bob": "peer"})
    assert here.talk.post(event.id) is not None


@pytest.mark.parametrize("target", [5, ["bob"], {"bob": 1}, True])
def test_a_notice_to_what_makes_no_sense_is_for_nobody(here: Place, target: Any):
    here.notice("x", target=target)

    assert here.inbox("bob", "5", "True", str(target)) == []


def test_only_what_is_wanted_is_told(here: Place):
    here.say("said")
    here.say("mail", message_mode="mail")
    here.say("asked", message_mode="request_reply")
    here.say("stop", priority="attention")
    here.notice("notice")
    here.notice("sign", requires_ack=True)

    assert here.inbox("bob") == ["said", "mail", "asked", "stop", "notice", "sign"]
    assert here.inbox("bob", only=NOTICE) == ["notice", "sign"]
    assert here.inbox("bob", but=NOTICE) == ["said", "mail", "asked", "stop"]
    assert here.inbox("bob", only=MAIL) == ["mail"]
    assert here.inbox("bob", but=MAIL | REQUEST | NOTICE) == ["said", "stop"]
    assert here.inbox("bob", only=ATTENTION) == ["stop", "sign"]
    last = here.talk.last_unread("bob", [""], but=NOTICE)
    assert last is not None
    assert last.flags == ATTENTION


def test_notices_that_a_group_is_owed_by_itself_can_be_left_out(here: Place):
    here.notice("nudge", kind="nudge")
    here.notice("nudged by somebody", by="ada", kind="nudge")
    here.notice("broken", kind="error")
    here.say("said")

    assert here.inbox("bob", but=AUTOMATIC) == ["nudged by somebody", "broken", "said"]
    assert here.inbox("bob", only=AUTOMATIC) == ["nudge"]
    assert here.unread("bob") == 4
    assert here.talk.count_unread("bob", ["", "bob"], but=AUTOMATIC) == 3
    assert here.talk.count_unread("bob", ["", "bob"], but=NOTICE) == 1


def test_a_record_of_what_went_to_another_group_asks_nobody_for_attention(here: Place):
    here.say("gone", priority="attention", dst_group_id="g_other")

    assert here.inbox("bob", only=ATTENTION) == []


# -- how far somebody has read


def test_what_was_read_is_not_unread_and_what_comes_later_is(here: Place):
    first, second = here.say("one"), here.say("two")
    here.read("bob", first)
    assert here.inbox("bob") == ["two"]
    here.read("bob", second)
    here.say("three")

    assert here.inbox("bob") == ["three"]
    assert here.inbox("cyd") == ["one", "two", "three"]
    reading = here.talk.reading("bob")
    assert (reading.seq, reading.event_id) == (3, second.id)


def test_nobody_goes_back(here: Place):
    events = [here.say(text) for text in ("one", "two", "three")]
    here.read("bob", events[2])
    before = here.talk.reading("bob") if here.inbox("bob") == [] else None
    here.read("bob", events[0])

    assert here.inbox("bob") == []
    assert here.talk.reading("bob") == before


def test_a_clock_that_stands_still_or_goes_back_hides_nothing(here: Place):
    first = here.say("one", at=NOW)
    here.say("two", at=NOW)
    here.read("bob", first, at=NOW)
    here.say("three", at=NOW - 3600 * SECOND)
    here.say("four", at=NOW)

    assert here.inbox("bob") == ["two", "three", "four"]
    assert here.unread("bob") == 3


def test_what_was_read_by_somebody_else_in_ones_name_counts(here: Place):
    here.read("bob", here.say("one"), by="user")

    assert here.inbox("bob") == []


def test_reading_says_when_and_what_says_so(here: Place):
    event = here.say("one", at=NOW)
    said = here.read("bob", event, at=NOW + SECOND)
    here.talk.catch_up()

    reading = here.talk.reading("bob")
    assert (reading.ts, reading.updated_at) == (event.ts, said.ts)
    (found,) = recorded.numbered(here.store, [said])
    assert reading.said_at == found.seq
    assert here.talk.reading("cyd") == ReadPosition()


def test_mail_that_was_taken_out_is_read_and_the_rest_is_not(here: Place):
    events = [here.say(text, message_mode="mail") for text in ("one", "two", "three")]
    here.record("mail.read", {"actor_id": "bob", "event_id": events[2].id, "event_ids": [events[0].id, events[2].id]})

    assert here.inbox("bob") == ["two"]
    assert here.unread("bob") == 1
    assert here.talk.reading("bob") == ReadPosition()


@pytest.mark.parametrize(
    "names", [5, None, "x", {}, [5, None, [], "no name", "../x", "aaaaaaaaaaaa.1"], ["aaaaaaaaaaaa.999999999"]]
)
def test_mail_whose_names_make_no_sense_is_not_read(here: Place, names: Any):
    event = here.say("one", message_mode="mail")
    if isinstance(names, list):
        names = [*names, event.id]
    here.record("mail.read", {"actor_id": "bob", "event_id": event.id, "event_ids": names})

    assert here.inbox("bob") == ([] if isinstance(names, list) else ["one"])


@pytest.mark.parametrize("event_id", ["", "x", "aaaaaaaaaaaa.1", 5, None, [], {}])
def test_reading_what_is_no_message_moves_nothing(here: Place, event_id: Any):
    here.say("one")
    here.record("chat.read", {"actor_id": "bob", "event_id": event_id})
    acked = here.record("chat.ack", {"actor_id": "ada", "event_id": "x"})
    here.record("chat.read", {"actor_id": "bob", "event_id": acked.id})

    assert here.inbox("bob") == ["one"]


# -- floors: where there is nothing unread, nobody looks twice


def looked_at(place: Place, call: Any) -> int:
    """How many rows are read from the index while something is asked."""
    index = place.store.index
    plain, count = index._ask, 0

    def counting(read: Any, query: str, *values: Any) -> list[Any]:
        nonlocal count
        rows = plain(read, query, *values)
        count += len(rows)
        return rows

    index._ask = counting  # type: ignore[method-assign]
    try:
        call()
    finally:
        index._ask = plain  # type: ignore[method-assign]
    return count


def test_what_nobody_needs_to_look_at_again_is_not_looked_at_again(here: Place):
    for number in range(300):
        here.say(str(number), by="bob")
    assert here.inbox("bob") == []

    assert looked_at(here, lambda: here.inbox("bob")) < 10
    here.say("new")
    assert here.inbox("bob") == ["new"]
    assert looked_at(here, lambda: here.inbox("bob")) < 20


def test_whoever_gets_another_role_finds_what_was_sent_to_it_before(here: Place):
    here.say("for the foreman", to=["@foreman"])
    for number in range(300):
        here.say(str(number), by="bob")
    assert here.inbox("bob", "@peers") == []
    assert here.inbox("bob", "@peers") == []

    assert here.inbox("bob", "@foreman") == ["for the foreman"]
    assert here.unread("bob", "@foreman") == 1
    assert here.inbox("bob", "@peers") == []
    assert here.inbox("bob", "@foreman") == ["for the foreman"]


def test_a_message_that_comes_while_somebody_looks_is_not_lost(here: Place):
    for number in range(300):
        here.say(str(number), by="bob")
    here.talk.catch_up()
    posts = here.talk.unread("bob", ["", "@all", "bob"])
    sent_to = here.talk.sent_to

    def slow(*args: Any, **named: Any) -> Iterator[Any]:
        yield from sent_to(*args, **named)
        with another(here) as other:  # after the last row was read, before it is remembered that there is nothing
            other.say("meanwhile")
            other.talk.catch_up()

    here.talk.sent_to = slow  # type: ignore[method-assign]
    assert list(posts) == []
    here.talk.sent_to = sent_to  # type: ignore[method-assign]

    assert here.inbox("bob") == ["meanwhile"]


def test_looking_for_one_kind_hides_nothing_of_another(here: Place):
    here.say("said")
    for number in range(300):
        here.notice(str(number), by="bob")
    assert here.inbox("bob", only=NOTICE) == []
    assert here.inbox("bob", only=MAIL) == []

    assert here.inbox("bob") == ["said"]


# -- what was said of a message


def test_who_acknowledged_is_known_and_nobody_does_for_another(here: Place):
    event = here.say("stop", priority="attention")
    here.record("chat.ack", {"actor_id": "bob", "event_id": event.id}, by="bob")
    here.record("chat.ack", {"actor_id": "cyd", "event_id": event.id}, by="bob")
    notice = here.notice("sign", requires_ack=True)
    here.record("system.notify_ack", {"actor_id": "bob", "notify_event_id": notice.id}, by="bob")
    here.talk.catch_up()

    assert [who for who, _ in here.talk.entries_about(event.id, ACK)] == ["bob"]
    assert here.talk.entries_about(event.id, ACK, "cyd") == []
    assert [who for who, _ in here.talk.entries_about(notice.id, ACK, "bob")] == ["bob"]


def test_a_request_that_was_given_up_is_known(here: Place):
    event = here.say("well?", message_mode="request_reply")
    here.record("chat.reply_request.cancelled", {"source_event_id": event.id, "by": "ada"})
    here.talk.catch_up()

    found = {what: [who for who, _ in here.talk.entries_about(event.id, what)] for what in (CANCELLED, ACK)}
    assert found == {CANCELLED: ["ada"], ACK: []}


@pytest.mark.parametrize("name", [5, 1.5, None, True, [], ["x"], {}, {"x": 1}, "", "../x"])
@pytest.mark.parametrize(
    "kind", ["chat.ack", "system.notify_ack", "chat.reaction", "chat.reply_request.cancelled", "chat.read", "mail.read"]
)
def test_a_gesture_about_what_makes_no_sense_stops_nobody(here: Place, kind: str, name: Any):
    here.say("one")
    data = {"actor_id": "ada", "event_id": name, "notify_event_id": name, "source_event_id": name, "event_ids": [name]}
    here.record(kind, data)
    here.record(kind, {})
    here.record(kind, {"actor_id": name})
    here.record("chat.message", {"text": "two", "reply_to": name})

    assert here.inbox("bob") == ["one", "two"]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["bob", "aaaabbbbcccc.1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
members = st.sampled_from(
    [
        *("text", "to", "priority", "message_mode", "reply_to", "dst_group_id", "actor_id", "event_id", "event_ids"),
        *("notify_event_id", "source_event_id", "target_actor_id", "requires_ack", "salvaged_from"),
    ]
)


@examples(30)
@given(
    st.lists(
        st.tuples(st.sampled_from([*chat_reader.NOTED, "chat.other"]), st.dictionaries(members, anything)),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_others_have_written_the_next_message_is_found(lines: list[tuple[str, dict[str, Any]]]):
    with tempfile.TemporaryDirectory() as folder, clones(Path(folder)) as (here,):
        raws = written([(n, kind, data) for n, (kind, data) in enumerate(lines, 1)])
        here.receive("aaaabbbbcccc", raws)
        here.say("at last", by="zoe", to=["eve"])

        assert "at last" in here.inbox("eve")
        assert here.unread("eve") == len(here.inbox("eve"))


# -- reading in another clone


def test_what_was_read_in_another_clone_is_what_that_clone_had(two: list[Place]):
    a, b = two
    a.say("a1")
    b.hear_of(a)
    a.say("a2, which b does not have")
    b.say("b1")
    b.read("bob", b.say("b2"))
    a.hear_of(b)
    a.say("a3")

    assert a.inbox("bob") == ["a2, which b does not have", "a3"]
    assert a.unread("bob") == 2
    assert b.inbox("bob") == []


def test_where_nothing_is_missing_the_cursor_goes_to_the_last(two: list[Place]):
    a, b = two
    a.say("a1")
    b.hear_of(a)
    last = b.say("b1")
    b.read("bob", last)
    a.hear_of(b)
    a.say("a2")

    assert a.inbox("bob") == ["a2"]
    assert a.talk.reading("bob").event_id == last.id


def test_what_one_has_said_oneself_elsewhere_holds_no_cursor_back(two: list[Place]):
    a, b = two
    a.say("bob's own, said where b does not know of it", by="bob")
    last = b.say("b1")
    b.read("bob", last)
    a.hear_of(b)
    a.say("a2")

    assert a.inbox("bob") == ["a2"]
    assert a.talk.reading("bob").event_id == last.id


def test_what_arrives_later_is_unread_though_it_was_said_long_before(two: list[Place]):
    a, b = two
    b.say("said first, in a clone that was offline")
    for number in range(5):
        last = a.say(str(number))
    a.read("bob", last)
    assert a.inbox("bob") == []

    a.hear_of(b)
    assert a.inbox("bob") == ["said first, in a clone that was offline"], "though no line of ours accounts for it yet"
    a.say("go on", by="bob")

    assert a.inbox("bob") == ["said first, in a clone that was offline"]


def test_who_has_read_further_here_does_not_go_back_for_another_clone(two: list[Place]):
    a, b = two
    b.hear_of(a)
    first = b.say("b1")
    b.read("bob", first)
    a.hear_of(b)
    last = a.say("a1")
    a.read("bob", last)
    b.read("bob", b.say("b2"))
    a.hear_of(b)
    a.say("a2")

    assert a.inbox("bob") == ["a2"]


def test_a_message_of_a_third_clone_that_the_other_had_read(tmp_path: Path):
    with clones(tmp_path, 3) as (a, b, c):
        c.say("c1")
        last = c.say("c2")
        b.hear_of(c)
        b.say("b1")
        b.read("bob", last)
        a.say("a1")
        a.hear_of(b, c)
        a.say("a2")

        assert a.inbox("bob")[-1] == "a2"
        assert "c2" not in a.inbox("bob")
        assert {"a1", "b1"} <= set(a.inbox("bob")), "b had not read its own by that, nor what it did not have"


def test_who_reads_here_and_there_has_read_both(two: list[Place]):
    a, b = two
    a.read("bob", a.say("a1"))
    b.read("bob", b.say("b1"))
    a.hear_of(b)
    b.hear_of(a)
    a.say("a2", by="bob")
    b.say("b2", by="bob")

    assert a.inbox("bob") == []
    assert b.inbox("bob") == []


# -- made anew


def everything(place: Place) -> Any:
    """All that can be asked about a ledger with the actors ada, bob and cyd."""
    place.talk.catch_up()
    names = [event.id for event in place.talk.events(place.talk.before(None, None))]
    return {
        who: (
            place.inbox(who),
            place.inbox(who, "@peers"),
            place.unread(who),
            place.talk.reading(who),
            place.talk.last_unread(who, ["", who]),
        )
        for who in ("ada", "bob", "cyd", "user")
    } | {name: [sorted(place.talk.entries_about(name, what)) for what in (ACK, CANCELLED)] for name in names}


acts = st.tuples(
    st.sampled_from(["say", "say", "notice", "read", "ack", "mail", "take", "redact", "hear"]),
    st.integers(0, 1),
    st.sampled_from(["ada", "bob", "cyd"]),
    st.sampled_from([[], ["bob"], ["@peers"], ["ada", "cyd"]]),
    st.integers(0, 9),
)


def act(places: list[Place], events: list[Any], what: str, where: int, who: str, to: list[str], which: int) -> None:
    me, other = places[where], places[1 - where]
    known = {event.id for event in events if me.talk.post_or_none(event.id)}
    named = [event for event in events if event.id in known]
    event = named[which % len(named)] if named else None
    if what in ("say", "mail"):
        events.append(me.say(f"{len(events)}", by=who, to=to, **({"message_mode": "mail"} if what == "mail" else {})))
    elif what == "notice":
        events.append(me.notice(f"{len(events)}", target=(to or [None])[0]))
    elif what == "hear":
        me.hear_of(other)
    elif event is None:
        return
    elif what == "read":
        me.read(who, event)
    elif what == "ack":
        me.record("chat.ack", {"actor_id": who, "event_id": event.id}, by=who)
    elif what == "take":
        me.record("mail.read", {"actor_id": who, "event_id": event.id, "event_ids": [event.id]}, by=who)
    else:
        me.store.record(lambda _: [Redacted("user", event.id, "why")], by="user", now=NOW)
        payload_removal.blank(me.store)
    me.talk.catch_up()


@examples(25)
@given(st.lists(acts, max_size=25))
def test_an_index_that_is_made_anew_gives_the_same_answers(history: list[Any]):
    with tempfile.TemporaryDirectory() as folder, clones(Path(folder), 2) as places:
        events: list[Any] = []
        for each in history:
            act(places, events, *each)
        for place in places:
            before = everything(place)
            assert all(len(inbox) == count for inbox, _, count, *_ in map(before.get, ("ada", "bob", "cyd")))
            place.begin_anew()
            assert everything(place) == before


def test_portions_of_any_size_make_the_same(two: list[Place], monkeypatch: pytest.MonkeyPatch):
    a, b = two
    events: list[Any] = []
    for n in range(40):
        act(two, events, ["say", "read", "hear", "ack"][n % 4], n % 3 % 2, ["ada", "bob", "cyd"][n % 3], [], n)
    a.hear_of(b)
    a.say("last")
    before = everything(a)

    for most in (1, 2, 7):
        monkeypatch.setattr(chat_reader, "MOST_AT_ONCE", most)
        a.begin_anew()
        assert everything(a) == before


def test_a_ledger_that_gets_another_writer_has_another_course(two: list[Place]):
    a, b = two
    b.say("b1")
    a.say("a1", to=["bob"])
    a.hear_of(b)
    a.read("cyd", a.say("a2"))
    a.talk.catch_up()
    owner = a.path / ".git" / "bb" / "j" / writer_of(a) / "owner.json"
    retired = writer_of(a)
    repair.writers.retire(str(owner.parents[1]), retired, "for a test", None)

    with another(a) as anew:
        anew.say("a3")
        assert writer_of(anew) != retired
        assert sorted(anew.inbox("bob")) == ["a1", "a2", "a3", "b1"]
        assert anew.unread("bob") == 4
        assert "a2" not in anew.inbox("cyd")


# -- what was taken back


def redact(place: Place, event: Any, by: str = "user") -> None:
    place.store.record(lambda _: [Redacted(by, event.id, "why")], by=by, now=NOW)


@pytest.mark.parametrize("is_blanked", [False, True])
@pytest.mark.parametrize("by", ["user", "ada"])
def test_what_was_taken_back_is_in_no_inbox(here: Place, by: str, is_blanked: bool):
    events = [here.say(text, to=["bob"]) for text in ("one", "a password", "three")]
    notice = here.notice("a key", by="ada", target="bob")
    here.inbox("bob")
    for each in (events[1], notice):
        redact(here, each, by)
    if is_blanked:
        payload_removal.blank(here.store)

    for _ in range(2):
        assert here.inbox("bob") == ["one", "three"]
        assert here.unread("bob") == 2
        assert here.inbox("cyd") == [], "it has not become a broadcast"
        assert here.unread("cyd") == 0
        last = here.talk.last_unread("bob", ["", "bob"])
        assert last is not None
        assert last.event_id == events[2].id
        here.begin_anew()


def test_nobody_takes_back_what_another_has_said(here: Place):
    event = here.say("mine", by="ada")
    redact(here, event, by="eve")

    assert here.inbox("bob") == ["mine"]
    assert here.unread("bob") == 1


def test_who_had_read_up_to_what_was_taken_back_has_still_read(here: Place):
    here.say("one")
    event = here.say("a password")
    here.read("bob", event)
    here.say("three")
    here.inbox("bob")
    redact(here, event)
    payload_removal.blank(here.store)
    assert here.inbox("bob") == ["three"]

    here.begin_anew()
    assert here.inbox("bob") == ["three"]


def test_an_acknowledgement_that_was_taken_back_is_none(here: Place):
    event = here.say("stop", priority="attention")
    ack = here.record("chat.ack", {"actor_id": "bob", "event_id": event.id}, by="bob")
    here.talk.catch_up()
    redact(here, ack, by="bob")
    here.talk.catch_up()
    assert here.talk.entries_about(event.id, ACK) == []

    payload_removal.blank(here.store)
    here.begin_anew()
    here.talk.catch_up()
    assert here.talk.entries_about(event.id, ACK) == []


def test_what_was_taken_back_elsewhere_never_comes(two: list[Place]):
    a, b = two
    event = b.say("a password")
    redact(b, event)
    a.hear_of(b)
    a.say("a1", by="bob")

    assert a.inbox("bob") == []
    assert a.unread("bob") == 0


# -- what stood behind a damage, and was recorded again


@pytest.fixture
def damaged(here: Place) -> tuple[Place, list[str]]:
    """A ledger whose journal was damaged in the middle of what was said, and mended; and the names that were given."""
    events = [here.say(text, priority="attention") for text in ("before", "hit", "one", "two", "three")]
    for event in (events[2], events[3]):
        here.record("chat.ack", {"actor_id": "bob", "event_id": event.id}, by="bob")
    here.read("cyd", events[3])
    here.talk.catch_up()
    here.store.close()
    damage_line(only_segment(here.path), 3)
    forget_index(here.path)
    with another(here) as mender:
        (damage,) = mender.store.damages()
        repair.retire(mender.store, damage)
    with another(here) as mender:
        repair.salvage_owed(mender.store, NOW + SECOND)
    here.begin_anew()
    return here, [event.id for event in events]


def test_what_was_recorded_again_is_there_once(damaged: tuple[Place, list[str]]):
    here, _ = damaged
    assert here.inbox("bob") == ["before", "one", "two", "three"]
    assert here.unread("bob") == 4


def test_what_was_recorded_again_is_found_by_its_old_name_and_its_new(damaged: tuple[Place, list[str]]):
    here, names = damaged
    here.talk.catch_up()
    for name, text in zip(names[2:], ("one", "two", "three"), strict=True):
        event = here.talk.event(name)
        assert event is not None
        assert event.data["text"] == text
        assert here.talk.post(event.id) == here.talk.post(name)


def test_what_was_said_of_it_by_its_old_name_counts_and_what_is_said_by_the_new_too(damaged: tuple[Place, list[str]]):
    here, names = damaged
    here.talk.catch_up()
    again = [here.talk.post(name) for name in names[2:]]
    assert all(again)
    assert [bool(here.talk.entries_about(post.event_id, ACK, "bob")) for post in again if post] == [True, True, False]
    here.record("chat.ack", {"actor_id": "bob", "event_id": again[2].event_id}, by="bob")  # type: ignore[union-attr]
    here.talk.catch_up()
    assert [who for who, _ in here.talk.entries_about(names[4], ACK)] == ["bob"]


def test_how_far_somebody_had_read_holds(damaged: tuple[Place, list[str]]):
    here, _ = damaged
    assert here.inbox("cyd") == ["three"]


# -- many


def test_many_messages_are_read_a_portion_at_a_time(here: Place):
    with here.store.batch():
        for number in range(2000):
            event = here.say(f"{number}", to=[f"a{number % 7}"])
    here.talk.catch_up()
    here.read("a1", event)
    for number in range(50):
        here.say(f"new {number}", to=["a1"])
    here.talk.catch_up()

    assert looked_at(here, lambda: here.inbox("a1")) < 250
    assert looked_at(here, lambda: here.unread("a1")) < 10
    assert looked_at(here, lambda: here.talk.last_unread("a1", ["", "a1"])) < 210
    assert looked_at(here, lambda: next(here.talk.unread("a2", ["", "a2"]))) < 210, "and not the 285 there are"
    assert len(here.inbox("a1")) == 50


@pytest.mark.long
def test_twenty_thousand_messages_are_read_and_found(here: Place):
    with here.store.batch():
        for number in range(20_000):
            here.say(f"{number}", to=[f"a{number % 7}"])
    here.begin_anew()

    assert here.unread("a1") == 2857
    assert len(here.inbox("a1")) == 2857
    assert looked_at(here, lambda: here.unread("a1")) < 10


def test_what_was_said_is_told_backwards_from_any_message_on(two: list[Place]):
    a, b = two
    for place, text in ((a, "a1"), (b, "b1"), (a, "a2")):
        place.say(text)
    a.hear_of(b)
    a.say("a3")

    a.talk.catch_up()
    found = [event.data["text"] for event in a.talk.events(a.talk.before(None, None))]
    assert found == ["a3", "b1", "a2", "a1"]
    seq = next(post.seq for post in a.talk.before(None, None))
    assert [event.data["text"] for event in a.talk.events(a.talk.before(seq, None))] == ["b1", "a2", "a1"]
    assert [event.data["text"] for event in a.talk.events(a.talk.before(seq, [""]))] == ["b1", "a2", "a1"]


def test_a_line_that_is_gone_is_no_message(here: Place):
    here.say("one")
    here.say("two")
    here.talk.catch_up()
    posts = list(here.talk.before(None, None))
    segment = only_segment(here.path)
    segment.write_bytes(json.dumps({"nothing": "here"}).encode() * 10)

    assert list(here.talk.events(posts)) == []
    assert Journal(here.store.path, writer_of(here)).line(1) is None


@pytest.mark.parametrize("call", ["ask_many", "ask"])
def test_what_was_said_can_be_read_although_the_index_cannot_be_written_any_more(
    here: Place, monkeypatch: pytest.MonkeyPatch, call: str
):
    here.say("before")
    assert here.inbox("bob") == ["before"]
    here.say("after")
    plain, path = getattr(Index, call), here.store.index.path

    def failing(index: Index, query: str, *given: Any) -> Any:
        if "insert" in query and not index.is_in_memory:
            raise sqlite3.OperationalError("database or disk is full")
        return plain(index, query, *given)

    monkeypatch.setattr(Index, call, failing)

    assert here.inbox("bob") == ["before", "after"]
    assert here.store.index.is_in_memory
    assert here.store.index.path == path
    assert here.inbox("bob") == ["before", "after"]


# -- the tables of chat are its own


def tables(place: Place) -> set[str]:
    """The tables of chat in the file of the index."""
    with contextlib.closing(sqlite3.connect(place.store.index.path)) as index:
        rows = index.execute("select name from sqlite_master where type = 'table' and name like 'talk%'")
        return {name for (name,) in rows}


def test_the_tables_of_chat_are_made_when_chat_is_first_asked_for(here: Place):
    here.store.caught_up()
    assert tables(here) == set()

    here.say("one")
    assert here.inbox("bob") == ["one"]
    assert tables(here) == set(chat_tables.TABLES)


def test_a_process_that_knows_nothing_of_chat_may_rebuild_the_index(here: Place):
    here.say("one")
    assert here.inbox("bob") == ["one"]
    with contextlib.closing(Store(here.store.place)) as other:
        other.index.rebuild(other.journals())

    assert here.inbox("bob") == ["one"]
    here.say("two")
    assert here.inbox("bob") == ["one", "two"]
