"""What reserve, renew and release print: a count and a list first, each thing once, and times as lengths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER, WREN, after, crew
from tests.support import Scratch

WHEN = re.compile(r"\d{4}-\d\d-\d\dT")


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    found = crew(tmp_path / "repo", OTTER, HARBOR, WREN)
    for name in ("a.py", "b.py", "c.py"):
        (found.path / name).touch()
    return found


def said(repo: Scratch, verb: str, agent: str, *words: str) -> list[str]:
    ran = repo.bb("agent", verb, "--agent", agent, *words)
    assert ran.status == 0, ran.err
    assert not WHEN.search(ran.out)
    return ran.out.splitlines()


def scopes(*names: str) -> list[str]:
    return [word for name in names for word in ("--scope", name)]


def test_a_reservation_of_three_paths_looks_like_three(repo: Scratch):
    assert said(repo, "reserve", OTTER, *scopes("a.py", "b.py", "c.py")) == ["3 reserved for 2h: a.py, b.py, c.py"]
    assert said(repo, "renew", OTTER, "--all", "--ttl", "90") == ["3 renewed for 1h 30m: a.py, b.py, c.py"]
    assert said(repo, "release", OTTER, *scopes("a.py", "c.py")) == ["2 released: a.py, c.py"]
    assert said(repo, "release", OTTER, "--all") == ["1 released: b.py"]
    assert said(repo, "release", OTTER, "--all") == ["You held nothing."]
    assert said(repo, "renew", OTTER, "--all") == ["You hold nothing."]


def test_renewals_of_different_lengths_are_counted_by_length(repo: Scratch):
    said(repo, "reserve", OTTER, *scopes("a.py", "b.py"), "--ttl", "45")
    said(repo, "reserve", OTTER, *scopes("c.py"))
    assert said(repo, "renew", OTTER, "--all") == ["2 renewed for 45m: a.py, b.py", "1 renewed for 2h: c.py"]


def test_paths_that_are_not_there_are_said_in_one_line(repo: Scratch):
    assert said(repo, "reserve", OTTER, *scopes("a.py", "new.py", "src"))[1:] == ["Note: not there yet: new.py, src"]


def test_a_place_in_line_says_what_is_in_the_way_of_each_scope(repo: Scratch):
    said(repo, "reserve", OTTER, *scopes("a.py"), "--ttl", "60")

    assert said(repo, "reserve", HARBOR, *scopes("a.py", "b.py"), "--queue", "--deadline", "45") == [
        "In line for a.py, b.py: position 1, for 45m",
        "  a.py: held by amber-otter, 1h left",
        "  b.py: free now",
        "Nothing is reserved yet. You get a message when all of it is yours; to leave the line, release it.",
        "To have what is free now: bb reserve b.py",
    ]
    assert said(repo, "reserve", WREN, *scopes("b.py"), "--queue")[:2] == [
        "In line for b.py: position 2, for 2h",
        "  b.py: free, but cobalt-harbor came first",
    ]
    assert said(repo, "renew", OTTER, "--all") == ["1 renewed for 1h: a.py", "cobalt-harbor waits for a.py"]
    assert said(repo, "release", WREN, *scopes("b.py")) == ["No longer in line for b.py"]


def test_status_shows_the_line_with_positions(repo: Scratch):
    said(repo, "reserve", OTTER, *scopes("a.py"))
    said(repo, "reserve", HARBOR, *scopes("a.py", "b.py"), "--queue")
    said(repo, "reserve", WREN, *scopes("b.py"), "--queue", "--deadline", "30")

    shown = repo.bb("status").out

    assert "1. cobalt-harbor  for a.py, b.py, held by amber-otter (2h 0m left)" in shown
    assert "2. dusty-wren  for b.py (30m left)" in shown
    rows = repo.json("status").data["waiting"]
    assert [(row["agent_id"], row["position"], row["holders"]) for row in rows] == [(HARBOR, 1, [OTTER]), (WREN, 2, [])]


def test_reservations_are_listed_with_the_time_left(repo: Scratch):
    said(repo, "reserve", OTTER, *scopes("a.py"), "--bead", "bb-1")

    shown = repo.bb("agent", "status").out

    assert "a.py  amber-otter (active)  2h 0m left [bb-1]" in shown
    assert not WHEN.search(shown)


# -- scopes that many want


def test_a_scope_that_others_held_three_times_in_the_last_hour_is_said_to_be_much_wanted(repo: Scratch):
    for agent in (HARBOR, WREN, HARBOR):
        assert "hot" not in repo.json("agent", "reserve", "--agent", agent, *scopes("a.py")).data
        said(repo, "release", agent, "--all")

    answer = repo.json("agent", "reserve", "--agent", OTTER, *scopes("a.py", "b.py")).data

    assert answer["hot"] == [{"scope": "a.py", "times": 3, "agents": [HARBOR, WREN]}]
    line = "Much wanted: a.py, held 3 times by others in the last hour; release it as soon as you can"
    assert line in said(repo, "reserve", OTTER, *scopes("a.py"))


def test_what_one_held_oneself_or_long_ago_is_not_much_wanted(repo: Scratch):
    for agent in (OTTER, OTTER, HARBOR, WREN):
        said(repo, "reserve", agent, *scopes("a.py"))
        said(repo, "release", agent, "--all")
    assert "hot" not in repo.json("agent", "reserve", "--agent", OTTER, *scopes("a.py")).data

    said(repo, "release", OTTER, "--all")
    said(repo, "reserve", WREN, *scopes("a.py"))
    said(repo, "release", WREN, "--all")
    later = after(repo, 61)
    assert "hot" not in later.json("agent", "reserve", "--agent", OTTER, *scopes("a.py")).data


def test_a_conflict_names_what_is_free_and_what_to_queue_for(repo: Scratch):
    said(repo, "reserve", OTTER, *scopes("a.py"))

    refused = repo.json("agent", "reserve", "--agent", HARBOR, *scopes("a.py", "b.py", "c d.py"))

    assert refused.envelope["error"]["hint"] == (
        "reserve what is free: `bb reserve b.py 'c d.py'`; get in line for the rest: `bb reserve a.py --queue`"
    )
