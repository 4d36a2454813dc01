"""Follows `git remote rename`: what was verified of a remote, and whether it may be published there, belongs to its
address and not to its name.

The addresses are compared only if git's configuration has changed since they were last compared. If a name has got
another address, and no remote has the former one, the repository has a new URL: nothing is moved then.
"""

from __future__ import annotations

import os

from bb.ledger.git import git
from bb.ledger.published import pins
from bb.ledger.travel import arbitration, remote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.ledger.git.place import Place
    from bb.ledger.published.pins import Pins


def pins_now(place: Place) -> Pins:
    """What is known about each remote, by its present name. Nothing is saved."""
    return _renamed(place, pins.read(place.store))[0]


def follow(place: Place) -> Pins:
    """The same, and saved if a name has changed. The caller holds the lock of syncs."""
    after, names = _renamed(place, pins.read(place.store))
    if names:
        _move_refs(place, names)
        pins.write(place.store, after)
    return after


def _renamed(place: Place, known: Pins) -> tuple[Pins, Mapping[str, str]]:
    """KNOWN by the present names, and the new name of each remote that has one."""
    stamp = _stamp(place)
    if not known.remotes:
        return known.replace(compared=stamp), {}
    if known.compared == stamp:
        return known, {}
    here = {name: arbitration.address(place, name) for name in remote.names(place.common)}
    new = _new_names(known, here)
    if new is None:
        return known, {}
    names = {name: new.get(name, name) for name in known.remotes}
    remotes = {
        names[name]: pin.replace(address=here.get(names[name]) or pin.address) for name, pin in known.remotes.items()
    }
    home, arbiter = names.get(known.home or ""), names.get(known.arbiter or "")
    basis = known.basis
    if known.arbiter and arbiter and known.arbiter != arbiter:
        basis = basis.replace(f" {known.arbiter} ", f" {arbiter} ", 1)
    return known.replace(remotes=remotes, home=home, arbiter=arbiter, basis=basis, compared=stamp), new


def _new_names(known: Pins, here: Mapping[str, str]) -> Mapping[str, str] | None:
    """The new name of each KNOWN remote that has one, by the addresses HERE. None if they do not tell: two names have
    one address, or the new name belongs to another remote whose own address is not known."""
    addresses = [address for address in here.values() if address]
    named = {address: name for name, address in here.items() if address}
    if len(named) < len(addresses):
        return None
    new: dict[str, str] = {}
    for name in known.remotes:
        former = _address(known, name)
        now = named.get(former)
        if now and now != name and here.get(name) != former:
            new[name] = now
    are_different = len({new.get(name, name) for name in known.remotes}) == len(known.remotes)
    return new if are_different else None


def _address(known: Pins, name: str) -> str:
    """The address of a remote when it was last compared. Earlier versions saved none, except for the arbiter."""
    address = known.remotes[name].address
    return address or (known.named.address if known.named and known.arbiter == name else "")


def _stamp(place: Place) -> str:
    """Changes whenever git's configuration of this clone does."""
    try:
        found = os.stat(os.path.join(place.common, "config"))
    except OSError:
        return ""
    return f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"


def _move_refs(place: Place, names: Mapping[str, str]) -> None:
    """Let the refs of the verified commits follow, because they keep git from deleting these commits."""
    listed = git.run(["for-each-ref", "--format=%(refname) %(objectname)", remote.VERIFIED], git_dir=place.common)
    commits = dict(row.split(" ") for row in listed.splitlines())
    old = {name: commit for name in names if (commit := commits.get(f"{remote.VERIFIED}{name}"))}
    taken = {names[name] for name in old}
    rows = [f"delete {remote.VERIFIED}{name}" for name in old if name not in taken]
    rows += [f"update {remote.VERIFIED}{names[name]} {commit}" for name, commit in old.items()]
    rows += [f"delete {remote.INCOMING}{name}" for name in names]
    git.output(["update-ref", "--stdin"], git_dir=place.common, given="".join(f"{row}\n" for row in rows).encode())
