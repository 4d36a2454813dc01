"""Finds the files that a shell command line would destroy or change, to protect bb's own files in `.git`.

Beside the programs of `writes.py`, it knows those that delete, move or lock files. What variables and substitutions
would name is unknown. A name with wildcards is compared with the files that are protected.
"""

from __future__ import annotations

from bb.coordination.guards import shell, writes
from bb.coordination.guards.arguments import Arguments
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LONGEST_COMMAND = 300
WILD = frozenset("*?[")
GIT_DIR = "$()/"  # what a program prints; here it is taken for git's folder

ITSELF, INSIDE_GIT, ALL = "itself", "inside git", "all"


class HarmedFile(Record):
    """A file or folder that a command would destroy or change. REACH says what happens to bb's files below it: nothing
    (ITSELF), the same if the folder is git's (INSIDE_GIT), or the same in any folder (ALL)."""

    path: str  # relative to the shell's working directory; may contain wildcards
    reach: str
    command: str
    follows: bool = True  # if the path is a link: whether the command changes the file that the link leads to

    def harms(self, named: str, protected: str, git_dir: str) -> bool:
        """Whether it harms the PROTECTED file or folder, if NAMED is its absolute path."""
        ours, theirs = _parts(protected), _parts(named)
        if not all(_fits(name, pattern) for name, pattern in zip(ours, theirs, strict=False)):
            return False
        is_above = len(theirs) < len(ours)
        is_in_git = len(theirs) >= len(_parts(git_dir))
        return not is_above or self.reach == ALL or (self.reach == INSIDE_GIT and is_in_git)


def find_harmed_files(text: str) -> list[HarmedFile]:
    """The files and folders that a command line would destroy or change, as far as it names them."""
    if not any(program in text for program in PROGRAMS):
        return []
    return list(dict.fromkeys(found for step in shell.steps(text) for found in _harmed(step)))


def _harmed(step: shell.Run) -> Iterator[HarmedFile]:
    name, words = step.words[0], step.words[1:]
    shown = " ".join(step.words if name != shell.INTO else [">", *words])[:LONGEST_COMMAND]
    for path, reach in _rule(name)(words):
        for plain in _alternatives(path):
            if (at := _joined(step.directory, plain)) is not None:
                yield HarmedFile(at, reach, shown, name not in KEEPS_TARGETS)


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("\\", "/").split("/") if part]


def _fits(name: str, pattern: str) -> bool:
    """Whether the shell's PATTERN matches a NAME. A wildcard does not match a dot at the start."""
    if WILD.isdisjoint(pattern):
        return name == pattern
    from fnmatch import fnmatchcase  # noqa: PLC0415  (few names have wildcards)

    return fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] == ".")


def _joined(directory: str | None, path: str) -> str | None:
    if path.startswith(GIT_DIR):  # mostly `$(git rev-parse --git-dir)/bb`
        path = path.replace(GIT_DIR, ".git/", 1)
    if not path or path[0] in "-~" or "$" in path:
        return None
    if path.startswith("/") or path[1:2] == ":":
        return path
    return None if directory is None else path if directory == "." else f"{directory}/{path}"


def _alternatives(path: str) -> list[str]:
    """The paths that the shell makes of braces: `.git/{bb,hooks}`."""
    start, brace, rest = path.partition("{")
    inside, end, behind = rest.partition("}")
    if not (brace and end and "," in inside):
        return [path]
    return [each for part in inside.split(",") for each in _alternatives(f"{start}{part}{behind}")]


def _rule(program: str) -> Callable[[Sequence[str]], Iterator[tuple[str, str]]]:
    return RULES.get(program, _written_by(program))


def _written_by(program: str) -> Callable[[Sequence[str]], Iterator[tuple[str, str]]]:
    """The rule for a program of which the files that it writes are known."""

    def rule(words: Sequence[str]) -> Iterator[tuple[str, str]]:
        for write in writes.RULES[program](words) if program in writes.RULES else ():
            yield write.path, ALL if program == "mv" and write.name is None else ITSELF
            if write.name:
                yield f"{write.path}/{write.name}", ITSELF

    return rule


def _operands(valued: str, reach: str, *recursive: str) -> Callable[[Sequence[str]], Iterator[tuple[str, str]]]:
    """The rule for a program that takes files, and reaches into folders with the options RECURSIVE."""

    def rule(words: Sequence[str]) -> Iterator[tuple[str, str]]:
        arguments = Arguments(words, valued)
        for path in arguments.everything:
            yield path, reach if not recursive or arguments.has(*recursive) else ITSELF

    return rule


def _linked(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    arguments = Arguments(words, "-t --target-directory -S --suffix")
    if arguments.has("-f", "--force") and len(arguments.everything) > 1:
        yield arguments.everything[-1], ITSELF


def _mirrored(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    if plain := [word for word in words if not word.startswith("-")]:
        yield plain[-1], ALL if any(word.startswith("--del") for word in words) else ITSELF
    if any(word == "--remove-source-files" for word in words):
        yield from ((path, ALL) for path in plain[:-1])


TESTS = ("-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-newer", "-mtime", "-mmin", "-size")


def _found(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`find START -delete`, also with a program that deletes. With a test, few of the files below START are meant."""
    starts = []
    for word in words:
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    pairs = list(zip(words, [*words[1:], ""], strict=True))
    is_deleting = "-delete" in words or any(
        word in ("-exec", "-execdir") and shell.program(after) in ("rm", "shred", "truncate", "mv", "unlink")
        for word, after in pairs
    )
    values = [after for word, after in pairs if word in TESTS]
    is_tested = bool(values) and not any("bb" in value.split("/") for value in values)
    for start in (starts or ["."]) if is_deleting else ():
        yield start, ITSELF if is_tested else ALL


def _of_git(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`git clean` in a work tree that a command names."""
    if "clean" not in words:
        return
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == "--work-tree" and after:
            yield after, ALL
        elif word.startswith("--work-tree="):
            yield word.partition("=")[2], ALL


RULES: dict[str, Callable[[Sequence[str]], Iterator[tuple[str, str]]]] = {
    "rm": _operands("", ALL, "-r", "-R", "--recursive"),
    "rmdir": _operands("", ITSELF),
    "unlink": _operands("", ITSELF),
    "shred": _operands("-n --iterations -s --size", ITSELF),
    "trash": _operands("", ALL),
    "chmod": _operands("--reference", INSIDE_GIT, "-R", "--recursive"),
    "chown": _operands("--reference --from", INSIDE_GIT, "-R", "--recursive"),
    "ln": _linked,
    "rsync": _mirrored,
    "find": _found,
    "git": _of_git,
}
KEEPS_TARGETS = frozenset(["rm", "rmdir", "unlink", "mv", "trash", "find", "ln"])  # of links
PROGRAMS = frozenset([*RULES, *writes.RULES]) - {"git mv", "git rm"}
