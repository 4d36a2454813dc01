"""Messages, definitions and trees as JSON. Other programs read this format, so it must stay stable.

An S-expression is `[tag, value]`; a message is an object with a `type`. Numbers are strings, because a float could not
hold all of them.
"""

from __future__ import annotations

from typing import Any

from bb.cbcl.read.definition import LIMITS, Definition
from bb.cbcl.read.message import Call, Define, Envelope, Lang, Limited, Message, Query, Signed, Simple, Teach
from bb.cbcl.read.tree import as_json


def message_json(message: Message | Call) -> dict[str, Any]:
    """A message as JSON. Wrappers are added from the inside out."""
    around: list[dict[str, Any]] = []
    inner: Message | Call = message
    while isinstance(inner, Lang | Envelope | Signed | Limited):
        around.append(_around(inner))
        inner = inner.inner
    result = _innermost(inner)
    for layer in reversed(around):
        layer["inner"] = result
        result = layer
    return result


def _around(message: Lang | Envelope | Signed | Limited) -> dict[str, Any]:
    match message:
        case Lang(dialect=dialect):
            return {"type": "lang", "dialect": dialect}
        case Signed(signature=signature):
            return {"type": "signed", "signature": signature}
        case Envelope(sender=sender, to=to, timestamp=timestamp):
            return {"type": "envelope", "from": agent_text(sender), "to": agent_text(to), "timestamp": timestamp}
    return {
        "type": "with-limits",
        "timeout": message.timeout,
        "max-depth": message.depth,
        "max-expansion-size": message.size,
    }


def _innermost(message: Message | Call) -> dict[str, Any]:
    match message:
        case Simple():
            return {
                "type": "simple",
                "performative": message.performative,
                "recipient": agent_text(message.recipient),
                "content": None if message.content is None else as_json(message.content),
                "params": [[name, as_json(value)] for name, value in message.params],
            }
        case Define():
            return {"type": "meta", "op": "define", "dialect": definition_json(message.definition)}
        case Query():
            return {"type": "meta", "op": "query", "dialect": message.dialect}
        case Teach():
            return {
                "type": "meta",
                "op": "teach",
                "recipient": agent_text(message.recipient),
                "signature": message.signature,
                "dialect": definition_json(message.definition),
            }
        case Call():
            return {
                "type": "call",
                "name": message.name,
                "args": [as_json(argument) for argument in message.args],
                "kwargs": [[name, as_json(value)] for name, value in message.kwargs],
            }
    raise AssertionError(f"{type(message).__name__} is not a type of message")


def definition_json(definition: Definition) -> dict[str, Any]:
    """A definition as JSON."""
    resources = definition.resources
    return {
        "name": definition.name,
        "extends": definition.extends,
        "author": agent_text(definition.author),
        "resources": None if resources is None else {name: resources.get(name) for name in LIMITS},
        "performatives": [
            {
                "name": performative.name,
                "params": [[param.section, param.name] for param in performative.params],
                "template": as_json(performative.template),
            }
            for performative in definition.performatives
        ],
    }


def agent_text(name: str | None) -> str | None:
    """The name of an agent with its @."""
    return None if name is None else f"@{name}"
