"""Reads the address of a NATS server. TLS is demanded, unless the server is on this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

from bb.ledger.fleet import settings

DEFAULT_PORT = 4222
LOCAL = ("localhost", "::1")


def checked(text: str) -> str:
    """The address in TEXT, one URL or several with commas, with `tls` in place of `nats` where the server is not on
    this machine."""
    return ",".join(_one(part.strip()) for part in text.split(","))


def _one(text: str) -> str:
    try:
        found = urlsplit(text)
        host, port = found.hostname, found.port or DEFAULT_PORT
    except ValueError:
        raise settings.InvalidEngine("a server of NATS is nats://HOST or nats://HOST:PORT") from None
    if found.username is not None or found.password is not None:
        raise settings.SecretInAddress("the address has a user, a token or a password")
    if found.scheme not in ("nats", "tls") or not host or found.path.strip("/") or found.query or found.fragment:
        raise settings.InvalidEngine("a server of NATS is nats://HOST or nats://HOST:PORT, and has nothing after it")
    is_local = host in LOCAL or host.startswith("127.")
    name = f"[{host}]" if ":" in host else host
    return f"{found.scheme if is_local else 'tls'}://{name}:{port}"
