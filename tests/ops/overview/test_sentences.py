"""What happened to a group, in sentences that a person may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bb.coordination.facts import Registered
from bb.groups.context import context
from bb.groups.facts import (
    Changed,
    Created,
    GroupStarted,
    GroupStopped,
    ScopeAttached,
    ScopeChosen,
    ScopeDetached,
    SettingsChanged,
    StateSet,
)
from bb.ledger.records.event_filters import Filter
from bb.ops.overview import sentences
from tests.ledger.ledger_support import NOW, make, opened, repository

CONTEXT = context.fact_of({"ops": [{"op": "vision.update", "set": {"text": "All."}}]}, "user")


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (Changed("user", "Release 2"), 'named the group "Release 2"'),
        (Changed("user", topic="what is left"), "set the group's topic: what is left"),
        (ScopeAttached("user", "s_1", "site"), "attached site to the group"),
        (ScopeAttached("user", "s_1"), "attached s_1 to the group"),
        (ScopeDetached("user", "s_1"), "detached s_1 from the group"),
        (ScopeChosen("user", "s_1"), "made s_1 the group's active scope"),
        (StateSet("user", "paused"), "set the group to paused"),
        (SettingsChanged("user", {"a": 1, "b": 2}), "changed a, b of the group"),
        (SettingsChanged("user", dict.fromkeys("abcde", 1)), "changed a, b, c and 2 more of the group"),
        (GroupStarted("user", ["x"]), "started the group"),
        (GroupStopped("user", []), "stopped the group"),
        (CONTEXT, "changed the group's shared context: vision.update"),
    ],
)
def test_what_became_of_a_group_is_told(tmp_path: Path, fact: Any, text: str):
    make(repository(tmp_path))
    with opened(tmp_path) as store:
        (event,) = store.record(lambda _: [fact], by="user", now=NOW)
        (told,) = sentences.latest(store, Filter(), None, None, 10)

    assert told == {
        "at": event.ts,
        "by": "user",
        "text": text,
        "bead_id": None,
        "about": ["user"],
        "event_id": event.id,
    }


def test_that_there_is_a_group_is_no_news(tmp_path: Path):
    make(repository(tmp_path))
    with opened(tmp_path) as store:
        store.record(lambda _: [Created("user", "Another")], by="user", now=NOW)
        assert sentences.latest(store, Filter(), None, None, 10) == []


def test_whoever_adds_somebody_else_is_told_apart_from_who_starts(tmp_path: Path):
    make(repository(tmp_path))
    with opened(tmp_path) as store:
        for by in ("user", "amber-otter"):
            store.record(lambda _, by=by: [Registered("amber-otter", "builder", "Amber")], by=by, now=NOW)
        told = sentences.latest(store, Filter(), None, None, 10)

    assert [each["text"] for each in told] == ["added amber-otter as builder", "started as builder"]
