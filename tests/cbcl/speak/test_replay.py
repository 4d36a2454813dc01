"""Scripted conversations: the draft's own, and what is no script; and that every conversation ends."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl.judge import signatures
from bb.cbcl.read.tree import text_of
from bb.cbcl.speak import replay as speak_replay
from bb.cbcl.speak.replay import EndlessConversation, InvalidScript, replay
from bb.kernel.errors import BbError
from tests.cbcl.speakers import LAB, LOOSE, OTHER, WORK, lesson, signed
from tests.cbcl.trees import LISTS, STEADY, dialect


def played(*steps: tuple[str, str], agents: Any = ("alice", "bob"), **more: Any) -> dict[str, Any]:
    """What comes of who says what, with everything delivered."""
    script = {"agents": list(agents), "deliver": True, "steps": [{"agent": who, "sent": text} for who, text in steps]}
    return replay(script | more)


# -- the draft's conversation (Appendix "Two agents exchanging information")

WEATHER = (
    ("alice", "(hello @bob)"),
    ("alice", '(ask @bob "What is the temperature?" :thread weather-chat-1)'),
    ("bob", '(reply @alice "23 degrees Celsius" :thread weather-chat-1)'),
    ("alice", "(ok @bob :thread weather-chat-1)"),
    ("alice", "(bye @bob)"),
)


def test_the_conversation_of_the_draft():
    found = played(*WEATHER)
    hello, ask, reply, ok, bye = found["steps"]
    alice, bob = found["agents"]["alice"], found["agents"]["bob"]

    assert [(each["agent"], each["received"]) for each in hello["delivered"]] == [
        ("bob", "(hello @bob)"),
        ("alice", "(hello @alice)"),
    ]
    assert [each["effect"] for each in ask["delivered"][0]["effects"]] == ["entered", "obliged"]
    assert [each["effect"] for each in reply["delivered"][0]["effects"]] == ["entered", "settled"]
    assert [each["effect"] for each in ok["delivered"][0]["effects"]] == ["entered"]
    assert [each["effect"] for each in bye["delivered"][0]["effects"]] == ["parted"]
    for who in (alice, bob):
        assert (who["expectations"], who["obligations"], who["outbox"], who["audit"]) == ([], [], [], [])
        said = who["conversations"]["weather-chat-1"]
        assert [(each["from"], each["performative"]) for each in said] == [
            ("alice", "ask"),
            ("bob", "reply"),
            ("alice", "ok"),
        ]
    assert alice["peers"] == bob["peers"] == []


def test_without_delivery_each_step_is_one_agents_own():
    found = replay({"agents": ["alice", "bob"], "steps": [{"agent": "alice", "sent": "(hello @bob)"}]})
    assert "delivered" not in found["steps"][0]
    assert found["agents"]["bob"]["peers"] == []


def test_what_somebody_outside_of_the_script_says_is_heard():
    step = {"agent": "bob", "received": '(tell @bob "hi")', "from": "carol"}
    found = replay({"agents": ["bob"], "steps": [step], "deliver": True})
    assert found["steps"][0]["status"] == "ok"
    assert found["agents"]["bob"]["beliefs"] == [{"who": "carol", "text": '"hi"'}]


def test_a_dialect_is_taught_spoken_and_answered_in():
    keys = {"lab": [signatures.key_text(signatures.public_key(LAB))]}
    found = played(
        ("alice", lesson(WORK, LAB)),
        ("alice", '(lang work (task "x" :thread t))'),
        ("bob", '(reply @alice (done "x") :thread t)'),
        agents=[{"id": "alice", "dialects": [WORK]}, {"id": "bob", "trust": keys}],
    )
    bob = found["agents"]["bob"]
    assert [(each["dialect"], each["signature"]) for each in bob["dialects"]] == [("work", "valid")]
    assert [each["action"] for each in bob["audit"]] == ["installed"]
    assert found["agents"]["alice"]["expectations"] == bob["obligations"] == []
    assert bob["beliefs"] == [{"who": "alice", "text": '"x"'}]


def test_a_refused_step_is_told_and_the_others_go_on():
    found = played(("alice", "(tell"), ("alice", "(envelope :from @bob (hello @bob))"), ("alice", "(hello @bob)"))
    assert [each["status"] for each in found["steps"]] == ["error", "error", "ok"]
    assert [each.get("code") for each in found["steps"]] == ["SYNTAX_ERROR", "SENDER_MISMATCH", None]


def test_what_an_agent_has_refused_is_in_its_record():
    found = played(
        ("alice", "(lang chess (move))"),
        agents=["alice", "bob"],
        steps=[
            {"agent": "alice", "sent": "(lang chess (move))", "to": ["bob"]},
        ],
    )
    (refused,) = found["agents"]["bob"]["audit"]
    assert (refused["action"], refused["from"], refused["code"]) == ("refused", "alice", "UNKNOWN_DIALECT")


def test_what_comes_out_is_plain_json():
    found = played(*WEATHER, ("alice", lesson(WORK)), ("alice", "(lang x (y))"), policy=dict(LOOSE))
    assert json.loads(json.dumps(found)) == found


def test_the_policy_of_an_agent_goes_before_the_policy_of_all():
    loose = {"id": "bob", "policy": {"define": "anyone"}}
    found = played(("alice", lesson(WORK)), agents=["alice", loose], policy={"unsigned": "anyone"})
    assert found["agents"]["bob"]["dialects"]
    assert found["steps"][0]["delivered"][0]["status"] == "ok"


# -- what is no script

STEP = {"agent": "bob", "sent": "(hello @bob)"}
MALFORMED: list[Any] = [
    *(None, 7, "x", [], True, {"actors": []}, {"agents": {}}, {"agents": 7}, {"agents": [7]}, {"agents": [None]}),
    *({"agents": [{}]}, {"agents": [{"id": 7}]}, {"agents": [{"id": "b", "x": 1}]}, {"agents": ["@@bob"]}),
    *({"agents": ["a b"]}, {"agents": [""]}, {"agents": ["a", "a"]}, {"agents": ["a"] * 101}, {"agents": ["x" * 65]}),
    *({"agents": [{"id": "b", "dialects": [7]}]}, {"agents": [{"id": "b", "dialects": {}}]}),
    *({"policy": []}, {"policy": {"x": 1}}, {"policy": {"relay": 1}}, {"trust": 7}, {"trust": {"lab": []}}),
    *({"trust": {"lab": ["x"]}}, {"trust": {"a b": ["x"]}}, {"trust": {"lab": 7}}, {"deliver": 1}, {"deliver": None}),
    *({"steps": {}}, {"steps": [7]}, {"steps": ["x"]}, {"steps": [{}]}, {"steps": [{"agent": "bob"}]}),
    *({"steps": [STEP | {"agent": "carol"}]}, {"steps": [STEP | {"agent": 7}]}, {"steps": [STEP | {"sent": 7}]}),
    *({"steps": [STEP | {"received": "x"}]}, {"steps": [STEP | {"x": 1}]}, {"steps": [STEP | {"from": "carol"}]}),
    *({"steps": [STEP | {"to": 7}]}, {"steps": [STEP | {"to": [7]}]}, {"steps": [STEP | {"to": [{}]}]}),
    *({"steps": [{"agent": "bob", "received": "x"}]}, {"steps": [{"agent": "bob", "received": "x", "from": 7}]}),
    *({"steps": [{"agent": "bob", "received": 7, "from": "carol"}]}, {"steps": [STEP] * 10_001}),
    *({"steps": [{"agent": "bob", "received": "x", "from": "@@carol"}]},),
    *({"steps": [{"agent": "bob", "received": "x", "from": "carol", "to": ["bob"]}]},),
]


@pytest.mark.parametrize("script", MALFORMED, ids=range(len(MALFORMED)))
def test_what_is_no_script_is_refused_as_that(script: Any):
    whole = {"agents": ["bob"]} | script if isinstance(script, dict) else script
    if isinstance(script, dict) and "trust" in script:
        whole["policy"] = {}
    with pytest.raises(InvalidScript.error) as refusal:
        replay(whole)
    assert refusal.value.details["path"].startswith("$")
    assert len(refusal.value.message) < 300


@pytest.mark.parametrize(
    ("dialects", "code"),
    [
        (["(define"], "SYNTAX_ERROR"),
        ([dialect("(extend a () (a))")], "DIALECT_REJECTED"),
        ([WORK, OTHER], "DIALECT_CONFLICT"),
    ],
)
def test_a_dialect_that_cannot_be_spoken_is_refused_for_that(dialects: list[str], code: str):
    with pytest.raises(BbError) as refusal:
        replay({"agents": [{"id": "bob", "dialects": dialects}]})
    assert refusal.value.code == code


def test_there_is_an_end_to_what_is_delivered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(speak_replay, "MOST_DELIVERIES", 3)
    with pytest.raises(EndlessConversation.error):
        played(*WEATHER)


# -- every conversation ends

LOOP = dialect(
    "(extend ping () ((hello @alice) (hello @bob)))",
    "(extend both (what) ((ask @alice what) (ask @bob what) (cancel @alice) (bye @bob)))",
    "(extend on (who what) (tell who what))",
    "(extend fail () ((error @alice (x)) (error @bob (x))))",
    name="work",
    author="@lab",
)
WHO = st.sampled_from(["alice", "bob", "carol"])
SIMPLE = st.builds(
    "({} @{} {} {})".format,
    st.sampled_from(["tell", "ask", "reply", "hello", "bye", "ok", "error", "cancel"]),
    WHO,
    LISTS.map(text_of),
    st.sampled_from(["", ":thread t", ":id a", ":in-reply-to a", ":in-reply-to a :thread t"]),
)
SPEECH = st.one_of(
    SIMPLE,
    SIMPLE.map("(lang cbcl {})".format),
    SIMPLE.map("(envelope :to @bob {})".format),
    SIMPLE.map("(with-limits :max-depth 3 {})".format),
    SIMPLE.map(lambda text: signed(text, LAB)),
    st.sampled_from(
        [
            *("(lang work (ping))", "(lang work (both (x)))", "(lang work (fail))", "(lang work (on @carol (x)))"),
            *("(meta (query (speak? work)))", f"(meta {LOOP})", lesson(LOOP, LAB), lesson(OTHER, to="alice")),
            *("(lang chess (move))", "(lang work (on 1 2))", "((((((", "(error", "(error @alice)"),
        ]
    ),
)
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "relay": st.booleans(),
        "unsigned": st.sampled_from(["local", "anyone"]),
        "define": st.sampled_from(["trusted", "anyone"]),
        "max_size": st.sampled_from([12, 60, 200, 1000]),
        "max_depth": st.sampled_from([1, 2, 5]),
    },
)
STEPS = st.one_of(
    st.fixed_dictionaries(
        {"agent": st.sampled_from(["alice", "bob"]), "sent": SPEECH, "to": st.lists(WHO, max_size=2)}
    ),
    st.fixed_dictionaries({"agent": st.sampled_from(["alice", "bob"]), "received": SPEECH, "from": WHO}),
)


@STEADY
@given(POLICIES, POLICIES, st.booleans(), st.lists(STEPS, max_size=6))
def test_two_agents_never_answer_each_other_for_ever(
    one: dict[str, Any], other: dict[str, Any], is_known: bool, steps: list[dict[str, Any]]
):
    trust = {name: [signatures.key_text(signatures.public_key(LAB))] for name in ("alice", "bob", "lab") if is_known}
    agents = [{"id": "alice", "policy": one}, {"id": "bob", "policy": other}]
    with mock.patch.object(speak_replay, "MOST_DELIVERIES", 200):
        found = replay({"agents": agents, "trust": trust, "deliver": True, "steps": steps})

    for step, shown in zip(steps, found["steps"], strict=True):
        assert len(shown["delivered"]) <= 24, step
