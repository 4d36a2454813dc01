"""The logs on NATS servers as the person who runs them uses them: begins, ends and prunes logs, and enrols machines."""

from __future__ import annotations

import contextlib
import time

from bb.kernel import json_text
from bb.kernel.errors import Usage
from bb.ledger.carrier import nats_durability, nats_log
from bb.ledger.carrier.door import Denied, EngineUnreachable, Head, Log, LogInUse
from bb.ledger.carrier.nats_address import NatsAddress
from bb.ledger.carrier.nats_connection import Connection, Lost
from bb.ledger.carrier.nats_log import LogReader
from bb.ledger.carrier.nats_machines import LONGEST_BEAT
from bb.ledger.carrier.nats_names import ANY, API, MAY_SUBSCRIBE, Names, is_token, may_publish
from bb.ledger.carrier.nats_rows import beginning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bb.ledger.carrier.nats_rows import Checkpoint

PATIENCE = 10.0  # seconds, for making and changing a stream in a cluster
TRIES = 5
SETTLED = 0.2  # seconds without a new row after a log was closed
REMEMBERED = 3600 * 10**9  # nanoseconds that a beat is kept

InvalidMachine = Usage.declare(
    "INVALID_MACHINE",
    "That is not the name of a machine",
    hint=f"letters, digits, `-` and `_`, at most 64, and not `{ANY}`",
)


class NatsKeeper:
    """The keeper of the logs on these servers."""

    kind = "nats"

    def __init__(self, address: str) -> None:
        self._address = NatsAddress.parse(address)
        self._connection = Connection(self._address)

    def begin(self, repo: str, incarnation: str, first: int, heads: Mapping[str, int]) -> Head:
        names, start = Names(repo, incarnation), beginning(repo, incarnation, first, heads)
        with self._at_work():
            self._must_be_durable({"config": {}, "cluster": {"leader": self._connection.server.get("server_name")}})
            if nats_log.find(self._connection, names.log) is not None:
                info = nats_log.info_of(self._connection, names)
                is_used = info["state"]["last_seq"] >= _first(info)
                if is_used and _first(info) != first:
                    raise LogInUse(f"the log {names.log} begins with place {_first(info)}, and has rows")
                if is_used or nats_log.read_checkpoint(self._connection, names, info) == start:
                    return LogReader(self._connection, names).head_now(info)
                self._delete(names)
            self._make(names, start)
            info = nats_log.info_of(self._connection, names)
            try:
                self._must_be_durable(info)
            except BaseException:
                self._delete(names)
                raise
            return nats_log.head_of(info, names, start.digest)

    def end(self, repo: str, incarnation: str) -> Head:
        names = Names(repo, incarnation)
        with self._at_work():
            before = -1
            while (info := self._note(names, {nats_log.CLOSED: "1"}))["state"]["last_seq"] != before:
                before = info["state"]["last_seq"]
                time.sleep(SETTLED)  # rows that were on their way when it was closed
            return self._whole_head(names, info)

    def logs(self, repo: str = "") -> list[Log]:
        with self._at_work():
            found = [self._log(info) for info in self._streams() if not repo or _names(info).repo == repo]
        return sorted(found, key=lambda log: (log.repo, log.first))

    def prune(self, repo: str, incarnation: str, upto: int) -> int:
        names = Names(repo, incarnation)
        with self._at_work():
            return self._prune(names, nats_log.info_of(self._connection, names), upto)

    def last_lines(self, repo: str, incarnation: str) -> dict[str, int]:
        names = Names(repo, incarnation)
        with self._at_work():
            info = nats_log.info_of(self._connection, names)
            found = LogReader(self._connection, names).checkpoint_at(info, info["state"]["last_seq"])
        return {writer: written.last for writer, written in found.writers.items()}

    def remove(self, repo: str, incarnation: str) -> None:
        names = Names(repo, incarnation)
        with self._at_work():
            if not nats_log.is_closed(nats_log.info_of(self._connection, names)):
                raise LogInUse(f"the log {names.log} is not closed")
            self._delete(names)

    def health(self) -> dict[str, Any]:
        with self._at_work():
            found = next(self._streams(), None)  # a list does not say which servers have a stream
            name = self._connection.server.get("server_name")
            none = {"config": {}, "cluster": {"leader": name}}
            info = nats_log.info_of(self._connection, _names(found)) if found else none
            return nats_durability.health(self._connection, info)

    def enroll(self, machine: str) -> list[str]:
        """What the person adds to the servers' configuration, so that MACHINE may append its own rows only."""
        if not is_token(machine) or machine == ANY:
            raise InvalidMachine(f"{machine[:40]!r} is not the name of a machine")
        here = self._address.text
        given = ["nkey=FILE"] if self._address.monitors else ["monitor=URL,…", "nkey=FILE"]  # joining needs both
        return [
            f"# A user of the fleet's account. `nk -gen user -pubout`, run on {machine}, prints a seed and the key U…",
            "{",
            "  nkey: U…,",
            "  permissions: {",
            f"    publish: {{allow: [{_quoted(may_publish(machine))}]}},",
            f"    subscribe: {{allow: [{_quoted(MAY_SUBSCRIBE)}]}}",
            "  }",
            "}",
            f"# With accounts made by nsc: nsc add user {machine} \\",
            f"#   --allow-pub '{','.join(may_publish(machine))}' --allow-sub '{','.join(MAY_SUBSCRIBE)}'",
            f"# On {machine}, the seed is in a file that only its user may read. There, in each clone: bb sync --pull,",
            f"# bb fleet join '{here}{'&' if '?' in here else '?'}{'&'.join(given)}'",
        ]

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        try:
            if not self._connection.is_open:
                self._connection.open()
            yield
        except Lost as lost:
            self._connection.drop()
            raise EngineUnreachable(f"{', '.join(self._address.servers)}: {lost}") from None

    def _must_be_durable(self, info: Any) -> None:
        nats_durability.look(self._address.monitors, info).must_be_shown()

    def _make(self, names: Names, start: Checkpoint) -> None:
        """Make the streams of a log: its checkpoint first, and the log last."""
        self._delete(names)
        self._create(names.book, subjects=[names.pages])
        pages = self._write_pages(names, start)
        beats = f"bbm.{names.repo}.{names.incarnation}.>"
        limits = {"max_msgs_per_subject": 1, "max_msg_size": LONGEST_BEAT, "max_age": REMEMBERED}
        self._create(names.machines, subjects=[beats], **limits)
        about = {nats_log.REPO: names.repo, nats_log.INCARNATION: names.incarnation}
        about |= {nats_log.BEGINS: str(start.place + 1), nats_log.PAGES: pages}
        wakes = {"src": names.rows, "dest": names.wake, "headers_only": True}
        self._create(
            names.log,
            subjects=[names.rows],
            discard="new",
            deny_delete=True,
            first_seq=start.place + 1,
            republish=wakes,
            metadata=about,
        )

    def _create(self, name: str, **config: Any) -> None:
        fixed = {"name": name, "storage": "file", "retention": "limits", "allow_direct": True}
        self._do(f"STREAM.CREATE.{name}", fixed | {"num_replicas": self._address.replicas} | config)

    def _delete(self, names: Names) -> None:
        for name in (names.log, names.machines, names.book):
            if nats_log.find(self._connection, name) is not None:
                self._do(f"STREAM.DELETE.{name}", None)

    def _write_pages(self, names: Names, checkpoint: Checkpoint) -> str:
        """Store a checkpoint. Returns where it is."""
        numbers = []
        for page in checkpoint.pages():
            answer: Any = json_text.read(self._connection.ask(names.pages, page, None, PATIENCE).data or b"{}")
            if "seq" not in answer:
                raise EngineUnreachable(f"JetStream: {answer.get('error', {}).get('description', 'no answer')}")
            numbers.append(answer["seq"])
        return f"{numbers[0]} {len(numbers)}"

    def _prune(self, names: Names, info: Any, upto: int) -> int:
        """Remove the beginning of one log. Readers find the state after it first."""
        place = min(upto, info["state"]["last_seq"] - 1)
        if place < info["state"]["first_seq"]:
            return 0
        checkpoint = LogReader(self._connection, names).checkpoint_at(info, place)  # which may take minutes
        first = nats_log.info_of(self._connection, names)["state"]["first_seq"]
        if place < first:
            return 0  # somebody else has pruned it meanwhile
        pages = self._write_pages(names, checkpoint)
        self._note(names, {nats_log.PAGES: pages})
        self._do(f"STREAM.PURGE.{names.log}", {"seq": place + 1})
        self._do(f"STREAM.PURGE.{names.book}", {"seq": int(pages.split()[0])})
        return int(place + 1 - first)

    def _note(self, names: Names, members: dict[str, str]) -> Any:
        """Add MEMBERS to the metadata of a log; close it if they say so. An update replaces the whole configuration, so
        it begins with that of now, and is repeated if another keeper's update came between. Returns the stream."""
        for _ in range(TRIES):
            info = nats_log.info_of(self._connection, names)
            if members.items() <= info["config"]["metadata"].items():
                return info
            config = info["config"] | {"metadata": _metadata(info) | members}
            if nats_log.CLOSED in members:
                config["subjects"] = [names.closed]
                config.pop("republish", None)
            self._do(f"STREAM.UPDATE.{names.log}", config)
        raise EngineUnreachable(f"other keepers change the log {names.log} at the same time; try again")

    def _whole_head(self, names: Names, info: Any) -> Head:
        found = LogReader(self._connection, names).checkpoint_at(info, info["state"]["last_seq"])
        return nats_log.head_of(info, names, found.digest)

    def _log(self, info: Any) -> Log:
        names, state = _names(info), info["state"]
        head = LogReader(self._connection, names).head_now(info)
        return Log(names.repo, _first(info), head, state["messages"], state["bytes"], state.get("num_subjects", 0))

    def _streams(self) -> Iterator[Any]:
        """Every log on the servers."""
        offset, total = 0, 1
        while offset < total:
            page = self._do("STREAM.LIST", {"offset": offset})
            found = page.get("streams") or ()
            yield from (info | {"ts": page.get("ts") or info.get("ts")} for info in found if _is_log(info))
            offset, total = offset + max(len(found), 1), page.get("total", 0)

    def _do(self, what: str, request: Any) -> Any:
        answer = self._connection.ask_json(f"{API}.{what}", request, PATIENCE)
        if answer is None:
            raise EngineUnreachable("no server of the cluster answers for JetStream")
        if error := answer.get("error"):
            raise Denied(f"JetStream refuses {what}: {error.get('description')}")
        return answer


def _quoted(subjects: Sequence[str]) -> str:
    return ", ".join(f'"{subject}"' for subject in subjects)


def _first(info: Any) -> int:
    return int(info["config"]["metadata"][nats_log.BEGINS])


def _metadata(info: Any) -> dict[str, str]:
    return {name: value for name, value in info["config"]["metadata"].items() if not name.startswith("_nats.")}


def _is_log(info: Any) -> bool:
    return nats_log.BEGINS in (info["config"].get("metadata") or {})


def _names(info: Any) -> Names:
    metadata = info["config"]["metadata"]
    return Names(metadata[nats_log.REPO], metadata[nats_log.INCARNATION])
