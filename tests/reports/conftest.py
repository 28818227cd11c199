"""Audits and pages that the tests of the reports share."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _samples() -> ModuleType:
    """Load `samples.py` beside this file: test folders are no packages."""
    name = "memaudit_report_samples"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("samples.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def samples() -> ModuleType:
    """Builders of audits: published_audit, quiet_audit, hostile_audit."""
    return _samples()
