"""The address of NATS servers: nats://HOST:PORT[,HOST:PORT…][?NAME=VALUE&…]. It has no secret.

    monitor=URL     the monitoring address of each server, with commas: it shows whether `sync_interval` is `always`
    replicas=N      of the streams that `bb fleet begin` makes
    creds=PATH      a credentials file; else the environment's NATS_CREDS
    nkey=PATH       a file with the seed of a key
    context=NAME    a context of the `nats` program; else NATS_CONTEXT
    ca=PATH cert=PATH key=PATH    for TLS
    tls=no          no TLS, although a server is not on this machine (it has TLS by itself, as in a private network)

TLS with a check of the server's name is demanded of servers that are not on this machine.
"""

from __future__ import annotations

import ipaddress
import json
import os
from urllib.parse import parse_qsl, urlencode, urlsplit

from bb.kernel.errors import Usage
from bb.kernel.record import Record
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

PORT = 4222
SCHEMES = ("nats", "tls")
PATHS = ("creds", "nkey", "ca", "cert", "key")
MONITOR, REPLICAS, CONTEXT, TLS = "monitor", "replicas", "context", "tls"
KNOWN = {*PATHS, MONITOR, REPLICAS, CONTEXT, TLS}
LARGEST = 1 << 20  # bytes of a context

InvalidNatsAddress = Usage.declare(
    "INVALID_NATS_ADDRESS",
    "That is not the address of a NATS server",
    hint="as in nats://127.0.0.1:4222?monitor=http://127.0.0.1:8222; docs/fleet.md lists what may follow the `?`",
)
SecretInNatsAddress = Usage.declare(
    "SECRET_IN_NATS_ADDRESS",
    "The address of a NATS server must not have a user, a token or a password, because bb saves and shows it",
    hint="set NATS_CREDS to a credentials file, or NATS_CONTEXT to a context of the `nats` program",
)


class NatsAddress(Record):
    """The SERVERS, each `HOST:PORT`, and the OPTIONS."""

    servers: tuple[str, ...]
    options: Mapping[str, str] = {}

    @classmethod
    def parse(cls, text: str) -> Self:
        """The address in TEXT. Raises InvalidNatsAddress or SecretInNatsAddress."""
        scheme, colon, rest = text.strip().partition("://")
        where, _, query = rest.partition("?")
        if not colon or scheme not in SCHEMES or not where.strip("/,"):
            raise InvalidNatsAddress()
        options = dict(parse_qsl(query, keep_blank_values=True))
        if strange := options.keys() - KNOWN:
            raise InvalidNatsAddress(f"the address of a NATS server has no {min(strange)[:40]!r}")
        if options.get(REPLICAS, "1") not in ("1", "3", "5"):
            raise InvalidNatsAddress("a stream of NATS has 1, 3 or 5 replicas")
        for url in options.get(MONITOR, "").split(","):
            if "@" in url:
                raise SecretInNatsAddress("the monitoring address has a user or a password")
            if url and not url.startswith(("http://", "https://")):
                raise InvalidNatsAddress("a monitoring address begins with http:// or https://")
        if scheme == TLS:
            options[TLS] = "yes"
        return cls(tuple(map(_server, where.rstrip("/").split(","))), options)

    @property
    def text(self) -> str:
        """The address in its complete form."""
        options = {name: value for name, value in self.options.items() if (name, value) != (TLS, "yes")}
        query = "?" + urlencode(options, safe=":/,.") if options else ""
        return ("tls://" if self.options.get(TLS) == "yes" else "nats://") + ",".join(self.servers) + query

    @property
    def urls(self) -> list[str]:
        return [f"nats://{server}" for server in self.servers]

    @property
    def monitors(self) -> list[str]:
        return [url.rstrip("/") for url in self.options.get(MONITOR, "").split(",") if url]

    @property
    def replicas(self) -> int:
        return int(self.options.get(REPLICAS, "1"))

    @property
    def needs_tls(self) -> bool:
        asked = self.options.get(TLS)
        return asked != "no" and (asked is not None or not all(map(_is_local, self.servers)))

    def secrets(self, env: Mapping[str, str]) -> dict[str, Any]:
        """What this machine shows to the servers: paths of files, or a user and a password, from the named places."""
        found: dict[str, Any] = {}
        name = self.options.get(CONTEXT) or env.get("NATS_CONTEXT")
        if name:
            found = _context(name, env)
        if creds := self.options.get("creds") or env.get("NATS_CREDS"):
            found["creds"] = creds
        return found | {name: self.options[name] for name in ("nkey", "ca", "cert", "key") if name in self.options}


def _server(text: str) -> str:
    if "@" in text:
        raise SecretInNatsAddress()
    try:
        found = urlsplit(f"nats://{text.strip()}")
        host, port = found.hostname, found.port or PORT
    except ValueError:
        raise InvalidNatsAddress() from None
    if not host or found.path or found.fragment:
        raise InvalidNatsAddress()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_local(server: str) -> bool:
    host = server.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _context(name: str, env: Mapping[str, str]) -> dict[str, Any]:
    """The credentials in a context of the `nats` program."""
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or name.startswith("."):
        raise InvalidNatsAddress(f"{name[:40]!r} is not the name of a context")
    home = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
    path = os.path.join(home, "nats", "context", f"{name}.json")
    try:
        members = json.loads(disk.read_small(path, LARGEST) or b"")
        return {
            key: os.path.expanduser(str(members[key])) if key in PATHS else str(members[key])
            for key in (*PATHS, "user", "password", "token")
            if members.get(key)
        }
    except (ValueError, TypeError, AttributeError):
        raise InvalidNatsAddress(f"the context {name} cannot be read", hint=f"it would be in {path}") from None
