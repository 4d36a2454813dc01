"""Nobody is left in place by a take-over, no incident is left twice, and no row is left out without a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, WREN, after, crew, reserve, send, stay
from tests.support import Scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR, WREN)


def holders(repo: Scratch) -> set[tuple[str, str]]:
    return {(each["agent_id"], each["scope"]) for each in repo.json("agent", "status").data["reservations"]}


def opened(repo: Scratch) -> list[str]:
    return [each["scope"] for each in repo.json("protocol", "incursions", "--state", "open").data]


@pytest.mark.parametrize(("minutes", "archived"), [(20, "taken_over"), (31, "expired")])
@pytest.mark.parametrize("scope", ["src", "src/parser/dates.py"])
def test_4_4_3_taking_over_with_allow_overlap_leaves_no_silent_holder_in_place(
    repo: Scratch, scope: str, minutes: int, archived: str
):
    reserve(repo, OTTER, "src/parser").data  # noqa: B018
    later = after(repo, minutes)
    taken = reserve(later, HARBOR, scope, "--takeover-stale", "--allow-overlap").data["taken_over"]

    assert [(each["agent_id"], each["state"]) for each in taken] == [(OTTER, archived)]
    assert holders(later) == {(HARBOR, scope)}


def test_a_conflict_names_the_living_and_the_silent_and_the_next_try_succeeds(repo: Scratch):
    reserve(repo, OTTER, "src/a").data  # noqa: B018
    later = after(repo, 31)
    reserve(stay(later, HARBOR), HARBOR, "src/b").data  # noqa: B018

    error = reserve(later, WREN, "src").envelope["error"]

    assert error["code"] == "RESERVATION_CONFLICT"
    assert {each["agent_id"] for each in error["details"]["conflicts"]} == {OTTER, HARBOR}
    assert all(each in error["message"] for each in (OTTER, HARBOR))
    assert "`bb reserve src --queue --takeover-stale --bead bb-1`" in error["hint"]
    assert reserve(later, WREN, "src", "--queue", "--takeover-stale").data["state"] == "queued"
    assert later.json("agent", "release", "--agent", HARBOR, "--all").status == 0
    assert holders(later) == {(WREN, "src")}


@pytest.mark.parametrize("again", ["src/parser", "src/lexer"])
def test_an_incident_that_is_opened_again_is_open_once(repo: Scratch, again: str):
    reserve(repo, OTTER, "src").data  # noqa: B018
    reserve(repo, HARBOR, "src/parser", "--allow-overlap").data  # noqa: B018
    assert opened(repo) == ["src/parser"]
    repo.json("agent", "release", "--agent", HARBOR, "--all").data  # noqa: B018
    assert opened(repo) == []

    reserve(repo, HARBOR, again, "--allow-overlap").data  # noqa: B018

    assert opened(repo) == [again]
    assert len(repo.json("protocol", "incursions", "--state", "closed").data) == 1
    assert len(repo.json("status").data["incursions"]) == 1


def test_two_scopes_at_once_are_one_incident_until_both_are_given_back(repo: Scratch):
    reserve(repo, OTTER, "src").data  # noqa: B018
    reserve(repo, HARBOR, "src/a", "--scope", "src/b", "--allow-overlap").data  # noqa: B018
    for scope, left in (("src/a", 1), ("src/b", 0)):
        repo.json("agent", "release", "--agent", HARBOR, "--scope", scope).data  # noqa: B018
        assert len(opened(repo)) == left


def test_the_timeline_since_a_time_has_all_of_it_and_says_what_a_limit_leaves_out(repo: Scratch):
    for _ in range(40):
        send(repo, OTTER, HARBOR).data  # noqa: B018

    since = repo.json("timeline", "--since", "1h")
    assert len(since.data) > 40
    assert "more" not in since.envelope
    cut = repo.json("timeline", "--since", "1h", "--limit", "10")
    assert (len(cut.data), cut.envelope["more"]["omitted"]) == (10, len(since.data) - 10)
    assert "--limit" in cut.envelope["more"]["hint"]
    lately = repo.json("timeline")
    assert len(lately.data) == 30
    assert lately.envelope["more"]["hint"]
    assert "older events omitted" in repo.bb("timeline").err


LISTS = (
    ("agent", "inbox", "--agent", HARBOR),
    ("protocol", "list"),
    ("protocol", "incursions"),
    ("ledger", "log"),
    ("events",),
    ("events", "--since-seq", "1"),
    ("timeline",),
)


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_no_list_is_cut_without_a_word(repo: Scratch, words: tuple[str, ...]):
    reserve(repo, OTTER, "src").data  # noqa: B018
    for scope in ("src/a", "src/b"):
        reserve(repo, HARBOR, scope, "--allow-overlap").data  # noqa: B018
    for _ in range(3):
        send(repo, OTTER, HARBOR).data  # noqa: B018
    whole = repo.json(*words)
    assert "more" not in whole.envelope
    count = len(whole.data)

    cut = repo.json(*words, "--limit", str(count - 1))

    assert (len(cut.data), bool(cut.envelope["more"]["hint"])) == (count - 1, True)
    assert re.search("left out|omitted", repo.bb(*words, "--limit", str(count - 1)).err)
    for limit in (count, count + 1):
        assert "more" not in repo.json(*words, "--limit", str(limit)).envelope
        assert repo.bb(*words, "--limit", str(limit)).err == ""


def test_what_is_told_and_what_waits_says_that_there_is_more(repo: Scratch):
    for number in range(3):
        words = ("cbcl", "send", f'(tell @{HARBOR} "news {number}" :thread t{number})', "--agent", OTTER)
        assert repo.json(*words).status == 0
        assert repo.json("chat", "send", "hello", "--to", HARBOR, "--by", "user").status == 0
    lists = (
        ("cbcl", "beliefs", "--agent", OTTER),
        ("cbcl", "conversations", "--agent", OTTER),
        ("chat", "inbox", "--actor-id", HARBOR),
    )
    for words in lists:
        assert "has_more" not in repo.json(*words).data
        assert repo.json(*words, "--limit", "1").data["has_more"] is True
        assert "more rows exist" in repo.bb(*words, "--limit", "1").err
