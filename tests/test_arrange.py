"""Order of findings, and what is set apart: suppressed until a day, accepted until it worsens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from memaudit.arrange import MAX_IDS, arranged, check_suppressions
from memaudit.config import Config
from memaudit.errors import ConfigError
from memaudit.fingerprint import fingerprint
from memaudit.history.baseline import Accepted
from memaudit.model import Basis, Evidence, Finding, Severity

PLACE = {"table": "memories", "column": "content"}
TODAY = date.today()


def finding(code: str, severity: Severity = Severity.MEDIUM, **parts: Any) -> Finding:
    figures = parts.pop("figures", {"rows": 100, "share_extra": 0.2})
    return Finding(code, "kind", severity, parts.pop("subject", PLACE), f"title of {code}", figures, **parts)


def run(
    *findings: Finding, suppress: tuple[Mapping[str, Any], ...] = (), **more: Any
) -> tuple[list[Finding], list[Any]]:
    rows = more.pop("rows", (100, None))
    baseline = more.pop("baseline", ())
    config = Config(suppress=suppress, **more)
    return arranged(findings, config, rows=rows[0], drawn_from=rows[1], baseline=baseline)


def test_order_when_arranged_then_most_severe_first_and_weak_ones_after_strong() -> None:
    weak = finding("MA101", Severity.HIGH, basis=Basis.UNDER_POWERED)
    shown, _ = run(finding("MA602", Severity.LOW), weak, finding("MA305"), finding("MA302", Severity.HIGH))
    assert [f.code for f in shown] == ["MA302", "MA101", "MA305", "MA602"]
    assert all(len(f.fingerprint) == 16 for f in shown)


@pytest.mark.parametrize(
    ("until", "silent"),
    [(None, True), (TODAY, True), (TODAY + timedelta(days=1), True), (TODAY - timedelta(days=1), False)],
)
def test_suppression_when_its_day_has_passed_then_fires_again(until: date | None, silent: bool) -> None:
    rule: dict[str, Any] = {"code": "MA305", "reason": "known"}
    shown, apart = run(finding("MA305"), suppress=({**rule, **({"until": until} if until else {})},))
    assert ([f.code for f in shown], [item["code"] for item in apart]) == (
        ([], ["MA305"]) if silent else (["MA305"], [])
    )


def test_suppression_when_it_is_a_time_then_its_day_counts() -> None:
    moment = datetime(TODAY.year, TODAY.month, TODAY.day, 0, 0, 1)
    assert run(finding("MA305"), suppress=({"code": "MA305", "reason": "r", "until": moment},))[0] == []


def test_suppressed_when_listed_then_severity_reason_day_figures_and_identity_are_kept() -> None:
    until = TODAY + timedelta(days=9)
    (item,) = run(
        finding("MA305", Severity.HIGH), suppress=({"code": "MA305", "reason": "由平台规定", "until": until},)
    )[1]
    assert (item["severity"], item["reason"], item["until"]) == ("high", "由平台规定", until.isoformat())
    assert (item["by"], item["fingerprint"]) == ("configuration", fingerprint("MA305", PLACE))
    assert (item["figures"], item["subject"]) == ({"rows": 100, "share_extra": 0.2}, PLACE)


@pytest.mark.parametrize("other", [{"column": "title"}, {"table": "notes"}, {"value": "x"}, {"function": "f"}])
def test_suppression_when_it_names_another_place_then_the_finding_fires(other: dict[str, str]) -> None:
    assert len(run(finding("MA305"), suppress=({"code": "MA305", "reason": "r", **other},))[0]) == 1
    assert run(finding("MA305"), suppress=({"code": "MA305", "reason": "r", **PLACE},))[0] == []
    assert len(run(finding("MA305"), suppress=({"code": "MA306", "reason": "r"},))[0]) == 1


@pytest.mark.parametrize(
    "rule",
    [
        {"code": "MA305"}, {"reason": "r"}, {"code": "MA305", "reason": "  "}, {"code": "MA305", "reason": "r", "till": TODAY},
        {"code": "MA305", "reason": "r", "until": "2027-03-31"},
    ],
)  # fmt: skip
def test_suppression_when_it_lacks_something_then_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="suppress"):
        run(finding("MA305"), suppress=(rule,))


def test_suppressions_when_one_can_never_fire_then_refused_without_a_finding() -> None:
    check_suppressions(Config(suppress=({"code": "MA305", "reason": "r", "until": TODAY},)), ["MA305"])
    for rule, message in (
        ({"code": "MA306", "reason": "r"}, 'no rule is called "MA306"'),
        ({"code": "MA305", "reason": "r", "until": 7}, "until = 7 is no day"),
        (
            {"code": "MA305", "reason": "r", "till": TODAY},
            f'{{code = "MA305", reason = "r", till = {TODAY}}} needs code',
        ),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            check_suppressions(Config(suppress=(rule,)), ["MA305"])


def test_baseline_when_it_accepts_then_set_apart_also_below_the_severity_shown() -> None:
    entry = Accepted(fingerprint("MA305", PLACE), "MA305", "kind", "t", "ticket 41", "share_extra", 0.2)
    for lowest in ("info", "high"):
        shown, apart = run(finding("MA305"), baseline=(entry,), min_severity=lowest)
        assert shown == []
        assert [(i["code"], i["by"], i["reason"], i["figure_value"]) for i in apart] == [
            ("MA305", "baseline", "ticket 41", 0.2)
        ]
    worse = finding("MA305", figures={"rows": 100, "share_extra": 0.3})
    shown, apart = run(worse, baseline=(entry,))
    assert apart == []
    assert shown[0].caveat == "Accepted in the baseline at share_extra = 0.2; it is 0.3 now and open again."


def test_arranged_when_a_sample_or_many_keys_then_said() -> None:
    shown, _ = run(
        finding("MA305", figures={"rows": 50}, evidence=Evidence(total=MAX_IDS + 5, ids=tuple(range(MAX_IDS + 5)))),
        rows=(50, 100),
    )
    assert shown[0].basis is Basis.SAMPLED
    assert len(shown[0].evidence.ids) == MAX_IDS
    assert "50 of 100 (50.0 %)" in (shown[0].caveat or "")
    assert run()[0] == []


def test_arranged_when_counted_over_the_whole_table_then_no_sample() -> None:
    shown, _ = run(finding("MA603", figures={"rows": 100}), rows=(50, 100))
    assert (shown[0].basis, shown[0].caveat) == (Basis.MEASURED, None)
    shown, _ = run(finding("MA706", figures={"queries": 24}), rows=(50, 100))
    assert (shown[0].basis, shown[0].caveat) == (Basis.MEASURED, None)
