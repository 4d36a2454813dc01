"""Pretty-printing of a text: several lines, 80 columns wide if possible.

A list that fits on the rest of its line is written there. Otherwise its head and the next elements that fit stay on
the line, and everything else goes on lines of its own, indented by two columns; a keyword stays beside its value. The
output parses to the same tree. Comments are lost, because they are not part of a tree.
"""

from __future__ import annotations

from collections.abc import Iterator

from bb.cbcl.read.fuel import Fuel
from bb.cbcl.read.tree import KEYWORD, LIST, Node, lexeme, text_of
from bb.kernel.gc_pause import GcPause

WIDTH = 80
STEP = 2
BESIDE_HEAD = 2  # elements beside the head, if they fit: a name, a recipient, a list of parameters


class _Piece:
    """A piece of output: an element, or a keyword with its value. INDENT applies if it begins a line; CLOSING is the
    number of parentheses directly after it."""

    __slots__ = ("closing", "flows", "indent", "nodes")

    def __init__(self, nodes: list[Node], indent: int, closing: int, *, flows: bool) -> None:
        self.nodes, self.indent, self.closing, self.flows = nodes, indent, closing, flows


def pretty_print(root: Node, width: int = WIDTH, fuel: Fuel | None = None) -> str:
    """ROOT as text in lines of at most WIDTH columns, unless an atom is longer."""
    with GcPause():
        return _Page(_sizes(root, fuel), width, fuel).filled(root)


def _sizes(root: Node, fuel: Fuel | None) -> dict[int, int]:
    """The length of the canonical text of each list, by the identity of its node."""
    by_list: dict[int, int] = {}
    within: list[tuple[Node, Iterator[Node]]] = []
    sizes: list[int] = []  # the size so far of each open list, with the spaces
    following: Node | None = root if root.tag == LIST else None
    while following is not None or within:
        if following is not None:
            if fuel is not None:
                fuel.spend(1 + len(following.value))
            within.append((following, iter(following.value)))
            sizes.append(max(len(following.value) - 1, 0) + 2)
        node, rest = within[-1]
        following, size = None, 0
        for child in rest:
            if child.tag == LIST:
                following = child
                break
            size += len(lexeme(child))
        sizes[-1] += size
        if following is None:
            within.pop()
            by_list[id(node)] = size = sizes.pop()
            if sizes:
                sizes[-1] += size
    return by_list


class _Page:
    """The lines that are being written."""

    def __init__(self, sizes: dict[int, int], width: int, fuel: Fuel | None) -> None:
        self._sizes, self._width, self._fuel = sizes, width, fuel
        self._written: list[str] = []
        self._column = 0

    def filled(self, root: Node) -> str:
        left: list[_Piece | int] = [_Piece([root], 0, 0, flows=True)]
        while left:
            piece = left.pop()
            if isinstance(piece, int):
                self._write(")" * piece)
                continue
            self._begin(piece)
            for node in piece.nodes[:-1]:
                self._write(f"{lexeme(node)} ")
            node = piece.nodes[-1]
            if node.tag != LIST or not node.value or self._has_room(self._size(node) + piece.closing):
                self._write(text_of(node, self._fuel))
            else:
                self._write("(")
                left.append(1)
                left += reversed(list(self._pieces(node, piece.closing + 1)))
        return "".join(self._written)

    def _begin(self, piece: _Piece) -> None:
        """Move to the start of PIECE: on this line after a space, or on a new line."""
        if not self._written or self._written[-1] == "(":
            return
        size = sum(map(self._size, piece.nodes)) + len(piece.nodes) + piece.closing
        if piece.flows and self._has_room(size):
            self._write(" ")
        else:
            self._written.append("\n" + " " * piece.indent)
            self._column = piece.indent

    def _pieces(self, node: Node, closing: int) -> Iterator[_Piece]:
        """The pieces of a list that does not fit on one line."""
        if self._fuel is not None:
            self._fuel.spend(1 + len(node.value))
        indent = self._column + (0 if node.value[0].tag == LIST else STEP - 1)
        place, last, was_atom = 0, len(node.value) - 1, True
        while place <= last:
            nodes = node.value[place : place + 1]
            if nodes[0].tag == KEYWORD and place < last and node.value[place + 1].tag != KEYWORD:
                nodes = node.value[place : place + 2]
            is_atom = len(nodes) == 1 and nodes[0].tag not in (LIST, KEYWORD)
            flows = was_atom and (is_atom or (nodes[0].tag == LIST and place <= BESIDE_HEAD))
            place += len(nodes)
            yield _Piece(nodes, indent, closing if place > last else 0, flows=flows)
            was_atom = is_atom

    def _has_room(self, size: int) -> bool:
        return self._column + size <= self._width

    def _size(self, node: Node) -> int:
        return self._sizes[id(node)] if node.tag == LIST else len(lexeme(node))

    def _write(self, text: str) -> None:
        self._written.append(text)
        self._column += len(text)
