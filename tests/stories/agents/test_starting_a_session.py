"""Starting a session: a name of one's own, or an earlier identity whose work lies here unfinished."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.near import Near, near
from tests.stories.agents.agents_support import HARBOR, OTTER, after, crew, kept, nothing_written, reserve, stay
from tests.support import NOON, ROOT, Ran, Scratch, environment


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return crew(tmp_path / "repo", OTTER)


def init(repo: Scratch, *words: str, **settings: str) -> Ran:
    return repo.json("init", *words, "--non-interactive", **settings)


def change(repo: Scratch, name: str) -> None:
    (repo.path / name).parent.mkdir(parents=True, exist_ok=True)
    (repo.path / name).write_text("changed\n")


# -- what goes together


@pytest.mark.parametrize(
    "words",
    [
        ["--role", "builder"],
        ["--scope", "src"],
        ["--bead", "bb-1"],
        ["--adopt", OTTER, "--role", "builder"],
        ["--register", "shy-lynx", "--scope", "src"],
        ["--register", "shy-lynx", "--bead", "bb-1"],
        ["--register", "shy-lynx", "--undo"],
        ["--register", "shy-lynx", "--dry-run"],
        ["--adopt", OTTER, "--home"],
        ["--non-interactive", "--undo"],
    ],
    ids=" ".join,
)
def test_options_that_mean_nothing_together_are_refused(repo: Scratch, words: list[str]):
    with nothing_written(repo):
        refused = repo.json("init", *words)

    assert (refused.code, refused.status) == ("NO_SESSION", 2)
    assert refused.envelope["error"]["hint"]


@pytest.mark.parametrize("option", ["--adopt", "--register"])
@pytest.mark.parametrize("name", ["-amber", "../x", "user", "User", "", "x" * 49, "an otter"])
def test_a_malformed_name_is_refused(repo: Scratch, option: str, name: str):
    with nothing_written(repo):
        refused = init(repo, option, name)

    assert (refused.code, refused.status) == ("INVALID_AGENT_ID", 2)


@pytest.mark.parametrize("name", ["Amber-Otter", "a--b", "am", "amber_otter"])
def test_a_name_that_only_an_actor_may_have_cannot_be_taken_and_might_be_adopted(repo: Scratch, name: str):
    with nothing_written(repo):
        taken, adopted = init(repo, "--register", name), init(repo, "--adopt", name)

    assert (taken.code, adopted.code) == ("INVALID_AGENT_ID", "AGENT_NOT_FOUND")


# -- a name of one's own


def test_the_first_session_makes_the_ledger(tmp_path: Path):
    repo = near(tmp_path / "repo")

    begun = init(repo, "--register", "shy-lynx").data

    assert (begun["agent_id"], begun["mode"]) == ("shy-lynx", "register")
    assert begun["agent"]["role"] == "agent"
    assert begun["recommendation"]["reason"] == "name_free"
    assert [agent["agent_id"] for agent in repo.json("agent", "list").data] == ["shy-lynx"]


def test_a_name_is_advised_that_is_free_and_always_the_same(repo: Scratch):
    first, again = (init(repo).envelope["error"]["details"]["recommendation"]["agent_id"] for _ in range(2))
    assert first == again

    init(repo, "--register", first, "--role", "tester").data  # noqa: B018  (must succeed)
    assert init(repo).envelope["error"]["details"]["recommendation"]["agent_id"] != first


# -- an earlier identity


def test_who_is_unknown_cannot_be_adopted(repo: Scratch):
    unknown = init(repo, "--adopt", "shy-lynx")

    assert (unknown.code, unknown.status) == ("AGENT_NOT_FOUND", 3)


def test_who_is_retired_comes_back_by_adoption_and_not_otherwise(repo: Scratch):
    reserve(repo, OTTER, "src")
    repo.json("agent", "retire", "--agent", OTTER).data  # noqa: B018  (must succeed)

    assert init(repo, "--adopt", OTTER).code == "ADOPTION_REJECTED"
    change(repo, "src/a.py")
    assert init(repo, "--adopt", OTTER).data["reason"] == "uncommitted_scope"
    assert repo.json("agent", "show", "--agent", OTTER).data["status"] == "idle"
    assert reserve(repo, OTTER, "src").status == 0


def test_the_answer_says_what_was_looked_at(repo: Scratch):
    reserve(repo, OTTER, "src")
    change(repo, "src/a.py")
    change(repo, "docs/b.md")

    adopted = init(repo, "--adopt", OTTER).data

    looked_at = adopted["looked_at"]
    assert (looked_at["claimed"], looked_at["changed"], looked_at["in_progress"]) == (["src"], ["src/a.py"], [])
    assert "src/a.py" in adopted["evidence"]
    assert adopted["recommendation"]["action"] == "adopt"


def test_adopting_is_a_sign_of_life_and_warns_when_there_was_one_lately(repo: Scratch):
    reserve(repo, OTTER, "src")
    change(repo, "src/a.py")

    assert "no other session" in init(repo, "--adopt", OTTER).data["warning"]
    later = after(repo, 40)
    assert later.json("agent", "show", "--agent", OTTER).data["liveness"] == "evicted"
    assert init(later, "--adopt", OTTER).data["warning"] is None
    assert later.json("agent", "show", "--agent", OTTER).data["liveness"] == "active"


def test_a_worktree_of_its_own_counts_and_not_another_one(repo: Scratch, tmp_path: Path):
    """What is uncommitted is looked for where the new session stands."""
    repo.git("commit", "--quiet", "--allow-empty", "-m", "start")
    reserve(repo, OTTER, "src")
    repo.git("worktree", "add", "--quiet", str(tmp_path / "other"))
    other = Near(tmp_path / "other", repo.settings)
    change(other, "src/a.py")

    assert init(repo, "--adopt", OTTER).code == "ADOPTION_REJECTED"
    assert init(other, "--adopt", OTTER).data["reason"] == "uncommitted_scope"


def test_a_bead_that_somebody_else_works_on_is_no_evidence(repo: Scratch):
    shutil.copytree(ROOT / ".beads-example", repo.path / ".beads")
    stay(repo, OTTER)
    repo.json("agent", "register", "--name", "dusty-wren", "--role", "tester").data  # noqa: B018

    with nothing_written(repo):
        assert init(repo, "--adopt", "dusty-wren").code == "ADOPTION_REJECTED"
        assert init(repo, "--adopt", OTTER, "--bead", "demo-no-such-bead").code == "ADOPTION_REJECTED"
    assert init(repo, "--adopt", OTTER).data["reason"] == "in_progress_ownership"


def test_who_adopts_under_a_name_of_its_own_is_named_as_the_sender(repo: Scratch):
    repo.json("agent", "register", "--name", HARBOR, "--role", "tester").data  # noqa: B018
    reserve(repo, OTTER, "src")
    change(repo, "src/a.py")

    init(repo, "--adopt", OTTER, BB_AGENT=HARBOR).data  # noqa: B018

    (event,) = repo.json("protocol", "list", "--type", "RESUME").data
    assert (event["from_agent"], event["payload"]["adopted_agent"]) == (HARBOR, OTTER)


def test_changes_that_git_quotes_are_found(repo: Scratch):
    reserve(repo, OTTER, "src")
    names = sorted(["src/with space.py", "src/ümlaut\t.py", 'src/"quoted".py', "src/[slug].py", "src/*"])
    for name in names:
        change(repo, name)

    changed = init(repo, "--adopt", OTTER).data["looked_at"]["changed"]

    assert sorted(changed) == names


# -- without a terminal, without git


def test_without_a_terminal_nothing_is_asked(repo: Scratch):
    """Neither --non-interactive nor a terminal: nobody could answer, so nothing is waited for."""
    before = kept(repo)

    done = subprocess.run(
        [sys.executable, "-m", "bb", "init", "--adopt", OTTER, "--json"],
        cwd=repo.path,
        env=environment(BB_NOW=NOON),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.returncode == 4
    assert '"ADOPTION_REJECTED"' in done.stdout
    assert done.stderr == ""
    assert kept(repo) == before


def test_without_a_work_tree_only_beads_are_evidence(tmp_path: Path):
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "bare")], check=True, env=environment())
    repo = Near(tmp_path / "bare", {"BB_NOW": NOON})
    repo.json("agent", "register", "--name", OTTER, "--role", "builder").data  # noqa: B018

    refused = init(repo, "--adopt", OTTER, "--scope", "src")

    assert refused.code in ("ADOPTION_REJECTED", "SCOPE_OUTSIDE"), refused.envelope
    assert refused.status == 4
