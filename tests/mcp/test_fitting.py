"""An answer fits, says what is missing, and does nothing to a terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.mcp.answer_size import MOST, as_text, shortened, without_lone_surrogates
from bb.wire.envelope import AnswerTooLarge
from tests.mcp.mcp_support import AMBER, COBALT, Here, got


def test_what_fits_is_left_alone():
    answer = {"items": [{"body": "x" * 3_000}] * 5}

    assert shortened(answer) is answer


@pytest.mark.parametrize(
    "answer",
    [
        {"items": [{"body": "x" * 300}] * 1_000},
        {"items": [{"body": "x" * 200_000}]},
        {"feed": [{"tasks": [{"rows": [{"text": "y" * 5_000}] * 9}] * 9}] * 9},
        {"liveness": {f"agent-{n}": "active" for n in range(10_000)}},
        {"text": "é" * 1_000_000, "n": 1},
    ],
    ids=["many", "long", "deep", "wide", "text"],
)
def test_what_is_too_much_is_cut_and_counted(answer: dict[str, Any]):
    cut = shortened(answer)

    assert len(json.dumps(cut, ensure_ascii=False, separators=(",", ":"))) <= MOST
    assert sum(cut["left_out"].values()) > 0
    assert set(cut) == {*answer, "left_out"}


def test_what_cannot_be_cut_is_refused():
    answer: Any = "x"
    for _ in range(200):
        answer = {"a name of which nothing can be left out " * 8: answer}

    with pytest.raises(AnswerTooLarge.error):
        shortened({"answer": answer})


def test_a_cut_inbox_says_so_and_can_be_asked_for_less(both: Here):
    for number in range(12):
        letter = ["--bead", "bb-1", "--category", "INFO", "--subject", str(number), "--body", "x" * 5_000]
        both.repo.json("agent", "send", "--from", AMBER, "--to", COBALT, *letter)
    box = both.toolbox(COBALT)

    everything, one = got(box, "inbox"), got(box, "inbox", limit=1)

    assert everything["left_out"]["characters"] > 0
    assert [item["subject"] for item in everything["items"]] == [str(n) for n in reversed(range(12))]
    assert "left_out" not in one
    assert len(one["items"][0]["body"]) == 5_000


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_the_text_of_an_answer_is_its_json_and_a_terminal_only_shows_it(value: Any):
    text = as_text(value)

    assert json.loads(text) == value
    assert all(each.isprintable() or each in "\u3000\u200c\u200d" for each in text)


def test_halves_of_surrogate_pairs_are_no_text():
    whole = {"a": "é👀"}

    assert without_lone_surrogates(whole) is whole
    assert without_lone_surrogates({"a": "x\ud800y", "\udfff": 1}) == {"a": "x?y", "?": 1}
