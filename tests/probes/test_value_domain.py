"""MA101-MA106, MA902, MA903: the generator of small stores, enumerated and held against their rows."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.config_file import load
from memaudit.engine import run_audit
from memaudit.model import Audit, Finding, Severity

COLUMNS = "id INTEGER PRIMARY KEY, content TEXT, kind TEXT"

SORTER = """
    def sort(content):
        low = content.lower()
        if "timeout" in low or "timed out" in low:
            return "slow"
        if any(k in low for k in ("denied", "permission")):
            return "access"
        if "rm" in low:
            return "delete"
        return "other"
"""


@pytest.fixture
def audited(write_store: Callable[..., Path], tmp_path: Path) -> Callable[..., Audit]:
    """Return a function that audits rows (content, kind) with a generator given as source."""

    def audit(rows: list[tuple[str, Any]], source: str = SORTER, target: str = "gen.py:sort", **options: Any) -> Audit:
        (tmp_path / "gen.py").write_text(textwrap.dedent(source))
        store = write_store([(i + 1, text, kind) for i, (text, kind) in enumerate(rows)], COLUMNS)
        options = {"store": str(store), "generator": target, "value_field": "kind", "text": "content", **options}
        options.setdefault("generator_args", ("content",))
        return run_audit(load(isolated=True, start=tmp_path, options={**options, "select": ("value-domain",)}))

    return audit


def by_code(audit: Audit) -> dict[str, Finding]:
    return {f.code: f for f in audit.findings}


ROWS = [
    *[(f"everything went fine, run number {i}", "other") for i in range(12)],
    *[(f"第{i}次运行一切正常", "other") for i in range(4)],
    ("the call timed out", "slow"),
    ("permission was refused", "access"),
    ("rm -rf was asked for", "delete"),
    ("reformatted the alarm", "delete"),  # `rm` twice inside longer words: refoRMatted, alaRM
    ("unknown origin", "imported"),
]


def test_store_when_a_third_falls_back_and_words_are_inflected_then_nothing_above_low(
    audited: Callable[..., Audit],
) -> None:
    source = """
        def sort(text):
            if "deploy" in text:
                return "release"
            if "printer" in text or "打印" in text:
                return "office"
            return "other"
    """
    rows = [(f"deploys of the part {chr(97 + i)} are blue", "release") for i in range(8)]
    rows += [(f"打印机在第{i}层", "office") for i in range(4)] + [("printers jam", "office")] * 2
    rows += [(f"a word about the weather of town {chr(97 + i)}", "other") for i in range(6)]
    found = by_code(audited(rows, source=source))
    assert found["MA101"].figures["share_on_fallback"] == 0.3  # 6 of 20
    assert found["MA101"].severity is Severity.LOW
    assert "MA105" not in found  # 8 deploys and 2 printers are forms of the keywords
    assert audited([*rows, *rows[-6:-4]], source=source).verdict.state != "generator"


def test_store_when_most_rows_fall_back_then_every_figure_is_counted(audited: Callable[..., Audit]) -> None:
    found = by_code(audited(ROWS))
    fallback = found["MA101"]
    # 16 of 21 rows on "other"; 4 values of 4 seen; all 4 Chinese rows on the fallback.
    assert fallback.figures["rows_on_fallback"] == 16
    assert fallback.figures["rows"] == 21
    assert fallback.figures["share_on_fallback"] == pytest.approx(16 / 21)
    assert fallback.figures["domain_size"] == 4
    assert fallback.figures["values_seen"] == 4
    assert fallback.figures["values_never_seen"] == []
    assert fallback.figures["fallback_value"] == "other"
    assert (fallback.figures["cjk_rows"], fallback.figures["cjk_rows_on_fallback"]) == (4, 4)
    assert fallback.severity is Severity.HIGH
    assert fallback.evidence.total == len(fallback.evidence.ids) == 16
    outside = found["MA102"]
    assert outside.figures["outside_values"] == ["imported"]
    assert (outside.figures["rows_outside"], outside.evidence.ids) == (1, (21,))
    # timeout and denied match no row; timed out, permission and rm do.
    never = found["MA103"]
    assert sorted(never.figures["which"]) == ["denied", "timeout"]
    assert (never.figures["patterns_total"], never.figures["patterns_never_matching"]) == (5, 2)
    inside = found["MA105"]
    # rm: "rm -rf" is a word, "reformatted" and "alarm" hold it inside; permission holds rm inside, too.
    assert inside.figures["which"] == ["rm"]
    assert found["MA106"].figures == {"domain_size": 4, "values_seen": 4, "rows": 21}
    assert "MA903" not in found


def test_store_when_few_rows_fall_back_then_silent(audited: Callable[..., Audit]) -> None:
    rows = [(f"the call timed out after {i} s", "slow") for i in range(17)] + [(f"fine {i}", "other") for i in range(4)]
    found = by_code(audited(rows))  # 4 of 21 = 19.0 %, below 20 %
    assert "MA101" not in found
    assert "MA102" not in found
    assert "MA106" not in found


def test_values_when_null_or_blank_then_not_called_outside(audited: Callable[..., Audit]) -> None:
    rows = [("the call timed out", "slow")] * 18 + [("x", None), ("y", "")]
    assert "MA102" not in by_code(audited(rows))


def test_generator_when_missing_then_incomplete_and_nothing_else_is_hurt(audited: Callable[..., Audit]) -> None:
    audit = audited(ROWS, target="gen.py:sorted_out")
    assert "sorted_out" in audit.incomplete
    assert by_code(audit)["MA902"].severity is Severity.HIGH
    assert {n.codes[0] for n in audit.not_run} == {"MA101", "MA102", "MA103", "MA104", "MA105", "MA106"}


def test_generator_when_every_call_raises_then_incomplete_too(audited: Callable[..., Audit]) -> None:
    audit = audited(ROWS, source='def sort(text):\n    raise ValueError("no\\nindex")\n', target="gen.py:sort")
    finding = by_code(audit)["MA902"]
    assert finding.severity is Severity.HIGH
    assert finding.fix.startswith("Name its inputs with generator_inputs")
    assert audit.incomplete.startswith("the generator could not be called: no call succeeded")
    assert audit.incomplete.endswith("raised ValueError: no index")
    assert {code for n in audit.not_run for code in n.codes} >= {"MA101", "MA102", "MA103"}


@pytest.mark.parametrize(
    "body", ["while True: pass", "import os; os._exit(3)", "raise SystemError('no')", "import sys; sys.exit()"]
)
def test_generator_when_hostile_at_import_then_a_finding_and_no_harm(audited: Callable[..., Audit], body: str) -> None:
    source = f"{body}\n" + textwrap.dedent(SORTER)
    audit = audited(ROWS, source=source, limits={"MA101": {"timeout_s": 2.0}})
    found = by_code(audit)
    # Either the module cannot be run (MA902), or the function alone could be cut out and run.
    assert "MA902" in found or found["MA101"].figures["rows_on_fallback"] == 16


def test_generator_when_impure_then_said_and_a_lower_bound(audited: Callable[..., Audit]) -> None:
    source = """
        import random
        def sort(content):
            if "timeout" in content:
                return "slow"
            return "other" + str(random.random())
    """
    found = by_code(audited(ROWS, source=source))
    assert "lower bound" in (found["MA903"].caveat or "")
    assert "MA102" not in found


def test_criteria_when_one_stands_behind_another_then_named(audited: Callable[..., Audit]) -> None:
    source = """
        def sort(content):
            if "connect" in content:
                return "net"
            if "connection" in content:
                return "link"
            return "other"
    """
    rows = [("connect failed", "net")] * 10 + [("fine", "other")] * 10
    shadowed = by_code(audited(rows, source=source))["MA104"]
    assert (shadowed.figures["shadowed"], shadowed.figures["by"]) == (["connection"], ["connect"])
    assert shadowed.severity is Severity.MEDIUM  # the value "link" can never be returned
    assert shadowed.title == "1 criterion can never decide: `connection` stands behind `connect`."


def test_criteria_when_one_is_needless_inside_its_group_then_not_said_to_be_silent(
    audited: Callable[..., Audit],
) -> None:
    source = """
        def sort(content):
            if any(word in content for word in ("connection", "connect")):
                return "net"
            return "other"
    """
    rows = [("connection failed", "net")] * 10 + [("fine", "other")] * 10
    needless = by_code(audited(rows, source=source))["MA104"]
    assert (needless.figures["shadowed"], needless.severity) == (["connection"], Severity.LOW)
    # `connection` is asked first and decides these rows; only the value does not depend on it.
    assert needless.title == "1 criterion can be left out: `connect` holds whenever `connection` does."


def test_rows_when_no_column_feeds_the_parameter_then_replay_rules_say_so(audited: Callable[..., Audit]) -> None:
    source = SORTER.replace("content", "message")
    audit = audited(ROWS, source=source, generator_args=None)
    assert by_code(audit)["MA101"].figures["rows_on_fallback"] == 16  # by value, no replay needed
    blind = {n.codes[0]: n for n in audit.not_run}
    assert "message" in blind["MA103"].reason
    assert blind["MA103"].option == "generator_args"


def test_fallback_when_a_criterion_gives_the_same_value_then_counted_by_replay(audited: Callable[..., Audit]) -> None:
    source = """
        def sort(content):
            if "timeout" in content:
                return "slow"
            if "plain" in content:
                return "other"
            return "other"
    """
    rows = [("plain text", "other")] * 8 + [("nothing known", "other")] * 10 + [("a timeout", "slow")] * 2
    found = by_code(audited(rows, source=source))["MA101"]
    assert (found.figures["rows_on_fallback"], found.figures["rows"]) == (10, 20)
    assert "running the stored rows" in (found.caveat or "")


def test_published_store_when_audited_then_the_published_verdict(tmp_path: Path) -> None:
    import runpy

    build = runpy.run_path(str(Path(__file__).parents[2] / "fixtures" / "build.py"))["build"]
    build(tmp_path)
    audit = run_audit(load(start=tmp_path))
    found = by_code(audit)
    assert audit.verdict.state == "both"
    assert [lane.state.value for lane in audit.verdict.lanes] == ["problem", "bottleneck", "not-enough-data"]
    assert audit.verdict.sentence == "The bottleneck is the generator: 24 values for about 70 situations."
    assert found["MA101"].figures["domain_size"] == 50
    assert found["MA101"].figures["rows_on_fallback"] == 154
    assert found["MA102"].figures["rows_outside"] == 1
    assert found["MA201"].figures["rows_reaching_branch"] == 1
    assert found["MA201"].figures["share_unreachable"] == pytest.approx(174 / 175)
    (section,) = [s for s in audit.sections if s.key == "value-domain"]
    table = {row["form"]: row for row in section.tables[0].rows}
    assert [(r["reachable"], r["seen"], r["rows"]) for r in table.values()] == [
        (31, 5, 20),
        (19, 18, 154),
        (None, 1, 1),
        (50, 24, 175),
    ]


def test_domain_command_when_asked_for_json_then_the_documented_object(
    memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "gen.py").write_text(textwrap.dedent(SORTER))
    ran = memaudit("domain", "gen.py:sort", "--format", "json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert sorted(document["fixed_values"]) == ["access", "delete", "other", "slow"]
    assert document["domain_size"] == 4
    assert document["complete"] is True
    assert document["pure"] is True
    assert document["status"] == "ok"
    assert {w["value"] for w in document["witnesses"]} == {"access", "delete", "other", "slow"}
    assert set(document) >= {
        "target", "mode", "fixed_values", "forms", "domain_size", "complete", "missing", "pure", "impurities",
        "witnesses", "shadowed", "calls", "status", "reason",
    }  # fmt: skip
    assert "gen.py:sort" in ran.err


def test_domain_command_when_the_target_is_a_method_then_one_clear_line(
    memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "gen.py").write_text("class A:\n    def label(self, text):\n        return text\n")
    ran = memaudit("domain", "gen.py:A.label")
    assert ran.code in (2, 3)
    assert "--factory" in ran.err
    assert "Traceback" not in ran.err


def test_domain_command_when_a_store_fills_the_holes_then_the_size_is_said(
    memaudit: Callable[..., Any], write_store: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "gen.py").write_text(
        "def label(tool):\n    if 'denied' in tool:\n        return 'access'\n    return f'{tool} failed'\n"
    )
    assert "domain size: open (" in memaudit("domain", "gen.py:label").out
    rows = [(i, "note", tool, f"{tool} failed") for i, tool in enumerate(["shell", "git", "shell"])]
    store = write_store(rows, "id INTEGER PRIMARY KEY, content TEXT, tool TEXT, kind TEXT")
    ran = memaudit("domain", "gen.py:label", "--store", store, "--value-field", "kind", "--generator-args", "tool")
    assert "domain size: 3, the holes filled by the values of the store" in ran.out
    assert "2 of 3 values in use" in ran.out
    assert "domain size: open" not in ran.out


PAIRED = """
    TABLE = {("error", "open"): "修复失败", ("error", "done"): "已修复", ("warn", "open"): "需要关注"}

    def sort(content):
        level, _, state = content.partition(" ")
        return TABLE.get((level, state), "未归类")
"""


def test_values_when_the_rows_themselves_give_them_then_not_called_outside(audited: Callable[..., Audit]) -> None:
    # Nothing tells the enumeration which two halves make a key of the table, but the rows do.
    rows = (
        [("error open", "修复失败")] * 4 + [("error done", "已修复")] * 3 + [(f"note {i}", "未归类") for i in range(13)]
    )
    audit = audited(rows, source=PAIRED)
    assert "MA102" not in by_code(audit)
    assert "MA106" not in by_code(audit)


def test_values_when_the_rows_give_others_then_called_outside_all_the_same(audited: Callable[..., Audit]) -> None:
    rows = [(text, "旧值" if text == "unknown origin" else kind) for text, kind in ROWS]
    finding = by_code(audited(rows))["MA102"]
    assert finding.figures["outside_values"] == ["旧值"]
