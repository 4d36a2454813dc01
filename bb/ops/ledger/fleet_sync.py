"""`bb sync` in a fleet: the relay sends the lines of this clone to the engine, and reads those of the others."""

from __future__ import annotations

from bb.kernel.errors import BbError
from bb.ledger.fleet.outbox import FleetBehind
from bb.ledger.published import pins
from bb.ledger.travel.sync import PULL, PUSH
from bb.ops.desk import relay_questions
from bb.ops.ledger import applying
from bb.ops.ledger.running_sync import run_sync, save_outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bb.ops.desk.desk import Desk

TO_LOOK = 5.0  # seconds for the engine, before `--pull` reads the git archive instead


def is_about_engine(desk: Desk, name: str) -> bool:
    """Whether a sync with the remote NAME is a sync with the engine of this clone's fleet."""
    return desk.is_in_fleet and pins.read(desk.place.store).home == name


def sync(desk: Desk, name: str, direction: str, patience: float, *, archives: bool) -> dict[str, Any]:
    """Send and read, and with ARCHIVES publish all rows to the git remote NAME; the answer of `bb sync`."""
    try:
        return _synced(desk, name, direction, patience, archives=archives)
    except BbError as refusal:
        if direction != PULL:
            if refusal.code != FleetBehind.code and (end := _end(desk, name, patience)):
                return run_sync(desk, name, direction, int(patience), publishes=False) | {"void": end.get("void", [])}
            save_outcome(desk, name, desk.now(), refusal, None)
            raise
        # Without the engine, the git archive has all that was published before.
        return run_sync(desk, name, PULL, int(patience), publishes=False) | {"without_engine": refusal.message}


def _end(desk: Desk, name: str, patience: float) -> dict[str, Any] | None:
    """What a fetch has brought, if the published ledger has no fleet any more: this clone has left it, and syncs as
    before. None if it has one, or cannot be fetched."""
    try:
        fetched = run_sync(desk, name, PULL, int(patience), publishes=False)
    except BbError:
        return None
    return None if desk.is_in_fleet else fetched


def _synced(desk: Desk, name: str, direction: str, patience: float, *, archives: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"already_running": False, "remote": name}
    if direction != PULL:
        answer |= relay_questions.ask(desk, "flush", patience)
    if direction != PUSH:
        answer |= relay_questions.ask(desk, "fresh", min(TO_LOOK, patience) if direction == PULL else patience)
    if archives:
        answer["archived"] = relay_questions.ask(desk, "archive", patience).get("archived")
    lost, void = applying.apply(desk)
    save_outcome(desk, name, desk.now(), None, None)
    terms = pins.read(desk.place.store).terms
    return answer | {"engine": terms.carrier if terms else None, "contested": lost, "void": void}
