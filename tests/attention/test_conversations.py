"""The conversations in tests/data/conversations, played with the rules in memory: each agent does what each one wants.

docs/attention.md says how a conversation is written and how to argue with one. A wish that the rules do not fulfil is
listed in MISSES with the reason; one that is fulfilled must not be listed.
"""

from __future__ import annotations

import pytest

from scripts.conversations.in_memory import InMemory
from scripts.conversations.judge import Row, judge, summed
from scripts.conversations.models import MODELS
from scripts.conversations.script import NotAConversation, read
from scripts.conversations.stage import Stage
from tests.support import ROOT

FOLDER = ROOT / "tests" / "data" / "conversations"
FILES = sorted(FOLDER.glob("*/*.toml"))
# conversation, message, agent, model -> why the rules cannot do it
MISSES: dict[tuple[str, str, str, str], str] = {}


def missed(model: str) -> list[Row]:
    """The rows of all conversations that are not as wanted."""
    every = [judge(Stage(read(file), InMemory(), MODELS[model]()).play()) for file in FILES]
    return [row for rows in every for row in rows if row.miss]


def key(row: Row) -> tuple[str, str, str, str]:
    return row.conversation, row.message, row.agent, row.model


# One test for all files of a model, because an ordinary run tries only some parameters of a test.


def test_an_obedient_agent_does_what_the_conversations_want():
    rows = missed("obedient")

    assert [row.told() for row in rows if key(row) not in MISSES] == []
    assert {known for known in MISSES if known[3] == "obedient"} <= set(map(key, rows)), "what is no miss is not listed"


def test_what_a_chatty_agent_gets_out_is_what_the_conversations_want():
    rows = missed("chatty")

    assert [row.told() for row in rows if key(row) not in MISSES] == []
    assert {known for known in MISSES if known[3] == "chatty"} <= set(map(key, rows)), "what is no miss is not listed"


def test_the_corpus_is_as_large_and_as_various_as_it_claims():
    conversations = [read(file) for file in FILES]

    assert len(conversations) >= 60
    assert sum(len(one.said) for one in conversations) >= 250
    assert {one.platform for one in conversations} == {"slack", "discord", "matrix", "github"}
    assert len({one.language for one in conversations}) >= 8
    assert all(said.why for one in conversations for said in one.said if said.want)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('want = { amber = "shout" }', "'shout' is no outcome"),
        ('want = { zoe = "respond" }', "there is no agent 'zoe'"),
        ('thread = "x"', "there is no earlier message 'x'"),
        ('colour = "red"', "unknown member 'colour'"),
        ("why = ''", "has no `why`"),
    ],
)
def test_a_file_that_cannot_be_argued_with_is_refused_with_the_reason(tmp_path, text: str, told: str):
    folder = tmp_path / "slack"
    folder.mkdir()
    file = folder / "one.toml"
    why = "" if text.startswith("why") else 'why = "Because."\n'
    file.write_text(f'title = "t"\n[agents]\namber = {{}}\n[people]\nada = {{}}\n[[said]]\nby = "ada"\n{why}{text}\n')

    with pytest.raises(NotAConversation, match=told.replace("'", ".")):
        read(file)


def test_the_figures_are_shares_of_what_was_wanted_and_of_where_silence_was():
    def row(wanted: str, got: str) -> Row:
        return Row("slack/one", "obedient", "m", "amber", (wanted,), got)

    found = summed(
        [row("respond", "respond"), row("respond", "silence"), row("silence", "knock"), row("knock", "knock")]
    )

    assert (found.wanted, found.silent, found.quiet, found.talked) == (3, 1, 2, 1)
