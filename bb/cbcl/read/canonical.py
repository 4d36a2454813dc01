"""The canonical form that is signed and hashed: RFC 9804's, of the tree itself.

Every atom is an octet string of its one spelling, its length before it: `(tell @bob)` is `(4:tell4:@bob)`. RFC 9804
knows no types, so read literally the string "route" and the symbol route would be the same octets, and a signature
would hold for either. Therefore strings, and nothing else, carry a display hint. The spellings of the other kinds
differ from each other by themselves, so two trees have one canonical form only if they say the same, and any reader of
RFC 9804 can read it. Order is kept, and nothing is left out: comments and layout are gone already.
"""

from __future__ import annotations

import hashlib

from bb.cbcl.read.tree import LIST, STRING, lexeme

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.cbcl.read.fuel import Fuel
    from bb.cbcl.read.tree import Node

HINT = b"[24:text/plain;charset=utf-8]"


def octets(root: Node, fuel: Fuel | None = None) -> bytes:
    """The canonical octets of a tree."""
    if root.tag != LIST:
        return _atom(root)
    pieces: list[bytes] = []
    within: list[Iterator[Node]] = []
    following: Node | None = root
    while True:
        if following is not None:
            if fuel is not None:
                fuel.spend(1 + len(following.value))
            within.append(iter(following.value))
            pieces.append(b"(")
        following = None
        for child in within[-1]:
            if child.tag == LIST:
                following = child
                break
            pieces.append(_atom(child))
        if following is None:
            within.pop()
            pieces.append(b")")
            if not within:
                return b"".join(pieces)


def _atom(node: Node) -> bytes:
    if node.tag == STRING:
        said: bytes = node.value.encode()
        return b"%b%d:%b" % (HINT, len(said), said)
    said = lexeme(node).encode()
    return b"%d:%b" % (len(said), said)


def digest(root: Node, fuel: Fuel | None = None) -> str:
    """The SHA-256 of a tree's canonical octets: what it is known by."""
    return hashed(octets(root, fuel))


def hashed(canonical: bytes) -> str:
    """The same, where the canonical octets are there already."""
    return hashlib.sha256(canonical).hexdigest()
