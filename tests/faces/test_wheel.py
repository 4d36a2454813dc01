"""What is handed out: a source archive that is whole, a wheel made of it, and a `bb` that works where nothing else is.

Built once, and installed once into an empty environment. It takes a package index, and half a minute.
"""

from __future__ import annotations

import email
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from functools import cached_property
from pathlib import Path

import pytest

import bb
from bb.cli import own_commands
from bb.cli.programs import extras
from bb.ledger.files.lock import Lock
from tests import workers
from tests.support import ROOT, Ran, environment, scratch

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = sorted(set(PROJECT["project"]["optional-dependencies"]) - {"dev"})
PROGRAMS = "Scripts" if os.name == "nt" else "bin"
PATIENCE = 300.0  # seconds that other workers wait for the one that builds
NAME = f"beadboard-{bb.__version__}"


def must(command: list[str], cwd: Path = ROOT, **settings: str) -> None:
    """Run what has to succeed, and say why it did not."""
    quickly = {"PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(command, cwd=cwd, env=environment(**(quickly | settings)), capture_output=True)
    assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr.decode()}"


class Release:
    """An archive, a wheel, and an environment in which there is the wheel and what it asks for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dist = folder / "dist"
        self.archive = self.dist / f"{NAME}.tar.gz"
        self.wheel = self.dist / f"{NAME}-py3-none-any.whl"
        self.programs = folder / "an environment" / PROGRAMS  # whose programs cannot be named in a first line
        self._done = folder / "done"

    @property
    def is_there(self) -> bool:
        return self._done.exists()

    def make(self) -> None:
        tools = self.folder / "tools"
        self._pip("install", "--no-compile", "--target", str(tools), *PROJECT["build-system"]["requires"])
        self._build("build_sdist", ROOT, tools)
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not in the first 3.11
        with tarfile.open(self.archive) as packed:
            packed.extractall(self.folder / "unpacked", **safely)
        self._build("build_wheel", self.folder / "unpacked" / NAME, tools)
        must([sys.executable, "-m", "venv", "--without-pip", str(self.programs.parent)])
        self._pip("--python", str(self.programs / "python"), "install", "--no-compile", str(self.wheel))
        self._done.touch()

    def _pip(self, *words: str) -> None:
        must([sys.executable, "-m", "pip", "--quiet", *words])

    def _build(self, what: str, source: Path, tools: Path) -> None:
        call = f"from hatchling.build import {what}; {what}({str(self.dist)!r})"
        must([sys.executable, "-c", call], cwd=source, PYTHONPATH=str(tools))

    @cached_property
    def archived(self) -> set[str]:
        with tarfile.open(self.archive) as packed:
            return {name.partition("/")[2] for name in packed.getnames()}

    @cached_property
    def packed(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.wheel) as file:
            return {name: file.read(name) for name in file.namelist()}

    @cached_property
    def metadata(self) -> Message:
        return email.message_from_bytes(self.packed[f"{NAME}.dist-info/METADATA"])

    def run(self, program: str, *words: str, cwd: Path | None = None, **settings: str) -> Ran:
        """Run an installed PROGRAM in an environment that knows nothing of this checkout."""
        env = environment(**settings)
        del env["PYTHONPATH"]
        env["PATH"] = os.pathsep.join([str(self.programs), env["PATH"]])
        done = subprocess.run(
            [str(self.programs / program), *words], cwd=cwd or self.folder, env=env, capture_output=True
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """One for all workers: the first to come makes it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if workers.NUMBER in os.environ else base) / "release"
    folder.mkdir(exist_ok=True)
    (folder / "lock").touch()
    with Lock(str(folder / "lock"), patience=PATIENCE):
        made = Release(folder)
        if not made.is_there:
            made.make()
    return made


def tracked(*folders: str) -> set[str]:
    """The files of the checkout in these FOLDERS: what git has, or would have with the next commit."""
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(asked, cwd=ROOT, env=environment(), check=True, capture_output=True).stdout.decode()
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


@pytest.mark.long
def test_the_archive_has_all_that_is_needed_to_build_and_test(release: Release):
    folders = ("bb", "skills", "scripts", "tests", "docs", ".beads-example", ".claude-plugin")

    assert tracked(*folders) - release.archived == set()
    assert {"README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "pyproject.toml", "PKG-INFO"} <= release.archived
    assert [name for name in release.archived if "__pycache__" in name or name.startswith(".venv")] == []


def test_the_wheel_has_every_file_of_the_package_and_the_skill_and_nothing_else(release: Release):
    inside = {name for name in release.packed if not name.startswith(f"{NAME}.")}

    templates = {f"bb/{name.removeprefix('docs/')}" for name in tracked("docs/ci")}
    assert inside == tracked("bb") | {f"bb/{name}" for name in tracked("skills")} | templates
    assert "bb/py.typed" in inside
    launchers = {name.rpartition("/")[2] for name in release.packed if "/scripts/" in name and ".data/" in name}
    assert launchers == {"bb", "bb.cmd", "beadboard", "beadboard.cmd", "bb-init", "bb-init.cmd"}


def test_the_wheel_carries_the_list_of_its_parts(release: Release):
    carried = json.loads(release.packed[f"{NAME}.dist-info/sboms/beadboard.cdx.json"])

    assert (carried["bomFormat"], carried["specVersion"]) == ("CycloneDX", "1.6")
    assert carried["metadata"]["component"]["version"] == bb.__version__
    required = {each["name"] for each in carried["components"] if each["scope"] == "required"}
    asked = {re.split(r"[><=\[;]", each)[0] for each in PROJECT["project"]["dependencies"]}
    assert asked <= required


def test_the_metadata_says_what_it_is(release: Release):
    said = release.metadata

    assert (said["Name"], said["Version"]) == ("beadboard", bb.__version__)
    assert (said["License-Expression"], said["License-File"]) == ("MIT", "LICENSE")
    assert said["Requires-Python"] == ">=3.11"
    assert said["Description-Content-Type"] == "text/markdown"
    assert said.get_payload(decode=True) == (ROOT / "README.md").read_bytes()
    assert {"Homepage", "Documentation", "Changelog", "Issues"} == {
        url.partition(",")[0] for url in said.get_all("Project-URL", [])
    }
    assert set(EXTRAS) <= set(said.get_all("Provides-Extra", []))
    assert "Typing :: Typed" in said.get_all("Classifier", [])


def test_an_installed_bb_works_where_nothing_else_is(release: Release, tmp_path: Path):
    repo = scratch(tmp_path / "repo")

    def ok(*words: str, program: str = "bb") -> Ran:
        ran = release.run(program, *words, "--json", cwd=repo.path)
        assert ran.status == 0, f"{words}: {ran.out}{ran.err}"
        return ran

    assert ok("--version").data == ok("--version", program="beadboard").data == {"version": bb.__version__}
    assert ok("init").data["created"] is True
    ok("agent", "register", "--name", "amber-otter", "--role", "builder")
    files = ok("init", "--skill").data["skill"]["files"]
    assert {file["outcome"] for file in files} == {"created"}
    assert len(files) == 2 * len(list((ROOT / "skills" / "beadboard-driver").rglob("*.md"))) + 1
    command = next(check for check in ok("doctor").data["checks"] if check["name"] == "command")
    assert (command["state"], str(release.programs / "bb") in command["text"]) == ("good", True)
    assert ok("hooks", "install").data["is_done"] is True
    begun = ok("--non-interactive", "--register", "shy-lynx", program="bb-init").data
    assert (begun["agent_id"], begun["mode"]) == ("shy-lynx", "register")


TOOLS = {
    "uv": (["uv", "tool", "install", "--quiet"], ["uv", "tool", "uninstall", "beadboard"]),
    "pipx": (["pipx", "install", "--quiet"], ["pipx", "uninstall", "beadboard"]),
}


@pytest.mark.long
@pytest.mark.parametrize("tool", TOOLS)
def test_tools_that_install_programs_install_one_that_starts(release: Release, tmp_path: Path, tool: str):
    """Both put a link on the PATH. They come from the package index."""
    must([sys.executable, "-m", "venv", str(tmp_path / "tools")])
    must([str(tmp_path / "tools" / PROGRAMS / "python"), "-m", "pip", "install", "--quiet", tool])
    install, uninstall = ([str(tmp_path / "tools" / PROGRAMS / words[0]), *words[1:]] for words in TOOLS[tool])
    home = tmp_path / "a home"
    home.mkdir()
    programs = home / ".local" / "bin"
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    here = {"HOME": str(home), "PATH": path, "PYTHONPATH": ""}
    must([*install, "--python", sys.executable, str(release.wheel)], **here)

    for program in ("bb", "beadboard"):
        started = subprocess.run(
            [programs / program, "--version"], env=environment(**here), capture_output=True, text=True
        )
        assert (started.returncode, started.stdout, started.stderr) == (0, f"bb {bb.__version__}\n", "")
    must(uninstall, **here)
    assert not (programs / "bb").is_symlink()


# the words that call it -> the extra without which it is refused
FACES = {
    each.own.examples[0].removeprefix("bb "): said.group(1)
    for each in own_commands.COMMANDS.values()
    if (said := re.search(r"It needs the extra `(\w+)`", each.own.description))
}
NEED = """
import sys
from bb.cli.programs import extras; from bb.cli.calls import run
sys.exit(run.guarded({0!r}, lambda: extras.require_extra({0!r}, {1!r}) or 0, as_json="--json" in sys.argv))
"""


@pytest.mark.long  # it installs the packages of two extras
def test_a_face_that_is_not_installed_names_the_command_that_installs_it_and_that_works(release: Release):
    asks = {extra: ["-c", NEED.format(f"bb {extra}", extra)] for extra in extras.EXTRAS}
    hints = {}
    for extra, words in asks.items():
        refused = release.run("python", *words, "--json")
        told = release.run("python", *words)
        assert (refused.status, refused.code) == (4, "EXTRA_MISSING")
        assert refused.envelope["error"]["details"]["missing"] == list(extras.EXTRAS[extra])
        hints[extra] = refused.envelope["error"]["hint"]
        assert (told.status, told.out) == (4, "")
        assert f"Hint: {hints[extra]}" in told.err
    for face, extra in FACES.items():
        ran = release.run("bb", *face.split(), "--json")
        assert (face, ran.status, ran.code) == (face, 4, "EXTRA_MISSING")
        assert ran.envelope["error"]["hint"] == hints[extra]

    for extra, hint in hints.items():
        python = str(release.programs / "python")
        assert shlex.split(hint) == [python, "-m", "pip", "install", f"beadboard[{extra}]"]
        must(shlex.split(hint), PIP_FIND_LINKS=str(release.dist))
        assert release.run("python", *asks[extra], "--json").status == 0
    repo = scratch(release.folder / "repo")
    assert release.run("bb", "init", cwd=repo.path).status == 0
    assert release.run("bb", "report", "--output", "report.html", cwd=repo.path).status == 0
    assert "<html" in (repo.path / "report.html").read_text()


def test_a_command_that_needs_an_extra_says_so_in_its_help():
    needy = {
        words
        for words, each in own_commands.COMMANDS.items()
        if "extras.require_extra(" in inspect.getsource(each.own.call)
    }

    assert needy == {
        words for words, each in own_commands.COMMANDS.items() if "It needs the extra `" in each.own.description
    }
    assert needy


def test_every_extra_that_is_spoken_of_is_there():
    folders = {"docs": "*.md", "bb": "*.py", "skills": "*.md"}
    pages = [ROOT / "README.md", *(page for name, kind in folders.items() for page in (ROOT / name).rglob(kind))]
    named = {
        name
        for page in pages
        for names in re.findall(r"beadboard\[([a-z,]+)\]", page.read_text())
        for name in names.split(",")
    }

    assert named <= {*EXTRAS, "dev"}
    assert set(extras.EXTRAS) <= set(EXTRAS)


def test_the_extras_install_what_their_faces_import():
    for extra, packages in extras.EXTRAS.items():
        required = {re.split(r"[><=\[]", each)[0] for each in PROJECT["project"]["optional-dependencies"][extra]}
        assert required == set(packages), json.dumps(extra)
