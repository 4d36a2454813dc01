"""To whom a message goes: ids, titles and selectors in, ids and selectors out, and nobody by mistake (CCCS §5)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.errors import BbError, PermissionDenied
from bb.messaging.chat import recipients
from bb.messaging.chat.principals import principal
from bb.messaging.chat.recipients import InvalidRecipient, Member, NoEnabledRecipients
from tests.messaging import cccs_reader

ADA = Member("ada", "Ada Lovelace", "foreman")
BO = Member("bo", "Builder", "peer")
CY = Member("cy-2", "", "peer", enabled=False)
TEAM = (ADA, BO, CY)
ROLES = {member.id: member.role for member in TEAM}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["ada", "@all"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def refusal(tokens: Any, members: tuple[Member, ...] = TEAM) -> BbError:
    with pytest.raises(InvalidRecipient.error) as caught:
        recipients.resolve(tokens, members)
    return caught.value


# -- what may stand in `to`


@pytest.mark.parametrize("tokens", [None, [], ()])
def test_cccs_5_absent_and_empty_are_a_broadcast(tokens: Any):
    assert recipients.resolve(tokens, TEAM) == ()


@pytest.mark.parametrize(
    ("token", "stored"),
    [
        ("ada", "ada"),
        ("cy-2", "cy-2"),
        ("@ada", "ada"),
        (" ada ", "ada"),
        ("@all", "@all"),
        ("@peers", "@peers"),
        ("@foreman", "@foreman"),
        ("@user", "user"),
        ("user", "user"),
        ("Builder", "bo"),
        ("builder", "bo"),
        ("ADA LOVELACE", "ada"),
        ("@builder", "bo"),
    ],
)
def test_cccs_5_a_token_is_an_id_a_selector_the_person_or_a_title(token: str, stored: str):
    assert recipients.resolve([token], TEAM) == (stored,)


def test_cccs_5_who_is_named_twice_is_told_once_in_the_order_of_the_first_naming():
    assert recipients.resolve(["bo", "@user", "Builder", "user", "@bo", "ada"], TEAM) == ("bo", "user", "ada")


@pytest.mark.parametrize("token", ["nobody", "@nobody", "all", "peers", "foreman", "@system", "svc:ci", "@ALL"])
def test_who_is_not_there_is_refused_by_name_and_place(token: str):
    error = refusal(["ada", token])
    assert (error.code, error.exit_status) == ("INVALID_RECIPIENT", 3)
    assert error.details == {"path": "$.to[1]", "to": token}
    assert token in error.message


@pytest.mark.parametrize("token", ["", " ", "@", None, 7, True, ["ada"], {"id": "ada"}])
def test_a_token_that_names_nobody_never_becomes_a_broadcast(token: Any):
    assert refusal([token]).details["path"] == "$.to[0]"


@pytest.mark.parametrize("tokens", ["ada", "", 0, False, {}, {"to": "ada"}, 3.5])
def test_recipients_that_are_no_list_are_refused(tokens: Any):
    assert (refusal(tokens).code, refusal(tokens).details) == ("INVALID_RECIPIENT", {"path": "$.to"})


def test_a_title_that_two_share_names_neither():
    error = refusal(["twin"], (Member("ada", "Twin"), Member("bo", "TWIN")))
    assert "ada, bo" in error.message


def test_an_id_goes_before_a_title_and_a_title_that_is_nearly_an_id_names_nobody():
    team = (Member("ada"), Member("bo", "Ada"))
    assert recipients.resolve(["ada"], team) == ("ada",)
    assert "ada, bo" in refusal(["Ada"], team).message


def test_nobody_takes_the_name_of_the_person_or_of_a_selector_by_a_title():
    team = (Member("mallory", "user"), Member("eve", "@all"))
    assert recipients.resolve(["user", "@user", "@all"], team) == ("user", "@all")


def test_a_message_to_who_is_called_the_longest_is_refused_in_a_short_sentence():
    assert len(refusal(["x" * 9_999]).message) < 150


@given(JSON)
def test_any_json_is_resolved_to_known_tokens_or_refused_with_its_place(tokens: Any):
    found = cccs_reader.answer(lambda: recipients.resolve(tokens, TEAM))
    if isinstance(found, BbError):
        assert found.code == "INVALID_RECIPIENT"
        assert found.details["path"].startswith("$.to")
        return
    assert set(found) <= {"ada", "bo", "cy-2", "user", "@all", "@peers", "@foreman"}
    assert len(set(found)) == len(found)
    assert recipients.resolve(list(found), TEAM) == found


# -- whom it is visible to


@pytest.mark.parametrize(
    ("to", "who"),
    [
        ((), {"ada", "bo", "cy-2", "user"}),
        (("@all",), {"ada", "bo", "cy-2", "user"}),
        (("@peers",), {"bo", "cy-2"}),
        (("@foreman",), {"ada"}),
        (("user",), {"user"}),
        (("@user",), {"user"}),
        (("bo",), {"bo"}),
        (("bo", "user"), {"bo", "user"}),
        (("@foreman", "cy-2"), {"ada", "cy-2"}),
        (recipients.NOBODY, set()),
    ],
)
def test_cccs_5_who_is_addressed_by_what(to: tuple[str, ...], who: set[str]):
    assert {each for each in (*ROLES, "user") if recipients.is_addressed(each, to, ROLES)} == who


def test_cccs_5_a_broadcast_is_the_same_as_all():
    for who in (*ROLES, "user", "nobody-yet"):
        assert recipients.is_addressed(who, (), ROLES) == recipients.is_addressed(who, ("@all",), ROLES)


def test_a_message_to_the_foreman_is_for_whoever_is_it_when_somebody_looks():
    assert recipients.is_addressed("bo", ("@foreman",), {"ada": "peer", "bo": "foreman"})


def test_an_index_finds_for_everybody_just_what_is_addressed_to_them():
    every = ["ada", "bo", "cy-2", "user", "@all", "@peers", "@foreman", "@user"]
    for to in [(), *((one,) for one in every), *product(every, every)]:
        kept_under = to or ("",)
        for who in (*ROLES, "user"):
            found = not set(recipients.tokens_for(who, ROLES.get(who, ""))).isdisjoint(kept_under)
            assert found == recipients.is_addressed(who, to, ROLES)


@pytest.mark.parametrize(
    ("data", "to"),
    [
        ({}, ()),
        ({"to": None}, ()),
        ({"to": []}, ()),
        ({"to": ["bo", 7, "", None, "user"]}, ("bo", "user")),
        ({"to": [7]}, recipients.NOBODY),
        ({"to": "bo"}, recipients.NOBODY),
        ({"to": {}}, recipients.NOBODY),
        ({"to": 0}, recipients.NOBODY),
        ("no object", ()),
    ],
)
def test_recipients_in_history_that_cannot_be_read_are_nobody_rather_than_everybody(data: Any, to: tuple[str, ...]):
    assert recipients.stored(data) == to


# -- whether it reaches anybody


@pytest.mark.parametrize("to", [(), ("@all",), ("user",), ("user", "bo"), ("@peers", "user")])
def test_a_broadcast_and_what_goes_to_the_person_succeed_where_there_are_no_actors(to: tuple[str, ...]):
    recipients.must_reach(to, ())
    recipients.must_reach(to, (CY,))


@pytest.mark.parametrize(
    ("to", "by"),
    [(("cy-2",), "user"), (("@peers",), "bo"), (("bo",), "bo"), (("@foreman",), "ada"), (("cy-2", "bo"), "bo")],
)
def test_what_is_meant_for_actors_and_finds_none_enabled_but_its_sender_is_refused(to: tuple[str, ...], by: str):
    with pytest.raises(NoEnabledRecipients.error) as caught:
        recipients.must_reach(to, TEAM, by)
    assert caught.value.code == "NO_ENABLED_RECIPIENTS"
    assert caught.value.details == {"path": "$.to", "to": list(to)}


@pytest.mark.parametrize("to", [("bo",), ("@peers",), ("@foreman",), ("cy-2", "bo")])
def test_one_enabled_actor_is_enough(to: tuple[str, ...]):
    recipients.must_reach(to, TEAM, "user")


@pytest.mark.parametrize(
    ("to", "by", "who"),
    [
        ((), "user", ("ada", "bo")),
        ((), "ada", ("bo",)),
        (("@all",), "svc:ci", ("ada", "bo")),
        (("@peers",), "user", ("bo",)),
        (("cy-2",), "user", ("cy-2",)),
        (("bo", "user"), "ada", ("bo", "user")),
        (("user",), "user", ()),
        (("bo", "@peers"), "ada", ("bo",)),
    ],
)
def test_who_is_to_act_on_a_message_is_told_by_name(to: tuple[str, ...], by: str, who: tuple[str, ...]):
    assert recipients.concrete(to, TEAM, by) == who


# -- in whose name


@pytest.mark.parametrize("by", ["user", "system", "ada", "svc:relay", "svc:com.example.my-bot_2"])
def test_cccs_2_a_principal_is_the_person_the_system_an_actor_or_a_service(by: str):
    assert principal(by, ROLES) == by


@pytest.mark.parametrize("by", [None, ""])
def test_ipc_7_1_who_does_not_say_who_asks_is_the_operations_default(by: Any):
    assert principal(by, ROLES) == "user"
    assert principal(by, ROLES, "system") == "system"


@pytest.mark.parametrize("by", ["svc:cccc.bridge", "svc:cccc."])
def test_cccs_2_a_client_does_not_speak_as_a_service_of_cccc(by: str):
    with pytest.raises(PermissionDenied.error) as caught:
        principal(by, ROLES)
    assert (caught.value.code, caught.value.exit_status) == ("PERMISSION_DENIED", 5)
    assert "reserved" in caught.value.message


@pytest.mark.parametrize("by", ["nobody", "@ada", "User", " ", "svc:", "svc:a b", "svc:" + "x" * 129, "x" * 9_999])
def test_nobody_becomes_a_speaker_by_a_misspelt_name(by: str):
    with pytest.raises(PermissionDenied.error) as caught:
        principal(by, ROLES)
    assert caught.value.details == {"path": "$.by"}
    assert len(caught.value.message) < 150


@pytest.mark.parametrize("by", [7, True, ["user"], {}, "\ud800"])
def test_a_principal_that_is_no_text_is_a_malformed_request(by: Any):
    with pytest.raises(BbError) as caught:
        principal(by, ROLES)
    assert (caught.value.code, caught.value.details["path"]) == ("INVALID_REQUEST", "$.by")
