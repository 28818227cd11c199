"""What was opened is closed: Python tells of a database left open from 3.13 on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.version_info < (3, 13), reason="this Python does not tell of a database left open")
@pytest.mark.parametrize("command", ["run", "plan", "stores", "probes"])
def test_store_when_a_command_has_ended_then_it_is_closed(command: str, healthy: Path, tmp_path: Path) -> None:
    words = [command, str(healthy)] if command == "stores" else [command, "--store", str(healthy)]
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-m", "memaudit", *words],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "unclosed" not in done.stderr
