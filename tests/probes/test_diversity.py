from datetime import datetime, timezone
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.model import Severity
from memaudit.probes.diversity import PROBE, last_full_week, weekly_growth
from tests.probes.builders import blob, codes, make_context, only, star_rows

ROLES = {"text": "content", "embedding": "embedding", "value_field": "pattern"}


def twelve_situations(n_values: Any) -> Any:
    """Twelve rows at right angles, in turn under `n_values` values: 12 clusters at every threshold."""
    return [
        {
            "id": i + 1,
            "content": f"事件 {i} happened",
            "pattern": f"v{i % n_values}",
            "embedding": blob(*np.eye(12)[i]),
            "created_at": f"2026-06-{1 + i:02d}T08:00:00Z",
        }
        for i in range(12)
    ]


def test_field_with_fewer_values_than_clusters_when_named_then_medium_with_the_counts() -> None:
    result = PROBE.run(make_context(twelve_situations(4), roles=ROLES, value_field="pattern"))
    finding = only(result, "MA301")
    assert finding.severity is Severity.MEDIUM
    assert finding.subject == {"table": "memories", "column": "pattern"}
    assert finding.figures["rows"] == 12
    assert finding.figures["distinct_values"] == 4
    assert [finding.figures[f"clusters@{t}"] for t in ("0.98", "0.95", "0.9", "0.85")] == [12] * 4
    assert finding.figures["clusters_per_value_at_090"] == 3.0  # 12 / 4
    assert finding.evidence.total == 12
    assert finding.evidence.ids == tuple(range(1, 13))
    assert finding.lane == "generator"
    # Where the field is a category on purpose, the reader has to learn how to say so.
    assert "`value_field_role`" in str(finding.caveat)


def test_field_when_its_values_are_meant_to_be_broad_then_low() -> None:
    ctx = make_context(twelve_situations(4), roles=ROLES, value_field="pattern", value_field_role="broad category")
    finding = only(PROBE.run(ctx), "MA301")
    assert finding.severity is Severity.LOW
    assert "value_field_role" not in str(finding.caveat)


def test_field_when_found_by_looking_then_info_without_a_fix() -> None:
    ctx = make_context(twelve_situations(4), roles={**ROLES, "guessed": {"value_field": "pattern, because it repeats"}})
    finding = only(PROBE.run(ctx), "MA301")
    assert finding.severity is Severity.INFO
    assert finding.fix == ""


def test_field_when_named_as_key_of_groups_then_it_counts_as_named() -> None:
    roles = {**ROLES, "group_field": "pattern", "guessed": {"value_field": "pattern, because it is the group_field"}}
    ctx = make_context(twelve_situations(4), roles=roles, group_field="pattern")
    assert only(PROBE.run(ctx), "MA301").severity is Severity.MEDIUM


def test_as_many_values_as_clusters_when_compared_then_silent() -> None:
    assert codes(PROBE.run(make_context(twelve_situations(12), roles=ROLES))) == []


def test_one_threshold_with_no_more_clusters_than_values_then_silent() -> None:
    # Pairs of a star have cosine 0.92 or 0.91: 12 clusters at 0.98 and 0.95, 2 at 0.90 and 0.85, for 2 values.
    rows = star_rows([("甲", 6, 0.92), ("b", 6, 0.91)])
    result = PROBE.run(make_context(rows, roles=ROLES, value_field="pattern"))
    assert [result.figures[f"clusters@{t}"] for t in ("0.98", "0.95", "0.9", "0.85")] == [12, 12, 2, 2]
    assert [result.figures[f"largest@{t}"] for t in ("0.98", "0.9")] == [1, 6]
    assert [result.figures[f"singletons@{t}"] for t in ("0.98", "0.9")] == [12, 0]
    assert codes(result) == []


def test_rows_without_a_value_when_counted_then_their_clusters_do_not_accuse_the_values() -> None:
    # Ten labelled rows: 10 clusters, 10 values. Two hundred clusters more could hide in unlabelled rows.
    rows = [{**row, "pattern": f"v{i}" if i < 10 else None} for i, row in enumerate(twelve_situations(1))]
    result = PROBE.run(make_context(rows, roles=ROLES, value_field="pattern"))
    assert result.figures["clusters@0.9"] == 12
    assert codes(result) == []


def test_nine_rows_when_judged_then_not_looked_with_the_reason() -> None:
    result = PROBE.run(make_context(twelve_situations(2)[:9], roles=ROLES, value_field="pattern"))
    assert codes(result) == []
    assert "only 9 rows" in result.not_looked["MA301"][0]


def test_no_value_field_when_run_then_clusters_only_and_the_rule_is_not_looked() -> None:
    result = PROBE.run(make_context(twelve_situations(2), roles={**ROLES, "value_field": None}))
    assert result.not_looked["MA301"][1] == "value_field"
    assert "distinct_values" not in result.figures
    assert result.sections[0].tables[0].reference is None


def test_limit_when_configured_then_it_wins() -> None:
    ctx = make_context(twelve_situations(2), roles=ROLES, limits={"MA301": {"min_rows": 13}})
    assert "MA301" in PROBE.run(ctx).not_looked


def test_weeks_when_rows_repeat_then_only_first_appearances_are_new() -> None:
    # June 2026: Monday 1st. Rows on 2 June (a), 3 June (b), 9 June (a), 23 June (c); nothing from the 15th to the 21st.
    times = [datetime(2026, 6, day, tzinfo=timezone.utc) for day in (2, 3, 9, 23)]
    weeks = weekly_growth(times, np.array([0, 1, 0, 2]))
    assert [(w.week, w.rows, w.new_clusters) for w in weeks] == [
        ("2026-W23", 2, 2),
        ("2026-W24", 1, 0),
        ("2026-W25", 0, 0),
        ("2026-W26", 1, 1),
    ]
    # The 23rd is a Tuesday: the week from the 15th to the 21st is the last one that is over.
    full = last_full_week(weeks, times)
    assert full is not None
    assert full.week == "2026-W25"


def test_weeks_when_data_lies_within_one_week_then_none_is_full() -> None:
    times = [datetime(2026, 6, day, tzinfo=timezone.utc) for day in (2, 3)]
    assert last_full_week(weekly_growth(times, np.array([0, 1])), times) is None


def test_weeks_when_rows_are_not_in_order_of_time_then_the_earliest_row_of_a_cluster_counts() -> None:
    times = [datetime(2026, 6, 9, tzinfo=timezone.utc), datetime(2026, 6, 1, tzinfo=timezone.utc), None]
    weeks = weekly_growth(times, np.array([0, 0, 1]))
    assert [(w.rows, w.new_clusters) for w in weeks] == [(1, 1), (1, 0)]


def test_weeks_when_no_time_is_known_then_empty() -> None:
    assert weekly_growth([None], np.array([0])) == ()
    assert last_full_week((), [None]) is None


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 5)), min_size=1, max_size=40))
@settings(max_examples=40, deadline=None)
def test_weeks_when_summed_then_every_row_and_every_cluster_is_counted_once(rows: Any) -> None:
    times = [datetime.fromtimestamp(1_700_000_000 + 86_400 * day, timezone.utc) for day, _ in rows]
    weeks = weekly_growth(times, np.array([label for _, label in rows]))
    assert sum(w.rows for w in weeks) == len(rows)
    assert sum(w.new_clusters for w in weeks) == len({label for _, label in rows})


def test_figures_when_times_are_there_then_the_last_full_week_is_given() -> None:
    # 1 to 12 June 2026, one new cluster a day: Monday 1st to Sunday 7th is the last full week.
    result = PROBE.run(make_context(twelve_situations(12), roles={**ROLES, "time": "created_at"}))
    assert result.figures["rows_last_week"] == 7
    assert result.figures["new_clusters_last_week"] == 7
    assert result.figures["new_clusters_by_week"]["2026-W24"] == {"rows": 5, "new_clusters": 5}


def test_order_spread_when_order_cannot_matter_then_one_number() -> None:
    result = PROBE.run(make_context(twelve_situations(3), roles=ROLES))
    assert result.figures["order_spread"]["0.9"] == [12, 12.0, 12]


def test_order_spread_when_the_store_is_large_then_one_threshold_only(monkeypatch: Any) -> None:
    monkeypatch.setattr("memaudit.probes.diversity.LARGE_ROWS", 11)
    result = PROBE.run(make_context(twelve_situations(3), roles=ROLES))
    assert result.figures["order_spread"] == {"0.95": [12, 12.0, 12]}
    monkeypatch.setattr("memaudit.probes.diversity.HUGE_ROWS", 11)
    assert PROBE.run(make_context(twelve_situations(3), roles=ROLES)).figures["order_spread"] is None
