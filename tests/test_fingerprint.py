"""The identity of a finding: what moves with the data must not change it, what names the place must."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from memaudit.fingerprint import fingerprint, fingerprints
from memaudit.model import Evidence, Finding, Severity


def finding(subject: dict[str, Any], code: str = "MA304", **rest: Any) -> Finding:
    return Finding(code, "kind", Severity.LOW, subject, rest.pop("title", "t"), rest.pop("figures", {}), **rest)


def test_fingerprint_when_computed_then_the_hash_of_rule_and_place() -> None:
    # sha256 of the JSON list of pairs, sorted by key, the code first
    text = b'[["code","MA302"],["column","label"],["table","notes"]]'
    expected = hashlib.sha256(text).hexdigest()[:16]
    assert fingerprint("MA302", {"table": "notes", "column": "label"}) == expected


@pytest.mark.parametrize(
    "moved",
    [
        {"line": 99},
        {"line": "99-104"},
        {"ids": [1, 2, 3]},
        {"values": ["a", "b"]},
        {"rows": 12},
        {"file": "./src/store.py"},
        {"file": "src\\store.py"},
        {"config": None},
    ],
)
def test_fingerprint_when_what_moves_changes_then_the_same(moved: dict[str, Any]) -> None:
    subject = {"file": "src/store.py", "function": "record", "line": 12}
    assert fingerprint("MA201", {**subject, **moved}) == fingerprint("MA201", subject)


@pytest.mark.parametrize("other", [{"file": "src/b.py"}, {"function": "load"}, {"value": "错误"}, {"k": 5}])
def test_fingerprint_when_the_place_differs_then_another(other: dict[str, Any]) -> None:
    subject = {"file": "src/store.py", "function": "record"}
    assert fingerprint("MA201", {**subject, **other}) != fingerprint("MA201", subject)


def test_fingerprints_when_title_figures_and_rows_differ_then_the_same() -> None:
    a = finding({"table": "t"}, title="3 of 9", figures={"rows": 9}, evidence=Evidence(total=3, ids=(1, 2, 3)))
    b = finding({"table": "t"}, title="4 of 10", figures={"rows": 10}, evidence=Evidence(total=4))
    assert fingerprints([a]) == fingerprints([b])


def test_fingerprints_when_rule_and_place_are_shared_then_values_tell_apart_in_any_order() -> None:
    one, two = finding({"table": "t", "values": ["a"]}), finding({"table": "t", "values": ["b"]})
    marks = fingerprints([one, two])
    assert len(set(marks)) == 2
    assert fingerprints([two, one]) == marks[::-1]


def test_fingerprints_when_nothing_tells_apart_then_numbered() -> None:
    first, second = fingerprints([finding({"table": "t"})] * 2)
    assert second == f"{first}-2"


def test_fingerprints_when_there_are_none_then_none() -> None:
    assert fingerprints([]) == ()
