"""Families of refusal: the family carries the exit status."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import bb
from bb.kernel.errors import BbError, Busy, Conflict, Forbidden, NotFound, Refused, Usage

FAMILIES = {Usage: 2, NotFound: 3, Refused: 4, Forbidden: 5, Busy: 6, Conflict: 7}


class NoRoom(Busy):
    """There is no room.

    The second paragraph is for readers of the code.
    """

    code = "NO_ROOM"
    hint = "wait for the next one"


def every_error() -> list[type[BbError]]:
    """Every error that bb itself declares."""
    for module in pkgutil.walk_packages(bb.__path__, "bb."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: list[type[BbError]] = []
    waiting: list[type[BbError]] = [BbError]
    while waiting:
        waiting += (children := waiting.pop().__subclasses__())
        found += children
    return [error for error in found if error.__module__.startswith("bb.") and error not in FAMILIES]


def every_refusal() -> list[type[BbError]]:
    """All of them but the one that stands for a bug."""
    return [error for error in every_error() if error.code != "INTERNAL_ERROR"]


@pytest.mark.parametrize(("family", "status"), FAMILIES.items())
def test_the_family_carries_the_exit_status(family: type[BbError], status: int):
    assert family.exit_status == status
    assert type("Kin", (family,), {"__doc__": "It is one of them."})().exit_status == status
    assert issubclass(family, BbError)


def test_only_a_bug_exits_like_a_bug_and_nothing_like_success():
    assert BbError.exit_status not in (0, 1)
    assert {refusal.exit_status for refusal in every_refusal()} <= set(FAMILIES.values())
    assert {error.exit_status for error in every_error() if error.code == "INTERNAL_ERROR"} == {1}


def test_the_message_is_the_first_line_of_the_docstring_without_its_full_stop():
    refusal = NoRoom()
    assert refusal.message == str(refusal) == "There is no room"
    assert refusal.hint == "wait for the next one"
    assert refusal.details == {}


def test_a_rule_may_name_the_value_at_hand():
    refusal = NoRoom("there is no room for 7", hint="bring 6", wanted=7)
    assert (refusal.message, str(refusal)) == ("there is no room for 7", "there is no room for 7")
    assert (refusal.hint, refusal.details) == ("bring 6", {"wanted": 7})
    assert (NoRoom.hint, NoRoom().message) == ("wait for the next one", "There is no room")


def test_a_refusal_without_a_hint_has_none():
    assert Usage().hint is None


def test_where_docstrings_are_stripped_a_refusal_is_still_one():
    bare = type("Bare", (Usage,), {})()
    assert (bare.message, bare.exit_status) == ("", 2)


def test_every_refusal_belongs_to_a_family_and_explains_itself():
    refusals = every_refusal()
    assert len(refusals) > 20
    for refusal in refusals:
        assert issubclass(refusal, tuple(FAMILIES)), refusal
        assert refusal.exit_status == next(FAMILIES[kin] for kin in refusal.__mro__ if kin in FAMILIES), refusal
        assert re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", refusal.code), refusal
        assert "code" in vars(refusal), f"{refusal} has the code of its family"
        first = (vars(refusal).get("__doc__") or "").strip().split("\n")[0]
        assert first.endswith("."), f"{refusal} does not say what is wrong"


def test_one_code_has_one_exit_status():
    statuses: dict[str, set[int]] = {}
    for refusal in every_error():
        statuses.setdefault(refusal.code, set()).add(refusal.exit_status)
    assert {code: found for code, found in statuses.items() if len(found) > 1} == {}
