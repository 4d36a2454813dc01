"""Starts, supervises and stops the actors of this daemon.

The ledgers say which actors should run, so a new daemon starts them again. First it handles the programs of its
predecessor: programs that still run are stopped, and all are recorded as ended.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import bb
from bb.daemon.actors import children, delivery
from bb.daemon.actors.children import Child, Children
from bb.daemon.actors.messages import MessageRouter
from bb.daemon.actors.session import Headless, OnTerminal, Session
from bb.daemon.clients.connection import Connection
from bb.daemon.clients.streams import Streams
from bb.daemon.loop.log import Log, LogSettings
from bb.daemon.loop.loop import Loop
from bb.daemon.terminal.processes import ActorStartFailed, Ended
from bb.daemon.terminal.terminal import GRACE, Terminal
from bb.groups import permissions
from bb.groups.actors.profiles import PTY
from bb.kernel import clock, secret_patterns
from bb.kernel.errors import BbError
from bb.kernel.event import Event
from bb.ledger.git.place import Place
from bb.ledger.local import machine_registry as knowns
from bb.ledger.local import prompts
from bb.messaging.chat import deliveries, notifications
from bb.messaging.chat.principals import SYSTEM
from bb.messaging.facts import Said
from bb.ops import catalogue
from bb.ops.desk import group_desk, live_daemon
from bb.ops.desk.desk import Desk
from bb.ops.desk.group_desk import Actor, GroupDesk

OBSERVABILITY = "observability.json"
EXITED = "x.bb.exited"
TELL_AGAIN = 1.0  # seconds
PREAMBLE = (
    "[bb] You are {actor}, {role} of the group “{title}”. Messages for you are typed here. To send a message: bb chat "
    "send TEXT. To answer: bb chat reply EVENT TEXT. Your unread messages: bb chat inbox. All commands: bb --help"
)


class Supervisor:
    """The running actors of one daemon."""

    def __init__(self, home: str, loop: Loop, desk: Desk, streams: Streams, log: Log) -> None:
        self._home = home
        self._folder = os.path.join(home, "daemon")
        self._loop = loop
        self._desk = desk
        self._streams = streams
        self._log = log
        self._children = Children(os.path.join(self._folder, "children.json"))
        self._sessions: dict[tuple[str, str], Session] = {}
        self._ending: list[OnTerminal] = []
        self._ended: dict[tuple[str, str], dict[str, Any]] = {}  # how programs ended that bb did not stop
        self._telling = MessageRouter(desk, streams, self._sessions)
        self.is_over = False
        self.on_start: Callable[[GroupDesk], None] = lambda _: None  # called with the actor's group
        self.on_attend: Callable[[Place], dict[str, Any]] = lambda _: {}  # called with a clone that has joined a fleet
        self._settings = LogSettings(os.path.join(self._folder, OBSERVABILITY), log)
        self._about = {
            "version": bb.__version__,
            "pid": os.getpid(),
            "ipc_v": 1,
            "implementation": "bb",
            "capabilities": {"events_stream": True, **{op.name: True for op in catalogue.all_ops()}},
        }

    # -- the interface of ops (`ops/desk/live_daemon.py`)

    def start(self, group: GroupDesk, actor: Actor) -> None:
        """Start an actor, unless it is running."""
        if (group.id, actor.id) in self._sessions:
            return
        if actor.profile.runner == PTY:
            session: Session = self._on_terminal(group, actor)
        else:
            session = Headless(group.id, actor.id, self._desk.now())
        self._sessions[group.id, actor.id] = session
        self._ended.pop((group.id, actor.id), None)
        self._log.info(f"started {actor.id} of {group.id}")
        self._telling.listen(group)
        self._loop.call_soon(lambda: self._begin_telling(group, session))
        self.on_start(group)

    def _begin_telling(self, group: GroupDesk, session: Session) -> None:
        """Start typing messages to an actor. This needs the group's state; if the ledger cannot be read now, for
        example because it is locked, try again later."""
        if self._sessions.get((session.group_id, session.actor_id)) is not session:
            return
        try:
            self._telling.resume(group, session)
        except BbError as error:
            self._log.warning(f"{session.actor_id} of {session.group_id} gets its messages later: {error.message}")
            self._loop.later(TELL_AGAIN, lambda: self._begin_telling(group, session))

    def stop(self, group_id: str, actor_id: str) -> bool:
        """Ask an actor to end; whether it was running."""
        self._ended.pop((group_id, actor_id), None)
        session = self._sessions.pop((group_id, actor_id), None)
        if session is None:
            return False
        session.stop()
        if isinstance(session, OnTerminal):
            self._ending.append(session)
        self._log.info(f"stopped {actor_id} of {group_id}")
        return True

    def is_running(self, group_id: str, actor_id: str) -> bool:
        return (group_id, actor_id) in self._sessions

    def ended(self, group_id: str, actor_id: str) -> dict[str, Any] | None:
        return self._ended.get((group_id, actor_id))

    def is_headless(self, group_id: str, actor_id: str) -> bool:
        return isinstance(self._sessions.get((group_id, actor_id)), Headless)

    def tail(self, group_id: str, actor_id: str, most: int, *, strip: bool, compact: bool) -> str:
        return self._terminal(group_id, actor_id).transcript.tail(most, strip_ansi=strip, compact=compact)

    def clear(self, group_id: str, actor_id: str) -> None:
        self._terminal(group_id, actor_id).transcript.clear()

    def resize(self, group_id: str, actor_id: str, cols: int, rows: int) -> bool:
        session = self._sessions.get((group_id, actor_id))
        if isinstance(session, OnTerminal):
            session.terminal.resize(cols, rows)
        return isinstance(session, OnTerminal)

    def deliver(self, group: GroupDesk, event: Event, actor_ids: Sequence[str]) -> None:
        """Type a message to actors, even if it was sent as mail."""
        for session in [self._on_its_terminal(group.id, actor_id) for actor_id in actor_ids]:
            session.tell(event.envelope(), event.seq or 0)

    def headless(self, group_id: str, actor_id: str) -> dict[str, Any]:
        return self._headless(group_id, actor_id).state()

    def set_headless(self, group_id: str, actor_id: str, *, now: int, **changes: Any) -> dict[str, Any]:
        return self._headless(group_id, actor_id).change(now, changes)

    def about(self) -> dict[str, Any]:
        return self._about

    def observability(self) -> dict[str, Any]:
        return self._settings.found

    def observe(self, patch: dict[str, Any]) -> dict[str, Any]:
        return self._settings.change(patch)

    def attend(self, place: Place) -> dict[str, Any]:
        return self.on_attend(place)

    def shut_down(self) -> None:
        """End the daemon after the pending requests are answered."""
        self.is_over = True

    # -- attached clients

    def has_writer(self, group_id: str, actor_id: str) -> bool:
        session = self._sessions.get((group_id, actor_id))
        return isinstance(session, OnTerminal) and session.terminal.has_writer

    def attach(
        self,
        connection: Connection,
        group_id: str,
        actor_id: str,
        *,
        only_watches: bool = False,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Attach a client to an actor's terminal. Only the first client that does not just watch may type."""
        session = self._sessions.get((group_id, actor_id))
        if not isinstance(session, OnTerminal):
            connection.end()
            return
        connection.typed = lambda octets: self._typed(session, connection, octets)
        connection.ended = lambda: session.terminal.detach(connection)
        session.terminal.attach(connection, only_watches=only_watches, size=size)

    def _typed(self, session: OnTerminal, connection: Connection, octets: bytes) -> None:
        if session.terminal.may_type(connection):
            session.write(octets)

    # -- starting

    def _on_terminal(self, group: GroupDesk, actor: Actor) -> OnTerminal:
        state = group.group()
        scope = actor.profile.default_scope_key or state.active_scope
        where = group.known.scopes.get(scope)
        if where is None:
            raise ActorStartFailed(f"{actor.id} has no directory to work in", reason="no_scope")
        terminal = Terminal.start(actor.profile.command, where, self._environment(group, actor))
        self._children.add(group.id, actor.id, terminal.pid, actor.profile.command[0])
        session = OnTerminal(
            group.id, actor.id, actor.profile, terminal, self._loop, self._desk.now, self._has_ended, self._has_typed
        )
        session.queue.min_interval_seconds = int(group.settings()["min_interval_seconds"])
        title = delivery.escape_controls(state.title)
        own = prompts.read(self._home, group.id, ("preamble",)).get("preamble", "")
        session.queue.preamble = "\n".join([PREAMBLE.format(actor=actor.id, role=actor.role, title=title), own]).strip()
        return session

    def _environment(self, group: GroupDesk, actor: Actor) -> dict[str, str]:
        """The environment of an actor's program. It names the actor, so that `bb` in it acts as the actor."""
        theirs = {name: value for name, value in self._desk.env.items() if name not in ("BB_NOW", "BB_AGENT")}
        own = {"BB_AGENT": actor.id, "CCCC_ACTOR_ID": actor.id, "CCCC_GROUP_ID": group.id, "CCCC_HOME": self._home}
        return {**theirs, "PATH": _with_bb(theirs.get("PATH", os.defpath)), **own, **group.known.env.get(actor.id, {})}

    def begin(self) -> None:
        """Clean up the programs of the last daemon, and start the actors that should run."""
        for left in self._children.left_over():
            child = left.child
            if left.is_running:
                children.stop(child)
                self._loop.later(GRACE / 1000, partial(_kill, child))
            self._children.remove(child.group, child.actor)
            how = {"was_left_running": left.is_running}
            self._log.warning(f"{child.actor} of {child.group} was still recorded as started by the last daemon")
            self._record_end(child.group, child.actor, how)
        for group in knowns.all_groups(self._home):
            self._resume(group.group_id)

    def _resume(self, group_id: str) -> None:
        try:
            group = group_desk.open_group(self._desk, group_id)
            actors = [actor for actor in group.actors() if actor.agent.is_wanted and actor.profile.enabled]
        except BbError as error:
            self._log.error(f"group {group_id}: {error.message}")
            return
        for actor in actors:
            try:
                self.start(group, actor)
            except BbError as error:
                self._log.error(f"{actor.id} of {group_id}: {error.message}")
                self._warn(group, actor.id, f"{actor.id} could not be started again", error.message)

    # -- ending

    def _has_ended(self, session: OnTerminal, ended: Ended) -> None:
        """Handle the end of a program, expected or not."""
        if session in self._ending:
            self._ending.remove(session)
        is_expected = session.is_stopping
        if self._sessions.get((session.group_id, session.actor_id)) is session:
            del self._sessions[session.group_id, session.actor_id]
        self._forget_child(session)
        how = {"status": ended.status, "signal": ended.signal, "asked_to": is_expected}
        self._log.info(f"{session.actor_id} of {session.group_id} ended: {how}")
        self._record_end(session.group_id, session.actor_id, how)
        if not is_expected and not self.is_over:
            if not self.is_running(session.group_id, session.actor_id):
                exit_state = {"status": ended.status, "signal": ended.signal, "ts": clock.text(self._desk.now())}
                self._ended[session.group_id, session.actor_id] = exit_state
            self._notify_of_end(session, ended)

    def _forget_child(self, session: OnTerminal) -> None:
        """Remove a program from the list of children, unless the actor was restarted meanwhile."""
        listed = next(
            (child for child in self._children if (child.group, child.actor) == (session.group_id, session.actor_id)),
            None,
        )
        if listed and listed.pid == session.terminal.pid:
            self._children.remove(session.group_id, session.actor_id)

    def _record_end(self, group_id: str, actor_id: str, how: dict[str, Any]) -> None:
        """Record that a program has ended, and how."""
        self._record(group_id, [Said(EXITED, {"actor_id": actor_id, **how})], f"that {actor_id} ended")

    def _has_typed(self, session: OnTerminal, events: list[str], failure: str | None) -> None:
        """Record that messages were typed to an actor, or why that failed."""
        state = deliveries.FAILED if failure else deliveries.ACCEPTED
        facts = [
            Said(deliveries.KIND, deliveries.delivery(session.actor_id, event, state, failure)) for event in events
        ]
        self._record(session.group_id, facts, f"that {session.actor_id} was typed a message")

    def _record(self, group_id: str, facts: list[Said], what: str) -> None:
        try:
            group_desk.open_group(self._desk, group_id).record(facts, SYSTEM)
            self._streams.pump([group_id])
        except BbError as error:
            self._log.error(f"{what} in {group_id} could not be recorded: {error.message}")

    def _notify_of_end(self, session: OnTerminal, ended: Ended) -> None:
        by = live_daemon.how_it_ended({"status": ended.status, "signal": ended.signal})
        try:
            group = group_desk.open_group(self._desk, session.group_id)
        except BbError:
            return
        text = f"Its program ended by itself, with {by}."
        self._warn(group, session.actor_id, f"{session.actor_id} has ended", text, session)

    def _warn(self, group: GroupDesk, actor_id: str, title: str, text: str, session: Session | None = None) -> None:
        """Notify the foreman that an actor does not run; the person, if the foreman does not run."""
        foreman = next(
            (actor.id for actor in group.actors() if actor.role == "foreman" and actor.id != actor_id), "user"
        )
        target = foreman if (group.id, foreman) in self._sessions else "user"
        data = {
            "kind": "status_change",
            "priority": "high",
            "title": title,
            "message": text,
            "target_actor_id": target,
            "context": {"actor_id": actor_id, **(_glimpse(group, session, target) if session else {})},
        }
        group.record([Said(notifications.NOTIFY, data)], SYSTEM)
        self._streams.pump([group.id])

    def close(self) -> None:
        """Stop all actors. The next daemon starts them again."""
        self.is_over = True
        for key in list(self._sessions):
            self.stop(*key)

    @property
    def is_empty(self) -> bool:
        """Whether no program is running."""
        return not self._sessions and not self._ending

    @property
    def has_work(self) -> bool:
        return bool(self._sessions)

    def glimpse(self, group: GroupDesk, actor_id: str, to: str) -> dict[str, str]:
        """The last lines of an actor's terminal for a notice to TO, if TO may see them."""
        session = self._sessions.get((group.id, actor_id))
        return _glimpse(group, session, to) if session else {}

    def sessions(self) -> Iterator[Session]:
        yield from self._sessions.values()

    # -- small things

    def _terminal(self, group_id: str, actor_id: str) -> Terminal:
        return self._on_its_terminal(group_id, actor_id).terminal

    def _on_its_terminal(self, group_id: str, actor_id: str) -> OnTerminal:
        session = self._sessions.get((group_id, actor_id))
        if not isinstance(session, OnTerminal):
            raise live_daemon.not_running(self._desk, group_id, actor_id)
        return session

    def _headless(self, group_id: str, actor_id: str) -> Headless:
        session = self._sessions.get((group_id, actor_id))
        if not isinstance(session, Headless):
            raise group_desk.ActorNotFound(f"{actor_id} is not running headless", actor_id=actor_id)
        return session


def _glimpse(group: GroupDesk, session: Session, to: str) -> dict[str, str]:
    """The last lines of a terminal with secrets masked, if the group's settings allow it and TO may see them."""
    settings, who = group.settings(), session.actor_id
    visibility, role = str(settings["terminal_transcript_visibility"]), permissions.role_of(to, group.roles())
    is_visible = permissions.may("terminal.read", by=to, role=role, target=who, visibility=visibility)
    if not (is_visible and settings["terminal_transcript_notify_tail"]):
        return {}
    text = session.last_lines(int(settings["terminal_transcript_notify_lines"]))
    return {"terminal_tail": secret_patterns.masked(text)} if text.strip() else {}


def _with_bb(path: str) -> str:
    """PATH, with the folder of this bb at its end if PATH has no `bb`."""
    folders = path.split(os.pathsep)
    if any(os.access(os.path.join(folder, "bb"), os.X_OK) for folder in folders):
        return path
    return os.pathsep.join([*folders, os.path.dirname(sys.executable)])


def _kill(child: Child) -> None:
    children.kill(child)
