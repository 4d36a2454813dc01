"""An agent in memory, for replays and tests: its state, folded from effects. In a repository, the ledger keeps the same
facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bb.cbcl.facts import Installed
from bb.cbcl.judge.installation import Rules, install
from bb.cbcl.read import grammar, names
from bb.cbcl.read.definition import Definition
from bb.cbcl.read.message import core_of
from bb.cbcl.speak import processing, speaking
from bb.cbcl.speak.effects import Believed, Effect, Entered, Verified
from bb.cbcl.speak.processing import Outcome
from bb.cbcl.speak.speaking import Speech
from bb.cbcl.speak.state import AgentState


class Agent:
    """One agent and its state."""

    def __init__(self, name: str, rules: Rules) -> None:
        self._taken: set[tuple[str, str]] = set()
        self.standing = AgentState(name, taken=self._taken)
        self.rules = rules
        self.definitions: dict[str, Definition] = {}
        self._installed: dict[str, Installed] = {}
        self._beliefs: dict[tuple[str, str], None] = {}
        self._conversations: dict[str, list[Entered]] = {}
        self._outbox: list[tuple[str, str]] = []
        self._audit: list[dict[str, str]] = []

    def speaks(self, octets: bytes) -> None:
        """Install a dialect from a file, as by a command of the user."""
        signature, definition = grammar.definition_in(octets)
        who = self.standing.id
        self._happen(install(definition, signature, self.definitions, self.rules, by=who, source="file", is_local=True))

    def hear(self, octets: bytes, sender: str) -> Outcome:
        """Process a message from SENDER."""
        outcome = processing.receive(self.standing, self.definitions, octets, sender, self.rules)
        self._happen(outcome.effects)
        for _, answer in outcome.answers:
            core = core_of(grammar.message(answer.encode()))
            self._happen(speaking.entered(self.standing.id, core, names.id_of(core)))
        self._outbox += [*outcome.passed_on, *outcome.kept_back]
        if outcome.code:
            self._audit.append({"action": "refused", "from": sender, "code": outcome.code, "id": outcome.id})
        return outcome

    def say(self, octets: bytes, to: Sequence[str] = ()) -> Speech:
        """Send a message."""
        speech = speaking.speak(self.standing, self.definitions, octets, self.rules, to)
        self._happen(speech.effects)
        return speech

    def _happen(self, effects: Sequence[Effect]) -> None:
        self.standing = self.standing.after(effects)
        for effect in effects:
            match effect:
                case Believed(who=who, text=text):
                    self._beliefs[who, text] = None
                case Verified(who=who, hash=known):
                    self._taken.add((who, known))
                case Entered(thread=thread):
                    self._conversations.setdefault(thread, []).append(effect)
                case Installed(dialect=dialect, text=text):
                    self._installed[dialect] = effect
                    self.definitions[dialect] = grammar.definition_in(text.encode())[1]
                    about = {name: str(getattr(effect, name)) for name in ("dialect", "hash", "source", "signature")}
                    self._audit.append({"action": "installed", **about})

    def shown(self) -> dict[str, Any]:
        """The agent's state as JSON."""
        return {
            "id": self.standing.id,
            "beliefs": [{"who": who, "text": text} for who, text in self._beliefs],
            "dialects": [
                {name: getattr(dialect, name) for name in ("dialect", "author", "hash", "source", "signature")}
                for _, dialect in sorted(self._installed.items())
            ],
            "conversations": {
                thread: [
                    {"from": entry.sender, "performative": entry.performative, "id": entry.id, "text": entry.text}
                    for entry in entries
                ]
                for thread, entries in self._conversations.items()
            },
            "expectations": [
                {"to": expectation.to, "id": expectation.id, "thread": expectation.thread}
                for expectation in self.standing.expected
            ],
            "obligations": [
                {"from": obligation.from_, "id": obligation.id, "thread": obligation.thread}
                for obligation in self.standing.obliged
            ],
            "peers": sorted(self.standing.peers),
            "outbox": [{"to": to, "text": text} for to, text in self._outbox],
            "audit": self._audit,
        }
