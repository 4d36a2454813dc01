"""The CBCL state of a ledger: the installed dialects, and the open conversations of an agent.

Anyone who can write to the repository can write a line. So a dialect counts as installed only if the CBCL reader can
parse its text, the text has the hash on its line, and the definition is sound.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from bb.cbcl import dialects
from bb.cbcl.dialects import InstalledDialect
from bb.cbcl.judge import signatures, trust, verification
from bb.cbcl.judge.expansion import UnknownDialect
from bb.cbcl.judge.installation import DialectConflict
from bb.cbcl.judge.library import Library
from bb.cbcl.judge.trust import UNSIGNED, VALID
from bb.cbcl.read import canonical, grammar, names
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.reader import MAXIMUM_BOUNDS
from bb.cbcl.speak import effects
from bb.cbcl.speak.effects import Expected, Obliged
from bb.cbcl.speak.state import AgentState, Answers
from bb.kernel.errors import BbError
from bb.kernel.escaping import harmless
from bb.ledger.index.index import Index
from bb.ledger.records.store import Store
from bb.ledger.signing.keyring import Keyring
from bb.ledger.views import verified_dialects
from bb.ledger.views.attention import event_data
from bb.ledger.views.verified_dialects import Verdict, VerdictCache
from bb.messaging.cbcl import conversation_state, registers

UNCHECKED, INVALID = "unchecked", "invalid"  # further states of a signature, besides UNSIGNED and VALID


class InstalledDialects(Library):
    """The dialects of a repository by name, for the owner of KEYRING. A definition is judged on first use, and the
    verdict on its text is cached (`verified_dialects`). It is parsed when a message uses it."""

    def __init__(self, store: Store, index: Index, keyring: Keyring, read: dict[str, Definition] | None = None) -> None:
        self._store, self._index, self._keyring = store, index, keyring
        self._policy = keyring.trust().policy
        self._judgements = VerdictCache(store.path)
        self._judged: dict[str, dict[str, Verdict]] = {}  # by name, then by hash
        self._read = {} if read is None else read  # by hash; a caller may reuse it while the ledger grows
        self._lines: dict[str, dict[str, Any]] = {}  # by event
        self._trust: dict[str, tuple[bytes, ...]] = {}

    def live(self, name: str) -> list[InstalledDialect]:
        """The dialects installed under NAME, oldest first. NAME can be used if exactly one of them is sound."""
        return dialects.live(name, self._index.state(dialects.NAME, name))

    def hashes(self, name: str) -> tuple[str, ...]:
        return tuple(kept.hash for kept in self.live(name))

    def unusable_reason(self, name: str) -> BbError | None:
        if not (live := self.live(name)) or name in self:
            return None
        sound = [kept for kept in live if kept.hash in self.sound(name)]
        label = harmless(names.shortened(name))
        if len(sound) > 1:
            why = f"{len(sound)} dialects named {label} are installed, so the name is ambiguous"
            hint = "`bb cbcl dialect list` shows them; `bb cbcl dialect install FILE --replace` keeps one"
            return DialectConflict(why, hint=hint, dialect=label)
        if not sound:
            why = f"the definition installed as {label} is not sound"
            return UnknownDialect(why, hint=f"`bb cbcl dialect remove {label}` removes it", dialect=label)
        if self.signature(sound[0]) == INVALID:
            return signatures.InvalidSignature(f"the signature of {label} is not its author's", dialect=label)
        why = f"{label} is installed, but your policy requires the signature of an author whom you trust"
        hint = "`bb cbcl trust add AUTHOR KEY`; or `bb cbcl policy --unsigned local`"
        return trust.UnsignedDialect(why, hint=hint, dialect=label)

    def names(self) -> list[str]:
        """The names under which dialects are installed."""
        return [name for name, state in self._index.states(dialects.NAME) if dialects.live(name, state)]

    def line_of(self, kept: InstalledDialect) -> dict[str, Any]:
        """The data of the line that installed a dialect."""
        if kept.event not in self._lines:
            self._lines[kept.event] = event_data(self._store, kept.event) or {}
        return self._lines[kept.event]

    def sound(self, name: str) -> dict[str, Verdict]:
        """The sound dialects installed under NAME, by hash. A sound one matches its line and breaks no rule."""
        if name not in self._judged:
            verdicts = {kept.hash: self._judge(kept) for kept in self.live(name)}
            self._judged[name] = {hashed: verdict for hashed, verdict in verdicts.items() if verdict}
        return self._judged[name]

    def definition(self, kept: InstalledDialect) -> Definition | None:
        """The parsed definition of an installed dialect; None if it is not sound."""
        if kept.hash not in self.sound(kept.name):
            return None
        if kept.hash not in self._read:
            self._read[kept.hash] = grammar.definition_in(self._text(kept) or b"", MAXIMUM_BOUNDS)[1]
        return self._read[kept.hash]

    def _text(self, kept: InstalledDialect) -> bytes | None:
        try:
            return str(self.line_of(kept).get("text")).encode()
        except UnicodeEncodeError:
            return None

    def _judge(self, kept: InstalledDialect) -> Verdict | None:
        text = self._text(kept)
        if text is None:
            return None
        judged = self._judgements.get(text)
        if judged is None:
            judged = self._read_and_judged(text)
            self._judgements.put(text, judged)
        is_right = judged.name == kept.name and judged.hash == kept.hash
        return judged if is_right and judged.is_sound else None

    def _read_and_judged(self, text: bytes) -> Verdict:
        """The verdict on a definition. It is the same in every clone, because it does not depend on a user's policy."""
        try:
            _, definition = grammar.definition_in(text, MAXIMUM_BOUNDS)
            is_sound = verification.verify(definition).is_sound_but_for_its_parent
        except BbError:
            return Verdict(is_sound=False)
        hashed = canonical.digest(definition.node)
        if is_sound:
            self._read[hashed] = definition
        adds = tuple(performative.name for performative in definition.performatives)
        return Verdict(is_sound, hashed, definition.name, definition.extends or "", definition.author or "", adds)

    def signature(self, kept: InstalledDialect) -> str:
        """The state of a dialect's signature, by this user's keys, whatever its line claims."""
        signature, judged = self.line_of(kept).get("signed"), self.sound(kept.name).get(kept.hash)
        if not isinstance(signature, str) or not signature or judged is None:
            return UNSIGNED
        keys = self._keys_of(judged.author)
        if not keys:
            return UNCHECKED
        return VALID if any(self._fits(kept, signature, key) for key in keys) else INVALID

    def _keys_of(self, author: str) -> tuple[bytes, ...]:
        if author not in self._trust:
            # An unreadable key of this user is reported where it is used.
            self._trust[author] = self._keyring.trust_ignoring_own_key_errors(author).keys_of(author)
        return self._trust[author]

    def _fits(self, kept: InstalledDialect, signature: str, key: bytes) -> bool:
        """Whether KEY made a dialect's signature. The result is cached."""
        judged, cache_key = self.sound(kept.name)[kept.hash], verified_dialects.signature_key(kept.hash, signature, key)
        if cache_key in judged.signatures:
            return judged.signatures[cache_key]
        definition, text = self.definition(kept), self._text(kept)
        if definition is None or text is None:
            return False
        try:
            signatures.check(signature, canonical.octets(definition.node), key)
            is_good = True
        except BbError:
            is_good = False
        others = dict(list(judged.signatures.items())[-verified_dialects.MOST_SIGNATURES + 1 :])
        self._judged[kept.name][kept.hash] = updated = judged.replace(signatures={**others, cache_key: is_good})
        self._judgements.put(text, updated)
        return is_good

    def _spoken(self, name: str) -> InstalledDialect | None:
        """The dialect that NAME refers to."""
        sound = [kept for kept in self.live(name) if kept.hash in self.sound(name)]
        return sound[0] if len(sound) == 1 and self._lets_in(self.signature(sound[0])) else None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._spoken(name) is not None

    def __getitem__(self, name: str) -> Definition:
        kept = self._spoken(name)
        definition = self.definition(kept) if kept else None
        if definition is None:
            raise KeyError(name)
        return definition

    def building_on(self, name: str) -> list[str]:
        """The usable dialects that extend NAME."""
        usable = ((dialect, self._spoken(dialect)) for dialect in self.names())
        return sorted(dialect for dialect, kept in usable if kept and self.sound(dialect)[kept.hash].extends == name)

    def _lets_in(self, signature: str) -> bool:
        """Whether the user's policy accepts a dialect with this state of its signature. An invalid signature is never
        accepted. The policy `never` accepts only valid signatures of trusted authors."""
        return signature == VALID if self._policy.unsigned == trust.NEVER else signature != INVALID

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def conversation_state_of(index: Index, agent: str, *others: str) -> AgentState:
    """The conversation state of AGENT, and which of the OTHERS it has met."""
    met, greeted = (
        frozenset(
            peer
            for peer in others
            if conversation_state.is_met(index.state(conversation_state.NAME, f"{registers.PEER} {agent} {peer}"), how)
        )
        for how in ("met", "greeted")
    )
    return AgentState(
        agent,
        Answers.by((row[0], Expected(*row)) for row in open_answers(index, registers.EXPECTED, agent)),
        Answers.by((row[0], Obliged(*row)) for row in open_answers(index, registers.OBLIGED, agent)),
        met,
        greeted,
        _Taken(index, agent),
    )


def open_answers(index: Index, what: str, agent: str) -> Iterator[list[Any]]:
    """The answers that AGENT expects or owes, oldest first: the peer, the id, the thread and the message of each."""
    for _, state in index.entries_by_term(conversation_state.NAME, f"{what} {agent}"):
        yield state["open"][3][1]


def events_repeating(store: Store, index: Index, event: str, hearers: Sequence[str]) -> list[str]:
    """The events in which HEARERS of a message recorded texts from its effects. A dialect can produce texts that are
    not in the message itself."""
    states = [index.state(conversation_state.NAME, f"{registers.MESSAGE} {agent} {event}") for agent in hearers]
    heard = [line for state in states if state and (line := conversation_state.heard_in(state))]
    return [line for line in heard if _repeats(event_data(store, line) or {})]


def _repeats(data: Mapping[str, Any]) -> bool:
    about = data.get("about")
    written = about.get("effects") if isinstance(about, dict) else None
    return any(map(effects.texts, effects.from_line(written)))


class _Taken(Container[tuple[str, str]]):
    """The signed messages that an agent has accepted. Each is looked up on demand, so a long history costs nothing."""

    def __init__(self, index: Index, agent: str) -> None:
        self._index, self._agent = index, agent

    def __contains__(self, signed: object) -> bool:
        who, message_hash = signed if isinstance(signed, tuple) else ("", "")
        return (
            self._index.state(conversation_state.NAME, f"{registers.TAKEN} {self._agent} {who} {message_hash}")
            is not None
        )
