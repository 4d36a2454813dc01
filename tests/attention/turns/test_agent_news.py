"""How much of an agent's news is told at once, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.turns import agent_news, news
from bb.attention.turns.news import News
from bb.kernel.foreign import Foreign
from tests.hostile import EVERYTHING, RAW


def unread(number: int, subject: str = "Dates") -> News:
    row = {"id": f"k7q2mzp4x3ab.{number}", "from": "cobalt-harbor", "subject": subject}
    return News(news.UNREAD, row["id"], lambda: row)


def lost(scope: str, **more: Any) -> News:
    row = {"scope": scope, "how": "released", "by": "user", **more}
    return News(news.LOST, scope, lambda: row)


def said(found: list[News]) -> list[str]:
    return list(agent_news.sentences(Foreign(agent_news.fit(found).answer)))


def test_without_news_the_answer_is_empty():
    assert agent_news.fit([]).answer == {}
    assert agent_news.fit([]).names == ()


def test_what_does_not_fit_is_counted_and_counts_as_not_told():
    found = [unread(number) for number in range(40)]

    told = agent_news.fit(found)

    assert len(told.answer["unread"]) == len(told.names) > 3
    assert told.answer["more"] == {"unread": 40 - len(told.names)}
    assert told.names == tuple(each.name for each in found[: len(told.names)])


def test_all_is_told_after_a_few_answers_and_nothing_twice():
    found = [unread(number) for number in range(40)]
    told: list[str] = []
    while rest := [each for each in found if each.name not in told]:
        names = agent_news.fit(rest).names
        assert names, "each answer tells something"
        told += names
    assert sorted(told) == sorted(each.name for each in found)


def test_much_news_of_one_kind_does_not_hide_the_other_kinds():
    answer = agent_news.fit([*(unread(number) for number in range(40)), lost("src")]).answer

    assert answer["lost"][0]["scope"] == "src"
    assert list(answer) == ["lost", "unread", "more"]


@pytest.mark.parametrize("scope", ["src/" + "deep/" * 800, "資料/" * 400])
def test_a_row_that_never_fits_is_cut_instead_of_being_kept_back_for_ever(scope: str):
    told = agent_news.fit([lost(scope), unread(1)])

    assert scope in told.names
    assert told.answer["lost"][0]["scope"].endswith("…")


def test_a_row_that_is_gone_is_neither_told_nor_counted_nor_looked_at_again():
    told = agent_news.fit([News(news.UNREAD, "gone", lambda: None), unread(1)])

    assert told.names == ("k7q2mzp4x3ab.1", "gone")
    assert "more" not in told.answer


def test_each_loss_says_how():
    rows = [
        ({"how": "taken_over", "by": "cobalt-harbor"}, "cobalt-harbor took it over"),
        ({"how": "released", "by": "user"}, "user released it"),
        ({"how": "transferred", "by": "user", "to": "dusty-wren"}, "user transferred it to dusty-wren"),
        ({"how": "expired"}, "the reservation expired"),
        ({"how": "void"}, "a reservation of another clone was published first"),
        ({"how": "something new"}, "the reservation expired"),
    ]
    for row, text in rows:
        assert said([lost("src", **row)]) == [f"You no longer hold src: {text}."]


@pytest.mark.parametrize("text", EVERYTHING.values(), ids=EVERYTHING)
def test_the_words_of_others_are_quoted_on_one_line(text: str):
    row = {"since": "now", "why": text, "everybody": False, "by": "user"}
    for line in said([unread(1, text), lost(text), News(news.PAUSED, "paused", lambda: row)]):
        assert not RAW & set(line)
        assert "\n" not in line
