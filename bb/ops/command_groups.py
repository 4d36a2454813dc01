"""The command groups: which modules declare the ops of each, and what help says about it.

A hot verb is found without this module (`catalogue.HOT`).
"""

from __future__ import annotations

# group -> (modules in `bb.ops`, help text). The empty group holds the ops without a group, such as `bb init`.
_MODULES_AND_HELP = {
    "": (
        (
            "setup.repository setup.setup setup.start overview.turn overview.overview guards.check holdings.freezing "
            "ledger.sync chat.events lines.edit lines.commit lines.diff lines.blame"
        ),
        "",
    ),
    "edit": ("lines.edit", "Brackets around an edit, for agents without hooks."),
    "agent": (
        (
            "agents.agent agents.heartbeat agents.service agents.naming agents.pausing holdings.reservations "
            "holdings.transfers mail.inbox mail.mail mail.wait chat.replying"
        ),
        "Agents: register, list, reserve, send and read mail.",
    ),
    "protocol": (
        "mail.protocol holdings.incursions guards.accepting",
        "Protocol events: HANDOFF, BLOCKED, INCURSION and RESUME.",
    ),
    "scope": ("holdings.scope", "Scopes: compare two paths or patterns."),
    "group": ("groups.group groups.templates", "CCCC groups: their directories, settings and state."),
    "actor": ("groups.actors groups.terminals", "Actors of a group: add, configure, start and stop them."),
    "chat": (
        (
            "chat.chat chat.reactions chat.deliveries chat.reading attention.pending attention.attention "
            "attention.stopping attention.ingest attention.surfaces attention.confirmations attention.replay"
        ),
        "Messages of chats: send, reply, read; and what needs an answer.",
    ),
    "blob": ("chat.blobs", "Attachments: files that messages of a group refer to."),
    "cccc": (
        "groups.daemon groups.context groups.terminals chat.reading groups.upkeep fleet.attending",
        "CCCC daemon ops without a command of their own; `bb call OP` runs them.",
    ),
    "sessions": ("overview.sessions", "Current work by bead (work item), with its mail and events."),
    "ledger": (
        "ledger.ledger ledger.sync ledger.signing ledger.redaction ledger.rotation ledger.arbiter ledger.restoring",
        "The ledger: show, verify, sign, export and archive it.",
    ),
    "fleet": (
        "fleet.beginning fleet.ending fleet.joining fleet.status fleet.engine_setup fleet.pruning",
        "The fleet: many machines that share an engine, such as PostgreSQL.",
    ),
    "cbcl": (
        "cbcl.texts cbcl.keys cbcl.dialects cbcl.talk",
        "CBCL, a language of agents: messages, dialects and signatures.",
    ),
    "ci": ("guards.ci", "For CI: check a change against the scopes that others hold."),
    "hooks": ("setup.hooks", "Hooks for git and editors: install, remove and list them."),
    "mcp": ("setup.mcp_hosts", "Configure MCP hosts to offer the tools of bb to their agents."),
    "hook": (
        (
            "guards.git_hook guards.made_commit guards.editor_hook guards.after_tool guards.turn_hooks "
            "guards.session_hook guards.session_end"
        ),
        "Commands that the hooks of git and of editors run.",
    ),
}
GROUPS: dict[str, tuple[tuple[str, ...], str]] = {
    group: (tuple(f"bb.ops.{module}" for module in modules.split()), about)
    for group, (modules, about) in _MODULES_AND_HELP.items()
}

# The sections of `bb --help`. A command that is in none of them is in the last one.
SECTIONS = {
    "Work": (
        "start turn reserve release renew check edit mine commit diff blame run send reply inbox read ack wait "
        "handoff blocked resume agent scope"
    ),
    "People": "status problems timeline sessions watch web report notify freeze thaw demo",
    "Ledger": "init doctor sync ledger fleet ci",
    "Hosts": "setup hooks hook mcp daemon group actor attach",
    "Protocols": "protocol chat events blob cbcl call",
}

# Subgroups by their command words, with their help texts.
SUBGROUPS = {
    "cbcl dialect": "Dialects of this repository: list, show, install and remove them.",
    "cbcl trust": "Trusted authors of signed dialects, by public key.",
}

# The groups whose ops have the flat names of CCCC's catalogue: `group_create` for `bb group create`.
FLAT = ("group", "actor", "chat", "cccc")
HIDDEN = frozenset(["cccc"])  # has no group of commands
