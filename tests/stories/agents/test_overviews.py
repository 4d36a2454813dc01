"""What the overviews say is so at this moment, and whatever they call a problem can be settled."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from bb.kernel import clock
from tests.stories.agents.agents_support import (
    HARBOR,
    OTTER,
    WREN,
    after,
    crew,
    inbox,
    incursions,
    reserve,
    send,
    stay,
)
from tests.support import Scratch

GIT_ALONE = os.path.dirname(shutil.which("git") or "")  # no tracker is in this folder
HANDOFF = ["--bead", "bb-1", "--subject", "Parser", "--summary", "All but dates.", "--next-action", "Dates."]


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER, HARBOR, WREN)


def problems(repo: Scratch) -> list[dict[str, Any]]:
    asked = repo.json("problems")
    found = asked.data if asked.status == 0 else asked.envelope["error"]["details"]
    assert asked.status == (4 if found["problems"] else 0)
    return found["problems"]


def in_each_others_way(repo: Scratch) -> bool:
    """Whether anybody is, which `status`, `problems` and the event itself must agree about."""
    of_status = bool(repo.json("status").data["incursions"])
    of_problems = any(problem["kind"] == "incursion" for problem in problems(repo))
    of_events = any(event["state"] == "open" for event in incursions(repo))
    assert of_status == of_problems == of_events
    return of_status


# -- in each other's way


def test_two_are_in_each_others_way_as_long_as_they_hold_anything_that_meets(repo: Scratch):
    reserve(repo, OTTER, "src").data  # noqa: B018  (must succeed)
    reserve(repo, HARBOR, "src/a.py", "--scope", "src/lib", "--allow-overlap").data  # noqa: B018
    assert in_each_others_way(repo)

    repo.json("agent", "release", "--agent", HARBOR, "--scope", "src/a.py").data  # noqa: B018
    assert in_each_others_way(repo), "src/lib is held still"

    repo.json("agent", "release", "--agent", HARBOR, "--scope", "src/lib").data  # noqa: B018
    assert not in_each_others_way(repo)

    reserve(repo, HARBOR, "src/b.py", "--allow-overlap").data  # noqa: B018
    assert in_each_others_way(repo)
    assert len(incursions(repo)) == 2
    assert len(inbox(repo, OTTER)) == 2, "its owner is told each time"


def test_to_be_refused_is_no_problem_of_anybody(repo: Scratch):
    reserve(repo, OTTER, "src").data  # noqa: B018
    assert reserve(repo, HARBOR, "src/lib").status == 7

    assert not in_each_others_way(repo)
    assert [event["state"] for event in incursions(repo)] == ["closed"]


def test_check_tells_both_that_they_overlap_and_stops_neither(repo: Scratch):
    reserve(repo, OTTER, "docs").data  # noqa: B018
    reserve(repo, HARBOR, "docs/d.md", "--allow-overlap").data  # noqa: B018
    repo.json("agent", "reserve", "--agent", WREN, "--scope", "src", "--bead", "b", "--shared").data  # noqa: B018
    repo.json("agent", "reserve", "--agent", OTTER, "--scope", "src", "--bead", "b", "--shared").data  # noqa: B018

    def verdict(agent: str, path: str) -> str:
        return repo.json("check", path, "--agent", agent).data["paths"][0]["verdict"]

    assert verdict(OTTER, "docs/d.md") == verdict(HARBOR, "docs/d.md") == "overlapping"
    assert verdict(OTTER, "docs/e.md") == "yours"
    assert verdict(OTTER, "src/a") == verdict(WREN, "src/a") == "shared"


# -- what is asked


def test_what_the_person_is_asked_is_told_word_for_word_with_a_way_to_answer(repo: Scratch):
    asked = [*HANDOFF[:4], "--blocker", "Two are in use.", "--requested-action", "Choose one.", "--urgency", "low"]
    repo.json("protocol", "blocked", "--from", OTTER, "--to", "user", *asked).data  # noqa: B018
    send(repo, HARBOR, "user", category="DECISION").data  # noqa: B018

    found = problems(repo)
    assert [problem["kind"] for problem in found] == ["asked", "asked"]
    told = repo.bb("problems").out
    for text in ("2 problems need a person", "Two are in use.", "Choose one.", "bb reply ", "bb ack "):
        assert text in told

    for problem in found:
        settle = problem["next_step"].rpartition(": ")[2]
        assert repo.bb(*settle.split()[1:]).status == 0
    assert problems(repo) == []


def test_what_a_retired_agent_owed_is_settled_when_another_is_asked(repo: Scratch):
    repo.json("protocol", "handoff", "--from", OTTER, "--to", WREN, *HANDOFF).data  # noqa: B018
    left = repo.json("agent", "retire", "--agent", WREN).data
    stay(repo, OTTER, HARBOR)

    (problem,) = problems(repo)
    assert left["not_accepted"] == [problem["message_id"]]
    assert "ask another agent" in problem["next_step"]

    sent = repo.json("protocol", "handoff", "--from", "user", "--to", HARBOR, *HANDOFF).data
    assert problems(repo) == []
    assert [message["to_agent"] for message in repo.json("status").data["unacked"]] == [HARBOR]
    repo.json("agent", "ack", "--agent", HARBOR, "--message", sent["id"]).data  # noqa: B018
    assert repo.json("status").data["unacked"] == []


@pytest.mark.parametrize(("option", "value"), [("--bead", "bb-2"), ("--from", HARBOR)])
def test_another_hand_off_by_another_or_about_another_bead_settles_nothing(repo: Scratch, option: str, value: str):
    repo.json("protocol", "handoff", "--from", OTTER, "--to", WREN, *HANDOFF).data  # noqa: B018
    repo.json("agent", "retire", "--agent", WREN).data  # noqa: B018
    words = ["--from", OTTER, "--to", "user", *HANDOFF]
    words[words.index(option) + 1] = value

    repo.json("protocol", "handoff", *words).data  # noqa: B018

    assert "not_accepted" in [problem["kind"] for problem in problems(repo)]


# -- counts


def test_how_reservations_ended_is_counted_as_it_was(repo: Scratch):
    for scope in ("given-back", "stale", "evicted", "lapsed", "kept"):
        ttl = ["--ttl", "5"] if scope == "lapsed" else []
        reserve(repo, OTTER if scope != "stale" else WREN, scope, *ttl).data  # noqa: B018
    repo.json("agent", "release", "--agent", OTTER, "--scope", "given-back").data  # noqa: B018
    reserve(after(repo, 20), HARBOR, "stale", "--takeover-stale").data  # noqa: B018
    later = after(repo, 40)
    reserve(later, HARBOR, "evicted", "--takeover-stale").data  # noqa: B018

    def summary(*words: str) -> dict[str, int]:
        return later.json("agent", "status", *words).data["summary"]

    counts = {"unacked_required_messages": 0}
    assert summary() == counts | {"active": 3, "released": 1, "expired": 2, "taken_over": 1}
    assert summary("--agent", OTTER) == counts | {"active": 1, "released": 1, "expired": 2, "taken_over": 0}
    assert summary("--bead", "bb-1") == summary()
    assert summary("--bead", "bb-9") == counts | {"active": 0, "released": 0, "expired": 0, "taken_over": 0}


# -- sessions


def test_a_conversation_is_in_the_order_of_the_ledger_whatever_the_ids(repo: Scratch):
    for number in range(12):
        send(repo, OTTER, HARBOR, "--subject", f"message {number}").data  # noqa: B018

    rows = repo.json("sessions", "show", "bb-1").data["conversation"]

    assert [row["subject"] for row in rows] == [f"message {number}" for number in range(12)]


def test_a_take_over_is_told_as_one_whether_its_holder_was_stale_or_gone(repo: Scratch):
    reserve(repo, OTTER, "src").data  # noqa: B018
    reserve(after(repo, 60), HARBOR, "src", "--takeover-stale").data  # noqa: B018

    rows = repo.json("sessions", "show", "bb-1").data["conversation"]

    told = [(row["from"], row["subject"]) for row in rows if row["type"] == "activity"]
    assert {row["scope"] for row in rows if row["type"] == "activity"} == {"src"}
    assert told == [(OTTER, "reserved src"), (HARBOR, "took over src"), (HARBOR, "reserved src")]
    assert [row["type"] for row in rows][:2] == ["activity", "activity"]


def beads(repo: Scratch, *records: dict[str, Any]) -> None:
    (repo.path / ".beads").mkdir()
    lines = [json.dumps({"title": "x", "status": "in_progress"} | record) for record in records]
    (repo.path / ".beads" / "issues.jsonl").write_text("".join(f"{line}\n" for line in lines))


def states(repo: Scratch) -> dict[str, tuple[str, str | None]]:
    feed = repo.json("sessions", "list").data["feed"]
    return {task["id"]: (task["session_state"], task["owner_liveness"]) for group in feed for task in group["tasks"]}


def test_the_owner_of_a_bead_may_be_retired_or_somebody_who_never_registered(repo: Scratch):
    beads(repo, {"id": "a", "assignee": OTTER}, {"id": "b", "assignee": WREN}, {"id": "c", "assignee": "ada@home"})
    repo.json("agent", "retire", "--agent", WREN).data  # noqa: B018

    assert states(repo) == {"a": ("active", "active"), "b": ("evicted", "evicted"), "c": ("active", None)}


def test_beads_that_are_each_others_parents_are_shown_all_the_same(repo: Scratch):
    beads(repo, {"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}, {"id": "c", "parent": "c"})

    assert states(repo).keys() == {"a", "b", "c"}


def test_the_age_of_an_export_is_told_and_that_the_tracker_has_changed_since(repo: Scratch):
    folder = repo.path / ".beads"
    folder.mkdir()
    export = folder / "issues.jsonl"
    export.write_text('{"id": "a", "title": "One", "status": "in_progress"}\n')
    (folder / "beads.db").write_text("")
    for path, hours in ((export, 3), (folder / "beads.db", 4)):
        then = clock.parse(repo.settings["BB_NOW"]) // 1000 - hours * 3600 - 20
        os.utime(path, (then, then))
    assert f"Beads: {export}, written 3h 0m ago" in repo.bb("sessions", "list", PATH=GIT_ALONE).out.splitlines()

    (folder / "beads.db").write_text("changed")

    told = repo.bb("sessions", "list", PATH=GIT_ALONE).out
    assert "the tracker has changed since issues.jsonl was written, so it may know more" in told.casefold()
    assert 3 * 3600 <= repo.json("sessions", "list", PATH=GIT_ALONE).data["beads"]["age_seconds"] < 4 * 3600


def test_a_tracker_that_cannot_be_read_is_told(repo: Scratch):
    (repo.path / ".beads" / "issues.jsonl").mkdir(parents=True)

    assert "there is no issues.jsonl" in repo.bb("sessions", "list").out
