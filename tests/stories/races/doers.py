"""What the processes of the tests of races do: ops that they are told, or much of something until they are killed.

There are hundreds of these processes. They are forked (`tests/preloaded.py`).
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any

from bb.kernel.errors import BbError
from bb.ops import catalogue
from bb.ops.desk.desk import Desk

# Every two of these have a path in common: the first, literally or as what they name or match.
COVERING = ("src/parser/lexer.py", "src/parser", "src/parser/*.py", "src", "src/*/lexer.py", "src/**/*.py", "**/*.py")
# Some of these meet and some do not, so several agents may be granted something at once.
PLOTS = ("src/parser", "src/parser/lexer.py", "src/lexer", "docs", "docs/*.md", "web")


def work(repo: str, agent: str, gate: str, is_fresh: str) -> None:
    """Do what stdin asks for, line by line, as AGENT; answer on stdout."""
    way = os.open(gate, os.O_RDWR)
    desk = Desk(repo, {"BB_AGENT": agent})
    for line in sys.stdin:
        request = json.loads(line)
        if is_fresh or request["now"]:
            desk.close()
            desk = Desk(repo, {"BB_AGENT": agent, "BB_NOW": request["now"] or ""})
        if request["gated"]:
            os.write(1, b"ready\n")
            os.read(way, 1)
        os.write(1, json.dumps(_done(desk, request["op"], request["given"])).encode() + b"\n")
        if request["now"]:
            desk.close()
            desk = Desk(repo, {"BB_AGENT": agent})


def _done(desk: Desk, op: str, given: dict[str, Any]) -> dict[str, Any]:
    before = time.process_time()
    found: dict[str, Any] = {}
    try:
        found["data"] = call(desk, op, **given)
    except BbError as refusal:
        found |= {"code": refusal.code, "details": refusal.details}
    return found | {"at": time.monotonic(), "busy": time.process_time() - before}


def call(desk: Desk, op: str, **given: Any) -> Any:
    """What OP answers in this process, asked as a JSON request would."""
    found = catalogue.find(op)
    return found.run(desk, catalogue.bind(found, given, is_typed=True))


def take_turns(repo: str, agent: str, count: str, inside: str) -> None:
    """Hold and give back overlapping scopes COUNT times, as fast as can be; tell whenever somebody else is INSIDE.

    Who holds one makes a file that must not be there, and removes it before giving the scope back.
    """
    desk, chance, held = Desk(repo, {"BB_AGENT": agent}), random.Random(agent), 0
    for turn in range(int(count)):
        scope = chance.choice(COVERING)
        try:
            call(desk, "agent.reserve", scope=[scope], bead=f"bb-{turn}")
        except BbError as refusal:
            if refusal.code != "RESERVATION_CONFLICT":
                tell(f"refused: {refusal!r}")
            continue
        try:
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            os.unlink(inside)
        except FileExistsError:
            tell(f"{agent} met somebody in {scope}")
        call(desk, "agent.release", scope=[scope])
        held += 1
    tell(f"held {held}")


def stir(repo: str, agent: str, seed: str) -> None:
    """Reserve, renew, release and wait until killed; tell of each reservation that was acknowledged."""
    desk, chance = Desk(repo, {"BB_AGENT": agent}), random.Random(seed)
    while True:
        scope = chance.choice(COVERING)
        op = chance.choice(("agent.reserve", "agent.reserve", "agent.renew", "agent.release"))
        given: dict[str, Any] = {"scope": scope} if op != "agent.reserve" else {"scope": [scope], "bead": "bb-1"}
        if op == "agent.release" and chance.random() < 0.5:
            given = {"all_": True}
        if op == "agent.reserve" and chance.random() < 0.3:
            given["wait"] = 1
        try:
            answer = call(desk, op, **given)
        except BbError as refusal:
            tell(f"refused {refusal.code}")
        else:
            tell(f"{op} {answer.get('reservation_id', '-')}")


def tell(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def stand_and_leave(repo: str, agent: str, seed: str) -> None:
    """Get in line, see what came of it, release and leave the line until killed."""
    desk, chance = Desk(repo, {"BB_AGENT": agent}), random.Random(seed)
    while True:
        wanted = chance.sample(PLOTS, chance.choice((1, 1, 2)))
        op = chance.choice(("agent.reserve", "agent.release", "agent.renew"))
        given: dict[str, Any] = {"scope": wanted, "queue": True} if op == "agent.reserve" else {"all_": True}
        if op == "agent.reserve" and chance.random() < 0.2:
            given["wait"] = 1
        held = [each["scope"] for each in call(desk, "agent.status", agent=agent)["reservations"]]
        if op == "agent.release" and held and chance.random() < 0.9:  # else it leaves the line too
            given = {"scope": held}
        try:
            answer = call(desk, op, **given)
        except BbError as refusal:
            tell(f"refused {refusal.code}")
        else:
            tell(f"{op} {(answer.get('queued') or {}).get('place_id') or '-'}")
