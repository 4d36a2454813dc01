"""`scripts/bb` runs the checkout it lies in, from any directory and through any links, and sets it up when it must.

The checkout here is a copy with a stand-in for its environment: the `bb` in it says what it was given, its Python is a
link to this one, the installer says that it ran.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import ROOT, environment

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script")

STAND_IN = """#!/bin/sh
printf 'bb of %s:' "$(cd "${0%/.venv/bin/bb}" && pwd -P)"
for word; do printf ' <%s>' "$word"; done
echo
exit 7
"""
INSTALLER = """import os, sys
root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
print("setting up", file=sys.stderr)
programs = os.path.join(root, ".venv", "bin")
os.makedirs(programs, exist_ok=True)
with open(os.path.join(programs, "bb"), "w") as file:
    file.write(STAND_IN)
os.chmod(os.path.join(programs, "bb"), 0o755)
if os.path.lexists(os.path.join(programs, "python")):
    os.unlink(os.path.join(programs, "python"))
os.symlink(sys.executable, os.path.join(programs, "python"))
with open(os.path.join(root, ".venv", ".bb-base"), "w") as file:
    file.write(f"{root}\\nand so on\\n")
"""


def checkout(root: Path, *, is_set_up: bool = True) -> Path:
    shutil.copytree(ROOT / "scripts", root / "scripts")
    shutil.copy(ROOT / "pyproject.toml", root)
    old = time.time() - 100
    os.utime(root / "pyproject.toml", (old, old))
    (root / "scripts" / "install").write_text(f"STAND_IN = {STAND_IN!r}\n{INSTALLER}")
    if is_set_up:
        subprocess.run([sys.executable, root / "scripts" / "install"], check=True, capture_output=True)
    return root


def program(root: Path) -> Path:
    return root / ".venv" / "bin" / "bb"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return checkout(tmp_path / "a check out's $HOME")


def run(*command: str | Path, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env=environment(BB_PYTHON=sys.executable, **settings), capture_output=True, text=True
    )


def relative(path: Path, cwd: Path) -> str:
    return os.path.join(".", os.path.relpath(path, cwd))


def assert_ran(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.stderr == ""
    assert done.stdout.startswith("bb of /")
    assert done.stdout.endswith(":" + "".join(f" <{word}>" for word in words) + "\n")
    assert done.returncode == 7, "the exit status is bb's own"


def test_words_arrive_as_they_were_typed(here: Path, tmp_path: Path):
    words = ("agent", "list", "", "two words", "*", "$HOME", "`id`", "\\", "'\"", "--", "-n", "ü")

    assert_ran(run(here / "scripts" / "bb", *words, cwd=tmp_path), *words)


@pytest.mark.parametrize("cwd", [".", "scripts", "..", "/"])
def test_it_runs_from_any_directory(here: Path, cwd: str):
    where = (here / cwd).resolve()

    assert_ran(run(relative(here / "scripts" / "bb", where), "x", cwd=where), "x")
    assert_ran(run(here / "scripts" / "bb", "x", cwd=where), "x")


@pytest.mark.parametrize("is_absolute", [True, False], ids=["absolute", "relative"])
def test_it_runs_through_links_to_links(here: Path, tmp_path: Path, is_absolute: bool):
    target = here / "scripts" / "bb"
    folders = [tmp_path / "one link", tmp_path / "two" / "deep", tmp_path / "three"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "bb").symlink_to(target if is_absolute else os.path.relpath(target, folder))
        target = folder / "bb"

    for cwd in (here, tmp_path, *folders, Path("/")):
        assert_ran(run(target, "x", cwd=cwd), "x")
        assert_ran(run(relative(target, cwd), "x", cwd=cwd), "x")
    assert_ran(run("./bb", "x", cwd=folders[2]), "x")


def test_it_runs_through_a_linked_directory(here: Path, tmp_path: Path):
    (tmp_path / "linked").symlink_to(here / "scripts")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bb").symlink_to("../linked/bb")

    assert_ran(run(tmp_path / "linked" / "bb", "x", cwd=tmp_path), "x")
    assert_ran(run(tmp_path / "bin" / "bb", "x", cwd=Path("/")), "x")


@pytest.mark.parametrize("path", ["{bin}", ".", ""])
def test_it_is_found_on_the_path(here: Path, tmp_path: Path, path: str):
    folder = tmp_path / "my bin"
    folder.mkdir()
    (folder / "bb").symlink_to(os.path.relpath(here / "scripts" / "bb", folder))
    paths = os.pathsep.join([path.format(bin=folder), os.environ["PATH"]])

    assert_ran(run("sh", "-c", "bb x", cwd=folder, PATH=paths), "x")


def test_a_shell_may_be_told_to_run_it(here: Path, tmp_path: Path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bb").symlink_to(here / "scripts" / "bb")
    (folder / "relative").symlink_to(os.path.relpath(here / "scripts" / "bb", folder))

    assert_ran(run("sh", "bb", "x", cwd=here / "scripts"), "x")
    assert_ran(run("sh", "bb", "x", cwd=folder), "x")
    assert_ran(run("sh", "relative", "x", cwd=folder), "x")


def test_a_directory_to_search_for_cd_is_no_obstacle(here: Path, tmp_path: Path):
    (tmp_path / "scripts").mkdir()

    assert_ran(run("scripts/bb", "x", cwd=here, CDPATH=str(tmp_path)), "x")


# -- setting up


def assert_set_up_first(done: subprocess.CompletedProcess[str]) -> None:
    assert done.stderr == "setting up\n", done.stderr
    assert (done.stdout[-5:], done.returncode) == (" <x>\n", 7)


def test_the_first_run_sets_up_and_the_second_does_not(tmp_path: Path):
    root = checkout(tmp_path / "fresh", is_set_up=False)

    assert_set_up_first(run(root / "scripts" / "bb", "x", cwd=tmp_path))
    assert_ran(run(root / "scripts" / "bb", "x", cwd=tmp_path), "x")


def test_a_changed_pyproject_sets_up_again(here: Path, tmp_path: Path):
    later = time.time() + 5
    os.utime(here / "pyproject.toml", (later, later))

    assert_set_up_first(run(here / "scripts" / "bb", "x", cwd=tmp_path))


@pytest.mark.parametrize("missing", ["stamp", "program", "right to run it"])
def test_a_set_up_that_was_interrupted_is_done_again(here: Path, tmp_path: Path, missing: str):
    if missing == "stamp":
        (here / ".venv" / ".bb-base").unlink()
    elif missing == "program":
        program(here).unlink()
    else:
        program(here).chmod(0o644)

    assert_set_up_first(run(here / "scripts" / "bb", "x", cwd=tmp_path))


def test_an_environment_whose_interpreter_is_gone_is_made_again(here: Path, tmp_path: Path):
    (here / ".venv" / "bin" / "python").unlink()
    (here / ".venv" / "bin" / "python").symlink_to(tmp_path / "gone" / "python3")

    assert_set_up_first(run(here / "scripts" / "bb", "x", cwd=tmp_path))


@pytest.mark.parametrize("is_copy", [True, False], ids=["copied", "moved"])
def test_a_checkout_that_is_elsewhere_now_gets_an_environment_of_its_own(here: Path, tmp_path: Path, is_copy: bool):
    """An environment names the checkout by its absolute path: a copy's would run the original."""
    elsewhere = tmp_path / "elsewhere"
    if is_copy:
        shutil.copytree(here, elsewhere, symlinks=True)
    else:
        here.rename(elsewhere)

    assert_set_up_first(run(elsewhere / "scripts" / "bb", "x", cwd=tmp_path))
    assert run(elsewhere / "scripts" / "bb", "x", cwd=tmp_path).stdout == f"bb of {elsewhere}: <x>\n"


def test_without_a_python_that_will_do_it_says_which_it_needs(tmp_path: Path):
    root = checkout(tmp_path / "fresh", is_set_up=False)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "readlink"):
        (tools / name).symlink_to(shutil.which(name) or "")
    (tools / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tools / "python3").chmod(0o755)

    done = subprocess.run(
        [root / "scripts" / "bb", "x"], env={"PATH": str(tools)}, cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert done.stderr == "bb needs Python 3.11 or later, and none was found; name one in BB_PYTHON\n"


def test_a_checkout_that_cannot_be_written_says_so(tmp_path: Path):
    root = checkout(tmp_path / "bb", is_set_up=False)
    shutil.copy(ROOT / "scripts" / "install", root / "scripts")
    (root / ".venv.lock").mkdir()  # for the system's own user, too, who may write everywhere

    done = subprocess.run([root / "scripts" / "bb"], capture_output=True, text=True)

    assert done.returncode == 1
    assert f"{root} cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_set_up_that_fails_is_a_failure(tmp_path: Path):
    root = checkout(tmp_path / "fresh", is_set_up=False)
    (root / "scripts" / "install").write_text("import sys; sys.exit('setting up failed: no network')\n")

    done = run(root / "scripts" / "bb", "agent", "list", cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (1, "", "setting up failed: no network\n")


@pytest.mark.long
def test_a_fresh_checkout_installs_itself_and_runs(tmp_path: Path):
    """The real thing: an environment is made and filled, nothing of it is said on stdout."""
    root = tmp_path / "a fresh check out"
    shutil.copytree(
        ROOT,
        root,
        ignore=shutil.ignore_patterns(".venv*", ".git", "__pycache__", ".*_cache", ".hypothesis"),
        symlinks=True,
    )
    command = [root / "scripts" / "bb", "call", "--list", "--json"]

    first = subprocess.run(command, env=environment(PYTHONPATH=""), cwd=tmp_path, capture_output=True, text=True)
    second = subprocess.run(command, env=environment(PYTHONPATH=""), cwd=tmp_path, capture_output=True, text=True)

    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "Setting up" in first.stderr
    assert second.stderr == ""
