"""What `bb fleet status` says about an engine that is away, wrong, or used by a machine that writes nonsense."""

from __future__ import annotations

from typing import Any

from bb.cli.screens import fleet, fleet_age
from bb.kernel.foreign import Foreign
from bb.ledger.care import fleet_checks
from bb.ledger.fleet import overview

NOW = 1_000_000_000
RELAY = {
    "state": "connected",
    "place": 7,
    "imported": 7,
    "engine_place": 7,
    "lag": 0,
    "unsent": 0,
    "archived": 5,
    "leads": False,
    "archive_failure": None,
    "machines": [{"name": "m", "writer": "aaaaaaaaaaaa", "place": 7, "age": 1.0, "is_alive": True, "agents": 1}],
    "skew_ms": 0,
    "heard_at": NOW - 40_000,
    "health": {"durable": True, "fsync": "on"},
    "refusal": None,
    "denied": {},
    "flawed": [],
}
TERMS = {"incarnation": "0" * 16, "first": 2, "by": "", "ts": "", "reason": "", "carrier": "postgres"}


def answer(**relay: Any) -> dict[str, Any]:
    return {"terms": TERMS, "engine": None, **overview._of_relay(RELAY | relay, NOW)}


def shown(**relay: Any) -> str:
    return "\n".join(fleet.status(Foreign(answer(**relay))))


def refusal(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "at": NOW - 1000}


def test_what_needs_a_person_is_shown_although_the_relay_is_connected():
    flawed = [
        {"place": n, "writer": "mmmmmmmmmmmm", "first": 1, "lines": 1, "reason": "no\x1b[31m line"} for n in (3, 4)
    ]
    text = shown(denied={"bbbbbbbbbbbb": "ENGINE_DENIED"}, flawed=flawed, archive_failure="OFFLINE: no route")

    assert "refuses lines of writer bbbbbbbbbbbb" in text
    assert "2 rows in the engine do not count" in text
    assert "place 4, writer mmmmmmmmmmmm" in text
    assert "The last attempt to archive failed: OFFLINE: no route" in text
    assert "\x1b" not in text


def test_an_archive_that_may_be_old_is_told_as_that():
    """Another machine archives, and this one looks at the branch now and then."""
    for about, state in (
        ({}, "good"),
        ({"leads": True}, "good"),
        ({"archived": 7}, "good"),
        ({"leads": True, "archive_failure": "OFFLINE: no route"}, "odd"),
    ):
        is_old = not about
        assert fleet_checks._archive(answer(**about)).state == state
        assert ("when this clone last looked" in fleet_checks._archive(answer(**about)).text) == is_old
        assert ("when this clone last looked" in shown(**about)) == is_old


def test_a_refusal_for_which_lines_wait_is_told_between_two_attempts():
    locked = refusal("ENGINE_UNREACHABLE", "the engine's log was kept locked")

    assert "kept locked" in shown(refusal=locked, unsent=2)
    assert "kept locked" not in shown(refusal=locked)
    assert "kept locked" not in shown(refusal=locked | {"at": 0}, unsent=2)


def test_what_an_engine_told_before_it_went_away_is_told_as_that():
    text = shown(state="away", refusal=refusal("ENGINE_UNREACHABLE", "gone"))

    assert "Machines when it last answered, 40 s ago: 1 alive" in text
    assert "The engine was, when it last answered, durable" in text


def test_a_machine_with_a_full_disk_is_not_told_that_the_engine_is_away():
    found = answer(state="away", refusal=refusal("FLEET_RESULTS_NOT_SAVED", "the disk is full"))
    texts = [
        next(fleet.status(Foreign(found))),
        fleet_age.line(Foreign(overview.line(found))),
        fleet_checks._state(found)[1],
    ]

    assert "this machine cannot save what it has read" in texts[0]
    assert "not connected, because the disk is full; make room on the disk" in texts[1]
    assert "FLEET_RESULTS_NOT_SAVED: the disk is full" in texts[2]
    assert not any("reached" in text for text in texts)


def test_only_a_connection_that_failed_is_an_engine_that_cannot_be_reached():
    for code, words in (
        ("ENGINE_UNREACHABLE", "The engine cannot be reached"),
        ("APPEND_UNKNOWN", "The engine cannot be reached"),
        ("ENGINE_DENIED", "The engine refuses this machine"),
        ("LEDGER_BUSY", "This clone is not connected to the engine"),
    ):
        assert shown(state="away", refusal=refusal(code, "so")).startswith(words)


def test_the_status_does_not_send_to_itself_when_the_server_is_away():
    away = answer(state="away", refusal=refusal("ENGINE_UNREACHABLE", "no route to host"))

    assert "bb fleet status" not in away["hint"]
    assert "server" in (fleet_checks._state(away)[2] or "")


def test_each_reason_to_stop_is_named():
    for code, words in (
        ("ENGINE_REWOUND", "another history"),
        ("FLEET_ENDED", "log is closed"),
        ("ENGINE_NOT_DURABLE", "a power failure of the engine can lose lines"),
    ):
        text = shown(state="stopped", refusal=refusal(code, "so"))
        assert words in text.splitlines()[0]
        assert ("The engine was" in text) == (code != "ENGINE_NOT_DURABLE")


def test_the_statements_that_enroll_and_revoke_can_be_run_by_psql():
    """A statement of several lines ends at its last line."""
    found = {"done": False, "statements": ["select 1", "select 2\n    and 3"], "on_server": [], "on_machine": []}

    text = "\n".join(fleet.enrolled(Foreign(found | {"engine": {"carrier": "postgres", "address": "a"}})))

    assert text.split(";\n") == ["select 1", "select 2\n    and 3;"]
