"""`bb doctor`: what it looks at, what it says to a person, and what it leaves alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faces.faces_support import everything_in
from tests.near import Near, near
from tests.support import NOON, ROOT, Scratch

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="programs of our own are written as shell scripts")
OURS = {
    "our launcher": "#!/usr/bin/env python3\nfrom bb.__main__ import main\n\nmain()\n",
    "the checkout's": (ROOT / "scripts" / "bb").read_text(encoding="utf-8"),
}
NOT_OURS = {
    "babashka": '#!/bin/sh\nexec babashka "$@"\n',
    "a binary": "\x7fELF\x02\x01\x01" + "\0" * 200,
    "an empty file": "",
    "a program that speaks of us": "#!/bin/sh\n# not the bb of beadboard, see bb-main\necho hello\n",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = near(tmp_path_factory.mktemp("doctor") / "repo")
    assert made.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    return made


@pytest.fixture
def own(tmp_path: Path) -> Scratch:
    made = near(tmp_path / "repo")
    assert made.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    return made


def checks(repo: Scratch, *words: str, **settings: str) -> dict[str, dict[str, Any]]:
    """Doctor's findings by name, whether or not something is wrong."""
    envelope = repo.json("doctor", *words, **settings).envelope
    report = envelope["data"] if envelope["ok"] else envelope["error"]["details"]
    assert all(list(check) == ["name", "state", "text", "mend"] for check in report["checks"])
    return {check["name"]: check for check in report["checks"]}


def program(folder: Path, contents: str, mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "bb"
    made.write_text(contents, encoding="latin-1" if "\x7f" in contents else "utf-8")
    made.chmod(mode)
    return made


def test_a_sound_repository_passes_every_check(shared: Scratch, tmp_path: Path):
    launcher = program(tmp_path, OURS["our launcher"])
    found = checks(shared, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert {check["state"] for check in found.values()} == {"good"}
    assert {"python", "command", "git", "repository", "ledger", "index", "clock"} <= set(found)
    assert [name for name in found if name.startswith("journal ")]
    assert str(launcher) in found["command"]["text"]
    assert sys.executable in found["python"]["text"]


def test_a_person_sees_one_line_a_check_and_how_to_mend_below(shared: Scratch):
    told = shared.bb("doctor", BB_NOW=NOON).out.splitlines()

    assert [line[:6] for line in told if line[6:].startswith("python ")] == ["ok    "]
    assert [line.strip() for line in told if "->" in line and "BB_NOW" in line] == ["-> unset BB_NOW"]
    assert all(line[:4] in ("ok  ", "note", "FAIL", "    ") for line in told)


@POSIX_ONLY
@pytest.mark.parametrize("contents", NOT_OURS.values(), ids=NOT_OURS)
def test_another_program_of_the_same_name_first_on_the_path_is_noticed(shared: Scratch, tmp_path: Path, contents: str):
    other = program(tmp_path / "other", contents)
    ours = program(tmp_path / "ours", OURS["our launcher"])
    paths = [str(other.parent), str(ours.parent), os.environ["PATH"]]

    behind = checks(shared, PATH=os.pathsep.join(paths))["command"]
    before = checks(shared, PATH=os.pathsep.join([paths[1], paths[0], paths[2]]))["command"]

    assert (behind["state"], behind["mend"]) == ("odd", "call it as beadboard")
    assert str(other) in behind["text"]
    assert (before["state"], before["mend"]) == ("good", None)


@POSIX_ONLY
@pytest.mark.parametrize("contents", OURS.values(), ids=OURS)
def test_our_own_program_is_known_through_a_link_too(shared: Scratch, tmp_path: Path, contents: str):
    real = program(tmp_path / "real", contents)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bb").symlink_to(real)

    found = checks(shared, PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")["command"]

    assert found["state"] == "good"


@POSIX_ONLY
def test_what_cannot_be_run_is_not_what_the_shell_runs(shared: Scratch, tmp_path: Path):
    program(tmp_path / "text", NOT_OURS["babashka"], mode=0o644)
    (tmp_path / "folder" / "bb").mkdir(parents=True)
    ours = program(tmp_path / "ours", OURS["our launcher"])
    paths = [
        str(tmp_path / "text"),
        str(tmp_path / "folder"),
        "",
        str(tmp_path / "missing"),
        str(ours.parent),
        os.environ["PATH"],
    ]

    found = checks(shared, PATH=os.pathsep.join(paths))["command"]

    assert (found["state"], str(ours) in found["text"]) == ("good", True)


@POSIX_ONLY
def test_a_path_without_us_or_without_git_is_told(shared: Scratch, tmp_path: Path):
    bare = tmp_path / "bare"
    bare.mkdir()

    found = checks(shared, PATH=str(bare))

    assert found["command"]["state"] == "odd"
    assert "no `bb` on the PATH" in found["command"]["text"]
    assert found["git"]["state"] == "broken"
    assert found["git"]["mend"]
    assert shared.json("doctor", PATH=str(bare)).code == "PROBLEMS_FOUND"


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("BB_AGENT", "amber-otter", "good"),
        ("BB_AGENT", "../x", "broken"),
        ("BB_AGENT", "CON", "broken"),
        ("BB_AGENT_STALE_MINUTES", "40", "good"),
        ("BB_AGENT_STALE_MINUTES", "0", "broken"),
        ("BB_AGENT_STALE_MINUTES", "abc", "broken"),
        ("BB_NOW", "2026-01-05T12:00:00Z", "odd"),
        ("BB_NOW", "tomorrow", "broken"),
    ],
)
def test_the_settings_are_looked_at(shared: Scratch, name: str, value: str, state: str):
    ran = shared.json("doctor", **{name: value})
    found = checks(shared, **{name: value})[name]

    assert (found["state"], found["mend"]) == (state, None if state == "good" else f"unset {name}")
    assert (ran.status, ran.envelope["ok"]) == ((4, False) if state == "broken" else (0, True))


def test_settings_that_are_not_there_or_empty_are_not_mentioned(shared: Scratch):
    found = checks(shared, BB_AGENT="", BB_NOW="", BB_AGENT_STALE_MINUTES="")

    assert not [name for name in found if name.startswith("BB_")]


def test_where_something_is_wrong_the_verdict_and_the_checks_are_the_answer(shared: Scratch):
    told = shared.bb("doctor", BB_AGENT="../x", BB_NOW="tomorrow")

    assert told.status == 4
    assert told.err == ""
    assert told.out.splitlines()[0].endswith("checks failed: BB_AGENT, BB_NOW")
    assert [line.split()[1] for line in told.out.splitlines() if line.startswith("FAIL")] == ["BB_AGENT", "BB_NOW"]
    assert "unset BB_AGENT" in told.out


def test_outside_a_repository_that_is_said_and_the_rest_is_checked(tmp_path: Path):
    outside = Near(tmp_path, {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})

    found = checks(outside)

    assert (found["repository"]["state"], found["repository"]["mend"]) == ("odd", "git init")
    assert found["git"]["state"] == "good"
    assert outside.bb("doctor", "--fix").status == 0
    assert list(tmp_path.iterdir()) == []


def test_the_ledger_at_home_is_checked_where_commands_fall_back_on_it(tmp_path: Path):
    """`bb ledger log` reads it here, so this is where somebody looks when that is refused."""
    (tmp_path / "outside").mkdir()
    outside = Scratch(
        tmp_path / "outside", {"BB_HOME": str(tmp_path / "home"), "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    )
    outside.bb("init", "--home")
    (tmp_path / "home" / "ledger.git" / "bb" / "clone.json").write_text("{")

    assert outside.json("ledger", "log").code == "STORE_UNREADABLE"
    assert outside.json("doctor").status == 4


def test_a_repository_without_a_ledger_is_not_ill(repo: Scratch):
    found = checks(repo)

    assert (found["ledger"]["state"], found["ledger"]["mend"]) == ("odd", "bb init")
    assert not repo.store.exists()


def change_a_line(own: Scratch) -> None:
    own.journal().write_bytes(own.journal().read_bytes().replace(b"group.create", b"group.crate_", 1))


DAMAGES = {
    "torn": lambda own: own.journal().write_bytes(own.journal().read_bytes()[:-9]),
    "damaged": change_a_line,
    "clone.json": lambda own: (own.store / "clone.json").write_text("{"),
    "index": lambda own: (own.store / "index.sqlite").write_bytes(b"x" * 4096),
    "presence": lambda own: (own.store / "presence" / "amber-otter.json").write_text('{"seen_at":'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_looking_mends_nothing_and_fix_mends_what_it_found(own: Scratch, damage: str):
    DAMAGES[damage](own)
    before = everything_in(own.store / "j") | {"clone.json": (own.store / "clone.json").read_bytes()}

    looked = own.json("doctor")
    assert everything_in(own.store / "j") | {"clone.json": (own.store / "clone.json").read_bytes()} == before
    fixed = own.json("doctor", "--fix")

    assert looked.envelope["ok"] is (damage not in ("damaged", "clone.json"))
    assert fixed.status == 0, fixed.out
    assert own.json("doctor").status == 0
    assert own.json("ledger", "verify").status == 0
    assert own.json("agent", "register", "--name", "dusty-wren", "--role", "builder").status == 0


def folder_with_a_file(path: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text("mine")


IN_PLACE = {
    "a pipe": os.mkfifo,
    "a folder": folder_with_a_file,
    "a link": lambda path: path.symlink_to("nowhere/at/all"),
}


@pytest.mark.parametrize(
    ("kind", "name"), [*((kind, "index.sqlite") for kind in IN_PLACE), ("a folder", "index.sqlite-wal")]
)
def test_what_stands_in_place_of_the_index_is_named_and_put_aside(own: Scratch, kind: str, name: str):
    path = own.store / name
    path.unlink(missing_ok=True)
    IN_PLACE[kind](path)
    before = everything_in(own.store / "j")
    found = checks(own)["index"]

    assert (found["state"], found["mend"]) == ("odd", "bb doctor --fix")
    assert found["text"].startswith(f"{path} is {kind} where a file of the index belongs")
    mended = own.json("doctor", "--fix").data["mended"]
    assert any(each.startswith(f"removed {kind} that was in place of the index") for each in mended)
    assert checks(own)["index"]["state"] == "good"
    assert (own.store / "index.sqlite").is_file()
    assert everything_in(own.store / "j") == before
    assert [each.read_text() for each in own.store.rglob("mine.txt")] == (["mine"] if kind == "a folder" else [])


@pytest.mark.parametrize("damage", ["damaged", "clone.json"])
def test_each_problem_names_a_command_that_does_mend_it(own: Scratch, damage: str):
    DAMAGES[damage](own)
    mends = {check["mend"] for check in checks(own).values() if check["state"] == "broken"}

    for mend in mends:
        command = mend.split("`")[1] if "`" in mend else mend
        assert command.startswith("bb "), mend
        assert own.bb(*command.split()[1:]).status == 0, mend

    assert "broken" not in {check["state"] for check in checks(own).values()}


def test_a_clock_that_was_ahead_is_noticed(own: Scratch):
    own.bb("agent", "heartbeat", "--agent", "amber-otter", BB_NOW="2100-01-01T00:00:00Z")

    assert checks(own)["clock"]["state"] == "odd"


def test_a_fix_that_has_nothing_to_mend_says_so_by_mending_nothing(shared: Scratch):
    before = everything_in(shared.store / "j")

    assert shared.json("doctor", "--fix").data["mended"] == []
    assert everything_in(shared.store / "j") == before
