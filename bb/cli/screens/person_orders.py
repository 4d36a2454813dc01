"""Text screens for freeze, thaw, pause, unpause and transfer."""

from __future__ import annotations

from bb.cli.screens import styling
from bb.cli.screens.styling import brief, whole
from bb.kernel.foreign import Foreign, names, quotation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def frozen(found: Foreign) -> list[str]:
    lines = [
        f"{reservation['scope']} is frozen{_until(reservation)}{_because(reservation)}"
        f"  [{reservation['reservation_id']}]"
        for reservation in found["reservations"]
    ]
    return [*lines, *(f"Note: {text} does not exist yet" for text in found["not_there"]), *_told(found)]


def thawed(found: Foreign) -> list[str]:
    lines = [f"{reservation['scope']} is no longer frozen" for reservation in found["reservations"]]
    return [*(lines or ["Nothing was frozen."]), *_told(found)]


def paused(found: Foreign) -> list[str]:
    """The agents concerned, and whether they are paused now."""
    pause = found["paused"]
    since_then = f"paused since {styling.ago(pause['since'])}{_because(pause)}" if pause else ""
    if found["everybody"]:
        lines = [f"All agents are {since_then}" if pause else "No agent is paused"]
    else:
        lines = [f"{agent['agent_id']} is {since_then or 'not paused'}" for agent in found["agents"]]
    return [*lines, *_told(found)]


def transferred(found: Foreign) -> list[str]:
    before = f", which {names(found['transferred_from'])} held" if found["transferred_from"] else " already"
    return [
        f"{reservation['agent_id']} holds {reservation['scope']}{before}, {styling.left(reservation['expires_at'])}"
        f"  [{reservation['reservation_id']}]"
        for reservation in found["reservations"]
    ]


def if_paused(agent: Foreign) -> str:
    """A note if the person has paused the agent."""
    return f"  {since(agent['paused'])}" if agent.get("paused") else ""


def since(pause: Foreign) -> str:
    """The start of a pause and its reason."""
    why = f": {brief(pause['why'])}" if pause["why"] else ""
    return f"{styling.state('paused')} since {whole(styling.ago(pause['since']))}{why}"


def frozen_by(each: Foreign, until: str) -> str:
    """The author of a freeze, its end and its reason."""
    ends = f", {until}" if until else ""
    why = f": {brief(each['why'])}" if each["why"] else ""
    return f"{styling.state('frozen')} by {each['agent_id']}{ends}{why}"


def _until(each: Foreign) -> str:
    return f", {styling.left(each['expires_at'])}" if each["expires_at"] else ""


def _because(each: Foreign) -> str:
    return f": {quotation(each['why'])}" if each["why"] else ""


def _told(found: Foreign) -> list[str]:
    return [f"Notified: {names(found['told'])}"] if found["told"] else []


FORMS: dict[str, Callable[[Foreign], Iterable[str]]] = {
    "freeze": frozen,
    "thaw": thawed,
    "agent pause": paused,
    "agent unpause": paused,
    "agent transfer": transferred,
}
UNWRAPPED = FORMS
