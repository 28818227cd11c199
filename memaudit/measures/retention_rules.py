"""Rules of retention in a production configuration: which scope is kept for how long."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from memaudit.production import walk

_RETENTION = re.compile(r"retention|retain|ttl|expir|max_?age|lifetime|keep|prun|forget|decay|保留|过期", re.IGNORECASE)
#: Keys of settings, which name no scope.
_SETTING = re.compile(
    r"(^|_)(days?|hours?|minutes?|seconds?|ttl|max|min|age|enabled|interval|schedule|cron|policy|limit|unit|mode|strategy"
    r"|batch|size|count|threshold|dry_run|version|rate|factor|half_life|column|table|action)($|_)",
    re.IGNORECASE,
)
#: Names of mappings whose keys are scopes.
_OF_SCOPES = re.compile(r"scope|tier|layer|namespace|categor|type|kind|class", re.IGNORECASE)
#: Numbers by scope that say nothing about age.
_NO_AGE = re.compile(r"weight|boost|scor|colou?r|label|priorit|rank|alpha|threshold|quota_used|count", re.IGNORECASE)
_FLAT = re.compile(
    r"(?P<a>\w+?)_(?:ttl|retention|max_age|keep|lifetime|expir\w*)(?:_(?:days?|hours?|s|seconds?))?"
    r"|(?:ttl|retention|max_age|keep|lifetime)(?:_days?|_hours?)?_(?P<b>\w+)"
)
_DURATION = re.compile(
    r"\d+(?:\.\d+)?\s*(?:s|m|h|d|w|y|sec\w*|min\w*|hours?|days?|weeks?|months?|years?|秒|分钟?|小时|天|日|周|个?月|年)"
    r"|P(?:\d+[YMWD])+(?:T.*)?|never|forever|permanent|infinite|unlimited|always|none|永久|永不",
    re.IGNORECASE,
)
_NAME_KEYS = ("scope", "name", "namespace", "match", "pattern", "tier", "type", "category", "layer", "kind")
#: Keys that stand for every scope without a rule of its own.
CATCH_ALL = frozenset({"*", "default", "_default", "__default__", "others", "other", "else", "any", "all", "fallback"})


@dataclass(frozen=True)
class Rules:
    """Rules of retention.

    Parameters
    ----------
    path
        Dotted path of the mapping in the configuration.
    by_scope
        What the rule says, by the scope's name as written; may hold patterns with `*` and a catch-all.
    """

    path: str
    by_scope: Mapping[str, Any]

    def rule_for(self, scope: str) -> str | None:
        """Return the name of the rule that a scope falls under: its own, a pattern, or the catch-all."""
        if scope in self.by_scope:
            return scope
        for name in self.by_scope:
            if "*" in name and name != "*" and fnmatchcase(scope, name):
                return name
        return next((name for name in self.by_scope if name.lower() in CATCH_ALL), None)


def find_rules(config: Mapping[str, Any], scopes: Iterable[str]) -> Rules | None:
    """Find the rules of retention in a configuration.

    Parameters
    ----------
    config
        The whole production configuration.
    scopes
        Scopes that the store holds.

    Returns
    -------
    The mapping, list or family of keys (`session_ttl_days`) that names most of the stored scopes; where none is
    named, one whose path speaks of retention. None when there is neither.
    """
    stored = set(scopes)
    best: tuple[tuple[int, int, int, int], Rules] | None = None
    for path, rules in _candidates(config, stored):
        named = sum(any(s == r or ("*" in r and fnmatchcase(s, r)) for r in rules) for s in stored)
        by_path = bool(_RETENTION.search(path))
        telling = sum(any(map(_RETENTION.search, _keys(v))) for v in rules.values())
        # One part of the program that has a setting of age (`memory`: `ttl_days`) is no scope with a rule.
        speaks = by_path or (telling > 0 and (named > 0 or telling > 1 or bool(_OF_SCOPES.search(path))))
        if (not speaks and not named) or (_NO_AGE.search(path) and not speaks):
            continue
        # A mapping that speaks of retention wins over a longer one that does not (weights, labels, colours by scope).
        score = (int(speaks), named, int(by_path), -path.count("."))
        if best is None or score > best[0]:
            best = score, Rules(path, rules)
    return best[1] if best is not None else None


def _keys(value: Any) -> tuple[str, ...]:
    return tuple(str(key) for key in value) if isinstance(value, Mapping) else ()


def _candidates(config: Mapping[str, Any], stored: Container[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, value in [("", config), *walk(config)]:
        if isinstance(value, Mapping):
            rules = {
                str(k): v
                for k, v in value.items()
                if _is_rule(v) and (str(k) in stored or not (_SETTING.search(str(k)) or _RETENTION.search(str(k))))
            }
            if rules:
                default = next((v for k, v in value.items() if re.match(r"default_", str(k)) and _is_rule(v)), None)
                yield path, ({**rules, "default": default} if default is not None else rules)
            flat = {}
            for key, amount in value.items():
                match = _FLAT.fullmatch(str(key))
                name = (match["a"] or match["b"]) if match is not None else ""
                if name and _is_rule(amount) and (name in stored or not _SETTING.search(name)):
                    flat[name] = amount
            if flat:
                yield f"{path}.*_retention".lstrip("."), flat
        elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            listed = {}
            for entry in value:
                if isinstance(entry, Mapping):
                    name = next((entry[k] for k in _NAME_KEYS if isinstance(entry.get(k), str)), None)
                    if name is not None and _is_rule({k: v for k, v in entry.items() if k not in _NAME_KEYS}):
                        listed[str(name)] = dict(entry)
            if listed:
                yield path, listed


def _is_rule(value: Any) -> bool:
    """Say whether a value can say how long something is kept."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return True
    if isinstance(value, str):
        return _DURATION.fullmatch(value.strip()) is not None
    if isinstance(value, Mapping):
        return any(
            _is_rule(v) and (_RETENTION.search(str(k)) or re.search(r"days?|hours?|max|limit|age|权", str(k)))
            for k, v in value.items()
        )
    return False


@dataclass(frozen=True)
class Coverage:
    """Stored scopes against the rules.

    Parameters
    ----------
    without
        Stored scope -> row numbers of rows without a rule; None stands for rows without a scope.
    with_rule
        Stored scopes that have a rule.
    unused
        Rules (no catch-all) that no row falls under.
    prefixes
        Scope without a rule -> rule that would fit its beginning (`session` for `session:42`).
    """

    without: Mapping[Any, tuple[int, ...]]
    with_rule: tuple[str, ...]
    unused: tuple[str, ...]
    prefixes: Mapping[str, str]


def coverage(rules: Rules, scopes: Sequence[Any]) -> Coverage:
    """Hold the scope of each row against the rules; empty scopes count as none."""
    rows: dict[Any, list[int]] = {}
    for i, scope in enumerate(scopes):
        rows.setdefault(None if scope is None or scope == "" else str(scope), []).append(i)
    catch_all = next((name for name in rules.by_scope if name.lower() in CATCH_ALL), None)
    without, with_rule, used = {}, [], set()
    for scope, numbers in rows.items():
        rule = catch_all if scope is None else rules.rule_for(scope)
        if rule is None:
            without[scope] = tuple(numbers)
            continue
        used.add(rule)
        if scope is not None:
            with_rule.append(scope)
    prefixes = {
        scope: head
        for scope in without
        if scope is not None and (head := re.split(r"[:/.#|]", scope, maxsplit=1)[0]) in rules.by_scope
    }
    unused = tuple(n for n in rules.by_scope if n not in used and n.lower() not in CATCH_ALL)
    return Coverage(without, tuple(with_rule), unused, prefixes)
