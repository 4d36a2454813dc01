"""What the tests of talking in CBCL have in common: agents in memory, whom they trust, and messages that are signed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bb.cbcl.judge import signatures
from bb.cbcl.judge.authorship import Ledger
from bb.cbcl.judge.installation import Rules
from bb.cbcl.judge.trust import Policy, Trust
from bb.cbcl.read import canonical, grammar
from bb.cbcl.read.message import Simple, core_of
from bb.cbcl.speak.memory import Agent
from bb.cbcl.speak.processing import Outcome
from tests.cbcl.trees import dialect, read, tree

LAB, MALLORY = b"L" * 32, b"M" * 32  # seeds of keys
LOOSE: Mapping[str, Any] = {"unsigned": "anyone", "define": "anyone"}
WORK = dialect(
    "(extend note (what) (tell @bob what))",
    "(extend task (what &key thread) ((tell @bob what) (ask @bob (done what) :thread thread)))",
    "(extend pass (who what) (tell who what))",
    "(extend odd (what) ((tell @bob (first)) (tell @bob what)))",
    "(extend deep (what) ((with-limits :max-depth 2 (tell @bob (a))) (with-limits :max-depth 9 (tell @bob what))))",
    name="work",
    author="@lab",
)
OTHER = dialect("(extend note (what) (ask @bob what))", name="work", author="@lab")
QUESTIONS = (
    '(ask @bob "1" :id a)',
    '(ask @bob "2" :id b :thread t)',
    '(ask @bob "3" :id c)',
    '(ask @carol "4" :id a :thread t)',
)


def rules(
    authors: Mapping[str, bytes] | None = None,
    ledger: Ledger | None = None,
    signed: Mapping[str, str] | None = None,
    **policy: Any,
) -> Rules:
    """By what an agent judges: the AUTHORS whom its user trusts, by the seeds of their keys, and a policy; in which
    LEDGER it is, and whose messages have to be SIGNED."""
    keys = {name: (signatures.public_key(seed),) for name, seed in (authors or {}).items()}
    return Rules(Trust(keys, Policy(**policy), dict(signed or {})), ledger)


def agent(name: str = "bob", *dialects: str, given: Rules | None = None, **policy: Any) -> Agent:
    """An agent that speaks DIALECTS and knows nothing else."""
    made = Agent(name, given or rules(**policy))
    for text in dialects:
        made.speaks(text.encode())
    return made


def hear(who: Agent, text: str | bytes, sender: str = "alice") -> Outcome:
    return who.hear(text.encode() if isinstance(text, str) else text, sender)


def answers(found: Outcome) -> list[str]:
    return [text for _, text in found.answers]


def error(found: Outcome) -> tuple[str, Simple]:
    """The code of the one error that was answered, and the error itself."""
    (text,) = answers(found)
    said = core_of(read(text))
    assert isinstance(said, Simple)
    assert (said.performative, found.status, said.text("code")) == ("error", "error", found.code)
    return found.code, said


def signed(text: str, seed: bytes) -> str:
    """TEXT within a signature of it."""
    return f'(signed "{signatures.sign(seed, canonical.octets(tree(text)))}" {text})'


def lesson(text: str, seed: bytes | None = None, to: str = "bob") -> str:
    """The message that teaches a dialect."""
    return f"(meta (teach @{to} {signed(text, seed) if seed else text}))"


def hashed(text: str) -> str:
    return canonical.digest(grammar.definition_in(text.encode())[1].node)


def everything(who: Agent) -> dict[str, Any]:
    """All it knows, but for the record of what it refused."""
    return {name: value for name, value in who.shown().items() if name != "audit"}


def asked(who: Agent, *texts: str) -> Agent:
    """WHO, having asked these questions."""
    for text in texts:
        who.say(text.encode())
    return who


def expected(who: Agent) -> list[str]:
    return [each.id for each in who.standing.expected]


def obliged(who: Agent) -> list[tuple[str, str]]:
    return [(each.from_, each.id) for each in who.standing.obliged]
