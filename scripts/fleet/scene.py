"""A fleet on one box: a hub, an engine, and machines, each with a clone, a home and a daemon of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bb.kernel.errors import BbError
from bb.ledger.fleet import asking
from tests.engines import Postgres, Proxy

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python"
BB = ROOT / ".venv" / "bin" / "bb"


class Machine:
    """A machine of the fleet: a clone, and the home of its daemon."""

    def __init__(self, scene: Scene, number: int, port: int | None) -> None:
        self.number, self.name = number, f"m{number}"
        self.clone, self.home = scene.folder / f"clone{number}", scene.folder / f"home{number}"
        self.scene = scene
        self.engine = scene.address(self.name, port)

    @property
    def store(self) -> str:
        return str(self.clone / ".git" / "bb")

    def bb(self, *words: str, may_fail: bool = False) -> dict[str, object]:
        """The answer of a command in the clone."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("BB_", "PG"))}
        env |= {"BB_HOME": str(self.home), "CCCC_HOME": str(self.home), "BB_SYNC": "off"}
        done = subprocess.run(
            [BB, *words, "--json"], check=False, cwd=self.clone, env=env, capture_output=True, text=True
        )
        answer: dict[str, object] = json.loads(done.stdout or "{}")
        if not (answer.get("ok") or may_fail):
            raise RuntimeError(f"{self.name}: bb {' '.join(words)}: {done.stdout} {done.stderr}")
        return answer

    def ask(self, question: str, patience: float = 30, **more: object) -> dict[str, object]:
        return asking.ask(self.store, {"ask": question, **more}, patience)

    def status(self) -> dict[str, object]:
        return self.ask("status", 10)

    def relay(self) -> int:
        """The process of its relay."""
        return int((self.home / "daemon" / "ccccd.pid").read_text())


class Scene:
    """The whole fleet. The odd machines connect through a proxy that can be cut."""

    def __init__(self, folder: Path, server: Postgres, database: str = "fleet") -> None:
        self.folder, self.server, self.database = folder, server, database
        self.hub = folder / "hub.git"
        self.proxy = Proxy(("127.0.0.1", server.port))
        self.machines: list[Machine] = []
        self.incarnation = ""

    def address(self, role: str, port: int | None) -> str:
        """What a machine connects to, as its own role."""
        return f"host=127.0.0.1 port={port or self.server.port} dbname={self.database} user={role}"

    def begin(self) -> None:
        """Make the hub, the database, and the first machine, which begins the fleet."""
        self.server.sql(f"create database {self.database}")
        git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.hub))
        first = Machine(self, 0, None)
        git(self.folder, "clone", "--quiet", str(self.hub), str(first.clone))
        git(first.clone, "commit", "--quiet", "--allow-empty", "-m", "begin")
        git(first.clone, "push", "--quiet", "origin", "HEAD:main")
        first.bb("init")
        first.bb("sync", "--publish")
        first.engine = self.address("postgres", None)
        first.bb("fleet", "begin", first.engine)
        self.machines.append(first)
        status = first.status()
        self.incarnation = str(status["incarnation"])

    def enroll(self, names: list[str]) -> None:
        for name in names:
            self.machines[0].bb("fleet", "enroll", name, "--do")

    def grow(self, count: int) -> None:
        """Let machines join, two at a time, until there are COUNT."""
        new = [Machine(self, n, self.proxy.port if n % 2 else None) for n in range(len(self.machines), count)]
        self.enroll([machine.name for machine in new])
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(join, new))
        self.machines += new

    def converged(self, patience: float = 60) -> dict[str, tuple[int, str]]:
        """The place and the digest of each machine, once all have read what the engine has."""
        heads = {}
        for machine in self.machines:
            machine.ask("fresh", patience)
            heads[machine.name] = place_of(machine)
        return heads

    def swallow(self) -> None:
        """Let nothing pass to and from the odd machines, and tell nobody, as a firewall does."""
        self.proxy.is_held = True

    def end(self) -> None:
        for machine in self.machines:
            machine.bb("daemon", "stop", may_fail=True)


def place_of(machine: Machine) -> tuple[int, str]:
    status = machine.status()
    return int(str(status["place"])), str(status["digest"])


def join(machine: Machine) -> None:
    """Clone the hub, fetch the ledger, and connect to the engine."""
    git(machine.clone.parent, "clone", "--quiet", str(machine.scene.hub), str(machine.clone))
    machine.bb("sync", "--pull")
    machine.bb("fleet", "join", machine.engine)


def git(where: Path, *words: str) -> None:
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"]
    subprocess.run(["git", *identity, *words], cwd=where, check=True)


class Load:
    """The agents of all machines, in a few processes, for some SECONDS or until `stop`."""

    def __init__(self, scene: Scene, machines: list[Machine], processes: int = 2, **plan: object) -> None:
        self._outs: list[Path] = []
        self._running = []
        self._stop = scene.folder / f"load-{time.monotonic_ns()}.stop"
        for each in range(processes):
            own = machines[each::processes]
            self._outs.append(scene.folder / f"load-{time.monotonic_ns()}-{each}.jsonl")
            whole = {"agents": 20, "pace": 0, "work": 0, "hot": 0, "keeps": False, "patience": 20, "seed": each} | plan
            whole |= {"clones": [str(machine.clone) for machine in own], "numbers": [one.number for one in own]}
            whole |= {"incarnation": scene.incarnation, "out": str(self._outs[-1]), "stop": str(self._stop)}
            path = self._outs[-1].with_suffix(".plan")
            path.write_text(json.dumps(whole))
            words = [str(PYTHON), "-m", "scripts.fleet.load", str(path)]
            self._running.append(
                subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        for process in self._running:
            assert process.stdout
            assert process.stdout.readline() == "ready\n", "a load process ended early"

    def start(self) -> None:
        for process in self._running:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()

    def stop(self) -> None:
        """Let every agent end with the verdict that it waits for."""
        self._stop.touch()

    def verdicts(self) -> list[dict[str, object]]:
        """Every verdict, once all agents are done."""
        for process in self._running:
            if process.wait() != 0:
                sys.exit("a load process failed")
        return [json.loads(line) for out in self._outs for line in out.read_text().splitlines()]


def is_away(machine: Machine) -> bool:
    try:
        machine.ask("fresh", 2)
    except BbError:
        return True
    return False
