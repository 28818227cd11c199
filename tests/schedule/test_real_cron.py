"""The crontab line under Debian's own cron, up to the kept audit. Takes until the next full minute."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memaudit.schedule import entry
from memaudit.schedule.job import Job
from memaudit.schedule.when import parse_when

ROOT = Path(__file__).resolve().parents[2]


def _needs_cron() -> None:
    if shutil.which("cron") is None or shutil.which("crontab") is None:
        pytest.skip("Debian's cron is not installed")
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a cron of our own needs root and unshare")
    if (
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, check=False).returncode
        != 0
    ):
        pytest.skip("no private mount namespace can be made here")


def test_cron_when_the_line_is_run_by_a_real_cron_then_the_audit_is_kept(tmp_path: Path, healthy: Path) -> None:
    _needs_cron()
    folder = tmp_path / "agent 100%"
    folder.mkdir()
    (folder / "memaudit.toml").write_text(f'[memaudit]\nstore = "{healthy}"\nselect = ["contents", "summary"]\n')
    soon = datetime.now() + timedelta(seconds=75 if datetime.now().second > 50 else 60)
    told = tmp_path / "told 5%"
    made = Job(
        folder, (sys.executable, "-m", "memaudit"), environment={"PYTHONPATH": str(ROOT)}, when=parse_when(f"{soon:%H:%M}"), options=("--fail-on", "never"), notify=f"cat > {shlex.quote(str(told))}"
    )  # fmt: skip
    (tmp_path / "tab").write_text(entry("cron", made).files[0][1])
    # The machine's own crontabs are out of sight of this cron, and ours of the machine's.
    script = (
        "set -e; mount -t tmpfs none /var/spool/cron; mkdir -m 1730 /var/spool/cron/crontabs; "
        "chgrp crontab /var/spool/cron/crontabs; mount -t tmpfs none /etc/cron.d; mount --bind /dev/null /etc/crontab; "
        f"mount -t tmpfs none /run; crontab {shlex.quote(str(tmp_path / 'tab'))}; exec cron -f"
    )
    cron = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script])
    try:
        deadline = time.monotonic() + 300
        pages, log = folder / "audits" / "index.html", folder / "audits" / "memaudit.log"
        while not (log.exists() and b"No fault found" in log.read_bytes()) and time.monotonic() < deadline:
            assert cron.poll() is None, "cron ended"
            time.sleep(1)
        time.sleep(1)  # a command that is told of findings would follow at once
    finally:
        cron.kill()
        cron.wait()
    assert pages.exists(), log.read_text() if log.exists() else "no log"
    assert (folder / "audits" / "report.json").exists()
    assert "No fault found" in log.read_text("utf-8", "replace")
    assert not told.exists()  # nothing to tell: exit code 0
