"""Times as whole milliseconds since 1970, UTC, and their one text form: `2026-11-21T03:40:35.123Z`.

An integer needs no import, can be sorted and subtracted, and is exact in JSON. Because the text form is fixed, texts
sort like the times themselves.
"""

from __future__ import annotations

from bb.kernel.errors import Usage

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999
MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

NotATime = Usage.declare("INVALID_TIME", "That is not a valid time", hint="write it like 2026-11-21T03:40:35Z")


def text(moment: int) -> str:
    """MOMENT as RFC 3339 in UTC with milliseconds."""
    days, rest = divmod(moment, DAY)
    year, month, day = _date(days)
    seconds, ms = divmod(rest, SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"


def parse(written: str) -> int:
    """The time in an RFC 3339 text, with any offset. Fractions of a millisecond are cut off."""
    try:
        return _parse(written)
    except (ValueError, IndexError):
        raise NotATime(f"{written!r} is not an RFC 3339 time") from None


def before(written: str, now: int) -> int:
    """A time given as RFC 3339, or as an age such as `90s`, `15m`, `2h`, `7d` before NOW."""
    amount, unit = written[:-1], written[-1:]
    if unit in UNITS and _is_number(amount) and len(amount) <= 6:
        moment = now - int(amount) * UNITS[unit]
        if moment < FIRST:
            raise NotATime(f"{written!r} ago is before the year 1")
        return moment
    try:
        return parse(written)
    except NotATime.error:
        hint = "for example 2026-11-21T03:40:35Z or 2h"
        raise NotATime(f"{written!r} is neither a time nor an age", hint=hint) from None


def _parse(written: str) -> int:
    clock, offset = _split_offset(written[11:])
    hms, _, fraction = clock.partition(".")
    if len(hms) != 8 or written[4] + written[7] + hms[2] + hms[5] != "--::" or written[10] not in "Tt ":
        raise ValueError
    year, month, day = _digits(written[:4]), _digits(written[5:7]), _digits(written[8:10])
    hour, minute, second = _digits(hms[:2]), _digits(hms[3:5]), _digits(hms[6:8])
    if clock.endswith(".") or (fraction and not _is_number(fraction)):
        raise ValueError
    # RFC 3339 allows a leap second. It counts as the first second of the next minute.
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= _month_length(year, month)):
        raise ValueError
    if not (hour < 24 and minute < 60 and second <= 60):
        raise ValueError
    ms = int((fraction + "000")[:3]) if fraction else 0
    moment = _days(year, month, day) * DAY + hour * HOUR + (minute - offset) * MINUTE + second * SECOND + ms
    if not FIRST <= moment <= LAST:  # its year would need a fifth digit, and texts would not sort correctly
        raise ValueError
    return moment


def _split_offset(rest: str) -> tuple[str, int]:
    """The time of day, and the offset of its zone from UTC in minutes."""
    if rest[-1] in "Zz":
        return rest[:-1], 0
    sign, hours, colon, minutes = rest[-6], _digits(rest[-5:-3]), rest[-3], _digits(rest[-2:])
    if sign not in "+-" or colon != ":" or hours > 23 or minutes > 59:
        raise ValueError
    offset = hours * 60 + minutes
    return rest[:-6], -offset if sign == "-" else offset


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _digits(text: str) -> int:
    if not _is_number(text):
        raise ValueError
    return int(text)


def _month_length(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else MONTH_LENGTHS[month - 1]


# Both functions count years from March, so that a leap day is the last day of a year, and in eras of 400 years, which
# all have 146 097 days.


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _date(days: int) -> tuple[int, int, int]:
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    return (
        year + era * 400 + (month >= 10),
        month + 3 if month < 10 else month - 9,
        of_year - (153 * month + 2) // 5 + 1,
    )


def parse_or(written: str, otherwise: int) -> int:
    """The time in a recorded line, or OTHERWISE if it is not valid: recorded lines are read tolerantly."""
    try:
        return parse(written)
    except NotATime.error:
        return otherwise
