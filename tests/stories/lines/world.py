"""A work tree in which several agents and a person edit at once, and what is true of it at any moment.

Every line that is written has a mark of its own, such as `a17`: the seventeenth line, written by the agent a. So the
history of git shows who has committed whose line. What the world does is chosen by numbers, so a walk through it can be
repeated, and shortened to what fails.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bb.coordination.lines import weave as weaves
from bb.coordination.lines.file_state import BEGUN, ENDED, SEEN, FileState
from bb.coordination.wiring.tool_edits import ToolEdit
from bb.kernel import clock
from bb.ledger.git import place as places
from bb.ledger.lines import scan, uncommitted
from bb.ledger.lines.act import Act
from bb.ledger.lines.going_commands import Command
from bb.ledger.lines.lines_store import LinesStore
from tests.near import Near
from tests.support import NOON, copied, environment, made_once

AGENTS = (
    *("amber-otter", "cobalt-harbor", "vital-iguana", "quiet-falcon"),
    *("misty-badger", "brisk-heron", "lucid-marten", "snowy-stoat"),
)
PERSON = "user"
LETTERS = dict(zip((*AGENTS, PERSON), "acvqmblsp", strict=True))
MARK = re.compile(rb"\b[acvqmblsp]\d+\b")
START = clock.parse(NOON)
PLAIN, SHA256, LINKED, DETACHED, UNBORN, CONVERTED = range(6)
NAMES = (
    "read.py",
    "dates.txt",
    "src/a b/'quoted\".py",
    "-dash",
    ":colon*[star].md",
    "new\nline",
    os.fsdecode(b"latin-\xe9"),
    "src/deep/er/x",
)
BINARY, LINK, PROGRAM, EMPTY = "picture.bin", "link", "run.sh", "empty"
Step = tuple[int, int, int, int]


def git(path: Path, *words: str, check: bool = True, given: bytes = b"") -> bytes:
    done = subprocess.run(
        ["git", *words], cwd=path, env=environment(GIT_EDITOR="true", LC_ALL="C"), input=given, capture_output=True
    )
    assert done.returncode == 0 or not check, (words, done.stderr)
    return done.stdout


@functools.cache
def _made(kind: int) -> Path:
    """The repository of a kind that the worlds are copies of: five agents, and some files in it."""
    top = made_once(f"world-{kind}") / "repo"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", *(["--object-format=sha256"] if kind == SHA256 else []))
    for name, value in (("user.name", "Tester"), ("user.email", "tester@example.invalid"), ("gc.auto", "0")):
        git(top, "config", name, value)
    shutil.rmtree(top / ".git" / "hooks")
    repo = Near(top)
    if kind != UNBORN:
        write_first_files(top, kind)
        git(top, "add", "-A")
        git(top, "commit", "-qm", "Start")
    assert repo.bb("init", "--no-hooks", BB_NOW=NOON).status in (0, 2)
    for agent in AGENTS:
        assert repo.bb("agent", "register", "--name", agent, "--role", "builder", BB_NOW=NOON).status == 0
    if kind == DETACHED:
        git(top, "checkout", "-q", "--detach")
    return top


def write_first_files(top: Path, kind: int) -> None:
    for at, name in enumerate(NAMES[:6]):
        file = top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = b"".join(b"p%d base\n" % (at * 20 + line) for line in range(12))
        file.write_bytes(lines.removesuffix(b"\n") if at == 1 else lines)
    (top / BINARY).write_bytes(b"\0p900")
    (top / LINK).symlink_to("p901")
    (top / PROGRAM).write_bytes(b"p902 base\n")
    (top / PROGRAM).chmod(0o755)
    (top / EMPTY).write_bytes(b"")
    if kind == CONVERTED:
        (top / ".gitattributes").write_bytes(b"*.txt text eol=crlf\n")
        (top / "dates.txt").write_bytes((top / "dates.txt").read_bytes().replace(b"\n", b"\r\n"))


def _staged(row: bytes | None) -> list[bytes]:
    """The mode and the blob in a row of `git ls-files -s`."""
    return row.split()[:2] if row else []


def _committed(row: bytes | None) -> list[bytes]:
    """The mode and the blob in a row of `git ls-tree`."""
    return row.split()[::2] if row else []


@dataclass
class Bracket:
    """An edit that is going on: of a file, or a shell command that may change any (PATH is empty then)."""

    agent: str
    path: str
    edit: ToolEdit | None = None
    has_written: bool = False
    new: set[bytes] = field(default_factory=set)
    is_alone: bool = True
    removed: bool = False


class World:
    """One work tree. STEPS choose what happens; the properties are checked after each."""

    def __init__(self, top: Path, kind: int = PLAIN, agents: int = 3) -> None:
        copied(_made(kind), top / "repo")
        self.path = top / "repo"
        if kind == LINKED:
            git(self.path, "worktree", "add", "-q", "-b", "other", str(top / "linked"))
            self.path = top / "linked"
        self.kind = kind
        self.repo = Near(self.path)
        self.agents = AGENTS[:agents]
        self.count = 1000
        self.now = START
        self.brackets: list[Bracket] = []
        self.may_own: dict[bytes, set[str]] = {}
        self.may_delete: dict[bytes, set[str]] = {}
        self.writers: dict[str, set[str]] = {}
        self.pending: dict[str, tuple[set[bytes], set[str]]] = {}
        self.commits = 0
        self.stashed = 0
        self.told: list[str] = [""]

    # -- the parts of the world

    def store(self) -> LinesStore:
        return LinesStore(places.find(str(self.path), {}))

    def tick(self) -> int:
        self.now += 1
        return self.now

    def bb(self, *words: str, agent: str | None = None) -> tuple[int, str]:
        settings = {"BB_NOW": clock.text(self.tick())} | ({"BB_AGENT": agent} if agent else {})
        ran = self.repo.bb(words[0], "--json", *words[1:], **settings)
        return ran.status, ran.out + ran.err

    def git(self, *words: str, check: bool = False, given: bytes = b"") -> bytes:
        return git(self.path, *words, check=check, given=given)

    def files(self) -> list[str]:
        found = []
        for folder, folders, names in os.walk(self.path):
            if ".git" in folders:
                folders.remove(".git")
            found += [os.path.relpath(os.path.join(folder, name), self.path) for name in names if name != ".git"]
        return sorted(found)

    def texts(self) -> list[str]:
        return [
            path for path in self.files() if path not in (BINARY, LINK, ".gitattributes") and not self.is_binary(path)
        ]

    def is_binary(self, path: str) -> bool:
        full = self.path / path
        return full.is_symlink() or b"\0" in full.read_bytes()

    def lines(self, path: str) -> list[bytes]:
        try:
            return (self.path / path).read_bytes().splitlines(keepends=True)
        except OSError:
            return []

    # -- writing

    def mark(self, agent: str) -> bytes:
        self.count += 1
        mark = b"%s%d" % (LETTERS[agent].encode(), self.count)
        self.may_own[mark] = {agent}
        return mark

    def put(self, path: str, after: bytes | None, agent: str) -> None:
        """AGENT writes a file, and what follows for who may own the lines."""
        full = self.path / path
        before = set(MARK.findall(full.read_bytes())) if full.is_file() and not full.is_symlink() else set()
        old = set(self.lines(path))
        if after is None:
            full.unlink()
        else:
            full.parent.mkdir(parents=True, exist_ok=True)
            if full.is_symlink():
                full.unlink()
            full.write_bytes(after)
        new = set(after.splitlines(keepends=True)) if after else set()
        added, removed = self.pending.setdefault(path, (set(), set()))
        for line in old - new:
            for mark in MARK.findall(line):
                removed |= self.may_own.get(mark, set())
                self.may_delete.setdefault(mark, set()).add(agent)
        for line in new - old:
            for mark in MARK.findall(line):
                added.add(mark)
                self.may_own.setdefault(mark, set()).add(agent)
        for mark in added:
            self.may_own[mark] |= removed
        for mark in before:
            self.may_delete.setdefault(mark, set()).update(removed if mark not in MARK.findall(after or b"") else ())
        self.writers.setdefault(path, set()).add(agent)

    def change(self, lines: Sequence[bytes], agent: str, how: int, where: int, much: int) -> list[bytes]:
        """LINES with a change of AGENT."""
        at = where % (len(lines) + 1)
        end = min(at + much % 4, len(lines))
        ending = b"\r\n" if any(line.endswith(b"\r\n") for line in lines) else b"\n"
        new = [self.mark(agent) + b" new" + ending for _ in range(1 + much % 3)]
        if how % 4 == 0:
            after = [*lines[:at], *new, *lines[at:]]
        elif how % 4 == 1:
            after = [*lines[:at], *new, *lines[end:]]
        elif how % 4 == 2:
            after = [*lines[:at], *lines[end:]]
        else:
            after = [*lines[:at], *new, *lines[end:], *([self.mark(agent) + b" tail"] if much % 5 == 0 else [])]
        for number, line in enumerate(after[:-1]):
            if not line.endswith(b"\n"):
                after[number] = line + ending
        return after

    # -- checks

    def check_state(self, state: FileState, store: LinesStore) -> None:
        """No owner of a line is an agent that neither wrote it nor wrote over it."""
        if state.is_whole:
            assert self.agents_in(state.owners) <= self.writers.get(state.path, set()), ("whole", state)
            return
        base, now = store.lines(state.base), store.lines(state.now)
        assert weaves.length_of_base(state.weave) == len(base), state
        assert weaves.length_of_now(state.weave) == len(now), state
        before = after = 0
        for run in state.weave:
            if run.kind == weaves.KEPT:
                assert base[before : before + run.count] == now[after : after + run.count], state
            owners = self.agents_in(run.owners)
            if run.kind == weaves.ADDED:
                self.check_owners(owners, now[after : after + run.count], self.may_own, state)
            if run.kind == weaves.DELETED:
                self.check_owners(owners, base[before : before + run.count], self.may_delete, state)
            before += run.count if run.kind != weaves.ADDED else 0
            after += run.count if run.kind != weaves.DELETED else 0
        if state.mode_owner in AGENTS:
            assert state.mode_owner in self.writers.get(state.path, set()), (state.path, state.mode_owner)

    @staticmethod
    def check_owners(owners: set[str], lines: Iterable[bytes], may: dict[bytes, set[str]], state: FileState) -> None:
        for mark in MARK.findall(b"".join(lines)):
            assert owners <= may.get(mark, set()), (state.path, mark, owners, may.get(mark))

    @staticmethod
    def agents_in(owners: Iterable[str]) -> set[str]:
        return {owner for owner in owners if not weaves.is_unattributed(owner)}

    def snapshot(self) -> dict[str, tuple[int, int, bytes]]:
        found = {}
        for path in self.files():
            full = self.path / path
            status = full.lstat()
            octets = os.fsencode(os.readlink(full)) if stat.S_ISLNK(status.st_mode) else full.read_bytes()
            found[path] = (status.st_mode, status.st_mtime_ns, octets)
        return found

    def index(self) -> dict[bytes, bytes]:
        rows = self.git("ls-files", "-s", "-z", check=True).split(b"\0")
        return {row.partition(b"\t")[2]: row.partition(b"\t")[0] for row in rows if row}

    def marks_of(self, blob: bytes) -> list[bytes]:
        return MARK.findall(self.git("cat-file", "blob", blob.decode(), check=True))

    def tree(self, commit: str = "HEAD") -> dict[bytes, bytes]:
        rows = self.git("ls-tree", "-r", "-z", commit).split(b"\0")
        return {row.partition(b"\t")[2]: row.partition(b"\t")[0] for row in rows if row}

    def work_tree(self) -> bytes:
        """The id of the tree of all files, as `git add --all` stores them."""
        env = environment(GIT_INDEX_FILE=str(self.path.parent / "all-index"))
        subprocess.run(["git", "add", "--all"], cwd=self.path, env=env, check=True, capture_output=True)
        return subprocess.run(
            ["git", "write-tree"], cwd=self.path, env=env, check=True, capture_output=True
        ).stdout.strip()

    # -- steps

    def step(self, step: Step) -> None:
        number, who, which, how = step
        agent = self.agents[who % len(self.agents)]
        kinds: list[Callable[[str, int, int], None]] = [
            *(self.begin, self.begin, self.write, self.write, self.write, self.end, self.end, self.begin, self.write),
            *(self.end, self.commit, self.commit, self.commit_shared, self.command, self.command_writes),
            *(self.command_ends, self.claim, self.person_writes, self.person_commits, self.stage, self.by_git),
            *(self.by_git, self.whole_things, self.commit_part),
        ]
        act = kinds[number % len(kinds)]
        self.told.append(f"{act.__name__} {agent} {which} {how}")
        act(agent, which, how)

    def name(self, which: int) -> str:
        known = self.texts()
        names = sorted({*known, *NAMES})
        return names[which % len(names)]

    def begin(self, agent: str, which: int, how: int) -> None:
        path = self.name(which if how % 3 else 0)
        if any(one.agent == agent and one.path in (path, "") for one in self.brackets):
            return
        if (self.path / path).exists() and self.is_binary(path):
            return
        store = self.store()
        self.check_state(uncommitted.look(store, path, Act(BEGUN, agent), self.tick()), store)
        self.pending.pop(path, None)
        bracket = Bracket(agent, path, is_alone=not any(one.path in (path, "") for one in self.brackets))
        if not bracket.is_alone:
            for one in self.brackets:
                if one.path in (path, ""):
                    one.is_alone = False
        self.brackets.append(bracket)
        self.told[-1] += f" {path!r}"

    def write(self, agent: str, which: int, how: int) -> None:
        mine = [one for one in self.brackets if one.agent == agent and one.path]
        if not mine:
            return
        bracket = mine[which % len(mine)]
        if bracket.edit:
            return
        before = self.lines(bracket.path)
        if (self.path / bracket.path).is_file() and self.is_binary(bracket.path):
            return
        after = self.change(before, agent, how, which, how // 4)
        if how % 5 == 4 and not bracket.has_written and before:  # a tool whose result is known
            anchor = before[which % len(before)]
            line = self.mark(agent) + b" made\n"
            if not anchor.endswith(b"\n"):
                line = line.removesuffix(b"\n")
                together = anchor + b"\n" + line
            else:
                together = anchor + line
            if b"\r\n" in anchor:
                return
            given = {"old_string": anchor.decode(), "new_string": together.decode()}
            bracket.edit = ToolEdit("Edit", given, bracket.path)
            after = [b"".join(before).replace(anchor, together)]
            if b"".join(before).count(anchor) != 1:
                return
        new = set(MARK.findall(b"".join(after))) - set(MARK.findall(b"".join(before)))
        bracket.removed = bracket.removed or not set(before) <= set(after)
        if (self.path / bracket.path).is_symlink():
            return
        bracket.has_written = True
        bracket.new |= new
        octets = b"".join(after)
        self.put(bracket.path, None if not octets and how % 7 == 0 and before else octets, agent)

    def end(self, agent: str, which: int, how: int) -> None:
        mine = [one for one in self.brackets if one.agent == agent and one.path]
        if not mine:
            return
        bracket = mine[which % len(mine)]
        self.brackets.remove(bracket)
        store = self.store()
        state = uncommitted.look(store, bracket.path, Act(ENDED, agent, bracket.edit), self.tick())
        self.check_state(state, store)
        self.pending.pop(bracket.path, None)
        if bracket.is_alone and not bracket.removed and not state.is_whole:
            owners = weaves.owners_of_lines(state.weave)
            for line, whose in zip(store.lines(state.now), owners, strict=True):
                if bracket.new.intersection(MARK.findall(line)):
                    assert not whose or agent in whose, ("not attributed", bracket.path, line, whose)

    def command(self, agent: str, which: int, how: int) -> None:
        if any(one.agent == agent for one in self.brackets) or any(not one.path for one in self.brackets):
            return
        store = self.store()
        scan.begin(store, agent, Command(self.tick(), (), is_open=True, is_rewriting=bool(how % 2)))
        for one in self.brackets:
            one.is_alone = False
        self.brackets.append(Bracket(agent, "", is_alone=False))

    def command_writes(self, agent: str, which: int, how: int) -> None:
        """A command of an agent changes files. Another agent that edits one of them itself is not met there."""
        mine = [one for one in self.brackets if one.agent == agent and not one.path]
        if not mine:
            return
        edited = {one.path for one in self.brackets}
        free = [path for path in self.texts() if path not in edited]
        if not free:
            return
        path = free[which % len(free)]
        if how % 5 == 0:  # a formatter
            lines = [line.rstrip() + (b" f" if how % 2 else b"") + b"\n" for line in self.lines(path)]
            self.put(path, b"".join(lines), agent)
        elif how % 5 == 1 and not (self.path / f"moved{which % 3}").exists():
            self.rename(path, f"moved{which % 3}", agent)
        elif how % 5 == 2:
            self.put(path, None, agent)
        elif how % 5 == 3:
            (self.path / path).chmod(0o755 if how % 2 else 0o644)
            self.writers.setdefault(path, set()).add(agent)
        else:
            self.put(path, b"".join(self.change(self.lines(path), agent, how, which, how // 4)), agent)

    def rename(self, path: str, new: str, agent: str) -> None:
        octets = (self.path / path).read_bytes()
        self.put(new, octets, agent)
        for mark in MARK.findall(octets):
            self.may_delete.setdefault(mark, set()).add(agent)
        self.put(path, None, agent)

    def command_ends(self, agent: str, which: int, how: int) -> None:
        mine = [one for one in self.brackets if one.agent == agent and not one.path]
        if not mine:
            return
        self.brackets.remove(mine[0])
        store = self.store()
        for state in scan.end(store, agent, self.tick()):
            self.check_state(state, store)
        self.pending.clear()

    def commit(self, agent: str, which: int, how: int) -> None:
        self.committed(agent, [])

    def commit_part(self, agent: str, which: int, how: int) -> None:
        known = self.store().paths()
        if known:
            path = known[which % len(known)]
            self.committed(agent, [str(self.path / path)], companions=AGENTS if how % 3 == 0 else ())

    def commit_shared(self, agent: str, which: int, how: int) -> None:
        self.committed(agent, [], companions=[one for one in self.agents if one != agent])

    def committed(self, agent: str | None, more: list[str], companions: Sequence[str] = ()) -> int:
        """`bb commit`, and all that must be so after it."""
        before, index, head, tree = (
            self.snapshot(),
            self.index(),
            self.git("rev-parse", "-q", "--verify", "HEAD"),
            self.tree(),
        )
        words = [word for one in companions if one != agent for word in ("--with", one)]
        status, said = self.bb("commit", "-m", f"Commit {self.commits}", *words, "--", *more, agent=agent)
        self.told[-1] += f" -> {status} {said[said.find('code') :][:60] if status else ''}"
        assert before == self.snapshot(), "a commit has changed the work tree"
        allowed = (
            "NOTHING_TO_COMMIT",
            "LINES_SHARED",
            "GIT_OPERATION_IN_PROGRESS",
            "FILE_NOT_FOUND",
            "INVALID_SCOPE",
            "INVALID_TEXT",
        )
        assert status == 0 or any(code in said for code in allowed), said
        assert not (self.path / ".git" / "index.lock").exists()
        if status != 0:
            assert index == self.index(), said
            assert head == self.git("rev-parse", "-q", "--verify", "HEAD"), said
            return status
        self.commits += 1
        after = self.tree()
        committers = {agent, *companions} if agent else {PERSON}
        for path in tree.keys() | after.keys():
            if tree.get(path) != after.get(path):
                self.check_committed(path, tree.get(path), after.get(path), committers)
        self.check_index(index, tree, after, committers)
        return 0

    def check_committed(self, path: bytes, old: bytes | None, new: bytes | None, who: set[str]) -> None:
        was, is_now = (self.marks_of(row.split()[2]) if row else [] for row in (old, new))
        assert len(set(is_now)) == len(is_now), (path, "a line is committed twice", is_now)
        if b"\0" in path or os.fsdecode(path) in (BINARY, LINK):
            return
        for mark in set(is_now) - set(was):
            assert who & self.may_own.get(mark, set()) or PERSON in who, (path, mark, who, self.may_own.get(mark))
        for mark in set(was) - set(is_now):
            assert who & self.may_delete.get(mark, set()) or PERSON in who, (path, mark, who, self.may_delete.get(mark))

    def check_index(
        self, before: dict[bytes, bytes], tree: dict[bytes, bytes], after: dict[bytes, bytes], who: set[str]
    ) -> None:
        now = self.index()
        for path in before.keys() | now.keys() | after.keys():
            was, has, base, head = before.get(path), now.get(path), tree.get(path), after.get(path)
            if base == head:
                assert was == has, (path, "the index of a file outside of the commit has changed")
                continue
            if _staged(was) == _committed(base):
                assert _staged(has) == _committed(head), (path, "what was not staged is staged now")
                continue
            if not (was and has):
                continue
            marks, new = self.marks_of(was.split()[1]), self.marks_of(has.split()[1])
            assert len(set(new)) == len(new), (path, "a line is staged twice", new)
            committed = set(self.marks_of(head.split()[2])) if head else set()
            foreign = {mark for mark in marks if not who & self.may_own.get(mark, {PERSON})}
            gone = {mark for mark in foreign if who & self.may_delete.get(mark, set())}
            assert PERSON in who or foreign - gone <= set(new), (
                path,
                "what others staged is not staged",
                foreign - set(new),
            )
            known = set(marks) | (set(self.marks_of(base.split()[2])) if base else set())
            lost = committed - set(new) - known
            assert not lost, (path, "the index takes back what was committed", lost)

    def claim(self, agent: str, which: int, how: int) -> None:
        known = self.store().paths()
        if not known or any(one.agent == agent for one in self.brackets):
            return
        path = known[which % len(known)]
        store = self.store()
        before = uncommitted.look(store, path, Act(SEEN), self.tick())
        self.check_state(before, store)
        self.may_claim(before, store, agent)
        (after,) = uncommitted.claim(store, [path], agent, self.tick())
        assert before.now == after.now
        for old, new in zip(weaves.owners_of_lines(before.weave), weaves.owners_of_lines(after.weave), strict=True):
            assert self.agents_in(old) <= set(new)

    def may_claim(self, state: FileState, store: LinesStore, agent: str) -> None:
        base, now = store.lines(state.base, is_whole=state.is_whole), store.lines(state.now, is_whole=state.is_whole)
        before = after = 0
        self.writers.setdefault(state.path, set()).add(agent)
        for run in state.weave:
            has_mark = any(weaves.is_unattributed(owner) for owner in run.owners)
            if has_mark and run.kind == weaves.ADDED:
                for mark in MARK.findall(b"".join(now[after : after + run.count])):
                    self.may_own.setdefault(mark, set()).add(agent)
            if has_mark and run.kind == weaves.DELETED:
                for mark in MARK.findall(b"".join(base[before : before + run.count])):
                    self.may_delete.setdefault(mark, set()).add(agent)
            before += run.count if run.kind != weaves.ADDED else 0
            after += run.count if run.kind != weaves.DELETED else 0

    def person_writes(self, agent: str, which: int, how: int) -> None:
        """A person edits a file without a bracket, while nobody else has one there."""
        path = self.name(which)
        full = self.path / path
        if any(one.path in (path, "") for one in self.brackets) or (full.exists() and self.is_binary(path)):
            return
        store = self.store()
        uncommitted.look(store, path, Act(SEEN), self.tick())
        self.put(path, b"".join(self.change(self.lines(path), PERSON, how, which, how // 4)), PERSON)
        self.check_state(uncommitted.look(store, path, Act(SEEN), self.tick()), store)
        self.pending.pop(path, None)

    def person_commits(self, agent: str, which: int, how: int) -> None:
        self.committed(None, [])

    def stage(self, agent: str, which: int, how: int) -> None:
        words = ["add", "-A"] if how % 3 == 0 else ["add", "--", f":(literal){self.name(which)}"]
        self.git(*words)

    def whole_things(self, agent: str, which: int, how: int) -> None:
        """A binary file, a link, or a program is changed in a bracket."""
        path = (BINARY, LINK, PROGRAM, EMPTY)[which % 4]
        if any(one.path in (path, "") for one in self.brackets):
            return
        store, full = self.store(), self.path / path
        uncommitted.look(store, path, Act(BEGUN, agent), self.tick())
        self.writers.setdefault(path, set()).add(agent)
        if path == LINK:
            full.unlink(missing_ok=True)
            full.symlink_to(self.mark(agent).decode())
        elif path == BINARY:
            full.write_bytes(b"\0" + self.mark(agent))
        elif path == PROGRAM and full.exists():
            full.chmod(0o644 if how % 2 else 0o755)
        elif how % 3 == 0 and full.exists():
            self.put(path, None, agent)
        else:
            self.put(path, b"", agent)
        self.check_state(uncommitted.look(store, path, Act(ENDED, agent), self.tick()), store)
        self.pending.pop(path, None)

    def by_git(self, agent: str, which: int, how: int) -> None:
        """Somebody uses git beside bb."""
        if self.brackets:
            which %= 3  # what changes files would count as the work of those who edit them
        for bracket in self.brackets:
            bracket.is_alone = False
        moves_ = [
            self.git_commit, self.git_soft, self.git_mixed, self.git_hard, self.git_stash, self.git_pop,
            self.git_pulled, self.git_rebased, self.git_amend,
        ]  # fmt: skip
        act = moves_[which % len(moves_)]
        self.told[-1] += f" {act.__name__}"
        act()
        self.looked_at()

    def looked_at(self) -> None:
        store = self.store()
        for path in scan.changed(store):
            self.check_state(uncommitted.look(store, path, Act(SEEN), self.tick()), store)

    def git_commit(self) -> None:
        self.git("commit", "-qam", "By hand")

    def git_amend(self) -> None:
        self.git("commit", "-q", "--amend", "-m", "Amended")

    def git_soft(self) -> None:
        self.git("reset", "-q", "--soft", "HEAD~1")
        self.after_reset()

    def git_mixed(self) -> None:
        self.git("reset", "-q", "--mixed", "HEAD~1")
        self.after_reset()

    def git_hard(self) -> None:
        self.git("reset", "-q", "--hard", "HEAD")

    def after_reset(self) -> None:
        """Whoever claims a change may own it; what was committed is nobody's now."""

    def git_stash(self) -> None:
        if self.stashed == 0 and self.git("stash", "push", "-q", "-u") == b"" and self.git("stash", "list"):
            self.stashed = 1

    def git_pop(self) -> None:
        if self.stashed:
            before = self.git("stash", "list")
            self.git("stash", "pop", "-q")
            if self.git("stash", "list") == before:
                self.git("checkout", "-q", "-f", "HEAD", "--", ".")
                self.git("reset", "-q", "--hard")
                self.git("stash", "drop", "-q")
            self.stashed = 0

    def other_commit(self, base: str) -> str:
        """A commit on BASE that somebody made elsewhere: it puts a line first into a file."""
        name = NAMES[0]
        old = self.git("cat-file", "blob", f"{base}:{name}")
        blob = (
            self.git("hash-object", "-w", "--stdin", given=self.mark(PERSON) + b" pulled\n" + old, check=True)
            .decode()
            .strip()
        )
        env_index = str(self.path.parent / "other-index")
        run = functools.partial(
            subprocess.run, cwd=self.path, env=environment(GIT_INDEX_FILE=env_index), check=True, capture_output=True
        )
        run(["git", "read-tree", base])
        run(["git", "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}"])
        tree = run(["git", "write-tree"]).stdout.decode().strip()
        os.unlink(env_index)
        return run(["git", "commit-tree", "-p", base, "-m", "Elsewhere", tree]).stdout.decode().strip()

    def git_pulled(self) -> None:
        if self.has_head():
            other = self.other_commit("HEAD")
            self.git("merge", "-q", "--autostash", "--no-edit", other)
            self.clean_up()

    def git_rebased(self) -> None:
        if self.has_head() and self.git("rev-parse", "-q", "--verify", "HEAD~1"):
            other = self.other_commit(self.git("rev-parse", "HEAD~1").decode().strip())
            self.git("rebase", "-q", "--autostash", other)
            self.clean_up()

    def has_head(self) -> bool:
        return bool(self.git("rev-parse", "-q", "--verify", "HEAD"))

    def clean_up(self) -> None:
        """A merge or rebase that met a conflict is taken back."""
        self.git("rebase", "--abort")
        self.git("merge", "--abort")
        if self.git("ls-files", "-u") or b"<<<<<<<" in b"".join(b"".join(self.lines(path)) for path in self.files()):
            self.git("reset", "-q", "--hard")
        while len(self.git("stash", "list").splitlines()) > self.stashed:
            self.git("stash", "drop", "-q")

    # -- the end

    def settle(self) -> None:
        """All edits end, every agent commits, somebody claims what is nobody's: then HEAD is the work tree."""
        for bracket in list(self.brackets):
            self.told.append(f"settle {bracket.agent} {bracket.path!r}")
            if bracket.path:
                self.end(
                    bracket.agent, [b for b in self.brackets if b.agent == bracket.agent and b.path].index(bracket), 0
                )
            else:
                self.command_ends(bracket.agent, 0, 0)
        self.told.append("settle")
        self.check_diff()
        for agent in self.agents:
            self.committed(agent, [], companions=self.agents)
        store = self.store()
        claimer = self.agents[-1]
        for path in scan.changed(store):
            self.may_claim(uncommitted.look(store, path, Act(SEEN), self.tick()), store, claimer)
            state = uncommitted.claim(store, [path], claimer, self.tick())[0]
            # What an agent has seen and left there is not claimed: the person commits it.
        self.committed(claimer, [], companions=self.agents)
        self.committed(None, [])
        left = [state for path in self.store().paths() if (state := self.store().state(path)) and state.is_changed]
        for agent in self.agents:  # shared with nobody known
            paths = [str(self.path / one.path) for one in left]
            for path in paths:
                words = [w for p in self.agents if p != agent for w in ("--with", p)]
                self.bb("commit", "-m", "Rest", *words, f"--include-unattributed={path}", "--", path, agent=agent)
        for committer in (*self.agents, None):
            self.committed(committer, [], companions=self.agents)
        if self.has_head():
            assert self.work_tree() == self.git("rev-parse", "HEAD^{tree}").strip(), self.git("diff", "HEAD")
        for path, row in self.tree().items():
            marks = self.marks_of(row.split()[2])
            assert len(marks) == len(set(marks)), (path, marks)
        assert self.git("fsck", "--no-dangling", "--no-progress", check=True) == b""

    def check_diff(self) -> None:
        """The patches of all agents and of nobody are together what makes HEAD into the work tree."""
        if not self.has_head():
            return
        added: set[bytes] = set()
        for agent in (*self.agents, "-"):
            status, said = self.bb("diff", "--agent", agent)
            assert status == 0, said
            added |= set(MARK.findall(said.encode()))
        work: set[bytes] = set()
        for path in self.texts():
            work |= set(MARK.findall((self.path / path).read_bytes()))
        head = {mark for row in self.tree().values() for mark in self.marks_of(row.split()[2])}
        assert work - head <= added | self.entangled(), ("not in any patch", work - head - added)

    def entangled(self) -> set[bytes]:
        """The marks of lines with several owners, which are in no agent's patch."""
        store, found = self.store(), set()
        for path in store.paths():
            state = store.state(path)
            if state and not state.is_whole:
                for line, whose in zip(store.lines(state.now), weaves.owners_of_lines(state.weave), strict=True):
                    if len(whose) > 1:
                        found |= set(MARK.findall(line))
        return found


def walk(top: Path, kind: int, agents: int, steps: Iterable[Step]) -> World:
    world = World(top, kind, agents)
    for step in steps:
        world.step(step)
    world.settle()
    return world
