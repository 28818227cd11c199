"""The findings of the published case, as the samples show them."""

from __future__ import annotations

from typing import Any

from memaudit.model import Basis, Evidence, Example, Finding, Severity

FIELD = "abstract_pattern"
TOOL_TEXT = (
    "shell.run连续失败2次后重试成功 工具shell调用出错: command not found: pdftotext; "
    "系统找不到指定的路径 经过2次重试后成功执行shell.run"
)
PREFIX = "工具试错模式: "
GROUPS = (
    ("shell工具重试成功", 47, 0.946, 0.983, 2, "repeated collection"),
    ("paper_lifecycle工具重试成功", 36, 0.787, 0.919, 15, "mixed"),
    ("wechat工具重试成功", 32, 0.814, 0.907, 6, "mixed"),
    ("权限问题", 9, 0.769, 0.901, 6, "mixed"),
    ("todo工具重试成功", 7, 0.923, 0.953, 5, "repeated collection"),
    ("stock_query工具重试成功", 5, 0.839, 0.885, 3, "mixed"),
    ("参数修正", 5, 0.638, 0.724, 5, "merges different problems"),
    ("file工具重试成功", 5, 0.720, 0.794, 5, "merges different problems"),
)


def finding(code: str, kind: str, severity: Severity, title: str, **rest: Any) -> Finding:
    subject = rest.pop("subject", {"table": "experiences", "column": FIELD})
    return Finding(code, kind, severity, subject, title, rest.pop("figures", {}), **rest)


def published_findings() -> tuple[Finding, ...]:
    high, medium, low, info = Severity.HIGH, Severity.MEDIUM, Severity.LOW, Severity.INFO
    return (
        finding(
            "MA101",
            "value-domain-fallback",
            high,
            "88.0 % of rows carry a fallback value of the generator",
            figures={
                "domain_size": 50,
                "values_seen": 23,
                "values_never_seen": 27,
                "fallback_value": "{tool}工具重试成功",
                "rows": 175,
                "rows_on_fallback": 154,
                "share_on_fallback": 0.88,
            },
            evidence=Evidence(
                (Example(TOOL_TEXT, 17, "falls through to the fallback"), Example(TOOL_TEXT[:80], 18)),
                154,
                tuple(range(1, 155)),
            ),
            fix="Let the criteria of `_generate_pattern` match the error texts that really occur.",
            lane="generator",
            probe="value-domain",
            reproduce="memaudit domain src.core.experience_recorder:ExperienceAutoRecorder._generate_pattern",
        ),
        finding(
            "MA301",
            "generator-compresses",
            high,
            "70 semantic clusters are squeezed into 24 values",
            figures={
                "rows": 175,
                "distinct_values": 24,
                "clusters@0.98": 93,
                "clusters@0.95": 70,
                "clusters@0.9": 40,
                "clusters@0.85": 27,
            },
            fix="Make the generator finer before collecting more.",
            lane="generator",
            probe="diversity",
        ),
        finding(
            "MA302",
            "dedup-key-too-coarse",
            medium,
            "De-duplication drops 57 rows that are not redundant",
            figures={
                "rows_dropped": 151,
                "dropped_below_090": 57,
                "compared": 151,
                "share_below_090": 57 / 151,
                "groups": {
                    PREFIX + value: {
                        "dropped": rows - 1,
                        "group_mean": mean,
                        "group_min": least,
                        "hits_on_kept": hit,
                    }
                    for value, rows, least, mean, hit, _ in GROUPS
                },
            },
            evidence=Evidence(
                (
                    Example(
                        "参数修正: 缺少参数 --sheet-name, 读取 Excel 失败",
                        133,
                        "cosine 0.638 to the kept row",
                    ),
                ),
                57,
                tuple(range(100, 157)),
            ),
            fix="De-duplicate by the text of the problem, not by the label.",
            lane="generator",
            probe="dedup",
        ),
        finding(
            "MA303",
            "repeated-collection",
            medium,
            "One event was recorded 47 times",
            figures={
                "rows": 175,
                "group": PREFIX + "shell工具重试成功",
                "group_rows": 47,
                "group_mean": 0.983,
                "group_min": 0.946,
                "hit_share": 2 / 47,
            },
            evidence=Evidence((Example(TOOL_TEXT, 3, "47 copies"),), 47, tuple(range(1, 48))),
            fix="De-duplicate on write for `shell` and `todo`.",
            lane="data collection",
            probe="diversity",
        ),
        finding(
            "MA201",
            "dead-branch",
            medium,
            "A guarded generator call is never reached for 174 of 175 rows (99.4 %)",
            subject={"file": "src/core/experience_store.py", "line": 212, "function": "record"},
            figures={"rows": 175, "rows_reaching_branch": 1, "share_unreachable": 174 / 175},
            evidence=Evidence((Example("if not abstract_pattern:\n    abstract_pattern = self._generate()"),), 2),
            fix="Do not debug `_generate_abstract_pattern`: it does not run.",
            probe="guarded-code",
        ),
        finding(
            "MA401",
            "template-noise",
            medium,
            "54.1 % of the embedded text is template",
            figures={
                "rows": 175,
                "embedded_chars": 35649,
                "template_constant_chars": 19282,
                "share_constant": 19282 / 35649,
            },
            fix="Embed the error text alone.",
            lane="retrieval",
            probe="template",
        ),
        finding(
            "MA402",
            "field-repeats-variables",
            low,
            "`fix_summary` carries the variables of `trigger` in another order",
            figures={"variables": 3},
            fix="Drop `fix_summary` from the embedded text.",
            probe="template",
        ),
        finding(
            "MA601",
            "field-single-value",
            low,
            "`outcome` holds one value in 175 rows: a filter on it cannot remove anything",
            subject={"table": "experiences", "column": "outcome", "value": "success_after_retry"},
            figures={"rows": 175, "distinct": 1, "value": "success_after_retry", "null_rows": 0},
            fix="Record failures too, or drop the filter.",
            probe="no-ops",
        ),
        finding(
            "MA602",
            "capacity-never-reached",
            low,
            "The limit of 500 rows has never been reached",
            subject={"config": "max_rows"},
            figures={"rows": 175, "limit": 500, "share_of_limit": 0.35, "evictions": None},
            fix="Nothing to do now.",
            probe="no-ops",
        ),
        finding(
            "MA501",
            "field-ablation",
            info,
            "Without `fix_summary` hit@1 is 24/24 instead of 23/24: 1 query of 24",
            figures={"queries": 24, "h1_wins": 1, "h1_losses": 0, "sign_test_p": 1.0},
            basis=Basis.UNDER_POWERED,
            caveat="24 queries: one query is 4.2 points, and at least 6 must change in one direction.",
            lane="retrieval",
            probe="field-ablation",
        ),
    )
