"""Shell completion, the version, `python -m bb`, and the demonstration."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bb
from bb.cli import own_commands
from bb.ops import catalogue
from tests.faces.faces_support import everything_in
from tests.faces.good_calls import commands
from tests.near import near
from tests.support import NOON, Ran, Scratch, environment, scratch

OPS = {op.name: op for op in catalogue.all_ops()}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = near(tmp_path_factory.mktemp("shell") / "repo")
    for name in ("amber-otter", "amber-fox", "cobalt-harbor"):
        assert made.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    return made


def completed(repo: Scratch, typed: str, **settings: str) -> list[str]:
    """What bash offers when TAB is pressed behind TYPED."""
    words = typed.split(" ")
    asked = {"_BB_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    ran = repo.bb(**asked, **settings)
    assert (ran.status, ran.err) == (0, "")
    return ran.out.split()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("bb ag", ["agent"]),
        ("bb d", ["doctor", "diff", "demo", "daemon"]),
        ("bb agent he", ["heartbeat"]),
        ("bb ledger ", [name.split(".")[1] for name in OPS if name.startswith("ledger.")]),
        ("bb --json agent he", ["heartbeat"]),
        ("bb agent show --ag", ["--agent"]),
        ("bb agent heartbeat --j", ["--json"]),
        ("bb agent show --agent amber", ["amber-fox", "amber-otter"]),
        ("bb agent show --agent ", ["amber-fox", "amber-otter", "cobalt-harbor"]),
        ("bb agent heartbeat --json --agent c", ["cobalt-harbor"]),
        ("bb ledger log --agent amber-o", ["amber-otter"]),
        ("bb agent list --liveness ", ["active", "stale", "evicted"]),
        ("bb agent list --liveness e", ["evicted"]),
        ("bb agent list --status i", ["idle"]),
        ("bb agent show --agent zzz", []),
        ("bb zzz", []),
        ("bb watch --view ", ["all", "problems", "agents", "held", "timeline"]),
        ("bb watch --agent co", ["cobalt-harbor"]),
        ("bb problems --w", ["--watch"]),
        ("bb notify --o", ["--once"]),
    ],
)
def test_bash_is_offered_what_fits(repo: Scratch, typed: str, offered: list[str]):
    assert completed(repo, typed) == offered


@pytest.mark.parametrize("op", [op for op in commands().values() if op.parameters], ids=lambda op: op.name)
def test_every_option_of_every_op_is_offered(repo: Scratch, op: catalogue.Op):
    offered = completed(repo, f"bb {op.words} --")

    by_hand = own_commands.COMMANDS.get(op.words)
    parameters = [*op.parameters, *(by_hand.parameters if by_hand else ())]
    options = {parameter.option for parameter in parameters if not parameter.is_argument}
    assert options | {"--json", "--help"} == set(offered)


def test_other_shells_are_offered_the_same(repo: Scratch):
    zsh = repo.bb(_BB_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="bb agent he")
    fish = repo.bb(
        _BB_COMPLETE="complete_fish", _TYPER_COMPLETE_ARGS="bb agent he", _TYPER_COMPLETE_FISH_ACTION="get-args"
    )

    assert '"heartbeat":"Report that you are alive.' in zsh.out
    assert fish.out.split("\t")[0] == "heartbeat"


@pytest.mark.parametrize("where", ["outside", "no ledger", "broken", "deleted"])
def test_completing_an_agent_where_there_is_none_offers_nothing_and_says_nothing(tmp_path: Path, where: str):
    """An error message would land in the middle of the line that somebody is typing."""
    repo = Scratch(tmp_path, {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    if where != "outside":
        repo = scratch(tmp_path / "repo")
    if where == "broken":
        repo.bb("init")
        (repo.store / "presence").rmdir()
        (repo.store / "presence").write_text("in the way")
    if where == "deleted":
        settings = {"_BB_COMPLETE": "complete_bash", "COMP_WORDS": "bb agent show --agent a", "COMP_CWORD": "4"}
        (repo.path / "gone").mkdir()
        done = subprocess.run(
            ["sh", "-c", 'rmdir "$PWD" && exec "$0" -m bb', sys.executable],
            cwd=repo.path / "gone",
            env=environment(**settings),
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
        return

    assert completed(repo, "bb agent show --agent a") == []


def test_completing_records_nothing_and_refreshes_nobody(repo: Scratch):
    before = everything_in(repo.store)

    completed(repo, "bb agent heartbeat --agent amber", BB_AGENT="amber-otter")

    assert everything_in(repo.store) == before


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/zsh", "/usr/bin/fish", "/bin/dash", ""])
def test_the_script_for_a_shell_is_shown_or_its_lack_is_told(repo: Scratch, shell: str):
    shown = repo.bb("--show-completion", SHELL=shell)

    assert shown.status in (0, 1, 2)
    assert "Traceback" not in shown.err
    assert (shown.status == 0) is ("_BB_COMPLETE=complete_" in shown.out)
    assert (shown.status == 0) is ("UNKNOWN_SHELL" not in shown.err)
    assert repo.bb("--show-completion", "--json", SHELL=shell).envelope["ok"] is (shown.status == 0)


# -- who it is


def test_the_version_is_said_in_every_form(repo: Scratch):
    assert repo.bb("--version") == Ran(0, f"bb {bb.__version__}\n", "")
    assert repo.json("--version") == repo.bb("--json", "--version")
    assert repo.json("--version").data == {"version": bb.__version__}


@pytest.mark.parametrize("program", ["bb", "beadboard"])
def test_the_installed_programs_are_the_module(repo: Scratch, program: str):
    installed = Path(sys.executable).parent / program
    if not installed.exists():
        pytest.skip("not installed in this environment")

    # The list says how long ago an agent was seen, so both programs are told the same time.
    now = {"BB_NOW": NOON}
    started = Scratch(repo.path)
    for words in (
        ["agent", "list"],
        ["agent", "heartbeat", "--agent", "../x"],
        ["--version"],
        ["agent", "lst", "--json"],
    ):
        done = subprocess.run(
            [installed, *words], cwd=repo.path, env=environment(**now), capture_output=True, text=True
        )
        assert Ran(done.returncode, done.stdout, done.stderr) == started.bb(*words, **now)


def test_a_program_says_its_own_name_in_its_help(repo: Scratch):
    code = "import sys; sys.argv = [sys.argv[1], 'agent', '--help']; from bb.__main__ import main; main()"

    def usage(program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, program], cwd=repo.path, env=environment(), capture_output=True, text=True
        )
        return done.stdout.splitlines()[0]

    assert usage("/usr/bin/bb") == "Usage: bb agent [OPTIONS] COMMAND [ARGS]..."
    assert usage("/usr/bin/beadboard") == "Usage: beadboard agent [OPTIONS] COMMAND [ARGS]..."
    assert usage("/somewhere/__main__.py") == "Usage: bb agent [OPTIONS] COMMAND [ARGS]..."


# -- the demonstration


def demo(where: Path, *words: str, **settings: str) -> Ran:
    return Scratch(where).bb("demo", *words, **settings)


@pytest.fixture
def user(tmp_path: Path) -> dict[str, str]:
    """A home directory and a place for temporary files of a user's own."""
    for name in ("home", "temporary"):
        (tmp_path / name).mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "temporary"),
        "XDG_CONFIG_HOME": str(tmp_path / "x"),
    }


@pytest.mark.long  # with less in the way than for the user below
def test_the_demo_plays_for_a_user_with_no_settings_of_git(tmp_path: Path, user: dict[str, str]):
    told = demo(tmp_path, **user)

    assert_played(told, tmp_path)


def assert_played(told: Ran, tmp_path: Path) -> None:
    """That it has told what it should, as text, and left nothing."""
    assert told.status == 0
    assert told.err == ""
    assert told.out.rstrip().endswith("That was the demo.")
    assert "Error: [DUPLICATE_AGENT_ID]" in told.out
    assert "Error: [RESERVATION_CONFLICT]" in told.out
    assert "generation 1 (" in told.out, "it was published"
    assert everything_in(tmp_path / "temporary") == everything_in(tmp_path / "home") == {}


FIRST_STEPS = """
import sys
from bb.cli.programs import demo
demo.STEPS = demo.STEPS[:2]
sys.argv = ["bb", "demo", *sys.argv[1:]]
from bb.__main__ import main
main()
"""


@pytest.mark.each
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_whoever_keeps_the_demo_is_told_where_it_is(tmp_path: Path, user: dict[str, str], form: list[str]):
    """The first steps of it: the ledger, and an agent."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_STEPS, "--keep", *form], cwd=tmp_path, env=environment(**user), capture_output=True
    )

    (kept,) = (tmp_path / "temporary").iterdir()
    assert (done.returncode, done.stderr) == (0, b"")
    assert str(kept) in done.stdout.decode()
    assert Scratch(kept / "project").json("ledger", "verify").data["events"] >= 2


@pytest.mark.long
def test_the_demo_is_not_led_astray_by_the_environment(repo: Scratch, user: dict[str, str]):
    before = everything_in(repo.path)
    caller = {"BB_AGENT": "../x", "BB_NOW": "tomorrow", "BB_AGENT_STALE_MINUTES": "0", "BB_HOME": "/nowhere"}
    hook = {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index", "GIT_WORK_TREE": "."}

    played = demo(repo.path, "--json", **user, **caller, **hook, COLUMNS="20").data

    assert played["is_right"] is True
    assert len(played["steps"]) > 8
    assert all(step["is_right"] for step in played["steps"])
    assert everything_in(repo.path) == before


GIT_CONFIGS = {
    "signs commits": "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n",
    "calls the first branch review": "[init]\n\tdefaultBranch = review\n",
    "has hooks and no name": "[core]\n\thooksPath = {home}/hooks\n[user]\n\tuseConfigOnly = true\n",
    "wants a status in colour, with the branch": "[status]\n\tbranch = true\n[color]\n\tui = always\n",
}


@pytest.mark.parametrize(
    "config",
    [
        pytest.param("".join(GIT_CONFIGS.values()), id="does all of that"),
        *(pytest.param(config, id=name, marks=pytest.mark.long) for name, config in GIT_CONFIGS.items()),
    ],
)
def test_the_demo_plays_and_leaves_nothing_for_a_user_whose_git(tmp_path: Path, user: dict[str, str], config: str):
    """It is the first thing that somebody tries; what their own git is set up to do must not spoil it. A step that
    ended otherwise than it should would be an error."""
    home = Path(user["HOME"])
    (home / "hooks").mkdir()
    for hook in ("pre-commit", "post-checkout", "commit-msg"):
        (home / "hooks" / hook).write_text("#!/bin/sh\nexit 1\n")
        (home / "hooks" / hook).chmod(0o755)
    (home / ".gitconfig").write_text(config.replace("{home}", str(home)))
    before = everything_in(home)

    told = Scratch(tmp_path).started("demo", **user, GIT_CONFIG_GLOBAL=str(home / ".gitconfig"))

    assert everything_in(home) == before
    shutil.rmtree(home / "hooks")
    (home / ".gitconfig").unlink()
    assert_played(told, tmp_path)
    assert told.out.count("$ git status --short\n\nThat was the demo.") == 1, "the work tree is unchanged"


def test_a_demo_that_went_wrong_is_no_success_in_either_form(tmp_path: Path, user: dict[str, str]):
    """The steps are made to expect another status than they have."""
    code = """
import sys
from bb.cli.programs import demo
demo.STEPS = tuple(step.replace(status=5) for step in demo.STEPS[:1])
sys.argv = ["bb", "demo", *sys.argv[1:]]
from bb.__main__ import main
main()
"""
    for form in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *form], cwd=tmp_path, env=environment(**user), capture_output=True, text=True
        )
        ran = Ran(done.returncode, done.stdout, done.stderr)
        assert ran.status == 4
        if form:
            assert ran.code == "DEMO_WENT_WRONG"
            assert [step["is_right"] for step in ran.envelope["error"]["details"]["steps"]] == [False]
        else:
            assert "That was the demo." not in ran.out
            assert "Error: [DEMO_WENT_WRONG]" in ran.err
    assert everything_in(tmp_path / "temporary") == {}


def test_a_demo_whose_clones_do_not_know_the_same_went_wrong(tmp_path: Path, user: dict[str, str]):
    """The clones are compared by what the same command says in both."""
    code = """
import sys
from bb.cli.programs import demo
from bb.cli.programs.demo_steps import Step
demo.STEPS = (Step("One", "bb --version"), Step("Two", "bb agent name", says_the_same=True))
sys.argv = ["bb", "demo", "--json"]
from bb.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(**user), capture_output=True, text=True
    )
    ran = Ran(done.returncode, done.stdout, done.stderr)

    assert ran.code == "DEMO_WENT_WRONG"
    assert [step["is_right"] for step in ran.envelope["error"]["details"]["steps"]] == [True, False]


def test_a_demo_that_has_no_place_says_so(tmp_path: Path):
    code = """
import sys, tempfile
tempfile._candidate_tempdir_list = lambda: ["/there/is/no/such/directory"]
sys.argv = ["bb", "demo", "--json"]
from bb.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True)

    assert Ran(done.returncode, done.stdout, done.stderr).code == "OUTPUT_NOT_WRITTEN"


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "utf-16-le"])
def test_the_demo_plays_whatever_the_terminals_encoding(tmp_path: Path, user: dict[str, str], encoding: str):
    told = demo(tmp_path, **user, PYTHONIOENCODING=encoding)

    assert (told.status, told.err) == (0, "")


def test_without_git_there_is_no_demo_and_that_is_said(tmp_path: Path, user: dict[str, str]):
    asked = demo(tmp_path, "--json", **user, PATH=str(tmp_path))

    assert (asked.code, asked.status) == ("GIT_NOT_FOUND", 3)
    assert everything_in(tmp_path / "temporary") == {}


@pytest.mark.parametrize("words", ["watch", "notify", "problems", "daemon logs", "ledger log", "events"])
def test_a_command_that_goes_on_promises_no_single_document(repo: Scratch, words: str):
    told = " ".join(repo.bb(*words.split(), "--help").out.split())

    assert re.search("--json [^-]*((; with --follow|; with --watch), one for each|one JSON document for each)", told)


def test_the_regions_of_a_file_are_offered(repo: Scratch):
    (repo.path / "a.py").write_text("def roman():\n    pass\n\n\nclass Number:\n    def value(self):\n        pass\n")

    zsh = repo.bb(_BB_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="bb reserve a.py::")
    fish = repo.bb(
        _BB_COMPLETE="complete_fish", _TYPER_COMPLETE_ARGS="bb check a.py::N", _TYPER_COMPLETE_FISH_ACTION="get-args"
    )

    assert zsh.out.replace("\\", "").count("a.py::roman") == 1
    assert fish.out.split() == ["a.py::Number", "a.py::Number.value"]
    assert completed(repo, "bb reserve none.py::x") == []
