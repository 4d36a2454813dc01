"""The arbiter of a ledger: the one remote whose publication order decides about reservations in every clone.

Every published branch names it in its charter (`bb.json`), branches on other remotes too. A copy of a branch has the
same charter, so nothing in the branch can tell the arbiter from its copies. Its address can: the host and the path,
without the transport, the user, the default port and `.git`. Local paths are resolved. A remote that is not recognised
is not the arbiter, which is the safe mistake; `remote.NAME.bbUrl` in the git configuration corrects it.

The arbiter is named at the first publication (turn 1). A move is a new turn, by the person's word. If two remotes were
named without knowledge of each other, both in the same turn, the lower address is the arbiter, in every clone.
"""

from __future__ import annotations

import os

from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

LONGEST = 2000  # characters of an address or a reason
DEFAULT_PORTS = {"ssh": "22", "git": "9418", "http": "80", "https": "443", "ftp": "21", "ftps": "990"}


class Arbiter(Record):
    """The arbiter by its ADDRESS, and its URL as a hint for people. A later TURN replaces an earlier one. GENERATION is
    the number of the last commit of its predecessor that counted."""

    turn: int
    address: str
    url: str
    generation: int = 0
    by: str = ""
    reason: str = ""
    ts: str = ""

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """The arbiter from its JSON form. Raises ValueError, or another error, if the form is invalid."""
        read = cls(**{name: found[name] for name in cls.__match_args__})
        texts = (read.address, read.url, read.by, read.reason, read.ts)
        if not all(type(text) is str and len(text) <= LONGEST for text in texts) or not read.address:
            raise ValueError("a text of the arbiter is invalid")
        if not (type(read.turn) is int and read.turn > 0 and type(read.generation) is int and read.generation >= 0):
            raise ValueError("a number of the arbiter is invalid")
        return read


def latest(*known: Arbiter | None) -> Arbiter | None:
    """The arbiter among those that are KNOWN: the one of the latest turn."""
    return min(filter(None, known), key=lambda one: (-one.turn, one.address, one.generation, one.ts), default=None)


def address_of(url: str, start: str) -> str:
    """The address that a URL leads to. A relative path is resolved from the folder START."""
    scheme, mark, rest = url.partition("://")
    if mark and scheme.lower() != "file":
        authority, _, path = rest.partition("/")
        return _at_host(authority.rpartition("@")[2], path, DEFAULT_PORTS.get(scheme.lower().removeprefix("git+"), ""))
    if not mark and _is_scp(url):
        host, path = _split_scp(url)
        return _at_host(host.rpartition("@")[2], path, "")
    path = rest if mark else url
    return "file:" + os.path.realpath(os.path.join(start, path)).replace("\\", "/")


def _at_host(host: str, path: str, default_port: str) -> str:
    name, mark, port = host.rpartition(":")
    if mark and port.isdigit():
        host = name if port == default_port else host
    path = "/".join(part for part in _decoded(path).split("/") if part)
    return f"{host.lower().rstrip('.')}/{path.removesuffix('.git')}"


def _decoded(path: str) -> str:
    if "%" not in path:
        return path
    from urllib.parse import unquote  # noqa: PLC0415  (few addresses have escapes)

    return unquote(path)


def _is_scp(url: str) -> bool:
    """Whether git reads URL as `host:path`. A colon after a slash, or after a drive letter, is part of a path."""
    host, mark, _ = _split_at_colon(url)
    is_drive = os.name == "nt" and len(host) == 1
    return bool(mark) and "/" not in host and not is_drive and not url.startswith((".", "/"))


def _split_at_colon(url: str) -> tuple[str, str, str]:
    if url.partition("@")[2].startswith("[") or url.startswith("["):  # an IPv6 address
        head, mark, path = url.partition("]:")
        return head + "]", mark, path
    return url.partition(":")


def _split_scp(url: str) -> tuple[str, str]:
    host, _, path = _split_at_colon(url)
    return host, path.removeprefix("/")
