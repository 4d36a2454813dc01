"""Whether NATS servers have lines on their disks before they acknowledge them.

By default a nats-server writes to its disk every two minutes, so a power failure loses lines that it has acknowledged.
With `sync_interval: always` in its `jetstream` block it does not. A client cannot see that setting over its connection:
only the monitoring address of each server shows it. So the address of the engine names those, and the setting must be
on at every server that keeps the log. If it cannot be seen, it counts as off.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request

from bb.kernel.escaping import harmless
from bb.kernel.record import Record
from bb.ledger.carrier.door import EngineNotDurable, EngineUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bb.ledger.carrier.nats_connection import Connection

PATIENCE = 1.5
LARGEST = 1 << 20
AWAY = 3 * 10**9  # nanoseconds; servers of a group hear of each other every second
HOW = "in the `jetstream` block of every nats-server of the fleet: `sync_interval: always`"
SHOW = "name the monitoring address of every server of the log: nats://HOST:4222?monitor=http://HOST:8222"


class Durability(Record):
    """What is known of each server that keeps the log: its setting, or None if it could not be seen."""

    servers: dict[str, bool | None]
    is_async: bool = False  # the stream itself acknowledges before it writes
    trouble: str = ""  # why a monitoring address gave nothing

    @property
    def is_shown(self) -> bool:
        return bool(self.servers) and all(self.servers.values()) and not self.is_async

    @property
    def hint(self) -> str:
        """What the person who runs the servers does, if they may lose lines."""
        if self.is_async:
            return 'the stream of the log must not have `persist_mode: "async"`'
        return HOW if False in self.servers.values() else f"{SHOW}; and {HOW}"

    def must_be_shown(self) -> None:
        """Refuse servers that may lose acknowledged lines."""
        if self.is_async:
            raise EngineNotDurable("the log's stream acknowledges lines before they are written", hint=self.hint)
        if off := sorted(name for name, is_on in self.servers.items() if is_on is False):
            raise EngineNotDurable(
                f"nats-server {harmless(off[0])} acknowledges before its disk has the lines", hint=self.hint
            )
        if not self.is_shown:
            unseen = sorted(name for name, is_on in self.servers.items() if is_on is None)
            which = f" of nats-server {harmless(unseen[0])}" if unseen else ""
            why = f" ({self.trouble})" if self.trouble else ""
            raise EngineNotDurable(f"the setting sync_interval{which} cannot be seen{why}", hint=self.hint)


def look(monitors: Sequence[str], info: Any) -> Durability:
    """Ask the MONITORS about every server of the stream that INFO describes. A server that the stream does not reach
    acknowledges nothing, so it need not answer. EngineUnreachable if another one does not, or nobody leads."""
    cluster = info.get("cluster") or {}
    if not cluster.get("leader"):
        raise EngineUnreachable("the servers are electing a leader")
    peers = {str(peer["name"]): peer for peer in cluster.get("replicas") or ()}
    servers: dict[str, bool | None] = dict.fromkeys([str(cluster["leader"]), *peers])
    trouble = silent = ""
    for monitor in monitors:
        try:
            name, is_on = _setting(monitor)
        except OSError as error:
            silent = silent or f"the monitoring address {monitor} does not answer: {error}"
        except (ValueError, KeyError, TypeError) as error:
            trouble = trouble or f"{monitor}: {harmless(str(error))[:120]}"
        else:
            servers |= {name: is_on} if name in servers else {}
    if silent:  # what is away acknowledges nothing
        servers = {name: is_on for name, is_on in servers.items() if is_on is not None or not _is_away(peers.get(name))}
    if silent and None in servers.values():
        raise EngineUnreachable(silent)
    if not trouble and monitors and None in servers.values():
        trouble = "the monitoring addresses are those of other servers"
    return Durability(servers, info["config"].get("persist_mode") == "async", trouble)


def _is_away(peer: Any) -> bool:
    """Whether the leader has not heard of a peer lately."""
    if peer is None:
        return False  # it is the leader
    return bool(peer.get("offline")) or not peer.get("current") or int(peer.get("active", 0)) > AWAY


def _setting(monitor: str) -> tuple[str, bool]:
    """The name of the server at a monitoring address, and whether it writes before it acknowledges. OSError if it does
    not answer; ValueError, or another error, if it answers something else."""
    try:
        with urllib.request.urlopen(f"{monitor}/varz", timeout=PATIENCE) as answer:  # noqa: S310  (http or https)
            about = json.loads(answer.read(LARGEST))
    except urllib.error.HTTPError as error:  # which is an OSError
        raise ValueError(str(error)) from None
    except http.client.HTTPException as error:  # such as the address for clients, which does not speak HTTP
        raise ValueError(f"it does not answer as a monitoring address: {error}") from None
    return str(about["server_name"]), about["jetstream"]["config"].get("sync_always") is True


def health(connection: Connection, info: Any) -> dict[str, Any]:
    """What a person must know of the servers that keep the log of INFO."""
    found = look(connection.address.monitors, info)
    config, cluster = info["config"], info.get("cluster") or {}
    return {
        "durable": found.is_shown,
        "version": connection.server.get("version"),
        "settings": {
            "sync_interval": {name: _SHOWN[is_on] for name, is_on in sorted(found.servers.items())},
            "persist_mode": config.get("persist_mode", "default"),
            "replicas": config.get("num_replicas", 1),
        },
        "standbys": [
            {"name": peer.get("name"), "current": bool(peer.get("current")), "offline": bool(peer.get("offline"))}
            for peer in cluster.get("replicas") or ()
        ],
        **({"trouble": found.trouble} if found.trouble else {}),
    }


_SHOWN = {True: "always", False: "not always", None: "not seen"}
