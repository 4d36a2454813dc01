"""The state machine of a delivery: the steps, and the table TRANSITIONS with its theory above it."""

from __future__ import annotations

from bb.attention import decision as decisions
from bb.attention.words import (
    ACK_ONLY,
    ACKNOWLEDGED,
    CLAIMED,
    DEFERRED,
    DISPOSITIONS,
    FAILED,
    IGNORED,
    MUST,
    MUST_NOT,
    QUESTION,
    RESPONDED,
    SIGNALS,
    SUPERSEDED,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    Effect: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any], int], dict[str, Any]]
    Transition: TypeAlias = tuple[str, str, tuple[str | None, ...], str | None, Effect | dict[str, Any]]

# The steps.
DECIDED, DELETED = "decided", "deleted"
OFFERED, ACCEPTED, PARKED, REJECTED = "offered", "accepted", "parked", "rejected"
STARTED, ENDED, TURN_FAILED, GAVE_UP = "started", "ended", "turn_failed", "gave_up"
PULLED, CHECKED, REMINDED, STALE, ESCALATED = "pulled", "checked", "reminded", "stale", "escalated"
CLARIFIED = "clarified"
ANSWERED, REACTED, PUT_OFF, RESOLVED, LAPSED, MERGED = "answered", "reacted", "put_off", "resolved", "lapsed", "merged"
TOOK, GAVE_BACK, SETTLED, RESURFACED, UNSENT = "took", "gave_back", "settled", "resurfaced", "unsent"
RESTORED, STOPPED = "restored", "stopped"

FIRST = 1  # version of a message
UNCLEAR = "unclear"
OPEN = (None, CLAIMED, DEFERRED)
SHOWN = "content"  # the shape of an offer that shows the text
UNSEEN: dict[str, Any] = {
    "is_shown": False,
    "attempt": 0,
    "offered_at": None,
    "accepted": False,
    "is_parked": False,
    "turn": "",
    "pulled_at": None,
}
OUTCOMES = {"answered": RESPONDED, "done": RESPONDED, "wont_do": IGNORED, "duplicate": SUPERSEDED}


def take(found: dict[str, Any], step: str, about: Mapping[str, Any], ms: int) -> None:
    """Apply one step by the first transition that fits. Without one, nothing changes."""
    if step == DECIDED:  # parsed once for its case and its effect
        about = {**about, "decision": decisions.decision_of_json(about.get("decision"))}
    case = CASES[step](found, about) if step in CASES else ""
    for sources, to, effect in BY_CASE.get((step, case), ()):
        if found["disposition"] in sources:
            change = effect(found, about, ms) if callable(effect) else effect
            if to != STAYS:
                found.update(disposition=to, cause=step)
            found.update(change)
            return


# -- the cases of a step. None: this one does not count


def _case_of_decision(found: Mapping[str, Any], about: Mapping[str, Any]) -> str | None:
    decided, version, before = about["decision"], about.get("version"), found.get("version", 0)
    if decided is None or type(version) is not int or version < before:
        return None
    if version == before == FIRST:  # another clone received the message too and decided itself
        return None
    was_forbidden = found["disposition"] == IGNORED and found["decision"].policy == MUST_NOT
    if not was_forbidden and found["disposition"] not in OPEN:
        return "late"
    if decided.policy == MUST_NOT:
        return "forbids"
    return "allows again" if was_forbidden else "allows"


def _case_of_reaction(found: Mapping[str, Any], about: Mapping[str, Any]) -> str | None:
    """The disposition that the signal gives, or "" if it gives none.

    `seen` does not settle a request, and `agree` does not answer a question.
    """
    signal, policy = _signal(about), found["decision"].policy
    if signal not in SIGNALS:
        return None
    if about.get("remove"):
        return None if found.get("signal") != signal else "asks no more" if signal == UNCLEAR else "taken back"
    to = SIGNALS[signal].disposition or ""
    if policy == MUST and to == ACKNOWLEDGED and (signal == "seen" or found.get("intent") == QUESTION):
        return ""
    return "" if policy == MUST_NOT else to


def _case_of_answer(found: Mapping[str, Any], _about: Mapping[str, Any]) -> str:
    return ACKNOWLEDGED if found["decision"].policy == ACK_ONLY else RESPONDED


def _case_of_resolution(_found: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    return OUTCOMES.get(str(about.get("outcome")), RESPONDED)


def _case_of_claim(found: Mapping[str, Any], _about: Mapping[str, Any]) -> str | None:
    return None if found["decision"].policy == MUST_NOT else ""


def _case_of_restoring(found: Mapping[str, Any], _about: Mapping[str, Any]) -> str | None:
    return "" if found.get("cause") == MERGED else None


OUTCOMES = {"answered": RESPONDED, "done": RESPONDED, "wont_do": IGNORED, "duplicate": SUPERSEDED}
CASES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]] = {
    DECIDED: _case_of_decision,
    REACTED: _case_of_reaction,
    ANSWERED: _case_of_answer,
    RESOLVED: _case_of_resolution,
    TOOK: _case_of_claim,
    RESTORED: _case_of_restoring,
}

# -- effects: the members that a step changes besides the disposition


def _decide(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    decided = {"version": about["version"], "decision": about["decision"], "cause": found.get("cause", "")}
    return {**decided, "changed_at": ms, **UNSEEN} if "version" in found else decided  # a new version is unseen


def _note_version(_found: Mapping[str, Any], about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    return {"version": about["version"]}


def _signal(about: Mapping[str, Any]) -> Any:
    return about.get("counts_as") or about.get("signal")


def _react(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    signal = _signal(about)
    # The clock stops only once, however often the agent asks back.
    asks = {"awaits_clarification": found.get("awaits_clarification") or ms} if signal == UNCLEAR else {}
    return {"signal": signal, "eta": about.get("eta", ""), **asks}


def _settle(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    return {**_react(found, about, ms), "cause": f"signal {_signal(about)}"}


def _settle_later(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    reason = f"signal {_signal(about)}"
    is_new = found["disposition"] != DEFERRED
    again = {"deferrals": (*found.get("deferrals", ()), reason), "reminded_at": None} if is_new else {}
    return {**_settle(found, about, ms), "until": about.get("until"), **again}


def _decline(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    return {**_settle(found, about, ms), **_deviate(found, about, ms)}


def _take_back(found: Mapping[str, Any], _about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    return {"signal": "", "until": None, "cause": found.get("cause", "")}


def _ask_no_more(found: Mapping[str, Any], _about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    return {"signal": "", "clarified_at": found.get("clarified_at") or found.get("awaits_clarification")}


def _deviate(found: Mapping[str, Any], _about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    return {"deviates": True} if found["decision"].policy == MUST else {}


def _put_off(found: Mapping[str, Any], about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    reason, before = str(about.get("reason", "")), found.get("deferrals", ())
    reasons = before if before[-1:] == (reason,) else (*before, reason)
    eta = str(about.get("eta", ""))
    return {"until": about.get("until"), "reason": reason, "eta": eta, "deferrals": reasons, "reminded_at": None}


def _offer(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    version = _int(about.get("version"), 0) if about.get("as") == SHOWN else found.get("offered_version", 0)
    return {
        "offered_version": version,
        # A harness may answer before it acknowledges, so the first offer counts as seen; a later one when it is taken.
        "seen_version": found.get("seen_version") or version,
        "attempt": max(found.get("attempt", 0), _int(about.get("attempt"), 1)),
        "offered_at": ms,
        "offered_as": str(about.get("as", "")),
        "is_shown": found.get("is_shown", False) or about.get("as") == SHOWN,
        "merged_from": tuple(about.get("merged_from") or found.get("merged_from", ())),
        "accepted": False,
        "is_parked": False,
        "turn": "",
    }


def _accept(found: Mapping[str, Any], _about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    seen = max(found.get("seen_version", 0), found.get("offered_version", 0))
    return {"accepted": True, "is_parked": False, "seen_version": seen}


def _pull(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    seen = max(found.get("seen_version", 0), _int(about.get("version"), 0))
    return {"pulled_at": found.get("pulled_at") or ms, "seen_version": seen}


def _start(_found: Mapping[str, Any], _about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    return {"turn": STARTED, "started_at": ms}


def _stop(_found: Mapping[str, Any], about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    by = str(about.get("by", ""))
    return {"superseded_by": by, "stopped_by": by}


def _fail_turn(found: Mapping[str, Any], about: Mapping[str, Any], _ms: int) -> dict[str, Any]:
    has_spoken = found.get("has_spoken", False) or about.get("outbound") is True
    return {"turn": TURN_FAILED, "turns": found.get("turns", 0) + 1, "has_spoken": has_spoken, "accepted": False}


def _clarify(found: Mapping[str, Any], about: Mapping[str, Any], ms: int) -> dict[str, Any]:
    return {"clarified_at": found.get("clarified_at") or _int(about.get("at"), ms)}


def _text(member: str, name: str) -> Effect:
    """The member holds what the step says under NAME."""
    return lambda _found, about, _ms: {member: str(about.get(name, ""))}


def _at(member: str) -> Effect:
    """The member holds the time of the last such step."""
    return lambda _found, _about, ms: {member: ms}


def _first_at(member: str) -> Effect:
    """The member holds the time of the first such step."""
    return lambda found, _about, ms: {member: found.get(member) or ms}


def _int(value: Any, otherwise: int) -> int:
    return value if type(value) is int else otherwise


# The state machine. A step changes the disposition, which is open at first:
#
#     open ─> claimed, deferred ─> responded, acknowledged, ignored, superseded, failed
#
# The last five are final, with four exceptions: an acknowledged message may be responded to, a failed one may be tried
# again, an answer that the platform permanently refuses does not count, and a merged piece is restored when the message
# that it was merged into is deleted. Steps of the harness leave the disposition as it is, because the two are
# independent: an agent may answer a message before the harness acknowledges it. A step that no row allows changes
# nothing, so every clone can read any log.
UNSETTLED = (*OPEN, FAILED)
ANSWERABLE = (*UNSETTLED, ACKNOWLEDGED)
ANY = (None, *DISPOSITIONS)
STAYS = "stays"
NOTHING: dict[str, Any] = {}
SUPERSEDE, FAIL = _text("superseded_by", "by"), _text("reason", "reason")
# step, its case, dispositions from which it is allowed, new disposition, effect
TRANSITIONS: tuple[Transition, ...] = (
    (DECIDED, "allows", OPEN, STAYS, _decide),
    (DECIDED, "forbids", (*OPEN, IGNORED), IGNORED, _decide),
    (DECIDED, "allows again", (IGNORED,), None, _decide),
    (DECIDED, "late", ANY, STAYS, _note_version),
    (ANSWERED, RESPONDED, ANSWERABLE, RESPONDED, {"has_spoken": True}),
    (ANSWERED, ACKNOWLEDGED, UNSETTLED, ACKNOWLEDGED, {"has_spoken": True}),
    (RESOLVED, RESPONDED, ANSWERABLE, RESPONDED, NOTHING),
    (RESOLVED, IGNORED, UNSETTLED, IGNORED, _deviate),
    (RESOLVED, SUPERSEDED, UNSETTLED, SUPERSEDED, SUPERSEDE),
    (REACTED, RESPONDED, ANSWERABLE, RESPONDED, _settle),
    (REACTED, ACKNOWLEDGED, UNSETTLED, ACKNOWLEDGED, _settle),
    (REACTED, IGNORED, UNSETTLED, IGNORED, _decline),
    (REACTED, CLAIMED, (None, DEFERRED, FAILED), CLAIMED, _settle),
    (REACTED, DEFERRED, UNSETTLED, DEFERRED, _settle_later),
    *((REACTED, case, ANY, STAYS, _react) for case in ("", RESPONDED, ACKNOWLEDGED, IGNORED, CLAIMED, DEFERRED)),
    (REACTED, "taken back", (CLAIMED, DEFERRED), None, _take_back),
    (REACTED, "asks no more", ANY, STAYS, _ask_no_more),
    (PUT_OFF, "", OPEN, DEFERRED, _put_off),
    (RESURFACED, "", (DEFERRED,), None, NOTHING),
    (TOOK, "", (None, DEFERRED), CLAIMED, NOTHING),
    (GAVE_BACK, "", (CLAIMED,), None, NOTHING),
    (LAPSED, "", OPEN, IGNORED, _deviate),
    (MERGED, "", OPEN, SUPERSEDED, SUPERSEDE),
    (RESTORED, "", (SUPERSEDED,), None, {"superseded_by": "", **UNSEEN}),
    (SETTLED, "", OPEN, SUPERSEDED, SUPERSEDE),
    (STOPPED, "", UNSETTLED, SUPERSEDED, _stop),
    (STOPPED, "", ANY, STAYS, _text("stopped_by", "by")),
    (DELETED, "", (*UNSETTLED, IGNORED), SUPERSEDED, SUPERSEDE),
    (REJECTED, "", OPEN, FAILED, FAIL),
    (GAVE_UP, "", OPEN, FAILED, FAIL),
    (UNSENT, "", (RESPONDED,), FAILED, FAIL),
    (OFFERED, "", ANY, STAYS, _offer),
    (ACCEPTED, "", ANY, STAYS, _accept),
    (PARKED, "", ANY, STAYS, {"is_parked": True}),
    (STARTED, "", ANY, STAYS, _start),
    (ENDED, "", ANY, STAYS, {"turn": ENDED}),
    (TURN_FAILED, "", ANY, STAYS, _fail_turn),
    (PULLED, "", ANY, STAYS, _pull),
    (CHECKED, "", ANY, STAYS, _at("checked_at")),
    (REMINDED, "", ANY, STAYS, _at("reminded_at")),
    (STALE, "", ANY, STAYS, _first_at("stale_at")),
    (ESCALATED, "", ANY, STAYS, _text("escalated_to", "to")),
    (CLARIFIED, "", ANY, STAYS, _clarify),
)
BY_CASE: dict[tuple[str, str | None], list[tuple[tuple[str | None, ...], str | None, Effect | dict[str, Any]]]] = {}
for _step, _case, *_row in TRANSITIONS:
    BY_CASE.setdefault((_step, _case), []).append(tuple(_row))  # type: ignore[arg-type]
