"""The skill that teaches agents to work with bb, for `bb init --skill` and `bb init --undo`."""

from __future__ import annotations

from typing import Any

from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ledger.git.place import NoWorkTree
from bb.ledger.wiring import skill
from bb.ledger.wiring.skill import Piece
from bb.ops.desk.desk import Desk

OFFER = "Install instructions for agents: a skill in .agents/skills and .claude/skills, and a section in AGENTS.md?"


def plan(desk: Desk) -> list[Piece]:
    """The files that installing would write; refused if it is not possible."""
    if desk.place.work_tree is None:
        raise NoWorkTree("the skill needs a work tree, and this repository has none")
    return skill.install_plan(desk.place.work_tree)


def install(desk: Desk, planned: list[Piece], *, dry_run: bool = False) -> dict[str, Any]:
    """Write the PLANNED files, or only report them."""
    return _done(desk, planned, dry_run=dry_run)


def remove(desk: Desk, *, dry_run: bool) -> dict[str, Any]:
    """Remove the files of the skill that are unchanged."""
    work_tree = desk.place.work_tree
    return _done(desk, skill.removal_plan(work_tree) if work_tree else [], dry_run=dry_run)


def offer(desk: Desk) -> dict[str, Any] | None:
    """Install the skill if it is missing and the person at the terminal agrees."""
    if desk.ask_person is None or desk.place.work_tree is None or desk.principal() != ids.PERSON:
        return None  # an agent's terminal has no person who could answer
    try:
        planned = skill.install_plan(desk.place.work_tree)
    except BbError:
        return None  # not possible, so not offered; `bb init --skill` reports the reason
    if all(piece.outcome in (skill.UNCHANGED, skill.LEFT) for piece in planned) or not desk.ask_person(OFFER):
        return None
    return install(desk, planned)


def _done(desk: Desk, pieces: list[Piece], *, dry_run: bool) -> dict[str, Any]:
    if not dry_run and desk.place.work_tree:
        skill.carry_out(desk.place.work_tree, pieces)
    files = [
        {"path": piece.path, "outcome": piece.outcome, **({"why": piece.why} if piece.why else {})} for piece in pieces
    ]
    return {"is_done": not dry_run, "files": files}
