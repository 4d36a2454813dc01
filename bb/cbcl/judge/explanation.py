"""How a call came to its messages: what each parameter stands for and why, which way each choice went, what it cost.

The messages are those of `expansion` and nobody else's. What is told here of choices goes through the template by the
same rules and makes nothing, so that it can also be told where no message came of it.
"""

from __future__ import annotations

from bb.cbcl.judge import expansion
from bb.cbcl.read.definition import DEPTH, SIZE
from bb.cbcl.read.fuel import for_text
from bb.cbcl.read.message import CORE, Call, Lang, Limited, core_of, every_layer
from bb.cbcl.read.reader import SIZE_RECOMMENDED
from bb.cbcl.read.templates import COND, ELSE, OR, holds
from bb.cbcl.read.tree import LIST, SYMBOL, Node, head, is_nil
from bb.kernel.errors import BbError
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bb.cbcl.judge.expansion import Expansion, Room
    from bb.cbcl.read.definition import Definition, Performative
    from bb.cbcl.read.fuel import Fuel
    from bb.cbcl.read.message import Message

DECLARED, HINT, POLICY, CEILING = "declared", "hint", "policy", "ceiling"
ARGUMENT, KEYWORD, NOTHING = "argument", "keyword", "nil"


class Bound(Record):
    """A parameter, what it stands for, and where that is from: the argument in that place, a keyword, or nowhere."""

    name: str
    section: str
    value: Node
    source: str
    place: int | None = None  # of an argument, from 1; the first of those that a rest takes


class Tried(Record):
    """A branch of a choice that was looked at: its test, and whether it was taken."""

    test: Node | None  # none in an `or`, or before `else`
    is_taken: bool
    why: str


class Choice(Record):
    """An `or` or a `cond` that was met, and how it went."""

    form: Node
    tried: tuple[Tried, ...]
    taken: Node | None  # the template that stands in its place; None where no test holds


class Limit(Record):
    """How far something may go: what each of those who may say so has said. The least of them holds."""

    name: str
    said: dict[str, int]

    @property
    def granted(self) -> int:
        return min(self.said.values())

    @property
    def source(self) -> str:
        """Who has said the least; who is nearest to the message, where several have."""
        return next(who for who, value in self.said.items() if value == self.granted)


class Explanation(Record):
    """All there is to say about a call."""

    dialect: Definition
    performative: Performative
    call: Call
    bound: tuple[Bound, ...]
    choices: tuple[Choice, ...]
    limits: tuple[Limit, ...]
    expansion: Expansion | None
    refusal: BbError | None


def explain(
    message: Message, dialects: Mapping[str, Definition], policy: Room, fuel: Fuel | None = None
) -> Explanation | None:
    """How MESSAGE comes to what it comes to under a POLICY; None where it calls nothing. What is wrong with the call
    itself is refused, as when it is expanded; what is wrong with what comes of it is told."""
    fuel = fuel or for_text(SIZE_RECOMMENDED)
    called = _called(message)
    if called is None:
        return None
    scope, call = called
    dialect, performative = expansion.find(call.name, scope, dialects)
    values = expansion.bind(call, performative)
    limits = tuple(_limits(message, (dialect, dialects.get(scope, dialect)), policy))
    try:
        found, refusal = expansion.expand(message, dialects, policy, fuel), None
    except BbError as error:
        found, refusal = None, error
    return Explanation(
        dialect,
        performative,
        call,
        tuple(_bound(call, performative, values)),
        tuple(_choices(performative.template, values, fuel)),
        limits,
        found,
        refusal,
    )


def _called(message: Message) -> tuple[str, Call] | None:
    """The call that a message holds, and in which dialect it is."""
    said: Message | Call = message
    scope = CORE
    while not isinstance(said, Call):
        said = core_of(said)
        if not isinstance(said, Lang):
            return None
        scope, said = said.dialect, said.inner
    return scope, said


def _bound(call: Call, performative: Performative, values: Mapping[str, Node]) -> Iterator[Bound]:
    given = dict(call.kwargs)
    place = 0
    for param in performative.params:
        if param.section == "key":
            source, at = (KEYWORD, None) if param.name in given else (NOTHING, None)
        else:
            place += 1
            source, at = (ARGUMENT, place) if place <= len(call.args) else (NOTHING, None)
        yield Bound(param.name, param.section, values[param.name], source, at)


def _limits(message: Message, spoken: Sequence[Definition], policy: Room) -> Iterator[Limit]:
    hints: dict[str, int] = {}
    for layer in every_layer(message):
        for name, value in ((DEPTH, layer.depth), (SIZE, layer.size)) if isinstance(layer, Limited) else ():
            if value is not None:
                hints[name] = min(value, hints.get(name, value))
    widest = expansion.WIDEST
    for name, ours, most in ((DEPTH, policy.depth, widest.depth), (SIZE, policy.size, widest.size)):
        declared = min((value for each in spoken if (value := each.limit(name))), default=None)
        said = {HINT: hints.get(name), DECLARED: declared, POLICY: ours, CEILING: most}
        yield Limit(name, {who: value for who, value in said.items() if value})


# -- which way choices went


def _choices(template: Node, bound: Mapping[str, Node], fuel: Fuel) -> Iterator[Choice]:
    """Every choice that is met on the way, in the order of the text; nothing behind one of which no test holds."""
    left = [template]
    while left:
        choices, found = _chosen(left.pop(), bound, fuel)
        yield from choices
        if found is None:
            return
        is_gap = found.tag == SYMBOL and found.value in bound
        left += reversed(found.value) if found.tag == LIST and not is_gap else ()


def _chosen(node: Node, bound: Mapping[str, Node], fuel: Fuel) -> tuple[list[Choice], Node | None]:
    """The choices that are met at one place of a template, in order, and what stands there because of them. As in
    `templates.chosen`, each is looked at once."""
    met: list[Choice] = []
    undecided: list[int] = []  # the `or`s whose first is being looked at, the innermost last
    while True:
        fuel.spend(1)
        if head(node) == OR and len(node.value) == 3:
            undecided.append(len(met))
            met.append(_either(node, 1, "the first is not nil"))
            node = node.value[1]
        elif head(node) == COND:
            met.append(_tests(node, bound, fuel))
            if met[-1].taken is None:
                for place in undecided:
                    met[place] = _either(met[place].form, 1, "the first, of which no test holds")
                return met, None
            node = met[-1].taken
        elif undecided and is_nil(bound.get(node.value, node) if node.tag == SYMBOL else node):
            place = undecided.pop()
            met[place] = _either(met[place].form, 2, "the first is nil")
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
        why = "no test before it holds" if is_else else "it holds" if is_taken else "it does not hold"
        tried.append(Tried(None if is_else else test, is_taken, why))
        if is_taken:
            return Choice(node, tuple(tried), template)
    return Choice(node, tuple(tried), None)
