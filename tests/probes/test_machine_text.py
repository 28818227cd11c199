import json
import sqlite3

import pytest

from memaudit.config import Config
from memaudit.context import Context
from memaudit.model import Severity
from memaudit.probes.machine_text import PROBE, configured_markers, string_lists
from memaudit.text.machine_lines import KINDS, machine_kind, machine_kinds

MACHINE = [
    ("sentinel", "HEARTBEAT_OK"),
    ("sentinel", "`NO_REPLY`"),
    ("sentinel", "[silent]"),
    ("sentinel", "<|im_end|>"),
    ("sentinel", "【无需回复】"),
    ("wrapper", "<context>recalled items follow</context>"),
    ("wrapper", "<system-reminder>The file changed on disk.</system-reminder>"),
    ("wrapper", "<|im_start|>system\nYou are Max.<|im_end|>"),
    ("wrapper", "[message_id: 8842]\nSender (untrusted metadata): Kim"),
    ("tool dump", '{"role": "tool", "tool_call_id": "c1", "content": "12 files"}'),
    ("tool dump", '{"status": "ok", "exit_code": 0, "stdout": ""}'),
    ("tool dump", 'Tool result: {"files": 3}'),
    ("tool dump", "[2026-05-01 10:00:00] INFO gateway: connected"),
    ("tool dump", "$ ls -la\ntotal 48"),
    ("tool dump", '工具调用结果：{"ok": true}'),
    ("tool list", "System: tools available are read_file, write_file, run_shell."),
    ("tool list", "可用工具：read_file、write_file、run_shell"),
    ("heartbeat", "Heartbeat check at 10:30: all systems normal."),
    ("heartbeat", "[cron] tick - nothing to do"),
    ("heartbeat", "No new emails. Going back to sleep."),
    ("heartbeat", "心跳检查：一切正常，无需回复。"),
    ("heartbeat", "定时轮询：没有新消息，继续待命。"),
    ("boot prompt", "You are a helpful assistant."),
    (
        "boot prompt",
        "Read HEARTBEAT.md if it exists. Follow it strictly. If nothing needs attention, reply HEARTBEAT_OK.",
    ),
    ("boot prompt", "A new session was started via /new. Execute your Session Startup sequence now."),
    ("boot prompt", "你是一个有用的助手，请简洁地回答用户的问题。"),
]
NOTES = [
    "The heartbeat interval was raised to 30 seconds because the gateway drops idle connections.",
    "心跳间隔改成三十秒，网关会断开空闲连接。",
    "User's health check at the clinic: everything normal, next one in May",
    "体检一切正常",
    "You are welcome! Anything else?",
    "You are an AI, do you have feelings?",
    "You are my best friend, assistant or not",
    "你是我最好的朋友",
    "你真是一个好助手！",
    "System: Ubuntu 22.04 with 64 GB RAM",
    "The agent answers NO_REPLY when there is nothing to say",
    "All tests pass.",
    "Tool calls are limited to 10 per turn",
    "The system prompt of the support bot is versioned in git",
    "Before replying to customers, search the FAQ",
    "Read the contract before signing",
    "MAX_RETRIES",
    "Available functions in utils.py are parse_date and load_csv",
    "No new messages were shown because the cache was stale",
    '{"fact": "likes tea", "topic": "drinks"}',
    "[2026-05-01 10:00:00] ERROR payment: card declined twice, third try worked",
    "<b>bold</b> text in the newsletter",
    "<details>Why we chose Postgres</details>",
    "Always run the tests before pushing",
    "每次部署前先备份数据库",
    "客户偏好邮件联系，不接受电话回访。",
]


@pytest.mark.parametrize(("kind", "text"), MACHINE)
def test_machine_kind_when_runtime_text_then_names_its_rule(kind: str, text: str) -> None:
    assert machine_kind(text) == kind
    assert kind in KINDS


@pytest.mark.parametrize("text", NOTES)
def test_machine_kind_when_a_note_then_none(text: str) -> None:
    assert machine_kind(text) is None


def test_machine_kinds_when_most_rows_are_json_then_that_is_how_the_store_writes() -> None:
    row = '{"name": "ok", "status": "done", "usage": 3}'
    assert machine_kinds([row, "a note", "another"])[0] == "tool dump"
    assert machine_kinds([row, row, "another"]) == [None, None, None]


def test_machine_kinds_when_most_rows_are_lines_of_a_log_then_it_is_kept_on_purpose() -> None:
    lines = [f"2026-03-02T0{i}:15Z INFO backup: snapshot {i} 写入 vault-{i % 3}" for i in range(6)]
    notes = ["仓库里的退货要放满两个星期。", "The ferry stops at seven Beaufort.", "HEARTBEAT_OK"]
    assert machine_kinds([*lines, *notes]) == [None] * 8 + ["sentinel"]
    assert machine_kinds([*lines[:3], *notes])[:3] == ["tool dump"] * 3


def test_string_lists_when_nested_then_named_by_their_dotted_key() -> None:
    config = {"a": ["x", " y "], "b": {"c": ["z"], "n": [1, 2]}, "d": "text", "e": []}
    assert string_lists(config) == {"a": ("x", "y"), "b.c": ("z",)}


def test_configured_markers_when_word_for_word_then_counted() -> None:
    lists = {"sentinels": ("NO_REPLY",), "prompts": ("You wake up now and read the plan.",), "topics": ("deploy",)}
    texts = [
        "NO_REPLY",  # the row
        "Nothing to do.\n\nNO_REPLY",  # a line
        "NO_REPLY_LATER",  # goes on: another word
        "Reviewers asked why NO_REPLY is logged twice",  # a note about it
        "10:00 You wake up now and read the plan. Then wait.",  # a sentence counts anywhere
        "deploy",  # a topic is no marker
    ]
    found = configured_markers(texts, lists, [False] * len(texts))
    assert dict(found.rows) == {
        0: ("sentinels", "NO_REPLY"),
        1: ("sentinels", "NO_REPLY"),
        4: ("prompts", "You wake up now and read the plan."),
    }
    assert found.keys == ("sentinels", "prompts")
    assert found.mentions == (3,)


def _audited(make_context, tmp_path, texts, config=None):
    keys = {}
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        keys = {"config": str(tmp_path / "config.json")}
    return PROBE.run(make_context({"id": list(range(1, len(texts) + 1)), "content": texts}, keys))


def test_probe_when_markers_are_configured_then_both_counts(make_context, found, tmp_path) -> None:
    notes = [f"Note {i} about the {word}" for i, word in enumerate(["parser", "合同", "router", "库存", "export"] * 4)]
    texts = ["TICK_DONE_7", "TICK_DONE_7", "心跳检查：一切正常", *notes]
    finding = found(_audited(make_context, tmp_path, texts, {"loop": {"sentinels": ["TICK_DONE_7"]}}), "MA801")
    # 2 of 23 by the marker, 3 of 23 in all = 13 %.
    assert finding.figures["rows"] == 23
    assert finding.figures["rows_matching_configured_markers"] == 2
    assert finding.figures["share_configured"] == pytest.approx(2 / 23)
    assert finding.figures["rows_machine_made_in_all"] == 3
    assert finding.figures["share_in_all"] == pytest.approx(3 / 23)
    assert finding.severity is Severity.MEDIUM
    assert finding.subject == {"table": "memories", "column": "content", "config": ["loop.sentinels"]}
    assert finding.evidence.ids == (1, 2, 3)
    assert "loop.sentinels" in finding.title


@pytest.mark.parametrize(("n_notes", "severity"), [(4, Severity.HIGH), (19, Severity.MEDIUM), (20, Severity.LOW)])
def test_probe_when_share_changes_then_severity_follows(make_context, found, tmp_path, n_notes, severity) -> None:
    # One row of 5 is 20 %, of 20 is 5 %, of 21 is less.
    texts = ["NO_REPLY", *(f"Note number {i}" for i in range(n_notes))]
    finding = found(_audited(make_context, tmp_path, texts), "MA801")
    assert finding.severity is severity
    # Without a configuration the configured part was not measured.
    assert finding.figures["rows_matching_configured_markers"] is None


def test_probe_when_healthy_or_empty_then_silent(make_context, tmp_path) -> None:
    config = {"topics": ["tests", "deploy"], "languages": ["en", "zh"], "sentinels": ["HEARTBEAT_OK"]}
    assert _audited(make_context, tmp_path, NOTES, config).findings == ()
    assert _audited(make_context, tmp_path, []).findings == ()


def test_case_when_run_then_figures_of_the_expected_answer(shared, found) -> None:
    from memaudit.records import Records, Roles
    from memaudit.stores.store import Store, StoreTable, TableColumn

    folder = shared / "cases" / "032-machine-chatter-stored"
    connection = sqlite3.connect(f"file:{folder / 'store.db'}?mode=ro&immutable=1", uri=True)
    table = StoreTable("memories", (TableColumn("id"), TableColumn("content")), 40)
    store = Store("store.db", "sqlite", connection, (table,))
    records = Records(store, table, Roles(table="memories", id="id", text="content"))
    finding = found(PROBE.run(Context(Config(base=folder, config="config.json"), store, records)), "MA801")
    connection.close()
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["expect"]["findings"][0]["figures"]
    assert {name: finding.figures[name] for name in expected} == pytest.approx(expected)


def test_machine_kind_when_text_is_hostile_then_fast() -> None:
    for text in (
        "<context>" * 5_000,
        "{" * 20_000,
        "no " * 20_000,
        "正常，" * 20_000,
        "tool result " * 5_000,
        "a_b " * 10_000,
        "\n" * 50_000,
        "You are " * 10_000,
    ):
        machine_kind(text)
