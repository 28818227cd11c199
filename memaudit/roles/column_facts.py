"""What the values of a column look like, from a sample spread over its table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from memaudit.roles.natural import WIDE, is_natural, loaded_json, number_of
from memaudit.stores.store import Store, StoreTable, TableColumn, quoted
from memaudit.times import parse_time
from memaudit.vectors import decode_vectors
from memaudit.wording import say

#: Rows looked at in a table; 20 blocks spread over it when it holds more.
SAMPLED_ROWS = 2000
_BLOCKS = 20
#: Longer values are cut in the sample: their beginning shows what they are. 4,096 numbers as JSON fit.
_CUT_AT = 100_000
#: A sample of long rows ends here.
_SAMPLED_BYTES = 64 << 20
_SHORTEST_VECTOR = 4
_LOOKED_AT_FOR_VECTORS = 200
#: What Chinese column names say, in the words that the roles are told by.
_CHINESE_NAMES = {
    "id": "编号 主键 序号 标识",
    "content": "内容 正文 文本 记忆 记忆内容 消息 描述 事实 笔记 备注",
    "created_at": "创建时间 创建日期 创建于 写入时间 记录时间 添加时间 新增时间 入库时间 生成时间 保存时间",
    "updated_at": "更新时间 修改时间 变更时间",
    "timestamp": "时间 时间戳 日期",
    "expires_at": "过期时间 到期时间 失效时间 有效期",
    "last_used_at": "最后访问时间 最近访问时间 上次访问时间 最后使用时间 最近使用时间 上次使用时间 最近命中时间",
    "use_count": "使用次数 访问次数 命中次数 召回次数 引用次数 调用次数",
    "deleted": "已删除 是否删除 删除标记 删除 软删除",
    "deleted_at": "删除时间 删除日期",
    "active": "是否有效 有效 是否启用 启用 是否激活",
    "category": "类别 分类 主题 类目 模式",
    "type": "类型 种类 分组 领域",
    "tags": "标签 关键词",
    "source": "来源 出处 来源类型",
    "user": "用户 用户编号 用户名 客户 租户 代理 智能体 会话 项目 团队 负责人 所有者 角色",
    "status": "状态 阶段 结果",
    "score": "评分 得分 分数 重要性 重要度 置信度 优先级 权重 级别 等级",
    "title": "标题 名称 姓名",
}
_ENGLISH = {chinese: english for english, names in _CHINESE_NAMES.items() for chinese in names.split()}


@dataclass(frozen=True)
class ColumnFacts:
    """A column, or a JSON path in one, as its sampled values show it.

    Parameters
    ----------
    name
        Column name, or `column$.path`.
    values
        Sampled values in table order, None included.
    absent
        Of a JSON path: how many sampled rows have no such key.
    sampled
        Whether the table holds more rows than these.
    """

    name: str
    declared: str
    values: tuple[Any, ...]
    primary_key: bool = False
    absent: int = 0
    sampled: bool = False

    @cached_property
    def present(self) -> tuple[Any, ...]:
        """Values that are not NULL."""
        return tuple(v for v in self.values if v is not None)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Values that are text and not blank; UTF-8 bytes count as text, JSON quotes are taken off."""
        found = []
        for value in self.present:
            text = _text_of(value)
            if text is not None and text.strip():
                found.append(text)
        return tuple(found)

    @cached_property
    def text_share(self) -> float:
        """Share of the values that are text."""
        return sum(_text_of(v) is not None for v in self.present) / len(self.present) if self.present else 0.0

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Values that are numbers, or texts that hold one."""
        return tuple(n for v in self.present if (n := number_of(v)) is not None)

    @property
    def is_numeric(self) -> bool:
        """Whether every value is a number."""
        return bool(self.present) and len(self.numbers) == len(self.present)

    @cached_property
    def counts(self) -> Counter[Any]:
        """Distinct values that are not NULL."""
        return Counter(v if isinstance(v, (str, bytes, int, float)) else json.dumps(v) for v in self.present)

    def of_rows(self, n: int) -> str:
        """Give a count with its base: `30 of 30 rows`."""
        return say("{n} of {rows} rows looked at" if self.sampled else "{n} of {rows} rows", n=n, rows=len(self.values))

    @property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(self.counts)

    @cached_property
    def n_stretches(self) -> int:
        """Number of stretches of equal values one after another, NULL passed over."""
        return sum(1 for _ in groupby(self.present))

    @cached_property
    def mean_chars(self) -> float:
        """Mean length of the texts."""
        return sum(map(len, self.texts)) / len(self.texts) if self.texts else 0.0

    @cached_property
    def natural_share(self) -> float:
        """Share of the values that read like sentences: no JSON, number, time, hash, path or single word."""
        return sum(map(is_natural, self.texts)) / len(self.present) if self.present else 0.0

    @cached_property
    def natural_weight(self) -> float:
        """Mean length of the sentences; a Chinese, Japanese or Korean character counts for two."""
        natural = [t for t in self.texts if is_natural(t)]
        return sum(len(t) + len(WIDE.findall(t)) for t in natural) / len(natural) if natural else 0.0

    @cached_property
    def time_share(self) -> float:
        """Share of the values that are times."""
        return sum(parse_time(v) is not None for v in self.present) / len(self.present) if self.present else 0.0

    @cached_property
    def json_share(self) -> float:
        """Share of the values that are JSON objects or lists."""
        found = sum(isinstance(loaded_json(v), (dict, list)) for v in self.present)
        return found / len(self.present) if self.present else 0.0

    @cached_property
    def vector_dims(self) -> int | None:
        """Length of the vectors that most values are; None for a column that holds none."""
        sample = self.present[:_LOOKED_AT_FOR_VECTORS]
        if not sample or not isinstance(sample[0], (bytes, str)) or self.natural_share > 0.5:
            return None
        found = decode_vectors(sample)
        readable = sum(found.dims.values())
        if not readable or readable < 0.5 * len(sample):
            return None
        dims = next(iter(found.dims))
        # A text of whole numbers is a list of ids or counts, not a vector.
        written_whole = isinstance(sample[0], str) and len(found.matrix) and bool(np.all(found.matrix % 1 == 0))
        return dims if dims >= _SHORTEST_VECTOR and not written_whole else None


def _text_of(value: Any) -> str | None:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8") if b"\0" not in value else None
        except UnicodeDecodeError:
            return None
    if not isinstance(value, str):
        return None
    if value[:1] == value[-1:] == '"':
        inner = loaded_json(value)
        return inner if isinstance(inner, str) else value
    return value


def table_facts(store: Store, table: StoreTable) -> dict[str, ColumnFacts]:
    """Look at every column of a table, and at the keys of its JSON objects.

    Returns
    -------
    Facts by name in the order of the table; JSON paths (`column$.key`) come after the columns.
    """
    rows = _sample(store, table)
    keys = _primary_key(store, table)
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in table.columns]
    sampled = len(rows) < table.n_rows
    facts = {
        column.name: ColumnFacts(column.name, column.declared, values, keys == (column.name,), sampled=sampled)
        for column, values in zip(table.columns, columns, strict=True)
    }
    for column in list(facts.values()):
        for path in _json_facts(column):
            facts[path.name] = path
    return facts


def _sample(store: Store, table: StoreTable) -> list[tuple[Any, ...]]:
    cut = ", ".join(
        f"CASE WHEN length({c}) > {_CUT_AT} THEN substr({c}, 1, {_CUT_AT}) ELSE {c} END"
        for c in map(quoted, table.column_names)
    )
    sql = f"SELECT {cut} FROM {quoted(table.name)} ORDER BY {table.order} LIMIT ? OFFSET ?"
    blocks = _BLOCKS if table.n_rows > SAMPLED_ROWS else 1
    size = SAMPLED_ROWS // blocks
    found: list[tuple[Any, ...]] = []
    for start in np.linspace(0, max(0, table.n_rows - size), blocks).astype(int).tolist():
        n_bytes = 0
        for row in store.rows(sql, (size, start)):
            found.append(row)
            n_bytes += sum(len(v) for v in row if isinstance(v, (str, bytes)))
            if n_bytes > _SAMPLED_BYTES // blocks:
                break
    return found


def _primary_key(store: Store, table: StoreTable) -> tuple[str, ...]:
    keys = [(row[5], row[1]) for row in store.rows(f"PRAGMA table_info({quoted(table.name)})") if row[5]]
    return tuple(name for _, name in sorted(keys))


def _json_facts(column: ColumnFacts, depth: int = 2) -> Iterable[ColumnFacts]:
    """Look at the keys of a column of JSON objects, two levels deep; only keys that 5 % of the rows have."""
    loaded = [loaded_json(v) for v in column.values]
    if sum(isinstance(v, dict) for v in loaded) < 0.8 * max(1, len(column.present)):
        return
    for path in _paths(f"{column.name}$", loaded, depth, len(column.present)):
        yield replace(path, sampled=column.sampled)


def _paths(prefix: str, loaded: Sequence[Any], depth: int, n_rows: int) -> Iterable[ColumnFacts]:
    keys = Counter(k for v in loaded if isinstance(v, dict) for k in v)
    for key, rows in keys.items():
        # `json_at` splits at dots and brackets: a key that holds one cannot be named.
        if rows < 0.05 * n_rows or not key or set(key) & set(".[]$"):
            continue
        inner = [v.get(key) if isinstance(v, dict) else None for v in loaded]
        flat = tuple(json.dumps(v, ensure_ascii=False) if isinstance(v, (dict, list)) else v for v in inner)
        yield ColumnFacts(f"{prefix}.{key}", "JSON", flat, absent=len(loaded) - rows)
        if depth > 1 and any(isinstance(v, dict) for v in inner):
            yield from _paths(f"{prefix}.{key}", inner, depth - 1, n_rows)


def unique_in_table(store: Store, table: StoreTable, column: str) -> bool:
    """Say whether a column (no JSON path) has no NULL and no value twice in the whole table."""
    sql = f"SELECT COUNT(*), COUNT({quoted(column)}), COUNT(DISTINCT {quoted(column)}) FROM {quoted(table.name)}"
    n_rows, filled, distinct = next(store.rows(sql))
    return bool(n_rows == filled == distinct)


def name_of(column: TableColumn | ColumnFacts) -> str:
    """Return the last part of a name in lower case with underscores: `value$.lastUsed` gives `last_used`, `创建时间` gives `created_at`."""
    last = re.split(r"[$.]+", column.name)[-1]
    if last.strip() in _ENGLISH:
        return _ENGLISH[last.strip()]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower().replace("-", "_").replace(" ", "_")
