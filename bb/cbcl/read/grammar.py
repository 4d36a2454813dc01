"""What may be said: trees that are messages, and what each of them says. Dispatch is on the head alone.

A message is a list whose head is a plain symbol. Within data no head means anything: `(tell @b (meta (define x)))` is a
tell. Where the grammar of the draft and its examples differ, the examples win: a call may stand in a `lang`, a signed
definition in a `teach`; a date-time and a signature may be quoted or not, and are strings either way.
"""

from __future__ import annotations

from bb.cbcl.read import definition, reader
from bb.cbcl.read.dates import is_date_time
from bb.cbcl.read.message import (
    DEFINE,
    ENVELOPE,
    HEADS,
    LANG,
    PERFORMATIVES,
    QUERY,
    SIGNED,
    TEACH,
    WRAPPERS,
    Call,
    Define,
    Envelope,
    Lang,
    Limited,
    Message,
    Query,
    Signed,
    Simple,
    Teach,
)
from bb.cbcl.read.reader import BOUNDS, Text
from bb.cbcl.read.tree import (
    AGENT,
    KEYWORD,
    LIST,
    OPERATOR,
    SPEAKS,
    STRING,
    SYMBOL,
    UNSETTLED,
    WHOLE,
    Node,
    depth,
    head,
    nodes,
    whole,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from bb.cbcl.read.definition import Definition
    from bb.cbcl.read.fuel import Fuel
    from bb.cbcl.read.message import Pairs
    from bb.cbcl.read.reader import Bounds, Malformed

HINTS = {"timeout": "timeout", "max-depth": "depth", "max-expansion-size": "size"}


def message(octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> Message:
    """The one message that a text is."""
    text = Text(octets, bounds, fuel)
    return message_of(text, reader.one(text))


def messages(octets: bytes, bounds: Bounds = BOUNDS) -> Iterator[Message]:
    """The messages of a file that holds several."""
    text = Text(octets, bounds)
    for node in text.trees():
        yield message_of(text, node)


def definition_in(octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> tuple[str | None, Definition]:
    """The dialect that a file defines, and the signature it carries: a bare definition, a signed one, or a message that
    defines or teaches it."""
    text = Text(octets, bounds, fuel)
    node = reader.one(text)
    grammar = Grammar(text)
    if head(node) == DEFINE:
        return None, definition.read(text, node)
    if head(node) == SIGNED and len(node.value) == 3 and head(node.value[2]) == DEFINE:
        return grammar.taught(node)
    found = message_of(text, node)
    if isinstance(found, Define):
        return None, found.definition
    if isinstance(found, Teach):
        return found.signature, found.definition
    raise text.refuse(reader.DIALECT, node.at, "this message defines no dialect")


def message_of(text: Text, node: Node) -> Message:
    """The message that a tree of TEXT is. Wrappers are taken off one by one, and put on again from within."""
    grammar = Grammar(text)
    taken_off: list[tuple[type[Any], dict[str, Any]]] = []
    while True:
        name = grammar.head_of(node)
        if name in WRAPPERS:
            kind, fields, node = grammar.unwrapped(name, node)
        elif name == LANG:
            kind, fields, node = grammar.unscoped(node)
            if head(node) not in HEADS:
                found: Any = grammar.call(node)
                taken_off.append((kind, fields))
                break
        else:
            found = grammar.simple(name, node) if name in PERFORMATIVES else grammar.meta(node)
            break
        taken_off.append((kind, fields))
    deep = depth(node) if any(kind is Limited for kind, _ in taken_off) else 0
    for kind, fields in reversed(taken_off):
        found = kind(**fields, inner=found, **({"deep": deep} if kind is Limited else {}))
        deep += 1  # beside what it is wrapped around, no wrapper has a list
    result: Message = found
    return result


class Grammar:
    """The productions of one text."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def refuse(self, reason: str, node: Node, why: str) -> Malformed:
        return self._text.refuse(reason, node.at, why)

    def end_of(self, node: Node) -> Node:
        """Where something is missing at the end of a list: its last element, or the list itself."""
        return node.value[-1] if node.value else node

    def head_of(self, node: Node) -> str:
        """The head by which a message is told."""
        name = head(node)
        if name is None:
            raise self.refuse(reader.HEAD, node, "a message is a list that begins with a plain symbol")
        if name not in HEADS:
            said = "; it may stand in a `meta`" if name in (DEFINE, QUERY, TEACH) else ""
            raise self.refuse(reader.HEAD, node.value[0], f"{reader.excerpt(name)} begins no message{said}")
        return name

    # -- simple messages and calls

    def simple(self, name: str, node: Node) -> Simple:
        """performative recipient [content] (keyword value)*"""
        elements = node.value
        if len(elements) < 2 or elements[1].tag != AGENT:
            at = elements[1] if len(elements) > 1 else elements[0]
            raise self.refuse(reader.RECIPIENT, at, f"`{name}` needs a recipient such as @bob first")
        content, rest = None, elements[2:]
        if rest and rest[0].tag != KEYWORD:
            content, rest = self._content(rest[0]), rest[1:]
        return Simple(node, name, str(elements[1].value), content, self.pairs(rest))

    def _content(self, node: Node) -> Node:
        self.settle(node)
        if node.tag not in (STRING, LIST):
            raise self.refuse(reader.CONTENT, node, "what is said is a string or a list")
        return node

    def pairs(self, nodes: Sequence[Node]) -> Pairs:
        """(keyword value)*, each keyword once."""
        found: dict[str, Node] = {}
        for place in range(0, len(nodes), 2):
            key = nodes[place]
            if key.tag != KEYWORD:
                self.settle(key)
                raise self.refuse(reader.PARAM, key, "a keyword such as :thread must stand here")
            if key.value in found:
                raise self.refuse(reader.PARAM, key, f"{reader.excerpt(':' + key.value)} is given twice")
            if place + 1 == len(nodes):
                raise self.refuse(reader.PARAM, key, f"{reader.excerpt(':' + key.value)} has no value")
            if nodes[place + 1].tag == KEYWORD:
                why = f"{reader.excerpt(':' + key.value)} has no value: no keyword is one"
                raise self.refuse(reader.PARAM, nodes[place + 1], why)
            self.settle(nodes[place + 1])
            found[key.value] = nodes[place + 1]
        return tuple(found.items())

    def settle(self, node: Node) -> None:
        """See that NODE is data: nothing in it has a meaning that it only has elsewhere."""
        for found in nodes(node, self._text.fuel):
            if found.tag == OPERATOR or found.tag == UNSETTLED:
                raise self.refuse(reader.LEX, found, f"{reader.excerpt(found.value)} means nothing here; quote it")

    def call(self, node: Node) -> Call:
        """name value* (keyword value)*"""
        name = head(node)
        if name is None:
            raise self.refuse(reader.LANG, node, "what is said in a dialect is a message or a call of a performative")
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
                return Define(node, definition.read(self._text, operation))
            case "query":
                return Query(node, self._queried(operation))
            case "teach":
                return self._teach(node, operation)
        raise self.refuse(reader.META, operation, "`meta` takes one operation: define, query or teach")

    def _queried(self, node: Node) -> str:
        asked = node.value[1] if len(node.value) == 2 else node
        parts = asked.value if asked.tag == LIST else []
        if len(parts) == 2 and parts[0][:2] == (OPERATOR, SPEAKS) and parts[1].tag == SYMBOL:
            return str(parts[1].value)
        raise self.refuse(reader.META, asked, "a query is (query (speak? NAME))")

    def _teach(self, node: Node, operation: Node) -> Teach:
        parts = operation.value
        if len(parts) != 3 or parts[1].tag != AGENT:
            raise self.refuse(reader.META, self.end_of(operation), "a lesson is (teach @RECIPIENT DEFINITION)")
        signature, found = self.taught(parts[2])
        return Teach(node, str(parts[1].value), signature, found)

    def taught(self, node: Node) -> tuple[str | None, Definition]:
        """A definition, signed or not."""
        signature = None
        if head(node) == SIGNED and len(node.value) == 3:
            signature, node = self.signature(node), node.value[2]
        if head(node) != DEFINE:
            raise self.refuse(reader.META, node, "what is taught is a definition, signed or not")
        return signature, definition.read(self._text, node)

    # -- what stands around a message

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
        """What is wrapped: the one list behind the fields."""
        rest: list[Node] = node.value[place:]
        if len(rest) == 1 and rest[0].tag == LIST:
            return rest[0]
        at = rest[1] if len(rest) > 1 else rest[0] if rest else self.end_of(node)
        raise self.refuse(reader.WRAPPER, at, f"`{node.value[0].value}` is wrapped around exactly one message")

    def signature(self, node: Node) -> str:
        """The signature of a `signed`. Whether it is any good is looked at when it is checked."""
        if len(node.value) > 1:
            written = node.value[1]
            if written.tag == STRING and written.value:
                return str(written.value)
            if settled := self._text.unquoted_signature(written):
                node.value[1] = settled
                return str(settled.value)
        at = node.value[1] if len(node.value) > 1 else node.value[0]
        raise self.refuse(reader.WRAPPER, at, "`signed` needs a signature first, in base64")

    def _fields(self, node: Node) -> tuple[dict[str, int], int]:
        """Where the value of each field stands, and where the fields end."""
        found: dict[str, int] = {}
        place = 1
        while place < len(node.value) and node.value[place].tag == KEYWORD:
            key = node.value[place]
            if key.value in found:
                raise self.refuse(reader.WRAPPER, key, f"{reader.excerpt(':' + key.value)} is given twice")
            if place + 1 == len(node.value):
                raise self.refuse(reader.WRAPPER, key, f"{reader.excerpt(':' + key.value)} has no value")
            found[key.value] = place + 1
            place += 2
        return found, place

    def _envelope(self, node: Node, fields: dict[str, int]) -> dict[str, Any]:
        said: dict[str, Any] = dict.fromkeys(("sender", "to", "timestamp"))
        for name, place in fields.items():
            value = node.value[place]
            if name in ("from", "to") and value.tag == AGENT:
                said["sender" if name == "from" else name] = str(value.value)
            elif name == "timestamp" and value.tag in (STRING, UNSETTLED) and is_date_time(value.value):
                node.value[place] = Node(STRING, value.value, value.at)
                said[name] = str(value.value)
            else:
                known = name in ("from", "to", "timestamp")
                what = "is no such value" if known else "is no field of an envelope: they are :from, :to and :timestamp"
                at = value if known else node.value[place - 1]
                raise self.refuse(reader.WRAPPER, at, f"{reader.excerpt(':' + name)} {what}")
        return said

    def _limited(self, node: Node, fields: dict[str, int]) -> dict[str, Any]:
        said: dict[str, Any] = dict.fromkeys(HINTS.values())
        for name, place in fields.items():
            if name not in HINTS:
                known = ", ".join(f":{each}" for each in HINTS)
                raise self.refuse(reader.WRAPPER, node.value[place - 1], f"`with-limits` takes {known}")
            said[HINTS[name]] = found = whole(node.value[place])
            if found is None or found <= 0:
                raise self.refuse(reader.WRAPPER, node.value[place], f"a limit is {WHOLE}, above 0")
        return said
