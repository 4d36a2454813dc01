"""The grammar: which trees are messages, and their parts. Dispatch is on the head alone.

A message is a list whose head is a plain symbol. Inside data a head has no meaning: `(tell @b (meta (define x)))` is a
tell. Where the grammar of the draft contradicts its examples, the examples apply: a `lang` may contain a call, and a
`teach` a signed definition; a date-time or a signature is a string, with or without quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bb.cbcl.read import definition, reader
from bb.cbcl.read.definition import Definition, is_date_time
from bb.cbcl.read.fuel import Fuel
from bb.cbcl.read.message import Call, Define, Envelope, Lang, Limited, Message, Pairs, Query, Signed, Simple, Teach
from bb.cbcl.read.reader import BOUNDS, Bounds, Text
from bb.cbcl.read.tree import (
    AGENT,
    KEYWORD,
    LIST,
    OPERATOR,
    SPEAKS,
    STRING,
    SYMBOL,
    UNSETTLED,
    WHOLE_NUMBER,
    Node,
    depth,
    head,
    nodes,
    whole_number,
)
from bb.cbcl.read.words import DEFINE, ENVELOPE, HEADS, LANG, PERFORMATIVES, QUERY, SIGNED, TEACH, WRAPPERS
from bb.kernel.errors import BbError

HINTS = {"timeout": "timeout", "max-depth": "depth", "max-expansion-size": "size"}


def message(octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> Message:
    """The message of a text that must contain exactly one."""
    text = Text(octets, bounds, fuel)
    return message_of(text, reader.single_tree(text))


def messages(octets: bytes, bounds: Bounds = BOUNDS) -> Iterator[Message]:
    """The messages of a file with several."""
    text = Text(octets, bounds)
    for node in text.trees():
        yield message_of(text, node)


def definition_in(octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> tuple[str | None, Definition]:
    """The signature, if any, and the dialect in a file: a definition, signed or not, or a `define` or `teach`."""
    text = Text(octets, bounds, fuel)
    node = reader.single_tree(text)
    grammar = Grammar(text)
    if head(node) == DEFINE:
        return None, definition.parse_definition(text, node)
    if head(node) == SIGNED and len(node.value) == 3 and head(node.value[2]) == DEFINE:
        return grammar.taught(node)
    parsed = message_of(text, node)
    if isinstance(parsed, Define):
        return None, parsed.definition
    if isinstance(parsed, Teach):
        return parsed.signature, parsed.definition
    raise text.refuse(reader.DIALECT, node.at, "this message contains no definition of a dialect")


def message_of(text: Text, node: Node) -> Message:
    """The message of a tree of TEXT. Wrappers are taken off one by one, then put back from the inside out."""
    grammar = Grammar(text)
    taken_off: list[tuple[type[Any], dict[str, Any]]] = []
    while True:
        name = grammar.head_of(node)
        if name in WRAPPERS:
            kind, fields, node = grammar.unwrapped(name, node)
        elif name == LANG:
            kind, fields, node = grammar.unscoped(node)
            if head(node) not in HEADS:
                inner: Any = grammar.call(node)
                taken_off.append((kind, fields))
                break
        else:
            inner = grammar.simple(name, node) if name in PERFORMATIVES else grammar.meta(node)
            break
        taken_off.append((kind, fields))
    deep = depth(node) if any(kind is Limited for kind, _ in taken_off) else 0
    for kind, fields in reversed(taken_off):
        inner = kind(**fields, inner=inner, **({"deep": deep} if kind is Limited else {}))
        deep += 1  # a wrapper adds one level: the wrapped message is its only list
    result: Message = inner
    return result


class Grammar:
    """The grammar rules, applied to one text."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def refuse(self, reason: str, node: Node, why: str) -> BbError:
        return self._text.refuse(reason, node.at, why)

    def end_of(self, node: Node) -> Node:
        """The node to report if something is missing at the end of a list: its last element, or the list itself."""
        return node.value[-1] if node.value else node

    def head_of(self, node: Node) -> str:
        """The head of a message."""
        name = head(node)
        if name is None:
            raise self.refuse(reader.HEAD, node, "a message must be a list that begins with a plain symbol")
        if name not in HEADS:
            more = f": write (meta ({name} …))" if name in (DEFINE, QUERY, TEACH) else ""
            raise self.refuse(reader.HEAD, node.value[0], f"a message cannot begin with {reader.excerpt(name)}{more}")
        return name

    # -- simple messages and calls

    def simple(self, name: str, node: Node) -> Simple:
        """performative recipient [content] (keyword value)*"""
        elements = node.value
        if len(elements) < 2 or elements[1].tag != AGENT:
            at = elements[1] if len(elements) > 1 else elements[0]
            raise self.refuse(reader.RECIPIENT, at, f"`{name}` must be followed by a recipient such as @bob")
        content, rest = None, elements[2:]
        if rest and rest[0].tag != KEYWORD:
            content, rest = self._content(rest[0]), rest[1:]
        return Simple(node, name, str(elements[1].value), content, self.pairs(rest))

    def _content(self, node: Node) -> Node:
        self.settle(node)
        if node.tag not in (STRING, LIST):
            raise self.refuse(reader.CONTENT, node, "the content of a message must be a string or a list")
        return node

    def pairs(self, nodes: Sequence[Node]) -> Pairs:
        """(keyword value)*, each keyword once."""
        values: dict[str, Node] = {}
        for place in range(0, len(nodes), 2):
            key = nodes[place]
            if key.tag != KEYWORD:
                self.settle(key)
                raise self.refuse(reader.PARAM, key, "a keyword such as :thread is expected here")
            if key.value in values:
                raise self.refuse(reader.PARAM, key, f"{reader.excerpt(':' + key.value)} is given twice")
            if place + 1 == len(nodes):
                raise self.refuse(reader.PARAM, key, f"{reader.excerpt(':' + key.value)} has no value")
            if nodes[place + 1].tag == KEYWORD:
                why = f"{reader.excerpt(':' + key.value)} has no value: a keyword cannot be a value"
                raise self.refuse(reader.PARAM, nodes[place + 1], why)
            self.settle(nodes[place + 1])
            values[key.value] = nodes[place + 1]
        return tuple(values.items())

    def settle(self, node: Node) -> None:
        """Check that NODE is data, without operators and without tokens that are only valid elsewhere."""
        for part in nodes(node, self._text.fuel):
            if part.tag == OPERATOR or part.tag == UNSETTLED:
                why = f"{reader.excerpt(part.value)} is not allowed here; write it as a string in double quotes"
                raise self.refuse(reader.LEX, part, why)

    def call(self, node: Node) -> Call:
        """name value* (keyword value)*"""
        name = head(node)
        if name is None:
            raise self.refuse(reader.LANG, node, "`lang` must contain a message or a call of a performative")
        elements = node.value[1:]
        args = []
        for element in elements:
            if element.tag == KEYWORD:
                break
            self.settle(element)
            args.append(element)
        return Call(node, name, tuple(args), self.pairs(elements[len(args) :]))

    # -- meta

    def meta(self, node: Node) -> Define | Query | Teach:
        """meta operation, exactly one"""
        if len(node.value) != 2:
            at = node.value[2] if len(node.value) > 2 else node.value[0]
            raise self.refuse(reader.META, at, "`meta` takes one operation: define, query or teach")
        operation = node.value[1]
        match head(operation):
            case "define":
                return Define(node, definition.parse_definition(self._text, operation))
            case "query":
                return Query(node, self._queried(operation))
            case "teach":
                return self._teach(node, operation)
        raise self.refuse(reader.META, operation, "`meta` takes one operation: define, query or teach")

    def _queried(self, node: Node) -> str:
        question = node.value[1] if len(node.value) == 2 else node
        parts = question.value if question.tag == LIST else []
        if len(parts) == 2 and parts[0][:2] == (OPERATOR, SPEAKS) and parts[1].tag == SYMBOL:
            return str(parts[1].value)
        raise self.refuse(reader.META, question, "a query must be (query (speak? NAME))")

    def _teach(self, node: Node, operation: Node) -> Teach:
        parts = operation.value
        if len(parts) != 3 or parts[1].tag != AGENT:
            raise self.refuse(reader.META, self.end_of(operation), "`teach` must be (teach @RECIPIENT DEFINITION)")
        signature, dialect = self.taught(parts[2])
        return Teach(node, str(parts[1].value), signature, dialect)

    def taught(self, node: Node) -> tuple[str | None, Definition]:
        """The signature, if any, and the definition in a `teach`."""
        signature = None
        if head(node) == SIGNED and len(node.value) == 3:
            signature, node = self.signature(node), node.value[2]
        if head(node) != DEFINE:
            raise self.refuse(reader.META, node, "`teach` takes a definition or a signed definition")
        return signature, definition.parse_definition(self._text, node)

    # -- wrappers

    def unscoped(self, node: Node) -> tuple[type[Lang], dict[str, Any], Node]:
        """lang dialect inner"""
        parts = node.value
        if len(parts) < 2 or parts[1].tag != SYMBOL:
            at = parts[1] if len(parts) > 1 else parts[0]
            raise self.refuse(reader.LANG, at, "`lang` needs the name of a dialect first")
        if len(parts) != 3 or parts[2].tag != LIST:
            at = parts[3] if len(parts) > 3 else parts[-1]
            raise self.refuse(reader.LANG, at, "`lang` takes one message or call behind the dialect's name")
        return Lang, {"node": node, "dialect": str(parts[1].value)}, parts[2]

    def unwrapped(self, name: str, node: Node) -> tuple[type[Any], dict[str, Any], Node]:
        """What a wrapper says itself, and what is wrapped in it."""
        if name == SIGNED:
            signature = self.signature(node)
            return Signed, {"node": node, "signature": signature}, self._inner(node, 2)
        fields, count = self._fields(node)
        inner = self._inner(node, count)
        kind, read = (Envelope, self._envelope) if name == ENVELOPE else (Limited, self._limited)
        return kind, {"node": node, **read(node, fields)}, inner

    def _inner(self, node: Node, place: int) -> Node:
        """The wrapped message: the only list after the fields."""
        rest: list[Node] = node.value[place:]
        if len(rest) == 1 and rest[0].tag == LIST:
            return rest[0]
        at = rest[1] if len(rest) > 1 else rest[0] if rest else self.end_of(node)
        raise self.refuse(reader.WRAPPER, at, f"`{node.value[0].value}` must contain exactly one message, at its end")

    def signature(self, node: Node) -> str:
        """The signature of a `signed`. It is not checked here."""
        if len(node.value) > 1:
            written = node.value[1]
            if written.tag == STRING and written.value:
                return str(written.value)
            if settled := self._text.unquoted_signature(written):
                node.value[1] = settled
                return str(settled.value)
        at = node.value[1] if len(node.value) > 1 else node.value[0]
        raise self.refuse(reader.WRAPPER, at, "`signed` must be followed by a signature in base64")

    def _fields(self, node: Node) -> tuple[dict[str, int], int]:
        """The index of each field's value, and the index after the last field."""
        places: dict[str, int] = {}
        place = 1
        while place < len(node.value) and node.value[place].tag == KEYWORD:
            key = node.value[place]
            if key.value in places:
                raise self.refuse(reader.WRAPPER, key, f"{reader.excerpt(':' + key.value)} is given twice")
            if place + 1 == len(node.value):
                raise self.refuse(reader.WRAPPER, key, f"{reader.excerpt(':' + key.value)} has no value")
            places[key.value] = place + 1
            place += 2
        return places, place

    def _envelope(self, node: Node, fields: dict[str, int]) -> dict[str, Any]:
        values: dict[str, Any] = dict.fromkeys(("sender", "to", "timestamp"))
        for name, place in fields.items():
            value = node.value[place]
            if name in ("from", "to") and value.tag == AGENT:
                values["sender" if name == "from" else name] = str(value.value)
            elif name == "timestamp" and value.tag in (STRING, UNSETTLED) and is_date_time(value.value):
                node.value[place] = Node(STRING, value.value, value.at)
                values[name] = str(value.value)
            elif name in ("from", "to", "timestamp"):
                what = "an RFC 3339 date and time" if name == "timestamp" else "an agent such as @ada"
                raise self.refuse(reader.WRAPPER, value, f"`:{name}` takes {what}")
            else:
                why = f"an envelope has no field {reader.excerpt(':' + name)}, only :from, :to and :timestamp"
                raise self.refuse(reader.WRAPPER, node.value[place - 1], why)
        return values

    def _limited(self, node: Node, fields: dict[str, int]) -> dict[str, Any]:
        values: dict[str, Any] = dict.fromkeys(HINTS.values())
        for name, place in fields.items():
            if name not in HINTS:
                hints = ", ".join(f":{hint}" for hint in HINTS)
                raise self.refuse(reader.WRAPPER, node.value[place - 1], f"`with-limits` takes only {hints}")
            values[HINTS[name]] = limit = whole_number(node.value[place])
            if limit is None or limit <= 0:
                raise self.refuse(reader.WRAPPER, node.value[place], f"a limit must be {WHOLE_NUMBER}, above 0")
        return values
