"""Fixtures that every test may use."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]

try:
    from hypothesis import settings
except ImportError:  # the tests that need it skip themselves
    pass
else:
    # A busy machine is no fault of the code: no test is judged by its time.
    settings.register_profile("memaudit", deadline=None)
    settings.load_profile("memaudit")

SENTENCES = (
    "Deploys to the staging cluster need one approval.",
    "The nightly export fails when versioning is switched off.",
    "图片上传前先压缩到一兆以内。",
    "The dashboard reads from the replica, never from the primary.",
    "客户偏好邮件联系，不接受电话回访。",
    "Rate limiting returns code 429 and the client waits.",
    "合同编号的前两位代表分公司。",
    "The design review meets on the second Tuesday.",
    "库存同步每十五分钟跑一次。",
    "Feature flags are reloaded every thirty seconds.",
    "退款审批需要财务和客服两方确认。",
    "Passwords are hashed with a memory-hard function.",
    "The onboarding form asks for the time zone first.",
    "会议纪要统一放在共享盘的会议目录。",
    "Logs older than ninety days go to cold storage.",
    "The payment webhook must answer within five seconds.",
    "Translation files are sorted by key so merges stay small.",
    "Only the release manager may tag a version.",
    "The map widget needs an explicit height.",
    "Background workers pick jobs by priority, then age.",
    "The glossary calls a shopper a guest.",
    "CSV uploads over twenty megabytes are split.",
    "短信验证码有效期是五分钟。",
    "The linter is strict about unused imports.",
)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the vector cache and the environment of whoever runs the tests out of them."""
    for name in [
        n for n in os.environ if n.startswith("MEMAUDIT_") and n not in ("MEMAUDIT_SHARED", "MEMAUDIT_NODE_MODULES")
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMAUDIT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "vector-cache"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference data; skip the test when it is not here."""
    folder = Path(os.environ.get("MEMAUDIT_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the reference data (../shared) is not here")
    return folder


def orthogonal(n: int, dim: int = 32) -> list[bytes]:
    """Return n vectors, cosine 0 to each other up to `dim`, as float32 little-endian blobs."""
    return [np.eye(dim, dtype="<f4")[i % dim].tobytes() for i in range(n)]


@pytest.fixture
def write_store(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a SQLite table: `write_store(rows, columns="...", name=..., table=...)`."""

    def write(
        rows: Sequence[Sequence[Any]],
        columns: str = "id INTEGER PRIMARY KEY, content TEXT, created_at TEXT, embedding BLOB",
        name: str = "store.db",
        table: str = "memories",
    ) -> Path:
        path = tmp_path / name
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f'CREATE TABLE "{table}" ({columns})')
            if rows:
                connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(rows[0]))})', rows)
        connection.close()
        return path

    return write


@pytest.fixture
def healthy(write_store: Callable[..., Path]) -> Path:
    """Return a store of 24 different memories with vectors at right angles: nothing to find."""
    blobs = orthogonal(len(SENTENCES))
    rows = [
        (i + 1, text, f"2026-05-{1 + i // 2:02d}T{6 + 9 * (i % 2):02d}:00:00+00:00", blobs[i])
        for i, text in enumerate(SENTENCES)
    ]
    return write_store(rows)


@dataclass
class Ran:
    """What a run of the command line gave."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session", autouse=True)
def _probes_loaded() -> None:
    """Import every probe first: one imported while a test replaces a function would keep the replacement."""
    from memaudit.registry import builtin_probes

    builtin_probes()


@pytest.fixture
def memaudit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Return a function that runs the command line in `tmp_path` (in this process)."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str | Path) -> Ran:
        from memaudit.cli import main

        capfd.readouterr()
        try:
            main([str(w) for w in words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        else:
            code = 0
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def memaudit_process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs `python -m memaudit`, or the given code, in `tmp_path`, in a process of its own."""

    def run(
        *words: str | Path, env: dict[str, str] | None = None, python: str = ""
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
        return subprocess.run(
            [sys.executable, *(["-c", python] if python else ["-m", "memaudit"]), *map(str, words)],
            cwd=tmp_path, env=environment, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def unchanged(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Return a function that registers a file; after the test its bytes, time and folder must be the same."""
    seen: dict[Path, tuple[str, int, frozenset[str]]] = {}

    def state(path: Path) -> tuple[str, int, frozenset[str]]:
        beside = frozenset(p.name for p in path.parent.iterdir() if p.name.startswith(path.name))
        return hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns, beside

    def watch(path: Path) -> None:
        seen[path] = state(path)

    yield watch
    for path, before in seen.items():
        assert state(path) == before, f"{path.name} was changed"


@pytest.fixture
def closed_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close every store that a test opens: from Python 3.13 on an open connection is a warning, so an error here."""
    from memaudit.stores.store import Store

    opened: list[Store] = []
    made = Store.__init__

    def keep(self: Store, *values: Any, **named: Any) -> None:
        made(self, *values, **named)
        opened.append(self)

    monkeypatch.setattr(Store, "__init__", keep)
    yield
    for store in opened:
        store.close()
