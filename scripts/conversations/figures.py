"""The figures of `scripts/bench-attention` about conversations: who answered, and how long a message took."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bb.attention.rehearsal.replay import START
from scripts.conversations.judge import judge, summed
from scripts.conversations.models import MODELS
from scripts.conversations.platforms import platform
from scripts.conversations.script import read, read_all
from scripts.conversations.served import Served, environment
from scripts.conversations.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.conversations.judge import Row

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "conversations"
PAUSE = 3_600_000  # between two conversations
MOST = 2.0  # percent
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


def latencies(scratch: str, bb: Sequence[str], runs: int = 15) -> list[Figure]:
    """How long a mention takes to its agent, and what one ingest and one send take in the server."""
    conversation = read(FOLDER / "github" / "assignment.toml")
    names = platform(conversation, 0)
    whole, ingested, sent = [], [], []
    with Served(_repository(scratch, "latency"), bb, 0, is_clock_ours=False) as host:
        host.bind(conversation, names)
        amber = conversation.agents[0]
        session = host.session(amber.id)
        session.ask("ping", {})
        for number in range(runs + 2):
            line = _line(names.channel("general"), names.user("amber"), number)
            began = time.perf_counter()
            host.bridge.ask("chat/ingest", {"lines": [line]})
            ingested.append(time.perf_counter() - began)
            while not session.waiting:
                session.hear()
            whole.append(time.perf_counter() - began)
            event = session.waiting.pop()["eventId"]
            began = time.perf_counter()
            session.ask("tools/call", {"name": "chat.send_message", "arguments": _answer(event, number)})
            sent.append(time.perf_counter() - began)
    pairs = (("mention to turn, beyond the compose window", whole, 300), ("one message taken in", ingested, 10))
    pairs += (("one answer sent", sent, 10),)  # type: ignore[assignment]
    return [
        (f"{name}, in a running server", statistics.median(taken[2:]) * 1000, "ms", most) for name, taken, most in pairs
    ]


def _line(place: str, who: str, number: int) -> dict[str, Any]:
    """A mention on GitHub, where the host does not wait for a second piece."""
    return {
        "type": "message",
        "eventId": f"github:{place}:comment:{number}",
        "source": {"platform": "github", "workspaceId": place},
        "conversation": {"id": place, "kind": "channel", "threadId": str(number)},
        "author": {"id": "ada", "kind": "human"},
        "target": {"mentions": [who]},
        "content": [{"type": "text", "text": f"@{who} is number {number} done?"}],
    }


def _answer(event: str, number: int) -> dict[str, Any]:
    said = {"content": "It is done.", "inReplyTo": event, "idempotencyKey": f"k{number}"}
    return said | {"visibility": "channel", "directedness": "to_other"}


def _repository(scratch: str, name: str) -> str:
    path = os.path.join(scratch, name)
    subprocess.run(["git", "init", "--quiet", path], check=True, env=environment())
    return path
