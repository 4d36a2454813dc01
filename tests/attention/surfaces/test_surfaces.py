"""What is true of every surface: lines look alike, nothing is changed, and what is malformed is refused and no bug."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.attention.surfaces import SURFACES
from bb.attention.surfaces.payload import MalformedPayload
from tests.attention.surfaces.stored import assert_is_a_line, lines, names, places, spoilt, stored

STORED = [(platform, name) for platform in SURFACES for name in names(platform)]
STRANGE = [None, True, -1, 1e9, 10**30, "", "x", "\ud800", [], [None], ["x"], [[]], {}, {"x": 1}]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner), max_leaves=8
)


def told(platform: str, headers: dict[str, str], body: Any) -> None:
    """Whatever BODY is, there are lines, or it is malformed at some path."""
    path = "$"
    found: list[dict[str, Any]] = []
    try:
        found = SURFACES[platform](headers, body)
    except MalformedPayload.error as refusal:
        path = refusal.details["path"]
    assert path.startswith("$")
    for line in found:
        assert_is_a_line(line)


@pytest.mark.parametrize(("platform", "name"), STORED)
def test_every_stored_payload_is_told_in_lines_of_the_one_form(platform: str, name: str):
    for line in lines(platform, name):
        assert_is_a_line(line)


@pytest.mark.parametrize(("platform", "name"), STORED)
def test_what_is_delivered_again_is_told_in_the_same_words_and_nothing_stored_is_changed(platform: str, name: str):
    headers, body = stored(platform, name)
    before = copy.deepcopy((headers, body))

    first = SURFACES[platform](headers, body)
    again = SURFACES[platform](
        {**headers, "X-GitHub-Delivery": "another"}, spoilt(body, ("event_id_of_delivery",), "2")
    )

    assert first == again
    assert (headers, body) == before


@pytest.mark.parametrize(("platform", "name"), STORED)
def test_whatever_stands_in_the_place_of_a_member_is_told_or_refused(platform: str, name: str):
    headers, body = stored(platform, name)
    for place in places(body):
        for strange in STRANGE:
            told(platform, headers, spoilt(body, place, strange))


@pytest.mark.parametrize("platform", SURFACES)
@pytest.mark.parametrize("body", [None, [], "x", 1])
def test_a_payload_that_is_no_object_is_malformed(platform: str, body: Any):
    with pytest.raises(MalformedPayload.error) as refusal:
        SURFACES[platform]({}, body)

    assert refusal.value.details == {"path": "$"}


@given(platform=st.sampled_from(sorted(SURFACES)), body=anything)
def test_any_json_is_told_or_refused(platform: str, body: Any):
    told(platform, {}, body)


def test_a_surface_that_nobody_uses_is_not_imported():
    asked = "import sys; import bb.attention.surfaces as s; s.SURFACES['slack']({}, {'type': 'x'}); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()

    assert "bb.attention.surfaces.slack" in modules
    assert not {"bb.attention.surfaces.github", "bb.attention.surfaces.matrix", "asyncio", "ssl"} & set(modules)
