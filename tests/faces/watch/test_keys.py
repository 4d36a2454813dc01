"""Which keys were pressed, and what each of them changes: rules, without any terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.cli.watch.keys import SEQUENCES, pressed
from bb.cli.watch.model import BOTTOM, LONGEST_FILTER, VIEWS, Chosen, press

NOW, PAGE = 1_767_614_400_000, 10


def after(*keys: str, chosen: Chosen | None = None) -> Chosen:
    found = chosen or Chosen()
    for key in keys:
        found = press(found, key, now=NOW, page=PAGE)
    return found


@pytest.mark.parametrize(
    ("octets", "keys"),
    [
        (b"q", ["q"]),
        (b" /?", [" ", "/", "?"]),
        (b"\x03\x04\x1a", ["interrupt", "end of input", "suspend"]),
        (b"\r\n\t", ["enter", "enter", "tab"]),
        (b"\x7f\x08\x15\x17", ["backspace", "backspace", "clear line", "clear word"]),
        (b"\x1b[A\x1bOB\x1b[5~\x1b[6~", ["up", "down", "page up", "page down"]),
        (b"\x1b[H\x1b[4~\x1b[Z", ["home", "end", "back tab"]),
        ("é会🦦".encode(), ["é", "会", "🦦"]),
        (b"\x00\x1c\x0e", []),
    ],
)
def test_bytes_are_keys(octets: bytes, keys: list[str]):
    assert pressed(octets) == (keys, b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"\x1b[?62;22c",
        b"\x1b[24;80R",
        b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        b"\x1b]52;c;cXE=\x07",
        b"\x1bP>|xterm\x1b\\",
    ],
)
def test_what_the_terminal_says_by_itself_presses_no_key(answer: bytes):
    assert pressed(answer + b"x") == (["x"], b"")


def test_mouse_and_unknown_keys_press_nothing():
    assert pressed(b"\x1b[<0;12;3M\x1b[15~\x1b[1;5Cj") == (["j"], b"")


@pytest.mark.parametrize("octets", [*SEQUENCES, "会".encode(), b"\x1b[?62;22c", b"\x1b]0;q\x1b\\"])
def test_what_is_cut_in_two_waits_for_its_rest(octets: bytes):
    whole, _ = pressed(octets)
    for end in range(1, len(octets)):
        keys, rest = pressed(octets[:end])
        assert (keys, pressed(rest + octets[end:])) == ([], (whole, b""))


def test_escape_alone_is_a_key_once_nothing_follows():
    assert pressed(b"\x1b") == ([], b"\x1b")
    assert pressed(b"\x1b", is_all=True) == (["escape"], b"")
    assert pressed(b"\x1b\x1b[A") == (["escape", "up"], b"")


def test_what_goes_on_for_ever_is_given_up():
    assert pressed(b"\x1b]" + b"q" * 5000) == ([], b"")


@given(st.binary(max_size=60), st.booleans())
def test_whatever_comes_ends_in_keys(octets: bytes, is_all: bool):
    keys, rest = pressed(octets, is_all=is_all)

    assert all(key.isprintable() for key in keys)
    assert octets.endswith(rest)
    assert not (is_all and rest)


@given(
    st.lists(st.sampled_from([*"qfFjkgG /p?hr1x会", "escape", "enter", "backspace", "clear word", "tab", "up", "end"]))
)
def test_no_row_of_keys_leads_nowhere(keys: list[str]):
    chosen = after(*keys)

    assert chosen.view in VIEWS
    assert 0 <= chosen.offset <= BOTTOM
    assert len(chosen.draft or "") <= LONGEST_FILTER


@pytest.mark.parametrize("key", ["q", "Q", "interrupt", "end of input"])
def test_quitting(key: str):
    assert after(key).is_over
    assert after("?", key).is_over


def test_space_and_p_pause_and_go_on_and_going_on_looks_anew():
    paused = after(" ")
    assert paused.paused_at == NOW
    on = after("p", chosen=paused)
    assert (on.paused_at, on.is_stale) == (None, True)


def test_a_filter_is_typed_and_applied():
    typing = after("/", *"src q")
    assert (typing.draft, typing.filter, typing.is_over) == ("src q", "", False)

    applied = after("backspace", "backspace", "enter", chosen=typing)
    assert (applied.draft, applied.filter) == (None, "src")

    assert after("escape", chosen=applied).filter == ""
    assert after("/", *"x", "escape", chosen=applied).filter == ""
    assert after("/", "clear line", *"a b", "clear word", "enter", chosen=applied).filter == "a"


def test_ctrl_c_quits_while_a_filter_is_typed():
    assert after("/", "a", "interrupt").is_over


def test_views_are_cycled_both_ways_and_by_number():
    assert [after(*"f" * n).view for n in range(6)] == [*VIEWS, VIEWS[0]]
    assert after("F").view == after("back tab").view == VIEWS[-1]
    assert [after(key).view for key in "12345"] == list(VIEWS)


def test_scrolling_goes_no_further_than_the_beginning():
    down = after("3", "j", "down", "page down")
    assert down.offset == PAGE + 2
    assert after("k", "up", "page up", "page up", chosen=down).offset == 0
    assert after("G", chosen=down).offset == BOTTOM
    assert after("g", chosen=down).offset == 0
    assert after("f", chosen=down).offset == 0


def test_help_is_left_by_any_key_and_scrolled_by_those_that_scroll():
    assert after("?", "j").is_help
    left = after("?", "j", "x")
    assert (left.is_help, left.offset) == (False, 0)
