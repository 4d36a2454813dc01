"""What a client is shown of an event, and where it stands."""

from __future__ import annotations

from bb.kernel.event import Event

WRITER = "abcdefghij27"


def an_event(**but: object) -> Event:
    event = Event(
        id=f"{WRITER}.10",
        lamport=7,
        ts="2026-01-05T12:00:00.000Z",
        kind="actor.add",
        by="amber-otter",
        data={"_": "saltsalt", "actor_id": "amber-otter", "nested": {"_": "kept"}},
        group_id="g_abc",
        scope_key="s_def",
        key="once",
    )
    return event.replace(**but)


def test_a_client_is_shown_the_cccs_envelope_without_chain_fields_and_salt():
    shown = an_event(seq=12).envelope()

    assert list(shown.items()) == [
        ("v", 1),
        ("id", f"{WRITER}.10"),
        ("ts", "2026-01-05T12:00:00.000Z"),
        ("seq", 12),
        ("kind", "actor.add"),
        ("group_id", "g_abc"),
        ("scope_key", "s_def"),
        ("by", "amber-otter"),
        ("data", {"actor_id": "amber-otter", "nested": {"_": "kept"}}),
    ]


def test_an_event_that_this_clone_has_not_counted_yet_has_no_seq():
    assert "seq" not in an_event().envelope()
    assert an_event(seq=0).envelope()["seq"] == 0


def test_to_show_an_event_leaves_it_as_it_is():
    event = an_event()
    event.envelope()["data"]["added"] = True
    assert event == an_event()


def test_an_event_without_group_or_scope_says_so_with_empty_texts():
    event = Event(id=f"{WRITER}.1", lamport=1, ts="", kind="x", by="user", data={})
    shown = event.envelope()
    assert (shown["group_id"], shown["scope_key"], shown["data"]) == ("", "", {})


def test_an_event_stands_in_the_total_order_by_what_it_says_itself():
    assert an_event().order == (7, WRITER, 10)
    assert an_event(id=f"{WRITER}.9").order < an_event().order < an_event(lamport=8, id=f"{WRITER}.1").order
