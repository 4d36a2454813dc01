"""Rows of `bb watch`: each thing on one line that may be cut at its end, or in full on as many as it takes.

Everything that somebody wrote goes through `harmless` here, and every row is cut to its columns, wide letters counted
as two.
"""

from __future__ import annotations

from bb.cli import paint
from bb.kernel import clock
from bb.kernel.show import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Thing = dict[str, Any]

ROOMY = 110  # columns from which on there is room for what is good to know
MARGIN = "  "
NOBODY = "nobody has registered"


def clipped(text: str, wide: int) -> str:
    """TEXT in so many columns at most. Columns are few here, so half a word stays; the mark says that it is one."""
    if paint.occupied(text) <= wide:
        return text
    start, rest = paint.parted(text, wide - 1)
    return f"{start}…" + (paint.PLAIN if paint.ESCAPE in rest else "")


def cell(text: str, wide: int) -> str:
    """TEXT in exactly so many columns."""
    cut = clipped(text, wide)
    return cut + " " * (wide - paint.occupied(cut))


def folded(text: str, wide: int, indent: int = 0) -> list[str]:
    """TEXT on lines of so many columns, broken at spaces where there are any, each as far in as INDENT."""
    room = max(wide - indent, 1)
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if paint.occupied(joined) <= room:
            lines[-1] = joined
            continue
        lines += [""] if lines[-1] else []
        while paint.occupied(word) > room:
            start, word = paint.parted(word, room)
            if not start:  # a wide letter where there is room for a narrow one
                break
            lines[-1:] = [start, ""]
        lines[-1] = word
    return [" " * indent + line for line in lines]


def problem(each: Thing, now: int) -> str:
    """What is the matter, and for how long it has been."""
    return f"{MARGIN}{cell(_age(each['since'], now), 7)} {paint.painted(harmless(each['text']), 'bold')}"


def whole_problem(each: Thing, now: int, wide: int) -> list[str]:
    """The same with all that it says, and what to do about it."""
    inset = len(MARGIN) + 8
    lines = folded(harmless(each["text"]), wide, inset)
    first = f"{MARGIN}{cell(_age(each['since'], now), 7)} {paint.painted(lines[0].lstrip(' '), 'bold')}"
    rest = [paint.painted(line, "bold") for line in lines[1:]]
    said = [line for part in each.get("body", "").splitlines() if part.strip() for line in _in(part, wide, inset)]
    steps = [line for name in ("answer", "next_step") if name in each for line in _in("-> " + each[name], wide, inset)]
    return [first, *rest, *said, *steps]


def _in(text: str, wide: int, inset: int) -> list[str]:
    return folded(harmless(text), wide, inset)


def agent(each: Thing, now: int, name_wide: int, wide: int) -> str:
    """Who it is, whether it lives, and what it holds; what it does, where there is room or nothing held."""
    name = cell(harmless(each["agent_id"]), name_wide)
    head = f"{MARGIN}{name} {paint.state(each['liveness'], 7)} {cell(_age(each['last_seen_at'], now), 7)} "
    holds = ", ".join(f"{harmless(held['scope'])}{_left(held, now)}" for held in each["holds"])
    role = _role(each)
    if wide >= ROOMY:
        return f"{head}{_paused(each)}{cell(role, 20)} {holds}"
    return head + _paused(each) + (holds or paint.painted(role, "dim"))


def whole_agent(each: Thing, now: int, name_wide: int, wide: int) -> list[str]:
    """The same, with everything that it holds on a line of its own."""
    name = cell(harmless(each["agent_id"]), name_wide)
    seen = _age(each["last_seen_at"], now)
    head = f"{MARGIN}{name} {paint.state(each['liveness'], 7)} seen {seen} ago, {_role(each)}"
    pause = [MARGIN * 2 + _paused(each) + harmless(each["paused"]["why"] or "")] if "paused" in each else []
    return [head, *pause, *(MARGIN * 2 + held(holds, now, wide, is_owned=True) for holds in each["holds"])]


def _paused(each: Thing) -> str:
    """That the person has paused an agent, where it has."""
    return paint.painted("PAUSED ", "yellow") if "paused" in each else ""


def held(each: Thing, now: int, wide: int, *, is_owned: bool = False) -> str:
    """What is held, for how long yet, for which bead, and by whom unless that goes without saying."""
    if "frozen" in each:
        order = paint.painted(f"frozen by {harmless(each['agent_id'])}", "yellow")
        more = [order, _left(each, now).strip(), harmless(each["why"] or "")]
        return f"{MARGIN}{cell(harmless(each['scope']), max(wide // 3, 12))} {' '.join(filter(None, more))}"
    who = "" if is_owned else f"{harmless(each['agent_id'])} ({paint.state(each['owner_liveness'])})"
    shared = "shared" if each["shared"] else ""
    more = [part for part in (who, _left(each, now).strip(), shared, f"[{harmless(each['bead_id'])}]") if part]
    return f"{MARGIN}{cell(harmless(each['scope']), max(wide // 3, 12))} {' '.join(more)}"


def unacked(each: Thing, now: int) -> str:
    """What waits to be accepted, and by whom."""
    who = f"{harmless(each['from_agent'])} -> {harmless(each['to_agent'])}"
    said = f"{each['label']}: {harmless(each['subject'])} [{harmless(each['bead_id'])}]"
    return f"{MARGIN}{cell(_age(each['created_at'], now), 7)} {who}  {said}"


def incursion(each: Thing, now: int) -> str:
    """Who is in whose way, and where."""
    verb = "changed" if each["outcome"] == "touched" else "in"
    more = f" and {each['count'] - 1} more" if each["count"] > 1 else ""
    what = f"{harmless(each['from_agent'])} {verb} {harmless(each['scope'])}{more}"
    whose = f"held by {harmless(each['to_agent'])} ({harmless(each['held'])})"
    return f"{MARGIN}{cell(_age(each['created_at'], now), 7)} {paint.painted(what, 'red')}, {whose}"


def waiting(each: Thing) -> str:
    """Who stands in line, and what for."""
    return f"{MARGIN}{harmless(each['agent_id'])} waits for {', '.join(map(harmless, each['scopes']))}"


def told(each: Thing, now: int, name_wide: int) -> str:
    """What happened: at which time of today, or on which day."""
    return f"{MARGIN}{_moment(each['at'], now)} {cell(_by(each), name_wide)} {_sentence(each)}"


def whole_told(each: Thing, now: int, name_wide: int, wide: int) -> list[str]:
    """The same, in full."""
    head = f"{MARGIN}{_moment(each['at'], now)} {cell(_by(each), name_wide)} "
    lines = folded(_sentence(each), wide, min(paint.occupied(head), wide // 2))
    return [head + lines[0].lstrip(" "), *lines[1:]]


def _by(each: Thing) -> str:
    return paint.painted(harmless(each["by"]), "cyan")


def _sentence(each: Thing) -> str:
    bead = f" [{harmless(each['bead_id'])}]" if each["bead_id"] else ""
    return harmless(each["text"]) + bead


def _moment(at: str, now: int) -> str:
    """The time of day, of what happened today; else the day."""
    moment = clock.text(clock.parse_or(at, now))
    return moment[11:19] if moment[:10] == clock.text(now)[:10] else f"{moment[5:10]}   "


def _age(at: str, now: int) -> str:
    return paint.span((now - clock.parse_or(at, now)) // clock.SECOND)


def _left(each: Thing, now: int) -> str:
    """For how long a reservation runs yet, or what else is the matter with it."""
    if each["state"] != "active":
        return f" {paint.state(each['state'])}"
    if each["expires_at"] is None:
        return ""
    return f" {paint.span((clock.parse_or(each['expires_at'], now) - now) // clock.SECOND)}"


def _role(each: Thing) -> str:
    name = each["display_name"]
    return harmless(each["role"] if name == each["agent_id"] else f"{each['role']} ({name})")
