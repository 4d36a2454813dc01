"""The figures of `scripts/bench-attention` about conversations: who answered, and how long a message took."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bb.attention.rehearsal.replay import START
from bb.attention.state.tuning import Tuning
from bb.ops import catalogue
from bb.ops.desk.desk import Desk
from scripts.conversations.judge import judge, summed
from scripts.conversations.models import MODELS
from scripts.conversations.script import read_all
from scripts.conversations.served import BRIDGE, Served, Server, Session, environment
from scripts.conversations.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.conversations.judge import Row

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "conversations"
PAUSE = 3_600_000  # between two conversations
MOST = 2.0  # percent
SLOW = 7  # runs of what waits for the compose window
Figure = tuple[str, float, str, float | None]  # name, value, unit, budget


def played(scratch: str, bb: Sequence[str], model: str, chosen: str = "") -> list[Row]:
    """The rows of all conversations, played through `bb chat serve` with one model."""
    rows: list[Row] = []
    with Served(_repository(scratch, model), bb, START) as host:
        now = START
        for conversation in read_all(FOLDER):
            if chosen in conversation.name:
                run = Stage(conversation, host, MODELS[model](), now).play()
                rows += judge(run)
                now = run.now + PAUSE
    return rows


def conversations(scratch: str, bb: Sequence[str], chosen: str = "") -> tuple[list[Figure], list[str]]:
    """Over-silence and over-talk with each model, and a line for each miss."""
    figures: list[Figure] = []
    misses: list[str] = []
    for model in MODELS:
        rows = played(scratch, bb, model, chosen)
        found = summed(rows)
        counts = f"{found.silent} of {found.wanted}"
        figures.append((f"over-silence, {model} model ({counts})", found.over_silence, "%", MOST))
        counts = f"{found.talked} of {found.quiet}"
        figures.append((f"over-talk, {model} model ({counts})", found.over_talk, "%", MOST))
        misses += [row.told() for row in rows if row.miss]
    return figures, misses


# -- with the real clock


def latencies(repository: str, bb: Sequence[str], agent: str, among: str, runs: int = 15) -> list[Figure]:
    """How long a mention takes to AGENT, and what one ingest and one send take, in a server of REPOSITORY.

    The agent is bound to its own name on GitHub, where the host does not wait for a second piece, and on Slack, where
    a finished question ends the compose window early.
    """
    taken: dict[str, list[float]] = {}

    def timed(name: str, began: float) -> None:
        taken.setdefault(name, []).append((time.perf_counter() - began) * 1000)

    with Server(repository, bb) as server:
        bridge, session = Session(server.socket, BRIDGE, {}), Session(server.socket, agent)
        session.ask("ping", {})
        for number in range(runs + 2):
            began = time.perf_counter()
            bridge.ask("chat/ingest", {"lines": [_line(agent, f"here-{number}")]})
            timed("one message taken in", began)
            event = _delivered(session)
            timed("mention to turn", began)
            session.ask("ping", {})  # so that the acceptance of the delivery is recorded
            began = time.perf_counter()
            session.ask("tools/call", {"name": "chat.send_message", "arguments": _answer(event, number)})
            timed("one answer sent", began)
            desk = Desk(repository, environment())
            began = time.perf_counter()
            op = catalogue.find("chat.ingest")
            op.run(desk, catalogue.bind(op, {"lines": [_line(agent, f"there-{number}")]}, is_typed=True))
            event = _delivered(session)
            timed("mention to turn, taken in by another process", began)
            desk.close()
            session.ask("tools/call", {"name": "chat.send_message", "arguments": _answer(event, number)})
            if number < SLOW:
                began = time.perf_counter()
                bridge.ask("chat/ingest", {"lines": [_line(agent, f"chat-{number}", "slack")]})
                event = _delivered(session)
                timed("question on Slack to turn, beyond the compose window", began + Tuning().settle_ms / 1000)
                session.ask("tools/call", {"name": "chat.send_message", "arguments": _answer(event, number)})
        bridge.close()
        session.close()
    budgets = {"one message taken in": 10, "one answer sent": 10}
    return [
        (f"{name}, {among}", statistics.median(times[2:]), "ms", budgets.get(name, 300))
        for name, times in taken.items()
    ]


def _delivered(session: Session) -> str:
    """The event of the next delivery."""
    while not session.waiting:
        session.hear()
    event: str = session.waiting.pop()["eventId"]
    return event


def _line(agent: str, number: str, form: str = "github") -> dict[str, Any]:
    place = f"{form}-latency"
    return {
        "type": "message",
        "eventId": f"{form}:{place}:{number}",
        "source": {"platform": form, "workspaceId": place},
        "conversation": {"id": place, "kind": "channel", "threadId": number},
        "author": {"id": "ada", "kind": "human"},
        "target": {"mentions": [agent]},
        "content": [{"type": "text", "text": f"@{agent} is {number} done?"}],
    }


def _answer(event: str, number: int) -> dict[str, Any]:
    said = {"content": "It is done.", "inReplyTo": event, "idempotencyKey": f"{event} {number}"}
    return said | {"visibility": "channel", "directedness": "to_other"}


def small_repository(scratch: str, agent: str) -> str:
    """A new repository with one agent, which is known on GitHub by its name."""
    path = _repository(scratch, "latency")
    desk = Desk(path, environment())
    for name, given in (
        ("init", {}),
        ("agent.register", {"name": agent, "role": "builder"}),
        ("agent.register", {"name": BRIDGE, "role": "bridge"}),
        ("chat.bind", {"agent": agent, "handle": [f"github:{agent}", f"slack:{agent}"]}),
    ):
        op = catalogue.find(name)
        op.run(desk, catalogue.bind(op, given, is_typed=True))
    desk.close()
    return path


def _repository(scratch: str, name: str) -> str:
    path = os.path.join(scratch, name)
    subprocess.run(["git", "init", "--quiet", path], check=True, env=environment())
    return path
