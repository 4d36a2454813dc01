"""The audit comes in pages, and has what was refused: look-ups too, without telling what there is."""

from __future__ import annotations

from typing import Any

from tests.attention.hosts import AMBER, BLUE, CommandLine, Host, InMemory


def refusals(host: Host) -> list[dict[str, Any]]:
    return [record for record in host.do(audit={})["records"] if record["what"] == "refused"]


def test_page_after_page_has_every_record_once(memory: InMemory):
    memory.people()
    for n in range(20):
        memory.says(str(n), f"U1, number {n}?", mentions=["U1"])
        memory.wait("1s")
    memory.wait("40s")
    memory.inject()
    whole = memory.do(audit={})
    assert whole["cursor"] is None

    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = memory.do(audit={"limit": 7, **({"cursor": cursor} if cursor else {})})
        assert len(page["records"]) <= 7
        found += page["records"]
        cursor = page["cursor"]
    key = str
    assert sorted(map(key, found)) == sorted(map(key, whole["records"]))
    assert [each["at"] for each in found] == sorted((each["at"] for each in found), reverse=True)


def test_what_is_new_meanwhile_moves_no_page(memory: InMemory):
    memory.people()
    for n in range(6):
        memory.says(str(n), "well?", mentions=["U1"])
        memory.wait("1s")
    first = memory.do(audit={"limit": 5})
    second = memory.do(audit={"limit": 5, "cursor": first["cursor"]})
    memory.wait("1m")
    memory.says("new", "and?", mentions=["U1"])

    assert memory.do(audit={"limit": 5, "cursor": first["cursor"]})["records"] == second["records"]


def test_a_cursor_of_something_else_is_refused(memory: InMemory):
    assert memory.refusal(audit={"cursor": "nonsense"}).code == "INVALID_CURSOR"


def test_a_refused_look_up_is_recorded_and_tells_nothing(host: Host):
    host.people()
    host.do(conversation={"id": "P1", "is_private": True, "members": [AMBER]})
    host.says("hidden", "the secret", conversation="P1")
    for event in ("hidden", "nothing"):
        assert host.refusal(read={"agent": BLUE, "eventId": event}).code == "NOT_FOUND"
        assert host.refusal(claim={"agent": BLUE, "eventId": event}).code == "NOT_FOUND"

    rows = [(row["by"], row["code"], row["about"]) for row in refusals(host)]
    assert len(rows) == 4
    for event in ("hidden", "nothing"):
        assert rows.count((BLUE, "NOT_FOUND", {"event_id": event})) == 2


def test_guessing_does_not_fill_the_ledger(memory: InMemory):
    memory.people()
    for n in range(50):
        memory.refusal(read={"agent": BLUE, "eventId": f"guess-{n}"})
    assert len(refusals(memory)) == 20
    memory.wait("61s")
    memory.refusal(read={"agent": BLUE, "eventId": "guess"})

    assert len(refusals(memory)) == 21


def test_a_secret_in_a_look_up_is_not_kept(command_line: CommandLine):
    command_line.people()
    token = "ghp_" + "a1B2" * 9

    assert command_line.refusal(read={"agent": BLUE, "eventId": token}).code == "NOT_FOUND"
    assert token not in command_line.everything()
