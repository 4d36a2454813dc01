"""C2A §Cancellation And Progress and §Edits, Deletes, And Fragments, items 151 to 158 of the checklist."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, Host, InMemory, message

OLD, NEW = "the quartz lantern is broken", "the basalt kettle is broken"


def shown(host: Host, agent: str = AMBER) -> str:
    """Everything that an agent is shown, or can look up."""
    found = [host.do(list={"agent": agent, "include": "body"}), host.do(pending=agent), host.do(knocks=agent)]
    events = [row["eventId"] for row in found[0]["events"]]
    found += [host.do(read={"agent": agent, "eventId": event}) for event in events]
    found += [host.do(show={"agent": agent, "event": event}) for event in events]
    return str([*found, host.inject(agent), host.do(digest=agent)])


def mentions(text: str = OLD, **more: Any) -> dict[str, Any]:
    return message("1", f"U1 {text}?", mentions=["U1"], **more)


def edited(host: Host, text: str = NEW, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = host.do(edit=mentions(text, **more))
    return found


def answers(host: Host, event: str = "1", **more: Any) -> None:
    host.send(AMBER, "I see.", f"answer to {event}", inReplyTo=event, **more)


def turns(host: Host, agent: str = AMBER) -> list[str]:
    """What an agent is given to read now, turn by turn."""
    blocks = host.inject(agent)["blocks"]
    return [" / ".join(part["text"] for part in block.get("content", [])) or "knock" for block in blocks]


# -- 151: cancellation


def test_c2a_151_what_is_called_back_needs_no_answer(host: Host):
    host.people()
    target = {"conversation": "C1"}
    asked = host.send(AMBER, f"@{BLUE} {OLD}?", "k", target=target, directedness="to_me")["messageId"]
    assert host.sees(BLUE) == [f"content {asked} must_respond"]

    assert host.do(cancel={"agent": AMBER, "event": asked, "reason": "a mistake"})["cancelled"]

    assert host.do(show={"agent": BLUE, "event": asked})["deletionReason"] == "a mistake"
    assert host.sees(BLUE) == []
    assert host.disposition(asked, BLUE) == "superseded"
    late = {"content": "It is not.", "inReplyTo": asked, "idempotencyKey": "a", "visibility": "channel"}
    assert host.refusal(send={"agent": BLUE, "directedness": "to_other", **late}).code == "SUPERSEDED"
    assert OLD not in shown(host, BLUE)


def test_c2a_151_what_is_over_is_not_called_back(host: Host):
    host.people()
    target = {"conversation": "C1"}
    asked = host.send(AMBER, f"@{BLUE} {OLD}?", "k", target=target, directedness="to_me")["messageId"]
    host.do(resolve={"agent": BLUE, "eventId": asked})
    host.do(cancel={"agent": AMBER, "event": asked})
    before = host.everything()

    assert host.do(cancel={"agent": AMBER, "event": asked})["already"]
    assert host.everything() == before
    assert host.disposition(asked, BLUE) == "responded"
    assert host.refusal(cancel={"agent": AMBER, "event": "never"}).code == "NOT_FOUND"
    assert host.refusal(cancel={"agent": BLUE, "event": asked}).code == "PERMISSION_DENIED"


def test_c2a_151_a_turn_whose_event_is_taken_away_is_offered_no_more(memory: InMemory):
    memory.people()
    memory.do(connect={"agent": AMBER})
    memory.do(ingest=mentions())
    memory.wait("4s")
    memory.do(deliver={"agent": AMBER})
    memory.do(delete={"eventId": "1"})
    memory.wait("2m")

    assert memory.do(deliver={"agent": AMBER})["blocks"] == []
    memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
    memory.do(turn={"agent": AMBER, "event": "1", "state": "failed"})
    assert memory.disposition("1") == "superseded"
    assert memory.do(deliver={"agent": AMBER})["blocks"] == []


# -- 152 and 153: progress


def progress(host: Host, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = host.do(progress={"agent": AMBER, "token": "deploy", **more})
    return found


def test_c2a_152_progress_has_a_token_and_does_not_go_back(host: Host):
    host.people()
    found = progress(host, progress=2, total=5, message="Checked build status")
    assert (found["token"], found["progress"], found["total"]) == ("deploy", 2, 5)
    progress(host, progress=2)
    progress(host, progress=3.5, total=5)

    for wrong in ({"progress": 1}, {"progress": 6, "total": 5}):
        refused = host.refusal(progress={"agent": AMBER, "token": "deploy", **wrong})
        assert (refused.code, refused.status) in (("INVALID_PROGRESS", None), ("INVALID_PROGRESS", 2))
    assert progress(host, token="another", progress=0)["progress"] == 0
    assert host.do(progress={"agent": BLUE, "token": "deploy", "progress": 1})["progress"] == 1


def test_c2a_152_it_is_no_event(host: Host):
    host.people()
    progress(host, progress=2, message=f"@{BLUE} look")

    for agent in (AMBER, BLUE, CORAL):
        assert host.do(list={"agent": agent})["events"] == []
    assert host.do(audit={})["records"] == [] or all(
        each["what"] not in ("received", "sent", "decided") for each in host.do(audit={})["records"]
    )


def test_c2a_153_it_is_told_to_who_asks_and_to_nobody_else(host: Host):
    host.people()
    progress(host, progress=2, total=5, message="Checked build status")
    host.dm("1", "how far is the deploy?", to=BLUE)
    host.wait("4s")

    assert "Checked build status" not in host.inject(BLUE)["text"]
    assert "Checked build status" in host.do(digest=BLUE)["text"]
    assert host.do(digest=BLUE)["progress"] == []
    progress(host, progress=3, total=5, message="Deployed to staging")
    assert "Deployed to staging" in host.do(digest=BLUE)["text"]


# -- 154 and 155: edits


def test_c2a_154_what_was_edited_before_it_was_shown_is_shown_as_it_is_now(host: Host):
    host.people()
    host.do(ingest=mentions())
    host.wait("1s")
    assert edited(host)["status"] == "edited"
    host.wait("4s")

    assert turns(host) == [f"U1 {NEW}?"]
    assert OLD not in shown(host)
    assert NEW in shown(host)


def test_c2a_154_an_edit_is_waited_for_like_another_piece_and_not_for_ever(host: Host):
    host.people()
    host.do(ingest=mentions())
    for n in range(10):
        host.wait("2.5s")
        edited(host, f"{NEW} {n}")
        assert host.sees(AMBER) == []
    host.wait("2.5s")
    edited(host, f"{NEW} 10")
    host.wait("2.6s")

    assert turns(host) == [f"U1 {NEW} 10?"]


def test_c2a_154_an_edit_may_ask_somebody_else(host: Host):
    host.people()
    host.do(ingest=mentions())
    host.do(edit=message("1", f"U2 {NEW}?", mentions=["U2"]))
    host.wait("4s")

    assert host.triple("1", AMBER) == "to_other/must_not_respond/tool_mailbox"
    assert host.triple("1", BLUE) == "to_me/must_respond/buffered"
    assert (host.sees(AMBER), host.sees(BLUE)) == ([], ["content 1 must_respond"])


def test_c2a_154_what_was_shown_and_is_edited_before_it_is_answered_is_shown_again(host: Host):
    host.people()
    host.do(ingest=mentions())
    host.wait("4s")
    assert turns(host) == [f"U1 {OLD}?"]
    edited(host)
    host.wait("4s")

    assert turns(host) == [f"U1 {NEW}?"]
    assert host.do(show={"agent": AMBER, "event": "1"})["version"] == 2


def test_c2a_154_an_edit_may_come_before_what_it_edits(host: Host):
    host.people()
    assert edited(host)["status"] == "held"
    host.do(ingest=mentions())
    host.wait("4s")

    assert turns(host) == [f"U1 {NEW}?"]
    assert OLD not in shown(host)


def test_c2a_154_the_highest_version_counts(host: Host):
    host.people()
    host.do(ingest=mentions())
    edited(host, NEW, version=3)

    assert edited(host, "something older", version=2)["status"] == "duplicate"
    host.wait("4s")
    assert turns(host) == [f"U1 {NEW}?"]


def test_c2a_155_who_has_answered_is_told_of_an_edit_and_owes_nothing(host: Host):
    host.people()
    host.do(ingest=mentions())
    answers(host)
    found = edited(host)
    again = found["again"]

    assert again == "1~e2"
    assert host.disposition("1") == "responded"
    row = host.do(show={"agent": AMBER, "event": again})
    assert (row["reason"], row["linked"]) == ("edited_after_response", "1")
    assert (row["policy"], row["injection"]) == ("may_respond", "notify")
    assert host.sees(AMBER) == ["knock 1~e2 may_respond"]
    assert [row["eventId"] for row in host.do(list={"agent": BLUE})["events"] if row["eventId"] == again] == []
    answers(host, again)
    assert host.disposition(again) == "responded"


def test_c2a_155_white_space_is_no_news(host: Host):
    host.people()
    host.do(ingest=mentions())
    answers(host)
    found = edited(host, f"  {OLD.replace(' ', '   ')}")

    assert found["status"] == "unchanged"
    assert host.sees(AMBER) == []


def test_c2a_155_an_answer_to_an_edit_settles_nothing_for_others(host: Host):
    host.people()
    line = message("1", f"U1 U2 {OLD}?", mentions=["U1", "U2"])
    host.do(ingest=line)
    answers(host)
    again = host.do(edit={**line, "content": [{"type": "text", "text": NEW}]})["again"]
    answers(host, again)

    assert host.disposition("1", BLUE) is None
    assert [row["eventId"] for row in host.do(pending=BLUE)["events"]] == ["1"]


# -- 156: deletions


def test_c2a_156_what_is_taken_away_is_gone_everywhere(host: Host):
    host.people()
    host.do(ingest=mentions())
    host.says("2", f"{OLD}, all of it")
    for event in ("1", "2"):
        host.do(delete={"eventId": event})
    host.wait("4s")

    assert host.disposition("1") == "superseded"
    assert host.sees(AMBER) == []
    assert OLD not in shown(host)
    (first, _) = host.do(read={"agent": AMBER, "conversation": "C1"})["items"]
    assert (first["tombstone"], first["parts"]) == (True, [])
    assert host.refusal(send=late("1")).code == "SUPERSEDED"
    assert host.refusal(react={"agent": AMBER, "inReplyTo": "1", "signal": "done"}).code == "SUPERSEDED"
    assert host.do(delete={"eventId": "1"})["status"] == "duplicate"


def late(event: str) -> dict[str, Any]:
    said = {"content": "I see.", "inReplyTo": event, "idempotencyKey": f"late {event}", "visibility": "channel"}
    return {"agent": AMBER, "directedness": "to_other", **said}


def test_c2a_156_a_knock_is_withdrawn(host: Host):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    host.inject()
    host.do(delete={"eventId": "1"})

    assert host.do(knocks=AMBER)["knocks"] == []


def test_c2a_156_what_was_answered_stays_answered(host: Host):
    host.people()
    host.do(ingest=mentions())
    answers(host)
    edited(host)
    host.do(delete={"eventId": "1"})

    assert host.disposition("1") == "responded"
    assert host.disposition("1~e2") == "superseded"
    assert host.sees(AMBER) == []
    assert OLD not in shown(host)
    assert NEW not in shown(host)


def test_c2a_156_what_is_taken_away_before_it_came_never_comes(host: Host):
    host.people()
    parts = [{"type": "text", "text": OLD}, {"type": "image", "url": f"https://example.org/{OLD}"}]
    assert host.do(delete={"eventId": "1"})["status"] == "held"
    assert host.do(ingest=mentions() | {"content": parts})["status"] == "deleted"
    host.wait("4s")

    assert host.sees(AMBER) == []
    assert OLD not in shown(host)
    assert OLD not in host.everything()


# -- 157 and 158: pieces


def says_in_pieces(host: Host, *pieces: str) -> None:
    for n, piece in enumerate(pieces):
        host.dm(str(n), piece)
        host.wait("1s")


def test_c2a_157_what_is_said_in_pieces_is_one_turn(host: Host):
    host.people()
    says_in_pieces(host, "when someone types", "in", "pieces", "like this")
    host.wait("3s")

    (block,) = host.inject()["blocks"]
    assert [part["text"] for part in block["content"]] == ["when someone types", "in", "pieces", "like this"]
    assert (block["eventId"], block["mergedFrom"]) == ("3", ["0", "1", "2"])
    rows = {row["eventId"]: row["disposition"] for row in host.do(list={"agent": AMBER})["events"]}
    assert rows == {"0": "superseded", "1": "superseded", "2": "superseded", "3": None}


def test_c2a_157_a_piece_that_is_taken_away_is_not_in_it(host: Host):
    host.people()
    says_in_pieces(host, "one", OLD, "three")
    host.do(delete={"eventId": "1"})
    host.wait("3s")

    assert turns(host) == ["one / three"]


@pytest.mark.parametrize("gone", [["2"], ["2", "1"]])
def test_c2a_157_when_the_last_piece_is_taken_away_the_others_come_again(host: Host, gone: list[str]):
    host.people()
    says_in_pieces(host, "one", "two", OLD)
    host.wait("3s")
    assert turns(host) == [f"one / two / {OLD}"]
    for event in gone:
        host.do(delete={"eventId": event})
    host.wait("4s")

    left = ["one", "two"][: 3 - len(gone)]
    assert turns(host) == [" / ".join(left)]
    assert host.disposition(str(len(left) - 1)) is None
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == [str(len(left) - 1)]
    answers(host, str(len(left) - 1), visibility="dm")
    assert host.do(pending=AMBER)["events"] == []


def test_c2a_157_when_every_piece_is_taken_away_nothing_is_left(host: Host):
    host.people()
    says_in_pieces(host, "one", "two")
    host.wait("3s")
    host.inject()
    for event in ("0", "1"):
        host.do(delete={"eventId": event})
    host.wait("4s")

    assert host.sees(AMBER) == []
    assert host.do(pending=AMBER)["events"] == []


def test_c2a_157_what_was_answered_does_not_come_again(host: Host):
    host.people()
    says_in_pieces(host, "one", "two")
    host.wait("3s")
    host.inject()
    answers(host, "1", visibility="dm")
    host.do(delete={"eventId": "1"})
    host.wait("4s")

    assert host.sees(AMBER) == []
    assert host.disposition("0") == "superseded"


def test_c2a_158_a_piece_that_comes_while_the_model_thinks_waits_for_the_end_of_its_turn(memory: InMemory):
    memory.people()
    memory.do(connect={"agent": AMBER})
    memory.dm("1", "one")
    memory.wait("4s")
    memory.do(deliver={"agent": AMBER})
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
    memory.dm("2", "two")
    memory.wait("4s")

    found = memory.do(deliver={"agent": AMBER})
    assert (found["blocks"], found["held"]) == ([], [{"eventId": "2", "why": "held_for_boundary"}])
    memory.do(turn={"agent": AMBER, "event": "1", "state": "ended"})
    assert [each["eventId"] for each in memory.do(deliver={"agent": AMBER})["blocks"]] == ["2"]


def test_c2a_158_after_an_answer_it_is_an_event_of_its_own(host: Host):
    host.people()
    host.dm("1", "one")
    host.wait("4s")
    host.inject()
    answers(host, "1", visibility="dm")
    host.dm("2", "two")
    host.wait("4s")

    (block,) = host.inject()["blocks"]
    assert (block["eventId"], block["mergedFrom"]) == ("2", [])
    assert [host.disposition(event) for event in ("1", "2")] == ["responded", None]


def test_c2a_158_an_edit_while_the_model_thinks_is_handed_over_as_the_same_event(memory: InMemory):
    memory.people()
    memory.do(connect={"agent": AMBER})
    memory.do(ingest=mentions())
    memory.wait("4s")
    memory.do(deliver={"agent": AMBER})
    memory.do(acknowledge={"agent": AMBER, "event": "1"})
    memory.do(turn={"agent": AMBER, "event": "1", "state": "started"})
    edited(memory)
    memory.do(turn={"agent": AMBER, "event": "1", "state": "ended"})
    memory.wait("4s")

    (block,) = memory.do(deliver={"agent": AMBER})["blocks"]
    assert (block["eventId"], block["content"][0]["text"]) == ("1", f"U1 {NEW}?")
