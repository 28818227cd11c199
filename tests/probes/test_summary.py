from typing import Any

import pytest

from memaudit.model import Severity
from memaudit.probes.summary import PROBE


@pytest.fixture
def mixed(make_context: Any, with_cosine: Any) -> Any:
    # Two directions: rows 0-2 around the first axis (cosines 1, .99, .92 to row 0), row 3 apart.
    near = with_cosine([1.0, 0.99, 0.92], dim=16)
    apart = with_cosine([1.0], dim=16, start=10)
    return make_context(
        {
            "id": [10, 11, 12, 13],
            "content": ["读取失败", "读取失败两次", "read failed", "周报"],
            "value": ["file", "file", "io", None],
            "at": ["2026-05-02T00:00:00+00:00", "2026-05-01", "soon", "2026-05-03T08:00:00+08:00"],
            "embedding": [*near, *apart],
        },
        time="at",
        value_field="value",
    )


def test_summary_when_store_is_mixed_then_counts_rows_values_clusters_and_span(mixed: Any, found: Any) -> None:
    result = PROBE.run(mixed)
    summary = found(result, "MA002")
    # .98: {0, 1}, {2}, {3}; .95 the same; .9 and .85: {0, 1, 2}, {3}
    assert summary.figures["clusters@0.98"] == 3
    assert summary.figures["clusters@0.95"] == 3
    assert summary.figures["clusters@0.9"] == 2
    assert summary.figures["clusters@0.85"] == 2
    assert summary.figures["rows"] == 4
    assert summary.figures["distinct_values"] == 2
    # 2026-05-03T08:00+08:00 is 2026-05-03T00:00 UTC, the latest; the day alone is the earliest.
    assert (summary.figures["first_time"], summary.figures["last_time"]) == ("2026-05-01", "2026-05-03T08:00:00+08:00")
    assert summary.severity is Severity.INFO
    assert "1 of 4" in summary.caveat  # the time that could not be read
    assert result.figures["clusters@0.95"] == 3


def test_value_counts_when_a_value_is_null_then_it_is_no_value(mixed: Any, found: Any) -> None:
    values = found(PROBE.run(mixed), "MA009")
    assert values.figures == {
        "distinct": 2,
        "rows": 4,
        "null_rows": 1,
        "rows_of_largest_value": 2,
        "values_of_one_row": 1,
    }
    assert values.subject == {"table": "memories", "column": "value"}


def test_value_counts_when_no_field_is_named_then_says_so(make_context: Any, found: Any, with_cosine: Any) -> None:
    result = PROBE.run(make_context({"content": ["a", "b"], "embedding": with_cosine([1.0, 0.2])}))
    assert found(result, "MA009") is None
    assert result.not_looked["MA009"][1] == "value_field"
    assert found(result, "MA002").figures["distinct_values"] is None


def test_summary_when_there_is_no_encoder_then_clusters_are_null_with_a_reason(make_context: Any, found: Any) -> None:
    ctx = make_context({"content": ["a", "b"]}, config={"encoder": "stored"})
    summary = found(PROBE.run(ctx), "MA002")
    assert summary.figures["clusters@0.95"] is None
    assert "not counted" in summary.caveat


def test_summary_when_many_values_then_the_table_is_capped_and_says_so(make_context: Any, with_cosine: Any) -> None:
    ctx = make_context(
        {"value": [f"v{i}" for i in range(60)], "embedding": [with_cosine([1.0])[0]] * 60}, value_field="value"
    )
    tables = {t.name: t for t in PROBE.run(ctx).sections[0].tables}
    assert len(tables["value-counts"].rows) == 50
    assert "10 more" in tables["value-counts"].caption


def test_summary_of_no_rows_then_zero_and_null(make_context: Any, found: Any) -> None:
    ctx = make_context({"content": []}, config={"encoder": "stored"})
    assert found(PROBE.run(ctx), "MA002").figures["rows"] == 0


def test_summary_when_times_are_epoch_seconds_then_the_title_has_dates(make_context: Any, found: Any) -> None:
    columns = {"content": ["a", "b"], "at": [1772000000.0, 1772086400.0]}
    summary = found(PROBE.run(make_context(columns, {"encoder": "stored"}, time="at")), "MA002")
    assert summary.figures["first_time"] == "1772000000.0"  # as stored
    # 1772000000 = 20509 days and 22400 s after 1970: 2026-02-25 06:13:20
    assert "from 2026-02-25T06:13:20+00:00 to 2026-02-26T06:13:20+00:00" in summary.title
