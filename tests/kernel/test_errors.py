"""Families of refusal: the family carries the exit status."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import bb
from bb.kernel.errors import DECLARED, BbError, Busy, Conflict, Forbidden, NotFound, Refusal, Refused, Usage
from tests.support import ROOT

FAMILIES = {Usage: 2, NotFound: 3, Refused: 4, Forbidden: 5, Busy: 6, Conflict: 7}


class NoRoom(Busy):
    """There is no room.

    The second paragraph is for readers of the code.
    """

    code = "NO_ROOM"
    hint = "wait for the next one"


def declared(family: type[BbError], code: str, message: str, hint: str | None = None) -> Refusal:
    """A refusal that is none of bb's."""
    refusal = family.declare(code, message, hint=hint)
    DECLARED.remove(refusal)
    return refusal


LineFull = declared(Busy, "LINE_FULL", "The line is full", "use another line")


def every_error() -> list[type[BbError]]:
    """Every error that bb itself declares."""
    for module in pkgutil.walk_packages(bb.__path__, "bb."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert all(refusal.error for refusal in DECLARED)  # this makes the classes
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


def test_a_declared_refusal_has_the_message_and_hint_of_its_declaration():
    refusal = LineFull()
    assert (refusal.code, refusal.exit_status) == (LineFull.code, Busy.exit_status) == ("LINE_FULL", 6)
    assert refusal.message == str(refusal) == LineFull.message == "The line is full"
    assert refusal.hint == LineFull.hint == "use another line"
    assert (refusal.details, refusal.leaving) == ({}, ())


def test_a_rule_may_name_the_value_at_hand_in_a_declared_refusal_too():
    refusal = LineFull("line 7 is full", hint="use line 8", leaving=["a fact"], wanted=7)
    assert (refusal.message, str(refusal), refusal.hint) == ("line 7 is full", "line 7 is full", "use line 8")
    assert (refusal.details, refusal.leaving) == ({"wanted": 7}, ["a fact"])
    assert (LineFull.message, LineFull.hint, LineFull().message) == (
        "The line is full",
        "use another line",
        LineFull.message,
    )


def test_a_declared_refusal_without_a_hint_has_that_of_its_family():
    refusal = declared(NoRoom, "NO_ROOM_LEFT", "There is no room left")
    assert refusal().hint == refusal.hint == NoRoom.hint
    assert declared(Usage, "NO_HINT", "There is no hint")().hint is None


def test_a_declared_refusal_is_caught_by_its_own_class_and_by_its_family_and_by_no_other():
    for kind in (LineFull.error, Busy, BbError):
        with pytest.raises(kind):
            raise LineFull()
    assert not isinstance(declared(Busy, "LINE_FULL", "Another line is full")(), LineFull.error)


def test_the_class_of_a_declared_refusal_is_named_after_its_code_in_tracebacks():
    assert (LineFull.error.__name__, LineFull.error.__doc__) == ("LineFull", "The line is full.")


def test_the_class_of_a_declared_refusal_is_made_on_first_use_and_kept():
    fresh = declared(Busy, "FRESH", "It is fresh")
    assert "FRESH" not in {kind.code for kind in Busy.__subclasses__()}
    assert fresh.error is fresh.error is type(fresh())


def test_threads_that_use_a_declared_refusal_at_once_get_the_same_class():
    for _ in range(20):
        fresh = declared(Busy, "MADE_AT_ONCE", "It is made at once")
        start = Barrier(8)
        with ThreadPoolExecutor(8) as threads:
            assert len(set(threads.map(lambda _: (start.wait(), fresh.error)[1], range(8)))) == 1  # noqa: B023


def test_no_module_makes_the_class_of_a_declared_refusal_while_it_is_imported():
    program = """
import importlib, pkgutil, bb
for module in pkgutil.walk_packages(bb.__path__, "bb."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from bb.kernel import errors
print(len(errors.DECLARED) > 300, len(errors._ERRORS))
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["True", "0"]


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
