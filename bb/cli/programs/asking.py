"""Shows the plan of an op to the person at the terminal, asks once, and carries it out."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from bb.cli.calls import output, run
from bb.ops import catalogue
from bb.ops.catalogue import Op
from bb.ops.desk import desk

QUESTION = "Carry this out? [Y/n]"


def perform_if_agreed(op: Op, given: Mapping[str, object], *, as_json: bool) -> int:
    """Run OP. If it would refuse because nobody has confirmed, and a person is at the terminal, ask."""
    is_decided = as_json or given.get("yes") or given.get("dry_run") or given.get("check")
    if is_decided or not _is_person_there():
        return run.perform(op, given, as_json=as_json)
    plan = _planned(op, given)
    output.success(op.words, plan, as_json=False, screen=op.screen)
    if not plan["changes"]:
        return 0
    if not _agrees():
        output.lines(["Nothing was changed."])
        return 0
    return run.perform(op, {**given, "yes": True}, as_json=False)


def _planned(op: Op, given: Mapping[str, object]) -> Mapping[str, object]:
    at = desk.desk_here()
    try:
        plan: Mapping[str, object] = op.run(at, catalogue.bind(op, {**given, "dry_run": True}))
        return plan
    finally:
        at.close()


def _is_person_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()


def _agrees() -> bool:
    output.lines(["", QUESTION])
    output.flush()
    answer = sys.stdin.readline()
    return answer.strip().lower() in ("", "y", "yes") and answer != ""  # an ended input is no agreement
