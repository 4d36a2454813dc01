"""Runs a tool call and returns its answer. Each call has its own desk, so it sees the current ledger.

A refusal is an answer with the same code, hint and details as on every other face. Only this module turns refusals and
bugs into answers, so that no call ends the server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from bb.attention.acts import tools
from bb.attention.acts.tools import BY_ANY_NAME, Tool
from bb.attention.turns import queries
from bb.coordination.agents import callers
from bb.coordination.agents.callers import NotYourName
from bb.kernel import ids
from bb.kernel.errors import BbError, NotFound, Usage
from bb.kernel.record import Record
from bb.mcp import hints, host_sessions, tool_list
from bb.mcp.answer_size import MOST, shortened, without_lone_surrogates
from bb.mcp.host_sessions import Caller
from bb.mcp.log import write_lines
from bb.mcp.next_steps import next_steps
from bb.mcp.tool_list import MenuTool
from bb.ops import catalogue
from bb.ops.agents import service
from bb.ops.attention import greeting
from bb.ops.attention import tools as attention_tools
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.desk import session_agent, signs_of_life
from bb.ops.desk.desk import Desk, NoAgent
from bb.ops.params import InvalidValue, invalid
from bb.wire import c2a, envelope

Given = dict[str, Any]

AGENT = "BB_AGENT"
CHAT_PREFIX = "chat."
LISTED = "tools/list has its input schema"
USE_YOUR_NAME = 'use the name that session-start gave you: pass it as "{}"'
TAKE_A_NAME = "if it gave you none, call session with agent and role, {}"

NoSuchDirectory = NotFound.declare(
    "NO_SUCH_DIRECTORY",
    "The server's working directory does not exist",
    hint="set an existing one in the host's configuration: `bb mcp --directory DIR`",
)


class Bug(BbError):
    """Internal error in bb."""

    code = "INTERNAL_ERROR"
    exit_status = 1
    hint = "report it with the server's output on stderr; everything acknowledged is safe"


class Answer(Record):
    """The result of a call."""

    data: dict[str, Any]
    is_error: bool = False


class Toolbox:
    """The tools of one server. AGENT is the agent that the server acts for. If it is None, the agent is that of the
    host's session, or each call names its agent. Only a server that its host has started is in the host's session."""

    def __init__(
        self,
        directory: str,
        env: Mapping[str, str],
        report: Callable[[str, Exception], None],
        *,
        is_hosts_child: bool = False,
    ) -> None:
        self.agent = _agent_of(env)
        if not is_hosts_child:
            env = callers.without_session_variables(env, keeps_own=True)
        self._env = {name: value for name, value in env.items() if name != AGENT or self.agent}
        self._directory, self._report = directory, report
        self.dismissed: set[str] = set()  # the requests whose dialog the host closed without the person's answer

    def names_caller(self, client: str) -> bool:
        """Whether each call of this CLIENT must name its agent, as far as can be known before."""
        is_known = host_sessions.CODEX in client.lower() or callers.host_sessions(self._env_for(client))
        return self.agent is None and not is_known

    def has(self, name: str) -> bool:
        """Whether a tool of that name exists, listed or not."""
        return name in tool_list.BY_NAME or name in BY_ANY_NAME or name in tool_list.CAPABILITIES

    def call(
        self,
        name: str,
        given: Given,
        is_client_gone: Callable[[], bool] = lambda: False,
        caller: Caller = host_sessions.UNKNOWN,
    ) -> Answer:
        """Call the tool of that name; its answer or its refusal."""
        if name in tool_list.CAPABILITIES:
            return self.answer(name, greeting.without_session, is_chat=True)
        chat = BY_ANY_NAME.get(name)
        tool = tool_list.CHAT if chat else tool_list.BY_NAME[name]

        def run(desk: Desk) -> Given:
            if not caller.sessions:
                _believe_name(desk, given)
            return _marked(tool, self._chat(desk, chat, given) if chat else self._run(desk, tool, given))

        return self.answer(name, run, is_client_gone, caller, is_chat=tool is tool_list.CHAT)

    def answer(
        self,
        what: str,
        run: Callable[[Desk], Given],
        is_client_gone: Callable[[], bool] = lambda: False,
        caller: Caller = host_sessions.UNKNOWN,
        *,
        is_chat: bool = False,
        most: int = MOST,
    ) -> Answer:
        """Run RUN at a fresh desk; its answer or its refusal."""
        try:
            with closing(self.desk(is_client_gone, caller)) as desk:
                answer = Answer(shortened(run(desk), most))
                desk.sync_later()
        except BbError as refusal:
            answer = Answer(shortened(_error(refusal, is_chat=is_chat), most), is_error=True)
        except Exception as error:  # a bug: report it and keep serving
            self._report(what, error)
            answer = Answer(_error(Bug(f"{type(error).__name__} in {what}"), is_chat=is_chat), is_error=True)
        return Answer(without_lone_surrogates(answer.data), answer.is_error)

    def desk(self, is_client_gone: Callable[[], bool] = lambda: False, caller: Caller = host_sessions.UNKNOWN) -> Desk:
        """A fresh desk for a call of this CALLER."""
        if not os.path.isdir(self._directory):
            raise NoSuchDirectory(f"directory {self._directory[:200]} does not exist")
        desk = Desk(self._directory, self._env_for(caller.client), is_client_gone=is_client_gone)
        desk.note_session(*caller.sessions)
        return desk

    def _env_for(self, client: str) -> Mapping[str, str]:
        return host_sessions.own_variables(self._env, client, (*callers.HOSTS, callers.GEMINI))

    # -- the tools

    def _run(self, desk: Desk, shown: MenuTool, given: Given) -> Given:
        if shown is tool_list.CHAT:
            return self._chat(desk, _chat_tool(given), _object_argument(given, "arguments") | _only(given, "agent"))
        if shown is tool_list.SESSION:
            return self._session(desk, given)
        if shown.chooses:
            given = dict(given)
            choice = given.pop(shown.chooses, None)
            if not isinstance(choice, str) or choice not in shown.ops:
                raise invalid(f"{shown.chooses} must be one of {', '.join(shown.ops)}", shown.chooses)
            return self._op(desk, shown.ops[choice], given)
        catalogue.refuse_unknown(catalogue.find(shown.ops[tool_list.ONLY_OP]), given)
        if absent := [name for name in shown.needs if given.get(name) is None]:
            raise catalogue.MissingOption(f"{absent[0]} is required", option=absent[0])
        return self._op(desk, shown.ops[tool_list.ONLY_OP], given)

    def _op(self, desk: Desk, name: str, given: Given) -> Given:
        """The answer of an op to a checked request."""
        op = catalogue.find(name)
        caller = next(key for key in (*tool_list.CALLERS, "") if key in op.by_name or not key)
        given = given if not caller else self._named(given, caller)
        catalogue.refuse_unknown(op, given)
        if absent := [option.name for option in op.parameters if option.is_required and given.get(option.name) is None]:
            raise catalogue.MissingOption(f"{absent[0]} is required", option=absent[0])
        arguments = catalogue.bind(op, given, is_typed=True)
        try:
            answer = op.run(desk, arguments)
        except NoAgent.error as refusal:
            raise _no_agent(desk, caller, refusal) from refusal
        if isinstance(answer, dict):
            return answer
        more = {"more": answer.more} if isinstance(answer, catalogue.TruncatedRows) else {}
        return {"items": list(answer), **more}

    def _named(self, given: Given, caller: str) -> Given:
        """GIVEN without the caller's name if the server acts for one agent. Refuses any other name."""
        if given.get(caller) == ids.PERSON:
            raise NotYourName("a call over MCP cannot act as the person", hint="pass an agent's id")
        if self.agent is None or given.get(caller) is None:
            return given
        if given[caller] != self.agent:
            raise NotYourName(f"this server acts only for {self.agent}", hint=f"omit `{caller}`")
        return {name: value for name, value in given.items() if name != caller}

    def _session(self, desk: Desk, given: Given) -> Given:
        """The caller's identity, its open work, its news (the answer of `bb turn`), and its next steps. With a role, a
        new agent is registered first."""
        given = dict(given)
        role = given.pop(tool_list.ROLE[1], None)
        who = self._agent_name(desk, given, may_register=role is not None)
        if role is not None and not _is_known(desk, who):
            self._op(desk, tool_list.ROLE[0], {"name": who, "role": role})
        news = self._op(desk, "turn", {"agent": who})
        resume = self._op(desk, "resume", given | {"agent": who})
        mail = {message["id"] for message in resume["to_accept"]}
        pending = queries.owed_answers(C2aDesk(desk, who).book(), who, desk.now())["events"]
        unanswered = [event for event in pending if event["eventId"] not in mail]  # mail is listed already
        if "hint" in news:
            news["hint"] = hints.for_tools(f"`{news['hint']}`")
        known = resume | ({"news": news} if news else {})
        return known | {"chat_owed": len(unanswered), "next": next_steps(known, unanswered)}

    def _agent_name(self, desk: Desk, given: Given, *, may_register: bool) -> str:
        """The caller's name. A session that has an agent goes on as that agent instead of registering another one."""
        name = self.agent or given.get("agent")
        if not isinstance(name, str) or not name:
            if name := desk.actor(None):
                return name
            raise _no_agent(desk, "agent")
        if may_register and not _is_known(desk, name):
            return desk.actor(None) or name
        return name

    def _chat(self, desk: Desk, tool: Tool, given: Given) -> Given:
        """The answer of a C2A tool."""
        given = self._named(dict(given), "agent")
        named = given.pop("agent", None)
        if named is not None and not isinstance(named, str):
            raise invalid("agent must be text", "agent")
        try:
            who = signs_of_life.caller(desk, named)
        except NoAgent.error as refusal:
            raise _no_agent(desk, "agent", refusal) from refusal
        answer = attention_tools.run(C2aDesk(desk, who), who, tool, given, MOST)
        if not tool.reads_only:
            signs_of_life.record_sign_of_life(desk, who)
        return answer


def _agent_of(env: Mapping[str, str]) -> str | None:
    """The agent that the environment names. An invalid id is ignored: it may come from the person's shell, where they
    act as `user`, and a call over MCP never acts as the person."""
    named = env.get(AGENT)
    if not named:
        return None
    try:
        return ids.actor_id(named)
    except Usage as refusal:
        write_lines(
            f"{AGENT} is not an agent id ({refusal.message[:200]}) and is ignored: each call must name its agent"
        )
        return None


def _believe_name(desk: Desk, given: Given) -> None:
    """Ignore the session in the environment if the call names another registered agent: the server keeps the id that it
    was started with, when its host goes on under another one."""
    named = next((given[name] for name in tool_list.CALLERS if given.get(name)), None)
    if not desk.host_sessions or not isinstance(named, str) or not ids.is_actor_id(named):
        return
    if desk.session_agent() != named and _is_known(desk, named):
        desk.ignore_environment_sessions()


def _no_agent(desk: Desk, caller: str, refusal: BbError | None = None) -> BbError:
    """The refusal of a call that names no agent. It proposes a free name only if no hook has given one to a session at
    work in this work tree: the caller may be that session."""
    how = "and choose a new name"
    if not session_agent.has_hooks(desk):
        how = f"for example agent {service.name(desk)['names'][0]} (a free name) and role builder"
    message = refusal.message if refusal else None
    return NoAgent(message, hint=f"{USE_YOUR_NAME.format(caller)}; {TAKE_A_NAME.format(how)}")


def _marked(shown: MenuTool, answer: Given) -> Given:
    """ANSWER, marked `untrusted` if it contains text from other agents."""
    return {"untrusted": True, **answer} if shown.is_others_text else answer


def _is_known(desk: Desk, who: str) -> bool:
    try:
        signs_of_life.registered(signs_of_life.index_of(desk, who), who)
    except NotFound:
        return False
    return True


def _error(refusal: BbError, *, is_chat: bool) -> Given:
    """A refusal in the form common to all faces; for a C2A tool, with C2A's error code."""
    if refusal.hint == InvalidValue.hint:
        refusal.hint = LISTED
    elif refusal.hint:
        refusal.hint = hints.for_tools(refusal.hint)
    if is_chat:
        data = c2a.data_of(refusal)
        code, hint = data.pop("code"), data.pop("hint", None)
        return {"code": code, "message": refusal.message, "hint": hint, "details": data}
    error: Given = envelope.failure("", refusal)["error"]
    return error


def _chat_tool(given: Given) -> Tool:
    """The C2A tool that the call names, by its full name or by its short listed name."""
    name = given.get("tool")
    if not isinstance(name, str):
        raise invalid(f"tool must be one of {', '.join(tools.TOOLS)}", "tool")
    return attention_tools.find_tool(name if name in BY_ANY_NAME else CHAT_PREFIX + name)


def _object_argument(given: Given, name: str) -> Given:
    value = given.get(name, {})
    if not isinstance(value, dict):
        raise Usage(f"{name} must be an object", path=f"$.{name}")
    return value


def _only(given: Given, name: str) -> Given:
    return {name: given[name]} if name in given else {}
