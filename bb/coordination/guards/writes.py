"""Finds the files that a shell command line would write, if it names them literally.

    files written                                       by
    the file after the operator                         `>`, `>>`, `>|`, `&>`, `&>>`, `>&`
    all named files                                     tee, touch, truncate, rm, git rm
    all files after the script                          sed -i, perl -i
    the last operand, or the new files in that folder   cp, install, mv, git mv
    also the files moved away                           mv, git mv
    of=FILE                                             dd
    the first operand                                   patch

A word with a variable, a wildcard or a substitution is ignored, quoted or not, because only the shell can expand it.
Devices and files in `.git` are ignored too.
"""

from __future__ import annotations

from bb.coordination.guards import brought_changes, hazards, shell
from bb.coordination.guards.arguments import Arguments
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OPEN = frozenset("$*?[{")  # characters that the shell expands
DEVICES, IN_MEMORY = "/dev/", "/dev/shm/"  # noqa: S108  (on Linux, /dev/shm has ordinary files)
GIT = ".git"


class Write(Record):
    """A file that would be written. If PATH is a folder and NAME is given, it is the file NAME in that folder; an empty
    NAME is an unknown file in it."""

    path: str  # relative to the shell's working directory
    name: str | None = None


def find_writes(text: str) -> list[Write]:
    """The files that a command line would write, in order, without duplicates."""
    if not any(program in text for program in PROGRAMS):
        return []
    return list(dict.fromkeys(write for step in shell.steps(text) for write in _written(step)))


def _written(step: shell.Run) -> Iterator[Write]:
    program, words, directory = step.words[0], list(step.words[1:]), step.directory
    if program == "git":
        words, directory = hazards.git_arguments(step)
        program, words = f"git {''.join(words[:1])}", words[1:]
    for write in RULES[program](words) if program in RULES else ():
        path = shell.joined(directory, write.path)
        if path and not (OPEN & set(path) or _is_device(path) or GIT in path.split("/")):
            yield write.replace(path=path)


def _is_device(path: str) -> bool:
    return path.startswith(DEVICES) and not path.startswith(IN_MEMORY)


def _all(valued: str = "") -> Callable[[Sequence[str]], list[Write]]:
    return lambda words: [Write(path) for path in Arguments(words, valued).everything]


def _in_place(valued: str, glued: str, scripts: str) -> Callable[[Sequence[str]], list[Write]]:
    """The rule for a program that edits files with -i. The first operand is the script, unless an option in SCRIPTS
    gives one."""

    def rule(words: Sequence[str]) -> list[Write]:
        arguments = Arguments(words, valued, glued)
        files = [Write(path) for path in arguments.everything if path]  # on macOS, an empty word follows sed's -i
        if not arguments.has("-i", "--in-place"):
            return []
        return files if arguments.has(*scripts.split()) else files[1:]

    return rule


def _onto(valued: str = "", *, takes_away: bool = False) -> Callable[[Sequence[str]], list[Write]]:
    """The rule for a program that writes its first operands to the last operand, or to the folder after -t."""

    def rule(words: Sequence[str]) -> list[Write]:
        arguments = Arguments(words, f"-t --target-directory -S --suffix {valued}")
        sources = arguments.everything
        target = arguments.values.get("-t") or arguments.values.get("--target-directory")
        if target is None:
            target = sources.pop() if len(sources) > 1 else ""
        taken = [Write(path) for path in sources] if takes_away and target else []
        if arguments.has("-T", "--no-target-directory"):
            return [*taken, Write(target)]
        return [*taken, *(Write(target, _name(path)) for path in sources if target)]

    return rule


def _name(path: str) -> str:
    """The name of the file at its destination; empty if unknown."""
    return "" if OPEN & set(path) else path.rstrip("/").rpartition("/")[2]


def _install(words: Sequence[str]) -> list[Write]:
    valued = "-m --mode -o --owner -g --group"
    return [] if Arguments(words, valued).has("-d", "--directory") else _onto(valued)(words)


def _dd(words: Sequence[str]) -> list[Write]:
    return [Write(word.removeprefix("of=")) for word in words if word.startswith("of=")]


def _unless(given: str, rule: Callable[[Sequence[str]], list[Write]]) -> Callable[[Sequence[str]], list[Write]]:
    """RULE, for a program that writes nothing if one of the options GIVEN is present."""
    return lambda words: [] if Arguments(words).has(*given.split()) else rule(words)


RULES: dict[str, Callable[[Sequence[str]], list[Write]]] = {
    shell.INTO: lambda words: [Write(path) for path in words],
    "tee": _all(),
    "touch": _all("-d --date -r --reference -t"),
    "truncate": _all("-s --size -r --reference"),
    "rm": _all(),
    "sed": _in_place("-e --expression -f --file -l --line-length", "-i", "-e --expression -f --file"),
    "perl": _in_place("-e -E -I", "-i -M -m -F -x", "-e -E"),
    "cp": _onto(),
    "mv": _onto(takes_away=True),
    "install": _install,
    "dd": _dd,
    "patch": lambda words: [Write(path) for path in Arguments(words, brought_changes.PATCH_PROGRAM).everything[:1]],
    "git mv": _unless("-n --dry-run", _onto(takes_away=True)),
    "git rm": _unless("-n --dry-run --cached", _all("--pathspec-from-file")),
}
PROGRAMS = frozenset(name.partition(" ")[0] for name in RULES)
