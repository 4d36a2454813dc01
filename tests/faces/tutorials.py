"""Pages that a reader follows at a keyboard: their commands are run by a shell, and what they show is compared.

In a block of `console`, a command stands behind `$ `, and below it everything that it prints. `…` stands for the rest
of a line, and on a line of its own for lines that are left out. A block may have a title, such as
```` ```console title="Second terminal" ````: each title is a terminal with a folder and variables of its own. Any other
block with a title is a file, which is written to the folder of the terminal used last. A command that prints `Error:`
or `Hint:`, or an envelope that is not `ok`, is refused; every other command succeeds.

A minute passes between two commands, for bb and for git: what a page shows must not depend on how fast a machine is.

What differs each time counts as equal: times, ages, ids, hashes, and how often the ledger was published. An id that a
command repeats is the one that was printed. `python -m tests.faces.tutorials PAGE …` runs the pages and writes into
them what has changed, with `--anew` all of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bb.kernel import clock
from tests.support import ROOT, environment

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^\$ ", re.MULTILINE)
ID = re.compile(r"\b[a-z0-9]{12}\.\d+\b")
SPAN = r"\d+(?:d|h|m|s| min| minutes?| seconds?)(?: \d+[hms])?"
DIFFERENT = (
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?"),
    re.compile(rf"\b{SPAN}(?= (?:ago|left|old)\b)|(?<=\bfor ){SPAN}"),
    re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"),
    ID,
    re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b"),
    re.compile(r"127\.0\.0\.1:\d+|(?<=key=)[\w-]+"),
    re.compile(r"(?<=generation )\d+|(?<=token )\d+"),  # a sync in the background may come first
)
SPACES = re.compile(r" {2,}")  # columns are as wide as the ids in them
LEFT_OUT = "…"
PATIENCE = 60.0  # seconds for one command


@dataclass
class Terminal:
    """A folder and variables, which commands change."""

    home: Path
    folder: Path
    variables: str = ""

    def run(self, command: str, now: str) -> tuple[int, str]:
        """What a shell answers to COMMAND, and its exit status. For the command it is NOW."""
        kept = self.home / ".terminal"
        kept.write_text(self.variables)
        end = f"status=$?; {{ pwd; export -p | grep -v ' \\(BB_NOW\\|GIT_.*_DATE\\)='; }} > {kept}.after; exit $status"
        done = subprocess.run(
            ["bash", "-c", f". {kept}\n{command}\n{end}"],
            cwd=self.folder,
            env=settings(self.home) | {"BB_NOW": now, "GIT_AUTHOR_DATE": now, "GIT_COMMITTER_DATE": now},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
        after = Path(f"{kept}.after").read_text()
        folder, _, self.variables = after.partition("\n")
        self.folder = Path(folder)
        return done.returncode, done.stdout.decode().replace(str(self.home), "~")


@dataclass
class Reader:
    """Somebody who follows a page in HOME, with several terminals."""

    home: Path
    is_anew: bool = False  # the page gets what is printed this time, whether or not it differs
    ids: dict[str, str] = field(default_factory=dict)  # those of the page, and those of this run
    terminals: dict[str, Terminal] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    count: int = 0
    began: int = field(default_factory=lambda: time.time_ns() // 1_000_000)

    def follow(self, page: str) -> str:
        """Do what PAGE says; the page with what was printed this time."""
        install(self.home)
        last = Terminal(self.home, self.home)

        def done(block: re.Match[str]) -> str:
            nonlocal last
            kind, title, text = block.groups()
            if kind == "console":
                last = self.terminals.setdefault(title or "", Terminal(self.home, self.home))
                return block[0].replace(text, self._typed(last, text))
            if title:
                path = last.folder / title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return block[0]

        return BLOCK.sub(done, page)

    def _typed(self, terminal: Terminal, block: str) -> str:
        before, *parts = TYPED.split(block)
        assert not before.strip(), f"what is printed stands below a command: {before}"
        return "".join(self._step(terminal, part) for part in parts)

    def _step(self, terminal: Terminal, part: str) -> str:
        lines = part.rstrip("\n").splitlines()
        words = next((at for at, line in enumerate(lines) if not line.endswith("\\")), len(lines) - 1) + 1
        command, shown = "\n".join(lines[:words]), lines[words:]
        gap = "\n" * (len(part) - len(part.rstrip("\n")))
        status, printed = terminal.run(
            ID.sub(lambda found: self.ids.get(found[0], found[0]), command),
            clock.text(self.began + self.count * clock.MINUTE),
        )
        self.count += 1
        is_refused = bool(re.search(r'^(Error: |Hint: |{"ok":false,)', printed, re.MULTILINE))
        is_same = agree(shown, printed)
        if bool(status) != is_refused:
            self.wrong.append(f"{command}\nended with {status}:\n{printed}")
        elif not is_same:
            self.wrong.append(f"{command}\nprinted:\n{printed}\nand the page says:\n" + "\n".join(shown))
        self.ids |= dict(zip(ID.findall("\n".join(shown)), ID.findall(printed), strict=False))
        is_kept = is_same and (not self.is_anew or any(LEFT_OUT in line.strip()[1:] for line in shown))
        after = shown if is_kept else self._as_shown(shown, printed.splitlines())
        whole = f"$ {command}\n" + "".join(f"{line}\n" for line in after) + gap[1:]
        return ID.sub(lambda found: self.ids.get(found[0], found[0]), whole) if self.is_anew else whole

    def _as_shown(self, shown: list[str], printed: list[str]) -> list[str]:
        """What was PRINTED, shortened as before, with the ids that the page has already shown."""
        known = {} if self.is_anew else {real: written for written, real in self.ids.items()}
        lines = [ID.sub(lambda found: known.get(found[0], found[0]), line) for line in printed]
        if LEFT_OUT not in map(str.strip, shown):
            return lines
        at = [line.strip() for line in shown].index(LEFT_OUT)
        rest = len(shown) - at - 1
        return [*lines[:at], shown[at], *(lines[len(lines) - rest :] if rest else [])]


def settings(home: Path) -> dict[str, str]:
    """The variables of somebody who has installed bb, git and python."""
    ours = {"HOME": str(home), "PATH": f"{home / '.bin'}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    person = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in PERSON.items()}
    return environment(**ours, **person, GIT_CONFIG_GLOBAL=str(home / ".gitconfig"))


PERSON = {"NAME": "Sam", "EMAIL": "sam@example.invalid"}


def install(home: Path) -> None:
    """A `bb` and a `python3` on the PATH of HOME: this checkout's, and the interpreter of the tests."""
    folder = home / ".bin"
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in (("bb", "-P -m bb"), ("python3", "")):
        program = folder / name
        program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} {words} "$@"\n')
        program.chmod(0o755)
    (home / ".gitconfig").write_text("[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n")


def agree(shown: list[str], printed: str) -> bool:
    """Whether what a page shows is what was PRINTED."""
    pattern = r"\n".join(_pattern(line) for line in shown)
    return re.fullmatch(pattern, _even(printed.rstrip("\n")), re.DOTALL) is not None


def _pattern(line: str) -> str:
    if line.strip() == LEFT_OUT:
        return ".*"
    return r"[^\n]*".join(map(re.escape, _even(line).split(LEFT_OUT)))


def _even(text: str) -> str:
    for each in DIFFERENT:
        text = each.sub("~", text)
    return SPACES.sub(" ", text)


def main(words: list[str]) -> int:
    for page in (word for word in words if word != "--anew"):
        home = Path(tempfile.mkdtemp(prefix="bb-tutorial-"))
        reader = Reader(home, is_anew="--anew" in words)
        Path(page).write_text(reader.follow(Path(page).read_text()))
        print(f"{page}: {reader.count} commands", *reader.wrong, sep="\n\n")
        shutil.rmtree(home, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
