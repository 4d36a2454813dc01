"""Which remote of this clone is the arbiter, and what a publication says about it."""

from __future__ import annotations

from bb.kernel.errors import Refused
from bb.ledger.git.configuration import Configuration
from bb.ledger.published.arbiter import LONGEST, Arbiter, address_of, latest
from bb.ledger.travel import remote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.kernel.errors import BbError
    from bb.ledger.git.place import Place
    from bb.ledger.published.pins import Pins
    from bb.ledger.published.tip import Tip

INSTEAD = (".insteadof", ".pushinsteadof")

NotTheArbiter = Refused.declare(
    "NOT_THE_ARBITER",
    "This remote is not the arbiter of the ledger, and only the arbiter can grant a global reservation",
    hint="`bb ledger arbiter` shows the arbiter; add it as a remote and run `bb sync --publish --remote NAME`",
)


def address(place: Place, name: str, configuration: Configuration | None = None) -> str:
    """The address that the remote NAME is known by; empty if it is fetched from another repository than it is pushed
    to. `remote.NAME.bbUrl` in git's CONFIGURATION replaces the URL: for an alias of a host, or a mirror."""
    names = (f"remote.{name}.url", f"remote.{name}.pushurl", f"remote.{name}.bburl")
    found = (configuration or Configuration(place.common)).settings
    start = place.work_tree or place.common
    if said := found.get(names[2]):
        return address_of(said[-1], start)
    if any(key.startswith("url.") and key.endswith(INSTEAD) for key in found):  # git rewrites addresses
        urls = [remote.address(place.common, name), remote.address(place.common, name, "--push")]
    else:
        urls = [(found.get(names[0]) or [""])[0], (found.get(names[1]) or found.get(names[0]) or [""])[0]]
    addresses = {address_of(url, start) for url in urls if url}
    return addresses.pop() if len(addresses) == 1 else ""


def first(place: Place, name: str, at: str) -> Arbiter | None:
    """The remote NAME as the first arbiter of a ledger; None if it has no address AT which others can know it."""
    return Arbiter(1, at, url(place, name, at)) if 0 < len(at) <= LONGEST else None


def url(place: Place, name: str, at: str) -> str:
    """The URL of the remote NAME, AT its address, as other people can use it."""
    return at.removeprefix("file:") if at.startswith("file:") else remote.url(place.common, name)[:LONGEST]


def decides(named: Arbiter | None, home: str | None, name: str, at: str, tip: Tip | None) -> bool:
    """Whether publication order on the remote NAME, AT its address, decides. Without a NAMED arbiter, as in ledgers of
    earlier versions, HOME does. After a move, the new arbiter decides from the commit on that takes over the results
    of the one before."""
    if named is None:
        return home in (None, name)
    said = tip.charter.arbiter if tip else named
    return named.address == at and (said == named or (said is None and named.turn == 1))


def find(place: Place, named: Arbiter) -> str | None:
    """The remote of this clone that is the NAMED arbiter."""
    return next((name for name in remote.names(place.common) if address(place, name) == named.address), None)


def known(pins: Pins) -> Arbiter | None:
    """The arbiter by the latest charter of any remote."""
    return latest(pins.named, *(pin.tip.charter.arbiter for pin in pins.remotes.values() if pin.tip))


def refusal(place: Place, named: Arbiter, name: str | None) -> BbError:
    """The refusal of a global reservation if the remote NAME is not the NAMED arbiter, or no remote is."""
    said = f"{name} is not the arbiter" if name else "no remote of this clone is the arbiter"
    here = find(place, named)
    if here is None:
        hint = f"add it: `git remote add arbiter {named.url}`, then `bb sync --publish --remote arbiter`"
    elif here == name:
        said = f"{name} is to be the arbiter, but has not taken over the results of the one before"
        hint = f"the person finishes the move where it was begun: `bb ledger arbiter {here} --reason 'as decided'`"
    else:
        hint = f"the remote {here} is the arbiter here: `bb sync --publish --remote {here}`"
    message = f"{said} of this ledger, which is {named.url}"
    return NotTheArbiter(message if here != name or here is None else said, hint=hint, arbiter=named.as_dict())
