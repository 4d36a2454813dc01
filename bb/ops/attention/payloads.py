"""What platforms send, as it is read by `bb chat ingest`: a payload with its headers, checked against its signature."""

from __future__ import annotations

from bb.attention.surfaces import SURFACES, signatures
from bb.kernel import json_text
from bb.kernel.errors import BbError, Usage
from bb.kernel.show import harmless
from bb.ops.desk import sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from bb.ops.desk.desk import Desk

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
    """What the payloads say, line by line, in the form that all surfaces share. In the place of a payload that says
    nothing stands the refusal, which names its number: it stops no other.
    """
    headers = _headers(desk, how["headers"])
    if given is not None:
        for number, each in enumerate(given if isinstance(given, list) else [given], 1):
            yield from _mapped(how["format"], headers, each, number)
        return
    octets = desk.stdin.read(LARGEST + 1) if desk.stdin else b""
    if len(octets) > LARGEST:
        raise InvalidPayload(f"it is longer than {LARGEST:,} bytes")
    if how["secret_env"]:
        _check(desk, how, headers, octets)
    for number, payload in enumerate(_payloads(octets), 1):
        yield from _mapped(how["format"], headers, payload, number)


def _headers(desk: Desk, file: str | None) -> dict[str, str]:
    if file is None:
        return {}
    try:
        with sources.opened(desk, file) as stream:
            found = json_text.loads(stream.read(LARGEST).decode())
    except (OSError, ValueError) as error:  # no UTF-8, no JSON, or a NUL in its name
        raise InvalidPayload(f"{harmless(file[:200])} cannot be read as JSON", path="$.headers") from error
    return _texts(found)


def _texts(found: Any) -> dict[str, str]:
    if not isinstance(found, dict):
        raise InvalidPayload("headers are an object of texts", path="$.headers")
    return {name.lower(): value for name, value in found.items() if isinstance(value, str)}


def _payloads(octets: bytes) -> Iterator[Any]:
    """One document, or one a line; in the place of a line that is none, the refusal."""
    whole = _payload(octets, "it")
    if not isinstance(whole, InvalidPayload):
        yield whole
        return
    listed = [line for line in octets.split(b"\n") if line.strip()]
    yield from (_payload(line, f"line {number}") for number, line in enumerate(listed, 1))


def _payload(octets: bytes, what: str) -> Any:
    try:
        return json_text.loads(octets.decode())
    except UnicodeDecodeError:
        return InvalidPayload(f"{what} is no UTF-8")
    except json_text.NotJson:
        return InvalidPayload(f"{what} is no JSON")


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


def _mapped(format: str, headers: dict[str, str], payload: Any, number: int) -> list[Any]:  # noqa: A002
    """The lines of one payload, or the refusal of it."""
    try:
        if isinstance(payload, InvalidPayload):
            raise payload
        if not isinstance(payload, dict):
            raise InvalidPayload("a payload is an object")
        if isinstance(payload.get("body"), dict) and isinstance(payload.get("headers"), dict):
            headers, payload = headers | _texts(payload["headers"]), payload["body"]
        return list(SURFACES[format](headers, payload))
    except BbError as refusal:
        refusal.details["line"] = number
        return [refusal]
