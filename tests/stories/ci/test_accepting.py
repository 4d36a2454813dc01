"""A finding of CI ends when the holder or the person accepts the commit, even if it was released long ago."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.ci.ci_support import HARBOR, OTTER, Project, project, told

LEX = "src/parser/lex.py"


@pytest.fixture
def work(tmp_path: Path) -> Project:
    """HARBOR changed what OTTER held, past its hooks. OTTER has released it since."""
    made = project(tmp_path)
    made.commit(HARBOR, {LEX: "2\n", "src/parser/b.py": "1\n"})
    made.push("work")
    made.at(20).repo.json("agent", "release", "--agent", OTTER, "--all").data  # noqa: B018
    made.publish()
    return made


def way_out(work: Project) -> str:
    """The command that the finding names."""
    error = work.check(work.checkout(f"checkout{work.minutes}")).envelope["error"]
    command = str(error["details"]["findings"][0]["accept_with"])
    assert f"`{command}`" in error["hint"]
    return command


@pytest.mark.parametrize("who", [OTTER, "user"])
def test_what_was_released_long_ago_is_accepted_by_the_command_in_the_hint(work: Project, who: str):
    words = way_out(work).replace(OTTER, who).split()

    (event,) = work.repo.json(*words[1:]).data
    work.at(30).publish()

    assert (event["state"], event["from_agent"], event["to_agent"]) == ("accepted", HARBOR, OTTER)
    ran = work.check(work.checkout("after"))
    assert (ran.status, {severity for severity, _, _ in told(ran)}) == (0, {"warning"})
    assert "accepted" in work.repo.json("agent", "inbox", "--agent", HARBOR).data[0]["subject"]


def test_accepting_is_said_in_words_with_the_next_command(work: Project):
    words = way_out(work).split()

    said = work.repo.bb(*words[1:]).out

    assert f"{HARBOR} changed {LEX}" in said or f"{HARBOR} changed src/parser/b.py" in said
    assert f"accepted by {OTTER}" in said
    assert "`bb sync`" in said
    assert "payload" not in said


def test_accepting_again_changes_nothing(work: Project):
    words = way_out(work).split()[1:]

    first, again = work.repo.json(*words).data, work.repo.json(*words).data

    assert first == again
    assert len(work.repo.json("protocol", "incursions").data) == 1


def test_what_is_recorded_already_is_accepted_and_not_recorded_twice(work: Project):
    (event,) = work.check(None, "--record").envelope["error"]["details"]["recorded"]

    (accepted,) = work.repo.json(*way_out(work).split()[1:]).data

    assert event in accepted.values()


def test_only_the_holder_or_the_person_accepts(work: Project):
    words = way_out(work).replace(OTTER, HARBOR).split()[1:]

    ran = work.repo.json(*words)

    assert (ran.status, ran.code) == (3, "NOTHING_TO_ACCEPT")
    assert "the holder or the person" in ran.envelope["error"]["hint"]
    assert work.repo.json("protocol", "incursions").data == []


def test_a_commit_that_touches_nothing_or_is_none_is_refused(work: Project):
    work.commit(HARBOR, {"docs/x.md": "X\n"})

    assert work.repo.json("protocol", "accept", "HEAD", "--agent", OTTER).code == "NOTHING_TO_ACCEPT"
    assert work.repo.json("protocol", "accept", "nowhere", "--agent", OTTER).code == "REVISION_NOT_FOUND"
    assert work.repo.json("protocol", "accept", " ", "--agent", OTTER).code == "INVALID_REVISION"


def test_a_persons_commit_and_a_root_commit_can_be_accepted(work: Project):
    work.repo.git("checkout", "--quiet", "--orphan", "fresh")
    work.at(10).commit(None, {LEX: "3\n"})

    (event,) = work.at(30).repo.json("protocol", "accept", "HEAD", "--agent", OTTER).data

    assert (event["from_agent"], event["state"]) == ("user", "accepted")
