"""What asks for a reply, what waits as mail, and who may withdraw a request (notes on CCCC, §8)."""

from __future__ import annotations

from typing import Any

import pytest

from bb.kernel.errors import BbError
from bb.messaging.chat import requests
from tests.messaging import cccs_reader

REQUEST = {"kind": "chat.message", "by": "ada", "data": {"text": "Well?", "message_mode": "request_reply"}}


@pytest.mark.parametrize(
    ("data", "is_request", "is_mail"),
    [
        ({"message_mode": "request_reply"}, True, False),
        ({"reply_required": True}, True, False),
        ({"message_mode": "mail"}, False, True),
        ({"message_mode": "send"}, False, False),
        ({"reply_required": 1}, False, False),
        ({"message_mode": ["mail"]}, False, False),
        ({}, False, False),
        (None, False, False),
        ([], False, False),
    ],
)
def test_what_asks_for_a_reply_and_what_waits_as_mail(data: Any, is_request: bool, is_mail: bool):
    assert (requests.is_request(data), requests.is_mail(data)) == (is_request, is_mail)


def cancel(by: Any, event: Any = REQUEST) -> str | None:
    answer = cccs_reader.answer(lambda: requests.may_cancel(by=by, event=event))
    return answer.code if isinstance(answer, BbError) else None


def test_a_request_is_cancelled_by_who_asked_or_by_the_person():
    assert cancel("ada") is cancel("user") is None
    for other in ("bo", "system", "svc:ci", "", None, 7, ["ada"]):
        assert cancel(other) == "PERMISSION_DENIED"


def test_only_a_request_is_cancelled():
    assert cancel("ada", None) == "EVENT_NOT_FOUND"
    assert cancel("ada", REQUEST | {"kind": "system.notify"}) == "INVALID_EVENT_KIND"
    assert cancel("ada", REQUEST | {"data": {"message_mode": "mail"}}) == "NOT_A_REPLY_REQUEST"
    assert cancel("bo", REQUEST | {"data": "?"}) == "NOT_A_REPLY_REQUEST"


def test_what_a_cancellation_says():
    assert requests.cancellation("e1", "ada") == {"source_event_id": "e1", "by": "ada"}
