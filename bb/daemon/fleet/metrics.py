"""Numbers about the relays of this daemon, as Prometheus reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from bb.daemon.fleet.clone_relay import CloneRelay
from bb.daemon.fleet.relays import Relays

PATIENCE = 1.0  # seconds for a relay to say how it is

# name, type, help text, and how to find it in the status of a relay (`ledger/fleet/status.py`)
NUMBERS: tuple[tuple[str, str, str, Callable[[dict[str, Any]], Any]], ...] = (
    (
        *("bb_fleet_connected", "gauge", "Whether the engine answers this clone."),
        lambda status: status.get("state") == "connected",
    ),
    (
        *(
            "bb_fleet_stopped",
            "gauge",
            "Whether verdicts have stopped: another engine, lost history or a like refusal.",
        ),
        lambda status: status.get("state") == "stopped",
    ),
    (
        *("bb_fleet_place", "gauge", "The last place of the engine's log that this clone has read."),
        lambda status: status.get("place"),
    ),
    (
        *("bb_fleet_imported_place", "gauge", "The place up to which the lines are in the journals of this clone."),
        lambda status: status.get("imported"),
    ),
    (
        *("bb_fleet_lag_rows", "gauge", "The rows of the engine's log that this clone has not read yet."),
        lambda status: status.get("lag"),
    ),
    (
        *("bb_fleet_archived_place", "gauge", "The place up to which git has the rows."),
        lambda status: status.get("archived"),
    ),
    (
        *("bb_fleet_archives", "gauge", "Whether this clone publishes the rows to git."),
        lambda status: status.get("leads"),
    ),
    (
        *("bb_fleet_unsent_lines", "gauge", "The recorded lines of this clone that have no place yet."),
        lambda status: status.get("unsent"),
    ),
    (
        *("bb_fleet_waiting_questions", "gauge", "The commands that wait for an answer of the relay."),
        lambda status: status.get("waiting"),
    ),
    (
        *("bb_fleet_machines_alive", "gauge", "The machines whose beat is valid by the engine's clock."),
        lambda status: status.get("machines_alive"),
    ),
    (
        *("bb_fleet_heard_timestamp_seconds", "gauge", "When the engine last answered, by the clock of this machine."),
        lambda status: status["heard_at"] / 1000 if status.get("heard_at") else None,
    ),
    (
        *("bb_fleet_clock_skew_seconds", "gauge", "The engine's clock minus the clock of this machine."),
        lambda status: status["skew_ms"] / 1000 if type(status.get("skew_ms")) in (int, float) else None,
    ),
    (
        *("bb_fleet_connects_total", "counter", "The connections to the engine since the relay started."),
        lambda status: status.get("connects"),
    ),
    (
        *("bb_fleet_appends_total", "counter", "The appends to the engine since the relay started."),
        lambda status: status.get("appends"),
    ),
    (
        *("bb_fleet_received_lines_total", "counter", "The lines of other clones since the relay started."),
        lambda status: status.get("received"),
    ),
)


def text(relays: Relays) -> str:
    """All numbers, in the text format of Prometheus."""
    found = [(one, _status(one)) for one in relays.all_relays]
    lines = ["# HELP bb_relays The relays that this daemon runs.", "# TYPE bb_relays gauge", f"bb_relays {len(found)}"]
    name = "bb_relay_questions_total"
    lines += [f"# HELP {name} The questions to the relay since it started.", f"# TYPE {name} counter"]
    lines += [f"{name}{_labels(one)} {one.asked}" for one, _ in found]
    for name, kind, about, find in NUMBERS:
        lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(one)} {value}" for one, status in found if (value := _number(status, find))]
    return "\n".join(lines) + "\n"


def _status(one: CloneRelay) -> dict[str, Any]:
    """What the relay says of itself; empty if it does not answer in time."""
    answered = threading.Event()
    answers: list[dict[str, Any]] = []

    def take(answer: dict[str, Any]) -> None:
        answers.append(answer)
        answered.set()

    one.status(take)
    answered.wait(PATIENCE)
    result = answers[0].get("result") if answers and answers[0].get("ok") else None
    return result if type(result) is dict else {}


def _number(status: dict[str, Any], find: Callable[[dict[str, Any]], Any]) -> str:
    """A number of a status as text; empty if the relay does not say it."""
    value = find(status) if status else None
    return str(int(value)) if type(value) is bool else str(value) if type(value) in (int, float) else ""


def _labels(one: CloneRelay) -> str:
    """The labels of a clone: the name of its directory. Its path is not for every user of the machine."""
    title = one.place.title.translate({ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"})
    return f'{{clone="{title}"}}'
