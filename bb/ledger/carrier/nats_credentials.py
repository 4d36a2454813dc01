"""What a machine shows to NATS servers. The library fails in odd ways, or never ends, on a file of another kind. So
each file is looked at first."""

from __future__ import annotations

import ssl

import nkeys

from bb.kernel.escaping import harmless
from bb.ledger.carrier.door import Denied
from bb.ledger.files import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bb.ledger.carrier.nats_address import NatsAddress

LARGEST = 1 << 20  # bytes of a file
TOKEN, SEED = b"BEGIN NATS USER JWT", b"BEGIN USER NKEY SEED"  # what is in the lines before these two


def shown(address: NatsAddress, env: Mapping[str, str]) -> dict[str, Any]:
    """What this machine shows to the servers of ADDRESS, as arguments of the library. Denied if a file has another
    form; OSError if it cannot be read."""
    secrets = address.secrets(env)
    found: dict[str, Any] = {}
    if "creds" in secrets:
        found["user_credentials"] = path = secrets["creds"]
        content = _content(path)
        if TOKEN not in content or not _is_seed(_line_after(SEED, content)):
            raise Denied(f"{harmless(path)} is no credentials file of NATS", hint="`nsc generate creds` makes one")
    if "nkey" in secrets:
        found["nkeys_seed"] = path = secrets["nkey"]
        if not _is_seed(_content(path)):
            raise Denied(
                f"{harmless(path)} has no seed of a key", hint="`nk -gen user` makes one; the file has only that line"
            )
    found |= {name: secrets[name] for name in ("user", "password", "token") if name in secrets}
    if address.needs_tls or "ca" in secrets or "cert" in secrets:
        context = ssl.create_default_context(cafile=secrets.get("ca"))
        if "cert" in secrets:
            context.load_cert_chain(secrets["cert"], secrets.get("key"))
        found["tls"] = context
    return found


def _content(path: str) -> bytes:
    with disk.reader(path) as file:
        return file.read(LARGEST)


def _line_after(words: bytes, content: bytes) -> bytes:
    """The line after the first one that has these WORDS."""
    lines = content.split(words, 1)[-1].splitlines()
    return lines[1] if len(lines) > 1 and words in content else b""


def _is_seed(text: bytes) -> bool:
    try:
        nkeys.from_seed(bytearray(text.strip())).wipe()
    except (nkeys.NkeysError, ValueError, TypeError):
        return False
    return True
