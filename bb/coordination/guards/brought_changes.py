"""Finds the commands that bring changes of commits, stashes or patches into the work tree, and how git lists the files.

    changes of     by
    commits        git revert, git cherry-pick, git merge --squash
    a revision     git checkout REV -- PATHS, git restore --source REV PATHS
    a stash        git stash pop, git stash apply
    a patch        git apply, git am, patch -pN: from a file, or from a here-document

A plain merge is not among them: it is nobody's edit, and neither is a rebase. Only git knows which files such a command
changes, so this is the one place where a guard asks git before a command runs, and only about these commands.
"""

from __future__ import annotations

from bb.coordination.guards import hazards, shell
from bb.coordination.guards.arguments import Arguments
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# What each verb looks like in a command line. Other command lines are not parsed.
MARKS = ("revert", "cherry-pick", "checkout", "restore", "stash", "squash", "apply", " am ", "patch")
UNKNOWN = frozenset("$*?`")  # only the shell knows the value of a word with one of these
STEPS = ("--abort", "--continue", "--skip", "--quit", "--resolved", "--retry", "--show-current-patch", "-r")
NAMES = ("--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff")
COMMITS = ("log", "--no-walk=unsorted", "--diff-merges=first-parent", "--format=", *NAMES)
PATCH = ("apply", "--numstat", "-z")
PICK_VALUES = "-m --mainline -s --strategy -X --strategy-option --cleanup"
PATCH_VALUES = "-p -C --directory --exclude --include --whitespace --patch-format --build-fake-ancestor"
PATCH_PROGRAM = "-p --strip -i --input -d --directory -o --output -r --reject-file -B -z -V -D -F -g -Y"


class Question(Record):
    """What git is asked to list the files that a COMMAND would change: WORDS after `git`, and the patches, by their
    files or as GIVEN text. The directory and the files are relative to the shell's working directory."""

    command: str  # the beginning of the command line
    directory: str
    words: tuple[str, ...]
    patches: tuple[str, ...] = ()
    given: str | None = None
    is_at_top: bool = (
        False  # git is asked at the top of the work tree, because the command does not stay below DIRECTORY
    )
    is_relative: bool = False  # the paths in the patch begin at the directory, and not at the top of the work tree


def find_questions(text: str) -> list[Question]:
    """The questions for a command line, in order."""
    if not any(mark in text for mark in MARKS):
        return []
    return [question for run in shell.runs(text) for question in _questions(run)]


def _questions(run: shell.Run) -> list[Question]:
    words, directory = (list(run.words), run.directory) if run.words[0] == "patch" else ([], None)
    if run.words[0] == "git":
        words, directory = hazards.git_arguments(run)
    rule = RULES.get(words[0]) if words else None
    if rule is None or directory is None or any(UNKNOWN & set(word) for word in words):
        return []
    command = " ".join(words if words[0] == "patch" else ["git", *words])[: hazards.LONGEST_COMMAND]
    return [question.replace(command=command) for question in rule(words[1:], run.replace(directory=directory))]


def _ask(run: shell.Run, *words: str) -> Question:
    return Question("", run.directory or ".", words)


def _picked(words: Sequence[str], run: shell.Run) -> list[Question]:
    arguments = Arguments(words, PICK_VALUES, "-S")
    if arguments.has(*STEPS) or not arguments.operands:
        return []
    return [_ask(run, *COMMITS, *arguments.operands, "--")]


def _checkout(words: Sequence[str], run: shell.Run) -> list[Question]:
    arguments = Arguments(words, "-b -B --orphan --conflict --pathspec-from-file")
    revision, paths = arguments.operands[:1], [*arguments.operands[1:], *(arguments.behind or [])]
    if not revision or not paths or arguments.has("-b", "-B", "--orphan"):
        return []
    return [_ask(run, "diff", *NAMES, *revision, "--", *paths)]


def _restore(words: Sequence[str], run: shell.Run) -> list[Question]:
    arguments = Arguments(words, "-s --source -U --unified --conflict --pathspec-from-file")
    revision = arguments.values.get("-s") or arguments.values.get("--source")
    is_index_only = arguments.has("-S", "--staged") and not arguments.has("-W", "--worktree")
    if not revision or revision.startswith("-") or is_index_only or not arguments.everything:
        return []
    return [_ask(run, "diff", *NAMES, revision, "--", *arguments.everything)]


def _stash(words: Sequence[str], run: shell.Run) -> list[Question]:
    if words[:1] not in (["pop"], ["apply"]):
        return []
    name = next(iter(Arguments(words[1:]).operands), "0")
    name = f"stash@{{{name}}}" if name.isdigit() else name
    untracked = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", f"{name}^3")
    return [_ask(run, "diff", *NAMES, f"{name}^1", name, "--"), _ask(run, *untracked)]


def _merge(words: Sequence[str], run: shell.Run) -> list[Question]:
    arguments = Arguments(words, "-m -F --file -s --strategy -X --strategy-option --into-name --cleanup", "-S")
    if not arguments.has("--squash"):
        return []
    return [_ask(run, "diff", *NAMES, f"HEAD...{name}", "--") for name in arguments.operands]


def _apply(words: Sequence[str], run: shell.Run) -> list[Question]:
    arguments = Arguments(words, PATCH_VALUES, "-S")
    is_only_shown = arguments.has("--check", "--stat", "--numstat", "--summary") and not arguments.has("--apply")
    if is_only_shown or arguments.has("--cached", *STEPS):
        return []
    options = [f"-p{arguments.values['-p']}"] if "-p" in arguments.values else []
    options += [f"--directory={arguments.values['--directory']}"] if "--directory" in arguments.values else []
    return _patched([*PATCH, *options], arguments.everything, run)


def _patch(words: Sequence[str], run: shell.Run) -> list[Question]:
    """Without -p, `patch` guesses which part of a path counts."""
    arguments = Arguments(words, PATCH_PROGRAM)
    strip = arguments.values.get("-p") or arguments.values.get("--strip") or ""
    if not strip.isdigit() or arguments.has("--dry-run", "-o", "--output") or arguments.operands:
        return []
    named = [arguments.values[name] for name in ("-i", "--input") if name in arguments.values]
    below = arguments.values.get("-d") or arguments.values.get("--directory")
    directory = shell.joined(run.directory, below) if below else run.directory
    if directory is None:
        return []
    found = _patched([*PATCH, f"-p{strip}"], named, run)
    return [question.replace(directory=directory, is_at_top=True, is_relative=True) for question in found]


def _patched(words: Sequence[str], named: Sequence[str], run: shell.Run) -> list[Question]:
    """The question about the patches that are NAMED, or else come from standard input."""
    named = [name for name in named if name != "-"] or [run.stdin or ""]
    files = tuple(file for name in named if name and (file := shell.joined(run.directory, name)))
    if not files and run.document is None:
        return []
    return [_ask(run, *words).replace(patches=files, given=None if files else run.document)]


RULES: dict[str, Callable[[Sequence[str], shell.Run], list[Question]]] = {
    "revert": _picked,
    "cherry-pick": _picked,
    "checkout": _checkout,
    "restore": _restore,
    "stash": _stash,
    "merge": _merge,
    "apply": _apply,
    "am": lambda words, run: [question.replace(is_at_top=True) for question in _apply(words, run)],
    "patch": _patch,
}
