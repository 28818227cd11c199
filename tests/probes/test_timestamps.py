from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.measures.time_notations import Notation, rows_sorted_wrong, written_time
from memaudit.model import Severity
from memaudit.probes.timestamps import PROBE, judged, time_column
from tests.probes.builders import codes, make_context, only

ROLES = {"text": "content", "time": "created_at"}
MAY_1_10H = datetime(2026, 5, 1, 10, tzinfo=timezone.utc)
NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
LIMITS = {"wrong_order_share": 0.05, "broken_share": 0.05, "missing_share": 0.2}


def context(times: Any) -> Any:
    rows = [{"id": i + 1, "content": f"记忆 note {i}", "created_at": t} for i, t in enumerate(times)]
    return make_context(rows, roles=ROLES)


def iso(day: int, zone: str = "+00:00", hour: int = 10) -> str:
    return f"2026-05-{day:02d}T{hour:02d}:00:00{zone}"


@pytest.mark.parametrize(
    ("value", "notation", "moment"),
    [
        ("2026-05-01T10:00:00Z", Notation.ISO_UTC, MAY_1_10H),
        ("2026-05-01T10:00:00.000+00:00", Notation.ISO_UTC, MAY_1_10H),
        ("2026-05-01 10:00:00 UTC", Notation.ISO_UTC, MAY_1_10H),
        ("20260501T100000Z", Notation.ISO_UTC, MAY_1_10H),
        ("2026-05-01T18:00:00+08:00", Notation.ISO_WITH_OFFSET, MAY_1_10H),
        ("2026-05-01T18:00:00+0800", Notation.ISO_WITH_OFFSET, MAY_1_10H),
        ("2026-05-01T05:00-05", Notation.ISO_WITH_OFFSET, MAY_1_10H),
        ("2026-05-01T18:00:00+08:00[Asia/Shanghai]", Notation.ISO_WITH_OFFSET, MAY_1_10H),
        ("2026-05-01 10:00:00", Notation.ISO_WITHOUT_ZONE, MAY_1_10H),
        ("2026-05-01", Notation.ISO_WITHOUT_ZONE, MAY_1_10H.replace(hour=0)),
        (1777629600, Notation.EPOCH_SECONDS, MAY_1_10H),
        (1777629600.0, Notation.EPOCH_SECONDS, MAY_1_10H),
        ("1777629600", Notation.EPOCH_SECONDS, MAY_1_10H),
        (1777629600000, Notation.EPOCH_MILLISECONDS, MAY_1_10H),
        (1777629600000000, Notation.EPOCH_FINER, MAY_1_10H),
        (0, Notation.EPOCH_SECONDS, datetime(1970, 1, 1, tzinfo=timezone.utc)),
        ("2026/05/01 10:00", Notation.LOCAL, MAY_1_10H),
        ("2026年5月1日 10:00", Notation.LOCAL, MAY_1_10H),
        ("2026年5月1日 上午10时00分", Notation.LOCAL, MAY_1_10H),
        ("01.05.2026 10:00", Notation.LOCAL, MAY_1_10H),
        ("13/05/2026", Notation.LOCAL, datetime(2026, 5, 13, tzinfo=timezone.utc)),
        ("05/04/2026 10:00", Notation.LOCAL, None),  # two days are possible
        ("May 1, 2026 10:00 AM", Notation.LOCAL, MAY_1_10H),
        ("1 May 2026 10:00", Notation.LOCAL, MAY_1_10H),
        ("Fri, 01 May 2026 10:00:00 +0000", Notation.LOCAL, MAY_1_10H),
        ("Fri May  1 10:00:00 2026", Notation.LOCAL, MAY_1_10H),
        ("20260501100000", Notation.LOCAL, MAY_1_10H),
        (20260501, Notation.LOCAL, MAY_1_10H.replace(hour=0)),
        ("yesterday", Notation.UNPARSEABLE, None),
        ("昨天", Notation.UNPARSEABLE, None),
        ("2026-13-45T10:00:00Z", Notation.UNPARSEABLE, None),
        (float("inf"), Notation.UNPARSEABLE, None),
        (None, Notation.EMPTY, None),
        ("  ", Notation.EMPTY, None),
        ("null", Notation.EMPTY, None),
    ],
)
def test_notation_when_written_in_a_way_then_named_and_read(value: Any, notation: Notation, moment: Any) -> None:
    read = written_time(value)
    assert (read.notation, read.moment) == (notation, moment)


def test_column_when_five_notations_are_mixed_then_high_with_every_count() -> None:
    times = [
        *[iso(d) for d in range(1, 11)],
        *[iso(d, "+08:00") for d in range(1, 5)],
        *[f"2026-05-{d:02d} 10:00:00" for d in range(1, 4)],
        *[1777629600 + 86_400 * d for d in range(6)],
        *[1777629600000 + 86_400_000 * d for d in range(2)],
        "2026年5月3日",
        "yesterday",
        None,
        "",
        "1970-01-21T13:47:09+00:00",
        "2199-01-01T00:00:00+00:00",
    ]
    finding = only(PROBE.run(context(times)), "MA008")
    wanted = {
        "rows": 31, "iso_utc": 12, "iso_with_offset": 4, "iso_without_zone": 3, "epoch_seconds": 6,
        "epoch_milliseconds": 2, "other_local_format": 1, "unparseable": 1, "empty_or_null": 2, "before_1971": 1,
        "in_the_future": 1,
    }  # fmt: skip
    assert {k: finding.figures[k] for k in wanted} == wanted
    assert finding.severity is Severity.HIGH
    assert finding.subject == {"table": "memories", "column": "created_at"}


def test_order_when_epochs_stand_beside_texts_then_counted_by_hand() -> None:
    # Sorted as stored: the number (3 May), then the texts of 1, 2 and 4 May. Taking the number out is enough.
    stored = [iso(1), iso(2), 1777802400, iso(4)]
    moments = [written_time(v).moment for v in stored]
    assert rows_sorted_wrong(stored, moments) == 1
    assert rows_sorted_wrong([], []) == 0


def test_order_when_offsets_differ_then_texts_sort_wrong() -> None:
    # 01:00 at +08:00 is 17:00 UTC of the day before, and sorts behind 18:00 UTC of that day: both in order.
    # 09:00 at +08:00 is 01:00 UTC, and sorts behind 02:00 UTC of the same day: one row to move.
    stored = [iso(2, "+00:00", 2), iso(2, "+08:00", 9)]
    assert rows_sorted_wrong(stored, [written_time(v).moment for v in stored]) == 1


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([iso(d) for d in range(1, 21)], None),
        ([iso(d, "Z") for d in range(1, 11)] + [iso(d) for d in range(11, 21)], None),  # Z and +00:00
        ([iso(d, "+08:00") for d in range(1, 21)], None),
        ([f"2026-05-{d:02d}" for d in range(1, 11)] + [f"2026-05-{d:02d} 08:30:00" for d in range(11, 21)], None),
        ([iso(d) for d in range(1, 21)] + [None, ""], None),  # 9 % missing
        ([iso(d) for d in range(1, 9)] + [None, ""], Severity.LOW),  # 20 % missing
        ([1777629600 + d for d in range(20)], None),
        ([1777629600.5 + d for d in range(20)], None),
        ([None] * 10, None),
        ([], None),
        (["yesterday"] * 10, None),  # no readable time at all: the column is no time
        ([iso(d) for d in range(1, 29)] + ["soon"], Severity.LOW),
        ([iso(d) for d in range(1, 10)] + ["soon"], Severity.MEDIUM),
        ([iso(d) for d in range(1, 21)] + [0], Severity.MEDIUM),  # in order, but another notation
        ([iso(d) for d in range(1, 21)] * 10 + [0], Severity.LOW),  # one row of 201, in order
        ([iso(d) for d in range(1, 11)] + [1777629600 + d for d in range(10)], Severity.HIGH),
    ],
)
def test_judgement_when_a_column_is_given_then_as_expected(times: list[Any], expected: Severity | None) -> None:
    assert judged(time_column(times, NOW), **LIMITS) is expected


def test_future_when_within_a_day_then_silent() -> None:
    times = [(NOW + timedelta(hours=h)).isoformat() for h in (-50, -2, 23)]
    assert time_column(times, NOW).in_the_future == ()
    assert time_column([(NOW + timedelta(hours=25)).isoformat()], NOW).in_the_future == (0,)


def test_probe_when_one_notation_then_no_finding_and_no_section() -> None:
    result = PROBE.run(context([iso(d) for d in range(1, 29)]))
    assert codes(result) == []
    assert result.sections == ()


@given(st.lists(st.integers(min_value=1_000_000_000, max_value=1_900_000_000)))
def test_order_when_one_notation_then_nothing_is_sorted_wrong(epochs: list[int]) -> None:
    found = time_column([datetime.fromtimestamp(e, timezone.utc).isoformat() for e in epochs], NOW)
    assert found.sorted_wrong == 0
    assert sum(found.counts.values()) == len(epochs)


@given(st.one_of(st.text(), st.floats(), st.integers(), st.binary()))
def test_notation_when_anything_is_stored_then_never_fails(value: Any) -> None:
    read = written_time(value)
    assert read.moment is None or read.moment.tzinfo is not None
