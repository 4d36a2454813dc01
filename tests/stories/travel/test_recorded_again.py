"""Somebody else publishes lines under this clone's own writer id. What this clone recorded there and had not published
is recorded again under its new writer: once, whatever kills the sync, and meaning what it meant.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bb.kernel.event import PUT_ASIDE
from bb.ledger.journal import journal, rewriting, writers
from bb.ledger.published import pins as pinned
from bb.ledger.records import set_aside
from bb.ledger.travel import publish, remote
from tests.stories.travel.test_forks import Killed, killed, own_writer, recorded_again
from tests.stories.travel.test_forks import journal as journal_of
from tests.stories.travel.test_signed import listed, made_up, published, pushed, review
from tests.stories.travel.travel_support import AMBER, COBALT, Clone, agents_at_work, hub, settle
from tests.support import NOON, copied

FORGED = {"scope": "forged", "bead_id": "bb-9", "ttl_minutes": 60}


@pytest.fixture
def two(tmp_path: Path) -> list[Clone]:
    """Two clones that publish, each with an agent."""
    return agents_at_work(hub(tmp_path / "hub.git"), AMBER, COBALT)


def forge(other: Clone, one: Clone, *facts: tuple[str, str, dict[str, Any]], writer: str = "") -> None:
    """Push lines under the writer id of ONE, from OTHER: the next numbers, saying these FACTS."""
    writer = writer or own_writer(one)
    path, octets = published(other, writer)
    for kind, by, data in facts or (("x.bb.reserved", AMBER, FORGED),):
        octets += made_up(octets, writer, kind, by, data)
    pushed(other, path, octets)


def reserve(one: Clone, scope: str) -> str:
    (found,) = one.ask("agent.reserve", agent=AMBER, scope=[scope], bead="bb-1")["reservations"]
    return str(found["reservation_id"])


def events_again(one: Clone) -> list[dict[str, Any]]:
    return [event for event in one.ask("ledger.log") if PUT_ASIDE in event["data"]]


def scopes(one: Clone) -> set[str]:
    return {scope for _, scope, state in one.holds() if state == "active"}


def say(one: Clone, text: str, by: str = AMBER, **more: str) -> str:
    return str(one.ask("send", text=text, by=by, to=["@all"], **more)["event"]["id"])


def inbox(one: Clone, who: str) -> list[str]:
    return [str(each["data"]["text"]) for each in one.ask("inbox_list", actor_id=who, by=who)["messages"]]


# -- nothing is lost


def test_what_we_recorded_holds_in_every_clone_though_somebody_took_its_numbers(two: list[Clone]):
    one, other = two
    before = own_writer(one)
    reserve(one, "src")
    forge(other, one)

    answer = one.sync()
    settle([one, other])

    (fork,) = answer["forks"]
    assert answer["came"] == 1, "and ours have not gone"
    assert (fork["kinds"], fork["under"], fork["kept"]) == ({"x.bb.reserved": 1}, own_writer(one), 0)
    assert own_writer(one) != before
    assert scopes(one) == scopes(other) == {"src", "forged"}
    assert one.digest == other.digest
    for each in two:
        each.ask("ledger.verify")


def test_a_person_is_told_in_one_sentence_what_stood_there_and_where_it_is_now(two: list[Clone]):
    one, other = two
    before = own_writer(one)
    reserve(one, "src")
    say(one, "Hello.")
    forge(other, one)

    ran = one.bb("sync")

    assert ran.status == 0
    said = [line for line in ran.out.splitlines() if before in line]
    assert said == [
        (
            f"Another clone published lines under our writer {before}, in place of 2 events of ours "
            f"(1 reservation, 1 message); ours are recorded again under writer {own_writer(one)}"
        )
    ]
    assert before not in one.bb("sync").out


def test_under_require_the_forgers_lines_count_for_nothing_and_ours_still_count(two: list[Clone]):
    one, other = two
    review(two, listed(one, "user"), listed(other, "desk"), "#bb mode require")
    one.sync()
    other.sync()
    reserve(one, "src")
    forge(other, one)

    one.sync()

    assert scopes(one) == {"src"}
    assert own_writer(one) == next(iter(events_again(one)))["id"].partition(".")[0]
    other.sync()
    assert scopes(other) == {"src"}
    assert one.ask("ledger.signing")["is_allowed"], "the key has gone over to the new writer"


def test_the_same_by_a_pull_of_a_clone_that_may_not_push(two: list[Clone]):
    one, other = two
    reserve(one, "src")
    forge(other, one)

    one.sync(pull=True)

    assert scopes(one) == {"src", "forged"}


def test_when_it_was_said_and_in_which_order_stays(two: list[Clone]):
    one, other = two
    later = "2026-01-05T12:10:00.000Z"
    one.ask("agent.reserve", agent=AMBER, scope=["src"], bead="bb-1", ttl=30)
    made = one.ask("agent.status")["reservations"][0]
    forge(other, one)

    one.sync(now=later)

    (event,) = events_again(one)
    again = next(each for each in one.ask("agent.status")["reservations"] if each["scope"] == "src")
    assert event["data"]["salvaged_ts"] == NOON
    assert {**again, "reservation_id": ""} == {**made, "reservation_id": ""}


# -- names


def test_what_was_said_of_our_own_events_is_said_of_them_and_not_of_the_forgers(two: list[Clone]):
    """The forger's reservation, message and so on have the ids that ours had."""
    one, other = two
    kept, gone = reserve(one, "kept"), reserve(one, "gone")
    one.ask("agent.release", agent=AMBER, scope=["gone"])
    said = say(one, "ours", by="user", priority="attention")
    one.ask("chat_ack", event_id=said, actor_id=AMBER, by=AMBER)
    n = int(kept.rpartition(".")[2])
    spoken = ("chat.message", "user", {"text": "theirs", "to": ["@all"], "priority": "attention"})
    forge(other, one, *(("x.bb.reserved", AMBER, FORGED | {"scope": f"theirs-{k}"}) for k in range(3)), spoken)
    assert int(gone.rpartition(".")[2]) == n + 1
    assert int(said.rpartition(".")[2]) == n + 3

    one.sync()
    settle(two)

    for each in two:
        assert scopes(each) == {"kept", "theirs-0", "theirs-1", "theirs-2"}, "nothing of theirs was released"
    again = {event["kind"]: event for event in events_again(one)}
    (message,) = [event for event in events_again(one) if event["kind"] == "chat.message"]
    assert again["chat.ack"]["data"]["event_id"] == message["id"] != said
    assert again["x.bb.released"]["data"]["reservation_id"] in {event["id"] for event in events_again(one)}
    assert not any("salvaged_from" in event["data"] for event in events_again(one))


# -- once, whatever happens

STEPS: dict[str, tuple[Any, str]] = {
    "before the lines are moved": (rewriting, "cut"),
    "before the published ones are written": (journal.Journal, "extend"),
    "before they are remembered": (pinned, "write"),
    "before anything is recorded again": (set_aside, "record_again"),
    "before the new writer is made": (writers, "mint"),
    "before it is said that it is done": (set_aside, "_rename"),
    "before it is published": (publish, "commit"),
    "before it is pushed": (remote, "push"),
    "before anybody is told": (set_aside, "unreported_forks"),
}


def cut_short(one: Clone, where: Any, name: str, doing: Callable[[], Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, killed)
        with pytest.raises(Killed):
            doing()


@pytest.mark.parametrize("step", STEPS)
def test_a_sync_that_is_killed_is_taken_up_by_the_next_and_records_everything_once(two: list[Clone], step: str):
    one, other = two
    reserve(one, "src")
    say(one, "Hello.")
    forge(other, one)
    cut_short(one, *STEPS[step], one.sync)

    (fork,) = one.sync()["forks"]
    settle(two)

    assert fork["kinds"] == {"x.bb.reserved": 1, "chat.message": 1}
    assert sorted(recorded_again(one)) == sorted(recorded_again(other)) == ["Hello.", "src"]
    assert one.sync()["forks"] == []
    assert scopes(other) == {"src", "forged"}
    assert one.digest == other.digest


def test_a_sync_that_is_killed_in_the_middle_of_recording_leaves_the_rest_to_the_next(two: list[Clone]):
    one, other = two
    for scope in ("a", "b", "c"):
        reserve(one, scope)
    one.ask("agent.release", agent=AMBER, scope=["a"])
    forge(other, one)
    cut_short(one, set_aside, "_rename", one.sync)
    path = journal_of(one, own_writer(one))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]) + b'{"v":1,"torn')

    one.sync()

    assert sorted(filter(len, recorded_again(one))) == ["None", "a", "b", "c"]
    assert scopes(one) == {"b", "c", "forged"}


@pytest.mark.parametrize("step", ["before anything is recorded again", "before it is said that it is done"])
def test_doctor_takes_it_up_too(two: list[Clone], step: str):
    one, other = two
    reserve(one, "src")
    forge(other, one)
    cut_short(one, *STEPS[step], one.sync)
    assert "forked" in one.bb("doctor").out

    one.bb("doctor", "--fix")

    assert recorded_again(one) == ["src"]
    (fork,) = one.sync()["forks"]
    assert (fork["kinds"], fork["kept"]) == ({"x.bb.reserved": 1}, 0)
    assert "forked" not in one.bb("doctor").out


def test_doctor_leaves_it_to_a_sync_as_long_as_the_published_lines_are_not_here(two: list[Clone]):
    one, other = two
    reserve(one, "src")
    forge(other, one)
    cut_short(one, journal.Journal, "extend", one.sync)

    one.bb("doctor", "--fix")
    assert recorded_again(one) == []
    one.sync()

    assert recorded_again(one) == ["src"]


def test_what_was_recorded_again_is_recorded_again_when_the_forger_follows_to_the_new_writer(two: list[Clone]):
    one, other = two
    reserve(one, "src")
    forge(other, one)
    one.sync(publish=True)
    reserve(one, "docs")
    forge(other, one)
    one.sync()
    gone = own_writer(one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "push", killed)
        reserve(one, "lib")
        with pytest.raises(Killed):
            one.sync()
    forge(other, one)

    one.sync()
    settle(two)

    assert own_writer(one) != gone
    assert sorted(recorded_again(one)) == ["docs", "lib", "src"]
    assert scopes(one) == scopes(other) == {"src", "docs", "lib", "forged"}


def test_a_copy_whose_lines_were_put_aside_as_well_records_its_own(two: list[Clone]):
    """Three stores under one id: two of them find out, and each has said something else under the same number."""
    one, other = two
    copies = []
    for name in ("second", "third"):
        made = Clone(one.path.with_name(name))
        writer = own_writer(one)
        copied(one.path, made.path)
        writers.mint(str(made.store / "j"), writer)
        copies.append(made)
        reserve(made, name)
    reserve(one, "first")
    one.sync()

    settle([*copies, one, other])

    assert scopes(other) == {"first", "second", "third"}


# -- what is nobody's to record again


def test_lines_that_came_from_elsewhere_are_never_recorded_again_as_ours(two: list[Clone]):
    """They stand in a journal of ours. Whoever replaces the branch must not have us sign them."""
    one, other = two
    review(two, listed(one, "user"), listed(other, "desk"), "#bb mode require")
    one.sync()
    other.sync()
    path, octets = published(other, before := own_writer(one))
    pushed(other, path, octets + made_up(octets, before, "x.bb.paused", "user", {"target": "*"}))
    one.sync()
    assert own_writer(one) != before
    pushed(other, path, octets + made_up(octets, before, "x.bb.reserved", AMBER, FORGED), is_root=True)
    (one.store / "pins.json").unlink()

    one.refused_or("sync", publish=True)

    assert [event["kind"] for event in events_again(one)] == []


def test_a_sync_that_is_killed_behind_lines_from_elsewhere_does_not_leave_us_to_go_on_behind_them(two: list[Clone]):
    one, other = two
    before = own_writer(one)
    forge(other, one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pinned, "write", killed)
        patch.setattr("bb.ledger.records.payload_removal.blank", killed)
        with pytest.raises(Killed):
            one.sync()

    reserve(one, "src")

    assert own_writer(one) != before


# -- what was taken back


def test_what_was_taken_back_does_not_come_again(two: list[Clone]):
    one, other = two
    event = say(one, "a password")
    say(one, "kept")
    one.ask("ledger.redact", event=event, reason="oops", agent="user")
    forge(other, one)

    (fork,) = one.sync()["forks"]
    settle(two)

    assert recorded_again(one) == ["kept"]
    assert fork["kept"] == 0
    assert scopes(other) == {"forged"}, "the event that has the id now was not taken back"


def test_a_redaction_that_was_cut_short_takes_the_payload_out_of_what_is_kept(two: list[Clone]):
    one, other = two
    event = say(one, "a password")
    cut_short(one, rewriting, "blank", lambda: one.ask("ledger.redact", event=event, reason="oops", agent="user"))
    forge(other, one)

    (fork,) = one.sync()["forks"]

    assert recorded_again(one) == []
    assert b"a password" not in Path(fork["path"]).read_bytes()


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_what_is_taken_back_later_is_taken_out_of_what_is_kept_too(two: list[Clone], where: str):
    one, other = two
    say(one, "a password")
    forge(other, one)
    (fork,) = one.sync()["forks"]
    settle(two)
    (event,) = [each for each in events_again(one) if each["kind"] == "chat.message"]
    assert b"a password" in Path(fork["path"]).read_bytes()

    (one if where == "here" else other).ask("ledger.redact", event=event["id"], reason="oops", agent="user")
    settle(two)

    assert b"a password" not in Path(fork["path"]).read_bytes()
    assert b"a password" not in b"".join(path.read_bytes() for path in one.store.glob("j/*/*.jsonl"))


# -- what somebody has read


def test_messages_that_nobody_has_seen_stay_unread_though_a_mark_is_recorded_again(two: list[Clone]):
    """Behind the fork another order holds, in which what has just arrived stands before what was read."""
    one, other = two
    say(other, "before", by=COBALT)
    settle(two)
    other.ask("send", text="unseen", by=COBALT, to=["@all"])
    other.sync()
    for _ in range(5):
        said = say(one, "ours", by="user")
    one.ask("inbox_mark_read", event_id=said, actor_id=AMBER, by=AMBER)
    assert inbox(one, AMBER) == []
    forge(other, one)

    one.sync()

    assert "unseen" in inbox(one, AMBER)
    assert inbox(one, AMBER).count("ours") == 4, "better twice than never; the one that was named is read"
