"""Whose commit it is, in CI: squashes, co-authors, bots, and agents without hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stories.ci.ci_support import HARBOR, Project, project, told

LEX = "src/parser/lex.py"
SQUASHES = Path(__file__).parents[2] / "data" / "squash"
ROBIN, BOT = "tidy-robin", "renovate[bot]@users.noreply.github.com"


@pytest.fixture
def work(tmp_path: Path) -> Project:
    """OTTER holds src/parser, and a bot is registered by its address."""
    made = project(tmp_path)
    made.repo.json("agent", "register", "--name", ROBIN, "--role", "bot", "--email", BOT).data  # noqa: B018
    made.publish()
    return made


def change(work: Project, message: str, *paths: str, by: str = "tester@example.invalid") -> None:
    """A commit with this message and author, in the place of the work so far."""
    work.commit(None, dict.fromkeys(paths or (LEX,), "2\n"))
    work.git("commit", "--quiet", "--amend", "--author", f"Somebody <{by}>", "-m", message)
    work.push("work")


@pytest.mark.parametrize("name", ["github-several-commits", "gitlab-all-commits", "git-merge-squash"])
def test_a_squash_is_excused_where_one_of_its_agents_held_the_path(work: Project, name: str):
    change(work, (SQUASHES / f"{name}.txt").read_text())

    assert told(work.check(work.checkout("checkout"))) == [("warning", "unclear-author", None)]
    assert work.check(work.checkout("again"), "--strict").status == 0


def test_a_squash_without_the_holder_is_stopped(work: Project):
    change(work, (SQUASHES / "github-without-trailers.txt").read_text())

    ran = work.check(work.checkout("checkout"))

    assert told(ran) == [("error", "held-then", LEX)]
    assert ran.envelope["error"]["details"]["findings"][0]["agent_id"] == ROBIN


def test_a_co_author_in_a_later_paragraph_hides_no_trailer(work: Project):
    change(work, f"Change\n\nBB-Agent: {HARBOR}\n\nCo-authored-by: Ada <ada@people.example>")

    assert told(work.check(work.checkout("checkout"))) == [("error", "held-then", LEX)]


def test_a_bot_is_an_agent_by_its_address(work: Project):
    change(work, "Update dependencies", by="29139614+renovate[bot]@users.noreply.github.com")

    assert told(work.check(work.checkout("checkout"))) == [("error", "held-then", LEX)]


def test_an_author_that_no_agent_has_registered_is_a_person(work: Project):
    change(work, "Change", by="dependabot[bot]@users.noreply.github.com")
    ci = work.checkout("checkout")

    assert told(work.check(ci)) == [("warning", "held-then", LEX)]
    assert told(work.check(ci, "--strict=agents")) == [("warning", "held-then", LEX)]
    assert (
        told(work.check(ci, "--strict")) == told(work.check(ci, "--strict=everyone")) == [("error", "held-then", LEX)]
    )


def test_strict_about_agents_an_unclear_trailer_fails(work: Project):
    change(work, "Change\n\nBB-Agent: ../x", "docs/a.md")
    ci = work.checkout("checkout")

    assert work.check(ci).status == 0
    assert work.check(ci, "--strict=agents").code == "UNCLEAR_AUTHOR"
    assert ci.bb("ci", "check", "--base", "origin/main", "--strict=nobody").status == 2


def test_an_agent_that_commits_as_the_person_is_judged_by_its_address(work: Project):
    change(work, "Change\n\nBB-Agent: user", by=BOT)

    assert told(work.check(work.checkout("checkout"))) == [("error", "held-then", LEX)]


def test_addresses_are_replaced_and_shown(work: Project):
    wren = ("agent", "register", "--name", "dusty-wren", "--role", "tester")
    work.repo.json(*wren, "--email", "wren@agents.example", "--email", "WREN@b.example").data  # noqa: B018
    assert work.repo.json("agent", "show", "--agent", "dusty-wren").data["emails"] == [
        "wren@agents.example",
        "wren@b.example",
    ]
    work.repo.json(*wren, "--force-update", "--email", "new@agents.example").data  # noqa: B018
    assert work.repo.json("agent", "show", "--agent", "dusty-wren").data["emails"] == ["new@agents.example"]
    assert work.repo.json(*wren, "--force-update", "--email", "Wren <w@b>").code == "INVALID_EMAIL"


def test_a_message_with_a_nul_hides_nothing_of_the_next_commit(work: Project):
    tree, parent = work.head("HEAD^{tree}"), work.head()
    raw = work.repo.path.parent / "raw"
    raw.write_bytes(
        f"tree {tree}\nparent {parent}\nauthor A <a@b.c> 1767614400 +0000\ncommitter A <a@b.c> 1767614400 +0000\n\n"
        "Odd\0\n\nBB-Agent: amber-otter\0\0\0\0\0\0".encode()
    )
    odd = work.repo.git("hash-object", "-t", "commit", "-w", "--literally", str(raw)).strip()
    work.repo.git("reset", "--quiet", "--hard", odd)
    work.commit(HARBOR, {LEX: "2\n"})

    ran = work.repo.json("ci", "check", "--base", "origin/main")

    assert told(ran) == [("error", "held-then", LEX)]
    assert ran.envelope["error"]["details"]["commits"] == 2
