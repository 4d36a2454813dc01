"""Every example of docs/cbcl.md: texts are read, files are written, commands are run and answer as the page says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from bb.cbcl.read import grammar
from bb.cbcl.speak import replay
from tests.near import Near, near
from tests.support import ROOT

PAGE = (ROOT / "docs" / "cbcl.md").read_text()
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
VOLATILE = (
    (r"\[[a-z0-9]{12}\.\d+\]", "[EVENT]"),
    (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
    (r"\b\d+[sm] ago", "AGE"),
    (r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=", "KEY"),
    (r"\b[0-9a-f]{4}(-[0-9a-f]{4}){4}\b", "FINGERPRINT"),
    (r"/\S*amber-otter\.key", "FILE"),
)


def of(kind: str) -> list[tuple[str, str]]:
    return [(name, text) for each, name, text in BLOCKS if each == kind]


@pytest.mark.parametrize("text", [text for name, text in of("cbcl") if not name])
def test_the_messages_on_the_page_are_messages(text: str):
    assert list(grammar.messages(text.encode()))


def test_the_script_on_the_page_plays():
    ((_, script),) = of("json")

    played = replay.replay(json.loads(script))

    assert [step["status"] for step in played["steps"]] == ["ok", "ok"]
    assert played["agents"]["bob"]["beliefs"] == [{"who": "alice", "text": '"hi"'}]


def test_the_commands_on_the_page_answer_as_it_says(tmp_path: Path):
    repo = near(tmp_path / "repo", XDG_CONFIG_HOME=str(tmp_path / "config"))
    repo.bb("init")
    for name in ("amber-otter", "cobalt-harbor"):
        repo.bb("agent", "register", "--name", name, "--role", "builder")
    for name, text in of("cbcl"):
        if name:
            (repo.path / name).write_text(text)
    key: list[str] = []
    for _, transcript in of("console"):
        for command, wanted in parted(transcript):
            said = run(repo, command.replace("KEY", key[0]) if key else command)
            key += re.findall(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=", said)[:1]
            assert steady(said) == wanted, command


def parted(transcript: str) -> list[tuple[str, str]]:
    """The commands of a transcript, each with what it prints."""
    found: list[tuple[str, list[str]]] = []
    for line in transcript.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


def run(repo: Near, command: str) -> str:
    words = shlex.split(command)
    stdin = words[1] if words[0] == "echo" else None
    words = words[words.index("bb") + 1 :]
    target = words[words.index(">") + 1] if ">" in words else None
    ran = repo.bb(*words[: words.index(">")] if target else words, stdin=stdin)
    if target:
        (repo.path / target).write_text(ran.out)
        return ran.err
    return ran.out + ran.err


def steady(said: str) -> str:
    for pattern, instead in VOLATILE:
        said = re.sub(pattern, instead, said)
    return said.rstrip("\n")
