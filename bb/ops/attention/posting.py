"""The outbox for a bridge that stays connected: one item at a time, and its result before the next one.

An item is marked as `unknown` before the bridge gets it. So if the bridge is killed at any moment, its next run is told
that the item may have been posted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from typing import IO, Any

from bb.attention.acts import outbox
from bb.kernel import json_text
from bb.kernel.errors import Usage
from bb.ledger.records.changes import LedgerWatch
from bb.ops.attention.attention_desk import C2aDesk

FIRST_PAUSE, LONGEST_PAUSE = 0.125, 60.0  # seconds before an item is shown again
LONGEST_WAIT = 3600.0  # seconds that a platform may demand
FOR_EVER = 10**9  # seconds

InvalidResult = Usage.declare(
    "INVALID_RESULT",
    "The result of posting is not one of the known forms",
    hint="""answer each item with one line: {"platformId": ID}, {"failed": REASON} or {"again": SECONDS or null}""",
)


def items(at: C2aDesk, platform: str, results: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The items to post, oldest first, until RESULTS ends. An item whose result is unclear is shown again."""
    by = at.desk.principal()
    watch = LedgerWatch(at.store)
    for _ in watch.changes(FOR_EVER, every_minute=lambda: None, is_over=at.desk.is_client_gone):
        while (item := next(outbox.to_post(at.book(), platform), None)) is not None:
            if not (yield from _until_settled(at, by, str(item["id"]), results)):
                return


def _until_settled(at: C2aDesk, by: str, name: str, results: IO[bytes]) -> Generator[dict[str, Any], None, bool]:
    """Show the item until its result is clear; False once RESULTS has ended."""
    pause = FIRST_PAUSE
    while True:
        try:
            item = at.act(lambda book, now: outbox.record_result(book, by, name, {"unknown": True}, now), by)["item"]
        except outbox.PostedAlready.error:  # its agent has cancelled it
            return True
        yield item
        line = results.readline()
        if not line:
            return False
        result = _result(line)
        if "again" not in result:
            about = {"platform_id": result.get("platformId"), "reason": result.get("failed")}
            at.act(lambda book, now: outbox.record_result(book, by, name, about, now), by)  # noqa: B023  (called here)
            return True
        time.sleep(_seconds(result["again"]) or pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _result(line: bytes) -> dict[str, Any]:
    """The result of posting one item."""
    try:
        result = json_text.loads(line.decode())
    except (json_text.NotJson, UnicodeDecodeError):
        raise InvalidResult("the result is not valid JSON") from None
    if not isinstance(result, dict) or len(result) != 1:
        raise InvalidResult()
    ((name, value),) = result.items()
    is_right = {
        "platformId": value is None or (isinstance(value, str) and value != ""),
        "failed": isinstance(value, str) and value != "",
        "again": value is None or (isinstance(value, int | float | str) and not isinstance(value, bool)),
    }
    if not is_right.get(name):
        raise InvalidResult()
    return result


def _seconds(again: Any) -> float:
    """How long the platform wants the bridge to wait, perhaps in the words of its header; 0 if that is not known."""
    try:
        wait = float(again)
    except (TypeError, ValueError):  # null, or a date
        return 0
    return 0 if math.isnan(wait) else min(max(wait, 0), LONGEST_WAIT)  # "nan" is read as a number, too
