"""C2A §Minimal Viable C2A, items 166 to 174 of the checklist: the nine things that the first useful implementation has,
each as one short story, and that the profile has tests for all it names."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bb.attention.harness.delivery import key_of
from tests.attention.hosts import AMBER, BLUE, CORAL, Host, InMemory
from tests.attention.minimal import MINIMAL, NUMBERS, numbers
from tests.support import ROOT

QUESTION = "Is the deploy blocked?"


def answer(event: str, key: str = "k", **more: Any) -> dict[str, Any]:
    said = {"content": "It is not.", "inReplyTo": event, "idempotencyKey": key, "visibility": "dm"}
    return {"agent": AMBER, "directedness": "to_other", **said, **more}


# -- the profile


def named() -> set[int]:
    """The numbers for which there is a test."""
    files = [*ROOT.glob("tests/attention/test_*.py"), *ROOT.glob("tests/stories/attention/test_*.py")]
    names = [name for file in files for name in re.findall(r"^def (test_c2a_\w+)", file.read_text(), re.MULTILINE)]
    return {number for name in names for number in numbers(name)}


@pytest.mark.parametrize("item", MINIMAL)
def test_c2a_166_the_profile_has_a_test_for_each_number_that_it_names(item: int):
    assert set(MINIMAL[item]) - named() == set()


def test_c2a_166_the_profile_names_what_the_specification_lists():
    assert list(MINIMAL) == list(range(166, 175))
    assert 76 not in NUMBERS


@pytest.mark.parametrize(
    ("test", "named_for"),
    [
        ("test_c2a_098_seen", {98}),
        ("test_c2a_098_seen[replay]", {98}),
        ("test_c2a_017_018_019_a_word", {17, 18, 19}),
        ("test_c2a_014_to_016_a_word", {14, 15, 16}),
        ("test_c2a_98_seen", set()),
        ("test_ladder", set()),
    ],
)
def test_c2a_166_a_test_is_named_for_its_items(test: str, named_for: set[int]):
    assert numbers(test) == named_for


# -- the nine


def test_c2a_166_an_event_says_what_it_is_and_what_is_to_be_done(host: Host):
    host.people((AMBER, "@backend"))
    host.dm("1", QUESTION)
    host.says("2", "@backend ping", mentions=["@backend"])
    host.wait("4s")

    content, knock = host.inject()["blocks"]
    for each in (content, knock):
        assert each["eventId"]
        assert each["directedness"] in ("to_me", "to_my_role")
        assert each["policy"] in ("must_respond", "may_respond")
        assert each["injection"] in ("buffered", "notify")
    assert content["content"] == [{"type": "text", "text": QUESTION}]
    assert "content" not in knock
    assert {"from", "where", "directedness", "policy", "priority", "topic", "pullWith"} <= knock["knock"].keys()
    rows = {row["eventId"]: row["conversation"] for row in host.do(list={"agent": AMBER})["events"]}
    assert (rows["1"]["kind"], rows["2"]["kind"]) == ("dm", "channel")


def test_c2a_167_what_is_to_me_is_shown_to_my_role_knocks_and_else_waits(host: Host):
    host.people((AMBER, "@backend"))
    host.dm("me", QUESTION)
    host.says("role", "@backend ping", mentions=["@backend"])
    host.says("nobody", "good morning")
    host.wait("4s")

    assert host.sees(AMBER) == ["content me must_respond", "knock role may_respond"]
    assert [row["eventId"] for row in host.do(list={"agent": AMBER, "mode": ["tool_mailbox"]})["events"]] == ["nobody"]


def test_c2a_168_there_are_four_policies_and_each_holds(host: Host):
    host.people((AMBER, "@backend"))
    host.dm("must", QUESTION)
    host.says("may", "@backend ping", mentions=["@backend"])
    host.dm("ack", "thanks!")
    host.says("not", "good morning")

    found = {event: host.triple(event).split("/")[1] for event in ("must", "may", "ack", "not")}
    assert found == {"must": "must_respond", "may": "may_respond", "ack": "ack_only", "not": "must_not_respond"}
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["must"]
    assert host.refusal(send=answer("not")).code == "POLICY_FORBIDS"
    long = "A whole story.\nWith a second line."
    assert host.refusal(send=answer("ack", content=long)).code == "POLICY_FORBIDS"
    assert host.do(send=answer("ack", "a"))["disposition"] == "acknowledged"
    host.do(claim={"agent": AMBER, "eventId": "may"})
    assert host.do(send=answer("may", "b", visibility="channel"))["disposition"] == "responded"
    assert host.do(send=answer("must", "c"))["disposition"] == "responded"


def test_c2a_169_a_knock_says_that_there_is_something_and_the_rest_is_pulled(host: Host):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend the quartz lantern is broken", mentions=["@backend"])

    (block,) = host.inject()["blocks"]
    assert "quartz" not in str(block)
    assert block["knock"]["pullWith"] == "chat.read_thread"
    assert "quartz" in host.do(read={"agent": AMBER, "eventId": "1"})["items"][0]["parts"][0]["text"]


def test_c2a_170_what_a_person_says_in_pieces_is_one_turn(host: Host):
    host.people()
    for n, piece in enumerate(("when someone types", "in", "pieces")):
        host.dm(str(n), piece)
        host.wait("1s")
    assert host.sees(AMBER) == []
    host.wait("2s")

    (block,) = host.inject()["blocks"]
    assert [part["text"] for part in block["content"]] == ["when someone types", "in", "pieces"]


def test_c2a_171_a_signal_settles_without_a_word(host: Host):
    host.people()
    found = {}
    for signal, text in (("seen", "thanks!"), ("queued", QUESTION), ("done", QUESTION)):
        host.dm(signal, text)
        found[signal] = host.do(react={"agent": AMBER, "inReplyTo": signal, "signal": signal})["disposition"]

    assert found == {"seen": "acknowledged", "queued": "deferred", "done": "responded"}
    assert [row["eventId"] for row in host.do(list={"agent": BLUE})["events"]] == []


def test_c2a_172_what_is_sent_says_whom_it_obliges_and_is_sent_once(host: Host):
    host.people()
    said = {"content": "Good morning.", "idempotencyKey": "k", "visibility": "channel", "directedness": "ambient"}
    step = {"agent": AMBER, "target": {"conversation": "C1"}, **said}
    first, again = host.do(send=step), host.do(send=step)

    assert (first["messageId"], again["deduplicated"]) == (again["messageId"], True)
    assert [row["eventId"] for row in host.do(list={"agent": BLUE})["events"]] == [first["messageId"]]
    assert host.triple(first["messageId"], BLUE).split("/")[:2] == ["ambient", "must_not_respond"]
    for name in ("target", *said):
        lacking = {member: value for member, value in step.items() if member != name}
        assert host.refusal(send=lacking).code == "MISSING_MEMBER"


def test_c2a_173_of_several_one_claims_and_answers(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"), (CORAL, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    host.wait("31s")
    claimed = host.do(claim={"agent": AMBER, "eventId": "1"})

    assert (claimed["owner"], claimed["expiresAt"]) == (AMBER, "2026-06-02T19:15:31.000Z")
    assert host.refusal(claim={"agent": BLUE, "eventId": "1"}).code == "CLAIMED_BY_OTHER"
    assert host.refusal(send=answer("1", agent=CORAL, visibility="channel")).code == "CLAIMED_BY_OTHER"
    assert host.do(send=answer("1", visibility="channel"))["disposition"] == "responded"


def test_c2a_174_what_comes_or_is_handed_over_twice_is_one_event(memory: InMemory):
    memory.people()
    memory.do(connect={"agent": AMBER})
    assert [memory.dm("1", QUESTION)["status"] for _ in range(2)] == ["recorded", "duplicate"]
    memory.wait("4s")
    blocks = []
    for _ in range(2):
        blocks += memory.do(deliver={"agent": AMBER})["blocks"]
        memory.wait("12s")

    assert [(each["eventId"], each["attempt"]) for each in blocks] == [("1", 1), ("1", 2)]
    assert key_of("1", AMBER) == "1:agent_amber_otter"
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    memory.wait("2m")
    assert memory.do(deliver={"agent": AMBER})["blocks"] == []
