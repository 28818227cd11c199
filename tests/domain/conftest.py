from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memaudit.domain.loading import load_slice
from memaudit.domain.sweep import Sweep

SAMPLES = Path(__file__).parent / "samples"

Enumerate = Callable[..., dict[str, Any]]


@pytest.fixture
def samples() -> Path:
    return SAMPLES


@pytest.fixture
def enumerate_here() -> Enumerate:
    """Enumerate a function in this process: no child, no limits, so that many can be run."""

    def run(file: Path, qualname: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        sys.modules.pop(file.stem, None)
        loaded = load_slice(file, file.stem, qualname)
        result = Sweep(loaded, [file.parent], given).run()
        sys.modules.pop(file.stem, None)
        return result

    return run
