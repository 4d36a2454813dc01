"""From the call of a tool to its answer: at a desk of its own each time, so that it sees the ledger as it is now.

A refusal is an answer, with the code, the hint and the details that every face gives. This is the one place here that
turns refusals, and bugs, into answers: no call ends the server.
"""

from __future__ import annotations

import os
from contextlib import closing

from bb.attention.acts import tools
from bb.attention.acts.tools import BY_ANY_NAME
from bb.attention.turns import queries
from bb.coordination.agents import callers
from bb.coordination.agents.callers import NotYourName
from bb.kernel import ids
from bb.kernel.errors import BbError, NotFound, Usage
from bb.kernel.record import Record
from bb.mcp import hints, menu
from bb.mcp.fitting import MOST, fitted, without_halves
from bb.mcp.log import note
from bb.mcp.next_steps import next_steps
from bb.ops import catalogue
from bb.ops.attention import greeting
from bb.ops.attention import tools as attention_tools
from bb.ops.attention.attention_desk import Attending
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk, NoAgent
from bb.ops.params import InvalidValue, invalid
from bb.wire import c2a, envelope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bb.attention.acts.tools import Tool
    from bb.mcp.menu import Shown

    Given = dict[str, Any]

AGENT = "BB_AGENT"
CHAT_PREFIX = "chat."
LISTED = "tools/list says what it takes"
NO_AGENT = 'say who you are with "{}", or have the server started as `bb mcp --agent ID`, or with BB_AGENT set'


class NoSuchDirectory(NotFound):
    """The directory that the server was told to work in is not there."""

    code = "NO_SUCH_DIRECTORY"
    hint = "name another one in the host's configuration: `bb mcp --directory DIR`"


class Bug(BbError):
    """bb ran into a bug of its own."""

    code = "INTERNAL_ERROR"
    exit_status = 1
    hint = "please report it with what the server wrote on stderr; nothing that was acknowledged is lost"


class Answer(Record):
    """What a call comes to."""

    data: dict[str, Any]
    is_error: bool = False


class Toolbox:
    """The tools of one server. AGENT is for whom it acts; where it does not know that, whoever calls says so."""

    def __init__(self, directory: str, env: Mapping[str, str], report: Callable[[str, Exception], None]) -> None:
        self.agent = _agent_of(env)
        # What the host's program says in the environment of a server is the session that started the host, if anything.
        env = callers.without(env, keeps_own=True)
        self._env = {name: value for name, value in env.items() if name != AGENT or self.agent}
        self._directory, self._report = directory, report

    def has(self, name: str) -> bool:
        """Whether there is a tool of that name, listed or not."""
        return name in menu.BY_NAME or name in BY_ANY_NAME or name in menu.CAPABILITIES

    def call(self, name: str, given: Given, has_left: Callable[[], bool] = lambda: False) -> Answer:
        """What the tool of that name answers, or why it does not."""
        if name in menu.CAPABILITIES:
            return self.answer(name, greeting.without_session, is_chat=True)
        chat = BY_ANY_NAME.get(name)
        shown = menu.CHAT if chat else menu.BY_NAME[name]

        def run(desk: Desk) -> Given:
            desk.has_left = has_left
            return _labelled(shown, self._chat(desk, chat, given) if chat else self._run(desk, shown, given))

        return self.answer(name, run, is_chat=shown is menu.CHAT)

    def answer(self, what: str, run: Callable[[Desk], Given], *, is_chat: bool = False, most: int = MOST) -> Answer:
        """What RUN answers at a fresh desk, or why it does not."""
        try:
            with closing(self.desk()) as desk:
                found = Answer(fitted(run(desk), most))
                desk.sync_later()
        except BbError as refusal:
            found = Answer(fitted(_told(refusal, is_chat=is_chat), most), is_error=True)
        except Exception as error:  # of ours: it is told, and the next call is taken
            self._report(what, error)
            found = Answer(_told(Bug(f"{type(error).__name__} in {what}"), is_chat=is_chat), is_error=True)
        return Answer(without_halves(found.data), found.is_error)

    def desk(self) -> Desk:
        """Where to work, as things are now."""
        if not os.path.isdir(self._directory):
            raise NoSuchDirectory(f"there is no directory {self._directory[:200]}")
        return Desk(self._directory, self._env)

    # -- the tools

    def _run(self, desk: Desk, shown: Shown, given: Given) -> Given:
        if shown is menu.CHAT:
            return self._chat(desk, _chosen(given), _object(given, "arguments") | _only(given, "agent"))
        if shown is menu.SESSION:
            return self._session(desk, given)
        if shown.chooses:
            given = dict(given)
            choice = given.pop(shown.chooses, None)
            if not isinstance(choice, str) or choice not in shown.ops:
                raise invalid(f"{shown.chooses} must be one of {', '.join(shown.ops)}", shown.chooses)
            return self._op(desk, shown.ops[choice], given)
        catalogue.refuse_unknown(catalogue.find(shown.ops[menu.ANY]), given)
        if absent := [name for name in shown.needs if given.get(name) is None]:
            raise catalogue.MissingOption(f"{absent[0]} is needed", option=absent[0])
        return self._op(desk, shown.ops[menu.ANY], given)

    def _op(self, desk: Desk, name: str, given: Given) -> Given:
        """What an op answers whose request this is."""
        op = catalogue.find(name)
        caller = next(each for each in (*menu.CALLERS, "") if each in op.by_name or not each)
        given = given if not caller else self._named(given, caller)
        catalogue.refuse_unknown(op, given)
        if absent := [each.name for each in op.parameters if each.is_required and given.get(each.name) is None]:
            raise catalogue.MissingOption(f"{absent[0]} is needed", option=absent[0])
        arguments = catalogue.bind(op, given, is_typed=True)
        try:
            answer = op.answer(desk, arguments)
        except NoAgent as refusal:
            raise NoAgent(hint=NO_AGENT.format(caller)) from refusal
        if isinstance(answer, dict):
            return answer
        more = {"more": answer.more} if isinstance(answer, catalogue.Rows) else {}
        return {"items": list(answer), **more}

    def _named(self, given: Given, caller: str) -> Given:
        """What was GIVEN, without the name of whom the server acts for anyway; nobody acts for another through it."""
        if given.get(caller) == ids.PERSON:
            raise NotYourName("what comes over MCP is an agent's doing, and not the person's", hint="name an agent")
        if self.agent is None or given.get(caller) is None:
            return given
        if given[caller] != self.agent:
            raise NotYourName(f"this server acts for {self.agent}", hint="leave the name out")
        return {name: value for name, value in given.items() if name != caller}

    def _session(self, desk: Desk, given: Given) -> Given:
        """Who the caller is, what waits for it, and what to do next. Whoever says its role is registered if need be."""
        given = dict(given)
        role = given.pop(menu.ROLE[1], None)
        who = self._who(desk, given)
        if role is not None and not _is_known(desk, who):
            self._op(desk, menu.ROLE[0], {"name": who, "role": role})
        self._op(desk, "agent.heartbeat", {"agent": who})
        known = self._op(desk, "resume", given)
        mail = {message["id"] for message in known["to_accept"]}
        pending = queries.pending(Attending(desk, who).book(), who, desk.now())["events"]
        asked = [event for event in pending if event["eventId"] not in mail]  # which is told as mail already
        return known | {"chat_owed": len(asked), "next": next_steps(known, asked)}

    def _who(self, desk: Desk, given: Given) -> str:
        found = self.agent or given.get("agent")
        if isinstance(found, str) and found:
            return found
        free = self._op(desk, "agent.name", {})["names"][0]
        raise NoAgent(
            hint=f"call session with agent and role, for example agent {free} (which is free) and role builder"
        )

    def _chat(self, desk: Desk, tool: Tool, given: Given) -> Given:
        """What a tool of C2A answers."""
        given = self._named(dict(given), "agent")
        named = given.pop("agent", None)
        if named is not None and not isinstance(named, str):
            raise invalid("agent must be text", "agent")
        try:
            who = signs_of_life.caller(desk, named)
        except NoAgent as refusal:
            raise NoAgent(hint=NO_AGENT.format("agent")) from refusal
        answer = attention_tools.run(Attending(desk, who), who, tool, given, MOST)
        if not tool.reads_only:
            signs_of_life.alive(desk, who)
        return answer


def _agent_of(env: Mapping[str, str]) -> str | None:
    """The agent that the environment names. One that can be no agent's name is nobody's: it may well come from the
    shell of the person, in which they act as `user`, and what comes over MCP is never the person's doing."""
    named = env.get(AGENT)
    if not named:
        return None
    try:
        return ids.actor_id(named)
    except Usage as refusal:
        note(
            f"{AGENT} names no agent ({refusal.message[:200]}), so this server acts for nobody: each call says who asks"
        )
        return None


def _labelled(shown: Shown, answer: Given) -> Given:
    """ANSWER, with a word of warning where others wrote what stands in it."""
    return {"untrusted": True, **answer} if shown.is_others_text else answer


def _is_known(desk: Desk, who: str) -> bool:
    try:
        signs_of_life.registered(signs_of_life.index_of(desk, who), who)
    except NotFound:
        return False
    return True


def _told(refusal: BbError, *, is_chat: bool) -> Given:
    """A refusal as every face has it; of a tool of C2A, with the code that C2A has for it."""
    if refusal.hint == InvalidValue.hint:
        refusal.hint = LISTED
    elif refusal.hint:
        refusal.hint = hints.told(refusal.hint)
    told: Given = envelope.failure("", refusal)["error"]
    if is_chat:
        data = c2a.data_of(refusal)
        code, hint = data.pop("code"), data.pop("hint", None)
        told = {"code": code, "message": refusal.message, "hint": hint, "details": data}
    return told


def _chosen(given: Given) -> Tool:
    """The tool of C2A that is meant, by its whole name or by the short one that is listed."""
    name = given.get("tool")
    if not isinstance(name, str):
        raise invalid(f"tool must be one of {', '.join(tools.TOOLS)}", "tool")
    return attention_tools.named(name if name in BY_ANY_NAME else CHAT_PREFIX + name)


def _object(given: Given, name: str) -> Given:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise Usage(f"{name} must be an object", path=f"$.{name}")
    return found


def _only(given: Given, name: str) -> Given:
    return {name: given[name]} if name in given else {}
