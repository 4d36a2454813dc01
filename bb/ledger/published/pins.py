"""`pins.json`: what this clone knows about each remote's ledger: the verified tip, whether our lines may be published
there, and the results of publication order (admitted global grants, and the order of reservations).

Each write replaces the whole file. If it is lost, the next sync verifies the remote's history from its beginning.
"""

from __future__ import annotations

import os

from bb.coordination.holdings.admission import Admitted
from bb.kernel import json_text
from bb.kernel.record import Record
from bb.ledger.files import disk
from bb.ledger.published.arbiter import Arbiter
from bb.ledger.published.charter import Charter
from bb.ledger.published.layout import BRANCH, PLACES
from bb.ledger.published.tip import Compacted, Head, Tip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "pins.json"
LARGEST = 1 << 26


class SnapshotVerdict(Record):
    """Whether the snapshot in a commit matches our lines, as of a number of withdrawn events, for folds of version
    STATE."""

    commit: str
    taken_back: int
    is_right: bool
    is_outdated: bool = False  # only earlier versions of bb can use it
    state: int = 0


class Pin(Record):
    """One remote, as far as it is verified. PUBLISHES is true once a user has allowed publishing our lines there."""

    tip: Tip | None = None
    publishes: bool = False
    judged: SnapshotVerdict | None = None  # the newest snapshot there
    put_off: int = 0  # number of events when making a snapshot last failed
    ref: str = BRANCH  # the place of the ledger there
    address: str = ""  # the address of the remote (`travel/renamed_remotes.py`)


class Pins(Record):
    """Every remote, the arbiter as the charters name it, and the results of its history."""

    remotes: dict[str, Pin]
    home: str | None = None  # the remote of `bb sync`: the first that was synced with
    local: Tip | None = None  # our last commit, at `refs/bb/ledger`
    admitted: Admitted = Admitted()
    counted: Admitted | None = None  # the same, computed only from the lines that count; None if all lines count
    law: str = ""  # the rules that `counted` was computed with
    named: Arbiter | None = None  # the arbiter, by the latest charter of any remote
    arbiter: str | None = None  # the remote here that is the arbiter; None if none is, as far as known
    basis: str = ""  # the history that `admitted` was computed from
    compared: str = ""  # the state of git's configuration when the addresses were last compared

    @property
    def in_force(self) -> Admitted:
        """The results of publication order, from the lines that count here."""
        return self.admitted if self.counted is None else self.counted

    @property
    def is_elsewhere(self) -> bool:
        """Whether the arbiter is another remote than those that this clone has read."""
        return self.named is not None and self.arbiter is None

    def remote(self, name: str) -> Pin:
        return self.remotes.get(name, Pin())

    def with_remote(self, name: str, pin: Pin) -> Pins:
        return self.replace(remotes=self.remotes | {name: pin}, home=self.home or name)

    @property
    def publishes_to(self) -> str | None:
        """The remote of `bb sync`, if our lines may be published there."""
        return self.home if self.home and self.remote(self.home).publishes else None


def read(store: str) -> Pins:
    """The saved pins; empty if the file is missing or cannot be read."""
    octets = disk.read_small(os.path.join(store, NAME), LARGEST)
    try:
        members: Any = json_text.read(octets or b"")
        remotes = {name: _pin(pin) for name, pin in members["remotes"].items()}
        home, admitted = members.get("home", members["arbiter"]), Admitted.from_dict(members["admitted"])
        lawful = Admitted.from_dict(members["lawful"]) if members.get("lawful") else None
        return Pins(
            *(remotes, home if home in remotes else None, _tip(members["local"])),
            *(admitted, lawful, str(members.get("law", ""))),
            Arbiter.from_json(members["named"]) if members.get("named") else None,
            members["arbiter"] if members["arbiter"] in remotes else None,
            str(members.get("basis", "")),
            str(members.get("compared", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Pins({})


def write(store: str, pins: Pins) -> None:
    written = {
        "remotes": {name: _written_pin(pin) for name, pin in pins.remotes.items()},
        "home": pins.home,
        "arbiter": pins.arbiter,
        "named": pins.named and pins.named.as_dict(),
        "basis": pins.basis,
        "compared": pins.compared,
        "local": _written(pins.local),
        "admitted": pins.admitted.as_json(),
        **({"lawful": pins.counted.as_json(), "law": pins.law} if pins.counted is not None else {}),
    }
    disk.replace(os.path.join(store, NAME), (json_text.dumps(written) + "\n").encode(), durable=True)


def _pin(written: Any) -> Pin:
    judged = SnapshotVerdict(**written["judged"]) if "judged" in written else None
    ref = written.get("ref", BRANCH)
    put_off = int(written.get("put_off", 0))
    about = (judged, put_off, ref if ref in PLACES else BRANCH, str(written.get("address", "")))
    return Pin(_tip(written["tip"]), written["publishes"] is True, *about)


def _written_pin(pin: Pin) -> dict[str, Any]:
    judged = {"judged": pin.judged.as_dict()} if pin.judged else {}
    put_off = {"put_off": pin.put_off} if pin.put_off else {}
    ref = {"ref": pin.ref} if pin.ref != BRANCH else {}
    address = {"address": pin.address} if pin.address else {}
    return {"tip": _written(pin.tip), "publishes": pin.publishes} | judged | put_off | ref | address


def _tip(written: Any) -> Tip | None:
    if written is None:
        return None
    heads = {writer: Head(*head) for writer, head in written["heads"].items()}
    blanked, charter = frozenset(written.get("blanked", ())), Charter.from_json(written["charter"])
    compacted = Compacted(**written["compacted"]) if "compacted" in written else Compacted()
    compacted = compacted.replace(snapshots=tuple(compacted.snapshots))
    return Tip(written["commit"], written["generation"], charter, heads, blanked, compacted)


def _written(tip: Tip | None) -> dict[str, Any] | None:
    if tip is None:
        return None
    heads = {writer: [head.n, head.first] for writer, head in tip.heads.items()}
    return {
        "commit": tip.commit,
        "generation": tip.generation,
        "charter": tip.charter.as_json(),
        "heads": heads,
        **({"blanked": sorted(tip.blanked)} if tip.blanked else {}),
        **({"compacted": tip.compacted.as_dict()} if tip.compacted.snapshots else {}),
    }
