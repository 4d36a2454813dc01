"""How long a command waits until it is refused, on a machine that is cut off from the engine in one way or another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from scripts.fleet.scene import Machine, Scene

AGENT = "ada-cutoff"
PAUSES = (0.0, 0.0, 0.5, 1.5, 3.0, 6.0)  # seconds before each command
QUIET = 3.0  # seconds in which nothing is asked before the machine is cut off
UNREACHABLE, PENDING = "ENGINE_UNREACHABLE", "GRANT_PENDING"


def by_way(scene: Scene) -> Iterator[tuple[str, list[float], int]]:
    """Each way, the seconds that the commands took which were refused, and how many were told GRANT_PENDING."""
    machine = next(machine for machine in scene.machines if machine.number % 2)
    machine.bb("agent", "register", "--name", AGENT, "--role", "builder")
    server, proxy = scene.server, scene.proxy

    def mend() -> None:
        proxy.mend()
        proxy.drop()

    ways: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "when connections are closed": (proxy.cut, proxy.mend),
        "when what is sent is swallowed": (scene.swallow, mend),
        "when the server stands still": (server.freeze, server.thaw),
        "when the server was killed": (server.kill_hard, server.start_again),
    }
    for way, (cut, end) in ways.items():
        while _reserve(machine, way)[0]:
            time.sleep(0.2)
        time.sleep(QUIET)
        cut()
        try:
            answers = []
            for pause in PAUSES:
                time.sleep(pause)
                answers.append(_reserve(machine, way))
        finally:
            end()
        wrong = {code for code, _ in answers} - {UNREACHABLE, PENDING}
        if wrong:
            raise RuntimeError(f"a machine that is cut off was answered: {wrong}")
        times = [seconds for code, seconds in answers if code == UNREACHABLE]
        yield way, times, len(answers) - len(times)


def _reserve(machine: Machine, way: str) -> tuple[str, float]:
    """The code of the refusal, empty without one, and the seconds that the command took."""
    began = time.monotonic()
    words = ["agent", "reserve", "--agent", AGENT, "--scope", f"cut/{way.replace(' ', '-')}/{time.monotonic_ns()}"]
    answer = machine.bb(*words, may_fail=True)
    error = answer.get("error")
    return str(error["code"]) if isinstance(error, dict) else "", time.monotonic() - began
