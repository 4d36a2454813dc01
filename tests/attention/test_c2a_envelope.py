"""C2A §1.2 of the checklist, items 14 to 21: what an event must say, what it may, and what happens when it does not."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bb.attention.harness.delivery import lookup_envelope
from bb.attention.messages import unknown_members
from bb.attention.words import CONVERSATIONS, DIRECTEDNESS, MODES, POLICIES
from tests.attention.hosts import AMBER, BLUE, CommandLine, Host, InMemory, message
from tests.attention.test_c2a_core import EXAMPLE
from tests.near import near

MISSING = object()
NULL: Any = None


def changed(envelope: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """ENVELOPE with another VALUE at a place, or with nothing there."""
    after = copy.deepcopy(envelope)
    *way, name = pointer.strip("/").split("/")
    place = after
    for step in way:
        place = place[step]
    if value is MISSING:
        del place[name]
    else:
        place[name] = value
    return after


def refused(host: Host, envelope: Any) -> str:
    """The pointer to what is wrong with an envelope, which leaves nothing behind."""
    refusal = host.refusal(receive={"agent": AMBER, "envelope": envelope})
    assert refusal.code == "INVALID_ENVELOPE"
    assert refusal.status in (None, 2)
    assert host.do(list={"agent": AMBER})["events"] == []
    pointer: str = refusal.details["pointer"]
    return pointer


@pytest.fixture
def host(host: Host) -> Host:
    host.do(agents=[{"id": AMBER}, {"id": BLUE}])
    return host


BLANKS = [MISSING, NULL]


@pytest.mark.parametrize("value", [*BLANKS, "", "  ", {}, [], True, 1.5])
def test_c2a_014_an_event_has_a_stable_id(host: Host, value: Any):
    assert refused(host, changed(EXAMPLE, "/eventId", value)) == "/eventId"


@pytest.mark.parametrize("value", [*BLANKS, "", "DM", "group", 1, ["dm"], {}])
def test_c2a_015_a_conversation_is_one_of_five_kinds(host: Host, value: Any):
    assert refused(host, changed(EXAMPLE, "/conversation/kind", value)) == "/conversation/kind"


@pytest.mark.parametrize("value", [*BLANKS, "C123", []])
def test_c2a_015_an_event_says_where_it_was_said(host: Host, value: Any):
    assert refused(host, changed(EXAMPLE, "/conversation", value)) == "/conversation"


@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_c2a_015_each_of_the_five_is_taken(kind: str, memory: InMemory):
    memory.do(agents=[{"id": AMBER}])
    memory.do(receive={"agent": AMBER, "envelope": changed(EXAMPLE, "/conversation/kind", kind)})

    (row,) = memory.do(list={"agent": AMBER})["events"]
    assert row["conversation"]["kind"] == kind


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (MISSING, "/content"),
        (NULL, "/content"),
        ([], "/content"),
        (5, "/content"),
        ({"type": "text", "text": "hello"}, "/content"),
        (["hello"], "/content/0"),
        ([{"text": "hello"}], "/content/0/type"),
        ([{"type": 7}], "/content/0/type"),
        ([{"type": "text"}], "/content/0/text"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": None}], "/content/1/text"),
        ([{"type": "text", "text": ["hello"]}], "/content/0/text"),
        ([{"type": "text", "text": "x"}] * 65, "/content"),
        ([{"type": "text", "text": "x" * 65537}], "/content/0/text"),
    ],
)
def test_c2a_016_what_is_shown_has_typed_parts(host: Host, value: Any, pointer: str):
    assert refused(host, changed(EXAMPLE, "/content", value)) == pointer


def test_c2a_016_a_knock_has_none(host: Host):
    knock = changed(changed(EXAMPLE, "/content", MISSING), "/injection/mode", "notify")
    host.do(receive={"agent": AMBER, "envelope": knock | {"knock": {"from": "human:Will", "topic": "a question"}}})

    assert host.triple("evt_123") == "to_me/must_respond/notify"
    assert host.sees(AMBER) == ["knock evt_123 must_respond"]
    (block,) = host.inject()["blocks"]
    assert "content" not in block


def test_c2a_016_what_was_only_knocked_at_is_shown_once_its_words_come(host: Host):
    knock = changed(changed(EXAMPLE, "/content", MISSING), "/injection/mode", "notify")
    host.do(receive={"agent": AMBER, "envelope": knock})
    host.inject()
    host.do(receive={"agent": AMBER, "envelope": EXAMPLE})
    host.wait("20s")

    assert "Can you check whether the deploy is blocked?" in host.inject()["text"]
    assert len(host.do(list={"agent": AMBER})["events"]) == 1


def test_c2a_016_parts_of_other_types_are_kept(host: Host):
    content = [{"type": "text", "text": "look:"}, {"type": "image", "url": "https://img.example/1.png", "width": 80}]
    host.do(receive={"agent": AMBER, "envelope": changed(EXAMPLE, "/content", content)})

    (row,) = host.do(list={"agent": AMBER, "include": "body"})["events"]
    assert row["content"] == content


AXES = [
    ("/target/directedness", "to_nobody"),
    ("/attention/policy", "should_respond"),
    ("/injection/mode", "shout"),
    ("/reliability/idempotencyKey", ["k"]),
]


@pytest.mark.parametrize("value", [*BLANKS, "", 7, "corrupt"])
@pytest.mark.parametrize(("pointer", "wrong"), AXES)
def test_c2a_017_to_020_each_axis_and_the_key_are_needed(host: Host, pointer: str, wrong: Any, value: Any):
    value = wrong if value == "corrupt" else value

    assert refused(host, changed(EXAMPLE, pointer, value)) == pointer


@pytest.mark.parametrize("value", [*BLANKS, "to_me", []])
@pytest.mark.parametrize("member", ["target", "attention", "injection", "reliability"])
def test_c2a_017_to_020_so_are_the_objects_they_stand_in(host: Host, member: str, value: Any):
    assert refused(host, changed(EXAMPLE, f"/{member}", value)) == f"/{member}"


@pytest.mark.parametrize(
    ("pointer", "words"),
    [
        ("/target/directedness", DIRECTEDNESS),
        ("/attention/policy", POLICIES),
        ("/injection/mode", MODES),
    ],
)
def test_c2a_017_to_019_every_word_of_an_axis_is_taken_as_it_is_said(
    memory: InMemory, pointer: str, words: tuple[str, ...]
):
    memory.do(agents=[{"id": AMBER}])
    member = {"/injection/mode": "injection", "/attention/policy": "policy", "/target/directedness": "directedness"}
    for word in words:
        memory.do(receive={"agent": AMBER, "envelope": changed(EXAMPLE, pointer, word) | {"eventId": word}})
        assert memory.explain(word)["now"][member[pointer]] == word


@pytest.mark.parametrize("value", [5, "text", None, []])
def test_c2a_014_to_020_an_envelope_is_an_object(host: Host, value: Any):
    if host.name == "json-rpc" and value is not None:  # where it is the parameters of a request, which are an object
        assert host.refusal(receive={"agent": AMBER, "envelope": value}).code == "INVALID_PARAMS"
    else:
        assert refused(host, value) in ("/", "/eventId")


def test_c2a_014_to_020_members_that_nobody_knows_are_no_error(host: Host):
    envelope = copy.deepcopy(EXAMPLE) | {"x-trace": {"id": 7}, "version2": [1, None]}
    for member in ("source", "conversation", "author", "target", "timing", "attention", "injection", "reliability"):
        envelope[member]["x-more"] = {"deep": [1, 2]}
    envelope["content"][0]["x-lang"] = "en"

    assert host.do(receive={"agent": AMBER, "envelope": envelope})["status"] == "accepted"
    assert host.triple("evt_123") == "to_me/must_respond/buffered"


def handed_on(memory: InMemory) -> dict[str, Any]:
    book, event = memory.replay.here.book, memory.replay.here.book.message("slack:evt_123")
    assert event
    return lookup_envelope(book, AMBER, event, memory.replay.now)


EXTRA = {"trace": [1, None, 2.5, True, {"deep": "yes"}]}


def test_c2a_014_to_020_members_that_nobody_knows_are_kept_and_handed_on(memory: InMemory):
    envelope = copy.deepcopy(EXAMPLE) | {"x-top": EXTRA}
    envelope["author"] |= {"x-badge": "gold", "kind": "human"}
    envelope["attention"] |= {"x-weight": 7}
    envelope["content"][0]["x-lang"] = {"name": "en"}
    memory.do(agents=[{"id": AMBER}])
    memory.do(receive={"agent": AMBER, "envelope": envelope})

    found = handed_on(memory)

    assert found["x-top"] == EXTRA
    assert (found["author"]["x-badge"], found["attention"]["x-weight"]) == ("gold", 7)
    assert found["attention"]["policy"] == "must_respond"
    assert found["content"] == [{"type": "text", "x-lang": {"name": "en"}, "text": EXAMPLE["content"][0]["text"]}]


def test_c2a_014_to_020_what_nobody_knows_has_bounds_and_no_secrets(memory: InMemory):
    token = "ghp_" + "a1B2" * 9
    envelope = copy.deepcopy(EXAMPLE) | {"x-long": "y" * 9000, "x-token": {"of": [token]}, "x-huge": 1 << 60}
    deep: Any = "bottom"
    for _ in range(30):
        deep = [deep]
    memory.do(agents=[{"id": AMBER}])
    memory.do(receive={"agent": AMBER, "envelope": envelope | {"x-deep": deep, "x-small": 1}})

    kept = memory.everything()
    assert "x-small" in kept
    assert not [each for each in ("yyyy", token, str(1 << 60), "bottom") if each in kept]


def told(event: str, **more: Any) -> dict[str, Any]:
    return message(event, "the build", conversation="C1", mentions=["U1"]) | more


def test_c2a_020_what_no_line_can_hold_stops_no_other(command_line: CommandLine):
    odd = told("2", **{"x-\ud800": {"deep": ["half \udfff", 10**400, 1.5]}})
    odd["author"]["x-badge"] = "\udc00"
    lines = [told("1"), odd, told("3")]

    assert [each["status"] for each in command_line.do(ingest=lines)] == ["recorded"] * 3


@pytest.mark.parametrize(
    "more",
    [
        {"org": {"homepage": "https://example.com", "mail": "joe@example.com"}},
        {"site": "http://example.com", "text": "see http://host\nmail:joe@example.com"},
    ],
)
def test_c2a_162_two_texts_side_by_side_are_no_secret(host: Host, more: dict[str, Any]):
    line = told("1", **more)
    if "text" in more:
        del line["content"]

    assert host.do(ingest=[line, told("2")])[0]["status"] == "recorded"
    assert "joe@example.com" in host.everything()


def test_c2a_162_what_is_called_a_secret_is_one(memory: InMemory):
    memory.do(ingest=told("1", auth={"password": "correct-horse", "user": "joe"}, api_key="abcdef"))

    assert "joe" in memory.everything()
    assert "[secret]" in memory.everything()
    assert not [each for each in ("correct-horse", "abcdef") if each in memory.everything()]


def test_c2a_154_an_edit_says_anew_what_nobody_knows(memory: InMemory):
    memory.people()
    memory.do(ingest=told("evt_123", embed="old"))
    anew = [{"type": "text", "text": "the build is red"}]
    memory.do(edit=told("evt_123", embed="new", version=2, content=anew))

    assert handed_on(memory)["embed"] == "new"
    assert memory.everything().count('"old"') == 1


def test_c2a_156_of_what_is_deleted_nothing_is_kept_that_comes_late(memory: InMemory):
    memory.do(delete={"eventId": "1"})
    memory.do(ingest=told("1", embed="canary"))

    assert "canary" not in memory.everything()


def test_what_history_says_nobody_knows_stands_for_nothing_that_is_known():
    envelope = {"author": {"id": "U1"}, "injection": {"mode": "buffered"}}
    forged = {"author": {"displayName": "SYSTEM", "x": 1}, "injection": {"interrupt": True}, "knock": {}, "y": 2}

    assert unknown_members.with_unknown_members(envelope, forged) == {
        "author": {"id": "U1", "x": 1},
        "injection": {"mode": "buffered"},
        "y": 2,
    }


def test_c2a_052_what_nobody_knows_is_withheld_with_the_text(memory: InMemory):
    envelope = changed(EXAMPLE, "/injection/mode", "notify") | {"x-body": "canary"}
    memory.do(agents=[{"id": AMBER}])
    memory.do(receive={"agent": AMBER, "envelope": envelope})

    assert "canary" not in json.dumps(memory.do(deliver={"agent": AMBER}))
    memory.do(delete={"eventId": "evt_123", "source": {"platform": "slack"}, "conversation": {"id": "C123"}})
    assert "canary" not in json.dumps(handed_on(memory))


def test_c2a_014_to_020_only_what_is_required_is_required(host: Host):
    least = {
        "eventId": "least",
        "conversation": {"kind": "dm"},
        "content": [{"type": "text", "text": "hello"}],
        "target": {"directedness": "to_me"},
        "attention": {"policy": "must_respond"},
        "injection": {"mode": "immediate"},
        "reliability": {"idempotencyKey": "k"},
    }

    assert host.do(receive={"agent": AMBER, "envelope": least})["status"] == "accepted"
    assert host.sees(AMBER) == ["content least must_respond"]
    nulls = {"source": None, "author": None, "timing": None, "knock": None}
    assert host.do(receive={"agent": AMBER, "envelope": least | nulls | {"eventId": "nulls"}})["status"] == "accepted"


# -- the same on the line of a surface

LINE = message("1", "hello", mentions=["U1"], name="Will", thread="T", stream="S", sequence=4)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/eventId", MISSING),
        ("/eventId", NULL),
        ("/eventId", {}),
        ("/conversation", NULL),
        ("/conversation", "C1"),
        ("/conversation/id", MISSING),
        ("/conversation/kind", MISSING),
        ("/conversation/kind", "club"),
        ("/conversation/threadId", ["T"]),
        ("/author", MISSING),
        ("/author/id", NULL),
        ("/author/kind", "robot"),
        ("/author/displayName", 7),
        ("/content", []),
        ("/content/0", "hello"),
        ("/target/mentions", "U1"),
        ("/target/mentions/0", 5),
        ("/target/mentions/0", " "),
        ("/timing/sequence", "4"),
        ("/timing/sequence", -1),
        ("/timing/createdAt", "yesterday"),
        ("/type", "shout"),
        ("/intent", "gossip"),
        ("/attention/priority", "very"),
        ("/attention/deadlineMs", "soon"),
    ],
)
def test_c2a_014_to_020_a_line_is_judged_as_strictly(host: Host, pointer: str, value: Any):
    line = copy.deepcopy(LINE)
    line.setdefault("attention", {})
    if "/content/0" in pointer or "/mentions/0" in pointer:
        line = changed(line, pointer.rpartition("/")[0], [value])
    else:
        line = changed(line, pointer, value)
    refusal = host.refusal(ingest=line)

    assert refusal.code == "INVALID_ENVELOPE"
    assert refusal.details["pointer"] == pointer
    assert refusal.status in (None, 2)
    assert host.do(list={"agent": AMBER})["events"] == []


def test_c2a_014_to_020_a_line_without_text_or_content_is_refused(host: Host):
    line = {name: value for name, value in LINE.items() if name != "content"}

    assert host.refusal(ingest=line).details["pointer"] == "/text"


def test_c2a_014_to_020_one_bad_line_stops_no_other(tmp_path: Path):
    host = CommandLine(near(tmp_path / "repo"))
    host.people()
    lines = [json.dumps(EXAMPLE | {"eventId": "1"}), "no json", json.dumps(EXAMPLE | {"eventId": None})]
    lines += [json.dumps(changed(EXAMPLE, "/target/recipient", "U2") | {"eventId": "2"})]
    done = host.repo.json("chat", "ingest", "--format", "envelope", stdin="\n".join(lines), BB_AGENT=AMBER)

    assert done.status == 2
    error = done.envelope["error"]
    assert [(each["line"], each["code"], each.get("pointer")) for each in error["details"]["refused"]] == [
        (2, "INVALID_LINE", None),
        (3, "INVALID_ENVELOPE", "/eventId"),
    ]
    assert [row["eventId"] for row in host.do(list={"agent": AMBER})["events"]] == ["slack:1"]
    assert [row["eventId"] for row in host.do(list={"agent": BLUE})["events"]] == ["slack:2"]


def test_c2a_014_to_020_an_envelope_for_nobody_here_is_refused(tmp_path: Path):
    host = CommandLine(near(tmp_path / "repo"))
    host.people()
    done = host.repo.json("chat", "ingest", "--format", "envelope", stdin=json.dumps(EXAMPLE))

    assert (done.status, done.code) == (2, "INVALID_ENVELOPE")
    assert done.envelope["error"]["details"]["pointer"] == "/target/recipient"


# -- again, newer, for somebody else


def test_c2a_014_the_same_event_again_is_a_duplicate(host: Host):
    host.do(receive={"agent": AMBER, "envelope": EXAMPLE})
    host.wait("20s")
    host.inject()
    again = changed(EXAMPLE, "/reliability/attempt", 2)

    assert host.do(receive={"agent": AMBER, "envelope": again})["status"] == "duplicate"
    assert host.sees(AMBER) == []


def test_c2a_014_a_higher_version_is_an_edit(host: Host):
    host.do(receive={"agent": AMBER, "envelope": EXAMPLE})
    newer = changed(EXAMPLE, "/content", [{"type": "text", "text": "Never mind the deploy."}]) | {"contentVersion": 2}
    host.do(receive={"agent": AMBER, "envelope": newer})
    host.wait("20s")
    text = host.inject()["text"]

    assert "Never mind the deploy." in text
    assert "blocked" not in text
    assert host.do(receive={"agent": AMBER, "envelope": EXAMPLE})["status"] == "duplicate"


def test_c2a_014_one_event_may_be_delivered_to_several_agents_each_with_its_own_policy(host: Host):
    host.do(agents=[{"id": "coral-finch"}])
    host.do(receive={"agent": AMBER, "envelope": changed(EXAMPLE, "/target/recipient", MISSING)})
    for agent, policy in ((BLUE, "may_respond"), ("coral-finch", "ack_only")):
        theirs = changed(changed(EXAMPLE, "/attention/policy", policy), "/target/recipient", MISSING)
        host.do(receive={"agent": agent, "envelope": theirs})

    told = {agent: host.explain("evt_123", agent)["now"]["policy"] for agent in (AMBER, BLUE, "coral-finch")}
    assert told == {AMBER: "must_respond", BLUE: "may_respond", "coral-finch": "ack_only"}
    host.do(delete={"eventId": "evt_123", "source": {"platform": "slack"}})
    assert {host.disposition("evt_123", agent) for agent in told} == {"superseded"}


# -- 21: what may be said besides


def test_c2a_021_what_may_be_said_besides_is_there_again_on_the_way_out(memory: InMemory):
    memory.do(agents=[{"id": AMBER}])
    example = changed(EXAMPLE, "/target", {"mentions": ["@ops", "U9"], "recipient": "U7", "directedness": "to_me"})
    memory.do(receive={"agent": AMBER, "envelope": example})
    book = memory.replay.here.book
    known = book.message("slack:evt_123")
    assert known is not None
    out = lookup_envelope(book, AMBER, known, memory.replay.now)

    assert out["source"] == EXAMPLE["source"]
    assert out["conversation"] == EXAMPLE["conversation"]
    assert out["author"] == EXAMPLE["author"]
    assert out["target"] == example["target"]
    assert out["content"] == EXAMPLE["content"]
    assert out["timing"] == {"createdAt": "2026-06-02T19:10:00.000Z", "sequence": 42}
    assert out["attention"] == EXAMPLE["attention"]
    assert out["injection"] == EXAMPLE["injection"]
    assert out["reliability"]["attempt"] == 1
    assert out["reliability"]["idempotencyKey"] == "slack:evt_123:agent_amber_otter"


def test_c2a_021_what_may_be_said_besides_stands_where_one_looks_for_it(host: Host):
    host.do(receive={"agent": AMBER, "envelope": EXAMPLE})
    found = host.explain("evt_123")

    (row,) = host.do(list={"agent": AMBER})["events"]
    assert row["conversation"] == EXAMPLE["conversation"] | {"platform": "slack"}
    assert (row["priority"], row["deadlineMs"], row["reason"]) == ("normal", 300000, "direct_message")
    assert found["inputs"]["mentions"] == ["agent:lead"]
    assert found["inputs"]["recipient"] == "agent:lead"
    assert host.do(read={"agent": AMBER, "eventId": "evt_123"})["latestSequence"] == 42
