"""C2A §Reliability, items 133 to 150 of the checklist: what is tried again, what never is, and what happens when
nobody answers."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.acts.tools import TOOLS
from bb.attention.harness.delivery import key_of
from tests.attention.hosts import AMBER, BLUE, CORAL, DELTA, EVERYBODY, CommandLine, Host, InMemory

QUESTION = "Is the deploy blocked?"


def told(host: Host, what: str) -> list[dict[str, Any]]:
    """The records of a kind, oldest first."""
    return [each for each in host.do(audit={})["records"][::-1] if each["what"] == what]


def answer(event: str = "1", text: str = "It is not.", key: str = "k", by: str = AMBER, **more: Any) -> dict[str, Any]:
    said = {"content": text, "inReplyTo": event, "idempotencyKey": key, "visibility": "dm", "directedness": "to_other"}
    return {"agent": by, **said, **more}


# -- 133 to 136: inbound


def connected(memory: InMemory, *, ack: bool = True) -> None:
    memory.people()
    memory.do(connect={"agent": AMBER, "ack": ack})
    memory.dm("1", QUESTION)
    memory.wait("4s")


def delivered(memory: InMemory) -> list[tuple[str, int]]:
    blocks = memory.do(deliver={"agent": AMBER})["blocks"]
    return [(each["eventId"], each["attempt"]) for each in blocks]


def test_c2a_133_where_it_has_to_be_confirmed_it_is_open_until_it_is(memory: InMemory):
    connected(memory)
    assert delivered(memory) == [("1", 1)]
    assert memory.do(show={"agent": AMBER, "event": "1"})["phase"] == "offered"

    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    assert memory.do(show={"agent": AMBER, "event": "1"})["phase"] == "accepted"
    assert memory.disposition("1") is None
    memory.wait("2m")
    assert delivered(memory) == []


def test_c2a_133_where_it_has_not_what_was_handed_over_has_arrived(memory: InMemory):
    connected(memory, ack=False)

    assert delivered(memory) == [("1", 1)]
    assert memory.do(show={"agent": AMBER, "event": "1"})["phase"] == "accepted"
    memory.wait("2m")
    assert delivered(memory) == []


@pytest.mark.parametrize("tries", [1, 8])
def test_c2a_133_what_a_harness_never_took_is_there_for_who_asks_for_it(memory: InMemory, tries: int):
    connected(memory)
    for _ in range(tries):
        delivered(memory)
        memory.wait("71s")
    memory.do(tick={})

    (block,) = memory.inject()["blocks"]
    assert (block["eventId"], block["attempt"]) == ("1", tries + 1)
    assert memory.inject()["blocks"] == []
    assert delivered(memory) == []


ENVELOPE: dict[str, Any] = {
    "eventId": "evt_123",
    "source": {"platform": "slack"},
    "conversation": {"id": "C9", "kind": "dm"},
    "author": {"id": "W1", "kind": "human"},
    "target": {"directedness": "to_me", "recipient": f"agent:{AMBER}"},
    "content": [{"type": "text", "text": QUESTION}],
    "attention": {"policy": "must_respond", "reason": "direct_message"},
    "injection": {"mode": "buffered"},
    "reliability": {"attempt": 1, "idempotencyKey": "evt_123:agent_amber_otter"},
}


def test_c2a_134_what_was_accepted_is_there_whatever_happens_next(host: Host):
    host.people()
    assert host.do(receive={"agent": AMBER, "envelope": ENVELOPE})["status"] == "accepted"

    # On the command line every step is a process of its own, which knows no more than is on the disk.
    assert host.triple("evt_123") == "to_me/must_respond/buffered"
    assert host.do(read={"agent": AMBER, "eventId": "evt_123"})["items"][0]["parts"][0]["text"] == QUESTION


def test_c2a_135_what_is_tried_again_is_the_same_event_one_attempt_later(memory: InMemory):
    connected(memory)
    attempts = []
    for _ in range(8):
        attempts += delivered(memory)
        assert delivered(memory) == []  # not at once
        memory.wait("71s")

    assert attempts == [("1", attempt) for attempt in range(1, 9)]
    assert key_of("1", AMBER) == "1:agent_amber_otter"
    assert delivered(memory) == []
    memory.do(tick={})
    assert memory.do(show={"agent": AMBER, "event": "1"})["phase"] == "parked"
    assert memory.disposition("1") is None


def test_c2a_136_what_is_delivered_twice_is_one_event(host: Host):
    host.people()
    again = {**ENVELOPE, "reliability": {**ENVELOPE["reliability"], "attempt": 2}}
    first = host.do(receive={"agent": AMBER, "envelope": ENVELOPE})
    second = host.do(receive={"agent": AMBER, "envelope": again})

    assert (first["status"], second["status"]) == ("accepted", "duplicate")
    assert len(host.do(list={"agent": AMBER})["events"]) == 1
    host.wait("5s")
    assert host.sees(AMBER) == ["content evt_123 must_respond"]
    host.inject()
    host.do(receive={"agent": AMBER, "envelope": again})
    assert host.sees(AMBER) == []


def test_c2a_136_with_a_higher_version_it_is_an_edit(host: Host):
    host.people()
    host.do(receive={"agent": AMBER, "envelope": ENVELOPE})
    text = [{"type": "text", "text": "Is the second deploy blocked?"}]
    found = host.do(receive={"agent": AMBER, "envelope": {**ENVELOPE, "content": text, "contentVersion": 2}})

    assert found["status"] == "accepted"
    host.wait("5s")
    (block,) = host.inject()["blocks"]
    assert block["content"] == text


def test_c2a_136_a_surface_may_say_everything_twice(host: Host):
    host.people()
    for _ in range(2):
        host.dm("1", QUESTION)
        host.says("2", "U1 look?", mentions=["U1"])

    assert host.dm("1", QUESTION)["status"] == "duplicate"
    assert len(host.do(list={"agent": AMBER})["events"]) == 2
    assert len(told(host, "received")) == 2


# -- 137 and 138: a turn that fails, and what was said already


def works(memory: InMemory, state: str, **more: Any) -> None:
    memory.do(turn={"agent": AMBER, "event": "1", "state": state, **more})


def test_c2a_137_a_turn_whose_harness_went_away_is_over_once_it_is_back(memory: InMemory):
    connected(memory)
    delivered(memory)
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
    before = memory.do(show={"agent": AMBER, "event": "1"})["phase"]
    memory.do(connect={"agent": AMBER})

    assert (before, memory.do(show={"agent": AMBER, "event": "1"})["phase"]) == ("in_turn", "accepted")


def test_c2a_137_a_turn_that_failed_without_a_word_is_tried_again(memory: InMemory):
    connected(memory)
    attempts = []
    for _ in range(4):
        attempts += delivered(memory)
        if memory.do(show={"agent": AMBER, "event": "1"})["phase"] == "offered":
            memory.do(acknowledge={"agent": AMBER, "event": "1"})
            works(memory, "started")
            works(memory, "failed")

    assert attempts == [("1", 1), ("1", 2), ("1", 3)]


def test_c2a_137_while_it_is_handed_over_again_it_is_not_handed_over_twice(memory: InMemory):
    connected(memory)
    delivered(memory)
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    works(memory, "started")
    works(memory, "failed")

    assert delivered(memory) == [("1", 2)]
    assert delivered(memory) == []


def test_c2a_138_a_turn_that_has_spoken_is_never_run_again(memory: InMemory):
    connected(memory)
    delivered(memory)
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    works(memory, "started")
    works(memory, "failed", outbound=True)
    memory.wait("2m")

    assert delivered(memory) == []


def external(host: Host) -> None:
    """A question in a conversation that lives elsewhere."""
    host.people()
    host.dm("1", QUESTION)
    host.do(conversation={"id": f"D-{AMBER}", "is_external": True})


@pytest.mark.parametrize("state", ["pending", "unknown", "sent"])
def test_c2a_138_nothing_else_is_said_while_the_first_may_have_arrived(host: Host, state: str):
    external(host)
    first = host.do(send=answer())["messageId"]
    if state != "pending":
        host.do(outbox={"id": first, "unknown": state == "unknown"})

    refused = host.refusal(send=answer(text="Yes, it is!", key="another"))
    assert (refused.code, refused.status) in (("ALREADY_RESPONDED", None), ("ALREADY_RESPONDED", 7))
    assert host.do(send=answer())["state"] == state
    assert [each["id"] for each in host.do(outbox={})] == ([] if state == "sent" else [first])


def test_c2a_138_when_the_first_has_failed_for_good_something_else_may_be_said(host: Host):
    external(host)
    first = host.do(send=answer())["messageId"]
    host.do(outbox={"id": first, "reason": "the channel is archived"})

    found = host.do(send=answer(text="Yes, it is!", key="another"))
    assert (found["state"], found["disposition"]) == ("pending", "responded")
    assert host.disposition("1") == "responded"


def test_c2a_138_what_is_new_may_be_added(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.do(send=answer())

    assert host.do(send=answer(text="Now it is.", key="another", followup=True))["deduplicated"] is False


# -- 139 to 142: outbound


class Surface:
    """A platform that answers as it is told, and shows what it has."""

    def __init__(self, *answers: str) -> None:
        self.shown: list[tuple[str, str]] = []
        self._answers = list(answers)

    def post(self, due: dict[str, Any]) -> str:
        """Whether it has taken a message, as whoever posts it is told."""
        found = self._answers.pop(0) if self._answers else "200"
        if found in ("200", "time-out after it was taken"):
            self.shown.append((due["marker"], due["content"][0]["text"]))
        return found

    def has(self, marker: str) -> bool:
        return any(shown == marker for shown, _ in self.shown)


def bridge(host: Host, surface: Surface) -> None:
    """One round of a bridge: what is due is posted, or looked for where that is not known."""
    for due in host.do(outbox={}):
        if due["state"] == "unknown" and surface.has(due["marker"]):
            host.do(outbox={"id": due["id"], "platform_id": "1748.1"})
            continue
        found = surface.post(due)
        if found == "200":
            host.do(outbox={"id": due["id"], "platform_id": "1748.1"})
        elif found.startswith("time-out"):
            host.do(outbox={"id": due["id"], "unknown": True})
        elif found == "403":
            host.do(outbox={"id": due["id"], "reason": "403: not in the channel"})


def test_c2a_139_what_could_not_be_posted_now_is_tried_until_it_can(host: Host):
    external(host)
    host.do(send=answer())
    surface = Surface("429", "500", "reset", "200")
    due = []
    for _ in range(5):
        due.append(host.do(outbox={}))
        bridge(host, surface)

    assert [len(each) for each in due] == [1, 1, 1, 1, 0]
    assert due[0] == due[1] == due[2] == due[3]
    assert [text for _, text in surface.shown] == ["It is not."]
    assert host.do(send=answer())["state"] == "sent"


def test_c2a_140_the_same_key_is_the_same_message(host: Host):
    external(host)
    first = host.do(send=answer())
    again = host.do(send=answer())

    assert first["messageId"] == again["messageId"]
    assert (again["deduplicated"], again["disposition"]) == (True, "responded")
    (due,) = host.do(outbox={})
    assert due["idempotencyKey"] == f"{AMBER}:k"
    for other in (
        {"content": "Yes, it is!"},
        {"directedness": "to_me"},
        {"visibility": "thread"},
        {"mentions": ["W1"]},
        {"inReplyTo": "2"},
    ):
        host.dm("2", "And the second one?")
        refused = host.refusal(send=answer() | other)
        assert (refused.code, refused.status) in (("IDEMPOTENCY_CONFLICT", None), ("IDEMPOTENCY_CONFLICT", 7))
    assert host.disposition("2") is None
    assert len(host.do(outbox={})) == 1


def test_c2a_140_a_key_is_ones_own(host: Host):
    host.people()
    target = {"conversation": "C1"}
    one, other = (host.send(agent, "Good morning.", "k", target=target) for agent in (AMBER, BLUE))

    assert one["messageId"] != other["messageId"]
    assert not other["deduplicated"]


def test_c2a_140_in_private_as_well(host: Host):
    host.people()
    sent = [
        host.send(AMBER, QUESTION, "k", target={"recipient": BLUE}, visibility="dm", directedness="to_me")
        for _ in range(2)
    ]

    assert [each["deduplicated"] for each in sent] == [False, True]
    assert sent[0]["messageId"] == sent[1]["messageId"]


def test_c2a_141_the_name_that_a_post_has_there_may_be_told_later(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "is_external": True, "platform": "slack"})
    sent = host.send(AMBER, "it is green", "k", target={"conversation": "C1"})["messageId"]

    assert host.do(outbox={"id": sent})["state"] == "sent"
    assert "already" not in host.do(outbox={"id": sent, "platform_id": "1748.1"})
    assert host.do(outbox={"id": sent, "platform_id": "1748.1"})["already"]
    assert host.do(outbox={"id": sent})["already"]
    assert host.refusal(outbox={"id": sent, "platform_id": "1748.2"}).code == "POSTED_ALREADY"
    assert host.says("1748.1", "it is green", author="UBOT")["status"] == "duplicate"  # what comes back is bb's own


def test_c2a_141_what_may_be_there_is_looked_for_before_it_is_posted_again(host: Host):
    external(host)
    host.do(send=answer())
    surface = Surface("time-out after it was taken")
    bridge(host, surface)
    (due,) = host.do(outbox={})
    assert due["state"] == "unknown"
    assert host.do(send=answer())["state"] == "unknown"

    bridge(host, surface)
    assert len(surface.shown) == 1
    assert host.do(send=answer())["state"] == "sent"
    assert host.do(outbox={}) == []


def test_c2a_141_when_it_comes_back_it_is_known_by_its_marker(host: Host):
    external(host)
    sent = host.do(send=answer())["messageId"]
    host.do(outbox={"id": sent, "unknown": True})
    (due,) = host.do(outbox={})
    rows = [len(host.do(list={"agent": agent})["events"]) for agent in (AMBER, BLUE)]
    found = host.dm("1748.2", "It is not.", author="U1", marker=due["marker"])

    assert found["status"] == "own"
    assert host.do(send=answer())["state"] == "sent"
    assert [len(host.do(list={"agent": agent})["events"]) for agent in (AMBER, BLUE)] == rows


def test_c2a_142_what_is_refused_for_good_is_told_and_is_no_answer(host: Host):
    external(host)
    host.do(send=answer())
    assert host.disposition("1") == "responded"
    bridge(host, Surface("403"))

    refused = host.refusal(send=answer())
    assert (refused.code, refused.status) in (("DELIVERY_FAILED", None), ("DELIVERY_FAILED", 4))
    assert "403" in str(refused)
    assert host.do(show={"agent": AMBER, "event": "1"})["failure"] == "403: not in the channel"
    assert host.do(outbox={}) == []


def test_c2a_142_the_agent_is_knocked_at(host: Host):
    external(host)
    host.do(send=answer())
    host.inject()
    bridge(host, Surface("403"))

    (seen,) = host.inject()["blocks"]
    assert (seen["reason"], seen["policy"], seen["mode"]) == ("send_failed", "ack_only", "notify")
    (row,) = (row for row in host.do(list={"agent": AMBER})["events"] if row["reason"] == "send_failed")
    assert row["author"] == "system:bb"
    assert host.do(list={"agent": BLUE})["events"] == []


def test_c2a_142_what_became_of_it_is_said_once(host: Host):
    external(host)
    sent = host.do(send=answer())["messageId"]
    host.do(outbox={"id": sent, "platform_id": "1748.1"})

    assert host.do(outbox={"id": sent, "platform_id": "1748.1"})["already"]
    assert host.refusal(outbox={"id": sent, "reason": "no"}).code == "POSTED_ALREADY"
    assert host.refusal(outbox={"id": "never", "platform_id": "1"}).code == "NOT_FOUND"


def test_c2a_142_what_is_called_back_is_not_posted(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "is_external": True})
    sent = host.send(AMBER, "Good morning.", "k", target={"conversation": "C1"})["messageId"]
    host.do(cancel={"agent": AMBER, "event": sent})

    assert host.do(outbox={}) == []
    assert host.refusal(cancel={"agent": BLUE, "event": sent}).code == "PERMISSION_DENIED"


# -- 143 to 145: tools that may be called twice


def test_c2a_143_every_tool_says_whether_it_may_be_called_twice(command_line: CommandLine):
    reads = {"chat.list_events", "chat.read_thread"}
    for tool in TOOLS.values():
        found = tool.annotations()
        assert found["idempotentHint"] is True
        assert found["readOnlyHint"] is (tool.name in reads)
        assert found["destructiveHint"] is False
        assert found["openWorldHint"] is (tool.name == "chat.send_message")
    assert "A repetition with the same key sends nothing." in " ".join(
        command_line.repo.bb("chat", "send", "--help").out.split()
    )


def test_c2a_144_what_is_read_or_written_twice_is_read_or_written_once(host: Host):
    host.people((AMBER, "@backend"))
    host.dm("1", QUESTION)
    host.dm("2", QUESTION)
    host.dm("3", QUESTION)
    host.dm("4", QUESTION)
    steps: list[dict[str, Any]] = [
        {"list": {"agent": AMBER, "include": "body"}},
        {"read": {"agent": BLUE, "conversation": "C1"}},
        {"send": answer("1")},
        {"react": {"agent": AMBER, "inReplyTo": "2", "signal": "queued"}},
        {"defer": {"agent": AMBER, "eventId": "3", "reason": "later"}},
        {"resolve": {"agent": AMBER, "eventId": "4"}},
    ]
    host.says("0", "a word")
    for step in steps:
        host.do(**step)
        before = host.everything()
        host.do(**step)
        assert host.everything() == before, step


def test_c2a_144_the_same_owner_claims_twice(host: Host):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    one, other = (host.do(claim={"agent": AMBER, "eventId": "1"}) for _ in range(2))

    assert (one["owner"], one["expiresAt"]) == (other["owner"], other["expiresAt"])


def test_c2a_145_what_has_no_key_is_tried_once_and_not_done(host: Host):
    external(host)
    keyless = {name: value for name, value in answer().items() if name != "idempotencyKey"}

    refused = host.refusal(send=keyless)
    assert (refused.code, refused.details["member"]) == ("MISSING_MEMBER", "idempotencyKey")
    assert host.do(outbox={}) == []
    assert host.disposition("1") is None
    assert told(host, "sent") == []


# -- 146 and 147: deadlines, and what is too old


def test_c2a_146_every_event_that_asks_for_anything_has_a_deadline(host: Host):
    host.people((AMBER, "@backend"))
    host.dm("must", QUESTION)
    host.says("may", "@backend ping", mentions=["@backend"])
    host.dm("ack", "thanks!")
    host.says("not", "good morning")
    host.dm("own", QUESTION, attention={"deadlineMs": 120_000})

    found = {event: host.explain(event)["deadlineMs"] for event in ("must", "may", "ack", "not", "own")}
    minute = 60_000
    assert found == {"must": 15 * minute, "may": 1440 * minute, "ack": 1440 * minute, "not": None, "own": 2 * minute}
    assert host.explain("own")["dueAt"] == "2026-06-02T19:02:00.000Z"


def test_c2a_146_a_workspace_sets_its_own(host: Host):
    host.people((AMBER, "@backend"))
    host.do(policy={"deadline_ms": 60_000, "window_ms": 3_600_000})
    host.dm("1", QUESTION)
    host.says("2", "@backend ping", mentions=["@backend"])

    assert [host.explain(event)["deadlineMs"] for event in ("1", "2")] == [60_000, 3_600_000]
    host.wait("61s")
    assert host.triple("1") == "to_me/may_respond/buffered"
    host.wait("1h")
    host.do(tick={})
    assert host.disposition("2") == "ignored"


def test_c2a_147_what_is_too_old_may_be_answered_by_who_has_looked_at_the_thread(host: Host):
    host.people()
    host.says("1", "U1 look?", mentions=["U1"], thread="T1")
    host.wait("16m")

    assert host.triple("1") == "to_me/may_respond/buffered"
    found = host.do(show={"agent": AMBER, "event": "1"})
    assert (found["stale"], found["originalPolicy"], found["threadCheckRequired"]) == (True, "must_respond", True)
    refused = host.refusal(send=answer(visibility="thread"))
    assert (refused.code, refused.status) in (("STALE_CHECK_REQUIRED", None), ("STALE_CHECK_REQUIRED", 7))
    host.do(read={"agent": AMBER, "eventId": "1"})
    assert host.do(send=answer(visibility="thread"))["disposition"] == "responded"


def test_c2a_147_ticking_or_not_makes_no_difference(host: Host):
    host.people()
    host.dm("1", QUESTION)
    host.wait("16m")
    before = host.explain("1")["now"]
    host.do(tick={})

    assert host.explain("1")["now"] == before
    assert host.refusal(send=answer()).code == "STALE_CHECK_REQUIRED"


def test_c2a_147_whoever_has_looked_before_the_last_word_has_to_look_again(host: Host):
    host.people()
    host.says("1", "U1 look?", mentions=["U1"], thread="T1")
    host.wait("16m")
    host.do(read={"agent": AMBER, "eventId": "1"})
    host.do(tick={})  # what the host says to others of it is no word in the thread
    host.wait("1m")
    host.says("2", "never mind", thread="T1")

    assert host.refusal(send=answer(visibility="thread")).code == "STALE_CHECK_REQUIRED"
    host.do(read={"agent": AMBER, "eventId": "1", "before": "2"})
    assert host.refusal(send=answer(visibility="thread")).code == "STALE_CHECK_REQUIRED"
    host.do(read={"agent": AMBER, "conversation": "C1", "threadId": "T1", "limit": 1})
    assert host.do(send=answer(visibility="thread"))["disposition"] == "responded"


def test_c2a_147_what_the_host_says_to_others_asks_for_no_second_look(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "lead": CORAL})
    host.says("1", "U1 look?", mentions=["U1"], thread="T1")
    host.wait("16m")
    host.do(read={"agent": AMBER, "eventId": "1"})
    host.wait("1s")
    assert [each["what"] for each in host.do(tick={})["due"]] == ["stale", "escalated"]

    assert host.do(send=answer(visibility="thread"))["disposition"] == "responded"


# -- 148 to 150: nobody answers


def unanswered(host: Host, owner_of_stream: str = "", **about: str) -> list[dict[str, Any]]:
    """A question that A leaves unanswered, until its time is over; what was done about it."""
    host.people()
    if owner_of_stream:
        host.do(bind={"agent": owner_of_stream, "streams": ["kettle"]})
    if about:
        host.do(conversation={"id": "C1", **about})
    host.says("1", "U1 look?", mentions=["U1"])
    host.wait("4s")
    host.inject()
    done = []
    for _ in range(3):
        host.wait("8m")
        done += host.do(tick={})["due"]
        host.inject()
    return [{name: each[name] for name in ("what", "agent", "to") if name in each} for each in done]


def test_c2a_148_it_is_offered_to_the_same_agent_again_before_another_is_asked(host: Host):
    done = unanswered(host, lead=CORAL)

    assert done == [
        {"what": "reminded", "agent": AMBER},
        {"what": "stale", "agent": AMBER},
        {"what": "escalated", "agent": AMBER, "to": CORAL},
    ]
    steps = [each["step"] for each in host.do(show={"agent": AMBER, "event": "1"})["steps"]]
    attempts = [each["about"]["attempt"] for each in told(host, "offered") if each["agent"] == AMBER]
    assert attempts == [1, 2]
    assert steps.index("reminded") < steps.index("escalated")
    assert [step for step in steps if step in ("offered", "escalated")] == ["offered", "offered", "escalated"]


def test_c2a_149_nobody_else_hears_of_it(host: Host):
    unanswered(host, lead=CORAL)

    for agent in (BLUE, DELTA):
        assert [row["eventId"] for row in host.do(list={"agent": agent})["events"]] == ["1"]
        assert host.triple("1", agent) == "to_other/must_not_respond/tool_mailbox"
        assert host.sees(agent) == []
    assert [each["agent"] for each in told(host, "decided") if each["eventId"] != "1"] == [CORAL]


@pytest.mark.parametrize(
    ("about", "responder", "to"),
    [
        ({"lead": CORAL, "owner": DELTA}, "", CORAL),
        ({"owner": DELTA}, BLUE, DELTA),
        ({}, BLUE, BLUE),
        ({}, "", "user"),
    ],
)
def test_c2a_150_exactly_one_is_asked_instead(host: Host, about: dict[str, str], responder: str, to: str):
    host.do(policy={"responder": responder}) if responder else None
    done = unanswered(host, **about)

    assert [each["to"] for each in done if each["what"] == "escalated"] == [to]
    (decided,) = (each for each in told(host, "decided") if each["eventId"] == "1~esc1")
    assert decided["agent"] == to
    if to in EVERYBODY:
        found = host.do(show={"agent": to, "event": "1~esc1"})
        assert (found["policy"], found["reason"], found["linked"]) == ("must_respond", "escalated", "1")
        assert found["author"] == "system:bb"


def test_c2a_150_who_owns_the_stream_is_asked_before_who_owns_the_conversation(host: Host):
    done = unanswered(host, BLUE, owner=DELTA, stream="kettle")

    assert [each["to"] for each in done if each["what"] == "escalated"] == [BLUE]
