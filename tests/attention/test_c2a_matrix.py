"""C2A §Default Matrix, items 32 to 43 of the checklist: from what a surface hands in to what each agent is to do."""

from __future__ import annotations

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, Host, InMemory

OWED, MAILBOXED = "to_me/must_respond/buffered", "to_other/must_not_respond/tool_mailbox"


def test_c2a_032_a_private_message_is_to_be_answered(host: Host):
    host.people()
    host.dm("1", "check the deploy?")

    assert host.triple("1") == "to_me/must_respond/buffered"


def test_c2a_033_thanks_are_only_acknowledged(host: Host):
    host.people()
    host.dm("1", "thanks!")
    host.dm("2", "got it 👍")
    host.dm("3", "thanks, now also fix X")

    assert host.triple("1") == "to_me/ack_only/notify"
    assert host.triple("2") == "to_me/ack_only/notify"
    assert host.triple("3") == "to_me/must_respond/buffered"


@pytest.mark.parametrize(
    "text",
    [
        "thank you so much",
        "Perfect, thanks a lot!",
        "ok",
        "👍",
        "got it, thanks",
        "cool, will do",
        "Danke!",
        "lgtm",
        "> can you look?\nthanks!",
    ],
)
def test_c2a_033_there_are_many_ways_to_say_thanks(memory: InMemory, text: str):
    memory.people()
    memory.dm("1", text)

    assert memory.triple("1") == "to_me/ack_only/notify"


@pytest.mark.parametrize(
    "text",
    [
        "thanks, but it is still broken",
        "ok?",
        "thanks. The deploy is blocked",
        "great, deploy it",
        "got it working in staging but not in production",
        "hello",
        "now",
        "`thanks`",
        "thanks thanks thanks thanks thanks thanks thanks thanks thanks",
    ],
)
def test_c2a_033_what_says_anything_besides_is_no_filler(memory: InMemory, text: str):
    memory.people()
    memory.dm("1", text)

    assert memory.triple("1") == OWED


def test_c2a_034_who_is_named_is_to_answer_and_is_told_what_was_said_before(host: Host):
    host.people()
    host.says("root", "The deploy of kettle is red.", thread="T", sequence=1)
    for n in range(2, 12):
        host.says(f"e{n}", f"remark {n}", thread="T", author=f"W{n % 3 + 2}", sequence=n)
    host.says("elsewhere", "something else", sequence=12)
    host.says("ask", "U1 status?", thread="T", mentions=["U1"], sequence=13)
    host.wait("5s")

    assert host.triple("ask") == OWED
    assert host.explain("ask")["reason"] == "direct_mention"
    (block,) = host.inject()["blocks"]
    assert block["context"] == "thread_window"
    before, _, body = block["text"].partition("\nMESSAGE\n")
    assert body == "U1 status?"
    said_before = [line for line in before.split("\n") if line.startswith("| ")]
    assert said_before == ["| The deploy of kettle is red.", *(f"| remark {n}" for n in range(6, 12))]
    assert "something else" not in before
    assert [part["text"] for part in block["content"]] == ["U1 status?"]


def test_c2a_034_what_is_answered_is_told_wherever_it_was_said(host: Host):
    host.people()
    host.says("root", "The deploy of kettle is red.")
    host.says("between", "good morning")
    host.says("ask", "U1 can you look?", thread="17.1", reply_to="root", mentions=["U1"])
    host.wait("5s")
    text = host.inject()["text"]

    assert "| The deploy of kettle is red." in text
    assert "good morning" not in text


def test_c2a_034_what_is_said_in_a_thread_is_told_only_there(host: Host):
    host.people()
    host.says("1", "the kettle is red", author="W2")
    host.says("2", "lunch at noon", thread="T", author="W3")
    host.says("ask", "U1 can you look?", mentions=["U1"])
    host.wait("5s")
    text = host.inject()["text"]

    assert "| the kettle is red" in text
    assert "lunch" not in text


def test_c2a_034_what_was_said_before_is_cut_where_it_grows_long(host: Host):
    host.people()
    for n in range(4):
        host.says(f"e{n}", f"{n}" * 1500, thread="T", author="W2")
    host.says("ask", "U1 status?", thread="T", mentions=["U1"])
    host.wait("5s")
    (block,) = host.inject()["blocks"]

    assert len(block["text"]) < 4096 + 1200
    assert "3" * 1500 in block["text"], "the newest is kept"
    assert "1" * 1500 not in block["text"]


def test_c2a_034_what_was_seen_before_is_not_said_again(host: Host):
    host.people()
    host.says("1", "U1 is it red?", thread="T", mentions=["U1"])
    host.wait("5s")
    host.inject()
    host.says("2", "it looks red to me", thread="T", author="W2")
    host.says("3", "U1 and now?", thread="T", mentions=["U1"])
    host.wait("5s")
    text = host.inject()["text"]

    assert "| it looks red to me" in text
    assert "U1 is it red?" not in text


@pytest.mark.parametrize("intent", ["assignment", "approval_request", "blocker"])
def test_c2a_035_work_approvals_and_blockers_are_to_be_answered(host: Host, intent: str):
    host.people()
    host.says("1", "Rotate the keys", recipient="U1", intent=intent)
    host.says("2", "Rotate the keys", recipient="U1", intent=intent, priority="high")
    host.says("3", "Rotate the keys", recipient="U1", intent=intent, priority="urgent")

    assert host.triple("1") == OWED
    assert host.triple("2") == host.triple("3") == "to_me/must_respond/immediate"
    assert {host.explain(event)["reason"] for event in ("1", "2", "3")} == {intent}
    assert host.triple("1", BLUE) == MAILBOXED


def test_c2a_036_a_question_in_answer_to_ones_own_words_is_to_be_answered(host: Host):
    host.people()
    where = {"conversation": "C1", "thread": "T"}
    host.send(AMBER, "The deploy is through.", "k", target=where, directedness="ambient", visibility="thread")
    host.says("1", "all of it?", thread="T")
    host.says("2", "all of it?")

    assert host.triple("1") == OWED
    assert host.explain("1")["reason"] == "thread_question"
    assert host.triple("1", BLUE) == "ambient/must_not_respond/tool_mailbox"
    assert host.triple("2") == "ambient/must_not_respond/tool_mailbox", "that was said outside of the thread"


def test_c2a_036_so_is_one_that_names_what_it_answers(host: Host):
    host.people()
    where = {"conversation": "C1", "thread": "T"}
    host.says("0", "good morning", thread="T")
    sent = host.send(BLUE, "The deploy is through.", "k", target=where, directedness="ambient", visibility="thread")
    host.says("1", "all of it?", thread="T", reply_to=sent["messageId"])
    host.says("2", "is it morning?", thread="T", reply_to="0")

    assert host.triple("1", BLUE) == OWED
    assert host.triple("2", BLUE) == "to_my_role/may_respond/notify"


def test_c2a_036_what_was_posted_elsewhere_is_known_by_its_name_there(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "is_external": True, "platform": "slack"})
    sent = host.send(AMBER, "The deploy is through.", "k", target={"conversation": "C1"}, directedness="ambient")
    host.do(outbox={"id": sent["messageId"], "platform_id": "slack:T1:C1:17.1"})
    host.says("1", "all of it?", thread="17.1", reply_to="slack:T1:C1:17.1")
    host.says("2", "so be it.", thread="17.1", reply_to="slack:T1:C1:17.1", author="W2")

    assert host.triple("1") == OWED
    assert host.triple("2") == "to_my_role/may_respond/notify", "who began a thread takes part in it"
    assert host.triple("1", BLUE) == "ambient/must_not_respond/tool_mailbox"


def test_c2a_036_a_question_to_somebody_else_is_theirs(host: Host):
    host.people()
    where = {"conversation": "C1", "thread": "T"}
    host.send(AMBER, "The deploy is through.", "k", target=where, directedness="ambient", visibility="thread")
    host.says("1", "U2 is that so?", thread="T", mentions=["U2"])

    assert host.triple("1", BLUE) == OWED
    assert host.triple("1") == "to_my_role/may_respond/notify"


def test_c2a_037_a_role_is_asked_and_whoever_claims_it_is_shown_it(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    first = next(agent for agent in (AMBER, BLUE) if host.explain("1", agent).get("defaultResponder"))
    other = BLUE if first == AMBER else AMBER

    assert host.triple("1", first) == host.triple("1", other) == "to_my_role/may_respond/notify"
    answer = {"content": "pong", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "channel"}
    assert host.refusal(send={"agent": first, "directedness": "to_me", **answer}).code == "CLAIM_REQUIRED"
    host.do(claim={"agent": first, "eventId": "1"})
    assert host.sees(first) == ["content 1 may_respond"]
    assert host.sees(other) == []
    assert host.triple("1", CORAL) == MAILBOXED


def test_c2a_038_an_answer_in_a_thread_one_writes_in_is_knocked_for(host: Host):
    host.people()
    host.says("0", "good morning", thread="T")
    where = {"conversation": "C1", "thread": "T"}
    host.send(AMBER, "Good morning.", "k", target=where, directedness="ambient", visibility="thread")
    host.says("1", "it rains", thread="T")
    host.says("2", "is that so?", thread="T", author="W2")
    host.says("3", "elsewhere it does not", thread="T2")

    for event in ("1", "2"):
        assert host.triple(event) == "to_my_role/may_respond/notify"
        assert host.explain(event)["reason"] == "thread_participation"
        assert host.triple(event, BLUE) == "ambient/must_not_respond/tool_mailbox"
    assert host.triple("3") == "ambient/must_not_respond/tool_mailbox"


def test_c2a_039_what_is_to_another_is_no_business_of_ones_own(host: Host):
    host.people()
    host.says("1", "U2 please", mentions=["U2"])

    assert host.triple("1", BLUE) == OWED
    assert host.triple("1") == host.triple("1", CORAL) == MAILBOXED


def test_c2a_040_what_agents_say_to_nobody_is_for_nobody(host: Host):
    host.people()
    host.says("1", "I wonder what that log means", author="B1", author_kind="agent")
    host.says("2", "I wonder what that log means?", author="U2")

    assert host.triple("1") == host.triple("2") == MAILBOXED
    assert host.explain("1")["reason"] == "agent_chatter"


def test_c2a_041_what_people_say_to_nobody_is_for_nobody(host: Host):
    host.people()
    host.says("1", "the deploy is red")

    assert host.triple("1") == host.triple("1", BLUE) == "ambient/must_not_respond/tool_mailbox"


def test_c2a_042_logs_and_status_oblige_nobody_whomever_they_name(host: Host):
    host.people()
    host.do(bind={"agent": AMBER, "handles": ["ci:amber"]})
    host.says("log", "@amber: build 17 failed?", author="ci", author_kind="tool", platform="ci")
    host.says("status", "@amber-otter deployed", author="ci", author_kind="system", platform="bb")
    host.says("in-tool", "@amber-otter: exit 1", conversation="X", kind="tool", platform="bb")
    host.says("in-system", "@amber-otter joined", conversation="Y", kind="system", platform="bb")

    injections = {event: host.triple(event) for event in ("log", "status", "in-tool", "in-system")}
    assert injections == {
        "log": "ambient/must_not_respond/silent",
        "status": "ambient/must_not_respond/digest",
        "in-tool": "ambient/must_not_respond/silent",
        "in-system": "ambient/must_not_respond/digest",
    }
    host.wait("5s")
    assert host.sees(AMBER) == []


def test_c2a_042_a_status_of_an_agent_is_summed_up(host: Host):
    host.people()
    target = {"conversation": "C1"}
    sent = host.send(AMBER, "2 of 5", "k", target=target, directedness="to_me", mentions=["U2"], intent="status")

    assert sent["effects"] == {}
    assert host.triple(sent["messageId"], BLUE) == "ambient/must_not_respond/digest"


def test_c2a_043_to_see_something_is_not_to_be_asked(host: Host):
    host.people()
    host.says("1", "what does the log say?")
    before = host.explain("1")
    host.do(read={"agent": AMBER, "conversation": "C1"})
    host.do(read={"agent": AMBER, "eventId": "1"})
    host.do(list={"agent": AMBER, "include": "body"})

    assert host.explain("1") == before
    answer = {"content": "Nothing.", "inReplyTo": "1", "idempotencyKey": "k", "visibility": "channel"}
    refused = host.refusal(send={"agent": AMBER, "directedness": "to_other", **answer})
    assert refused.code == "POLICY_FORBIDS"
