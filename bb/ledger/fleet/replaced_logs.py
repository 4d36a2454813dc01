"""Logs of an engine that a later one has replaced.

A log is replaced when the charter names another one that does not begin before it, or when its fleet has ended. If two
began a fleet at once, both logs begin at the same place, and the charter names one. A log that somebody is about to
begin has a higher first place, and is left alone. A replaced log is removed when it is closed and every line
in it is published, so that nobody needs it any more.

`<store>/fleet/replaced_logs.json` has the logs that were replaced from this clone while their engine could not be asked
to close them. An open log goes on taking lines of machines that have not fetched the new charter.
"""

from __future__ import annotations

import contextlib

from bb.kernel import json_text
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.ledger.carrier.door import AnotherEngine
from bb.ledger.files import disk
from bb.ledger.fleet import engines
from bb.ledger.fleet.settings import EngineAddress
from bb.ledger.local import fleet_files
from bb.ledger.published import fleet_terms, pins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.carrier.door import Keeper, Log
    from bb.ledger.published.tip import Tip

GONE = (AnotherEngine.code, "ENGINE_UNPREPARED")  # the engine has no such log, or nothing of bb at all


class ReplacedLog(Record):
    """A log on an engine, and the number of WRITERS with lines in it that are not published."""

    log: Log
    writers: int

    @property
    def incarnation(self) -> str:
        return self.log.head.incarnation


def find(keeper: Keeper, repo: str, tip: Tip) -> list[ReplacedLog]:
    """The logs of REPO on an engine that are replaced, as of TIP."""
    terms = tip.charter.fleet
    end, incarnation = (terms.first + 1, terms.incarnation) if terms else (tip.place + 1, "")
    logs = [log for log in keeper.logs(repo) if log.first < end and log.head.incarnation != incarnation]
    return [ReplacedLog(log, _unpublished(keeper.last_lines(repo, log.head.incarnation), tip)) for log in logs]


def remove(keeper: Keeper, repo: str, found: ReplacedLog, tip: Tip) -> bool:
    """Close a replaced log, and remove it if every line in it is published. Returns whether it was removed."""
    if not found.log.head.is_closed:
        keeper.end(repo, found.incarnation)
    if _unpublished(keeper.last_lines(repo, found.incarnation), tip):
        return False
    keeper.remove(repo, found.incarnation)
    return True


def _unpublished(last_lines: dict[str, int], tip: Tip) -> int:
    return sum(last > tip.last_line(writer) for writer, last in last_lines.items())


# -- logs that could not be closed


class OpenLog(Record):
    """A log that is to be closed, on the engine at ADDRESS."""

    carrier: str
    address: str
    repo: str
    incarnation: str
    service_file: str = ""

    @property
    def engine(self) -> EngineAddress:
        return EngineAddress(self.carrier, self.address, self.service_file)


def still_open(store: str) -> list[OpenLog]:
    """The logs that are to be closed."""
    try:
        found: Any = json_text.read(disk.read_small(fleet_files.path(store, fleet_files.REPLACED_LOGS)) or b"[]")
        logs = [OpenLog(**members) for members in found]
    except (ValueError, TypeError):
        return []
    return [log for log in logs if log.carrier in fleet_terms.CARRIERS]


def note(store: str, log: OpenLog) -> None:
    """Note that LOG is to be closed, once the charter names another one."""
    _write(store, [*(one for one in still_open(store) if one != log), log])


def close_all(store: str) -> dict[str, BbError]:
    """Close the noted logs, as far as their engines can be reached. Returns the refusals of the others, by their
    incarnations."""
    noted = still_open(store)
    terms = pins.read(store).terms if noted else None
    refused: dict[str, BbError] = {}
    for log in noted:
        if terms and terms.incarnation == log.incarnation:
            continue  # the new log was never pushed
        try:
            close(log)
        except BbError as refusal:
            refused[log.incarnation] = refusal
    if noted:
        _write(store, [log for log in noted if log.incarnation in refused])
    return refused


def forget(store: str, incarnation: str) -> None:
    """Forget the note of a log that is closed by now."""
    if noted := still_open(store):
        _write(store, [log for log in noted if log.incarnation != incarnation])


def close(log: OpenLog) -> None:
    """Close a log. One that is not there any more counts as closed."""
    with contextlib.closing(engines.keeper(log.engine)) as keeper:
        try:
            keeper.end(log.repo, log.incarnation)
        except BbError as refusal:
            if refusal.code not in GONE:
                raise


def _write(store: str, logs: Sequence[OpenLog]) -> None:
    path = fleet_files.path(store, fleet_files.REPLACED_LOGS)
    if not logs:
        disk.remove_if_there(path)
        return
    disk.make_folder(fleet_files.path(store, ""))
    disk.replace(path, json_text.dumps([log.as_dict() for log in logs]).encode(), durable=True)
