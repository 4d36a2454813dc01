"""The canonical form of a tree, which is signed and hashed: the canonical S-expressions of RFC 9804.

Every atom is an octet string of its canonical spelling, after its length: `(tell @bob)` is `(4:tell4:@bob)`. RFC 9804
has no types, so without a mark the string "route" and the symbol route would be the same octets, and one signature
would be valid for both. Therefore strings, and only strings, carry a display hint. The spellings of the other types
already differ, so different trees have different canonical forms, and any reader of RFC 9804 can read them. The order
of elements is kept. The tree contains no comments and no layout.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from bb.cbcl.read.fuel import Fuel
from bb.cbcl.read.tree import LIST, STRING, Node, lexeme

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
        text: bytes = node.value.encode()
        return b"%b%d:%b" % (HINT, len(text), text)
    text = lexeme(node).encode()
    return b"%d:%b" % (len(text), text)


def digest(root: Node, fuel: Fuel | None = None) -> str:
    """The SHA-256 of a tree's canonical octets, which identifies it."""
    return digest_of_octets(octets(root, fuel))


def digest_of_octets(canonical: bytes) -> str:
    """The SHA-256 of canonical octets."""
    return hashlib.sha256(canonical).hexdigest()
