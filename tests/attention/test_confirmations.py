"""What would show something private waits for the person: who is asked where, and whose answer counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bb.attention.facts import Confirming
from tests.attention.hosts import AMBER, BLUE, Host, InMemory, message

SAID = {"content": "It is broken.", "visibility": "channel", "directedness": "to_other", "idempotencyKey": "k"}
IN_PUBLIC = {"agent": AMBER, "inReplyTo": "1", "target": {"conversation": "PUB"}, **SAID}


@pytest.fixture
def memory() -> InMemory:
    host = InMemory()
    host.people()
    host.do(conversation={"id": f"D-{AMBER}", "kind": "dm", "platform": "slack", "is_external": True})
    host.dm("1", "is the quartz lantern broken?")
    return host


def asked(host: Host, **step: Any) -> str:
    """The id of the request that a refused message makes."""
    refused = host.refusal(send={**IN_PUBLIC, **step})
    assert refused.code == "CONFIRM_REQUIRED"
    return str(refused.details["confirmation"])


def next_day(host: Host) -> None:
    """A day later, the agent reads the thread again, as it must before a late answer."""
    host.wait("24h")
    host.do(read={"agent": AMBER, "eventId": "1"})


def test_the_person_sees_what_is_to_be_shown_where_and_allows_it(host: Host):
    host.people()
    host.dm("1", "is the quartz lantern broken?")
    name = asked(host)

    (waiting,) = host.do(confirmations={})
    assert (waiting["id"], waiting["agent"], waiting["state"]) == (name, AMBER, "open")
    assert (waiting["from"], waiting["to"], waiting["text"]) == (f"D-{AMBER}", "PUB", "It is broken.")
    assert host.do(confirm={"id": name})["state"] == "allowed"
    assert host.do(confirmations={}) == []
    assert host.do(send=IN_PUBLIC)["disposition"] == "responded"
    assert host.do(send=IN_PUBLIC)["deduplicated"]


def test_what_the_person_refuses_stays_refused_and_says_so(host: Host):
    host.people()
    host.dm("1", "is the quartz lantern broken?")
    name = asked(host)
    host.do(confirm={"id": name, "refuse": True})

    assert host.refusal(send=IN_PUBLIC).code == "CONFIRM_REFUSED"
    next_day(host)
    assert host.refusal(send=IN_PUBLIC).code == "CONFIRM_REFUSED"
    assert host.do(confirmations={}) == []


def test_the_agent_is_told_of_the_answer(host: Host):
    host.people()
    host.dm("1", "is the quartz lantern broken?")
    host.wait("4s")
    host.inject()
    name = asked(host)
    host.do(confirm={"id": name})

    (block,) = host.inject()["blocks"]
    assert block["knock"]["topic"].startswith("message")
    event = block["eventId"]
    (told,) = host.do(read={"agent": AMBER, "eventId": event, "limit": 1})["items"]
    assert told["parts"][0]["text"].startswith(f"The person has allowed it ({name})")


def test_a_request_expires_and_can_be_made_again(host: Host):
    host.people()
    host.dm("1", "is the quartz lantern broken?")
    name = asked(host)
    next_day(host)

    assert host.do(confirmations={}) == []
    assert host.refusal(confirm={"id": name}).code == "CONFIRMATION_EXPIRED"
    assert asked(host) == name
    assert [each["id"] for each in host.do(confirmations={})] == [name]


def test_so_does_the_permission(memory: InMemory):
    memory.do(confirm={"id": asked(memory)})
    next_day(memory)

    asked(memory)


def test_nobody_answers_what_nobody_asked(host: Host):
    assert host.refusal(confirm={"id": "confirm-000000000000"}).code == "NO_SUCH_CONFIRMATION"


@pytest.mark.parametrize("who", [AMBER, BLUE, "system"])
def test_an_answer_in_the_name_of_an_agent_or_of_bb_does_not_count(memory: InMemory, who: str):
    name = asked(memory)
    memory.replay.here.record([Confirming(who, name, "allow")], memory.replay.now)

    assert asked(memory) == name
    assert [each["id"] for each in memory.do(confirmations={})] == [name]


def test_the_last_answer_counts(memory: InMemory):
    name = asked(memory)
    memory.do(confirm={"id": name})
    memory.do(confirm={"id": name, "refuse": True})

    assert memory.refusal(send=IN_PUBLIC).code == "CONFIRM_REFUSED"
    memory.do(confirm={"id": name})
    assert memory.do(send=IN_PUBLIC)["disposition"] == "responded"


def test_on_another_platform_the_question_goes_to_the_private_conversation(memory: InMemory):
    name = asked(memory)

    (item,) = memory.do(outbox={})
    assert (item["type"], item["id"], item["platform"]) == ("confirmation", name, "slack")
    assert item["target"].items() >= {"conversation": f"D-{AMBER}", "thread": None}.items()
    assert "It is broken." in item["content"][0]["text"]
    memory.do(outbox={"id": name, "platform_id": "slack:T1:D1:9"})
    assert memory.do(outbox={}) == []
    asked(memory)
    assert memory.do(outbox={}) == [], "it is asked only once"


def test_a_question_that_is_answered_before_it_is_posted_is_not_posted(memory: InMemory):
    memory.do(confirm={"id": asked(memory)})

    assert memory.do(outbox={}) == []


def test_clones_agree_about_answers_in_any_order(memory: InMemory):
    name = asked(memory)
    memory.do(clone="there")
    memory.do(confirm={"id": name})
    memory.step_in("there", confirm={"id": name, "refuse": True})

    assert memory.do(merge=["here", "there"])["agree"]
    states = {clone: memory.replay.clones[clone].book.request(name).answer for clone in ("here", "there")}
    assert len(set(states.values())) == 1


# -- answers on the platform

PLACE = f"D-{AMBER}"


def posted(host: Host) -> str:
    """A request whose question was posted in the private conversation as message 9."""
    name = asked(host)
    host.do(outbox={"id": name, "platform_id": "9"})
    return name


def says(host: Host, text: str, **more: Any) -> Any:
    return host.do(ingest=message("10", text, conversation=PLACE, kind="dm", recipient="U1", **more))


def reacts(host: Host, glyph: str, author: str = "W1") -> Any:
    line = {"type": "reaction", "eventId": "9", "author": {"id": author}, "glyph": glyph}
    return host.do(ingest={**line, "source": {"platform": "slack"}})


@pytest.mark.parametrize(
    ("glyph", "status"), [("👍", "allowed"), ("✅", "allowed"), ("🙅", "refused"), ("👎", "refused")]
)
def test_a_reaction_of_the_person_to_the_question_answers_it(memory: InMemory, glyph: str, status: str):
    name = posted(memory)
    answer = reacts(memory, glyph)

    assert (answer["status"], answer["confirmation"]) == (status, name)
    assert memory.do(confirmations={}) == []
    if status == "allowed":
        assert memory.do(send=IN_PUBLIC)["disposition"] == "responded"
    else:
        assert memory.refusal(send=IN_PUBLIC).code == "CONFIRM_REFUSED"


@pytest.mark.parametrize(
    ("text", "status"),
    [("yes", "allowed"), ("OK!", "allowed"), ("ja", "allowed"), ("No.", "refused"), ("👎", "refused")],
)
@pytest.mark.parametrize("how", ["reply", "next"])
def test_so_does_a_word_as_a_reply_or_as_the_next_message(memory: InMemory, text: str, status: str, how: str):
    posted(memory)
    answer = says(memory, text, **({"reply_to": "9"} if how == "reply" else {}))

    assert answer["status"] == status


@pytest.mark.parametrize("text", ["yes, but shorter", "not yet", "what is it about?", "yes and no"])
def test_any_other_text_is_a_message_as_usual(memory: InMemory, text: str):
    posted(memory)

    assert says(memory, text, reply_to="9")["status"] == "recorded"
    assert len(memory.do(confirmations={})) == 1


@pytest.mark.parametrize("author", ["W2", "U1", "U2"])
def test_only_a_person_of_that_conversation_answers(memory: InMemory, author: str):
    posted(memory)

    assert "confirmation" not in reacts(memory, "👍", author)
    assert "confirmation" not in says(memory, "yes", author=author, reply_to="9")
    assert len(memory.do(confirmations={})) == 1


def test_nor_one_who_has_left_it(memory: InMemory):
    posted(memory)
    gone = {"type": "membership", "source": {"platform": "slack"}, "conversation": {"id": PLACE}}
    memory.do(ingest={**gone, "member": {"id": "W1"}, "joined": False})

    assert "confirmation" not in reacts(memory, "👍")


def test_a_yes_after_other_messages_is_no_answer_unless_it_is_a_reply(memory: InMemory):
    posted(memory)
    says(memory, "is the lift broken?")

    assert "confirmation" not in memory.do(ingest=message("11", "yes", conversation=PLACE, kind="dm", recipient="U1"))
    late = message("12", "yes", conversation=PLACE, kind="dm", recipient="U1", reply_to="9")
    assert memory.do(ingest=late)["status"] == "allowed"


def test_a_question_that_was_not_posted_is_not_answered_there(memory: InMemory):
    asked(memory)

    assert "confirmation" not in says(memory, "yes")


def test_the_harness_of_an_agent_brings_no_answer_of_a_person(tmp_path: Any):
    from tests.attention.rpc import JsonRpc
    from tests.near import near

    host = JsonRpc(near(tmp_path / "repo"))
    host.people()
    host.do(conversation={"id": PLACE, "kind": "dm", "platform": "slack", "is_external": True})
    host.dm("1", "is the quartz lantern broken?")
    posted(host)

    assert "confirmation" not in reacts(host, "👍")
    assert len(host.do(confirmations={})) == 1


def test_nor_does_a_command_in_the_shell_of_an_agent(tmp_path: Any):
    from tests.attention.hosts import CommandLine
    from tests.near import near

    host = CommandLine(near(tmp_path / "repo"))
    host.people()
    host.do(conversation={"id": PLACE, "kind": "dm", "platform": "slack", "is_external": True})
    host.dm("1", "is the quartz lantern broken?")
    posted(host)
    line = {"type": "reaction", "eventId": "9", "author": {"id": "W1"}, "glyph": "👍", "source": {"platform": "slack"}}

    found = host.run("chat", "ingest", stdin=json.dumps(line), BB_AGENT=AMBER)
    assert found["counts"] == {"unknown_target": 1}
    assert host.run("chat", "ingest", stdin=json.dumps(line))["counts"] == {"allowed": 1}
