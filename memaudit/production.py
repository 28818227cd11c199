"""The production configuration that a user hands over: values are looked up in it by key, at any depth."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.errors import ConfigError
from memaudit.wording import say, unread

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_production_config(path: Path) -> Mapping[str, Any]:
    """Read a JSON or TOML file.

    Raises
    ------
    ConfigError
        It cannot be read, or is no table.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(say("config: cannot read {name}: {error}.", name=path.name, error=unread(error))) from None
    try:
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            say("config: {name} is neither JSON nor TOML: {error}.", name=path.name, error=error)
        ) from None
    if not isinstance(data, dict):
        raise ConfigError(
            say(
                "config: {name} holds a {kind}; a table of keys was expected.",
                name=path.name,
                kind=type(data).__name__,
            )
        )
    return data


def walk(data: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key with its dotted path, outer keys first."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield f"{prefix}{key}", value
        for key, value in data.items():
            yield from walk(value, f"{prefix}{key}.")


def look_up(data: Mapping[str, Any], key: str) -> Any:
    """Return the value of `key`, given with its dotted path or by its last name; None when absent."""
    found = [(path, value) for path, value in walk(data) if path == key or path.endswith(f".{key}")]
    return min(found, key=lambda item: len(item[0]))[1] if found else None
