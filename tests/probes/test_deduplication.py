from typing import Any

import numpy as np
import pytest

from memaudit.embedding import UnitVectors
from memaudit.model import EncoderInfo, Severity
from memaudit.probes.deduplication import PROBE, severity_of
from tests.probes.builders import blob, codes, make_context, only, star_rows

ROLES = {"text": "content", "embedding": "embedding", "value_field": "pattern"}
KEY: dict[str, Any] = {"roles": {**ROLES, "group_field": "pattern"}, "group_field": "pattern"}


def at(cos: Any, axis: Any, dims: Any = 16) -> Any:
    """Return a unit vector with a cosine to the first axis, and all else on an axis of its own."""
    vector = np.zeros(dims)
    vector[0] = cos
    vector[axis] = np.sqrt(1 - cos * cos)
    return blob(*vector)


def kept_rows() -> Any:
    return [
        {"id": 10, "content": "kept 甲", "pattern": "a", "embedding": at(1.0, 1), "hits": 4},
        {"id": 20, "content": "kept b", "pattern": "b", "embedding": at(1.0, 1), "hits": 0},
    ]


def dropped_rows() -> Any:
    # a: 0.99, 0.97 to its kept row; b: 0.8, 0.7, 0.95.
    found = [("a", 10, 0.99), ("a", 10, 0.97), ("b", 20, 0.8), ("b", 20, 0.7), ("b", 20, 0.95)]
    return [
        {"id": 100 + i, "kept_id": ref, "pattern": value, "content": f"dropped {i}", "embedding": at(cos, 2 + i)}
        for i, (value, ref, cos) in enumerate(found)
    ]


def with_table(rows: Any = None, **config: Any) -> Any:
    return make_context(
        kept_rows(),
        roles={**ROLES, "hits": "hits"},
        tables={"dropped": dropped_rows() if rows is None else rows},
        dropped_table="dropped",
        **{"dropped_kept_ref": "kept_id", **config},
    )


def test_table_of_dropped_rows_when_some_are_far_then_only_their_value_is_blamed() -> None:
    result = PROBE.run(with_table())
    finding = only(result, "MA302")
    assert finding.subject == {"table": "dropped", "column": "pattern", "values": ["b"]}
    assert finding.figures["rows_dropped"] == 5
    assert finding.figures["dropped_below_090"] == 2
    assert finding.figures["share_below_090"] == pytest.approx(0.4)  # 2 of 5
    # Two rows are too few for high.
    assert finding.severity is Severity.MEDIUM
    a, b = finding.figures["groups"]["a"], finding.figures["groups"]["b"]
    assert a["dropped"] == 2
    assert a["cosine_to_kept"] == pytest.approx(0.98, abs=1e-6)  # (0.99 + 0.97) / 2
    # pairs: 0.99 and 0.97 to the kept row, 0.99 * 0.97 = 0.9603 to each other
    assert a["group_mean"] == pytest.approx((0.99 + 0.97 + 0.9603) / 3, abs=1e-6)
    assert a["group_min"] == pytest.approx(0.9603, abs=1e-6)
    assert a["hits_on_kept"] == 4
    assert b["cosine_to_kept"] == pytest.approx((0.8 + 0.7 + 0.95) / 3, abs=1e-6)
    assert b["group_min"] == pytest.approx(0.56, abs=1e-6)  # 0.8 * 0.7
    assert b["hits_on_kept"] == 0
    assert finding.evidence.ids == (102, 103)
    assert finding.lane == "generator"
    assert result.proposals[0].action == "review"
    assert result.proposals[0].ids == (102, 103)


def test_table_of_dropped_rows_when_all_are_near_then_silent_but_counted() -> None:
    result = PROBE.run(with_table(dropped_rows()[:2]))
    assert codes(result) == []
    assert result.figures == {"rows_dropped": 2, "dropped_below_090": 0, "share_below_090": 0.0}


def test_dropped_row_when_exactly_at_the_line_then_redundant() -> None:
    # Stars at cosine 0.9: sqrt(0.9) * sqrt(0.9) in float32 may miss 0.9 by 1e-8 either way; 0.9001 may not.
    assert codes(PROBE.run(make_context(star_rows([("a", 4, 0.9001)]), **KEY))) == []
    assert codes(PROBE.run(make_context(star_rows([("a", 4, 0.8999)]), **KEY))) == ["MA302"]


def test_dropped_rows_when_the_kept_row_is_unknown_then_left_out_with_the_reason() -> None:
    rows = [*dropped_rows(), {**dropped_rows()[0], "id": 200, "kept_id": 99}]
    result = PROBE.run(with_table(rows))
    assert only(result, "MA302").figures["share_below_090"] == pytest.approx(0.4)  # of the 5 compared
    assert [(out.rows, out.ids) for out in result.left_out] == [(1, (200,))]
    assert "1 dropped row could not be compared" in (only(result, "MA302").caveat or "")


def test_dropped_rows_when_the_reference_is_text_and_the_key_a_number_then_found() -> None:
    rows = [{**row, "kept_id": str(row["kept_id"])} for row in dropped_rows()]
    assert only(PROBE.run(with_table(rows)), "MA302").figures["compared"] == 5


def test_dropped_rows_when_no_reference_is_named_then_the_first_row_of_the_value_stays() -> None:
    assert only(PROBE.run(with_table(dropped_kept_ref=None)), "MA302").figures["dropped_below_090"] == 2


def test_dropped_rows_when_nothing_tells_the_kept_row_then_not_looked() -> None:
    rows = [{k: v for k, v in row.items() if k not in ("pattern", "kept_id")} for row in dropped_rows()]
    result = PROBE.run(with_table(rows, dropped_kept_ref=None))
    assert result.not_looked["MA302"][1] == "dropped_kept_ref"


def test_dropped_rows_when_they_have_no_vectors_then_not_looked() -> None:
    rows = [{k: v for k, v in row.items() if k != "embedding"} for row in dropped_rows()]
    result = PROBE.run(with_table(rows))
    assert codes(result) == []
    assert "no column `embedding`" in result.not_looked["MA302"][0]


def test_table_of_dropped_rows_when_empty_then_nothing_was_dropped() -> None:
    ctx = make_context(
        kept_rows(),
        roles=ROLES,
        tables={"dropped": []},
        columns={"dropped": ["id", "kept_id", "embedding"]},
        dropped_table="dropped",
    )
    result = PROBE.run(ctx)
    assert codes(result) == []
    assert result.figures["rows_dropped"] == 0


def test_named_key_when_no_table_is_there_then_all_but_the_first_row_count_as_dropped() -> None:
    # a: 7 rows, every pair 0.5; b: 4 rows, every pair 0.97. Dropped 6 + 3, below 6.
    finding = only(PROBE.run(make_context(star_rows([("报错", 7, 0.5), ("b", 4, 0.97)]), **KEY)), "MA302")
    assert finding.figures["rows_dropped"] == 9
    assert finding.figures["dropped_below_090"] == 6
    assert finding.severity is Severity.HIGH
    assert finding.subject == {"table": "memories", "column": "pattern", "values": ["报错"]}
    assert finding.evidence.ids == (2, 3, 4, 5, 6, 7)


def test_value_field_when_it_is_no_key_then_not_looked() -> None:
    result = PROBE.run(make_context(star_rows([("a", 7, 0.5)]), roles=ROLES, value_field="pattern"))
    assert codes(result) == []
    assert result.not_looked["MA302"][1] == "group_field"


def test_words_of_dedup_when_they_name_a_column_then_it_is_the_key() -> None:
    ctx = make_context(star_rows([("a", 7, 0.5)]), roles={**ROLES, "value_field": None}, dedup="on, by pattern")
    assert only(PROBE.run(ctx), "MA302").figures["rows_dropped"] == 6


def test_words_of_dedup_when_they_name_no_column_then_not_looked() -> None:
    ctx = make_context(star_rows([("a", 7, 0.5)]), roles=ROLES, dedup="cosine > 0.95, not by patterns")
    assert "MA302" in PROBE.run(ctx).not_looked


def test_blank_keys_when_grouped_then_they_are_no_group() -> None:
    rows = [{**row, "pattern": "" if row["id"] % 2 else None} for row in star_rows([("a", 8, 0.1)])]
    result = PROBE.run(make_context(rows, **KEY))
    assert codes(result) == []
    assert result.figures["rows_dropped"] == 0


def test_limit_when_configured_then_it_moves_the_line() -> None:
    ctx = make_context(star_rows([("a", 7, 0.8)]), limits={"MA302": {"min_cos": 0.7}}, **KEY)
    assert codes(PROBE.run(ctx)) == []


@pytest.mark.parametrize(
    ("n_below", "n_compared", "expected"),
    [
        (5, 25, Severity.HIGH),  # 20 %
        (4, 5, Severity.MEDIUM),  # 80 %, but four rows
        (5, 26, Severity.MEDIUM),  # 19.2 %
        (1, 20, Severity.MEDIUM),  # 5 %
        (1, 21, Severity.LOW),  # 4.8 %
    ],
)
def test_severity_when_the_share_grows_then_it_rises(n_below: Any, n_compared: Any, expected: Any) -> None:
    assert severity_of(n_below, n_compared, (0.20, 5, 0.05)) is expected


def texts_as_vectors(texts: Any, keys: Any, config: Any) -> Any:
    """Encode a text as the axis of its first letter: what the encoder would do, without one."""
    matrix = np.array([np.eye(26)[(ord(text[0]) - 97) % 26] for text in texts], dtype=np.float32)
    return UnitVectors(matrix, np.arange(len(texts), dtype=np.int64), EncoderInfo("letters", 26))


def encoded_context(monkeypatch: Any, dropped: Any, **config: Any) -> Any:
    monkeypatch.setattr("memaudit.context.encoded", texts_as_vectors)
    table = [{"id": 1, "content": "a kept", "pattern": "x"}, {"id": 2, "content": "b kept", "pattern": "y"}]
    return make_context(
        table, roles={"text": "content", "group_field": "pattern"}, tables={"dropped": dropped},
        dropped_table="dropped", dropped_kept_ref="kept_id", group_field="pattern", **config,
    )  # fmt: skip


def test_dropped_rows_when_all_are_encoded_here_then_the_same_way(monkeypatch: Any) -> None:
    dropped = [
        {"id": 7, "kept_id": 1, "content": "a again", "pattern": "x"},  # cosine 1
        {"id": 8, "kept_id": 2, "content": "c another", "pattern": "y"},  # cosine 0
    ]
    finding = only(PROBE.run(encoded_context(monkeypatch, dropped)), "MA302")
    assert finding.evidence.ids == (8,)
    assert finding.figures["groups"]["x"]["cosine_to_kept"] == 1.0


def test_dropped_row_when_its_text_is_the_kept_one_in_another_case_then_a_repeat(monkeypatch: Any) -> None:
    # The encoder reads case; "A KEPT" is 0 to "a kept" for the one of this test.
    dropped = [
        {"id": 7, "kept_id": 1, "content": "A  KEPT.", "pattern": "x"},
        {"id": 8, "kept_id": 2, "content": "c another", "pattern": "y"},
    ]
    finding = only(PROBE.run(encoded_context(monkeypatch, dropped)), "MA302")
    assert finding.figures["groups"]["x"]["cosine_to_kept"] == 0.0
    assert (finding.figures["rows_dropped"], finding.figures["dropped_below_090"]) == (2, 1)
    assert finding.evidence.ids == (8,)


def test_dropped_rows_when_they_lack_the_embedded_text_then_not_looked(monkeypatch: Any) -> None:
    dropped = [{"id": 7, "kept_id": 1, "note": "a again", "pattern": "x"}]
    result = PROBE.run(encoded_context(monkeypatch, dropped))
    assert "cannot be encoded the same way" in result.not_looked["MA302"][0]
