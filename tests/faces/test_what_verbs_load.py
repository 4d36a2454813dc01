"""What a verb imports decides how soon it answers. Counting modules is steady; counting milliseconds is not."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

from bb.ops import catalogue
from tests.faces.faces_support import Forger
from tests.faces.good_calls import ONCE, good_words, prepare, status_of
from tests.grids import grid
from tests.support import NOON, ROOT, Scratch, environment, scratch

OPS = {op.name: op for op in catalogue.all_ops()}
# Prints, in the place of ending, what had been imported by then.
CHILD = """
import os, sys
def leave(status):
    sys.stdout.flush()
    os.write(2, "\\n".join([f"status {status}", *sys.modules]).encode())
    end(0)
end, os._exit = os._exit, leave
sys.argv = ["bb", *sys.argv[1:]]
from bb.__main__ import main
main()
"""
NEVER_HOT = {
    *("argparse", "ast", "base64", "bisect", "calendar", "click", "collections", "contextlib", "copy", "dataclasses"),
    *("datetime", "decimal", "enum", "functools", "hashlib", "heapq", "importlib.util", "inspect", "itertools", "json"),
    *("keyword", "locale", "logging", "operator", "orjson", "pathlib", "platform", "random", "re", "reprlib", "select"),
    *("selectors", "shutil", "signal", "socket", "sqlite3", "string", "struct", "subprocess", "tempfile", "threading"),
    *("tokenize", "traceback", "typer", "types", "typing", "urllib", "uuid", "warnings", "weakref", "zlib"),
}
NEVER = {
    *(
        "asyncio",
        "click",
        "concurrent.futures",
        "filelock",
        "git",
        "httpx",
        "jinja2",
        "mcp",
        "msgspec",
        "multiprocessing",
        "orjson",
        "pathspec",
    ),
    *("pydantic", "pygments", "requests", "rich", "ssl", "starlette", "uvicorn", "watchfiles", "xml", "yaml"),
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    folder = tmp_path_factory.mktemp("loads")
    made = scratch(folder / "repo")
    assert made.bb("agent", "register", "--name", "amber-otter", "--role", "Bäcker").status == 0
    made.git("worktree", "add", "--quiet", "-b", "side", str(folder / "side"))
    (folder / "side" / "deep").mkdir()
    return made


def loaded(cwd: Path, words: list[str], **settings: str) -> tuple[int, set[str]]:
    """The exit status of `bb WORDS`, and the modules it had imported at its end."""
    # -I and -S keep out what an environment's own start-up hooks load.
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{CHILD}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, *words],
        cwd=cwd,
        env=environment(**settings),
        capture_output=True,
        text=True,
    )
    status, *modules = done.stderr[done.stderr.index("status ") :].splitlines()
    return int(status.removeprefix("status ")), set(modules)


BEAT = ["agent", "heartbeat"]
AMBER = ["--agent", "amber-otter"]
HOT = {
    "as an agent loop calls it": ([*BEAT, *AMBER, "--json"], {}),
    "for a person": ([*BEAT, *AMBER], {}),
    "with an equals sign": ([*BEAT, "--agent=amber-otter", "--json"], {}),
    "json first": (["--json", *BEAT, *AMBER], {}),
    "by BB_AGENT": ([*BEAT, "--json"], {"BB_AGENT": "amber-otter"}),
    "with settings": ([*BEAT, *AMBER], {"BB_AGENT_STALE_MINUTES": "40", "BB_NOW": "2100-01-01T00:00:00+02:00"}),
    "nobody named": (BEAT, {}),
    "an id that is none": ([*BEAT, "--agent", "../x", "--json"], {}),
    "a time that is none": ([*BEAT, *AMBER], {"BB_NOW": "tomorrow"}),
    "minutes that are none": ([*BEAT, *AMBER], {"BB_AGENT_STALE_MINUTES": "abc"}),
}


@pytest.mark.parametrize(("words", "settings"), HOT.values(), ids=HOT)
def test_a_heartbeat_imports_next_to_nothing(repo: Scratch, words: list[str], settings: dict[str, str]):
    """Not even the mistakes an agent loop repeats every minute may cost more."""
    repo.bb(*words, **settings)  # so that the agent is not just coming back

    status, modules = loaded(repo.path, words, **settings)

    assert status in (0, 2)
    assert "bb.ops.agents.heartbeat" in modules
    assert sorted(modules & NEVER_HOT) == []


@pytest.mark.parametrize("where", ["../side", "../side/deep", ".git"])
def test_a_heartbeat_imports_as_little_in_a_worktree(repo: Scratch, where: str):
    repo.bb("agent", "heartbeat", *AMBER)

    status, modules = loaded((repo.path / where).resolve(), [*BEAT, *AMBER, "--json"])

    assert status == 0
    assert sorted(modules & NEVER_HOT) == []


def test_a_heartbeat_imports_the_same_however_long_the_ledger_is(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    repo.bb("agent", "heartbeat", *AMBER)
    short = loaded(repo.path, [*BEAT, *AMBER])
    forger = Forger(repo)
    for number in range(2000):
        forger.add("x.filler", "user", {"number": number})

    assert loaded(repo.path, [*BEAT, *AMBER]) == short


def test_only_a_return_from_silence_opens_the_ledger(repo: Scratch):
    repo.bb("agent", "heartbeat", *AMBER, BB_NOW=NOON)

    _, just_seen = loaded(repo.path, [*BEAT, *AMBER], BB_NOW="2026-01-05T12:14:59Z")
    _, returned = loaded(repo.path, [*BEAT, *AMBER], BB_NOW="2026-01-05T13:14:59Z")

    assert "sqlite3" not in just_seen
    assert "bb.ledger.records.store" in returned
    assert "typer" not in returned


# What the verbs that open the ledger may load beyond that: what the ledger's rooms use, and what SQLite's core loads.
WARM = {"bisect", "itertools"}
WARM_VERBS = {
    "reserve": ["agent", "reserve", *AMBER, "--scope", "src/**/*.py", "--bead", "bb-1", "--json"],
    "reserve, refused": ["agent", "reserve", "--agent", "cobalt-harbor", "--scope", "src", "--bead", "bb-1", "--json"],
    "check": ["check", "src/a.py", *AMBER, "--json"],
    "check, refused": ["check", "src/a.py", "--agent", "cobalt-harbor"],
    "check --staged": ["check", "--staged", *AMBER, "--json"],
    "check --staged, refused": ["check", "--staged", "--agent", "cobalt-harbor"],
    "check --staged, overridden": ["check", "--staged", "--agent", "cobalt-harbor", "--override", "agreed"],
    "check --staged, by a person": ["check", "--staged"],
    "hook pre-commit": ["hook", "pre-commit"],
    "hook prepare-commit-msg": ["hook", "prepare-commit-msg", "message", "message"],
    "inbox": ["agent", "inbox", *AMBER, "--json"],
    "release": ["agent", "release", *AMBER, "--all", "--json"],
}


def test_the_verbs_around_every_edit_load_no_more_than_the_ledger_needs(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    (repo.path / "src").mkdir()
    (repo.path / "src" / "a.py").write_text("pass")
    (repo.path / "message").write_text("Done")
    repo.git("add", ".")

    for name, words in WARM_VERBS.items():
        status, modules = loaded(repo.path, words, **({"BB_AGENT": "amber-otter"} if "hook" in words else {}))
        assert status == (7 if "refused" in name else 0), name
        asks_git = (
            {"select"} if {"--staged", "hook"} & set(words) else set()
        )  # the one module that reading from a child process needs
        assert sorted(modules & NEVER_HOT - WARM - asks_git) == [], name


def test_a_region_of_a_known_file_loads_no_more_and_no_rules_of_languages(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    (repo.path / "a.py").write_text("".join(f"def f{n}():\n    return {n}\n" for n in range(1000)))
    repo.bb("agent", "reserve", "--agent", "cobalt-harbor", "--scope", "a.py::f7", "--bead", "bb-1")

    for verb in (["check", "a.py::f8"], ["agent", "reserve", "--scope", "a.py::f8"], ["agent", "release", "--all"]):
        status, modules = loaded(repo.path, [*verb, *AMBER, "--json"])
        assert status == 0, verb
        assert sorted(modules & NEVER_HOT - WARM) == [], verb
        assert not {"bb.ledger.lines.grammars", "bb.coordination.lines.symbols", "tree_sitter"} & modules, verb


def test_a_command_that_is_run_aside_loads_no_typer(repo: Scratch):
    status, modules = loaded(repo.path, ["run", "--", "true"])
    assert status == 0
    assert "bb.ledger.lines.throwaway_tree" in modules
    assert not {"typer", "bb.cli.app"} & modules


def test_a_sync_loads_no_more_than_that_and_what_it_takes_to_hear_git(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    repo.git("init", "--quiet", "--bare", str(tmp_path / "hub.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    repo.bb("agent", "register", "--name", "amber-otter", "--role", "builder")
    repo.bb("sync", "--publish")
    repo.bb("agent", "reserve", *AMBER, "--scope", "src", "--bead", "bb-1")
    repo.bb("sync")  # what signs a publication is loaded by those that publish

    for words in (["sync"], ["sync", "--json"], ["sync", "--pull", "--json"]):
        status, modules = loaded(repo.path, words)
        assert status == 0, words
        # A signed commit is written as a compressed object, without starting git.
        assert sorted(modules & NEVER_HOT - WARM - {"zlib"}) == ["select"], words


LEDGER = "bb.ledger.records.store"
EDIT = """{"hook_event_name": "%s", "tool_name": "Write", "tool_input": {"file_path": "src/a.py"}}"""
SHELL = """{"hook_event_name": "%s", "tool_name": "Bash", "tool_input": {"command": "%s"}}"""
STASH, PUSH = SHELL % ("PreToolUse", "cd src && git stash"), SHELL % ("PreToolUse", "git push -f")
HOOKS = {
    "an edit that is refused": ("pre-tool", EDIT % "PreToolUse"),
    "an edit that passes": ("pre-tool", (EDIT % "PreToolUse").replace("src", "docs")),
    "a command that is refused": ("pre-tool", STASH),
    "another": ("pre-tool", PUSH),
    "a command that writes what is held": ("pre-tool", SHELL % ("PreToolUse", "rm src/a.py")),
    "a command that writes elsewhere": ("pre-tool", SHELL % ("PreToolUse", "rm /tmp/x; ls > /dev/null 2>&1")),
    "that command was run": ("post-tool", SHELL % ("PostToolUse", "rm /tmp/x; ls > /dev/null 2>&1")),
    "an edit is made": ("post-tool", EDIT % "PostToolUse"),
    "a prompt": ("prompt", "{}"),
    "a stop": ("stop", "{}"),
}
# What judges uncommitted lines asks git what HEAD has, and keeps contents compressed.
LINES = {"select", "zlib"}
# A command that touches changes asks git for them, and only then: that is a process more.
PLAIN = {
    "a command": ("pre-tool", SHELL % ("PreToolUse", "ls | grep git && git status")),
    "what is not understood": ("pre-tool", "junk"),
    "a command was run": ("post-tool", SHELL % ("PostToolUse", "ls")),
}


def test_the_hooks_of_editors_load_no_more_than_the_verbs_they_ask(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    repo.bb("agent", "reserve", "--agent", "cobalt-harbor", "--scope", "src", "--bead", "bb-1")

    for name, (verb, said) in {**HOOKS, **PLAIN}.items():
        status, modules = loaded(repo.path, ["hook", verb, *AMBER, "--payload", said])
        assert status == 0, name
        assert sorted(modules & NEVER_HOT - (WARM | LINES if name in HOOKS else set())) == [], name


def test_an_ignore_file_is_read_once_somebody_holds_what_is_edited(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    repo.bb("agent", "reserve", "--agent", "cobalt-harbor", "--scope", "src", "--bead", "bb-1")
    (repo.path / ".bbignore").write_text("src/\n")
    repo.git("add", ".")
    repo.git("commit", "--quiet", "-m", "Ignore")

    _, held = loaded(repo.path, ["hook", "pre-tool", *AMBER, "--payload", EDIT % "PreToolUse"])
    _, free = loaded(repo.path, ["hook", "pre-tool", *AMBER, "--payload", HOOKS["an edit that passes"][1]])

    assert sorted(held & NEVER_HOT - WARM - LINES) == []
    assert "bb.coordination.guards.ignore_files" in held
    assert not {"bb.coordination.guards.ignore_files", "bb.ledger.git.staging"} & free


def test_an_edit_that_was_just_judged_does_not_open_the_ledger_again(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    before = ["hook", "pre-tool", *AMBER, "--auto-reserve", "--payload", EDIT % "PreToolUse"]
    after = ["hook", "post-tool", *AMBER, "--payload", EDIT % "PostToolUse"]

    opened = [LEDGER in loaded(repo.path, words)[1] for words in (before, after, before, after)]
    repo.bb("agent", "reserve", "--agent", "cobalt-harbor", "--scope", "docs", "--bead", "bb-1")
    again = [LEDGER in loaded(repo.path, words)[1] for words in (before, after)]

    assert (opened, again) == ([True, False, False, False], [True, False])


def test_a_command_that_writes_nothing_here_does_not_open_the_ledger(repo: Scratch):
    repo.bb("agent", "heartbeat", *AMBER)  # so that the agent is not just coming back

    for verb, said in (("pre-tool", SHELL % ("PreToolUse", "ls -l")), ("post-tool", SHELL % ("PostToolUse", "ls -l"))):
        status, modules = loaded(repo.path, ["hook", verb, *AMBER, "--payload", said])

        assert (status, sorted({LEDGER, "bb.coordination.facts", "bb.ops.desk.signs_of_life"} & modules)) == (0, [])


def test_a_prompt_loads_what_delivers_messages_once_there_is_one(tmp_path: Path):
    repo = scratch(tmp_path / "repo")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    prompt, delivers = ["hook", "prompt", *AMBER, "--payload", "{}"], "bb.attention.turns.turn_text"

    before = delivers in loaded(repo.path, prompt)[1]
    repo.bb("send", "amber-otter", "parse is renamed", "--from", "cobalt-harbor")

    assert (before, delivers in loaded(repo.path, prompt)[1]) == (False, True)


OF_EVERY_LINE = {"ledger.export", "ledger.rotate"}  # where the fast decoder repays its import


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    made = scratch(tmp_path_factory.mktemp("prepared") / "repo")
    prepare(made)
    return made


@functools.cache
def _loaded_anyway() -> set[str]:
    bare = subprocess.run([sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True)
    return set(bare.stdout.split())


@pytest.mark.parametrize(("op", "form"), grid([*OPS.values()], [[], ["--json"]], 1))
def test_no_verb_imports_what_it_does_not_use(prepared: Scratch, op: catalogue.Op, form: list[str]):
    words = [*good_words(op, prepared), *form]
    words += ["--force-update"] if op.name == "agent.register" else []
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{CHILD}"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=prepared.path, env=environment(), capture_output=True, text=True
    )
    status, *modules = done.stderr[done.stderr.index("status ") :].splitlines()

    # What cannot be done twice succeeds in one form only.
    assert status == f"status {status_of(op)}" or op.name in ONCE, done.stdout
    assert ("typer" in modules) is not (op.name in catalogue.HOT)
    # An environment's own start-up files may load anything; only what they did not is the verb's doing.
    allowed = _loaded_anyway() | ({"orjson"} if op.name in OF_EVERY_LINE else set())
    allowed |= {"yaml"} if "template" in op.name else set()
    assert sorted(set(modules) & NEVER - allowed) == []


def test_help_imports_nothing_heavy_either(repo: Scratch):
    for words in (["--help"], ["agent", "--help"], ["ledger", "log", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, *words], cwd=repo.path, env=environment(), capture_output=True, text=True
        )
        modules = set(done.stderr.splitlines())
        assert "status 0" in modules
        assert sorted(modules & {"rich", "pydantic", "asyncio", "orjson", "pygments"}) == []


def test_a_reservation_needs_no_fold_of_what_is_said(repo: Scratch):
    """A fold is loaded once a fact of its own is met."""
    repo.bb("agent", "heartbeat", *AMBER)

    status, modules = loaded(
        repo.path, ["agent", "reserve", *AMBER, "--scope", "src/words", "--bead", "bb-1", "--json"]
    )

    said = {
        "bb.attention.state.deliveries",
        "bb.attention.messages.messages",
        "bb.messaging.cbcl.conversation_state",
        "bb.cbcl.dialects",
    }
    assert (status, "bb.coordination.holdings.holdings" in modules, sorted(said & modules)) == (0, True, [])
