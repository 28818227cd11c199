"""Five weeks of one store, made from the bundled example: it grows, one defect is fixed, one is new."""

from __future__ import annotations

import importlib.util
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import pytest

from memaudit.model import Audit, EncoderInfo, Finding, RunInfo, Severity, StoreInfo, Verdict

ROOT = Path(__file__).resolve().parents[2]
MONDAY = datetime(2026, 8, 3, 6, 0, tzinfo=timezone.utc)
#: Rows of the example that are there in each week.
ROWS = (135, 145, 155, 165, 175)
#: Rows whose vector is all zeros, weeks 1 to 3: somebody embeds them anew in week 4.
ZERO_VECTORS = (6, 6, 6, 0, 0)
#: Rows whose text is no UTF-8, new in week 5.
UNDECODABLE = (0, 0, 0, 0, 3)


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the bundled example: 175 rows and a configuration."""
    spec = importlib.util.spec_from_file_location("memaudit_fixtures_build", ROOT / "fixtures" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["memaudit_fixtures_build"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("example")
    module.build(folder)
    return folder


def write_week(example: Path, target: Path, week: int) -> None:
    """Write the store of a week (0 to 4) to `target`."""
    part = target.with_name("next.db")
    shutil.copyfile(example / "experiences.db", part)
    with closing(sqlite3.connect(part)) as connection, connection:
        connection.execute("DELETE FROM experiences WHERE id > ?", (ROWS[week],))
        connection.execute(
            "UPDATE experiences SET embedding = zeroblob(1536) WHERE id BETWEEN 101 AND ?", (100 + ZERO_VECTORS[week],)
        )
        connection.execute(
            "UPDATE experiences SET diagnosis = CAST(diagnosis || x'fffe' AS TEXT) WHERE id BETWEEN 21 AND ?",
            (20 + UNDECODABLE[week],),
        )
    connection.close()
    part.replace(target)


@pytest.fixture
def in_week(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets the clock of the audit to Monday, 06:00 UTC, of a week."""

    def set_clock(week: int) -> None:
        class Clock(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return MONDAY + timedelta(weeks=week)

        monkeypatch.setattr("memaudit.engine.datetime", Clock)

    return set_clock


@pytest.fixture
def five_weeks(
    example: Path, tmp_path: Path, memaudit: Callable[..., Any], in_week: Callable[[int], None]
) -> Callable[..., list[Any]]:
    """Return a function that runs the weekly audit five times in `tmp_path`, and gives what each run printed."""

    def run(*options: str) -> list[Any]:
        skip = shutil.ignore_patterns("experiences.db", "__pycache__")
        shutil.copytree(example, tmp_path, ignore=skip, dirs_exist_ok=True)
        ran = []
        for week in range(5):
            in_week(week)
            write_week(example, tmp_path / "experiences.db", week)
            ran.append(memaudit("run", "--history", "audits", "--out", f"week-{week + 1}", *options))
        return ran

    return run


def _finding(code: str = "MA305", severity: str = "medium", **parts: Any) -> Finding:
    subject = parts.pop("subject", {"table": "memories", "column": "content"})
    figures = parts.pop("figures", {"rows": 200, "share_extra": 0.1})
    defaults: dict[str, Any] = {"kind": "exact-duplicates", "title": f"a finding of {code}", "probe": "duplicates"}
    return Finding(code, severity=Severity.of(severity), subject=subject, figures=figures, **{**defaults, **parts})


def _audit(*findings: Finding, **parts: Any) -> Audit:
    rows = parts.pop("rows", 200)
    config = {"thresholds": [0.98, 0.95], "min_severity": "info", **parts.pop("config", {})}
    started = parts.pop("started", "2026-08-03T06:00:00+00:00")
    probes = parts.pop("probes", {"duplicates": 0.1, "summary": 0.1})
    defaults: dict[str, Any] = {
        "memaudit": "0.1.0",
        "store": StoreInfo("store.db", "sqlite", "memories", rows, rows, roles={"id": "id"}),
        "encoder": EncoderInfo("stored", 32),
        "verdict": Verdict("undecided", "A sentence."),
        "sections": (),
        "not_run": (),
        "figures": {"rows": rows, "clusters@0.95": 50},
        "notes": (),
        "left_out": (),
        "plan": (),
        "config": config,
        "versions": {},
        "run": RunInfo(started, 1.0, probes),
    }
    return Audit(findings=tuple(findings), **{**defaults, **parts})


@pytest.fixture(scope="session")
def make_finding() -> Callable[..., Finding]:
    """Return a function that makes a finding; MA305 of the probe `duplicates`, 10 % of 200 rows, by default."""
    return _finding


@pytest.fixture(scope="session")
def make_audit() -> Callable[..., Audit]:
    """Return a function that makes an audit of 200 rows from findings."""
    return _audit
