"""`bb chat attach` at a terminal: it says what happens, and asks the person who sits there."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.stories.attention.attach_support import AMBER, ANSWER, PROGRAM, Attached, line
from tests.stories.attention.test_attach import NO, ONCE, PERMISSION
from tests.terminals import Terminal

PUBLIC: dict[str, Any] = {
    "inReplyTo": "github:m1",
    "content": "The \x1b[2Jtoken is lost.",
    "visibility": "channel",
    "directedness": "to_other",
    "idempotencyKey": "k",
    "target": {"conversation": "PUB"},
}
SEND = ["tool", ["chat", {"tool": "send_message", "arguments": PUBLIC}]]


def at_terminal(attached: Attached, **settings: str) -> Terminal:
    words = ["chat", "attach", "--agent", AMBER, "--", sys.executable, str(PROGRAM), str(attached.folder)]
    return Terminal(attached.repo, *words, columns=200, **settings)


def shows(terminal: Terminal, text: str) -> None:
    terminal.until(lambda it: text in it.printed)


@pytest.mark.parametrize(("typed", "outcome"), [("y\n", ONCE), ("\n", NO), ("what\nyes\n", ONCE)])
def test_the_person_at_the_terminal_is_asked_and_everything_is_said_in_words(
    attached: Attached, typed: str, outcome: dict[str, str]
):
    attached.script([["ask", PERMISSION]])
    with at_terminal(attached) as terminal:
        shows(terminal, "is ready and gets the messages to amber-otter")
        attached.says("m1")
        shows(terminal, 'bb: may the agent run "rm -rf build"? [y/N]')
        terminal.type(typed)
        shows(terminal, "bb: the turn for github:m1 has ended (end_turn)")
        shown = terminal.printed
        terminal.type("\x03")

        assert terminal.ends() == 130
    assert "bb: message github:m1 from ada in D1: must_respond" in shown
    assert "bb: the text of the turn is sent as the answer to github:m1" in shown
    assert attached.answers() == [str(outcome).replace("'", '"')]


def test_a_message_that_would_show_something_private_is_asked_about_there_too_and_the_agent_sends_it_again(
    attached: Attached,
):
    attached.script([SEND, ["text", "I wait."]], [SEND])
    attached.ingest(line("p0", "Hello.", {"id": "PUB", "kind": "channel"}))
    with at_terminal(attached) as terminal:
        shows(terminal, "is ready")
        attached.says("m1")
        shows(terminal, 'may the agent send "The \\x1b[2Jtoken is lost." to PUB?')
        terminal.type("y\n")
        terminal.until(lambda it: it.printed.count("has ended (end_turn)") == 2)
        terminal.type("\x03")
        terminal.ends()

    assert attached.answers("PUB") == ["The \x1b[2Jtoken is lost."]
    assert attached.bb("chat", "confirmations")["confirmations"] == []


def test_the_terminal_of_an_agent_is_not_asked(attached: Attached):
    attached.script([["ask", PERMISSION]])
    with at_terminal(attached, BB_AGENT=AMBER) as terminal:
        shows(terminal, "is ready")
        attached.says("m1")
        shows(terminal, "answer with `bb chat confirm confirm-")
        terminal.type("y\n")
        (request,) = attached.bb("chat", "confirmations")["confirmations"]

    assert request["text"] == "rm -rf build"


def test_what_the_program_says_cannot_write_to_the_terminal(attached: Attached):
    attached.script([["call", "\x1b[2J\x1b]0;owned\x07Read"], ["raw", "\x1b[31m\n"], *ANSWER])
    with at_terminal(attached) as terminal:
        shows(terminal, "is ready")
        attached.says("m1")
        shows(terminal, "has ended (end_turn)")

        assert terminal.strange == []
        assert "owned" in terminal.printed
        assert "\x1b[2J" not in terminal.written
