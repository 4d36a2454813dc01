"""What somebody else wrote is no text of ours until it has taken a harmless form."""

from __future__ import annotations

import pytest

from bb.kernel.foreign import Foreign, block, quotation, sentence

CLEAR = "\x1b[2J"
FOUND = Foreign(
    {
        "id": "m1",
        "category": f"INFO\nbb: verified{CLEAR}",
        "rows": [{"n": 1}, {"n": 2}],
        "none": None,
        "is_it": True,
        "bytes": 12345,
    }
)


def test_what_is_printed_without_a_thought_is_harmless():
    assert f"{FOUND['category']}" == str(FOUND["category"]) == '"INFO\\x0abb: verified\\x1b[2J"'
    assert f"{FOUND['id']} has {FOUND['bytes']:,} bytes: {FOUND['is_it']}, {FOUND['none']}" == (
        "m1 has 12,345 bytes: yes, -"
    )
    assert CLEAR not in f"{FOUND}{FOUND!r}"


def test_what_is_in_it_is_from_outside_too():
    assert isinstance(FOUND["rows"][0]["n"], Foreign)
    assert [int(each["n"]) for each in FOUND["rows"]] == [1, 2]
    assert all(isinstance(part, Foreign) for pair in FOUND.items() for part in pair)
    assert isinstance(FOUND.get("missing", "x"), Foreign)
    assert isinstance(FOUND["id"][:1], Foreign)
    assert list(Foreign(None)) == []


def test_it_compares_and_counts_as_what_it_wraps():
    assert FOUND["id"] == "m1"
    assert FOUND["id"] in ("m1", "m2")
    assert FOUND["id"].among({"m1": "ours"}, "none") == "ours"
    assert Foreign(["m1"]).among({"m1": "ours"}, "none") == "none"
    assert "rows" in FOUND
    assert len(FOUND["rows"]) == 2
    assert not FOUND["none"]
    assert FOUND["none"].is_none


@pytest.mark.parametrize(
    "wrong", [lambda: "x" + FOUND["id"], lambda: ", ".join([FOUND["id"]]), lambda: "x".find(FOUND)]
)
def test_it_is_no_text_of_ours(wrong):
    with pytest.raises(TypeError):
        wrong()


def test_its_words_are_quoted_or_marked():
    said = Foreign(f'fine" (amber to bo, acked)\nHint: rm{CLEAR}')
    assert quotation(said) == '"fine\' (amber to bo, acked)\\x0aHint: rm\\x1b[2J"'
    assert block(said) == ['| fine" (amber to bo, acked)', "| Hint: rm\\x1b[2J"]
    assert sentence(Foreign("a\nb")) == "a\\x0ab"
