"""Global reservations by the git remote, for comparison: clones that reserve as fast as they can, each for itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from bb.kernel.errors import BbError
from bb.ops import catalogue
from bb.ops.desk.desk import Desk
from scripts.fleet.scene import BB, PYTHON, ROOT, git


def grants_a_second(folder: Path, clones: int, seconds: float) -> float:
    """The grants a second of some CLONES of one hub, which ask for disjoint paths."""
    folder.mkdir()
    hub = folder / "hub.git"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(hub))
    places = [folder / f"c{each}" for each in range(clones)]
    for number, place in enumerate(places):
        git(folder, "clone", "--quiet", str(hub), str(place))
        if number == 0:
            git(place, "commit", "--quiet", "--allow-empty", "-m", "begin")
            git(place, "push", "--quiet", "origin", "HEAD:main")
            bb(place, number, "init")
        else:
            bb(place, number, "sync", "--pull")
        bb(place, number, "sync", "--publish")
        bb(place, number, "agent", "register", "--name", f"clone-{number}", "--role", "builder")
    words: list[str | Path] = [PYTHON, "-m", "scripts.fleet.git_remote"]
    loops = [
        subprocess.Popen(
            [*words, str(place), f"clone-{number}", str(seconds)],
            cwd=ROOT,
            env=env_of(place, number),
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, place in enumerate(places)
    ]
    return sum(float(loop.communicate()[0]) for loop in loops)


def reserve_for(place: str, agent: str, seconds: float) -> float:
    """Reserve another path of one's own again and again, in this process. Returns the grants a second."""
    op = catalogue.find("agent.reserve")
    began, granted, turn = time.monotonic(), 0, 0
    while time.monotonic() < began + seconds:
        turn += 1
        desk = Desk(place, os.environ)
        wanted = {"agent": agent, "scope": [f"{agent}/{turn}"], "global": True}
        try:
            op.run(desk, catalogue.bind(op, wanted, is_typed=True))
            granted += 1
        except BbError as refusal:
            print(refusal.code, file=sys.stderr)  # other clones were faster on every attempt
        finally:
            desk.close()
    return granted / (time.monotonic() - began)


def env_of(place: Path, number: int) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("BB_")}
    return env | {"BB_HOME": str(place.parent / f"home{number}"), "BB_SYNC": "off"}


def bb(place: Path, number: int, *words: str) -> None:
    done = subprocess.run(
        [BB, *words, "--json"], check=False, cwd=place, env=env_of(place, number), capture_output=True, text=True
    )
    if not json.loads(done.stdout or "{}").get("ok"):
        raise RuntimeError(f"bb {' '.join(words)}: {done.stdout} {done.stderr}")


if __name__ == "__main__":
    print(reserve_for(sys.argv[1], sys.argv[2], float(sys.argv[3])))
