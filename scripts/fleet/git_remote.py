"""Global reservations by the git remote, for comparison: clones that reserve as fast as they can, each for itself."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from scripts.fleet.scene import BB, git


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
        bb(place, number, "sync", "--publish")
        bb(place, number, "agent", "register", f"g{number}", "--role", "builder")
    loops = [
        subprocess.Popen(
            ["sh", "-c", LOOP, "sh", BB, str(each), str(seconds)],
            cwd=place,
            env=env_of(place, each),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for each, place in enumerate(places)
    ]
    began = time.monotonic()
    granted = sum(int(loop.communicate()[0].split()[-1]) for loop in loops)
    return granted / (time.monotonic() - began)


# Until the time is over: reserve another path of one's own, and count what was granted.
LOOP = """
end=$(($(date +%s) + ${3%.*})); n=0; turn=0
while [ "$(date +%s)" -lt "$end" ]; do
    turn=$((turn + 1))
    if "$1" agent reserve --agent "g$2" --scope "g$2/$turn" --global --json >/dev/null 2>&1; then n=$((n + 1)); fi
done
echo $n
"""


def env_of(place: Path, number: int) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("BB_")}
    return env | {"BB_HOME": str(place.parent / f"home{number}"), "BB_SYNC": "off"}


def bb(place: Path, number: int, *words: str) -> None:
    done = subprocess.run(
        [BB, *words, "--json"], check=False, cwd=place, env=env_of(place, number), capture_output=True, text=True
    )
    if not json.loads(done.stdout or "{}").get("ok"):
        raise RuntimeError(f"bb {' '.join(words)}: {done.stdout} {done.stderr}")
