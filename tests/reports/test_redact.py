from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

import memaudit
import memaudit.reports
from memaudit.model import (
    Audit,
    Cell,
    Column,
    Evidence,
    Example,
    Finding,
    Lane,
    LaneState,
    NotRun,
    Proposal,
    RowsLeftOut,
    Section,
    Severity,
    Status,
    Table,
)
from memaudit.reports import from_json, redacted, to_html, to_json, to_terminal
from memaudit.reports.labels import Labels
from memaudit.wording import language, say

VALUES = (
    "支付网关超时后改用备用通道重试",
    "Zanzibar deploy token rotated",
    "kv",
    "用户13800138000",
    "tool: qwxz-7781",
)
LONG = "会议纪要：张三丰向客户承诺三月底交付，password is Xk9vQz77-Lm, 请勿外传 " * 3
KEYS = ("3f2c9a7e-mem-key-0001", "3f2c9a7e-mem-key-0002")
SECRETS = (*VALUES, LONG, *KEYS)


@pytest.fixture
def leaky(samples: ModuleType) -> Audit:
    """An audit that quotes the store wherever a probe might."""
    a, b, c, d, e = VALUES
    finding = Finding(
        "MA303",
        "repeated-collection",
        Severity.MEDIUM,
        {
            "table": "experiences",
            "column": "abstract_pattern",
            "values": [a, b],
            "value": c,
            "ids": list(KEYS),
        },
        f"“{a}” was recorded 47 times, {b} 3 times and `{c}` twice",
        {
            "rows": 175,
            "group": a,
            "fallback_value": b,
            "which": [c, d],
            "groups": {a: {"dropped": 3, "example": LONG}, b: {"dropped": 1}, c: {"dropped": 2}},
            "outside_values": {e: 4},
            "first_time": "2026-05-30",
        },
        evidence=Evidence((Example(LONG, KEYS[0], f"copies of {a}"),), 2, (*KEYS, 17)),
        fix=f"Look at “{LONG[:30]}…” and at “{b[:9]}…”",
        caveat=f"Without {d}.",
    )
    table = Table(
        "values",
        f"Rows by value; {e} is the rarest.",
        (Column("v", "Value", Cell.VALUE), Column("k", "Key", Cell.CODE), Column("t", "Words")),
        ({"v": a, "k": KEYS[1], "t": f"as {b}"}, {"v": e, "k": 5, "t": "ok", "hidden": LONG}),
    )
    section = Section(
        "s", f"About {a}", f"Is {b} one?", f"{d} is.", tables=(table,), method=(f"Left out {e}.",),
        examples=(Example(LONG, KEYS[1], LONG[:60]),),
    )  # fmt: skip
    audit: Audit = samples.published_audit(
        findings=(finding,),
        sections=(section,),
        breakdowns=(replace(section, key="b"),),
        not_run=(
            NotRun(
                "p",
                ("MA008",),
                Status.FAILED,
                f"ValueError: cannot read {LONG[5:40]}",
                "",
                f"Traceback {LONG}",
            ),
            NotRun("q", ("MA009",), Status.SKIPPED, f"nothing but {a}", f"--set value={b}"),
        ),
        notes=(f"{a} was not looked at",),
        left_out=(RowsLeftOut(1, f"{d} is no text", (KEYS[0],)),),
        plan=(Proposal("merge", (KEYS[1],), f"copies of {a}", "MA303", keep=KEYS[0]),),
        suppressed=({"code": "MA303", "title": f"{a} again", "reason": "known", "subject": {"value": b}},),
        config={"filter": f"pattern = '{b}'", "seed": 0},
        figures={"rows": 175, "largest_group": a, "by_value": {a: 3}},
    )
    verdict = replace(
        audit.verdict,
        sentence=f"{a} stands in 47 rows",
        lead=LONG,
        do_first=f"merge “{b}”",
        lanes=(Lane("generator", LaneState.PROBLEM, f"{b} hides {a}", f"split {d}", ()),),
        reasoning=(LONG[10:70],),
    )
    return replace(audit, verdict=verdict, command=f"memaudit run --set filter='{b}'")


def _pieces(text: str) -> set[str]:
    return {text[at : at + 8] for at in range(max(1, len(text) - 7))} if len(text) >= 8 else set()


def _views(audit: Audit) -> dict[str, str]:
    html = to_html(audit)
    return {
        "html": unescape(re.sub(r"<[^>]+>", "", html)),
        "attributes": html,
        "json": to_json(audit),
        "terminal": to_terminal(audit, width=400),
    }


def test_redacted_when_rendered_then_no_piece_of_store_text_is_left(leaky: Audit) -> None:
    for name, text in _views(redacted(leaky)).items():
        for secret in SECRETS:
            left = [piece for piece in _pieces(secret) if piece in text]
            assert left == [], (name, secret, left)
            assert len(secret) < 4 or secret not in text


def test_pieces_when_not_redacted_then_the_test_above_would_fail(leaky: Audit) -> None:
    for name, text in _views(leaky).items():
        if name != "terminal":
            assert any(piece in text for piece in _pieces(LONG)), name
        assert any(piece in text for piece in _pieces(VALUES[0])), name


def test_redacted_when_labelled_then_one_label_a_text_everywhere(leaky: Audit) -> None:
    audit = redacted(leaky)
    finding = audit.findings[0]
    first, second = finding.subject["values"]
    assert (first, second) == ("value-01", "value-02")
    assert finding.figures["group"] == first
    assert list(finding.figures["groups"])[:2] == [first, second]
    assert audit.sections[0].tables[0].rows[0]["v"] == first
    third = finding.subject["value"]
    assert finding.title == f"“{first}” was recorded 47 times, {second} 3 times and `{third}` twice"
    assert audit.verdict.sentence == f"{first} stands in 47 rows"


def test_redacted_when_keys_then_integers_stay_and_texts_are_numbered(leaky: Audit) -> None:
    audit = redacted(leaky)
    assert audit.findings[0].evidence.ids == ("row-1", "row-2", 17)
    assert audit.plan[0].keep == "row-1"
    assert audit.plan[0].ids == ("row-2",)
    assert audit.left_out[0].ids == ("row-1",)
    assert audit.sections[0].tables[0].rows[0]["k"] == "row-2"


def test_redacted_when_our_own_words_then_they_stay(leaky: Audit, samples: ModuleType) -> None:
    audit = redacted(samples.published_audit())
    original = samples.published_audit()
    assert audit.verdict.sentence == original.verdict.sentence
    assert [finding.code for finding in audit.findings] == [finding.code for finding in original.findings]
    assert audit.findings[1] == original.findings[1]
    # code is no store text, and columns and functions are names of the audited program
    assert audit.findings[4].evidence == original.findings[4].evidence
    assert audit.findings[0].fix == original.findings[0].fix
    assert audit.findings[2].figures["groups"]["value-04"]["dropped"] == 46
    assert redacted(leaky).findings[0].figures["first_time"] == "2026-05-30"
    assert audit.figures == original.figures


def test_redacted_when_a_probe_failed_then_its_message_goes(leaky: Audit) -> None:
    failed = redacted(leaky).not_run[0]
    assert failed.reason == "ValueError (message left out: redacted)"
    assert failed.traceback is None


def test_redacted_when_done_twice_or_read_back_then_equal_and_said(leaky: Audit) -> None:
    audit = redacted(leaky)
    assert audit.redacted
    assert redacted(audit) == audit
    assert redacted(from_json(to_json(leaky))) == audit
    assert from_json(to_json(audit)) == audit
    assert "store text shown: no" in to_html(audit)
    assert "redacted: no store text is shown" in to_terminal(audit)
    schema = json.loads(Path(memaudit.reports.__file__).with_name("report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(to_json(audit)))


@pytest.mark.parametrize("name", ["published_audit", "quiet_audit", "hostile_audit"])
def test_redacted_when_any_audit_then_it_renders(samples: ModuleType, name: str) -> None:
    audit = redacted(getattr(samples, name)())
    assert to_html(audit)
    assert to_terminal(audit)
    assert to_json(audit)


def test_redacted_when_a_value_is_a_common_word_then_only_quotations_change(samples: ModuleType) -> None:
    audit = samples.published_audit()
    finding = replace(audit.findings[0], subject={"value": "ok"}, title="It is ok that “ok” is the token")
    title = redacted(replace(audit, findings=(finding,))).findings[0].title
    assert title == "It is ok that “value-01” is the token"


# -- stored values that are words of ours ---------------------------------------------------------


@pytest.mark.parametrize(
    ("lang", "values", "key", "fields", "shown"),
    [
        # 取值 and 情形 stand in our own sentence; 张三 and 其他 only in what the store put into it
        ("zh", ("取值", "情形", "张三", "其他"),
         "The bottleneck is the generator: {d} values for about {c} situations.", {"d": 24, "c": 70}, ()),
        ("zh", ("取值", "张三"), "fixed: {code} {title}", {"code": "MA101", "title": "张三 与 取值"}, ("value-02", "value-01")),
        ("zh", ("记忆", "张三"), "{value}, because {reason}", {"value": "张三", "reason": "记忆"}, ("value-02", "value-01")),
        ("en", ("values", "situations", "generator"),
         "The bottleneck is the generator: {d} values for about {c} situations.", {"d": 24, "c": 70}, ()),
        ("en", ("fixed", "memories"), "fixed: {code} {title}", {"code": "MA101", "title": "memories"}, ("value-02",)),
    ],
)  # fmt: skip
def test_labels_when_a_value_is_a_word_of_ours_then_only_what_the_store_put_in_is_replaced(
    lang: str, values: tuple[str, ...], key: str, fields: dict[str, object], shown: tuple[str, ...]
) -> None:
    with language(lang):
        sentence = say(key, **fields)
        labels = Labels()
        labels.value(list(values))
        labels.close()
        cleaned = labels.clean(sentence)
    for label in shown:
        assert label in cleaned
    assert cleaned.count("value-0") == len(shown), cleaned
    for number, value in enumerate(values, 1):
        cleaned = cleaned.replace(f"value-{number:02d}", value)
    assert cleaned == sentence  # nothing else was touched


def test_labels_when_a_counted_noun_is_a_value_then_the_count_stays_and_the_value_goes() -> None:
    labels = Labels()
    labels.value(["rows", "memories"])
    labels.close()
    assert labels.clean("12 rows hold rows") == "12 rows hold value-01"


def test_redacted_when_chinese_labels_are_words_of_ours_then_our_sentences_stay(tmp_path: Path) -> None:
    words = ("其他", "记忆", "取值", "检索", "没有", "张三")
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT, label TEXT)")
        rows = [(i, f"第 {i} 条内容，编号 {i * 7919}", words[i % len(words)]) for i in range(60)]
        connection.executemany("INSERT INTO memories VALUES (?, ?, ?)", rows)
    connection.close()
    keys = {"isolated": True, "text": "content", "value_field": "label", "select": ["MA0", "MA3"]}
    plain = memaudit.audit(path, lang="zh", **keys).audit
    clean = redacted(plain)
    assert clean.verdict.sentence == plain.verdict.sentence
    assert "取值" in plain.verdict.sentence
    back = {}  # the store's part of a title is replaced, and nothing but that
    for before, after in zip(plain.findings, clean.findings, strict=True):
        back[before.title] = re.sub(r"value-\d\d", lambda _: "?", after.title)
    told = next(after for title, after in back.items() if title.startswith("`其他` 的 10 行"))
    assert told.startswith("`?` 的 10 行说的是不同的事：")
    assert all(title == after for title, after in back.items() if "其他" not in title)
    assert [n.reason for n in clean.not_run] == [n.reason for n in plain.not_run]
    assert "张三" not in to_json(clean)


# -- names of ours that a probe calls a value -----------------------------------------------------


def test_redacted_when_a_name_of_code_is_that_of_a_column_then_both_stay_and_values_go(samples: ModuleType) -> None:
    guard = Finding(
        "MA201", "dead-branch", Severity.MEDIUM,
        {"file": "store.py", "line": 9, "function": "Recorder.label_of", "value": "abstract_pattern"},
        "`if not abstract_pattern` never fires", {"rows": 3}, probe="p",
    )  # fmt: skip
    title = "`abstract_pattern` has 2 values of `Recorder.label_of`: `张三的密码` and `甲 of 张三`"
    field = Finding("MA301", "k", Severity.LOW, {"column": "abstract_pattern", "values": ["张三的密码", "甲 of 张三"]}, title, {},
                    Evidence((Example("Recorder.label_of was called by 李四"),), 1), probe="p")  # fmt: skip
    made = redacted(samples.published_audit(findings=(guard, field)))
    assert made.findings[0].title == "`if not abstract_pattern` never fires"
    shown = made.findings[1].title
    assert shown.startswith("`abstract_pattern` has 2 values of `Recorder.label_of`: `value-")
    assert not re.search("张三|李四", to_json(made))


def test_labels_when_a_sentence_holds_signs_that_stand_for_names_then_nothing_breaks() -> None:
    labels = Labels(frozenset({"label"}))
    labels.value(["secret words here", "label"])
    labels.close()
    assert labels.clean("`label` \ue000\ue001\ue000 `secret words here`") == "`label` \ue000\ue001\ue000 `value-01`"
    assert labels.clean("`label` \ue000\ue0ff\ue000 secret words here") == "`label` \ue000\ue0ff\ue000 value-01"
