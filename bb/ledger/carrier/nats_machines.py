"""The machines of a fleet on NATS: their last beats, and which connection archives, by the servers' clock.

Each clone of a machine has one message in a stream that keeps the last one of every subject. The message of the leader
is replaced only by a connection that names the message before it, so of two that try, one succeeds.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from bb.kernel import json_text
from bb.ledger.carrier import beats
from bb.ledger.carrier.door import BEAT, BEAT_IS_VALID, EngineUnreachable, Machine
from bb.ledger.carrier.nats_connection import SEQUENCE, is_of_server
from bb.ledger.carrier.nats_log import find, milliseconds
from bb.ledger.carrier.nats_names import ANY, API, EXPECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nats.aio.msg import Msg

    from bb.ledger.carrier.nats_connection import Connection
    from bb.ledger.carrier.nats_names import Names

REMEMBERED = 3600  # seconds
LONGEST_NAME = 255  # characters of a machine's name
LONGEST_BEAT = 64 << 10  # bytes of one beat
MOST_BEATS, MOST_BYTES = 1000, 4 << 20  # that a reader takes; a server gives 1024 subjects at most


class Machines:
    """Beats and the leader, over one connection. TOKEN is the machine that the server knows this user as."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self.token = ANY
        self._self = os.urandom(12).hex()  # of this connection, for the leader's message
        self._held = 0  # the number of our message as the leader; 0 if we do not lead

    def beat(self, machine: Machine) -> None:
        """Note that the machine is alive now, and keep the lead if we have it."""
        about = [machine.name, machine.place, beats.youngest(machine.agents, beats.MOST_AGENTS)]
        self._put(self._names.beat(self.token, machine.writer), json_text.dumps(about).encode())
        if self._held:
            self._lead_on(self._held)

    def alive(self) -> list[Machine]:
        """Every machine that has beaten lately. If there are too many beats, those that are valid, as far as a relay
        can take them: a user can publish under any number of subjects."""
        info, now = self._info()
        beats_of_all, state = self._names.beat("*", "*"), info["state"]
        request: dict[str, Any] = {"multi_last": [beats_of_all]}
        if state["messages"] > MOST_BEATS or state["bytes"] > MOST_BYTES:
            since = datetime.fromtimestamp(now / 1000 - BEAT_IS_VALID, UTC).isoformat().replace("+00:00", "Z")
            request = {"next_by_subj": beats_of_all, "start_time": since, "batch": MOST_BEATS, "max_bytes": MOST_BYTES}
        found = self._connection.ask_many(f"{API}.DIRECT.GET.{self._names.machines}", request)
        return sorted(_machines(found, now), key=lambda machine: (machine.name, machine.writer))

    def lead(self) -> bool:
        """Whether we lead; try it, if nobody does or the leader's last sign is too old."""
        place, holder, age = self._leader()
        if holder == self._self and place == self._held:
            return age < BEAT or self._lead_on(place)
        self._held = 0
        is_free = not holder or age >= BEAT_IS_VALID
        return is_free and self._lead_on(place)

    def leave(self) -> None:
        """Let another one lead at once."""
        if self._held:
            self._put(self._names.leader, b"", {EXPECTED: str(self._held)})
            self._held = 0

    def _lead_on(self, place: int) -> bool:
        """Replace the leader's message, which is at PLACE."""
        self._held = self._put(self._names.leader, self._self.encode(), {EXPECTED: str(place)}) or 0
        return self._held > 0

    def _leader(self) -> tuple[int, str, float]:
        """The number of the leader's message, its connection, and the seconds since then."""
        request = {"last_by_subj": self._names.leader}
        found = self._connection.ask(f"{API}.DIRECT.GET.{self._names.machines}", json_text.dumps(request).encode())
        headers = found.headers or {}
        if is_of_server(found):  # that there is none
            return 0, "", 0.0
        age = (self._info()[1] - milliseconds(headers["Nats-Time-Stamp"])) / 1000
        return int(headers[SEQUENCE]), found.data.decode("ascii", "replace"), age

    def _info(self) -> tuple[Any, int]:
        """The stream of the beats, and the server's time in milliseconds."""
        info = find(self._connection, self._names.machines)
        if info is None:
            raise EngineUnreachable(f"the stream {self._names.machines} is missing")
        return info, milliseconds(info["ts"])

    def _put(self, subject: str, payload: bytes, headers: dict[str, str] | None = None) -> int | None:
        """Store a message. Returns its number; None if another one was faster."""
        answer: Any = json_text.read(self._connection.ask(subject, payload, headers).data or b"{}")
        return None if "error" in answer else answer.get("seq")


def _machines(found: list[Msg], now: int) -> Iterator[Machine]:
    for message in found:
        headers = message.headers or {}
        if is_of_server(message):
            continue
        token, writer = headers["Nats-Subject"].split(".")[-2:]
        age = (now - milliseconds(headers["Nats-Time-Stamp"])) / 1000
        try:
            name, place, agents = json_text.read(message.data)
        except (ValueError, TypeError):
            continue  # a machine may write anything as its own beat
        name = str(name)[:LONGEST_NAME] if token == ANY else token
        machine = Machine(name, writer, beats.place_in(place), beats.agents_in(agents), max(age, 0.0))
        if age < REMEMBERED:
            yield machine
