"""Payloads from platforms, for `bb chat ingest`: read with their headers, and checked against their signature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bb.attention.surfaces import SURFACES, signatures
from bb.attention.surfaces.direct import with_recipient
from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.kernel.escaping import harmless
from bb.ops.attention.set_aside import unprocessed
from bb.ops.desk import input_text
from bb.ops.desk.desk import Desk

LARGEST = 25 << 20  # GitHub's limit for payloads

InvalidPayload = Usage.declare(
    "INVALID_PAYLOAD",
    "The payload is not a JSON object, or its headers are not",
    hint="""pass one JSON object per line: the body, or {"headers": {…}, "body": {…}}""",
)

NoSecret = Usage.declare(
    "NO_SECRET",
    "The secret for checking signatures is missing",
    hint="set the environment variable that --secret-env names",
)


def lines(desk: Desk, given: Any, how: dict[str, Any]) -> Iterator[Any]:
    """Convert the payloads to lines in the common form of all surfaces. For an invalid payload, the refusal with the
    payload's number takes its place; the other payloads are still processed.
    """
    headers = _headers(desk, how["headers"])
    if given is not None:
        for number, payload in enumerate(given if isinstance(given, list) else [given], 1):
            yield from _mapped(how["format"], headers, payload, number)
        return
    octets = desk.stdin.read(LARGEST + 1) if desk.stdin else b""
    if len(octets) > LARGEST:
        raise InvalidPayload(f"the payload is longer than {LARGEST:,} bytes")
    yield from lines_of(desk, how, headers, octets)


def lines_of(desk: Desk, how: dict[str, Any], headers: dict[str, str], octets: bytes) -> Iterator[Any]:
    """The lines of the payloads in OCTETS. Without a file of headers, each signed payload brings its own."""
    is_whole = how["headers"] is not None
    if how["secret_env"] and is_whole:
        _check(desk, how, headers, octets)
    for number, payload in enumerate(_payloads(octets), 1):
        if how["secret_env"] and not is_whole:
            payload = _checked(desk, how, payload)
        yield from _mapped(how["format"], headers, payload, number)


def _headers(desk: Desk, file: str | None) -> dict[str, str]:
    if file is None:
        return {}
    try:
        with input_text.opened(desk, file) as stream:
            headers = json_text.loads(stream.read(LARGEST).decode())
    except (OSError, ValueError) as error:  # invalid UTF-8, invalid JSON, or a NUL in the name
        raise InvalidPayload(f"{harmless(file[:200])} cannot be read as JSON", path="$.headers") from error
    return _texts(headers)


def _texts(headers: Any) -> dict[str, str]:
    if not isinstance(headers, dict):
        raise InvalidPayload("the headers are not a JSON object", path="$.headers")
    return {name.lower(): value for name, value in headers.items() if isinstance(value, str)}


def _payloads(octets: bytes) -> Iterator[Any]:
    """The payloads: one document, or one per line. For an invalid line, the refusal takes its place."""
    whole = _payload(octets, "the payload")
    if not isinstance(whole, InvalidPayload.error):
        yield whole
        return
    listed = [line for line in octets.split(b"\n") if line.strip()]
    yield from (_payload(line, f"line {number}") for number, line in enumerate(listed, 1))


def _payload(octets: bytes, what: str) -> Any:
    try:
        return json_text.loads(octets.decode())
    except UnicodeDecodeError:
        return InvalidPayload(f"{what} is not valid UTF-8")
    except json_text.NotJson:
        return InvalidPayload(f"{what} is not valid JSON")


def _checked(desk: Desk, how: dict[str, Any], payload: Any) -> Any:
    """A PAYLOAD that brings its own headers, once its signature is found valid. Its body is the string that came."""
    if isinstance(payload, InvalidPayload.error):
        return payload
    if not (isinstance(payload, dict) and isinstance(payload.get("body"), str)):
        return InvalidPayload("without --headers, a signed payload needs its own headers, and its body as a string")
    try:
        headers, octets = _texts(payload.get("headers")), payload["body"].encode()
        _check(desk, how, headers, octets)
    except UnicodeEncodeError:
        return InvalidPayload("the body is not valid UTF-8")
    except (InvalidPayload.error, signatures.BadSignature.error, signatures.StaleSignature.error) as refusal:
        return refusal
    body = _payload(octets, "the body")
    return {"headers": headers, "body": body} if isinstance(body, dict) else InvalidPayload("the body is not an object")


def _check(desk: Desk, how: dict[str, Any], headers: dict[str, str], octets: bytes) -> None:
    """Refuse a payload without a valid signature. The signature covers the bytes exactly as they arrived."""
    secret = desk.env.get(how["secret_env"], "")
    if not secret:
        raise NoSecret(f"{harmless(how['secret_env'][:60])} is not set")
    scheme = "standard" if "webhook-signature" in headers else how["format"]
    check = signatures.CHECKS.get(scheme)
    if check is None:
        raise NoSecret(
            f"the format {how['format']} does not define signatures",
            hint="sign as Standard Webhooks prescribes, or remove --secret-env",
        )
    check(headers, octets, secret, desk.now())


def _mapped(format: str, headers: dict[str, str], payload: Any, number: int) -> list[Any]:  # noqa: A002
    """The lines of one payload, or its refusal."""
    try:
        return _lines_of_payload(format, headers, payload)
    except BbError as refusal:
        refusal.details["line"] = number
        return [refusal]
    except Exception as error:  # a payload must not stop the others, not even by a bug of ours
        return [unprocessed(error)]


def _lines_of_payload(format: str, headers: dict[str, str], payload: Any) -> list[Any]:  # noqa: A002
    if isinstance(payload, BbError):
        raise payload
    if not isinstance(payload, dict):
        raise InvalidPayload("the payload is not a JSON object")
    if isinstance(payload.get("body"), dict) and isinstance(payload.get("headers"), dict):
        headers, payload = headers | _texts(payload["headers"]), payload["body"]
    lines = (with_recipient(headers, line) for line in SURFACES[format](headers, payload))
    return [{"source": {"platform": format}, **line} for line in lines]
