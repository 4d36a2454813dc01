"""The message of a commit is cleaned as git cleans it, and gets trailers in its last paragraph."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines.messages import message
from tests.examples import examples
from tests.support import environment

AGENT = ("BB-Agent", "amber-otter")
WITH = ("BB-With", "cobalt-harbor")

CASES = [
    ("Read dates", [AGENT], "Read dates\n\nBB-Agent: amber-otter\n"),
    ("Read dates", [], "Read dates\n"),
    ("Read dates", [AGENT, WITH], "Read dates\n\nBB-Agent: amber-otter\nBB-With: cobalt-harbor\n"),
    ("Subject\n\nBody.", [AGENT], "Subject\n\nBody.\n\nBB-Agent: amber-otter\n"),
    ("Subject\n\nFixes: #3", [AGENT], "Subject\n\nFixes: #3\nBB-Agent: amber-otter\n"),
    ("Subject\n\nFixes: #3\nnot a trailer", [AGENT], "Subject\n\nFixes: #3\nnot a trailer\n\nBB-Agent: amber-otter\n"),
    ("fix: dates", [AGENT], "fix: dates\n\nBB-Agent: amber-otter\n"),  # a subject is no trailer
    ("Subject\n\nBB-Agent: amber-otter", [AGENT], "Subject\n\nBB-Agent: amber-otter\n"),
    ("Subject\n\nbb-agent: user", [AGENT], "Subject\n\nbb-agent: user\n"),  # it is there already
    ("Subject\n\nFixes:#3", [AGENT], "Subject\n\nFixes:#3\n\nBB-Agent: amber-otter\n"),
    ("\n\n  \nSubject  \n\n\n\nBody\t\n\n", [AGENT], "Subject\n\nBody\n\nBB-Agent: amber-otter\n"),
    ("Subject\r\n\r\nBody.\r\n", [AGENT], "Subject\n\nBody.\n\nBB-Agent: amber-otter\n"),
    ("Subject\r\n\r\nFixes: #3\r\n", [AGENT], "Subject\n\nFixes: #3\nBB-Agent: amber-otter\n"),
    ("# not a comment", [AGENT], "# not a comment\n\nBB-Agent: amber-otter\n"),
]


@pytest.mark.parametrize(("text", "trailers", "expected"), CASES)
def test_a_message_is_cleaned_and_has_its_trailers_in_the_last_paragraph(
    text: str, trailers: list[tuple[str, str]], expected: str
):
    assert message(text, trailers) == expected


@pytest.mark.parametrize("text", [text for text, *_ in CASES])
def test_a_message_that_has_its_trailers_stays_as_it_is(text: str):
    once = message(text, [AGENT, WITH])

    assert message(once, [AGENT, WITH]) == once


def by_git(*words: str, given: str) -> str:
    done = subprocess.run(["git", *words], input=given.encode(), env=environment(), capture_output=True, check=True)
    return done.stdout.decode()


@given(st.lists(st.sampled_from(["Subject", "", "  ", "word ", "Fixes: #3", "\tin", "# x", "Über"]), max_size=8))
@examples(60)
def test_a_message_is_cleaned_as_git_does_it(rows: list[str]):
    text = "\n".join(rows)
    if not text.strip():
        return

    assert message(text, []) == by_git("stripspace", given=text)


@pytest.mark.parametrize("text", [text for text, *_ in CASES])
def test_git_finds_the_trailer(text: str):
    found = by_git("interpret-trailers", "--parse", given=message(text, [AGENT])).splitlines()

    assert [line for line in found if line.lower().startswith("bb-agent: ")], found
