"""What the relay answers about a line that has a place."""

from __future__ import annotations

from bb.coordination.facts import Released, Reserved
from bb.coordination.holdings.admission import Admitted
from bb.coordination.holdings.ordered_admission import OrderedAdmission, take_over
from bb.ledger.fleet.verdicts import Verdicts
from tests.coordination.soon_forgotten import forgetting_soon

LOG = "0123456789abcdef"
ONE, TWO, THREE = (f"{letter * 12}.1" for letter in "abc")


def reserved(agent: str, takes: str | None = None) -> Reserved:
    return Reserved(agent, "src", "bb-1", 120, order=LOG, takes=takes)


def test_a_reservation_that_was_admitted_is_told_so():
    fold = OrderedAdmission(Admitted(), LOG)
    verdicts = Verdicts(LOG, lambda: fold.admitted, lambda _: None)
    verdicts.note(7, fold.row(7, [(ONE, reserved("ada"))], ["ada"]), fold.grant)

    assert verdicts.of(ONE, 7, fold.grant(ONE)) == {"state": "admitted", "token": 7, "place": 7}


def test_an_agent_that_asks_late_is_not_told_that_it_holds_what_was_taken_over_meanwhile():
    """Its answer was lost, and it asks again an hour later. Without this, two agents are told that they hold `src`."""
    fold = OrderedAdmission(Admitted(), LOG)
    verdicts = Verdicts(LOG, lambda: fold.admitted, lambda _: None)
    verdicts.note(7, fold.row(7, [(ONE, reserved("ada"))], ["ada"]), fold.grant)
    fold.row(8, [(TWO, reserved("bo", take_over(ONE, 7)))], ["bo"])

    assert verdicts.of(ONE, 8, fold.grant(ONE))["state"] == "void"


def test_nor_after_a_restart_when_only_the_saved_results_know_it():
    fold = OrderedAdmission(Admitted(), LOG)
    fold.row(7, [(ONE, reserved("ada"))], ["ada"])
    fold.row(8, [(THREE, Released("ada", ONE))], ["ada"])

    assert Verdicts(LOG, lambda: fold.admitted, lambda _: None).of(ONE, 8, fold.grant(ONE))["state"] == "void"


def test_nor_when_its_grant_is_forgotten():
    fold = OrderedAdmission(Admitted(), LOG)
    verdicts = Verdicts(LOG, lambda: fold.admitted, lambda _: reserved("ada"))
    later = Verdicts(LOG, lambda: fold.admitted, lambda _: reserved("ada"))
    with forgetting_soon():
        verdicts.note(7, fold.row(7, [(ONE, reserved("ada"))], ["ada"]), fold.grant)
        fold.row(8, [(THREE, Released("ada", ONE))], ["ada"])
        fold.row(30, [], ["ada"])

        assert fold.grant(ONE) is None
        assert verdicts.of(ONE, 30, fold.grant(ONE))["state"] == "void"
        assert later.of(ONE, 30, fold.grant(ONE))["state"] == "void"
