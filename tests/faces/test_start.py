"""How an installed `bb` starts: from wherever it lies, in its own environment and no other, and never with stale code.

An installation here is what a wheel leaves behind, without the packages that bb depends on: an environment, the package
in it, the launchers beside its interpreter.
"""

from __future__ import annotations

import filecmp
import functools
import marshal
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

import bb
from bb.cli import bundle
from tests.support import ROOT, Ran, Scratch, copied, environment, made_once, scratch

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script; Windows has bb.cmd")

LAUNCHERS = ROOT / "scripts" / "installed"
PACKAGES = Path("lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
AMBER = ("--agent", "amber-otter", "--json")
BEAT = ("agent", "heartbeat", *AMBER)
# Where the packages that bb depends on are installed: those of the environment that runs the tests.
OURS = next(path for path in sys.path if path.endswith("site-packages"))


class Installation:
    """An environment with a `bb` in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.packages = root / PACKAGES
        self.package = self.packages / "bb"
        self.bb = root / "bin" / "bb"

    def run(self, *words: str, program: Path | str | None = None, cwd: Path, **settings: str) -> Ran:
        env = {name: value for name, value in environment().items() if name != "PYTHONPATH"} | settings
        done = subprocess.run(
            [program or self.bb, *words], cwd=cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def bundle(self, verb: str = "agent.heartbeat") -> Path:
        return self.package / "__pycache__" / f"{verb}.{sys.implementation.cache_tag}.bundle"

    def settle(self) -> None:
        """What has just been written may be written again without a new time, so it is put in no bundle."""
        time.sleep(max(0.0, 2.1 - (time.time() - self.package.stat().st_ctime)))


@functools.cache
def _bare() -> Path:
    """An environment with nothing in it; made once, because Python takes a while to make one."""
    made = made_once("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True, env=environment())
    return made


def install(root: Path, *, is_editable: bool = False) -> Installation:
    """An installation at ROOT; editable, of a copy beside it."""
    shutil.copytree(_bare(), root, symlinks=True)
    made = Installation(root)
    source = root.parent / "checkout" / "bb" if is_editable else made.package
    shutil.copytree(ROOT / "bb", source, ignore=shutil.ignore_patterns("*.bundle"))
    if is_editable:
        (made.packages / "_beadboard.pth").write_text(f"{source.parent}\n")
        made.package = source
    for launcher in LAUNCHERS.iterdir():
        shutil.copy(launcher, root / "bin")
    (made.packages / "needed.pth").write_text(f"{OURS}\n")
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """For tests that change nothing in it."""
    made = install(tmp_path_factory.mktemp("shared") / "env")
    subprocess.run([sys.executable, "-m", "compileall", "-q", made.package], check=True, env=environment())
    return made


@pytest.fixture(scope="module")
def copies(shared: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Copies of it. Each is made five tests before it is used, so that `settle` seldom has to wait."""

    def copy() -> Installation:
        root = tmp_path_factory.mktemp("own") / "env"
        made = Installation(copied(shared.root, root))
        for left in (made.package / "__pycache__").glob("*.bundle"):
            left.unlink()
        return made

    def made() -> Iterator[Installation]:
        ahead = [copy() for _ in range(5)]
        while True:
            ahead.append(copy())
            yield ahead.pop(0)

    return made()


@pytest.fixture
def own(copies: Iterator[Installation]) -> Installation:
    """For tests that change it."""
    return next(copies)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = scratch(tmp_path_factory.mktemp("start") / "repo")
    assert made.bb("agent", "register", "--name", "amber-otter", "--role", "builder").status == 0
    return made


def assert_beats(ran: Ran) -> None:
    assert (ran.status, ran.err) == (0, "")
    assert ran.data["liveness"] == "active"


# -- wherever it lies

LONG = "/".join(["a long name of a folder " * 4] * 4)  # longer than a first line may be


@pytest.mark.parametrize(
    "where", ["env", "an environment's $HOME", LONG, "ümläut"], ids=["plain", "spaces", "long", "ü"]
)
def test_it_starts_from_any_folder(tmp_path: Path, repo: Scratch, where: str):
    made = install(tmp_path / where)

    assert_beats(made.run(*BEAT, cwd=repo.path))
    assert made.run("--version", cwd=repo.path).out == f"bb {bb.__version__}\n"
    assert made.run("--version", program=made.root / "bin" / "beadboard", cwd=repo.path).out == f"bb {bb.__version__}\n"
    assert "Usage: bb init" in made.run("--help", program=made.root / "bin" / "bb-init", cwd=repo.path).out


def test_the_three_launchers_are_one_file():
    assert filecmp.cmp(LAUNCHERS / "bb", LAUNCHERS / "beadboard", shallow=False)
    assert filecmp.cmp(LAUNCHERS / "bb", LAUNCHERS / "bb-init", shallow=False)


def test_words_arrive_as_they_were_typed(shared: Installation, repo: Scratch):
    words = ("", "two words", "*", "$HOME", "`id`", "\\", "'\"", "-n", "ü", "-c", "a\nb")

    for word in words:
        said = shared.run("agent", "show", "--agent", word, "--json", cwd=repo.path)
        assert said.out == repo.json("agent", "show", "--agent", word).out, word


@pytest.mark.parametrize("of", ["uv/tools", "pipx/venvs", None])
def test_it_starts_through_a_link_as_tools_make_them(
    shared: Installation, repo: Scratch, tmp_path: Path, of: str | None
):
    """uv and pipx put a link on the PATH. Following theirs takes no other program."""
    home = tmp_path / "home"
    tool = home / ".local" / "share" / (of or "elsewhere") / "beadboard"
    shutil.copytree(shared.root, tool, symlinks=True)
    programs = home / ".local" / "bin"
    programs.mkdir(parents=True)
    for name in ("bb", "bb-init"):
        (programs / name).symlink_to(tool / "bin" / name)
    path = str(programs) if of else f"{programs}:{os.environ['PATH']}"  # the first without `readlink`

    assert_beats(shared.run(*BEAT, program=programs / "bb", cwd=repo.path, HOME=str(home), PATH=path))
    started = shared.run("--help", program=programs / "bb-init", cwd=repo.path, HOME=str(home), PATH=path)
    assert "Usage: bb init" in started.out


def test_it_starts_through_links_to_links(shared: Installation, repo: Scratch, tmp_path: Path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "bb").symlink_to(shared.bb)
    (tmp_path / "two").symlink_to("one/bb")
    (tmp_path / "programs").symlink_to(shared.root / "bin")

    for program in ("one/bb", "two", "programs/bb"):
        assert_beats(shared.run(*BEAT, program=tmp_path / program, cwd=repo.path))


def test_it_starts_by_a_relative_name(shared: Installation, repo: Scratch):
    relative = os.path.relpath(shared.bb, repo.path)
    search = os.path.relpath(shared.bb.parent, repo.path)

    assert_beats(shared.run(*BEAT, program=relative, cwd=repo.path, CDPATH="/"))
    assert_beats(
        shared.run("-c", f"bb {' '.join(BEAT)}", program="/bin/sh", cwd=repo.path, PATH=f"{search}:/usr/bin:/bin")
    )
    assert shared.run("bb", "--version", program="/bin/sh", cwd=shared.bb.parent).status == 0


def test_an_editable_installation_runs_the_checkout(tmp_path: Path, repo: Scratch):
    made = install(tmp_path / "env", is_editable=True)
    (made.package / "__init__.py").write_text('"""Edited."""\n\n__version__ = "7.7.7"\n')

    assert_beats(made.run(*BEAT, cwd=repo.path))
    assert made.run("--version", cwd=repo.path).out == "bb 7.7.7\n"


def test_other_editable_installations_are_found_by_their_pth_files(tmp_path: Path, repo: Scratch):
    made = install(tmp_path / "env", is_editable=True)
    (made.packages / "_beadboard.pth").rename(made.packages / "__editable__.bb.pth")

    assert_beats(made.run(*BEAT, cwd=repo.path))
    assert made.run("--version", cwd=repo.path).status == 0


def test_a_prefix_that_is_no_virtual_environment_is_run_by_the_python_its_folder_names(
    own: Installation, repo: Scratch, tmp_path: Path
):
    """As `pip install --user` leaves it: no interpreter beside the launcher."""
    for name in ("python", "python3", PACKAGES.parts[1]):
        (own.root / "bin" / name).unlink(missing_ok=True)
    (own.root / "pyvenv.cfg").unlink()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / PACKAGES.parts[1]).symlink_to(os.path.realpath(sys.executable))

    assert_beats(own.run(*BEAT, cwd=repo.path, PATH=f"{tools}:/usr/bin:/bin"))
    assert own.run("--version", cwd=repo.path, PATH=f"{tools}:/usr/bin:/bin").status == 0


def test_a_zipapp_runs(tmp_path: Path, repo: Scratch):
    shutil.copytree(ROOT / "bb", tmp_path / "app" / "bb", ignore=shutil.ignore_patterns("__pycache__"))
    made = [sys.executable, "-m", "zipapp", tmp_path / "app", "-m", "bb.cli.main:main", "-o", tmp_path / "bb.pyz"]
    subprocess.run(made, check=True, env=environment())
    env = environment(PYTHONPATH="")

    beat = subprocess.run(
        [sys.executable, "-I", tmp_path / "bb.pyz", *BEAT], cwd=repo.path, env=env, capture_output=True
    )
    shown = subprocess.run(
        [sys.executable, tmp_path / "bb.pyz", "--version"], cwd=repo.path, env=env, capture_output=True
    )

    assert (beat.returncode, b'"active"' in beat.stdout) == (0, True), beat.stderr
    assert (shown.returncode, shown.stdout) == (0, f"bb {bb.__version__}\n".encode())


# -- in its own environment and no other


def test_what_python_variables_name_is_not_run(shared: Installation, repo: Scratch, tmp_path: Path):
    """Somebody else's folder may be named by a file that a shell reads in the repository."""
    hostile = tmp_path / "hostile"
    (hostile / "bb").mkdir(parents=True)
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n"
    for name in ("json.py", "os.py", "typer.py", "site.py", "sitecustomize.py", "usercustomize.py", "bb/__init__.py"):
        (hostile / name).write_text(trap)
    settings = {
        "PYTHONPATH": str(hostile),
        "PYTHONHOME": str(hostile),
        "PYTHONSTARTUP": str(hostile / "json.py"),
        "PYTHONUSERBASE": str(hostile),
        "PYTHONPYCACHEPREFIX": str(hostile / "cache"),
    }

    for cwd in (repo.path, hostile):
        for words in (BEAT, ("--version",), ("agent", "list"), ("status",)):
            shared.run(*words, cwd=cwd, **settings)
    assert_beats(shared.run(*BEAT, cwd=repo.path, **settings))
    assert not (tmp_path / "sprung").exists()
    assert not (hostile / "cache").exists()


def test_what_a_bb_starts_is_as_isolated_as_itself(own: Installation, repo: Scratch, tmp_path: Path):
    """The demo starts a `bb` for each of its steps. Two of them will do."""
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    with (own.package / "cli" / "programs" / "demo_steps.py").open("a") as steps:
        steps.write("\nSTEPS = STEPS[:2]\n")

    ran = own.run("demo", "--json", cwd=repo.path, PYTHONPATH=str(tmp_path))

    assert (ran.status, ran.err) == (0, "")
    assert [step["is_right"] for step in ran.data["steps"]] == [True, True]
    assert not (tmp_path / "sprung").exists()


def test_a_hot_verb_reads_no_pth_file_and_a_cold_one_does(own: Installation, repo: Scratch, tmp_path: Path):
    (own.packages / "hook.pth").write_text(f"import sys; open({str(tmp_path / 'read')!r}, 'w').close()\n")

    assert_beats(own.run(*BEAT, cwd=repo.path))
    assert not (tmp_path / "read").exists()
    assert own.run("--version", cwd=repo.path).status == 0
    assert (tmp_path / "read").exists()


@pytest.mark.parametrize("words", [BEAT, ("--version",)], ids=["hot", "cold"])
def test_without_an_interpreter_it_says_what_to_do(own: Installation, repo: Scratch, words: tuple[str, ...]):
    (own.root / "bin" / "python").unlink()
    (own.root / "bin" / "python").symlink_to("/there/is/no/such/python")

    ran = own.run(*words, cwd=repo.path)

    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith(f"Error: bb cannot start: there is no Python at {own.root}/bin/python.")
    assert "Hint: install bb again" in ran.err


def test_without_its_package_it_says_what_to_do(own: Installation, repo: Scratch):
    shutil.rmtree(own.package)

    ran = own.run(*BEAT, cwd=repo.path)

    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("Error: bb cannot start: ")
    assert f"Hint: {own.root}/bin/python -m pip install --force-reinstall beadboard" in ran.err


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_what_is_said_is_utf_8_without_a_locale(shared: Installation, repo: Scratch, locale: str):
    made = repo.bb("agent", "register", "--name", "shy-lynx", "--role", "Bäcker 試", "--force-update")
    assert made.status == 0, made.err

    said = shared.run("agent", "list", cwd=repo.path, LC_ALL=locale)

    assert "Bäcker 試" in said.out


# -- never with stale code


def test_the_second_run_takes_everything_from_the_bundle(own: Installation, repo: Scratch):
    own.settle()
    first = own.run(*BEAT, cwd=repo.path)
    assert_beats(first)
    inode = own.bundle().stat().st_ino

    for path in own.package.rglob("*.pyc"):
        if path.name != f"start.{sys.implementation.cache_tag}.pyc":
            path.unlink()

    assert_beats(own.run(*BEAT, cwd=repo.path))
    assert own.bundle().stat().st_ino == inode, "nothing was missing, so it was not written again"
    compiled = {path.name.partition(".")[0] for path in own.package.rglob("*.pyc")}
    assert compiled == {"start"}, "nothing was imported from its source"


def test_what_some_calls_import_comes_from_the_bundle_too(own: Installation, repo: Scratch):
    """The hook before a tool opens the ledger for the edit of another file, but not for a command."""
    own.settle()
    edit = '{"tool_name": "Write", "tool_input": {"file_path": "lib/%s.py"}}'
    command = '{"tool_name": "Bash", "tool_input": {"command": "ls -l"}}'
    payloads = [edit % "a", command, edit % "b", command, edit % "c", command]

    for number, payload in enumerate(payloads):
        if number == len(payloads) - 2:
            for path in own.package.rglob("*.pyc"):
                path.unlink()
        ran = own.run("hook", "pre-tool", *AMBER[:2], "--payload", payload, cwd=repo.path)
        assert (ran.status, ran.out, ran.err) == (0, "", "")

    compiled = {path.name.partition(".")[0] for path in own.package.rglob("*.pyc")}
    assert compiled == {"start"}


@pytest.mark.parametrize(
    "verb", ["agent reserve --scope src --bead bb-1", "agent inbox", "check src", "check --staged"]
)
def test_an_answer_from_the_bundle_is_the_answer(own: Installation, repo: Scratch, verb: str):
    own.settle()
    words = (*verb.split(), *AMBER)
    repo.json(*words)
    plain = repo.json(*words)

    answers = [own.run(*words, cwd=repo.path) for _ in range(3)]

    for answer in answers:
        assert (answer.status, answer.err) == (plain.status, "")
        assert answer.envelope.keys() == plain.envelope.keys()
        assert list(answer.data) == list(plain.data)  # the names of its members, where times differ


def edited(path: Path, text: str) -> None:
    """Change a file so that neither its size nor its time tells."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def test_changed_code_is_run_even_if_its_size_and_time_are_the_same(own: Installation, repo: Scratch):
    own.settle()
    for _ in range(2):
        assert_beats(own.run(*BEAT, cwd=repo.path))
    assert own.bundle().exists()
    module = own.package / "cli" / "calls" / "process.py"
    shutil.rmtree(module.parent / "__pycache__")  # Python itself would believe this one

    assert "    os._exit(status)\n" in module.read_text()
    edited(module, module.read_text().replace("    os._exit(status)\n", "    os._exit(9)     \n"))

    assert own.run(*BEAT, cwd=repo.path).status == 9
    assert own.run(*BEAT, cwd=repo.path).status == 9


def test_a_module_that_is_gone_is_not_run(own: Installation, repo: Scratch):
    own.settle()
    assert_beats(own.run(*BEAT, cwd=repo.path))

    (own.package / "ops" / "agents" / "heartbeat.py").unlink()

    assert own.run(*BEAT, cwd=repo.path).status == 1


def test_a_copy_of_an_installation_runs_its_own_code(own: Installation, repo: Scratch, tmp_path: Path):
    own.settle()
    assert_beats(own.run(*BEAT, cwd=repo.path))
    copy = Installation(tmp_path / "copy")
    subprocess.run(["cp", "-a", own.root, copy.root], check=True)
    assert copy.bundle().exists()

    (copy.package / "ops" / "agents" / "heartbeat.py").write_text("raise SystemExit(9)\n")

    assert copy.run(*BEAT, cwd=repo.path).status == 9
    assert_beats(own.run(*BEAT, cwd=repo.path))


@pytest.mark.parametrize(
    "words",
    [
        ("agent", "reserve", "--agent", "amber-otter", "--scope", "src", "--bead", "bb-1", "--json"),
        ("check", "src", "--json"),
    ],
)
def test_an_unusual_first_run_makes_no_later_run_slower(
    own: Installation, repo: Scratch, words: tuple[str, ...], tmp_path: Path
):
    """It builds the index anew, so it imports much that no usual run needs."""
    own.settle()
    shutil.copytree(repo.path, tmp_path / "copy")
    verb = words[0] if words[0] == "check" else ".".join(words[:2])
    loaded = []
    for is_unusual in (False, True):
        for path in (tmp_path / "copy" / ".git" / "bb").glob("index.sqlite*") if is_unusual else ():
            path.unlink()
        assert own.run(*words, cwd=tmp_path / "copy").status == 0
        octets = own.bundle(verb).read_bytes()
        end, size = (int.from_bytes(octets[at : at + 8], "big") for at in (0, 8))
        _, _, parts, _, _ = marshal.loads(octets[end : end + size])
        loaded.append([module[0] for modules, _, _ in parts for module in modules])
        own.bundle(verb).unlink()

    assert set(loaded[1]) <= set(loaded[0])
    assert "bb.ledger.views.holdings" in loaded[1]


@pytest.mark.parametrize("names", [bundle.LEDGER, bundle.RECORDING, bundle.DOORS])
def test_the_modules_that_bundles_know_by_name_are_there(names: tuple[str, ...]):
    assert all(find_spec(name) for name in names)


def test_a_damaged_part_of_a_bundle_is_taken_from_its_file(own: Installation, repo: Scratch):
    """Some file systems have zeros in the place of what was written last before a power failure."""
    own.settle()
    assert_beats(own.run(*BEAT, cwd=repo.path))
    octets = own.bundle().read_bytes()
    end = int.from_bytes(octets[:8], "big")
    own.bundle().write_bytes(octets[:16] + bytes(end - 16) + octets[end:])

    assert_beats(own.run(*BEAT, cwd=repo.path))


@pytest.mark.parametrize("how", ["empty", "cut off", "junk", "a folder", "another interpreter's"])
def test_a_bundle_that_is_none_does_no_harm(own: Installation, repo: Scratch, how: str):
    own.settle()
    assert_beats(own.run(*BEAT, cwd=repo.path))
    bundle = own.bundle()
    octets = bundle.read_bytes()
    bundle.unlink()
    if how == "a folder":
        bundle.mkdir()
    elif how == "another interpreter's":
        bundle.write_bytes(octets.replace(sys.version.encode(), sys.version.encode().swapcase()))
    else:
        bundle.write_bytes({"empty": b"", "cut off": octets[:1000], "junk": b"\xff" * 5000}[how])

    assert_beats(own.run(*BEAT, cwd=repo.path))
    assert_beats(own.run(*BEAT, cwd=repo.path))
    assert bundle.is_dir() or len(bundle.read_bytes()) == len(octets), "a whole one has taken its place"


def test_where_nothing_can_be_written_it_runs_without_a_bundle(own: Installation, repo: Scratch):
    own.settle()
    for folder in own.package.rglob("__pycache__"):
        shutil.rmtree(folder)
        folder.write_text("no folder, so that not even root can write here")

    for _ in range(2):
        assert_beats(own.run(*BEAT, cwd=repo.path))


def test_what_was_just_written_is_put_in_no_bundle(own: Installation, repo: Scratch):
    """It may be written again within the same tick of the clock."""
    main = own.package / "cli" / "main.py"
    main.write_text(main.read_text())

    assert_beats(own.run(*BEAT, cwd=repo.path))

    assert not own.bundle().exists()


def test_a_bundle_grows_by_what_a_run_needs_for_the_first_time(own: Installation, repo: Scratch):
    own.settle()
    assert_beats(own.run(*BEAT, cwd=repo.path))
    for_programs = own.bundle().stat().st_size

    assert own.run("agent", "heartbeat", "--agent", "amber-otter", cwd=repo.path).status == 0
    assert_beats(own.run(*BEAT, cwd=repo.path))

    assert own.bundle().stat().st_size > for_programs


def test_many_first_runs_at_once_leave_one_whole_bundle(own: Installation, repo: Scratch):
    own.settle()
    with ThreadPoolExecutor(8) as crowd:
        for ran in crowd.map(lambda _: own.run(*BEAT, cwd=repo.path), range(8)):
            assert_beats(ran)

    left = [path.name for path in own.bundle().parent.iterdir() if "bundle" in path.name]
    assert left == [own.bundle().name]
    assert own.bundle().stat().st_mode & 0o022 == 0, "nobody else may write it"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_not_taken_for_the_bundle(own: Installation, repo: Scratch, closed: str):
    own.settle()
    assert_beats(own.run(*BEAT, cwd=repo.path))

    ran = own.run("-c", f'exec "$0" "$@" {closed}', str(own.bb), *BEAT, program="/bin/sh", cwd=repo.path)

    assert (ran.status, ran.err) == (0, "")


def test_verbs_that_need_packages_share_a_bundle(own: Installation, repo: Scratch):
    own.settle()
    calls = [
        ["--help"],
        ["init", "--help"],
        ["chat", "send", "--help"],
        ["nonsense"],
        ["agent", "nonsense"],
        ["x" * 300],
    ]

    first = [own.run(*words, cwd=repo.path) for words in calls]
    (own.packages / "hook.pth").write_text("import os; os._exit(9)\n")  # read by what adds packages
    second = [own.run(*words, cwd=repo.path) for words in calls]

    assert [ran.status for ran in first] == [0, 0, 0, 2, 2, 2]
    assert [(ran.status, ran.out, ran.err) for ran in second] == [(ran.status, ran.out, ran.err) for ran in first]
    assert [path.name.partition(".")[0] for path in own.package.rglob("*.bundle")] == ["others"]


def test_a_hot_verb_does_not_take_the_bundle_of_the_others(own: Installation, repo: Scratch):
    own.settle()
    assert own.run("--help", cwd=repo.path).status == 0
    assert own.run(*BEAT, "--nonsense", cwd=repo.path).status == 2
    assert not own.bundle().exists()

    assert_beats(own.run(*BEAT, cwd=repo.path))

    assert own.bundle().stat().st_size < own.bundle("others").stat().st_size / 4


@pytest.mark.parametrize("verb", ["agent reserve --scope src --bead bb-1", "agent inbox", "check src", "status"])
def test_a_hot_verb_does_without_packages(own: Installation, repo: Scratch, verb: str):
    (own.packages / "hook.pth").write_text("import os; os._exit(9)\n")  # read by what adds packages

    assert own.run(*verb.split(), *AMBER[: None if verb != "status" else 0], cwd=repo.path).status == 0
    assert own.run("--version", cwd=repo.path).status == 9


def test_a_package_imports_its_own_parts_from_the_bundle(own: Installation, repo: Scratch):
    """A part is complete before its package is, and cannot be imported before it."""
    own.settle()
    (own.package / "ops" / "__init__.py").write_text('"""Imports a part."""\n\nfrom bb.ops import params as params\n')
    time.sleep(2.1)

    for _ in range(3):
        assert_beats(own.run(*BEAT, cwd=repo.path))
    assert own.bundle().exists()


def test_no_words_lead_to_a_bundle_elsewhere(own: Installation, repo: Scratch, tmp_path: Path):
    (tmp_path / "x.bundle").write_bytes(b"\xff" * 100)

    for words in (
        ("../../x", "y"),
        ("agent", "/etc/passwd"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),),
    ):
        assert own.run(*words, cwd=repo.path).status == 2


def test_a_bug_is_reported_with_the_places_in_the_source(own: Installation, repo: Scratch):
    own.settle()
    heartbeat = own.package / "ops" / "agents" / "heartbeat.py"
    heartbeat.write_text(heartbeat.read_text().replace("    now = desk.now()\n", "    now = desk.now() / 0\n", 1))
    time.sleep(2.1)

    reports = [own.run(*BEAT[:-1], cwd=repo.path) for _ in range(2)]

    for report in reports:
        assert report.status == 1
        assert "now = desk.now() / 0" in report.err
        assert f"bb {bb.__version__}, Python" in report.err
