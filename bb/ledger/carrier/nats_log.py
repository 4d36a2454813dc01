"""Reads a repository's log on NATS: its terms, its checkpoint, and its rows in order.

The reader remembers its place between two connections, and looks whether the log still has the message there that it
has read. If not, it begins again at the checkpoint, so that its digests are those of the log that is there now.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime

from bb.ledger.carrier.door import MOST_READ, AnotherEngine, EngineRewound, EngineUnreachable, Head, Pruned
from bb.ledger.carrier.nats_connection import STATUS
from bb.ledger.carrier.nats_names import API, FIRST
from bb.ledger.carrier.nats_rows import Checkpoint, Message, RowReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nats.aio.msg import Msg

    from bb.ledger.carrier.door import Row
    from bb.ledger.carrier.nats_connection import Connection
    from bb.ledger.carrier.nats_names import Names

MOST_BYTES = 4 << 20  # in one answer
READ_AHEAD = 2000  # rows that `head` reads for their digest; beyond, the digest is left out
NOT_FOUND = 10059
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
    place, subject = int(headers["Nats-Sequence"]), headers["Nats-Subject"]
    return Message(place, subject, headers.get(FIRST, ""), message.data, at)


def messages(connection: Connection, names: Names, request: dict[str, Any]) -> list[Msg]:
    """The messages of the log that a REQUEST asks for."""
    found = connection.ask_many(f"{API}.DIRECT.GET.{names.log}", request | {"max_bytes": MOST_BYTES})
    return [message for message in found if STATUS not in (message.headers or {})]


class LogReader:
    """Reads rows in order."""

    def __init__(self, connection: Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self._pages = ""  # which checkpoint is loaded
        self.start = Checkpoint(0, "")
        self.rows = RowReader(names, self.start)
        self._mark = ""  # the exact time of the last message that was read
        self._kept: deque[Row] = deque()  # the last rows, which were read for a digest only

    def connected(self, info: Any) -> None:
        """Compare what was read with the log that INFO describes, which may have changed since the last connection."""
        self._kept.clear()
        self._load(info)
        if self.rows.place > self.start.place:
            found = self._fetch(self.rows.place, 1)
            is_same = bool(found) and _mark(found[0]) == (self.rows.place, self._mark)
            if not is_same:
                self._begin()

    def read(self, since: int, most: int = MOST_READ) -> list[Row]:
        """The rows after place SINCE, at most MOST."""
        if since < self.start.place:
            raise self._pruned(since)
        while self._kept and self._kept[0].place <= since:
            self._kept.popleft()
        if since < self.rows.place:
            if self._kept and self._kept[0].place == since + 1:
                return [self._kept[at] for at in range(min(most, len(self._kept)))]
            self._begin()
        while self.rows.place < since:
            if not self._next(min(MOST_READ, since - self.rows.place)):
                return []
        if self.rows.place == since:
            found = self._next(most)
            if not found or found[0].place == since + 1:
                return found
        return self.read(since, most)  # the log was pruned meanwhile

    def head(self, info: Any) -> Head:
        """The head of the log; without a digest if it is far ahead of what was read."""
        last = info["state"]["last_seq"]
        if last - self.rows.place > READ_AHEAD:
            return head_of(info, self._names, "")
        while self.rows.place < last:
            rows = self._next(min(MOST_READ, last - self.rows.place))
            if not rows:
                break
            self._kept += rows
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
        self.connected(info)
        while self.rows.place < place:
            if not self._next(min(MOST_READ, place - self.rows.place)):
                raise EngineRewound(f"the log ends at place {self.rows.place}, before place {place}")
        return self.rows.checkpoint()

    def _next(self, most: int) -> list[Row]:
        """Read on by at most MOST rows."""
        found = self._fetch(self.rows.place + 1, most)
        if found and _mark(found[0])[0] != self.rows.place + 1:
            self._after_pruning()
            return self._next(most)
        read = []
        for message in map(message_of, found):
            if message.place != self.rows.place + 1:
                break  # a hole: the next call looks what it is
            read.append(self.rows.take(message))
        if read:
            self._mark = _mark(found[len(read) - 1])[1]
        return read

    def _fetch(self, place: int, most: int) -> list[Msg]:
        return messages(self._connection, self._names, {"seq": place, "batch": most})

    def _after_pruning(self) -> None:
        """Begin again where the next row was pruned. EngineRewound if the server has lost it."""
        missed = self.rows.place + 1
        self._load(info_of(self._connection, self._names))
        if self.start.place < missed:
            raise EngineRewound(f"the engine has lost the row at place {missed}")

    def _load(self, info: Any) -> None:
        """Load the checkpoint, if it is another one than the last time."""
        pages = info["created"] + " " + info["config"]["metadata"][PAGES]
        if pages == self._pages:
            return
        is_first, is_further = not self._pages, self._pages[:20] == pages[:20]
        self.start, self._pages = read_checkpoint(self._connection, self._names, info), pages
        if is_first or not is_further or self.rows.place < self.start.place:
            self._begin()

    def _begin(self) -> None:
        self.rows, self._mark = RowReader(self._names, self.start), ""
        self._kept.clear()

    def _pruned(self, since: int) -> Exception:
        oldest = self.start.place + 1
        return Pruned(f"place {since + 1} was pruned; the engine has the rows from place {oldest} on", oldest=oldest)


def _mark(message: Msg) -> tuple[int, str]:
    headers = message.headers or {}
    return int(headers["Nats-Sequence"]), headers["Nats-Time-Stamp"]
