"""The dialects of a repository: install, list, show and remove them, and teach them to other agents.

They are recorded in the ledger with their installer and source, so every clone has them. A dialect installed by command
counts as the user's own decision. A dialect taught by a message is judged when the agent hears the message.
"""

from __future__ import annotations

import os
from typing import Any

from bb.cbcl import dialects as fold
from bb.cbcl.dialects import InstalledDialect
from bb.cbcl.facts import Installed, Removed
from bb.cbcl.judge import installation, signatures
from bb.cbcl.judge.expansion import UnknownDialect
from bb.cbcl.judge.installation import Rules
from bb.cbcl.read import canonical, exchange, layout
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.reader import Bounds
from bb.cbcl.read.tree import OPERATOR, SPEAKS, Node, list_of, string, symbol, text_of
from bb.cbcl.read.tree import agent as named_agent
from bb.kernel import ids
from bb.kernel.errors import Refused
from bb.kernel.escaping import harmless
from bb.kernel.event import Event
from bb.ledger.index.index import Index
from bb.ledger.journal import kinds
from bb.ledger.signing.keyring import Keyring
from bb.ledger.views import cbcl as ledger
from bb.ops.agent_params import Name
from bb.ops.catalogue import op
from bb.ops.cbcl import inputs, talk
from bb.ops.cbcl.installable import examples_beside, must_verify
from bb.ops.desk import input_text, signs_of_life
from bb.ops.desk.desk import Desk
from bb.ops.params import AgentOrPerson, AllowSecretReason, Key, UncheckedText

DialectInUse = Refused.declare(
    "DIALECT_IN_USE",
    "Another dialect extends this one",
    hint="remove the dialects that extend it first, with `bb cbcl dialect remove`",
)


class Dialect(Name):
    """The name of the dialect."""

    metavar = "DIALECT"


class TaughtAgent(talk.CbclRecipient):
    """The agent to send it to."""


@op(
    "cbcl.dialect.install",
    screen="cbcl_talk",
    examples=("bb cbcl dialect install logistics.cbcl", "bb cbcl dialect install logistics.cbcl --replace"),
)
def install(
    desk: Desk,
    file: Name | None = None,
    *,
    text: UncheckedText | None = None,
    agent: AgentOrPerson | None = None,
    replace: bool = False,
    key: Key | None = None,
    allow_secret: AllowSecretReason | None = None,
) -> dict[str, Any]:
    """Install a dialect in this repository. Its signature, if any, and all rules are verified first.

    If there is a file NAME.examples.cbcl beside it, its examples must succeed. Installing an installed dialect again
    changes nothing. A different definition with the same name is a conflict, unless you pass --replace.

    Parameters:
        file (FILE): The file with the definition; - reads stdin.
        text: The definition, instead of a file.
        replace: Replace another dialect with the same name.
    """
    who, keyring, rules = _user(desk, agent), Keyring(desk.env), _rules(desk)
    policy = rules.trust.policy
    bounds = Bounds(policy.max_depth, policy.max_size)
    source = inputs.read_input(desk, file, text, bounds)
    desk.add_to_request_digest(source.octets)
    is_file = file is not None and file != input_text.STDIN
    beside = examples_beside(desk, file) if is_file else None
    _, signature, definition = must_verify(desk, source, bounds, beside)
    rules = rules.replace(trust=keyring.trust_for(definition.author)) if signature else rules
    where = f"file {harmless(os.path.basename(str(file)))}" if is_file else "text"

    def decide(index: Index, _: Any) -> list[Any]:
        installed = ledger.InstalledDialects(desk.store, index, keyring)
        return installation.install(
            definition, signature, installed, rules, by=who, source=where, is_local=True, replaces=replace
        )

    recorded = signs_of_life.act(desk, who, decide, key=key, allow_secret=allow_secret)
    installed = _spoken(desk)
    brought = next(filter(None, map(_installed_by, recorded)), None)  # even if it has been removed since
    return _shown(desk, installed, brought or _kept(installed, definition.name), definition) | {
        "changed": brought is not None
    }


def _installed_by(event: Event) -> InstalledDialect | None:
    """The dialect that an event installed; None for another kind of event."""
    fact = kinds.fact_of(event.kind, event.data, event.by)
    if not isinstance(fact, Installed):
        return None
    return InstalledDialect(
        fact.dialect, event.id, event.ts, fact.by, fact.hash, fact.author, fact.signature, fact.source
    )


@op("cbcl.dialect.list", reads=True, screen="cbcl_talk", examples=("bb cbcl dialect list",))
def list_(desk: Desk) -> dict[str, Any]:
    """List the installed dialects with their authors, the installers and the results of the signature checks."""
    installed = _spoken(desk)
    return {"dialects": [_row(installed, dialect) for name in installed.names() for dialect in installed.live(name)]}


@op("cbcl.dialect.show", reads=True, screen="cbcl_talk", examples=("bb cbcl dialect show logistics",))
def show(desk: Desk, name: Dialect) -> dict[str, Any]:
    """Show a dialect: its definition, its performatives with their parameters, and its history."""
    installed = _spoken(desk)
    kept = _kept(installed, name)
    return _shown(desk, installed, kept, _definition(installed, kept))


@op("cbcl.dialect.remove", screen="cbcl_talk", examples=("bb cbcl dialect remove logistics",))
def remove(desk: Desk, name: Dialect, *, agent: AgentOrPerson | None = None, key: Key | None = None) -> dict[str, Any]:
    """Remove a dialect from this repository. Its definition stays in the ledger's history."""
    who = _user(desk, agent)

    def decide(index: Index, _: Any) -> list[Any]:
        installed = ledger.InstalledDialects(desk.store, index, Keyring(desk.env))
        _kept(installed, name)  # raises if the dialect is not installed
        above = installed.building_on(name)
        if above:
            raise DialectInUse(f"dialects that extend {name}: {', '.join(above)}", dialects=above)
        return [Removed(who, name, dialect.hash) for dialect in installed.live(name)]

    signs_of_life.act(desk, who, decide, key=key)
    return {"dialect": name, "removed": True}


@op(
    "cbcl.dialect.teach",
    screen="cbcl_talk",
    examples=(
        "bb cbcl dialect teach logistics --to cobalt-harbor",
        "bb cbcl dialect teach logistics --to b --sign-with me",
    ),
)
def teach(
    desk: Desk, name: Dialect, *, to: TaughtAgent, agent: AgentOrPerson | None = None, sign_with: Name | None = None
) -> dict[str, Any]:
    """Send a dialect to another agent. The agent installs it if its user trusts the author.

    The dialect is sent with its author's signature, if it has one. With --sign-with, it is signed now.

    Parameters:
        sign_with (KEY-NAME): Sign the dialect with this key of yours, instead of its present signature. The key must be
            its author's.
    """
    installed = _spoken(desk)
    kept = _kept(installed, name)
    node = _definition(installed, kept).node
    signature = str(installed.line_of(kept).get("signed") or "")
    if sign_with is not None:
        signature = signatures.sign(Keyring(desk.env).seed(sign_with), canonical.octets(node))
    lesson = list_of(symbol("signed"), string(signature), node) if signature else node
    message = list_of(symbol("meta"), list_of(symbol("teach"), named_agent(to), lesson))
    return talk.send_text(desk, text_of(message), agent)


@op("cbcl.dialect.query", screen="cbcl_talk", examples=("bb cbcl dialect query logistics --to cobalt-harbor",))
def query(desk: Desk, name: Dialect, *, to: TaughtAgent, agent: AgentOrPerson | None = None) -> dict[str, Any]:
    """Ask another agent whether it has a dialect. The agent answers when it hears the message."""
    message = list_of(symbol("meta"), list_of(symbol("query"), list_of(Node(OPERATOR, SPEAKS), symbol(name))))
    return talk.send_text(desk, text_of(message), agent, [str(to)])


def _shown(
    desk: Desk, found: ledger.InstalledDialects, kept: InstalledDialect, definition: Definition
) -> dict[str, Any]:
    """All details of one dialect."""
    return {
        **_row(found, kept),
        "definition": exchange.definition_json(definition),
        "text": text_of(definition.node),
        "formatted": layout.pretty_print(definition.node),
        "history": fold.history(kept.name, desk.store.index.state(fold.NAME, kept.name)),
    }


def _spoken(desk: Desk) -> ledger.InstalledDialects:
    """The dialects of the current repository."""
    return ledger.InstalledDialects(desk.store, desk.ledger.caught_up(), Keyring(desk.env))


def _row(found: ledger.InstalledDialects, kept: InstalledDialect) -> dict[str, Any]:
    is_usable = kept.name in found and kept.hash in found.sound(kept.name)
    reason = None if is_usable else found.unusable_reason(kept.name)
    judged = found.sound(kept.name).get(kept.hash)
    others = [other.event for other in found.live(kept.name) if other != kept and other.hash in found.sound(kept.name)]
    return {
        "dialect": kept.name,
        "author": f"@{kept.author}" if kept.author else None,
        "signature": found.signature(kept),
        "hash": kept.hash,
        "source": kept.source,
        "installed_by": kept.by,
        "installed_at": kept.ts,
        "event_id": kept.event,
        "adds": list(judged.adds) if judged else [],
        "usable": is_usable,
        "why_not": reason.message if reason else None,
        "conflicts": others,
    }


def _kept(found: ledger.InstalledDialects, name: str) -> InstalledDialect:
    """The dialect with this name; the first one if several clones have installed different ones."""
    live = found.live(name)
    sound = [dialect for dialect in live if dialect.hash in found.sound(name)]
    if not live:
        raise UnknownDialect(f"dialect not installed: {harmless(name[:60])}", dialect=name[:60])
    return (sound or live)[0]


def _definition(found: ledger.InstalledDialects, kept: InstalledDialect) -> Definition:
    definition = found.definition(kept)
    if definition is None:
        raise UnknownDialect(
            f"the line that installed {harmless(kept.name[:60])} does not contain a sound definition",
            hint="replace it with `bb cbcl dialect install FILE --replace`, or run `bb cbcl dialect remove DIALECT`",
            dialect=kept.name[:60],
        )
    return definition


def _user(desk: Desk, agent: str | None) -> str:
    """The caller: the named agent, else the agent of BB_AGENT, else the person."""
    who = ids.PERSON if agent == ids.PERSON else desk.caller(agent) if agent else desk.principal()
    desk.store.require_ledger()
    return who


def _rules(desk: Desk) -> Rules:
    return Rules(Keyring(desk.env).trust())
