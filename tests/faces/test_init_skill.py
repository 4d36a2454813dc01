"""`bb init --skill` tells agents how to work here: in AGENTS.md between markers, and where they look for skills."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from bb.coordination.wiring import marked_section
from tests.faces.faces_support import everything_in
from tests.near import Near, near
from tests.support import NOON, ROOT, Scratch, environment
from tests.waiting import PATIENCE

HOMES = (".agents/skills", ".claude/skills")
SKILL = "beadboard-driver/SKILL.md"
SHIPPED = sorted(
    path.relative_to(ROOT / "skills").as_posix() for path in (ROOT / "skills" / "beadboard-driver").rglob("*.md")
)
FILES = [*(f"{home}/{name}" for home in HOMES for name in SHIPPED), "AGENTS.md"]


@pytest.fixture
def repo(tmp_path: Path) -> Near:
    return near(tmp_path / "repo", BB_NOW=NOON)


def outcomes(repo: Scratch, *words: str) -> dict[str, str]:
    """What has become of each file."""
    return {file["path"]: file["outcome"] for file in repo.json("init", *words).data["skill"]["files"]}


def told(repo: Scratch) -> Path:
    return repo.path / "AGENTS.md"


def work(repo: Scratch) -> dict[str, object]:
    return everything_in(repo.path, but=repo.store)


def test_it_writes_the_skill_where_agents_look_and_says_which_files(repo: Scratch):
    assert outcomes(repo, "--skill") == dict.fromkeys(FILES, "created")

    for home in HOMES:
        for name in SHIPPED:
            written = (repo.path / home / name).read_text()
            assert written == marked_section.sealed((ROOT / "skills" / name).read_text())
    assert (ROOT / "skills" / "AGENTS.snippet.md").read_text() in told(repo).read_text()
    assert repo.store.exists()


def test_again_it_changes_nothing(repo: Scratch):
    repo.bb("init", "--skill")
    before = work(repo)

    assert outcomes(repo, "--skill") == dict.fromkeys(FILES, "unchanged")
    assert work(repo) == before


def test_a_dry_run_says_it_and_does_nothing(repo: Scratch):
    before = work(repo)

    planned = repo.json("init", "--skill", "--dry-run").data
    assert repo.bb("init", "--skill", "--dry-run").out.count("would be created") == len(FILES)

    assert work(repo) == before
    assert not repo.store.exists()
    assert planned["skill"]["is_done"] is False
    assert {file["path"]: file["outcome"] for file in planned["skill"]["files"]} == outcomes(repo, "--skill")


def test_it_goes_with_the_start_of_a_session(repo: Scratch):
    given = repo.json("init", "--non-interactive", "--register", "amber-otter", "--skill").data

    assert given["agent_id"] == "amber-otter"
    assert told(repo).exists()
    assert len(given["skill"]["files"]) == len(FILES)


@pytest.mark.parametrize(
    "octets",
    [b"", b"# Us\n", b"# Us", b"# Us\r\n\r\nRules.\r\n", b"\xef\xbb\xbf# Us\n", b"# Us\n\n\n", "# Über\n".encode()],
)
def test_what_agents_md_says_already_stays_to_the_byte_and_is_all_that_is_left_behind(repo: Scratch, octets: bytes):
    told(repo).write_bytes(octets)
    told(repo).chmod(0o640)

    assert outcomes(repo, "--skill")["AGENTS.md"] == "changed"
    assert told(repo).read_bytes().startswith(octets)
    assert told(repo).stat().st_mode & 0o777 == 0o640
    assert (b"\r\n" in octets) == (b"\r\n" in told(repo).read_bytes())

    assert outcomes(repo, "--undo", "--skill")["AGENTS.md"] == "changed"
    assert told(repo).read_bytes() == octets


def test_only_what_lies_between_the_markers_is_replaced(repo: Scratch):
    told(repo).write_bytes(b"# Us\r\n<!-- bb:begin -->\r\nformer\r\n<!-- bb:end -->\r\nafter it")

    assert outcomes(repo, "--skill")["AGENTS.md"] == "changed"

    octets = told(repo).read_bytes()
    assert octets.startswith(b"# Us\r\n<!-- bb:begin -->\r\n## ")
    assert octets.endswith(b"<!-- bb:end -->\r\nafter it")
    assert b"former" not in octets
    assert octets.count(b"\n") == octets.count(b"\r\n")


def link(path: Path) -> None:
    path.with_name("CLAUDE.md").write_text("# Us\n")
    path.symlink_to("CLAUDE.md")


def read_only(path: Path) -> None:
    path.write_text("# Us\n")
    path.chmod(0o444)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (link, "AGENTS.md is a symbolic link to CLAUDE.md"),
        (lambda path: path.symlink_to("nowhere"), "AGENTS.md is a symbolic link to nowhere"),
        (Path.mkdir, "AGENTS.md is a folder"),
        (read_only, "AGENTS.md is read-only"),
        (os.mkfifo, "AGENTS.md is not a regular file"),
        (lambda path: path.write_bytes(b"# Us \xff\n"), "AGENTS.md is not valid UTF-8"),
        (lambda path: path.write_bytes(b"x" * (1 << 20)), "AGENTS.md is too large"),
        (lambda path: path.write_text("<!-- bb:begin -->\n"), "AGENTS.md is invalid"),
    ],
    ids=["link", "dangling link", "folder", "read-only", "pipe", "no UTF-8", "large", "one marker"],
)
def test_an_agents_md_that_cannot_be_written_is_refused_and_nothing_is(repo: Scratch, make: object, says: str):
    make(told(repo))  # type: ignore[operator]
    before = {path for path in repo.path.rglob("*") if repo.store not in path.parents}

    refused = repo.json("init", "--skill")

    assert (refused.status, refused.code) == (4, "SKILL_FILE_UNFIT")
    assert says in refused.envelope["error"]["message"]
    assert {path for path in repo.path.rglob("*") if repo.store not in path.parents} == before
    assert not repo.store.exists()
    assert repo.json("init").status == 0


@pytest.mark.parametrize(
    ("where", "says"),
    [(".claude", "not a folder"), (".agents/skills", "not a folder"), (f".claude/skills/{SKILL}", "is a folder")],
)
def test_what_stands_in_the_way_of_the_skill_is_named(repo: Scratch, where: str, says: str):
    path = repo.path / where
    if says == "not a folder":
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine\n")
    else:
        path.mkdir(parents=True)

    refused = repo.json("init", "--skill")

    assert refused.code == "SKILL_FILE_UNFIT"
    assert where in refused.envelope["error"]["message"]
    assert says in refused.envelope["error"]["message"]
    assert not told(repo).exists()


def test_nothing_is_written_outside_the_work_tree(repo: Scratch, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (repo.path / ".claude").symlink_to(tmp_path / "elsewhere")

    refused = repo.json("init", "--skill")

    assert refused.code == "SKILL_FILE_UNFIT"
    assert "leads out of the work tree" in refused.envelope["error"]["message"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nothing_is_taken_away_outside_the_work_tree(repo: Scratch, tmp_path: Path):
    other = near(tmp_path / "other")
    other.bb("init", "--skill")
    (repo.path / ".claude").symlink_to(other.path / ".claude")
    (repo.path / ".agents").mkdir()
    (repo.path / ".agents" / "skills").symlink_to(other.path / ".agents" / "skills")
    before = work(other)

    assert outcomes(repo, "--undo", "--skill") == {}
    assert work(other) == before


def test_a_link_from_one_folder_of_skills_to_the_other_is_followed_once(repo: Scratch):
    (repo.path / ".agents" / "skills").mkdir(parents=True)
    (repo.path / ".claude").mkdir()
    (repo.path / ".claude" / "skills").symlink_to("../.agents/skills")

    files = outcomes(repo, "--skill")

    assert not [path for path in files if path.startswith(".claude")]
    assert (repo.path / ".claude" / "skills" / SKILL).read_text().startswith("---\nname: beadboard-driver")
    assert set(outcomes(repo, "--undo", "--skill").values()) == {"removed"}
    assert (repo.path / ".claude" / "skills").is_symlink()


def test_a_skill_that_somebody_has_changed_is_left_and_named(repo: Scratch):
    repo.bb("init", "--skill")
    mine = repo.path / HOMES[1] / SKILL
    mine.write_text(mine.read_text() + "And sing.\n")

    again = repo.json("init", "--skill").data["skill"]["files"]
    undone = repo.json("init", "--undo", "--skill").data["skill"]["files"]

    for files in (again, undone):
        assert [file["path"] for file in files if file["outcome"] == "left"] == [f"{HOMES[1]}/{SKILL}"]
        assert all("it was changed since" in file["why"] for file in files if file["outcome"] == "left")
    assert mine.read_text().endswith("And sing.\n")
    assert not (repo.path / HOMES[0]).exists()


def test_an_older_version_of_ours_is_replaced_and_what_is_no_longer_shipped_goes(repo: Scratch):
    for name in (SKILL, "beadboard-driver/references/old.md"):
        (repo.path / HOMES[0] / name).parent.mkdir(parents=True, exist_ok=True)
        (repo.path / HOMES[0] / name).write_text(
            marked_section.sealed("As it was.\n").replace("\n", "\r\n"), newline=""
        )

    files = outcomes(repo, "--skill")

    assert files[f"{HOMES[0]}/{SKILL}"] == "changed"
    assert files[f"{HOMES[0]}/beadboard-driver/references/old.md"] == "removed"
    assert not (repo.path / HOMES[0] / "beadboard-driver" / "references" / "old.md").exists()


def test_undo_takes_away_what_init_made_and_nothing_else(repo: Scratch):
    before = work(repo)
    repo.bb("init", "--skill")
    made = work(repo)

    planned = outcomes(repo, "--undo", "--dry-run")
    assert work(repo) == made
    done = outcomes(repo, "--undo")

    assert planned == done == dict.fromkeys(FILES, "removed")
    assert work(repo) == before
    assert not repo.store.exists()


def test_undo_of_the_skill_alone_leaves_the_ledger(repo: Scratch):
    repo.bb("init", "--skill")
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")

    assert repo.json("init", "--undo").code == "HISTORY_PRESENT"
    assert told(repo).exists()
    assert set(outcomes(repo, "--undo", "--skill").values()) == {"removed"}

    assert repo.json("agent", "show", "--agent", "amber-otter").status == 0
    assert repo.bb("init", "--undo", "--skill").out == "The skill of bb is not installed here\n"


def test_undo_leaves_a_section_that_somebody_has_changed_and_names_it(repo: Scratch):
    repo.bb("init", "--skill")
    told(repo).write_text(told(repo).read_text().replace("## Working", "## Playing"))

    undone = repo.bb("init", "--undo", "--skill").out

    assert "left" in undone
    assert "AGENTS.md: it was changed since" in undone
    assert "## Playing" in told(repo).read_text()


def test_other_skills_and_files_stay(repo: Scratch):
    mine = [repo.path / ".claude" / "skills" / "mine" / "SKILL.md", repo.path / HOMES[0] / "beadboard-driver" / "n.txt"]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine\n")

    repo.bb("init", "--skill")
    undone = outcomes(repo, "--undo", "--skill")

    assert [path.read_text() for path in mine] == ["mine\n", "mine\n"]
    assert undone[f"{HOMES[0]}/beadboard-driver/n.txt"] == "left"


def test_where_there_is_no_work_tree_it_is_refused(repo: Scratch, tmp_path: Path):
    bare = Scratch(tmp_path / "bare.git")
    repo.git("init", "--quiet", "--bare", str(bare.path))

    assert bare.json("init", "--skill").code == "NO_WORK_TREE"
    assert repo.json("init", "--home", "--skill", BB_HOME=str(tmp_path / "home")).code == "NO_WORK_TREE"
    assert bare.json("init", "--undo", "--skill").data["skill"]["files"] == []


def test_from_a_folder_within_it_goes_to_the_top(repo: Scratch):
    (repo.path / "src").mkdir()

    repo.bb("init", "--skill", cwd=repo.path / "src")

    assert told(repo).exists()
    assert list((repo.path / "src").iterdir()) == []


def at_a_terminal(repo: Scratch, answer: str, *words: str) -> tuple[int, str]:
    """`bb init` by a person who types ANSWER; the exit status and what was asked."""
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-m", "bb", "init", *words],
        cwd=repo.path,
        env=environment(**repo.settings),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    _, asked = program.communicate(timeout=PATIENCE)
    os.close(ours)
    return program.returncode, asked.decode()


def test_a_person_at_a_terminal_is_asked_once_there_is_something_to_do(repo: Scratch):
    for answer in ("n\n", "\n"):
        status, asked = at_a_terminal(repo, answer)
        assert (status, "AGENTS.md? [y/N]" in asked) == (0, True)
        assert not told(repo).exists()

    assert "AGENTS.md? [y/N]" in at_a_terminal(repo, "y\n")[1]
    assert told(repo).exists()
    assert at_a_terminal(repo, "n\n") == (0, "")


@pytest.mark.parametrize("words", [["--json"], ["--dry-run"], ["--undo"], ["--register", "amber-otter"], ["--skill"]])
def test_nobody_is_asked_where_they_said_what_they_want(repo: Scratch, words: list[str]):
    assert at_a_terminal(repo, "", *words) == (0, "")


def test_an_agent_that_has_a_terminal_is_not_asked(repo: Scratch):
    repo.settings["BB_AGENT"] = "amber-otter"

    assert at_a_terminal(repo, "") == (0, "")


def test_what_cannot_be_done_is_not_offered(repo: Scratch):
    told(repo).mkdir()

    assert at_a_terminal(repo, "") == (0, "")


def test_without_a_terminal_nothing_is_asked_and_nothing_written(repo: Scratch):
    done = repo.bb("init", stdin="y\n")

    assert (done.status, done.err) == (0, "")
    assert not told(repo).exists()


@pytest.mark.parametrize(("name", "line"), [("CLAUDE.md", "@AGENTS.md"), (".claude/CLAUDE.md", "@../AGENTS.md")])
def test_claude_code_reads_agents_md_through_claude_md(repo: Scratch, name: str, line: str):
    (repo.path / name).parent.mkdir(exist_ok=True)
    (repo.path / name).write_bytes(b"# Mine\r\n\r\nNo tabs.")
    assert outcomes(repo, "--skill")[name] == "changed"
    assert f"\r\n{line}\r\n" in (repo.path / name).read_bytes().decode()
    assert outcomes(repo, "--skill")[name] == "unchanged"

    assert outcomes(repo, "--undo", "--skill")[name] == "changed"

    assert (repo.path / name).read_bytes() == b"# Mine\r\n\r\nNo tabs."


def test_a_claude_md_that_includes_agents_md_already_stays(repo: Scratch):
    (repo.path / "CLAUDE.md").write_text("Read @AGENTS.md first.\n")

    assert "CLAUDE.md" not in outcomes(repo, "--skill")
    assert "CLAUDE.md" not in outcomes(repo, "--undo", "--skill")
    assert (repo.path / "CLAUDE.md").read_text() == "Read @AGENTS.md first.\n"


def test_a_claude_md_that_is_a_link_to_agents_md_stays(repo: Scratch):
    told(repo).write_text("Mine.\n")
    (repo.path / "CLAUDE.md").symlink_to("AGENTS.md")

    assert "CLAUDE.md" not in outcomes(repo, "--skill")
    assert (repo.path / "CLAUDE.md").is_symlink()


def test_a_claude_md_that_cannot_be_written_stops_nothing_else(repo: Scratch, tmp_path: Path):
    (tmp_path / "elsewhere.md").write_text("Mine.\n")
    (repo.path / "CLAUDE.md").symlink_to(tmp_path / "elsewhere.md")

    found = outcomes(repo, "--skill")

    assert (found["CLAUDE.md"], found["AGENTS.md"]) == ("left", "created")
    assert (tmp_path / "elsewhere.md").read_text() == "Mine.\n"


@pytest.mark.parametrize("before", [None, "{}", '{\n  "context": {"fileName": "NOTES.md"}\n}\n', "// mine\n{}"])
def test_gemini_cli_reads_agents_md_where_it_is_used(repo: Scratch, before: str | None):
    file = repo.path / ".gemini" / "settings.json"
    file.parent.mkdir()
    if before is not None:
        file.write_text(before)

    outcome = outcomes(repo, "--skill")[".gemini/settings.json"]

    assert outcome == ("left" if before and "//" in before else "created" if before is None else "changed")
    assert ("./AGENTS.md" in file.read_text()) == (outcome != "left")
    assert outcomes(repo, "--skill")[".gemini/settings.json"] in ("unchanged", "left")
    outcomes(repo, "--undo", "--skill")
    assert (file.read_text() if file.exists() else None) in (before, None if before == "{}" else before)
