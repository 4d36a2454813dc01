"""Two machines that write under one id, because one of them is a copy of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from bb.coordination.facts import Reserved
from bb.kernel import ids
from bb.kernel.event import Event
from bb.ledger.carrier.door import Gap
from bb.ledger.journal import kinds
from bb.ledger.journal import line as lines
from bb.ledger.journal.journal import Journal
from tests.ledger.fleet.fleet_support import FIRST, Machine, fleet
from tests.support import NOON


def line_of_the_twin(here: Machine, n: int) -> bytes:
    """Line N of our writer, as its copy has recorded it: another reservation, by another agent."""
    before = Journal(here.path, here.writer).link_before(n)
    kind, data = kinds.kind_and_data(Reserved("cobalt-heron", "docs", "bb-2", 120, order=FIRST))
    event = Event(ids.event_id(here.writer, n), before.lamport + 1, NOON, kind, "cobalt-heron", data)
    return lines.write(event, before, "twintwin")[0][:-1]


def test_the_grant_of_a_twin_is_not_told_as_ours(tmp_path: Path):
    """Both have recorded a reservation under one number, and the engine has the other one."""
    with fleet(tmp_path) as (here, _):
        assert here.reserve("web")["state"] == "admitted"
        here.stop()
        event = here.reserved("src")
        writer, n = ids.split_event_id(event)
        engine = here.open_carrier()
        with pytest.raises(Gap.error) as gap:  # some of our lines before it may not be there yet
            engine.append(writer, n + 1, [b"{}"])
        first = gap.value.details["next"]
        same = [*Journal(here.path, writer).lines_from(first)][: n - first]
        engine.append(writer, first, [*same, line_of_the_twin(here, n)])
        here.start()

        answer = here.ask("settle", events=[event])

        assert not answer["ok"] or answer["result"]["events"][event]["state"] == "void", answer
        again = here.reserve("src")  # under another writer

        assert again["state"] == "admitted"
        assert ids.split_event_id(again["id"])[0] != writer
