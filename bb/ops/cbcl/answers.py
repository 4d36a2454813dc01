"""Answers to questions about a CBCL text, for the commands and for `bb cbcl batch`.

The functions take octets, definitions and limits, and return plain values. They read no file and no repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bb.cbcl.judge import authorship, comparison, expansion, signatures
from bb.cbcl.judge.expansion import MAXIMUM_ROOM, Limits
from bb.cbcl.judge.installation import Rules, require_sound
from bb.cbcl.judge.library import Overlay
from bb.cbcl.judge.trust import Policy
from bb.cbcl.judge.verification import verify, violation_json
from bb.cbcl.read import canonical, exchange, grammar, layout, names, reader
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import Fuel
from bb.cbcl.read.grammar import Grammar
from bb.cbcl.read.message import Call, Envelope, Lang, Message, Signed, Teach, Wrapper, core_of, layers
from bb.cbcl.read.reader import BOUNDS, MAXIMUM_BOUNDS, Bounds, Places, Text
from bb.cbcl.read.tree import Node, agent, as_json, extent, head, list_of, string, symbol, text_of
from bb.cbcl.read.words import DEFINE, SIGNED
from bb.kernel.errors import BbError, Usage
from bb.kernel.record import Record

NotSigned = Usage.declare(
    "NOT_SIGNED", "The text has no signature", hint='run `bb cbcl sign`: it prints `(signed "…" TEXT)`'
)

CallsNothing = Usage.declare(
    "CALLS_NOTHING",
    "The message calls no performative of a dialect, so there is nothing to explain",
    hint="write a call in a dialect: (lang DIALECT (PERFORMATIVE ARGUMENT…))",
)


class ParsedText(Record):
    """A text that was read: a message, or a definition by itself. A definition is not a message, but it is written,
    hashed and signed like one."""

    node: Node
    message: Message | None
    definition: Definition | None
    signature: str | None

    @property
    def unsigned(self) -> Node:
        """The part that a signature covers: the content of `signed`, else the whole text."""
        if self.message is not None and (signed_part := _signed_in(self.message)):
            return signed_part.inner.node
        return self.definition.node if self.definition else self.node


def parse_text(octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> ParsedText:
    """Read a text: a message, or a definition by itself."""
    text = Text(octets, bounds, fuel)
    return read_node(text, reader.single_tree(text))


def read_node(text: Text, node: Node) -> ParsedText:
    name = head(node)
    if name == DEFINE or (name == SIGNED and len(node.value) == 3 and head(node.value[2]) == DEFINE):
        signature, definition = Grammar(text).taught(node)
        return ParsedText(node, None, definition, signature)
    message = grammar.message_of(text, node)
    if isinstance(message, Teach) and message.signature is not None:
        return ParsedText(node, message, message.definition, message.signature)
    signed_part = _signed_in(message)
    return ParsedText(node, message, None, signed_part.signature if signed_part else None)


def _signed_in(message: Message) -> Signed | None:
    """The signed part of a message. It can be inside an envelope, whose fields the signature does not cover."""
    return next((layer for layer in layers(message) if isinstance(layer, Signed)), None)


def parsed(octets: bytes, bounds: Bounds = BOUNDS) -> dict[str, Any]:
    """A message: its parts, its text, its hash and its id."""
    return described(grammar.message(octets, bounds))


def described(message: Message) -> dict[str, Any]:
    return {
        "ast": exchange.message_json(message),
        "text": text_of(message.node),
        "hash": canonical.digest(message.node),
        "id": names.id_of(message),
    }


def formatted(node: Node, fuel: Fuel) -> dict[str, Any]:
    """A text on one line, and formatted over several lines."""
    return {"text": text_of(node, fuel), "formatted": layout.pretty_print(node, fuel=fuel)}


def parse_texts(octets: bytes, bounds: Bounds, fuel: Fuel) -> Iterator[ParsedText]:
    """The texts of a file with several texts."""
    text = Text(octets, bounds, fuel)
    for node in text.trees():
        yield read_node(text, node)


# -- dialects


def defined(octets: bytes, bounds: Bounds = BOUNDS, fuel: Fuel | None = None) -> tuple[str | None, Definition]:
    """The definition in a text, and its signature."""
    return grammar.definition_in(octets, bounds, fuel)


def add_definitions(definitions: Iterable[Definition], found: Overlay) -> None:
    """Add DEFINITIONS to the dialects FOUND, parents first. An unsound definition is refused. A definition replaces an
    earlier one with its name."""
    left = list(definitions)
    while left:
        waiting = {definition.name for definition in left}
        following = left.pop(
            next((place for place, definition in enumerate(left) if definition.parent not in waiting), 0)
        )
        require_sound(following, found, Rules())
        found.add(following)


def verified(octets: bytes, known: Mapping[str, Definition], bounds: Bounds = BOUNDS) -> dict[str, Any]:
    """Verify the definition in a text."""
    signature, definition = defined(octets, bounds)
    return verification_report(definition, signature, octets, known)


def verification_report(
    definition: Definition,
    signature: str | None,
    octets: bytes,
    known: Mapping[str, Definition],
    most: int = Policy.max_verify_time,
) -> dict[str, Any]:
    """Verify a definition: the first violations, the number of all violations, and the steps taken."""
    verdict, where = verify(definition, known, most), Places(octets)
    return {
        "dialect": definition.name,
        "sound": verdict.is_sound,
        "count": verdict.count,
        "rules": sorted(verdict.rules),
        "steps": verdict.steps,
        "steps_granted": verdict.granted,
        "violations": [violation_json(violation, where) for violation in verdict.violations],
        "warnings": [violation_json(warning, where) for warning in verdict.warnings],
        "hash": canonical.digest(definition.node),
        "signature": "unsigned" if signature is None else "unchecked",
    }


def expanded(message: Message, dialects: Mapping[str, Definition], room: Limits = MAXIMUM_ROOM) -> dict[str, Any]:
    """The messages that MESSAGE expands to. A message without a call expands to itself, without its dialect wrapper."""
    result = expansion.expand(message, dialects, room)
    if result is None:
        itself, dialect = _itself(message)
        size, depth = extent(itself.node)
        messages: tuple[Message, ...] = (itself,)
    else:
        messages, size, depth, dialect = result.messages, result.size, result.depth, result.dialect.name
    return {
        "messages": [{"text": text_of(part.node), "ast": exchange.message_json(part)} for part in messages],
        "size": size,
        "depth": depth,
        "dialect": dialect,
        "performative": result.performative.name if result else None,
    }


def _itself(message: Message) -> tuple[Message, str | None]:
    """A message without its dialect wrappers, and the name of the innermost such dialect."""
    dialect = None
    while isinstance(core := core_of(message), Lang) and not isinstance(core.inner, Call):
        message, dialect = core.inner, core.dialect
    return message, dialect


def compared(one: Definition, other: Definition, octets: tuple[bytes, bytes], fuel: Fuel) -> dict[str, Any]:
    """The differences between two dialects, with their places in the OCTETS of both."""
    places = Places(octets[0]), Places(octets[1])
    return {"a": one.name, "b": other.name, **comparison.comparison_json(comparison.compare(one, other, fuel), places)}


# -- signatures


def signed(
    what: ParsedText, seed: bytes, teach: str | None = None, *, author: str = "", ledger: str | None = None
) -> dict[str, Any]:
    """Sign a definition, or a message by AUTHOR in a LEDGER (None: in no ledger). With TEACH, the answer is the
    message that teaches the definition to that agent."""
    is_definition = teach is not None or what.message is None
    node = _definition(what) if is_definition else what.node
    where = None if is_definition else ledger
    signature = signatures.sign(seed, authorship.octets(node, author, where))
    signed_node = list_of(symbol(SIGNED), string(signature), node)
    if teach is not None:
        signed_node = list_of(symbol("meta"), list_of(symbol("teach"), agent(teach), signed_node))
    text = text_of(signed_node)
    parse_text(text.encode(), MAXIMUM_BOUNDS)  # refuses a result that is too deep to be read again
    about = {"author": None if where is None else author, "ledger": where}
    return {"text": text, "signature": signature, "hash": canonical.digest(node), **about}


def _definition(what: ParsedText) -> Node:
    """The definition in a text, without its signature."""
    core = core_of(what.message) if what.message is not None else None
    definition = what.definition or getattr(core, "definition", None)
    if definition is None:
        raise Usage("only a definition can be taught", hint="remove --teach, or pass a file with a dialect")
    node: Node = definition.node
    return node


class ValidSignature(Record):
    """A valid signature: its KEY, the NODE it covers, the AUTHOR and LEDGER if it covers them, and the parts of the
    text OUTSIDE of it."""

    key: bytes
    node: Node
    octets: bytes
    author: str | None
    ledger: str | None
    is_definition: bool
    outside: tuple[str, ...]

    def shown(self) -> dict[str, Any]:
        return {
            "hash": canonical.digest(self.node),
            "covers": {
                "what": "definition" if self.is_definition else "message",
                "text": text_of(self.node),
                "octets": len(self.octets),
                "author": self.author,
                "ledger": self.ledger,
                "outside": list(self.outside),
            },
        }


def check_signature(
    what: ParsedText,
    signature: str | None,
    keys: Iterable[bytes],
    authors: Sequence[str] = (),
    ledgers: Sequence[str] = (),
) -> ValidSignature:
    """Find the key that signed a text, for one of the AUTHORS in one of the LEDGERS, or without either. Refused if none
    of the KEYS did."""
    node = what.node if signature is not None else what.unsigned
    outside = () if signature is not None else tuple(_outside(what))
    signature = signature if signature is not None else what.signature
    if signature is None:
        raise NotSigned()
    is_definition = what.message is None or head(node) == DEFINE
    contexts: list[tuple[str | None, str | None]] = [(None, None)]
    if not is_definition:
        contexts = [*((author, ledger) for ledger in ledgers for author in authors), *contexts]
    refusal: BbError | None = None
    for author, ledger in contexts:
        octets = authorship.octets(node, author or "", ledger)
        for key in keys:
            try:
                signatures.check(signature, octets, key)
            except signatures.InvalidSignature.error as error:
                refusal = error
                continue
            return ValidSignature(key, node, octets, author, ledger, is_definition, outside)
    raise refusal or signatures.InvalidSignature("no key is given to check the signature with")


def _outside(what: ParsedText) -> Iterator[str]:
    """The wrappers around the signed part. They are unsigned, so anyone may have written or changed them."""
    for layer in layers(what.message) if what.message is not None else ():
        if isinstance(layer, Signed):
            return
        if isinstance(layer, Teach):
            yield f"(meta (teach @{layer.recipient} …))"
        elif isinstance(layer, Wrapper):
            yield f"{text_of(list_of(*layer.node.value[:-1]))[:-1]} …)"


def senders_in(what: ParsedText) -> list[str]:
    """The senders named by the envelopes of a message."""
    message_layers = layers(what.message) if what.message is not None else ()
    return [layer.sender for layer in message_layers if isinstance(layer, Envelope) and layer.sender]


# -- explanation


def explained(message: Message, dialects: Mapping[str, Definition], policy: Limits) -> dict[str, Any]:
    """Explain the expansion of a call, step by step."""
    from bb.cbcl.judge import explanation  # noqa: PLC0415  (only needed here)

    result = explanation.explain(message, dialects, policy)
    if result is None:
        raise CallsNothing()
    outcome, refusal = result.expansion, result.refusal
    used = {} if outcome is None else {"max-depth": outcome.depth, "max-expansion-size": outcome.size}
    return {
        "dialect": result.dialect.name,
        "performative": result.performative.name,
        "call": text_of(result.call.node),
        "parameters": [
            {
                "name": parameter.name,
                "section": parameter.section,
                "value": text_of(parameter.value),
                "ast": as_json(parameter.value),
                "from": parameter.source,
                "argument": parameter.place,
            }
            for parameter in result.bound
        ],
        "choices": [
            {
                "form": text_of(choice.form),
                "offset": choice.form.at,
                "tried": [
                    {"test": None if one.test is None else text_of(one.test), "taken": one.is_taken, "why": one.why}
                    for one in choice.tried
                ],
                "taken": None if choice.taken is None else text_of(choice.taken),
            }
            for choice in result.choices
        ],
        "limits": [
            {
                "limit": limit.name,
                "granted": limit.granted,
                "from": limit.source,
                "used": used.get(limit.name),
                "said": limit.said,
            }
            for limit in result.limits
        ],
        "messages": [
            {"text": text_of(part.node), "ast": exchange.message_json(part), **extent(part.node)._asdict()}
            for part in (outcome.messages if outcome else ())
        ],
        "size": outcome.size if outcome else None,
        "depth": outcome.depth if outcome else None,
        "refused": None
        if refusal is None
        else {"code": refusal.code, "message": refusal.message, "details": refusal.details},
    }
