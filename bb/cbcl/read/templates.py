"""Templates: messages with gaps, choices and sequences, and the evaluation of choices.

    PARAM                               a gap, at every occurrence of the plain symbol
    (or A B)                            A, or B if A is nil
    (cond (TEST TEMPLATE)… (else T))    the template of the first test that holds
    ((…) (…))                           a sequence of messages; only in place of a message

Choices are recognised at any depth, so a choice is never sent as data.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from bb.cbcl.read.fuel import Fuel
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
    equal,
    head,
    is_nil,
    lexeme,
)
from bb.kernel.errors import Refused

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

ExpansionFailed = Refused.declare(
    "EXPANSION_FAILED",
    "The template does not produce a valid message with these arguments",
    hint="run `bb cbcl explain` to see how the template was filled",
)


def is_sequence(node: Node) -> bool:
    """Whether a template is a sequence of messages: a list that begins with a list."""
    return node.tag == LIST and bool(node.value) and node.value[0].tag == LIST


def branches(cond: Node) -> list[Node]:
    """The alternative templates of a `cond`, as far as it is well-formed."""
    return [clause.value[1] for clause in cond.value[1:] if clause.tag == LIST and len(clause.value) == 2]


def problems_of_form(form: Node, params: Container[str]) -> Iterator[tuple[Node, str]]:
    """The mistakes in the form of an `or` or a `cond`. Its parts are not checked."""
    if head(form) == OR:
        if len(form.value) != 3:
            yield form, "`or` takes exactly two alternatives"
        return
    clauses = form.value[1:]
    if not clauses or (len(clauses) == 1 and _is_else(clauses[0])):
        yield form, "`cond` must have at least one test"
    for place, clause in enumerate(clauses):
        if clause.tag != LIST or len(clause.value) != 2:
            yield clause, "a clause of `cond` must be (TEST TEMPLATE)"
        elif _is_else(clause):
            if place < len(clauses) - 1:
                yield clause, "`else` must be the last clause of `cond`"
        else:
            yield from _problems_of_test(clause.value[0], params)


def _is_else(clause: Node) -> bool:
    return clause.tag == LIST and len(clause.value) == 2 and clause.value[0][:2] == (SYMBOL, ELSE)


def _problems_of_test(test: Node, params: Container[str]) -> Iterator[tuple[Node, str]]:
    parts = test.value if test.tag == LIST else []
    kind = parts[0][:2] if len(parts) == 3 else None
    if kind not in ((OPERATOR, EQUALS), (OPERATOR, TYPE_IS), (SYMBOL, MEMBER)):
        yield test, "a test must be (= PARAM VALUE), (member PARAM (VALUE…)) or (type? PARAM TYPE)"
        return
    if parts[1].tag != SYMBOL or parts[1].value not in params:
        yield parts[1], "a test must name a parameter of the performative"
    if kind == (OPERATOR, TYPE_IS) and (parts[2].tag != SYMBOL or parts[2].value not in TYPES):
        yield parts[2], f"the type must be one of {', '.join(TYPES)}"
    if kind == (SYMBOL, MEMBER) and parts[2].tag != LIST:
        yield parts[2], "`member` takes a list of values"


def smallest_extent(template: Node, gaps: Mapping[str, tuple[int, int]], fuel: Fuel) -> tuple[int, int]:
    """The smallest possible size and depth of a template's expansion: every one of its GAPS has its smallest value, and
    every choice takes its smallest alternative. The messages of a sequence are counted together."""
    extents: list[list[tuple[int, int]]] = [[]]  # the extents of the parts of each open list
    within: list[tuple[Node, Iterator[Node], bool]] = []
    following: Node | None = template
    may_be_sequence = True
    while True:
        if following is None:
            node, _, is_among_messages = within.pop()
            extents[-2].append(_together(node, extents.pop(), is_sequence=is_among_messages and is_sequence(node)))
        elif following.tag == LIST:
            fuel.spend(1 + len(following.value))
            within.append((following, iter(_parts(following)), may_be_sequence))
            extents.append([])
        else:
            gap = gaps.get(following.value) if following.tag == SYMBOL else None
            extents[-1].append(gap or (len(lexeme(following)), 0))
        if not within:
            return extents[0][0]
        node, rest, is_among_messages = within[-1]
        may_be_sequence = is_among_messages and (head(node) == COND or is_sequence(node))
        following = next(rest, None)


def _parts(node: Node) -> list[Node]:
    """The parts that the extent of a list is computed from: its elements, or its alternatives."""
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


# -- evaluation, once the parameters are bound


def evaluate(node: Node, bound: Mapping[str, Node], fuel: Fuel) -> tuple[Node, bool]:
    """The result of NODE, and whether it is a bound value, which is data and must not be evaluated."""
    otherwise: list[Node] = []  # the second alternatives of the enclosing `or`s, the innermost last
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
    """The template of the first test that holds."""
    for clause in cond.value[1:]:
        test, template = clause.value
        if _is_else(clause) or holds(test, bound, fuel):
            result: Node = template
            return result
    raise ExpansionFailed("no test of a `cond` holds, and it has no `else`")


def holds(test: Node, bound: Mapping[str, Node], fuel: Fuel) -> bool:
    """Whether a test holds for the value of its parameter. The value is always compared with a literal."""
    operator, param, literal = test.value
    value = bound[param.value]
    fuel.spend(1)
    if operator.value == EQUALS:
        return equal(value, literal, fuel)
    if operator.value == TYPE_IS:
        return value.tag in TYPES[literal.value]
    return any(equal(value, alternative, fuel) for alternative in literal.value)
