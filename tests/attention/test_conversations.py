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


def rows_of(name: str, model: str) -> list[Row]:
    conversation = read(FOLDER / f"{name}.toml")
    return judge(Stage(conversation, InMemory(), MODELS[model]()).play())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", [f"{file.parent.name}/{file.stem}" for file in FILES])
def test_every_agent_does_what_the_conversation_wants(name: str, model: str):
    rows = rows_of(name, model)

    known = {key[1:3] for key in MISSES if key[0] == name and key[3] == model}
    missed = [row for row in rows if row.miss]
    assert [row.told() for row in missed if (row.message, row.agent) not in known] == []
    assert known <= {(row.message, row.agent) for row in missed}, "it is no miss any more: remove it from MISSES"


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
