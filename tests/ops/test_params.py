"""The kinds of parameters: what each takes from a command line and from JSON, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError
from bb.ops.agent_params import DisplayName, NewAgentId, Role
from bb.ops.params import AgentId, AllowSecretReason, Flag, Key, Number, Text


class Colour(Text):
    """A colour."""

    choices = ("red", "green")


class Short(Text):
    """Ten characters."""

    longest = 10


class Minutes(Number):
    """Some minutes."""

    least = 5
    most = 1440


READINGS = pytest.mark.parametrize("reading", ["from_text", "from_json"])
TEXTS = [Text, Colour, AgentId, Role, DisplayName, Key, AllowSecretReason]
GOOD = {
    Text: "any",
    Colour: "red",
    AgentId: "ada-l",
    Role: "builder",
    DisplayName: "Ada",
    Key: "once",
    AllowSecretReason: "why",
}


def read(kind: Any, reading: str, value: object) -> Any:
    return getattr(kind, reading)(value, "what")


def refusal_of(kind: Any, reading: str, value: object) -> BbError:
    with pytest.raises(BbError) as refusal:
        read(kind, reading, value)
    assert refusal.value.exit_status == 2
    assert refusal.value.message.isprintable()
    return refusal.value


def code_of(kind: Any, reading: str, value: object) -> str:
    return refusal_of(kind, reading, value).code


# -- text


@READINGS
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_is_taken_as_it_is_from_a_command_line_and_from_json(kind: Any, reading: str):
    value = read(kind, reading, GOOD[kind])
    assert value == GOOD[kind]
    assert isinstance(value, str)


@given(st.text(max_size=200))
def test_any_unicode_text_is_a_text(text: str):
    assert read(Text, "from_text", text) == read(Text, "from_json", text) == text


@READINGS
@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("text", ["\ud800", "abc\udcff", "é\udfff", "\udbff" * 100])
def test_what_was_no_utf_8_is_refused_with_the_place_it_stood(kind: Any, reading: str, text: str):
    refusal = refusal_of(kind, reading, text)
    assert refusal.code == "INVALID_TEXT"
    assert refusal.details == {"path": "$.what"}


@READINGS
def test_characters_next_to_the_surrogates_are_text(reading: str):
    for text in ("\ud7ff", "\ue000", "\U0001f9a6"):
        assert read(Text, reading, text) == text


@READINGS
@pytest.mark.parametrize(("kind", "longest"), [(Text, 10_000), (Short, 10), (Key, 128), (AllowSecretReason, 500)])
def test_the_longest_text_is_taken_and_one_character_more_refused(kind: Any, longest: int, reading: str):
    assert read(kind, reading, "é" * longest) == "é" * longest
    refusal = refusal_of(kind, reading, "é" * (longest + 1))
    assert (refusal.code, refusal.details) == ("INVALID_VALUE", {"path": "$.what"})
    assert f"{longest:,}" in refusal.message


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("value", [1, 1.5, True, False, None, [], ["red"], {}])
def test_json_that_is_no_text_is_refused(kind: Any, value: object):
    refusal = refusal_of(kind, "from_json", value)
    assert (refusal.code, refusal.details) == ("INVALID_VALUE", {"path": "$.what"})


@READINGS
@pytest.mark.parametrize("text", ["", "blue", "Blue", "red ", "r", "red,green", "red\x1b[2J"])
def test_only_one_of_the_choices_is_taken_and_the_refusal_lists_them(text: str, reading: str):
    refusal = refusal_of(Colour, reading, text)
    assert (refusal.code, refusal.details) == ("INVALID_VALUE", {"path": "$.what"})
    assert "red, green" in refusal.message


def test_a_person_may_type_a_choice_in_any_case_and_a_program_may_not():
    assert Colour.from_text("Red", "what") == "red"
    assert refusal_of(Colour, "from_json", "Red").code == "INVALID_VALUE"


# -- numbers


@READINGS
@pytest.mark.parametrize("value", [5, 6, 1439, 1440])
def test_a_number_within_its_limits_is_taken(value: int, reading: str):
    taken = read(Minutes, reading, str(value) if reading == "from_text" else value)
    assert taken == value
    assert isinstance(taken, int)


@READINGS
@pytest.mark.parametrize("value", [0, 1, 4, 1441, 10**14])
def test_a_number_beyond_its_limits_is_refused_and_the_limits_are_named(value: int, reading: str):
    refusal = refusal_of(Minutes, reading, str(value) if reading == "from_text" else value)
    assert (refusal.code, refusal.details) == ("INVALID_VALUE", {"path": "$.what"})
    assert "from 5 to 1,440" in refusal.message


@READINGS
@pytest.mark.parametrize("value", [1, 1_000_000])
def test_a_number_is_from_one_to_a_million_unless_its_kind_says_otherwise(value: int, reading: str):
    def given_as(number: int) -> object:
        return str(number) if reading == "from_text" else number

    assert read(Number, reading, given_as(value)) == value
    for beyond in (0, 1_000_001):
        assert code_of(Number, reading, given_as(beyond)) == "INVALID_VALUE"


def test_a_number_may_be_written_with_leading_zeros():
    assert read(Minutes, "from_text", "0007") == 7


@pytest.mark.parametrize(
    "text",
    ["", " ", "abc", "5abc", "5.0", "5e2", "0x10", "1_000", "+5", "-5", " 5", "5 ", "5\n", "٧", "５", "²", "9" * 5_000],
)
def test_a_text_that_is_no_whole_number_is_refused(text: str):
    refusal = refusal_of(Minutes, "from_text", text)
    assert (refusal.code, refusal.details) == ("INVALID_VALUE", {"path": "$.what"})
    assert len(refusal.message) < 200


@pytest.mark.parametrize("value", [True, False, 5.0, "5", None, [5], {}, -5, 10**30])
def test_json_that_is_no_number_within_the_limits_is_refused(value: object):
    assert code_of(Minutes, "from_json", value) == "INVALID_VALUE"


# -- flags


def test_a_flag_is_true_or_false_in_json_and_nothing_else():
    assert read(Flag, "from_json", True) is True
    assert read(Flag, "from_json", False) is False
    for value in (1, 0, "true", "", None, [], {}):
        refusal = refusal_of(Flag, "from_json", value)
        assert (refusal.code, refusal.details) == ("INVALID_VALUE", {"path": "$.what"})


def test_a_flag_on_a_command_line_is_there_or_not():
    assert read(Flag, "from_text", True) is True
    assert read(Flag, "from_text", False) is False


# -- the particular ones


@READINGS
@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        *((kind, "-a", "INVALID_AGENT_ID") for kind in (AgentId, NewAgentId)),
        *((kind, "a b", "INVALID_AGENT_ID") for kind in (AgentId, NewAgentId)),
        *((kind, "../x", "INVALID_AGENT_ID") for kind in (AgentId, NewAgentId)),
        *((kind, "", "INVALID_AGENT_ID") for kind in (AgentId, NewAgentId)),
        *((kind, "user", "INVALID_AGENT_ID") for kind in (AgentId, NewAgentId)),
        *((kind, "x" * 49, "INVALID_AGENT_ID") for kind in (AgentId, NewAgentId)),
        *((kind, "x" * 20_000, "INVALID_VALUE") for kind in (AgentId, NewAgentId)),
        (NewAgentId, "ab", "INVALID_AGENT_ID"),
        (NewAgentId, "Ada", "INVALID_AGENT_ID"),
        (NewAgentId, "ada_l", "INVALID_AGENT_ID"),
        (Role, "", "INVALID_ROLE"),
        (Role, " ", "INVALID_ROLE"),
        (Role, "x" * 65, "INVALID_ROLE"),
        (DisplayName, "", "INVALID_DISPLAY_NAME"),
        (DisplayName, "a\nb", "INVALID_DISPLAY_NAME"),
        (DisplayName, "x" * 81, "INVALID_DISPLAY_NAME"),
        (Key, "", "INVALID_VALUE"),
        (Key, " ", "INVALID_VALUE"),
        (Key, "a\nb", "INVALID_VALUE"),
        (Key, "a\x00", "INVALID_VALUE"),
        (AllowSecretReason, "", "INVALID_VALUE"),
        (AllowSecretReason, " \n", "INVALID_VALUE"),
    ],
)
def test_a_value_that_a_rule_refuses_is_refused_by_its_kind(kind: Any, text: str, code: str, reading: str):
    assert code_of(kind, reading, text) == code


@READINGS
@pytest.mark.parametrize("name", ["ab", "Ada", "ada_l", "ada-l"])
def test_who_is_here_already_may_be_an_actor_with_a_name_that_nobody_registers_under(name: str, reading: str):
    assert read(AgentId, reading, name) == name


@READINGS
def test_roles_names_and_reasons_are_trimmed_and_keys_are_not(reading: str):
    for kind in (Role, DisplayName, AllowSecretReason):
        assert read(kind, reading, "  so it is ") == "so it is"
    assert read(Key, reading, " a key ") == " a key "


# -- on every face


@given(st.sampled_from([*TEXTS, Short]), st.text(st.characters(), max_size=200))
def test_every_face_says_the_same_about_the_same_text(kind: Any, text: str):
    answers = []
    for reading in ("from_text", "from_json"):
        try:
            answers.append(read(kind, reading, text))
        except BbError as error:
            answers.append((error.code, error.message, error.details))
    assert answers[0] == answers[1]


@given(st.integers(0, 10**15))
def test_every_face_says_the_same_about_the_same_number(number: int):
    answers = []
    for reading, value in (("from_text", str(number)), ("from_json", number)):
        try:
            answers.append(read(Minutes, reading, value))
        except BbError as error:
            answers.append(error.code)
    assert answers[0] == answers[1]
