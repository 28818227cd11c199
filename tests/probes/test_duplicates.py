from typing import Any

import numpy as np
import pytest

from memaudit.measures.near_copies import measured_near_copies
from memaudit.model import Basis, Severity
from memaudit.probes.duplicates import PROBE


def _near(vectors_apart: Any, n: Any, cos: Any, axis: Any, dim: Any = 96) -> Any:
    """n unit vectors: the first is the axis, each other has this cosine to it."""
    vectors = np.zeros((n, dim))
    vectors[:, axis] = cos
    vectors[0, axis] = 1.0
    for i in range(1, n):
        vectors[i, vectors_apart + i] = np.sqrt(1 - cos * cos)
    return list(vectors.astype(np.float32))


@pytest.fixture
def near_store(make_context: Any) -> Any:
    """Row 0 with four near rows (cosine .99 to it, .9801 between them), and three rows apart."""
    texts = [
        "Uploads over 30 MB are split on the server",
        "All uploads over 30 MB are split on the server",  # rewording
        "Uploads over 60 MB are split on the server",  # number
        "Uploads over 30 MB are not split on the server",  # negation
        "Uploads over 30 GB are split on the server",  # unit
        "用户希望周报按项目分组",
        "Backups are restored every Friday",
        "日志里出现空指针",
    ]
    vectors = [*_near(10, 5, 0.99, 0), *(np.eye(96, dtype=np.float32)[20 + i] for i in range(3))]

    def make(config: Any = None, **roles: Any) -> Any:
        return make_context({"id": list(range(1, 9)), "content": texts, "embedding": vectors}, config, **roles)

    return make


def test_exact_duplicates_when_copies_differ_in_case_then_both_counts(make_context: Any, found: Any) -> None:
    texts = ["run stopped", "巡检完成", "run stopped", "Run  stopped", "one more", "巡检完成", "", "", "null", "null"]
    ctx = make_context({"id": [f"k{i}" for i in range(10)], "content": texts}, {"encoder": "stored"})
    result = PROBE.run(ctx)
    finding = found(result, "MA305")
    # identical: {0, 2}, {1, 5}: 2 extra; case aside {0, 2, 3}, {1, 5}: 3 extra of 10 rows
    assert finding.figures == {
        "rows": 10,
        "groups_identical": 2,
        "extra_copies_identical": 2,
        "groups_after_case_and_space": 2,
        "extra_copies_after_case_and_space": 3,
        "largest_group": 2,
        "share_extra": pytest.approx(0.3),
    }
    assert finding.severity is Severity.MEDIUM
    assert "(here 3 of 10 (30 %), case and spacing aside)" in finding.caveat
    assert finding.evidence.ids == ("k0", "k1", "k2", "k3", "k5")
    assert finding.subject["ids"] == ["k0", "k1", "k2", "k3", "k5"]
    plan = [(p.action, p.keep, p.ids) for p in result.proposals]
    assert plan == [("merge", "k0", ("k2",)), ("merge", "k1", ("k5",)), ("review", "k0", ("k3",))]
    assert set(result.not_looked) == {"MA306", "MA307"}  # no vectors


def test_exact_duplicates_when_few_then_low_and_the_limit_decides(make_context: Any, found: Any) -> None:
    texts = [f"note {i}" for i in range(30)] + ["note 0"]
    config = {"encoder": "stored"}
    finding = found(PROBE.run(make_context({"content": texts}, config)), "MA305")
    assert finding.severity is Severity.LOW  # 1 of 31 is 3.2 %
    config["limits"] = {"MA305": {"share_extra": 0.03}}
    assert found(PROBE.run(make_context({"content": texts}, config)), "MA305").severity is Severity.MEDIUM


def test_exact_duplicates_when_another_owner_has_the_text_then_silent(make_context: Any, found: Any) -> None:
    columns = {"content": ["likes tea", "likes tea"], "user": ["ann", "bob"]}
    ctx = make_context(columns, {"encoder": "stored", "isolation_keys": ("user",)})
    assert found(PROBE.run(ctx), "MA305") is None


def test_exact_duplicates_when_the_copies_are_of_other_users_then_told_and_not_merged(
    make_context: Any, found: Any
) -> None:
    texts = [f"Memory number {i}." for i in range(20)] * 2
    users = [f"u{i % 3}" for i in range(20)] + [f"v{i % 3}" for i in range(20)]
    result = PROBE.run(make_context({"content": texts, "user_id": users}))
    finding = found(result, "MA305")
    assert finding.severity is Severity.MEDIUM  # nobody said that owners are kept apart
    assert (finding.figures["extra_copies_identical"], finding.figures["extra_copies_of_one_owner"]) == (20, 0)
    assert "`isolation_keys`" in finding.caveat
    assert [p for p in result.proposals if p.action == "merge"] == []
    # Sessions of one person are no owners, and a column of one value tells nobody apart.
    for name, values in (("session_id", users), ("user_id", ["u"] * 40)):
        finding = found(PROBE.run(make_context({"content": texts, name: values})), "MA305")
        assert finding.severity is Severity.MEDIUM
        assert "isolation_keys" not in finding.caveat


def test_exact_duplicates_when_another_field_differs_then_review_instead_of_merge(make_context: Any) -> None:
    columns = {"content": ["disk full", "disk full"], "trigger": ["upload", "backup"]}
    ctx = make_context(columns, {"encoder": "stored"}, embedded_fields=("trigger", "content"))
    assert [(p.action, p.ids) for p in PROBE.run(ctx).proposals] == [("review", (2,))]


def test_near_duplicates_count_pairs_clusters_and_rewordings(near_store: Any, found: Any) -> None:
    result = PROBE.run(near_store())
    near = found(result, "MA306")
    # pairs: 4 with row 0 (.99), 6 among the others (.9801): 10; clusters {0..4}, 5, 6, 7
    assert near.figures["pairs_at_098"] == 10
    assert near.figures["extra_rows_at_098"] == 4
    assert near.figures["extra_rows_at_095"] == 4
    assert near.figures["largest_cluster"] == 5
    assert [near.figures[f"clusters@{t}"] for t in ("0.98", "0.95", "0.9", "0.85")] == [4, 4, 4, 4]
    assert (near.figures["rows"], near.figures["valid_rows"]) == (8, 8)
    # Half of the rows are extra, and one in eight (12.5 %) is a rewording.
    assert near.figures["reworded_rows"] == 1
    assert near.severity is Severity.MEDIUM


def _at(cos: float, n: int) -> list[Any]:
    """Return vectors of one row and n others with this cosine to it, at right angles else."""
    first = np.eye(n + 1, dtype=np.float32)[0]
    return [first, *(cos * first + np.sqrt(1 - cos**2) * np.eye(n + 1, dtype=np.float32)[i + 1] for i in range(n))]


def test_near_when_most_words_are_the_same_then_counted_below_the_cosine(make_context: Any, found: Any) -> None:
    texts = [
        "The upload service retries 84 times before it gives up on Willow Stone",
        "The upload service retries 84 times before it stops trying on Willow Stone",  # 11 of 15 words: .73
        "The upload service retries 85 times before it gives up on Willow Stone",  # a number
        "The upload service never retries 84 times before it gives up on Willow Stone",  # a negation
        "THE UPLOAD service retries 84 times before it gives up on Willow Stone",  # a copy, left to MA305
        "It gives up on Willow Stone after 84 attempts of the uploader",  # says the same in other words: below .7
    ]
    vectors = [v.astype(np.float32) for v in _at(0.93, 5)]
    finding = found(PROBE.run(make_context({"id": list("abcdef"), "content": texts, "embedding": vectors})), "MA306")
    assert finding.evidence.ids == ("b",)
    assert (finding.figures["same_words_rows"], finding.figures["near_rows"], finding.figures["reworded_rows"]) == (
        1,
        1,
        0,
    )
    assert finding.severity is Severity.LOW
    assert finding.title.startswith("1 of 6 (17 %) rows below cosine 0.95 say the same")


def test_near_when_the_cosine_is_lower_still_then_silent(make_context: Any, found: Any) -> None:
    texts = ["图片上传前先压缩到一兆以内", "图片上传前要先压缩到一兆以内"]
    vectors = [v.astype(np.float32) for v in _at(0.91, 1)]
    assert found(PROBE.run(make_context({"content": texts, "embedding": vectors})), "MA306") is None
    vectors = [v.astype(np.float32) for v in _at(0.925, 1)]
    assert (
        found(PROBE.run(make_context({"content": texts, "embedding": vectors})), "MA306").figures["same_words_rows"]
        == 1
    )


def test_near_identical_counts_details_and_proposes_no_merge_of_a_contradiction(near_store: Any, found: Any) -> None:
    result = PROBE.run(near_store())
    detail = found(result, "MA307")
    # safe: (0, 1) alone. numbers: row 2 (60) against 0, 1, 3, 4: 4. negation: row 3 against 0, 1, 2, 4: 4.
    assert detail.figures["pairs_safe_to_merge"] == 1
    assert detail.figures["pairs_differing_in_numbers"] == 4
    assert detail.figures["pairs_differing_by_negation"] == 4
    assert detail.figures["pairs_differing"] == 9
    # Four pairs by negation, and no series of three equal texts but for numbers: they may contradict each other.
    assert detail.severity is Severity.MEDIUM
    assert detail.lane == ""
    plan = [(p.action, p.keep, p.ids) for p in result.proposals]
    assert plan == [("merge", 1, (2,)), ("review", None, (1, 2, 3, 4, 5))]


@pytest.mark.parametrize(("config", "severity"), [({"dedup": "on"}, Severity.MEDIUM), ({}, Severity.LOW)])
def test_near_identical_when_readings_then_medium_only_where_the_store_deduplicates(
    make_context: Any, found: Any, config: Any, severity: Any
) -> None:
    texts = [f"cold room A: {i}.5 degrees on day {i}" for i in range(10)]
    vectors = [[1.0, 0.01 * i, 0.0] for i in range(10)]
    ctx = make_context({"content": texts, "embedding": [np.array(v, dtype=np.float32) for v in vectors]}, config=config)
    assert found(PROBE.run(ctx), "MA307").severity is severity


@pytest.mark.parametrize(
    ("first", "second", "severity"),
    [
        ("We run Postgres 15 in production.", "We run Postgres 16 in production.", Severity.MEDIUM),
        ("用户吃素。", "用户不吃素。", Severity.MEDIUM),
        ("Ask Ana about the invoices.", "Ask Boris about the invoices.", Severity.LOW),
    ],
)
def test_near_identical_when_two_texts_may_contradict_then_medium(
    make_context: Any, found: Any, first: Any, second: Any, severity: Any
) -> None:
    texts = [first, second, "短信验证码有效期是五分钟。", "Only the release manager may tag a version."]
    vectors = [np.array(v, dtype=np.float32) for v in ([1, 0, 0], [1, 0.05, 0], [0, 1, 0], [0, 0, 1])]
    ctx = make_context({"content": texts, "embedding": vectors})
    assert found(PROBE.run(ctx), "MA307").severity is severity


def test_near_identical_when_one_wrong_vector_stands_for_unlike_sentences_then_left_to_another_rule(
    make_context: Any, found: Any
) -> None:
    texts = [
        "Ana may not book a flight above 300 euros.",
        "The printer on floor 2 jams every week.",
        "Never call Boris before ten.",
    ]
    same = [np.array([1, 0], dtype=np.float32)] * 3
    assert [
        f.code for f in PROBE.run(make_context({"content": texts, "embedding": same})).findings if f.code == "MA307"
    ] == []
    # What an encoder takes for one text, because only a number differs, is what the rule is for.
    texts[1] = texts[0].replace("300", "500")
    detail = found(PROBE.run(make_context({"content": texts, "embedding": same})), "MA307")
    assert detail.figures["pairs_differing"] == 1


@pytest.mark.parametrize(("others", "severity"), [(98, Severity.MEDIUM), (99, Severity.LOW)])
def test_near_identical_when_one_pair_of_dates_in_many_rows_then_chance(
    make_context: Any, found: Any, others: int, severity: Any
) -> None:
    # 1 pair in 100 rows is 1 %, in 101 rows less.
    texts = [
        "Backups run on Tuesday.",
        "Backups run on Thursday.",
        *(f"note {'x' * i} of a person" for i in range(others)),
    ]
    vectors = [np.eye(others + 1, dtype=np.float32)[max(0, i - 1)] for i in range(others + 2)]
    finding = found(PROBE.run(make_context({"content": texts, "embedding": vectors})), "MA307")
    assert (finding.severity, finding.figures["pairs_that_may_contradict"]) == (severity, 1)
    assert finding.figures["pairs_differing_otherwise"] == 1
    assert "1 in other details" in finding.title


def test_near_identical_when_the_rest_of_the_series_is_less_near_then_readings_all_the_same(
    make_context: Any, found: Any
) -> None:
    # Two of four deployments are near enough to be compared; the other two make them a series nevertheless.
    texts = [f"发布购物车服务 4.2.{i}，耗时 {50 + i} 秒" for i in (2, 9, 31, 57)] + ["短信验证码有效期是五分钟。"]
    vectors = [np.array(v, dtype=np.float32) for v in ([1, 0, 0], [1, 0.05, 0], [1, 0.6, 0], [1, 0, 0.6], [0, 1, 0])]
    finding = found(PROBE.run(make_context({"content": texts, "embedding": vectors})), "MA307")
    assert finding.figures["pairs_differing"] == 1
    assert finding.figures["pairs_that_may_contradict"] == 0
    assert finding.severity is Severity.LOW


def test_near_duplicates_when_only_copies_are_near_then_silent(make_context: Any, found: Any) -> None:
    vectors = [np.eye(8, dtype=np.float32)[i] for i in (0, 0, 1, 2)]
    ctx = make_context({"content": ["部署完成", "部署完成", "a b c", "d e f"], "embedding": vectors})
    result = PROBE.run(ctx)
    assert found(result, "MA305") is not None
    assert found(result, "MA306") is None
    assert found(result, "MA307") is None


def test_near_duplicates_when_rows_are_readings_then_at_most_low(make_context: Any, found: Any) -> None:
    texts = [f"cold room A: {i}.5 degrees on day {i}" for i in range(10)]
    ctx = make_context({"content": texts, "embedding": _near(10, 10, 0.992, 0)})
    assert found(PROBE.run(ctx), "MA306").severity is Severity.LOW


def test_near_duplicates_when_blank_rows_share_a_vector_then_left_out(make_context: Any, found: Any) -> None:
    vectors = [np.eye(8, dtype=np.float32)[i] for i in (0, 0, 0, 1, 2)]
    ctx = make_context({"content": ["", " ", None, "a b c", "d e f"], "embedding": vectors})
    assert PROBE.run(ctx).findings == ()
    assert measured_near_copies(ctx, ctx.records.texts).n_valid == 2


def test_near_duplicates_when_every_cosine_is_high_then_says_that_it_could_not_look(
    make_context: Any, found: Any
) -> None:
    words = [
        "alpha",
        "bravo",
        "charlie",
        "delta",
        "echo",
        "foxtrot",
        "golf",
        "hotel",
        "india",
        "juliet",
        "kilo",
        "lima",
    ]
    vectors = np.zeros((12, 40))
    vectors[:, 0] = np.sqrt(0.97)
    vectors[np.arange(12), 1 + np.arange(12)] = np.sqrt(0.03)
    ctx = make_context({"content": words, "embedding": list(vectors.astype(np.float32))})
    result = PROBE.run(ctx)
    assert result.findings == ()
    assert "MA018" in result.not_looked["MA306"][0]


def test_near_pairs_when_too_many_then_different_texts_are_read_and_it_is_said(
    make_context: Any, found: Any, monkeypatch: Any
) -> None:
    texts = ["limit is 30"] * 20 + ["limit is 60"]
    ctx = make_context({"content": texts, "embedding": [np.eye(8, dtype=np.float32)[0]] * 21})
    near = measured_near_copies(ctx, texts, max_pairs=50)
    assert near.is_cut
    assert near.n_pairs == 210  # 21 * 20 / 2
    assert [(p.i, p.j) for p in near.compared.pairs] == [(0, 20)]
    monkeypatch.setattr("memaudit.probes.duplicates.measured_near_copies", lambda ctx, texts: near)
    detail = found(PROBE.run(ctx), "MA307")
    assert detail.basis is Basis.SAMPLED
    assert "210" in detail.caveat


def test_duplicates_of_an_empty_store_then_silent(make_context: Any) -> None:
    assert PROBE.run(make_context({"content": []}, {"encoder": "stored"})).findings == ()


def test_exact_duplicates_in_the_reference_cases(case_context: Any, found: Any) -> None:
    ctx = case_context("009-exact-duplicates-despite-dedup", encoder="stored")
    figures = found(PROBE.run(ctx), "MA305").figures
    assert figures == {
        "rows": 40,
        "groups_identical": 2,
        "extra_copies_identical": 16,
        "groups_after_case_and_space": 3,
        "extra_copies_after_case_and_space": 19,
        "share_extra": 0.475,
        "largest_group": 12,
    }


def test_repeated_readings_in_the_reference_case_are_at_most_low(case_context: Any) -> None:
    result = PROBE.run(case_context("059-control-repeated-readings"))
    assert all(f.severity <= Severity.LOW for f in result.findings)
    assert [f.code for f in result.findings] == ["MA306", "MA307"]
    assert not [p for p in result.proposals if p.action == "merge"]


def test_healthy_reference_case_then_silent(case_context: Any) -> None:
    assert PROBE.run(case_context("060-control-healthy-bilingual")).findings == ()
    assert PROBE.run(case_context("015-embeddings-missing-after-outage")).findings == ()
