"""Which programs that a configuration of git names are started by bb: the table in docs/security.md, row by row.

Each row plants a program that leaves a mark, first in the configuration of a repository of one's own, then in that of
the user, then in that of another user's repository. Where bb starts nothing, git itself shows that it would have.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.near import near
from tests.stories.ownership.ownership_support import give_away, planted
from tests.support import ROOT, Scratch, environment

AMBER = "amber-otter"
PROGRAM, FOLDER, WEB = "PROGRAM", "FOLDER", "WEB"  # in a setting: the program, the folder it is in, a server
FETCHING = ("sync", "ci")


@dataclass
class Row:
    """One row: the settings that start a program, and the verbs on which bb lets them, from one's own repository."""

    about: str  # as docs/security.md names it
    settings: tuple[tuple[str, str], ...]
    obeyed_on: tuple[str, ...] = ()
    control: tuple[str, ...] = ()  # what makes git itself start it
    prepare: Callable[[Scratch, Path], None] | None = None
    other_end: tuple[str, ...] = ()  # where a remote is a path, git at its other end may obey the user's settings, too
    also: tuple[str, ...] = ()
    not_from_user: tuple[str, ...] = ()


def attributes(text: str) -> Callable[[Scratch, Path], None]:
    def write(repo: Scratch, _: Path) -> None:
        (repo.path / ".git" / "info").mkdir(exist_ok=True)
        (repo.path / ".git" / "info" / "attributes").write_text(f"{text}\n")

    return write


def hooks(repo: Scratch, program: Path) -> None:
    """The program, under the name of every hook."""
    names = ["pre-push", "reference-transaction", "post-checkout", "pre-auto-gc", "post-index-change"]
    for name in names:
        (program.parent / name).symlink_to(program)


def alternates(repo: Scratch, _: Path) -> None:
    """Another repository whose objects are used, and of whose refs git is told."""
    other = repo.path.parent / "other.git"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(other))
    (repo.path / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/objects\n")


def merging(repo: Scratch, _: Path) -> None:
    """In the middle of a merge whose file both sides have changed."""
    attributes("*.txt merge=planted")(repo, _)
    repo.git("checkout", "--quiet", "-b", "side")
    (repo.path / "a.txt").write_text("side\n")
    repo.git("commit", "--quiet", "-am", "Side")
    repo.git("checkout", "--quiet", "main")
    (repo.path / "a.txt").write_text("main\n")
    repo.git("commit", "--quiet", "-am", "Main")
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "--no-commit", "side")
    assert (repo.path / ".git" / "MERGE_HEAD").exists()
    (repo.path / "a.txt").write_text("both\n")
    repo.git("add", "a.txt")


def helper(repo: Scratch, program: Path) -> None:
    """The program, as git's helper for addresses of a kind: where git looks for one whose name has a slash in it."""
    (repo.path / "git-remote-planted").mkdir()
    (repo.path / "git-remote-planted" / "one").symlink_to(program)


def moved(repo: Scratch, _: Path) -> None:
    """Another clone has published meanwhile, so that something has to be fetched."""
    other = Scratch(repo.path.parent / "other", dict(repo.settings))
    repo.git("clone", "--quiet", str(repo.path.parent / "hub.git"), str(other.path))
    assert other.bb("sync", "--pull").status == 0
    assert other.bb("agent", "register", "--name", "quiet-heron", "--role", "x").status == 0
    assert other.bb("sync", "--publish").status == 0


STATUS, LOOK = ("git", "status"), ("git", "ls-remote", "origin")
ROWS = [
    Row("`core.fsmonitor`", (("core.fsmonitor", PROGRAM),), control=STATUS),
    Row(
        "`core.hooksPath`, hooks",
        (("core.hooksPath", FOLDER),),
        (),
        ("git", "update-ref", "refs/x", "HEAD"),
        hooks,
        FETCHING,
    ),
    Row(
        "`filter.*.clean`, `.process`",
        (("filter.planted.clean", PROGRAM),),
        ("status",),
        STATUS,
        attributes("* filter=planted"),
    ),
    Row(
        "`filter.*.smudge`, `.process`",
        (("filter.planted.smudge", PROGRAM),),
        ("run",),
        ("git", "checkout-index", "--force", "--prefix=aside/", "a.txt"),
        attributes("* filter=planted"),
    ),
    Row("`merge.*.driver`", (("merge.planted.driver", PROGRAM),), ("staged",), (), merging),
    Row("`diff.external`", (("diff.external", PROGRAM),), (), ("git", "diff", "HEAD")),
    Row(
        "`diff.*.command`",
        (("diff.planted.command", PROGRAM),),
        (),
        ("git", "diff", "HEAD"),
        attributes("* diff=planted"),
    ),
    Row(
        "`diff.*.textconv`",
        (("diff.planted.textconv", PROGRAM),),
        (),
        ("git", "diff", "HEAD"),
        attributes("* diff=planted"),
    ),
    Row(
        "`trailer.*.command`, `.cmd`", (("trailer.sign.command", PROGRAM),), (), ("git", "interpret-trailers", "a.txt")
    ),
    Row(
        "`core.sshCommand`",
        (("core.sshCommand", PROGRAM), ("remote.origin.url", "ssh://nowhere.invalid/x")),
        FETCHING,
        LOOK,
    ),
    Row(
        "`core.gitProxy`",
        (("core.gitProxy", PROGRAM), ("remote.origin.url", "git://nowhere.invalid/x")),
        FETCHING,
        LOOK,
    ),
    Row("`remote.*.uploadpack`", (("remote.origin.uploadpack", PROGRAM),), FETCHING, LOOK, moved),
    Row(
        "`remote.*.vcs`, helpers called `git-remote-*`",
        (("remote.origin.vcs", "planted/one"),),
        FETCHING,
        LOOK,
        helper,
        not_from_user=("ci",),  # which takes what is said of a remote from where the remote stands
    ),
    Row(
        "`remote.*.receivepack`",
        (("remote.origin.receivepack", PROGRAM),),
        ("sync",),
        ("git", "push", "origin", "HEAD:x"),
    ),
    Row("`credential.helper`", (("credential.helper", PROGRAM), ("remote.origin.url", WEB)), FETCHING, LOOK),
    Row("`core.askPass`", (("core.askPass", PROGRAM), ("remote.origin.url", WEB)), (), LOOK),
    Row(
        "`ext::`, `fd::` addresses",
        (("remote.origin.url", f"ext::{PROGRAM}"), ("protocol.ext.allow", "always")),
        (),
        LOOK,
    ),
    Row(
        "`ext::`, `fd::` addresses",
        (("remote.origin.url", "x:y"), (f"url.ext::{PROGRAM} .insteadOf", "x:"), ("protocol.ext.allow", "always")),
        control=LOOK,
        also=("insteadOf",),
    ),
    Row(
        "`ext::`, `fd::` addresses",
        (("remote.origin.vcs", "ext"), ("remote.origin.url", PROGRAM), ("protocol.ext.allow", "always")),
        (),
        LOOK,
        also=("vcs",),
    ),
    Row(
        "`core.alternateRefsCommand`",
        (("core.alternateRefsCommand", PROGRAM),),
        (),
        ("git", "fetch", "origin", "main"),
        alternates,
        FETCHING,
    ),
    Row("`core.editor`, `sequence.editor`", (("core.editor", PROGRAM),), (), ("git", "commit", "--amend")),
    Row("`core.pager`, `pager.*`", (("core.pager", PROGRAM), ("pager.log", "true"), ("pager.config", PROGRAM))),
    Row(
        "`gpg.program`, signing",
        (
            ("gpg.program", PROGRAM),
            ("commit.gpgSign", "true"),
            ("push.gpgSign", "if-asked"),
            ("log.showSignature", "true"),
        ),
        control=("git", "commit", "--amend", "--no-edit"),
    ),
    Row("`submodule.*.update`", (("submodule.x.update", f"!{PROGRAM}"), ("submodule.recurse", "true"))),
    Row("`uploadpack.packObjectsHook`", (("uploadpack.packObjectsHook", PROGRAM),), other_end=FETCHING),
    Row("`gc.*`, `maintenance.*`", (("gc.auto", "1"), ("gc.autoDetach", "false"), ("gc.recentObjectsHook", PROGRAM))),
]
IDS = [" ".join([row.about.split("`")[1], *row.also]) for row in ROWS]


class Asks(BaseHTTPRequestHandler):
    """A server that wants a password for everything."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Asks) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/x.git"
        server.shutdown()
        thread.join()


@pytest.fixture
def repo(tmp_path: Path) -> Scratch:
    """A repository with a hub that has its ledger, something held, something changed and something staged."""
    made = near(tmp_path / "repo", SUDO_UID="", BB_HOME=str(tmp_path / "home"))
    hub = tmp_path / "hub.git"
    made.git("init", "--quiet", "--bare", str(hub))
    made.git("remote", "add", "origin", str(hub))
    (made.path / "a.txt").write_text("one\n")
    made.git("add", "a.txt")
    made.git("commit", "--quiet", "-m", "A")
    made.git("branch", "-M", "main")
    made.git("push", "--quiet", "origin", "main")
    assert made.bb("agent", "register", "--name", AMBER, "--role", "x").status == 0
    assert made.bb("agent", "reserve", "--agent", AMBER, "--scope", ".", "--bead", "bb-1").status == 0
    assert made.bb("sync", "--publish").status == 0
    (made.path / "a.txt").write_text("two\n")
    made.git("add", "a.txt")
    (made.path / "a.txt").write_text("six\n")
    return made


VERBS: dict[str, list[list[str]]] = {
    "act": [["agent", "heartbeat", "--agent", AMBER], ["agent", "register", "--name", "dusty-wren", "--role", "x"]],
    "status": [["resume", "--agent", AMBER], ["init"], ["status"]],
    "staged": [["check", "--staged", "--agent", AMBER], ["hook", "pre-commit"]],
    "trailer": [["hook", "prepare-commit-msg", "message", "message"]],
    "sync": [["sync"], ["agent", "renew", "--agent", AMBER, "--all"], ["sync"]],
    "ci": [["ci", "check", "--base", "HEAD"]],
    "run": [["run", "--", "true"]],
    "settings": [["hooks", "status"], ["ledger", "commit"], ["doctor"], ["ledger", "verify"]],
}


def ran_on(repo: Scratch, mark: Path, **settings: str) -> set[str]:
    """The kinds of verbs on which the program was started."""
    found = set()
    for kind, calls in VERBS.items():
        for words in calls:
            (repo.path / "message").write_text("Change a\n\nsign: x\n")
            repo.bb(*words, **({"BB_AGENT": AMBER} if words[0] == "hook" else {}), **settings)
        if mark.exists():
            found.add(kind)
            mark.unlink()
    return found


def settled(row: Row, tmp_path: Path, web: str) -> tuple[Path, Path, list[tuple[str, str]]]:
    """The mark, the program, and the row's settings."""
    (tmp_path / "planted").mkdir()
    mark, program = planted(tmp_path / "planted")
    values = {PROGRAM: program, FOLDER: str(Path(program).parent), WEB: web}

    def filled(text: str) -> str:
        return re.sub("|".join(values), lambda word: values[word[0]], text)

    return mark, Path(program), [(filled(name), filled(value)) for name, value in row.settings]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_of_one_s_own_repository_only_what_is_in_the_table_is_obeyed(repo: Scratch, tmp_path: Path, web: str, row: Row):
    mark, program, settings = settled(row, tmp_path, web)
    if row.prepare:
        row.prepare(repo, program)
    for name, value in settings:
        repo.git("config", name, value)
    if row.control:
        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@y", "EDITOR": "false"}
        names = {"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@y"}
        env = {name: value for name, value in environment(**quiet, **names).items() if name != "GIT_EDITOR"}
        os.utime(repo.path / "a.txt", (1, 1))
        subprocess.run(row.control, cwd=repo.path, env=env, capture_output=True, check=False)
        assert mark.exists(), "git itself starts it"
        mark.unlink()
        os.utime(repo.path / "a.txt", (2, 2))

    assert ran_on(repo, mark) == set(row.obeyed_on)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_of_the_user_s_own_configuration_only_what_is_in_the_table_is_obeyed(
    repo: Scratch, tmp_path: Path, web: str, row: Row
):
    mark, program, settings = settled(row, tmp_path, web)
    if row.prepare:
        row.prepare(repo, program)
    path = tmp_path / "gitconfig"
    for name, value in settings:
        if name == "remote.origin.url":  # which remote there is stands in the repository
            repo.git("config", name, value)
        else:
            repo.git("config", "--file", str(path), name, value)

    found = ran_on(repo, mark, GIT_CONFIG_GLOBAL=str(path))
    assert set(row.obeyed_on) - set(row.not_from_user) <= found <= {*row.obeyed_on, *row.other_end}


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_of_another_user_s_repository_nothing_is_obeyed(repo: Scratch, tmp_path: Path, web: str, row: Row):
    mark, program, settings = settled(row, tmp_path, web)
    if row.prepare:
        row.prepare(repo, program)
    for name, value in settings:
        repo.git("config", name, value)
    if mark.exists():
        mark.unlink()
    os.utime(repo.path / "a.txt", (2, 2))
    give_away(repo, "assumed")

    assert ran_on(repo, mark) == set()


def test_the_table_in_the_documentation_has_these_rows_and_says_the_same():
    text = (ROOT / "docs" / "security.md").read_text()
    section = text.partition("## What configuration of git is obeyed")[2].partition("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| `")
    ]
    documented = {cell[0]: cell[1] for cell in cells}

    assert list(documented) == list(dict.fromkeys(row.about for row in ROWS))
    for row in ROWS:
        assert (documented[row.about] == "no") is (not row.obeyed_on), row.about
