"""How an agent takes a message (draft, Section 4): parse, verify, interpret, update, respond. All of it, or nothing.

    tell    what it says is believed to be its sender's word, and no more
    ask     an answer is owed                        reply   what was waited for has come
    hello   answered once                            bye     what was waited for is dropped
    ok      nothing is to do                         error   what was waited for has failed; never answered by an error
    cancel  an answer is owed no more                query   answered yes or no
    define, teach   the dialect is installed, if it may be
    lang    what it comes to is taken as if it had been received

The draft describes sender and receiver in one breath; `speaking` has the sender's half.
"""

from __future__ import annotations

from bb.cbcl.judge import authorship
from bb.cbcl.judge.authorship import Proof
from bb.cbcl.judge.expansion import Room, expand, hinted
from bb.cbcl.judge.installation import install
from bb.cbcl.read import canonical, grammar, names
from bb.cbcl.read.fuel import ResourceLimit, for_text, steps_of
from bb.cbcl.read.message import (
    CORE,
    ERROR,
    Call,
    Envelope,
    Lang,
    Limited,
    Query,
    Signed,
    Simple,
    Teach,
    core_of,
    layers,
)
from bb.cbcl.read.reader import DEPTH, LIMIT, UTMOST, Bounds, Malformed, first_head
from bb.cbcl.read.tree import listed, symbol, text_of
from bb.cbcl.speak.effects import (
    CANCELLED,
    DROPPED,
    FAILED,
    REPLIED,
    Believed,
    Discharged,
    Entered,
    Greeted,
    Met,
    Obliged,
    Parted,
    Settled,
    Verified,
)
from bb.cbcl.speak.state import MOST_OPEN
from bb.kernel.errors import BbError, Refused
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from bb.cbcl.judge.installation import Rules
    from bb.cbcl.read.definition import Definition
    from bb.cbcl.read.fuel import Fuel
    from bb.cbcl.read.message import Message, Meta
    from bb.cbcl.speak.effects import Effect
    from bb.cbcl.speak.state import Standing

    Open = TypeVar("Open")

TAKEN, REFUSED, REPEATED = "ok", "error", "duplicate"


class SenderMismatch(Refused):
    """The envelope names another sender than the one it came from."""

    code = "SENDER_MISMATCH"
    hint = "leave :from out, or name yourself in it"


class NotRecipient(Refused):
    """The message is for somebody else."""

    code = "NOT_RECIPIENT"
    hint = "send it to whom it names; `bb cbcl policy --relay on` lets an agent pass messages on"


class Outcome(Record):
    """What came of a message: what happened to the agent, what it answers, what it passes on to whom."""

    status: str
    id: str = ""
    thread: str | None = None
    effects: tuple[Effect, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()  # to whom, and the text
    comes_to: tuple[str, ...] = ()  # what a dialect made of it for this agent
    passed_on: tuple[tuple[str, str], ...] = ()
    kept_back: tuple[tuple[str, str], ...] = ()  # what a dialect made for others, who get it from its sender
    code: str = ""
    why: str = ""
    proof: Proof = authorship.NONE  # of its having been said by its sender


def receive(
    standing: Standing,
    dialects: Mapping[str, Definition],
    octets: bytes,
    sender: str,
    rules: Rules,
    said_in: str = "",
) -> Outcome:
    """What becomes of OCTETS that have come from SENDER, on a line that names the ledger it was SAID_IN."""
    policy = rules.trust.policy
    fuel = for_text(policy.max_size)
    try:
        message = grammar.message(octets, Bounds(policy.max_depth, policy.max_size), fuel)
    except Malformed as error:
        return _unreadable(octets, error, sender)
    untouched = Outcome(TAKEN, names.id_of(message), names.thread_of(message))
    taking = _Taking(standing, dialects, sender, untouched.id, rules, fuel, said_in)
    try:
        is_new = taking.take(message, Room(policy.max_depth, policy.max_expansion_size))
    except BbError as refusal:
        return _refused(untouched.but(proof=taking.proof), refusal, sender, message)
    if not is_new:
        return untouched.but(status=REPEATED, proof=taking.proof)
    return untouched.but(**taking.result())


def _unreadable(octets: bytes, error: Malformed, sender: str) -> Outcome:
    is_beyond = error.details["reason"] in (DEPTH, LIMIT)
    code = ResourceLimit.code if is_beyond else error.code
    why = f"{error.details['reason']} at octet {error.details['offset']}: {error.message}"
    refused = Outcome(REFUSED, code=code, why=why)
    if first_head(octets) == ERROR or (is_beyond and _is_error(octets)):
        return refused
    return refused.but(answers=((sender, names.error(sender, code, why, in_reply_to=None, thread=None)),))


def _is_error(octets: bytes) -> bool:
    """Whether OCTETS are an error that is only too much for us. Where two agents let each other say very little, an
    error could be too much for both, and each would answer the other's for ever."""
    try:
        return _says_error(grammar.message(octets, UTMOST))
    except Malformed:
        return False


def _says_error(message: Message) -> bool:
    core = innermost(message)
    return isinstance(core, Simple) and core.performative == ERROR


def innermost(message: Message) -> Message | Call:
    """What a message is within every wrapper, and every dialect that it is said in."""
    core: Message | Call = core_of(message)
    while isinstance(core, Lang):
        core = core.inner if isinstance(core.inner, Call) else core_of(core.inner)
    return core


def _refused(untouched: Outcome, refusal: BbError, sender: str, message: Message) -> Outcome:
    """The outcome of a message that a rule refuses. An error is never answered with an error."""
    refused = untouched.but(status=REFUSED, code=refusal.code, why=refusal.message)
    if _says_error(message):
        return refused
    text = names.error(
        sender,
        refusal.code,
        refusal.message,
        in_reply_to=untouched.id,
        thread=untouched.thread,
        rules=refusal.details.get("rules", ()),
    )
    return refused.but(answers=((sender, text),))


def must_be_from(sender: str, layer: Message) -> None:
    """Refuse an envelope that names another than its SENDER."""
    if isinstance(layer, Envelope) and layer.sender not in (None, sender):
        raise SenderMismatch(f"the envelope says @{names.brief(layer.sender or '')}, and it is from @{sender}")


def named(open_to: Callable[[str, str | None, str | None], Open | None], to: str, cancel: Simple) -> Open | None:
    """What is cancelled, of what is OPEN_TO somebody: by its id, which `:in-reply-to` names, or `:id`; else by its
    thread, for then `:id` is what the cancelling itself is called. What names nothing cancels nothing."""
    meant, known, thread = cancel.text(names.IN_REPLY_TO), cancel.text(names.ID), cancel.text(names.THREAD)
    if meant is None and known and (found := open_to(to, known, None)):
        return found
    return None if meant is None and thread is None else open_to(to, meant, thread)


class _Taking:
    """One message on its way through an agent."""

    def __init__(
        self,
        standing: Standing,
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
        self._within = names.Within(known)
        self._rules = rules
        self._fuel, self._said_in = fuel, said_in
        self.proof = authorship.NONE  # the least that is proved of anything that it says
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
        """What is proved of MESSAGE's being from its sender: what is AROUND it proves that, or else its own
        signature."""
        for layer in layers(message):
            must_be_from(self._sender, layer)
            if isinstance(layer, Limited) and layer.timeout is not None:
                steps = steps_of(layer.timeout)
                self._fuel.less(steps, f"the {steps:,} steps that its :timeout of {layer.timeout} ms stands for")
        if around.is_good:
            return around
        rules = self._rules
        found = authorship.prove(message, self._sender, rules.trust, rules.ledger, self._said_in, self._fuel)
        return around if found is authorship.NONE else found

    def _must_be_believed(self, core: Simple | Meta | Lang, proof: Proof) -> None:
        """Refuse what is not proved enough. Of a lesson with its author's signature nothing else is believed, and that
        signature is looked at when it is installed."""
        if not self._is_judged or (self.proof.is_good and not proof.is_good):
            self.proof, self._is_judged = proof, True
        if not (isinstance(core, Teach) and core.signature is not None and proof.state != authorship.FORGED):
            authorship.must_be_believed(proof, self._sender, self._rules.trust)

    def _is_new(self, message: Message, proof: Proof) -> bool:
        """Whether a signed message comes for the first time. Only of a signed one can that be told."""
        is_new = True
        for layer in layers(message) if proof.is_good else ():
            if isinstance(layer, Signed):
                known = Verified(self._sender, canonical.digest(layer.inner.node, self._fuel))
                self._happens(known)
                is_new = (known.who, known.hash) not in self._taken_before and is_new
        return is_new

    # -- interpret and update

    def take(self, message: Message, room: Room) -> bool:
        """Take what MESSAGE says, unless it came before. What a dialect makes of it is verified and taken like it, in
        order."""
        left = [(message, room, False, authorship.NONE)]
        while left:
            said, room, is_made, around = left.pop()
            proof = self._proved(said, around)
            core = core_of(said)
            if not isinstance(core, Lang) or isinstance(core.inner, Call) or proof.state == authorship.FORGED:
                self._must_be_believed(core, proof)  # else what is said in the dialect may be signed itself
            if not self._is_new(said, proof):
                return False
            room = hinted(said, room)
            if isinstance(core, Lang):
                left += [(each, room, True, proof) for each in reversed(self._comes_of(core, room))]
            elif isinstance(core, Simple) and core.recipient != self._standing.id:
                self._pass_on(core.recipient, said, is_made=is_made)
            elif isinstance(core, Simple):
                self._comes_to += [text_of(said.node)] if is_made else []
                self._simple(core, self._within.known(core))
            else:
                self._meta(core, said, is_made=is_made)
        return True

    def _comes_of(self, lang: Lang, room: Room) -> list[Message]:
        """What is said in a dialect: what a call comes to, or the message itself."""
        found = expand(lang, self._dialects, room, self._fuel)
        if found is not None:
            return list(found.messages)
        return [] if isinstance(lang.inner, Call) else [lang.inner]

    def _happens(self, *effects: Effect) -> None:
        self._effects += effects
        self._standing = self._standing.after(effects)

    def _answer(self, text: str) -> None:
        self._answers.append((self._sender, text))

    def _pass_on(self, to: str, said: Message, *, is_made: bool) -> None:
        """What is for others is passed on where the policy says so, in this agent's name. Else what a dialect makes for
        them stays here, or anybody could let anybody say anything; and all else came to the wrong place."""
        if not (is_made or self._rules.trust.policy.relay):
            raise NotRecipient(f"it is for @{names.brief(to)}, and this is @{self._standing.id}")
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
                if len(self._standing.obliged.of(sender)) >= MOST_OPEN:
                    raise ResourceLimit(f"@{sender} waits for {MOST_OPEN} answers already", limit="asks")
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
                dropped = [Settled(sender, each.id, DROPPED) for each in self._standing.expected.of(sender)]
                self._happens(Parted(sender), *dropped)

    def _settle(self, said: Simple, how: str) -> None:
        """Let what was waited for have come. What nobody has waited for is heard all the same."""
        found = self._standing.awaited(self._sender, said.text(names.IN_REPLY_TO), said.text(names.THREAD))
        if found:
            self._happens(Settled(self._sender, found.id, how))

    def _cancel(self, said: Simple, known: str) -> None:
        if found := named(self._standing.owed, self._sender, said):
            self._happens(Discharged(self._sender, found.id, CANCELLED))
            self._answer(names.answer("ok", self._sender, in_reply_to=known, thread=said.text(names.THREAD)))

    def _hello(self) -> None:
        """Greet back, once."""
        is_greeted = self._sender in self._standing.greeted
        self._happens(Met(self._sender))
        if not is_greeted:
            self._happens(Greeted(self._sender))
            self._answer(names.answer("hello", self._sender))

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
        known = (names.DIALECTS, listed(*map(symbol, spoken)))
        says = "yes" if is_spoken else "no"
        self._answer(names.answer("reply", self._sender, says, in_reply_to=self._id, more=[known]))

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
        self._answer(names.answer("ok", self._sender, in_reply_to=self._id))
