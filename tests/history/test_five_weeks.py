"""Five weeks of one store: it grows, a defect is fixed in week 4, another comes in week 5. Only that is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]
#: Rows of each week, as `conftest` writes them.
ROWS = (135, 145, 155, 165, 175)


def test_weekly_audit_when_run_five_times_then_trend_and_diff_tell_exactly_what_changed(
    five_weeks: Callable[..., list[Any]], memaudit: Run, tmp_path: Path
) -> None:
    # `duplicates` and the probes of the code take seconds a week and have nothing to do with what changes here.
    ran = five_weeks("--fail-on", "new", "--ignore", "duplicates,MA1,MA2")
    reports = [json.loads((tmp_path / f"week-{n}" / "report.json").read_text("utf-8")) for n in range(1, 6)]

    def told(report: dict[str, Any]) -> list[tuple[str, str]]:
        return [(c["state"], c["code"]) for c in report["changes"]["findings"] if c["state"] != "unchanged"]

    # Week 1 has nothing before it: everything it found is new, and it says so.
    assert reports[0]["changes"] is None
    assert "nothing to compare" in reports[0]["notes"][-1]
    assert told(reports[1]) == []
    assert told(reports[2]) == []
    assert told(reports[3]) == [("fixed", "MA011")]
    assert told(reports[4]) == [("new", "MA004")]
    assert [r.code for r in ran] == [1, 0, 0, 0, 1]

    for week in range(1, 5):
        changes = reports[week]["changes"]
        assert changes["breaks"] == []
        assert (changes["rows_before"], changes["rows_after"]) == (ROWS[week - 1], ROWS[week])
        assert (changes["rows_added"], changes["rows_removed"]) == (10, 0)

    trend = reports[4]["trend"]
    assert [time[:10] for time in trend["runs"]] == [
        "2026-08-03",
        "2026-08-10",
        "2026-08-17",
        "2026-08-24",
        "2026-08-31",
    ]
    courses = {course["name"]: course["values"] for course in trend["courses"]}
    assert courses["rows"] == list(ROWS)
    # 6 of 135, 145 and 155 rows; 3 of 175
    assert courses["MA011 embedding share"] == [6 / 135, 6 / 145, 6 / 155, None, None]
    assert courses["MA004 diagnosis undecodable_rows/rows"] == [None, None, None, None, 3 / 175]
    assert courses["clusters@0.95"][-1] == reports[4]["figures"]["clusters@0.95"]
    assert trend["breaks"] == []

    # The kept audits say the same as the reports.
    diff = json.loads(memaudit("diff", "audits", "--format", "json").out)
    assert diff == reports[4]["changes"]
    files = memaudit("diff", "week-3/report.json", "week-4/report.json", "--fail-on", "new")
    assert files.code == 0
    assert "MA011" in files.out
    assert memaudit("diff", "week-4/report.json", "week-5/report.json", "--fail-on", "new", "-q").code == 1

    page = (tmp_path / "week-5" / "memaudit-report.html").read_text("utf-8")
    assert "Since 2026-08-24 06:00 UTC: 1 new, " in page
    assert "… 145 → 155 → 165 → 175" in page
    assert len(page.encode()) < 150_000
    kept = sorted(p.name for p in (tmp_path / "audits" / "pages").iterdir())
    assert len(kept) == 5
    index = (tmp_path / "audits" / "index.html").read_text("utf-8")
    assert all(f'href="pages/{name}"' in index for name in kept)
