"""Which shell commands may change files of the work tree, as far as their programs tell.

Most commands of an agent only read. A command that is not known may change any file, so bb looks at the work tree
before and after it. Formatters are known to rewrite files, so their changes count beside those of an agent that edits.
"""

from __future__ import annotations

from itertools import dropwhile

from bb.coordination.guards import shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

READS, MAY_WRITE, REWRITES = "reads", "may write", "rewrites"
LETTER = 2  # the length of an option that is one letter, with its dash

_READERS = (
    "ls cat head tail less more sed awk grep egrep fgrep rg ag find fd wc sort uniq cut tr diff cmp file "
    "stat du df tree echo printf pwd true false test [ which type command env date whoami id uname ps top "
    "sleep wait seq basename dirname realpath readlink jq yq column nl od xxd strings sha256sum md5sum cd "
    "export set unset source . bb beadboard pytest py.test tox nox mypy pyright tsc jest vitest mocha "
    "rspec phpunit ctest curl ping nc ssh gh history alias ulimit kill pgrep lsof free hostname nproc "
)
READERS = frozenset(_READERS.split())
_GIT_READS = (
    "status log diff show blame branch tag remote fetch ls-files ls-tree rev-parse rev-list describe "
    "cat-file config grep shortlog reflog for-each-ref merge-base name-rev commit push add version help "
    "worktree notes check-ignore check-attr count-objects fsck "
)
GIT_READS = frozenset(_GIT_READS.split())
# Programs that read with these first words, and may write otherwise.
READING_WORDS = {
    "npm": ("test", "t", "ls", "list", "outdated", "view"),
    "pnpm": ("test", "ls", "list"),
    "yarn": ("test", "list"),
    "cargo": ("test", "check", "clippy", "build", "bench", "tree", "metadata"),
    "go": ("test", "vet", "build", "list", "version", "env"),
    "make": ("test", "check"),
    "ruff": ("check",),
    "dotnet": ("test", "build"),
    "mvn": ("test", "verify"),
    "gradle": ("test", "check"),
    "gradlew": ("test", "check"),
    "pip": ("list", "show", "freeze", "check"),
    "uv": ("pip",),
    "docker": ("ps", "images", "logs"),
}
# Options with which a program that reads otherwise writes files.
WRITING_OPTIONS: dict[str, tuple[str, ...]] = {
    "find": ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "sed": ("-i", "--in-place"),
    "awk": ("-i",),
    "sort": ("-o", "--output"),
    "curl": ("-o", "-O", "--output", "--remote-name"),
    "yq": ("-i", "--inplace"),
    "jest": ("-u", "--updateSnapshot"),
    "vitest": ("-u", "--update"),
    "ruff": ("--fix", "--fix-only", "--unsafe-fixes", "--add-noqa"),
    "cargo": ("--fix",),
}
# Formatters and other programs that rewrite the files they are given, with the first words that make them do so.
REWRITERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(["black", "isort", "autopep8", "yapf", "gofmt", "goimports", "rustfmt", "shfmt", "dprint"], ()),
    **dict.fromkeys(
        ["clang-format", "prettier", "eslint", "stylelint", "biome", "rubocop", "ktlint", "swiftformat"], ()
    ),
    **dict.fromkeys(["patch", "pyupgrade", "autoflake", "docformatter", "mdformat", "taplo"], ()),
    "ruff": ("format",),
    "cargo": ("fmt", "fix"),
    "go": ("fmt", "fix"),
    "terraform": ("fmt",),
    "dart": ("format", "fix"),
    "mix": ("format",),
    "deno": ("fmt",),
}
# Some of them only print what they would change, unless they are given one of these options.
WITH_OPTION: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(["gofmt", "goimports", "shfmt"], ("-w", "--write")),
    **dict.fromkeys(["clang-format", "yapf", "autopep8", "autoflake", "docformatter"], ("-i", "--in-place")),
    **dict.fromkeys(["eslint", "stylelint"], ("--fix",)),
    "prettier": ("-w", "--write"),
    "biome": ("--write", "--fix", "--apply"),
    "rubocop": ("-a", "-A", "-x", "--autocorrect", "--auto-correct", "--fix"),
    "ktlint": ("-F", "--format"),
}
CHECKING = frozenset(
    ["--check", "--check-only", "--diff", "--dry-run", "--list-different", "--lint", "-check"]
)  # only reads
GIT_VALUES = frozenset(["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"])
PYTHONS = ("python", "python3", "py")
RUNNERS = {
    "npx": 1,
    "pnpx": 1,
    "bunx": 1,
    "uvx": 1,
    "uv": 2,
    "poetry": 2,
    "pipenv": 2,
    "bundle": 2,
    "pdm": 2,
    "hatch": 2,
}


def effect(text: str) -> str:
    """What the command line TEXT does to files: READS, MAY_WRITE or REWRITES."""
    steps = shell.runs(text)
    if not steps:
        return MAY_WRITE if text.strip() else READS
    found = [_effect(step.words) for step in steps]
    return REWRITES if REWRITES in found else MAY_WRITE if MAY_WRITE in found else READS


def _effect(words: Sequence[str]) -> str:
    program, rest = words[0], list(words[1:])
    if program in PYTHONS and rest[:1] == ["-m"] and len(rest) > 1:
        return READS if rest[1] == "unittest" else _effect(rest[1:])
    if program in RUNNERS and (len(rest) >= RUNNERS[program]) and (program != "uv" or rest[:1] == ["run"]):
        inner = list(dropwhile(lambda word: word.startswith("-"), rest[RUNNERS[program] - 1 :]))
        return _effect(inner) if inner else MAY_WRITE
    if program == "git":
        command = _git_command(rest)
        return READS if command in GIT_READS or not command else REWRITES
    first = next((word for word in rest if not word.startswith("-")), "")
    if program in REWRITERS and (not REWRITERS[program] or first in REWRITERS[program]):
        is_asked = program not in WITH_OPTION or any(word.startswith(WITH_OPTION[program]) for word in rest)
        return REWRITES if is_asked and CHECKING.isdisjoint(rest) else READS
    is_reader = program in READERS or first in READING_WORDS.get(program, ())
    return READS if is_reader and not _writes(rest, WRITING_OPTIONS.get(program, ())) else MAY_WRITE


def _git_command(words: Sequence[str]) -> str:
    """The command among the WORDS after `git`."""
    is_value = False
    for word in words:
        if not (is_value or word.startswith("-")):
            return word
        is_value = not is_value and word in GIT_VALUES
    return ""


def _writes(words: Sequence[str], options: tuple[str, ...]) -> bool:
    """Whether one of the OPTIONS is among the WORDS, also within letters that stand together, as in `sed -Ei`."""
    letters = {option[1] for option in options if len(option) == LETTER and option[0] == "-"}
    for word in words:
        is_letters = word.startswith("-") and not word.startswith("--")
        if word.startswith(options) or (is_letters and not letters.isdisjoint(word[1:])):
            return True
    return False
