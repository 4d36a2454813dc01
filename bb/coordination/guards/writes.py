"""Which files a shell's command line would write, as far as it names them word by word.

    what is written                                         by
    the file behind it                                      `>`, `>>`, `>|`, `&>`, `&>>`, `>&`
    every file that is named                                tee, touch, truncate, rm, git rm
    every file behind the script                            sed -i, perl -i
    the last one, or what the others become in that folder  cp, install, mv, git mv
    what is taken away as well                              mv, git mv
    of=FILE                                                 dd

A word with a variable, a wildcard or a substitution in it is not judged, quoted or not: what it comes to is known to
the shell alone. Neither are devices, and what git keeps for itself. What only reads writes nothing.
"""

from __future__ import annotations

from bb.coordination.guards import hazards, shell
from bb.coordination.guards.arguments import Words
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

OPEN = frozenset("$*?[{")  # what the shell makes something else of
DEVICES, IN_MEMORY = "/dev/", "/dev/shm/"  # noqa: S108  (which are no files; and which are, on Linux)
GIT = ".git"


class Write(Record):
    """A file that would be written. Where PATH is a folder and there is a NAME, the file of that name in it; nobody
    can tell which one if the name is empty."""

    path: str  # from where the shell starts
    name: str | None = None


def found(text: str) -> list[Write]:
    """What a command line would write, in order, each once."""
    if not any(program in text for program in PROGRAMS):
        return []
    return list(dict.fromkeys(write for step in shell.steps(text) for write in _written(step)))


def _written(step: shell.Run) -> Iterator[Write]:
    program, words, directory = step.words[0], list(step.words[1:]), step.directory
    if program == "git":
        words, directory = hazards.from_verb_on(step)
        program, words = f"git {''.join(words[:1])}", words[1:]
    for write in RULES[program](words) if program in RULES else ():
        lies = shell.joined(directory, write.path)
        if lies and not (OPEN & set(lies) or _is_device(lies) or GIT in lies.split("/")):
            yield write.but(path=lies)


def _is_device(path: str) -> bool:
    return path.startswith(DEVICES) and not path.startswith(IN_MEMORY)


def _all(valued: str = "") -> Callable[[Sequence[str]], list[Write]]:
    return lambda words: [Write(path) for path in Words(words, valued).everything]


def _in_place(valued: str, glued: str, scripts: str) -> Callable[[Sequence[str]], list[Write]]:
    """Of a program that changes files with -i. The first operand is its script, unless one of SCRIPTS brings that."""

    def rule(words: Sequence[str]) -> list[Write]:
        given = Words(words, valued, glued)
        files = [Write(path) for path in given.everything if path]  # on a Mac an empty word follows sed's -i
        if not given.has("-i", "--in-place"):
            return []
        return files if given.has(*scripts.split()) else files[1:]

    return rule


def _onto(valued: str = "", *, takes_away: bool = False) -> Callable[[Sequence[str]], list[Write]]:
    """Of a program that puts its first operands where the last one, or -t, says."""

    def rule(words: Sequence[str]) -> list[Write]:
        given = Words(words, f"-t --target-directory -S --suffix {valued}")
        sources = given.everything
        target = given.values.get("-t") or given.values.get("--target-directory")
        if target is None:
            target = sources.pop() if len(sources) > 1 else ""
        taken = [Write(path) for path in sources] if takes_away and target else []
        if given.has("-T", "--no-target-directory"):
            return [*taken, Write(target)]
        return [*taken, *(Write(target, _name(path)) for path in sources if target)]

    return rule


def _name(path: str) -> str:
    """What a file will be called where it is put; nothing where nobody can tell."""
    return "" if OPEN & set(path) else path.rstrip("/").rpartition("/")[2]


def _install(words: Sequence[str]) -> list[Write]:
    valued = "-m --mode -o --owner -g --group"
    return [] if Words(words, valued).has("-d", "--directory") else _onto(valued)(words)


def _dd(words: Sequence[str]) -> list[Write]:
    return [Write(word.removeprefix("of=")) for word in words if word.startswith("of=")]


def _unless(given: str, rule: Callable[[Sequence[str]], list[Write]]) -> Callable[[Sequence[str]], list[Write]]:
    """RULE, for a program that leaves the files alone when it is GIVEN one of these options."""
    return lambda words: [] if Words(words).has(*given.split()) else rule(words)


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
    "git mv": _unless("-n --dry-run", _onto(takes_away=True)),
    "git rm": _unless("-n --dry-run --cached", _all("--pathspec-from-file")),
}
PROGRAMS = frozenset(name.partition(" ")[0] for name in RULES)
