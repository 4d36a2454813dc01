"""The map: who holds how much of which folder."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.holdings import scopes
from bb.coordination.holdings.scopes import Scope
from bb.web import tree
from bb.web.tree import Hold

FILES = sorted(
    ["README.md", "docs/a.md", "docs/b.md", "src/app/x.py", "src/app/y.py", "src/lib/x.py", "src/lib/deep/z.py"]
)


def hold(text: str, agent: str = "amber-otter", *, is_live: bool = True) -> Hold:
    return Hold(Scope(text), agent, is_live, {"scope": text, "agent_id": agent, "reservation_id": text})


def drawn(*holds: Hold, files: list[str] = FILES, under: str = "") -> dict[str, Any]:
    return tree.layout(files, holds, under, ignore_case=False)


def at(shown: dict[str, Any], path: str) -> dict[str, Any]:
    """The place at PATH, which must be on the map."""
    while shown["path"] != path:
        shown = next(each for each in shown["children"] if path == each["path"] or path.startswith(f"{each['path']}/"))
    return shown


def shares(place: dict[str, Any]) -> dict[str, int]:
    return {share["agent"]: share["files"] for share in place["shares"]}


def test_where_nothing_is_held_the_folders_at_the_top_are_shown_with_their_files_counted():
    shown = drawn()

    assert [(each["name"], each["files"]) for each in shown["children"]] == [("docs", 2), ("src", 4)]
    assert shown["files"] == 7
    assert shown["others"] == 1


def test_a_folder_that_is_held_is_held_with_all_that_lies_in_it_and_not_opened():
    shown = drawn(hold("src/lib"))

    assert shares(at(shown, "src/lib")) == {"amber-otter": 2}
    assert at(shown, "src/lib")["children"] == []
    assert shares(at(shown, "src")) == {"amber-otter": 2}
    assert [each["scope"] for each in at(shown, "src/lib")["holds"]] == ["src/lib"]
    assert shares(shown) == {"amber-otter": 2}


def test_a_pattern_opens_the_folder_it_begins_in_and_counts_the_files_it_covers():
    shown = drawn(hold("src/**/x.py"))

    assert shares(at(shown, "src")) == {"amber-otter": 2}
    assert [each["scope"] for each in at(shown, "src")["holds"]] == ["src/**/x.py"]
    assert shares(at(shown, "src/app")) == {"amber-otter": 1}


def test_what_is_held_and_is_not_there_yet_stands_on_the_map():
    place = at(drawn(hold("docs/new/page.md")), "docs/new/page.md")

    assert place["is_there"] is False
    assert place["holds"]


def test_what_is_over_is_shown_and_counts_for_nothing():
    shown = drawn(hold("src/lib", is_live=False))

    assert shares(at(shown, "src/lib")) == {}
    assert at(shown, "src/lib")["holds"]


def test_what_two_hold_together_is_shared_in_the_bar():
    shown = at(drawn(hold("docs"), hold("docs", "cobalt-harbor")), "docs")

    assert shares(shown) == {"amber-otter": 2, "cobalt-harbor": 2}
    assert sum(share["width"] for share in shown["shares"]) == 100


def test_one_may_look_at_a_single_folder():
    shown = drawn(hold("src/lib"), under="src")

    assert shown["path"] == "src"
    assert [each["name"] for each in shown["children"]] == ["app", "lib"]


def test_a_folder_whose_name_begins_another_s_is_not_taken_for_it():
    shown = drawn(hold("src"), files=sorted(["src/a", "src-old/b", "src.py", "src0/c"]))

    assert shares(shown) == {"amber-otter": 1}


def test_the_whole_repository_can_be_held():
    assert shares(drawn(hold("."))) == {"amber-otter": 7}


def test_a_map_of_very_many_places_stays_readable():
    files = sorted(f"d{number:04}/f" for number in range(3000))
    shown = drawn(files=files)

    assert len(shown["children"]) == tree.MOST
    assert shown["others"] == 3000 - tree.MOST


names = st.sampled_from(["a", "b", "ab", "a-b", "a0"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
patterns = st.lists(st.sampled_from(["a", "b", "*", "**", "a*", "?"]), min_size=1, max_size=3).map("/".join)


@given(st.sets(paths, max_size=12), st.lists(paths | patterns, max_size=4), st.booleans())
def test_what_is_counted_is_what_the_scopes_cover(made: set[str], held: list[str], ignore_case: bool):
    files = sorted(path for path in made if not any(other.startswith(f"{path}/") for other in made))
    wanted = [found for text in held if (found := scopes.stored(text))]
    holds = [Hold(each, "amber-otter", True, {"reservation_id": each.text}) for each in wanted]

    shown = tree.layout(files, holds, ignore_case=ignore_case)

    covered = {
        path for path in files for each in wanted if scopes.covers(each, scopes.existing(path), ignore_case=ignore_case)
    }
    assert shares(shown).get("amber-otter", 0) == len(covered)


@pytest.mark.parametrize("under", ["nowhere", "../..", "src/app/x.py/none"])
def test_a_folder_that_is_not_there_is_an_empty_map(under: str):
    shown = drawn(hold("src"), under=under)

    assert shown["children"] == []
    assert shown["files"] == 0
