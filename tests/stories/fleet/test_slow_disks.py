"""A machine, or a server, whose disk is slow: answers are late or uncertain, and never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import engines
from tests.engines import postgres
from tests.stories.fleet.client_support import AMBER, COBALT, Fleet, fleet
from tests.waiting import until
from tests.wrong_machines import Disk

UNCERTAIN = ("ENGINE_UNREACHABLE", "GRANT_PENDING", "RELAY_SILENT", "LEDGER_BUSY")


def is_settled(two: Fleet, scope: str) -> bool:
    """Whether one of the two holds SCOPE, both know it, and nothing is pending."""
    tokens = [two.here.token(scope), two.there.token(scope)]
    answers = [side.reserve(scope) for side in (two.here, two.there)]
    statuses = sorted(answer.status for answer in answers)
    assert None in tokens, "never both"
    return statuses == [0, 7] and all(answer.status == 0 or answer.code == "RESERVATION_CONFLICT" for answer in answers)


@pytest.mark.parametrize("seconds", [0.2, pytest.param(1.5, marks=pytest.mark.long)])
def test_a_machine_with_a_slow_disk_is_late_and_nothing_is_granted_twice(tmp_path: Path, seconds: float):
    disk = Disk()
    with fleet(tmp_path, engines.shared_postgres(), there=disk.settings) as two:
        disk.takes(seconds)
        first = two.there.reserve("slow", "--ttl", "30")
        assert first.status == 0 or first.code in UNCERTAIN, first.out
        other = two.here.reserve("quick")
        assert other.status == 0, "it delays nobody"
        assert not (first.status == 0 and two.here.reserve("slow").status == 0)
        disk.takes(0)

        until(lambda: is_settled(two, "slow"))
        assert two.there.reserve("quick").code == "RESERVATION_CONFLICT"


@pytest.mark.parametrize("seconds", [1.0, pytest.param(5.0, marks=pytest.mark.long)])
def test_a_server_with_a_slow_disk_grants_late_or_says_that_it_is_not_known(tmp_path: Path, seconds: float):
    disk = Disk()
    with postgres(environment=disk.settings) as server, fleet(tmp_path, server) as two:
        disk.takes(seconds)
        answers = {side.agent: side.reserve("src") for side in (two.here, two.there)}
        assert sum(answer.status == 0 for answer in answers.values()) <= 1
        for agent in (AMBER, COBALT):
            assert answers[agent].status in (0, 7) or answers[agent].code in UNCERTAIN, answers[agent].out
        disk.takes(0)

        until(lambda: is_settled(two, "src"))
