"""The workflows we hand out: what they call exists, and nothing that an event says becomes a command."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

import bb
from bb.ops import catalogue
from tests.stories.ci.ci_support import HARBOR, Project, project
from tests.support import ROOT, Ran, environment, made_once

ACTION = ROOT / ".github" / "actions" / "check" / "action.yml"
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
FILES = [ACTION, RELEASE, *sorted((ROOT / "docs" / "ci").glob("*.yml"))]
OPTIONS = {parameter.option for parameter in catalogue.find("ci.check").parameters}


def script() -> str:
    """The shell script of the action's only step."""
    (step,) = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    return str(step["run"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_workflow_uses_options_that_there_are_and_is_yaml(file: Path):
    text = file.read_text()

    assert isinstance(yaml.safe_load(text), dict)

    calls = "\n".join(line for line in text.splitlines() if "bb ci check" in line or "words" in line)
    used = set(re.findall(r"--[a-z]+(?=[=\s\")])", calls))
    assert used <= OPTIONS
    for line in text.splitlines():
        assert "\t" not in line
        assert (len(line) - len(line.lstrip(" "))) % 2 == 0
        assert line.count("${{") == line.count("}}")


def test_no_script_of_the_action_is_written_by_whoever_opens_a_pull_request():
    assert script().strip()
    assert "${{" not in script()


def test_what_the_action_asks_its_user_is_what_its_script_is_told():
    read = yaml.safe_load(ACTION.read_text())
    (step,) = read["runs"]["steps"]

    assert {name.upper() for name in read["inputs"]} == set(step["env"]) - {"DEFAULT"}
    assert all(isinstance(each["default"], str) and each["description"] for each in read["inputs"].values())


def in_action(at: Path, action: Path, cwd: Path, **settings: str) -> Ran:
    """Run the action's step as a runner does that has Python and git, and an empty home."""
    known = dict.fromkeys(("DECLARED", "SCOPES", "STRICT", "AGENT", "REMOTE", "SARIF"), "")
    runner = {"RUNNER_TEMP": str(at), "RUNNER_TOOL_CACHE": str(at), "GITHUB_ACTION_PATH": str(action)}
    env = {"PATH": environment()["PATH"], "HOME": str(made_once("home")), "GITHUB_ACTIONS": "true", **runner}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script()],
        cwd=cwd,
        env=env | known | {"UNREACHABLE": "fail"} | settings,
        capture_output=True,
        text=True,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def called_with(tmp_path: Path, **settings: str) -> list[str]:
    """What the action calls the check with, under these settings."""
    action = tmp_path / "bb" / ".github" / "actions" / "check"
    action.mkdir(parents=True, exist_ok=True)
    program = tmp_path / "bb" / "scripts" / "bb-ci"
    program.parent.mkdir(exist_ok=True)
    program.write_text('import sys\nprint(*sys.argv[1:], sep="\\0", end="\\0")\n')
    ran = in_action(tmp_path, action, tmp_path, **({"BASE": "b", "HEAD": "h"} | settings))
    assert ran.status == 0, ran.err
    return ran.out.split("\0")[:-1]


def test_the_action_says_what_it_was_told(tmp_path: Path):
    plain = ["check", "--base=b", "--head=h", "--unreachable=fail"]

    assert called_with(tmp_path) == [*plain, "--format=github"]
    assert called_with(
        tmp_path, DECLARED="true", STRICT="true", SCOPES="docs\nsrc/a b\n", AGENT="x", REMOTE="r", SARIF="s"
    ) == [
        *plain,
        *("--declared", "--strict", "--agent=x", "--remote=r", "--scope=docs", "--scope=src/a b"),
        *("--format=sarif", "--output=s"),
    ]


def test_the_action_may_be_strict_about_agents_only(tmp_path: Path):
    assert "--strict=agents" in called_with(tmp_path, STRICT="agents")
    assert "--strict=agents" not in called_with(tmp_path, STRICT="false")


@pytest.mark.parametrize(
    ("variables", "head"),
    [
        ({}, "tip"),
        ({"CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "source"}, "source"),  # the tip is GitLab's own merge
    ],
)
def test_gitlab_compares_the_source_branch_with_its_own_merge_base(
    tmp_path: Path, variables: dict[str, str], head: str
):
    (line,) = [line for line in FILES[-1].read_text().splitlines() if "bb ci check" in line]
    program = tmp_path / "bb"
    program.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    env = environment(CI_COMMIT_SHA="tip", CI_MERGE_REQUEST_DIFF_BASE_SHA="base", **variables)
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run(["sh", "-c", line.strip().removeprefix("- ")], env=env, capture_output=True, text=True)

    words = done.stdout.split("\0")
    assert words[:6] == ["ci", "check", "--base", "base", "--head", head], done


@pytest.mark.parametrize("base", ["", "0" * 40])
def test_without_a_commit_to_compare_with_the_action_compares_with_the_default_branch(tmp_path: Path, base: str):
    assert "--base=origin/trunk" in called_with(tmp_path, BASE=base, DEFAULT="trunk")


def test_what_the_action_is_told_is_never_a_command(tmp_path: Path):
    words = called_with(tmp_path, AGENT="$(touch made)`touch made`; touch made", SCOPES='"; touch made\n--strict')

    assert "--agent=$(touch made)`touch made`; touch made" in words
    assert "--scope=--strict" in words
    assert not os.path.exists("made")


# -- as a runner runs it


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A change of what another agent has reserved."""
    made = project(tmp_path_factory.mktemp("workflows") / "work")
    made.publish()
    made.commit(HARBOR, {"src/parser/lex.py": "2\n"})
    made.push("work")
    return made


def copied(folder: Path) -> Path:
    """What a runner checks out of bb for the action: the files that git has."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder / ACTION.parent.relative_to(ROOT)


@pytest.fixture(scope="module")
def action() -> Path:
    """A checkout of bb as a runner has it for the action."""
    return copied(made_once("checkout-of-the-action"))


def test_the_action_judges_a_pull_request_and_installs_nothing(work: Project, action: Path, tmp_path: Path):
    at = work.checkout("checkout-of-the-project").path
    before = set(action.parents[2].rglob("*"))
    change = {"BASE": work.head("origin/main"), "HEAD": work.head()}

    refused = in_action(tmp_path, action, at, **change, BB_NOW=work.repo.settings["BB_NOW"])
    reported = in_action(tmp_path, action, at, **change, SARIF="bb.sarif", BB_NOW=work.repo.settings["BB_NOW"])
    passed = in_action(tmp_path, action, at, BASE=change["HEAD"], HEAD=change["HEAD"])

    assert (refused.status, reported.status, passed.status) == (7, 7, 0)
    assert refused.out.startswith("::error file=src/parser/lex.py,line=1,title=bb%3A held-then::")
    assert reported.out == refused.out
    assert '"ruleId":"held-then"' in (at / "bb.sarif").read_text().replace('": "', '":"')
    assert set(action.parents[2].rglob("*")) == before
    assert list(tmp_path.iterdir()) == []


def test_a_runner_without_a_python_that_is_new_enough_is_told_so(action: Path, tmp_path: Path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("python3", "python"):
        (tools / name).write_text("#!/bin/sh\nexit 1\n")
        (tools / name).chmod(0o755)
    (tools / "bash").symlink_to(str(shutil.which("bash")))

    ran = in_action(tmp_path, action, tmp_path, PATH=str(tools), BASE="b", HEAD="h")
    assert (ran.status, ran.out.startswith("::error title=bb::bb ci check needs Python 3.11 or later")) == (1, True)

    newer = tmp_path / "Python" / "3.12.4" / "x64" / "bin"
    newer.mkdir(parents=True)
    (newer / "python3").symlink_to(os.path.realpath(sys.executable))
    ran = in_action(tmp_path, action, tmp_path, PATH=f"{tools}:{os.environ['PATH']}", BASE="b", HEAD="h")
    assert (ran.status, "NOT_A_REPOSITORY" in ran.err) == (3, True)


@pytest.mark.parametrize("is_fork", [False, True])
def test_the_gitlab_job_judges_a_merge_request(work: Project, action: Path, tmp_path: Path, is_fork: bool):
    at = work.checkout(f"gitlab-{is_fork}").path
    sources = action.parents[2]
    for words in (["init", "--quiet", "-b", "main"], ["add", "."], ["commit", "--quiet", "--allow-empty", "-m", "bb"]):
        subprocess.run(["git", *words], cwd=sources, check=True, env=environment(**AUTHOR))
    job = yaml.safe_load((ROOT / "docs" / "ci" / "gitlab.yml").read_text())["bb"]
    lines = "\n".join(job["script"]).replace("/tmp/bb", str(tmp_path / "bb"))
    variables = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": work.head("origin/main"),
        "CI_COMMIT_SHA": work.head(),
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_PROJECT_ID": "2" if is_fork else "1",
        "CI_MERGE_REQUEST_PROJECT_URL": work.url.removesuffix(".git"),
        "BB_NOW": work.repo.settings["BB_NOW"],
    }
    elsewhere = {  # the sources of bb come from here and not from GitHub
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{sources}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/beadboard/bb",
    }
    env = {"PATH": environment()["PATH"], "HOME": str(made_once("home"))}
    done = subprocess.run(
        ["sh", "-e", "-c", lines],
        cwd=at,
        env=env | job["variables"] | variables | elsewhere,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 7, done.stderr
    assert int(ElementTree.parse(at / "bb.xml").getroot().attrib["failures"]) == 1


AUTHOR = {
    f"GIT_{who}_{what}": f"{what}@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


# -- the pinned packages


@pytest.mark.long  # it installs every package twice
def test_an_installation_from_the_lock_has_what_is_pinned_and_refuses_what_differs(tmp_path: Path):
    copied(tmp_path / "bb")
    pins = tmp_path / "bb" / "scripts" / "locked" / "requirements.txt"

    def installed(folder: Path) -> subprocess.CompletedProcess[str]:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        words = ["install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--requirement", str(pins)]
        command = [folder / "bin" / "python", "-m", "pip", *words]
        return subprocess.run(command, env=environment(PYTHONPATH=""), capture_output=True, text=True)

    done = installed(tmp_path / "sound")
    assert done.returncode == 0, done.stderr
    program = tmp_path / "sound" / "bin"
    alone = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(tmp_path / "bb")]
    subprocess.run([program / "python", "-m", "pip", *alone], env=environment(PYTHONPATH=""), check=True)
    said = subprocess.run([program / "bb", "--version"], capture_output=True, text=True, env=environment())
    assert bb.__version__ in said.stdout
    has = subprocess.run([program / "python", "-m", "pip", "freeze"], capture_output=True, text=True, env=environment())
    there = dict(line.lower().replace("_", "-").split("==") for line in has.stdout.splitlines() if "==" in line)
    pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", pins.read_text(), re.MULTILINE))
    assert there.items() <= pinned.items()
    assert "typer" in there

    pins.write_text(re.sub(r"sha256:[0-9a-f]{4}", "sha256:0000", pins.read_text()))
    done = installed(tmp_path / "forged")
    assert done.returncode != 0
    assert "HASHES" in done.stderr


def test_the_lock_and_the_list_of_parts_fit_the_project(tmp_path: Path):
    copied(tmp_path)
    check = [sys.executable, str(tmp_path / "scripts" / "lock"), "--check"]
    pins = tmp_path / "scripts" / "locked" / "requirements.txt"
    sound = pins.read_text()

    assert subprocess.run(check).returncode == 0
    for harmed in (
        re.sub(r"^typer==0\.28", "typer==0.29", sound, flags=re.MULTILINE),
        re.sub(r"^orjson==.*?(?=^[a-z])", "", sound, flags=re.MULTILINE | re.DOTALL),
        re.sub(r"^(rich==\S+ \\\n)(    --hash\S+(?: \\)?\n)+", r"\1", sound, flags=re.MULTILINE),
        re.sub(r"^rich==15", "rich==14", sound, flags=re.MULTILINE),
    ):
        assert harmed != sound
        pins.write_text(harmed)
        done = subprocess.run(check, capture_output=True, text=True)
        assert (done.returncode, done.stderr.endswith("run scripts/lock\n")) == (1, True)
