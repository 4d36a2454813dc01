"""Examples beside a dialect: calls of it, and what each comes to. They are checked before the dialect is installed.

    (example (assign @bob "parser") (ask @bob "parser" :domain work))
    (example (lang planning (assign @bob "parser")) (ask @bob "parser" :domain work))
    (example (assign "parser") refused INVALID_ARGUMENTS)

Behind the call stand the messages that it comes to, in order; or `refused` and the code it is refused with. A file
that is no such thing is a mistake of its own; an example that turns out otherwise is a violation, with its place.
"""

from __future__ import annotations

from bb.cbcl.judge import expansion
from bb.cbcl.judge.library import Beside
from bb.cbcl.judge.verification import Violation
from bb.cbcl.read import grammar, reader
from bb.cbcl.read.fuel import ResourceLimit
from bb.cbcl.read.message import LANG, Call, Lang
from bb.cbcl.read.reader import BOUNDS, Text
from bb.cbcl.read.tree import STRING, SYMBOL, head, same, text_of
from bb.kernel.errors import BbError
from bb.kernel.record import Record
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bb.cbcl.read.definition import Definition
    from bb.cbcl.read.message import Message
    from bb.cbcl.read.reader import Bounds
    from bb.cbcl.read.tree import Node

EXAMPLE, REFUSED = "example", "refused"
RULE = "example"
SUFFIX = ".examples.cbcl"
MOST_CHARACTERS = 1 << 20  # that all examples of a file may come to
LONGEST_SHOWN = 200  # characters of what came instead


class Example(Record):
    """A call, or a message that is said in a dialect, and what it has to come to: messages, or a refusal."""

    node: Node
    said: Call | Message
    expected: tuple[Node, ...]
    code: str | None

    @property
    def performative(self) -> str | None:
        """What is called; None in an example that calls nothing."""
        call = self.said.inner if isinstance(self.said, Lang) else self.said
        return call.name if isinstance(call, Call) else None


def read(octets: bytes, bounds: Bounds = BOUNDS) -> list[Example]:
    """The examples of a file."""
    text = Text(octets, bounds)
    return [_example(text, node) for node in text.trees()]


def _example(text: Text, node: Node) -> Example:
    if head(node) != EXAMPLE or len(node.value) < 3:
        raise text.refuse(
            reader.STRUCTURE, node.at, "an example is (example CALL MESSAGE…) or (example CALL refused CODE)"
        )
    said, expected = node.value[1], node.value[2:]
    what = grammar.message_of(text, said) if head(said) == LANG else grammar.Grammar(text).call(said)
    if expected[0][:2] != (SYMBOL, REFUSED):
        for each in expected:
            grammar.message_of(text, each)
        return Example(node, what, tuple(expected), None)
    if len(expected) != 2 or expected[1].tag not in (SYMBOL, STRING):
        raise text.refuse(reader.STRUCTURE, expected[0].at, "`refused` is followed by one code")
    return Example(node, what, (), str(expected[1].value))


def check(examples: Sequence[Example], definition: Definition, known: Mapping[str, Definition]) -> Iterator[Violation]:
    """What turns out otherwise than it is written, where DEFINITION is installed beside those that are KNOWN."""
    dialects = Beside(known)
    dialects.add(definition)
    left = MOST_CHARACTERS
    for example in examples:
        if left <= 0:
            untried = f"what stands before it comes to more than {MOST_CHARACTERS:,} characters: it is not tried"
            yield Violation(RULE, example.node.at, untried, example.performative)
            return
        why, size = _mistake(example, definition.name, dialects)
        left -= size
        if why:
            yield Violation(RULE, example.node.at, why, example.performative)


def _mistake(example: Example, name: str, dialects: Mapping[str, Definition]) -> tuple[str | None, int]:
    """In what an example is wrong, and how much work it was: the characters that it came to, or may have."""
    said = example.said if not isinstance(example.said, Call) else Lang(example.said.node, name, example.said)
    try:
        found = expansion.expand(said, dialects)
    except BbError as refusal:
        spent = expansion.WIDEST.size if refusal.code == ResourceLimit.code else 1
        if refusal.code == example.code:
            return None, spent
        wanted = f", not {harmless(example.code[:60])}" if example.code else ""
        return f"it is refused with {refusal.code}{wanted}: {refusal.message}", spent
    return _difference(example, found, said), found.size if found else 1


def _difference(example: Example, found: expansion.Expansion | None, said: Message) -> str | None:
    """In what that which an example comes to is other than it says."""
    messages = [message.node for message in found.messages] if found else [_plain(said)]
    if example.code is not None:
        return f"it is not refused, but comes to {_shown(messages)}"
    if len(messages) != len(example.expected):
        return f"it comes to {len(messages)} messages, not {len(example.expected)}: {_shown(messages)}"
    for place, (one, other) in enumerate(zip(messages, example.expected, strict=True), 1):
        if not same(one, other):
            which = f"message {place} of it" if len(messages) > 1 else "it"
            return f"{which} comes to {_shown([one])}"
    return None


def _plain(said: Message) -> Node:
    """What is said in a dialect without calling anything of it."""
    return said.inner.node if isinstance(said, Lang) else said.node


def _shown(nodes: Sequence[Node]) -> str:
    text = harmless(" ".join(map(text_of, nodes)))
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
