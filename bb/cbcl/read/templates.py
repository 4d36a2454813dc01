"""Templates: messages with gaps. What in them is a choice, a sequence or a gap, and what a choice comes to.

    PARAM                               a gap, wherever the plain symbol stands
    (or A B)                            A, or B where A is nil
    (cond (TEST TEMPLATE)… (else T))    the template of the first test that holds
    ((…) (…))                           a sequence of messages; only where a message may stand

Choices are recognised at any depth, so that none is ever shipped as if it were data.
"""

from __future__ import annotations

from bb.cbcl.read.tree import (
    AGENT,
    BOOLEAN,
    EQUALS,
    LIST,
    NUMBER,
    OPERATOR,
    QUOTED,
    STRING,
    SYMBOL,
    TYPE_IS,
    Node,
    head,
    is_nil,
    lexeme,
    same,
)
from bb.kernel.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from bb.cbcl.read.fuel import Fuel

OR, COND, ELSE, MEMBER = "or", "cond", "else", "member"
FORMS = (OR, COND)
TYPES = {
    "string": (STRING,),
    "number": (NUMBER,),
    "boolean": (BOOLEAN,),
    "symbol": (SYMBOL, QUOTED),
    "list": (LIST,),
    "agent": (AGENT,),
}


class ExpansionFailed(Refused):
    """The template makes no message of that."""

    code = "EXPANSION_FAILED"
    hint = "`bb cbcl explain` shows how it was filled"


def is_sequence(node: Node) -> bool:
    """Whether a template makes several messages: a list that begins with a list."""
    return node.tag == LIST and bool(node.value) and node.value[0].tag == LIST


def branches(cond: Node) -> list[Node]:
    """The templates of a `cond` that it may choose from, as far as it is well-formed."""
    return [clause.value[1] for clause in cond.value[1:] if clause.tag == LIST and len(clause.value) == 2]


def problems_of_form(form: Node, params: Container[str]) -> Iterator[tuple[Node, str]]:
    """What is wrong with an `or` or a `cond`, its own parts considered, not what stands within them."""
    if head(form) == OR:
        if len(form.value) != 3:
            yield form, "`or` takes exactly two"
        return
    clauses = form.value[1:]
    if not clauses or (len(clauses) == 1 and _is_else(clauses[0])):
        yield form, "`cond` needs a test"
    for place, clause in enumerate(clauses):
        if clause.tag != LIST or len(clause.value) != 2:
            yield clause, "a clause of `cond` is (TEST TEMPLATE)"
        elif _is_else(clause):
            if place < len(clauses) - 1:
                yield clause, "`else` stands last"
        else:
            yield from _problems_of_test(clause.value[0], params)


def _is_else(clause: Node) -> bool:
    return clause.tag == LIST and len(clause.value) == 2 and clause.value[0][:2] == (SYMBOL, ELSE)


def _problems_of_test(test: Node, params: Container[str]) -> Iterator[tuple[Node, str]]:
    parts = test.value if test.tag == LIST else []
    kind = parts[0][:2] if len(parts) == 3 else None
    if kind not in ((OPERATOR, EQUALS), (OPERATOR, TYPE_IS), (SYMBOL, MEMBER)):
        yield test, "a test is (= PARAM VALUE), (member PARAM (VALUE…)) or (type? PARAM TYPE)"
        return
    if parts[1].tag != SYMBOL or parts[1].value not in params:
        yield parts[1], "a test is about a parameter"
    if kind == (OPERATOR, TYPE_IS) and (parts[2].tag != SYMBOL or parts[2].value not in TYPES):
        yield parts[2], f"types are {', '.join(TYPES)}"
    if kind == (SYMBOL, MEMBER) and parts[2].tag != LIST:
        yield parts[2], "`member` looks in a list of values"


def smallest(template: Node, gaps: Mapping[str, tuple[int, int]], fuel: Fuel) -> tuple[int, int]:
    """The least size and depth that a template can come to, where each of its GAPS is filled with the least it takes,
    and every choice comes to its smallest. A sequence's messages are counted together."""
    found: list[list[tuple[int, int]]] = [[]]  # of what stands within each list that is gone into
    within: list[tuple[Node, Iterator[Node], bool]] = []
    following: Node | None = template
    may_be_sequence = True
    while True:
        if following is None:
            node, _, is_among_messages = within.pop()
            found[-2].append(_together(node, found.pop(), is_sequence=is_among_messages and is_sequence(node)))
        elif following.tag == LIST:
            fuel.spend(1 + len(following.value))
            within.append((following, iter(_parts(following)), may_be_sequence))
            found.append([])
        else:
            gap = gaps.get(following.value) if following.tag == SYMBOL else None
            found[-1].append(gap or (len(lexeme(following)), 0))
        if not within:
            return found[0][0]
        node, rest, is_among_messages = within[-1]
        may_be_sequence = is_among_messages and (head(node) == COND or is_sequence(node))
        following = next(rest, None)


def _parts(node: Node) -> list[Node]:
    """What a list's extent is reckoned from: its elements, or what it chooses from."""
    if head(node) == COND:
        return branches(node)
    parts: list[Node] = node.value[1:] if head(node) == OR else node.value
    return parts


def _together(node: Node, parts: list[tuple[int, int]], *, is_sequence: bool) -> tuple[int, int]:
    sizes, depths = [size for size, _ in parts], [depth for _, depth in parts]
    if head(node) in FORMS:
        return min(sizes, default=0), min(depths, default=0)
    if is_sequence:
        return sum(sizes), max(depths, default=0)
    return sum(sizes) + max(len(parts) - 1, 0) + 2, 1 + max(depths, default=0)


# -- what stands in a place, once the parameters are bound


def chosen(node: Node, bound: Mapping[str, Node], fuel: Fuel) -> tuple[Node, bool]:
    """What stands in the place of NODE, and whether it is somebody's value, which is never looked into."""
    otherwise: list[Node] = []  # what is taken instead where it comes to nil, the innermost last
    while True:
        name = head(node)
        fuel.spend(1)
        if name == OR and len(node.value) == 3:
            otherwise.append(node.value[2])
            node = node.value[1]
        elif name == COND:
            node = branch(node, bound, fuel)
        else:
            value = bound.get(node.value) if node.tag == SYMBOL else None
            if not (otherwise and is_nil(node if value is None else value)):
                return (node, False) if value is None else (value, True)
            node = otherwise.pop()


def branch(cond: Node, bound: Mapping[str, Node], fuel: Fuel) -> Node:
    """The template behind the first test that holds."""
    for clause in cond.value[1:]:
        test, template = clause.value
        if _is_else(clause) or holds(test, bound, fuel):
            found: Node = template
            return found
    raise ExpansionFailed("no test of a `cond` holds, and it has no `else`")


def holds(test: Node, bound: Mapping[str, Node], fuel: Fuel) -> bool:
    """Whether a test is true of what its parameter is bound to. What it is compared with is always a literal."""
    operator, param, literal = test.value
    value = bound[param.value]
    fuel.spend(1)
    if operator.value == EQUALS:
        return same(value, literal, fuel)
    if operator.value == TYPE_IS:
        return value.tag in TYPES[literal.value]
    return any(same(value, each, fuel) for each in literal.value)
