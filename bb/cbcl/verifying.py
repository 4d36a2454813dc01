"""May a dialect be installed? All the rules it breaks, with where, not only the first (draft, Section 3.2).

    R1  declarative only: templates are messages with gaps, choices and sequences. No calls, no `lang`, no `meta`; no
        performative occurs as the head of a list in its own expansion, by whatever way round
    R2  all three limits are declared, are sound, and leave room for the smallest message each template can make
    R3  no core performative, and nothing that the core is told by, is defined anew, in whatever case it is written
    R4  the author is named
    structure, parent: what the draft leaves unsaid and nobody could do without

Every rule looks at a node once or twice and keeps a stack of its own, so a definition takes time in proportion to its
length, whatever its author had in mind.
"""

from __future__ import annotations

from bb.cbcl.definition import DEPTH, LIMITS, SIZE, TIME
from bb.cbcl.message import CORE, HEADS, PERFORMATIVES, WRAPPERS
from bb.cbcl.templates import COND, FORMS, OR, branches, is_sequence, problems_of_form, smallest
from bb.cbcl.tree import LIST, OPERATOR, SYMBOL, head, walk
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from typing import Any

    from bb.cbcl.definition import Definition, Performative
    from bb.cbcl.tree import Node

R1, R2, R3, R4, STRUCTURE, PARENT = "R1", "R2", "R3", "R4", "structure", "parent"
RECOMMENDED = {DEPTH: 32, SIZE: 8192, TIME: 5000}
CEILINGS = {DEPTH: 64, SIZE: 65_536, TIME: 60_000}
TEMPLATE_WORDS = (OR, COND, "else", "member", "list")


class Violation(Record):
    """A rule that is broken: by which performative, where, and how. A warning breaks none."""

    rule: str
    at: int
    why: str
    performative: str | None = None
    is_warning: bool = False


class Verdict(Record):
    """What there is to say against a dialect."""

    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...]

    @property
    def is_sound(self) -> bool:
        return not self.violations


def verify(definition: Definition, installed: Container[str] = ()) -> Verdict:
    """Every rule that DEFINITION breaks, in the order of its text, where those dialects are INSTALLED."""
    found = [
        *_parent(definition, installed),
        *_resources(definition),
        *_author(definition),
        *_names(definition),
        *_cycles(definition),
    ]
    for performative in definition.performatives:
        found += _signature(performative)
        found += _template(performative)
        found += _room(definition, performative)
    found.sort(key=lambda violation: violation.at)
    return Verdict(
        tuple(each for each in found if not each.is_warning), tuple(each for each in found if each.is_warning)
    )


# -- the definition as a whole


def _parent(definition: Definition, installed: Container[str]) -> Iterator[Violation]:
    at = definition.places.get("extends", definition.node.at)
    if definition.parent == definition.name:
        yield Violation(PARENT, at, "a dialect does not extend itself")
    elif definition.parent != CORE and definition.parent not in installed:
        yield Violation(PARENT, at, f"the dialect {definition.parent} that it extends is not installed")


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


def _names(definition: Definition) -> Iterator[Violation]:
    if definition.name.lower() == CORE:
        yield Violation(R3, definition.node.at, f"`{CORE}` is the core itself")
    taken: set[str] = set()
    for each in definition.performatives:
        if each.name.lower() in HEADS:
            what = "a core performative" if each.name.lower() in PERFORMATIVES else "what the core is told by"
            yield Violation(R3, each.at, f"`{each.name}` is {what}", each.name)
        if each.name in taken:
            yield Violation(STRUCTURE, each.at, f"`{each.name}` is defined twice", each.name)
        taken.add(each.name)


def _cycles(definition: Definition) -> Iterator[Violation]:
    """Performatives that occur in their own expansion. Three colours: not seen, on the way, done with."""
    edges = _edges(definition)
    places = {each.name: each.at for each in definition.performatives}
    colour = dict.fromkeys(edges, NEW)
    way: list[str] = []
    rest: list[Iterator[str]] = [iter(edges)]
    while rest:
        following = next(rest[-1], None)
        if following is None:
            rest.pop()
            if way:
                colour[way.pop()] = DONE
        elif colour[following] == NEW:
            colour[following] = ON_THE_WAY
            way.append(following)
            rest.append(iter(edges[following]))
        elif colour[following] == ON_THE_WAY:
            why = (
                "it leads back to itself" if following == way[-1] else f"it leads back to `{following}`, which led here"
            )
            yield Violation(R1, places[way[-1]], why, way[-1])


NEW, ON_THE_WAY, DONE = range(3)


def _edges(definition: Definition) -> dict[str, list[str]]:
    """Which performatives of a dialect occur in whose template as the head of a list. Elsewhere a name is data."""
    known = {each.name for each in definition.performatives if each.name not in PERFORMATIVES}
    edges: dict[str, list[str]] = {name: [] for name in known}
    for each in definition.performatives:
        if each.name in known:
            heads = {str(head(node)) for node, _, is_end in walk(each.template) if not is_end and node.tag == LIST}
            edges[each.name] += sorted(heads & known)
    return edges


# -- one performative


def _signature(performative: Performative) -> Iterator[Violation]:
    taken: set[str] = set()
    for param in performative.params:
        if param.name in taken:
            yield Violation(STRUCTURE, param.at, f"the parameter `{param.name}` is named twice", performative.name)
        if param.name in HEADS or param.name in TEMPLATE_WORDS:
            why = f"a parameter named `{param.name}` would take the place of the word"
            yield Violation(STRUCTURE, param.at, why, performative.name)
        taken.add(param.name)


def _template(performative: Performative) -> Iterator[Violation]:
    """What in a template is no pattern."""
    params = performative.names()
    for node, why in [*_no_messages(performative.template, params), *_no_forms(performative.template, params)]:
        yield Violation(R1, node.at, why, performative.name)


def _no_messages(template: Node, params: Container[str]) -> Iterator[tuple[Node, str]]:
    """Whatever stands in the place of a message and can be none."""
    left = [(template, True)]  # and whether several messages may stand there
    while left:
        node, may_be_several = left.pop()
        name = head(node)
        if node.tag == SYMBOL and node.value in params:
            continue
        if node.tag != LIST or not node.value:
            yield node, "a template is a message, a parameter, a `cond` or a sequence of these"
        elif name in WRAPPERS:
            left.append((node.value[-1], False))
        elif name == COND:
            left += [(each, may_be_several) for each in branches(node)]
        elif may_be_several and is_sequence(node):
            left += [(each, True) for each in node.value]
        elif name not in PERFORMATIVES:
            yield node, _why_no_message(name)


def _why_no_message(name: str | None) -> str:
    if name in ("lang", "meta"):
        return f"`{name}` in a template would have to be expanded again"
    return "a template begins with a core performative or a wrapper; nothing is called in it"


def _no_forms(template: Node, params: Container[str]) -> Iterator[tuple[Node, str]]:
    """Choices that are none, wherever they stand, and operators outside of tests."""
    tests: set[int] = set()  # where an operator has its place
    for node, _, is_end in walk(template):
        if is_end:
            continue
        if node.tag == OPERATOR and node.at not in tests:
            yield node, f"`{node.value}` stands outside of a test"
        elif head(node) in FORMS:
            yield from problems_of_form(node, params)
            tests.update(_operators(node))


def _operators(form: Node) -> Iterator[int]:
    """Where the operators of a form's own tests stand."""
    for clause in form.value[1:] if head(form) == COND else ():
        test = clause.value[0] if clause.tag == LIST and clause.value else clause
        if test.tag == LIST and test.value:
            yield test.value[0].at


def _room(definition: Definition, performative: Performative) -> Iterator[Violation]:
    """Limits that not even the smallest message of a template keeps."""
    size, depth = smallest(performative.template, performative.names())
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
