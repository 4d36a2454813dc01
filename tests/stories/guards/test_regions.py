"""Two agents in one file: each reserves a part of it, and edits, checks and commits are judged by lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bb.ops.desk.desk import Desk
from bb.ops.guards import path_verdicts
from tests.near import Near
from tests.stories.agents.agents_support import HARBOR, OTTER, crew, log
from tests.stories.guards.guards_support import paths, staged, write
from tests.support import Ran, Scratch

NUMBER = """def roman(number):
    if number:
        return "I"
    return ""


class Number:
    def value(self):
        return 1

    def text(self):
        return "1"
"""
FILE = "src/number.py"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    repo = crew(tmp_path / "repo", OTTER, HARBOR)
    write(repo, FILE, NUMBER)
    write(repo, "README.md", "# Numbers\n\n## Install\n\nNot yet.\n\n## Use\n\nNot yet.\n")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "Files")
    return repo


def reserve(repo: Scratch, agent: str, *scopes: str) -> Ran:
    return repo.json("reserve", *scopes, "--agent", agent)


def check(repo: Scratch, agent: str, path: str) -> tuple[int, str]:
    ran = repo.json("check", path, "--agent", agent)
    return ran.status, next(iter(paths(ran).values()))


def edit(repo: Scratch, old: str, new: str, name: str = FILE) -> None:
    path = repo.path / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def held(repo: Scratch) -> dict[str, str]:
    return {row["scope"]: row["agent_id"] for row in repo.json("agent", "status").data["reservations"]}


# -- reserving


def test_two_agents_reserve_two_functions_of_one_file(repo: Scratch):
    assert reserve(repo, OTTER, f"{FILE}::roman").status == 0
    assert reserve(repo, HARBOR, f"{FILE}::Number.value", "README.md::Install").status == 0

    assert held(repo) == {f"{FILE}::roman": OTTER, f"{FILE}::Number.value": HARBOR, "README.md::Install": HARBOR}
    assert reserve(repo, OTTER, f"{FILE}::Number").code == "RESERVATION_CONFLICT"
    assert reserve(repo, OTTER, FILE).code == "RESERVATION_CONFLICT"
    assert reserve(repo, OTTER, "src").code == "RESERVATION_CONFLICT"
    assert check(repo, OTTER, f"{FILE}::value") == (7, "held")
    assert check(repo, OTTER, f"{FILE}::roman") == (0, "yours")
    assert check(repo, OTTER, f"{FILE}::Number.text") == (0, "free")
    assert check(repo, HARBOR, FILE) == (7, "held")


def test_a_region_is_released_renewed_and_transferred_by_its_name(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::value", f"{FILE}::2-3")

    assert repo.json("renew", f"{FILE}::value", "--agent", OTTER, "--ttl", "60").data["ttl_minutes"] == 60
    moved = repo.json("agent", "transfer", "--scope", f"{FILE}::value", "--to", HARBOR, "--agent", OTTER)
    assert moved.data["scope"] == f"{FILE}::Number.value"
    edit(repo, "def roman", "# Numbers.\n\n\ndef roman")  # the lines are somewhere else now
    assert repo.json("release", f"{FILE}::2-3", "--agent", OTTER).status == 0
    assert held(repo) == {f"{FILE}::Number.value": HARBOR}


def test_regions_move_with_the_file(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::1-4")
    edit(repo, "def roman", "import re\n\n\ndef roman")

    assert check(repo, HARBOR, f"{FILE}::roman") == (7, "held")
    assert check(repo, HARBOR, f"{FILE}::1-2") == (0, "free")
    assert check(repo, HARBOR, f"{FILE}::5-5") == (7, "held")


def test_a_symbol_that_is_not_there_is_refused_and_near_names_are_told(repo: Scratch):
    refused = reserve(repo, OTTER, f"{FILE}::romans")

    assert (refused.code, refused.status) == ("SYMBOL_NOT_FOUND", 3)
    assert "roman" in refused.envelope["error"]["hint"]
    assert reserve(repo, OTTER, "src/none.py::roman").code == "SYMBOL_NOT_FOUND"
    assert reserve(repo, OTTER, "src/*.py::roman").code == "INVALID_SCOPE"
    assert reserve(repo, OTTER, "src::roman").code == "INVALID_SCOPE"
    (repo.path / "binary.py").write_bytes(b"def f():\0\n")
    assert reserve(repo, OTTER, "binary.py::f").code == "SYMBOL_NOT_FOUND"
    assert held(repo) == {}


def test_a_path_that_has_such_a_name_is_that_path(repo: Scratch):
    write(repo, "src/number.py::roman", "a file\n")

    assert reserve(repo, OTTER, f"{FILE}::roman").data["scope"] == f"{FILE}::roman"
    assert "region" not in repo.json("agent", "status").data["reservations"][0]
    assert check(repo, HARBOR, FILE) == (0, "free")
    assert reserve(repo, HARBOR, "new[:]:file.py").data["scope"] == "new::file.py"


def test_what_two_agents_add_is_in_neither_ones_way(repo: Scratch):
    assert reserve(repo, OTTER, f"{FILE}::new").status == 0
    assert reserve(repo, HARBOR, f"{FILE}::new", f"{FILE}::roman").status == 0
    assert reserve(repo, OTTER, f"{FILE}::new:arabic").status == 0

    refused = reserve(repo, HARBOR, f"{FILE}::new:arabic")

    assert refused.code == "RESERVATION_CONFLICT"
    assert refused.envelope["error"]["details"]["conflicts"][0]["scope"] == f"{FILE}::new:arabic"
    edit(repo, "class Number", "def arabic():\n    return 1\n\n\nclass Number")
    assert check(repo, HARBOR, f"{FILE}::arabic") == (7, "held")


def test_a_region_whose_symbol_vanishes_says_so_and_is_told_apart_by_name(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::Number.value")
    edit(repo, "def value", "def number")

    (row,) = repo.json("agent", "status").data["reservations"]
    assert row["vanished"] is True
    assert "not there any more" in repo.bb("agent", "status").out
    assert check(repo, HARBOR, f"{FILE}::roman") == (0, "free")
    assert check(repo, HARBOR, f"{FILE}::Number") == (7, "held")
    assert "which is not there any more" in repo.bb("check", f"{FILE}::Number", "--agent", HARBOR).out
    ran = repo.json("check", f"{FILE}::Number.value", "--agent", OTTER)
    assert (ran.status, ran.data["paths"][0]["vanished"]) == (0, True)
    assert repo.json("release", f"{FILE}::Number.value", "--agent", OTTER).status == 0


def test_the_line_for_a_region_is_served_when_it_is_released(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman")
    queued = repo.json("reserve", f"{FILE}::roman", "--queue", "--agent", HARBOR)
    assert queued.data["queued"]["scopes"] == [f"{FILE}::roman"]
    assert reserve(repo, OTTER, f"{FILE}::Number").status == 0  # nobody waits for that

    repo.json("release", f"{FILE}::roman", "--agent", OTTER)

    assert held(repo) == {f"{FILE}::roman": HARBOR, f"{FILE}::Number": OTTER}


def test_an_older_bb_sees_the_whole_file(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman")

    data = log(repo)[-1]["data"]
    assert (data["scope"], data["is_file"], data["region"]) == (FILE, True, "roman")


# -- kinds of holding


def test_open_and_shared_reservations_coexist_and_an_exclusive_one_conflicts(repo: Scratch):
    assert repo.json("reserve", FILE, "--open", "--agent", OTTER).data["kind"] == "open"
    assert repo.json("reserve", FILE, "--open", "--agent", HARBOR).status == 0
    assert repo.json("release", FILE, "--agent", HARBOR).status == 0
    assert repo.json("reserve", FILE, "--shared", "--agent", HARBOR).data["kind"] == "shared"
    assert repo.json("release", FILE, "--agent", HARBOR).status == 0

    refused = repo.json("reserve", FILE, "--agent", HARBOR)

    assert refused.code == "RESERVATION_CONFLICT"
    assert refused.envelope["error"]["details"]["conflicts"][0]["kind"] == "open"


def test_what_another_holds_open_may_be_edited_and_committed(repo: Scratch):
    repo.json("reserve", FILE, "--open", "--agent", OTTER)
    assert check(repo, HARBOR, FILE) == (0, "open")
    edit(repo, "return 1", "return 2")
    repo.git("add", ".")

    assert paths(staged(repo, HARBOR)) == {FILE: "open"}
    assert "amber-otter holds src/number.py open" in repo.bb("check", FILE, "--agent", HARBOR).out


def test_a_reservation_has_one_kind(repo: Scratch):
    refused = repo.json("reserve", FILE, "--open", "--shared", "--agent", OTTER)

    assert (refused.code, refused.status) == ("INVALID_ARGS", 2)
    assert "--shared and --open" in refused.envelope["error"]["message"]
    assert repo.json("reserve", FILE, "--open", "--global", "--agent", OTTER).code == "INVALID_ARGS"


def test_the_default_is_open_for_files_of_an_agent_whose_edits_are_bracketed(repo: Scratch):
    marks = repo.path / ".git" / "bb" / "lines" / "agents"
    marks.mkdir(parents=True)
    (marks / OTTER).touch()

    assert reserve(repo, OTTER, FILE).data["kind"] == "open"
    assert "(open)" in repo.bb("reserve", f"{FILE}::roman", "--agent", OTTER).out
    assert reserve(repo, OTTER, "docs").data["kind"] == "exclusive"
    assert repo.json("reserve", FILE, "--exclusive", "--agent", OTTER).data["kind"] == "exclusive"
    assert reserve(repo, HARBOR, "README.md").data["kind"] == "exclusive"


def test_a_hint_repeats_the_kind(repo: Scratch):
    reserve(repo, OTTER, FILE)

    assert "--open" in repo.json("reserve", FILE, "--open", "--agent", HARBOR).envelope["error"]["hint"]


# -- commits


def test_a_commit_is_judged_by_the_lines_that_it_changes(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman")
    edit(repo, "return 1", "return 2")
    repo.git("add", ".")
    assert paths(staged(repo, HARBOR)) == {FILE: "free"}

    edit(repo, 'return "I"', 'return "II"')
    repo.git("add", ".")

    refused = staged(repo, HARBOR)
    assert (refused.code, paths(refused)) == ("PATH_HELD", {FILE: "held"})
    assert paths(staged(repo, OTTER)) == {FILE: "free"}  # it changes more than what OTTER holds


def test_a_commit_that_stays_in_the_agents_own_region_is_its_own(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman")
    edit(repo, 'return "I"', 'return "II"')
    repo.git("add", ".")

    assert paths(staged(repo, OTTER)) == {FILE: "yours"}


def test_what_is_only_in_the_work_tree_is_not_committed(repo: Scratch):
    edit(repo, "class Number", "def arabic():\n    return 1\n\n\nclass Number")
    reserve(repo, OTTER, f"{FILE}::arabic")
    whole = (repo.path / FILE).read_text()
    write(repo, FILE, NUMBER.replace("return 1", "return 2"))
    repo.git("add", ".")
    write(repo, FILE, whole.replace("return 1", "return 2"))

    assert paths(staged(repo, HARBOR)) == {FILE: "free"}
    repo.git("add", ".")
    assert paths(staged(repo, HARBOR)) == {FILE: "held"}


def test_removing_or_renaming_what_another_holds_is_refused(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman")
    edit(repo, "def roman", "def latin")
    repo.git("add", ".")
    assert staged(repo, HARBOR).code == "PATH_HELD"

    repo.git("rm", "--quiet", "--cached", FILE)
    assert staged(repo, HARBOR).code == "PATH_HELD"


def test_a_frozen_region_stops_its_holder_too(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::Number")
    repo.json("freeze", f"{FILE}::roman", "--why", "the release").data  # noqa: B018  (must succeed)
    edit(repo, 'return "I"', 'return "II"')
    repo.git("add", ".")
    assert "user has frozen src/number.py::roman" in staged(repo, OTTER).envelope["error"]["message"]

    repo.git("reset", "--quiet", "--hard")
    edit(repo, "return 1", "return 2")
    repo.git("add", ".")
    assert paths(staged(repo, OTTER)) == {FILE: "yours"}


def test_the_regions_of_a_worktree_are_those_of_its_own_files(repo: Scratch, tmp_path: Path):
    reserve(repo, OTTER, f"{FILE}::roman")
    repo.git("worktree", "add", "--quiet", str(tmp_path / "beside"))
    beside = Near(tmp_path / "beside", repo.settings)
    edit(repo, "def roman", "def latin")

    assert check(beside, HARBOR, f"{FILE}::1-2") == (7, "held")
    assert check(beside, HARBOR, f"{FILE}::Number") == (0, "free")


# -- the hooks of editors


def hook(repo: Scratch, moment: str, agent: str, old: str, new: str) -> Ran:
    tool = {"file_path": str(repo.path / FILE), "old_string": old, "new_string": new}
    names = {"pre-tool": "PreToolUse", "post-tool": "PostToolUse"}
    payload = {"hook_event_name": names[moment], "session_id": "s", "cwd": str(repo.path), "tool_name": "Edit"}
    return repo.bb(
        "hook", moment, "--host", "claude", "--agent", agent, stdin=json.dumps(payload | {"tool_input": tool})
    )


def test_after_an_edit_the_regions_and_open_files_of_others_are_no_incursion(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman")
    repo.json("reserve", "README.md", "--open", "--agent", OTTER)
    edit(repo, "return 1", "return 2")

    assert "you have changed" not in hook(repo, "post-tool", HARBOR, "return 1", "return 2").out
    assert repo.json("protocol", "incursions").data == []


def test_a_hook_that_knows_no_lines_names_the_region_that_is_in_the_way(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman")

    assert "src/number.py::roman is reserved by amber-otter" in hook(repo, "pre-tool", HARBOR, "1", "2").out


@pytest.mark.parametrize(
    ("touched", "verdict"),
    [
        ([(0, 2)], "held"),
        ([(3, 4)], "held"),
        ([(2, 2)], "held"),  # an insertion between two of its lines
        ([(0, 0)], "free"),  # before it
        ([(4, 4)], "free"),  # behind it
        ([(5, 9), (10, 11)], "free"),
        ([(8, 9), (1, 2)], "held"),
        (None, "held"),
    ],
)
def test_an_edit_is_judged_by_the_lines_that_it_touches(
    repo: Scratch, touched: list[tuple[int, int]] | None, verdict: str
):
    reserve(repo, OTTER, f"{FILE}::roman")
    desk = Desk(str(repo.path), {"BB_NOW": repo.settings["BB_NOW"]}, only_reads=True)
    held = desk.holdings(desk.store.caught_up(), desk.now())

    found = path_verdicts.path_verdict(held, desk.scope(FILE, is_path=True), HARBOR, touched)
    own = path_verdicts.path_verdict(held, desk.scope(FILE, is_path=True), OTTER, touched)
    desk.close()

    assert found["verdict"] == verdict
    assert own["verdict"] == ("yours" if touched and all(0 <= a <= b <= 4 for a, b in touched) else "free")


def test_an_override_is_told_to_the_holder_of_the_region_that_was_changed(repo: Scratch):
    reserve(repo, OTTER, f"{FILE}::roman", f"{FILE}::text")
    edit(repo, 'return "I"', 'return "II"')
    repo.git("add", ".")

    assert staged(repo, HARBOR, "--override", "agreed").status == 0

    (incursion,) = repo.json("protocol", "incursions").data
    assert f"{FILE}::roman" in json.dumps(incursion)
