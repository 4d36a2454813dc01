"""Frozen values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.kernel.record import Record, quicken


class Point(Record):
    x: int
    y: int
    label: str = "here"


class Spot(Point):
    depth: int = 0


class Same(Record):
    x: int
    y: int
    label: str = "here"


class Empty(Record):
    pass


@given(st.integers(), st.integers(), st.text())
def test_values_may_be_given_by_place_or_by_name(x: int, y: int, label: str):
    by_place = Point(x, y, label)
    assert (by_place.x, by_place.y, by_place.label) == (x, y, label)
    assert by_place == Point(label=label, y=y, x=x) == Point(x, label=label, y=y)


def test_a_class_attribute_is_a_default_and_a_given_value_goes_before_it():
    assert Point(1, 2).label == "here"
    assert Point(1, 2, "there").label == Point(1, 2, label="there").label == "there"
    assert Point(1, 2) == Point(1, 2, "here")
    assert hash(Point(1, 2)) == hash(Point(1, 2, "here"))


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "x, y"),
        ((1,), {}, "y"),
        ((), {"y": 2}, "x"),
        ((1, 2, "a", 4), {}, "not 4"),
        ((1, 2), {"z": 3}, "z"),
        ((1, 2, "a"), {"z": 3}, "z"),
        ((1, 2), {"x": 3}, "x"),
        ((1, 2, "a"), {"label": "b"}, "label"),
        ((1,), {"y": 2, "_values": 3}, "_values"),
    ],
)
def test_missing_extra_repeated_and_unknown_values_are_errors_that_name_them(
    args: tuple[Any, ...], kwargs: dict[str, Any], says: str
):
    with pytest.raises(TypeError, match=f"Point.*{says}"):
        Point(*args, **kwargs)


def test_a_record_never_changes():
    point = Point(1, 2)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 5  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        point.new = 5  # type: ignore[attr-defined]
    assert point == Point(1, 2)
    assert not hasattr(point, "new")


def test_a_field_cannot_be_deleted():
    point = Point(1, 2, "there")
    with pytest.raises(AttributeError):
        del point.label
    assert point == Point(1, 2, "there")


@given(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_records_are_equal_when_their_values_are(one: tuple[int, int], other: tuple[int, int]):
    assert (Point(*one) == Point(*other)) == (one == other)
    assert len({Point(*one), Point(*other)}) == len({one, other})


def test_records_of_different_classes_are_never_equal():
    assert Point(1, 2) != Same(1, 2)
    assert Point(1, 2) != Spot(1, 2)
    assert Spot(1, 2) != Point(1, 2)
    assert Point(1, 2) != (1, 2, "here")
    assert len({Point(1, 2), Same(1, 2), Spot(1, 2)}) == 3


def test_a_match_takes_a_record_apart_by_place_and_by_name():
    match Point(1, 2, "there"):
        case Point(x, y, label="there"):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("it did not match")
    match Point(1, 2):
        case Same() | Spot() | Point(2):
            pytest.fail("it is none of these")
        case Point(_, _, label):
            assert label == "here"


def test_a_subclass_has_the_fields_of_its_parent_first():
    assert Spot.__match_args__ == ("x", "y", "label", "depth")
    assert Spot(1, 2, "there", 4).as_dict() == {"x": 1, "y": 2, "label": "there", "depth": 4}
    assert Point.__match_args__ == ("x", "y", "label")


def test_a_subclass_may_give_a_default_to_a_field_of_its_parent():
    class Origin(Point):
        x: int = 0
        y: int = 0

    assert Origin().as_dict() == {"x": 0, "y": 0, "label": "here"}
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]


def test_a_record_knows_how_many_of_its_fields_have_no_default():
    assert (Point.required(), Spot.required(), Empty.required()) == (2, 2, 0)


def test_but_gives_the_same_value_with_some_fields_changed():
    spot = Spot(1, 2, depth=3)
    assert spot.replace(y=5, label="there") == Spot(1, 5, "there", 3)
    assert spot.replace() == spot
    assert spot == Spot(1, 2, depth=3)
    with pytest.raises(TypeError, match="height"):
        spot.replace(height=1)


def test_as_dict_has_the_fields_in_their_order_with_defaults():
    assert list(Point(y=2, x=1).as_dict().items()) == [("x", 1), ("y", 2), ("label", "here")]


def test_its_representation_makes_it_again():
    assert repr(Point(1, 2, "it's")) == """Point(x=1, y=2, label="it's")"""
    assert eval(repr(Spot(1, 2))) == Spot(1, 2)
    assert repr(Empty()) == "Empty()"


def test_a_record_without_fields_takes_nothing():
    assert Empty() == Empty()
    with pytest.raises(TypeError):
        Empty(1)  # type: ignore[call-arg]


def test_a_record_survives_copying_and_pickling():
    point = Point(1, 2, "there")
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point


# -- an `__init__` of its own


class Quick(Record):
    x: int
    y: int
    label: str = "here"
    depth: int | None = None


def test_a_kind_that_was_quickened_makes_the_same_values():
    before = [Quick(1, 2), Quick(1, 2, "there"), Quick(y=2, x=1, depth=3), Quick(1, y=2).replace(label="then")]

    quicken(Quick)

    assert Quick.__init__ is not Record.__init__
    after = [Quick(1, 2), Quick(1, 2, "there"), Quick(y=2, x=1, depth=3), Quick(1, y=2).replace(label="then")]
    assert after == before
    assert [repr(each) for each in after] == [repr(each) for each in before]
    assert [pickle.loads(pickle.dumps(each)) for each in after] == before
    with pytest.raises(AttributeError, match="frozen"):
        after[0].x = 2  # type: ignore[misc]


@pytest.mark.parametrize("given", [((1,), {}), ((1, 2, "a", 3, 4), {}), ((1, 2), {"x": 1}), ((1, 2), {"height": 1})])
def test_a_kind_that_was_quickened_refuses_the_same(given: tuple[tuple[Any, ...], dict[str, Any]]):
    quicken(Quick)
    with pytest.raises(TypeError, match=r"Quick|__init__"):
        Quick(*given[0], **given[1])


def test_a_kind_with_subclasses_is_not_quickened():
    with pytest.raises(ValueError, match="Point has subclasses"):
        quicken(Point)
    assert Spot(1, 2, "there", 3).depth == 3
