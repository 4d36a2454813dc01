"""Two agents in one repository talk in CBCL: what each hears, owes and believes, and what their mail shows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bb.messaging.facts import Sent
from tests.cbcl.trees import dialect
from tests.near import Near
from tests.stories.cbcl.cbcl_support import (
    AMBER,
    COBALT,
    WORK,
    WREN,
    at_noon,
    beliefs,
    forge,
    hear,
    install,
    log,
    pending,
    refused,
    say,
    texts,
)


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    return at_noon(tmp_path / "repo", AMBER, COBALT)


def mail(repo: Near, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = repo.json("agent", "inbox", "--agent", agent).data
    return found


def chat(repo: Near, agent: str) -> list[tuple[str, str]]:
    """What deserves an agent's attention, and how much."""
    return [(each["eventId"], each["policy"]) for each in repo.json("chat", "list", "--agent", agent).data["events"]]


def waiting(repo: Near, agent: str) -> list[str]:
    return [each["eventId"] for each in repo.json("chat", "pending", "--agent", agent).data["events"]]


# -- a message is mail


@pytest.mark.parametrize(
    ("text", "subject", "category", "requires_ack", "policy"),
    [
        (f'(tell @{COBALT} "The parser is done.")', "The parser is done.", "INFO", False, "may_respond"),
        (f'(ask @{COBALT} "Which format?")', "ask: Which format?", "DECISION", True, "must_respond"),
        (f"(reply @{COBALT} (json))", "reply: (json)", "INFO", False, "may_respond"),
        (f"(error @{COBALT} (no))", "error: (no)", "INFO", False, "may_respond"),
        (f"(hello @{COBALT})", "hello", "INFO", False, "ack_only"),
        (f"(bye @{COBALT})", "bye", "INFO", False, "ack_only"),
        (f"(ok @{COBALT})", "ok", "INFO", False, "ack_only"),
        (f"(cancel @{COBALT})", "cancel", "INFO", False, "ack_only"),
    ],
)
def test_a_message_is_in_the_inbox_and_in_the_chat(
    repo: Near, text: str, subject: str, category: str, requires_ack: bool, policy: str
):
    event = say(repo, AMBER, text)["event_id"]
    (letter,) = mail(repo, COBALT)

    assert (letter["message_id"], letter["from_agent"], letter["body"]) == (event, AMBER, text)
    assert (letter["subject"], letter["category"], letter["requires_ack"]) == (subject, category, requires_ack)
    assert chat(repo, COBALT) == [(event, policy)]
    assert waiting(repo, COBALT) == ([event] if policy == "must_respond" else [])
    assert mail(repo, AMBER) == []


def test_a_message_is_sent_in_its_canonical_form(repo: Near):
    found = say(repo, AMBER, f"(tell   @{COBALT} ( a  1.50 ) ) ; really")
    assert found["text"] == f"(tell @{COBALT} (a 1.5))" == texts(repo, COBALT)[0]


def test_a_message_may_come_from_stdin(repo: Near):
    found = repo.json("cbcl", "send", "-", "--agent", AMBER, stdin=f'(tell @{COBALT} "x")')
    assert found.data["to"] == [COBALT]


def test_a_thread_is_the_thread_of_the_mail_and_a_bead_its_bead(repo: Near):
    say(repo, AMBER, f"(ask @{COBALT} (which) :thread format :bead bb-1)")
    say(repo, AMBER, f"(ask @{COBALT} (what))")
    other, first = mail(repo, COBALT)
    assert (first["thread_id"], first["bead_id"]) == ("format", "bb-1")
    assert (other["thread_id"].startswith("cbcl:m-"), other["bead_id"]) == (True, "")


def test_the_person_is_told_and_tells(repo: Near):
    say(repo, AMBER, "(ask @user (may I))")
    assert [each["body"] for each in mail(repo, "user")] == ["(ask @user (may I))"]
    assert hear(repo, "user")[0]["status"] == "ok"
    say(repo, "user", f'(reply @{AMBER} "Yes")')
    hear(repo, AMBER)
    assert pending(repo, AMBER) == pending(repo, "user") == ([], [], 0)


# -- hearing


def test_what_is_heard_is_seen_and_remembered(repo: Near):
    event = say(repo, AMBER, f'(tell @{COBALT} "Done.")')["event_id"]
    (found,) = hear(repo, COBALT)

    assert found == {
        "event_id": event,
        "id": found["id"],
        "from": AMBER,
        "text": f'(tell @{COBALT} "Done.")',
        "says": f'(tell @{COBALT} "Done.")',
        "status": "ok",
        "verified": {"state": "unsigned", "key": None, "demanded": "off"},
        "comes_to": [],
        "replies": [],
        "passed_on": [],
        "unsent": [],
        "effects": [{"effect": "believed", "who": AMBER}],
    }
    assert mail(repo, COBALT)[0]["state"] == "read"
    assert beliefs(repo, COBALT) == beliefs(repo, AMBER) == [(AMBER, '"Done."')]


def test_nothing_is_heard_twice(repo: Near):
    say(repo, AMBER, f"(hello @{COBALT})")
    assert len(hear(repo, COBALT)) == 1
    assert hear(repo, COBALT) == []
    assert len(texts(repo, AMBER)) == 1


def test_what_has_come_is_heard_oldest_first_and_no_more_than_asked_for(repo: Near):
    for n in range(5):
        say(repo, AMBER, f"(tell @{COBALT} (n {n}))")
    found = repo.json("cbcl", "hear", "--agent", COBALT, "--limit", "2").data
    assert ([each["text"][-3:-1] for each in found["heard"]], found["left"]) == (["0)", "1)"], 3)
    assert len(hear(repo, COBALT)) == 3


def test_who_sends_hears_first(repo: Near):
    say(repo, AMBER, f"(ask @{COBALT} (x))")
    found = say(repo, COBALT, f"(reply @{AMBER} (y))")

    assert [each["text"] for each in found["heard"]] == [f"(ask @{COBALT} (x))"]
    assert pending(repo, COBALT) == ([], [], 0)


def test_ordinary_mail_is_nothing_to_hear(repo: Near):
    letter = ["--to", COBALT, "--category", "INFO", "--bead", "bb-1", "--subject", "x", "--body", f"(hello @{COBALT})"]
    assert repo.bb("agent", "send", "--from", AMBER, *letter).status == 0
    assert hear(repo, COBALT) == []


# -- ask and answer


@pytest.mark.parametrize("how", ["reply", "error"])
@pytest.mark.parametrize("about", ["", ":in-reply-to q", ':thread "t"', ":in-reply-to EVENT"])
def test_an_answer_settles_the_ask_its_mail_and_its_attention(repo: Near, how: str, about: str):
    named = ":thread t" if "thread" in about else ":id q"
    event = say(repo, AMBER, f"(ask @{COBALT} (x) {named})")["event_id"]
    assert len(pending(repo, AMBER)[0]) == 1
    hear(repo, COBALT)
    assert len(pending(repo, COBALT)[1]) == 1

    answer = say(repo, COBALT, f"({how} @{AMBER} (y) {about.replace('EVENT', chr(34) + event + chr(34))})")

    assert pending(repo, COBALT) == ([], [], 0)
    assert mail(repo, COBALT)[0]["state"] == "acked"
    assert waiting(repo, COBALT) == []
    (letter,) = mail(repo, AMBER)
    assert letter["thread_id"] == mail(repo, COBALT)[0]["thread_id"] == answer["thread_id"]
    assert pending(repo, AMBER)[2] == 1
    (heard,) = hear(repo, AMBER)
    assert {"effect": "settled", "to": COBALT, "how": "replied" if how == "reply" else "failed"}.items() <= (
        heard["effects"][-1].items()
    )
    assert pending(repo, AMBER) == ([], [], 0)


def test_ok_accepts_an_ask_and_leaves_it_owed(repo: Near):
    say(repo, AMBER, f"(ask @{COBALT} (x) :thread t)")
    say(repo, COBALT, f"(ok @{AMBER} :thread t)")
    assert mail(repo, COBALT)[0]["state"] == "acked"
    assert len(pending(repo, COBALT)[1]) == 1
    hear(repo, AMBER)
    assert len(pending(repo, AMBER)[0]) == 1


def test_cancel_closes_what_was_asked_on_both_sides(repo: Near):
    event = say(repo, AMBER, f"(ask @{COBALT} (x) :id q)")["event_id"]
    hear(repo, COBALT)
    assert waiting(repo, COBALT) == [event]

    say(repo, AMBER, f"(cancel @{COBALT} :id q)")
    (found,) = hear(repo, COBALT)

    assert found["replies"] == [f"(ok @{AMBER} :in-reply-to q)"]
    assert pending(repo, COBALT) == ([], [], 0)
    assert waiting(repo, COBALT) == []
    assert [each["state"] for each in mail(repo, COBALT)] == ["read", "acked"]
    assert pending(repo, AMBER) == ([], [], 1)


def test_nobody_takes_over_an_answer_by_asking_under_the_same_name(repo: Near):
    repo.json("agent", "register", "--name", WREN, "--role", "builder")
    wanted = say(repo, AMBER, f"(ask @{COBALT} (x) :id q)")["event_id"]
    other = say(repo, WREN, f"(ask @{COBALT} (y) :id q)")["event_id"]

    say(repo, COBALT, f"(reply @{AMBER} (z) :in-reply-to q)")

    assert waiting(repo, COBALT) == [other]
    states = {each["message_id"]: each["state"] for each in mail(repo, COBALT)}
    assert states == {wanted: "acked", other: "read"}
    assert len(pending(repo, COBALT)[1]) == 1


def test_an_ask_with_a_timeout_is_overdue_once_that_has_passed(repo: Near):
    say(repo, AMBER, f"(ask @{COBALT} (x) :timeout 30)")
    (early,) = repo.json("cbcl", "pending", "--agent", AMBER).data["expects"]
    (late,) = repo.json("cbcl", "pending", "--agent", AMBER, BB_NOW="2026-01-05T12:00:31.000Z").data["expects"]
    assert (early["due_at"], early["is_overdue"]) == ("2026-01-05T12:00:30.000Z", False)
    assert late["is_overdue"]
    assert "overdue" in repo.bb("cbcl", "pending", "--agent", AMBER, BB_NOW="2026-01-05T12:00:31.000Z").out


@pytest.mark.parametrize("timeout", ['"30"', "0", "-1", "1.5", "(30)", "9" * 5000, "soon"])
def test_any_other_timeout_is_none(repo: Near, timeout: str):
    say(repo, AMBER, f"(ask @{COBALT} (x) :timeout {timeout})")
    (found,) = repo.json("cbcl", "pending", "--agent", AMBER).data["expects"]
    assert (found["due_at"], found["is_overdue"]) == (None, False)


def test_looking_changes_nothing(repo: Near):
    say(repo, AMBER, f"(ask @{COBALT} (x) :thread t)")
    before = repo.journal().read_bytes()
    for verb in (["pending"], ["beliefs"], ["conversations"], ["conversations", "t"], ["dialect", "list"]):
        assert repo.bb("cbcl", *verb, *([] if verb[0] == "dialect" else ["--agent", COBALT])).status == 0
    assert repo.journal().read_bytes() == before


# -- conversations


def test_a_conversation_is_what_both_have_said(repo: Near):
    say(repo, AMBER, f'(ask @{COBALT} "Which?" :thread "the format" :id q)')
    say(repo, COBALT, f'(reply @{AMBER} "JSON" :thread "the format")')
    say(repo, AMBER, f'(cancel @{COBALT} :thread "the format")')
    hear(repo, COBALT)

    for agent in (AMBER, COBALT):
        (thread,) = repo.json("cbcl", "conversations", "--agent", agent).data["conversations"]
        assert (thread["thread"], thread["messages"], thread["last"]["performative"]) == ("the format", 3, "cancel")
        said = repo.json("cbcl", "conversations", "the format", "--agent", agent).data["messages"]
        assert [(each["from"], each["performative"]) for each in said] == [
            (AMBER, "ask"),
            (COBALT, "reply"),
            (AMBER, "cancel"),
        ]
        assert said[0]["text"] == f'(ask @{COBALT} "Which?" :thread "the format" :id q)'
    assert repo.json("cbcl", "conversations", "other", "--agent", AMBER).data["messages"] == []


def test_a_thread_that_is_spelt_like_the_content_is_still_that_thread(repo: Near):
    say(repo, AMBER, f'(tell @{COBALT} (a b) :thread "(a b)")')
    hear(repo, COBALT)
    for agent in (AMBER, COBALT):
        (thread,) = repo.json("cbcl", "conversations", "--agent", agent).data["conversations"]
        assert thread["thread"] == "(a b)"


def test_sessions_begin_and_end(repo: Near):
    say(repo, AMBER, f"(hello @{COBALT})")
    assert hear(repo, COBALT)[0]["replies"] == [f"(hello @{AMBER})"]
    for agent in (AMBER, COBALT, AMBER, COBALT):
        assert all(each["replies"] == [] for each in hear(repo, agent))
    say(repo, AMBER, f"(ask @{COBALT} (x))")
    say(repo, COBALT, f"(bye @{AMBER})")
    (found,) = hear(repo, AMBER)
    assert [each["effect"] for each in found["effects"]] == ["parted", "settled"]
    assert pending(repo, AMBER) == ([], [], 0)


# -- dialects between agents


def test_what_is_said_in_a_dialect_goes_to_whom_it_comes_to(repo: Near):
    assert install(repo, WORK).status == 0
    found = say(repo, AMBER, '(lang work (task "x" :thread t))')

    assert found["to"] == [COBALT]
    assert mail(repo, COBALT)[0]["subject"] == 'work: task "x" :thread t'
    hear(repo, COBALT)
    assert (pending(repo, AMBER)[0], pending(repo, COBALT)[1]) == ([found["id"]], [found["id"]])
    say(repo, COBALT, f'(reply @{AMBER} "y" :thread t)')
    hear(repo, AMBER)
    assert pending(repo, AMBER) == pending(repo, COBALT) == ([], [], 0)


def test_a_dialect_nobody_speaks_is_answered_with_an_error_that_is_not_answered(repo: Near):
    say(repo, AMBER, "(lang chess (move))", "--to", COBALT)
    (found,) = hear(repo, COBALT)

    assert (found["status"], found["code"]) == ("error", "UNKNOWN_DIALECT")
    assert 'code "UNKNOWN_DIALECT"' in texts(repo, AMBER)[0]
    assert hear(repo, AMBER)[0]["replies"] == []
    assert hear(repo, COBALT) == []


def test_a_query_is_answered_when_it_is_heard(repo: Near):
    install(repo, WORK)
    asked = repo.json("cbcl", "dialect", "query", "work", "--to", COBALT, "--agent", AMBER).data
    assert pending(repo, AMBER)[0] == [asked["id"]]
    (heard,) = hear(repo, COBALT)
    assert (asked["to"], asked["event_id"]) == ([COBALT], heard["event_id"])
    (found,) = hear(repo, AMBER)
    assert found["text"] == f'(reply @{AMBER} "yes" :dialects (work) :in-reply-to {asked["id"]})'
    assert pending(repo, AMBER) == ([], [], 0)


def relaying(repo: Near) -> Near:
    """REPO, whose user lets agents pass on what is for others."""
    assert repo.bb("cbcl", "policy", "--relay", "on").status == 0
    assert install(repo, WORK).status == 0
    return repo


FOR_WREN = f'(envelope :to @{COBALT} (lang work (pass @{WREN} "x")))'


def test_what_is_for_a_third_is_passed_on_where_the_policy_says_so(repo: Near):
    relaying(repo).json("agent", "register", "--name", WREN, "--role", "builder")
    say(repo, AMBER, FOR_WREN)
    (found,) = hear(repo, COBALT)

    assert (found["passed_on"], found["unsent"]) == ([{"to": WREN, "text": f'(tell @{WREN} "x")'}], [])
    hear(repo, WREN)
    assert beliefs(repo, WREN) == [(COBALT, '"x"')]


def test_what_is_for_nobody_who_is_here_is_said_not_to_be_sent(repo: Near):
    say(relaying(repo), AMBER, FOR_WREN)
    told = repo.bb("cbcl", "hear", "--agent", COBALT)
    assert told.status == 0
    assert f"not sent  to {WREN}: not in service here" in told.out


def test_else_nobody_says_in_ones_own_name_what_another_has_made_up(repo: Near):
    install(repo, WORK)
    repo.json("agent", "register", "--name", WREN, "--role", "builder")
    say(repo, AMBER, FOR_WREN)
    (found,) = hear(repo, COBALT)
    assert (found["status"], found["passed_on"], texts(repo, WREN)) == ("ok", [], [])


def test_what_a_dialect_says_to_several_reaches_each_of_them_once(repo: Near):
    relaying(repo).json("agent", "register", "--name", WREN, "--role", "builder")
    both = dialect(f"(extend all (what) ((tell @{COBALT} what) (tell @{WREN} what)))", name="all", author="@lab")
    assert install(repo, both).status == 0

    assert say(repo, AMBER, '(lang all (all "x"))')["to"] == [COBALT, WREN]

    for agent in (COBALT, WREN):
        assert [each["passed_on"] for each in hear(repo, agent)] == [[]]
        assert beliefs(repo, agent) == [(AMBER, '"x"')]


def test_a_dialect_may_be_defined_by_saying_so(repo: Near):
    found = say(repo, AMBER, f"(meta {WORK})")
    assert (found["event_id"], found["to"], [each["effect"] for each in found["effects"]]) == (None, [], ["installed"])
    assert say(repo, AMBER, '(lang work (note "x"))')["to"] == [COBALT]


# -- what is not said


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["(tell"], (2, "SYNTAX_ERROR")),
        ([""], None),
        ([f"(tell @{WREN} (x))"], (3, "UNKNOWN_RECIPIENT")),
        ([f"(tell @{COBALT} (x))", "--to", WREN], (2, "OTHER_RECIPIENT")),
        (["(meta (query (speak? work)))"], (2, "NO_RECIPIENT")),
        (["(meta (query (speak? work)))", "--to", WREN], (3, "UNKNOWN_RECIPIENT")),
        (["(lang chess (move))"], (3, "UNKNOWN_DIALECT")),
        ([f"(envelope :from @{COBALT} (tell @{COBALT}))"], (4, "SENDER_MISMATCH")),
        ([f'(tell @{COBALT} "{"x" * 263_000}")'], (4, "RESOURCE_LIMIT")),
        ([f'(tell @{COBALT} "ghp_{"aZ09" * 9}")'], (4, "SECRET_FOUND")),
    ],
)
def test_what_cannot_be_sent_is_refused_and_recorded_nowhere(
    repo: Near, words: list[str], found: tuple[int, str] | None
):
    before = repo.journal().read_bytes()
    refusal = refused(repo, "cbcl", "send", *words, "--agent", AMBER)
    assert found in (None, refusal), refusal
    assert refusal[0] != 1
    assert repo.journal().read_bytes() == before


@pytest.mark.parametrize(
    "verb", [["hear"], ["pending"], ["beliefs"], ["conversations"], ["send", f"(hello @{COBALT})"]]
)
def test_nobody_talks_in_the_name_of_an_agent_that_is_not_here(repo: Near, verb: list[str]):
    assert refused(repo, "cbcl", *verb, "--agent", WREN) == (3, "AGENT_NOT_FOUND")
    assert refused(repo, "cbcl", *verb)[1] == "NO_AGENT"
    repo.json("agent", "register", "--name", WREN, "--role", "builder")
    repo.json("agent", "retire", "--agent", WREN)
    if verb[0] in ("hear", "send"):
        assert refused(repo, "cbcl", *verb, "--agent", WREN)[1] == "AGENT_RETIRED"


def test_the_same_request_under_one_key_is_one_message(repo: Near):
    first, again = (say(repo, AMBER, f"(ask @{COBALT} (x))", "--key", "k-1") for _ in range(2))
    assert first["event_id"] == again["event_id"]
    assert len(texts(repo, COBALT)) == 1
    assert refused(repo, "cbcl", "send", f"(ask @{COBALT} (y))", "--agent", AMBER, "--key", "k-1")[1] == "KEY_REUSED"


def test_what_was_said_under_a_key_is_answered_as_it_was_then_whatever_has_come_since(repo: Near):
    say(repo, AMBER, f"(ask @{COBALT} (x) :id q :thread t)")
    hear(repo, COBALT)
    answer = f"(reply @{AMBER} (y) :thread t)"
    first = say(repo, COBALT, answer, "--key", "k-1")
    assert [each["effect"] for each in first["effects"]] == ["entered", "discharged"]
    repo.json("agent", "retire", "--agent", AMBER)

    assert say(repo, COBALT, answer, "--key", "k-1") == first


def test_what_looks_like_a_secret_and_was_let_through_is_heard(repo: Near):
    """Also where it is recorded once more, as what a dialect made of it."""
    install(repo, WORK)
    secret = "ghp_" + "aZ09" * 9
    for text in (f'(tell @{COBALT} "{secret}" :thread t)', f'(lang work (task "{secret}" :thread t))'):
        say(repo, AMBER, text, "--allow-secret", "it is none")
    assert [each["status"] for each in hear(repo, COBALT)] == ["ok", "ok"]


def test_a_message_that_cannot_be_answered_stops_no_other(repo: Near):
    long = "x" * 200_000
    say(repo, AMBER, f'(envelope :to @{COBALT} (tell @{WREN} "{long}" :id "{long[:50_000]}"))')
    say(repo, AMBER, f"(hello @{COBALT})")
    assert [each["status"] for each in hear(repo, COBALT)] == ["error", "ok"]


def test_what_is_too_long_to_be_passed_on_stops_no_other(repo: Near):
    relaying(repo).json("agent", "register", "--name", WREN, "--role", "builder")
    said = {"id": "q", "performative": "tell"}
    text = f"(tell @{WREN} ({'()' * 131_000}))"  # every list is followed by a space when it is said again
    forge(repo, Sent(AMBER, (COBALT,), "INFO", "x", text, "", "t", False, cbcl=said), by=AMBER)
    say(repo, AMBER, f"(hello @{COBALT})")
    assert [each["unsent"] for each in hear(repo, COBALT)] == [[WREN], []]


def test_whoever_has_left_is_not_answered(repo: Near):
    say(repo, AMBER, f"(hello @{COBALT})")
    repo.json("agent", "retire", "--agent", AMBER)
    (found,) = hear(repo, COBALT)
    assert (found["status"], found["unsent"]) == ("ok", [AMBER])


def test_who_hears_is_alive(repo: Near):
    later = "2026-01-05T13:00:00.000Z"
    assert repo.bb("cbcl", "hear", "--agent", COBALT, BB_NOW=later).status == 0
    assert len(log(repo, "x.bb.seen")) <= 1


# -- what a newcomer stumbled over


def test_who_is_named_twice_gets_it_once(repo: Near):
    said = say(repo, AMBER, f'(tell @{COBALT} "once")', "--to", COBALT, "--to", f"@{COBALT}")
    assert said["to"] == [COBALT]
    assert [each["event_id"] for each in hear(repo, COBALT)] == [said["event_id"]]


def test_a_question_that_a_dialect_asks_is_a_question_as_any_other(repo: Near):
    install(
        repo, dialect(f'(extend review (what) ((tell @{COBALT} "Hello") (ask @{COBALT} what :timeout 60)))', name="r")
    )
    say(repo, AMBER, '(lang r (review "a.py"))')
    (letter,) = mail(repo, COBALT)
    assert (letter["category"], letter["requires_ack"], letter["subject"]) == ("DECISION", True, 'r: review "a.py"')
    hear(repo, COBALT)

    for agent, whose in ((AMBER, "expects"), (COBALT, "owes")):
        (opened,) = repo.json("cbcl", "pending", "--agent", agent).data[whose]
        assert opened["due_at"] == "2026-01-05T12:01:00.000Z"
    say(repo, COBALT, f'(reply @{AMBER} "Fine")')
    assert mail(repo, COBALT)[0]["state"] == "acked"


def test_a_question_that_was_asked_twice_is_settled_once_and_for_all(repo: Near):
    for _ in range(2):
        say(repo, AMBER, f'(ask @{COBALT} "Q?")')
    say(repo, COBALT, f'(reply @{AMBER} "A")')
    assert [each["state"] for each in mail(repo, COBALT)] == ["acked", "acked"]


def test_an_answer_that_settles_nothing_is_told_so(repo: Near):
    say(repo, AMBER, f'(ask @{COBALT} "Q?" :id q)')
    hear(repo, COBALT)
    for text, settles_nothing in (
        (f'(reply @{AMBER} "A" :in-reply-to nothing)', True),
        (f"(cancel @{AMBER})", True),
        (f'(tell @{AMBER} "A")', False),
        (f'(reply @{AMBER} "A" :in-reply-to q)', False),
        (f'(reply @{AMBER} "A" :in-reply-to q)', True),
    ):
        assert say(repo, COBALT, text)["settles_nothing"] is settles_nothing, text
    assert "it closes no question" in repo.bb("cbcl", "send", f"(cancel @{AMBER})", "--agent", COBALT).out


def test_an_answer_may_name_its_own_copy_of_what_went_to_several(repo: Near):
    install(repo, dialect(f"(extend all (what) ((ask @{COBALT} what) (ask @{WREN} what)))", name="r"))
    assert repo.bb("agent", "register", "--name", WREN, "--role", "builder").status == 0
    said = say(repo, AMBER, '(lang r (all "Q?"))')
    (letter,) = mail(repo, COBALT)
    assert letter["message_id"] != said["event_id"]
    say(repo, COBALT, f'(reply @{AMBER} "A" :in-reply-to "{letter["message_id"]}")')
    assert pending(repo, COBALT)[1] == []
    hear(repo, AMBER)
    expects = repo.json("cbcl", "pending", "--agent", AMBER).data["expects"]
    assert [each["to"] for each in expects] == [WREN]


def test_what_may_not_be_said_makes_nobody_hear(repo: Near):
    install(repo, WORK)
    say(repo, AMBER, f'(ask @{COBALT} "Q?" :id q)')
    for text in ("(reply", "(lang work (nothing))", f"(tell @{WREN} (x))"):
        assert repo.bb("cbcl", "send", text, "--agent", COBALT).status != 0
    assert [each["text"] for each in hear(repo, COBALT)] == [f'(ask @{COBALT} "Q?" :id q)']


def test_what_a_dialect_made_of_a_message_is_told_to_its_hearer(repo: Near):
    install(repo, WORK)
    say(repo, AMBER, '(lang work (task "x" :thread t))')
    (found,) = hear(repo, COBALT)
    assert found["comes_to"] == [f'(ask @{COBALT} (done "x") :thread t)']
