"""Git commands that can damage other agents' work in the same clone, and the conditions under which they are refused.

    hazard      examples                               refused if
    stash       stash, stash push, pop, drop, clear    other agents are active: all worktrees share one stash
    push        push --force, -f, +branch              other agents are active: they may build on the replaced commits
    discard     reset --hard, checkout -f, restore .   it would undo changes that are not yours
    clean       clean -fdx                             it would delete files that are not yours
    autostash   rebase, pull --rebase --autostash      it would stash changes that are not yours
    gather      add -A, commit -a                      it would include changes in another agent's reservation
    worktree    worktree remove, move                  an agent's session or changes that are not yours are in it
    branch      branch -D, -M                          the branch is checked out in another worktree

Other agents are the agents of this clone that are not known to have ended. A changed file is yours if you hold it or
have made all its changes. It is another agent's if that agent holds it or has uncommitted lines in it. Otherwise it has
no holder and may belong to any active agent. So if other agents are active, a command that affects all files is refused
for files without holder too; a command that names its files is refused only for files of other holders. If no other
agent is in the clone, everything is allowed.
"""

from __future__ import annotations

from bb.coordination.guards import shell
from bb.coordination.guards.arguments import Arguments
from bb.kernel import escaping, ids
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STASH, PUSH, DISCARD, CLEAN = "stash", "push", "discard", "clean"
AUTOSTASH, GATHER, WORKTREE, BRANCH = "autostash", "gather", "worktree", "branch"

WHOLE = (":/",)  # the whole work tree, as git writes it
NAMED = 3  # files or agents named in a sentence
LONGEST_COMMAND = 300


class Hazard(Record):
    """A git command that may damage other agents' work. PATHS may also be a worktree or branches."""

    kind: str
    command: str  # the beginning of the command line
    directory: str | None  # relative to the shell's working directory; None if unknown
    paths: tuple[str, ...] = ()
    is_sweeping: bool = False  # whether it affects all files
    with_ignored: bool = False
    only_tracked: bool = False


class Change(Record):
    """A file with uncommitted changes, and its holder, if any."""

    path: str
    holder: str | None
    is_tracked: bool


class Circumstances(Record):
    """The circumstances in which a hazard is judged."""

    me: str
    others: tuple[str, ...]  # the other active agents in this clone
    changes: tuple[Change, ...] = ()  # that the command would affect
    sitting: tuple[str, ...] = ()  # agents whose sessions are in the command's worktree
    checked_out: str | None = None  # the worktree in which the command's branch is checked out


# -- the hazards in a command line


def find_hazards(text: str) -> list[Hazard]:
    """The hazards in a command line, in order."""
    if "git" not in text:
        return []
    hazards = (_hazard(run) for run in shell.runs(text))
    return [hazard for hazard in hazards if hazard]


def _hazard(run: shell.Run) -> Hazard | None:
    if run.words[0] != "git":
        return None
    words, directory = git_arguments(run)
    if not words or words[0] not in VERBS:
        return None
    hazard = VERBS[words[0]](words[1:])
    return hazard and hazard.replace(command=" ".join(["git", *words])[:120], directory=directory)


GLOBAL_WITH_VALUE = frozenset(["-c", "--namespace", "--exec-path", "--config-env", "--super-prefix", "--attr-source"])


def git_arguments(run: shell.Run) -> tuple[list[str], str | None]:
    """The words from git's verb on, and the directory in which git works."""
    words, directory = list(run.words[1:]), run.directory
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "-C" and words:
            directory = shell.joined(directory, words.pop(0))
        elif option.startswith(("--git-dir", "--work-tree")):
            directory = None
            if "=" not in option and words:
                words.pop(0)
        elif option in GLOBAL_WITH_VALUE and words:
            words.pop(0)
    return words, directory


def _make(kind: str, paths: Sequence[str] = (), **more: bool) -> Hazard:
    return Hazard(kind, "", None, tuple(paths), **more)


def _discard_all() -> Hazard:
    return _make(DISCARD, WHOLE, is_sweeping=True, only_tracked=True)


def _stash(words: Sequence[str]) -> Hazard | None:
    verb = words[0] if words and not words[0].startswith("-") else "push"
    return _make(STASH) if verb in ("push", "save", "pop", "drop", "clear", "branch") else None


def _reset(words: Sequence[str]) -> Hazard | None:
    return _discard_all() if Arguments(words).has("--hard", "--merge") else None


def _clean(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-e --exclude")
    if not arguments.has("-f", "--force") or arguments.has("-n", "--dry-run"):
        return None
    return _make(CLEAN, arguments.paths or (".",), is_sweeping=True, with_ignored=arguments.has("-x", "-X"))


def _push(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-o --push-option --receive-pack --exec --repo")
    is_forced = arguments.has("-f", "--force", "--mirror") or any(
        operand.startswith("+") for operand in arguments.operands
    )
    return _make(PUSH) if is_forced and not arguments.has("-n", "--dry-run") else None


def _checkout(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-b -B --orphan --conflict --pathspec-from-file")
    if arguments.behind is None and arguments.has("-f", "--force"):
        return _discard_all()
    if arguments.has("-b", "-B", "--orphan") or not arguments.paths:
        return None
    return _over(arguments.paths)


def _restore(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-s --source -U --unified --conflict --pathspec-from-file")
    is_index_only = arguments.has("-S", "--staged") and not arguments.has("-W", "--worktree")
    return None if is_index_only or not arguments.paths else _over(arguments.everything)


def _over(paths: Sequence[str]) -> Hazard:
    is_sweeping = any(path in (".", "./", "*", ":", ":/", ":(top)") for path in paths)
    return _make(DISCARD, paths, is_sweeping=is_sweeping, only_tracked=True)


def _switch(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-c -C --create --force-create --orphan --conflict")
    is_forced = arguments.has("-f", "--force", "--discard-changes")
    return _discard_all() if is_forced else None


def _add(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "--chmod --pathspec-from-file")
    if arguments.has("-n", "--dry-run"):
        return None
    paths = arguments.everything
    is_update = arguments.has("-u", "--update")
    if not paths and (is_update or arguments.has("-A", "--all", "--no-ignore-removal")):
        return _make(GATHER, WHOLE, only_tracked=is_update)
    return _make(GATHER, paths, only_tracked=is_update) if paths else None


COMMIT_VALUES = (
    "-m --message -F --file -C -c --reuse-message --reedit-message -t --template --author --date --fixup --squash "
    "--trailer --cleanup"
)


def _commit(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, COMMIT_VALUES, "-u -S")
    if arguments.has("--dry-run"):
        return None
    if arguments.has("-a", "--all"):
        return _make(GATHER, WHOLE, only_tracked=True)
    paths = arguments.everything
    return _make(GATHER, paths, only_tracked=True) if paths else None


def _worktree(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words[1:])
    is_about_one = words[:1] in (["remove"], ["move"]) and arguments.paths
    return _make(WORKTREE, arguments.paths[:1], is_sweeping=arguments.has("-f", "--force")) if is_about_one else None


def _branch(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-u --set-upstream-to")
    if arguments.has("-D", "-d", "--delete"):
        return _make(BRANCH, arguments.paths) if not arguments.has("-r", "--remotes") else None
    return _make(BRANCH, arguments.paths[:2]) if arguments.has("-M", "-f", "--force") else None


def _rebase(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-x --exec -s --strategy -X --strategy-option --onto -C")
    steps = ("--abort", "--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch")
    return (
        None
        if arguments.has(*steps)
        else _make(AUTOSTASH, WHOLE, is_sweeping=arguments.has("--autostash"), only_tracked=True)
    )


def _pull(words: Sequence[str]) -> Hazard | None:
    arguments = Arguments(words, "-s --strategy -X --strategy-option --depth")
    return _make(AUTOSTASH, WHOLE, is_sweeping=True, only_tracked=True) if arguments.has("--autostash") else None


VERBS: dict[str, Callable[[Sequence[str]], Hazard | None]] = {
    "stash": _stash,
    "reset": _reset,
    "clean": _clean,
    "push": _push,
    "checkout": _checkout,
    "restore": _restore,
    "switch": _switch,
    "add": _add,
    "stage": _add,
    "commit": _commit,
    "worktree": _worktree,
    "branch": _branch,
    "rebase": _rebase,
    "pull": _pull,
}


# -- whether a hazard is refused


def refusal_reason(hazard: Hazard, around: Circumstances) -> str | None:
    """The refusal of the command, with an alternative; None if the command is allowed."""
    if harm := RULES[hazard.kind](hazard, around):
        return f"`{escaping.clipped(hazard.command, LONGEST_COMMAND)}` {harm}. Instead: {INSTEAD[hazard.kind]}"
    return None


def _if_others(harm: str) -> Callable[[Hazard, Circumstances], str | None]:
    return lambda _, around: harm.format(_few(around.others)) if around.others else None


def _to_changes(how: str) -> Callable[[Hazard, Circumstances], str | None]:
    return lambda hazard, around: _harm(how, _not_mine(hazard, around))


def _not_mine(hazard: Hazard, around: Circumstances) -> list[Change]:
    """The affected changes that belong, or may belong, to another agent."""
    spares_unheld = hazard.is_sweeping and around.others
    return _held_by_others(around) or [change for change in around.changes if change.holder is None and spares_unheld]


def _held_by_others(around: Circumstances) -> list[Change]:
    return [change for change in around.changes if change.holder not in (None, around.me)]


def _harm(how: str, changes: Sequence[Change]) -> str | None:
    if not changes:
        return None
    holders = list(dict.fromkeys(change.holder for change in changes if change.holder))
    whose = f"held by {_few(holders)}" if holders else "which you do not hold and another active agent may have changed"
    return f"{how} {_few([escaping.name(change.path) for change in changes])}, {whose}"


def _cleaning(hazard: Hazard, around: Circumstances) -> str | None:
    if hazard.with_ignored and around.others:
        return f"also deletes ignored files that {_few(around.others)} may need: builds, settings, environments"
    return _harm("would delete", _not_mine(hazard, around))


def _gathering(_: Hazard, around: Circumstances) -> str | None:
    return _harm("would include changes to", _held_by_others(around))


def _removing(hazard: Hazard, around: Circumstances) -> str | None:
    if around.sitting:
        return f"would remove the worktree of {_few(around.sitting)}"
    return _harm("would delete in that worktree", _not_mine(hazard, around))


def _branching(_: Hazard, around: Circumstances) -> str | None:
    if around.checked_out and around.others:
        return f"would delete or move a branch that is checked out in {escaping.name(around.checked_out)}"
    return None


def _few(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return f"{', '.join(names[:NAMED])} and {more} more" if more > 0 else " and ".join(names)


RULES: dict[str, Callable[[Hazard, Circumstances], str | None]] = {
    STASH: _if_others("uses the stash that all worktrees of this clone share; other active agents here: {}"),
    PUSH: _if_others("replaces commits that other agents may build on; other active agents here: {}"),
    DISCARD: _to_changes("would undo uncommitted changes to"),
    AUTOSTASH: _to_changes("would stash uncommitted changes to"),
    CLEAN: _cleaning,
    GATHER: _gathering,
    WORKTREE: _removing,
    BRANCH: _branching,
}
MINE = "if they are yours, reserve them first: `bb reserve FILE`"
INSTEAD = {
    STASH: "commit your own lines (`bb commit -m MESSAGE`), or save them as a patch "
    "(`bb diff --agent NAME > FILE.patch`)",
    PUSH: "push without force; on a branch that only you use: `git push --force-with-lease origin BRANCH`",
    DISCARD: f"name your own files: `git restore -- FILES`; {MINE}",
    AUTOSTASH: f"commit your own files first and rebase in your own worktree (`git worktree add`); {MINE}",
    CLEAN: f"remove your own files by name; {MINE}",
    GATHER: "commit your own lines only: `bb commit -m MESSAGE`; or name your own files: `git commit -- FILES`",
    WORKTREE: "ask the agent that works there (`bb send NAME 'text'`), or keep the worktree; all agents: `bb status`",
    BRANCH: "delete the branch after that worktree has switched to another one; list them: `git worktree list`",
}


# -- commands reserved for the person
#
# The CLI trusts `--agent user`. An editor's hook knows that an agent runs the command, so it refuses the person's
# orders and all changes in the person's name. Reading is allowed. A command line can be disguised; this check is meant
# for agents that use the person's commands by mistake.

ORDERS = (("freeze",), ("thaw",), ("agent", "pause"), ("agent", "unpause"), ("chat", "confirm"))
PIN = "--stale-minutes"  # of `bb init`
WHO = ("--agent", "--from", "--by")
HELP = frozenset(["--help", "-h"])
NAME = "BB_AGENT"
MAKING_COMMITS = (["commit"], ["merge"], ["am"], ["cherry-pick"], ["revert"], ["rebase"])


def find_person_command(command: str, reads: Callable[[Sequence[str]], bool]) -> str | None:
    """The first order, or change in the person's name, in the shell's COMMAND; None if there is none.

    READS tells whether a bb command with these words changes nothing.
    """
    for run in shell.runs(command) if any(mark in command for mark in ("bb", NAME, "env ")) else ():
        words, as_person = _of_bb(run.words), _sets_person(run.settings)
        if words and HELP.isdisjoint(words):
            if _is_order(words) or ((as_person or _is_in_persons_name(words)) and not reads(words)):
                return " ".join(["bb", *words[:2]])
        elif as_person and run.words[0] == "git" and git_arguments(run)[0][:1] in MAKING_COMMITS:
            return " ".join([as_person, "git", *git_arguments(run)[0][:1]])
    return None


def _sets_person(settings: Sequence[str]) -> str:
    """The setting by which a program's caller would be the person, and not the agent; empty if there is none."""
    own = [setting for setting in settings if setting.startswith((f"{NAME}=", shell.EMPTIED))]
    value = own[-1].partition("=")[2] if own else None
    return f"{NAME}={value}" if value in ("", ids.PERSON) else ""


def _of_bb(words: Sequence[str]) -> list[str]:
    """The words after `bb` or `python -m bb`; empty if another program would run."""
    program = words[0].rpartition("/")[2]
    if program == "bb":
        return list(words[1:])
    is_module = program.startswith("python") and "-m" in words and words[words.index("-m") + 1 :][:1] == ("bb",)
    return list(words[words.index("-m") + 2 :]) if is_module else []


def _is_order(words: Sequence[str]) -> bool:
    is_pin = words[0] == "init" and any(word.partition("=")[0] == PIN for word in words)
    return is_pin or any(tuple(words[: len(order)]) == order for order in ORDERS)


def _is_in_persons_name(words: Sequence[str]) -> bool:
    pairs = zip(words, [*words[1:], ""], strict=True)
    return any(
        (name in WHO and value == ids.PERSON) or name in [f"{who}={ids.PERSON}" for who in WHO] for name, value in pairs
    )
