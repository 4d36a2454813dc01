"""May a dialect be installed? All the rules it breaks, with where, not only the first (draft, Section 3.2).

    R1  declarative only: templates are messages with gaps, choices and sequences. No calls, no `lang`, no `meta`; no
        performative occurs as the head of a list in its own expansion, by whatever way round
    R2  all three limits are declared, are sound, and leave room for the smallest message each template can make
    R3  no core performative, and nothing that the core is told by, is defined anew, in whatever case it is written
    R4  the author is named
    structure, parent: what the draft leaves unsaid and nobody could do without

Every rule looks at a node once or twice and keeps a stack of its own, so a definition takes work in proportion to its
length, whatever its author had in mind. The work is counted in steps: `:max-verify-time` grants so many of them, the
same on every machine. What is broken is counted, and the first of it told.
"""

from __future__ import annotations

from bb.cbcl.read.definition import DEPTH, LIMITS, SIZE, TIME
from bb.cbcl.read.fuel import Fuel, OutOfSteps, steps_of
from bb.cbcl.read.message import CORE, HEADS, PERFORMATIVES, WRAPPERS
from bb.cbcl.read.reader import excerpt
from bb.cbcl.read.templates import COND, FORMS, OR, branches, is_sequence, problems_of_form, smallest
from bb.cbcl.read.tree import LIST, OPERATOR, SYMBOL, head, nodes
from bb.kernel.gc_pause import Undisturbed
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from typing import Any

    from bb.cbcl.read.definition import Definition, Performative
    from bb.cbcl.read.tree import Node

R1, R2, R3, R4, STRUCTURE, PARENT = "R1", "R2", "R3", "R4", "structure", "parent"
RECOMMENDED = {DEPTH: 32, SIZE: 8192, TIME: 5000}
CEILINGS = {DEPTH: 64, SIZE: 65_536, TIME: 60_000}
ATOM, EMPTY_LIST = (1, 0), (2, 1)  # the least size and depth of what fills a gap; a rest is always a list
TEMPLATE_WORDS = (OR, COND, "else", "member", "list")
VERSION = 1  # of the rules: raised with every change by which a definition may be judged otherwise
MOST_TOLD, MOST_COUNTED = 50, 1000  # violations that are told, and counted: who mends these will see the others


class Violation(Record):
    """A rule that is broken: by which performative, where, and how. A warning breaks none."""

    rule: str
    at: int
    why: str
    performative: str | None = None
    is_warning: bool = False


class Verdict(Record):
    """What there is to say against a dialect: the first that is broken, in the order of the text, and how much is
    broken in all, as far as that is counted; which rules that are; and how many STEPS it took to say so, of those
    that were GRANTED."""

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
        """How much is broken beside the first, in words; empty where that is all."""
        least = "at least " if self.count == MOST_COUNTED else ""
        return f", and {least}{self.count - 1:,} more" if self.count > 1 else ""

    @property
    def is_sound_but_for_its_parent(self) -> bool:
        """Whether it breaks no rule but that its parent be there, which comes and goes."""
        return self.rules <= {PARENT}


def verify(definition: Definition, installed: Container[str] = (), most: int | None = None) -> Verdict:
    """The rules that DEFINITION breaks, where those dialects are INSTALLED. It may take the time it declares itself,
    and at MOST so many milliseconds, both as steps."""
    milliseconds = _granted(definition, most)
    fuel = Fuel(steps_of(milliseconds))
    found: list[Violation] = []
    warnings: list[Violation] = []
    count, rules = 0, set()
    with Undisturbed():
        try:
            for each in _broken(definition, installed, fuel):
                if each.is_warning:
                    warnings.append(each)
                    continue
                count += 1
                rules.add(each.rule)
                found.append(each)
                if count == MOST_COUNTED:
                    break
        except OutOfSteps:
            at = definition.places.get(TIME, definition.node.at)
            why = f"verifying it takes more than the {fuel.granted:,} steps that {milliseconds} ms stand for"
            found, count = [Violation(R2, at, why), *found], count + 1
            rules.add(R2)
    told, warned = tuple(_first(found)), tuple(_first(warnings))
    return Verdict(told, warned, count, frozenset(rules), min(fuel.used, fuel.granted), fuel.granted)


def _granted(definition: Definition, most: int | None) -> int:
    """How many milliseconds verifying DEFINITION may take. One that declares none that count is judged all the same."""
    declared = definition.limit(TIME) or 0
    sound = declared if 0 < declared <= CEILINGS[TIME] else RECOMMENDED[TIME]
    return sound if most is None else min(sound, most)


def _first(found: list[Violation]) -> list[Violation]:
    return sorted(found, key=lambda violation: violation.at)[:MOST_TOLD]


def _broken(definition: Definition, installed: Container[str], fuel: Fuel) -> Iterator[Violation]:
    """Everything there is to say against a definition, rule by rule."""
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
        yield Violation(PARENT, at, "a dialect does not extend itself")
    elif definition.parent != CORE and definition.parent not in installed:
        yield Violation(PARENT, at, f"the dialect {excerpt(definition.parent)} that it extends is not installed")


def _resources(definition: Definition) -> Iterator[Violation]:
    for name in LIMITS:
        value = definition.limit(name)
        at = definition.places.get(name, definition.places.get("resources", definition.node.at))
        if value is None:
            yield Violation(R2, at, f":{name} is not declared")
        elif value <= 0:
            yield Violation(R2, at, f":{name} must be above 0")
        elif value > CEILINGS[name]:
            yield Violation(R2, at, f":{name} is above {CEILINGS[name]}, the most that is ever granted")
        elif value > RECOMMENDED[name]:
            yield Violation(R2, at, f":{name} is above the {RECOMMENDED[name]} that is recommended", is_warning=True)


def _author(definition: Definition) -> Iterator[Violation]:
    if definition.author is None:
        yield Violation(R4, definition.node.at, "no :author is named")


def _names(definition: Definition, fuel: Fuel) -> Iterator[Violation]:
    fuel.spend(1 + len(definition.performatives))
    if definition.name.lower() == CORE:
        yield Violation(R3, definition.node.at, f"`{CORE}` is the core itself")
    taken: set[str] = set()
    for each in definition.performatives:
        if each.name.lower() in HEADS:
            what = "a core performative" if each.name.lower() in PERFORMATIVES else "what the core is told by"
            yield Violation(R3, each.at, f"{excerpt(each.name)} is {what}", each.name)
        if each.name in taken:
            yield Violation(STRUCTURE, each.at, f"{excerpt(each.name)} is defined twice", each.name)
        taken.add(each.name)


def _cycles(definition: Definition, fuel: Fuel) -> Iterator[Violation]:
    """Performatives that occur in their own expansion, by whatever way round."""
    edges = _edges(definition, fuel)
    fuel.spend(len(edges) + 2 * sum(map(len, edges.values())))  # each is gone along once, and looked at once more
    back: dict[str, str] = {}  # to which other one leads first, or to itself, that leads back to it
    for together in _components(edges):
        back.update((name, other) for name in together for other in reversed(edges[name]) if other in together)
    for each in definition.performatives:
        if other := back.get(each.name):
            way = "" if other == each.name else f", by way of {excerpt(other)}"
            why = f"a list in its template leads back to it{way}: give that list another head"
            yield Violation(R1, each.at, why, each.name)


def _components(edges: dict[str, list[str]]) -> Iterator[frozenset[str]]:
    """Those that lead to each other, together: Tarjan's way, every edge once. "" stands before all of them."""
    entered, earliest = {"": 0}, {"": 0}  # in which order they are met, and the first that each leads back to
    waiting: list[str] = []  # met, and not yet in a component
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
    """Which performatives of a dialect occur in whose template as the head of a list. Elsewhere a name is data."""
    names = [each.name for each in definition.performatives if each.name not in PERFORMATIVES]
    known = frozenset(names)
    edges: dict[str, list[str]] = {name: [] for name in names}  # in the order of the text, for every reader the same
    for each in definition.performatives:
        if each.name in known:
            heads = (head(node) for node in nodes(each.template, fuel))
            edges[each.name] += sorted(known.intersection(name for name in heads if name))
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
            why = f"a parameter named `{param.name}` would take the place of the word"
            yield Violation(STRUCTURE, param.at, why, performative.name)
        taken.add(param.name)


def _template(performative: Performative, fuel: Fuel) -> Iterator[Violation]:
    """What in a template is no pattern."""
    params = performative.names()
    for told in (_no_messages(performative.template, params, fuel), _no_forms(performative.template, params, fuel)):
        for node, why in told:
            yield Violation(R1, node.at, why, performative.name)


def _no_messages(template: Node, params: Container[str], fuel: Fuel) -> Iterator[tuple[Node, str]]:
    """Whatever stands in the place of a message and can be none."""
    left = [(template, True)]  # and whether several messages may stand there
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
            left += [(each, may_be_several) for each in branches(node)]
        elif may_be_several and is_sequence(node):
            left += [(each, True) for each in node.value]
        elif name not in PERFORMATIVES:
            yield node, _why_no_message(name)


def _why_no_message(name: str | None) -> str:
    if name in ("lang", "meta"):
        return f"`{name}` in a template would have to be expanded again"
    return "a template begins with a core performative or a wrapper; nothing is called in it"


def _no_forms(template: Node, params: Container[str], fuel: Fuel) -> Iterator[tuple[Node, str]]:
    """Choices that are none, wherever they stand, and operators outside of tests."""
    operators: set[int] = set()  # where one has its place
    literals: set[int] = set()  # where something is that a test compares with
    left = [(template, False)]  # and whether it is such: nothing in it is a choice
    while left:
        node, is_literal = left.pop()
        if node.tag == OPERATOR and node.at not in operators:
            yield node, f"`{node.value}` stands outside of a test"
        if node.tag != LIST:
            continue
        fuel.spend(1 + len(node.value))
        if not is_literal and head(node) in FORMS:
            fuel.spend(len(node.value))
            yield from problems_of_form(node, params)
            for test in _tests(node):
                operators.add(test.value[0].at)
                literals.update(each.at for each in test.value[2:])
        left += [(each, is_literal or each.at in literals) for each in reversed(node.value)]


def _tests(form: Node) -> Iterator[Node]:
    """What a form tests, as far as it is well-formed."""
    for clause in form.value[1:] if head(form) == COND else ():
        test = clause.value[0] if clause.tag == LIST and clause.value else clause
        if test.tag == LIST and test.value:
            yield test


def _room(definition: Definition, performative: Performative, fuel: Fuel) -> Iterator[Violation]:
    """Limits that not even the smallest message of a template keeps."""
    least_of = {each.name: EMPTY_LIST if each.section == "rest" else ATOM for each in performative.params}
    size, depth = smallest(performative.template, least_of, fuel)
    for name, least in ((DEPTH, depth), (SIZE, size)):
        limit = definition.limit(name)
        if limit is not None and 0 < limit < least:
            why = f"its smallest message needs {least} of :{name}, and {limit} is declared"
            yield Violation(R2, performative.at, why, performative.name)


def shown(violation: Violation, where: Any) -> dict[str, Any]:
    """A violation as it is exchanged; WHERE tells the line and column of an octet."""
    line, column = where(violation.at)
    return {
        "rule": violation.rule,
        "performative": violation.performative,
        "message": violation.why,
        "offset": violation.at,
        "line": line,
        "column": column,
    }
