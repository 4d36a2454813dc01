"""The four ways to do the tasks: nothing, files, lines, a worktree each. What differs between them is here only.

- `nothing`: one checkout and git. A careful agent builds each commit from an index of its own with its own lines only,
  and moves the branch by compare-and-swap. If its tests fail twice because of others, it tests its own tree aside.
- `files`: one checkout. Each agent takes its place in line for the files of its next commit (`bb reserve --queue`, `bb
  wait`), and releases them after the commit. The hooks of the host and of git are installed.
- `lines`: one checkout. The hooks bracket each edit, `bb run` tests the agent's own changes, `bb commit` commits them.
- `worktree`: each agent has its own. At the end, one after the other merges the main branch into its own, makes the
  edits of files in conflict again on the main branch's version, tests, and moves the main branch.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING

from scripts.trial import git as gits
from scripts.trial.agents import TIRED, GaveUpError, folder, replace_file
from scripts.trial.edits import REPLACE, AnchorNotFoundError, occurrences, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scripts.trial.agents import Agent
    from scripts.trial.edits import Edit
    from scripts.trial.recorded import Task, Unit

MAIN = "refs/heads/main"
PATIENCE = 2  # failed tests in the shared checkout before a careful agent tests its own tree aside
HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


class Way:
    """What all ways share: one checkout, edits without questions."""

    name = ""

    def __init__(self, place: str, python: str, bb: str) -> None:
        self.place, self.python, self.bb = place, python, bb

    def prepare(self, tasks: Sequence[Task]) -> None:
        """What happens before the first agent starts; not timed."""

    def place_of(self, task: Task) -> str:  # noqa: ARG002
        return self.place

    def begin(self, agent: Agent, unit: Unit) -> None:
        """Before the files of UNIT are read."""

    def waits(self, agent: Agent, unit: Unit) -> bool:  # noqa: ARG002
        """Wait until the files of UNIT may be edited; whether that took any waiting."""
        return False

    def make(self, agent: Agent, edit: Edit, new: str) -> bool:
        """Make one edit, unless it is refused."""
        return agent.write(edit, new)

    def stash(self, agent: Agent, unit: Unit) -> None:
        """Look at the tests without anybody's changes: `git stash`, the tests, `git stash pop`."""
        if agent.run_git("stash", check=False).returncode:
            return
        agent.notes.counts["stashes"] += 1
        agent.run_test()
        if agent.run_git("stash", "pop", check=False).returncode:
            agent.notes.counts["failed pops"] += 1
            agent.think_again()
            agent.redo_missing(unit.edits)

    def test(self, agent: Agent, unit: Unit) -> None:
        """Test in the checkout until the tests pass."""
        for tries in range(TIRED):
            if agent.run_test():
                return
            agent.think_again()
            agent.redo_missing(unit.edits)
            agent.tire(tries + 1, "green tests")

    def commit(self, agent: Agent, unit: Unit) -> None:
        raise NotImplementedError

    def end(self, agent: Agent, unit: Unit) -> None:
        """After the commit of UNIT."""

    def finish(self, agent: Agent) -> None:
        """After the last commit."""

    def abandon(self, agent: Agent) -> None:
        """The agent gave up: leave nothing that others wait for."""


class Nothing(Way):
    name = "nothing"

    def test(self, agent: Agent, unit: Unit) -> None:
        """A careful agent that is not to blame tests aside. A careless one gives up after a while and commits."""
        for _ in range(PATIENCE if agent.careful else 6):
            if agent.run_test():
                return
            agent.think_again()
            agent.redo_missing(unit.edits)
        if not agent.careful:
            agent.notes.counts["committed red"] += 1
            return
        for tries in range(TIRED):
            with folder(f"{agent.place}.{agent.name}.aside") as aside:
                with own_index(agent, unit, agent.run_git("rev-parse", "HEAD").stdout.strip()) as index:
                    agent.run_git("checkout-index", "--all", f"--prefix={aside}/", settings=index)
                if agent.run_test(aside):
                    return
            agent.think_again()
            agent.tire(tries + 1, "green tests aside")

    def commit(self, agent: Agent, unit: Unit) -> None:
        if not agent.careful:
            agent.run_git("add", "-A")
            agent.run_git("commit", "--quiet", "--message", unit.message, check=False)  # another's may have taken all
            return
        agent.run_git("diff", "HEAD", "--", *unit.files)  # a look at the diff, for its own hunks
        for tries in range(TIRED):
            head = agent.run_git("rev-parse", "HEAD").stdout.strip()
            with own_index(agent, unit, head) as index:
                tree = agent.run_git("write-tree", settings=index).stdout.strip()
            made = agent.run_git("commit-tree", tree, "-p", head, "-m", unit.message).stdout.strip()
            if agent.run_git("update-ref", "-m", unit.message, MAIN, made, head, check=False).returncode == 0:
                break
            agent.notes.counts["moved heads"] += 1
            agent.tire(tries + 1, "compare-and-swap of the branch")
        agent.run_git("reset", "--quiet", "--", *unit.files, check=False)  # the shared index follows the new HEAD


class WithBb(Way):
    """What both ways with bb have in common: its hooks bracket edits and commands, and may refuse them."""

    def prepare(self, tasks: Sequence[Task]) -> None:
        set_up_bb(self, tasks)

    def make(self, agent: Agent, edit: Edit, new: str) -> bool:
        return bracketed(agent, edit, new)

    def stash(self, agent: Agent, unit: Unit) -> None:
        if allowed(agent, shell("git stash")):
            super().stash(agent, unit)

    def test(self, agent: Agent, unit: Unit) -> None:
        for tries in range(TIRED):
            if self.run_tests(agent):
                return
            agent.think_again()
            agent.redo_missing(unit.edits)
            agent.tire(tries + 1, f"green tests ({self.name})")

    def run_tests(self, agent: Agent) -> bool:
        command = shell(shlex.join(["python", *agent.test_command]))
        allowed(agent, command)
        passed = agent.run_test()
        after(agent, command)
        return passed

    def has_committed_all(self, agent: Agent, unit: Unit) -> bool:
        """A careless agent tries `git add -A && git commit` first. Whether hook and guard let it pass."""
        if agent.careful or not allowed(agent, shell(f"git add -A && git commit -m '{unit.message}'")):
            return False
        agent.run_git("add", "-A")
        if agent.run_git("commit", "--quiet", "--message", unit.message, check=False).returncode == 0:
            return True
        agent.notes.counts["refused"] += 1
        agent.think_again()
        return False


class Files(WithBb):
    name = "files"

    def __init__(self, place: str, python: str, bb: str) -> None:
        super().__init__(place, python, bb)
        self.in_line: dict[str, bool] = {}  # by agent: whether it has to wait for its files

    def begin(self, agent: Agent, unit: Unit) -> None:
        """Take a place in line first: the time until it is granted is for reading and planning."""
        agent.run_bb("turn", "--json")
        bead = f"trial-{agent.task.units.index(unit) + 1}"
        ran = agent.run_bb("reserve", *unit.files, "--exclusive", "--bead", bead, "--queue", "--json")
        self.in_line[agent.name] = answered(ran).get("state") == "queued"

    def waits(self, agent: Agent, unit: Unit) -> bool:  # noqa: ARG002
        if not self.in_line[agent.name]:
            return False
        agent.notes.counts["queued"] += 1
        for tries in range(TIRED):
            ran = agent.run_bb("wait", "--timeout", "600", "--json", phase="wait")
            if ran.returncode == 0 and json.loads(ran.stdout)["data"].get("granted"):
                return True
            agent.tire(tries + 1, "reservation")
        raise AssertionError("tire() ends this")

    def commit(self, agent: Agent, unit: Unit) -> None:
        if self.has_committed_all(agent, unit):
            return
        command = shell(shlex.join(["git", "commit", "-m", unit.message, "--", *unit.files]))
        allowed(agent, command)
        agent.run_git("commit", "--quiet", "--message", unit.message, "--", *unit.files)
        after(agent, command)

    def end(self, agent: Agent, unit: Unit) -> None:
        agent.run_bb("release", *unit.files, "--json")

    def abandon(self, agent: Agent) -> None:
        agent.run_bb("release", "--all", "--json")


class Lines(WithBb):
    name = "lines"

    def begin(self, agent: Agent, unit: Unit) -> None:  # noqa: ARG002
        agent.run_bb("turn", "--json")

    def run_tests(self, agent: Agent) -> bool:
        command = shell(shlex.join(["bb", "run", "--", "python", *agent.test_command]))
        allowed(agent, command)
        passed = run_with_bb(agent)
        after(agent, command)
        return passed

    def commit(self, agent: Agent, unit: Unit) -> None:
        if self.has_committed_all(agent, unit):
            return
        for tries in range(TIRED):
            command = shell(shlex.join(["bb", "commit", "-m", unit.message]))
            allowed(agent, command)
            ran = agent.run_bb("commit", "-m", unit.message)
            after(agent, command)
            if ran.returncode == 0:
                return
            agent.notes.counts["refused"] += 1
            agent.notes.odd.append(f"{agent.name}: bb commit: {ran.stderr.strip()[-400:]}")
            agent.think_again()
            agent.tire(tries + 1, "bb commit")


class Worktree(Way):
    name = "worktree"

    def __init__(self, place: str, python: str, bb: str) -> None:
        super().__init__(place, python, bb)
        self.turn = threading.Lock()  # merges go one after the other: better than to race, merge and test again

    def prepare(self, tasks: Sequence[Task]) -> None:
        gits.git(self.place, "checkout", "--quiet", "--detach")  # so that the main branch can move under nobody
        for task in tasks:
            gits.git(self.place, "worktree", "add", "--quiet", "-b", task.agent, self.place_of(task), "main")

    def place_of(self, task: Task) -> str:
        return f"{self.place}.{task.agent}"

    def commit(self, agent: Agent, unit: Unit) -> None:
        if agent.careful:
            agent.run_git("commit", "--quiet", "--message", unit.message, "--", *unit.files)
        else:
            agent.run_git("add", "-A")
            agent.run_git("commit", "--quiet", "--message", unit.message)

    def finish(self, agent: Agent) -> None:
        with agent.phase("wait"):
            self.turn.acquire()
        try:
            self.merge(agent)
        finally:
            self.turn.release()

    def merge(self, agent: Agent) -> None:
        main = agent.run_git("rev-parse", MAIN).stdout.strip()
        if agent.run_git("merge", "--quiet", "--no-edit", main, check=False).returncode:
            files = agent.run_git("diff", "--name-only", "--diff-filter=U").stdout.splitlines()
            agent.notes.counts["conflicts"] += len(files)
            for file in files:
                agent.think_again()
                agent.run_git("checkout", "--quiet", main, "--", file)
                for edit in agent.task.edits:
                    if edit.file == file and not edit.is_in(agent.content(file)):
                        replace_file(os.path.join(agent.place, file), edit.applied(agent.content(file)))
                agent.run_git("add", "--", file)
            agent.run_git("commit", "--quiet", "--no-edit")
        if not agent.run_test():
            raise GaveUpError("green tests after the merge")
        agent.run_git("update-ref", MAIN, "HEAD", main)


WAYS = {way.name: way for way in (Nothing, Files, Lines, Worktree)}


# -- bb, as a host calls it


def set_up_bb(way: Way, tasks: Sequence[Task]) -> None:
    """The ledger, the hooks of git, and the agents."""
    for words in (
        ["setup", "--yes", "--only", "ledger", "--only", "git-hooks"],
        *(["agent", "register", "--name", task.agent, "--role", "builder"] for task in tasks),
    ):
        ran = subprocess.run(
            [way.bb, *words], cwd=way.place, env=gits.environment(), capture_output=True, text=True, check=False
        )
        if ran.returncode:
            raise RuntimeError(f"bb {' '.join(words)}: {ran.stderr or ran.stdout}")


def bracketed(agent: Agent, edit: Edit, new: str) -> bool:
    """One edit between the hooks of a host; False if it was refused or its anchor has gone."""
    path = os.path.join(agent.place, edit.file)
    if agent.careful:
        tool = call("Edit", {"file_path": path, "old_string": edit.old, "new_string": edit.new})
    else:
        tool = call("Write", {"file_path": path, "content": new})
    if not allowed(agent, tool):
        return False
    done = agent.write(edit, new)
    after(agent, tool)
    return done


def call(tool: str, words: Mapping[str, str]) -> dict[str, object]:
    return {"tool_name": tool, "tool_input": dict(words)}


def shell(command: str) -> dict[str, object]:
    return call("Bash", {"command": command})


def allowed(agent: Agent, tool: Mapping[str, object]) -> bool:
    """Whether the hook before the tool lets the call pass."""
    ran = agent.run_bb("hook", "pre-tool", payload=payload(agent, "PreToolUse", tool))
    if ran.returncode not in (0, 2):
        agent.notes.odd.append(f"{agent.name}: bb hook pre-tool: {ran.stderr.strip()[-400:]}")
    verdict = json.loads(ran.stdout).get("hookSpecificOutput", {}) if ran.stdout.strip() else {}
    if ran.returncode == 2 or verdict.get("permissionDecision") == "deny":
        agent.notes.counts["denied calls"] += 1
        reason = verdict.get("permissionDecisionReason", ran.stderr)
        agent.notes.odd.append(f"{agent.name}: denied: {reason[:400]}")
        agent.forget(reason)
        return False
    return True


def after(agent: Agent, tool: Mapping[str, object]) -> None:
    ran = agent.run_bb("hook", "post-tool", payload=payload(agent, "PostToolUse", tool))
    if ran.returncode:
        agent.notes.odd.append(f"{agent.name}: bb hook post-tool: {ran.stderr.strip()[-400:]}")


def payload(agent: Agent, event: str, tool: Mapping[str, object]) -> dict[str, object]:
    return {"hook_event_name": event, "session_id": f"session-{agent.name}", "cwd": agent.place, **tool}


def answered(ran: subprocess.CompletedProcess[str]) -> dict[str, object]:
    answer = json.loads(ran.stdout)
    if not answer["ok"]:
        raise RuntimeError(f"bb: {answer['error']}")
    data: dict[str, object] = answer["data"]
    return data


def run_with_bb(agent: Agent) -> bool:
    """The tests by `bb run`. The test's own time, which a shell around it notes, is no share of bb's."""
    with tempfile.NamedTemporaryFile("r", prefix="bb-trial-", suffix=".times") as times:
        script = 'date +%s.%N >"$0"; "$@"; status=$?; date +%s.%N >>"$0"; exit $status'
        ran = agent.run_bb("run", "--", "sh", "-c", script, times.name, agent.way.python, *agent.test_command)
        stamps = [float(line) for line in times.read().split()]
    own = stamps[1] - stamps[0] if len(stamps) == 2 else 0.0
    agent.notes.seconds["bb"] -= own
    agent.notes.seconds["test"] += own
    agent.notes.calls["run"][-1] -= own
    return agent.tested(ran.returncode == 0, ran.stdout + ran.stderr)


# -- a commit of one's own lines by hand


class own_index:  # noqa: N801 (reads as a function: `with own_index(…) as settings`)
    """An index of one's own: HEAD with the edits of UNIT only, where the checkout has them. As settings for git."""

    def __init__(self, agent: Agent, unit: Unit, head: str) -> None:
        self.agent, self.unit, self.head = agent, unit, head
        git_folder = agent.run_git("rev-parse", "--absolute-git-dir").stdout.strip()
        self.path = os.path.join(git_folder, f"index.{agent.name}")

    def __enter__(self) -> dict[str, str]:
        settings = {"GIT_INDEX_FILE": self.path}
        self.agent.run_git("read-tree", self.head, settings=settings)
        entries = []
        for file in self.unit.files:
            edits = [edit for edit in self.unit.edits if edit.file == file]
            own = own_content(self.agent, self.head, file, edits)
            blob = self.agent.run_git("hash-object", "-w", "--stdin", text=own).stdout.strip()
            entries.append(f"100644 {blob}\t{file}\n")
        self.agent.run_git("update-index", "--index-info", text="".join(entries), settings=settings)
        return settings

    def __exit__(self, *_: object) -> None:
        os.unlink(self.path)


def own_content(agent: Agent, head: str, file: str, edits: Sequence[Edit]) -> str:
    """FILE of HEAD with EDITS, each at the place where the work tree has it."""
    base = agent.run_git("show", f"{head}:{file}").stdout
    work = agent.content(file)
    open_edits = [edit for edit in edits if not edit.is_in(base)]
    places = []
    for edit in open_edits:
        if edit.where == REPLACE:
            base = without(edit.anchor, base)
        if occurrences(edit.text, work) != 1:
            raise AnchorNotFoundError(f"{file}: the work tree does not have once: {edit.text!r}")
    for edit in sorted(open_edits, key=lambda edit: place_of(edit.text, work)):
        start = place_of(edit.text, work)
        work = work[:start] + work[start + len(edit.text) :]
        places.append((work.count("\n", 0, start), edit.text))
    moved = line_in_base(agent, base, work)
    kept = base.splitlines(keepends=True)
    for line, text in reversed(places):  # from the last one up, so that the numbers above stay right
        kept.insert(moved(line), text)
    return "".join(kept)


def without(block: str, content: str) -> str:
    start = place_of(block, content)
    return content[:start] + content[start + len(block) :]


def line_in_base(agent: Agent, base: str, work: str) -> Callable[[int], int]:
    """Where in BASE a place between two lines of WORK is, by git's diff of the two."""
    with tempfile.TemporaryDirectory(prefix="bb-trial-") as aside:
        for name, text in (("base", base), ("work", work)):
            replace_file(os.path.join(aside, name), text)
        names = [os.path.join(aside, name) for name in ("base", "work")]
        found = agent.run_git("diff", "--no-index", "--unified=0", *names, check=False).stdout
    hunks = []
    for old, old_count, new, new_count in HUNK.findall(found):
        counts = int(old_count or 1), int(new_count or 1)
        # Of an empty side, git names the line before it.
        hunks.append((int(old) - (counts[0] > 0), counts[0], int(new) - (counts[1] > 0), counts[1]))

    def moved(line: int) -> int:
        shift = 0
        for old, old_count, new, new_count in hunks:
            if line <= new:
                break
            if line < new + new_count:
                return old
            shift = (old + old_count) - (new + new_count)
        return line + shift

    return moved
