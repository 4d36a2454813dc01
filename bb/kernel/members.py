"""The reader of JSON objects that come from outside: each member by its type, or a refusal with the member's path.

Requests are untrusted, so any JSON value may stand in any member. A null counts as absent. A value of the wrong type is
refused and never converted. A `Form` says how one kind of request names paths and words its refusals.
"""

from __future__ import annotations

from bb.kernel import clock
from bb.kernel.escaping import has_control
from bb.kernel.record import Record
from bb.kernel.validation import is_unicode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Self

    from bb.kernel.errors import BbError

# What can be wrong with a member, and how most refusals put it.
MISSING, OBJECT, LIST, MANY = "missing", "object", "list", "many"
TEXT, UNICODE, LONG = "text", "unicode", "long"
UNFILLED, BLANK, ONE_OF, NUMBER, FLAG, TIME = "unfilled", "blank", "one_of", "number", "flag", "time"
REASONS = {
    MISSING: "is missing",
    OBJECT: "must be an object",
    LIST: "must be a list",
    MANY: "has more than {most} items",
    TEXT: "must be a string",
    UNICODE: "must be a string",
    LONG: "is longer than {most:,} characters",
    UNFILLED: "must be a string that is not blank",
    BLANK: "must be a string that is not blank",
    ONE_OF: "must be one of {known}",
    NUMBER: "must be a whole number of at least 0",
    FLAG: "must be true or false",
    TIME: "must be an RFC 3339 time",
}


def json_path(path: str, name: str | int) -> str:
    """The path of a member, or of an element of a list: `$.a.b[0]`."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f'{path}["{name}"]' if "." in name else f"{path}.{name}"


def json_pointer(path: str, name: str | int) -> str:
    """The path of a member, or of an element of a list: `/a/b/0`."""
    return f"{path}/{name}"


class Form(Record):
    """How one kind of request is read. REFUSE makes a refusal of a reason and a path."""

    refuse: Callable[[str, str], BbError]
    reasons: Mapping[str, str] = REASONS
    step: Callable[[str, str | int], str] = staticmethod(json_path)
    absent: tuple[Any, ...] = (None,)  # the values of a text or a choice that count as absent
    least: int | None = 0  # the limits of a number
    most: int | None = None
    allows_surrogates: bool = False  # whether half a surrogate pair is refused later


class Members:
    """The members of a JSON object, or the elements of a list, whose names are their places."""

    __slots__ = ("form", "path", "value")

    def __init__(self, value: Any, form: Form, path: str) -> None:
        self.form, self.path = form, path
        if not isinstance(value, dict):
            raise form.refuse(form.reasons[OBJECT], path)
        self.value: Mapping[Any, Any] = value

    def __contains__(self, name: str | int) -> bool:
        return self.value.get(name) is not None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def at(self, name: str | int) -> str:
        """The path of the member NAME."""
        return self.form.step(self.path, name)

    def wrong(self, name: str | int, reason: str) -> BbError:
        """The refusal of the member NAME for this REASON."""
        return self.form.refuse(reason, self.at(name))

    def object(self, name: str | int, *, is_needed: bool = False) -> Self:
        """An object; empty if it is absent."""
        value = self._present(name, is_needed=is_needed)
        return type(self)({} if value is None else value, self.form, self.at(name))

    def items(self, name: str | int, most: int | None = None) -> Self:
        """The elements of a list by their places; none if it is absent."""
        value = self._present(name)
        if value is not None and not isinstance(value, list | tuple):
            raise self._refusal(name, LIST)
        if value and most is not None and len(value) > most:
            raise self._refusal(name, MANY, length=len(value), most=most)
        return type(self)(dict(enumerate(value or ())), self.form, self.at(name))

    def objects(self, name: str | int, most: int | None = None) -> list[Self]:
        """The elements of a list of objects; none if it is absent."""
        listed = self.items(name, most)
        return [listed.element(at) for at in listed]

    def element(self, at: int) -> Self:
        """The element AT of a list, which must be an object."""
        return type(self)(self.value[at], self.form, self.at(at))

    def text(self, name: str | int, longest: int | None = None, *, is_needed: bool = False) -> str:
        """A text; empty if it is absent."""
        value = self._present(name, self.form.absent, is_needed=is_needed)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self._refusal(name, TEXT)
        if not (self.form.allows_surrogates or is_unicode(value)):
            raise self._refusal(name, UNICODE)
        if longest is not None and len(value) > longest:
            raise self._refusal(name, LONG, length=len(value), most=longest)
        return value

    def filled(self, name: str | int, longest: int | None = None) -> str:
        """A required text that is not blank."""
        value = self.value.get(name)
        if not isinstance(value, str):
            raise self._refusal(name, UNFILLED)
        if not value.strip():
            raise self._refusal(name, BLANK)
        return self.text(name, longest)

    def line(self, name: str | int, longest: int, *, is_needed: bool = False) -> str:
        """A text on one line that is not blank, such as an id; empty if it is absent."""
        text = self.text(name, longest, is_needed=is_needed)
        if text and (not text.strip() or has_control(text)):
            raise self._refusal(name, BLANK)
        return text

    def one_of(self, name: str | int, known: Sequence[str], otherwise: str = "") -> str:
        """One of the words KNOWN. It is required, unless there is a word for it if it is absent."""
        return self.maybe_one_of(name, known, is_needed=not otherwise) or otherwise

    def maybe_one_of(self, name: str | int, known: Sequence[str], *, is_needed: bool = False) -> str | None:
        value = self._present(name, self.form.absent, is_needed=is_needed)
        if value is None:
            return None
        if not isinstance(value, str) or value not in known:
            raise self._refusal(name, ONE_OF, known=", ".join(known))
        return value

    def number(self, name: str | int, *, is_needed: bool = False) -> int | None:
        value, least, most = self._present(name, is_needed=is_needed), self.form.least, self.form.most
        if value is None:
            return None
        if type(value) is not int or (least is not None and value < least) or (most is not None and value > most):
            raise self._refusal(name, NUMBER)
        return value

    def flag(self, name: str | int, *, otherwise: bool = False) -> bool:
        value = self.maybe_flag(name)
        return otherwise if value is None else value

    def maybe_flag(self, name: str | int) -> bool | None:
        value = self._present(name)
        if value is None or type(value) is bool:
            return value
        raise self._refusal(name, FLAG)

    def time(self, name: str | int, parse: Callable[[str], int] = clock.parse) -> int | None:
        """An RFC 3339 time, in milliseconds."""
        value = self._present(name)
        if value is None:
            return None
        try:
            if isinstance(value, str):
                return parse(value)
        except clock.NotATime.error:
            pass
        raise self._refusal(name, TIME)

    def _present(self, name: str | int, absent: tuple[Any, ...] = (None,), *, is_needed: bool = False) -> Any:
        """The value of the member NAME; None if it is absent."""
        value = self.value.get(name)
        if value not in absent:
            return value
        if is_needed:
            raise self._refusal(name, MISSING)
        return None

    def _refusal(self, name: str | int, what: str, **limits: Any) -> BbError:
        return self.wrong(name, self.form.reasons[what].format(**limits))
