from typing import Any

import numpy as np
import pytest

from memaudit.measures.background import background
from memaudit.model import Severity
from memaudit.probes.vector_integrity import PROBE, affected_period

_TEXTS = ["部署走蓝色流水线", "Nightly export fails", "周报按项目分组", "Rate limit is 429", "缓存没有清理"]
_DAYS = [f"2026-05-0{d}T00:00:00+00:00" for d in range(1, 6)]


def _vectors(n: Any, dim: Any = 8, seed: Any = 1) -> Any:
    drawn = np.random.default_rng(seed).normal(size=(n, dim))
    return list((drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32))


def test_embedding_missing_when_an_outage_then_names_the_period(make_context: Any, found: Any) -> None:
    vectors = _vectors(5)
    vectors[2] = vectors[3] = None
    ctx = make_context({"id": [1, 2, 3, 4, 5], "content": _TEXTS, "at": _DAYS, "embedding": vectors}, time="at")
    result = PROBE.run(ctx)
    finding = found(result, "MA010")
    assert finding.figures == {
        "rows": 5,
        "rows_affected": 2,
        "share": pytest.approx(0.4),
        "first_time": _DAYS[2],
        "last_time": _DAYS[3],
        "one_period": True,
        "rows_blank": 0,
    }
    assert "outage" in finding.title
    assert finding.severity is Severity.HIGH
    assert finding.evidence.ids == (3, 4)
    assert finding.subject == {"table": "memories", "column": "embedding"}
    assert [(p.action, p.ids) for p in result.proposals] == [("re-embed", (3, 4))]


def test_embedding_missing_when_other_rows_lie_between_then_no_outage(make_context: Any, found: Any) -> None:
    vectors = _vectors(5)
    vectors[0] = vectors[3] = None
    ctx = make_context({"content": _TEXTS, "at": _DAYS, "embedding": vectors}, time="at")
    finding = found(PROBE.run(ctx), "MA010")
    assert finding.figures["one_period"] is False
    assert "outage" not in finding.title


def test_embedding_missing_when_few_rows_then_medium_and_when_blank_then_low(make_context: Any, found: Any) -> None:
    vectors = _vectors(40)
    vectors[7] = None
    texts = [f"note {i}" for i in range(40)]
    finding = found(PROBE.run(make_context({"content": texts, "embedding": vectors})), "MA010")
    assert finding.severity is Severity.MEDIUM  # 1 of 40 is 2.5 %
    assert finding.figures["first_time"] is None  # not known, and said so
    texts[7] = "  "
    finding = found(PROBE.run(make_context({"content": texts, "embedding": vectors})), "MA010")
    assert finding.severity is Severity.LOW


def test_embedding_missing_when_no_row_has_one_then_all_are_named(make_context: Any, found: Any) -> None:
    ctx = make_context({"content": _TEXTS, "embedding": [None] * 5}, config={"encoder": "stored"})
    assert found(PROBE.run(ctx), "MA010").figures["share"] == 1.0


@pytest.mark.parametrize(
    ("affected", "contiguous", "newest"),
    [([1, 2], True, False), ([3, 4], True, True), ([1, 3], False, False), ([2], False, False), ([0, 4], False, False)],
)
def test_affected_period(affected: Any, contiguous: Any, newest: Any) -> None:
    period = affected_period(_DAYS, affected)
    assert (period.contiguous, period.newest) == (contiguous, newest)


def test_affected_period_when_no_time_can_be_read_then_none() -> None:
    assert affected_period(["soon", None], [0]).first is None


def test_broken_vectors_when_zero_nan_infinite_mixed_and_malformed_then_each_rule_counts_its_rows(
    make_context: Any, found: Any
) -> None:
    vectors = _vectors(12)
    vectors[1] = np.zeros(8, dtype=np.float32)
    vectors[2] = np.full(8, np.nan, dtype=np.float32)
    vectors[3] = np.array([np.inf, *[0.1] * 7], dtype=np.float32)
    vectors[4] = np.ones(6, dtype=np.float32)
    vectors[5] = b"\x00\x01\x02"
    ids = [f"r{i}" for i in range(12)]
    result = PROBE.run(make_context({"id": ids, "content": [f"文本 {i}" for i in range(12)], "embedding": vectors}))
    assert found(result, "MA011").figures == {
        "rows": 12,
        "rows_affected": 1,
        "share": pytest.approx(1 / 12),
        "ids": ["r1"],
    }
    assert found(result, "MA012").figures == {"rows": 12, "nan_rows": 1, "inf_rows": 1, "ids": ["r2", "r3"]}
    mixed = found(result, "MA013")
    # 12 rows: one cannot be read, one has length 6, the other ten (zero, NaN and infinite too) have length 8
    assert mixed.figures["dims"] == {"8": 10, "6": 1}
    assert mixed.figures["malformed_rows"] == 1
    assert mixed.figures["malformed_ids"] == ["r5"]
    assert mixed.evidence.ids == ("r4", "r5")
    assert {f.severity for f in result.findings} == {Severity.HIGH}
    assert found(result, "MA010") is None
    states = {row["state"]: row["rows"] for row in result.sections[0].tables[0].rows}
    assert states["usable"] == 7
    assert sum(states.values()) == 12


def test_healthy_vectors_then_silent(make_context: Any) -> None:
    result = PROBE.run(make_context({"content": _TEXTS, "embedding": _vectors(5)}))
    assert result.findings == ()
    assert result.sections == ()
    assert "MA018" in result.not_looked  # five texts are too few to judge


def test_without_stored_vectors_then_says_that_it_did_not_look(make_context: Any) -> None:
    result = PROBE.run(make_context({"content": ["a", "b"]}, config={"encoder": "stored"}))
    assert result.findings == ()
    assert set(result.not_looked) == {"MA010", "MA011", "MA012", "MA013", "MA018"}
    assert result.not_looked["MA010"][1] == "embedding"


def test_empty_store_then_silent(make_context: Any) -> None:
    ctx = make_context({"content": [], "embedding": []}, config={"encoder": "stored"})
    assert PROBE.run(ctx).findings == ()


_UNLIKE = [
    "Deploys go through the blue pipeline", "用户希望周报按项目分组", "Rate limiting returns code 429",
    "接口超时先看连接池上限", "Search results are cached at the edge", "数据库迁移在凌晨执行",
    "The onboarding form asks for a time zone", "前端构建失败多半是缓存", "Logs older than ninety days move",
    "客户偏好邮件联系", "Backups restored every Friday", "合同编号前两位代表分公司",
]  # fmt: skip


def _with_background(n: Any, cos: Any, dim: Any = 64) -> Any:
    """n unit vectors, every two of which have exactly this cosine: a common axis and one of their own."""
    vectors = np.zeros((n, dim))
    vectors[:, 0] = np.sqrt(cos)
    vectors[np.arange(n), 1 + np.arange(n)] = np.sqrt(1 - cos)
    return list(vectors.astype(np.float32))


def test_background_when_unlike_texts_score_high_then_reports_the_median(make_context: Any, found: Any) -> None:
    ctx = make_context(
        {"content": _UNLIKE, "value": list("abcdefabcdef"), "embedding": _with_background(12, 0.88)},
        value_field="value",
    )
    finding = found(PROBE.run(ctx), "MA018")
    assert finding.figures["median_pairwise_cosine"] == pytest.approx(0.88, abs=1e-5)
    assert finding.figures["clusters@0.85"] == 1  # every row is within .88 of the first
    assert finding.figures["clusters@0.9"] == 12
    assert finding.figures["distinct_values"] == 6
    assert finding.figures["rows"] == 12
    assert finding.lane == "retrieval"


def test_background_when_the_texts_are_repeats_then_silent(make_context: Any, found: Any) -> None:
    readings = [f"cold room A temperature: {i}.5 on day {i}" for i in range(12)]
    ctx = make_context({"content": readings, "embedding": _with_background(12, 0.95)})
    assert found(PROBE.run(ctx), "MA018") is None


def test_background_when_cosines_are_low_then_silent(make_context: Any, found: Any) -> None:
    result = PROBE.run(make_context({"content": _UNLIKE, "embedding": _with_background(12, 0.5)}))
    assert found(result, "MA018") is None
    assert "MA018" not in result.not_looked


def test_background_when_one_large_group_makes_the_median_then_silent(make_context: Any, found: Any) -> None:
    # 11 of 12 rows near each other (55 of 66 pairs), one apart: not the encoder's scale
    vectors = _with_background(12, 0.9)
    vectors[11] = np.eye(64, dtype=np.float32)[63]
    assert found(PROBE.run(make_context({"content": _UNLIKE, "embedding": vectors})), "MA018") is None


def test_background_when_rows_of_different_values_are_not_near_then_silent(make_context: Any, found: Any) -> None:
    # value a: 10 rows at .9 to each other (45 pairs); value b: 2 rows at .75 to those (20 pairs). The median of all
    # pairs is .9 and 19 of 20 reach .7, but across the values it is .75.
    vectors = np.zeros((12, 64))
    vectors[:, 0] = [*[np.sqrt(0.9)] * 10, *[0.75 / np.sqrt(0.9)] * 2]
    vectors[np.arange(12), 1 + np.arange(12)] = np.sqrt(1 - vectors[:, 0] ** 2)
    columns = {"content": _UNLIKE, "value": [*"a" * 10, *"bb"], "embedding": list(vectors.astype(np.float32))}
    assert found(PROBE.run(make_context(columns, value_field="value")), "MA018") is None
    assert found(PROBE.run(make_context(columns)), "MA018") is not None


def test_background_of_one_row_then_none() -> None:
    assert background(np.ones((1, 1), dtype=np.float32), ["a"], None, np.random.default_rng(0)) is None


def test_embedding_missing_in_the_reference_case(case_context: Any, found: Any) -> None:
    ctx = case_context("015-embeddings-missing-after-outage")
    result = PROBE.run(ctx)
    figures = found(result, "MA010").figures
    assert (figures["rows"], figures["rows_affected"], figures["one_period"]) == (50, 6, True)
    assert (figures["first_time"], figures["last_time"]) == ("2026-05-06T12:00:00+00:00", "2026-05-07T18:00:00+00:00")
    assert [f.code for f in result.findings] == ["MA010"]


def test_healthy_reference_case_then_silent(case_context: Any) -> None:
    assert PROBE.run(case_context("060-control-healthy-bilingual")).findings == ()
