"""One harness, as a set of rules: what is planned for it, and what becomes of what it was handed."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.acts.timers import tick
from bb.attention.harness import session, updates
from bb.attention.harness.capabilities import OURS, Capabilities, negotiate
from bb.attention.harness.session import Harness, Plan
from bb.attention.messages.envelopes import EnvelopeMembers, InvalidEnvelope
from bb.kernel import clock
from tests.attention.hosts import AMBER, InMemory, message

EVERYTHING = {section: dict.fromkeys(names, True) for section, names in OURS.items()}
SECOND = clock.SECOND


def can(*without: str) -> Capabilities:
    wanted = {section: {name: f"{section}.{name}" not in without for name in names} for section, names in OURS.items()}
    return negotiate(EnvelopeMembers(wanted))


class Side:
    """A harness beside a host in memory."""

    def __init__(self, host: InMemory, *without: str) -> None:
        self.host = host
        self.harness = Harness(AMBER, can(*without))
        host.replay.here.record(session.begin_facts(self.book, self.harness, "", self.now), self.now)

    @property
    def book(self) -> Any:
        return self.host.replay.here.book

    @property
    def now(self) -> int:
        return self.host.replay.now

    def plan(self) -> Plan:
        return updates.plan(self.harness, self.book, self.now, "seed")

    def go(self) -> list[str]:
        """Do what is planned; in short."""
        plan = self.plan()
        self.host.replay.here.record(plan.facts, self.now)
        self.harness.note_sent(plan, self.now)
        self.harness.note_nothing_due(self.now)
        cancels = [f"cancel {handed.event}" for handed, _ in plan.cancels]
        delivers = [
            f"{each.envelope['injection']['mode']} {each.handed.event} #{each.handed.attempt}" for each in plan.delivers
        ]
        found: list[str] = self.host.replay.ids.shortened([*cancels, *delivers])
        return found

    def take(self, event: str) -> None:
        handed = self.harness.handed[f"slack:{event}"]
        self.host.replay.here.record(session.acceptance_facts(self.book, self.harness, handed), self.now)
        self.harness.take(handed)


@pytest.fixture
def side(memory: InMemory) -> Side:
    memory.people((AMBER, "@backend"))
    return Side(memory)


def test_what_was_agreed_on_is_what_both_can():
    found = can("injection.notify")

    assert found("delivery.ack")
    assert not found("injection.notify")
    assert found.shown()["injection"]["notify"] is False
    assert negotiate(EnvelopeMembers({})).shown()["delivery"] == {
        "ack": False,
        "redelivery": False,
        "idempotency": False,
    }
    assert negotiate(EnvelopeMembers({"delivery": {"redelivery": True}}))("delivery.redelivery") is False


def test_a_flag_is_true_or_false():
    with pytest.raises(InvalidEnvelope.error) as refusal:
        negotiate(EnvelopeMembers({"utilities": {"progress": 1}}))

    assert refusal.value.details["pointer"] == "/utilities/progress"


def test_a_plan_changes_nothing_before_it_is_done(side: Side):
    side.host.dm("1", "check the deploy?")
    side.host.wait("5s")

    assert side.plan() == side.plan()
    assert side.go() == ["buffered 1 #1"]
    assert side.go() == []


def test_a_plan_says_when_there_is_more(side: Side):
    assert side.plan().due == side.now + session.DIGEST_EVERY
    side.host.dm("1", "check the deploy")
    assert side.plan().due == side.now + 3 * SECOND
    side.host.wait("3s")
    side.go()
    assert side.plan().due == side.now + 11 * SECOND  # nobody has said within ten that it arrived; then one more
    side.take("1")
    assert side.plan().due > side.now + 60 * SECOND


def test_what_is_on_its_way_holds_back_its_conversation_alone(side: Side):
    for n, conversation in enumerate(("C1", "C1", "C2")):
        side.host.says(str(n), "@amber well?", mentions=["U1"], author=f"W{n}", conversation=conversation)
    side.host.wait("5s")

    assert side.go() == ["buffered 0 #1", "buffered 2 #1"]
    side.take("2")
    assert side.go() == []
    side.take("0")
    assert side.go() == ["buffered 1 #1"]


def test_what_is_immediate_does_not_stand_in_line(side: Side):
    side.host.says("0", "@amber well?", mentions=["U1"])
    side.host.wait("5s")
    side.go()
    side.host.says("1", "@amber stop!", mentions=["U1"], author="W2", priority="urgent")

    assert side.go() == ["immediate 1 #1"]


def test_no_more_is_on_its_way_than_a_harness_can_be_asked_to_hold(side: Side):
    for n in range(40):
        side.host.says(str(n), "well?", conversation=f"D{n}", kind="dm", recipient="U1")
    side.host.wait("5s")

    assert len(side.go()) == 32
    side.take("0")
    assert len(side.go()) == 1


@pytest.mark.parametrize(
    ("without", "seen"),
    [
        ((), ["immediate i #1", "buffered b #1", "notify k #1"]),
        (("injection.immediate",), ["buffered i #1", "buffered b #1", "notify k #1"]),
        (("injection.buffered",), ["immediate i #1", "immediate b #1", "notify k #1"]),
        (("injection.notify",), ["immediate i #1", "buffered b #1"]),
        (("injection.immediate", "injection.buffered"), ["notify k #1"]),
        (("injection.immediate", "injection.buffered", "injection.notify"), []),
    ],
)
def test_what_cannot_be_shown_in_one_way_is_shown_in_another_or_stays(
    memory: InMemory, without: tuple[str, ...], seen: list[str]
):
    memory.people((AMBER, "@backend"))
    side = Side(memory, *without)
    memory.says("i", "@amber stop!", mentions=["U1"], priority="urgent", conversation="C1")
    memory.says("b", "@amber well?", mentions=["U1"], conversation="C2")
    memory.says("k", "@backend ping", mentions=["@backend"], conversation="C3")
    memory.wait("5s")

    assert side.go() == seen


def test_what_came_before_the_session_and_was_not_taken_is_resumed(side: Side):
    for event in ("1", "2", "3"):
        side.host.says(event, "well?", conversation=f"D{event}", kind="dm", recipient="U1")
    side.host.wait("5s")
    side.go()
    side.take("2")

    again = Side(side.host)

    assert again.harness.resumed == {"slack:1", "slack:3"}
    assert again.go() == ["buffered 1 #2", "buffered 3 #2"]


def test_what_is_put_off_or_settled_is_not_resumed(side: Side):
    for event in ("1", "2"):
        side.host.says(event, "well?", conversation=f"D{event}", kind="dm", recipient="U1")
    side.host.wait("5s")
    side.go()
    side.host.do(defer={"agent": AMBER, "eventId": "1", "reason": "later"})
    side.host.do(resolve={"agent": AMBER, "eventId": "2"})

    assert Side(side.host).go() == []


def test_several_knocks_of_a_thread_are_one_and_are_taken_together(side: Side):
    side.host.send(AMBER, "I look at it", "k", target={"conversation": "C1", "thread": "7"}, visibility="thread")
    for event in ("1", "2"):
        side.host.says(event, "and then it rained", thread="7", author=f"W{event}")

    (deliver,) = side.plan().delivers
    assert deliver.handed.events == ("slack:1", "slack:2")
    assert deliver.envelope["knock"]["count"] == 2
    side.go()
    side.take("2")
    assert Side(side.host).go() == []


def test_what_somebody_else_has_settled_is_called_off(side: Side):
    """The one who was asked first answers after all: whom it was passed on to need do nothing."""
    side.host.do(conversation={"id": "D-blue-heron", "lead": AMBER})
    side.host.dm("1", "well?", to="blue-heron")
    side.host.wait("16m")
    side.host.do(tick={})
    side.host.wait("5s")
    assert side.go() == ["buffered 1~esc1 #1"]
    side.take("1~esc1")
    side.host.do(read={"agent": "blue-heron", "eventId": "1"})
    side.host.send("blue-heron", "here I am", "k", inReplyTo="1", visibility="dm", target={})

    assert side.go() == ["cancel 1~esc1"]


def test_an_edit_that_takes_the_mention_back_calls_it_off_for_good(side: Side):
    side.host.says("1", "@amber well?", mentions=["U1"])
    side.host.wait("5s")
    side.go()
    side.take("1")
    side.host.do(edit={**message("1", "well?", mentions=[]), "version": 2})

    assert side.go() == ["cancel 1"]
    assert side.go() == []


def test_time_alone_does_nothing_before_it_is_said_to(side: Side):
    """Stepping from one such moment to the next misses nothing that ticking each second would have done."""
    host = side.host
    host.do(conversation={"id": f"D-{AMBER}", "lead": "blue-heron"})
    host.dm("1", "check the deploy?")
    host.says("2", "@backend ping", mentions=["@backend"])
    host.dm("3", "and the build?", deadlineMs=600_000)
    host.wait("5s")
    side.go()
    host.do(claim={"agent": AMBER, "eventId": "2", "ttlMs": 120_000})
    host.do(defer={"agent": AMBER, "eventId": "3", "reason": "later", "until": clock.text(host.replay.now + 400_000)})
    done = 0
    for _ in range(30):
        now = host.replay.now
        due = session.next_tick(side.book, now)
        if due is None:
            break
        for moment in (now + 1, (now + due) // 2, due - 1):
            assert tick(side.book, moment)[1] == [] or moment <= now
        host.replay.now = due
        done += len(host.do(tick={})["due"])
    assert done >= 6


def test_what_is_taken_and_closed_is_forgotten_and_an_edit_still_brings_its_news(side: Side):
    for event in ("1", "2"):
        side.host.dm(event, "is it green?")
        side.host.wait("5s")
        side.go()
        side.take(event)
        side.host.wait("2m")
    side.host.send(AMBER, "It is.", "k", inReplyTo="1", visibility="dm", target={})

    side.harness.forget(side.plan().settled)

    assert list(side.harness.handed) == ["slack:2"]
    edited = message("1", "is it blue?", conversation=f"D-{AMBER}", kind="dm", recipient="U1")
    side.host.do(edit=edited | {"version": 2})
    side.host.wait("5s")
    assert len(side.go()) == 1, "the edit of an answered message is a new event"


def test_an_edit_opens_again_what_was_forgotten(side: Side):
    side.host.says("1", "U1 thanks!", mentions=["U1"])
    side.host.wait("5s")
    side.go()
    side.take("1")
    side.host.do(react={"agent": AMBER, "inReplyTo": "1", "signal": "agree"})
    side.harness.forget(side.plan().settled)

    assert side.harness.handed == {}
    assert side.go() == []
