"""Expansion of a call into messages: bind the arguments, fill the template once, measure, and parse the result.

The arguments are data. They fill the gaps of the template and are never interpreted: an argument that looks like a
parameter, an `or`, a call or a message stays data. Strings cannot become syntax, nothing is spliced, and the result is
not expanded again. If any part fails, the whole expansion is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bb.cbcl.judge.library import unusable_reason
from bb.cbcl.read import grammar
from bb.cbcl.read.definition import DEPTH, SIZE, Definition, Performative, parameters_text
from bb.cbcl.read.fuel import Fuel, ResourceLimit, for_text
from bb.cbcl.read.message import Call, Lang, Limited, Message, Meta, core_of, layers
from bb.cbcl.read.reader import DEPTH_MOST, MAXIMUM_BOUNDS, SIZE_RECOMMENDED, Malformed
from bb.cbcl.read.templates import ExpansionFailed, evaluate, is_sequence
from bb.cbcl.read.tree import LIST, NIL, Extent, Node, extent, head, text_of
from bb.cbcl.read.words import CORE
from bb.kernel.errors import NotFound, Usage
from bb.kernel.escaping import harmless
from bb.kernel.record import Record

MOST_NAMED, LONGEST_HINT = 8, 200  # performatives, and characters of parameters, that a hint shows
LISTED = "list"  # the only constructor, valid only in the arguments of a call

UnknownDialect = NotFound.declare(
    "UNKNOWN_DIALECT",
    "That dialect is not installed",
    hint="run `bb cbcl dialect list` to see the installed dialects, or ask another agent with `bb cbcl dialect query`",
)

UnknownPerformative = NotFound.declare(
    "UNKNOWN_PERFORMATIVE",
    "The dialect has no such performative",
    hint="run `bb cbcl dialect show NAME` to see its performatives",
)

InvalidArguments = Usage.declare(
    "INVALID_ARGUMENTS",
    "The call does not fit the performative's parameters",
    hint="run `bb cbcl dialect show NAME` to see the parameters of each performative",
)


class Limits(Record):
    """The maximum size and depth of an expansion. A value equal to the limit is allowed."""

    depth: int = DEPTH_MOST
    size: int = 65_536

    def within(self, depth: int | None, size: int | None) -> Limits:
        """This room, reduced to smaller limits. A larger limit has no effect."""
        return Limits(min(self.depth, depth or self.depth), min(self.size, size or self.size))


MAXIMUM_ROOM = Limits()


class Expansion(Record):
    """The messages of a call, and how they were made."""

    dialect: Definition  # the dialect that defines the performative: the named one or one of its ancestors
    performative: Performative
    bound: dict[str, Node]
    messages: tuple[Message, ...]
    size: int
    depth: int
    room: Limits


def expand(
    message: Message, dialects: Mapping[str, Definition], room: Limits = MAXIMUM_ROOM, fuel: Fuel | None = None
) -> Expansion | None:
    """The expansion of MESSAGE with the installed DIALECTS; None if it contains no call, even inside a `lang`."""
    fuel = fuel or for_text(SIZE_RECOMMENDED)
    current: Message | Call = message
    while not isinstance(current, Call):
        room = limited_by_hints(current, room)
        current = core_of(current)
        if not isinstance(current, Lang):
            return None
        scope = current.dialect
        if scope != CORE:
            _installed(scope, dialects)
        current = current.inner
    return _called(current, scope, dialects, room, fuel)


def limited_by_hints(message: Message, room: Limits) -> Limits:
    """ROOM, reduced by the limits in MESSAGE. The depth of the message itself must keep them too."""
    for layer in layers(message):
        if isinstance(layer, Limited):
            room = room.within(layer.depth, layer.size)
            if layer.depth is not None and layer.deep > room.depth:
                raise ResourceLimit(f"the message has depth {layer.deep}, above the limit of {room.depth}", limit=DEPTH)
    return room


def _installed(name: str, dialects: Mapping[str, Definition]) -> Definition:
    dialect = dialects.get(name)
    if dialect is None:
        unknown = UnknownDialect(f"dialect not installed: {harmless(name[:60])}", dialect=name[:60])
        raise unusable_reason(dialects, name) or unknown
    return dialect


def _called(call: Call, name: str, dialects: Mapping[str, Definition], room: Limits, fuel: Fuel) -> Expansion:
    dialect, performative = find(call.name, name, dialects)
    for declared in (
        dialect,
        dialects.get(name, dialect),
    ):  # the dialect that defines it, and the dialect that the call named
        room = room.within(declared.limit(DEPTH), declared.limit(SIZE))
    bound = bind(call, performative)
    trees = list(_filled(performative.template, bound, room, fuel))
    messages = tuple(_read_again(tree, fuel) for tree in trees)
    extents = [extent(tree) for tree in trees]
    size, depth = sum(measured.size for measured in extents), max((measured.depth for measured in extents), default=0)
    return Expansion(dialect, performative, bound, messages, size, depth, room)


def find(name: str, within: str, dialects: Mapping[str, Definition]) -> tuple[Definition, Performative]:
    """The performative NAME of the dialect WITHIN, or of its nearest ancestor that has one."""
    dialect = _installed(within, dialects) if within != CORE else None
    passed: dict[str, Definition] = {}
    while dialect is not None and dialect.name not in passed:
        passed[dialect.name] = dialect
        if performative := dialect.performative(name):
            return dialect, performative
        dialect = dialects.get(dialect.parent)
    names = [defined.name for dialect in passed.values() for defined in dialect.performatives]
    raise UnknownPerformative(
        f"{harmless(within[:60])} has no performative {harmless(name[:60])}",
        hint=f"use one of its performatives: {_few(names)}"
        if names
        else "without a dialect only core messages are possible: (tell @bob …), (ask @bob …), …",
        dialect=within[:60],
        performative=name[:60],
    )


def _few(known: Sequence[str]) -> str:
    listed = ", ".join(name[:60] for name in known[:MOST_NAMED])
    return listed if len(known) <= MOST_NAMED else f"{listed} and {len(known) - MOST_NAMED} more"


# -- binding


def bind(call: Call, performative: Performative) -> dict[str, Node]:
    """The value of each parameter in one call."""
    required, optional = performative.of("req"), performative.of("optional")
    rest, keys = performative.of("rest"), performative.of("key")
    count, called = len(call.args), harmless(performative.name[:60])
    hint = f"its parameters are {parameters_text(performative.params)[:LONGEST_HINT]}"
    if count < len(required) or (count > len(required) + len(optional) and not rest):
        most = " or more" if rest else f" to {len(required) + len(optional)}" if optional else ""
        plural = "" if len(required) == 1 and not most else "s"
        raise InvalidArguments(
            f"{called} takes {len(required)}{most} positional argument{plural}, not {count}", hint=hint
        )
    for name, _ in call.kwargs:
        if name not in keys:
            raise InvalidArguments(f"{called} has no keyword :{harmless(name[:60])}", hint=hint)
    values = [_value(argument) for argument in call.args]
    by_place = [*required, *optional]
    bound = dict.fromkeys([*by_place, *rest, *keys], NIL)
    bound.update(zip(by_place, values, strict=False))
    bound.update((name, Node(LIST, values[len(by_place) :])) for name in rest)
    bound.update((name, _value(value)) for name, value in call.kwargs)
    return bound


def _value(argument: Node) -> Node:
    """The value of an argument. `(list a b)` becomes the list of the values of its elements; all else is itself."""
    if head(argument) != LISTED:
        return argument
    lists: list[list[Node]] = [[]]
    within = [iter(argument.value[1:])]
    while within:
        following = next(within[-1], None)
        if following is None:
            within.pop()
            elements = lists.pop()
            if not lists:
                return Node(LIST, elements, argument.at)
            lists[-1].append(Node(LIST, elements))
        elif head(following) == LISTED:
            within.append(iter(following.value[1:]))
            lists.append([])
        else:
            lists[-1].append(following)
    return NIL


# -- filling


def _filled(template: Node, bound: Mapping[str, Node], room: Limits, fuel: Fuel) -> Iterator[Node]:
    """The messages of a template, in order."""
    count = _Count(bound, room)
    left = [template]
    while left:
        node, is_value = evaluate(left.pop(), bound, fuel)
        if not is_value and is_sequence(node):
            left += reversed(node.value)
        else:
            yield _copy(node, bound, count, fuel, is_value=is_value)


class _Count:
    """The size and depth of the output so far. An oversized result is refused before it is built."""

    def __init__(self, bound: Mapping[str, Node], room: Limits) -> None:
        self._extents: dict[int, Extent] = {id(value): extent(value) for value in bound.values()}
        self._room = room
        self._size = 0

    def add(self, size: int) -> None:
        self._size += size
        if self._size > self._room.size:
            raise ResourceLimit(f"the expansion is longer than {self._room.size:,} characters", limit=SIZE)

    def add_value(self, value: Node, depth: int) -> None:
        """Count a value at this DEPTH."""
        size, deeper = self._extents.get(id(value)) or extent(value)
        self.add(size)
        self.reach(depth + deeper)

    def reach(self, depth: int) -> None:
        if depth > self._room.depth:
            raise ResourceLimit(f"the expansion is nested more than {self._room.depth} deep", limit=DEPTH)


def _copy(template: Node, bound: Mapping[str, Node], count: _Count, fuel: Fuel, *, is_value: bool) -> Node:
    """The template with its gaps filled."""
    lists: list[list[Node]] = [[]]
    within: list[Iterator[Node]] = []
    node = template
    while True:
        if is_value or node.tag != LIST:
            lists[-1].append(node)
            count.add_value(node, len(within))
        else:
            within.append(iter(node.value))
            lists.append([])
            count.reach(len(within))
            count.add(1 + max(len(node.value), 1))  # the parentheses, and one space between two elements
        while within and (following := next(within[-1], None)) is None:
            within.pop()
            elements = lists.pop()
            lists[-1].append(Node(LIST, elements))
        if not within:
            return lists[0][0]
        node, is_value = evaluate(following, bound, fuel) if following is not None else (NIL, True)


def _read_again(tree: Node, fuel: Fuel) -> Message:
    """Parse a result. It must be a message, and neither `lang` nor `meta`."""
    try:
        message = grammar.message(text_of(tree, fuel).encode(), MAXIMUM_BOUNDS, fuel)
    except Malformed.error as error:
        raise ExpansionFailed(f"the expansion is not a valid message: {error.message}", **error.details) from None
    if isinstance(core_of(message), Lang | Meta):
        raise ExpansionFailed("the expansion is a `lang` or `meta` message, which a template must not produce")
    return message
