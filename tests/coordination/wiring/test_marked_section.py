"""A stretch of ours in somebody else's text: in, replaced, out again, and every other character stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.wiring import marked_section
from bb.coordination.wiring.marked_section import BEGIN, END

OURS = "## bb\n\nReserve before you edit.\n"
NEWER = "## bb\n\nReserve, then edit.\nRelease.\n"
PARTS = ["a", " ", "\n", "\r\n", "\r", "\ufeff", "ü", "<!-- bb:", "-->"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


@given(TEXTS)
def test_what_was_put_in_comes_out_again_and_leaves_what_was_there(text: str):
    once = marked_section.put(text, OURS)

    assert marked_section.without(once) == text
    assert marked_section.put(once, OURS) == once
    assert marked_section.without(marked_section.put(once, NEWER)) == text


@given(TEXTS, TEXTS)
def test_replacing_touches_nothing_before_or_behind(before: str, behind: str):
    text = f"{before}\n{BEGIN}\nold\n{END}\n{behind}"

    replaced = marked_section.put(text, OURS)

    assert replaced.startswith(f"{before}\n{BEGIN}")
    assert replaced.endswith(f"{END}\n{behind}")
    assert marked_section.is_whole(marked_section.inside(replaced) or "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, "{}\n"),
        ("", "{}"),
        ("# Us\n", "# Us\n\n{}\n"),
        ("# Us", "# Us\n\n{}"),
        ("# Us\r\n", "# Us\r\n\r\n{}\r\n"),
        ("\ufeff# Us\n", "\ufeff# Us\n\n{}\n"),
    ],
)
def test_it_goes_behind_what_is_there_in_its_line_ends(text: str | None, wanted: str):
    line_end = "\r\n" if text and "\r" in text else "\n"
    stretch = f"{BEGIN}\n{marked_section.sealed(OURS)}{END}".replace("\n", line_end)

    assert marked_section.put(text, OURS) == wanted.format(stretch)


def test_what_somebody_writes_behind_it_stays_when_it_goes():
    text = marked_section.put("# Us\n", OURS) + "\n## More\n"

    assert marked_section.without(text) == "# Us\n\n## More\n"


def test_markers_count_only_where_they_stand_alone():
    text = f"Write {BEGIN} and {END} around it.\n"

    assert marked_section.inside(text) is None
    assert marked_section.put(text, OURS).startswith(text)


@pytest.mark.parametrize(
    "text",
    [f"{BEGIN}\n", f"{END}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{BEGIN}\n{END}\n", f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n"],
)
@pytest.mark.parametrize(
    "touch", [marked_section.without, marked_section.inside, lambda text: marked_section.put(text, OURS)]
)
def test_markers_that_are_no_pair_are_refused(text: str, touch: object):
    with pytest.raises(marked_section.Unclear, match="it must have one line"):
        touch(text)  # type: ignore[operator]


def test_a_seal_holds_whatever_the_line_ends_and_breaks_with_any_other_change():
    text = marked_section.sealed(OURS)

    assert marked_section.is_whole(text)
    assert marked_section.is_whole(text.replace("\n", "\r\n"))
    assert not marked_section.is_whole(text.replace("edit", "commit"))
    assert not marked_section.is_whole(text + "\n")
    assert not marked_section.is_whole(OURS)
    assert marked_section.is_whole(marked_section.sealed(text))
