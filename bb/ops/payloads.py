"""What platforms send, as it is read by `bb chat ingest`: a payload with its headers, checked against its signature."""

from __future__ import annotations

import os
import sys

from bb.attention.surfaces import SURFACES, signatures
from bb.kernel import jsontext
from bb.kernel.errors import Usage
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ops.desk import Desk

LARGEST = 25 << 20  # GitHub sends no larger one


class InvalidPayload(Usage):
    """A payload is a JSON object, with its headers beside it or in a file."""

    code = "INVALID_PAYLOAD"
    hint = """one JSON object a line: the body, or {"headers": {…}, "body": {…}}"""


class NoSecret(Usage):
    """There is no secret to check signatures with."""

    code = "NO_SECRET"
    hint = "set the environment variable that --secret-env names"


def lines(desk: Desk, given: Any, how: dict[str, Any]) -> Iterator[Any]:
    """What the payloads say, line by line, in the form that all surfaces share."""
    headers = _headers(desk, how["headers"])
    if given is not None:
        for each in given if isinstance(given, list) else [given]:
            yield from _mapped(how["format"], headers, each)
        return
    stream = None if desk.is_served else getattr(sys.stdin, "buffer", None)
    octets = stream.read(LARGEST + 1) if stream else b""
    if len(octets) > LARGEST:
        raise InvalidPayload(f"it is longer than {LARGEST:,} bytes")
    if how["secret_env"]:
        _check(desk, how, headers, octets)
    for payload in _payloads(octets):
        yield from _mapped(how["format"], headers, payload)


def _headers(desk: Desk, file: str | None) -> dict[str, str]:
    if file is None:
        return {}
    try:
        with open(os.path.join(desk.cwd, file), "rb") as opened:
            found = jsontext.loads(opened.read(LARGEST).decode())
    except (OSError, UnicodeDecodeError, jsontext.NotJson) as error:
        raise InvalidPayload(f"{harmless(file[:200])} cannot be read as JSON", path="$.headers") from error
    return _texts(found)


def _texts(found: Any) -> dict[str, str]:
    if not isinstance(found, dict):
        raise InvalidPayload("headers are an object of texts", path="$.headers")
    return {name.lower(): value for name, value in found.items() if isinstance(value, str)}


def _payloads(octets: bytes) -> Iterator[Any]:
    """One document, or one a line."""
    text = _text(octets)
    try:
        yield jsontext.loads(text)
    except jsontext.NotJson:
        listed = [line for line in text.split("\n") if line.strip()]
        for number, line in enumerate(listed, 1):
            try:
                yield jsontext.loads(line)
            except jsontext.NotJson:
                raise InvalidPayload(f"line {number} is no JSON", line=number) from None


def _text(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise InvalidPayload("it is no UTF-8") from None


def _check(desk: Desk, how: dict[str, Any], headers: dict[str, str], octets: bytes) -> None:
    """Refuse a payload that its platform has not signed. Only the bytes as they came can be checked."""
    secret = desk.env.get(how["secret_env"], "")
    if not secret:
        raise NoSecret(f"{harmless(how['secret_env'][:60])} is not set")
    scheme = "standard" if "webhook-signature" in headers else how["format"]
    check = signatures.CHECKS.get(scheme)
    if check is None:
        raise NoSecret(
            f"{how['format']} has no signatures of its own", hint="sign by Standard Webhooks, or leave it out"
        )
    check(headers, octets, secret, desk.now())


def _mapped(format: str, headers: dict[str, str], payload: Any) -> Iterator[Any]:  # noqa: A002
    if not isinstance(payload, dict):
        raise InvalidPayload("a payload is an object")
    if isinstance(payload.get("body"), dict) and isinstance(payload.get("headers"), dict):
        headers, payload = headers | _texts(payload["headers"]), payload["body"]
    yield from SURFACES[format](headers, payload)
