"""Words that would claim more than a verdict allows stand in no sentence of the evaluation rules."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "memaudit" / "evaluation").glob("*.py"), *(ROOT / "probes").glob("eval_*.py")])
FORBIDDEN = re.compile(
    r"improv|提升|no difference|没有区别|\btrend|nearly significant|slightly better|趋势|[→↑↓▲▼]", re.IGNORECASE
)


def sentences(path: Any) -> Any:
    """Return every literal that is handed to `say`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
            yield node.args[0].value


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_sentences_when_read_then_no_word_claims_more_than_a_verdict(path: Any) -> None:
    assert not [s for s in sentences(path) if FORBIDDEN.search(s)]


def test_sentences_when_read_then_there_are_some() -> None:
    assert sum(1 for p in FILES for _ in sentences(p)) > 100
