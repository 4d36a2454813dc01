"""`bb ci check`: what the person has frozen is not merged, nor what an agent committed while it was paused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.ci.ci_support import HARBOR, OTTER, Project, project, told
from tests.support import Scratch

LEX = "src/parser/lex.py"
WHY = "the release is being cut"


@pytest.fixture
def work(tmp_path: Path) -> Project:
    """OTTER has held src/parser since noon; it is ten past."""
    return project(tmp_path)


def say(work: Project, *words: str) -> None:
    assert work.repo.json(*words).status == 0


def pushed(work: Project) -> Scratch:
    work.publish()
    work.push("work")
    return work.checkout("checkout")


def test_what_is_frozen_now_is_not_merged_even_if_its_holder_committed_it_before(work: Project):
    work.commit(OTTER, {LEX: "2\n"})
    say(work.at(20), "freeze", "src", "--why", WHY)

    ran = work.check(pushed(work.at(30)))

    assert (ran.status, ran.code) == (7, "CI_INCURSION")
    assert told(ran) == [("error", "held-now", LEX)]
    (found,) = ran.envelope["error"]["details"]["findings"]
    assert found["held_by"] == "user"
    assert found["text"].startswith(f'user has frozen src since 2026-01-05T12:20Z ("{WHY}"); {OTTER} changed this at')


def test_what_was_changed_while_it_was_frozen_is_told_after_it_was_lifted(work: Project):
    say(work, "freeze", "src/parser", "--why", WHY)
    work.at(20).commit(OTTER, {LEX: "2\n"})
    say(work.at(30), "thaw", "src/parser")
    ran = work.check(pushed(work.at(40)))
    assert told(ran) == [("error", "held-then", LEX)]
    assert "until 2026-01-05T12:30Z" in ran.out


def test_once_it_is_lifted_what_was_committed_before_and_after_is_merged(work: Project):
    work.commit(OTTER, {LEX: "2\n"})
    say(work.at(20), "freeze", "src")
    say(work.at(30), "thaw", "src")
    work.at(40).commit(OTTER, {LEX: "3\n"})
    assert told(work.check(pushed(work.at(50)))) == []


def test_a_freeze_for_a_while_is_over_on_the_minute(work: Project):
    say(work, "freeze", "src", "--minutes", "10")
    work.at(20).commit(OTTER, {LEX: "3\n"})
    ran = work.check(pushed(work.at(25)))
    assert told(ran) == [("error", "held-then", LEX)]
    work.at(21).git("commit", "--quiet", "--amend", "--no-edit", "--reset-author")
    assert told(work.check(None, "--local")) == []


def test_a_person_is_warned_of_a_freeze_and_stopped_where_people_are(work: Project):
    say(work, "freeze", "src", "--why", WHY)
    work.at(20).commit(None, {LEX: "2\n"})
    checkout = pushed(work)
    assert told(work.check(checkout)) == 2 * [("warning", "held-then", LEX)], "for its holder, too"
    assert work.check(checkout, "--strict").code == "CI_INCURSION"


def test_what_the_person_accepts_is_a_warning(work: Project):
    say(work, "freeze", "src")
    work.at(20).commit(OTTER, {LEX: "2\n"})
    assert work.check(None, "--local", "--record").code == "CI_INCURSION"
    (found,) = work.repo.json("protocol", "incursions").data
    assert (found["from_agent"], found["to_agent"]) == (OTTER, "user")
    say(work, "protocol", "resolve", found["id"], "--agent", "user", "--as", "accepted")
    assert told(work.check(None, "--local")) == [("warning", "held-then", LEX)]


@pytest.mark.parametrize("whom", [OTTER, "--all"])
def test_what_an_agent_commits_while_it_is_paused_is_not_merged_until_it_is_let_go_on(work: Project, whom: str):
    work.commit(OTTER, {LEX: "2\n"})
    say(work.at(15), "agent", "pause", whom, "--why", WHY)
    work.at(20).commit(OTTER, {LEX: "3\n"})

    ran = work.check(pushed(work))

    assert (ran.status, ran.code) == (7, "PAUSED_AUTHOR")
    assert told(ran) == [("error", "paused-author", None)]
    (found,) = ran.envelope["error"]["details"]["findings"]
    assert found["commits"] == [work.head()]
    assert WHY in found["text"]

    say(work.at(25), "agent", "unpause", OTTER)
    assert told(work.check(None, "--local")) == []


def test_what_others_and_people_commit_meanwhile_is_merged(work: Project):
    say(work, "agent", "pause", OTTER)
    work.at(20).commit(HARBOR, {"docs/a.md": "A\n"})
    work.commit(None, {"docs/b.md": "B\n"})
    assert told(work.check(pushed(work))) == []


def test_what_a_holder_committed_before_it_passed_its_reservation_on_was_its_own(work: Project):
    work.commit(OTTER, {LEX: "2\n"})
    say(work.at(20), "agent", "transfer", "--agent", "user", "--scope", "src/parser", "--to", HARBOR)
    work.at(30).commit(HARBOR, {LEX: "3\n"})
    work.at(40).commit(OTTER, {LEX: "4\n"})
    ran = work.check(pushed(work))
    (found,) = [each for each in ran.envelope["error"]["details"]["findings"] if each["severity"] == "error"]
    assert (found["rule"], found["agent_id"], found["commits"]) == ("held-then", OTTER, [work.head()])


@pytest.mark.parametrize("form", ["text", "github", "sarif", "junit"])
def test_every_report_tells_of_it(work: Project, form: str):
    say(work, "freeze", "src", "--why", WHY)
    say(work, "agent", "pause", OTTER, "--why", WHY)
    work.at(20).commit(OTTER, {LEX: "2\n"})
    said = work.repo.bb("ci", "check", "--base", "origin/main", "--local", "--format", form)
    assert "user has frozen src" in said.out
    assert f"user paused {OTTER} at " in said.out
