"""Verification of a dialect before its installation: every broken rule, with its position (draft, Section 3.2).

    R1  declarative only: templates are messages with gaps, choices and sequences. No calls, no `lang`, no `meta`; no
        performative occurs as the head of a list in its own expansion, directly or through other performatives
    R2  all three limits are declared, are valid, and leave room for the smallest message of each template
    R3  no core performative and no reserved word of the core is redefined, in upper or lower case
    R4  the author is named
    structure, parent: rules that the draft does not state but every implementation needs

Every rule visits a node once or twice and keeps its own stack, so the work grows linearly with the length of the
definition, even a hostile one. Work is counted in steps. `:max-verify-time` grants a number of steps that is the same
on every machine. All violations are counted; only the first ones are reported.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from bb.cbcl.read.definition import DEPTH, LIMITS, SIZE, TIME, Definition, Performative
from bb.cbcl.read.fuel import Fuel, OutOfSteps, steps_of
from bb.cbcl.read.reader import excerpt
from bb.cbcl.read.templates import COND, FORMS, OR, branches, is_sequence, problems_of_form, smallest_extent
from bb.cbcl.read.tree import LIST, OPERATOR, SYMBOL, Node, head, nodes
from bb.cbcl.read.words import CORE, HEADS, PERFORMATIVES, WRAPPERS
from bb.kernel.gc_pause import GcPause
from bb.kernel.record import Record

R1, R2, R3, R4, STRUCTURE, PARENT = "R1", "R2", "R3", "R4", "structure", "parent"
RECOMMENDED = {DEPTH: 32, SIZE: 8192, TIME: 5000}
CEILINGS = {DEPTH: 64, SIZE: 65_536, TIME: 60_000}
ATOM, EMPTY_LIST = (1, 0), (2, 1)  # the least size and depth of a value in a gap; a rest is always a list
TEMPLATE_WORDS = (OR, COND, "else", "member", "list")
VERSION = 1  # of the rules: increase it with every change that may alter the verdict on a definition
MOST_REPORTED, MOST_COUNTED = 50, 1000  # the maximum number of violations that are reported, and that are counted


class Violation(Record):
    """A broken rule: the performative, the position and the reason. A warning does not count as broken."""

    rule: str
    at: int
    why: str
    performative: str | None = None
    is_warning: bool = False


class Verdict(Record):
    """The result of a verification: the first violations in text order, their total COUNT (up to MOST_COUNTED), the
    RULES that are broken, and the STEPS used of those GRANTED."""

    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...]
    count: int = 0
    rules: frozenset[str] = frozenset()
    steps: int = 0
    granted: int = 0

    @property
    def is_sound(self) -> bool:
        return not self.count

    @property
    def others(self) -> str:
        """The number of violations after the first, in words; empty if there are no more."""
        least = "at least " if self.count == MOST_COUNTED else ""
        return f", and {least}{self.count - 1:,} more" if self.count > 1 else ""

    @property
    def is_sound_but_for_its_parent(self) -> bool:
        """Whether the only broken rule, if any, is that the parent must be installed. A later install can cure that."""
        return self.rules <= {PARENT}


def verify(definition: Definition, installed: Container[str] = (), most: int | None = None) -> Verdict:
    """The rules that DEFINITION breaks if those dialects are INSTALLED. The steps granted are the equivalent of the
    time that it declares, and of MOST milliseconds at most."""
    milliseconds = _granted(definition, most)
    fuel = Fuel(steps_of(milliseconds))
    violations: list[Violation] = []
    warnings: list[Violation] = []
    count, rules = 0, set()
    with GcPause():
        try:
            for violation in _broken(definition, installed, fuel):
                if violation.is_warning:
                    warnings.append(violation)
                    continue
                count += 1
                rules.add(violation.rule)
                violations.append(violation)
                if count == MOST_COUNTED:
                    break
        except OutOfSteps.error:
            at = definition.places.get(TIME, definition.node.at)
            why = f"verification needs more than {fuel.granted:,} steps, the equivalent of {milliseconds} ms"
            violations, count = [Violation(R2, at, why), *violations], count + 1
            rules.add(R2)
    first, warned = tuple(_first(violations)), tuple(_first(warnings))
    return Verdict(first, warned, count, frozenset(rules), min(fuel.used, fuel.granted), fuel.granted)


def _granted(definition: Definition, most: int | None) -> int:
    """The milliseconds granted to verify DEFINITION. Without a valid declaration, the recommended limit applies."""
    declared = definition.limit(TIME) or 0
    sound = declared if 0 < declared <= CEILINGS[TIME] else RECOMMENDED[TIME]
    return sound if most is None else min(sound, most)


def _first(violations: list[Violation]) -> list[Violation]:
    return sorted(violations, key=lambda violation: violation.at)[:MOST_REPORTED]


def _broken(definition: Definition, installed: Container[str], fuel: Fuel) -> Iterator[Violation]:
    """Every violation and warning of a definition, rule by rule."""
    yield from _parent(definition, installed)
    yield from _resources(definition)
    yield from _author(definition)
    yield from _names(definition, fuel)
    yield from _cycles(definition, fuel)
    for performative in definition.performatives:
        yield from _signature(performative, fuel)
        yield from _template(performative, fuel)
        yield from _room(definition, performative, fuel)


# -- the definition as a whole


def _parent(definition: Definition, installed: Container[str]) -> Iterator[Violation]:
    at = definition.places.get("extends", definition.node.at)
    if definition.extends == definition.name:
        yield Violation(PARENT, at, "the dialect extends itself: `:extends` must name another dialect")
    elif definition.parent != CORE and definition.parent not in installed:
        yield Violation(PARENT, at, f"its parent dialect {excerpt(definition.parent)} is not installed")


def _resources(definition: Definition) -> Iterator[Violation]:
    for name in LIMITS:
        value = definition.limit(name)
        at = definition.places.get(name, definition.places.get("resources", definition.node.at))
        if value is None:
            yield Violation(R2, at, f":{name} is not declared")
        elif value <= 0:
            yield Violation(R2, at, f":{name} must be above 0")
        elif value > CEILINGS[name]:
            yield Violation(R2, at, f":{name} is above the maximum of {CEILINGS[name]}")
        elif value > RECOMMENDED[name]:
            yield Violation(R2, at, f":{name} is above the recommended {RECOMMENDED[name]}", is_warning=True)


def _author(definition: Definition) -> Iterator[Violation]:
    if definition.author is None:
        yield Violation(R4, definition.node.at, "the definition has no :author")


def _names(definition: Definition, fuel: Fuel) -> Iterator[Violation]:
    fuel.spend(1 + len(definition.performatives))
    if definition.name.lower() == CORE:
        yield Violation(R3, definition.node.at, f"`{CORE}` is the name of the core dialect: choose another name")
    taken: set[str] = set()
    for performative in definition.performatives:
        if performative.name.lower() in HEADS:
            what = (
                "a core performative" if performative.name.lower() in PERFORMATIVES else "a reserved word of the core"
            )
            yield Violation(R3, performative.at, f"{excerpt(performative.name)} is {what}", performative.name)
        if performative.name in taken:
            yield Violation(
                STRUCTURE, performative.at, f"{excerpt(performative.name)} is defined twice", performative.name
            )
        taken.add(performative.name)


def _cycles(definition: Definition, fuel: Fuel) -> Iterator[Violation]:
    """Performatives that occur in their own expansion, directly or through others."""
    edges = _edges(definition, fuel)
    fuel.spend(len(edges) + 2 * sum(map(len, edges.values())))  # each edge is followed once and read once more
    back: dict[str, str] = {}  # for each performative, the first one in its template that leads back to it
    for together in _components(edges):
        back.update((name, other) for name in together for other in reversed(edges[name]) if other in together)
    for performative in definition.performatives:
        if other := back.get(performative.name):
            way = "" if other == performative.name else f" through {excerpt(other)}"
            why = f"a list in its template leads back to it{way}: give that list another head"
            yield Violation(R1, performative.at, why, performative.name)


def _components(edges: dict[str, list[str]]) -> Iterator[frozenset[str]]:
    """The strongly connected components, by Tarjan's algorithm; it visits every edge once. The root is ""."""
    entered, earliest = {"": 0}, {"": 0}  # the order of visits, and the earliest node that each leads back to
    waiting: list[str] = []  # visited, and not yet in a component
    complete: set[str] = set()
    way: list[tuple[str, Iterator[str]]] = [("", iter(edges))]
    while True:
        name, rest = way[-1]
        following = next(rest, None)
        if following is None:
            way.pop()
            if not way:
                return
            before = way[-1][0]
            earliest[before] = min(earliest[before], earliest[name])
            if earliest[name] == entered[name]:
                together = [waiting.pop()]
                while together[-1] != name:
                    together.append(waiting.pop())
                complete.update(together)
                yield frozenset(together)
        elif following not in entered:
            entered[following] = earliest[following] = len(entered)
            waiting.append(following)
            way.append((following, iter(edges[following])))
        elif following not in complete:
            earliest[name] = min(earliest[name], entered[following])


def _edges(definition: Definition, fuel: Fuel) -> dict[str, list[str]]:
    """For each performative, those that occur in its template as the head of a list. Elsewhere a name is data."""
    names = [performative.name for performative in definition.performatives if performative.name not in PERFORMATIVES]
    defined = frozenset(names)
    edges: dict[str, list[str]] = {name: [] for name in names}  # in text order, so that the result is deterministic
    for performative in definition.performatives:
        if performative.name in defined:
            heads = (head(node) for node in nodes(performative.template, fuel))
            edges[performative.name] += sorted(defined.intersection(name for name in heads if name))
    return edges


# -- one performative


def _signature(performative: Performative, fuel: Fuel) -> Iterator[Violation]:
    fuel.spend(1 + len(performative.params))
    taken: set[str] = set()
    for param in performative.params:
        if param.name in taken:
            yield Violation(
                STRUCTURE, param.at, f"the parameter {excerpt(param.name)} is named twice", performative.name
            )
        if param.name in HEADS or param.name in TEMPLATE_WORDS:
            why = f"a parameter must not be named `{param.name}`: this word has a meaning in templates"
            yield Violation(STRUCTURE, param.at, why, performative.name)
        taken.add(param.name)


def _template(performative: Performative, fuel: Fuel) -> Iterator[Violation]:
    """The invalid parts of a template."""
    params = performative.names()
    for problems in (_no_messages(performative.template, params, fuel), _no_forms(performative.template, params, fuel)):
        for node, why in problems:
            yield Violation(R1, node.at, why, performative.name)


def _no_messages(template: Node, params: Container[str], fuel: Fuel) -> Iterator[tuple[Node, str]]:
    """The nodes in the place of a message that cannot be a message."""
    left = [(template, True)]  # the node, and whether a sequence of messages is allowed there
    while left:
        node, may_be_several = left.pop()
        fuel.spend(1)
        name = head(node)
        if node.tag == SYMBOL and node.value in params:
            continue
        if node.tag != LIST or not node.value:
            yield node, "a template is a message, a parameter, a `cond` or a sequence of these"
        elif name in WRAPPERS:
            left.append((node.value[-1], False))
        elif name == COND:
            fuel.spend(len(node.value))
            left += [(branch, may_be_several) for branch in branches(node)]
        elif may_be_several and is_sequence(node):
            left += [(child, True) for child in node.value]
        elif name not in PERFORMATIVES:
            yield node, _why_no_message(name)


def _why_no_message(name: str | None) -> str:
    if name in ("lang", "meta"):
        return f"`{name}` is not allowed in a template: its result would have to be expanded again"
    return "a template begins with a core performative or a wrapper; it cannot call another performative"


def _no_forms(template: Node, params: Container[str], fuel: Fuel) -> Iterator[tuple[Node, str]]:
    """Malformed choices at any depth, and operators outside of tests."""
    operators: set[int] = set()  # positions where an operator is allowed
    literals: set[int] = set()  # positions of values that a test compares with
    left = [(template, False)]  # the node, and whether it is such a literal: choices are not recognised in one
    while left:
        node, is_literal = left.pop()
        if node.tag == OPERATOR and node.at not in operators:
            yield node, f"`{node.value}` is only allowed in a test"
        if node.tag != LIST:
            continue
        fuel.spend(1 + len(node.value))
        if not is_literal and head(node) in FORMS:
            fuel.spend(len(node.value))
            yield from problems_of_form(node, params)
            for test in _tests(node):
                operators.add(test.value[0].at)
                literals.update(literal.at for literal in test.value[2:])
        left += [(child, is_literal or child.at in literals) for child in reversed(node.value)]


def _tests(form: Node) -> Iterator[Node]:
    """The tests of a form, as far as it is well-formed."""
    for clause in form.value[1:] if head(form) == COND else ():
        test = clause.value[0] if clause.tag == LIST and clause.value else clause
        if test.tag == LIST and test.value:
            yield test


def _room(definition: Definition, performative: Performative, fuel: Fuel) -> Iterator[Violation]:
    """Limits that are too small even for the smallest message of a template."""
    least_of = {
        parameter.name: EMPTY_LIST if parameter.section == "rest" else ATOM for parameter in performative.params
    }
    size, depth = smallest_extent(performative.template, least_of, fuel)
    for name, least in ((DEPTH, depth), (SIZE, size)):
        limit = definition.limit(name)
        if limit is not None and 0 < limit < least:
            why = f"its smallest message needs a :{name} of {least}, but {limit} is declared"
            yield Violation(R2, performative.at, why, performative.name)


def violation_json(violation: Violation, where: Any) -> dict[str, Any]:
    """A violation as JSON. WHERE returns the line and column of an octet."""
    line, column = where(violation.at)
    return {
        "rule": violation.rule,
        "performative": violation.performative,
        "message": violation.why,
        "offset": violation.at,
        "line": line,
        "column": column,
    }
