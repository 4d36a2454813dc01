"""One way to call each op that is right, and a repository prepared for it: for tests that go through all ops.

No daemon runs there, so what needs one is refused for that, and for nothing else.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable

from bb.ops.catalogue import Op, all_ops, find
from tests.support import Scratch

AMBER, COBALT = "amber-otter", "cobalt-harbor"
LETTER = ["--bead", "bb-1", "--category", "INFO", "--subject", "Parser", "--body", "Done."]
ALONE = "runner: headless, runtime: custom"
TEMPLATE = f"""kind: cccc.group_template
v: 1
actors: [{{id: {AMBER}, {ALONE}}}, {{id: {COBALT}, {ALONE}}}, {{id: quiet-heron, {ALONE}}}]
"""
LINES = json.dumps(
    [{"eventId": "s:1", "conversation": {"id": "C1", "kind": "channel"}, "author": {"id": "W1"}, "text": "Hello"}]
)
CALL = "(lang planning (propose ship))"
SCRIPT = '{"agents": ["ada", "bo"], "steps": [{"agent": "ada", "sent": "(hello @bo)"}], "deliver": true}'
GOOD = {
    "cbcl.parse": ["--text", "(hello @bo)"],
    "cbcl.format": ["--text", "(hello @bo)"],
    "cbcl.canonical": ["--text", "(hello @bo)"],
    "cbcl.hash": ["--text", "(hello @bo)"],
    "cbcl.verify": ["DIALECT"],
    "cbcl.expand": ["--text", CALL, "--dialect", "DIALECT"],
    "cbcl.explain": ["--text", CALL, "--dialect", "DIALECT"],
    "cbcl.diff": ["DIALECT", "DIALECT"],
    "cbcl.replay": ["--script", SCRIPT],
    "cbcl.keygen": ["NEW-KEY"],
    "cbcl.sign": ["DIALECT", "--key", "SIGNER"],
    "cbcl.check-signature": ["SIGNED", "--author", "lab"],
    "cbcl.trust.add": ["NEW-KEY", "PUBLIC"],
    "cbcl.trust.remove": ["TRUSTED"],
    "cbcl.trust.signed": ["TRUSTED", "preferred"],
    "cbcl.dialect.install": ["DIALECT"],
    "cbcl.dialect.show": ["SPOKEN"],
    "cbcl.dialect.remove": ["SPOKEN"],
    "cbcl.dialect.teach": ["SPOKEN", "--to", COBALT, "--agent", AMBER],
    "cbcl.dialect.query": ["SPOKEN", "--to", COBALT, "--agent", AMBER],
    "cbcl.send": [f'(tell @{COBALT} "Done.")', "--agent", AMBER],
    "cbcl.hear": ["--agent", COBALT],
    "cbcl.pending": ["--agent", COBALT],
    "cbcl.beliefs": ["--agent", COBALT],
    "cbcl.conversations": ["t-1", "--agent", COBALT],
    "agent.register": ["--name", "dusty-wren", "--role", "builder"],
    "agent.heartbeat": ["--agent", AMBER],
    "agent.show": ["--agent", AMBER],
    "agent.retire": ["--agent", "tidy-crane"],
    "agent.reserve": ["--agent", AMBER, "--scope", "src/parser", "--bead", "bb-1"],
    "agent.renew": ["--agent", AMBER, "--all"],
    "agent.release": ["--agent", AMBER, "--all"],
    "agent.transfer": ["--agent", "user", "--scope", "web", "--to", AMBER, "--from", COBALT],
    "agent.pause": ["quiet-heron"],
    "agent.unpause": ["quiet-heron"],
    "freeze": ["frozen"],
    "thaw": ["thawed"],
    "agent.inbox": ["--agent", COBALT],
    "agent.send": ["--from", AMBER, "--to", COBALT, *LETTER],
    "agent.read": ["--agent", COBALT, "--message", "MESSAGE"],
    "agent.ack": ["--agent", COBALT, "--message", "MESSAGE"],
    "agent.reply": ["--agent", COBALT, "--message", "MESSAGE", "--body", "Done."],
    "agent.wait": ["--agent", "quiet-heron", "--timeout", "0"],
    "check": ["docs/index.md"],
    "sync": ["--local"],
    "ci.check": ["--base", "HEAD"],
    "hook.prepare-commit-msg": ["message", "message"],
    "resume": ["--agent", AMBER],
    "turn": ["--agent", AMBER],
    "start": ["lucky-crane"],
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
    "attach": ["."],
    "group_create": ["--title", "Release"],
    "group_update": ["--patch", '{"title": "Release"}'],
    "group_stop": ["--group-id", "OTHER"],
    "group_delete": ["--confirm", "GROUP"],
    "group_use": ["."],
    "group_detach_scope": ["--scope-key", "SCOPE"],
    "group_set_state": ["idle"],
    "actor_add": ["peer-1", "--runner", "headless"],
    "actor_update": [AMBER, "--patch", '{"title": "Amber"}'],
    "actor_remove": ["quiet-heron"],
    "actor_start": [AMBER],
    "actor_stop": ["HELPER"],
    "actor_restart": [AMBER],
    "terminal_tail": [AMBER],
    "terminal_clear": [AMBER],
    "term_resize": [AMBER, "--cols", "80", "--rows", "24"],
    "send": ["Hello"],
    "reply": ["MESSAGE", "Hello"],
    "send_cross_group": ["Hello", "--dst-group-id", "OTHER"],
    "chat_ack": ["HANDOFF", "--by", COBALT],
    "notify_ack": ["INCURSION", "--by", COBALT],
    "system_notify": ["Hello", "--title", "Build"],
    "chat.react": ["MESSAGE", "👍"],
    "chat.list": ["--agent", COBALT],
    "chat.inject": ["--agent", COBALT],
    "chat.read": ["HANDOFF", "--agent", COBALT],
    "chat.show": ["HANDOFF", "--agent", COBALT],
    "chat.explain": ["HANDOFF", "--agent", COBALT],
    "chat.pending": ["--agent", COBALT],
    "chat.knocks": ["--agent", COBALT],
    "chat.digest": ["--agent", COBALT],
    "chat.claim": ["REQUEST", "--agent", COBALT],
    "chat.defer": ["REQUEST", "--agent", COBALT, "--reason", "the build runs"],
    "chat.resolve": ["REQUEST", "--agent", COBALT],
    "chat.progress": ["deploy", "--agent", COBALT, "--progress", "1"],
    "chat.cancel": ["SAID", "--agent", COBALT],
    "chat.ingest": ["--lines", LINES],
    "chat.bind": [AMBER, "--handle", "slack:U1"],
    "chat.arrange": ["C1", "--private"],
    "chat.replay": ["--steps", '[{"agents": ["amber-otter"]}]'],
    "inbox_mark_read": ["MESSAGE", "--actor-id", COBALT],
    "inbox_mark_all_read": ["--actor-id", COBALT],
    "inbox_peek": ["--args", '{"actor_id": "user"}'],
    "inbox_read": ["--args", '{"actor_id": "user"}'],
    "message_deliver": ["MESSAGE", "--actor-ids", COBALT],
    "reply_request_cancel": ["--args", '{"source_event_id": "REQUEST"}'],
    "edit.begin": ["CHANGED", "--agent", AMBER],
    "edit.end": ["EDITING", "--agent", AMBER],
    "mine": ["CHANGED", "--agent", AMBER],
    "blame": ["CHANGED"],
    "diff": ["--agent", AMBER],
    "commit": ["-m", "Read dates", "--agent", AMBER, "EDITED"],
    "blob.put": ["FILE"],
    "blob.get": ["BLOB"],
    "observability_update": ["--args", '{"patch": {"log_level": "DEBUG"}}'],
    "headless_status": ["--args", '{"actor_id": "amber-otter"}'],
    "headless_set_status": ["--args", '{"actor_id": "amber-otter", "status": "working"}'],
    "headless_ack_message": ["--args", '{"actor_id": "amber-otter", "message_id": "MESSAGE"}'],
    "scope.compare": ["src/*", "src/lib"],
    "sessions.show": ["bb-1"],
    "ledger.show": ["EVENT"],
    "ledger.redact": ["MESSAGE", "--reason", "a slip", "--agent", "user"],
    "ledger.rotate": ["--reason", "a slip", "--agent", "user"],
    "ledger.restore": ["--agent", "user"],
    "setup": ["--yes", "--only", "ledger", "--only", "claude"],
    "hooks.install": ["--editor", "claude"],
    "hooks.uninstall": ["--editor", "claude"],
    "mcp.install": ["--host", "claude"],
    "hook.stop": ["--payload", '{"hook_event_name": "Stop"}'],
}
ONCE = {
    "cbcl.keygen": 7,
    "cbcl.trust.remove": 3,
    "cbcl.dialect.remove": 3,
    "agent.register": 7,
    "start": 7,
    "agent.retire": 4,
    "agent.transfer": 3,
    "agent.wait": 6,
    "edit.end": 7,
    "commit": 3,
    "thaw": 3,
    "group_create_from_template": 7,
    "group_detach_scope": 3,
    "actor_add": 4,
    "actor_remove": 3,
}  # what cannot be done twice, and how the second time ends


OF_REMOTES = ("ledger.rotate", "ledger.restore")  # they need a published ledger


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
    assert repo.bb("freeze", *GOOD["thaw"]).status == 0


def publish(repo: Scratch) -> None:
    """A remote for the repository, which has its ledger."""
    hub = repo.path.parent / f"{repo.path.name}-hub.git"
    repo.git("init", "--quiet", "--bare", str(hub))
    repo.git("remote", "add", "origin", str(hub))
    assert repo.bb("sync", "--publish").status == 0


def commands() -> dict[str, Op]:
    """The ops that have a command of their own, by name."""
    return {op.name: op for op in all_ops() if op.group != "call"}


def status_of(op: Op) -> int:
    """How a right call ends. Nobody serves the repository; and what goes on for ever is not called by its name."""
    return 2 if op.name in STREAMS else 6 if op.is_live else 0


def good_words(op: Op, repo: Scratch) -> list[str]:
    """Words that call OP, with the ids that the prepared repository has. What it needs besides is made first."""
    if op.name in OF_REMOTES and not repo.git("remote"):
        publish(repo)
    lines = [json.loads(line) for line in repo.journal().read_text().splitlines()]
    said = [line for line in lines if line["kind"] == "chat.message" and line["data"]]
    passed_on = [line for line in said if "protocol" in line["data"]]
    met = [line for line in lines if line["kind"] == "system.notify"]
    named = {"EVENT": lines, "MESSAGE": said, "HANDOFF": passed_on, "INCURSION": met}
    found = {word: some[0]["id"] for word, some in named.items() if some}
    found["FOLDER"] = tempfile.mkdtemp(dir=repo.path.parent)
    number = json.loads((repo.store / "clone.json").read_text())["repo"]
    found["SCOPE"] = f"s_{number}"
    words = [*op.words.split(), *GOOD.get(op.name, [])]
    if op.name in ("group_use", "group_detach_scope"):
        repo.json("group", "attach", ".")
    for word, make in MADE.items():
        if any(word in each for each in words):
            found[word] = make(repo)
    return [found.get(word, word.replace("REQUEST", found.get("REQUEST", ""))) for word in words]


def _group(repo: Scratch) -> str:
    """It is not always called by the first commit: another repository that is known has the same one, perhaps."""
    return str(repo.json("group", "show").data["group"]["group_id"])


def _other(repo: Scratch) -> str:
    return str(repo.json("group", "create", "--title", "Other").data["group_id"])


def _helper(repo: Scratch) -> str:
    """An actor whom nobody else needs."""
    repo.json("actor", "add", "helper", "--runner", "headless")
    return "helper"


def _request(repo: Scratch) -> str:
    sent = repo.json("chat", "send", "Well?", "--to", COBALT, "--message-mode", "request_reply")
    return str(sent.data["event"]["id"])


def _said(repo: Scratch) -> str:
    sent = repo.json("chat", "send", "Ready.", "--by", COBALT, "--to", AMBER)
    return str(sent.data["event"]["id"])


def _file(repo: Scratch) -> str:
    path = repo.path.parent / f"{repo.path.name}.txt"
    path.write_text("Parser\n")
    return str(path)


def _changed(repo: Scratch) -> str:
    """A file of the work tree with a change that no agent is known to have made."""
    (repo.path / "dates.py").write_text("def parse(): ...\n")
    return "dates.py"


def _editing(repo: Scratch) -> str:
    """A file that AMBER is editing."""
    assert repo.bb("edit", "begin", "dates.py", "--agent", AMBER).status == 0
    return _changed(repo)


def _edited(repo: Scratch) -> str:
    """A file that AMBER has edited; and git knows who commits."""
    repo.git("config", "user.name", "Tester")
    repo.git("config", "user.email", "tester@example.invalid")
    path = _editing(repo)
    assert repo.bb("edit", "end", "--agent", AMBER).status == 0
    return path


def _blob(repo: Scratch) -> str:
    return str(repo.json("blob", "put", _file(repo)).data["path"])


PLANNING = """(define planning :extends cbcl :author @lab
  :resources (:max-depth 8 :max-expansion-size 512 :max-verify-time 100)
  (extend propose (what) (ask @planner (plan :what what))))
"""


def _dialect(repo: Scratch) -> str:
    path = repo.path.parent / f"{repo.path.name}.cbcl"
    path.write_text(PLANNING)
    return str(path)


def _spoken(repo: Scratch) -> str:
    """A dialect that is installed."""
    assert repo.bb("cbcl", "dialect", "install", _dialect(repo)).status == 0
    return "planning"


def _new_key(_: Scratch) -> str:
    """A name that no key has: all tests of a process share one configuration."""
    return f"key-{next(NUMBERS)}"


def _signer(repo: Scratch) -> str:
    return str(repo.json("cbcl", "keygen", _new_key(repo)).data["name"])


def _public(repo: Scratch) -> str:
    return str(repo.json("cbcl", "keygen", _new_key(repo)).data["public_key"])


def _trusted(repo: Scratch) -> str:
    author = f"author-{next(NUMBERS)}"
    assert repo.bb("cbcl", "trust", "add", author, _public(repo)).status == 0
    return author


def _signed(repo: Scratch) -> str:
    """A dialect that an author signed who is trusted."""
    made = repo.json("cbcl", "keygen", _new_key(repo)).data
    for key in [each["public_key"] for each in _keys_of(repo, "@lab")]:
        assert repo.bb("cbcl", "trust", "remove", "lab", "--public-key", key).status == 0
    assert repo.bb("cbcl", "trust", "add", "lab", made["public_key"]).status == 0
    path = repo.path.parent / f"{repo.path.name}.signed.cbcl"
    path.write_text(repo.bb("cbcl", "sign", _dialect(repo), "--key", made["name"]).out)
    return str(path)


def _keys_of(repo: Scratch, author: str) -> list[dict[str, str]]:
    known = repo.json("cbcl", "trust", "list").data["authors"]
    return next((each["keys"] for each in known if each["author"] == author), [])


NUMBERS = itertools.count()
# words that stand for what is made when it is needed
MADE: dict[str, Callable[[Scratch], str]] = {
    "GROUP": _group,
    "OTHER": _other,
    "HELPER": _helper,
    "REQUEST": _request,
    "SAID": _said,
    "FILE": _file,
    "CHANGED": _changed,
    "EDITING": _editing,
    "EDITED": _edited,
    "BLOB": _blob,
    "DIALECT": _dialect,
    "SPOKEN": _spoken,
    "NEW-KEY": _new_key,
    "SIGNER": _signer,
    "PUBLIC": _public,
    "TRUSTED": _trusted,
    "SIGNED": _signed,
}
STREAMS = ("events_stream", "term_attach")
