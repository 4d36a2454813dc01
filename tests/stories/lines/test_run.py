"""`bb run`: a command in a throw-away tree, as its caller sees it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.support import Ran, Scratch, environment, scratch
from tests.terminals import Terminal
from tests.waiting import PATIENCE, until

AMBER = "amber-otter"


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    made = scratch(tmp_path / "parser", BB_HOME=str(tmp_path / "home"))
    write(made, "src/read.py", "one\n")
    commit(made)
    return made


def write(repo: Scratch, name: str, text: str) -> Path:
    path = repo.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def commit(repo: Scratch) -> None:
    repo.git("add", "--all")
    repo.git("commit", "--quiet", "-m", "More")


def shell(repo: Scratch, script: str, *options: str, **settings: str) -> Ran:
    return repo.started("run", *options, "--", "sh", "-c", script, **settings)


def test_the_command_runs_in_the_committed_tree_and_the_work_tree_stays_as_it_is(repo: Scratch):
    repo.bb("agent", "register", "--name", AMBER, "--role", "builder")
    changed = write(repo, "src/read.py", "half-done by another\n")

    ran = shell(repo, "cat src/read.py; echo written > src/read.py; rm -r src", BB_AGENT=AMBER)

    assert (ran.status, ran.out, ran.err) == (0, "one\n", "")
    assert changed.read_text() == "half-done by another\n"


def test_the_command_sees_the_callers_own_changes_and_no_others(repo: Scratch):
    for name in (AMBER, "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
        repo.bb("edit", "begin", "src/read.py", "--agent", name)
        before = (repo.path / "src/read.py").read_text()
        write(repo, "src/read.py", f"{before}{name}\n")
        repo.bb("edit", "end", "--agent", name)
    write(repo, "by-hand.txt", "a person's\n")

    assert shell(repo, "ls; cat src/read.py", BB_AGENT=AMBER).out == f"src\none\n{AMBER}\n"
    assert shell(repo, "cat src/read.py", BB_AGENT="cobalt-harbor").out == "one\ncobalt-harbor\n"
    assert shell(repo, "cat by-hand.txt src/read.py").out == "a person's\none\n"


def test_the_exit_status_is_that_of_the_command(repo: Scratch):
    assert shell(repo, "exit 0").status == 0
    assert shell(repo, "exit 41").status == 41
    assert shell(repo, "kill -KILL $$").status == 128 + signal.SIGKILL


def test_output_and_input_pass_through(repo: Scratch):
    ran = repo.started("run", "--", "sh", "-c", "cat; echo trouble >&2", stdin="typed")
    assert (ran.out, ran.err) == ("typed", "trouble\n")


def test_words_behind_the_dashes_are_the_command_s_own(repo: Scratch):
    ran = repo.started("run", "--", sys.executable, "-c", "import sys; print(sys.argv)", "--json", "--", "-h", "help")
    assert ran.out == "['-c', '--json', '--', '-h', 'help']\n"


def test_descriptors_of_the_caller_reach_the_command(repo: Scratch):
    words = [sys.executable, "-m", "bb", "run", "--", "sh", "-c", "echo passed >&3"]
    reader, writer = os.pipe()
    wrapped = ["bash", "-c", f'exec 3>&{writer}; exec "$@"', "sh", *words]
    subprocess.run(wrapped, cwd=repo.path, env=environment(**repo.settings), pass_fds=[writer], check=True)
    os.close(writer)
    with open(reader, "rb", buffering=0) as file:
        assert file.read() == b"passed\n"


def test_the_current_folder_is_kept(repo: Scratch):
    ran = repo.started("run", "--", "sh", "-c", 'pwd; echo "$PWD"; echo "$BB_RUN_TREE"', cwd=repo.path / "src")
    here, said, top = ran.out.splitlines()
    assert here == said == f"{top}/src"
    assert not top.startswith(str(repo.path))


def test_a_folder_that_is_not_in_the_tree_is_refused(repo: Scratch):
    repo.bb("agent", "register", "--name", AMBER, "--role", "builder")
    write(repo, "new/file", "of another")
    ran = repo.bb("--json", "run", "--", "true", cwd=repo.path / "new", BB_AGENT=AMBER)
    assert (ran.status, ran.code, ran.envelope["error"]["details"]) == (3, "FOLDER_NOT_IN_TREE", {"path": "new"})


def test_ignored_packages_are_there_unless_the_tree_is_to_be_clean(repo: Scratch):
    write(repo, ".gitignore", "node_modules\n")
    commit(repo)
    write(repo, "node_modules/pad/index.js", "pad")

    assert shell(repo, "cat node_modules/pad/index.js").out == "pad"
    assert shell(repo, "ls", "--clean").out == "src\n"


def test_a_kept_tree_is_where_bb_says(repo: Scratch):
    ran = shell(repo, "echo made > made; exit 3", "--keep")
    assert ran.status == 3
    folder = Path(ran.err.splitlines()[0].removeprefix("The tree is kept: "))
    assert (folder / "made").read_text() == "made\n"
    assert shell(repo, "ls").out == "src\n"
    assert (folder / "made").exists()
    subprocess.run(["sh", "-c", ran.err.splitlines()[1].removeprefix("To delete it: ")], check=True)
    assert shell(repo, "pwd").out == f"{folder}\n"


def test_with_json_the_answer_is_one_document_and_the_output_goes_to_stderr(repo: Scratch):
    ran = shell(repo, "echo out", "--json")
    assert (ran.status, ran.err, ran.data["status"]) == (0, "out\n", 0)

    failed = shell(repo, "echo out; exit 9", "--json", "--keep")
    assert (failed.status, failed.code) == (9, "COMMAND_FAILED")
    details = failed.envelope["error"]["details"]
    assert details["status"] == 9
    assert Path(details["folder"], "src").is_dir()


# -- requests that cannot be


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        ([], 2, "NO_COMMAND"),
        (["--"], 2, "NO_COMMAND"),
        (["--", ""], 2, "NO_COMMAND"),
        (["pytest", "-x"], 2, "UNKNOWN_OPTION"),
        (["--", "no-such-program"], 127, "COMMAND_NOT_FOUND"),
        (["--", "src"], 127, "COMMAND_NOT_FOUND"),
        (["--", "./src/none"], 127, "COMMAND_NOT_FOUND"),
        (["--", "src/read.py"], 126, "COMMAND_NOT_STARTED"),
        (["--", "./src"], 126, "COMMAND_NOT_STARTED"),
        (["--agent", "quiet-heron", "--", "true"], 3, "AGENT_NOT_FOUND"),
    ],
)
def test_a_request_that_cannot_be_is_refused(repo: Scratch, words: list[str], status: int, code: str):
    ran = repo.bb("--json", "run", *words)
    assert (ran.status, ran.code) == (status, code)


PLAIN = [
    *(["--", "true"], ["--", "sh", "-c", "echo out; exit 3"], ["--json", "--", "false"], ["--clean", "--", "true"]),
    *(["--", "no-such-program"], ["--keep", "--json", "--", "no-such-program"], ["--", "sh", "--json", "--", "x"]),
    *(["--"], [], ["--keep"], ["--clean", "--clean", "--", "true"], ["--other", "--", "true"], ["--", ""]),
    *(["--clean", "true", "--", "false"], ["--", "caf\xe9"], ["--help"], ["--agent", AMBER, "--", "true"]),
]
BY_TYPER = "import sys; from bb.cli import app; sys.exit(app.answer(['run', *sys.argv[1:]]))"


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_a_call_that_needs_no_typer_is_answered_as_with_it(repo: Scratch, words: list[str]):
    with_typer = [sys.executable, "-c", BY_TYPER, *words]
    done = subprocess.run(with_typer, cwd=repo.path, env=environment(**repo.settings), capture_output=True, text=True)
    ran = repo.started("run", *words)

    assert same(done.returncode, done.stdout, done.stderr) == same(ran.status, ran.out, ran.err)


def same(status: int, out: str, err: str) -> tuple[int, str, str]:
    """An answer without what differs each time: the time that was taken, and the names of trees."""
    return status, *(re.sub(r'"setup_ms":\d+|/trees/\S+', "", text) for text in (out, err))


def test_the_hint_puts_the_dashes_where_they_belong(repo: Scratch):
    refused = repo.bb("--json", "run", "--clean", "pytest", "-x", "tests")
    assert refused.envelope["error"]["hint"] == "did you mean `bb run --clean -- pytest -x tests`?"


def test_a_repository_without_a_commit_is_refused(tmp_path: Path):
    empty = scratch(tmp_path / "empty", commit=False, BB_HOME=str(tmp_path / "home"))
    ran = empty.bb("--json", "run", "--", "true")
    assert (ran.status, ran.code) == (4, "NO_COMMITS")


def test_a_bare_repository_and_no_repository_are_refused(repo: Scratch, tmp_path: Path):
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    (tmp_path / "plain").mkdir()
    assert repo.bb("--json", "run", "--", "true", cwd=tmp_path / "bare.git").code == "NO_WORK_TREE"
    assert repo.bb("--json", "run", "--", "true", cwd=tmp_path / "plain").code == "NOT_A_REPOSITORY"


def test_control_characters_in_a_command_do_not_reach_the_terminal(repo: Scratch):
    ran = repo.bb("run", "--", "no\x1b[31msuch")
    assert ran.status == 127
    assert "\x1b" not in ran.out + ran.err


# -- signals


def started(repo: Scratch, script: str) -> subprocess.Popen[str]:
    """`bb run` without a terminal, once its command has said that it is there."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bb", "run", "--", "sh", "-c", script],
        cwd=repo.path,
        env=environment(**repo.settings),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_all_signals,  # noqa: PLW1509  (there are no threads)
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def _heed_all_signals() -> None:
    """In `nohup scripts/test`, this one is ignored in every process, and a shell cannot change that."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


LISTENING = "for _ in $(seq 600); do read _ || sleep 0.2; done"  # not for ever: a signal may be ignored from the start


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1"])
def test_a_signal_to_bb_reaches_the_command(repo: Scratch, name: str):
    child = started(repo, f"trap 'echo got {name}; exit 5' {name}; echo ready; {LISTENING}")
    child.send_signal(getattr(signal, f"SIG{name}"))
    out, _ = child.communicate("\n", timeout=PATIENCE)  # some shells end `read` at a signal, and some need the line
    assert (out, child.returncode) == (f"got {name}\n", 5)


def test_a_signal_that_ends_the_command_ends_bb_with_its_number(repo: Scratch):
    child = started(repo, "echo ready; exec sleep 600")
    child.terminate()
    child.communicate(timeout=PATIENCE)
    assert child.returncode == 128 + signal.SIGTERM


def test_at_a_terminal_the_command_has_the_terminal_and_gets_an_interrupt_once(repo: Scratch):
    script = "trap 'echo interrupted' INT; test -t 0 && test -t 1 && test -t 2 && echo ready; read line; echo got $line"
    words = [sys.executable, "-m", "bb", "run", "--", "bash", "-c", script]
    with Terminal(repo, command=words) as terminal:
        terminal.until(lambda shown: "ready" in shown.written)
        terminal.type("\x03")
        terminal.until(lambda shown: "interrupted" in shown.written)
        terminal.type("text\n")
        assert terminal.ends() == 0
        assert terminal.written.count("interrupted") == 1
        assert "got" in terminal.written


def test_after_a_kill_the_tree_is_taken_until_the_command_has_ended(repo: Scratch):
    child = started(repo, "echo ready; read _")
    child.kill()
    child.wait(PATIENCE)
    assert "/2/work/" in shell(repo, "pwd").out
    child.communicate()  # its command reads the end of its input
    until(lambda: "/1/work/" in shell(repo, "pwd").out, "the tree to be free")


# -- programs that look around


def test_git_in_the_tree_describes_the_commit(repo: Scratch):
    repo.git("tag", "v3")
    assert shell(repo, "git describe --tags; git status --porcelain").out == "v3\n"


def test_variables_that_lead_git_to_the_real_repository_do_not_reach_the_command(repo: Scratch):
    ran = shell(repo, "git rev-parse --show-toplevel; pwd", GIT_DIR=str(repo.path / ".git"), GIT_PREFIX="src/")
    top, here = ran.out.splitlines()
    assert top == here


def test_bb_in_the_tree_works_with_the_real_ledger(repo: Scratch):
    repo.bb("agent", "register", "--name", AMBER, "--role", "builder")
    here = f"{sys.executable} -m bb"
    assert shell(repo, f"{here} reserve src --bead bb-1 --agent {AMBER}").status == 0
    assert "amber-otter holds src" in repo.bb("check", "src/read.py").out


def test_a_run_inside_a_run_uses_the_same_tree(repo: Scratch):
    inner, outer = shell(repo, f"{sys.executable} -m bb run -- pwd; pwd").out.splitlines()
    assert inner == outer


def test_an_agent_named_on_the_command_line_is_the_agent_of_the_command(repo: Scratch):
    repo.bb("agent", "register", "--name", AMBER, "--role", "builder")
    assert shell(repo, 'echo "$BB_AGENT"', "--agent", AMBER).out == f"{AMBER}\n"


@pytest.fixture
def installed(repo: Scratch) -> Path:
    """The interpreter of a virtual environment in the work tree."""
    write(repo, ".gitignore", ".venv\n")
    commit(repo)
    venv.create(repo.path / ".venv", symlinks=True)
    return repo.path / ".venv" / "bin" / "python"


NOTES = {
    "plain.pth": "{root}/src\n",
    "__editable___parser_finder.py": "MAPPING: dict[str, str] = {{'read': '{root}/src/read'}}\n",
}


@pytest.mark.parametrize("name", list(NOTES))
def test_a_package_that_is_installed_from_the_work_tree_is_imported_from_the_tree(
    repo: Scratch, installed: Path, name: str
):
    write(repo, "src/read/__init__.py", "STATE = 'committed'\n")
    commit(repo)
    repo.bb("agent", "register", "--name", AMBER, "--role", "builder")
    write(repo, "src/read/__init__.py", "STATE = 'half-done'\n")
    (packages,) = (repo.path / ".venv").glob("lib/python*/site-packages")
    (packages / "direct.pth").write_text(f"{repo.path}/src\n")
    if name != "plain.pth":
        (packages / "direct.pth").rename(packages / "direct.txt")
    (packages / name).write_text(NOTES[name].format(root=repo.path))

    for python in (str(installed), ".venv/bin/python"):
        ran = repo.started("run", "--", python, "-c", "import read; print(read.STATE)", PYTHONPATH="", BB_AGENT=AMBER)
        assert (ran.out, ran.err) == ("committed\n", "")


def test_the_python_path_of_the_caller_leads_into_the_tree(repo: Scratch, tmp_path: Path):
    ran = shell(repo, 'echo "$PYTHONPATH"; echo "$BB_RUN_TREE"', PYTHONPATH=f"{repo.path}/src:{tmp_path}:src")
    path, top = ran.out.splitlines()
    assert path == f"{top}/src:{tmp_path}:src"


@pytest.mark.long
def test_a_tree_of_ten_thousand_files_is_complete_and_brought_up_to_date(repo: Scratch):
    for number in range(10_000):
        write(repo, f"many/{number % 100}/{number}.txt", f"{number}\n")
    commit(repo)
    assert shell(repo, "find many -type f | wc -l; rm -r many/1; echo x > many/2/2.txt").out.strip() == "10000"
    ran = shell(repo, "find many -type f | wc -l; cat many/2/2.txt; git status --porcelain")
    assert ran.out.split() == ["10000", "2"]
