"""No report of any format carries a stored credential, whichever probe shows the row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

# Made up, of the shape of real ones; split so that no scanner takes this file for a leak.
KEY = "ghp_" + "Zk3QmX9bT7wRc2LfVn8sYd4JhPg6Ua1Eo5Ki"


def test_secret_when_stored_then_masked_in_every_output(
    write_store: Callable[..., Path], memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [(i, f"the deploy token is {KEY}", "2026-05-01", None) for i in range(12)]
    rows += [(i, f"note {i} about something else entirely {i * 7919}", "2026-05-01", None) for i in range(12, 24)]
    store = write_store(rows)
    ran = memaudit("run", "--store", store, "--value-field", "content")
    assert ran.code == 0
    shown = ran.out + (tmp_path / "memaudit-report.html").read_text() + (tmp_path / "report.json").read_text()
    assert "MA803" in shown
    assert "MA305" in shown
    assert KEY not in shown
    assert KEY[8:] not in shown
