"""The server for agents: which files it reads, what it answers, and the protocol with the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from memaudit.errors import ConfigError, MemauditError, StoreError
from memaudit.mcp_server import MAX_KEYS, Tools, build

Write = Callable[..., Path]
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def copies(write_store: Write) -> Path:
    """Return a store with 150 copies of one text."""
    return write_store([(i, "Run stopped: 任务被阻止。", "2026-05-01", None) for i in range(150)])


def test_audit_when_asked_then_findings_as_json_and_the_store_untouched(
    copies: Path, unchanged: Callable[[Path], None]
) -> None:
    unchanged(copies)
    answer = json.loads(Tools([copies.parent]).run_audit("store.db", select=["MA305"]))
    (finding,) = answer["findings"]
    assert finding["code"] == "MA305"
    assert finding["figures"]["rows"] == 150
    assert len(finding["evidence"]["ids"]) == MAX_KEYS
    assert finding["evidence"]["ids_not_shown"] == finding["evidence"]["total"] - MAX_KEYS
    assert answer["findings_not_shown"] == 0
    assert answer["store"]["rows"] == 150
    assert answer["verdict"]["sentence"]
    assert "任务被阻止" not in Tools([copies.parent]).run_audit("store.db", redact=True)


def test_plan_when_asked_then_proposals_and_nothing_done(copies: Path, unchanged: Callable[[Path], None]) -> None:
    unchanged(copies)
    answer = json.loads(Tools([copies.parent]).plan("store.db"))
    assert answer["rows"] >= 149
    assert answer["proposals"][0]["action"] == "merge"
    assert len(answer["proposals"][0]["ids"]) == MAX_KEYS
    assert answer["proposals"][0]["rows"] == 149
    assert "nothing was changed" in answer["note"]


def test_explain_and_probes_when_asked_then_the_pages_of_the_package(tmp_path: Path) -> None:
    tools = Tools([tmp_path])
    assert "## MA305 exact-duplicates" in tools.explain("MA305")
    with pytest.raises(ConfigError, match="no rule or probe"):
        tools.explain("MA9999")
    assert "MA305" in {code for probe in json.loads(tools.list_probes()) for code in probe["codes"]}


@pytest.mark.parametrize(
    "store",
    [
        "../outside.db",
        "sub/../../outside.db",
        "/etc/passwd",
        "link.db",
        "missing.db",
        ".",
        "",
        "file:///x",
        "a\0b",
        300 * "x",
    ],
)
def test_store_when_not_below_a_root_then_refused_alike(tmp_path: Path, store: str) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside.db").write_bytes(b"SQLite format 3\0")
    if store == "link.db":
        (root / "link.db").symlink_to(tmp_path / "outside.db")
    tools = Tools([root])
    with pytest.raises(StoreError, match="below the folders"):
        tools.allowed(store)
    with pytest.raises(StoreError, match="below the folders"):
        tools.run_audit(str(tmp_path / "outside.db"))


def test_store_when_below_any_root_then_found(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "x.db").write_bytes(b"")
    tools = Tools([tmp_path / "a", tmp_path / "b"])
    assert tools.allowed("x.db") == (tmp_path / "b" / "x.db").resolve()
    assert tools.allowed(str(tmp_path / "b" / "x.db")) == (tmp_path / "b" / "x.db").resolve()


def test_configuration_when_beside_the_store_then_not_read(copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copies.parent / "memaudit.toml").write_text('[memaudit]\nselect = ["MA002"]\ngenerator = "evil:run"\n')
    monkeypatch.chdir(copies.parent)
    monkeypatch.setenv("MEMAUDIT_SELECT", "MA002")
    answer = json.loads(Tools([copies.parent]).run_audit("store.db"))
    assert "MA305" in {finding["code"] for finding in answer["findings"]}


def test_roots_when_missing_or_no_folder_then_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder was given"):
        Tools([])
    with pytest.raises(ConfigError, match="is no folder"):
        Tools([tmp_path / "nope"])


def test_command_when_the_sdk_is_missing_then_one_line_with_the_remedy(
    memaudit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n == "mcp" or n.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    ran = memaudit("mcp", "--root", tmp_path)
    assert ran.code == 3
    assert ran.err.splitlines() == [
        "error: the MCP server needs the Python package mcp (2 or newer), which is not installed. "
        "pip install 'agent-memaudit[mcp]'"
    ]
    with pytest.raises(MemauditError, match="not installed"):
        build([tmp_path])
    assert memaudit("mcp").code == 2  # --root is required


def test_protocol_when_the_sdks_client_asks_then_answered(copies: Path, tmp_path: Path) -> None:
    pytest.importorskip("mcp.server.mcpserver", reason="the Python package mcp is not installed")
    sdk, stdio = import_module("mcp"), import_module("mcp.client.stdio")
    server = sdk.StdioServerParameters(
        command=sys.executable,
        args=["-m", "memaudit", "mcp", "--root", str(copies.parent)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    async def talk() -> dict[str, Any]:
        async with stdio.stdio_client(server) as (read, write), sdk.ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            ran = await session.call_tool("run_audit", {"store": "store.db", "select": ["MA305"]})
            refused = await session.call_tool("run_audit", {"store": "/etc/passwd"})
            explained = await session.call_tool("explain", {"code": "MA305"})
            return {"tools": tools, "ran": ran, "refused": refused, "explained": explained}

    said = asyncio.run(talk())
    assert {tool.name for tool in said["tools"]} == {"run_audit", "plan", "explain", "list_probes"}
    assert all(tool.annotations.read_only_hint for tool in said["tools"])
    assert [f["code"] for f in json.loads(said["ran"].content[0].text)["findings"]] == ["MA305"]
    assert said["refused"].is_error
    assert "below the folders that may be read" in said["refused"].content[0].text
    assert "exact-duplicates" in said["explained"].content[0].text
