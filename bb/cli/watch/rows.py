"""Rows of `bb watch`: an item on one line, cut at its end, or in full on several lines.

Text of agents is `Foreign` here, and shown as a name, a quotation, or marked lines. Every row is cut to its columns; a
wide letter counts as two.
"""

from __future__ import annotations

from bb.cli.screens import endings, overview, styling
from bb.kernel import clock
from bb.kernel.escaping import SET_OFF
from bb.kernel.foreign import Foreign, block, names, quotation, sentence

ROOMY = 110  # columns from which on an agent's role is always shown
MARGIN = "  "
ROOM_FOR_MARK = 8  # in fewer columns, a mark would leave no room for text
NO_AGENTS = "no registered agents"


def clipped(text: str, wide: int) -> str:
    """TEXT cut to WIDE columns. Space is short here, so a word may be cut in half; an ellipsis marks the cut."""
    if styling.display_width(text) <= wide:
        return text
    start, rest = styling.split_at_width(text, wide - 1)
    return f"{start}…" + (styling.PLAIN if styling.ESCAPE in rest else "")


def cell(text: str, wide: int) -> str:
    """TEXT in exactly WIDE columns."""
    cut = clipped(text, wide)
    return cut + " " * (wide - styling.display_width(cut))


def folded(text: str, wide: int, indent: int = 0, *, is_ours: bool = True) -> list[str]:
    """TEXT on indented lines of WIDE columns, broken at spaces if possible. In bb's own text, a line that continues a
    quotation is marked."""
    room = max(wide - indent, 1)
    lines, is_quoted = [""], False
    for word in text.split(" "):
        mark = SET_OFF if is_ours and room > ROOM_FOR_MARK else ""
        begins = mark if is_quoted else ""
        is_quoted ^= word.count('"') % 2 == 1
        goes_on = mark if is_quoted else begins
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if styling.display_width(joined) <= room:
            lines[-1] = joined
            continue
        lines += [begins] if lines[-1] else []
        while styling.display_width(lines[-1] + word) > room:
            start, word = styling.split_at_width(word, room - styling.display_width(lines[-1]))
            if not start:  # a wide letter in a column of one
                break
            lines[-1:] = [lines[-1] + start, goes_on]
        lines[-1] += word
    return [" " * indent + line for line in lines]


def problem(each: Foreign, now: int) -> str:
    """A problem and its age."""
    return f"{MARGIN}{cell(styling.age(each['since'], now), 7)} {styling.coloured(_problem(each), 'bold')}"


def _problem(each: Foreign) -> str:
    ours, theirs = endings.problem(each)
    return ours + (quotation(theirs) if theirs else "")


def whole_problem(each: Foreign, now: int, wide: int) -> list[str]:
    """A problem in full, with its text and next step."""
    inset = len(MARGIN) + 8
    lines = folded(_problem(each), wide, inset)
    first = f"{MARGIN}{cell(styling.age(each['since'], now), 7)} {styling.coloured(lines[0].lstrip(' '), 'bold')}"
    rest = [styling.coloured(line, "bold") for line in lines[1:]]
    body = marked(each.get("body", ""), wide, inset)
    steps = [
        line
        for name in ("answer", "next_step")
        if name in each
        for line in folded(f"-> {sentence(each[name])}", wide, inset)
    ]
    return [first, *rest, *body, *steps]


def marked(text: Foreign, wide: int, indent: int) -> list[str]:
    """All of an agent's TEXT, indented, with a mark on every line."""
    margin, room = " " * indent, max(wide - indent - len(SET_OFF), 1)
    return [
        f"{margin}{SET_OFF}{line}" for paragraph in block(text, "") for line in folded(paragraph, room, is_ours=False)
    ]


def agent(each: Foreign, now: int, name_wide: int, wide: int) -> str:
    """An agent: name, liveness and reservations; its role if there is room or no reservation."""
    name = cell(str(each["agent_id"]), name_wide)
    head = f"{MARGIN}{name} {styling.state(each['liveness'], 7)} {cell(styling.age(each['last_seen_at'], now), 7)} "
    holds = ", ".join(f"{held['scope']}{_left(held, now)}" for held in each["holds"])
    role = overview.role(each)
    if wide >= ROOMY:
        return f"{head}{_paused(each)}{cell(role, 20)} {holds}"
    return head + _paused(each) + (holds or styling.coloured(role, "dim"))


def whole_agent(each: Foreign, now: int, name_wide: int, wide: int) -> list[str]:
    """An agent in full, with each reservation on a line of its own."""
    name = cell(str(each["agent_id"]), name_wide)
    seen = styling.age(each["last_seen_at"], now)
    head = f"{MARGIN}{name} {styling.state(each['liveness'], 7)} seen {seen} ago, {overview.role(each)}"
    why = quotation(each["paused"]["why"]) if "paused" in each and each["paused"]["why"] else ""
    pause = [MARGIN * 2 + _paused(each) + why] if "paused" in each else []
    return [head, *pause, *(MARGIN * 2 + held(holds, now, wide, is_owned=True) for holds in each["holds"])]


def _paused(each: Foreign) -> str:
    """A mark on an agent that the person has paused."""
    return styling.coloured("PAUSED ", "yellow") if "paused" in each else ""


def held(each: Foreign, now: int, wide: int, *, is_owned: bool = False) -> str:
    """A reservation: remaining time, bead, and holder unless IS_OWNED."""
    if "frozen" in each:
        order = styling.coloured(f"frozen by {each['agent_id']}", "yellow")
        more = [order, _left(each, now).strip(), quotation(each["why"]) if each["why"] else ""]
        return f"{MARGIN}{cell(str(each['scope']), max(wide // 3, 12))} {' '.join(filter(None, more))}"
    who = "" if is_owned else f"{each['agent_id']} ({styling.state(each['owner_liveness'])})"
    shared = "" if str(each["kind"]) == "exclusive" else str(each["kind"])
    more = [
        part
        for part in (who, _left(each, now).strip(), shared, f"[{each['bead_id']}]" if each["bead_id"] else "")
        if part
    ]
    return f"{MARGIN}{cell(str(each['scope']), max(wide // 3, 12))} {' '.join(more)}"


def unacked(each: Foreign, now: int) -> str:
    """A message to be accepted: age, sender, recipient and subject."""
    who = f"{each['from_agent']}{styling.doubt(each)} -> {each['to_agent']}"
    bead = f" [{each['bead_id']}]" if each["bead_id"] else ""
    text = f"{sentence(each['label'])}: {quotation(each['subject'])}{bead}"
    return f"{MARGIN}{cell(styling.age(each['created_at'], now), 7)} {who}  {text}"


def incursion(each: Foreign, now: int) -> str:
    """An incursion: its agent, scope and holder."""
    verb = "changed" if each["outcome"] == "touched" else "in"
    count = int(each["count"])
    more = f" and {count - 1} more" if count > 1 else ""
    what = f"{each['from_agent']}{styling.doubt(each)} {verb} {each['scope']}{more}"
    whose = f"held by {each['to_agent']} ({each['held']})"
    return f"{MARGIN}{cell(styling.age(each['created_at'], now), 7)} {styling.coloured(what, 'red')}, {whose}"


def waiting(each: Foreign) -> str:
    """An agent in a queue, and the scopes that it waits for."""
    return f"{MARGIN}{each['agent_id']} waits for {names(each['scopes'])}"


def timeline_row(each: Foreign, now: int, name_wide: int) -> str:
    """An event of the timeline, with its time today or its day."""
    return f"{MARGIN}{_moment(each['at'], now)} {cell(_by(each), name_wide)} {_sentence(each)}"


def timeline_rows(each: Foreign, now: int, name_wide: int, wide: int) -> list[str]:
    """An event of the timeline in full."""
    head = f"{MARGIN}{_moment(each['at'], now)} {cell(_by(each), name_wide)} "
    lines = folded(_sentence(each), wide, min(styling.display_width(head), wide // 2))
    return [head + lines[0].lstrip(" "), *lines[1:]]


def _by(each: Foreign) -> str:
    return styling.coloured(str(each["by"]), "cyan")


def _sentence(each: Foreign) -> str:
    bead = f" [{each['bead_id']}]" if each["bead_id"] else ""
    ours, theirs = endings.happening(each)
    return ours + (quotation(theirs) if theirs else "") + bead


def _moment(at: Foreign, now: int) -> str:
    """The time of day for an event of today, else the day."""
    moment = clock.text(clock.parse_or(str(at), now))
    return moment[11:19] if moment[:10] == clock.text(now)[:10] else f"{moment[5:10]}   "


def _left(each: Foreign, now: int) -> str:
    """The remaining time of a reservation, or its state if it is not active."""
    if each["state"] != "active":
        return f" {styling.state(each['state'])}"
    if each["expires_at"].is_none:
        return ""
    return f" {styling.span((clock.parse_or(str(each['expires_at']), now) - now) // clock.SECOND)}"
