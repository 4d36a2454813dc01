"""Examples of a dialect: calls with their expected results. They are checked before the dialect is installed.

    (example (assign @bob "parser") (ask @bob "parser" :domain work))
    (example (lang planning (assign @bob "parser")) (ask @bob "parser" :domain work))
    (example (assign "parser") refused INVALID_ARGUMENTS)

After the call come the expected messages in order, or `refused` and the expected error code. A malformed file is
refused as such. An example with a different result is a violation, reported with its position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bb.cbcl.judge import expansion
from bb.cbcl.judge.library import Overlay
from bb.cbcl.judge.verification import Violation
from bb.cbcl.read import grammar, reader
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import ResourceLimit
from bb.cbcl.read.message import Call, Lang, Message
from bb.cbcl.read.reader import BOUNDS, Bounds, Text
from bb.cbcl.read.tree import STRING, SYMBOL, Node, equal, head, text_of
from bb.cbcl.read.words import LANG
from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless
from bb.kernel.record import Record

EXAMPLE, REFUSED = "example", "refused"
RULE = "example"
SUFFIX = ".examples.cbcl"
MOST_CHARACTERS = 1 << 20  # the maximum total length of the results in one file
LONGEST_SHOWN = 200  # characters of the actual result


class Example(Record):
    """A call, or a message inside a `lang`, with the expected messages or the expected refusal."""

    node: Node
    said: Call | Message
    expected: tuple[Node, ...]
    code: str | None

    @property
    def performative(self) -> str | None:
        """The name of the called performative; None if the example calls none."""
        call = self.said.inner if isinstance(self.said, Lang) else self.said
        return call.name if isinstance(call, Call) else None


def read(octets: bytes, bounds: Bounds = BOUNDS) -> list[Example]:
    """The examples of a file."""
    text = Text(octets, bounds)
    return [_example(text, node) for node in text.trees()]


def _example(text: Text, node: Node) -> Example:
    if head(node) != EXAMPLE or len(node.value) < 3:
        raise text.refuse(
            reader.STRUCTURE, node.at, "an example must be (example CALL MESSAGE…) or (example CALL refused CODE)"
        )
    call_node, expected = node.value[1], node.value[2:]
    call = grammar.message_of(text, call_node) if head(call_node) == LANG else grammar.Grammar(text).call(call_node)
    if expected[0][:2] != (SYMBOL, REFUSED):
        for message_node in expected:
            grammar.message_of(text, message_node)
        return Example(node, call, tuple(expected), None)
    if len(expected) != 2 or expected[1].tag not in (SYMBOL, STRING):
        raise text.refuse(reader.STRUCTURE, expected[0].at, "`refused` must be followed by one error code")
    return Example(node, call, (), str(expected[1].value))


def check(examples: Sequence[Example], definition: Definition, known: Mapping[str, Definition]) -> Iterator[Violation]:
    """The examples with a different result, if DEFINITION is installed beside the KNOWN dialects."""
    dialects = Overlay(known)
    dialects.add(definition)
    left = MOST_CHARACTERS
    for example in examples:
        if left <= 0:
            untried = f"not checked: the examples before it produce more than {MOST_CHARACTERS:,} characters"
            yield Violation(RULE, example.node.at, untried, example.performative)
            return
        why, size = _mistake(example, definition.name, dialects)
        left -= size
        if why:
            yield Violation(RULE, example.node.at, why, example.performative)


def _mistake(example: Example, name: str, dialects: Mapping[str, Definition]) -> tuple[str | None, int]:
    """The mistake in an example, if any, and the work it took: the characters that it produced, or may have."""
    message = example.said if not isinstance(example.said, Call) else Lang(example.said.node, name, example.said)
    try:
        expanded = expansion.expand(message, dialects)
    except BbError as refusal:
        spent = expansion.MAXIMUM_ROOM.size if refusal.code == ResourceLimit.code else 1
        if refusal.code == example.code:
            return None, spent
        expected = f", not {harmless(example.code[:60])}" if example.code else ""
        return f"the call is refused with {refusal.code}{expected}: {refusal.message}", spent
    return _difference(example, expanded, message), expanded.size if expanded else 1


def _difference(example: Example, expanded: expansion.Expansion | None, said: Message) -> str | None:
    """The difference between the actual and the expected result of an example; None if they agree."""
    messages = [message.node for message in expanded.messages] if expanded else [_plain(said)]
    if example.code is not None:
        return f"the call is not refused, but expands to {_shown(messages)}"
    if len(messages) != len(example.expected):
        return f"the call expands to {len(messages)} messages, not {len(example.expected)}: {_shown(messages)}"
    for place, (actual, expected) in enumerate(zip(messages, example.expected, strict=True), 1):
        if not equal(actual, expected):
            which = f"message {place} of the expansion" if len(messages) > 1 else "the expansion"
            return f"{which} is {_shown([actual])}"
    return None


def _plain(said: Message) -> Node:
    """A message inside a `lang` that contains no call."""
    return said.inner.node if isinstance(said, Lang) else said.node


def _shown(nodes: Sequence[Node]) -> str:
    text = harmless(" ".join(map(text_of, nodes)))
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
