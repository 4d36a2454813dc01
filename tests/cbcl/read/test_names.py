"""What messages and conversations are called, and how answers are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cbcl.read import names
from bb.cbcl.read.message import Simple, core_of
from tests.cbcl.trees import IDENTIFIERS, STEADY, read


def id_of(text: str) -> str:
    return names.id_of(read(text))


def test_a_message_has_the_id_that_it_gives_itself():
    for text in (
        "(tell @bob :id a-1)",
        '(tell @bob :id "a-1")',
        "(tell @bob :id 'a-1)",
        "(envelope (tell @bob :id a-1))",
    ):
        assert id_of(text) == "a-1"
    assert id_of("(tell @bob :id 007)") == "7"


@pytest.mark.parametrize("given_id", ["", ":id ()", ":id (a)", ":id #t", ":id @bob", ':id ""', f":id {'x' * 201}"])
def test_else_one_made_of_its_content(given_id: str):
    found = id_of(f"(tell @bob (x) {given_id})")
    assert found.startswith("m-")
    assert len(found) == 18
    assert found == id_of(f"(tell   @bob (x) {given_id}) ; the same")


def test_other_contents_other_ids():
    texts = ["(tell @bob)", "(tell @bob ())", '(tell @bob "")', "(tell @carol)", "(ask @bob)", "(envelope (tell @bob))"]
    assert len({id_of(text) for text in texts}) == len(texts)


def test_a_thread_is_named_by_text():
    for spelling in ("t-1", '"t-1"', "'t-1"):
        assert names.thread_of(read(f"(tell @bob :thread {spelling})")) == "t-1"
    assert names.thread_of(read("(tell @bob)")) is None
    assert names.thread_of(read("(meta (query (speak? x)))")) is None


@STEADY
@given(IDENTIFIERS, st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8), st.text(max_size=300))
def test_every_answer_is_a_message_that_names_what_it_is_about(to: str, name: str, text: str):
    said = core_of(read(names.error_text(to, "X", text, in_reply_to=name, thread=name, rules=["R1"])))

    assert isinstance(said, Simple)
    assert (said.recipient, said.text("code")) == (to, "X")
    assert (said.text("in-reply-to"), said.text("thread")) == (name or None, name or None)
    assert said.content is not None
    assert str(said.content.value).isprintable()


@pytest.mark.parametrize(
    ("name", "written"),
    [("a", "a"), ("t-1", "t-1"), ("7", '"7"'), ("-7", '"-7"'), ("1.5", '"1.5"'), ("a b", '"a b"'), ("é", '"é"')],
)
def test_a_name_is_written_as_a_symbol_where_it_can_be_one(name: str, written: str):
    assert names.answer_text("ok", "bob", thread=name) == f"(ok @bob :thread {written})"


def test_an_error_says_what_it_is_about_in_a_fixed_order():
    said = names.error_text("bob", "DIALECT_REJECTED", "no", in_reply_to="m-1", thread="t", rules=["R1", "R3"])
    assert said == '(error @bob "no" :code "DIALECT_REJECTED" :rule (R1 R3) :in-reply-to m-1 :thread t)'


def test_a_long_text_is_cut_and_a_long_thread_left_out():
    said = names.error_text("bob", "X", "y" * 10_000, in_reply_to="m-1", thread="t" * 201)
    assert len(said) < 500
    assert ":thread" not in said
