"""The tree of a CBCL text: nested lists of atoms, each with the position of its first octet.

    (tell @bob "hi" :n 1)   is   [tell, @bob, "hi", :n, 1]   under the tags   sym agent str kw num

A tag and a value define an atom. The position is only for error reports and is ignored when trees are compared. No
function walks a tree by recursion, because the sender of a text decides how deep it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from bb.cbcl.read.fuel import Fuel

SYMBOL, QUOTED, KEYWORD, AGENT = "sym", "qsym", "kw", "agent"
STRING, NUMBER, BOOLEAN, OPERATOR, LIST = "str", "num", "bool", "op", "list"
# An unquoted date-time or signature, which is a string in some places. A finished tree contains none.
UNSETTLED = "unsettled"

SPEAKS, TYPE_IS, EQUALS, KEY, OPTIONAL, REST = "speak?", "type?", "=", "&key", "&optional", "&rest"
OPERATORS = (SPEAKS, TYPE_IS, EQUALS, KEY, OPTIONAL, REST)

MARKS = {SYMBOL: "", QUOTED: "'", KEYWORD: ":", AGENT: "@", NUMBER: "", OPERATOR: ""}
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPED = str.maketrans(ESCAPES)
LONGEST_NUMBER = 1000  # digits of a number that is converted to a value
WHOLE_NUMBER = f"a whole number of at most {LONGEST_NUMBER:,} digits"


class Node(NamedTuple):
    """An atom, whose value is its text, or a list, whose value is its elements."""

    tag: str
    value: Any
    at: int = 0


def symbol(name: str) -> Node:
    return Node(SYMBOL, name)


def agent(name: str) -> Node:
    return Node(AGENT, name)


def keyword(name: str) -> Node:
    return Node(KEYWORD, name)


def string(text: str) -> Node:
    return Node(STRING, text)


def list_of(*elements: Node) -> Node:
    return Node(LIST, list(elements))


NIL = list_of()


def is_list(node: Node) -> bool:
    return node.tag == LIST


def is_nil(node: Node) -> bool:
    """Whether NODE is the empty list."""
    return node.tag == LIST and not node.value


def head(node: Node) -> str | None:
    """The plain symbol at the beginning of a list; None if there is none or NODE is not a list."""
    if node.tag == LIST and node.value and node.value[0].tag == SYMBOL:
        return str(node.value[0].value)
    return None


def lexeme(node: Node) -> str:
    """The canonical spelling of an atom."""
    if node.tag == STRING:
        return f'"{node.value.translate(ESCAPED)}"'
    if node.tag == BOOLEAN:
        return "#t" if node.value else "#f"
    return MARKS[node.tag] + str(node.value)


def nodes(root: Node, fuel: Fuel | None = None) -> Iterator[Node]:
    """Every node of a tree once, in text order. Each costs one step of FUEL."""
    left = [root]
    while left:
        node = left.pop()
        yield node
        if node.tag == LIST:
            if fuel is not None:
                fuel.spend(1 + len(node.value))
            left += reversed(node.value)


class Step(NamedTuple):
    """One step of a walk: into a list, out of it, or past an atom."""

    node: Node
    depth: int
    is_end: bool


def walk(root: Node) -> Iterator[Step]:
    """Every node of a tree in text order; a list comes twice, at its beginning and at its end."""
    yield Step(root, 1 if root.tag == LIST else 0, is_end=False)
    if root.tag != LIST:
        return
    within = [(root, iter(root.value))]
    while within:
        node, rest = within[-1]
        child = next(rest, None)
        if child is None:
            within.pop()
            yield Step(node, len(within) + 1, is_end=True)
        elif child.tag == LIST:
            within.append((child, iter(child.value)))
            yield Step(child, len(within), is_end=False)
        else:
            yield Step(child, len(within), is_end=False)


def text_of(root: Node, fuel: Fuel | None = None) -> str:
    """The canonical text: one space between elements, none after `(` or before `)`."""
    if root.tag != LIST:
        return lexeme(root)
    within: list[
        tuple[Iterator[Node], list[str]]
    ] = []  # for each open list: the remaining elements and the text so far
    following: Node | None = root
    while True:
        if following is not None:
            if fuel is not None:
                fuel.spend(1 + len(following.value))
            within.append((iter(following.value), []))
        rest, pieces = within[-1]
        following = None
        for child in rest:
            if child.tag == LIST:
                following = child
                break
            pieces.append(lexeme(child))
        if following is None:
            within.pop()
            text = f"({' '.join(pieces)})"
            if not within:
                return text
            within[-1][1].append(text)


class Extent(NamedTuple):
    """The length of a tree's canonical text in characters, and the nesting depth of its lists."""

    size: int
    depth: int


def extent(root: Node) -> Extent:
    """The extent of a tree. An atom has no depth."""
    size = deepest = 0
    for node, depth, is_end in walk(root):
        if node.tag != LIST:
            size += len(lexeme(node)) + 1  # and the space after it
        elif is_end:
            size += 1 if node.value else 2  # the space after its last element becomes the parenthesis
        else:
            size += 1
            deepest = max(deepest, depth)
    return Extent(size - 1, deepest)


def depth(root: Node) -> int:
    """The nesting depth of a tree's lists, counted level by level."""
    levels, level = 0, [root] if root.tag == LIST else []
    while level:
        levels += 1
        level = [child for node in level for child in node.value if child.tag == LIST]
    return levels


def equal(one: Node, other: Node, fuel: Fuel | None = None) -> bool:
    """Whether two trees are equal, apart from positions. Each pair of nodes costs one step of FUEL."""
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if fuel is not None:
            fuel.spend(1)
        if left.tag != right.tag:
            return False
        if left.tag != LIST:
            if left.value != right.value:
                return False
        elif len(left.value) != len(right.value):
            return False
        else:
            pairs.extend(zip(left.value, right.value, strict=True))
    return True


def whole_number(node: Node) -> int | None:
    """The whole number in NODE; None if it is not one or has too many digits."""
    is_whole = node.tag == NUMBER and "." not in node.value and len(node.value) <= LONGEST_NUMBER
    return int(node.value) if is_whole else None


def as_json(root: Node) -> list[Any]:
    """A tree as JSON: the pair `[tag, value]`."""
    lists: list[list[Any]] = [[]]
    for node, _, is_end in walk(root):
        if is_end:
            elements = lists.pop()
            lists[-1].append([LIST, elements])
        elif node.tag == LIST:
            lists.append([])
        else:
            lists[-1].append([node.tag, node.value])
    pair: list[Any] = lists[0][0]
    return pair
