"""One way to call each op that succeeds, and a repository prepared for it: for tests that go through all ops."""

from __future__ import annotations

import json
import tempfile

from bb.ops.catalogue import Op, find
from tests.support import Scratch

AMBER, COBALT = "amber-otter", "cobalt-harbor"
LETTER = ["--bead", "bb-1", "--category", "INFO", "--subject", "Parser", "--body", "Done."]
ALONE = "runner: headless, runtime: custom"
TEMPLATE = f"""kind: cccc.group_template
v: 1
actors: [{{id: {AMBER}, {ALONE}}}, {{id: {COBALT}, {ALONE}}}, {{id: quiet-heron, {ALONE}}}]
"""
GOOD = {
    "agent.register": ["--name", "dusty-wren", "--role", "builder"],
    "agent.heartbeat": ["--agent", AMBER],
    "agent.show": ["--agent", AMBER],
    "agent.retire": ["--agent", "tidy-crane"],
    "agent.reserve": ["--agent", AMBER, "--scope", "src/parser", "--bead", "bb-1"],
    "agent.renew": ["--agent", AMBER, "--all"],
    "agent.release": ["--agent", AMBER, "--all"],
    "agent.inbox": ["--agent", COBALT],
    "agent.send": ["--from", AMBER, "--to", COBALT, *LETTER],
    "agent.read": ["--agent", COBALT, "--message", "MESSAGE"],
    "agent.ack": ["--agent", COBALT, "--message", "MESSAGE"],
    "agent.wait": ["--agent", "quiet-heron", "--timeout", "0"],
    "check": ["docs/index.md"],
    "sync": ["--local"],
    "ci.check": ["--base", "HEAD"],
    "hook.prepare-commit-msg": ["message", "message"],
    "resume": ["--agent", AMBER],
    "protocol.handoff": [
        *("--from", AMBER, "--to", COBALT, "--bead", "bb-1", "--subject", "Parser"),
        *("--summary", "All but dates.", "--next-action", "Dates."),
    ],
    "protocol.blocked": [
        *("--from", AMBER, "--to", COBALT, "--bead", "bb-1", "--subject", "Format"),
        *("--blocker", "Two are in use.", "--requested-action", "Choose one.", "--urgency", "low"),
    ],
    "protocol.show": ["HANDOFF"],
    "protocol.resolve": ["INCURSION", "--as", "accepted", "--agent", COBALT],
    "context_sync": ["--args", '{"ops": [{"op": "sketch.update", "sketch": "All but dates."}]}'],
    "group_template_preview": [TEMPLATE],
    "group_template_import_replace": [TEMPLATE, "--confirm", "GROUP"],
    "group_create_from_template": ["FOLDER", "--template", TEMPLATE],
    "scope.compare": ["src/*", "src/lib"],
    "sessions.show": ["bb-1"],
    "ledger.show": ["EVENT"],
    "ledger.redact": ["MESSAGE", "--reason", "a slip", "--agent", "user"],
    "ledger.rotate": ["--reason", "a slip", "--agent", "user"],
    "hooks.install": ["--editor", "claude"],
    "hooks.uninstall": ["--editor", "claude"],
    "hook.stop": ["--payload", '{"hook_event_name": "Stop"}'],
}
ONCE = {
    "agent.register": 7,
    "agent.retire": 4,
    "group_create_from_template": 7,
}  # what cannot be done twice, and how the second time ends


def prepare(repo: Scratch) -> None:
    """Agents, a message, a hand-off and an incursion, so that every op has something to be about."""
    for name in (AMBER, COBALT, "quiet-heron", "tidy-crane"):
        assert repo.bb("agent", "register", "--name", name, "--role", "builder").status == 0
    for to in (COBALT, "quiet-heron"):
        assert repo.bb("agent", "send", "--from", AMBER, "--to", to, *LETTER).status == 0
    assert repo.bb(*["protocol", "handoff"], *GOOD["protocol.handoff"]).status == 0
    for agent, *scope in ((COBALT, "web"), ("quiet-heron", "web/a", "--allow-overlap")):
        assert repo.bb("agent", "reserve", "--agent", agent, "--bead", "bb-1", "--scope", *scope).status == 0
    assert repo.bb(*good_words(find("protocol.resolve"), repo)).status == 0  # or `bb problems` would find one


def publish(repo: Scratch) -> None:
    """A remote for the repository, which has its ledger."""
    hub = repo.path.parent / f"{repo.path.name}-hub.git"
    repo.git("init", "--quiet", "--bare", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    assert repo.bb("sync", "--publish", BB_SYNC="off").status == 0


def good_words(op: Op, repo: Scratch) -> list[str]:
    """Words that call OP, with the ids that the prepared repository has. It is published first, where that matters."""
    if op.name == "ledger.rotate" and not repo.git("remote"):
        publish(repo)
    lines = [json.loads(line) for line in repo.journal().read_text().splitlines()]
    said = [line for line in lines if line["kind"] == "chat.message" and line["data"]]
    passed_on = [line for line in said if "protocol" in line["data"]]
    met = [line for line in lines if line["kind"] == "system.notify"]
    named = {"EVENT": lines, "MESSAGE": said, "HANDOFF": passed_on, "INCURSION": met}
    found = {word: some[0]["id"] for word, some in named.items() if some}
    found["FOLDER"] = tempfile.mkdtemp(dir=repo.path.parent)
    found["GROUP"] = f"g_{json.loads((repo.store / 'clone.json').read_text())['repo']}"
    return [*op.words.split(), *(found.get(word, word) for word in GOOD.get(op.name, []))]
