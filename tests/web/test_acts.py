"""What a person does on a page is an op, called as `user` whatever the form says."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from bb.coordination.holdings import incursions, reservations
from bb.kernel.errors import BbError
from bb.ops import catalogue
from bb.ops.desk.desk import Desk
from bb.web import forms, pages, rendering
from tests.near import Near
from tests.scene import AMBER, COBALT
from tests.web.conftest import desk_at


def mine(desk: Desk) -> list[dict[str, Any]]:
    return catalogue.find("agent.inbox").run(desk, {"agent": "user"})


def last_lines(day: Near, count: int = 1) -> list[dict[str, Any]]:
    return day.json("ledger", "log", "--limit", str(count)).data


def blocked(desk: Desk) -> dict[str, Any]:
    return next(message for message in mine(desk) if message["category"] == "BLOCKED")


def test_6_3_a_message_to_the_person_can_be_seen_and_accepted(desk: Desk):
    message = blocked(desk)

    assert forms.do(desk, "seen", {"message": message["message_id"]})["said"] == "Marked as seen."
    assert blocked(desk)["state"] == "read"
    forms.do(desk, "accepted", {"message": message["message_id"]})
    assert blocked(desk)["state"] == "acked"


@pytest.mark.parametrize("name", forms.ACTS)
def test_every_act_is_done_by_the_person_and_takes_no_name(name: str):
    act = forms.ACTS[name]
    op = catalogue.find(act.op)

    assert act.who in op.by_name
    assert act.who not in act.fields
    assert set(act.fields) <= set(op.by_name)
    assert {field for field in act.fields if op.by_name[field].is_repeated} == set(act.repeated)


def test_a_comment_is_said_by_the_person_even_if_the_form_names_an_agent(desk: Desk, day: Near):
    form = {"to": AMBER, "bead": "bb-1.1", "body": "Four.\nAlways.", "from": COBALT, "agent": COBALT, "by": COBALT}
    done = forms.do(desk, "comment", form)

    assert done["answer"]["from_agent"] == "user"
    assert [line["by"] for line in last_lines(day)] == ["user"]
    assert (done["answer"]["subject"], done["answer"]["category"]) == ("Four.", "INFO")


def test_whoever_answers_a_question_has_seen_it(desk: Desk):
    question = next(message for message in mine(desk) if message["category"] == "DECISION")
    form = {"to": COBALT, "bead": "bb-2.2", "body": "Yes.", "answers": question["message_id"]}
    forms.do(desk, "comment", form)

    assert next(message for message in mine(desk) if message["category"] == "DECISION")["state"] == "read"


def test_what_can_be_held_can_be_released_from_a_page(desk: Desk, day: Near):
    day.bb("agent", "reserve", "--agent", AMBER, "--scope", "lib/\u200erlm <b>.py", "--bead", "bb-1")
    shown = rendering.page("agents", pages.page(desk, "agents", {}))
    (sent,) = {value for value in re.findall(r'name="scope" value="([^"]*)"', shown) if "rlm" in value}

    forms.do(desk, "release", {"scope": html.unescape(sent)})


def test_a_long_first_line_is_cut_for_the_subject_and_kept_in_the_body(desk: Desk):
    done = forms.do(desk, "comment", {"to": AMBER, "bead": "bb-1.1", "body": "x" * 300})["answer"]

    assert done["subject"] == "x" * 79 + "…"
    assert done["body"] == "x" * 300


def test_the_same_form_sent_twice_says_it_once(desk: Desk):
    form = {"to": "user", "bead": "bb-1.1", "body": "Once.", "key": "7f9c2ba4"}
    before = len(mine(desk))
    forms.do(desk, "comment", form | {"to": AMBER})
    first = forms.do(desk, "comment", form | {"to": AMBER})["answer"]["message_id"]

    assert forms.do(desk, "comment", form | {"to": AMBER})["answer"]["message_id"] == first
    assert len(mine(desk)) == before


def test_the_person_releases_what_an_agent_holds(desk: Desk, day: Near):
    forms.do(desk, "release", {"scope": "src/parser"})

    assert "src/parser" not in {each["scope"] for each in day.json("agent", "status").data["reservations"]}
    assert last_lines(day)[0]["by"] == "user"


def test_the_person_hands_over_what_an_agent_holds(desk: Desk, day: Near):
    forms.do(desk, "transfer", {"scope": "src/parser", "from": AMBER, "to": COBALT, "why": "amber-otter is ill"})

    held = {each["scope"]: each["agent_id"] for each in day.json("agent", "status").data["reservations"]}
    assert held["src/parser"] == COBALT
    assert {line["by"] for line in last_lines(day, 3)} <= {"user", "system"}


def test_the_person_freezes_paths_and_thaws_them(desk: Desk, day: Near):
    forms.do(desk, "freeze", {"scope": "src/parser", "why": "the release", "minutes": "30"})

    assert day.bb("check", "src/parser/dates.py", "--agent", AMBER).status == 7
    forms.do(desk, "thaw", {"scope": "src/parser"})
    assert day.bb("check", "src/parser/dates.py", "--agent", AMBER).status == 0


@pytest.mark.parametrize("form", [{"name": AMBER}, {"all": "yes"}])
def test_the_person_pauses_one_agent_or_all_and_lets_them_go_on(desk: Desk, day: Near, form: dict[str, str]):
    forms.do(desk, "pause", form | {"why": "wait for the review"})

    assert day.json("check", "src/parser/dates.py", "--agent", AMBER).code == "AGENT_PAUSED"
    forms.do(desk, "unpause", form)
    assert day.bb("check", "src/parser/dates.py", "--agent", AMBER).status == 0


def test_an_agent_s_environment_makes_no_difference_to_who_acts(day: Near):
    day.settings["BB_AGENT"] = AMBER
    found = desk_at(day)
    forms.do(found, "freeze", {"scope": "docs"})
    found.close()

    assert last_lines(day)[0]["by"] == "user"


def test_an_incursion_that_cannot_be_settled_is_refused_as_everywhere(desk: Desk, day: Near):
    (event,) = day.json("protocol", "incursions", "--state", "open").data

    with pytest.raises((incursions.IncursionClosed.error, incursions.NotAnIncursion.error)):
        forms.do(desk, "resolve", {"event": "aaaaaaaaaaaa.1", "as": "accepted"})
    forms.do(desk, "resolve", {"event": event["id"], "as": "accepted", "note": "They agreed."})
    assert day.json("protocol", "incursions", "--state", "open").data == []


@pytest.mark.parametrize(
    ("name", "form", "code"),
    [
        ("seen", {}, "MISSING_OPTION"),
        ("seen", {"message": "nothing"}, None),
        ("release", {"scope": "nowhere"}, "RESERVATION_NOT_FOUND"),
        ("release", {"scope": "../.."}, "SCOPE_OUTSIDE"),
        ("comment", {"to": "nobody-here", "bead": "bb-1", "body": "x"}, None),
        ("comment", {"to": AMBER, "bead": "bb-1"}, "NOTHING_SAID"),
        ("comment", {"to": AMBER, "bead": "bb-1", "body": " \n "}, "NOTHING_SAID"),
        ("resolve", {"event": "x", "as": "burnt"}, None),
        ("run", {"command": "rm"}, "UNKNOWN_ACT"),
        ("__class__", {}, "UNKNOWN_ACT"),
    ],
)
def test_what_makes_no_sense_is_refused_and_records_nothing(
    desk: Desk, day: Near, name: str, form: dict[str, str], code: str | None
):
    before = last_lines(day)

    with pytest.raises(BbError) as refusal:
        forms.do(desk, name, form)

    assert code in (None, refusal.value.code)
    assert refusal.value.exit_status != 1
    assert last_lines(day) == before


def test_a_text_of_one_hyphen_is_a_hyphen_and_nothing_is_read_for_it(desk: Desk):
    assert forms.do(desk, "comment", {"to": AMBER, "bead": "bb-1", "body": "-"})["answer"]["body"] == "-"


def test_a_form_is_read_as_a_browser_sends_it():
    sent = urlencode({"body": "a\r\nb & c=ü", "note": "", "to": "x"}).encode()

    assert forms.form(sent) == {"body": "a\nb & c=ü", "to": "x"}
    assert forms.form(b"") == {}


@pytest.mark.parametrize(
    "octets", [b"a=1&a=2", b"\xff", b"a", b"a=%ff", b"&".join(b"f%d=1" % n for n in range(99)), b"{}"]
)
def test_what_is_no_form_is_refused(octets: bytes):
    with pytest.raises(forms.InvalidForm.error):
        forms.form(octets)


def test_the_person_needs_no_flag_to_let_go_what_others_hold_and_agents_may_not(day: Near):
    assert day.bb("agent", "release", "--agent", COBALT, "--scope", "src/parser").status == 5
    assert reservations.ReleaseForbidden.code == "RELEASE_FORBIDDEN"
