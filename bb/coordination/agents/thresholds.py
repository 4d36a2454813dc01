"""The stale threshold: pinned by the person for all clones, otherwise set by each environment.

An environment may raise a pinned threshold but not lower it. So no clone takes over from an agent that counts as active
under the pinned value. The person's latest value applies; an agent's is kept in the ledger and ignored.
"""

from __future__ import annotations

from bb.coordination.agents import liveness
from bb.coordination.facts import Pinned
from bb.kernel import ids
from bb.kernel.errors import Usage
from bb.kernel.total_order import latest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from bb.coordination.facts import ThresholdFact
    from bb.kernel.total_order import Place, State

NAME = "threshold"
FACTS = (Pinned,)
ENTRY = "stale"  # the one entry of this fold
WORD = "word"
DEFAULT = "default"  # removes the pin

InvalidPin = Usage.declare(
    "INVALID_PIN",
    "--stale-minutes takes a whole number of minutes from 1 to 10080, or `default`",
    hint="for example `bb init --stale-minutes 30`; `--stale-minutes default` removes the setting",
)


def keys(fact: ThresholdFact, at: Place) -> list[str]:  # noqa: ARG001
    """There is one entry."""
    return [ENTRY]


def step(state: State | None, fact: ThresholdFact, at: Place, ts: str) -> State:
    """STATE after one more fact."""
    after = dict(state or {})
    if fact.by == ids.PERSON:
        latest(after, WORD, at, [ts, fact.minutes])
    return after


def pinned(state: Mapping[str, list[object]] | None) -> int | None:
    """The pinned minutes, or None."""
    word = (state or {}).get(WORD)
    minutes = word[3][1] if word and isinstance(word[3], list) else None
    return minutes if isinstance(minutes, int) and minutes in liveness.MINUTES_ALLOWED else None


def minutes(text: str) -> int:
    """TEXT, the value of --stale-minutes, as a number; 0 removes the pin."""
    if text.strip() == DEFAULT:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 8 and int(text) in liveness.MINUTES_ALLOWED):
        raise InvalidPin(f"--stale-minutes is {text[:40]!r}; it must be a whole number from 1 to 10080, or {DEFAULT}")
    return int(text)
