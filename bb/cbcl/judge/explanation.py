"""Explanation of a call: the value of each parameter and its source, the result of each choice, the limits.

The messages come from `expansion`. The choices are found by a second walk through the template, by the same rules but
without building anything, so they can be explained even if the expansion fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bb.cbcl.judge import expansion
from bb.cbcl.judge.expansion import Expansion, Limits
from bb.cbcl.read.definition import DEPTH, SIZE, Definition, Performative
from bb.cbcl.read.fuel import Fuel, for_text
from bb.cbcl.read.message import Call, Lang, Limited, Message, every_layer
from bb.cbcl.read.reader import SIZE_RECOMMENDED
from bb.cbcl.read.templates import COND, ELSE, OR, holds
from bb.cbcl.read.tree import LIST, SYMBOL, Node, head, is_nil
from bb.kernel.errors import BbError
from bb.kernel.record import Record

DECLARED, HINT, POLICY, CEILING = "declared", "hint", "policy", "ceiling"
ARGUMENT, KEYWORD, NOTHING = "argument", "keyword", "nil"


class Bound(Record):
    """A parameter, its value and the source of the value: a positional argument, a keyword, or nil by default."""

    name: str
    section: str
    value: Node
    source: str
    place: int | None = None  # position of the argument, from 1; the first one if a rest takes several


class Tried(Record):
    """A branch of a choice that was tried: its test, and whether it was taken."""

    test: Node | None  # None in an `or` and for `else`
    is_taken: bool
    why: str


class Choice(Record):
    """An `or` or a `cond`, and its result."""

    form: Node
    tried: tuple[Tried, ...]
    taken: Node | None  # the template that replaces it; None if no test holds


class Limit(Record):
    """A limit, with its value from each source. The smallest value applies."""

    name: str
    said: dict[str, int]

    @property
    def granted(self) -> int:
        return min(self.said.values())

    @property
    def source(self) -> str:
        """The source of the smallest value; if several agree, the one closest to the message."""
        return next(source for source, value in self.said.items() if value == self.granted)


class Explanation(Record):
    """Everything known about a call."""

    dialect: Definition
    performative: Performative
    call: Call
    bound: tuple[Bound, ...]
    choices: tuple[Choice, ...]
    limits: tuple[Limit, ...]
    expansion: Expansion | None
    refusal: BbError | None


def explain(
    message: Message, dialects: Mapping[str, Definition], policy: Limits, fuel: Fuel | None = None
) -> Explanation | None:
    """How MESSAGE is expanded under a POLICY; None if it contains no call. An error in the call itself is refused, as
    by an expansion; an error in the result is part of the explanation."""
    fuel = fuel or for_text(SIZE_RECOMMENDED)
    called = _called(message)
    if called is None:
        return None
    scope, call = called
    dialect, performative = expansion.find(call.name, scope, dialects)
    values = expansion.bind(call, performative)
    limits = tuple(_limits(message, (dialect, dialects.get(scope, dialect)), policy))
    try:
        expanded, refusal = expansion.expand(message, dialects, policy, fuel), None
    except BbError as error:
        expanded, refusal = None, error
    return Explanation(
        dialect,
        performative,
        call,
        tuple(_bound(call, performative, values)),
        tuple(_choices(performative.template, values, fuel)),
        limits,
        expanded,
        refusal,
    )


def _called(message: Message) -> tuple[str, Call] | None:
    """The call in a message, with the name of its dialect."""
    for layer in every_layer(message):
        if isinstance(layer, Lang) and isinstance(layer.inner, Call):
            return layer.dialect, layer.inner
    return None


def _bound(call: Call, performative: Performative, values: Mapping[str, Node]) -> Iterator[Bound]:
    keywords = dict(call.kwargs)
    place = 0
    for param in performative.params:
        if param.section == "key":
            source, at = (KEYWORD, None) if param.name in keywords else (NOTHING, None)
        else:
            place += 1
            source, at = (ARGUMENT, place) if place <= len(call.args) else (NOTHING, None)
        yield Bound(param.name, param.section, values[param.name], source, at)


def _limits(message: Message, spoken: Sequence[Definition], policy: Limits) -> Iterator[Limit]:
    hints: dict[str, int] = {}
    for layer in every_layer(message):
        for name, value in ((DEPTH, layer.depth), (SIZE, layer.size)) if isinstance(layer, Limited) else ():
            if value is not None:
                hints[name] = min(value, hints.get(name, value))
    widest = expansion.MAXIMUM_ROOM
    for name, ours, most in ((DEPTH, policy.depth, widest.depth), (SIZE, policy.size, widest.size)):
        declared = min((value for dialect in spoken if (value := dialect.limit(name))), default=None)
        values = {HINT: hints.get(name), DECLARED: declared, POLICY: ours, CEILING: most}
        yield Limit(name, {source: value for source, value in values.items() if value})


# -- the result of each choice


def _choices(template: Node, bound: Mapping[str, Node], fuel: Fuel) -> Iterator[Choice]:
    """Every choice that the expansion reaches, in text order. It stops at a choice without a test that holds."""
    left = [template]
    while left:
        choices, node = _chosen(left.pop(), bound, fuel)
        yield from choices
        if node is None:
            return
        is_gap = node.tag == SYMBOL and node.value in bound
        left += reversed(node.value) if node.tag == LIST and not is_gap else ()


def _chosen(node: Node, bound: Mapping[str, Node], fuel: Fuel) -> tuple[list[Choice], Node | None]:
    """The choices at one position of a template, in order, and the node that they select. As in `templates.chosen`,
    each is visited once."""
    met: list[Choice] = []
    undecided: list[int] = []  # the `or`s whose first alternative is being evaluated, the innermost last
    while True:
        fuel.spend(1)
        if head(node) == OR and len(node.value) == 3:
            undecided.append(len(met))
            met.append(_either(node, 1, "the first alternative is not nil"))
            node = node.value[1]
        elif head(node) == COND:
            met.append(_tests(node, bound, fuel))
            if met[-1].taken is None:
                for place in undecided:
                    met[place] = _either(met[place].form, 1, "no test of the first alternative holds")
                return met, None
            node = met[-1].taken
        elif undecided and is_nil(bound.get(node.value, node) if node.tag == SYMBOL else node):
            place = undecided.pop()
            met[place] = _either(met[place].form, 2, "the first alternative is nil")
            node = met[place].form.value[2]
        else:
            return met, node


def _either(node: Node, number: int, why: str) -> Choice:
    return Choice(node, (Tried(None, is_taken=True, why=why),), node.value[number])


def _tests(node: Node, bound: Mapping[str, Node], fuel: Fuel) -> Choice:
    tried: list[Tried] = []
    for clause in node.value[1:]:
        test, template = clause.value
        is_else = test[:2] == (SYMBOL, ELSE)
        is_taken = is_else or holds(test, bound, fuel)
        why = "no earlier test holds" if is_else else "the test holds" if is_taken else "the test does not hold"
        tried.append(Tried(None if is_else else test, is_taken, why))
        if is_taken:
            return Choice(node, tuple(tried), template)
    return Choice(node, tuple(tried), None)
