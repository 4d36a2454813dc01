"""The tree that every CBCL text is: lists of atoms, each with the octet it begins at.

    (tell @bob "hi" :n 1)   is   [tell, @bob, "hi", :n, 1]   under the tags   sym agent str kw num

A tag and a value say all that an atom means; where it stood is for people, and two trees are the same without it. What
walks a tree does so with a stack of its own, never by calling itself: how deep a text is, its sender decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from bb.cbcl.read.fuel import Fuel

SYMBOL, QUOTED, KEYWORD, AGENT = "sym", "qsym", "kw", "agent"
STRING, NUMBER, BOOLEAN, OPERATOR, LIST = "str", "num", "bool", "op", "list"
# What only its place makes a string: an unquoted date-time, an unquoted signature. No finished tree has any.
UNSETTLED = "unsettled"

SPEAKS, TYPE_IS, EQUALS, KEY, OPTIONAL, REST = "speak?", "type?", "=", "&key", "&optional", "&rest"
OPERATORS = (SPEAKS, TYPE_IS, EQUALS, KEY, OPTIONAL, REST)

MARKS = {SYMBOL: "", QUOTED: "'", KEYWORD: ":", AGENT: "@", NUMBER: "", OPERATOR: ""}
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
ESCAPED = str.maketrans(ESCAPES)
LONGEST_NUMBER = 1000  # digits of a number whose value matters
WHOLE = f"a whole number of at most {LONGEST_NUMBER:,} digits"


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


def listed(*elements: Node) -> Node:
    return Node(LIST, list(elements))


NIL = listed()


def is_list(node: Node) -> bool:
    return node.tag == LIST


def is_nil(node: Node) -> bool:
    """Whether NODE is the empty list, which stands for nothing."""
    return node.tag == LIST and not node.value


def head(node: Node) -> str | None:
    """The plain symbol that a list begins with; None where it begins otherwise, or is none."""
    if node.tag == LIST and node.value and node.value[0].tag == SYMBOL:
        return str(node.value[0].value)
    return None


def lexeme(node: Node) -> str:
    """An atom as it is written, in its one canonical spelling."""
    if node.tag == STRING:
        return f'"{node.value.translate(ESCAPED)}"'
    if node.tag == BOOLEAN:
        return "#t" if node.value else "#f"
    return MARKS[node.tag] + str(node.value)


def nodes(root: Node, fuel: Fuel | None = None) -> Iterator[Node]:
    """Every node of a tree once, in the order of the text. Each is a step of FUEL."""
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


def walk(root: Node, fuel: Fuel | None = None) -> Iterator[Step]:
    """Every node of a tree in the order of the text, each list once when it begins and once when it ends. Each node
    is a step of FUEL."""
    yield Step(root, 1 if root.tag == LIST else 0, is_end=False)
    if root.tag != LIST:
        return
    if fuel is not None:
        fuel.spend(1 + len(root.value))
    within = [(root, iter(root.value))]
    while within:
        node, rest = within[-1]
        child = next(rest, None)
        if child is None:
            within.pop()
            yield Step(node, len(within) + 1, is_end=True)
        elif child.tag == LIST:
            if fuel is not None:
                fuel.spend(1 + len(child.value))
            within.append((child, iter(child.value)))
            yield Step(child, len(within), is_end=False)
        else:
            yield Step(child, len(within), is_end=False)


def text_of(root: Node, fuel: Fuel | None = None) -> str:
    """The canonical text: one space between elements, none beside a parenthesis that they stand in."""
    if root.tag != LIST:
        return lexeme(root)
    within: list[tuple[Iterator[Node], list[str]]] = []  # what is left of each list, and what of it is written
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
    """How long a tree's canonical text is, in characters, and how deep its lists stand in each other."""

    size: int
    depth: int


def extent(root: Node) -> Extent:
    """The extent of a tree. An atom has no depth."""
    size = deepest = 0
    for node, depth, is_end in walk(root):
        if node.tag != LIST:
            size += len(lexeme(node)) + 1  # and the space behind it
        elif is_end:
            size += 1 if node.value else 2  # the space behind its last element becomes the parenthesis
        else:
            size += 1
            deepest = max(deepest, depth)
    return Extent(size - 1, deepest)


def depth(root: Node) -> int:
    """How deep a tree's lists stand in each other: its extent without its size, one level after the other."""
    found, level = 0, [root] if root.tag == LIST else []
    while level:
        found += 1
        level = [child for node in level for child in node.value if child.tag == LIST]
    return found


def same(one: Node, other: Node, fuel: Fuel | None = None) -> bool:
    """Whether two trees say the same, wherever they stood. Each two nodes are a step of FUEL."""
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


def whole(node: Node) -> int | None:
    """The whole number that NODE is; None when it is none, or longer than any that means something."""
    is_whole = node.tag == NUMBER and "." not in node.value and len(node.value) <= LONGEST_NUMBER
    return int(node.value) if is_whole else None


def as_json(root: Node) -> list[Any]:
    """The pair `[tag, value]` that a tree is exchanged as."""
    made: list[list[Any]] = [[]]
    for node, _, is_end in walk(root):
        if is_end:
            elements = made.pop()
            made[-1].append([LIST, elements])
        elif node.tag == LIST:
            made.append([])
        else:
            made[-1].append([node.tag, node.value])
    found: list[Any] = made[0][0]
    return found
