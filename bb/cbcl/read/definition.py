"""The definition of a dialect: its name, parent, author, limits and performatives.

    (define NAME [:extends NAME] [:author @AUTHOR] [:resources (…)] (extend PERFORMATIVE (PARAMETER*) TEMPLATE)*)

The clauses may come in any order; all but `extend` at most once. Only the grammar is checked here. `verification`
decides whether a dialect may be installed, so a definition without an author or with a bad template is still read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import cached_property

from bb.cbcl.read import reader
from bb.cbcl.read.reader import Text
from bb.cbcl.read.templates import COND, branches, is_sequence
from bb.cbcl.read.tree import (
    AGENT,
    KEY,
    KEYWORD,
    LIST,
    OPERATOR,
    OPTIONAL,
    REST,
    STRING,
    SYMBOL,
    UNSETTLED,
    WHOLE_NUMBER,
    Node,
    head,
    nodes,
    whole_number,
)
from bb.cbcl.read.words import ENVELOPE, SIGNED, WRAPPERS
from bb.kernel.errors import BbError
from bb.kernel.gc_pause import GcPause
from bb.kernel.record import Record

EXTEND = "extend"
REQUIRED = "req"
SECTIONS = {OPTIONAL: "optional", REST: "rest", KEY: "key"}
MARKERS = {section: marker for marker, section in SECTIONS.items()}
ORDER = (REQUIRED, "optional", "rest", "key")
DEPTH, SIZE, TIME = "max-depth", "max-expansion-size", "max-verify-time"
LIMITS = (DEPTH, SIZE, TIME)
SHORT = {"max-expansion": SIZE}  # the name that two examples of the draft use

# A date-time of RFC 3339 (Section 5.6). It is validated field by field and not converted.
DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-]([0-9]{2}):([0-9]{2}))\Z"
)
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
LEAP_SECOND = 60
LONGEST_DATE = 64  # characters; limits the digits of a fraction of a second


class Parameter(Record):
    """One parameter of a performative: its section and its name."""

    section: str
    name: str
    at: int


class Performative(Record):
    """A performative of a dialect: its name, its parameters and its template."""

    name: str
    params: tuple[Parameter, ...]
    template: Node
    at: int

    def names(self) -> frozenset[str]:
        return frozenset(param.name for param in self.params)

    def of(self, section: str) -> list[str]:
        """The parameters of one section, in order."""
        return [param.name for param in self.params if param.section == section]


class Definition(Record):
    """A dialect, as parsed."""

    node: Node
    name: str
    extends: str | None
    author: str | None
    resources: dict[str, int] | None
    performatives: tuple[Performative, ...]
    places: dict[str, int]  # the position of each clause and each limit

    def performative(self, name: str) -> Performative | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Performative]:
        """The first performative of each name."""
        return {performative.name: performative for performative in reversed(self.performatives)}

    def limit(self, name: str) -> int | None:
        return (self.resources or {}).get(name)

    @property
    def parent(self) -> str:
        """The dialect that it extends; the core by default."""
        return self.extends or "cbcl"


def parse_definition(text: Text, node: Node) -> Definition:
    """The definition in a `define` list."""
    with GcPause():
        return _Definition(text).read(node)


class _Definition:
    """The grammar rules of a definition, applied to one text."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._values: dict[str, Node] = {}  # the value of each clause but `extend`
        self._places: dict[str, int] = {}

    def read(self, node: Node) -> Definition:
        parts = node.value
        if len(parts) < 2 or parts[1].tag != SYMBOL:
            raise self._refuse(
                parts[1] if len(parts) > 1 else parts[0], "`define` must be followed by the name of a dialect"
            )
        performatives = tuple(map(self._performative, self._clauses(parts[2:])))
        extends, author = self._values.get("extends"), self._values.get("author")
        return Definition(
            node,
            str(parts[1].value),
            None if extends is None else str(extends.value),
            None if author is None else str(author.value),
            self._resources(),
            performatives,
            self._places,
        )

    def _refuse(self, node: Node, why: str) -> BbError:
        return self._text.refuse(reader.DIALECT, node.at, why)

    def _clauses(self, nodes: list[Node]) -> Iterator[Node]:
        """The `extend` clauses. All other clauses are stored."""
        rest = iter(nodes)
        for node in rest:
            if node.tag == KEYWORD:
                self._note(node, next(rest, None))
            elif head(node) == EXTEND:
                yield node
            else:
                raise self._refuse(node, "a clause must be :extends, :author, :resources or (extend …)")

    def _note(self, key: Node, value: Node | None) -> None:
        tags = {"extends": SYMBOL, "author": AGENT, "resources": LIST}
        if key.value not in tags:
            raise self._refuse(key, f"a definition has no clause {reader.excerpt(':' + key.value)}")
        if key.value in self._values:
            raise self._refuse(key, f"`:{key.value}` is given twice")
        if value is None or value.tag != tags[key.value]:
            what = {"extends": "the name of a dialect", "author": "an agent such as @ada", "resources": "a list"}
            raise self._refuse(value or key, f"`:{key.value}` takes {what[key.value]}")
        self._values[key.value], self._places[key.value] = value, key.at

    def _resources(self) -> dict[str, int] | None:
        """The declared limits, under their long names."""
        if "resources" not in self._values:
            return None
        limits: dict[str, int] = {}
        nodes = self._values["resources"].value
        for place in range(0, len(nodes), 2):
            key = nodes[place]
            name = SHORT.get(key.value, key.value) if key.tag == KEYWORD else None
            if name not in LIMITS:
                raise self._refuse(key, "a limit must be :max-depth, :max-expansion-size or :max-verify-time")
            if name in limits:
                raise self._refuse(key, f"`:{name}` is given twice")
            limits[name] = self._whole(nodes[place + 1] if place + 1 < len(nodes) else key)
            self._places[name] = key.at
        return limits

    def _whole(self, node: Node) -> int:
        limit = whole_number(node)
        if limit is None:
            raise self._refuse(node, f"a limit must be {WHOLE_NUMBER}")
        return limit

    def _performative(self, node: Node) -> Performative:
        """(extend name param-list template)"""
        parts = node.value
        misplaced = next(
            (piece for piece, tag in zip(parts[1:], (SYMBOL, LIST), strict=False) if piece.tag != tag), None
        )
        if misplaced or len(parts) != 4:
            at = misplaced or (parts[4] if len(parts) > 4 else node)
            raise self._refuse(at, "an `extend` clause must be (extend NAME (PARAMETER…) TEMPLATE)")
        params = tuple(self._params(parts[2]))
        self._settle_wrappers(parts[3], {parameter.name for parameter in params})
        for part in nodes(parts[3], self._text.fuel) if self._text.has_unsettled else ():
            if part.tag == UNSETTLED:
                why = f"{reader.excerpt(part.value)} is not allowed here; write it as a string in double quotes"
                raise self._text.refuse(reader.LEX, part.at, why)
        return Performative(str(parts[1].value), params, parts[3], node.at)

    def _settle_wrappers(self, template: Node, params: Container[str]) -> None:
        """Turn unquoted date-times and signatures in the wrappers of a template into strings, as in a message."""
        left = [template]
        while left:
            node = left.pop()
            name = head(node)
            self._text.fuel.spend(1 + (len(node.value) if node.tag == LIST else 0))
            if name == COND:
                left += branches(node)
            elif is_sequence(node):
                left += node.value
            elif name in WRAPPERS:
                node.value[1:-1] = [
                    self._settled(name, before, value, params)
                    for before, value in zip(node.value, node.value[1:-1], strict=False)
                ]
                left += node.value[-1:]

    def _settled(self, wrapper: str, before: Node, value: Node, params: Container[str]) -> Node:
        """VALUE, which follows BEFORE in a wrapper; as a string, if it is an unquoted date-time or signature."""
        if wrapper == SIGNED and before[:2] == (SYMBOL, SIGNED):
            is_gap = value.tag == SYMBOL and value.value in params
            return value if is_gap else self._text.unquoted_signature(value) or value
        is_time = wrapper == ENVELOPE and before[:2] == (KEYWORD, "timestamp") and value.tag == UNSETTLED
        return Node(STRING, value.value, value.at) if is_time and is_date_time(value.value) else value

    def _params(self, node: Node) -> Iterator[Parameter]:
        """Parameters by section. A marker stays in force until the next one; `&rest` takes one name."""
        section, count = REQUIRED, 1
        for part in node.value:
            if part.tag == OPERATOR and part.value in SECTIONS:
                self._must_have_names(section, count, part)
                after = SECTIONS[part.value]
                if ORDER.index(after) < ORDER.index(section) or (after == section == "rest"):
                    raise self._refuse(part, "parameters must come in the order required, &optional, &rest, &key")
                section, count = after, 0
            elif part.tag == SYMBOL and not (section == "rest" and count):
                count += 1
                yield Parameter(section, str(part.value), part.at)
            else:
                raise self._refuse(part, "a parameter must be a name; &rest takes one name, other markers any number")
        self._must_have_names(section, count, node)

    def _must_have_names(self, section: str, count: int, node: Node) -> None:
        if section != REQUIRED and not count:
            raise self._refuse(node, f"&{section} must be followed by a name")


def parameters_text(params: Sequence[Parameter]) -> str:
    """A parameter list as text, with each marker once."""
    words: list[str] = []
    section = None
    for parameter in params:
        if parameter.section != section and parameter.section in MARKERS:
            words.append(MARKERS[parameter.section])
        section = parameter.section
        words.append(parameter.name)
    return f"({' '.join(words)})"


def is_date_time(written: str) -> bool:
    """Whether a text is an existing date and time. The second may be a leap second."""
    match = DATE_TIME.match(written) if len(written) <= LONGEST_DATE else None
    if match is None:
        return False
    year, month, day, hour, minute, second, *offset = (int(field or 0) for field in match.groups())
    if not (1 <= month <= 12 and 1 <= day <= _days(year, month)):
        return False
    return hour < 24 and minute < 60 and second <= LEAP_SECOND and offset[0] < 24 and offset[1] < 60


def _days(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else DAYS[month - 1]
