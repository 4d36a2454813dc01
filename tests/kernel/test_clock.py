"""Moments and their written form, against the standard library's calendar."""

from __future__ import annotations

from calendar import monthrange
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bb.kernel import clock
from bb.kernel.clock import DAY, FIRST, HOUR, LAST, MINUTE, SECOND, NotATime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = 1_767_614_400_000  # 2026-01-05T12:00:00Z
MILLISECOND = timedelta(milliseconds=1)

moments = st.integers(FIRST, LAST)


def since_epoch(moment: datetime) -> int:
    """What the standard library makes of a moment."""
    return (moment - EPOCH) // MILLISECOND


def assert_same_as_the_standard_library(moment: datetime) -> None:
    written, count = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"), since_epoch(moment)
    assert clock.text(count) == written
    assert clock.parse(written) == count


def test_every_year_from_1_to_9999_is_counted_as_the_standard_library_counts_it():
    for year in range(1, 10_000):
        last_of_february = date(year, 3, 1).toordinal() - 1
        for day in (
            date(year, 1, 1),
            date(year, 2, 28),
            date.fromordinal(last_of_february),
            date(year, 3, 1),
            date(year, 12, 31),
        ):
            assert_same_as_the_standard_library(datetime(day.year, day.month, day.day, 23, 59, 58, 999_000, UTC))


@pytest.mark.parametrize("first", [1, 1896, 1999, 9996])
def test_every_day_around_a_leap_year_has_its_own_date(first: int):
    day, last = date(first, 1, 1), date(first + 3, 12, 31)
    while day < last:
        assert_same_as_the_standard_library(datetime(day.year, day.month, day.day, tzinfo=UTC))
        day += timedelta(1)


@given(moments)
def test_a_moment_is_read_back_from_its_written_form(moment: int):
    assert clock.parse(clock.text(moment)) == moment


@given(st.lists(moments))
def test_written_forms_sort_like_the_moments_themselves(some: list[int]):
    assert sorted(map(clock.text, some)) == list(map(clock.text, sorted(some)))


def test_time_begins_with_the_year_1_and_ends_with_the_year_9999():
    assert clock.text(FIRST) == "0001-01-01T00:00:00.000Z"
    assert clock.text(LAST) == "9999-12-31T23:59:59.999Z"
    assert clock.text(0) == "1970-01-01T00:00:00.000Z"
    assert clock.text(-1) == "1969-12-31T23:59:59.999Z"


def test_the_units_are_milliseconds():
    assert (SECOND, MINUTE, HOUR, DAY) == (1_000, 60_000, 3_600_000, 86_400_000)


# -- reading


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),
    st.integers(-(24 * 60 - 1), 24 * 60 - 1),
)
def test_any_offset_names_the_same_moment_as_in_the_standard_library(local: datetime, minutes: int):
    moment = local.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    assert clock.parse(moment.isoformat()) == since_epoch(moment)


@pytest.mark.parametrize(
    ("written", "same_as"),
    [
        ("2026-01-05T12:00:00Z", "2026-01-05T12:00:00.000Z"),
        ("2026-01-05t12:00:00z", "2026-01-05T12:00:00.000Z"),
        ("2026-01-05 12:00:00Z", "2026-01-05T12:00:00.000Z"),
        ("2026-01-05T12:00:00+00:00", "2026-01-05T12:00:00.000Z"),
        ("2026-01-05T12:00:00-00:00", "2026-01-05T12:00:00.000Z"),
        ("2026-01-05T14:30:00+02:30", "2026-01-05T12:00:00.000Z"),
        ("2026-01-05T09:30:00-02:30", "2026-01-05T12:00:00.000Z"),
        ("2026-01-06T11:59:00+23:59", "2026-01-05T12:00:00.000Z"),
        ("2026-01-01T00:00:00+00:01", "2025-12-31T23:59:00.000Z"),
        ("2026-01-05T12:00:00.5Z", "2026-01-05T12:00:00.500Z"),
        ("2026-01-05T12:00:00.07Z", "2026-01-05T12:00:00.070Z"),
        ("2026-01-05T12:00:00.123+01:00", "2026-01-05T11:00:00.123Z"),
    ],
)
def test_other_ways_to_write_a_time_are_understood(written: str, same_as: str):
    assert clock.text(clock.parse(written)) == same_as


@given(moments, st.text("0123456789", min_size=1, max_size=20))
def test_what_is_finer_than_a_millisecond_is_cut_off_and_never_rounded(moment: int, finer: str):
    written = clock.text(moment)
    assert clock.parse(written[:-1] + finer + "Z") == moment


@pytest.mark.parametrize(
    ("written", "next_minute"),
    [
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"),
        ("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000Z"),
        ("2016-02-29T23:59:60Z", "2016-03-01T00:00:00.000Z"),
    ],
)
def test_a_leap_second_counts_as_the_first_moment_of_the_next_minute(written: str, next_minute: str):
    assert clock.text(clock.parse(written)) == next_minute


MALFORMED = [
    "",
    " ",
    "Z",
    "now",
    "0",
    "1767614400",
    "2026",
    "2026-11-21",
    "2026-11-21T",
    "2026-11-21TZ",
    "2026-11-21T03Z",
    "2026-11-21T03:40Z",
    "2026-11-21T03:40:35",
    "2026-11-21T03:40:35.123",
    "2026-11-21T034035Z",
    "20261121T03:40:35Z",
    "2026-11-21T03:40:35ZZ",
    "2026-11-21T03:40:35Z ",
    " 2026-11-21T03:40:35Z",
    "2026-11-21T03:40:35Z\n",
    "2026-11-21T03:40:35 Z",
    "2026-11-21T03:40:35+0100",
    "2026-11-21T03:40:35+01",
    "2026-11-21T03:40:35+1:00",
    "2026-11-21T03:40:35+01:0",
    "2026-11-21T03:40:35+01-00",
    "2026-11-21T03:40:35*01:00",
    "2026-11-21T03:40:35+24:00",
    "2026-11-21T03:40:35+01:60",
    "2026-11-21T03:40:35Z+01:00",
    "2026-11-21T03:40:35++1:00",
    "2026-11-21T03:40:35UTC",
    "2026-11-21_03:40:35Z",
    "2026-11-21\t03:40:35Z",
    "2026-11-21  03:40:35Z",
    "2026/11/21T03:40:35Z",
    "2026-11/21T03:40:35Z",
    "2026-11-21T03.40.35Z",
    "2026-11-21T03:40.35Z",
    "2026-11-21T03:40:35:123Z",
    "26-11-21T03:40:35Z",
    "2026-1-21T03:40:35Z",
    "2026-11-1T03:40:35Z",
    "2026-11-21T3:40:35Z",
    "2026-11-21T03:40:5Z",
    "02026-11-21T03:40:35Z",
    "+2026-11-21T03:40:35Z",
    "-202-11-21T03:40:35Z",
    "2026-+1-21T03:40:35Z",
    "2026-11- 1T03:40:35Z",
    "2026-11-21T03:40: 5Z",
    "2026-11-21T0x:40:35Z",
    "2026-11-21T1_:40:35Z",
    "2026-11-21T03:40:35.Z",
    "2026-11-21T03:40:35.+01:00",
    "2026-11-21T03:40:35..5Z",
    "2026-11-21T03:40:35.5.Z",
    "2026-11-21T03:40:35.5.5Z",
    "2026-11-21T03:40:35.-5Z",
    "2026-11-21T03:40:35.5eZ",
    "2026-11-21T03:40:35,5Z",
    "２026-11-21T03:40:35Z",
    "2026-11-21T03:40:３5Z",
    "2026-11-21T03:40:35.５Z",
    "2026-11-21T03:40:35+０1:00",
    "2026-11-21T03:40:3²Z",
    "0000-01-01T00:00:00Z",
    "2026-00-21T03:40:35Z",
    "2026-13-21T03:40:35Z",
    "2026-11-00T03:40:35Z",
    "2026-11-31T03:40:35Z",
    "2026-01-32T03:40:35Z",
    "2025-02-29T03:40:35Z",
    "1900-02-29T03:40:35Z",
    "2000-02-30T03:40:35Z",
    "2026-11-21T24:00:00Z",
    "2026-11-21T23:60:00Z",
    "2026-11-21T23:59:61Z",
    "10000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "9999-12-31T23:59:60Z",
    "2026-11-21T03:40:35\x00Z",
    "\ud800026-11-21T03:40:35Z",
]


@pytest.mark.parametrize("written", MALFORMED)
def test_what_is_no_rfc_3339_time_is_refused(written: str):
    with pytest.raises(NotATime.error) as refusal:
        clock.parse(written)

    assert (refusal.value.code, refusal.value.exit_status) == ("INVALID_TIME", 2)
    assert repr(written) in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024])
@pytest.mark.parametrize("month", range(1, 13))
def test_a_month_ends_with_its_last_day(year: int, month: int):
    last = monthrange(year, month)[1]
    assert clock.text(clock.parse(f"{year}-{month:02}-{last}T00:00:00Z")).startswith(f"{year}-{month:02}-{last}T")
    with pytest.raises(NotATime.error):
        clock.parse(f"{year}-{month:02}-{last + 1}T00:00:00Z")


@given(st.text() | st.text("0123456789-:TZ.+ ", max_size=30))
def test_any_text_is_a_time_within_range_or_refused(text: str):
    with suppress(NotATime.error):
        assert FIRST <= clock.parse(text) <= LAST


@given(moments, st.integers(0, 23), st.sampled_from("0959-:TtZz.+ x½"))
def test_a_time_with_one_character_changed_is_refused_or_says_when_it_is(moment: int, place: int, other: str):
    written = clock.text(moment)
    changed = written[:place] + other + written[place + 1 :]
    try:
        read = clock.parse(changed)
    except NotATime.error:
        return
    # Whatever was understood was understood literally: the same digits stand where they stood.
    assert clock.text(read)[:19] == changed[:10] + "T" + changed[11:19] or changed[17:19] == "60"


def test_a_line_of_history_with_a_bad_time_counts_as_the_time_that_the_reader_says():
    assert clock.parse_or("yesterday", 7) == 7
    assert clock.parse_or("1970-01-01T00:00:00.009Z", 7) == 9


# -- ages


@pytest.mark.parametrize(
    ("age", "silence"),
    [
        ("0s", 0),
        ("1s", SECOND),
        ("90s", 90 * SECOND),
        ("15m", 15 * MINUTE),
        ("2h", 2 * HOUR),
        ("7d", 7 * DAY),
        ("007d", 7 * DAY),
        ("999999s", 999_999 * SECOND),
    ],
)
def test_an_age_is_counted_back_from_now(age: str, silence: int):
    assert clock.before(age, NOON) == NOON - silence


def test_where_an_age_may_stand_a_time_may_stand_too():
    assert clock.before("2026-01-05T13:00:00+02:00", 0) == NOON - HOUR


@pytest.mark.parametrize(
    "written",
    [
        "",
        "s",
        "m",
        "5",
        "5w",
        "5M",
        "5 m",
        " 5m",
        "5m ",
        "-5m",
        "+5m",
        "1.5h",
        "1h30m",
        "٣m",
        "²d",
        "1000000s",
        "2026-11",
    ],
)
def test_what_is_neither_a_time_nor_an_age_is_refused(written: str):
    with pytest.raises(NotATime.error) as refusal:
        clock.before(written, NOON)

    assert refusal.value.code == "INVALID_TIME"
    assert "age" in refusal.value.message
    assert "2h" in (refusal.value.hint or "")


def test_an_age_may_reach_back_to_the_beginning_of_time():
    assert clock.before("1s", FIRST + SECOND) == FIRST
    with pytest.raises(NotATime.error):
        clock.before("1s", FIRST + SECOND - 1)


@given(st.integers(0, 999_999), st.sampled_from("smhd"), moments)
@example(999_999, "d", NOON)
def test_no_age_reaches_beyond_the_beginning_of_time(amount: int, unit: str, now: int):
    # A moment outside the years 1 to 9999 has no written form that sorts.
    with suppress(NotATime.error):
        assert clock.before(f"{amount}{unit}", now) >= FIRST
