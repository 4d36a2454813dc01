"""Documents as stories: their commands are run from the first to the last, and what they show is compared.

In a block of `bash` every command succeeds, unless a comment behind it says `refused: CODE`. In a block of `console` a
command stands behind `$ `, and what follows is shown of its answer: lines of text, or JSON that is shortened, so every
member that is shown has to be there. `…` stands for anything.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support import Ran, Scratch

ANYTHING = "…"


@dataclass
class Step:
    """One command of a document: its words, what is set for it, and what is said of its answer."""

    line: str
    settings: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    refused: str | None = None
    shown: list[str] = field(default_factory=list)


def steps(text: str) -> list[Step]:
    """Every command in the blocks of a document, in order."""
    found: list[Step] = []
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        assert kind in ("bash", "console", "json"), f"a block of {kind!r} is neither run nor compared"
        if kind != "json":
            found += _commands(block) if kind == "bash" else _transcript(block)
    return found


def _commands(block: str) -> Iterator[Step]:
    for line in filter(None, map(str.strip, block.splitlines())):
        command, _, comment = line.partition("  #")
        said = re.search(r"refused: ([A-Z_]+)", comment)
        yield _step(command.strip(), said.group(1) if said else None)


def _transcript(block: str) -> Iterator[Step]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not parts[0].strip(), "what is shown stands behind a command"
    for part in parts[1:]:
        command, *shown = part.strip().splitlines()
        step = _step(command, None)
        step.shown = shown
        if shown and shown[0].startswith("{"):
            step.refused = json.loads(shown[0]).get("error", {}).get("code")
        yield step


def _step(command: str, refused: str | None) -> Step:
    words = shlex.split(command)
    settings: dict[str, str] = {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    return Step(command, settings, words, refused)


def play(
    repo: Scratch, text: str, fill_in: Callable[[str], str], before: Callable[[Step], None] | None = None
) -> list[Step]:
    """Run the document in REPO as whoever it exports itself to be; FILL_IN gives ids their values. What was run."""
    ran = []
    for step in steps(text):
        if before:
            before(step)
        if step.words[0] == "export":
            name, _, value = step.words[1].partition("=")
            repo.settings[name] = value
            continue
        assert step.words[0] == "bb", f"only bb is run: {step.line}"
        answer = repo.bb(*[fill_in(word) if word.isupper() else word for word in step.words[1:]], **step.settings)
        compare(step, answer)
        ran.append(step)
    return ran


def compare(step: Step, answer: Ran) -> None:
    """Hold what a document says of a command against its ANSWER."""
    if step.refused:
        assert answer.status != 0, step.line
        assert code_of(step, answer) == step.refused, f"{step.line}: {answer.out}{answer.err}"
    else:
        assert answer.status == 0, f"{step.line}: {answer.out}{answer.err}"
    if step.shown and step.shown[0].startswith("{"):
        (line,) = step.shown
        assert_shown(json.loads(line), answer.envelope, step.line)
    elif step.shown:
        assert _matches("\n".join(step.shown), answer.out.strip()), f"{step.line}: {answer.out}"


def code_of(step: Step, answer: Ran) -> str:
    """The code of a refusal, in the form that the command has asked for."""
    if "--json" in step.words:
        return answer.code
    said = re.search(r"^Error: \[([A-Z_]+)\]", answer.err, re.MULTILINE)
    return said.group(1) if said else ""


def assert_shown(shown: Any, real: Any, where: str) -> None:
    """Every member of what is SHOWN is in what is REAL; a list that is shown has as many members."""
    if isinstance(shown, dict):
        assert isinstance(real, dict), f"{where}: {real}"
        for name, value in shown.items():
            assert name in real, f"{where}: no {name} in {real}"
            assert_shown(value, real[name], f"{where}: {name}")
    elif isinstance(shown, list):
        assert isinstance(real, list), f"{where}: {real}"
        assert len(shown) == len(real), f"{where}: {real}"
        for each, found in zip(shown, real, strict=True):
            assert_shown(each, found, where)
    elif isinstance(shown, str) and ANYTHING in shown:
        assert _matches(shown, str(real)), f"{where}: {shown} is {real}"
    else:
        assert shown == real, where


def _matches(shown: str, real: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, shown.split(ANYTHING))), real, re.DOTALL) is not None
