"""C2A §Coordination And Claims, items 127 to 132 of the checklist: of several who could answer, one does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, DELTA, EVERYBODY, CommandLine, Host, InMemory, Refused
from tests.support import Scratch, environment

GROUP = ((AMBER, "@backend"), (BLUE, "@backend"), (CORAL, "@backend"))


def called(host: Host, event: str = "1") -> tuple[str, str, str]:
    """A role of three is called: who of them is asked first, and the two others."""
    host.people(*GROUP)
    host.says(event, "@backend is the cache warm?", mentions=["@backend"])
    first = next(agent for agent in EVERYBODY if host.explain(event, agent).get("defaultResponder"))
    others = [agent for agent, _ in GROUP if agent != first]
    return first, others[0], others[1]


def claims(host: Host, agent: str, event: str = "1", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = host.do(claim={"agent": agent, "eventId": event, **more})
    return found


def answer(agent: str, event: str = "1", **more: Any) -> dict[str, Any]:
    said = {"content": "It is.", "inReplyTo": event, "idempotencyKey": f"answer of {agent}"}
    return {"agent": agent, **said, "visibility": "channel", "directedness": "to_other", **more}


# -- 127: one is asked first


def test_c2a_127_of_a_group_exactly_one_is_asked_first(host: Host):
    first, *others = called(host)

    assert host.sees(first) == ["knock 1 may_respond"]
    assert [host.sees(agent) for agent in others] == [[], []]
    refused = host.refusal(claim={"agent": others[0], "eventId": "1"})
    assert (refused.code, refused.details["owner"]) == ("CLAIMED_BY_OTHER", first)
    assert refused.details["expires_at"] == "2026-06-02T19:00:30.000Z"
    host.wait("31s")
    assert [host.sees(agent) for agent in others] == [["knock 1 may_respond"]] * 2
    assert claims(host, others[0])["owner"] == others[0]


def test_c2a_127_not_everybody_first_of_every_event(memory: InMemory):
    memory.people(*GROUP)
    asked = set()
    for n in range(20):
        memory.says(str(n), "@backend ping", mentions=["@backend"])
        told = [agent for agent in EVERYBODY if memory.explain(str(n), agent).get("defaultResponder")]
        assert len(told) == 1
        asked.update(told)

    assert asked == {agent for agent, _ in GROUP}


def test_c2a_127_every_clone_asks_the_same_one(memory: InMemory):
    memory.people(*GROUP)
    memory.do(clone="there")
    line = {"eventId": "1", "conversation": {"id": "C1", "kind": "channel"}, "author": {"id": "W1"}, "text": "@backend"}
    first = []
    for clone in ("here", "there"):
        found = in_clone(memory, clone, ingest=line | {"source": {"platform": "slack"}})["decisions"]
        first.append([agent for agent, decision in found.items() if decision.get("defaultResponder")])

    assert first[0] == first[1]
    assert len(first[0]) == 1


def test_c2a_127_who_is_away_is_not_asked_first(memory: InMemory):
    memory.do(agents=[{"id": AMBER, "liveness": "stale"}, {"id": BLUE}, {"id": CORAL, "liveness": "evicted"}])
    for agent in (AMBER, BLUE, CORAL):
        memory.do(bind={"agent": agent, "roles": ["@backend"]})
    for n in range(8):
        memory.says(str(n), "@backend ping", mentions=["@backend"])
        assert memory.explain(str(n), BLUE)["defaultResponder"]


# -- 128: a claim before an answer


def test_c2a_128_who_answers_for_a_role_claims_it_first(host: Host):
    first, *_ = called(host)

    refused = host.refusal(send=answer(first))
    assert (refused.code, refused.status) in (("CLAIM_REQUIRED", None), ("CLAIM_REQUIRED", 4))
    claims(host, first)
    assert host.do(send=answer(first))["disposition"] == "responded"


@pytest.mark.parametrize("signal", ["seen", "agree", "declined", "queued"])
def test_c2a_128_a_reaction_needs_no_claim(host: Host, signal: str):
    _, other, _ = called(host)

    assert host.do(react={"agent": other, "inReplyTo": "1", "signal": signal})["signal"] == signal


def test_c2a_128_who_has_looked_may_still_claim_it(host: Host):
    first, *_ = called(host)
    host.do(react={"agent": first, "inReplyTo": "1", "signal": "seen"})
    claims(host, first)

    assert host.do(send=answer(first))["disposition"] == "responded"


# -- 129: for a time


def test_c2a_129_a_claim_runs_out_and_the_next_one_is_asked(host: Host):
    first, second, third = called(host)
    assert claims(host, first)["expiresAt"] == "2026-06-02T19:15:00.000Z"
    host.wait("14m")
    host.do(tick={})
    assert [host.sees(agent) for agent in (second, third)] == [[], []]

    host.wait("2m")
    (over,) = (each for each in host.do(tick={})["due"] if each["what"] == "claim_over")
    assert (over["eventId"], over["agent"]) == ("1", first)
    assert host.disposition("1", first) is None
    assert claims(host, second)["owner"] == second
    refused = host.refusal(send=answer(first))
    assert (refused.code, refused.details["owner"]) == ("CLAIM_EXPIRED", second)


def test_c2a_129_the_next_one_is_knocked_at_again_and_only_that_one(host: Host):
    first, *others = called(host)
    host.wait("31s")
    for agent in others:
        host.inject(agent)
    claims(host, first)
    host.wait("16m")
    host.do(tick={})

    assert sorted(host.sees(agent) for agent in others) == [[], ["knock 1 may_respond"]]


def test_c2a_129_whoever_claims_it_then_is_given_the_text(host: Host):
    first, *others = called(host)
    host.wait("31s")
    for agent in (first, *others):
        host.inject(agent)
    claims(host, first)
    host.wait("16m")
    host.do(tick={})
    following = next(agent for agent in others if host.sees(agent))
    assert host.inject(following)["blocks"][0]["mode"] == "notify"
    claims(host, following)

    assert host.sees(following) == ["content 1 may_respond"]
    host.inject(following)
    host.wait("1s")
    assert host.sees(following) == []


def test_c2a_129_who_is_late_and_still_alone_has_it_again(host: Host):
    first, *_ = called(host)
    claims(host, first)
    host.wait("16m")
    host.do(tick={})

    assert host.do(send=answer(first))["disposition"] == "responded"


@pytest.mark.parametrize(("asked", "granted"), [(1, "19:01:00"), (600_000, "19:10:00"), (14_400_000, "23:00:00")])
def test_c2a_129_a_claim_is_for_a_minute_at_least_and_for_four_hours_at_most(host: Host, asked: int, granted: str):
    first, *_ = called(host)

    assert claims(host, first, ttlMs=asked)["expiresAt"] == f"2026-06-02T{granted}.000Z"


def test_c2a_129_only_its_owner_renews_it(host: Host):
    first, second, _ = called(host)
    claims(host, first)
    host.wait("10m")
    assert host.refusal(claim={"agent": second, "eventId": "1", "action": "renew"}).code == "CLAIMED_BY_OTHER"
    assert claims(host, first, action="renew")["expiresAt"] == "2026-06-02T19:25:00.000Z"
    host.wait("10m")

    assert claims(host, first)["expiresAt"] == "2026-06-02T19:35:00.000Z"
    host.wait("16m")
    assert host.refusal(claim={"agent": first, "eventId": "1", "action": "renew"}).code == "PERMISSION_DENIED"


def test_c2a_129_what_is_given_back_is_free_and_the_next_one_is_asked(host: Host):
    first, *others = called(host)
    host.wait("31s")
    for agent in others:
        host.inject(agent)
    claims(host, first)
    for agent in others:
        assert host.triple("1", agent) == "to_my_role/must_not_respond/tool_mailbox"
    host.wait("1s")
    found = claims(host, first, action="release")

    assert (found["released"], found["owner"]) == (True, None)
    assert host.disposition("1", first) is None
    assert all(host.triple("1", agent) == "to_my_role/may_respond/notify" for agent in others)
    assert sorted(host.sees(agent) for agent in others) == [[], ["knock 1 may_respond"]]
    assert claims(host, others[1])["owner"] == others[1]


def test_c2a_129_what_is_declined_after_a_claim_is_free(host: Host):
    first, second, _ = called(host)
    host.wait("31s")
    claims(host, first)
    host.do(react={"agent": first, "inReplyTo": "1", "signal": "declined"})

    assert host.triple("1", second) == "to_my_role/may_respond/notify"
    assert claims(host, second)["owner"] == second


def test_c2a_129_a_claim_is_passed_on_by_its_owner_or_by_who_leads(host: Host):
    first, second, third = called(host)
    host.do(conversation={"id": "C1", "lead": DELTA})
    claims(host, first)
    assert host.refusal(claim={"agent": third, "eventId": "1", "action": "transfer", "to": third}).code == (
        "CLAIMED_BY_OTHER"
    )
    assert claims(host, first, action="transfer", to=second)["owner"] == second
    assert (host.disposition("1", first), host.disposition("1", second)) == ("ignored", "claimed")

    assert claims(host, DELTA, action="transfer", to=third)["owner"] == third
    assert host.sees(third) == ["content 1 may_respond"]
    passed = [each for each in host.do(audit={})["records"] if each.get("action") == "transfer"]
    assert sorted(each["by"] for each in passed) == sorted([DELTA, first])


def test_c2a_129_a_claim_of_a_thread_covers_what_comes_later(host: Host):
    host.people(*GROUP)
    host.says("0", "a word", thread="T1")
    host.do(claim={"agent": AMBER, "thread": "C1/T1"})
    host.says("1", "@backend and now?", thread="T1", mentions=["@backend"])
    host.says("2", "@backend and here?", thread="T2", mentions=["@backend"])
    host.wait("31s")

    assert host.do(send=answer(AMBER))["disposition"] == "responded"
    assert host.refusal(send=answer(BLUE)).code == "CLAIMED_BY_OTHER"
    assert host.refusal(claim={"agent": BLUE, "eventId": "1"}).code == "CLAIMED_BY_OTHER"
    assert claims(host, BLUE, "2")["owner"] == BLUE
    host.wait("14m")
    assert host.refusal(claim={"agent": CORAL, "thread": "C1/T1"}).details["expires_at"] == "2026-06-02T19:15:31.000Z"
    host.wait("2m")
    assert host.do(claim={"agent": CORAL, "thread": "C1/T1"})["owner"] == CORAL


def test_c2a_129_who_is_gone_forfeits_and_from_who_is_silent_it_is_taken_over(memory: InMemory):
    first, second, third = called(memory)
    claims(memory, first)
    memory.do(agents=[{"id": first, "liveness": "stale"}])
    assert memory.refusal(claim={"agent": second, "eventId": "1"}).code == "CLAIMED_BY_OTHER"
    assert claims(memory, second, takeoverStale=True)["owner"] == second
    memory.do(tick={})
    assert notices(memory, first) == ["1"]

    memory.do(agents=[{"id": second, "liveness": "evicted"}])
    assert claims(memory, third)["owner"] == third


def test_c2a_129_a_claim_ends_with_what_it_is_about(host: Host):
    first, second, _ = called(host)
    claims(host, first)
    host.do(delete={"eventId": "1"})

    assert "claim" not in host.do(show={"agent": first, "event": "1"})
    assert host.refusal(claim={"agent": second, "eventId": "1"}).code == "SUPERSEDED"


# -- 130: nobody answers what another has claimed


def test_c2a_130_who_has_not_claimed_it_does_not_answer(host: Host):
    first, second, _ = called(host)
    host.wait("31s")
    claims(host, first)

    refused = host.refusal(send=answer(second))
    assert refused.code == "CLAIMED_BY_OTHER"
    assert (refused.details["owner"], refused.details["expires_at"]) == (first, "2026-06-02T19:15:31.000Z")
    assert host.triple("1", second) == "to_my_role/must_not_respond/tool_mailbox"
    found = host.do(show={"agent": second, "event": "1"})
    assert (found["reason"], found["disposition"], found["open"]) == ("claimed_by_other", "ignored", False)
    assert found["claim"] == {"owner": first, "expiresAt": "2026-06-02T19:15:31.000Z"}
    assert host.sees(second) == []


def test_c2a_130_nor_does_who_was_named_beside_the_owner(host: Host):
    host.people()
    host.says("1", "U1 U2 can one of you look?", mentions=["U1", "U2"])
    claims(host, AMBER)

    assert host.refusal(send=answer(BLUE)).code == "CLAIMED_BY_OTHER"
    assert host.do(pending=BLUE)["events"] == []
    claims(host, AMBER, action="release")
    assert [row["eventId"] for row in host.do(pending=BLUE)["events"]] == ["1"]
    assert host.do(send=answer(BLUE))["disposition"] == "responded"


def test_c2a_130_what_is_put_to_one_by_name_is_claimed_by_no_other(host: Host):
    host.people()
    host.send(BLUE, "I am here.", "k", target={"conversation": "C1", "thread": "T1"}, visibility="thread")
    host.says("1", "U1 can you look?", mentions=["U1"], thread="T1")

    assert host.triple("1", BLUE).startswith("to_my_role/may_respond")
    assert host.refusal(claim={"agent": BLUE, "eventId": "1"}).code == "POLICY_FORBIDS"
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["1"]


def test_c2a_130_what_was_answered_is_put_to_nobody_else(host: Host):
    first, second, third = called(host)
    claims(host, first)
    host.do(send=answer(first))
    host.wait("20m")
    host.do(tick={})

    for agent in (second, third):
        assert host.sees(agent) == []
        assert host.disposition("1", agent) == "ignored"
        assert host.do(show={"agent": agent, "event": "1"})["reason"] == "answered_by_other"
        assert host.refusal(send=answer(agent)).code == "POLICY_FORBIDS"
    assert claims(host, second)["owner"] == second  # who has more to say may still take it on
    assert host.do(send=answer(second))["disposition"] == "responded"


# -- 131: who leads is not told everything


def test_c2a_131_what_workers_say_to_each_other_does_not_reach_who_leads(host: Host):
    host.people()
    host.do(conversation={"id": "C1", "lead": DELTA, "owner": DELTA})
    target = {"conversation": "C1", "thread": "T1"}
    posted = [
        host.send(agent, f"Step {n} works.", f"k{n}", target=target, visibility="thread")["messageId"]
        for n, agent in enumerate((AMBER, BLUE, AMBER, BLUE))
    ]
    asked = host.send(AMBER, f"@{DELTA} which one?", "q", target=target, visibility="thread", directedness="to_me")

    for event in posted:
        assert host.triple(event, DELTA).split("/")[2] in ("tool_mailbox", "digest")
    host.wait("5s")
    assert host.sees(DELTA) == [f"content {asked['messageId']} must_respond"]


def test_c2a_131_who_leads_is_asked_in_private(host: Host):
    host.people()
    target = {"recipient": DELTA}
    asked = host.send(AMBER, "Which one?", "q", target=target, visibility="dm", directedness="to_me")

    assert host.sees(DELTA) == [f"content {asked['messageId']} must_respond"]
    assert host.refusal(explain={"agent": BLUE, "event": asked["messageId"]}).code == "NOT_FOUND"


# -- 132: two at once


def at_once(repo: Scratch, commands: list[list[str]], now: str) -> list[dict[str, Any]]:
    """What these commands answer, each in a process of its own, all started together."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "bb", *words, "--json"],
            cwd=repo.path,
            env=environment(BB_NOW=now),
            stdout=subprocess.PIPE,
        )
        for words in commands
    ]
    return [json.loads(each.communicate()[0]) for each in processes]


def test_c2a_132_of_two_processes_that_claim_at_once_one_wins(command_line: CommandLine):
    host = command_line
    called(host)
    for n in range(3):
        host.says(f"race {n}", "@backend ping", mentions=["@backend"])
    host.wait("31s")
    for event in ("1", "race%200", "race%201", "race%202"):
        answers = at_once(
            host.repo,
            [["chat", "claim", event, "--agent", agent] for agent, _ in GROUP],
            "2026-06-02T19:00:31Z",
        )
        won = [each["data"]["owner"] for each in answers if each["ok"]]
        lost = [each["error"] for each in answers if not each["ok"]]
        assert len(won) == 1
        assert [each["code"] for each in lost] == ["CLAIMED_BY_OTHER"] * 2
        assert [each["details"]["owner"] for each in lost] == won * 2


def in_clone(memory: InMemory, clone: str, **step: Any) -> Any:
    found = memory.replay.step(step | {"in": clone})
    if "error" in found:
        raise Refused(found["error"])
    return found["answer"]


def notices(memory: InMemory, agent: str, clone: str = "here") -> list[str]:
    """Of what an agent is told that it has lost."""
    rows = in_clone(memory, clone, list={"agent": agent, "limit": 200})["events"]
    told = [row for row in rows if row["reason"] == "claim_lost"]
    assert all((row["policy"], row["injection"], row["author"]) == ("ack_only", "notify", "system:bb") for row in told)
    return [row["linked"] for row in told]


def both_claim(memory: InMemory) -> tuple[str, str]:
    """Two claim one event, each in a clone that does not know of the other; then each learns what the other knows."""
    called(memory)
    memory.do(clone="there")
    memory.wait("31s")
    in_clone(memory, "here", claim={"agent": AMBER, "eventId": "1"})
    memory.wait("1s")
    in_clone(memory, "there", claim={"agent": BLUE, "eventId": "1"})
    assert memory.do(merge=["here", "there"])["agree"]
    return AMBER, BLUE


def test_c2a_132_of_two_clones_that_claim_at_once_the_earlier_wins_everywhere(memory: InMemory):
    winner, loser = both_claim(memory)

    for clone in ("here", "there"):
        assert in_clone(memory, clone, show={"agent": loser, "event": "1"})["claim"]["owner"] == winner
        assert [each["what"] for each in in_clone(memory, clone, tick={})["due"]] == ["claim_lost"]
        assert in_clone(memory, clone, tick={})["due"] == []
    assert memory.do(merge=["here", "there"])["agree"]
    for clone in ("here", "there"):
        assert in_clone(memory, clone, show={"agent": loser, "event": "1"})["disposition"] == "ignored"
        assert in_clone(memory, clone, show={"agent": winner, "event": "1"})["disposition"] == "claimed"
        assert notices(memory, loser, clone) == ["1"]
        assert [notices(memory, agent, clone) for agent in (winner, CORAL, DELTA)] == [[], [], []]
        assert memory.replay.clones[clone].book.claim("slack:1", "C1 ", memory.replay.now).owner == winner


def test_c2a_132_who_has_lost_is_knocked_at_and_does_not_answer(memory: InMemory):
    winner, loser = both_claim(memory)
    with pytest.raises(Refused, match="CLAIMED_BY_OTHER"):
        in_clone(memory, "there", send=answer(loser))
    in_clone(memory, "here", tick={})

    (knock,) = (each for each in memory.inject(loser)["blocks"] if each["reason"] == "claim_lost")
    assert (knock["policy"], knock["mode"]) == ("ack_only", "notify")
    assert "about a claim that another agent holds" in knock["knock"]["topic"]
    assert memory.do(send=answer(winner))["disposition"] == "responded"


def test_c2a_132_who_has_answered_what_it_lost_stands_in_the_audit(memory: InMemory):
    called(memory)
    memory.do(clone="there")
    memory.wait("31s")
    for agent, clone in ((AMBER, "here"), (BLUE, "there")):
        in_clone(memory, clone, claim={"agent": agent, "eventId": "1"})
        in_clone(memory, clone, send=answer(agent))
        memory.wait("1s")
    memory.do(merge=["here", "there"])

    twice = [each for each in memory.do(audit={})["records"] if each["what"] == "duplicate_reply"]
    assert [(each["eventId"], each["agent"]) for each in twice] == [("1", BLUE)]


def test_c2a_132_of_a_thread_that_two_clones_claim_one_is_told(memory: InMemory):
    memory.people(*GROUP)
    memory.says("1", "a word", thread="T1")
    memory.do(clone="there")
    in_clone(memory, "here", claim={"agent": AMBER, "thread": "C1/T1"})
    memory.wait("1s")
    in_clone(memory, "there", claim={"agent": BLUE, "thread": "C1/T1"})
    memory.do(merge=["here", "there"])
    for clone in ("here", "there"):
        assert [each["what"] for each in in_clone(memory, clone, tick={})["due"]] == ["claim_lost"]
        assert in_clone(memory, clone, tick={})["due"] == []
    memory.do(merge=["here", "there"])

    assert notices(memory, BLUE) == ["1"]
    assert notices(memory, AMBER) == []
