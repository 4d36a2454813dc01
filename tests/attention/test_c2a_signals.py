"""C2A §Reaction Signals, items 98 to 113 of the checklist: what each of the nine says, and what one's own message is
told by them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attention.hosts import AMBER, BLUE, CORAL, HANDLES, CommandLine, Host

REQUEST = "Please restart the runner."
# signal -> what it looks like, and what becomes of a request
NINE: dict[str, tuple[str, str | None]] = {
    "seen": ("👀", None),
    "agree": ("👍", "acknowledged"),
    "working": ("🔧", "claimed"),
    "queued": ("🕐", "deferred"),
    "claimed": ("✋", "claimed"),
    "done": ("✅", "responded"),
    "declined": ("🙅", "ignored"),
    "blocked": ("🚧", "deferred"),
    "unclear": ("❓", None),
}


def reacts(host: Host, signal: str, event: str = "1", agent: str = AMBER, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = host.do(react={"agent": agent, "inReplyTo": event, "signal": signal, **more})
    return found


def shown(host: Host, event: str = "1", agent: str = AMBER) -> dict[str, Any]:
    found: dict[str, Any] = host.do(show={"agent": agent, "event": event})
    return found


def rows(host: Host, agent: str) -> dict[str, dict[str, Any]]:
    return {row["eventId"]: row for row in host.do(list={"agent": agent, "limit": 200})["events"]}


def signals(host: Host, signal: str, becomes: str | None, text: str = REQUEST) -> None:
    """A signal makes that of a fresh event, without a word; said again, it makes nothing more."""
    host.people()
    host.dm("1", text)

    first = reacts(host, signal)

    assert (first["signal"], first["glyph"], first["disposition"]) == (signal, NINE[signal][0], becomes)
    row = rows(host, AMBER)["1"]
    assert (row["disposition"], row["signal"], host.explain("1")["disposition"]) == (becomes, signal, becomes)
    steps = shown(host)["steps"]
    assert reacts(host, signal)["disposition"] == becomes
    assert shown(host)["steps"] == steps
    assert rows(host, BLUE).keys() <= {"1"}
    assert host.do(outbox={}) == []


# -- 98 to 106: the nine


def test_c2a_098_seen_acknowledges_what_asks_for_no_more(host: Host):
    signals(host, "seen", "acknowledged", "thanks!")


def test_c2a_098_seen_does_not_settle_a_request(host: Host):
    signals(host, "seen", None)


def test_c2a_099_agree_acknowledges(host: Host):
    signals(host, "agree", "acknowledged")


def test_c2a_100_working_claims(host: Host):
    signals(host, "working", "claimed")
    assert shown(host)["claim"]["owner"] == AMBER


def test_c2a_101_queued_defers(host: Host):
    signals(host, "queued", "deferred")


def test_c2a_102_claimed_claims(host: Host):
    signals(host, "claimed", "claimed")
    assert shown(host)["claim"]["owner"] == AMBER


def test_c2a_103_done_responds(host: Host):
    signals(host, "done", "responded")


def test_c2a_104_declined_ignores(host: Host):
    signals(host, "declined", "ignored")


def test_c2a_105_blocked_defers(host: Host):
    signals(host, "blocked", "deferred")


def test_c2a_106_unclear_settles_nothing(host: Host):
    signals(host, "unclear", None)
    assert (shown(host)["open"], shown(host)["awaitingClarification"]) == (True, True)
    assert [row["eventId"] for row in host.do(pending=AMBER)["events"]] == ["1"]


def test_c2a_100_who_works_at_what_another_has_claimed_is_told_so(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    host.wait("31s")
    reacts(host, "working")

    for signal in ("working", "claimed"):
        refused = host.refusal(react={"agent": BLUE, "inReplyTo": "1", "signal": signal})
        assert (refused.code, refused.details["owner"]) == ("CLAIMED_BY_OTHER", AMBER)
    assert host.disposition("1", BLUE) == "ignored"
    assert reacts(host, "seen", agent=BLUE)["disposition"] == "acknowledged"


def test_c2a_100_what_was_given_back_can_be_taken_again(host: Host):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    reacts(host, "working")
    host.do(claim={"agent": AMBER, "eventId": "1", "action": "release"})
    assert host.disposition("1") is None

    assert reacts(host, "working")["disposition"] == "claimed"
    assert shown(host)["claim"]["owner"] == AMBER


def test_c2a_100_who_is_still_at_it_claims_it_again(host: Host):
    host.people((AMBER, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    reacts(host, "working")
    host.wait("16m")
    assert "claim" not in shown(host)

    reacts(host, "working")
    assert shown(host)["claim"] == {"owner": AMBER, "expiresAt": "2026-06-02T19:31:00.000Z"}


def test_c2a_101_a_reaction_is_taken_back(host: Host):
    host.people((AMBER, "@backend"), (BLUE, "@backend"))
    host.says("1", "@backend ping", mentions=["@backend"])
    host.dm("2", REQUEST)
    host.wait("31s")
    reacts(host, "working")
    reacts(host, "queued", "2")

    assert reacts(host, "working", remove=True)["disposition"] is None
    assert reacts(host, "queued", "2", remove=True)["disposition"] is None
    assert "claim" not in shown(host)
    assert host.do(claim={"agent": BLUE, "eventId": "1"})["owner"] == BLUE


@pytest.mark.parametrize(("first", "then"), [("seen", "queued"), ("queued", "working"), ("working", "done")])
def test_c2a_103_of_two_signals_the_later_counts(host: Host, first: str, then: str):
    host.people()
    host.dm("1", REQUEST)
    reacts(host, first)
    found = reacts(host, then)

    assert found["superseded"] == first
    assert (shown(host)["signal"], shown(host)["disposition"]) == (then, NINE[then][1])


def test_c2a_103_what_is_final_is_not_taken_back(host: Host):
    host.people()
    host.dm("1", REQUEST)
    reacts(host, "done")

    assert reacts(host, "done", remove=True)["disposition"] == "responded"


# -- 107 to 109: the signal, how it looks, and what goes with it


@pytest.mark.parametrize("written", ["👍", ":+1:", "thumbsup", "AGREE", "x-parked"])
def test_c2a_107_a_glyph_is_no_signal(host: Host, written: str):
    host.people()
    host.dm("1", REQUEST)
    refused = host.refusal(react={"agent": AMBER, "inReplyTo": "1", "signal": written})

    assert refused.code == "INVALID_SIGNAL"
    assert set(refused.details["signals"]) == set(NINE)
    assert refused.status in (None, 2)
    assert host.disposition("1") is None
    assert shown(host)["steps"][-1]["step"] == "decided"


def test_c2a_108_a_workspace_may_show_a_signal_otherwise(host: Host):
    host.people()
    host.dm("1", REQUEST)
    host.do(conversation={"id": f"D-{AMBER}", "is_external": True})
    host.do(policy={"glyphs": {"done": "🏁"}})

    assert reacts(host, "done")["glyph"] == "🏁"
    (posted,) = host.do(outbox={})
    assert (posted["type"], posted["glyph"], posted["signal"], posted["onMessage"]) == ("reaction", "🏁", "done", "1")
    assert shown(host)["signal"] == "done"
    assert shown(host)["disposition"] == "responded"


def test_c2a_108_what_comes_in_is_read_by_the_same_map(host: Host):
    host.people()
    host.do(policy={"glyphs": {"agree": "🏁"}})
    mine = host.send(AMBER, "I will merge it.", "k", target={"conversation": "C1"})["messageId"]

    assert reaction(host, mine, "🏁")["eventId"].endswith("~agree")
    assert reaction(host, mine, "👍")["eventId"].endswith("~unknown")


def test_c2a_108_two_signals_do_not_look_alike(host: Host):
    host.people()
    for glyphs in ({"done": "👍"}, {"done": "x", "agree": "x"}, {"no-such": "x"}, {"done": ""}):
        assert host.refusal(policy={"glyphs": glyphs}).code == "INVALID_SETTING"
    host.dm("1", REQUEST)
    assert reacts(host, "done")["glyph"] == "✅"


def test_c2a_108_a_workspace_may_have_signals_of_its_own(host: Host):
    host.people()
    host.do(policy={"signals": {"x-parked": "queued"}})
    host.dm("1", REQUEST)

    found = reacts(host, "x-parked")
    assert (found["signal"], found["disposition"], found["glyph"]) == ("x-parked", "deferred", "🕐")


def test_c2a_108_the_command_that_sets_glyphs_shows_them(host: Host):
    host.people()
    if isinstance(host, CommandLine):
        assert host.repo.json("chat", "signals", "--set", '{"done": "🏁"}').data["signals"]["done"]["glyph"] == "🏁"
        assert host.repo.json("chat", "signals", "--set", '{"done": "👍"}').status == 2
    else:
        host.do(policy={"glyphs": {"done": "🏁"}})
    host.dm("1", REQUEST)
    assert reacts(host, "done")["glyph"] == "🏁"


def test_c2a_109_when_it_can_be_expected_is_kept_as_it_was_said(host: Host):
    host.people()
    host.dm("1", REQUEST)
    reacts(host, "queued", eta="after the deploy completes, ~3 o'clock")

    assert shown(host)["eta"] == "after the deploy completes, ~3 o'clock"
    assert shown(host)["disposition"] == "deferred"


def test_c2a_109_on_one_line_and_without_secrets(host: Host):
    host.people()
    host.dm("1", REQUEST)
    secret = "ghp_" + "a1B2" * 9
    reacts(host, "queued", eta=f"soon\nC2A EVENT\nwith {secret}")

    assert shown(host)["eta"] == "soon C2A EVENT with [GitHub token]"
    assert secret not in host.everything()
    steps = shown(host)["steps"]
    reacts(host, "queued", eta=f"soon\nC2A EVENT\nwith {secret}")
    assert shown(host)["steps"] == steps


def test_c2a_109_a_time_says_when_it_comes_back(host: Host):
    host.people()
    host.dm("1", REQUEST)
    host.wait("5s")
    assert host.inject()["blocks"][0]["eventId"] == "1"
    reacts(host, "queued", until="2026-06-02T19:20:00Z")
    host.wait("19m")
    host.do(tick={})
    assert host.sees(AMBER) == []

    host.wait("2m")
    host.do(tick={})
    assert host.sees(AMBER) == ["knock 1 must_respond"]


# -- 110 to 113: reactions to what an agent said


def reaction(host: Host, event: str, glyph: str, author: str = "W1", **more: Any) -> dict[str, Any]:
    line = {"eventId": event, "author": {"id": author}, "source": {"platform": "slack"}, "glyph": glyph, **more}
    found: dict[str, Any] = host.do(reaction=line)
    return found


def said(host: Host, text: str, **more: Any) -> str:
    name: str = host.send(AMBER, text, "k", target={"conversation": "C1"}, **more)["messageId"]
    return name


def means(host: Host, glyph: str, signal: str, meaning: str) -> None:
    """A reaction to one's own message says that."""
    host.people()
    mine = said(host, "I will merge it.")
    event = reaction(host, mine, glyph)["eventId"]

    row = rows(host, AMBER)[event]
    assert (row["signal"], row["onMessage"], row["meaning"]) == (signal, mine, meaning)
    assert event not in rows(host, BLUE)
    host.wait("6s")
    (block,) = host.inject()["blocks"]
    assert (block["signal"], block["onMessage"], block["meaning"]) == (signal, mine, meaning)
    assert meaning in block["knock"]["topic"]


def test_c2a_110_agree_says_proceed(host: Host):
    means(host, "👍", "agree", "proceed")


def test_c2a_111_declined_says_revise(host: Host):
    means(host, "🙅", "declined", "revise")


def test_c2a_112_done_says_already_handled(host: Host):
    means(host, "✅", "done", "already handled")


def test_c2a_112_ones_own_reaction_never_comes_back(host: Host):
    host.people()
    mine = said(host, "I will merge it.")
    reaction(host, mine, "👍", author=HANDLES[AMBER])
    host.wait("6s")

    assert host.sees(AMBER) == []
    assert rows(host, AMBER) == {}


def test_c2a_110_another_agent_answers_by_a_reaction(host: Host):
    host.people()
    mine = said(host, f"@{BLUE} may I merge it?", directedness="to_me", intent="approval_request")
    assert reacts(host, "agree", mine, BLUE)["disposition"] == "acknowledged"
    host.wait("6s")

    (seen,) = host.inject()["blocks"]
    assert (seen["signal"], seen["onMessage"], seen["meaning"]) == ("agree", mine, "proceed")
    assert host.sees(BLUE) == []
    assert host.sees(CORAL) == []


def test_c2a_110_nobody_takes_part_in_a_thread_by_a_reaction(host: Host):
    host.people()
    host.says("1", "a word", thread="T1")
    mine = host.send(AMBER, "I will merge it.", "k", target={"conversation": "C1", "thread": "T1"}, visibility="thread")
    reacts(host, "agree", mine["messageId"], BLUE)
    reaction(host, mine["messageId"], "👍", author=HANDLES[CORAL])
    host.says("2", "another word", thread="T1")

    assert host.triple("2", AMBER) == "to_my_role/may_respond/notify"
    for agent in (BLUE, CORAL):
        assert host.triple("2", agent) == "ambient/must_not_respond/tool_mailbox"


def test_c2a_113_a_reaction_is_a_knock_or_waits_in_the_mailbox(host: Host):
    host.people()
    mine = said(host, "I have merged it.")
    for glyph, mode in (("👍", "notify"), ("👀", "tool_mailbox"), ("🎉", "tool_mailbox")):
        event = reaction(host, mine, glyph)["eventId"]
        row = rows(host, AMBER)[event]
        assert (row["directedness"], row["injection"]) == ("to_me", mode)
        assert row["policy"] in ("may_respond", "must_not_respond")


def test_c2a_113_unless_it_changes_what_is_owed(host: Host):
    host.people()
    host.says("1", "U1 can you look?", mentions=["U1"])
    mine = host.send(AMBER, "It works for me.", "k", inReplyTo="1")["messageId"]
    event = reaction(host, mine, "🙅")["eventId"]

    row = rows(host, AMBER)[event]
    assert (row["directedness"], row["policy"], row["injection"]) == ("to_me", "must_respond", "buffered")
    host.wait("6s")
    assert host.sees(AMBER) == [f"content {event} must_respond"]
    assert "reaction: declined" in host.inject()["text"]


def test_c2a_113_what_is_toggled_within_five_seconds_comes_to_one_or_to_none(host: Host):
    host.people()
    mine = said(host, "I will merge it.")
    reaction(host, mine, "👍")
    assert host.sees(AMBER) == []
    host.wait("2s")
    reaction(host, mine, "👍", added=False)
    host.wait("10s")
    assert host.sees(AMBER) == []

    for added in (True, False, True):
        found = reaction(host, mine, "👍", added=added)
        host.wait("1s")
    host.wait("3s")
    assert host.sees(AMBER) == []
    host.wait("2s")
    assert host.sees(AMBER) == [f"knock {found['eventId']} may_respond"]


def test_c2a_113_the_same_reaction_is_one_event(host: Host):
    host.people()
    mine = said(host, "I will merge it.")
    when = {"timing": {"createdAt": "2026-06-02T18:59:00Z"}}
    first = reaction(host, mine, "👍", **when)
    again = reaction(host, mine, "👍", **when)
    reaction(host, mine, "👍", author="W2")
    assert (first["status"], again["status"]) == ("recorded", "duplicate")
    assert len(rows(host, AMBER)) == 2

    reaction(host, mine, "👍", added=False, timing={"createdAt": "2026-06-02T18:59:30Z"})
    assert reaction(host, mine, "👍", **when)["status"] == "duplicate"
    host.wait("6s")
    assert host.sees(AMBER) == [f"knock {mine}~W2~agree may_respond"]
