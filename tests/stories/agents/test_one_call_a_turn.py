"""One call a turn: proof of life, and everything that is new, told once to a session by whatever asks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bb.coordination.holdings import places
from bb.ops.desk import line
from tests.faces.screens.test_screens import tokens_of
from tests.hostile import EVERYTHING, RAW
from tests.stories.agents.agents_support import HARBOR, OTTER, WREN, after, crew, reserve, send
from tests.stories.editors.editors_support import context, hook
from tests.support import Ran, Scratch, environment
from tests.waiting import PATIENCE, until


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR)


def turn(repo: Scratch, agent: str = OTTER, *more: str, **settings: str) -> dict[str, Any]:
    return repo.json("turn", "--agent", agent, *more, **settings).data


def prompted(repo: Scratch, agent: str = OTTER, **more: Any) -> str:
    return context(hook(repo, "prompt", "claude/prompt", "--agent", agent, **more))


def hand_over(repo: Scratch, sender: str, to: str) -> str:
    words = ["--bead", "bb-1", "--subject", "Parser", "--summary", "All but dates.", "--next-action", "Dates."]
    return str(repo.json("protocol", "handoff", "--from", sender, "--to", to, *words).data["id"])


def test_without_news_nothing_is_said(repo: Scratch):
    assert turn(repo) == {}
    assert (repo.bb("turn", "--agent", OTTER).out, repo.bb("turn", "--agent", OTTER).status) == ("", 0)


def test_a_turn_is_a_sign_of_life(repo: Scratch):
    later = after(repo, 10)

    turn(later)

    assert later.json("agent", "show", "--agent", OTTER).data["last_seen_at"] == later.settings["BB_NOW"]


def test_who_is_unknown_or_retired_is_told_so(repo: Scratch):
    assert repo.json("turn").code == "NO_AGENT"
    assert repo.json("turn", "--agent", "nobody-here").code == "AGENT_NOT_FOUND"
    repo.json("agent", "retire", "--agent", OTTER).data  # noqa: B018
    assert repo.json("turn", "--agent", OTTER).code == "AGENT_RETIRED"


def test_unread_mail_is_told_once_newest_first_and_stays_unread(repo: Scratch):
    first = send(repo, HARBOR, OTTER, "--subject", "One").data["message_id"]
    second = send(repo, HARBOR, OTTER, "--subject", "Two").data["message_id"]

    assert turn(repo) == {
        "unread": [
            {"id": second, "from": HARBOR, "subject": "Two"},
            {"id": first, "from": HARBOR, "subject": "One"},
        ]
    }
    assert turn(repo) == {}
    assert [each["state"] for each in repo.json("agent", "inbox", "--agent", OTTER).data] == ["unread"] * 2


def test_what_is_to_accept_is_told_as_that_and_again_if_asked(repo: Scratch):
    message = hand_over(repo, HARBOR, OTTER)
    row = {"id": message, "from": HARBOR, "category": "HANDOFF", "subject": "Parser"}

    assert turn(repo) == {"to_accept": [row]}
    assert turn(repo) == {}
    assert turn(repo, OTTER, "--all") == {"to_accept": [row]}


def test_whoever_handed_over_learns_that_it_was_accepted(repo: Scratch):
    message = hand_over(repo, OTTER, HARBOR)
    assert turn(repo) == {}
    repo.json("agent", "ack", "--agent", HARBOR, "--message", message).data  # noqa: B018

    assert turn(repo) == {"accepted": [{"id": message, "by": HARBOR, "subject": "Parser"}]}
    assert turn(repo) == {}


def test_what_need_not_be_accepted_is_no_news_to_its_sender(repo: Scratch):
    message = send(repo, OTTER, HARBOR).data["message_id"]
    repo.json("agent", "ack", "--agent", HARBOR, "--message", message).data  # noqa: B018

    assert turn(repo) == {}


def test_each_loss_is_told_with_who_and_how(repo: Scratch):
    for scope in ("a", "b", "c", "d"):
        reserve(repo, OTTER, scope)
    assert turn(repo) == {}
    repo.json("agent", "release", "--agent", "user", "--scope", "a").data  # noqa: B018
    repo.json("agent", "transfer", "--agent", "user", "--scope", "b", "--to", HARBOR).data  # noqa: B018
    repo.json("agent", "release", "--agent", OTTER, "--scope", "c").data  # noqa: B018  (its own act is no news)
    later = after(repo, 20)
    later.json("agent", "heartbeat", "--agent", HARBOR).data  # noqa: B018
    assert reserve(later, HARBOR, "d", "--takeover-stale").status == 0

    lost = {(each["scope"], each["how"], each["by"], each.get("to")) for each in turn(later)["lost"]}

    assert lost == {
        ("a", "released", "user", None),
        ("b", "transferred", "user", HARBOR),
        ("d", "taken_over", HARBOR, None),
    }
    assert "lost" not in turn(later)


def test_a_reservation_that_was_not_renewed_for_a_day_is_lost(repo: Scratch):
    reserve(repo, OTTER, "src")
    for hours in range(24):
        after(repo, 60 * hours).json("agent", "heartbeat", "--agent", OTTER).data  # noqa: B018
    late = after(repo, 24 * 60 + 1)

    assert [(each["scope"], each["how"]) for each in turn(late)["lost"]] == [("src", "expired")]
    assert turn(late) == {}


def test_old_losses_and_acceptances_are_no_news_to_a_session_that_begins(repo: Scratch):
    reserve(repo, OTTER, "src")
    repo.json("agent", "release", "--agent", "user", "--scope", "src").data  # noqa: B018
    repo.json("agent", "ack", "--agent", HARBOR, "--message", hand_over(repo, OTTER, HARBOR)).data  # noqa: B018
    soon, late = after(repo, 60), after(repo, 60 * 48)

    assert set(turn(soon, BB_SESSION="one")) == {"lost", "unread", "accepted"}
    assert set(turn(late, BB_SESSION="two")) == {"unread"}
    assert turn(late, BB_SESSION="two") == {}


def test_the_persons_orders_are_told_once_and_again_if_asked(repo: Scratch):
    reserve(repo, OTTER, "src")
    repo.json("freeze", "src/a", "--why", "release").data  # noqa: B018
    repo.json("agent", "pause", "--all", "--why", "wait").data  # noqa: B018

    told = turn(repo)

    assert told["frozen"] == [{"scope": "src/a", "until": None, "why": "release"}]
    assert told["paused"]["why"] == "wait"
    assert "unread" not in told, "each order is also in the mail, and is not told twice"
    assert subjects(repo, OTTER) == ["user has paused you: wait", "user has frozen src/a: release"]
    assert turn(repo) == {}
    assert set(turn(repo, OTTER, "--all")) == {"frozen", "paused"}
    repo.json("thaw", "--all").data  # noqa: B018
    repo.json("agent", "unpause", "--all").data  # noqa: B018
    assert list(turn(repo)) == ["unread"]
    assert turn(repo, OTTER, "--all") == {}


def test_an_overlap_is_told_once(repo: Scratch):
    reserve(repo, OTTER, "src")
    reserve(repo, HARBOR, "src/a.py", "--allow-overlap")

    assert turn(repo)["contested"] == [{"with": HARBOR, "scope": "src/a.py"}]
    assert "contested" not in turn(repo)


# -- one memory


def test_what_a_turn_told_the_prompt_hook_does_not_tell_again(repo: Scratch):
    reserve(repo, OTTER, "src")
    repo.json("freeze", "src/a").data  # noqa: B018
    send(repo, HARBOR, OTTER)
    assert set(turn(repo, CLAUDE_CODE_SESSION_ID="one")) == {"frozen", "unread"}

    assert prompted(repo, session_id="one") == ""
    assert "Parser is done." in prompted(repo, session_id="another")


def test_what_the_prompt_hook_told_a_turn_does_not_tell_again(repo: Scratch):
    reserve(repo, OTTER, "src")
    repo.json("freeze", "src/a").data  # noqa: B018
    send(repo, HARBOR, OTTER)
    assert "frozen src/a" in prompted(repo, session_id="one")

    assert turn(repo, CLAUDE_CODE_SESSION_ID="one") == {}
    assert set(turn(repo, CLAUDE_CODE_SESSION_ID="two")) == {"frozen", "unread"}


def test_a_caller_without_a_session_id_has_the_memory_of_the_session_that_holds_the_name(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester", CLAUDE_CODE_SESSION_ID="one").data  # noqa: B018
    send(repo, HARBOR, WREN)
    assert "Parser is done." in prompted(repo, WREN, session_id="one", CLAUDE_CODE_SESSION_ID="one")

    assert turn(repo, WREN) == {}


def test_an_agent_is_not_told_through_the_memory_of_another(repo: Scratch):
    for agent in (OTTER, HARBOR):
        send(repo, "user", agent)
    assert list(turn(repo, OTTER, CLAUDE_CODE_SESSION_ID="one")) == ["unread"]

    assert list(turn(repo, HARBOR, CLAUDE_CODE_SESSION_ID="one")) == ["unread"]
    assert turn(repo, HARBOR, CLAUDE_CODE_SESSION_ID="one") == {}
    assert turn(repo, OTTER, CLAUDE_CODE_SESSION_ID="one") == {}


def test_an_adopter_is_told_what_the_session_before_it_was_told(repo: Scratch):
    send(repo, HARBOR, OTTER)
    assert list(turn(repo)) == ["unread"]
    reserve(repo, OTTER, "src")
    (repo.path / "src").write_text("x")
    adopted = repo.json("init", "--adopt", OTTER, "--non-interactive").data

    assert list(turn(repo, BB_SESSION=adopted["session_id"])) == ["unread"]


# -- how much


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_turn_takes_at_most_300_tokens_and_loses_nothing(repo: Scratch, form: list[str]):
    for number in range(12):
        reserve(repo, OTTER, f"src/a-rather-long-directory-name/part-{number}")
        send(repo, HARBOR, OTTER, "--subject", f"Part {number} {'x' * 150}")
    for _ in range(3):
        hand_over(repo, HARBOR, OTTER)
    repo.json("freeze", "src", "--why", "会議の準備" * 30).data  # noqa: B018
    repo.json("agent", "release", "--agent", "user", "--scope", "src/a-rather-long-directory-name/part-1").data  # noqa: B018

    texts = []
    while (text := repo.bb("turn", "--agent", OTTER, *form).out) and text.count('"data":{}') == 0:
        assert tokens_of(text) <= 300
        texts.append(text)
        assert ("bb turn --agent amber-otter" in text) is ("more" in text)

    assert 2 < len(texts) < 12
    for number in range(12):
        assert sum(f"Part {number} x" in text for text in texts) == 1


@pytest.mark.parametrize("text", EVERYTHING.values(), ids=EVERYTHING)
def test_the_words_of_others_are_harmless(repo: Scratch, text: str):
    words = " ".join(text.split())[:100]
    send(repo, HARBOR, OTTER, "--subject", words)
    repo.bb("agent", "pause", OTTER, "--why", words)

    assert not (RAW - {"\n"}) & set(repo.bb("turn", "--agent", OTTER).out)


# -- the line


def test_the_fold_of_places_is_named_as_it_is_there():
    assert (line.PLACES, line.LIVE) == (places.NAME, places.LIVE)


def test_a_place_in_line_is_news_to_its_holder_and_its_grant_to_its_agent(repo: Scratch):
    reserve(repo, OTTER, "src")
    assert turn(repo) == {}
    assert reserve(repo, HARBOR, "src/a.py", "--queue").status == 0

    assert turn(repo) == {"waiting_for_me": [{"agent_id": HARBOR, "scope": "src"}]}
    assert turn(repo) == {}
    repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018
    assert turn(repo, HARBOR) == {"granted": [{"scopes": ["src/a.py"]}]}, "and its notice is not told a second time"
    assert turn(repo, HARBOR) == {}


def test_who_waits_again_is_told_again(repo: Scratch):
    reserve(repo, OTTER, "src")
    reserve(repo, HARBOR, "src", "--queue")
    assert "waiting_for_me" in turn(repo)
    repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018
    repo.json("agent", "release", "--agent", HARBOR, "--all").data  # noqa: B018
    assert "waiting_for_me" not in turn(repo)
    reserve(repo, OTTER, "src")
    reserve(repo, HARBOR, "src", "--queue")

    assert "waiting_for_me" in turn(repo)


def test_a_turn_grants_what_became_free_because_time_passed(repo: Scratch):
    reserve(repo, OTTER, "src", "--ttl", "5")
    reserve(repo, HARBOR, "src", "--queue")
    later = after(repo, 10)

    assert turn(later, HARBOR)["granted"] == [{"scopes": ["src"]}]


# -- the person's orders: one message for each agent they concern, and so in its next turn


def subjects(repo: Scratch, agent: str) -> list[str]:
    return [each["subject"] for each in repo.json("agent", "inbox", "--agent", agent).data]


def order(repo: Scratch, *words: str) -> None:
    repo.json(*words, "--agent", "user").data  # noqa: B018  (must succeed)


def test_a_release_of_several_scopes_is_one_message_to_each_holder(repo: Scratch):
    for agent, scope in ((OTTER, "a"), (OTTER, "b"), (HARBOR, "c")):
        reserve(repo, agent, scope)

    order(repo, "agent", "release", "--scope", "a", "--scope", "b", "--scope", "c")

    assert subjects(repo, OTTER) == ["user has released your 2 reservations of a, b"]
    assert subjects(repo, HARBOR) == ["user has released your reservation of c"]
    assert {each["scope"] for each in turn(repo)["lost"]} == {"a", "b"}


def test_a_transfer_of_several_scopes_is_one_message_to_each_agent(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester").data  # noqa: B018
    for agent, scope in ((OTTER, "a"), (OTTER, "b"), (HARBOR, "c")):
        reserve(repo, agent, scope)

    order(repo, "agent", "transfer", "--scope", "a", "--scope", "b", "--scope", "c", "--to", WREN, "--why", "leave")

    assert subjects(repo, OTTER) == [f"user has transferred a, b to {WREN}: leave"]
    assert subjects(repo, HARBOR) == [f"user has transferred c to {WREN}: leave"]
    assert subjects(repo, WREN) == [f"user has transferred a, b, c to {WREN}: leave"]
    assert {(each["how"], each["to"]) for each in turn(repo)["lost"]} == {("transferred", WREN)}
    assert list(turn(repo, WREN)) == ["unread"]


def test_freeze_and_thaw_are_told_to_the_holders_there_and_a_pause_to_all_in_service(repo: Scratch):
    repo.json("agent", "register", "--name", WREN, "--role", "tester").data  # noqa: B018
    reserve(repo, OTTER, "src/a")
    reserve(repo, OTTER, "src/b")
    reserve(repo, HARBOR, "docs")
    order(repo, "freeze", "src")
    order(repo, "thaw", "src")
    order(repo, "agent", "pause", "--all")
    order(repo, "agent", "unpause", "--all")

    paused = ["user has unpaused you", "user has paused you"]
    assert subjects(repo, OTTER) == [*paused, "user has thawed src", "user has frozen src"]
    assert subjects(repo, HARBOR) == subjects(repo, WREN) == paused
    assert [each["subject"] for each in turn(repo)["unread"]] == ["user has unpaused you", "user has thawed src"]


# -- waiting


def wait(repo: Scratch, agent: str, *more: str, **settings: str) -> Ran:
    return repo.json("agent", "wait", "--agent", agent, "--timeout", "0", *more, **settings)


def blocked(repo: Scratch, agent: str, to: str) -> str:
    words = ["--bead", "bb-1", "--subject", "Format", "--blocker", "Two.", "--requested-action", "Choose."]
    return str(repo.json("protocol", "blocked", "--from", agent, "--to", to, *words, "--urgency", "low").data["id"])


def test_an_acceptance_ends_a_wait_once(repo: Scratch):
    message = hand_over(repo, OTTER, HARBOR)
    assert wait(repo, OTTER).code == "NOTHING_CAME"
    repo.json("agent", "ack", "--agent", HARBOR, "--message", message).data  # noqa: B018

    answer = wait(repo, OTTER).data

    assert (answer["messages"], answer["accepted"]) == ([], [{"id": message, "by": HARBOR, "subject": "Parser"}])
    assert wait(repo, OTTER).code == "NOTHING_CAME"
    assert turn(repo) == {}, "the wait has told it"


def test_what_a_wait_showed_is_no_news_to_the_next_turn(repo: Scratch):
    send(repo, HARBOR, OTTER)
    assert len(wait(repo, OTTER).data["messages"]) == 1

    assert turn(repo) == {}
    again = wait(repo, OTTER)
    assert (again.code, again.envelope["error"]["details"]["older_unread"]) == ("NOTHING_CAME", 1)


def test_what_a_turn_told_does_not_end_a_wait(repo: Scratch):
    send(repo, HARBOR, OTTER)
    reserve(repo, OTTER, "src")
    reserve(repo, HARBOR, "src", "--queue")
    repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018
    assert "unread" in turn(repo)
    assert "granted" in turn(repo, HARBOR)

    assert wait(repo, OTTER).code == "NOTHING_CAME"
    assert wait(repo, HARBOR).code == "NOTHING_CAME", "nor does the notice of the grant"


def test_a_granted_place_ends_a_wait(repo: Scratch):
    reserve(repo, OTTER, "src")
    reserve(repo, HARBOR, "src", "--queue")
    repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018

    told = wait(repo, HARBOR).data
    assert (told["granted"], told["messages"]) == ([{"scopes": ["src"]}], [])


def test_after_a_blocked_only_what_arrived_since_ends_a_wait(repo: Scratch):
    send(repo, HARBOR, OTTER, "--subject", "Old")
    message = blocked(repo, OTTER, HARBOR)

    refused = wait(repo, OTTER)
    assert (refused.code, refused.envelope["error"]["details"]["older_unread"]) == ("NOTHING_CAME", 1)
    assert "bb inbox --state unread" in refused.envelope["error"]["hint"]
    repo.json("agent", "ack", "--agent", HARBOR, "--message", message).data  # noqa: B018
    assert list(wait(repo, OTTER).data) == ["agent_id", "messages", "accepted", "waited_seconds", "older_unread"]
    send(repo, HARBOR, OTTER, "--subject", "Use ISO 8601")
    assert [each["subject"] for each in wait(repo, OTTER).data["messages"]] == ["Use ISO 8601"]


def test_new_ignores_acceptances_from_before(repo: Scratch):
    repo.json("agent", "ack", "--agent", HARBOR, "--message", hand_over(repo, OTTER, HARBOR)).data  # noqa: B018

    assert wait(repo, OTTER, "--new").code == "NOTHING_CAME"
    assert "accepted" in wait(repo, OTTER).data


def test_an_order_of_the_person_ends_a_wait(repo: Scratch):
    order(repo, "agent", "pause", OTTER)

    assert [each["subject"] for each in wait(repo, OTTER).data["messages"]] == ["user has paused you"]


def test_a_wait_makes_no_old_loss_news(repo: Scratch):
    reserve(repo, OTTER, "src")
    order(repo, "agent", "release", "--scope", "src")
    late = after(repo, 60 * 48)
    assert wait(late, OTTER, BB_SESSION="two").data["messages"]

    assert turn(late, BB_SESSION="two") == {}


def test_an_acceptance_wakes_a_process_that_waits(repo: Scratch):
    message = hand_over(repo, OTTER, HARBOR)
    waiting = subprocess.Popen(
        [sys.executable, "-m", "bb", "agent", "wait", "--agent", OTTER, "--timeout", "30"],
        cwd=repo.path,
        env=environment(**repo.settings),
        stdout=subprocess.PIPE,
    )
    try:
        repo.json("agent", "ack", "--agent", HARBOR, "--message", message).data  # noqa: B018
        out, _ = waiting.communicate(timeout=PATIENCE)
    finally:
        waiting.kill()

    assert out.decode() == f'{HARBOR} accepted {message}: "Parser"\n'


def test_what_a_turn_told_while_a_process_waits_is_not_told_again(repo: Scratch):
    reserve(repo, OTTER, "src")
    later = after(repo, 1)
    waiting = subprocess.Popen(
        [sys.executable, "-m", "bb", "agent", "wait", "--agent", OTTER, "--timeout", "30", "--json"],
        cwd=repo.path,
        env=environment(**later.settings),
        stdout=subprocess.PIPE,
    )
    try:
        seen = later.settings["BB_NOW"]
        until(lambda: later.json("agent", "show", "--agent", OTTER).data["last_seen_at"] == seen)
        reserve(repo, HARBOR, "src", "--queue")
        assert list(turn(later)) == ["waiting_for_me"]
        send(repo, HARBOR, OTTER)
        waiting.communicate(timeout=PATIENCE)
    finally:
        waiting.kill()

    assert turn(later) == {}
