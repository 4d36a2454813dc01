"""Which names there are. Every id that reaches a path has been through these rules."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel import ids
from bb.kernel.ids import InvalidAgentId, InvalidEventId

WRITER = "abcdefghij27"
WINDOWS_DEVICES = ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))]
PRINCIPALS = ["user", "all", "system", "foreman", "peers", "admin", "root", "cccc", "broadcast"]


@pytest.mark.parametrize(
    "name", ["amber-otter", "bo1", "a-b", "007", "a1-2b-c3", "x" * 48, "a" * 24 + "-" + "b" * 23, "userland", "com10"]
)
def test_lower_case_words_joined_by_single_hyphens_name_an_agent(name: str):
    assert ids.agent_id(name) == name
    assert ids.is_agent_id(name)


NO_AGENTS = {
    "nothing": "",
    "too short": "ab",
    "too long": "x" * 49,
    "upper case": "Amber-otter",
    "upper case inside": "amBer",
    "leading hyphen": "-amber",
    "trailing hyphen": "amber-",
    "two hyphens": "amber--otter",
    "only hyphens": "---",
    "underscore": "amber_otter",
    "dot": "amber.otter",
    "space": "amber otter",
    "leading space": " amber",
    "trailing line feed": "amber\n",
    "nul": "amber\x00",
    "letters beyond ascii": "ambér",
    "digits beyond ascii": "agent-٣",
    "lower case in no alphabet": "ªªª",
    "the directory above": "../x",
    "a path": "a/b/c",
    "a windows path": "a\\b\\c",
    "an absolute path": "/etc",
    "the current directory": "./x",
    "only dots": "...",
    "a drive": "c:x",
    "a stream": "abc:x",
    "a home": "~root",
    "an option": "--help",
    "a pattern": "ab*",
    "half a surrogate pair": "ab\ud800",
}


@pytest.mark.parametrize("name", NO_AGENTS.values(), ids=NO_AGENTS.keys())
def test_nothing_else_names_an_agent(name: str):
    with pytest.raises(InvalidAgentId.error) as refusal:
        ids.agent_id(name)

    assert (refusal.value.code, refusal.value.exit_status) == ("INVALID_AGENT_ID", 2)
    assert repr(name) in refusal.value.message
    assert not ids.is_agent_id(name)


@pytest.mark.parametrize("name", PRINCIPALS + WINDOWS_DEVICES)
def test_a_name_with_a_meaning_of_its_own_is_reserved(name: str):
    with pytest.raises(InvalidAgentId.error, match="reserved"):
        ids.agent_id(name)
    assert not ids.is_agent_id(name)


@given(st.text("ab9-A_./é", max_size=50) | st.from_regex(r"[a-z0-9-]{1,50}", fullmatch=True))
def test_the_rule_for_agents_is_the_one_of_the_specification(name: str):
    is_one = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and 3 <= len(name) <= 48
    assert ids.is_agent_id(name) == (bool(is_one) and name not in PRINCIPALS + WINDOWS_DEVICES)


# -- actors: agents of CCCC, whose names are less regular

NO_ACTORS = {
    "nothing": "",
    "too long": "x" * 49,
    "leading hyphen": "-amber",
    "leading underscore": "_amber",
    "only a hyphen": "-",
    "dot": "amber.otter",
    "only dots": "..",
    "space": "amber otter",
    "trailing line feed": "amber\n",
    "nul": "amber\x00",
    "letters beyond ascii": "ambér",
    "digits beyond ascii": "agent-٣",
    "the directory above": "../x",
    "a path": "a/b",
    "a windows path": "a\\b",
    "a drive": "c:x",
    "a service": "svc:bot",
    "a selector": "@all",
    "the mark of a capital": "=a",
    "half a surrogate pair": "ab\ud800",
}


@pytest.mark.parametrize("name", ["a", "7", "ab", "Ada", "ada_l", "A-", "a--b", "x" * 48, "amber-otter", "claude-1"])
def test_letters_digits_hyphens_and_underscores_name_an_actor(name: str):
    assert ids.is_actor_id(name)
    assert ids.is_principal(name)
    assert ids.actor_id(name) == name


@pytest.mark.parametrize("name", NO_ACTORS.values(), ids=NO_ACTORS.keys())
def test_nothing_else_names_an_actor(name: str):
    assert not ids.is_actor_id(name)
    assert not ids.is_principal(name)
    with pytest.raises(InvalidAgentId.error):
        ids.actor_id(name)


@pytest.mark.parametrize("name", PRINCIPALS + WINDOWS_DEVICES)
def test_a_reserved_name_is_reserved_in_any_letters(name: str):
    for spelt in (name, name.upper(), name.title()):
        assert not ids.is_actor_id(spelt)
        assert ids.is_principal(spelt) is (spelt == "user")


@given(st.text("ab9-A_./é", max_size=50) | st.from_regex(r"[a-z0-9-]{1,50}", fullmatch=True))
def test_whoever_may_register_may_be_an_actor(name: str):
    assert ids.is_actor_id(name) or not ids.is_agent_id(name)


@pytest.mark.parametrize("value", [None, 7, True, [], {}, b"amber-otter"])
def test_what_is_no_text_is_no_principal(value: object):
    assert not ids.is_principal(value)


def test_the_refusal_of_a_very_long_name_stays_short():
    with pytest.raises(InvalidAgentId.error) as refusal:
        ids.agent_id("x" * 100_000)
    assert len(refusal.value.message) < 200


# -- writers


@given(st.binary(min_size=8, max_size=16))
def test_random_octets_make_a_writer_id(octets: bytes):
    assert ids.is_writer_id(ids.writer_id(octets))


@given(st.integers(0, 2**60 - 1), st.integers(0, 2**60 - 1))
def test_different_octets_make_different_writers(one: int, other: int):
    made = [ids.writer_id(number.to_bytes(8, "big")) for number in (one, other)]
    assert (made[0] == made[1]) == (one == other)


@pytest.mark.parametrize(
    ("number", "writer"), [(0, "a" * 12), (1, "b" + "a" * 11), (2**60 - 1, "7" * 12), (31 << 55, "a" * 11 + "7")]
)
def test_a_writer_id_is_written_the_same_for_ever(number: int, writer: str):
    assert ids.writer_id(number.to_bytes(8, "big")) == writer


@pytest.mark.parametrize(
    "text",
    ["", "a" * 11, "a" * 13, "A" * 12, "a" * 11 + "1", "a" * 11 + "8", "aaaaa/aaaaaa", "../aaaaaaaaa", "a" * 11 + "\n"],
)
def test_twelve_characters_of_base32_and_nothing_else_name_a_writer(text: str):
    assert not ids.is_writer_id(text)


# -- events


@given(st.integers(1, 10**15 - 1))
def test_an_event_id_says_whose_line_it_is_and_which(n: int):
    assert ids.split_event_id(ids.event_id(WRITER, n)) == (WRITER, n)


@pytest.mark.parametrize(
    "text",
    [
        "",
        WRITER,
        WRITER + ".",
        WRITER + ".0",
        WRITER + ".01",
        WRITER + ".-1",
        WRITER + ".+1",
        WRITER + ".1 ",
        WRITER + ".1\n",
        WRITER + ".1.2",
        WRITER + ".1_0",
        WRITER + ".x",
        WRITER + ".٣",
        WRITER + ".²",
        WRITER + ".1000000000000000",
        WRITER + "1",
        WRITER.upper() + ".1",
        ".1",
        "../../etc/pa.1",
        "short.1",
    ],
)
def test_what_is_no_event_id_is_refused(text: str):
    with pytest.raises(InvalidEventId.error) as refusal:
        ids.split_event_id(text)

    assert (refusal.value.code, refusal.value.exit_status) == ("INVALID_EVENT_ID", 2)


def test_the_total_order_is_by_lamport_time_then_writer_then_number():
    a, b = "a" * 12, "b" * 12
    ordered = [(1, f"{b}.7"), (2, f"{a}.9"), (2, f"{a}.10"), (2, f"{b}.1"), (10, f"{a}.1")]
    mixed = [ordered[place] for place in (3, 1, 4, 0, 2)]
    assert sorted(mixed, key=lambda pair: ids.order_of(*pair)) == ordered
    assert ids.order_of(2, f"{a}.10") == (2, a, 10)


@pytest.mark.parametrize(
    ("text", "is_one"), [("a" * 12 + ".1", True), ("a" * 12 + ".0", False), ("res_1", False), ("", False)]
)
def test_what_has_the_form_of_an_event_id_is_told_without_a_refusal(text: str, is_one: bool):
    assert ids.is_event_id(text) is is_one
