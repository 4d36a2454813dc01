"""Whatever the history, however it arrives, and wherever catching up stops: the same lines make the same state."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.ledger.care import audit
from bb.ledger.index import reader
from bb.ledger.index.index import Index
from bb.ledger.journal.journal import Journal
from tests.examples import examples
from tests.ledger.ledger_support import written

WRITERS = ("aaaabbbbcccc", "ddddeeeeffff", "gggghhhhiiii")
AGENTS = ("amber-otter", "cobalt-harbor", "coral-heron")

agent = st.sampled_from(AGENTS)
short = st.text(max_size=6)
happened = st.lists(
    st.sampled_from(
        [
            *(["met", "amber-otter"], ["parted", "amber-otter"], ["odd"], ["verified", "coral-heron", "0f"]),
            *(["expected", "coral-heron", "q", None], ["settled", "coral-heron", "q", "replied"]),
            *(["believed", "coral-heron", "(x)"], ["entered", "t", "coral-heron", "ask", "q", ""]),
        ]
    ),
    max_size=3,
)
spoken = st.builds(
    lambda to, said: {
        "to": [to],
        "text": "(ask @coral-heron)",
        "content_type": "application/cbcl",
        "cbcl": {"id": "q", "performative": "ask", "effects": said},
        "mail": {"category": "INFO", "subject": "ask", "bead_id": "", "thread_id": "t", "requires_ack": False},
    },
    agent,
    happened,
)
drafts = st.one_of(
    st.tuples(st.just("chat.message"), spoken),
    st.tuples(
        st.just("x.bb.cbcl.heard"),
        st.builds(
            lambda writer, n, said: {"event_id": f"{writer}.{n}", "outcome": "ok", "about": {"effects": said}},
            st.sampled_from(WRITERS),
            st.integers(1, 4),
            happened,
        ),
    ),
    st.tuples(
        st.just("x.bb.cbcl.dialect"),
        st.fixed_dictionaries(
            {
                "action": st.sampled_from(["installed", "removed"]),
                "hash": st.sampled_from("ab"),
                **dict.fromkeys(("dialect", "text", "signature", "source"), st.just("work")),
            },
            optional={"replaces": st.sampled_from("ab")},
        ),
    ),
    st.tuples(st.just("actor.add"), st.fixed_dictionaries({"actor_id": agent, "role": short, "title": short})),
    st.tuples(
        st.just("actor.update"), st.fixed_dictionaries({"actor_id": agent}, optional={"role": short, "title": short})
    ),
    st.tuples(st.just("actor.remove"), st.fixed_dictionaries({"actor_id": agent})),
    st.tuples(
        st.sampled_from(["x.bb.paused", "x.bb.unpaused"]),
        st.fixed_dictionaries({"target": agent | st.just("*")}, optional={"why": short}),
    ),
    st.tuples(
        st.sampled_from(["x.bb.transferred", "x.bb.released"]),
        st.builds(
            lambda writer, n, to: {"reservation_id": f"{writer}.{n}", "holder": to},
            st.sampled_from(WRITERS),
            st.integers(1, 4),
            agent,
        ),
    ),
    st.tuples(
        st.just("x.bb.reserved"),
        st.fixed_dictionaries(
            {"scope": st.sampled_from(["src", "src/a"]), "bead_id": st.just("b"), "ttl_minutes": st.integers(5, 9)},
            optional={"why": short},
        ),
    ),
    st.tuples(
        st.just("x.bb.seen"), st.fixed_dictionaries({"actor_id": agent, "after": st.sampled_from(["stale", "evicted"])})
    ),
    st.tuples(
        st.just("context.sync"),
        st.fixed_dictionaries(
            {
                "ops": st.lists(
                    st.one_of(
                        st.builds(lambda text: {"op": "sketch.update", "set": {"text": text}}, short),
                        st.builds(lambda text: {"op": "task.create", "id": "T001", "set": {"title": text}}, short),
                        st.builds(lambda who: {"op": "presence.update", "actor": who, "set": {"status": "x"}}, agent),
                    ),
                    max_size=3,
                )
            }
        ),
    ),
    st.tuples(
        st.sampled_from(["chat.message", "x.unknown", "actor.add"]),
        st.dictionaries(short, st.integers() | short, max_size=2),
    ),
)


@st.composite
def histories(draw: Any) -> dict[str, list[bytes]]:
    """The lines of up to three writers, whose Lamport times interleave in every way."""
    made = {}
    for writer in WRITERS[: draw(st.integers(1, 3))]:
        steps = draw(st.lists(st.tuples(st.integers(1, 3), drafts), min_size=1, max_size=8))
        lamport, timed = 0, []
        for step, (kind, data) in steps:
            lamport += step
            timed.append((lamport, kind, data))
        made[writer] = written(timed, writer)
    return made


def pieces(draw: Any, history: dict[str, list[bytes]]) -> list[tuple[str, int]]:
    """An order in which the bytes of the journals arrive: writer, and how many bytes more."""
    left = {writer: len(b"".join(raws)) for writer, raws in history.items()}
    schedule = []
    while left:
        writer = draw(st.sampled_from(sorted(left)))
        count = draw(st.integers(1, left[writer]))
        schedule.append((writer, count))
        left[writer] -= count
        if not left[writer]:
            del left[writer]
    return schedule


class Arrival:
    """A store into which journals arrive piece by piece."""

    def __init__(self, folder: Path, history: dict[str, list[bytes]]) -> None:
        self.folder = folder
        self._octets = {writer: b"".join(raws) for writer, raws in history.items()}
        self.index = Index(":memory:", WRITERS[0])

    def journals(self) -> list[Journal]:
        there = sorted(os.listdir(self.folder / "j")) if (self.folder / "j").exists() else []
        return [Journal(str(self.folder), writer) for writer in there]

    def arrive(self, writer: str, count: int) -> None:
        folder = self.folder / "j" / writer
        folder.mkdir(parents=True, exist_ok=True)
        piece, self._octets[writer] = self._octets[writer][:count], self._octets[writer][count:]
        with (folder / "000000000001.jsonl").open("ab") as file:
            file.write(piece)

    def catch_up(self) -> None:
        self.index.catch_up(self.journals())

    def known(self) -> tuple[str, dict[str, int], list[Any]]:
        return audit.state_digest(self.index), self.index.heads(), self.index.damages()

    def rebuilt(self) -> tuple[str, dict[str, int], list[Any]]:
        fresh = Index(":memory:", WRITERS[0])
        try:
            fresh.rebuild(self.journals())
            return audit.state_digest(fresh), fresh.heads(), fresh.damages()
        finally:
            fresh.close()


@contextmanager
def arriving(history: dict[str, list[bytes]]) -> Iterator[Arrival]:
    with tempfile.TemporaryDirectory() as folder:
        arrival = Arrival(Path(folder), history)
        try:
            yield arrival
        finally:
            arrival.index.close()


def whole(history: dict[str, list[bytes]], order: list[str]) -> tuple[str, dict[str, int], list[Any]]:
    """What is known when whole journals arrive one after the other."""
    with arriving(history) as arrival:
        for writer in order:
            arrival.arrive(writer, 1 << 30)
            arrival.catch_up()
        return arrival.known()


@examples(25)
@given(history=histories(), data=st.data())
def test_catching_up_at_any_byte_says_what_a_rebuild_says(history: dict[str, list[bytes]], data: st.DataObject):
    with arriving(history) as arrival:
        for writer, count in pieces(data.draw, history):
            arrival.arrive(writer, count)
            if data.draw(st.booleans()):
                arrival.catch_up()
                assert arrival.known() == arrival.rebuilt()
        arrival.catch_up()

        assert arrival.known() == arrival.rebuilt()
        assert arrival.known()[1] == {writer: len(raws) for writer, raws in history.items()}


@examples(25)
@given(history=histories(), data=st.data())
def test_journals_may_arrive_in_any_order(history: dict[str, list[bytes]], data: st.DataObject):
    one = data.draw(st.permutations(sorted(history)))
    other = data.draw(st.permutations(sorted(history)))

    assert whole(history, one) == whole(history, other)


@examples(25)
@given(history=histories(), data=st.data())
def test_reading_in_bulk_says_what_reading_singly_says(history: dict[str, list[bytes]], data: st.DataObject):
    """Also when a byte somewhere has been changed."""
    writer = data.draw(st.sampled_from(sorted(history)))
    octets = bytearray(b"".join(history[writer]))
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(octets) - 1))
        octets[place] = data.draw(st.integers(0, 255))
    spoilt = {**history, writer: [bytes(octets)]}
    said = []

    for threshold in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reader, "BULK", threshold)
            with arriving(spoilt) as arrival:
                for each in sorted(spoilt):
                    arrival.arrive(each, 1 << 30)
                said.append(
                    [
                        part if not isinstance(part, list) else [(d.writer, d.n, d.offset, d.reason) for d in part]
                        for part in arrival.rebuilt()
                    ]
                )

    assert said[0] == said[1]


@examples(25)
@given(history=histories(), data=st.data())
def test_what_arrives_twice_counts_once(history: dict[str, list[bytes]], data: st.DataObject):
    with arriving(history) as arrival:
        for writer in history:
            arrival.arrive(writer, 1 << 30)
        arrival.catch_up()
        before = arrival.known()
        for _ in range(data.draw(st.integers(1, 3))):
            for writer, raws in history.items():  # a second copy of the same journal takes the place of the first
                copy = arrival.folder / "copy"
                copy.write_bytes(b"".join(raws))
                copy.replace(arrival.folder / "j" / writer / "000000000001.jsonl")
            arrival.catch_up()

        assert arrival.known() == before
