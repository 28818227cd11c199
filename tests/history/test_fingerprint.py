"""A finding is the same one next week: rule and place, no line number, no count, no row key."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.fingerprint import fingerprint, with_fingerprints

ROOT = Path(__file__).resolve().parents[2]
PLACE = {"table": "memories", "column": "标签", "value": "工具试错"}


def test_fingerprint_when_made_in_another_process_then_equal() -> None:
    code = f"from memaudit.fingerprint import fingerprint\nprint(fingerprint('MA302', {PLACE!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    )  # fmt: skip
    assert done.stdout.strip() == fingerprint("MA302", PLACE)


def test_fingerprint_when_written_down_once_then_stays_for_ever() -> None:
    # sha256 of [["code","MA302"],["column","content"],["table","memories"]], computed with sha256sum: baselines
    # that users committed depend on it.
    import hashlib

    text = '[["code","MA302"],["column","content"],["table","memories"]]'
    expected = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert fingerprint("MA302", {"table": "memories", "column": "content"}) == expected == "5385a543280a17b1"


@pytest.mark.parametrize(
    "moving",
    [
        {"line": 212}, {"line": 213, "template_lines": [3, 4]}, {"ids": [1, 2, 3]}, {"id": 7}, {"values": ["a", "b"]},
        {"filters": ["a = 1"]}, {"rows": 175}, {"anything_counted": 12}, {"share": 0.5}, {"of_some_list": ["x"]},
        {"column2": None},
    ],
)  # fmt: skip
def test_fingerprint_when_rows_or_lines_move_then_equal(moving: dict[str, Any]) -> None:
    assert fingerprint("MA302", {**PLACE, **moving}) == fingerprint("MA302", PLACE)


@pytest.mark.parametrize(
    "other",
    [
        {"table": "notes"}, {"column": "content"}, {"value": "工具"}, {"value": 1}, {"file": "a.py"}, {"function": "A.f"},
        {"config": "max"}, {"k": 5}, {"category": 3}, {"arm": "hybrid"}, {"arms": ["a", "b"]}, {"compare": ["a", "b"]},
    ],
)  # fmt: skip
def test_fingerprint_when_the_place_differs_then_differs(other: dict[str, Any]) -> None:
    assert fingerprint("MA302", {**PLACE, **other}) != fingerprint("MA302", PLACE)
    assert fingerprint("MA301", PLACE) != fingerprint("MA302", PLACE)


def test_fingerprint_when_a_path_is_written_otherwise_then_equal() -> None:
    expected = fingerprint("MA201", {"file": "src/recorder.py", "function": "Recorder.record"})
    for path in ("./src/recorder.py", "src\\recorder.py"):
        assert fingerprint("MA201", {"file": path, "function": "Recorder.record", "line": 9}) == expected


def test_fingerprint_when_keys_come_in_another_order_then_equal() -> None:
    assert fingerprint("MA1", dict(reversed(PLACE.items()))) == fingerprint("MA1", PLACE)
    assert fingerprint("MA504", {"arms": ["b", "a"]}) == fingerprint("MA504", {"arms": ["a", "b"]})


def test_with_fingerprints_when_two_share_a_place_then_their_values_tell_them_apart(
    make_finding: Callable[..., Any],
) -> None:
    one, two = (make_finding(subject={**PLACE, "values": values}) for values in (["a"], ["b", "c"]))
    alone = with_fingerprints([one])[0].fingerprint
    first, second = with_fingerprints([one, two])
    assert len({alone, first.fingerprint, second.fingerprint}) == 3
    # by what they say, not by where they stand
    assert [f.fingerprint for f in with_fingerprints([two, one])] == [second.fingerprint, first.fingerprint]
    twice = with_fingerprints([one, one, one])
    assert len({f.fingerprint for f in twice}) == 3


def test_with_fingerprints_when_given_already_then_kept(make_finding: Callable[..., Any]) -> None:
    # A redacted report has `value-07` where the text stood; its fingerprint is that of the text.
    finding = make_finding(fingerprint="0123456789abcdef", subject={"value": "value-07"})
    assert with_fingerprints([finding])[0].fingerprint == "0123456789abcdef"


@given(st.dictionaries(st.sampled_from(["table", "column", "value", "function"]), st.text(max_size=20)), st.integers())
def test_fingerprint_when_anything_is_stored_then_sixteen_digits_and_blind_to_counts(
    subject: dict[str, str], n: int
) -> None:
    made = fingerprint("MA305", subject)
    assert len(made) == 16
    int(made, 16)
    assert fingerprint("MA305", {**subject, "line": n, "n_rows": n}) == made
    assert fingerprint("MA305", json.loads(json.dumps(subject))) == made
