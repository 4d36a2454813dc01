"""`bb ci check` where agents hold regions of files, or hold files open: judged by the lines of each commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.ci.ci_support import HARBOR, OTTER, Project, project, told

FILE = "src/number.py"
NUMBER = "def roman():\n    return 1\n\n\ndef arabic():\n    return 2\n\n\ndef last():\n    return 3\n"


@pytest.fixture
def work(tmp_path: Path) -> Project:
    made = project(tmp_path)
    made.repo.json("release", "--all", "--agent", OTTER)
    made.commit(None, {FILE: NUMBER})
    made.push("main", "work")
    made.repo.git("fetch", "--quiet", "origin")
    return made.at(12)


def checked(work: Project, *options: str) -> list[tuple[str, str, str]]:
    work.publish()
    work.push("work")
    return told(work.check(work.checkout(f"checkout{work.minutes}", *options)))


def hold(work: Project, scope: str, *more: str) -> None:
    work.repo.json("reserve", scope, "--agent", OTTER, *more).data  # noqa: B018  (must succeed)
    work.at(work.minutes + 2)


def test_a_commit_beside_the_region_of_another_agent_passes(work: Project):
    hold(work, f"{FILE}::roman")
    work.commit(HARBOR, {FILE: NUMBER.replace("return 2", "return 20")})

    assert checked(work) == []


def test_a_commit_in_the_region_of_another_agent_is_an_incursion(work: Project):
    hold(work, f"{FILE}::roman")
    work.commit(HARBOR, {FILE: NUMBER.replace("return 1", "return 10")})

    assert checked(work) == [("error", "held-then", FILE)]


def test_each_commit_is_judged_by_its_own_content(work: Project):
    hold(work, f"{FILE}::roman")
    work.commit(HARBOR, {FILE: "# A line more.\n\n\n" + NUMBER})
    work.commit(OTTER, {FILE: "# A line more.\n\n\n" + NUMBER.replace("return 1", "return 10")})
    work.commit(HARBOR, {FILE: "# A line more.\n\n\n" + NUMBER.replace("return 1", "return 10") + "\n\nX = 1\n"})

    assert checked(work) == []


def test_removing_the_file_or_the_symbol_is_an_incursion(work: Project):
    hold(work, f"{FILE}::roman")
    work.commit(HARBOR, {FILE: None})

    assert checked(work) == [("error", "held-then", FILE)]


def test_a_region_that_no_commit_has_counts_as_the_whole_file(work: Project):
    (work.repo.path / FILE).write_text(NUMBER + "\n\ndef fresh():\n    return 4\n")
    hold(work, f"{FILE}::fresh")
    work.commit(HARBOR, {FILE: NUMBER.replace("return 2", "return 20")})
    assert checked(work) == [("error", "held-then", FILE)]


def test_what_an_agent_is_about_to_add_keeps_nobody_out(work: Project):
    hold(work, f"{FILE}::new:fresh")
    work.commit(HARBOR, {FILE: NUMBER.replace("return 2", "return 20")})
    assert checked(work) == []


def test_in_a_clone_without_contents_they_are_fetched_beside_it(work: Project):
    hold(work, f"{FILE}::roman")
    work.commit(HARBOR, {FILE: NUMBER.replace("return 2", "return 20")})

    assert checked(work, "--filter=blob:none", "--no-checkout") == []


def test_where_contents_cannot_be_fetched_a_region_is_the_whole_file(work: Project):
    hold(work, f"{FILE}::roman")
    work.commit(HARBOR, {FILE: NUMBER.replace("return 2", "return 20")})
    work.publish()
    work.push("work")
    ci = work.checkout("checkout", "--filter=blob:none", "--no-checkout")
    ci.git("config", "remote.origin.url", "file:///nowhere")

    assert told(work.check(ci, "--remote", work.url)) == [("error", "held-then", FILE)]


def test_a_file_that_another_agent_holds_open_may_be_changed(work: Project):
    hold(work, FILE, "--open")
    work.commit(HARBOR, {FILE: NUMBER.replace("return 1", "return 10")})

    assert checked(work) == []


def test_the_own_region_declares_only_its_own_lines(work: Project):
    hold(work, f"{FILE}::roman")
    work.commit(OTTER, {FILE: NUMBER.replace("return 1", "return 10")})
    work.publish()
    work.push("work")
    assert told(work.check(work.checkout("one"), "--declared")) == []

    work.at(work.minutes + 1).commit(OTTER, {FILE: NUMBER.replace("return 3", "return 30")})
    work.push("work")
    assert told(work.check(work.checkout("two"), "--declared")) == [("error", "outside-declared", FILE)]
