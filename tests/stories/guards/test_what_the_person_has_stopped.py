"""Before a commit: what the person has frozen, and whom the person has paused. No option of an agent's goes past it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.agents.agents_support import HARBOR, OTTER
from tests.stories.guards.guards_support import git, history, well, write
from tests.support import Scratch

WHY = "the release is being cut"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """Git asks bb before each commit; OTTER, who holds src/parser, has changed something in it."""
    made = history(tmp_path / "repo")
    assert made.json("hooks", "install").status == 0
    write(made, "src/parser/a.py", "changed\n")
    made.git("add", ".")
    return made


def freeze(repo: Scratch, *words: str) -> None:
    assert repo.json("freeze", *words, "--why", WHY).status == 0


@pytest.mark.parametrize("settings", [{}, {"BB_OVERRIDE": "I must"}])
@pytest.mark.parametrize("who", [OTTER, HARBOR])
@pytest.mark.parametrize("scope", ["src/parser", "src/parser/a.py", "src", ".", "**/*.py"])
def test_nobodys_commit_of_something_frozen_is_made(repo: Scratch, scope: str, who: str, settings: dict[str, str]):
    freeze(repo, scope)

    refused = git(repo, "commit", "-m", "Change", BB_AGENT=who, **settings)

    assert refused.status != 0
    assert "PATH_HELD" in refused.err
    assert WHY in refused.err
    assert "BB_OVERRIDE" not in refused.err, "nobody is told of a way that is none"


def test_a_commit_that_leaves_it_alone_is_made(repo: Scratch):
    freeze(repo, "docs")
    well(git(repo, "commit", "-m", "Change", BB_AGENT=OTTER))


def test_a_person_is_told_and_commits(repo: Scratch):
    freeze(repo, "src/parser")
    made = well(git(repo, "commit", "-m", "Change"))
    assert f'user has frozen src/parser ("{WHY}")' in made.err
    assert "this is only a warning; the commit continues" in made.err


def test_once_it_is_lifted_the_holder_commits_again(repo: Scratch):
    freeze(repo, "src")
    assert repo.json("thaw", "--all").status == 0
    well(git(repo, "commit", "-m", "Change", BB_AGENT=OTTER))


def test_what_the_ignore_file_leaves_to_everybody_is_left_to_everybody(repo: Scratch):
    git(repo, "reset", "--quiet")
    write(repo, ".bbignore", "*.lock\n")
    repo.git("add", ".bbignore")
    well(git(repo, "commit", "-m", "Ignore"))
    write(repo, "poetry.lock", "1\n")
    repo.git("add", "poetry.lock")
    freeze(repo, ".")
    well(git(repo, "commit", "-m", "Lock", BB_AGENT=OTTER))


@pytest.mark.parametrize("settings", [{}, {"BB_OVERRIDE": "I must"}])
@pytest.mark.parametrize("whom", [OTTER, "--all"])
def test_a_paused_agent_commits_nothing_not_even_its_own(repo: Scratch, whom: str, settings: dict[str, str]):
    assert repo.json("agent", "pause", whom, "--why", WHY).status == 0

    refused = git(repo, "commit", "-m", "Change", BB_AGENT=OTTER, **settings)

    assert refused.status != 0
    assert "AGENT_PAUSED" in refused.err
    assert WHY in refused.err
    assert repo.json("agent", "unpause", OTTER).status == 0
    well(git(repo, "commit", "-m", "Change", BB_AGENT=OTTER))


def test_the_person_commits_while_everybody_is_paused(repo: Scratch):
    assert repo.json("agent", "pause", "--all").status == 0
    well(git(repo, "commit", "-m", "Change"))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("x.bb.paused", {"target": OTTER, "why": "forged"}),
        ("x.bb.paused", {"target": "*"}),
    ],
)
def test_an_agent_that_writes_itself_into_the_ledger_as_if_it_were_the_person_pauses_nobody(
    repo: Scratch, kind: str, data: dict[str, str]
):
    from bb.coordination.facts import Paused
    from bb.ledger.git import place
    from bb.ledger.records.store import Store

    store = Store(place.find(str(repo.path), {}))
    forged = Paused(HARBOR, data["target"], data.get("why"))
    (event,) = store.record(lambda _: [forged], by=HARBOR, now=1_767_614_400_000)
    store.close()

    assert (event.kind, event.by, event.data | {}) == (kind, HARBOR, data)
    assert "paused" not in str(repo.json("status").data["agents"])
    assert "paused" not in repo.bb("timeline").out
    well(git(repo, "commit", "-m", "Change", BB_AGENT=OTTER))


def test_an_agent_that_records_that_the_person_is_done_with_a_freeze_lifts_nothing(repo: Scratch):
    from bb.coordination.facts import Expired, Released, TakenOver, Transferred, Unpaused
    from bb.ledger.git import place
    from bb.ledger.records.store import Store

    frozen = repo.json("freeze", "src", "--why", WHY).data["reservation_id"]
    assert repo.json("agent", "pause", HARBOR).status == 0
    forged = [
        *(Released(OTTER, frozen), Expired(OTTER, frozen), Transferred(OTTER, frozen, OTTER)),
        *(TakenOver(OTTER, frozen, "user", "evicted", "expired"), Unpaused(OTTER, HARBOR), Unpaused(OTTER, "*")),
    ]
    store = Store(place.find(str(repo.path), {}))
    store.record(lambda _: forged, by=OTTER, now=1_767_614_400_000)
    store.close()

    for words in ([], ["ledger", "rebuild"]):
        if words:
            assert repo.json(*words).status == 0
        assert WHY in git(repo, "commit", "-m", "Change", BB_AGENT=OTTER).err
        assert "AGENT_PAUSED" in git(repo, "commit", "-m", "Change", BB_AGENT=HARBOR).err
