"""A running actor: a program on a terminal, or a headless program that reports its own state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bb.daemon.actors import delivery
from bb.daemon.loop.loop import READ, WRITE, Loop, Timer
from bb.daemon.terminal.processes import Ended
from bb.daemon.terminal.terminal import GRACE, Terminal
from bb.groups.actors.profiles import Profile
from bb.kernel import clock

ECHO = 3 * clock.SECOND  # output so soon after typed input is an echo and does not count as activity
POLL = 0.5  # seconds between checks whether a program has ended
CUT_SHORT = "the program ended or stopped reading before the message was submitted"
WIDTH = 200  # estimated characters of a line


class Session:
    """A running actor."""

    def __init__(self, group_id: str, actor_id: str, started_at: int) -> None:
        self.group_id = group_id
        self.actor_id = actor_id
        self.started_at = started_at
        self.last_output_at: int | None = None

    @property
    def has_task(self) -> bool:
        """Whether the actor reports a current task."""
        return False

    def stop(self) -> None:
        """Ask the actor to end."""

    def withdraw(self, event: str) -> None:
        """Remove EVENT from the queue."""

    def last_lines(self, count: int) -> str:  # noqa: ARG002
        """The last lines of the actor's terminal, if it has one."""
        return ""


class Headless(Session):
    """An actor without a terminal. It reads its inbox itself."""

    def __init__(self, group_id: str, actor_id: str, started_at: int) -> None:
        super().__init__(group_id, actor_id, started_at)
        self._state: dict[str, Any] = {"status": "idle", "current_task_id": None, "last_message_id": None}
        self._updated_at = started_at

    def state(self) -> dict[str, Any]:
        return {
            "v": 1,
            "group_id": self.group_id,
            "actor_id": self.actor_id,
            **self._state,
            "started_at": clock.text(self.started_at),
            "updated_at": clock.text(self._updated_at),
        }

    @property
    def has_task(self) -> bool:
        return self._state["current_task_id"] is not None

    def change(self, now: int, changes: Mapping[str, Any]) -> dict[str, Any]:
        self._state |= changes
        self._updated_at = self.last_output_at = now
        return self.state()


class OnTerminal(Session):
    """A program on a terminal, with the queue of messages to type."""

    def __init__(
        self,
        group_id: str,
        actor_id: str,
        profile: Profile,
        terminal: Terminal,
        loop: Loop,
        now: Callable[[], int],
        ended: Callable[[OnTerminal, Ended], None],
        delivered: Callable[[OnTerminal, list[str], str | None], None],
    ) -> None:
        super().__init__(group_id, actor_id, now())
        self.terminal = terminal
        self.queue = delivery.Queue(self.started_at)
        self.places: dict[str, int] = {}  # places of the queued messages in the course
        self.is_stopping = False
        self._is_held = True  # whether typing is suspended
        self._typed_at = self.started_at - ECHO
        self._submit = profile.submit
        self._loop = loop
        self._now = now
        self._ended = ended
        self._delivered = delivered  # gets the typed messages, or the reason for a failure halfway
        self._timer: Timer | None = None
        self._kill: Timer | None = None
        self._poll_timer: Timer | None = None
        self._watch()
        self._poll_soon()  # the program may have ended already, but its start must be registered first

    # -- terminal

    def _watch(self) -> None:
        if not self.terminal.has_hung_up:
            self._loop.watch(self.terminal.fd, READ | (WRITE if self.terminal.wants_write else 0), self._ready)

    def _ready(self, events: int) -> None:
        if events & WRITE:
            self.terminal.flush()
        if events & READ and self.terminal.read():
            now = self._now()
            if now - self._typed_at >= ECHO:
                self.last_output_at = now
            self.queue.heard(now)
            self.schedule()
        if self.terminal.has_hung_up:
            self._loop.forget(self.terminal.fd)
            self._poll_soon()
        else:
            self._watch()

    def write(self, octets: bytes) -> bool:
        """Type bytes; whether there was room for them."""
        is_taken = self.terminal.write(octets)
        self._watch()
        return is_taken

    # -- end

    def stop(self) -> None:
        self.is_stopping = True
        if self._timer:
            self._timer.cancel()
        self.terminal.stop()
        self._kill = self._loop.later(GRACE / 1000, self.terminal.kill)

    def _poll_soon(self) -> None:
        if self._poll_timer:
            self._poll_timer.cancel()
        self._poll_timer = self._loop.later(0, self._poll)

    def _poll(self) -> None:
        if self._poll_timer:
            self._poll_timer.cancel()
        ended = self.terminal.poll()
        if ended is None:
            self._poll_timer = self._loop.later(POLL / 10 if self.is_stopping else POLL, self._poll)
            return
        for timer in (self._timer, self._kill):
            if timer:
                timer.cancel()
        if self.terminal.fd >= 0:
            self._loop.forget(self.terminal.fd)
        self.terminal.close()
        self._ended(self, ended)

    # -- messages

    def tell(self, event: Mapping[str, Any], seq: int) -> None:
        """Queue a message."""
        if self.queue.add(str(event["id"]), delivery.rendered(event)):
            self.places[str(event["id"])] = seq
            if len(self.places) > 2 * len(self.queue) + delivery.MOST_WAITING:  # the queue has dropped some
                self.places = {event: place for event, place in self.places.items() if event in self.queue}
            self.schedule()

    def has_read(self, seq: int) -> None:
        """Remove the messages up to a place: the actor has read them."""
        for event in [event for event, place in self.places.items() if place <= seq]:
            del self.places[event]
            self.queue.withdraw(event)

    def withdraw(self, event: str) -> None:
        self.places.pop(event, None)
        self.queue.withdraw(event)

    def last_lines(self, count: int) -> str:
        return "\n".join(self.terminal.transcript.tail(count * WIDTH).splitlines()[-count:])

    def hold(self, *, is_held: bool) -> bool:
        """Suspend or resume typing; whether that changes anything."""
        is_other, self._is_held = self._is_held != is_held, is_held
        self.schedule()
        return is_other

    def schedule(self) -> None:
        """Set the timer for the next delivery."""
        now = self._now()
        at = self.queue.next_at(now)
        if self._timer:
            self._timer.cancel()
        self._timer = (
            None
            if at is None or self.is_stopping or self._is_held
            else self._loop.later(max(at - now, 0) / 1000, self._type)
        )

    def _type(self) -> None:
        self._timer = None
        if self.is_stopping or self.terminal.has_hung_up:
            return
        next_delivery = self.queue.take(self._now(), self.terminal.shown)
        if next_delivery:
            steps = delivery.keystrokes(next_delivery.text, self._submit, self.terminal.wants_paste)
            if not self.write(steps[0][1]):
                self.queue.put_back(next_delivery, self._now())
            else:
                self._typed_at = self._now()
                for event in next_delivery.ids:
                    self.places.pop(event, None)
                self._type_on(next_delivery.ids, steps[1:])
        self.schedule()

    def _type_on(self, events: list[str], steps: list[tuple[int, bytes]]) -> None:
        """Type the remaining steps of a delivery, each after its delay."""
        if not steps:
            self._delivered(self, events, None)
            return
        (wait, octets), *rest = steps

        def go_on() -> None:
            if self.is_stopping or not self.write(octets):
                self._delivered(self, events, CUT_SHORT)
                return
            self._typed_at = self._now()
            self._type_on(events, rest)

        self._loop.later(wait / 1000, go_on)
