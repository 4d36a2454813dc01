"""What a message is about, in one line."""

from __future__ import annotations

import pytest
from hypothesis import given

from bb.cbcl.read.tree import string, text_of
from bb.messaging.cbcl.mail_form import HEADLINE_LENGTH as LONGEST
from bb.messaging.cbcl.mail_form import headline
from tests.cbcl.speakers import WORK, lesson
from tests.cbcl.trees import LISTS, STEADY, STRINGS, read


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('(tell @bob "The parser  is\\ndone.")', "The parser is done."),
        ('(ask @bob "Which one?")', "ask: Which one?"),
        ("(reply @bob (price 3))", "reply: (price 3)"),
        ("(hello @bob)", "hello"),
        ("(tell @bob)", "tell"),
        ('(tell @bob "")', "tell"),
        ('(ask @bob " ")', "ask"),
        ("(envelope (tell @bob (x)))", "(x)"),
        (f"(meta {WORK})", "defines the dialect work"),
        (lesson(WORK), "teaches the dialect work"),
        ("(meta (query (speak? work)))", "asks whether work is spoken"),
        ("(lang work (note (x)))", "work: note (x)"),
        ('(lang work (note "a\u009bb" :k 1))', 'work: note "a b" :k 1'),
        ("(lang work (tell @bob))", "speaks work"),
        ('(tell @bob "a\u202eb\u009bc")', "a b c"),
    ],
)
def test_a_headline_says_what_is_said_or_done(text: str, line: str):
    assert headline(read(text)) == line


@STEADY
@given(LISTS.map(text_of) | STRINGS.map(string).map(text_of))
def test_a_headline_is_one_short_line_for_any_terminal(content: str):
    for performative in ("tell", "ask"):
        line = headline(read(f"({performative} @bob {content})"))
        assert 0 < len(line) <= LONGEST
        assert line.isprintable()
        assert line == line.strip()


def test_long_names_are_cut():
    for text in ("(lang {0} (x))", "(meta (query (speak? {0})))", "(lang {0} (tell @bob))", '(tell @bob "{0}")'):
        line = headline(read(text.format("x" * 1000)))
        assert len(line) == LONGEST
        assert line.endswith("…")
