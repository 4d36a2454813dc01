"""A ledger with every kind of fact there is: the scene, more of the language in it, and then a line of each kind.

Whoever adds a kind of fact adds it to FACTS; a test says so otherwise. Some lines are as `bb` writes them, others as
only another program would: what they are about is not there, they come twice, or with members that nobody knows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bb.attention import facts as attention
from bb.cbcl.facts import Heard, Installed, Removed
from bb.cbcl.read import canonical, grammar
from bb.coordination import facts as coordination
from bb.groups import facts as groups
from bb.kernel import clock
from bb.ledger.journal import kinds
from bb.messaging import facts as messaging
from tests.faces.faces_support import Forger
from tests.scene import AMBER, COBALT, JADE, OLIVE, RUSSET, Scene, set_scene

DIALECT = """(define {name} :extends cbcl :author @{author}
  :resources (:max-depth 16 :max-expansion-size 2048 :max-verify-time 1000)
  (extend propose (who action) (tell who (proposal :action action) :thread plans)))"""
NOWHERE = "zzzzzzzzzzzz.99"  # an event that nobody has
HANDED = {"subject": "Half", "summary": "Half of it.", "next_action": "The rest.", "requires_ack": True}
HINDERED = {"subject": "Which?", "blocker": "Two digits or four?", "requested_action": "Say which."}
HINDERED |= {"urgency": "high", "requires_ack": True}
C2A = {"event": "s:1", "conversation": "C1", "author": "W1", "for": {AMBER: ["to_me", "must_respond", "buffered", "x"]}}
UNKNOWN_KINDS = (
    "x.bb.of_a_later_version",
    "x.somebody.else",
    "chat.of_a_later_version",
    "system.notify",
    "chat.message",
)


def make(path: Path) -> Scene:
    """A repository at PATH in which everything has happened that can."""
    scene = set_scene(path)
    _language(scene)
    _orders(scene)
    known = {event["kind"]: event["id"] for event in _log(scene)}
    forger = Forger(scene.repo)
    now = clock.text(scene.now)
    for fact in facts_of(known):
        kind, data = kinds.kind_and_data(fact)
        by = getattr(fact, "by", None) or getattr(fact, "agent", None) or getattr(fact, "sender", "user")
        for more in ({}, {"of_a_later_version": [{"a": None}]}):
            forger.add(kind, str(by), data | more, now)
    for kind in UNKNOWN_KINDS:
        forger.add(kind, AMBER, {}, now)
        forger.add(kind, "user", {"text": ["no text"], "mail": {"category": 3}, "to": None, "c2a": []}, now)
    return scene


def _log(scene: Scene) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scene.repo.json("ledger", "log", "--limit", "1000").data
    return found


def _language(scene: Scene) -> None:
    """Each performative said and heard; a dialect installed, taught, asked for, used, replaced and removed."""
    path = scene.repo.path
    for name in ("planning", "shipping", "gone"):
        (path / f"{name}.cbcl").write_text(DIALECT.format(name=name, author=AMBER))
        scene.at(8, "cbcl", "dialect", "install", f"{name}.cbcl")
    (path / "planning.cbcl").write_text(DIALECT.format(name="planning", author=COBALT))
    scene.at(8, "cbcl", "dialect", "install", "planning.cbcl", "--replace", agent=COBALT)
    scene.at(8, "cbcl", "dialect", "remove", "gone")
    for text in (
        f"(hello @{COBALT})",
        f'(tell @{COBALT} (renamed :from "parse" :to "read") :thread names)',
        f'(ask @{COBALT} "Which format?" :thread format :timeout 60)',
        f'(ask @{COBALT} "Never mind?" :thread other :id other)',
        f"(cancel @{COBALT} :in-reply-to other)",
        f'(reply @{COBALT} "To nothing.")',
        f"(ok @{COBALT} :thread names)",
        f'(error @{COBALT} "No." :code "SYNTAX_ERROR" :thread names)',
        f'(lang planning (propose @{COBALT} "merge"))',
        f'(envelope :from @{AMBER} :to @{COBALT} (tell @{COBALT} "Wrapped."))',
        f'(signed "zz" (tell @{COBALT} "Signed, so to speak." :thread names))',
        f'(with-limits :max-depth 4 (tell @{COBALT} "Limited."))',
        f"(bye @{COBALT})",
    ):
        scene.at(7, "cbcl", "send", text, agent=AMBER)
    scene.at(7, "cbcl", "dialect", "teach", "planning", "--to", COBALT, agent=AMBER)
    scene.at(7, "cbcl", "dialect", "query", "planning", "--to", COBALT, agent=AMBER)
    scene.at(6, "cbcl", "hear", agent=COBALT)
    scene.at(5, "cbcl", "send", f'(reply @{AMBER} "RFC 3339." :thread format)', agent=COBALT)
    scene.at(4, "cbcl", "hear", agent=AMBER)
    scene.at(4, "cbcl", "send", f'(ask @{OLIVE} "Not heard yet" :thread unheard)', agent=AMBER)
    scene.at(4, "cbcl", "send", '(ask @user "May I?" :thread person)', agent=AMBER)


def _orders(scene: Scene) -> None:
    """What the person does: a pause, a freeze, a line that is taken back."""
    scene.at(4, "agent", "pause", OLIVE, "--why", "lunch")
    sent = scene.at(3, "agent", "send", "--from", AMBER, "--to", COBALT, "--bead", "bb-1.1", *LETTER)
    scene.at(2, "ledger", "redact", str(sent["message_id"]).partition("_")[0], "--reason", "a slip", agent=AMBER)


LETTER = ("--category", "INFO", "--subject", "A slip", "--body", "Not to be kept.")


def _installed(name: str, author: str, **more: str) -> Installed:
    """A dialect as a line brings it."""
    text = DIALECT.format(name=name, author=author)
    hashed = canonical.digest(grammar.definition_in(text.encode())[1].node)
    return Installed(AMBER, name, text, hashed, author, "unsigned", "text", **more)


def facts_of(known: dict[str, str]) -> list[Any]:
    """A fact of each kind, and more of those that are odd; about events that are KNOWN by their kinds, and about
    none."""
    held, letter, notice = known["x.bb.reserved"], known["chat.message"], known["system.notify"]
    to_amber = messaging.Sent(COBALT, (AMBER,), "INFO", "Parser", "Done.", "bb-1.1", "t", requires_ack=False)
    spoken = {"id": "m-1", "performative": "tell", "thread": "forged", "effects": [["believed", COBALT, ""]]}
    incurred = coordination.Incurred(
        JADE, COBALT, held, "partial", "docs/web.md", "docs", "active", "bb-2.1", "refused", "wait"
    )
    return [
        coordination.Registered(
            "quiet-heron", "builder", "Heron", {"runtime": "claude"}, emails=["heron@agents.example"]
        ),
        coordination.Updated("quiet-heron", "tester", None, None),
        coordination.Started("quiet-heron"),
        coordination.Stopped("quiet-heron"),
        coordination.Seen(RUSSET, "evicted"),
        coordination.Retired("quiet-heron"),
        coordination.Paused("user", RUSSET, None),
        coordination.Paused("user", "*", "all of them"),
        coordination.Unpaused("user", RUSSET),
        coordination.NameSettled("quiet-heron", "aaaaaaaaaaaa.1", "loud-heron"),
        coordination.Pinned("user", 20),
        coordination.Pinned("user", 0),
        coordination.Reserved(JADE, "src/web", "bb-1.3", 60, is_file=False),
        coordination.Reserved(JADE, "src/without-bead", "-", 60),
        coordination.Reserved(JADE, "README.md", "bb-1.3", 60, is_file=True, region="Install"),
        coordination.Reserved(JADE, "src/web/a.py", "bb-1.3", 60, is_file=True, region="new~jade", is_open=True),
        coordination.Reserved("user", "README.md", "", 60, is_file=True, why="a freeze"),
        coordination.Reserved(JADE, "src/ordered", "bb-1.3", 60, order="0123456789abcdef", takes=f"{NOWHERE}@17"),
        coordination.Renewed(COBALT, held, 120),
        coordination.Transferred(COBALT, held, AMBER),
        coordination.Released(COBALT, NOWHERE),
        coordination.Expired(COBALT, NOWHERE),
        coordination.TakenOver(COBALT, held, AMBER, "stale", "taken_over"),
        coordination.Queued(JADE, ["src/web"], "bb-1.3", 60, "2026-11-03T10:00:00.000Z", 1),
        coordination.Queued(
            *(JADE, ["README.md"], "bb-1.3", 60, "2026-11-03T10:00:00.000Z", 2, ["README.md"]),
            regions=["Use"],
            is_open=True,
        ),
        coordination.LeftLine(JADE, NOWHERE, "granted"),
        coordination.Redacted(AMBER, NOWHERE, "a slip"),
        coordination.Resolved("user", notice, "accepted", "as agreed"),
        coordination.Overridden(AMBER, "agreed", ("docs/web.md",), (held,)),
        *(
            incurred.replace(outcome=outcome)
            for outcome in ("refused", "overlapping", "contested", "taken_over", "of a later version")
        ),
        incurred.replace(outcome="touched", found_by="hook", paths=("src/a", "src/b"), count=2, mark="m"),
        coordination.Resumed(AMBER, JADE, JADE, "uncommitted_scope", "1 file", "bb-1.1", ("bb-1.1", "bb-1.2")),
        groups.Created("user", "Again", "what it is about"),
        groups.Changed("user", "Another name", None),
        groups.Changed("user", None, "another topic"),
        groups.ScopeAttached("user", "s_abc", "elsewhere"),
        groups.ScopeChosen("user", "s_abc"),
        groups.ScopeDetached("user", "s_abc"),
        groups.StateSet("user", "idle"),
        groups.SettingsChanged("user", {"nudge_after_seconds": 10}),
        groups.GroupStarted("user", [AMBER]),
        groups.GroupStopped("user", [AMBER]),
        groups.ContextChanged("user", ({"op": "vision.update", "set": {"text": "It parses."}},)),
        attention.Posted("svc:slack", C2A, "check the deploy?", (AMBER,), ""),
        attention.Posted("svc:slack", {}, "", (), NOWHERE),
        attention.Edited("svc:slack", letter, 2, {"event": "s:1"}, "check it again"),
        attention.Deleted("svc:slack", NOWHERE, "a mistake"),
        attention.Moved(AMBER, letter, AMBER, "claimed", {"eta": "soon"}),
        attention.Moved(AMBER, letter, AMBER, "of a later version", None),
        attention.Claiming(AMBER, f"event:{letter}", "claim", {"ttl_ms": 60_000}),
        attention.Claiming(AMBER, f"event:{NOWHERE}", "of a later version", None),
        attention.Confirming(AMBER, "confirm-0", "ask", {"message": "hello", "event": letter}),
        attention.Confirming("user", "confirm-0", "allow", None),
        attention.Confirming(AMBER, "confirm-1", "of a later version", None),
        attention.Bound("user", AMBER, {"slack": ["W1"]}),
        attention.Arranged("user", "C1", {"members": [AMBER]}),
        attention.Tuned("user", {"debounce_ms": 10}),
        attention.Typing("svc:slack", "C1", "W1", is_typing=True),
        attention.Posting(AMBER, letter, "posted", {"platform_id": "p"}),
        attention.Progressed(AMBER, "token", {"progress": 1, "total": 2}),
        attention.Digested(AMBER, letter),
        attention.Refusal(AMBER, "ODD", {"why": "it is odd"}),
        Heard(AMBER, letter, "error", {"id": "m-1", "code": "ODD", "why": "odd"}),
        Heard(AMBER, letter, "ok", {"verified": {"state": "of a later version", "key": 3}, "effects": [["met"]]}),
        Heard(
            JADE, NOWHERE, "ok", {"effects": [["believed", AMBER, '"x"'], ["entered", "t", AMBER, "tell", "i", "(x)"]]}
        ),
        to_amber,
        to_amber.replace(category="HANDOFF", requires_ack=True, scope="src", payload=HANDED),
        to_amber.replace(category="BLOCKED", requires_ack=True, payload=HINDERED),
        to_amber.replace(category="DECISION", requires_ack=True, to=(AMBER, JADE, "user")),
        to_amber.replace(body="(tell @amber-otter", cbcl=spoken),
        to_amber.replace(body='(signed "zz" (tell @amber-otter "x"))', cbcl=spoken | {"ledger": "elsewhere"}),
        to_amber.replace(body='(tell @amber-otter "x")', to=(AMBER, "user"), cbcl={"id": "", "performative": ""}),
        messaging.Read(AMBER, letter),
        messaging.Acked(AMBER, letter),
        messaging.Agreed(AMBER, letter),
        _installed("shipping", COBALT),  # and so the name stands for neither
        _installed("parentless", AMBER, signed="zz"),
        _installed("odd", AMBER).replace(text="(define odd"),
        _installed("liar", AMBER).replace(hash="0" * 64, replaces="1e"),
        Installed(AMBER, "empty", "", "", "", "of a later version", ""),
        Removed(AMBER, "never-there", "0f"),
    ]
