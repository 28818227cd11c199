"""All formats at once: each is a view of one audit, and none of them loses a finding."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from memaudit.model import Audit, Verdict
from memaudit.reports import RENDERERS, from_json, redacted, to_json

NEW = ("sarif", "junit", "github", "gitlab", "markdown", "jsonl")


def _sarif(text: str) -> str:
    return "\n".join(
        f"{r['ruleId']} {r['message']['text'].replace('{{', '{').replace('}}', '}')}"
        for r in json.loads(text)["runs"][0]["results"]
    )


def _junit(text: str) -> str:
    return "\n".join(Xml.fromstring(text).itertext())  # our own text, read back


def _github(text: str) -> str:
    return text.replace("%0A", "\n").replace("%0D", "\r").replace("%3A", ":").replace("%2C", ",").replace("%25", "%")


def _markdown(text: str) -> str:
    return re.sub(r"&#(\d+);", lambda m: "" if m[1] == "8203" else chr(int(m[1])), text)


#: Format -> the text that a reader of it sees.
READ: Mapping[str, Callable[[str], str]] = {
    "text": lambda text: re.sub(r"\s+", " ", text),
    "html": lambda text: re.sub(r"<[^>]+>", "", text),
    "json": str,
    "jsonl": str,
    "markdown": _markdown,
    "sarif": _sarif,
    "junit": _junit,
    "gitlab": str,
    "github": _github,
}


def test_formats_when_listed_then_each_of_them_is_read_here() -> None:
    assert set(READ) == set(RENDERERS)


@pytest.mark.parametrize("name", list(RENDERERS))
def test_format_when_an_audit_has_findings_then_every_one_is_there(name: str, samples: ModuleType) -> None:
    audit = samples.published_audit()
    text = RENDERERS[name](audit, width=400) if name == "text" else RENDERERS[name](audit)
    seen = READ[name](text)
    plain = seen.replace("`", "")
    assert len(audit.findings) == 10
    for finding in audit.findings:
        assert finding.code in seen
        assert finding.title.replace("`", "") in plain, finding.code
    for item in audit.not_run:  # nor does what did not run get lost
        for code in item.codes if name not in ("sarif",) else ():
            assert code in seen or code in text


@pytest.mark.parametrize("name", list(RENDERERS))
def test_format_when_rendered_from_the_json_read_back_then_the_same(name: str, samples: ModuleType) -> None:
    audit = samples.published_audit()
    assert RENDERERS[name](from_json(to_json(audit))) == RENDERERS[name](audit)


@pytest.mark.parametrize("name", NEW)
def test_format_when_everything_is_hostile_then_still_readable_and_encodable(name: str, samples: ModuleType) -> None:
    audit = samples.hostile_audit()
    text = RENDERERS[name](audit)
    text.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\ufeff]", text)
    if name in ("sarif", "gitlab"):
        json.loads(text)
    if name == "jsonl":
        lines = text.split("\n")
        assert [json.loads(line)["type"] for line in lines[:-1]] == ["audit"] + ["finding"] * len(audit.findings)
        assert lines[-1] == ""
    if name == "junit":
        Xml.fromstring(text)
    if name == "github":
        assert all(re.match(r"::(error|warning|notice) title=[^:,\n]+::", line) for line in text.splitlines())


@pytest.mark.parametrize("name", NEW)
def test_format_when_nothing_was_found_then_valid_and_says_so(name: str, samples: ModuleType) -> None:
    text = RENDERERS[name](samples.quiet_audit())
    if name == "sarif":
        run = json.loads(text)["runs"][0]
        assert run["results"] == []
        assert run["tool"]["driver"]["rules"] == []
    elif name == "gitlab":
        assert json.loads(text) == []
    elif name == "junit":
        root = Xml.fromstring(text)
        assert root.get("failures") == root.get("errors") == "0"
    elif name == "jsonl":
        assert json.loads(text)["findings"] == 0
    else:
        assert "No fault found in 1 memory; 3 of 9 probes could not look." in text


@pytest.mark.parametrize("name", list(RENDERERS))
def test_format_when_there_is_no_store_then_rendered(name: str, samples: ModuleType) -> None:
    audit = samples.published_audit(store=None, encoder=None, config={"queries": "eval/queries.jsonl"})
    text = RENDERERS[name](audit)
    assert "MA101" in text
    if name in ("sarif", "gitlab"):
        assert "eval/queries.jsonl" in text
    assert "MA101" in RENDERERS[name](dataclasses.replace(audit, config={}))


@pytest.mark.parametrize("name", NEW)
def test_format_when_incomplete_then_never_looks_clean(name: str, samples: ModuleType) -> None:
    audit = samples.quiet_audit()
    broken = dataclasses.replace(audit, incomplete="probe x failed: boom", verdict=Verdict("undecided", "Undecided."))
    text = RENDERERS[name](broken)
    assert "boom" in text
    if name == "sarif":
        assert json.loads(text)["runs"][0]["invocations"][0]["executionSuccessful"] is False
    if name == "junit":
        assert Xml.fromstring(text).get("errors") == "1"
    if name == "gitlab":
        assert [entry["severity"] for entry in json.loads(text)] == ["major"]


@pytest.mark.parametrize("name", NEW)
def test_format_when_redacted_then_no_piece_of_store_text(name: str, samples: ModuleType) -> None:
    audit: Audit = redacted(samples.published_audit())
    text = RENDERERS[name](audit)
    secrets: list[str] = [samples.TOOL_TEXT, "参数修正: 缺少参数 --sheet-name, 读取 Excel 失败", "success_after_retry"]
    secrets += [samples.PREFIX + value for value, *_ in samples.GROUPS]
    assert "MA302" in text
    for secret in secrets:
        for at in range(len(secret) - 7):
            assert secret[at : at + 8] not in text, secret[at : at + 8]


@pytest.mark.parametrize("name", NEW)
def test_format_when_rendered_twice_then_equal(name: str, samples: ModuleType) -> None:
    first: Any = RENDERERS[name](samples.hostile_audit())
    assert first == RENDERERS[name](samples.hostile_audit())
    assert "memaudit" in first[:4096]  # by this a file is known as ours when it is written again
