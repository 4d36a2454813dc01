"""The settings of the host, with their defaults and bounds."""

from __future__ import annotations

from bb.attention.state.threads import REMEMBERED
from bb.attention.words import MODES, MUST, MUST_NOT, POLICIES, PRIORITIES, SIGNALS
from bb.kernel.clock import HOUR, MINUTE, SECOND
from bb.kernel.errors import Usage
from bb.kernel.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

InvalidSetting = Usage.declare(
    "INVALID_SETTING",
    "The setting is unknown, or its value is not allowed",
    hint="`bb chat policy` shows all settings and their values",
)


class Tuning(Record):
    """The settings of the host. Times are in milliseconds."""

    compose_ms: int = 3 * SECOND  # wait for another piece after a person's last message
    settle_ms: int = SECOND // 5  # the same if the text is finished: it ends with a question mark or a mention
    merge_ms: int = 30 * SECOND  # longest wait after the first piece
    typing_ms: int = SECOND // 2  # wait after typing has stopped
    ack_ms: int = 10 * SECOND  # time for a harness to acknowledge a delivery
    turn_lease_ms: int = 10 * MINUTE  # after so much silence of a harness, its turn counts as ended
    slot_ms: int = 30 * SECOND  # time in which only the default responder may claim
    claim_ms: int = 15 * MINUTE
    window_ms: int = 24 * HOUR  # time for an answer that is allowed but not owed
    deadline_ms: int = 15 * MINUTE
    defer_ms: int = 30 * MINUTE
    soft_turns: int = 8  # messages of agents in a row, after which they only cause knocks
    hard_turns: int = 20  # messages of agents in a row, after which they are not offered until a person writes
    author_per_minute: int = 120  # messages of an author that oblige agents; more of them stay in the mailbox
    agent_per_minute: int = 60  # messages that one agent may send
    responder: str = ""  # the agent that unanswered messages are escalated to
    is_strict: bool = False  # whether a warning refuses the message
    rules: tuple[dict[str, Any], ...] = ()
    glyphs: dict[str, str] = {}  # noqa: RUF012  (signal -> its glyph in this workspace)
    signals: dict[str, str] = {}  # noqa: RUF012  (a signal of this workspace, `x-…` -> the standard signal)

    def time_for(self, policy: str) -> int | None:
        """The default time for an answer under POLICY; None if no answer is allowed."""
        return {MUST: self.deadline_ms, MUST_NOT: None}.get(policy, self.window_ms)


# setting -> least, most
BOUNDS = {
    "compose_ms": (2 * SECOND, 5 * SECOND),  # C2A: 2 to 5 seconds
    "settle_ms": (0, 5 * SECOND),
    "merge_ms": (5 * SECOND, 30 * SECOND),
    "typing_ms": (0, 5 * SECOND),
    "ack_ms": (SECOND, 5 * MINUTE),
    "turn_lease_ms": (10 * SECOND, 4 * HOUR),
    "slot_ms": (0, 10 * MINUTE),
    "claim_ms": (MINUTE, 4 * HOUR),
    "window_ms": (MINUTE, 30 * 24 * HOUR),
    "deadline_ms": (SECOND, 7 * 24 * HOUR),
    "defer_ms": (MINUTE, 7 * 24 * HOUR),
    "soft_turns": (1, REMEMBERED - 1),
    "hard_turns": (1, REMEMBERED - 1),
    "author_per_minute": (1, 100_000),
    "agent_per_minute": (1, 100_000),
}
CLAMPED = ("compose_ms", "merge_ms")  # the specification gives the range, so a value outside is moved into it
MATCHED = ("conversation", "author", "platform", "stream", "reason", "intent", "directedness")
SET = {"policy": POLICIES, "injection": MODES, "priority": PRIORITIES}
MOST_RULES = 100
GLYPH_LENGTH = 32


def tuning(kept: Mapping[str, Any]) -> Tuning:
    """The settings on record. An invalid value counts as not set."""
    settings: dict[str, Any] = {}
    for name, value in kept.items():
        try:
            settings[name] = _checked(name, value)
        except InvalidSetting.error:
            continue
    return Tuning(**settings)


def checked(settings: Any) -> dict[str, Any]:
    """SETTINGS as they are to be recorded. `null` resets one to its default. Refused if one is invalid."""
    if not isinstance(settings, dict):
        raise InvalidSetting("settings must be a JSON object", path="$")
    return {
        name: None if value is None and name in FIELDS else _checked(name, value) for name, value in settings.items()
    }


FIELDS = Tuning.__match_args__


def _checked(name: str, value: Any) -> Any:
    if name in BOUNDS:
        return _number(name, value)
    if name == "is_strict" and type(value) is bool:
        return value
    if name == "responder" and isinstance(value, str) and len(value) <= 60:
        return value
    if name == "rules":
        return _rules(value)
    if name in ("glyphs", "signals"):
        return _glyphs(value) if name == "glyphs" else _own_signals(value)
    is_known = name in FIELDS
    reason = f"$.{name} cannot be {str(value)[:40]!r}" if is_known else f"there is no setting {name[:40]!r}"
    raise InvalidSetting(reason, path=f"$.{name[:40]}")


def _number(name: str, value: Any) -> int:
    least, most = BOUNDS[name]
    if type(value) is not int or not (name in CLAMPED or least <= value <= most):
        raise InvalidSetting(f"$.{name} must be a whole number from {least} to {most}", path=f"$.{name}")
    return min(max(value, least), most)


def _rules(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list | tuple) or len(value) > MOST_RULES:
        raise InvalidSetting(f"$.rules must be a list of at most {MOST_RULES} rules", path="$.rules")
    return tuple(_rule(rule, f"$.rules[{at}]") for at, rule in enumerate(value))


def _rule(rule: Any, path: str) -> dict[str, Any]:
    if not (isinstance(rule, dict) and isinstance(rule.get("match"), dict) and isinstance(rule.get("set"), dict)):
        raise InvalidSetting(f"{path} must have the members `match` and `set`, both objects", path=path)
    for name, value in rule["match"].items():
        if name not in MATCHED or not isinstance(value, str):
            reason = f"{path}.match.{name}: a rule can match {', '.join(MATCHED)}, each with a string"
            raise InvalidSetting(reason, path=f"{path}.match.{name}")
    for name, chosen in rule["set"].items():
        if chosen not in SET.get(name, ()):
            raise InvalidSetting(f"{path}.set.{name} cannot be {str(chosen)[:40]!r}", path=f"{path}.set.{name}")
    return {"match": rule["match"], "set": rule["set"]}


def _glyphs(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(map(_is_glyph, value.values())) or value.keys() - SIGNALS.keys():
        raise InvalidSetting(f"$.glyphs must map signals ({', '.join(SIGNALS)}) to short glyphs", path="$.glyphs")
    glyphs = {name: value.get(name, signal.glyph) for name, signal in SIGNALS.items()}
    if len(set(glyphs.values())) < len(glyphs):
        raise InvalidSetting("$.glyphs: two signals cannot have the same glyph", path="$.glyphs")
    return dict(value)


def _is_glyph(value: Any) -> bool:
    """Whether VALUE can be the glyph of a signal: short, and without control characters."""
    is_short = isinstance(value, str) and 0 < len(value) <= GLYPH_LENGTH
    return is_short and not any(character < " " or "\x7f" <= character <= "\x9f" for character in value)


def _own_signals(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or any(
        not name.startswith("x-") or one not in SIGNALS for name, one in value.items()
    ):
        raise InvalidSetting("$.signals must map names such as x-parked to one of the nine signals", path="$.signals")
    return dict(value)


def glyph_of(signal: str, tuned: Tuning) -> str:
    """The glyph of a signal in this workspace."""
    counted_as = tuned.signals.get(signal, signal)
    return tuned.glyphs.get(counted_as) or SIGNALS[counted_as].glyph


def signal_of(glyph: str, tuned: Tuning) -> str | None:
    """The signal with that glyph in this workspace; None if there is none."""
    return next((name for name in SIGNALS if glyph_of(name, tuned) == glyph), None)
