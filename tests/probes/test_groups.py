import importlib.util
import json
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from memaudit.measures.group_figures import are_readings, without_numbers
from memaudit.model import Severity
from memaudit.probes.groups import PROBE
from tests.probes.builders import codes, make_context, only, star_rows

ROLES = {"text": "content", "embedding": "embedding", "value_field": "pattern"}
NAMED: dict[str, Any] = {"value_field": "pattern"}
ROOT = Path(__file__).resolve().parents[2]


def with_texts(rows: Any, *texts: Any) -> Any:
    """Give the first rows other texts."""
    return [{**row, "content": text} for row, text in zip(rows, texts, strict=False)] + rows[len(texts) :]


def test_group_of_near_rows_with_other_words_when_a_fifth_of_the_store_then_medium() -> None:
    # 6 of 10 rows; every pair of the group has the cosine 0.97, so mean = min = first to others = 0.97.
    rows = star_rows([("登录", 6, 0.97), ("b", 2, 0.3), ("c", 2, 0.3)])
    finding = only(PROBE.run(make_context(rows, roles=ROLES, **NAMED)), "MA303")
    assert finding.severity is Severity.MEDIUM
    assert finding.subject == {"table": "memories", "column": "pattern", "values": ["登录"]}
    assert finding.figures["group"] == "登录"
    assert finding.figures["group_rows"] == 6
    assert finding.figures["distinct_values"] == 3
    # the group is one cluster at 0.95; the rows of b and c stand alone: 1 + 2 + 2
    assert finding.figures["clusters@0.95"] == 5
    assert finding.figures["clusters@0.98"] == 10
    for name in ("group_mean", "group_min", "cosine_first_to_others"):
        assert finding.figures[name] == pytest.approx(0.97, abs=1e-6)
    assert finding.figures["hit_share"] is None
    assert finding.evidence.ids == (1, 2, 3, 4, 5, 6)
    assert finding.lane == "data collection"


def test_group_when_a_smaller_part_of_the_store_then_low() -> None:
    rows = star_rows([("a", 5, 0.97), *((f"other {i}", 1, 0.5) for i in range(21))])  # 5 of 26 = 19.2 %
    assert only(PROBE.run(make_context(rows, roles=ROLES, **NAMED)), "MA303").severity is Severity.LOW


@pytest.mark.parametrize("group", [("a", 4, 0.97), ("a", 6, 0.94)])
def test_group_when_too_small_or_not_near_enough_then_silent(group: Any) -> None:
    rows = star_rows([group, ("b", 2, 0.9)])
    assert codes(PROBE.run(make_context(rows, roles=ROLES, **NAMED))) == []


def test_group_when_texts_differ_in_numbers_and_dates_only_then_info() -> None:
    rows = star_rows([("冷库温度", 6, 0.97), ("b", 2, 0.5)])
    rows = with_texts(rows, *(f"冷库A温度：{d}.{d} 度，6月{d}日" for d in range(1, 7)))
    result = PROBE.run(make_context(rows, roles=ROLES, **NAMED))
    finding = only(result, "MA303")
    assert finding.severity is Severity.INFO
    assert finding.fix == ""
    assert result.proposals == ()


def test_identical_texts_when_near_then_they_are_no_readings() -> None:
    rows = with_texts(star_rows([("a", 6, 0.97), ("b", 2, 0.5)]), *["disk 7 is full"] * 6)
    assert only(PROBE.run(make_context(rows, roles=ROLES, **NAMED)), "MA303").severity is Severity.MEDIUM


def test_group_when_there_is_no_text_then_low_at_most() -> None:
    rows = star_rows([("a", 6, 0.97)])
    finding = only(PROBE.run(make_context(rows, roles={**ROLES, "text": None}, **NAMED)), "MA303")
    assert finding.severity is Severity.LOW
    assert "no text column" in (finding.caveat or "")


def test_group_when_the_counter_is_alive_then_hit_share_is_given() -> None:
    rows = [{**row, "hits": 3 if row["id"] in (1, 7) else 0} for row in star_rows([("a", 6, 0.97), ("b", 2, 0.5)])]
    finding = only(PROBE.run(make_context(rows, roles={**ROLES, "hits": "hits"}, **NAMED)), "MA303")
    assert finding.figures["hit_share"] == pytest.approx(1 / 6)


def test_group_when_the_counter_is_dead_then_hit_share_is_not_known() -> None:
    rows = [{**row, "hits": 0} for row in star_rows([("a", 6, 0.97)])]
    finding = only(PROBE.run(make_context(rows, roles={**ROLES, "hits": "hits"}, **NAMED)), "MA303")
    assert finding.figures["hit_share"] is None


def test_group_when_a_log_names_its_rows_then_hit_share_comes_from_the_log() -> None:
    rows = star_rows([("a", 6, 0.97), ("b", 6, 0.5)])
    log = [{"query_id": i, "memory_id": m} for i, m in enumerate((2, 2, 3, 4, 12))]
    ctx = make_context(rows, roles=ROLES, tables={"log": log}, retrieval_log="log", **NAMED)
    assert only(PROBE.run(ctx), "MA303").figures["hit_share"] == 0.5  # rows 2, 3, 4 of 6


def test_wide_group_when_named_then_medium_with_mean_and_smallest() -> None:
    rows = star_rows([("a", 6, 0.97), ("其他", 5, 0.55), ("c", 3, 0.96)])
    finding = only(PROBE.run(make_context(rows, roles=ROLES, **NAMED)), "MA304")
    assert finding.severity is Severity.MEDIUM
    assert finding.subject["values"] == ["其他"]
    assert finding.figures["group_rows"] == 5
    assert finding.figures["within_group_cosine_mean"] == pytest.approx(0.55, abs=1e-6)
    assert finding.figures["within_group_cosine_min"] == pytest.approx(0.55, abs=1e-6)
    assert finding.figures["groups"]["其他"]["group_rows"] == 5
    assert finding.evidence.ids == (7, 8, 9, 10, 11)
    assert finding.lane == "generator"


@pytest.mark.parametrize("group", [("b", 5, 0.81), ("b", 2, 0.1)])
def test_wide_group_when_of_two_rows_or_near_enough_then_silent(group: Any) -> None:
    assert codes(PROBE.run(make_context(star_rows([("a", 4, 0.97), group]), roles=ROLES, **NAMED))) == []


def test_wide_group_when_of_three_rows_then_a_hint() -> None:
    finding = only(PROBE.run(make_context(star_rows([("a", 4, 0.9), ("b", 3, 0.2)]), roles=ROLES, **NAMED)), "MA304")
    assert finding.severity is Severity.LOW
    assert "hint" in (finding.caveat or "")


def test_wide_group_when_found_by_looking_then_info() -> None:
    roles = {**ROLES, "guessed": {"value_field": "pattern, because it repeats"}}
    finding = only(PROBE.run(make_context(star_rows([("a", 5, 0.9), ("b", 5, 0.2)]), roles=roles)), "MA304")
    assert finding.severity is Severity.INFO


def test_wide_group_when_values_are_meant_to_be_broad_then_low() -> None:
    ctx = make_context(star_rows([("a", 5, 0.9), ("b", 5, 0.2)]), roles=ROLES, value_field_role="broad", **NAMED)
    assert only(PROBE.run(ctx), "MA304").severity is Severity.LOW


BROAD = [("ops", 5, 0.6), ("数据", 5, 0.6), ("web", 5, 0.6)]


def test_broad_category_when_every_group_is_wide_then_low() -> None:
    finding = only(PROBE.run(make_context(star_rows(BROAD), roles=ROLES, **NAMED)), "MA304")
    assert finding.severity is Severity.LOW
    assert "broad category" in (finding.caveat or "")


def test_broad_category_when_every_group_is_wide_then_table_and_answer_do_not_call_them_mixed() -> None:
    (section,) = PROBE.run(make_context(star_rows(BROAD), roles=ROLES, **NAMED)).sections
    assert {row["reading"] for row in section.tables[0].rows} == {"wide, as all are"}
    assert not [row for row in section.tables[0].rows if "_mark" in row]
    assert section.answer == "All 3 larger groups are as wide as those of a broad category."


def test_group_when_a_row_has_no_vector_then_the_count_of_rows_says_so() -> None:
    rows = star_rows([("a", 6, 0.97), ("b", 5, 0.3)])
    rows[3] = {**rows[3], "embedding": None}
    rows[8] = {**rows[8], "embedding": None}
    result = PROBE.run(make_context(rows, roles=ROLES, **NAMED))
    assert "`a`: 6 rows, 1 of them without a vector." in (only(result, "MA303").caveat or "")
    assert "`b`: 5 rows, 1 of them without a vector." in (only(result, "MA304").caveat or "")
    assert result.sections[0].tables[0].caption.endswith("n = 2 groups, 11 rows, 2 of them without a vector")


def test_broad_category_when_said_to_be_one_then_silent() -> None:
    assert codes(PROBE.run(make_context(star_rows(BROAD), roles=ROLES, value_field_role="broad", **NAMED))) == []


def test_wide_groups_when_the_key_was_named_for_grouping_then_medium() -> None:
    ctx = make_context(star_rows(BROAD), roles={**ROLES, "group_field": "pattern"}, group_field="pattern")
    assert only(PROBE.run(ctx), "MA304").severity is Severity.MEDIUM


def test_groups_of_one_row_when_run_then_nothing_to_show() -> None:
    result = PROBE.run(make_context(star_rows([("a", 1, 0.5), ("b", 1, 0.5)]), roles=ROLES))
    assert result.findings == ()
    assert result.sections == ()


def test_limits_when_configured_then_they_win() -> None:
    rows = star_rows([("a", 6, 0.97)])
    ctx = make_context(rows, roles=ROLES, limits={"MA303": {"min_mean_cos": 0.98}}, **NAMED)
    assert codes(PROBE.run(ctx)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cold room A temperature: 3.9 on day 1", "cold room a temperature: # on day #"),
        ("2026-05-01 12:30 电表读数 12,034", "# 电表读数 #"),
        ("no numbers", "no numbers"),
        ("", ""),
    ],
)
def test_without_numbers_when_given_then_only_the_shared_words_are_left(text: Any, expected: Any) -> None:
    assert without_numbers(text) == expected


def test_readings_when_of_two_series_then_yes() -> None:
    assert are_readings([f"room {room}: {n}.5" for room in "AB" for n in range(4)])


def test_readings_when_a_count_of_failures_then_yes() -> None:
    assert are_readings([f"error rate: {n}.2 %" for n in range(6)])
    assert are_readings([f"登录失败次数: {n}" for n in range(6)])


@pytest.mark.parametrize(
    "texts",
    [
        [f"bash: line {n}: pdftotext: command not found" for n in range(3, 20)],
        [f"上传失败，已重试 {n} 次" for n in range(6)],
        ["disk is full"] * 6,
        ["7 disks are full"] * 6,
        [f"zsh: missing tool ({name})" for name in ("extract", "convert", "papers", "nightly", "index")],
        ["only one 1"],
        ["7 disks full", "3 pumps on", "9 doors open"] * 4,
        [],
    ],
)
def test_readings_when_one_event_is_met_again_then_no(texts: Any) -> None:
    assert not are_readings(texts)


def test_bundled_store_when_read_then_its_largest_group_is_no_series_of_readings(tmp_path: Any) -> None:
    # By file: a bare `import build` could find the packaging tool of that name.
    spec = importlib.util.spec_from_file_location("example_build", ROOT / "fixtures" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = build
    spec.loader.exec_module(build)
    connection = sqlite3.connect(build.build(tmp_path, with_vectors=False))
    rows = connection.execute("SELECT diagnosis FROM experiences WHERE abstract_pattern LIKE '%shell%'").fetchall()
    connection.close()
    assert len(rows) == 47
    assert not are_readings([text for (text,) in rows])


def test_control_with_repeated_readings_when_read_then_readings() -> None:
    folder = Path(os.environ.get("MEMAUDIT_SHARED", ROOT.parent / "shared"))
    case = folder / "cases" / "059-control-repeated-readings"
    if not case.is_dir():
        pytest.skip(f"no reference cases in {folder}")
    connection = sqlite3.connect(f"file:{case / 'store.db'}?mode=ro&immutable=1", uri=True)
    column = json.loads((case / "expected.json").read_text(encoding="utf-8"))["setup"]["value_field"]
    groups = connection.execute(
        f"SELECT {column}, json_group_array(content) FROM memories GROUP BY 1 HAVING count(*) > 1"
    ).fetchall()
    connection.close()
    assert len(groups) == 2
    assert all(are_readings(json.loads(texts)) for _, texts in groups)
