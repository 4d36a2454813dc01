"""Messages and notices as CCCS events: what is written is read back, and a line that fits nothing is nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.attention.facts import Posted
from bb.cbcl.facts import Installed, Removed
from bb.coordination.facts import Incurred, Overridden, Resumed
from bb.coordination.protocol import events
from bb.coordination.protocol.events import InvalidProtocolEvent
from bb.groups.facts import ContextChanged
from bb.kernel import ids, validation
from bb.ledger.journal import cccs_forms, kinds
from bb.messaging.facts import Acked, Agreed, Read, Sent
from bb.messaging.mail import mail
from tests.examples import examples

EVENT = "a" * 12 + ".7"
PAYLOAD = {"subject": "s", "summary": "s", "next_action": "n", "requires_ack": True}
INFO = Sent("ada", ("bo1", "user"), "INFO", "Parser", "It parses.\n", "bb-1", "bead:bb-1", False)
HANDOFF = Sent("ada", ("bo1",), "HANDOFF", "s", "It parses.", "bb-1", "bead:bb-1", True, "src", PAYLOAD)
ABOUT = {"id": "q", "performative": "ask", "thread": "t", "effects": [["expected", "bo1", "q", "t"]]}
ASK = '(ask @bo1 "Which?" :id q :thread t)'
SPOKEN = Sent("ada", ("bo1",), "DECISION", "ask: Which?", ASK, "", "t", True, cbcl=ABOUT)
DIALECT = Installed("ada", "work", "(define work)", "0f", "lab", "unsigned", "file work.cbcl")
INCURRED = Incurred("ada", "bo1", EVENT, "partial", "src/a", "src", "active", "bb-1", "refused", "wait")
TOUCHED = INCURRED.replace(outcome="touched", found_by="hook", paths=("src/a", "src/b"), count=2, mark="m")
RESUMED = Resumed("ada-two", "ada", "ada", "uncommitted_scope", "1 file", "bb-2", ("bb-2", "bb-3"))
C2A = {"event": "s:1", "conversation": "C1", "author": "W1", "for": {"bo1": ["to_me", "must_respond", "buffered", "x"]}}
EXAMPLES: dict[str, Any] = {
    "info": INFO,
    "from a person": INFO.replace(sender="user"),
    "said in CBCL": SPOKEN,
    "answered in CBCL": SPOKEN.replace(cbcl={"id": "m-2", "performative": "ok", "reply_to": EVENT, "effects": []}),
    "handoff": HANDOFF,
    "handoff to two": HANDOFF.replace(to=("bo1", "cyd")),
    "handoff without a scope": HANDOFF.replace(scope=None),
    "read": Read("bo1", EVENT),
    "acked": Acked("bo1", EVENT),
    "agreed": Agreed("bo1", EVENT),
    "incursion": INCURRED,
    "taken over": INCURRED.replace(outcome="taken_over", liveness="stale", kind="exact"),
    "overlapping": INCURRED.replace(outcome="overlapping"),
    "overlapping several": INCURRED.replace(outcome="overlapping", others=("a" * 12 + ".8", "b" * 12 + ".1")),
    "touched": TOUCHED,
    "touched, by a commit": TOUCHED.replace(commit="c" * 40, mark="", found_by="ci"),
    "resume": RESUMED,
    "resume without beads": RESUMED.replace(beads=()),
    "context": ContextChanged("ada", ({"op": "vision.update", "set": {"text": "It parses."}},)),
    "posted": Posted("svc:slack", C2A, "check the deploy?", ("bo1",), EVENT),
    "dialect": DIALECT,
    "dialect, signed, in the place of another": DIALECT.replace(signature="valid", signed="c2ln", replaces="1e"),
    "dialect gone": Removed("ada", "work", "0f"),
    "overridden": Overridden("ada", "agreed", ("src/a", "b\n"), (EVENT,)),
}
EACH = pytest.mark.parametrize("fact", EXAMPLES.values(), ids=EXAMPLES.keys())


def written(fact: Any) -> tuple[str, dict[str, Any]]:
    """The kind and the data of a fact, after they have been through a line of JSON."""
    kind, data = kinds.kind_and_data(fact)
    return kind, json.loads(json.dumps(data))


def by(fact: Any) -> str:
    """Who records the fact."""
    who: str = fact.as_dict()[fact.__match_args__[0]]
    return who


def read(fact: Any, *path: str, value: object = None, is_gone: bool = False) -> Any:
    """What is read when one member of what was written is another, or gone."""
    kind, data = written(fact)
    inner = data
    for name in path[:-1]:
        inner = inner[name]
    assert path[-1] in inner, "there is such a member to change"
    if is_gone:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return kinds.fact_of(kind, data, by(fact))


# -- there and back


@EACH
def test_a_fact_is_read_back_from_what_was_written(fact: Any):
    kind, data = written(fact)
    assert kinds.fact_of(kind, data, by(fact)) == fact


@EACH
def test_members_that_this_version_does_not_know_are_skipped(fact: Any):
    kind, data = written(fact)
    for inner in [data, *(each for each in data.values() if isinstance(each, dict))]:
        inner |= {"_": "saltsalt", "later": {"x": [1]}}
    found: Any = kinds.fact_of(kind, data, by(fact))
    if isinstance(fact, Posted):  # which keeps them, and looks at none of them
        found = found.replace(c2a={name: found.c2a[name] for name in fact.c2a})
    if isinstance(fact, Sent) and fact.cbcl is not None:
        found = found.replace(cbcl={name: found.cbcl[name] for name in fact.cbcl})
    assert found == fact


def test_every_fact_that_has_a_form_has_an_example_here():
    assert {type(fact) for fact in EXAMPLES.values()} == set(cccs_forms.WRITERS)
    assert {fact.__name__ for fact in cccs_forms.WRITERS} == set(kinds.WITH_OWN_FORMAT)
    assert set(kinds.WITH_OWN_FORMAT.values()) == set(cccs_forms.READERS)


@EACH
def test_a_line_that_holds_a_fact_holds_the_mark_of_its_kind(fact: Any):
    kind, data = kinds.kind_and_data(fact)
    line = json.dumps(data, separators=(",", ":")).encode()
    assert any(mark in line for mark in kinds.MARKS.get(kind.encode(), (b"",)))


texts = st.text(max_size=9)
lines = st.text(min_size=1, max_size=9).filter(validation.is_line)
names = st.sampled_from(["ada", "bo1", "cyd", "user"])


@examples(60)
@given(
    st.builds(
        Sent,
        names,
        st.lists(names, min_size=1, unique=True).map(tuple),
        st.sampled_from(mail.CATEGORIES),
        lines,
        texts,
        lines | st.just(""),
        lines,
        st.booleans(),
    )
)
def test_any_message_is_read_back_to_the_letter(fact: Sent):
    kind, data = written(fact)
    assert kinds.fact_of(kind, data, fact.sender) == fact


@examples(40)
@given(
    st.builds(
        Resumed,
        *[names] * 3,
        st.sampled_from(["uncommitted_scope", "in_progress_ownership"]),
        st.text("ab \n日\x1b", min_size=1).filter(str.strip),
        lines,
        st.lists(lines).map(tuple),
    )
)
def test_any_resume_is_read_back_to_the_letter(fact: Resumed):
    kind, data = written(fact)
    assert kinds.fact_of(kind, data, fact.agent) == fact


# -- what other clients find


def test_a_message_has_its_text_and_recipients_where_any_client_looks_for_them():
    kind, data = written(INFO)
    assert (kind, data["text"], data["to"], data["priority"]) == ("chat.message", INFO.body, ["bo1", "user"], "normal")
    assert "protocol" not in data


def test_a_message_that_asks_to_be_accepted_calls_for_attention():
    assert written(HANDOFF)[1]["priority"] == "attention"


@pytest.mark.parametrize(
    ("fact", "kind", "emoji"),
    [
        (Read("bo1", EVENT), "chat.reaction", "👀"),
        (Agreed("bo1", EVENT), "chat.reaction", "👍"),
        (Acked("bo1", EVENT), "chat.ack", None),
    ],
)
def test_a_gesture_names_the_message_and_who_makes_it(fact: Any, kind: str, emoji: str | None):
    found, data = written(fact)
    assert (found, data["event_id"], data["actor_id"], data.get("emoji")) == (kind, EVENT, "bo1", emoji)


@pytest.mark.parametrize(("fact", "target"), [(INCURRED, "bo1"), (RESUMED, "ada")])
def test_a_notice_is_for_whoever_it_concerns_and_has_a_title(fact: Any, target: str):
    kind, data = written(fact)
    assert (kind, data["target_actor_id"]) == ("system.notify", target)
    assert by(fact) in data["title"]


# -- §6 in what is stored


@pytest.mark.parametrize(
    ("fact", "where", "event_type", "ends"),
    [
        (HANDOFF, "protocol", "HANDOFF", ("ada", "bo1")),
        (INCURRED, "context", "INCURSION", ("ada", "bo1")),
        (RESUMED, "context", "RESUME", ("ada-two", "ada")),
    ],
)
def test_6_1_the_envelope_is_stored_but_for_what_the_line_and_the_reader_know(
    fact: Any, where: str, event_type: str, ends: tuple[str, str]
):
    envelope = written(fact)[1][where]
    assert sorted(envelope) == [
        *("bead_id", "event_type", "from_agent", "payload", "scope", "to_agent", "version"),
    ]
    assert (envelope["version"], envelope["event_type"]) == ("v1", event_type)
    assert (envelope["from_agent"], envelope["to_agent"]) == ends
    events.check_payload(event_type, envelope["payload"])


@pytest.mark.parametrize(
    "fact",
    [
        HANDOFF.replace(payload={}),
        HANDOFF.replace(payload=PAYLOAD | {"more": 1}),
        HANDOFF.replace(payload=PAYLOAD | {"summary": " "}),
        HANDOFF.replace(category="INFO"),
        HANDOFF.replace(bead=" "),
        INCURRED.replace(kind="disjoint"),
        INCURRED.replace(liveness="idle"),
        INCURRED.replace(hint=""),
        RESUMED.replace(reason="because"),
        RESUMED.replace(evidence=""),
        RESUMED.replace(bead=" "),
    ],
)
def test_6_2_what_is_no_valid_protocol_event_is_not_written(fact: Any):
    with pytest.raises(InvalidProtocolEvent.error):
        kinds.kind_and_data(fact)


# -- hostile lines


@EACH
@pytest.mark.parametrize("who", ["", "-a", "a b", "adä", "User", "../../x", "ada\n", "x" * 49])
def test_what_was_recorded_by_nobody_is_no_fact(fact: Any, who: str):
    kind, data = written(fact)
    assert kinds.fact_of(kind, data, who) is None


@EACH
@pytest.mark.parametrize("who", ["system", "svc:build"])
def test_what_is_no_agent_and_no_person_changes_a_group_and_nothing_else(fact: Any, who: str):
    kind, data = written(fact)
    assert (kinds.fact_of(kind, data, who) is not None) is isinstance(fact, ContextChanged | Posted)
    assert kinds.fact_of("group.update", {"title": "Release 2"}, who) is not None


@pytest.mark.parametrize("fact", [Read("bo1", EVENT), Acked("bo1", EVENT), Agreed("bo1", EVENT)])
@pytest.mark.parametrize("who", ["ada", "user"])
def test_nobody_reads_or_accepts_for_another(fact: Any, who: str):
    kind, data = written(fact)
    assert kinds.fact_of(kind, data, who) is None


@pytest.mark.parametrize("fact", [INFO, HANDOFF, INCURRED, RESUMED])
def test_a_message_or_notice_is_from_whoever_recorded_it_whatever_it_says(fact: Any):
    kind, data = written(fact)
    found: Any = kinds.fact_of(kind, data, "cyd")
    assert found is not None
    assert by(found) == "cyd"


@pytest.mark.parametrize("who", ["cyd", "user", "bo1"])
def test_what_was_touched_may_be_found_by_anybody_and_says_who_touched_it(who: str):
    kind, data = written(TOUCHED)
    assert kinds.fact_of(kind, data, who) == TOUCHED


@pytest.mark.parametrize("name", ["", "-a", "a b", "system", "../../x", "ada\n", "x" * 49, 7, None, [], {}])
def test_what_was_touched_by_nobody_is_no_fact(name: object):
    assert read(TOUCHED, "context", "payload", "incoming_agent", value=name) is None


NEEDED: list[tuple[Any, tuple[str, ...]]] = [
    *((INFO, ("mail", name)) for name in ("category", "subject", "bead_id", "thread_id", "requires_ack")),
    *((INFO, (name,)) for name in ("mail", "text", "to")),
    *((Read("bo1", EVENT), (name,)) for name in ("event_id", "actor_id", "signal")),
    *((Acked("bo1", EVENT), (name,)) for name in ("event_id", "actor_id")),
    *((INCURRED, (name,)) for name in ("kind", "context", "incident")),
    *((INCURRED, ("incident", name)) for name in ("reservation_id", "held", "outcome")),
    *((INCURRED, ("context", name)) for name in ("scope", "bead_id", "payload")),
    *((INCURRED, ("context", "payload", name)) for name in ("incursion_kind", "owner_agent", "owner_liveness")),
    *((TOUCHED, ("incident", name)) for name in ("found_by", "count")),
    *((DIALECT, (name,)) for name in ("action", "dialect", "text", "hash", "signature", "source")),
    *((Removed("ada", "work", "0f"), (name,)) for name in ("action", "dialect", "hash")),
    *((RESUMED, (name,)) for name in ("kind", "context")),
    *((RESUMED, ("context", name)) for name in ("bead_id", "payload")),
    *((RESUMED, ("context", "payload", name)) for name in ("prior_session_agent", "adopted_agent", "resume_reason")),
]


@pytest.mark.parametrize(("fact", "path"), NEEDED, ids=lambda each: ".".join(each) if isinstance(each, tuple) else "")
def test_an_event_that_lacks_a_member_or_has_a_wrong_one_is_no_fact(fact: Any, path: tuple[str, ...]):
    assert read(fact, *path, is_gone=True) is None
    for wrong in (None, 1, 1.5, [], [1], [[]], {}, {"x": 1}):
        assert read(fact, *path, value=wrong) is None, wrong


@pytest.mark.parametrize(
    "to",
    [[], ["bo1", "bo1"], ["bo1", ""], ["-bo1"], ["bo 1"], ["../../x"], ["broadcast"], ["bo1", None], "bo1", {"bo1": 1}],
)
def test_a_message_to_what_is_nobody_or_twice_to_somebody_is_no_fact(to: object):
    assert read(INFO, "to", value=to) is None


@pytest.mark.parametrize("name", ["", "a.7", "res_1", EVENT + "\n", EVENT[:-1] + "0", "../" + EVENT])
def test_a_gesture_or_incursion_about_what_is_no_event_is_no_fact(name: str):
    for fact in (Read("bo1", EVENT), Acked("bo1", EVENT), Agreed("bo1", EVENT)):
        assert read(fact, "event_id", value=name) is None
    assert read(INCURRED, "incident", "reservation_id", value=name) is None


@pytest.mark.parametrize("signal", ["", "SEEN", "like", "agreed"])
def test_any_other_reaction_is_none_of_ours(signal: str):
    assert read(Read("bo1", EVENT), "signal", value=signal) is None


@pytest.mark.parametrize("envelope", [1, True, "x", ["x"]])
def test_a_message_whose_protocol_event_is_none_is_no_fact(envelope: object):
    assert read(HANDOFF, "protocol", value=envelope) is None


@pytest.mark.parametrize("kind", ["chat.message", "chat.reaction", "chat.ack", "system.notify"])
@pytest.mark.parametrize("data", [{}, {"text": "hello", "to": ["bo1"]}, {"event_id": EVENT}, {"title": "x"}])
def test_other_clients_lines_of_these_kinds_are_none_of_ours(kind: str, data: dict[str, Any]):
    assert kinds.fact_of(kind, data, "ada") is None


leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["bo1", EVENT, "seen"])
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


LISTS = ("beads", "paths", "count", "others")


@examples(150)
@given(st.sampled_from(list(EXAMPLES.values())), st.data())
def test_whatever_stands_in_a_line_it_is_a_whole_fact_or_none_and_never_a_crash(fact: Any, data: Any):
    kind, line = written(fact)
    inner = line
    for _ in range(data.draw(st.integers(0, 2))):
        below = [each for each in inner.values() if isinstance(each, dict)]
        inner = data.draw(st.sampled_from(below)) if below else inner
    inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(anything)

    found: Any = kinds.fact_of(kind, line, by(fact))

    assert found is None or kinds.WITH_OWN_FORMAT[type(found).__name__] == kind or isinstance(found, Posted)
    assert found is None or by(found) == by(fact)
    if isinstance(found, Sent):
        assert all(each == ids.PERSON or ids.is_agent_id(each) for each in found.to)
        assert all(type(text) is str for text in (found.category, found.subject, found.body, found.bead, found.thread))
    elif isinstance(found, Posted):
        assert all(type(text) is str for text in (found.text, found.reply_to, *found.to))
    elif isinstance(found, Overridden):
        assert all(type(text) is str for text in (found.reason, *found.paths, *found.reservations))
    elif found is not None:
        texts = {name: value for name, value in found.as_dict().items() if name not in LISTS}
        assert texts.pop("scope", "") is None or all(type(value) is str for value in texts.values())


@pytest.mark.parametrize(
    ("member", "values"),
    [
        ("reason", [None, 1, [], {}]),
        ("paths", [None, "src", 1, [1], [None], {}]),
        ("reservation_ids", [None, EVENT, 1, ["x"], [1], [None], {}]),
    ],
)
def test_an_override_with_a_wrong_member_is_nothing(member: str, values: list[object]):
    for value in values:
        assert read(EXAMPLES["overridden"], member, value=value) is None
    assert read(EXAMPLES["overridden"], member, is_gone=True) is None
