"""Checks an editor's shell command before it runs: it must not harm other agents' work, switch bb's protection off, or
act as the person.

Files and agents are looked up only for a hazardous command, and only as far as its rule needs. If the check fails, the
command passes: command lines cannot be checked completely anyway.
"""

from __future__ import annotations

from bb.coordination.guards import bypasses, harmed_files, hazards
from bb.kernel.errors import BbError
from bb.ledger.git import place
from bb.ops import catalogue
from bb.ops.guards.editor_requests import agent_of, allow, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.coordination.guards.bypasses import Bypass
    from bb.coordination.guards.harmed_files import HarmedFile
    from bb.coordination.guards.hazards import Circumstances, Hazard
    from bb.coordination.wiring.editors import HookPayload
    from bb.ops.desk.desk import Desk

PERSONS = "`{order}` is for the person only, and you are {who}. Ask the person: bb send user 'TEXT' --agent {who}"


def _reads(words: Sequence[str]) -> bool:
    """Whether these words of a bb command call an op that changes nothing."""
    from bb.ops.command_groups import GROUPS  # noqa: PLC0415  (few shell commands call bb)

    if words[0] in catalogue.SHORT:
        return catalogue.find(catalogue.SHORT[words[0]]).reads
    group = words[0] if words[0] in GROUPS else ""
    text = " ".join([*words, ""])
    return any(op.reads and text.startswith(f"{op.words} ") for op in catalogue.ops_in_group(group))


def shell_verdict(desk: Desk, heard: HookPayload, named: str | None) -> dict[str, Any]:
    """May this shell command run?"""
    hazards_found, order = hazards.find_hazards(heard.command), hazards.find_person_command(heard.command, _reads)
    bypasses_found, harmed = bypasses.find_bypasses(heard.command), harmed_files.find_harmed_files(heard.command)
    try:
        if not (hazards_found or order or bypasses_found or harmed) or not desk.store.exists:
            return allow(heard)
        lost = _of_bb(desk, bypasses_found, harmed)
        if not (hazards_found or order or lost):
            return allow(heard)
        who = agent_of(desk, heard, named)
        if who is None:
            return allow(heard, "bb: No agent is named, so this is allowed as a person's command")
        if order:
            return refuse(heard, f"bb: {PERSONS.format(order=order, who=who)}")
        if lost:
            return refuse(heard, f"bb: {lost}")
        for hazard in hazards_found:
            around = _around(desk, hazard, who)
            if around and (why := hazards.refusal_reason(hazard, around)):
                return refuse(heard, f"bb: {why}")
    except place.NotARepository.error:
        return allow(heard)
    except BbError as error:
        return allow(heard, f"bb cannot check whether this harms other agents' work, so it may run: {error}")
    return allow(heard)


def _of_bb(desk: Desk, found: Sequence[Bypass], harmed: Sequence[HarmedFile]) -> str:
    """Why the command would harm what bb itself needs; empty if it would not."""
    if not found and not harmed:
        return ""
    from bb.ops.guards import own_files  # noqa: PLC0415  (few commands delete files or skip hooks)

    bypass = next((each for each in found if own_files.is_about(desk, each.directory)), None)
    return bypass.reason() if bypass else own_files.refusal(desk, harmed)


def _around(desk: Desk, hazard: Hazard, who: str) -> Circumstances | None:
    from bb.ops.guards import hazard_circumstances  # noqa: PLC0415  (few commands are hazardous)

    return hazard_circumstances.circumstances_of(desk, hazard, who)
