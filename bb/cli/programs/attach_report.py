"""What `bb chat attach` tells its operator: sentences on stderr, or one JSON document a line on stdout."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from bb.attention.harness import prompts
from bb.cli.calls import output
from bb.kernel.errors import BbError
from bb.kernel.escaping import name, quotation, sentence
from bb.wire.acp import Agent, Permission

LONGEST = 120  # characters of a title


class Report:
    """The operator's view."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def say(self, what: str, text: str, **about: Any) -> None:
        """Tell WHAT happened: TEXT for a person, or a document with the details."""
        with contextlib.suppress(OSError, output.OutputFailed):  # nobody reads it
            if self._as_json:
                output.document({"event": what, **about})
                output.flush()
            else:
                output.lines([f"bb: {sentence(text)}"], sys.stderr)
                sys.stderr.flush()

    # -- the agent's process

    def starting(self, command: str, agent: str, pid: int) -> None:
        self.say("starting", f"{command} is started for {agent}", command=command, agent=agent, pid=pid)

    def ready(self, who: str, agent: Agent, session: str, *, is_loaded: bool) -> None:
        how = "goes on with its session" if is_loaded else "is ready"
        about = {"name": agent.name, "version": agent.version, "session": session, "loaded": is_loaded}
        self.say("ready", f"{agent.title} {how} and gets the messages to {who}", agent=who, **about)

    def restarting(self, status: int | None, seconds: float, last: list[str]) -> None:
        words = f": {quotation(last[-1])}" if last else ""
        text = f"the agent ended with status {status}{words}; it is started again in {seconds:g} s"
        self.say("restarting", text, status=status, seconds=seconds, stderr=last)

    def unreadable(self, reason: str, line: str) -> None:
        shown = f": {quotation(line, LONGEST)}" if line else ""
        self.say("unreadable", f"a line of the agent is ignored, because {reason}{shown}", reason=reason, line=line)

    # -- deliveries and turns

    def delivered(self, envelope: Mapping[str, Any], *, starts_turn: bool) -> None:
        author, where, policy = envelope["author"], envelope["conversation"], prompts.policy_of(envelope)
        shown = f"{name(str(envelope['eventId']))} from {name(str(author['id']))} in {name(str(where['id']))}"
        then = "" if starts_turn else ", told with the next prompt"
        about = {"eventId": envelope["eventId"], "author": author["id"], "conversation": where["id"]}
        about |= {"policy": policy, "contentVersion": envelope["contentVersion"], "startsTurn": starts_turn}
        self.say("delivered", f"message {shown}: {policy}{then}", **about)

    def withdrawn(self, event: str, reason: str) -> None:
        self.say("withdrawn", f"message {name(event)} is withdrawn: {reason}", eventId=event, reason=reason)

    def started(self, event: str) -> None:
        self.say("started", f"turn for {name(event)}", eventId=event)

    def worked(self, event: str, title: str) -> None:
        self.say("working", f"the agent calls {quotation(title, LONGEST)}", eventId=event, title=title)

    def answered(self, event: str, message: str) -> None:
        text = f"the text of the turn is sent as the answer to {name(event)}: {name(message)}"
        self.say("answered", text, eventId=event, messageId=message)

    def declined(self, event: str) -> None:
        self.say("declined", f"the model refused, so {name(event)} is declined", eventId=event)

    def ended(self, event: str, why: str, *, is_answered: bool, is_owed: bool) -> None:
        rest = "; the message still needs an answer" if is_owed else "; it is answered" if is_answered else ""
        text = f"the turn for {name(event)} has ended ({why}){rest}"
        self.say("ended", text, eventId=event, why=why, answered=is_answered, owed=is_owed)

    def failed(self, event: str, why: str) -> None:
        self.say("failed", f"the turn for {name(event)} has failed: {why}", eventId=event, why=why)

    def cancelled(self, event: str, why: str) -> None:
        self.say("cancelled", f"the turn for {name(event)} is cancelled: {why}", eventId=event, why=why)

    def lapsed(self, event: str, seconds: float) -> None:
        text = f"the agent has been silent for {seconds:g} s in the turn for {name(event)}"
        self.say("lapsed", text, eventId=event, seconds=seconds)

    def refused(self, what: str, refusal: BbError) -> None:
        hint = f" ({refusal.hint})" if refusal.hint else ""
        about = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        self.say("refused", f"{what}: {refusal.code}: {refusal.message}{hint}", **about)

    def guarded(self, what: str, act: Callable[[], object]) -> bool:
        """Whether ACT was carried out. A refusal is told, and ends nothing."""
        try:
            act()
        except BbError as refusal:
            self.refused(what, refusal)
            return False
        return True

    # -- permissions

    def asked(self, permission: Permission, request: str) -> None:
        """The program waits for the person, at the terminal or under the id of a recorded REQUEST."""
        how = f"; answer with `bb chat confirm {request}`, or the same with --refuse" if request else ""
        text = f"the agent asks for permission: {quotation(permission.title, LONGEST)}{how}"
        about = {"title": permission.title, "kind": permission.kind, "confirmation": request or None}
        if request or self._as_json:
            self.say("permission_asked", text, **about)

    def question(self, text: str) -> None:
        """Put a question to the person at the terminal."""
        self.say("question", f"{text} [y/N]", question=text)

    def decided(self, permission: Permission, *, is_allowed: bool) -> None:
        decision = "allowed" if is_allowed else "denied"
        text = f"{decision}: {quotation(permission.title, LONGEST)}"
        self.say("permission_decided", text, title=permission.title, decision=decision)
