"""The canonical form that is signed and hashed: RFC 9804's, of the tree itself.

Every atom is an octet string of its one spelling, its length before it: `(tell @bob)` is `(4:tell4:@bob)`. RFC 9804
knows no types, so read literally the string "route" and the symbol route would be the same octets, and a signature
would hold for either. Therefore strings, and nothing else, carry a display hint. The spellings of the other kinds
differ from each other by themselves, so two trees have one canonical form only if they say the same, and any reader of
RFC 9804 can read it. Order is kept, and nothing is left out: comments and layout are gone already.
"""

from __future__ import annotations

import hashlib

from bb.cbcl.tree import LIST, STRING, lexeme, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bb.cbcl.fuel import Fuel
    from bb.cbcl.tree import Node

HINT = b"[24:text/plain;charset=utf-8]"


def octets(root: Node, fuel: Fuel | None = None) -> bytes:
    """The canonical octets of a tree."""
    pieces: list[bytes] = []
    for node, _, is_end in walk(root, fuel):
        if node.tag == LIST:
            pieces.append(b")" if is_end else b"(")
        elif node.tag == STRING:
            said = node.value.encode()
            pieces.append(b"%b%d:%b" % (HINT, len(said), said))
        else:
            said = lexeme(node).encode()
            pieces.append(b"%d:%b" % (len(said), said))
    return b"".join(pieces)


def digest(root: Node, fuel: Fuel | None = None) -> str:
    """The SHA-256 of a tree's canonical octets: what it is known by."""
    return hashed(octets(root, fuel))


def hashed(canonical: bytes) -> str:
    """The same, where the canonical octets are there already."""
    return hashlib.sha256(canonical).hexdigest()
