"""Processing of a received message (draft, Section 4): parse, verify, interpret, update, respond. All or nothing.

    tell    recorded as the sender's statement
    ask     an answer is owed                        reply   an expected answer has arrived
    hello   answered once                            bye     expected answers are dropped
    ok      nothing to do                            error   an expected answer has failed; never answered by an error
    cancel  an answer is no longer owed              query   answered yes or no
    define, teach   the dialect is installed, if its checks pass
    lang    the messages of the expansion are processed as if they had been received

The draft describes sender and receiver together; `speaking` has the sender's part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bb.cbcl.judge import authorship
from bb.cbcl.judge.authorship import Proof
from bb.cbcl.judge.expansion import Limits, expand, limited_by_hints
from bb.cbcl.judge.installation import Rules, install
from bb.cbcl.read import canonical, grammar, names
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.fuel import Fuel, ResourceLimit, for_text, steps_of
from bb.cbcl.read.message import (
    Call,
    Envelope,
    Lang,
    Limited,
    Message,
    Meta,
    Query,
    Signed,
    Simple,
    Teach,
    core_of,
    every_layer,
    layers,
)
from bb.cbcl.read.reader import DEPTH, LIMIT, MAXIMUM_BOUNDS, Bounds, Malformed, first_head
from bb.cbcl.read.tree import list_of, symbol, text_of
from bb.cbcl.read.words import CORE, ERROR
from bb.cbcl.speak.effects import (
    CANCELLED,
    DROPPED,
    FAILED,
    REPLIED,
    Believed,
    Discharged,
    Effect,
    Entered,
    Greeted,
    Met,
    Obliged,
    Parted,
    Settled,
    Verified,
)
from bb.cbcl.speak.state import MAX_OPEN_ANSWERS, AgentState
from bb.kernel.errors import BbError, Refused
from bb.kernel.record import Record

Open = TypeVar("Open")

TAKEN, REFUSED, REPEATED = "ok", "error", "duplicate"

SenderMismatch = Refused.declare(
    "SENDER_MISMATCH",
    "The envelope names another agent as its sender",
    hint="leave out :from, or write the name of the sending agent there",
)

NotRecipient = Refused.declare(
    "NOT_RECIPIENT",
    "The message is for another agent",
    hint="send it to the recipient that it names; with `bb cbcl policy --relay on`, an agent forwards such messages",
)


class Outcome(Record):
    """The result of a received message: effects on the agent, answers and forwarded messages."""

    status: str
    id: str = ""
    thread: str | None = None
    effects: tuple[Effect, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()  # recipient and text
    comes_to: tuple[str, ...] = ()  # the messages of its expansion for this agent
    passed_on: tuple[tuple[str, str], ...] = ()
    kept_back: tuple[tuple[str, str], ...] = ()  # messages of its expansion for other agents, not forwarded
    code: str = ""
    why: str = ""
    proof: Proof = authorship.NONE  # that the sender is its author


def receive(
    standing: AgentState,
    dialects: Mapping[str, Definition],
    octets: bytes,
    sender: str,
    rules: Rules,
    said_in: str = "",
) -> Outcome:
    """The outcome of OCTETS received from SENDER. SAID_IN is the ledger that the message's line names."""
    policy = rules.trust.policy
    fuel = for_text(policy.max_size)
    try:
        message = grammar.message(octets, Bounds(policy.max_depth, policy.max_size), fuel)
    except Malformed.error as error:
        return _unreadable(octets, error, sender)
    untouched = Outcome(TAKEN, names.id_of(message), names.thread_of(message))
    taking = _Taking(standing, dialects, sender, untouched.id, rules, fuel, said_in)
    try:
        is_new = taking.take(message, Limits(policy.max_depth, policy.max_expansion_size))
    except BbError as refusal:
        return _refused(untouched.replace(proof=taking.proof), refusal, sender, message)
    if not is_new:
        return untouched.replace(status=REPEATED, proof=taking.proof)
    return untouched.replace(**taking.result())


def _unreadable(octets: bytes, error: BbError, sender: str) -> Outcome:
    is_beyond = error.details["reason"] in (DEPTH, LIMIT)
    code = ResourceLimit.code if is_beyond else error.code
    why = f"{error.details['reason']} at octet {error.details['offset']}: {error.message}"
    refused = Outcome(REFUSED, code=code, why=why)
    if first_head(octets) == ERROR or (is_beyond and _is_error(octets)):
        return refused
    return refused.replace(answers=((sender, names.error_text(sender, code, why, in_reply_to=None, thread=None)),))


def _is_error(octets: bytes) -> bool:
    """Whether OCTETS are an error message that only exceeds our limits. Between two agents with very low limits, an
    error could exceed both limits, and they would answer each other's errors forever."""
    try:
        return _says_error(grammar.message(octets, MAXIMUM_BOUNDS))
    except Malformed.error:
        return False


def _says_error(message: Message) -> bool:
    core = innermost(message)
    return isinstance(core, Simple) and core.performative == ERROR


def innermost(message: Message) -> Message | Call:
    """The message or call inside all wrappers and every `lang`."""
    *_, core = every_layer(message)
    return core.inner if isinstance(core, Lang) else core


def _refused(untouched: Outcome, refusal: BbError, sender: str, message: Message) -> Outcome:
    """The outcome of a refused message. An error is never answered with an error."""
    refused = untouched.replace(status=REFUSED, code=refusal.code, why=refusal.message)
    if _says_error(message):
        return refused
    text = names.error_text(
        sender,
        refusal.code,
        refusal.message,
        in_reply_to=untouched.id,
        thread=untouched.thread,
        rules=refusal.details.get("rules", ()),
    )
    return refused.replace(answers=((sender, text),))


def require_sender(sender: str, layer: Message) -> None:
    """Refuse an envelope that names another agent than SENDER."""
    if isinstance(layer, Envelope) and layer.sender not in (None, sender):
        raise SenderMismatch(
            f"the envelope names @{names.shortened(layer.sender or '')} as sender, but the message is from @{sender}"
        )


def cancelled_answer(
    open_to: Callable[[str, str | None, str | None], Open | None], to: str, cancel: Simple
) -> Open | None:
    """The open answer that CANCEL names, looked up with OPEN_TO: by the id in `:in-reply-to` or `:id`, or else by the
    thread; in that case `:id` is the id of the cancel message itself. Without any of these, nothing is cancelled."""
    in_reply_to, own_id, thread = cancel.text(names.IN_REPLY_TO), cancel.text(names.ID), cancel.text(names.THREAD)
    if in_reply_to is None and own_id and (answer := open_to(to, own_id, None)):
        return answer
    return None if in_reply_to is None and thread is None else open_to(to, in_reply_to, thread)


class _Taking:
    """The processing of one message by an agent."""

    def __init__(
        self,
        standing: AgentState,
        dialects: Mapping[str, Definition],
        sender: str,
        known: str,
        rules: Rules,
        fuel: Fuel,
        said_in: str,
    ) -> None:
        self._standing = standing
        self._taken_before = standing.taken
        self._dialects = dialects
        self._sender = sender
        self._id = known
        self._within = names.ExpansionIds(known)
        self._rules = rules
        self._fuel, self._said_in = fuel, said_in
        self.proof = authorship.NONE  # the weakest proof among the parts of the message
        self._is_judged = False
        self._effects: list[Effect] = []
        self._comes_to: list[str] = []
        self._answers: list[tuple[str, str]] = []
        self._passed_on: list[tuple[str, str]] = []
        self._kept_back: list[tuple[str, str]] = []

    def result(self) -> dict[str, Any]:
        return {
            "effects": tuple(self._effects),
            "comes_to": tuple(self._comes_to),
            "answers": tuple(self._answers),
            "passed_on": tuple(self._passed_on),
            "kept_back": tuple(self._kept_back),
            "proof": self.proof,
        }

    # -- verify

    def _proved(self, message: Message, around: Proof) -> Proof:
        """The proof that MESSAGE is from its sender: the proof of the message AROUND it, or else its own signature."""
        for layer in layers(message):
            require_sender(self._sender, layer)
            if isinstance(layer, Limited) and layer.timeout is not None:
                steps = steps_of(layer.timeout)
                self._fuel.limit_to(steps, f"{steps:,} steps, the equivalent of its :timeout of {layer.timeout} ms")
        if around.is_good:
            return around
        rules = self._rules
        proof = authorship.prove(message, self._sender, rules.trust, rules.ledger, self._said_in, self._fuel)
        return around if proof is authorship.NONE else proof

    def _must_be_believed(self, core: Simple | Meta | Lang, proof: Proof) -> None:
        """Refuse a message with insufficient proof. A `teach` with a signed definition needs none from its sender: only
        the definition counts, and its signature is checked during the installation."""
        if not self._is_judged or (self.proof.is_good and not proof.is_good):
            self.proof, self._is_judged = proof, True
        if not (isinstance(core, Teach) and core.signature is not None and proof.state != authorship.FORGED):
            authorship.require_proof(proof, self._sender, self._rules.trust)

    def _is_new(self, message: Message, proof: Proof) -> bool:
        """False if a signed message was accepted before. Unsigned messages always count as new."""
        is_new = True
        for layer in layers(message) if proof.is_good else ():
            if isinstance(layer, Signed):
                verified = Verified(self._sender, canonical.digest(layer.inner.node, self._fuel))
                self._happens(verified)
                is_new = (verified.who, verified.hash) not in self._taken_before and is_new
        return is_new

    # -- interpret and update

    def take(self, message: Message, room: Limits) -> bool:
        """Process MESSAGE; False if it is a duplicate. The messages of an expansion are verified and processed in the
        same way, in order."""
        left = [(message, room, False, authorship.NONE)]
        while left:
            current, room, is_made, around = left.pop()
            proof = self._proved(current, around)
            core = core_of(current)
            if not isinstance(core, Lang) or isinstance(core.inner, Call) or proof.state == authorship.FORGED:
                self._must_be_believed(
                    core, proof
                )  # otherwise the message inside the `lang` may have its own signature
            if not self._is_new(current, proof):
                return False
            room = limited_by_hints(current, room)
            if isinstance(core, Lang):
                left += [(inner, room, True, proof) for inner in reversed(self._comes_of(core, room))]
            elif isinstance(core, Simple) and core.recipient != self._standing.id:
                self._pass_on(core.recipient, current, is_made=is_made)
            elif isinstance(core, Simple):
                self._comes_to += [text_of(current.node)] if is_made else []
                self._simple(core, self._within.known(core))
            else:
                self._meta(core, current, is_made=is_made)
        return True

    def _comes_of(self, lang: Lang, room: Limits) -> list[Message]:
        """The messages of a `lang`: the expansion of its call, or the message inside it."""
        expansion = expand(lang, self._dialects, room, self._fuel)
        if expansion is not None:
            return list(expansion.messages)
        return [] if isinstance(lang.inner, Call) else [lang.inner]

    def _happens(self, *effects: Effect) -> None:
        self._effects += effects
        self._standing = self._standing.after(effects)

    def _answer(self, text: str) -> None:
        self._answers.append((self._sender, text))

    def _pass_on(self, to: str, said: Message, *, is_made: bool) -> None:
        """Forward a message for another agent, in this agent's name, if the policy allows relaying. Otherwise a message
        from an expansion is kept back, so that a sender cannot make this agent send messages, and any other message
        is refused."""
        if not (is_made or self._rules.trust.policy.relay):
            raise NotRecipient(f"the message is for @{names.shortened(to)}, not for @{self._standing.id}")
        waiting = self._passed_on if self._rules.trust.policy.relay else self._kept_back
        waiting.append((to, text_of(said.node)))

    def _simple(self, said: Simple, known: str) -> None:
        sender, thread = self._sender, said.text(names.THREAD)
        if thread is not None:
            self._happens(Entered(thread, sender, said.performative, known, text_of(said.node)))
        match said.performative:
            case "tell" if said.content is not None:
                self._happens(Believed(sender, text_of(said.content)))
            case "ask":
                if len(self._standing.obliged.of(sender)) >= MAX_OPEN_ANSWERS:
                    raise ResourceLimit(
                        f"@{sender} already waits for {MAX_OPEN_ANSWERS} answers from this agent", limit="asks"
                    )
                self._happens(Obliged(sender, known, thread, names.timeout_of(said)))
            case "reply":
                self._settle(said, REPLIED)
            case "error":
                self._settle(said, FAILED)
            case "cancel":
                self._cancel(said, known)
            case "hello":
                self._hello()
            case "bye":
                dropped = [
                    Settled(sender, expectation.id, DROPPED) for expectation in self._standing.expected.of(sender)
                ]
                self._happens(Parted(sender), *dropped)

    def _settle(self, said: Simple, how: str) -> None:
        """Settle an expected answer. An unexpected answer is accepted too."""
        expected = self._standing.awaited(self._sender, said.text(names.IN_REPLY_TO), said.text(names.THREAD))
        if expected:
            self._happens(Settled(self._sender, expected.id, how))

    def _cancel(self, said: Simple, known: str) -> None:
        if owed := cancelled_answer(self._standing.owed, self._sender, said):
            self._happens(Discharged(self._sender, owed.id, CANCELLED))
            self._answer(names.answer_text("ok", self._sender, in_reply_to=known, thread=said.text(names.THREAD)))

    def _hello(self) -> None:
        """Answer a hello once."""
        is_greeted = self._sender in self._standing.greeted
        self._happens(Met(self._sender))
        if not is_greeted:
            self._happens(Greeted(self._sender))
            self._answer(names.answer_text("hello", self._sender))

    # -- dialects

    def _meta(self, core: Meta, said: Message, *, is_made: bool) -> None:
        if isinstance(core, Query):
            self._query(core)
        elif isinstance(core, Teach) and core.recipient != self._standing.id:
            self._pass_on(core.recipient, said, is_made=is_made)
        else:
            signature = core.signature if isinstance(core, Teach) else None
            self._install(core.definition, signature)

    def _query(self, core: Query) -> None:
        spoken = sorted(self._dialects)
        is_spoken = core.dialect == CORE or core.dialect in self._dialects
        parameter = (names.DIALECTS, list_of(*map(symbol, spoken)))
        says = "yes" if is_spoken else "no"
        self._answer(names.answer_text("reply", self._sender, says, in_reply_to=self._id, more=[parameter]))

    def _install(self, definition: Definition, signature: str | None) -> None:
        facts = install(
            definition,
            signature,
            self._dialects,
            self._rules,
            by=self._standing.id,
            source=f"@{self._sender}",
            fuel=self._fuel,
        )
        self._effects += facts
        self._answer(names.answer_text("ok", self._sender, in_reply_to=self._id))
