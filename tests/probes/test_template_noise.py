import importlib.util
import sqlite3
import sys
from pathlib import Path

import pytest

from memaudit.model import Severity
from memaudit.probes.template_noise import PROBE
from memaudit.text.template_share import cut_by_data, joined, repetitions

_TOOLS = [
    "shell.run",
    "file.read",
    "mail.send",
    "git.pull",
    "pdf.merge",
    "todo.add",
    "map.open",
    "chat.ask",
    "日程.新建",
    "ocr.scan",
]
_ERRORS = [
    "command not found", "没有权限", "mailbox unavailable", "local changes", "文件损坏", "date is past", "no route",
    "超时", "overlaps with lunch", "乱码",
]  # fmt: skip


@pytest.fixture
def experiences(make_context):
    columns = {
        "id": list(range(1, 11)),
        "trigger": [f"{tool}连续失败{i % 3 + 2}次后重试成功" for i, tool in enumerate(_TOOLS)],
        "content": [f"以下是原始错误信息：{error}" for error in _ERRORS],
        "summary": [f"经过{i % 3 + 2}次重试后成功执行{tool}。" for i, tool in enumerate(_TOOLS)],
    }
    return make_context(columns, embedded_fields=("trigger", "content", "summary"))


def test_template_noise_when_fields_have_fixed_sentences_then_counts_their_characters(experiences, found):
    finding = found(PROBE.run(experiences), "MA401")
    # trigger: "." 1, "连续失败" 4, "次后重试成功" 6: 11; content: "以下是原始错误信息：" 10;
    # summary: "经过" 2, "次重试后成功执行" 8, "." 1, "。" 1: 12; two blanks between: 35 a row.
    assert finding.figures["template_constant_chars"] == 350
    assert finding.figures["embedded_chars"] == sum(map(len, experiences.embedded_texts))
    assert finding.figures["rows_without_body"] == 0
    assert finding.lane == ""  # how much of a text is boilerplate is no measurement of recall
    assert finding.severity is Severity.HIGH


def test_field_repeats_variables_when_another_field_has_them_in_another_order(experiences, found):
    finding = found(PROBE.run(experiences), "MA402")
    assert finding.figures["variables"] == 3  # count, tool, action
    assert finding.subject == {"table": "memories", "column": "summary", "field": "trigger"}
    assert finding.severity is Severity.LOW


def test_template_sample_shows_one_row_whole(experiences):
    tables = {t.name: t for t in PROBE.run(experiences).sections[0].tables}
    (row,) = tables["template-sample"].rows
    assert "".join(text for text, _ in row["text"]) in experiences.embedded_texts
    assert {constant for _, constant in row["text"]} == {True, False}
    shares = tables["template-share"].rows
    assert sum(r["share"] for r in shares) == pytest.approx(1.0)


def _with_template(make_context, tmp_path, template, texts, bodies=None):
    (tmp_path / "t.txt").write_text(template, encoding="utf-8")
    columns = {"id": list(range(1, len(texts) + 1)), "embedded": texts}
    roles = {"embedded_text": "embedded"}
    if bodies is not None:
        columns["content"] = bodies
    else:
        roles["text"] = "embedded"
    return make_context(columns, {"template": "t.txt", "base": tmp_path}, **roles)


def test_template_noise_when_a_template_is_given_then_literal_text_counts_and_strangers_are_left_out(
    make_context, found, tmp_path
):
    texts = [
        "Area: Retail\nBody: 前端构建失败多半是缓存没清",
        "Area: Retail\nBody: ",
        "written by hand",
        "",
        "Area: Retail\nBody: abcdefg",
    ]
    ctx = _with_template(
        make_context, tmp_path, "Area: Retail\nBody: {body}\n", texts, ["前端", "", "x", "", "abcdefg"]
    )
    result = PROBE.run(ctx)
    finding = found(result, "MA401")
    # constant 12 + 1 + 6 = 19 in each of three rows; bodies of 13, 0 and 7 characters
    assert finding.figures["template_constant_chars"] == 57
    assert finding.figures["embedded_chars"] == 57 + 13 + 7
    assert finding.figures["rows"] == 5
    assert finding.figures["rows_counted"] == 3
    assert finding.figures["rows_without_body"] == 1
    assert finding.severity is Severity.HIGH
    assert [(out.rows, out.ids) for out in result.left_out] == [(1, (3,))]
    lines = {r["line"]: r["distinct"] for t in result.sections[0].tables if t.name == "template-lines" for r in t.rows}
    assert lines == {"Area": 1, "Body": 3}


def test_template_noise_when_no_column_holds_the_body_then_the_hole_is_asked(make_context, found, tmp_path):
    texts = ["Area: Retail\nBody: a", "Area: Retail\nBody: "]
    ctx = _with_template(make_context, tmp_path, "Area: Retail\nBody: {body}", texts)
    assert found(PROBE.run(ctx), "MA401").figures["rows_without_body"] == 1


def test_template_noise_when_no_row_follows_the_template_then_looks_at_the_texts(make_context, tmp_path):
    ctx = _with_template(make_context, tmp_path, "Area: {x}", ["one text", "另一条"])
    result = PROBE.run(ctx)
    assert result.findings == ()
    assert "No row follows" in result.notes[0]
    assert "MA401" in result.not_looked


def test_template_noise_when_columns_fill_the_template_then_its_literal_text_counts(make_context, found, tmp_path):
    (tmp_path / "t.txt").write_text("Area: {area}\nBody: {content}\n", encoding="utf-8")
    columns = {"id": [1, 2], "area": ["ops", "ops"], "content": ["缓存带版本号", ""]}
    result = PROBE.run(make_context(columns, {"template": "t.txt", "base": tmp_path}, text="content"))
    figures = found(result, "MA401").figures
    # "Area: " and "\nBody: " are 13 characters; the two texts have 13 + 3 + 6 and 13 + 3
    assert (figures["template_constant_chars"], figures["embedded_chars"]) == (26, 38)
    assert (figures["rows_with_template"], figures["rows_without_body"]) == (2, 1)
    assert "filled from its columns" in (found(result, "MA401").caveat or "")


@pytest.mark.parametrize(
    ("body", "severity"),
    [("x" * 10, Severity.HIGH), ("x" * 30, Severity.MEDIUM), ("x" * 100, Severity.LOW), ("x" * 200, None)],
)
def test_template_noise_severity_by_share(make_context, found, tmp_path, body, severity):
    # 19 constant characters: 65 %, 39 %, 16 %, 9 %
    ctx = _with_template(make_context, tmp_path, "Area: Retail\nBody: {body}", [f"Area: Retail\nBody: {body}"] * 20)
    finding = found(PROBE.run(ctx), "MA401")
    assert (finding.severity if finding else None) is severity


def test_template_noise_when_nothing_says_what_is_embedded_then_at_most_medium(make_context, found):
    texts = [f"以下是失败时收到的原始错误信息：{error}" for error in _ERRORS]
    finding = found(PROBE.run(make_context({"content": texts})), "MA401")
    assert finding.figures["template_constant_chars"] == 160  # 16 characters in each of ten rows
    assert finding.figures["share_constant"] > 0.5
    assert finding.severity is Severity.MEDIUM
    assert "not named" in finding.caveat
    assert finding.figures["rows_without_body"] is None


def test_template_noise_of_free_sentences_then_silent(make_context):
    texts = [
        "The user likes short answers.", "用户希望周报按项目分组。", "Rate limiting returns 429.", "缓存没有清理。",
        "The map needs a height.", "The linter is strict.", "用户在夜里工作。", "The user asked for the weekly report.",
        "发票编号是唯一的。", "The cache is warm.",
    ]  # fmt: skip
    result = PROBE.run(make_context({"content": texts}))
    assert result.findings == ()
    assert result.sections == ()
    assert list(result.not_looked) == ["MA402"]


def test_template_noise_of_readings_then_silent(make_context):
    texts = [f"cold room A temperature: {i / 10} on day {i}" for i in range(30)]
    assert PROBE.run(make_context({"content": texts})).findings == ()


def test_template_noise_of_an_empty_store_then_not_looked(make_context):
    result = PROBE.run(make_context({"content": []}))
    assert result.findings == ()
    assert set(result.not_looked) == {"MA401", "MA402"}


def test_field_with_words_of_its_own_then_no_repetition():
    fields = [["shell run", "file read"] * 6, ["shell failed", "file lost"] * 6]
    assert repetitions([cut_by_data(f) for f in fields], fields, 0.9) == ()


def test_short_field_of_labels_and_variables_then_repetition_without_its_labels():
    # Labels too short for a template: "user", "host" and "action" stand in all 30 summaries, so they are no variables.
    hosts, acts = ["web", "db", "cache", "mq", "api"], ["deploy", "backup", "restore"]
    triggers = [f"{acts[i % 3]} failed on {hosts[i % 5]} for user u{i}" for i in range(30)]
    summaries = [f"user u{i}: host {hosts[i % 5]}, action {acts[i % 3]}" for i in range(30)]
    fields = [triggers, summaries]
    (one,) = repetitions([cut_by_data(f) for f in fields], fields, 0.9)
    assert (one.field, one.of, one.n_variables, one.n_rows, one.n_repeating) == (1, 0, 3, 30, 30)
    others = [f"user u{i}: host {hosts[(i + 1) % 5]}, action {acts[i % 3]}" for i in range(30)]
    assert repetitions([cut_by_data(f) for f in [triggers, others]], [triggers, others], 0.9) == ()


def test_joined_when_a_field_is_empty_then_no_blank_is_added():
    fields = [["a", "", "c"], ["x", "y", ""]]
    rows = joined([cut_by_data(f) for f in fields], fields)
    assert ["".join(text for text, _ in row.parts) for row in rows] == ["a x", "y", "c"]
    assert rows[0].n_constant == 1


def test_template_noise_in_the_reference_case(case_context, found):
    finding = found(PROBE.run(case_context("012-template-boilerplate-share")), "MA401")
    assert finding.figures["rows"] == 24
    assert finding.figures["template_constant_chars"] == 2088
    assert finding.figures["embedded_chars"] == 4056
    assert finding.figures["share_constant"] == pytest.approx(0.5148, abs=1e-4)
    assert finding.figures["rows_without_body"] == 4
    assert finding.subject == {"table": "memories", "column": "embedded_text"}


@pytest.mark.parametrize("case", ["059-control-repeated-readings", "060-control-healthy-bilingual"])
def test_template_noise_in_the_healthy_reference_cases_then_silent(case_context, case):
    assert PROBE.run(case_context(case)).findings == ()


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    script = Path(__file__).resolve().parents[2] / "fixtures" / "build.py"
    if not script.is_file():
        pytest.skip("fixtures/build.py is not here")
    spec = importlib.util.spec_from_file_location("example_store_for_template_noise", script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("example")
    module.build(folder, with_vectors=False)
    return folder


_FIELDS = ("trigger", "diagnosis", "fix_summary", "abstract_pattern")


@pytest.mark.parametrize("way", ["template", "fields", "whole"])
def test_template_noise_of_the_bundled_example_is_the_same_by_every_way(example, make_context, found, way):
    connection = sqlite3.connect(next(example.glob("*.db")))
    rows = connection.execute(f"SELECT {', '.join(_FIELDS)} FROM experiences ORDER BY rowid").fetchall()
    connection.close()
    columns = {name: [row[k] for row in rows] for k, name in enumerate(_FIELDS)}
    columns["joined"] = [" ".join(part for part in row if part) for row in rows]
    if way == "whole":
        ctx = make_context(columns, embedded_text="joined", text="diagnosis")
    else:
        given = {"template": "embedding_template.txt", "base": example} if way == "template" else {}
        ctx = make_context(columns, given, embedded_fields=_FIELDS, text="diagnosis")
    result = PROBE.run(ctx)
    finding = found(result, "MA401")
    # The published share is 54.1 %.
    assert finding.figures["share_constant"] == pytest.approx(0.541, abs=0.01)
    assert finding.severity is Severity.HIGH
    if way != "whole":
        repeated = found(result, "MA402")
        assert (repeated.subject["column"], repeated.subject["field"]) == ("fix_summary", "trigger")
        assert repeated.figures["variables"] == 3
