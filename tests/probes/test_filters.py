import json
from typing import Any

import pytest

from memaudit.model import Severity
from memaudit.probes.filters import PROBE
from tests.probes.builders import codes, make_context, only


def rows(n: Any = 10, **columns: Any) -> Any:
    """Return rows whose columns are constants or functions of the row number."""
    made = []
    for i in range(n):
        row = {"id": i + 1, "content": f"记忆 {i}"}
        row.update({name: value(i) if callable(value) else value for name, value in columns.items()})
        made.append(row)
    return made


def with_filters(table: Any, *filters: Any, **config: Any) -> Any:
    return make_context(table, roles={"text": "content"}, filters=filters, **config)


def meta(**keys: Any) -> Any:
    return json.dumps(keys, ensure_ascii=False)


def test_filter_when_every_row_meets_it_then_low_with_both_counts() -> None:
    finding = only(PROBE.run(with_filters(rows(outcome="success"), "outcome = 'success'")), "MA604")
    assert finding.severity is Severity.LOW
    assert finding.subject == {"table": "memories", "column": "outcome", "filter": "outcome = 'success'"}
    assert finding.figures == {"rows": 10, "rows_matching": 10}


def test_filter_when_one_row_fails_it_then_silent() -> None:
    table = rows(outcome=lambda i: "failure" if i == 3 else "success")
    result = PROBE.run(with_filters(table, "outcome = 'success'"))
    assert codes(result) == []
    assert result.sections[0].tables[0].rows[0]["matching"] == 9


def test_score_filter_when_every_row_meets_it_then_medium() -> None:
    table = rows(importance=lambda i: 0.7 + i / 100)
    assert only(PROBE.run(with_filters(table, "importance >= 0.6")), "MA604").severity is Severity.MEDIUM


def test_open_filter_when_one_value_stands_everywhere_then_medium() -> None:
    assert only(PROBE.run(with_filters(rows(user="default"), "user = ?")), "MA604").severity is Severity.MEDIUM


@pytest.mark.parametrize("user", [lambda i: f"u{i % 2}", lambda i: "u" if i else None])
def test_open_filter_when_values_differ_or_one_is_missing_then_silent(user: Any) -> None:
    result = PROBE.run(with_filters(rows(user=user), "user = ?"))
    assert codes(result) == []
    assert result.not_looked == {}


def test_open_filter_when_the_column_is_null_then_it_never_matches() -> None:
    finding = only(PROBE.run(with_filters(rows(project=None), "project = :project")), "MA605")
    assert finding.severity is Severity.HIGH
    assert finding.figures["rows"] == 10
    assert finding.figures["filters"] == 1
    assert finding.figures["never_matching"] == 1
    assert finding.figures["kinds"] == {"null": 1}
    assert finding.subject == {"table": "memories", "filters": ["project = :project"]}


def test_open_filter_when_of_two_parts_then_each_part_counts() -> None:
    table = rows(user="default", project=lambda i: f"p{i % 3}", team=None)
    assert codes(PROBE.run(with_filters(table, "user = ? AND project = ?"))) == []
    assert codes(PROBE.run(with_filters(table, "user = ? AND team = ?"))) == ["MA605"]


def test_open_filter_when_inside_or_then_not_tried_with_the_reason() -> None:
    result = PROBE.run(with_filters(rows(a="x", b="y"), "a = ? OR b = ?"))
    assert codes(result) == []
    assert "leaves a value open" in result.not_looked["MA604"][0]


@pytest.mark.parametrize("mark", ["deleted = 0", "deleted_at IS NULL", "is_active = 1"])
def test_filter_on_a_mark_of_deleted_rows_when_it_keeps_all_then_not_blamed(mark: Any) -> None:
    assert codes(PROBE.run(with_filters(rows(deleted=0, deleted_at=None, is_active=1), mark))) == []


def test_filter_when_deleted_rows_are_left_out_then_it_counts_live_rows() -> None:
    table = rows(kind=lambda i: "b" if i > 6 else "a", gone=lambda i: 1 if i > 6 else 0)
    ctx = make_context(table, roles={"text": "content", "deleted_where": '"gone" = 1'}, filters=("kind = 'a'",))
    assert only(PROBE.run(ctx), "MA604").figures["rows"] == 7


def test_filter_when_the_store_has_four_rows_then_not_looked() -> None:
    result = PROBE.run(with_filters(rows(4, a=1), "a = 1"))
    assert codes(result) == []
    assert "5 are needed" in result.not_looked["MA604"][0]


def cause(table: Any, condition: Any, **config: Any) -> Any:
    return only(PROBE.run(with_filters(table, condition, **config)), "MA605").figures["kinds"]


def test_filter_that_never_matches_when_the_type_differs_then_type() -> None:
    table = rows(metadata=lambda i: meta(priority=i % 3, flag=True, size=str(i)))
    assert cause(table, "priority = '2'") == {"type": 1}
    assert cause(table, "size = 3") == {"type": 1}
    assert cause(table, "flag = 'true'") == {"type": 1}
    assert cause(table, "priority < 'b' AND priority >= '0'") == {"type": 1}


def test_filter_that_never_matches_when_the_key_is_deeper_or_spelt_differently_then_path() -> None:
    table = rows(metadata=lambda i: meta(user={"id": f"u{i}"}, createdBy="甲"))
    assert cause(table, "id_ = 'u1'", metadata="metadata") == {"path": 1}
    finding = only(PROBE.run(with_filters(table, "created_by = '甲'")), "MA605")
    assert finding.figures["kinds"] == {"path": 1}
    assert "stands at createdBy" in finding.title
    assert "stands at user.id" in only(PROBE.run(with_filters(table, "account.id = 'u1'")), "MA605").title


def test_filter_that_never_matches_when_json_is_read_by_function_then_the_path_is_seen_too() -> None:
    table = rows(metadata=lambda i: meta(user={"id": f"u{i}"}))
    assert cause(table, "json_extract(metadata, '$.id') = 'u1'") == {"path": 1}
    assert codes(PROBE.run(with_filters(table, "json_extract(metadata, '$.user.id') = 'u1'"))) == []


@pytest.mark.parametrize(
    ("stored", "condition", "kind"),
    [
        ("Ops", "team = 'ops'", "case"),
        ("ops ", "team = 'ops'", "blanks"),
        ("Ｏｐｓ", "team = 'ops'", "full-width"),
        ("back-end", "team = 'back_end'", "dashes"),
        ("2026-06-01T00:00:00+00:00", "team = '2026-06-01 00:00:00'", "time"),
    ],
)
def test_filter_that_never_matches_when_the_notation_differs_then_notation(
    stored: Any, condition: Any, kind: Any
) -> None:
    finding = only(PROBE.run(with_filters(rows(team=stored), condition)), "MA605")
    assert finding.figures["kinds"] == {"notation": 1}
    assert kind in finding.title
    assert finding.severity is Severity.HIGH


def test_filter_that_never_matches_when_values_are_lists_then_list() -> None:
    assert cause(rows(tags='["ops", "网络"]'), "tags = '网络'") == {"list": 1}


def test_filter_that_never_matches_when_its_parts_exclude_each_other_then_together() -> None:
    table = rows(a=lambda i: i % 2, b=lambda i: i % 2)
    assert cause(table, "a = 0 AND b = 1") == {"together": 1}


def test_filter_that_never_matches_when_the_value_is_not_there_then_medium() -> None:
    finding = only(PROBE.run(with_filters(rows(topic=lambda i: f"t{i}"), "topic = 'finance'")), "MA605")
    assert finding.severity is Severity.MEDIUM
    assert finding.figures["kinds"] == {"absent": 1}
    finding = only(PROBE.run(with_filters(rows(score=lambda i: i / 10), "score >= 60")), "MA605")
    assert finding.figures["kinds"] == {"range": 1}
    assert "from 0 to 0.9" in finding.title


def test_filters_when_several_never_match_then_one_finding() -> None:
    table = rows(metadata=lambda i: meta(priority=i % 3), team="Ops")
    ctx = with_filters(table, "priority = '2'", "team = 'ops'", "team = 'Ops'", "priority >= 1")
    result = PROBE.run(ctx)
    finding = only(result, "MA605")
    assert finding.subject["filters"] == ["priority = '2'", "team = 'ops'"]
    assert (finding.figures["filters"], finding.figures["never_matching"]) == (4, 2)
    assert only(result, "MA604").subject["filter"] == "team = 'Ops'"


def test_filter_when_its_name_stands_in_the_log_only_then_tried_there() -> None:
    log = [{"query_id": i, "memory_id": 1, "score": 1.0} for i in range(6)]
    ctx = with_filters(rows(), "score >= 0.6", tables={"retrieval_log": log}, retrieval_log="retrieval_log")
    finding = only(PROBE.run(ctx), "MA604")
    assert finding.subject["table"] == "retrieval_log"
    assert finding.figures == {"rows": 6, "rows_matching": 6}
    assert finding.severity is Severity.MEDIUM


@pytest.mark.parametrize(
    "condition", ["nowhere = 1", "content >", "content = 1; DROP TABLE memories", "nosuch(content)"]
)
def test_filter_when_it_cannot_be_run_then_not_looked_and_no_crash(condition: Any) -> None:
    result = PROBE.run(with_filters(rows(), condition))
    assert codes(result) == []
    assert condition in result.not_looked["MA604"][0]
    assert condition in result.not_looked["MA605"][0]


def test_metadata_when_some_rows_hold_no_json_then_the_others_are_read() -> None:
    table = rows(metadata=lambda i: "broken {" if i == 0 else meta(topic="运维" if i < 5 else "ops"))
    result = PROBE.run(with_filters(table, "topic = '运维'"))
    assert codes(result) == []
    assert result.sections[0].tables[0].rows[0]["matching"] == 4


def test_text_in_double_quotes_when_no_column_has_that_name_then_a_text() -> None:
    assert codes(PROBE.run(with_filters(rows(status=lambda i: "active" if i else "gone"), 'status = "active"'))) == []


def test_file_when_it_holds_metadata_filters_then_tried(tmp_path: Any) -> None:
    (tmp_path / "filters.json").write_text('[{"name": "urgent", "filter": {"priority": {"$gte": "2"}}}]')
    table = rows(metadata=lambda i: meta(priority=i % 4))
    ctx = make_context(table, roles={"text": "content"}, filters="filters.json", base=tmp_path, metadata="metadata")
    finding = only(PROBE.run(ctx), "MA605")
    assert finding.figures["kinds"] == {"type": 1}
    assert finding.subject["filters"] == ['urgent: {"priority": {"$gte": "2"}}']


@pytest.mark.parametrize(
    "condition",
    [
        "user = ? OR scope = 'shared'",
        "(user = :u OR scope IN ('shared', 'all'))",
        "score >= 0 AND (scope = 'shared' OR user LIKE ?)",
        "NOT (scope = 'mine' AND user <> ?)",
        "json_extract(meta, '$.s') IS NULL OR json_extract(meta, '$.s') = ?",
        "user = ? OR user IS NOT NULL",
    ],
)
def test_open_filter_when_another_part_lets_every_row_through_then_it_keeps_everything(condition: str) -> None:
    table = rows(user=lambda i: f"用户{i % 3}", scope="shared", score=lambda i: i / 10, meta="{}")
    result = PROBE.run(with_filters(table, condition))
    finding = only(result, "MA604")
    assert finding.figures == {"rows": 10, "rows_matching": 10}
    assert "one value only" not in finding.title
    assert result.not_looked == {}


@pytest.mark.parametrize("condition", ["scope = 'mine' AND NOT (user = ? OR scope = 'shared')"])
def test_open_filter_when_another_part_stops_every_row_then_it_never_matches(condition: str) -> None:
    result = PROBE.run(with_filters(rows(user=lambda i: f"u{i % 3}", scope="shared"), condition))
    assert codes(result) == ["MA605"]


@pytest.mark.parametrize(
    "condition",
    [
        "user = ? OR scope = 'mine'",
        "? IS NULL OR user = ?",
        "(?) IS NULL OR user = ?",
        "user = coalesce(?, user) OR scope = 'mine'",
        "user = ? OR (CASE WHEN ? = 1 THEN 0 ELSE 1 END)",
        "user IS ? OR scope = 'mine'",
        "user IS NOT ? OR scope = 'mine'",
        "(user = ?) IS NULL OR scope = 'mine'",
        "ifnull(user = ?, 1) OR scope = 'mine'",
        "(user = ?) IS NOT TRUE OR scope = 'mine'",
        "user IS DISTINCT FROM ? OR scope = 'mine'",
        "(user = ?) ISNULL OR scope = 'mine'",
        "NOT ((user = ?) NOT NULL) OR scope = 'mine'",
    ],
)
def test_open_filter_when_the_open_value_decides_then_not_looked(condition: str) -> None:
    result = PROBE.run(with_filters(rows(user=lambda i: f"u{i % 3}", scope="shared"), condition))
    assert codes(result) == []
    assert "MA604" in result.not_looked


def test_filter_on_expiry_with_an_open_time_when_nothing_expires_then_looked_at_and_not_blamed() -> None:
    result = PROBE.run(with_filters(rows(expires_at=None), "expires_at IS NULL OR expires_at > ?"))
    assert codes(result) == []
    assert result.not_looked == {}
