from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.config_file import load
from memaudit.context import Context
from memaudit.engine import run_audit
from memaudit.measures.field_spread import mostly_default
from memaudit.model import Severity
from memaudit.probes.constant_fields import PROBE
from tests.probes.builders import codes, make_context, only

ROLES = {"text": "content"}


def rows(n: Any = 10, **columns: Any) -> Any:
    """Return rows whose columns are constants or functions of the row number."""
    made = []
    for i in range(n):
        row = {"id": i + 1, "content": f"记忆 {i}"}
        row.update({name: value(i) if callable(value) else value for name, value in columns.items()})
        made.append(row)
    return made


def single(table: Any, **config: Any) -> Any:
    return only(PROBE.run(make_context(table, roles=ROLES, **config)), "MA601")


def test_column_when_one_value_in_all_rows_then_low_with_the_value() -> None:
    finding = single(rows(source="批处理"))
    assert finding.severity is Severity.LOW
    assert finding.subject == {"table": "memories", "column": "source"}
    assert finding.figures == {"rows": 10, "distinct": 1, "value": "批处理", "null_rows": 0}


def test_column_when_null_everywhere_then_no_value_at_all() -> None:
    finding = single(rows(source=None))
    assert finding.figures == {"rows": 10, "distinct": 0, "value": None, "null_rows": 10}
    assert finding.severity is Severity.LOW


def test_column_when_one_value_and_some_rows_have_none_then_low_with_both_counts() -> None:
    finding = single(rows(20, source=lambda i: None if i < 3 else "批处理"))
    assert finding.figures == {"rows": 20, "distinct": 1, "value": "批处理", "null_rows": 3}
    assert finding.severity is Severity.LOW
    assert finding.title == "`source` has one value, `批处理`, in 17 of 20 (85.0 %) rows; 3 have none."
    section = PROBE.run(make_context(rows(20, source=lambda i: None if i < 3 else "a"), roles=ROLES)).sections[0]
    assert [row["share"] for row in section.tables[0].rows] == ["85.0 %"]


@pytest.mark.parametrize(
    ("column", "value", "condition"),
    [
        ("deleted_at", None, "deleted_at IS NULL"),
        ("deleted_at", None, "deleted_at IS NULL AND project = ?"),
        ("is_archived", 0, "is_archived = 0 AND score > 0.2"),
        ("已删除", None, "已删除 IS NULL"),
    ],
)
def test_mark_of_gone_rows_when_none_is_gone_and_a_filter_asks_for_that_then_info(
    column: str, value: Any, condition: str
) -> None:
    finding = single(rows(**{column: value}), filters=(condition,))
    assert finding.severity is Severity.INFO
    assert "returns nothing" not in finding.title


@pytest.mark.parametrize("condition", ["expires_at IS NULL", "expires_at IS NULL OR expires_at > ?"])
def test_expiry_when_never_set_and_the_filter_lets_such_rows_through_then_low_and_said_so(condition: str) -> None:
    finding = single(rows(expires_at=None), filters=(condition,))
    assert finding.severity is Severity.LOW
    assert finding.title == "`expires_at` is NULL in all 10 rows: the filter on it separates nothing."


@pytest.mark.parametrize(
    ("column", "value", "condition"), [("expires_at", None, "expires_at > ?"), ("active", 0, "active = 1")]
)
def test_mark_of_gone_rows_when_the_filter_lets_no_row_through_then_medium(
    column: str, value: Any, condition: str
) -> None:
    finding = single(rows(**{column: value}), filters=(condition,))
    assert finding.severity is Severity.MEDIUM
    assert finding.title.endswith(": any filter on it returns nothing.")


def test_column_when_only_deleted_rows_have_it_then_silent(write_store: Callable[..., Path], tmp_path: Path) -> None:
    columns = "id INTEGER PRIMARY KEY, content TEXT, gone INTEGER, why TEXT, source TEXT"
    table = [(i, f"记忆 {i}", int(i > 11), "重复" if i > 11 else None, None) for i in range(20)]
    options = {"store": str(write_store(table, columns)), "text": "content", "soft_delete": "gone"}
    audit = run_audit(load(isolated=True, start=tmp_path, options={**options, "select": ("constant-fields",)}))
    assert [f.subject["column"] for f in audit.findings if f.code == "MA601"] == ["source"]


def test_isolation_key_when_some_rows_have_none_then_medium() -> None:
    finding = single(rows(user_id=lambda i: "anna" if i else None), isolation_keys=("user_id",))
    assert finding.severity is Severity.MEDIUM
    assert "rows with it from rows without" in finding.title


@pytest.mark.parametrize(
    "value",
    [
        lambda i: i % 2,
        lambda i: "y" if i else None,  # a mark
        lambda i: 1 if i else None,
        lambda i: "pinned" if i < 4 else None,  # in fewer than half of the rows: a mark, too
    ],
)
def test_column_when_it_tells_rows_apart_then_silent(value: Any) -> None:
    assert codes(PROBE.run(make_context(rows(source=value), roles=ROLES))) == []


def test_column_when_only_four_rows_then_not_looked() -> None:
    result = PROBE.run(make_context(rows(4, source="x"), roles=ROLES))
    assert codes(result) == []
    assert "MA601" in result.not_looked


def test_columns_with_probes_of_their_own_when_constant_then_not_reported() -> None:
    table = rows(content="same", hits=0, used="2026-06-01", gone=0, embedding=b"\x00\x00\x80\x3f")
    roles = {
        "text": "content", "hits": "hits", "last_access": "used", "embedding": "embedding",
        "deleted_where": '"gone" IS NOT NULL AND "gone" NOT IN (0)',
    }  # fmt: skip
    assert codes(PROBE.run(make_context(table, roles=roles))) == []


def test_column_when_the_rows_were_chosen_by_it_then_not_reported() -> None:
    assert codes(PROBE.run(make_context(rows(team="ops"), roles=ROLES, where="team = 'ops'"))) == []


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("schema_version", 3, Severity.INFO),
        ("embedding_model", "mini", Severity.INFO),
        ("language", "zh", Severity.INFO),
        ("user_id", "anna", Severity.INFO),
        ("deleted_at", None, Severity.INFO),
        ("schema_version", None, Severity.LOW),
        ("user_id", None, Severity.LOW),
        ("importance", 0.5, Severity.LOW),
        ("importance", None, Severity.LOW),
    ],
)
def test_column_when_one_value_is_expected_then_info(column: Any, value: Any, expected: Any) -> None:
    assert single(rows(**{column: value})).severity is expected


def test_isolation_key_when_another_column_begins_with_several_owners_then_high_and_said() -> None:
    table = rows(12, user_id="default", chat_key=lambda i: f"{'甲乙丙'[i % 3]}-s{i // 3}")
    finding = single(table, isolation_keys=("user_id",))
    assert finding.severity is Severity.HIGH
    assert "`chat_key` begins with 3 different names" in finding.title
    assert finding.figures["owners_in_other_column"] == 3


def test_isolation_key_when_sessions_differ_then_they_are_no_owners() -> None:
    finding = single(rows(user_id="anna", session_id=lambda i: f"s{i % 2}"), isolation_keys=("user_id",))
    assert finding.severity is Severity.HIGH
    assert "although" not in finding.title
    assert "serves one owner" in (finding.caveat or "")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"dedup": "on, by digest"}, Severity.MEDIUM),
        ({"dedup": "on, by digests"}, Severity.LOW),
        ({"filters": ("digest = ?",)}, Severity.MEDIUM),
        ({"filters": ("other = 'digest'",)}, Severity.LOW),
        ({"group_field": "digest"}, Severity.MEDIUM),
    ],
)
def test_column_when_something_relies_on_it_then_medium(config: Any, expected: Any) -> None:
    assert single(rows(digest=None, other=lambda i: i), **config).severity is expected


def test_score_when_a_filter_cuts_it_off_then_high() -> None:
    assert single(rows(importance=0.5), filters=("importance >= 0.3",)).severity is Severity.HIGH


def test_score_of_the_log_when_one_value_then_high_and_in_the_log() -> None:
    log = [{"query_id": i, "memory_id": 1 + i % 10, "score": 1.0} for i in range(12)]
    ctx = make_context(rows(), roles=ROLES, tables={"log": log}, retrieval_log="log")
    finding = only(PROBE.run(ctx), "MA601")
    assert finding.severity is Severity.HIGH
    assert finding.subject == {"table": "log", "column": "score"}
    assert finding.figures == {"rows": 12, "distinct": 1, "value": 1.0, "null_rows": 0}
    assert finding.lane == "retrieval"


def test_score_of_the_log_when_it_varies_then_silent() -> None:
    log = [{"query_id": 1, "memory_id": 1 + i % 10, "score": 0.5 + i / 100} for i in range(12)]
    assert codes(PROBE.run(make_context(rows(), roles=ROLES, tables={"log": log}, retrieval_log="log"))) == []


def test_template_lines_when_the_same_in_every_row_then_one_finding(tmp_path: Any) -> None:
    (tmp_path / "template.txt").write_text(
        "Area: Retail\n状态: {state}\nTeam: {team}\nText: {text}\n", encoding="utf-8"
    )
    table = rows(embedded=lambda i: f"Area: Retail\n状态: {i % 3}\nTeam: 运维\nText: 记忆 {i}")
    ctx = make_context(
        table, roles={**ROLES, "embedded_text": "embedded"}, template="template.txt", base=tmp_path
    )  # fmt: skip
    finding = only(PROBE.run(ctx), "MA601")
    assert finding.severity is Severity.LOW
    assert finding.subject == {"table": "memories", "column": "embedded", "template_lines": ["Area", "Team"]}
    assert finding.figures["distinct"] == 1
    assert finding.figures["rows"] == 10
    assert finding.figures["values"] == {"Area": "Retail", "Team": "运维"}
    # "Area: Retail\n" 13 and "Team: 运维\n" 9 characters in each of 10 rows
    assert finding.figures["chars"] == 220


def test_template_lines_when_no_row_follows_the_template_then_silent(tmp_path: Any) -> None:
    (tmp_path / "template.txt").write_text("Area: Retail\nText: {text}", encoding="utf-8")
    ctx = make_context(rows(), roles=ROLES, template="template.txt", base=tmp_path)
    assert codes(PROBE.run(ctx)) == []


def test_part_of_a_by_column_when_shown_then_without_the_section() -> None:
    ctx = make_context(rows(source="x", team=lambda i: i % 2), roles=ROLES, by=("team",))
    part = Context(ctx.config, ctx.store, ctx.records.restricted(np.arange(0, 10, 2)))
    assert PROBE.run(part).sections == ()
    assert len(PROBE.run(ctx).sections) == 1


# -- MA606 ------------------------------------------------------------------------------------------


def default(table: Any, **config: Any) -> Any:
    return only(PROBE.run(make_context(table, roles=ROLES, **config)), "MA606")


def test_score_when_four_fifths_stand_at_one_value_then_low() -> None:
    finding = default(rows(20, importance=lambda i: 0.5 if i < 16 else 0.1 * (i - 15)))
    assert finding.severity is Severity.LOW
    # 0.1 * 5 is 0.5 too, but i ends at 19: 0.1 to 0.4
    assert finding.figures["rows_at_default"] == 16
    assert finding.figures["share_at_default"] == 0.8
    assert finding.figures["default"] == 0.5
    assert finding.figures["scored_rows"] is None
    assert finding.figures["unscored_at_default"] is None
    assert finding.evidence.ids == tuple(range(1, 17))
    assert "scored_marker" in (finding.caveat or "")


def test_score_when_nine_tenths_stand_at_one_value_then_medium() -> None:
    assert default(rows(20, 重要=lambda i: 3 if i < 18 else i)).severity is Severity.MEDIUM


@pytest.mark.parametrize(
    "table",
    [
        rows(20, importance=lambda i: 0.5 if i < 15 else i),  # 75 %
        rows(20, access_count=lambda i: 0 if i < 19 else 4),  # a counter
        rows(20, importance=lambda i: "high" if i < 19 else "low"),  # no numbers
    ],
)
def test_score_when_spread_or_no_score_then_silent(table: Any) -> None:
    assert "MA606" not in codes(PROBE.run(make_context(table, roles=ROLES)))


def test_score_when_only_nineteen_rows_then_not_looked() -> None:
    table = rows(19, importance=lambda i: 0.5 if i < 18 else i)
    result = PROBE.run(make_context(table, roles=ROLES))
    assert codes(result) == []
    assert "20 are needed" in result.not_looked["MA606"][0]


def test_marker_when_unscored_rows_stand_at_the_default_then_medium_with_both_sides() -> None:
    # 24 rows: 12 never scored at 0.5; 12 scored, of which two at 0.5 too: 14 of 24 = 58 %.
    table = rows(
        24,
        importance=lambda i: 0.5 if i < 12 or i >= 22 else i / 100,
        scored_at=lambda i: None if i < 12 else "2026-06-01",
    )
    finding = default(table, scored_marker="scored_at")
    assert finding.severity is Severity.MEDIUM
    figures = finding.figures
    assert figures["rows_at_default"] == 14
    assert figures["share_at_default"] == pytest.approx(14 / 24)
    assert (figures["scored_rows"], figures["scored_distinct_values"]) == (12, 11)  # 0.12 to 0.21, and 0.5
    assert (figures["unscored_rows"], figures["unscored_at_default"]) == (12, 12)


def test_marker_when_every_row_was_scored_then_only_the_share_counts() -> None:
    table = rows(24, importance=lambda i: 0.5 if i < 12 else i / 100, scored_at="2026-06-01")
    assert "MA606" not in codes(PROBE.run(make_context(table, roles=ROLES, scored_marker="scored_at")))


def test_mostly_default_when_empty_then_none() -> None:
    assert mostly_default("t", "score", [], None) is None


def test_limits_when_configured_then_they_win() -> None:
    table = rows(20, importance=lambda i: 0.5 if i < 15 else i)
    assert default(table, limits={"MA606": {"min_share": 0.7}}).figures["rows_at_default"] == 15
