"""The turns of an attached agent: deliveries of the host in, prompts to the agent out, and what became of each turn.

One turn runs at a time. Deliveries wait for it in order; what the agent need not answer waits for the next prompt. A
turn holds a lease, renewed by every sign of the agent. When the lease ends, the turn is cancelled; an agent that
does not react to that is started anew. So neither a lost end of a turn nor a hung agent silences the agent for good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bb.attention.harness import prompts
from bb.cli.programs.attach_report import Report
from bb.kernel.errors import BbError
from bb.ops.attention import attaching
from bb.ops.attention.attention_desk import C2aDesk
from bb.ops.attention.serving import Hosting
from bb.wire import acp
from bb.wire.acp_client import IDLE, AcpClient, Ended, TurnFailed

CANCELS_IN = 10.0  # seconds that an agent has to end a cancelled turn
PROGRESS_EVERY = 15.0  # seconds between two recorded steps of a turn
LONGEST_REST = 60  # seconds after failed turns
MOST_NEWS = 20
PAUSE = 1000  # milliseconds until the next attempt after a refusal
# Why a turn is cancelled, and the state that the host is told of it. A failed turn is handed over again. An interrupted
# turn goes on soon, and that of a run that ends is repeated by the next run, so the host is told nothing.
WITHDRAWN, INTERRUPTED = "its message is withdrawn or has changed", "an urgent message interrupts it"
LAPSED, ENDING = "the agent is silent", "bb chat attach ends"
TOLD = {WITHDRAWN: "ended", LAPSED: "failed"}
LIMITS = (acp.TOKENS, acp.REQUESTS)

Envelope = dict[str, Any]


class Turn:
    """The running turn."""

    def __init__(self, envelope: Envelope, now: float) -> None:
        self.envelope = envelope
        self.event: str = envelope["eventId"]
        self.attempt: int = envelope["reliability"]["attempt"]
        self.sign_at = self.progress_at = now
        self.steps = 0
        self.cancelled_for, self.cancelled_at = "", 0.0


class Turns:
    """The deliveries and turns of the agent that HOSTING serves. NOW is a monotonic clock, in seconds."""

    def __init__(
        self, hosting: Hosting, report: Report, now: Callable[[], float], *, lease: float, wake: str, tools_only: bool
    ) -> None:
        self._hosting, self._report, self._now = hosting, report, now
        self._at = C2aDesk(hosting.desk, hosting.agent)
        self._lease, self._wake, self._tools_only = lease, wake, tools_only
        self._waiting: list[Envelope] = []
        self._news: dict[str, str] = {}  # event -> what the agent is told about it with the next prompt
        self._running: Turn | None = None
        self._client: AcpClient | None = None
        self._is_introduced = False
        self.due: int | None = None
        self.completed = 0
        self._failures, self._rests_until = 0, 0.0  # failed turns in a row, and the pause after them

    # -- deliveries

    def is_due(self) -> bool:
        """Whether the host may have something to hand over now, although nothing was recorded."""
        return self.due is not None and self._hosting.desk.now() >= self.due

    def collect(self) -> None:
        """Take over what the host hands over now, and what it withdraws."""
        try:
            plan = self._hosting.hand_over()
        except BbError as refusal:
            self._report.refused("the deliveries", refusal)
            self.due = self._hosting.desk.now() + PAUSE
            return
        self.due = plan.due
        for handed, reason in plan.cancels:
            self._withdraw(handed.event, reason)
        for deliver in plan.delivers:
            self._take(deliver.envelope)
            self._hosting.answered(deliver.handed.request, {"status": "accepted"}, None)

    def _withdraw(self, event: str, reason: str) -> None:
        self._waiting = [envelope for envelope in self._waiting if envelope["eventId"] != event]
        self._news.pop(event, None)
        if self._running and self._running.event == event:
            self._cancel(WITHDRAWN)
        self._report.withdrawn(event, reason)

    def _take(self, envelope: Envelope) -> None:
        interrupts = bool(envelope["injection"].get("interrupt"))
        starts_turn = interrupts or prompts.wakes(envelope, self._wake)
        self._report.delivered(envelope, starts_turn=starts_turn)
        if not starts_turn:
            self._news[envelope["eventId"]] = prompts.rendered(envelope)
            while len(self._news) > MOST_NEWS:
                del self._news[next(iter(self._news))]
        elif interrupts:
            self._waiting.insert(0, envelope)
            self._cancel(INTERRUPTED)
        elif (place := self._place_of(envelope["eventId"])) is None:
            self._waiting.append(envelope)
        elif "knock" in envelope:  # a reminder; the agent gets the text, which is here
            self._waiting[place] = self._waiting[place] | {"reliability": envelope["reliability"]}
        else:
            self._waiting[place] = envelope

    def _place_of(self, event: str) -> int | None:
        """The place of an event among those that wait."""
        return next((place for place, each in enumerate(self._waiting) if each["eventId"] == event), None)

    # -- the agent

    def attach(self, client: AcpClient, *, is_loaded: bool) -> None:
        """The agent has opened a session."""
        self._client = client
        self._is_introduced = is_loaded

    def go_on(self) -> None:
        """Start the next turn if the agent is idle, and cancel a turn whose lease is over."""
        if self._running:
            self._check_lease(self._running)
        elif self._waiting and self._client and self._client.state == IDLE and self._now() >= self._rests_until:
            self._start(self._waiting.pop(0))

    @property
    def is_running(self) -> bool:
        """Whether a turn is running."""
        return self._running is not None

    @property
    def event(self) -> str:
        """The event of the running turn; empty if there is none."""
        return self._running.event if self._running else ""

    def must_restart(self) -> bool:
        """Whether the agent has not ended a cancelled turn in time."""
        turn = self._running
        return bool(turn and turn.cancelled_for and self._now() - turn.cancelled_at > CANCELS_IN)

    def _start(self, envelope: Envelope) -> None:
        assert self._client  # noqa: S101  (`go_on` has looked)
        before = ""
        if not self._is_introduced:
            is_text_sent = not self._tools_only
            before = prompts.introduction(self._hosting.agent, attaching.SERVER, is_text_sent=is_text_sent)
        text = prompts.prompt(envelope, before=before, news=list(self._news.values()))
        self._running = turn = Turn(envelope, self._now())
        self._tell(turn, "started")
        self._news.clear()
        self._client.prompt(text)
        self._is_introduced = True
        self._report.started(turn.event)

    def _check_lease(self, turn: Turn) -> None:
        if not turn.cancelled_for and self._now() - turn.sign_at > self._lease:
            self._report.lapsed(turn.event, self._lease)
            self._cancel(LAPSED)

    def sign(self) -> None:
        """The agent, or the person whom it waits for, has given a sign of life: the lease begins anew."""
        if self._running:
            self._running.sign_at = self._now()
            self._hosting.harness.leases.renew(self._hosting.desk.now())

    def _cancel(self, why: str) -> None:
        turn = self._running
        if turn and self._client and not turn.cancelled_for:
            turn.cancelled_for, turn.cancelled_at = why, self._now()
            self._client.cancel()
            self._report.cancelled(turn.event, why)

    def stop(self) -> None:
        """Cancel the running turn, because this program ends."""
        self._cancel(ENDING)

    def worked(self, title: str) -> None:
        """The agent called a tool, or wrote something. A step is recorded as progress now and then. The titles of tools
        stay out of it where the event is private."""
        self.sign()
        turn = self._running
        if turn is None or not title:
            return
        turn.steps += 1
        self._report.worked(turn.event, title)
        if self._now() - turn.progress_at >= PROGRESS_EVERY:
            turn.progress_at = self._now()
            message = "at work" if prompts.is_private(turn.envelope) else title
            progress = {
                "progressToken": f"turn:{turn.event}:{turn.attempt}",
                "progress": turn.steps,
                "message": message,
            }
            self._report.guarded("the progress", lambda: self._hosting.progressed(progress))

    # -- the end of a turn

    def ended(self, end: Ended) -> None:
        """The agent has ended its turn."""
        turn, self._running = self._running, None
        if turn is None:
            return
        if turn.cancelled_for:  # whatever the agent says of its end, the text of such a turn is no answer
            self._end_cancelled(turn)
            return
        self.completed += 1
        self._failures = 0
        self._is_introduced &= end.why != acp.REFUSAL  # the agent forgets what it refused
        if end.why == acp.CANCELLED:  # by the agent itself
            self._fail(turn, "the agent cancelled the turn itself")
            return
        is_kept = not self._report.guarded("the answer", lambda: self._answer(turn, end))
        self._tell(turn, "ended")
        is_owed = is_kept or self._is_owed(turn)
        self._report.ended(turn.event, end.why, is_answered=self._has_spoken(turn), is_owed=is_owed)

    def _answer(self, turn: Turn, end: Ended) -> None:
        """Answer in the agent's name if it still has to answer: with its text, or by declining."""
        if not self._is_owed(turn):
            return
        if end.why == acp.REFUSAL:
            attaching.decline(self._hosting, turn.envelope, "the model refused to go on")
            self._report.declined(turn.event)
        elif end.text and not self._tools_only and not attaching.waits_for_person(self._hosting, turn.event):
            text = prompts.answer_text(end.text, is_cut=end.why in LIMITS)
            sent = attaching.answer(self._hosting, turn.envelope, text)
            self._report.answered(turn.event, sent["messageId"])

    def failed(self, failure: TurnFailed) -> None:
        """The agent answered the prompt with an error."""
        turn, self._running = self._running, None
        if turn is not None and turn.cancelled_for:
            self._end_cancelled(turn)
        elif turn is not None:
            self._fail(turn, f"the agent reports {failure.message} ({failure.code})")

    def gone(self) -> None:
        """The agent's process has ended."""
        turn, self._running, self._client = self._running, None, None
        if turn is not None and turn.cancelled_for:
            self._end_cancelled(turn)
        elif turn is not None:
            self._fail(turn, "the agent's process has ended")

    def _end_cancelled(self, turn: Turn) -> None:
        if turn.cancelled_for == INTERRUPTED:
            self._waiting.insert(1, turn.envelope)  # after the message that interrupts
        elif state := TOLD.get(turn.cancelled_for):
            self._tell(turn, state)

    def _fail(self, turn: Turn, why: str) -> None:
        self._is_introduced = False  # perhaps the agent has not kept that prompt
        self._failures += 1
        self._rests_until = self._now() + min(2**self._failures, LONGEST_REST)
        self._tell(turn, "failed")
        self._report.failed(turn.event, why)

    def _is_owed(self, turn: Turn) -> bool:
        return attaching.owed(self._at.book(), self._hosting.agent, turn.event)

    def _has_spoken(self, turn: Turn) -> bool:
        return attaching.has_spoken(self._at.book(), self._hosting.agent, turn.event)

    def _tell(self, turn: Turn, state: str) -> None:
        """Report the state of a turn to the host."""
        has_spoken = state != "started" and self._has_spoken(turn)
        params = {"eventId": turn.event, "attempt": turn.attempt, "state": state, "outbound": has_spoken}
        self._report.guarded("the turn", lambda: self._hosting.turn(params))
