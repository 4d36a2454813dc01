"""The command groups: which modules declare the ops of each, and what help says about it.

A hot verb is found without this module (`catalogue.HOT`).
"""

from __future__ import annotations

# group -> (modules in `bb.ops`, help text). The empty group holds the ops without a group, such as `bb init`.
_MODULES_AND_HELP = {
    "": ("setup.repository overview.overview guards.check holdings.freezing ledger.sync chat.events", ""),
    "agent": (
        (
            "agents.agent agents.heartbeat agents.service agents.pausing holdings.reservations holdings.transfers "
            "mail.inbox mail.mail"
        ),
        "Agents: register, list, reserve, send and read mail.",
    ),
    "protocol": ("mail.protocol holdings.incursions", "Protocol events: HANDOFF, BLOCKED, INCURSION and RESUME."),
    "scope": ("holdings.scope", "Scopes: compare two paths or patterns."),
    "group": ("groups.group groups.templates", "CCCC groups: their directories, settings and state."),
    "actor": ("groups.actors groups.terminals", "Actors of a group: add, configure, start and stop them."),
    "chat": (
        (
            "chat.chat chat.reactions chat.deliveries chat.reading attention.pending attention.attention "
            "attention.ingest attention.surfaces attention.replay"
        ),
        "Messages: send, reply, acknowledge, read; and which messages an agent should handle, and why.",
    ),
    "blob": ("chat.blobs", "Attachments: files that messages of a group refer to."),
    "cccc": (
        "groups.daemon groups.context groups.terminals chat.reading groups.upkeep",
        "CCCC daemon ops without a command of their own; `bb call OP` runs them.",
    ),
    "sessions": ("overview.sessions", "Sessions: current work by bead, with its mail and protocol events."),
    "ledger": (
        "ledger.ledger ledger.sync ledger.signing ledger.redaction ledger.rotation",
        "The ledger: show, verify, sign, export and archive it.",
    ),
    "cbcl": (
        "cbcl.texts cbcl.keys cbcl.dialects cbcl.talk",
        "CBCL, the agent language: parse and format texts; verify, sign and install dialects; send messages in it.",
    ),
    "ci": ("guards.ci", "Continuous integration: check whether a change touches scopes that other agents hold."),
    "hooks": ("setup.hooks", "Hooks for git and editors: install, remove and list them."),
    "mcp": ("setup.mcp_hosts", "MCP: configure MCP hosts to offer the tools of bb to their agents."),
    "hook": (
        "guards.git_hook guards.editor_hook guards.turn_hooks guards.session_hook",
        "Commands that hooks run: git before a commit; editors before and after edits, on prompts and on stop.",
    ),
}
GROUPS: dict[str, tuple[tuple[str, ...], str]] = {
    group: (tuple(f"bb.ops.{module}" for module in modules.split()), about)
    for group, (modules, about) in _MODULES_AND_HELP.items()
}

# Subgroups by their command words, with their help texts.
SUBGROUPS = {
    "cbcl dialect": "Dialects of this repository: list, show, install and remove them.",
    "cbcl trust": "Trusted authors of signed dialects, by public key.",
}

# The groups whose ops have the flat names of CCCC's catalogue: `group_create` for `bb group create`.
FLAT = ("group", "actor", "chat", "cccc")
HIDDEN = frozenset(["cccc"])  # has no group of commands
