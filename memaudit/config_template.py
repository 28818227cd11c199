"""The commented configuration that `memaudit init` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memaudit.config import KEYS, Config, key_help, key_kind, plain
from memaudit.records import Roles
from memaudit.stores.store import Store

#: Keys that say what to read, in the order in which a person would check them.
_ROLE_KEYS = (
    "table", "id", "text", "time", "value_field", "group_field", "embedding", "embedding_format", "vectors",
    "embedded_text", "embedded_fields", "hits", "last_access", "source", "soft_delete", "active",
)  # fmt: skip
_EMPTY = {
    "text": '""', "path": '""', "integer": "0", "number": "0.0", "numbers": "[0.95, 0.90]", "flag": "false",
    "texts": "[]", "texts-or-path": "[]", "integer-or-text": "0", "table": "{}",
}  # fmt: skip
_HEAD = """\
# Configuration of memaudit: `memaudit run` looks for this file upwards from the current folder.
# Everything but the store may be left out: what is not given is found by looking.
"""
_TAIL = """
# Thresholds of single rules.
# [memaudit.limits]
# MA305.share_extra = 0.05

# Findings that are accepted: the reason is required, and after `until` they count again.
# [[memaudit.suppress]]
# code = "MA602"
# reason = "the limit is set by the platform"
# until = 2027-03-31
"""


def commented_config(store: Store, roles: Roles) -> str:
    """Write a configuration with every role that was found and its reason, and all other keys commented out.

    Parameters
    ----------
    roles
        As :func:`memaudit.roles.find_roles` returns them.

    Returns
    -------
    TOML that :func:`memaudit.config_file.load` reads back to the same roles.
    """
    lines = ["[memaudit]", f"store = {_toml(store.path)}"]
    if store.skipped:
        lines.append(_comment(f"not read: {', '.join(store.skipped)}"))
    lines += ["", "# What each column is; check the reasons."]
    values = _role_values(roles)
    for key in _ROLE_KEYS:
        reason = roles.guessed.get(key, "")
        if key in values:
            why = reason.split(", because ", 1)[-1] if reason else "given in the configuration"
            lines += ["", _comment(key_help(key)), _comment(f"why: {why}"), f"{key} = {_toml(values[key])}"]
        else:
            lines += ["", _comment(key_help(key)), *([_comment(reason)] if reason else []), _unset(key)]
    lines += ["", "# Everything else, with what it means."]
    for key in KEYS:
        if key not in _ROLE_KEYS and key not in ("store", "limits", "suppress"):
            lines += [_comment(key_help(key)), _unset(key)]
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def _role_values(roles: Roles) -> dict[str, Any]:
    values: dict[str, Any] = {"table": roles.table, **roles.shown()}
    for key in ("soft_delete", "active"):
        # The condition is made from one column, which the reason opens with.
        if key in roles.guessed:
            values[key] = roles.guessed[key].split(", because ", 1)[0]
    return values


def _unset(key: str) -> str:
    """Write a key that is not set: with its default, so that nothing changes where it is uncommented."""
    default = plain(getattr(Config(), key))
    kind, choices = key_kind(key)
    if default is not None and default != "":
        return f"# {key} = {_toml(default)}"
    return f"# {key} = {_toml(choices[0]) if choices else _EMPTY[kind]}"


def _comment(text: str) -> str:
    # A line break or control character out of a column's name would end the comment.
    return "# " + "".join(c if c.isprintable() else " " for c in text)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        # JSON's escapes are TOML's too; what cannot be printed is escaped, half characters cannot be written at all.
        text = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)
