"""Shell commands that switch bb's protection off: its git hooks, its branch, its refs.

    bypass     examples
    hooks      commit --no-verify, -n, -anm; -c core.hooksPath=DIR; HUSKY=0; config core.hooksPath; bb hooks uninstall
    branch     push origin --delete bb-ledger, :bb-ledger, main:bb-ledger; push --mirror, --prune; branch -D bb-ledger
    refs       update-ref -d refs/bb/ledger; fetch origin +main:refs/bb/ledger; filter-repo

An agent has no reason for any of them, whether other agents are active or not: a reservation may be another clone's.
So they are always refused to an agent. A command line can be disguised; the check is meant for mistakes and for haste.
What a command would do to bb's files is found in `harmed_files.py`.
"""

from __future__ import annotations

from bb.coordination.guards import hazards, shell
from bb.coordination.guards.arguments import Arguments
from bb.kernel import escaping
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HOOKS, BRANCH, REFS = "hooks", "branch", "refs"
LEDGER_BRANCH, LEDGER_REFS = "bb-ledger", "refs/bb/"
LONGEST_COMMAND = 300

# Verbs of git that make commits, so hooks run for them.
COMMITTING = frozenset(["commit", "merge", "am", "cherry-pick", "revert", "rebase", "pull"])
HOOKS_PATH = "core.hookspath"  # names of settings are case-insensitive
# Variables with which hook managers skip their hooks, and the values that do not.
SWITCHES = {
    "HUSKY": ("1", ""),
    "HUSKY_SKIP_HOOKS": ("0", ""),
    "LEFTHOOK": ("1", "true", ""),
    "OVERCOMMIT_DISABLE": ("0", ""),
    "SKIP_SIMPLE_GIT_HOOKS": ("0", ""),
}
OWN_HOOKS = "bb-"  # the ids of bb's hooks in the pre-commit framework begin so
HARMS = {
    HOOKS: "switches off the hooks by which bb checks commits",
    BRANCH: "changes the branch bb-ledger, in which all clones keep the ledger",
    REFS: "changes refs of the ledger",
}
INSTEAD = {
    HOOKS: "commit with the hooks; if a hook is at fault, mend it, or ask the person: `bb send user 'TEXT'`",
    BRANCH: "`bb sync` publishes your lines; if something is wrong with the branch: `bb doctor`, or ask the person: "
    "`bb send user 'TEXT'`",
    REFS: "`bb doctor` shows what is wrong and what mends it, or ask the person: `bb send user 'TEXT'`",
}


class Bypass(Record):
    """A command that would switch a protection off."""

    kind: str
    command: str  # the beginning of the command line
    directory: str | None  # relative to the shell's working directory; None if unknown

    def reason(self) -> str:
        """Why the command is refused, and what to do instead."""
        return f"`{escaping.clipped(self.command, LONGEST_COMMAND)}` {HARMS[self.kind]}. Instead: {INSTEAD[self.kind]}"


def find_bypasses(text: str) -> list[Bypass]:
    """The bypasses in a command line, in order."""
    if "git" not in text and "hooks" not in text and "uninstall" not in text:
        return []
    return [found for run in shell.runs(text) if (found := _bypass(run, text))]


def _bypass(run: shell.Run, text: str) -> Bypass | None:
    name = run.words[0]
    if (name.endswith(("bb", "beadboard")) and run.words[1:3] == ("hooks", "uninstall")) or (
        name == "pre-commit" and run.words[1:2] == ("uninstall",)
    ):
        return Bypass(HOOKS, " ".join(run.words[:3]), run.directory)
    if name.startswith("git-") and name != "git-":  # as in git's own folder of programs
        run = run.replace(words=("git", name.removeprefix("git-"), *run.words[1:]))
    if run.words[0] != "git":
        return None
    words, directory = hazards.git_arguments(run)
    if not words:
        return None
    kind = HOOKS if _is_without_hooks(run, words) else _changed(words, text)
    shown = " ".join([*run.settings, *run.words])[: LONGEST_COMMAND + 1]
    return Bypass(kind, shown, directory) if kind else None


# -- hooks


def _is_without_hooks(run: shell.Run, words: Sequence[str]) -> bool:
    verb, rest = words[0], words[1:]
    if verb == "config":
        return _sets_hooks_path(rest)
    if verb not in COMMITTING:
        return False
    options = run.words[1 : len(run.words) - len(rest)]
    is_set = any(HOOKS_PATH in word.lower() for word in options) or any(map(_switches_off, run.settings))
    return is_set or (verb in SKIPPING and SKIPPING[verb](rest))


def _switches_off(setting: str) -> bool:
    name, _, value = setting.partition("=")
    if name == "SKIP":
        return any(word.strip().startswith(OWN_HOOKS) for word in value.split(","))
    if name.startswith("GIT_CONFIG_KEY_") or name == "GIT_CONFIG_PARAMETERS":
        return HOOKS_PATH in value.lower()
    return name in SWITCHES and value.lower() not in SWITCHES[name]


def _sets_hooks_path(words: Sequence[str]) -> bool:
    arguments = Arguments(words, "-f --file --blob --type --default --comment --value")
    plain = arguments.everything
    verb = plain.pop(0) if plain and plain[0] in ("get", "set", "unset", "list", "remove-section") else ""
    if arguments.has("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch") or verb in ("get", "list"):
        return False
    if arguments.has("--remove-section", "--rename-section") or verb == "remove-section":
        return plain[:1] == ["core"]
    is_change = len(plain) > 1 or verb == "unset" or arguments.has("--unset", "--unset-all")
    return is_change and plain[0].lower() == HOOKS_PATH if plain else False


def _commit_skips(words: Sequence[str]) -> bool:
    arguments = Arguments(words, hazards.COMMIT_VALUES, "-u -S")
    return arguments.has("-n", "--no-verify") and not arguments.has("--dry-run")


def _says_no_verify(words: Sequence[str]) -> bool:
    return Arguments(words, "-m -F -s -X --strategy --strategy-option --into-name", "-S").has("--no-verify")


SKIPPING: dict[str, Callable[[Sequence[str]], bool]] = {
    "commit": _commit_skips,
    "merge": _says_no_verify,
    "pull": _says_no_verify,
    "am": _says_no_verify,
}


# -- the branch and the refs of the ledger


def _changed(words: Sequence[str], text: str) -> str | None:
    """Which of the ledger's refs a command of git changes, if any."""
    verb, rest = words[0], words[1:]
    return CHANGES[verb](rest, text) if verb in CHANGES else None


def _is_branch(name: str) -> bool:
    return name in (LEDGER_BRANCH, f"heads/{LEDGER_BRANCH}", f"refs/heads/{LEDGER_BRANCH}")


def _pushed(words: Sequence[str], _: str) -> str | None:
    arguments = Arguments(words, "-o --push-option --receive-pack --exec --repo --recurse-submodules --signed")
    if arguments.has("-n", "--dry-run"):
        return None
    targets = [word.removeprefix("+").rpartition(":")[2] for word in arguments.everything]
    if any(target.startswith(LEDGER_REFS) for target in targets):
        return REFS
    is_pruning = arguments.has("--prune") and (len(targets) < 2 or any(target.endswith("*") for target in targets))
    return BRANCH if arguments.has("--mirror") or is_pruning or any(map(_is_branch, targets)) else None


def _branched(words: Sequence[str], _: str) -> str | None:
    arguments = Arguments(words, "-u --set-upstream-to")
    is_change = arguments.has("-D", "-d", "--delete", "-M", "-m", "--move", "-f", "--force", "-C", "--copy")
    is_local = not arguments.has("-r", "--remotes")
    return BRANCH if is_change and is_local and any(map(_is_branch, arguments.everything)) else None


def _refs_updated(words: Sequence[str], text: str) -> str | None:
    arguments = Arguments(words, "-m")
    # The names of the refs may come from a pipe: `git for-each-ref refs/bb | xargs git update-ref -d`.
    is_from_pipe = (arguments.has("--stdin") or not arguments.everything) and LEDGER_REFS.rstrip("/") in text
    return REFS if is_from_pipe or (arguments.everything[0:1] and _is_of_ledger(arguments.everything[0])) else None


def _is_of_ledger(name: str) -> bool:
    return name.startswith(LEDGER_REFS) or _is_branch(name)


def _fetched(words: Sequence[str], _: str) -> str | None:
    return REFS if any(":" in word and _is_of_ledger(word.rpartition(":")[2]) for word in words) else None


def _rewritten(words: Sequence[str], _: str) -> str | None:
    return REFS if "--all" in words else None


CHANGES: dict[str, Callable[[Sequence[str], str], str | None]] = {
    "push": _pushed,
    "send-pack": _pushed,
    "branch": _branched,
    "update-ref": _refs_updated,
    "symbolic-ref": _refs_updated,
    "fetch": _fetched,
    "pull": _fetched,
    "filter-branch": _rewritten,
    "filter-repo": lambda words, _: None if "--refs" in words else REFS,
}
