"""From a call in a dialect to the messages it stands for: bound, filled in once, counted, and read again as messages.

The arguments are data. They are put where the template has gaps and are never looked at again: what is spelled like a
parameter, an `or`, a call or a message stays what it is. Strings cannot become syntax, nothing is spliced, and what
comes out is not expanded once more. Either all of it is well or there is nothing.
"""

from __future__ import annotations

from bb.cbcl.judge.library import why_not
from bb.cbcl.read import grammar
from bb.cbcl.read.definition import DEPTH, SIZE, written
from bb.cbcl.read.fuel import Fuel, ResourceLimit, for_text
from bb.cbcl.read.message import CORE, Call, Lang, Limited, Meta, core_of, layers
from bb.cbcl.read.reader import DEPTH_MOST, SIZE_RECOMMENDED, UTMOST, Malformed
from bb.cbcl.read.templates import ExpansionFailed, chosen, is_sequence
from bb.cbcl.read.tree import LIST, NIL, Extent, Node, extent, head, text_of
from bb.kernel.errors import NotFound, Usage
from bb.kernel.record import Record
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bb.cbcl.read.definition import Definition, Performative
    from bb.cbcl.read.message import Message

MOST_NAMED, LONGEST_HINT = 8, 200  # performatives, and characters of parameters, that a hint repeats
LISTED = "list"  # the one constructor, in the arguments of a call only


class UnknownDialect(NotFound):
    """That dialect is not installed."""

    code = "UNKNOWN_DIALECT"
    hint = "`bb cbcl dialect list` names those that are; `bb cbcl dialect query` asks another agent"


class UnknownPerformative(NotFound):
    """The dialect has no such performative."""

    code = "UNKNOWN_PERFORMATIVE"
    hint = "`bb cbcl dialect show NAME` names what it adds"


class InvalidArguments(Usage):
    """The call does not fit the performative's parameters."""

    code = "INVALID_ARGUMENTS"
    hint = "`bb cbcl dialect show NAME` shows what each performative takes"


class Room(Record):
    """How large and how deep an expansion may become; what reaches a limit still keeps it."""

    depth: int = DEPTH_MOST
    size: int = 65_536

    def within(self, depth: int | None, size: int | None) -> Room:
        """The room that is left where less is granted; more is never."""
        return Room(min(self.depth, depth or self.depth), min(self.size, size or self.size))


WIDEST = Room()


class Expansion(Record):
    """What a call comes to, and how."""

    dialect: Definition  # the one that has the performative: that which was named, or one that it builds on
    performative: Performative
    bound: dict[str, Node]
    messages: tuple[Message, ...]
    size: int
    depth: int
    room: Room


def expand(
    message: Message, dialects: Mapping[str, Definition], room: Room = WIDEST, fuel: Fuel | None = None
) -> Expansion | None:
    """What MESSAGE comes to among installed DIALECTS; None where it calls nothing, though it may be in a dialect."""
    fuel = fuel or for_text(SIZE_RECOMMENDED)
    said: Message | Call = message
    while not isinstance(said, Call):
        room = hinted(said, room)
        said = core_of(said)
        if not isinstance(said, Lang):
            return None
        scope = said.dialect
        if scope != CORE:
            _installed(scope, dialects)
        said = said.inner
    return _called(said, scope, dialects, room, fuel)


def hinted(message: Message, room: Room) -> Room:
    """The room that MESSAGE itself asks to be kept to, its own depth included. Hints never make more of it."""
    for layer in layers(message):
        if isinstance(layer, Limited):
            room = room.within(layer.depth, layer.size)
            if layer.depth is not None and layer.deep > room.depth:
                raise ResourceLimit(f"the message is {layer.deep} deep, and {room.depth} is granted", limit=DEPTH)
    return room


def _installed(name: str, dialects: Mapping[str, Definition]) -> Definition:
    found = dialects.get(name)
    if found is None:
        unknown = UnknownDialect(f"dialect not installed: {harmless(name[:60])}", dialect=name[:60])
        raise why_not(dialects, name) or unknown
    return found


def _called(call: Call, name: str, dialects: Mapping[str, Definition], room: Room, fuel: Fuel) -> Expansion:
    dialect, performative = find(call.name, name, dialects)
    for declared in (dialect, dialects.get(name, dialect)):  # whose word it is, and whose it was said to be
        room = room.within(declared.limit(DEPTH), declared.limit(SIZE))
    bound = bind(call, performative)
    trees = list(_filled(performative.template, bound, room, fuel))
    messages = tuple(_read_again(tree, fuel) for tree in trees)
    extents = [extent(tree) for tree in trees]
    size, depth = sum(each.size for each in extents), max((each.depth for each in extents), default=0)
    return Expansion(dialect, performative, bound, messages, size, depth, room)


def find(name: str, within: str, dialects: Mapping[str, Definition]) -> tuple[Definition, Performative]:
    """The performative that NAME means WITHIN a dialect: its own, else that of the nearest it builds on."""
    dialect = _installed(within, dialects) if within != CORE else None
    passed: dict[str, Definition] = {}
    while dialect is not None and dialect.name not in passed:
        passed[dialect.name] = dialect
        if found := dialect.performative(name):
            return dialect, found
        dialect = dialects.get(dialect.parent)
    known = [each.name for dialect in passed.values() for each in dialect.performatives]
    raise UnknownPerformative(
        f"{harmless(within[:60])} has no performative {harmless(name[:60])}",
        hint=f"it has {_few(known)}" if known else "the core has no calls: (tell @bob …), (ask @bob …), …",
        dialect=within[:60],
        performative=name[:60],
    )


def _few(known: Sequence[str]) -> str:
    shown = ", ".join(name[:60] for name in known[:MOST_NAMED])
    return shown if len(known) <= MOST_NAMED else f"{shown} and {len(known) - MOST_NAMED} more"


# -- binding


def bind(call: Call, performative: Performative) -> dict[str, Node]:
    """What each parameter stands for in one call."""
    required, optional = performative.of("req"), performative.of("optional")
    rest, keys = performative.of("rest"), performative.of("key")
    count, called = len(call.args), harmless(performative.name[:60])
    hint = f"it takes {written(performative.params)[:LONGEST_HINT]}"
    if count < len(required) or (count > len(required) + len(optional) and not rest):
        most = " or more" if rest else f" to {len(required) + len(optional)}" if optional else ""
        plural = "" if len(required) == 1 and not most else "s"
        raise InvalidArguments(
            f"{called} takes {len(required)}{most} argument{plural} in order, not {count}", hint=hint
        )
    for name, _ in call.kwargs:
        if name not in keys:
            raise InvalidArguments(f"{called} takes no :{harmless(name[:60])}", hint=hint)
    values = [_value(each) for each in call.args]
    by_place = [*required, *optional]
    bound = dict.fromkeys([*by_place, *rest, *keys], NIL)
    bound.update(zip(by_place, values, strict=False))
    bound.update((name, Node(LIST, values[len(by_place) :])) for name in rest)
    bound.update((name, _value(value)) for name, value in call.kwargs)
    return bound


def _value(argument: Node) -> Node:
    """What an argument says: itself, but for `(list a b)`, which says the list of what its elements say."""
    if head(argument) != LISTED:
        return argument
    made: list[list[Node]] = [[]]
    within = [iter(argument.value[1:])]
    while within:
        following = next(within[-1], None)
        if following is None:
            within.pop()
            elements = made.pop()
            if not made:
                return Node(LIST, elements, argument.at)
            made[-1].append(Node(LIST, elements))
        elif head(following) == LISTED:
            within.append(iter(following.value[1:]))
            made.append([])
        else:
            made[-1].append(following)
    return NIL


# -- filling


def _filled(template: Node, bound: Mapping[str, Node], room: Room, fuel: Fuel) -> Iterator[Node]:
    """The messages of a template, in order."""
    count = _Count(bound, room)
    left = [template]
    while left:
        node, is_value = chosen(left.pop(), bound, fuel)
        if not is_value and is_sequence(node):
            left += reversed(node.value)
        else:
            yield _copy(node, bound, count, fuel, is_value=is_value)


class _Count:
    """What has been made so far, so that too much is never made first and then thrown away."""

    def __init__(self, bound: Mapping[str, Node], room: Room) -> None:
        self._extents: dict[int, Extent] = {id(value): extent(value) for value in bound.values()}
        self._room = room
        self._size = 0

    def add(self, size: int) -> None:
        self._size += size
        if self._size > self._room.size:
            raise ResourceLimit(f"it comes to more than {self._room.size:,} characters", limit=SIZE)

    def add_value(self, value: Node, depth: int) -> None:
        """A value that stands DEPTH deep."""
        size, deeper = self._extents.get(id(value)) or extent(value)
        self.add(size)
        self.reach(depth + deeper)

    def reach(self, depth: int) -> None:
        if depth > self._room.depth:
            raise ResourceLimit(f"it comes to be more than {self._room.depth} deep", limit=DEPTH)


def _copy(template: Node, bound: Mapping[str, Node], count: _Count, fuel: Fuel, *, is_value: bool) -> Node:
    """A template with its gaps filled."""
    made: list[list[Node]] = [[]]
    within: list[Iterator[Node]] = []
    node = template
    while True:
        if is_value or node.tag != LIST:
            made[-1].append(node)
            count.add_value(node, len(within))
        else:
            within.append(iter(node.value))
            made.append([])
            count.reach(len(within))
            count.add(1 + max(len(node.value), 1))  # its parentheses, and a space between each two elements
        while within and (following := next(within[-1], None)) is None:
            within.pop()
            elements = made.pop()
            made[-1].append(Node(LIST, elements))
        if not within:
            return made[0][0]
        node, is_value = chosen(following, bound, fuel) if following is not None else (NIL, True)


def _read_again(tree: Node, fuel: Fuel) -> Message:
    """A result as the message it has to be, which is no matter of another dialect, nor about dialects."""
    try:
        message = grammar.message(text_of(tree, fuel).encode(), UTMOST, fuel)
    except Malformed as error:
        raise ExpansionFailed(f"what it comes to is no message: {error.message}", **error.details) from None
    if isinstance(core_of(message), Lang | Meta):
        raise ExpansionFailed("what it comes to would have to be expanded again, or is about dialects")
    return message
