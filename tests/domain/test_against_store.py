"""Domain against stored values and rows, with figures worked out by hand."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memaudit.domain.against_store import (
    compare_replay,
    compare_values,
    domain_size,
    form_instances,
    has_cjk,
)
from memaudit.domain.result import DomainResult, Fallback, Form
from memaudit.target import enumerate_domain, replay

SHARED = Path(os.environ.get("MEMAUDIT_SHARED", Path(__file__).resolve().parents[3] / "shared"))
TOOL_FORM = Form(((False, "工具试错模式: "), (True, "tool_name"), (False, "工具重试成功")))


def domain(**changes: Any) -> DomainResult:
    fields: dict[str, Any] = {
        "target": "m:f", "mode": "import", "file": "m.py", "line": 1, "module": "m", "parameters": ("text",),
        "fixed_values": (), "forms": (), "domain_size": None, "complete": True, "missing": (), "pure": True,
        "impurities": (), "witnesses": (), "shadowed": (), "keywords": (), "fallback": Fallback(),
        "outside_annotation": (), "calls": 3, "failed_calls": 0, "errors": (), "status": "ok", "reason": None,
        "notes": (),
    }  # fmt: skip
    return DomainResult(**{**fields, **changes})


def test_size_is_fixed_values_plus_filled_forms() -> None:
    fixed = tuple(f"tag{i}" for i in range(31))
    found = domain(fixed_values=fixed, forms=(TOOL_FORM,))
    tools = [f"tool{i}" for i in range(19)]
    assert domain_size(found, {"tool_name": [*tools, *tools, None, ""]}) == 50  # 31 + 19
    # Without names of tools the stored instances count: two of them here.
    stored = ["工具试错模式: a工具重试成功", "工具试错模式: b工具重试成功", "tag1", "else", None]
    assert domain_size(found, None, stored) == 33
    assert domain_size(found) is None


def test_size_is_unknown_when_not_complete_or_never_called() -> None:
    assert domain_size(domain(fixed_values=("a",), complete=False)) is None
    assert domain_size(domain(status="unknown", complete=True)) is None
    assert domain_size(domain(fixed_values=("a", None, 1, True, "1"))) == 5


def test_instance_equal_to_a_fixed_value_counts_once() -> None:
    form = Form(((True, "env"),))
    assert domain_size(domain(fixed_values=("dev",), forms=(form,)), {"env": ["dev", "prod"]}) == 2


def test_form_with_two_holes_takes_every_pair() -> None:
    form = Form(((True, "a"), (False, "-"), (True, "b")))
    assert form_instances(form, {"a": ["x", "y"], "b": [1, 2, 2]}) == ["x-1", "x-2", "y-1", "y-2"]
    assert form_instances(form, {"a": ["x"]}) is None


def test_values_seen_never_seen_and_outside() -> None:
    found = domain(
        fixed_values=("net", "time", "other"), forms=(TOOL_FORM,),
        fallback=Fallback(("other",), (TOOL_FORM.text,), True),
    )  # fmt: skip
    stored = [
        "net",
        "other",
        "工具试错模式: bash工具重试成功",
        "工具试错模式: bash工具重试成功",
        "手写",
        None,
        None,
    ]
    texts = ["net down", "中文内容", "日志", "plain", "x", "y", "错"]
    seen = compare_values(found, stored, texts=texts, hole_values={"tool_name": ["bash", "grep"]})
    assert seen.n_rows == 7
    assert seen.domain_size == 5  # 3 fixed + 2 tools
    assert seen.values_seen == 3  # net, other, the bash sentence
    assert seen.values_never_seen == ("time", "工具试错模式: grep工具重试成功")
    assert seen.outside == ((None, 2), ("手写", 1))
    assert seen.outside_is_certain
    assert seen.n_on_fallback == 3
    assert seen.fallback_share == pytest.approx(3 / 7)
    assert (seen.n_cjk, seen.n_cjk_on_fallback) == (
        3,
        2,
    )  # rows 2, 3 and 7 are Chinese; 2 and 3 on the fallback
    assert next((f.form, f.n_rows) for f in seen.by_form) == (TOOL_FORM.text, 2)
    assert seen.fallback_values == ("工具试错模式: bash工具重试成功", "other")


def test_fallback_not_separable_gives_no_share_but_a_reason() -> None:
    found = domain(fixed_values=("object", "array"), fallback=Fallback(("object",), (), False))
    seen = compare_values(found, ["object", "array"])
    assert seen.fallback_share is None
    assert seen.n_on_fallback is None
    assert "replay" in str(seen.why_no_fallback)


def test_empty_store_gives_no_share() -> None:
    seen = compare_values(domain(fixed_values=("a",), fallback=Fallback(("a",), (), True)), [], texts=[])
    assert (seen.n_rows, seen.values_seen, seen.n_on_fallback, seen.fallback_share) == (0, 0, None, None)
    assert seen.values_never_seen == ("a",)


def test_outside_is_not_certain_when_the_domain_is_not_complete() -> None:
    seen = compare_values(domain(fixed_values=("a",), complete=False), ["b"])
    assert seen.outside == (("b", 1),)
    assert not seen.outside_is_certain


def test_cjk_is_told_by_its_letters() -> None:
    assert has_cjk("超时 timeout")
    assert has_cjk("テスト")
    assert not has_cjk("naïve café — ok")
    assert not has_cjk("")


LABELLER = """
def label(text):
    low = text.lower()
    if any(k in low for k in ("timeout", "超时")):
        return "time"
    if "rm" in low or "delete" in low:
        return "danger"
    if "timeouts" in low:
        return "never"
    return "other"
"""


def test_replay_counts_keywords_fallback_and_words(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(LABELLER, encoding="utf-8")
    found = enumerate_domain("lab:label", base=tmp_path)
    assert found.fixed_values == ("danger", "other", "time")
    assert [(s.keyword, s.by) for s in found.shadowed] == [("timeouts", "timeout")]
    rows = ["Timeout, then rm -rf", "format the form", "网络超时", "中文", "rm x", "plain"]
    replayed = replay("lab:label", [[row] for row in rows], domain=found, base=tmp_path)
    stored = ["time", "danger", "time", "other", "other", None]
    seen = compare_replay(found, replayed, stored=stored, texts=rows)
    assert [row.value for row in replayed.rows if row] == [
        "time",
        "danger",
        "time",
        "other",
        "danger",
        "other",
    ]
    assert seen.n_agree == 4  # rows 5 and 6 are stored otherwise
    assert (seen.n_replayed, seen.n_failed, seen.n_on_fallback) == (6, 0, 2)
    assert seen.fallback_share == pytest.approx(2 / 6)
    assert (seen.n_cjk, seen.n_cjk_on_fallback) == (2, 1)
    by_text = {k.keyword.text: k for k in seen.keywords}
    assert {text: k.n_matched for text, k in by_text.items()} == {
        "timeout": 1, "超时": 1, "rm": 3, "delete": 0, "timeouts": 0,
    }  # fmt: skip
    # "rm" stands in the first row, too, but the first branch had decided before it was asked.
    assert by_text["rm"].n_decided == 2
    # "rm -rf", "rm x" are words; "format" and "form" hold two more places inside words: fo-rm-at, fo-rm.
    assert (by_text["rm"].n_places, by_text["rm"].n_inside_word) == (4, 2)
    assert by_text["timeouts"].shadowed_by == "timeout"
    assert set(seen.never_matched) == {"delete", "timeouts"}


def test_replay_tells_the_fallback_where_the_value_cannot(tmp_path: Path, samples: Path) -> None:
    (tmp_path / "labels.py").write_text((samples / "labels.py").read_text(encoding="utf-8"), encoding="utf-8")
    found = enumerate_domain("labels:schema_type", base=tmp_path)
    assert found.fallback.separable is False
    rows = replay("labels:schema_type", [["dict"], ["Path"], ["int"]], domain=found, base=tmp_path).rows
    assert [(row.value, row.on_fallback) for row in rows if row] == [
        ("object", False), ("object", True), ("number", False),
    ]  # fmt: skip


def test_bundled_structure_holds_50_values(tmp_path: Path, samples: Path) -> None:
    (tmp_path / "labels.py").write_text((samples / "labels.py").read_text(encoding="utf-8"), encoding="utf-8")
    tools = [f"tool_{i}" for i in range(19)]
    found = enumerate_domain("labels:Recorder.pattern", base=tmp_path, hole_values={"tool_name": tools})
    assert found.domain_size == 50  # 31 fixed + 19 tools
    rows: list[dict[str, Any]] = [
        {"failures": [{"error": "connect timed out"}], "tool_name": "tool_1"},
        {"failures": [{"error": "退出码 1"}, {"error": "again"}], "tool_name": "tool_2"},
        {"failures": [], "tool_name": "tool_3"},
    ]
    seen = replay("labels:Recorder.pattern", rows, domain=found, base=tmp_path)
    assert [row.value for row in seen.rows if row] == [
        "超时/网络", "工具试错模式: tool_2工具重试成功", "工具试错模式: tool_3工具重试成功",
    ]  # fmt: skip
    assert [row.on_fallback for row in seen.rows if row] == [False, True, True]


def test_case_001_gives_its_expected_figures() -> None:
    folder = SHARED / "cases" / "001-fallback-swallows-chinese"
    if not folder.is_dir():
        pytest.skip("the shared cases are not beside this checkout")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    target = expected["setup"]["generator"]
    address = f"file:{folder / 'store.db'}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as store, store:
        rows = store.execute("select content, sector from memories order by id").fetchall()
    store.close()
    texts, stored = [row[0] for row in rows], [row[1] for row in rows]
    found = enumerate_domain(target, base=folder)
    seen = compare_values(found, stored, texts=texts)
    figures = expected["expect"]["findings"][0]["figures"]
    assert found.domain_size == figures["domain_size"]
    assert seen.values_seen == figures["values_seen"]
    assert list(seen.values_never_seen) == figures["values_never_seen"]
    assert seen.fallback_values == (figures["fallback_value"],)
    assert (seen.n_rows, seen.n_on_fallback) == (figures["rows"], figures["rows_on_fallback"])
    assert seen.fallback_share == pytest.approx(figures["share_on_fallback"], abs=0.005)
    assert (seen.n_cjk, seen.n_cjk_on_fallback) == (figures["cjk_rows"], figures["cjk_rows_on_fallback"])
    assert seen.outside == ()
    keywords = expected["expect"]["findings"][1]["figures"]
    replayed = replay(target, [[text] for text in texts], domain=found, base=folder)
    by_row = compare_replay(found, replayed, stored=stored, texts=texts)
    assert len(by_row.keywords) == keywords["patterns_total"]
    assert list(by_row.never_matched) == keywords["which"]
    assert by_row.n_agree == 30
    assert (by_row.n_on_fallback, by_row.n_cjk_on_fallback) == (25, 22)
