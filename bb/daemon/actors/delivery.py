"""Types messages into an actor's terminal: the text, the keys, and the time.

A terminal program acts on its input, and messages come from other people's agents. Therefore only text, line ends and
tabs of a message reach the terminal; other characters are written as escapes (`\\x1b`). Lines that begin with
`[bb]` come from bb: such a line in a message is quoted.

A program is ready when it has printed something and then been silent for QUIET, or PATIENCE after its start. From then
on, messages are typed even while it works, because such programs buffer their input. Nothing is typed while the screen
seems to show a dialog (`asks`): the text would choose an entry and Enter would confirm it, and that is the person's
decision.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bb.kernel.clock import SECOND
from bb.kernel.escaping import LINE_ENDS, harmless, is_shown, name, quotation, quoted
from bb.kernel.foreign import Foreign, letters
from bb.kernel.record import Record

MARK, LETTERS = "[bb]", "bb"
ACK, NOTICE_ACK = "bb chat ack", "bb chat notify-ack"
MOST_CHARS = 32_000  # of one message; the rest is in the inbox
MOST_TOGETHER = 64_000  # characters of several messages typed at once
MOST_WAITING = 500  # messages; older ones stay in the inbox only
MOST_REMEMBERED = 1000  # ids of messages that were typed
QUOTE, LINE = 100, 300  # characters of a quotation, and of any other single line
SEVERAL = 20  # listed attachments or references

QUIET, PATIENCE = 500, 10 * SECOND
ENTER_AFTER_TYPING, ENTER_AFTER_PASTING = 300, 1500  # programs that still process the text ignore the key
GAP = 2 * SECOND  # between two deliveries, so that the first is submitted before the second
RETRY = SECOND

PASTE_BEGINS, PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
KEYS = {"enter": b"\r", "newline": b"\n", "none": b""}
END_OF_LINE, TAB = " ⏎ ", "    "  # used where Enter would submit and Tab would complete


# -- text


def rendered(event: Mapping[str, Any]) -> str:
    """The text to type for a recorded message or notice."""
    foreign_event = Foreign(event)
    data = foreign_event.get("data")
    if foreign_event.get("kind") == "system.notify":
        lines, body = _notice(foreign_event, data), data.get("message")
    else:
        lines, body = _message(foreign_event, data), data.get("text")
    head = [f"{MARK} {line}" for line in lines]
    return "\n".join([*head, *_body(body)])


def _message(event: Foreign, data: Foreign) -> Iterator[str]:
    to = [name(recipient) for recipient in map(_line, _list(data, "to")) if recipient]
    others = f" and {len(to) - SEVERAL} more" if len(to) > SEVERAL else ""
    whom = ", ".join(to[:SEVERAL]) or "@all"
    doubt = ", unverified," if event.get("signature") else ""
    by = name(_line(event.get("by")) or "?")
    yield f"message {name(_line(event.get('id')))} from {by}{doubt} to {whom}{others}"
    if data.get("priority") == "attention":
        yield f"IMPORTANT: the sender waits for your acknowledgement: {_with_id(ACK, event)}"
    if origin := _line(data.get("src_event_id")):
        yield f"forwarded: message {name(origin)} of group {name(_line(data.get('src_group_id')))}"
    if original := _line(data.get("reply_to")):
        quote = _line(data.get("quote_text"), QUOTE)
        yield f"in reply to {name(original)}" + (f": {quotation(quote, len(quote))}" if quote else "")
    yield from _listed("attachment", _list(data, "attachments"))
    yield from _listed("reference", _list(data, "refs"))


def _notice(event: Foreign, data: Foreign) -> Iterator[str]:
    title, urgency = _line(data.get("title")), data.get("priority")
    kind = name(_line(data.get("kind")) or "info")
    yield f"notice {name(_line(event.get('id')))}, {kind}" + (f": {quotation(title, len(title))}" if title else "")
    if urgency in ("high", "urgent"):
        yield f"IMPORTANT: this is {urgency}"
    if data.get("requires_ack").is_true:
        yield f"IMPORTANT: confirm that you have seen it: {_with_id(NOTICE_ACK, event)}"


def _with_id(command: str, event: Foreign) -> str:
    return f"{command} {quoted(_line(event.get('id')))}"


def _listed(what: str, things: list[Foreign]) -> Iterator[str]:
    for thing in things[:SEVERAL]:
        if thing.is_mapping:
            yield f"{what}: {_described(thing)}"
    if len(things) > SEVERAL:
        yield f"and {len(things) - SEVERAL} more {what}s"


def _described(thing: Foreign) -> str:
    """The location of an attachment or reference, with its title, type and size."""
    members = ("path", "url", "task_id", "slot_id", "sha")
    where = next((name(_line(thing[member])) for member in members if thing.get(member)), "?")
    size = thing.get("bytes")
    more = [name(text) for member in ("title", "mime_type") if (text := _line(thing.get(member)))]
    if size.is_number:
        more.append(f"{size} bytes")
    return ", ".join([where, *filter(None, more)])


def _body(said: Foreign) -> Iterator[str]:
    text = str(said.raw()) if said.is_text else ""
    kept = escape_controls(text[:MOST_CHARS]).strip("\n")
    for line in kept.split("\n") if kept else []:
        yield f"> {line}" if _looks_ours(line) else line
    if len(text) > MOST_CHARS:
        yield f"{MARK} {len(text) - MOST_CHARS} more characters of this message are in your inbox"


def _looks_ours(line: str) -> bool:
    """Whether LINE could be mistaken for a line of bb. Only its letters and digits count, in any Unicode form."""
    start = "".join(character for character in unicodedata.normalize("NFKC", line[:200]) if character.isalnum())
    return line.lstrip().startswith(MARK) or (start[:2].casefold() == LETTERS and not line[:1].isalnum())


def _list(data: Foreign, member: str) -> list[Foreign]:
    value = data.get(member)
    return list(value) if value.is_list else []


def _line(value: Foreign, most: int = LINE) -> str:
    """A value as one line of text."""
    text = value.folded(4 * most) if value.is_text else Foreign("")
    return letters(text) if len(text) <= most else f"{letters(text[: most - 1])}…"


def escape_controls(text: str) -> str:
    """TEXT with control characters and misleading characters written as escapes."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(character if _may_be_typed(character) else harmless(character) for character in text)


def _may_be_typed(character: str) -> bool:
    is_space = character.isspace() and character >= "\xa0"  # such as one that does not break a line
    return is_shown(character) or character in "\n\t" or (is_space and character not in LINE_ENDS)


# -- keys


def keystrokes(text: str, submit: str, bracketed: bool) -> list[tuple[int, bytes]]:
    """The keys for TEXT, in steps: milliseconds to wait after the previous step, and the bytes to write.

    A program without bracketed paste mode takes a line end for the end of the message, so line ends are replaced.
    """
    text, key = escape_controls(text), KEYS.get(submit, KEYS["enter"])
    if bracketed:
        steps = [(0, PASTE_BEGINS + text.encode() + PASTE_ENDS)]
        return [*steps, (ENTER_AFTER_PASTING, key)] if key else steps
    octets = text.strip("\n").replace("\n", END_OF_LINE).replace("\t", TAB).encode()
    if key == KEYS["enter"]:
        return [(0, octets), (ENTER_AFTER_TYPING, key)]
    return [(0, octets + key)]


# -- time

CURSOR = re.compile(r"[\s│┃|]*[❯›▸▶➤>●]")
CHOSEN = re.compile(r"[\s│┃|]*[❯›▸▶➤>●]\s*(\d{1,2})[.)]\s")
CHOICE = re.compile(r"[\s│┃|]*(\d{1,2})[.)]\s")
QUESTION = re.compile(
    r"(?:[(\[](?:y/n|yes/no)(?:/[^)]{1,20})?[)\]]"
    r"|\bpress (?:enter|return|any key)(?: to \w+)?"
    r"|\bpass(?:word|phrase)\b.{0,80}:)[\s.:?>…]*$",
    re.IGNORECASE,
)
IN_SIGHT, NEARBY = 15, 4  # lines


def shows_dialog(shown: str) -> bool:
    """Whether the last lines SHOWN look like a dialog: a numbered list with a cursor, or a question at the end.

    If an input line with the cursor follows the list, the list is ordinary output.
    """
    lines = [line for line in shown.split("\n") if line.strip()][-IN_SIGHT:]
    if lines and QUESTION.search(lines[-1][-200:]):
        return True
    at = max((number for number, line in enumerate(lines) if CURSOR.match(line)), default=None)
    if at is None or not (chosen := CHOSEN.match(lines[at])):
        return False
    around = lines[max(at - NEARBY, 0) : at] + lines[at + 1 : at + 1 + NEARBY]
    others = {int(match[1]) for line in around if (match := CHOICE.match(line))}
    return bool(others & {int(chosen[1]) - 1, int(chosen[1]) + 1})


class Delivery(Record):
    """One delivery: the MESSAGES as (id, text), and the TEXT to type for all of them."""

    messages: tuple[tuple[str, str], ...]
    text: str
    introduces: bool = False

    @property
    def ids(self) -> list[str]:
        """The ids of the messages, oldest first."""
        return [event for event, _ in self.messages]


class Queue:
    """The messages to type to one actor. Each is typed once."""

    def __init__(self, started: int, *, min_interval_seconds: int = 0, preamble: str = "") -> None:
        self.min_interval_seconds = min_interval_seconds
        self.preamble = preamble  # typed before the first message
        self._waiting: dict[str, str] = {}
        self._taken: dict[str, None] = {}
        self._left_out = 0
        self._last: int | None = None
        self.restarted(started)

    def restarted(self, now: int) -> None:
        """The program was started: wait until it is ready, and type the preamble again."""
        self._started = now
        self._heard: int | None = None
        self._is_ready = self._is_introduced = self._is_held = False
        self._not_before = now

    def heard(self, now: int) -> None:
        """The program has printed something."""
        self._is_ready = self._is_ready or now >= self._ready_at()
        self._heard = now
        if self._is_held:  # the dialog may be closed; check again when the output is complete
            self._is_held = False
            self._not_before = now + QUIET

    def add(self, event: str, text: str) -> bool:
        """Queue the message EVENT, unless it is queued or was typed; whether it is new."""
        if event in self._waiting or event in self._taken:
            return False
        self._waiting[event] = text
        if len(self._waiting) > MOST_WAITING:
            self._remember(next(iter(self._waiting)))
            self._left_out += 1
        return True

    def leave_out(self, count: int) -> None:
        """Count messages that are not typed. The next delivery mentions the number."""
        self._left_out += count

    def withdraw(self, event: str) -> bool:
        """Remove EVENT, because it was read; whether it was still queued."""
        return self._waiting.pop(event, None) is not None

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, event: str) -> bool:
        return event in self._waiting

    @property
    def is_held(self) -> bool:
        """Whether messages wait because of a dialog."""
        return self._is_held and bool(self._waiting)

    def next_at(self, now: int) -> int | None:
        """The next time to call `take`. None if the queue is empty, or waits for the program's next output."""
        if not self._waiting or self._is_held:
            return None
        gap = max(self.min_interval_seconds * SECOND, GAP)
        again = now if self._last is None else self._last + gap
        return max(now, again, self._not_before, self._started if self._is_ready else self._ready_at())

    def take(self, now: int, shown: Callable[[], str]) -> Delivery | None:
        """The delivery to type NOW, if any. SHOWN returns the end of the terminal's output.

        Its messages count as delivered from now on. Typing one twice would be worse than losing it, since the inbox
        still has it.
        """
        at = self.next_at(now)
        if at is None or at > now:
            return None
        self._is_ready = True
        if shows_dialog(shown()):
            self._is_held = True
            return None
        return self._given(now, not self._is_introduced)

    def put_back(self, delivery: Delivery, now: int) -> None:
        """Queue a delivery again, first in line, after its first step could not be written."""
        for event in delivery.ids:
            self._taken.pop(event, None)
        self._waiting = {**dict(delivery.messages), **self._waiting}
        self._is_introduced = self._is_introduced and not delivery.introduces
        self._not_before = now + RETRY

    def _given(self, now: int, introduces: bool) -> Delivery:
        texts = [escape_controls(self.preamble)] if introduces and self.preamble else []
        if self._left_out:
            texts.append(f"{MARK} {self._left_out} earlier messages were not typed here; they are in your inbox")
        messages: list[tuple[str, str]] = []
        for event, text in self._waiting.items():
            if messages and sum(len(earlier) for earlier in texts) + len(text) > MOST_TOGETHER:
                break
            messages.append((event, text))
            texts.append(text)
        for event, _ in messages:
            self._remember(event)
        self._is_introduced, self._left_out, self._last = True, 0, now
        return Delivery(tuple(messages), "\n\n".join(texts), introduces)

    def _remember(self, event: str) -> None:
        del self._waiting[event]
        self._taken[event] = None
        if len(self._taken) > MOST_REMEMBERED:
            del self._taken[next(iter(self._taken))]

    def _ready_at(self) -> int:
        latest = self._started + PATIENCE
        return latest if self._heard is None else min(self._heard + QUIET, latest)
