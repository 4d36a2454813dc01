"""What the ledger knows of CBCL: which dialects are spoken here, and where an agent stands.

A line may come from anybody who can write to the repository. So the text of a dialect is read by the one reader, must
have the hash that its line says, and must be sound, before it counts as installed.
"""

from __future__ import annotations

from collections.abc import Container

from bb.cbcl import canonical, dialects, effects, grammar, names, signing, trusting, verifying
from bb.cbcl.effects import Expected, Obliged
from bb.cbcl.expansion import UnknownDialect
from bb.cbcl.installing import DialectConflict
from bb.cbcl.library import Library
from bb.cbcl.reader import UTMOST
from bb.cbcl.standing import Answers, Standing
from bb.cbcl.trusting import UNSIGNED, VALID
from bb.kernel.errors import BbError
from bb.kernel.show import harmless
from bb.ledger.attention import data_of
from bb.messaging import spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from bb.cbcl.definition import Definition
    from bb.cbcl.dialects import Kept
    from bb.ledger.index import Index
    from bb.ledger.keyring import Keyring
    from bb.ledger.store import Store

UNCHECKED, INVALID = "unchecked", "invalid"  # what else is to be said of a signature that a line brings


class Spoken(Library):
    """The dialects of a repository by name, for the user whose KEYRING it is. A definition is read, and judged, when
    somebody wants it."""

    def __init__(self, store: Store, index: Index, keyring: Keyring) -> None:
        self._store, self._index, self._keyring = store, index, keyring
        self._policy = keyring.trust().policy
        self._read: dict[str, dict[str, Definition]] = {}  # by name, then by hash

    def live(self, name: str) -> list[Kept]:
        """What is installed under NAME, the first one first. It stands for it where it is the only sound one."""
        return dialects.live(name, self._index.state(dialects.NAME, name))

    def hashes(self, name: str) -> tuple[str, ...]:
        return tuple(each.hash for each in self.live(name))

    def excuse(self, name: str) -> BbError | None:
        if not (live := self.live(name)) or name in self:
            return None
        sound = [each for each in live if each.hash in self.sound(name)]
        shown = harmless(names.brief(name))
        if len(sound) > 1:
            why = f"{len(sound)} dialects named {shown} are installed, so the name stands for none of them"
            hint = "`bb cbcl dialect list` names both; `bb cbcl dialect install FILE --replace` settles it"
            return DialectConflict(why, hint=hint, dialect=shown)
        if not sound:
            why = f"what is installed as {shown} is no sound definition"
            return UnknownDialect(why, hint=f"`bb cbcl dialect remove {shown}` takes it away", dialect=shown)
        if self.signature(sound[0]) == INVALID:
            return signing.InvalidSignature(f"the signature of {shown} is not its author's", dialect=shown)
        why = f"{shown} is installed, and your policy wants the signature of an author whom you trust"
        hint = "`bb cbcl trust add AUTHOR KEY`; or `bb cbcl policy --unsigned local`"
        return trusting.UnsignedDialect(why, hint=hint, dialect=shown)

    def names(self) -> list[str]:
        """The names under which something is installed."""
        return [name for name, state in self._index.states(dialects.NAME) if dialects.live(name, state)]

    def line_of(self, kept: Kept) -> dict[str, Any]:
        """What the line says that brought a dialect."""
        return data_of(self._store, kept.event) or {}

    def sound(self, name: str) -> dict[str, Definition]:
        """Those of them that are what their lines say, and break no rule, by hash."""
        if name not in self._read:
            found = {each.hash: self._definition(each) for each in self.live(name)}
            self._read[name] = {known: each for known, each in found.items() if each}
        return self._read[name]

    def _definition(self, kept: Kept) -> Definition | None:
        text = self.line_of(kept).get("text")
        try:
            _, found = grammar.definition_in(str(text).encode(), UTMOST)
        except (BbError, UnicodeEncodeError):
            return None
        is_right = found.name == kept.name and canonical.digest(found.node) == kept.hash
        return found if is_right and not _breaks_rules(found) else None

    def signature(self, kept: Kept) -> str:
        """What this user can say of its signature, whatever the line says."""
        signature, definition = self.line_of(kept).get("signed"), self.sound(kept.name).get(kept.hash)
        if not isinstance(signature, str) or not signature or definition is None:
            return UNSIGNED
        try:
            keys = self._keyring.trust_for(definition.author).keys_of(definition.author)
        except BbError:  # a key of one's own that cannot be read: that is told where it is used
            keys = ()
        if not keys:
            return UNCHECKED
        try:
            trusting.must_fit(signature, canonical.octets(definition.node), keys, signing.check)
        except BbError:
            return INVALID
        return VALID

    def __getitem__(self, name: str) -> Definition:
        sound = [each for each in self.live(name) if each.hash in self.sound(name)]
        if len(sound) != 1 or not self._lets_in(self.signature(sound[0])):
            raise KeyError(name)
        return self.sound(name)[sound[0].hash]

    def _lets_in(self, signature: str) -> bool:
        """Whether this user speaks what anybody has installed who can write to the repository: yes, unless every
        definition has to be signed by an author who is trusted, or one is not what that author has signed."""
        return signature == VALID if self._policy.unsigned == trusting.NEVER else signature != INVALID

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _breaks_rules(definition: Definition) -> bool:
    """Whether a definition breaks any rule but that its parent be there, which may have been removed since."""
    return any(each.rule != verifying.PARENT for each in verifying.verify(definition).violations)


def standing(index: Index, agent: str, *others: str) -> Standing:
    """Where AGENT stands, and whether it has met those OTHERS."""
    met, greeted = (
        frozenset(
            peer for peer in others if spoken.is_met(index.state(spoken.NAME, f"{spoken.PEER} {agent} {peer}"), how)
        )
        for how in ("met", "greeted")
    )
    return Standing(
        agent,
        Answers.by((each[0], Expected(*each)) for each in opened(index, spoken.EXPECTED, agent)),
        Answers.by((each[0], Obliged(*each)) for each in opened(index, spoken.OBLIGED, agent)),
        met,
        greeted,
        _Taken(index, agent),
    )


def opened(index: Index, what: str, agent: str) -> Iterator[list[Any]]:
    """What AGENT waits for, or owes, oldest first: of or to whom, under which id, in which thread, by which message."""
    for _, state in index.found(spoken.NAME, f"{what} {agent}"):
        yield state["open"][3][1]


def repeated_in(store: Store, index: Index, event: str, hearers: Sequence[str]) -> list[str]:
    """The lines, by their events, on which those who have heard a message repeat what it came to: what a dialect made
    of it does not stand in the message itself."""
    states = [index.state(spoken.NAME, f"{spoken.MESSAGE} {agent} {event}") for agent in hearers]
    heard = [found for state in states if state and (found := spoken.heard_in(state))]
    return [line for line in heard if _repeats(data_of(store, line) or {})]


def _repeats(said: Mapping[str, Any]) -> bool:
    about = said.get("about")
    written = about.get("effects") if isinstance(about, dict) else None
    return any(map(effects.texts, effects.read(written)))


class _Taken(Container[tuple[str, str]]):
    """The signed messages that an agent has taken: looked up one by one, so that many cost nothing."""

    def __init__(self, index: Index, agent: str) -> None:
        self._index, self._agent = index, agent

    def __contains__(self, signed: object) -> bool:
        who, known = signed if isinstance(signed, tuple) else ("", "")
        return self._index.state(spoken.NAME, f"{spoken.TAKEN} {self._agent} {who} {known}") is not None
