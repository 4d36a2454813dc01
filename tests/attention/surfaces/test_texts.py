"""What is said and what is only shown; and one glyph for each reaction."""

from __future__ import annotations

from time import perf_counter

import pytest

from bb.attention.surfaces import discord, github, glyphs, matrix, slack
from bb.attention.surfaces.payload import Part
from bb.attention.surfaces.spoken import without_quotes_and_code


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ("a ```b\nc``` d", "a   d"),
        ("a ```b``` c ```d``` e", "a   c   e"),
        ("a ```never closed\nb", "a  "),
        ("a `b` c", "a   c"),
        ("> quoted\nsaid\n  > quoted", "said"),
        ("said\n>>> quoted\nquoted", "said"),
        ("```code```\nsaid", " \nsaid"),
    ],
)
def test_what_is_quoted_or_code_is_not_said(text: str, said: str):
    assert without_quotes_and_code(text).split() == said.split()


@pytest.mark.parametrize(
    ("written", "glyph"),
    [
        ("thumbsup", "👍"),
        (":+1:", "👍"),
        ("+1::skin-tone-6", "👍"),
        ("👍🏿", "👍"),
        ("✔️", "✔"),
        ("heavy_check_mark", "✔"),
        ("🙅🏽‍♀️", "🙅"),
        ("kettle_on", "kettle_on"),
        ("\ufe0f", "\ufe0f"),
    ],
)
def test_a_reaction_is_one_glyph_however_it_is_written(written: str, glyph: str):
    assert glyphs.plain_glyph(written) == glyph


@pytest.mark.parametrize(
    "bit", ["<@", "<!a|", "`", "```", "<!--", "<!-- bb:", "@a", "@a.", ">", "@a:", "<@1", "&gt;", "a"]
)
def test_no_text_takes_long(bit: str):
    text = bit * (200_000 // len(bit))
    part = Part({"content": text, "body": text})
    before = perf_counter()

    for read in (slack.mentions, slack.readable, github.mentions, github.marker):
        read(text)
    for read_part in (discord.mentions, discord.readable, matrix.mentions):
        read_part(part)

    assert perf_counter() - before < 10
