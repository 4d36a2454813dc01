"""Validation of RFC 3339 date-times (Section 5.6), field by field. They are not converted."""

from __future__ import annotations

import re

DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]"
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-]([0-9]{2}):([0-9]{2}))\Z"
)
DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
LEAP_SECOND = 60
LONGEST = 64  # characters; limits the digits of a fraction of a second


def is_date_time(written: str) -> bool:
    """Whether a text is an existing date and time. The second may be a leap second."""
    match = DATE_TIME.match(written) if len(written) <= LONGEST else None
    if match is None:
        return False
    year, month, day, hour, minute, second, *offset = (int(field or 0) for field in match.groups())
    if not (1 <= month <= 12 and 1 <= day <= _days(year, month)):
        return False
    return hour < 24 and minute < 60 and second <= LEAP_SECOND and offset[0] < 24 and offset[1] < 60


def _days(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else DAYS[month - 1]
