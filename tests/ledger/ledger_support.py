"""What the tests of the ledger share: short ways to write, a second opinion on chains, failing disks, child processes.

Nothing here imports pytest, so that a child process which runs one of these functions starts quickly.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bb.coordination.agents import identity, roster
from bb.coordination.facts import Seen, Updated
from bb.kernel import clock
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.care import audit as audits
from bb.ledger.git import place as places
from bb.ledger.journal import journal as journals
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from bb.ledger.journal.line import Link
from bb.ledger.records import creation, event_filters
from bb.ledger.records.store import Store
from tests import preloaded
from tests.support import NOON, ROOT, environment
from tests.waiting import PATIENCE

Child = preloaded.Process | subprocess.Popen[str]

NOW = clock.parse(NOON)
WRITER, OTHER_WRITER = "aaaabbbbcccc", "ddddeeeeffff"
ADA, BO = "amber-otter", "cobalt-harbor"


# -- a journal alone


def bare_journal(store: Path, writer: str = WRITER) -> Journal:
    """A journal without a ledger around it."""
    folder = store / "j" / writer
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    return Journal(str(store), writer)


def say(journal: Journal, *texts: str) -> list[str]:
    """Append a message for each text, in one write; the ids acknowledged."""

    def events(link: Link) -> list[Event]:
        return [
            message(journal.writer, link.n + place, link.lamport + place, text) for place, text in enumerate(texts, 1)
        ]

    with journal.lock():
        return [event.id for event in journal.append(events, lambda: "saltsalt")]


def message(writer: str, n: int, lamport: int, text: str) -> Event:
    return Event(f"{writer}.{n}", lamport, NOON, "chat.message", ADA, {"text": text}, group_id="g_test")


def written(drafts: Iterable[tuple[int, str, dict[str, Any]]], writer: str = WRITER, by: str = ADA) -> list[bytes]:
    """The lines of a whole journal, from its Lamport times, kinds and data."""
    link, raws = lines.START, []
    for n, (lamport, kind, data) in enumerate(drafts, 1):
        event = Event(f"{writer}.{n}", lamport, clock.text(NOW + n), kind, by, data, group_id="g_test")
        raw, link = lines.write(event, link, "saltsalt")
        raws.append(raw)
    return raws


# -- a second opinion: the format as the design says it, read with nothing of bb


def head_of(raw: bytes) -> bytes:
    return raw.partition(b',"data":')[0]


def short_hash(octets: bytes) -> str:
    return hashlib.sha256(octets).hexdigest()[:32]


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def chained(folder: Path) -> list[dict[str, Any]]:
    """Every line of the journal in FOLDER as JSON, having made sure that the chain holds from the first to the last."""
    previous, found = "0" * 32, []
    for segment in segments(folder):
        octets = segment.read_bytes()
        assert octets == b"" or octets.endswith(b"\n"), f"{segment} ends in the middle of a line"
        for raw in octets.splitlines():
            line = json.loads(raw)
            assert line["id"] == f"{folder.name}.{len(found) + 1}", "ids are dense"
            assert line["p"] == previous, f"{line['id']} does not follow from the line before it"
            assert line["dh"] == short_hash(raw.partition(b',"data":')[2][:-1]), f"{line['id']}: its data changed"
            assert not found or line["l"] > found[-1]["l"], "Lamport time rises"
            previous = short_hash(head_of(raw))
            found.append(line)
    return found


def every_chain(store: Path) -> dict[str, list[dict[str, Any]]]:
    """The checked lines of every writer."""
    return {folder.name: chained(folder) for folder in sorted((store / "j").glob("*")) if folder.is_dir()}


def every_line(store: Path) -> list[dict[str, Any]]:
    return [line for chain in every_chain(store).values() for line in chain]


def registrations(store: Path, agent: str) -> list[str]:
    """The ids of the lines that register AGENT."""
    return [
        line["id"] for line in every_line(store) if line["kind"] == "actor.add" and line["data"]["actor_id"] == agent
    ]


# -- a ledger in a repository


def repository(path: Path) -> Path:
    """The least that git takes for a repository: made in no time, and without a commit."""
    for folder in ("objects", "refs"):
        (path / ".git" / folder).mkdir(parents=True)
    (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return path


def kept(path: Path) -> Path:
    """Where the repository at PATH keeps its ledger."""
    return path / ".git" / "bb"


def only_segment(path: Path) -> Path:
    (found,) = kept(path).glob("j/*/*.jsonl")
    return found


def forget_index(path: Path) -> None:
    for file in kept(path).glob("index.sqlite*"):
        file.unlink()


def damage_line(segment: Path, n: int) -> int:
    """Flip a bit in the data of the Nth line of a file; the offset of that line."""
    raws = segment.read_bytes().splitlines(keepends=True)
    start = sum(map(len, raws[: n - 1]))
    flip(segment, start + len(raws[n - 1]) - 5)
    return start


def flip(file: Path, offset: int, bit: int = 0) -> None:
    """Flip one bit of a byte, in place."""
    with file.open("r+b") as opened_file:
        opened_file.seek(offset)
        (byte,) = opened_file.read(1)
        opened_file.seek(offset)
        opened_file.write(bytes([byte ^ 1 << bit]))


def store_at(path: Path | str) -> Store:
    return Store(places.find(str(path), {}))


@contextmanager
def opened(path: Path | str) -> Iterator[Store]:
    """The ledger of the repository at PATH, closed at the end."""
    store = store_at(path)
    try:
        yield store
    finally:
        store.close()


def register(store: Store, agent: str, *, role: str = "builder", key: str | None = None, force: bool = False) -> Event:
    """Register AGENT under the rule that a name is taken once."""

    def decide(index: Any) -> list[Any]:
        present = roster.agent(agent, index.state(roster.NAME, agent))
        return [identity.register(present, agent, role, None, force=force, state="active")]

    return store.record(decide, by=agent, now=NOW, key=key)[-1]


def note(store: Store, agent: str, role: str = "builder") -> Event:
    """Record something small that no rule forbids."""
    return store.record(lambda _: [Updated(agent, role)], by=agent, now=NOW)[-1]


def make(path: Path | str, *agents: str) -> None:
    """Make the ledger at PATH, and register AGENTS."""
    with opened(path) as store:
        creation.make(store, "test", "user", NOW)
        for agent in agents:
            register(store, agent)


def agents(path: Path | str) -> list[str]:
    """Who is registered at PATH."""
    with opened(path) as store:
        return [agent for agent, _ in store.caught_up().states(roster.NAME)]


def audited(path: Path | str) -> audits.Audit:
    with opened(path) as store:
        return audits.audit(store)


def problems(found: audits.Audit) -> list[str]:
    """What an audit complains of."""
    broken = [f"{chain.writer} line {chain.damage.n}: {chain.damage.reason}" for chain in found.chains if chain.damage]
    torn = [f"{chain.writer} is torn" for chain in found.chains if chain.is_torn]
    return broken + torn + ([] if found.is_index_right else ["the index is wrong"])


def digest(path: Path | str) -> str:
    with opened(path) as store:
        return audits.state_digest(store.caught_up())


def refusal_of(call: Callable[[], object]) -> str | None:
    """The code of the refusal that CALL ends in; None when it is not refused."""
    try:
        call()
    except BbError as error:
        return error.code
    return None


# -- a disk that fails when told to

SYSTEM_CALLS = ("open", "write", "fsync", "fdatasync", "ftruncate", "replace")


class FaultyDisk:
    """The system's calls, some of which fail as planned. Put in place by `patched`."""

    def __init__(self) -> None:
        self.real = {name: getattr(os, name) for name in SYSTEM_CALLS}
        self.paths: dict[int, str] = {}
        self.log: list[tuple[str, str]] = []
        self._plans: list[dict[str, Any]] = []
        self.on_call: Callable[[int, str, str], None] = lambda *_: None
        self.dies_in = 0

    def fail(
        self, call: str, number: int, *, on: str = ".jsonl", times: int = 1, after: int = 0, writing: bool = False
    ) -> None:
        """Let CALL fail with error NUMBER on files whose path ends with ON, TIMES times.

        A write first puts AFTER bytes on the disk: a short write, then the error. WRITING opens only: those that ask
        to write.
        """
        self._plans.append(
            {"call": call, "number": number, "on": on, "times": times, "after": after, "writing": writing}
        )

    def shorten(self, *, on: str = ".jsonl", to: int = 7, times: int = 1) -> None:
        """Let writes to files ending with ON take only TO bytes, TIMES times, without an error."""
        self._plans.append(
            {"call": "write", "number": 0, "on": on, "times": times, "after": to, "writing": False, "short": True}
        )

    def mend(self) -> None:
        """From now on everything works."""
        self._plans.clear()
        self.on_call = lambda *_: None
        self.dies_in = 0

    def _plan(self, call: str, path: str, flags: int = 0) -> dict[str, Any] | None:
        if "/.git/bb" not in path:
            return None  # only the disk that the ledger is on fails
        self.log.append((call, path))
        self.on_call(len(self.log), call, path)
        if len(self.log) == self.dies_in and call != "write":
            os._exit(9)
        for plan in self._plans:
            is_meant = plan["call"] == call and path.endswith(plan["on"]) and plan["times"] > 0
            if is_meant and not (plan["writing"] and not flags & (os.O_WRONLY | os.O_RDWR)):
                plan["times"] -= 1
                return plan
        return None

    def open(self, path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if plan := self._plan("open", os.fspath(path), flags):
            raise OSError(plan["number"], os.strerror(plan["number"]), path)
        fd = self.real["open"](path, flags, *rest, **named)
        self.paths[fd] = os.fspath(path)
        return fd

    def write(self, fd: int, octets: bytes) -> int:
        plan = self._plan("write", self.paths.get(fd, ""))
        if self.dies_in and len(self.log) == self.dies_in:
            self.real["write"](fd, octets[: len(octets) // 2])
            os._exit(9)
        if plan is None:
            return self.real["write"](fd, octets)
        if plan.get("short"):
            return self.real["write"](fd, octets[: plan["after"]])
        if 0 < plan["after"] < len(octets):
            plan["times"] += 1  # the error comes with the next try
            written = self.real["write"](fd, octets[: plan["after"]])
            plan["after"] = 0
            return written
        raise OSError(plan["number"], os.strerror(plan["number"]))

    def _sync(self, call: str, fd: int, *rest: Any) -> None:
        if plan := self._plan(call, self.paths.get(fd, "")):
            raise OSError(plan["number"], os.strerror(plan["number"]))
        self.real[call](fd, *rest)

    def fsync(self, fd: int) -> None:
        self._sync("fsync", fd)

    def fdatasync(self, fd: int) -> None:
        self._sync("fdatasync", fd)

    def ftruncate(self, fd: int, length: int) -> None:
        self._sync("ftruncate", fd, length)

    def replace(self, source: Any, target: Any) -> None:
        if plan := self._plan("replace", os.fspath(target)):
            raise OSError(plan["number"], os.strerror(plan["number"]), target)
        self.real["replace"](source, target)

    @contextmanager
    def patched(self) -> Iterator[FaultyDisk]:
        """The disk in place of the real one."""
        for name in SYSTEM_CALLS:
            setattr(os, name, getattr(self, name))
        try:
            yield self
        finally:
            for name, call in self.real.items():
                setattr(os, name, call)


# -- child processes


# To stand before a child's program: bb finds no `fcntl`, and filelock, which is loaded already, does its work with it.
WITHOUT_FLOCK = "import filelock, sys; sys.modules['fcntl'] = None; "


def child(function: Callable[..., None], *words: object, before: str = "", **settings: Any) -> Child:
    """A process of its own that runs FUNCTION, one of this module's, with WORDS as text, after the program BEFORE."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    if not before:
        return preloaded.call(function, *words, **pipes, **settings)
    program = before + f"import sys; from tests.ledger.ledger_support import {function.__name__} as run; "
    program += "run(*sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        env=environment(),
        cwd=ROOT,
        **pipes,
        **settings,
    )


def together(children: Sequence[Child]) -> list[str]:
    """Let children that wait for it go at the same moment; what each said, having ended well."""
    for one in children:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in children:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [ended(one) for one in children]
    assert [one.returncode for one in children] == [0] * len(children), said
    return said


def finished(one: Child) -> str:
    """What a child said; it must have ended well."""
    out = ended(one)
    assert one.returncode == 0, out
    return out


def ended(one: Child) -> str:
    """What a child said until its end, which comes within two minutes."""
    try:
        return one.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        one.kill()
        one.communicate()
        raise


def ready() -> None:
    """Say that this child has started, and wait for the others."""
    os.write(1, b"ready\n")
    sys.stdin.readline()


def tell(text: object) -> None:
    os.write(1, f"{text}\n".encode())


# What children do


def take_turns(path: str, agent: str, count: str) -> None:
    """Register COUNT agents of which nobody else has heard."""
    ready()
    with opened(path) as store:
        for turn in range(int(count)):
            tell(register(store, f"{agent}-{turn}").id)


def take_the_same(path: str, count: str) -> None:
    """Try to register agents that others are trying to register just now."""
    ready()
    with opened(path) as store:
        for turn in range(int(count)):
            tell(refusal_of(lambda turn=turn: register(store, f"wanted-{turn}")) or "mine")


def make_it(path: str) -> None:
    """Make the ledger, as others are doing just now."""
    ready()
    with opened(path) as store:
        tell(creation.make(store, "test", "user", NOW))


def talk(store: str, writer: str, name: str, count: str) -> None:
    """Append COUNT lines of many sizes to a journal that others append to as well."""
    ready()
    journal = Journal(store, writer)
    for turn in range(int(count)):
        tell(*say(journal, f"{name} {turn} " + "x" * (turn * 97 % 3000)))


def write_until_killed(path: str, agent: str, log: str, segment_size: str) -> None:
    """Record one small fact after the other; put each id into LOG once it has been acknowledged."""
    journals.SEGMENT_SIZE = int(segment_size)
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with opened(path) as store:
        for turn in range(1_000_000):
            event = note(store, agent, role="builder" if turn % 3 else "r" * 60)
            os.write(fd, f"{event.id}\n".encode())


def write_for(path: str, agent: str, seconds: str, segment_size: str) -> None:
    """Record one small fact after the other for some time."""
    journals.SEGMENT_SIZE = int(segment_size)
    ready()
    end = time.monotonic() + float(seconds)
    with opened(path) as store:
        while time.monotonic() < end:
            note(store, agent)


def read_for(path: str, seconds: str) -> None:
    """Read in every way there is for some time, and tell of every problem."""
    ready()
    end = time.monotonic() + float(seconds)
    with opened(path) as kept:
        while time.monotonic() < end:
            _read_once(kept)
            with opened(path) as fresh:
                _read_once(fresh)
    tell("done")


def _read_once(store: Store) -> None:
    try:
        index = store.caught_up()
        if not list(index.states(roster.NAME)):
            tell("nobody is registered")
        if index.damages():
            tell(f"damages {index.damages()}")
        if not event_filters.latest(store, event_filters.Filter(), 3):
            tell("no events")
        for problem in problems(audits.audit(store)):
            if not problem.endswith("is torn"):  # somebody is writing it now
                tell(problem)
    except Exception as error:
        tell(repr(error))


def rebuild_for(path: str, seconds: str) -> None:
    """Rebuild the index again and again for some time."""
    ready()
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        with opened(path) as store:
            store.index.rebuild(store.journals())
        time.sleep(0.005)
    tell("done")


def look_once(path: str) -> None:
    """Open the ledger when everybody else does, and tell who is registered."""
    ready()
    with opened(path) as store:
        tell(" ".join(agent for agent, _ in store.caught_up().states(roster.NAME)))


def hold(lock: str, patience: str) -> None:
    """Hold a lock until told to go, or killed."""
    from bb.ledger.files.lock import Lock, try_lock

    with Lock(lock, float(patience)):
        tell(f"held by {os.getpid()} by {try_lock.__module__}")
        sys.stdin.readline()


def append_one(path: str, agent: str) -> None:
    """Record one fact when told to, and tell when."""
    with opened(path) as store:
        store.caught_up()
        ready()
        event = store.record(lambda _: [Seen(agent, "stale")], by=agent, now=NOW)[-1]
        tell(f"{event.id} {time.monotonic()}")


def beat_for(store: str, agent: str, seconds: str) -> None:
    """Replace a presence file again and again for some time."""
    from bb.ledger.local import presence

    record = {"agent_id": agent, "display_name": agent, "role": "r", "status": "idle", "created_at": NOON, "changes": 1}
    ready()
    end = time.monotonic() + float(seconds)
    beats = 0
    while time.monotonic() < end:
        beats += 1
        role = "short" if beats % 2 else "a much longer role that takes more room on the disk"
        presence.write(store, presence.Presence(agent, NOW + beats, beats, record | {"role": role}))
    tell(beats)


def die_in_every_call(root: str, scene: str) -> None:
    """Act SCENE once for each system call it makes, each time in a world of its own, and die in the midst of that call.

    The worlds are ROOT/1, ROOT/2 and so on; what was acknowledged before the end stands in ROOT/<number>.log. A write
    that is died in has half of its bytes written.
    """
    prepare, act = SCENES[scene]
    for nth in range(1, 1000):
        world = f"{root}/{nth}"
        prepare(Path(world))
        pid = os.fork()
        if not pid:
            _act_and_die(act, world, nth)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
            tell(nth)
            return
    raise AssertionError("the scene never ends")


def _act_and_die(act: Callable[[str], list[str]], world: str, nth: int) -> None:
    disk = FaultyDisk()
    try:
        with disk.patched():
            disk.dies_in = nth
            acknowledged = act(world)
            disk.mend()
        Path(f"{world}.log").write_text("\n".join(acknowledged))
        os._exit(0)
    finally:
        os._exit(1)


def prepare_nothing(world: Path) -> None:
    repository(world)


def prepare_agents(world: Path) -> None:
    repository(world)
    make(world, ADA)


def prepare_damage(world: Path) -> None:
    """Line 3 of 5 is damaged, and behind it stand two that are whole."""
    prepare_agents(world)
    with opened(world) as store:
        note(store, ADA, "tester")
        register(store, BO)
        register(store, "quiet-heron")
    damage_line(only_segment(world), 3)
    forget_index(world)


def _scene_first_steps(world: str) -> list[str]:
    with opened(world) as store:
        creation.make(store, "test", "user", NOW)
        return [register(store, ADA).id]


def _scene_roll(world: str) -> list[str]:
    journals.SEGMENT_SIZE = 1
    with opened(world) as store:
        return [register(store, BO, key="once").id]


def _scene_mend(world: str) -> list[str]:
    from bb.ledger.care import checkup

    return checkup.mend(world, {}, NOW)


SCENES = {
    "first-steps": (prepare_nothing, _scene_first_steps),
    "roll": (prepare_agents, _scene_roll),
    "mend": (prepare_damage, _scene_mend),
}
