"""Numbers about the relays of this daemon, as Prometheus reads them."""

from __future__ import annotations

import threading
from typing import Any

from bb.daemon.fleet.clone_relay import CloneRelay
from bb.daemon.fleet.relays import Relays

PATIENCE = 1.0  # seconds for a relay to say how it is

# name, type, help text, and the member of the relay's status
NUMBERS = (("bb_fleet_place", "counter", "The last place of the engine's log that this clone has read.", "place"),)


def text(relays: Relays) -> str:
    """All numbers, in the text format of Prometheus."""
    found = [(one, _status(one)) for one in relays.all_relays]
    lines = [
        "# HELP bb_relays Relays that this daemon runs.",
        "# TYPE bb_relays gauge",
        f"bb_relays {len(found)}",
    ]
    for name, kind, about, member in NUMBERS:
        lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(one)} {value}" for one, status in found if (value := _number(status, member))]
    return "\n".join(lines) + "\n"


def _status(one: CloneRelay) -> dict[str, Any]:
    """What the relay says of itself; empty if it does not answer in time."""
    answered = threading.Event()
    answers: list[dict[str, Any]] = []

    def take(answer: dict[str, Any]) -> None:
        answers.append(answer)
        answered.set()

    one.ask({"ask": "status"}, take)
    answered.wait(PATIENCE)
    result = answers[0].get("result") if answers and answers[0].get("ok") else None
    return result if type(result) is dict else {}


def _number(status: dict[str, Any], member: str) -> str:
    value = status.get(member)
    return str(int(value)) if type(value) is bool else str(value) if type(value) in (int, float) else ""


def _labels(one: CloneRelay) -> str:
    """The labels of a clone: the name of its directory. Its path is not for every user of the machine."""
    title = one.place.title.translate({ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"})
    return f'{{clone="{title}"}}'
