"""What was sent, and what each ask waits for: no engine, no files, no clock."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.kernel.received_refusals import refusal_from
from bb.ledger.carrier.door import AppendUnknown, Denied, EngineRewound, EngineUnreachable
from bb.ledger.fleet.asking import RelayStopped, is_over
from bb.ledger.fleet.outbox import MOST_LINES, RECENT, SOON, UNKNOWN, Ask, Batch, Outbox
from bb.ledger.published.fleet_results import ResultsNotSaved
from tests.examples import examples

US, OTHER = "abcdefghijkl", "mnopqrstuvwx"


def outbox(*, placed: int = 0, recorded: int = 0, connected: bool = True) -> Outbox:
    made = Outbox(lambda event: {"state": "sent", "event": event})
    made.begin({US: placed}, {US: placed}, 10)
    made.has_recorded(US, recorded)
    made.is_connected = connected
    return made


def asked(at: Outbox, kind: str, now: float = 0.0, patience: float = 10.0, **about: Any) -> Ask:
    ask = Ask({"ask": kind, "patience": patience, **about}, lambda _: None, now)
    at.add(ask)
    return ask


def code(at: Outbox, now: float) -> str | None:
    """The code of the only answer; "ok" for a result, None if there is none yet."""
    found = at.due(now)
    if not found:
        return None
    ((_, answer),) = found
    return "ok" if answer["ok"] else str(answer["error"]["code"])


def test_lines_go_in_order_and_from_the_first_one_that_the_engine_may_lack():
    at = outbox(placed=3, recorded=5)
    batch = at.batch()

    assert batch == Batch(US, 4, 5)
    at.sends(batch)
    assert at.batch() == batch, "its answer was lost"
    at.was_acknowledged(batch, 11)
    assert at.batch() is None
    at.has_recorded(US, 5 + 2 * MOST_LINES)
    assert at.batch() == Batch(US, 6, 5 + MOST_LINES)


def test_a_verdict_is_given_when_the_row_was_read_back_and_not_when_it_was_acknowledged():
    at = outbox(recorded=1)
    asked(at, "settle", events=[f"{US}.1"])
    at.sends(Batch(US, 1, 1))
    at.was_acknowledged(Batch(US, 1, 1), 11)

    assert code(at, 1.0) is None
    at.has_folded(11, {US: 1})
    assert code(at, 1.0) == "ok"
    assert at.asks == []


def test_lines_that_were_never_sent_are_refused_soon_if_the_engine_is_away():
    at = outbox(recorded=1, connected=False)
    asked(at, "settle", events=[f"{US}.1"])

    assert code(at, SOON - 0.1) is None
    assert at.next_deadline(0.0) == SOON
    assert code(at, SOON) == "ENGINE_UNREACHABLE"


def test_an_attempt_to_connect_that_began_after_the_ask_and_failed_refuses_it_at_once():
    at = outbox(recorded=1, connected=False)
    asked(at, "settle", now=5.0, events=[f"{US}.1"])

    at.lost_connection(EngineUnreachable(), 4.9)
    assert code(at, 5.1) is None
    at.lost_connection(EngineUnreachable(), 5.0)
    assert code(at, 5.1) == "ENGINE_UNREACHABLE"


def test_the_lost_answer_to_other_lines_means_to_an_ask_that_the_engine_is_away():
    at = outbox(recorded=2)
    at.sends(Batch(US, 1, 1))
    asked(at, "settle", events=[f"{US}.2"])

    at.lost_connection(AppendUnknown(), 1.0)

    assert code(at, 1.0) == "ENGINE_UNREACHABLE"


def test_lines_that_may_have_been_sent_are_pending_and_only_at_the_end_of_the_patience():
    at = outbox(recorded=1)
    asked(at, "settle", events=[f"{US}.1"])
    at.sends(Batch(US, 1, 1))
    at.lost_connection(EngineUnreachable())

    assert code(at, 9.0) is None
    assert code(at, 10.0) == "GRANT_PENDING"


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (EngineUnreachable("the connection was refused"), "and the engine cannot be reached"),
        (AppendUnknown(), "and the engine cannot be reached"),
        (ResultsNotSaved("the disk is full"), "and the relay of this clone cannot go on: the disk is full"),
    ],
)
def test_lines_that_are_pending_are_told_with_the_cause_and_a_full_disk_here_is_no_engine_that_is_away(
    trouble: BbError, words: str
):
    at = outbox(recorded=1)
    asked(at, "settle", events=[f"{US}.1"])
    at.sends(Batch(US, 1, 1))
    at.lost_connection(trouble)

    ((_, answer),) = at.due(10.0)
    assert answer["error"]["message"].endswith(f"the lines may have been sent, {words}")


def test_lines_that_did_not_leave_the_machine_are_refused_soon_and_those_before_them_stay_pending():
    at = outbox(recorded=2)
    at.sends(Batch(US, 1, 1))
    asked(at, "settle", events=[f"{US}.1"])
    asked(at, "settle", events=[f"{US}.2"])

    at.has_not_sent(Batch(US, 1, 2), at.sends(Batch(US, 1, 2)))
    at.lost_connection(EngineUnreachable())

    assert code(at, SOON) == "ENGINE_UNREACHABLE"
    assert [ask.events for ask in at.asks] == [(f"{US}.1",)]
    assert code(at, 10.0) == "GRANT_PENDING"


def test_lines_of_an_earlier_process_may_have_been_sent():
    at = Outbox(lambda _: {"state": "sent"})
    at.begin({US: 1}, {US: 2}, 10)
    asked(at, "settle", events=[f"{US}.2"])

    assert code(at, 10.0) == "GRANT_PENDING"


def test_before_the_relay_has_begun_nothing_is_called_unsent():
    at = Outbox(lambda _: {"state": "sent"})
    at.has_recorded(US, 1)
    asked(at, "settle", events=[f"{US}.1"])

    assert code(at, SOON) is None
    assert code(at, 10.0) == "GRANT_PENDING"


def test_a_silent_engine_refuses_what_was_not_sent():
    at = outbox(recorded=2)
    at.sends(Batch(US, 1, 1))
    at.silent_since = 5.0
    asked(at, "settle", now=5.5, events=[f"{US}.2"])

    assert code(at, 5.5 + SOON - 0.01) is None
    assert code(at, 5.5 + SOON) == "ENGINE_UNREACHABLE"


@pytest.mark.parametrize("kind", ["flush", "fresh", "archive"])
def test_time_in_which_this_process_did_not_get_to_run_is_not_the_engines_silence(kind: str):
    at = outbox(recorded=1)
    at.has_stalled(1.0, 4.9)  # before
    at.silent_since = 5.0
    asked(at, kind, now=5.0, patience=60.0)
    at.has_stalled(4.8, 5.25)
    at.has_stalled(5.5, 8.0)

    assert code(at, 8.0) is None
    assert at.next_deadline(8.0) == 5.0 + SOON + 2.75
    assert code(at, 5.0 + SOON + 2.74) is None
    assert code(at, 5.0 + SOON + 2.75) == "ENGINE_UNREACHABLE"


def test_who_has_little_patience_is_refused_as_soon_on_a_busy_machine():
    at = outbox(recorded=1)
    at.silent_since = 5.0
    asked(at, "settle", now=5.0, events=[f"{US}.1"])
    at.has_stalled(5.1, 6.0)

    assert code(at, 5.0 + SOON) == "ENGINE_UNREACHABLE"


@pytest.mark.parametrize("refusal", [EngineRewound(), Denied()])
def test_what_stops_the_verdicts_is_told_at_once(refusal: BbError):
    at = outbox(recorded=1)
    asked(at, "settle", events=[f"{US}.1"])
    if refusal.code == "ENGINE_DENIED":
        at.denied[US] = refusal
    else:
        at.stop = refusal

    assert code(at, 0.0) == refusal.code
    assert at.batch() is None or refusal.code != "ENGINE_DENIED"


def test_fresh_waits_for_a_look_at_the_engine_after_it_was_asked_and_for_the_import():
    at = outbox()
    asked(at, "fresh", now=5.0)
    at.has_read_everything(4.0)
    assert code(at, 5.0) is None, "that look was before"
    at.has_folded(12, {})
    at.has_read_everything(6.0)
    assert at.waits_for_import
    assert code(at, 6.0) is None
    at.has_imported(12)
    assert code(at, 6.0) == "ok"


def test_flush_waits_for_the_lines_of_now_and_not_for_later_ones():
    at = outbox(placed=1, recorded=3)
    asked(at, "flush")
    at.has_recorded(US, 9)
    at.has_folded(11, {US: 2})
    assert code(at, 1.0) is None
    at.has_folded(12, {US: 3})
    assert code(at, 1.0) == "ok"


def test_lines_of_a_writer_that_is_left_are_void():
    at = outbox(recorded=2)
    asked(at, "settle", events=[f"{US}.2"])
    at.sends(Batch(US, 1, 2))
    at.leaves(US, "others have its numbers")
    ((_, answer),) = at.due(0.0)

    assert answer["result"]["events"][f"{US}.2"] == {"state": "void", "reason": "others have its numbers"}
    assert at.batch() is None


def test_when_the_relay_ends_only_what_was_not_sent_is_called_so():
    at = outbox(recorded=2)
    asked(at, "settle", events=[f"{US}.1"])
    asked(at, "settle", events=[f"{US}.2"])
    at.sends(Batch(US, 1, 1))
    refusals = [refusal_from(answer["error"]) for _, answer in at.end(RelayStopped())]

    assert [refusal.code for refusal in refusals] == ["GRANT_PENDING", "RELAY_STOPPED"]
    assert all(is_over(refusal) for refusal in refusals), "the next relay can tell"


STEPS = st.lists(
    st.sampled_from(["record", "send", "acknowledge", "lose", "connect", "fold", "ask", "late"]), max_size=40
)


@given(STEPS)
@examples(200)
def test_whatever_happens_no_line_that_may_be_sent_is_called_unsent_and_no_verdict_comes_too_early(steps: list[str]):
    at, now, recorded, folded = outbox(), 0.0, 0, 0
    sent: set[int] = set()
    batch: Batch | None = None
    for step in steps:
        now += 1.0
        if step == "record":
            recorded += 1
            at.has_recorded(US, recorded)
        elif step == "send" and at.is_connected and (batch := at.batch()):
            at.sends(batch)
            sent |= set(range(batch.first, batch.last + 1))
        elif step == "acknowledge" and batch:
            at.was_acknowledged(batch, 10 + batch.last)
        elif step == "lose":
            at.lost_connection(EngineUnreachable())
        elif step == "connect":
            at.is_connected = True
        elif step == "fold" and sent:
            folded = max(sent)
            at.has_folded(10 + folded, {US: folded})
        elif step == "ask" and recorded:
            asked(at, "settle", now=now, patience=3.0, events=[f"{US}.{recorded}"])
        for ask, answer in at.due(now + (10.0 if step == "late" else 0.0)):
            must_be_right(answer, ask.lines[US], folded, sent)


def must_be_right(answer: dict[str, Any], n: int, folded: int, sent: set[int]) -> None:
    """The answer about line N is right, if the lines up to FOLDED were read back, and these were SENT."""
    if answer["ok"]:
        assert n <= folded
    elif answer["error"]["code"] == "GRANT_PENDING":
        assert n in sent
        assert n > folded
    else:
        assert n not in sent


# -- what is known to be so now


def test_a_grant_is_told_only_while_the_results_are_known_to_be_current_and_is_pending_otherwise():
    at = Outbox(lambda _: {"state": "admitted", "token": 7})
    at.begin({US: 1}, {US: 1}, 10)  # a relay that starts after a night, and has not reached the engine yet
    asked(at, "settle", now=1000.0, events=[f"{US}.1"])

    assert code(at, 1005.0) is None, "it may have been taken over in rows that are not read yet"
    at.is_connected = True
    assert code(at, 1006.0) is None, "nor is that known as soon as the engine can be reached"
    assert code(at, 1010.0) == "GRANT_PENDING"
    asked(at, "settle", now=1020.0, events=[f"{US}.1"])
    at.was_current(1019.0)
    assert code(at, 1021.0) == "ok"


def test_a_grant_is_told_while_the_connection_has_just_been_lost():
    at = Outbox(lambda _: {"state": "admitted", "token": 7})
    at.begin({US: 1}, {US: 1}, 10)
    at.was_current(1000.0)
    at.lost_connection(EngineUnreachable())
    asked(at, "settle", now=1000.0 + RECENT, events=[f"{US}.1"])

    assert code(at, 1000.0 + RECENT) == "ok"
    asked(at, "settle", now=1001.0 + RECENT, events=[f"{US}.1"])
    assert code(at, 1001.0 + RECENT) is None


@pytest.mark.parametrize("state", ["refused", "void", "sent"])
def test_what_was_not_admitted_is_told_at_any_time_because_it_stays_so(state: str):
    at = Outbox(lambda _: {"state": state})
    at.begin({US: 1}, {US: 1}, 10)
    asked(at, "settle", now=1000.0, events=[f"{US}.1"])

    assert code(at, 1000.0) == "ok"


def test_a_grant_that_may_have_ended_is_pending_when_the_relay_stops():
    at = Outbox(lambda _: {"state": "admitted", "token": 7})
    at.begin({US: 1}, {US: 1}, 10)
    asked(at, "settle", now=1000.0, events=[f"{US}.1"])

    ((_, answer),) = at.end(RelayStopped())
    assert answer["error"]["code"] == "GRANT_PENDING"


def test_a_look_with_signs_of_life_is_answered_when_they_were_heard_after_everything_was_read():
    at = outbox()
    asked(at, "fresh", now=5.0, signs=True)
    at.has_heard_signs()
    assert not at.waits_for_signs, "the rows come first"
    at.has_read_everything(6.0)

    assert code(at, 6.0) is None
    assert at.waits_for_signs
    at.has_heard_signs()
    assert code(at, 6.0) == "ok"


def test_a_verdict_that_cannot_be_looked_up_is_looked_up_again_a_little_later_and_is_pending_if_that_lasts():
    verdicts = [{"state": UNKNOWN}]
    at = Outbox(lambda _: verdicts[0])
    at.begin({US: 1}, {US: 1}, 10)
    at.is_connected = True
    asked(at, "settle", now=1000.0, events=[f"{US}.1"])

    assert code(at, 1000.0) is None
    assert at.next_deadline(1000.5) == 1000.0 + SOON
    assert code(at, 1000.0 + SOON) is None
    assert at.next_deadline(1000.0 + SOON) == 1000.0 + 2 * SOON
    assert code(at, 1010.0) == "GRANT_PENDING"
    asked(at, "settle", now=1020.0, events=[f"{US}.1"])
    assert code(at, 1020.0) is None
    verdicts[0] = {"state": "refused"}
    assert code(at, 1020.0 + SOON) == "ok"
