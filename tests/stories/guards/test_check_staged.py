"""`bb check --staged`: whose is what the coming commit changes, and may it be made?"""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from tests.near import near
from tests.stories.agents.agents_support import (
    ESCAPES,
    WREN,
    after,
    crew,
    is_harmless,
    log,
    nothing_written,
    reserve,
    stay,
)
from tests.stories.guards.guards_support import HARBOR, OTTER, git, history, paths, staged, well, write
from tests.support import Scratch, scratch


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    return history(tmp_path / "repo")


def test_a_change_to_what_another_agent_holds_is_refused_and_the_holder_is_named(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    refused = staged(repo)

    assert (refused.code, refused.status) == ("PATH_HELD", 7)
    assert "amber-otter holds src/parser, so you may not change src/parser/a.py" in refused.envelope["error"]["message"]
    assert "git restore --staged" in refused.envelope["error"]["hint"]
    assert paths(refused) == {"src/parser/a.py": "held"}


def test_the_holder_itself_and_whoever_changes_something_else_may_commit(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")
    assert paths(staged(repo, OTTER)) == {"src/parser/a.py": "yours"}
    repo.git("reset", "--quiet")
    write(repo, "docs/guide.md", "changed\n")
    repo.git("add", "docs")

    answer = staged(repo)

    assert answer.data["may_touch"] is True
    assert paths(answer) == {"docs/guide.md": "free"}


def test_only_what_is_staged_counts_never_the_work_tree(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    write(repo, "src/parser/new.py", "new\n")
    write(repo, "lib/x.py", "staged\n")
    repo.git("add", "lib")
    assert paths(staged(repo)) == {"lib/x.py": "free"}
    repo.git("add", "src/parser/a.py")
    write(repo, "src/parser/a.py", "one\n")  # back in the work tree, but not in the index

    assert paths(staged(repo)) == {"lib/x.py": "free", "src/parser/a.py": "held"}


def test_nothing_staged_is_nothing_to_judge(repo: Scratch):
    assert staged(repo).data["paths"] == []


def test_an_intent_to_add_is_not_part_of_the_commit(repo: Scratch):
    write(repo, "src/parser/new.py", "new\n")
    repo.git("add", "--intent-to-add", "src/parser/new.py")

    assert staged(repo).data["paths"] == []


def test_a_rename_touches_the_old_path_and_the_new_one(repo: Scratch):
    repo.git("mv", "src/parser/a.py", "lib/a.py")
    assert paths(staged(repo)) == {"lib/a.py": "free", "src/parser/a.py": "held"}
    repo.git("reset", "--quiet", "--hard")
    repo.git("mv", "docs/guide.md", "src/parser/guide.md")

    assert paths(staged(repo)) == {"docs/guide.md": "free", "src/parser/guide.md": "held"}


def test_a_deletion_and_a_change_of_mode_or_type_count(repo: Scratch):
    repo.git("rm", "--quiet", "src/parser/a.py")
    repo.git("update-index", "--chmod=+x", "src/parser/b.py")
    assert paths(staged(repo)) == {"src/parser/a.py": "held", "src/parser/b.py": "held"}
    repo.git("reset", "--quiet", "--hard")
    (repo.path / "src/parser/a.py").unlink()
    (repo.path / "src/parser/a.py").symlink_to("b.py")
    repo.git("add", ".")

    assert paths(staged(repo)) == {"src/parser/a.py": "held"}


def test_a_file_in_the_place_of_a_held_folder_is_in_the_way(repo: Scratch):
    repo.git("rm", "-r", "--quiet", "src")
    write(repo, "src", "no folder any more\n")
    repo.git("add", ".")

    assert paths(staged(repo))["src"] == "held"


def test_a_pattern_holds_the_files_it_matches_and_no_others(repo: Scratch):
    assert reserve(repo, OTTER, "**/*.md").status == 0
    write(repo, "lib/x.py", "changed\n")
    write(repo, "notes.md", "new\n")
    repo.git("add", ".")

    assert paths(staged(repo)) == {"lib/x.py": "free", "notes.md": "held"}


def test_a_submodule_counts_as_its_path_and_all_beneath_it(repo: Scratch, tmp_path: Path):
    other = near(tmp_path / "other")
    assert reserve(repo, OTTER, "vendor/other/src").status == 0
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "vendor/other")
    assert paths(staged(repo)) == {".gitmodules": "free", "vendor/other": "held"}
    repo.git("commit", "--quiet", "-m", "Submodule")
    assert staged(repo).data["paths"] == []
    other.git("commit", "--quiet", "--allow-empty", "-m", "More")
    well(git(repo, "fetch", "--quiet", str(other.path), cwd=repo.path / "vendor/other"))
    well(git(repo, "checkout", "--quiet", "FETCH_HEAD", cwd=repo.path / "vendor/other"))
    repo.git("config", "submodule.vendor/other.ignore", "all")
    repo.git("config", "diff.ignoreSubmodules", "all")
    repo.git("update-index", "vendor/other")

    assert paths(staged(repo)) == {"vendor/other": "held"}


def test_the_first_commit_of_all_is_judged_whole(tmp_path: Path):
    repo = scratch(tmp_path / "fresh", commit=False)
    for name in (OTTER, HARBOR):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    assert reserve(repo, OTTER, "src").status == 0
    assert staged(repo).data["paths"] == []
    write(repo, "src/a", "1")
    write(repo, "b", "2")
    repo.git("add", ".")

    assert paths(staged(repo)) == {"b": "free", "src/a": "held"}


def test_names_the_file_system_allows_are_judged_whatever_is_in_them(repo: Scratch):
    odd = [b"new\nline", b"tab\t", b"\x1b[31mred", b"\xff\xfe", "ä\U0010ffff".encode(), b"[a]*", b"{a,b}", b" ", b"-x"]
    for folder in (b"src/parser/", b"lib/"):
        for name in odd:
            with open(os.path.join(os.fsencode(repo.path), folder, name), "wb") as file:
                file.write(b"x")
    repo.git("add", ".")

    refused = staged(repo)
    said = repo.bb("check", "--staged", "--agent", HARBOR)

    assert [path.startswith("src/parser/") for path in paths(refused)] == [False] * len(odd) + [True] * len(odd)
    assert all(verdict == ("held" if path[0] == "s" else "free") for path, verdict in paths(refused).items())
    assert orjson.loads(refused.out), "half a character is no JSON to a strict reader"
    assert is_harmless(said.out)
    assert is_harmless(said.err)


def test_a_path_in_brackets_is_held_by_whoever_holds_that_path(repo: Scratch):
    write(repo, "app/[slug]/page.tsx", "x")
    assert reserve(repo, OTTER, "app/[slug]/page.tsx").status == 0
    write(repo, "app/s/page.tsx", "y")
    repo.git("add", ".")

    assert paths(staged(repo)) == {"app/[slug]/page.tsx": "held", "app/s/page.tsx": "free"}


@pytest.mark.parametrize("where", ["deep", ".git"])
def test_the_answer_is_the_same_from_anywhere_in_the_repository(repo: Scratch, where: str):
    (repo.path / "deep").mkdir()
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    if where == ".git":
        assert staged(repo, cwd=repo.path / where).code == "NO_WORK_TREE"
    else:
        assert staged(repo, cwd=repo.path / where).envelope == staged(repo).envelope


def test_every_worktree_has_an_index_of_its_own(repo: Scratch, tmp_path: Path):
    side = tmp_path / "side"
    repo.git("worktree", "add", "--quiet", "-b", "side", str(side))
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")
    write(repo, "src/parser/b.py", "changed\n", cwd=side)
    repo.git("add", ".", cwd=side)

    assert paths(staged(repo)) == {"src/parser/a.py": "held"}
    assert paths(staged(repo, cwd=side)) == {"src/parser/b.py": "held"}


# -- who is asking


@pytest.mark.parametrize("settings", [{}, {"BB_AGENT": ""}, {"BB_AGENT": "user"}])
def test_a_person_is_told_and_never_stopped(repo: Scratch, settings: dict[str, str]):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    answer = staged(repo, None, **settings)
    said = repo.bb("check", "--staged", **settings)

    assert answer.data["may_touch"] is False
    assert paths(answer) == {"src/parser/a.py": "held"}
    assert said.out.splitlines() == [
        "held    src/parser/a.py  amber-otter holds src/parser",
        "1 staged, 1 held by others",
    ]


def test_an_agent_nobody_knows_or_that_is_retired_is_refused(repo: Scratch):
    assert staged(repo, "dusty-wren").code == "AGENT_NOT_FOUND"
    assert staged(repo, None, BB_AGENT="../x").code == "INVALID_AGENT_ID"
    assert repo.bb("agent", "register", "--name", WREN, "--role", "builder").status == 0
    assert repo.bb("agent", "retire", "--agent", WREN).status == 0

    assert staged(repo, WREN).status != 0


def test_where_there_is_no_ledger_everybody_is_free(tmp_path: Path):
    bare = crew(tmp_path / "fresh")
    write(bare, "a", "1")
    bare.git("add", ".")

    for agent in (None, OTTER):
        answer = staged(bare, agent).data
        assert (answer["may_touch"], answer["is_managed"], answer["paths"]) == (True, False, [])
    assert not bare.store.exists()


def test_what_a_silent_agent_holds_is_held_until_it_is_taken_over(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")
    later = stay(after(repo, 40), HARBOR)

    refused = staged(later)

    assert refused.code == "PATH_HELD"
    assert "--takeover-stale" in refused.envelope["error"]["hint"]


def test_asking_writes_nothing(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    with nothing_written(repo):
        staged(repo)
        staged(repo, None)


def test_what_is_asked_must_make_sense(repo: Scratch):
    assert repo.json("check").code == "MISSING_OPTION"
    assert repo.json("check", "lib", "--staged").code == "INVALID_VALUE"
    assert repo.json("check", "lib", "--override", "because").code == "INVALID_VALUE"
    assert staged(repo, HARBOR, "--override", " ").code == "INVALID_VALUE"
    assert staged(repo, None, "--override", "because").code == "NO_AGENT"
    assert repo.json("check", "--staged", cwd=repo.path.parent).code == "NOT_A_REPOSITORY"


# -- what cannot be judged


def spoil_ledger(repo: Scratch) -> None:
    lines = repo.journal().read_bytes().splitlines(keepends=True)
    repo.journal().write_bytes(b"".join([*lines[:-1], lines[-1].replace(b"src/parser", b"src/forged")]) + lines[-1])
    for index in repo.store.glob("index.sqlite*"):
        index.unlink()


def spoil_git(repo: Scratch) -> None:
    (repo.path / ".git" / "index").write_bytes(b"nonsense")


def spoil_format(repo: Scratch) -> None:
    (repo.store / "clone.json").write_text('{"format": 99}')


@pytest.mark.parametrize("spoil", [spoil_ledger, spoil_git, spoil_format])
def test_an_agent_is_refused_and_a_person_warned_when_nothing_can_be_judged(repo: Scratch, spoil):
    spoil(repo)

    refused, let_go, said = staged(repo), staged(repo, None), repo.bb("check", "--staged")

    assert refused.status not in (0, 1)
    assert let_go.data["not_judged"]["code"] == refused.code
    assert said.status == 0
    assert said.out.startswith("Warning: this commit was not checked: [")


def test_no_git_on_the_path_is_no_way_round(repo: Scratch, tmp_path: Path):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    assert staged(repo, PATH=str(tmp_path)).code == "GIT_NOT_FOUND"
    assert staged(repo, None, PATH=str(tmp_path)).data["not_judged"]["code"] == "GIT_NOT_FOUND"


# -- the explicit word


@pytest.mark.parametrize("form", ["option", "environment"])
def test_an_agent_may_go_ahead_with_a_reason_and_that_is_recorded(repo: Scratch, form: str):
    for name in "ab":
        write(repo, f"src/parser/{name}.py", "changed\n")
    repo.git("add", ".")
    more, settings = (
        (["--override", "agreed by mail"], {}) if form == "option" else ([], {"BB_OVERRIDE": "agreed by mail"})
    )

    answer = staged(repo, HARBOR, *more, **settings)

    assert answer.data["may_touch"] is True
    assert answer.data["override"]["reason"] == "agreed by mail"
    (event,) = [each for each in log(repo) if each["kind"] == "x.bb.override"]
    assert (event["kind"], event["by"], event["id"]) == ("x.bb.override", HARBOR, answer.data["override"]["event_id"])
    assert event["data"]["paths"] == ["src/parser/a.py", "src/parser/b.py"]
    assert len(event["data"]["reservation_ids"]) == 1
    (told,) = [each for each in repo.json("timeline").data if each["event_id"] == event["id"]]
    assert told["text"] == "committed src/parser/a.py, src/parser/b.py although held by others: agreed by mail"
    assert told["about"] == [HARBOR, OTTER]


def test_whoever_holds_what_was_committed_all_the_same_is_told_and_can_settle_it(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    staged(repo, HARBOR, "--override", "agreed by mail")
    staged(repo, HARBOR, "--override", "agreed by mail")

    (incursion,) = repo.json("protocol", "incursions", "--state", "open").data
    assert (incursion["from_agent"], incursion["to_agent"], incursion["found_by"]) == (HARBOR, OTTER, "commit")
    assert incursion["paths"] == ["src/parser/a.py"]
    (mail,) = repo.json("agent", "inbox", "--agent", OTTER).data
    assert "src/parser/a.py" in mail["subject"]


def test_where_nothing_is_in_the_way_there_is_nothing_to_override(repo: Scratch):
    write(repo, "lib/x.py", "changed\n")
    repo.git("add", ".")

    with nothing_written(repo):
        assert staged(repo, HARBOR, "--override", "just in case").data["override"] is None


def test_a_reason_that_holds_a_secret_or_a_control_character_does_no_harm(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")
    with nothing_written(repo):
        assert staged(repo, HARBOR, "--override", "ghp_" + "aZ09" * 9).code == "SECRET_FOUND"
    assert repo.bb("check", "--staged", "--agent", HARBOR, "--override", ESCAPES.replace("\x00", "")).status == 0

    assert is_harmless(repo.bb("timeline").out)


def test_a_damaged_ledger_is_not_overridden_because_that_could_not_be_recorded(repo: Scratch):
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")
    spoil_ledger(repo)

    assert staged(repo, HARBOR, "--override", "because").status != 0


# -- .bbignore


def test_what_the_committed_ignore_file_names_is_never_judged(repo: Scratch):
    write(repo, ".bbignore", "*.lock\n/src/parser/gen/\n!keep.lock\n")
    repo.git("add", ".bbignore")
    repo.git("commit", "--quiet", "-m", "Ignore")
    for name in ("uv.lock", "keep.lock", "gen/tables.py", "a.py"):
        write(repo, f"src/parser/{name}", "new\n")
    repo.git("add", ".")

    assert paths(staged(repo)) == {
        "src/parser/a.py": "held",
        "src/parser/gen/tables.py": "ignored",
        "src/parser/keep.lock": "held",
        "src/parser/uv.lock": "ignored",
    }
    repo.git("restore", "--staged", "src/parser/a.py", "src/parser/keep.lock")
    assert staged(repo).data["may_touch"] is True


def test_a_commit_does_not_choose_what_is_ignored_in_itself(repo: Scratch):
    write(repo, ".bbignore", "src/\n")
    write(repo, "src/parser/a.py", "changed\n")
    repo.git("add", ".")

    assert staged(repo).code == "PATH_HELD"


def test_before_the_first_commit_the_index_says_what_is_ignored(tmp_path: Path):
    repo = scratch(tmp_path / "fresh", commit=False)
    for name in (OTTER, HARBOR):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    assert reserve(repo, OTTER, "src").status == 0
    write(repo, ".bbignore", "*.lock\n")
    write(repo, "src/a.lock", "1")
    repo.git("add", ".")

    assert paths(staged(repo)) == {".bbignore": "free", "src/a.lock": "ignored"}
