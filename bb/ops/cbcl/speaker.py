"""One agent of a repository that sends and hears CBCL messages.

A message is one line of the ledger. The line also has the message's effects on its sender. Hearing a message is a
transaction: its effects on the hearer, the dialects it brings and the answers are recorded together or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bb.attention.facts import Moved
from bb.attention.state import transitions
from bb.cbcl.facts import Heard, Installed
from bb.cbcl.judge import authorship
from bb.cbcl.judge.authorship import signed_message
from bb.cbcl.judge.installation import Rules
from bb.cbcl.read import grammar, names
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import ResourceLimit
from bb.cbcl.read.message import Message, Simple, core_of
from bb.cbcl.read.reader import MAXIMUM_BOUNDS, Malformed
from bb.cbcl.read.tree import text_of
from bb.cbcl.read.words import OK
from bb.cbcl.speak import effects, processing, speaking
from bb.cbcl.speak.effects import Discharged, Effect
from bb.cbcl.speak.processing import Outcome
from bb.cbcl.speak.speaking import Speech
from bb.coordination.agents import roster
from bb.kernel import ids
from bb.kernel.errors import BbError
from bb.ledger.index.index import Index
from bb.ledger.signing.keyring import Keyring
from bb.ledger.views import cbcl as ledger
from bb.ledger.views import proofs
from bb.messaging import messages
from bb.messaging.cbcl import conversation_state, registers
from bb.messaging.cbcl import mail_form as cbcl_letters
from bb.messaging.facts import Acked, Read, Sent
from bb.messaging.mail import mail, mailbox
from bb.ops.cbcl import views
from bb.ops.desk import signs_of_life
from bb.ops.desk.desk import Desk

WHO = "`bb agent list` shows the registered agents; @user is the person"
REPEATED = "it is in the message that was heard"  # the reason for recording a suspected secret again


class Talk:
    """One agent with the ledger of the repository."""

    def __init__(self, desk: Desk, named: str | None) -> None:
        self.desk = desk
        self.who = signs_of_life.caller(desk, named, may_be_person=True)
        signs_of_life.index_of(desk, self.who)
        self._keyring = Keyring(desk.env)
        self._read: dict[str, Definition] = {}  # the dialects read so far
        self._ledger = proofs.ledger_of(desk.store)
        self._rules = Rules(self._keyring.trust(), self._ledger)
        self._seed = self._keyring.seed(self.who) if self.who in self._keyring.names() else None

    def _dialects(self, index: Index) -> ledger.InstalledDialects:
        return ledger.InstalledDialects(self.desk.store, index, self._keyring, self._read)

    def _is_here(self, index: Index, name: str) -> bool:
        return name == ids.PERSON or bool(roster.in_service([(name, index.state(roster.NAME, name))]))

    def signed(self, octets: bytes) -> bytes:
        """OCTETS signed with the key that has the agent's name; unchanged if there is no such key, or if they are
        already signed or not a valid message."""
        if self._seed is None:
            return octets
        try:
            message = grammar.message(octets, MAXIMUM_BOUNDS)
        except Malformed.error:
            return octets  # `speech` refuses them, with the place of the mistake in the given text
        if authorship.signature_in(message) is not None:
            return octets
        return text_of(signed_message(message.node, self._seed, self.who, self._ledger.id)).encode()

    # -- speaking

    def speech(self, index: Index, octets: bytes, to: Sequence[str]) -> Speech:
        """Check that OCTETS can be sent to these recipients, and find the effects."""
        speech = speaking.speak(
            ledger.conversation_state_of(index, self.who), self._dialects(index), octets, self._rules, to
        )
        for recipient in speech.to:
            if not self._is_here(index, recipient):
                raise mail.UnknownRecipient(
                    f"no agent {recipient[:60]!r} is in service here", hint=WHO, to=recipient[:60]
                )
        return speech

    def spoken(self, index: Index, speech: Speech) -> list[Any]:
        """The facts of a sent message: the dialect it defines, the message, and the sender's mail that it settles."""
        installed = [effect for effect in speech.effects if isinstance(effect, Installed)]
        if not speech.to:
            return installed
        answered = self._answered(index, speech)
        letter = self._letter(index, speech.message, speech.to, speech.effects, answered)
        discharged = [effect for effect in speech.effects if isinstance(effect, Discharged)]
        others = {event for effect in discharged for event in self._asked_by(index, effect)} - {answered}
        accepted = self._accepted(index, speech.message, answered) if answered else []
        return [
            *installed,
            letter,
            *accepted,
            *(fact for event in sorted(others) for fact in self._closed(index, event)),
        ]

    def _letter(
        self, index: Index, message: Message, to: Sequence[str], happened: Sequence[Effect], answered: str | None
    ) -> Sent:
        state = index.state(messages.NAME, answered) if answered else None
        thread = messages.sent(state).thread if state else None
        where = self._ledger.id
        return cbcl_letters.letter(self.who, message, to, happened, answered=answered, thread=thread, ledger=where)

    def _answered(self, index: Index, speech: Speech) -> str | None:
        """The event of the message that this one answers: the one it settles, also by a call in a dialect; else the one
        it names; for an `ok` that names none, the latest in its thread."""
        if settled := next((effect for effect in speech.effects if isinstance(effect, Discharged)), None):
            return self._opened_by(index, settled)
        core = core_of(speech.message)
        if not isinstance(core, Simple) or core.performative not in cbcl_letters.TO_SOMETHING:
            return None
        if meant := core.text(names.IN_REPLY_TO):
            return self._event_named(index, core.recipient, meant)
        if core.performative != OK:
            return None
        term = f"{registers.SENT_IN} {self.who} {core.recipient} {core.text(names.THREAD) or ''}"
        return _newest(index, term)

    def _opened_by(self, index: Index, settled: Discharged) -> str | None:
        """The event of the message that waits for the settled answer. A later message can have the same name."""
        state = index.state(conversation_state.NAME, f"{registers.OBLIGED} {self.who} {settled.from_} {settled.id}")
        return conversation_state.opener(state) if state else None

    def _asked_by(self, index: Index, settled: Discharged) -> list[str]:
        """The events of all messages that wait for the settled answer. Asking the same again opens nothing new."""
        rows = index.entries_by_term(
            conversation_state.NAME, f"{registers.NAMED} {self.who} {settled.from_} {settled.id}"
        )
        opened = self._opened_by(index, settled)
        return [*(key.rpartition(" ")[2] for key, _ in rows), *([opened] if opened else [])]

    def _event_named(self, index: Index, sender: str, name: str) -> str | None:
        """The event of the message with this name among those that this agent received from SENDER."""
        event = name.removesuffix(f"_{self.who}")  # mail to several recipients has an id for each copy
        state = index.state(conversation_state.NAME, f"{registers.MESSAGE} {self.who} {event}")
        if state and conversation_state.sender_of(state) == sender:
            return event
        return _newest(index, f"{registers.NAMED} {self.who} {sender} {name}")

    def _accepted(self, index: Index, message: Message, answered: str) -> list[Any]:
        """The facts for the agent's copy of a message that it answers."""
        core = core_of(message)
        is_answer = not isinstance(core, Simple) or core.performative in cbcl_letters.ANSWERS
        return self._closed(index, answered) if is_answer else []

    def _closed(self, index: Index, event: str) -> list[Any]:
        """Acknowledge the agent's copy of a message if that is required, else mark it as read."""
        copy = index.state(mailbox.NAME, mailbox.copy(event, self.who))
        if copy and "sent" in copy and copy["sent"][3][2] and "acked" not in copy:
            return [Acked(self.who, event)]
        return self._seen(index, event)

    def _let_go(self, event: str, by: str) -> Moved:
        """The fact that no agent waits for an answer to EVENT any more."""
        return Moved(self.who, event, self.who, transitions.SETTLED, {"by": by})

    def _seen(self, index: Index, event: str) -> list[Any]:
        copy = index.state(mailbox.NAME, mailbox.copy(event, self.who))
        return [Read(self.who, event)] if copy and mailbox.state_of(copy) == mailbox.UNREAD else []

    # -- hearing

    def hear_all(self, limit: int | None) -> Iterator[dict[str, Any]]:
        """Hear the new messages, oldest first. Yield the result of each."""
        waiting = self.desk.store.caught_up().entries_by_term(
            conversation_state.NAME, f"{registers.UNHEARD} {self.who}"
        )[:limit]
        for place, (key, _) in enumerate(waiting, 1):
            if result := self._hear(key):
                yield result
            if self.desk.progress:
                self.desk.progress(place, len(waiting), "messages")

    def _hear(self, key: str) -> dict[str, Any] | None:
        """Hear one message; None if another process has already heard it."""
        event = key.rpartition(" ")[2]
        summaries: list[dict[str, Any]] = []

        def decide(index: Index, _: Any) -> list[Any]:
            state, letter = index.state(conversation_state.NAME, key), index.state(messages.NAME, event)
            if not state or "heard" in state or letter is None:
                return []
            sent = messages.sent(letter)
            rules = self._rules.replace(trust=self._keyring.trust_ignoring_own_key_errors(sent.sender))
            outcome = processing.receive(
                ledger.conversation_state_of(index, self.who, sent.sender),
                self._dialects(index),
                sent.body.encode("utf-8", "surrogatepass"),
                sent.sender,
                rules,
                proofs.claimed_ledger(sent),
            )
            passed_on = [
                (to, text) for to, text in outcome.passed_on if to not in sent.to
            ]  # not to recipients that have it already
            answers = [(to, self._answer(index, to, text, event)) for to, text in [*outcome.answers, *passed_on]]
            unsent = [to for to, letter in answers if letter is None]
            summaries[:] = [
                views.heard(event, sent, outcome, unsent, outcome.proof.as_json_for(sent.sender, rules.trust))
            ]
            return self._taken(index, event, sent, outcome, [letter for _, letter in answers if letter])

        signs_of_life.act(self.desk, self.who, decide, allow_secret=REPEATED)
        return summaries[0] if summaries else None

    def _taken(self, index: Index, event: str, sent: Sent, found: Outcome, answers: Sequence[Sent]) -> list[Any]:
        """The facts of a heard message: its result, its effects, the dialects it brings, and the answers."""
        about = {
            "id": found.id,
            **({"code": found.code, "why": found.why} if found.code else {}),
            "verified": found.proof.as_json(),
            "effects": effects.to_line(found.effects, _own_texts(sent.body)),
        }
        cancelled = [effect for effect in found.effects if isinstance(effect, Discharged)]
        closed = sorted({event for effect in cancelled for event in self._asked_by(index, effect)})
        return [
            *(effect for effect in found.effects if isinstance(effect, Installed)),
            Heard(self.who, event, found.status, about),
            *answers,
            *self._seen(index, event),
            *(
                fact
                for closed_event in closed
                for fact in [self._let_go(closed_event, event), *self._closed(index, closed_event)]
            ),
        ]

    def _answer(self, index: Index, to: str, text: str, event: str) -> Sent | None:
        """An answer as mail; None if the recipient is not in service, or the answer is too long for mail."""
        if not self._is_here(index, to):
            return None
        message = grammar.message(self.signed(text.encode()), MAXIMUM_BOUNDS)
        entered = speaking.entered(self.who, core_of(message), names.id_of(message))
        try:
            return self._letter(index, message, [to], entered, event)
        except ResourceLimit:
            return None


def _newest(index: Index, term: str) -> str | None:
    """The event of the newest message that matches TERM."""
    return next((key.rpartition(" ")[2] for _, key, _ in index.newest_first(conversation_state.NAME, term)), None)


def _own_texts(body: str) -> frozenset[str]:
    try:
        return cbcl_letters.own_texts(grammar.message(body.encode("utf-8", "surrogatepass"), MAXIMUM_BOUNDS))
    except BbError:
        return frozenset()
