"""What agents said and heard in CBCL, as the ledger's lines have it: any order, twice, in pieces, and by whom ever."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl.facts import Heard, Installed
from bb.cbcl.speak import effects
from bb.cbcl.speak.effects import Discharged, Effect, Expected, Greeted, Met, Obliged, Parted, Settled
from bb.cbcl.speak.state import AgentState, Answers
from bb.ledger.care import audit
from bb.ledger.index.index import Index
from bb.ledger.journal import folds, kinds
from bb.ledger.views import cbcl
from bb.messaging.cbcl import conversation_state, mail_form
from bb.messaging.facts import Sent
from tests.cbcl.trees import dialect, read
from tests.examples import examples
from tests.ledger.ledger_support import ADA, BO, WRITER, bare_journal, written

EVENT = f"{WRITER}.1"
States = dict[str, dict[str, Any]]
Placed = tuple[list[Any], Any]  # where a fact stands, and the fact


def at(place: int, writer: str = WRITER) -> list[Any]:
    return [place, writer, place]


def folded(said: list[Placed]) -> States:
    """Every entry after these facts have arrived, each of which goes through JSON, as it does when it is kept."""
    states: States = {}
    for place, fact in said:
        for key, part in conversation_state.parts(fact, place):
            state = conversation_state.step(states.get(key), part, place, f"2026-01-05T12:00:{place[0]:02}.000Z")
            states[key] = json.loads(json.dumps(state))
    return states


def terms(states: States) -> set[tuple[str, str, str]]:
    """What every entry is found by, and where."""
    return {(term, place, key) for key, state in states.items() for term, place in conversation_state.terms(key, state)}


def sent(text: str, to: str = BO, sender: str = ADA, happened: tuple[Effect, ...] = ()) -> Sent:
    return mail_form.letter(sender, read(text), [to], happened)


def heard(event: str = EVENT, by: str = BO, *happened: Effect, **about: Any) -> Heard:
    return Heard(by, event, "ok", {"effects": effects.to_line(happened)} | about)


# -- what a message opens and closes


def found(states: States, term: str) -> list[str]:
    return [key for each, _, key in sorted(terms(states), key=lambda row: row[1]) if each == term]


def test_a_message_is_to_be_heard_until_it_was():
    said = [(at(1), sent("(tell @cobalt-harbor)"))]
    assert found(folded(said), f"unheard {BO}") == [f"message {BO} {EVENT}"]
    assert found(folded([*said, (at(2), heard())]), f"unheard {BO}") == []
    assert found(folded([*said, (at(2), heard(by=ADA))]), f"unheard {BO}") == [f"message {BO} {EVENT}"]


def test_a_message_that_was_heard_elsewhere_first_is_not_to_be_heard_when_it_comes():
    assert found(folded([(at(2), heard()), (at(1), sent("(tell @cobalt-harbor)"))]), f"unheard {BO}") == []


def test_a_message_is_found_by_its_sender_and_what_it_is_called_in_that_ones_thread():
    states = folded([(at(1), sent('(ask @cobalt-harbor "?" :id q :thread "a b")'))])
    for term in (f"named {BO} {ADA} q", f"from {BO} {ADA} a b"):
        assert found(states, term) == [f"message {BO} {EVENT}"]
    assert found(states, f"named {BO} {BO} q") == []


def test_an_answer_is_waited_for_until_it_has_come():
    waits = (at(1), sent("(ask @cobalt-harbor (x))", happened=(Expected(BO, "q", "t"),)))
    came = (at(3), heard(EVENT, ADA, Settled(BO, "q", "replied")))
    again = (at(4), sent("(ask @cobalt-harbor (y))", happened=(Expected(BO, "q"),)))

    for said, is_open in (([waits], True), ([waits, came], False), ([waits, came, again], True), ([came], False)):
        for order in (said, said[::-1]):
            assert bool(found(folded(order), f"expected {ADA}")) is is_open


def test_what_is_owed_is_owed_by_one_and_not_by_who_waits():
    states = folded([(at(2), heard(EVENT, BO, Obliged(ADA, "q")))])
    assert found(states, f"obliged {BO}") == [f"obliged {BO} {ADA} q"]
    assert found(states, f"obliged {ADA}") == found(states, f"expected {BO}") == []


def test_whom_one_has_met_since_the_session_ended():
    key = f"peer {BO} {ADA}"
    said = [(at(2), heard(EVENT, BO, Met(ADA), Greeted(ADA))), (at(3), heard(EVENT, BO, Parted(ADA)))]
    for order, expected in ((said[:1], True), (said, False), (said[::-1], False)):
        state = folded(order)[key]
        assert conversation_state.is_met(state, "met") is conversation_state.is_met(state, "greeted") is expected
    assert not conversation_state.is_met(None, "met")


def test_mail_that_is_not_in_cbcl_says_nothing_here():
    assert list(conversation_state.keys(sent("(tell @cobalt-harbor)").replace(cbcl=None), at(1))) == []


# -- any order


OTHERS = st.sampled_from([ADA, BO, "user"])
NAMES = st.sampled_from(["a", "b c", ""])
HAPPENED = st.one_of(
    st.builds(Expected, OTHERS, NAMES, st.none() | NAMES),
    st.builds(Obliged, OTHERS, NAMES, st.none() | NAMES),
    st.builds(Settled, OTHERS, NAMES, st.just("replied")),
    st.builds(Discharged, OTHERS, NAMES, st.just("failed")),
    *(st.builds(kind, OTHERS) for kind in (Met, Greeted, Parted)),
    st.builds(effects.Verified, OTHERS, NAMES),
    st.builds(effects.Believed, OTHERS, NAMES),
    st.builds(effects.Entered, NAMES, OTHERS, st.just("tell"), NAMES, NAMES),
)
WRITTEN = st.lists(HAPPENED, max_size=4).map(effects.to_line)
ABOUT = st.fixed_dictionaries(
    {"id": NAMES, "performative": st.sampled_from(["tell", "ask"]), "effects": WRITTEN}, optional={"thread": NAMES}
)
SENT = st.builds(lambda who, to, about: sent("(tell @x)", to, who).replace(cbcl=about), OTHERS, OTHERS, ABOUT)
HEARD = st.builds(
    lambda by, event, happened: Heard(by, f"{WRITER}.{event}", "ok", {"effects": happened}),
    OTHERS,
    st.integers(0, 6),
    WRITTEN,
)
WRITERS = (WRITER, "ddddeeeeffff")


@st.composite
def histories(draw: Any) -> list[Placed]:
    said = draw(st.lists(st.tuples(st.sampled_from(WRITERS), SENT | HEARD), max_size=7))
    return [([place // 2, writer, place], fact) for place, (writer, fact) in enumerate(said)]


@examples(150)
@given(histories(), st.randoms(use_true_random=False))
def test_lines_may_arrive_in_any_order_and_twice(history: list[Placed], chance: random.Random):
    shuffled = chance.sample(history + history, 2 * len(history))
    one, other = folded(history), folded(shuffled)

    assert one == other
    assert terms(one) == terms(other)


OPENED = st.sampled_from([Expected(BO, "a"), Expected(BO, "b", "t"), Expected("user", "a"), Obliged(BO, "a", "t")])
CLOSED = st.sampled_from(
    [Settled(BO, "a", "replied"), Settled(BO, "b", "failed"), effects.Discharged(BO, "a", "replied")]
)
MEETING = st.sampled_from([Met(BO), Greeted(BO), Parted(BO)])


@examples(150)
@given(st.lists(OPENED | CLOSED | MEETING, max_size=10))
def test_the_ledger_says_where_an_agent_stands_as_its_own_life_does(happened: list[Effect]):
    """Lines that come one after the other, folded, come to what living through them comes to."""
    states = folded([(at(place), heard(f"{WRITER}.{place}", ADA, each)) for place, each in enumerate(happened, 1)])
    standing = AgentState(ADA).after(happened)

    for what, kind, answers in (
        ("expected", Expected, standing.expected),
        ("obliged", Obliged, standing.obliged),
    ):
        opened = [states[key]["open"][3][1] for key in found(states, f"{what} {ADA}")]
        assert Answers.by((peer, kind(peer, *more[:2])) for peer, *more in opened) == answers
    met = states.get(f"peer {ADA} {BO}")
    assert conversation_state.is_met(met, "met") is (BO in standing.peers)
    assert conversation_state.is_met(met, "greeted") is (BO in standing.greeted)


# -- a ledger with hostile lines


def indexed(tmp_path: Path, *drafts: tuple[str, dict[str, Any]], by: str = ADA) -> Index:
    journal = bare_journal(tmp_path)
    raws = written([(place, kind, data) for place, (kind, data) in enumerate(drafts, 1)], by=by)
    (tmp_path / "j" / journal.writer / "000000000001.jsonl").write_bytes(b"".join(raws))
    index = Index(":memory:", WRITER)
    index.catch_up([journal])
    fresh = Index(":memory:", WRITER)
    fresh.rebuild([journal])
    assert audit.state_digest(index) == audit.state_digest(fresh)
    fresh.close()
    return index


def line(fact: Any, **changes: Any) -> tuple[str, dict[str, Any]]:
    kind, data = kinds.kind_and_data(fact)
    return kind, data | changes


GOOD = sent('(ask @cobalt-harbor "?" :id q)', happened=(Expected(BO, "q"),))
ABOUTS: list[Any] = [
    *(None, 7, "x", [], True, {}, {"id": 7, "performative": "ask"}, {"id": "q"}, {"performative": "ask"}),
    *({"id": None, "performative": "ask"}, {"id": "q", "performative": ["ask"]}),
    *({"id": "q", "performative": "ask", "thread": 7}, {"id": "q", "performative": "ask", "thread": None}),
    *({"id": "q", "performative": "ask", "reply_to": []}, {"id": "q", "performative": "ask", "reply_to": None}),
]


@pytest.mark.parametrize("about", ABOUTS, ids=range(len(ABOUTS)))
def test_a_message_whose_cbcl_is_unsound_is_mail_and_no_more(tmp_path: Path, about: Any):
    index = indexed(tmp_path, line(GOOD, cbcl=about), line(GOOD))
    assert [key for key, _ in index.entries_by_term(conversation_state.NAME, f"unheard {BO}")] == [
        f"message {BO} {WRITER}.2"
    ]
    assert len(index.entries_by_term("copy", f"to {BO}")) == 2


@pytest.mark.parametrize("content_type", [None, "", "text/plain", 7, ["application/cbcl"]])
def test_a_message_that_is_not_said_to_be_in_cbcl_is_mail_and_no_more(tmp_path: Path, content_type: Any):
    index = indexed(tmp_path, line(GOOD, content_type=content_type))
    assert index.entries_by_term(conversation_state.NAME, f"unheard {BO}") == []


HUGE = [["met", "x" * 1000]] * 500
EFFECTS: list[Any] = [
    *(None, 7, "met", {}, [7], [[]], [["met"]], [["met", 7]], [["obliged", "a", "b", 7]], [[["met"]]], HUGE),
    *([["entered", "\x00", "a\nb", "", " ", "\u202e"]], [["obliged", "a b", "c d", None]]),
]


@pytest.mark.parametrize("written_effects", EFFECTS, ids=range(len(EFFECTS)))
def test_effects_that_are_none_are_skipped_and_kill_nothing(tmp_path: Path, written_effects: Any):
    said = {"id": "q", "performative": "ask", "effects": written_effects}
    index = indexed(
        tmp_path,
        line(GOOD, cbcl=said),
        ("x.bb.cbcl.heard", {"event_id": EVENT, "outcome": "ok", "about": {"effects": written_effects}}),
        line(GOOD),
    )
    assert [
        key for key, _ in index.entries_by_term(conversation_state.NAME, f"expected {ADA}") if key.endswith(f"{BO} q")
    ]
    assert [key for key, _ in index.entries_by_term(conversation_state.NAME, f"unheard {BO}")] == [
        f"message {BO} {EVENT}",
        f"message {BO} {WRITER}.3",
    ]
    assert cbcl.conversation_state_of(index, ADA, BO).id == ADA


@pytest.mark.parametrize(
    "data",
    [
        *({}, {"event_id": "x", "outcome": "ok", "about": {}}, {"event_id": EVENT, "outcome": 7, "about": {}}),
        *({"event_id": EVENT, "outcome": "ok", "about": []}, {"event_id": EVENT, "outcome": "ok"}),
        {"event_id": [EVENT], "outcome": "ok", "about": {}},
    ],
)
def test_a_hearing_that_is_none_is_skipped(tmp_path: Path, data: dict[str, Any]):
    index = indexed(tmp_path, line(GOOD), ("x.bb.cbcl.heard", data), by=BO)
    assert index.entries_by_term(conversation_state.NAME, f"unheard {BO}")


@pytest.mark.parametrize("about", [{"code": 7}, {"effects": 7}, {"code": {"x": 1}}, {"id": None}, {"x": {}}])
def test_a_hearing_that_says_odd_things_is_a_hearing(tmp_path: Path, about: dict[str, Any]):
    heard_line = ("x.bb.cbcl.heard", {"event_id": EVENT, "outcome": "ok", "about": about})
    index = indexed(tmp_path, line(GOOD.replace(to=(ADA,))), heard_line)
    assert index.entries_by_term(conversation_state.NAME, f"unheard {ADA}") == []


# -- dialects of a hostile ledger

WORK = dialect("(extend note (what) (tell @bob what))", name="work")


@pytest.mark.parametrize("changes", [{"action": "x"}, {"action": ["installed"]}, {"dialect": 7}, {"text": None}])
def test_a_dialect_line_that_is_none_is_skipped(tmp_path: Path, changes: dict[str, Any]):
    fact = Installed(ADA, "work", WORK, "0f", "ada", "unsigned", "file")
    index = indexed(tmp_path, line(fact, **changes), line(fact.replace(hash="1e")))
    assert index.state("cbcl.dialect", "work")["log"][0][3][3] == "1e"


def test_everything_that_is_folded_here_has_a_fold_and_a_form():
    for fact in conversation_state.FACTS:
        assert conversation_state in [fold for fold, _ in folds.folds_for(fact)]
