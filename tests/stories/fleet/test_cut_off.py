"""A machine that was cut off from a real engine comes back while another machine's agent is at work and has recorded
nothing meanwhile: it is not taken over, because what was not heard is no silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bb.kernel.errors import BbError
from bb.ledger.fleet import asking
from tests import engines
from tests.stories.fleet.client_support import AMBER, COBALT, Fleet, ago, fleet
from tests.support import Ran
from tests.waiting import PATIENCE, until


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet(tmp_path_factory.mktemp("fleet"), engines.shared_postgres()) as made:
        yield made


def cut_off_for_hours(two: Fleet) -> None:
    """Here, other machines were heard until two hours ago, and the agent there had been silent for a while then."""
    assert two.here.json("sync").status == 0
    two.proxy.cut()
    two.here.restart_daemon(lambda: two.here.has_heard(COBALT, since=300, last=120))


def tried(two: Fleet, scope: str) -> Ran:
    """The answer once the engine can be reached again."""
    return until(
        lambda: not (found := two.here.reserve(scope, "--takeover-stale")).code.startswith("ENGINE_") and found
    )


def test_a_machine_that_comes_back_does_not_take_over_from_a_holder_at_work(two: Fleet):
    two.there.reserve("one")
    cut_off_for_hours(two)
    assert two.here.reserve("one", "--takeover-stale").code == "ENGINE_UNREACHABLE"
    two.there.json("agent", "heartbeat")  # it works, and records nothing
    two.proxy.mend()

    refused = tried(two, "one")

    assert refused.code == "RESERVATION_CONFLICT"
    assert two.there.token("one")
    assert two.there.json("check", "one").status == 0


def test_no_list_calls_an_agent_elsewhere_silent_while_nothing_is_heard_of_it(two: Fleet):
    two.there.reserve("listed")
    until(lambda: two.here.json("check", "listed").status == 7)
    later = {"BB_NOW": ago(-20), "BB_DAEMON": "off"}

    listed = {row["agent_id"]: row["liveness"] for row in two.here.json("agent", "list", **later).data}
    (path,) = two.here.json("check", "listed", **later).envelope["error"]["details"]["paths"]

    assert (listed[COBALT], listed[AMBER]) == ("active", "stale")
    assert [holder["liveness"] for holder in path["held_by"]] == ["active"]


def test_what_an_engine_that_has_lost_its_beats_cannot_tell_is_no_silence_and_the_refusal_says_so(two: Fleet):
    two.there.reserve("two")
    cut_off_for_hours(two)
    two.there.kill_daemon()
    two.server.sql("delete from bb.beat", two.database)
    two.proxy.mend()

    refused = tried(two, "two")

    assert refused.code == "RESERVATION_CONFLICT"
    assert "time in which it heard nothing does not count" in refused.envelope["error"]["message"]
    assert "Z on, its silence can be known" in refused.envelope["error"]["message"]
    seconds = int(refused.envelope["error"]["hint"].partition("--wait ")[2].split()[0].strip("`"))
    assert 15 * 60 - PATIENCE <= seconds <= 16 * 60, "it is heard since a moment ago"
    assert two.there.token("two")


def test_a_request_that_was_admitted_before_the_machine_slept_is_pending_until_the_engine_was_read(two: Fleet):
    two.here.reserve("three")
    rows = two.here.json("agent", "status", "--agent", AMBER).data["reservations"]
    (row,) = [row for row in rows if row["scope"] == "three"]
    two.proxy.cut()
    two.here.restart_daemon(lambda: None)
    question = {"ask": "settle", "events": [row["reservation_id"]]}

    assert answer_of(two, question) == "GRANT_PENDING"
    two.proxy.mend()
    until(lambda: answer_of(two, question) == "admitted")


def answer_of(two: Fleet, question: dict[str, Any]) -> str:
    """What the relay says of one reservation: a state, or the code of a refusal."""
    try:
        (verdict,) = asking.ask(two.here.store, question, 1.0)["events"].values()
    except BbError as refusal:
        return refusal.code
    return str(verdict["state"])


def test_what_a_machine_reserved_for_itself_while_it_was_cut_off_does_not_keep_out_who_got_it_from_the_engine(
    two: Fleet,
):
    third = "jade-heron"
    assert two.there.text("agent", "register", "--name", third, "--role", "builder", BB_AGENT="").status == 0
    until(lambda: two.here.json("sync").status == 0)
    two.proxy.cut()
    until(lambda: two.here.json("sync").code == "ENGINE_UNREACHABLE")
    assert two.here.reserve("four", "--fallback", "local").data["fallback"] == "local"
    assert two.there.reserve("four").status == 0
    two.proxy.mend()
    until(lambda: two.here.json("sync").status == 0)
    assert two.there.json("sync").status == 0
    assert two.here.state("four") == "contested"

    again, part = two.there.reserve("four"), two.there.reserve("four/part")
    refused = two.there.reserve("four", BB_AGENT=third)
    loser = until(lambda: not (found := two.here.reserve("four")).code.startswith("ENGINE_") and found)

    assert again.data["token"] < part.data["token"]
    assert [one["scope"] for one in again.data["taken_over"]] == []
    for answer in (refused, loser):
        assert answer.code == "RESERVATION_CONFLICT"
        assert answer.envelope["error"]["message"].startswith(f"{COBALT} holds four")
    assert two.here.state("four") == "contested"
    assert two.there.json("check", "four/part").status == 0
    assert two.there.text("release", "--all").status == 0
    until(lambda: two.here.state("four") == "active", "the end of the grant; nobody else has reserved it")
    assert two.there.reserve("four").code == "RESERVATION_CONFLICT"
