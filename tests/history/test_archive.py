"""Kept audits: written whole or not at all, by several audits at once, and never mixed up."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from memaudit.changes import Changes, Trend
from memaudit.errors import ConfigError, MemauditError
from memaudit.history.archive import SCHEMA, is_complete, opened, place_of, run_figures, series_of
from memaudit.history.keeping import age, age_of, kept, newest_complete, pruned, with_history
from memaudit.history.lock import only_audit
from memaudit.history.row_keys import marks
from memaudit.model import Verdict
from memaudit.reports import to_json

Make = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]


def weeks(make_audit: Make, n: int, **parts: Any) -> list[Any]:
    start = datetime(2026, 8, 3, 6, tzinfo=timezone.utc)
    return [make_audit(started=(start + timedelta(weeks=i)).isoformat(), rows=200 + i, **parts) for i in range(n)]


def test_keep_when_read_back_then_the_audit_is_equal_but_for_trend_and_changes(
    tmp_path: Path, make_audit: Make, make_finding: Make
) -> None:
    audit = make_audit(make_finding(title="重复 12 行"), trend=Trend(("a",), ()), changes=Changes("b"))
    with opened(tmp_path / "audits", create=True) as archive:
        number = archive.keep(audit, "s", marks([1, 2]))
        back = archive.report(number)
        assert archive.row_keys(number) == marks([1, 2])
        run = archive.runs()[0]
    assert (back.trend, back.changes) == (None, None)
    assert to_json(back) == to_json(make_audit(make_finding(title="重复 12 行")))
    assert (run.rows, run.counts, run.complete, run.series) == (200, {"medium": 1}, True, "s")
    path = tmp_path / "audits" / "history.db"
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600  # it holds memory text
    with closing(sqlite3.connect(path)) as connection, connection:
        row = connection.execute("SELECT code, severity, title FROM findings").fetchone()
        assert row == ("MA305", "medium", "重复 12 行")
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
        assert "重复".encode() not in connection.execute("SELECT report FROM runs").fetchone()[0]  # compressed
    connection.close()


def test_keep_when_it_fails_half_way_then_nothing_is_left(
    tmp_path: Path, make_audit: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "h.db", create=True) as archive:
        archive.keep(make_audit(), "s")
        monkeypatch.setattr("memaudit.history.archive._finding_rows", lambda audit: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            archive.keep(make_audit(), "s")
        assert len(archive.runs()) == 1
    with closing(sqlite3.connect(tmp_path / "h.db")) as connection, connection:
        assert connection.execute("SELECT DISTINCT run FROM figures").fetchall() == [(1,)]
    connection.close()


def test_keep_when_several_audits_write_at_once_then_all_are_kept(tmp_path: Path, make_audit: Make) -> None:
    errors: list[BaseException] = []

    def write(n: int) -> None:
        try:
            for _ in range(3):
                with opened(tmp_path / "h.db", create=True) as archive:
                    archive.keep(make_audit(), f"series {n}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with opened(tmp_path / "h.db") as archive:
        assert sorted(run.number for run in archive.runs()) == list(range(1, 13))
        assert len(archive.runs("series 2")) == 3


def test_opened_when_several_audits_make_the_file_at_once_then_none_takes_it_for_another_s(
    tmp_path: Path,
) -> None:
    errors: list[BaseException] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # the threads change places inside the few statements that matter
    try:
        for n in range(30):
            start = threading.Barrier(6)

            def make(path: Path = tmp_path / f"{n}.db", start: threading.Barrier = start) -> None:
                start.wait()
                try:
                    with opened(path, create=True):
                        pass
                except BaseException as error:
                    errors.append(error)

            threads = [threading.Thread(target=make) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []


def test_opened_when_it_is_no_history_then_refused_and_untouched(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE memories (id)")
    connection.close()
    (tmp_path / "notes.db").write_text("# not a database, but long enough to be read as one\n" * 10)
    before = (tmp_path / "other.db").read_bytes()
    for name in ("other.db", "notes.db"):
        with pytest.raises(ConfigError, match=name), opened(tmp_path / name, create=True):
            pass
    assert (tmp_path / "other.db").read_bytes() == before
    with pytest.raises(ConfigError, match="no history at"), opened(tmp_path / "nowhere"):
        pass
    assert not (tmp_path / "nowhere").exists()


def test_store_when_named_as_history_then_no_byte_of_it_changes(tmp_path: Path) -> None:
    store, live = tmp_path / "store.db", tmp_path / "live"
    live.mkdir()
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE memories (text)")
        connection.commit()
        for part in (store.name, f"{store.name}-wal"):
            (live / part).write_bytes((tmp_path / part).read_bytes())
    before = {path.name: path.read_bytes() for path in live.iterdir()}
    with pytest.raises(ConfigError, match="is a database, but no history"), opened(live / store.name, create=True):
        pass
    assert {path.name: path.read_bytes() for path in live.iterdir()} == before


def test_opened_when_a_later_version_wrote_it_then_said(tmp_path: Path) -> None:
    with opened(tmp_path / "h.db", create=True):
        pass
    with closing(sqlite3.connect(tmp_path / "h.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(MemauditError, match="later memaudit"), opened(tmp_path / "h.db"):
        pass


def test_place_of_when_named_then_file_or_folder(tmp_path: Path) -> None:
    assert place_of(tmp_path / "audits") == (tmp_path / "audits" / "history.db", tmp_path / "audits")
    assert place_of(tmp_path / "audits.db") == (tmp_path / "audits.db", None)
    (tmp_path / "folder.db").mkdir()
    assert place_of(tmp_path / "folder.db")[1] == tmp_path / "folder.db"
    (tmp_path / "plain").touch()
    assert place_of(tmp_path / "plain") == (tmp_path / "plain", None)


def test_series_of_when_the_project_moves_then_the_same(tmp_path: Path) -> None:
    def named(root: str, store: str) -> str:
        base = tmp_path / root
        return series_of(store, "memories", base / "audits", base)

    assert named("a", "data/store.db") == named("b", "data/store.db") == "../data/store.db › memories"
    assert named("a", str(tmp_path / "a" / "data" / "store.db")) == named("a", "data/store.db")
    assert named("a", "other/store.db") != named("a", "data/store.db")
    assert series_of("postgresql://host/db", None, tmp_path, tmp_path) == "postgresql://host/db › -"


def test_run_figures_when_a_finding_repeats_a_headline_then_once(make_audit: Make, make_finding: Make) -> None:
    same = make_finding(figures={"share_extra": 0.5, "rows": 9})
    other = make_finding("MA302", figures={"share_below_090": 0.25})
    audit = make_audit(same, other, figures={"rows": 9, "share_extra": 0.5, "by": {"x": 1}, "none": None})
    assert run_figures(audit) == {"rows": 9, "share_extra": 0.5, "MA302 content share_below_090": 0.25}


def test_run_figures_when_a_rule_has_two_findings_then_two_courses(make_audit: Make, make_finding: Make) -> None:
    title = make_finding(figures={"share_extra": 0.1}, subject={"table": "memories", "column": "title"})
    body = make_finding(figures={"share_extra": 0.2}, subject={"table": "memories", "column": "body"})
    there = make_finding(figures={"share_extra": 0.3}, subject={"table": "notes", "column": "body"})
    found = run_figures(make_audit(title, body, there, figures={}))
    assert list(found.values()) == [0.1, 0.2, 0.3]
    assert list(found)[:2] == ["MA305 title share_extra", "MA305 body share_extra"]


# -- with the earlier ones ------------------------------------------------------------------------


def test_with_history_when_first_then_no_comparison_and_a_note(tmp_path: Path, make_audit: Make) -> None:
    with opened(tmp_path / "audits", create=True) as archive:
        archive.keep(make_audit(), "another store")
        audit = with_history(archive, make_audit(), "s", None)
    assert (audit.changes, audit.trend) == (None, None)
    assert "nothing to compare" in audit.notes[-1]


def test_with_history_when_the_last_was_incomplete_then_compared_with_the_complete_one(
    tmp_path: Path, make_audit: Make, make_finding: Make
) -> None:
    first, second, third = weeks(make_audit, 3)
    with opened(tmp_path / "audits", create=True) as archive:
        from dataclasses import replace

        archive.keep(replace(first, findings=(make_finding(),)), "s", marks([1, 2]))
        archive.keep(replace(second, incomplete="probe x failed"), "s", marks([1]))
        audit = with_history(archive, replace(third, findings=(make_finding(),)), "s", marks([2, 3, 4]))
    assert audit.changes is not None
    assert audit.changes.since == first.run.started
    assert [c.state.value for c in audit.changes.findings] == ["unchanged"]
    assert (audit.changes.rows_added, audit.changes.rows_removed) == (2, 1)
    assert audit.trend is not None
    assert len(audit.trend.runs) == 2  # an incomplete audit is no point of the course


def test_is_complete_when_nothing_was_audited_then_not(make_audit: Make) -> None:
    assert is_complete(make_audit())
    assert not is_complete(make_audit(incomplete="x"))
    assert not is_complete(make_audit(verdict=Verdict("nothing-audited", "0 rows.")))


def test_kept_when_a_folder_then_page_and_index_and_pruning_drops_them(tmp_path: Path, make_audit: Make) -> None:
    folder = tmp_path / "audits"
    with opened(folder, create=True) as archive:
        for audit in [*weeks(make_audit, 4), weeks(make_audit, 1)[0]]:
            kept(archive, audit, "s", None)
        pages = {p.name for p in (folder / "pages").iterdir()}
        assert pages == {
            "2026-08-03T06-00-00Z.html", "2026-08-03T06-00-00Z-2.html", "2026-08-10T06-00-00Z.html",
            "2026-08-17T06-00-00Z.html", "2026-08-24T06-00-00Z.html",
        }  # fmt: skip
        index = (folder / "index.html").read_text("utf-8")
        assert index.index("pages/2026-08-24T06-00-00Z.html") < index.index("pages/2026-08-10T06-00-00Z.html")
        dropped = pruned(archive, 2)
        assert [run.started[:10] for run in dropped] == ["2026-08-03", "2026-08-03", "2026-08-10"]
        assert [run.started[:10] for run in archive.runs()] == ["2026-08-17", "2026-08-24"]
        assert archive.figures("s").keys() == {3, 4}
    assert len(list((folder / "pages").iterdir())) == 2
    assert "2026-08-10" not in (folder / "index.html").read_text("utf-8")


def test_pruned_when_the_newest_are_incomplete_then_the_last_complete_one_stays(
    tmp_path: Path, make_audit: Make
) -> None:
    first, *rest = weeks(make_audit, 4)
    from dataclasses import replace

    with opened(tmp_path / "h.db", create=True) as archive:
        archive.keep(first, "s")
        for audit in rest:
            archive.keep(replace(audit, incomplete="x"), "s")
        archive.keep(first, "other")
        pruned(archive, 1)
        assert [(run.series, run.complete) for run in archive.runs()] == [("s", True), ("other", True), ("s", False)]


def test_page_path_when_a_name_points_elsewhere_then_never_followed(tmp_path: Path, make_audit: Make) -> None:
    with opened(tmp_path / "audits", create=True) as archive:
        archive.keep(make_audit(), "s", page="../../victim.html")
        victim = tmp_path.parent / "victim.html"
        assert archive.page_path(archive.runs()[0]) is None
        assert not victim.exists()


# -- heartbeat and lock ---------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "hours"), [("36h", 36), ("8d", 192), ("2w", 336), ("90m", 1.5), (" 1 d ", 24)])
def test_age_of_when_written_then_read(text: str, hours: float) -> None:
    assert age_of(text) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "8", "8 days", "-3d", "0d", "1.5d", "d"])
def test_age_of_when_no_age_then_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no age"):
        age_of(text)


def test_newest_complete_when_later_ones_failed_then_its_age_counts(tmp_path: Path, make_audit: Make) -> None:
    from dataclasses import replace

    first, second = weeks(make_audit, 2)
    with opened(tmp_path / "h.db", create=True) as archive:
        archive.keep(first, "s")
        archive.keep(replace(second, incomplete="x"), "s")
        newest = newest_complete(archive.runs())
    assert newest is not None
    assert age(newest, datetime(2026, 8, 12, 6, tzinfo=timezone.utc)) == timedelta(days=9)
    assert age(newest, datetime(2026, 8, 1, tzinfo=timezone.utc)) == timedelta(0)
    assert newest_complete([]) is None


def test_only_audit_when_another_holds_it_then_refused_and_free_after_its_death(tmp_path: Path) -> None:
    path = tmp_path / "audits" / "history.db"
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom memaudit.history.lock import only_audit\n"
        "with only_audit(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(MemauditError, match=f"process {holder.pid}"), only_audit(path):
            pass
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()
    with only_audit(path):
        pass
