"""The types of CBCL messages.

    message  =  simple | meta | lang | wrapper around a message          call  =  only within lang

Each message keeps the tree it was parsed from. Printing, signing, hashing and measuring use that tree, never a tree
rebuilt from the fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from bb.cbcl.read.definition import Definition
from bb.cbcl.read.tree import Node
from bb.kernel.record import Record

Pairs = tuple[tuple[str, Node], ...]


class Simple(Record):
    """One of the eight performatives."""

    node: Node
    performative: str
    recipient: str
    content: Node | None
    params: Pairs

    def param(self, name: str) -> Node | None:
        """The value of a parameter; None if it is missing."""
        return next((value for key, value in self.params if key == name), None)

    def text(self, name: str) -> str | None:
        """The value of a parameter as text: `t-1` and `"t-1"` are the same."""
        value = self.param(name)
        return str(value.value) if value is not None and value.tag in ("sym", "str", "num", "qsym") else None


class Define(Record):
    """A message that defines a dialect."""

    node: Node
    definition: Definition


class Query(Record):
    """A question whether the recipient speaks a dialect."""

    node: Node
    dialect: str


class Teach(Record):
    """A dialect sent to another agent, optionally with its author's signature."""

    node: Node
    recipient: str
    signature: str | None
    definition: Definition


class Call(Record):
    """A call of a performative of a dialect, with its arguments."""

    node: Node
    name: str
    args: tuple[Node, ...]
    kwargs: Pairs


class Lang(Record):
    """A message or a call inside a dialect."""

    node: Node
    dialect: str
    inner: Message | Call


class Envelope(Record):
    """A message wrapped with its sender, recipient and time."""

    node: Node
    sender: str | None
    to: str | None
    timestamp: str | None
    inner: Message


class Signed(Record):
    """A message wrapped with its signature."""

    node: Node
    signature: str
    inner: Message


class Limited(Record):
    """A message wrapped with limits for its processing."""

    node: Node
    timeout: int | None
    depth: int | None
    size: int | None
    deep: int  # the depth of the wrapped message, computed once for all nested limits
    inner: Message


Wrapper = Envelope | Signed | Limited
Meta = Define | Query | Teach
Message = Simple | Meta | Lang | Wrapper


def layers(message: Message) -> Iterator[Message]:
    """A message, then each message wrapped in it, down to the core message."""
    while isinstance(message, Wrapper):
        yield message
        message = message.inner
    yield message


def every_layer(message: Message) -> Iterator[Message]:
    """Like `layers`, but continues through every `lang`, down to a call or a core message."""
    current: Message | Call = message
    while not isinstance(current, Call):
        yield from layers(current)
        core = core_of(current)
        if not isinstance(core, Lang):
            return
        current = core.inner


def core_of(message: Message) -> Simple | Meta | Lang:
    """The message inside all wrappers."""
    while isinstance(message, Wrapper):
        message = message.inner
    return message
