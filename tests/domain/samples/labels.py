# mypy: ignore-errors
# Written as the code under audit is written: mostly without types.
"""Label-making functions of the kinds met in real agents; what each can return is stated in the tests."""

import enum
import random
import uuid
from collections.abc import Mapping
from typing import Literal


class FileNotes:
    """A suffix table with a default that is never empty."""

    @staticmethod
    def language_of(path):
        table = {
            ".py": "python",
            ".js": "javascript",
            ".mjs": "javascript",
            ".ts": "typescript",
            ".go": "go",
            ".rs": "rust",
            ".java": "java",
            ".sql": "sql",
            ".md": "markdown",
        }
        dot = path.rfind(".")
        suffix = path[dot:].lower() if dot >= 0 else ""
        return table.get(suffix, "plain")


class Planner:
    """A keyword classifier in two languages: the first match wins."""

    @staticmethod
    def category(goal: str) -> str:
        if any(word in goal for word in ("写代码", "重构", "debug")):
            return "coding"
        if any(word in goal for word in ("搜索", "查找")):
            return "search"
        if any(word in goal for word in ("文件", "目录", "保存")):
            return "files"
        if any(word in goal for word in ("翻译", "润色")):
            return "writing"
        if any(word in goal for word in ("日程", "提醒")):
            return "calendar"
        return "misc"


def stage_tag(stage: str | None) -> str:
    """Two fixed results and a lower-cased pass-through."""
    if not stage:
        return "unset"
    lowered = stage.lower()
    if lowered in ("development", "local"):
        return "dev"
    return lowered


def script_of(text):
    """A ratio of characters; a division by zero falls into the except part."""
    try:
        letters = [c for c in text if not c.isdigit()]
        chinese = sum(1 for c in letters if "\u4e00" <= c <= "\u9fff")
        return "zh" if chinese / len(letters) > 0.3 else "en"
    except ZeroDivisionError:
        return "en"


def verdict_kind(checks):
    """Four yes/no verdicts, two levels deep."""
    asked = checks["asked"]["answer"].lower() == "yes"
    kept = checks["kept"]["answer"].lower() == "yes"
    invented = checks["invented"]["answer"].lower() == "yes"
    helpful = checks["helpful"]["answer"].lower() == "yes"
    if invented:
        return "invention"
    if not asked:
        return "unaware"
    if not kept:
        return "broken"
    if not helpful:
        return "useless"
    return "good"


Operation = Literal["publish", "send", "ack", "create"]


def operation_kind(operation: Literal["publish", "send", "ack", "create"]) -> str:
    """The last branch needs a value outside the declared type."""
    if operation in ("publish", "send"):
        return "producer"
    if operation == "ack":
        return "consumer"
    if operation == "create":
        return "creation"
    return "other"


def snippet_language(code):
    """The fallback sits in an except part, and any plain word is valid Python."""
    if code.startswith("python") or code.startswith("pip"):
        return "sh"
    try:
        compile(code, "snippet", "exec")
        return "python"
    except SyntaxError:
        return "unclear"


def schema_type(name: str) -> str:
    """The default equals one of the mapped values."""
    if name in ("int", "float", "complex"):
        return "number"
    if name in ("str", "string"):
        return "string"
    if name == "bool":
        return "boolean"
    if name in ("NoneType", "None"):
        return "null"
    if name in ("list", "tuple", "set"):
        return "array"
    if name in ("dict", "Mapping"):
        return "object"
    return "object"


class Source(enum.Enum):
    """Where a token is looked for."""

    HEADER = "header"
    COOKIE = "cookie"
    EITHER = "either"


def missing_token(source: Source, cookie: str) -> str:
    """An enum; the last branch is unreachable for its members."""
    if source is Source.HEADER:
        return "No token in the header"
    if source is Source.COOKIE:
        return f"No token in the cookie {cookie}"
    if source is Source.EITHER:
        return f"No token in the header or the cookie {cookie}"
    return "No token"


def usage_kind(*, streamed: bool, extra: Mapping[str, str] | None = None) -> str:
    """Keyword-only: a flag and an optional mapping."""
    if extra is not None and extra.get("role") == "sub":
        return "sub-agent"
    if extra is not None and extra.get("role") == "summary":
        return "summary"
    if streamed:
        return "stream"
    return "call"


def span(seconds: int) -> str:
    """Three templates with an integer hole."""
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m"
    return f"{seconds // 3600}h"


def session_id(name: str | None = None) -> str:
    """An id from a random default."""
    base = name or uuid.uuid4().hex
    return f"{base}-{random.randint(0, 10**9)}"


class Recorder:
    """Five keyword groups whose tags are joined, else a sentence with the tool's name."""

    @staticmethod
    def pattern(failures: list[dict], tool_name: str) -> str:
        text = " ".join(f.get("error", "") for f in failures).lower()
        tags = []
        if any(k in text for k in ("timeout", "timed out", "超时")):
            tags.append("超时")
        if any(k in text for k in ("permission", "denied")):
            tags.append("权限")
        if any(k in text for k in ("not found", "no such")):
            tags.append("缺失")
        if any(k in text for k in ("connection", "network", "connect")):
            tags.append("网络")
        if any(k in text for k in ("syntax", "parse")):
            tags.append("语法")
        if tags:
            return "/".join(tags)
        return f"工具试错模式: {tool_name}工具重试成功"
