"""The command groups: which modules declare the ops of each, and what help says about it.

A hot verb is found without this module (`catalogue.HOT`).
"""

from __future__ import annotations

# group -> (modules, help text). The empty group holds the ops without a group, such as `bb init`.
GROUPS: dict[str, tuple[tuple[str, ...], str]] = {
    "": (
        (
            "bb.ops.setup.repository",
            "bb.ops.overview.overview",
            "bb.ops.guards.check",
            "bb.ops.holdings.freezing",
            "bb.ops.ledger.sync",
            "bb.ops.chat.events",
        ),
        "",
    ),
    "agent": (
        (
            *(
                "bb.ops.agents.agent",
                "bb.ops.agents.heartbeat",
                "bb.ops.agents.service",
                "bb.ops.agents.pausing",
                "bb.ops.holdings.reservations",
            ),
            *("bb.ops.holdings.transfers", "bb.ops.mail.inbox", "bb.ops.mail.mail"),
        ),
        "Agents: register, list, reserve, send and read mail.",
    ),
    "protocol": (
        ("bb.ops.mail.protocol", "bb.ops.holdings.incursions"),
        "Protocol events: HANDOFF, BLOCKED, INCURSION and RESUME.",
    ),
    "scope": (("bb.ops.holdings.scope",), "Scopes: compare two paths or patterns."),
    "group": (
        ("bb.ops.groups.group", "bb.ops.groups.templates"),
        "CCCC groups: their directories, settings and state.",
    ),
    "actor": (
        ("bb.ops.groups.actors", "bb.ops.groups.terminals"),
        "Actors of a group: add, configure, start and stop them.",
    ),
    "chat": (
        (
            *("bb.ops.chat.chat", "bb.ops.chat.reactions", "bb.ops.chat.deliveries", "bb.ops.chat.reading"),
            *(
                "bb.ops.attention.pending",
                "bb.ops.attention.attention",
                "bb.ops.attention.ingest",
                "bb.ops.attention.surfaces",
                "bb.ops.attention.replay",
            ),
        ),
        "Messages: send, reply, acknowledge, read; and which messages an agent should handle, and why.",
    ),
    "blob": (("bb.ops.chat.blobs",), "Attachments: files that messages of a group refer to."),
    "cccc": (
        (
            "bb.ops.groups.daemon",
            "bb.ops.groups.context",
            "bb.ops.groups.terminals",
            "bb.ops.chat.reading",
            "bb.ops.groups.upkeep",
        ),
        "CCCC daemon ops without a command of their own; `bb call OP` runs them.",
    ),
    "sessions": (
        ("bb.ops.overview.sessions",),
        "Sessions: current work by bead, with its mail and protocol events.",
    ),
    "ledger": (
        (
            "bb.ops.ledger.ledger",
            "bb.ops.ledger.sync",
            "bb.ops.ledger.signing",
            "bb.ops.ledger.redaction",
            "bb.ops.ledger.rotation",
        ),
        "The ledger: show, verify, sign, export and archive it.",
    ),
    "cbcl": (
        ("bb.ops.cbcl.texts", "bb.ops.cbcl.keys", "bb.ops.cbcl.dialects", "bb.ops.cbcl.talk"),
        "CBCL, the agent language: parse and format texts; verify, sign and install dialects; send messages in it.",
    ),
    "ci": (
        ("bb.ops.guards.ci",),
        "Continuous integration: check whether a change touches scopes that other agents hold.",
    ),
    "hooks": (
        ("bb.ops.setup.hooks",),
        "Hooks for git and editors: install, remove and list them.",
    ),
    "mcp": (("bb.ops.setup.mcp_hosts",), "MCP: configure MCP hosts to offer the tools of bb to their agents."),
    "hook": (
        (
            "bb.ops.guards.git_hook",
            "bb.ops.guards.editor_hook",
            "bb.ops.guards.turn_hooks",
            "bb.ops.guards.session_hook",
        ),
        "Commands that hooks run: git before a commit; editors before and after edits, on prompts and on stop.",
    ),
}

# Subgroups by their command words, with their help texts.
SUBGROUPS = {
    "cbcl dialect": "Dialects of this repository: list, show, install and remove them.",
    "cbcl trust": "Trusted authors of signed dialects, by public key.",
}

# The groups whose ops have the flat names of CCCC's catalogue: `group_create` for `bb group create`.
FLAT = ("group", "actor", "chat", "cccc")
HIDDEN = frozenset(["cccc"])  # has no group of commands
