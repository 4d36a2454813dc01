"""Reads a repository's log on NATS: its terms, its checkpoint, and its rows in order.

The reader remembers what it has read between two connections, and looks whether the log still has the message there
that it has read last. If not, it begins again at the checkpoint, so that its digests are those of the log of now.
"""

from __future__ import annotations

import time
from datetime import datetime

from bb.ledger.carrier.door import MOST_READ, VOID, AnotherEngine, EngineRewound, EngineUnreachable, Head, Pruned, Row
from bb.ledger.carrier.nats_connection import SEQUENCE, is_of_server
from bb.ledger.carrier.nats_names import API, FIRST
from bb.ledger.carrier.nats_rows import Checkpoint, Message, RowReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from nats.aio.msg import Msg

    from bb.ledger.carrier.nats_connection import Connection
    from bb.ledger.carrier.nats_names import Names

MOST_BYTES = 4 << 20  # in one answer
DIGEST_BYTES = 32
NOT_FOUND, NO_MESSAGE = 10059, 10037
NOT_YET, LAG = 0.005, 1.0  # seconds until a server that follows the leader is asked again, and until that is given up
# Members of the stream's metadata.
REPO, INCARNATION, BEGINS, PAGES, CLOSED = "bb_repo", "bb_incarnation", "bb_first", "bb_pages", "bb_closed"


def find(connection: Connection, stream: str) -> Any:
    """What JetStream says of a stream; None if there is none."""
    answer = connection.ask_json(f"{API}.STREAM.INFO.{stream}")
    if answer is None:
        raise EngineUnreachable("no server of the cluster answers for JetStream")
    if error := answer.get("error"):
        if error.get("err_code") == NOT_FOUND:
            return None
        raise EngineUnreachable(f"JetStream: {error.get('description')}")
    return answer


def info_of(connection: Connection, names: Names) -> Any:
    """The stream of the log. AnotherEngine if it is not there, or is another one."""
    found = find(connection, names.log)
    if found is None:
        raise AnotherEngine(f"the servers have no log of {names.repo} with the incarnation {names.incarnation}")
    metadata = found["config"].get("metadata") or {}
    if (metadata.get(REPO), metadata.get(INCARNATION)) != (names.repo, names.incarnation):
        raise AnotherEngine(f"the stream {names.log} is not a log that bb has made")
    return found


def is_closed(info: Any) -> bool:
    return CLOSED in info["config"]["metadata"]


def head_of(info: Any, names: Names, digest: str) -> Head:
    """The head of the log that INFO describes."""
    state = info["state"]
    now = milliseconds(info["ts"])
    return Head(names.incarnation, state["last_seq"], digest, state["first_seq"], now, is_closed(info))


def milliseconds(moment: str) -> int:
    """The server's time in milliseconds since 1970."""
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


def read_checkpoint(connection: Connection, names: Names, info: Any) -> Checkpoint:
    """The state that readers of the log begin with."""
    first, count = map(int, info["config"]["metadata"][PAGES].split())
    pages: list[Msg] = []
    while len(pages) < count:
        request = {"seq": first + len(pages), "batch": count - len(pages), "max_bytes": MOST_BYTES}
        found = connection.ask_many(f"{API}.DIRECT.GET.{names.book}", request)
        if not found:
            raise EngineRewound(f"the stream {names.book} has lost the state that readers begin with")
        pages += found
    return Checkpoint.from_pages(page.data for page in pages)


def message_of(message: Msg) -> Message:
    """A message of the log as the server gives it in an answer."""
    headers = message.headers or {}
    at = milliseconds(headers["Nats-Time-Stamp"])
    place, subject = int(headers[SEQUENCE]), headers["Nats-Subject"]
    return Message(place, subject, headers.get(FIRST, ""), message.data, at)


def messages(connection: Connection, names: Names, request: dict[str, Any]) -> list[Msg]:
    """The messages of the log that a REQUEST asks for."""
    found = connection.ask_many(f"{API}.DIRECT.GET.{names.log}", request | {"max_bytes": MOST_BYTES})
    return [message for message in found if not is_of_server(message)]


class Memory:
    """What was read of a log: the state after its last row, the digest of every row, and which ones are void.

    It outlives the connection, because a digest is computed from all rows before. A machine that is connected again
    reads on, if the log still has the message of the last row.
    """

    def __init__(self, names: Names, start: Checkpoint, version: str) -> None:
        self.version = version  # of the stream and of the checkpoint
        self.rows = RowReader(names, start)
        self.mark = ""  # the exact time of the last message
        self._base = start.place
        self._digests = bytearray()
        self._void: set[int] = set()

    def take(self, message: Msg) -> Row:
        """The row of the next message."""
        row = self.rows.take(message_of(message))
        self._digests += bytes.fromhex(row.digest)
        if not row.octets:
            self._void.add(row.place)
        self.mark = _mark(message)[1]
        return row

    def forget(self, place: int) -> None:
        """Nobody will ask for the rows up to PLACE again: they were pruned."""
        del self._digests[: max(place - self._base, 0) * DIGEST_BYTES]
        self._base = max(place, self._base)
        self._void = {void for void in self._void if void > self._base}

    def again(self, message: Msg) -> Row:
        """The row of a message that was taken before."""
        found = message_of(message)
        at = (found.place - self._base - 1) * DIGEST_BYTES
        digest = self._digests[at : at + DIGEST_BYTES].hex()
        if found.place in self._void:
            return Row(found.place, VOID, 0, b"", digest, found.at)
        writer = found.subject.rpartition(".")[2]
        return Row(found.place, writer, int(found.first), found.octets, digest, found.at)


# What this process has read of logs whose connections have ended, by the log's names. A relay opens another carrier
# after each lost connection, and would have to read the whole log again.
_remembered: dict[Names, Memory] = {}


class LogReader:
    """Reads rows in order."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self.start = Checkpoint(0, "")
        self._memory = Memory(names, self.start, "")

    @property
    def rows(self) -> RowReader:
        """The state after the last row that was read."""
        return self._memory.rows

    def connected(self, info: Any) -> None:
        """Compare what was read with the log that INFO describes, which may have changed since the last connection."""
        kept = _remembered.pop(self._names, None)
        if kept is not None and kept.rows.place > self.rows.place:
            self._memory = kept
        self._load(info)
        if self.rows.place > self.start.place:
            found = self._fetch(self.rows.place, 1)
            if not found or _mark(found[0]) != (self.rows.place, self._memory.mark):
                self._begin()

    def disconnected(self) -> None:
        """Let the next connection of this process go on here."""
        if self._memory.version:
            for earlier in [names for names in _remembered if names.repo == self._names.repo]:
                _remembered.pop(earlier, None)  # of another incarnation, or shorter
            _remembered[self._names] = self._memory

    def read(self, since: int, most: int = MOST_READ) -> list[Row]:
        """The rows after place SINCE, at most MOST."""
        if since < self.start.place:
            oldest = self.start.place + 1
            message = f"place {since + 1} was pruned; the engine has the rows from place {oldest} on"
            raise Pruned(message, oldest=oldest)
        while self.rows.place < since:
            if not self._next(since + 1 - self.rows.place):
                return []
        found = self._fetch(since + 1, most)
        if found and _mark(found[0])[0] != since + 1:
            self._after_pruning(since + 1)
            return self.read(since, most)
        return self._in_order(found)

    def head(self, info: Any) -> Head:
        """The head of the log. Every row is read once for its digest."""
        self._load(info)
        last = info["state"]["last_seq"]
        self._read_to(last)
        return head_of(info, self._names, self.rows.digest if self.rows.place == last else "")

    def refresh(self) -> None:
        """Load the state that the log begins with again, if it was pruned."""
        self._load(info_of(self._connection, self._names))

    def head_now(self, info: Any) -> Head:
        """The head of a log that nothing was read of."""
        self.connected(info)
        return self.head(info)

    def checkpoint_at(self, info: Any, place: int) -> Checkpoint:
        """The state after PLACE of a log that nothing was read of."""
        self._load(info)
        self._read_to(place)
        return self.rows.checkpoint()

    def _read_to(self, place: int) -> None:
        """Read on up to PLACE, of which the leader has told. Any server of a cluster may answer, and one that follows
        the leader may have it later: that is no lost history, and EngineUnreachable if it lasts."""
        until = time.monotonic() + LAG
        while self.rows.place < place:
            if self._next(place - self.rows.place):
                until = time.monotonic() + LAG
            elif time.monotonic() < until:
                time.sleep(NOT_YET)
            elif self._leader_has(self.rows.place + 1):
                raise EngineUnreachable(f"the server that answers does not have place {place} yet, and its leader does")
            else:
                raise EngineRewound(f"the log ends at place {self.rows.place}, before place {place}")

    def _leader_has(self, place: int) -> bool:
        answer = self._connection.ask_json(f"{API}.STREAM.MSG.GET.{self._names.log}", {"seq": place})
        if answer is None:
            raise EngineUnreachable("no server answers for the log's stream")
        return (answer.get("error") or {}).get("err_code") != NO_MESSAGE

    def _next(self, most: int) -> list[Row]:
        """Read on by at most MOST rows."""
        found = self._fetch(self.rows.place + 1, min(most, MOST_READ))
        if found and _mark(found[0])[0] != self.rows.place + 1:
            self._after_pruning(self.rows.place + 1)
            return self._next(most)
        return self._in_order(found)

    def _in_order(self, found: Sequence[Msg]) -> list[Row]:
        """The rows of messages that follow each other. A hole ends them: the next call looks what it is."""
        read: list[Row] = []
        for message in found:
            place = _mark(message)[0]
            if read and place != read[-1].place + 1:
                break
            if place <= self.rows.place:
                read.append(self._memory.again(message))
            elif place == self.rows.place + 1:
                read.append(self._memory.take(message))
            else:
                break
        return read

    def _fetch(self, place: int, most: int) -> list[Msg]:
        return messages(self._connection, self._names, {"seq": place, "batch": most})

    def _after_pruning(self, missed: int) -> None:
        """Load the new beginning of the log, because the row at place MISSED is not there. EngineRewound if it was not
        pruned, but lost."""
        self.refresh()
        if self.start.place < missed:
            raise EngineRewound(f"the engine has lost the row at place {missed}")

    def _load(self, info: Any) -> None:
        """Load the checkpoint, if it is another one than the last time."""
        created, pages = info["created"], info["config"]["metadata"][PAGES]
        version = f"{created} {pages}"
        if version == self._memory.version and self.start.digest:
            return
        self.start = read_checkpoint(self._connection, self._names, info)
        is_same_stream = self._memory.version.split(" ")[0] == created
        if is_same_stream and self.rows.place >= self.start.place:
            self._memory.version = version
            self._memory.forget(self.start.place)
        else:
            self._begin(version)

    def _begin(self, version: str = "") -> None:
        self._memory = Memory(self._names, self.start, version or self._memory.version)


def _mark(message: Msg) -> tuple[int, str]:
    headers = message.headers or {}
    return int(headers[SEQUENCE]), headers["Nats-Time-Stamp"]
