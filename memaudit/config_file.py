"""Read the configuration: command line > environment > file > defaults.

The only reader of configuration files. Looked for upwards from the current folder: `memaudit.toml`,
`pyproject.toml [tool.memaudit]`, `setup.cfg [memaudit]`.
"""

from __future__ import annotations

import configparser
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memaudit.config import KEYS, Config, key_kind, nearest, plain
from memaudit.errors import ConfigError
from memaudit.limit_names import check_limits
from memaudit.wording import say, unread

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENVIRONMENT_PREFIX = "MEMAUDIT_"
#: Environment variables of the prefix that are no configuration keys.
_OTHER_VARIABLES = frozenset({"MEMAUDIT_CACHE_DIR", "MEMAUDIT_COMPLETE", "MEMAUDIT_SHARED", "MEMAUDIT_NODE_MODULES"})
#: Paths that are given on the command line start from the current folder, not from the configuration's.
_PATHS_FROM_HERE = ("store", "queries", "corpus", "runs", "history", "baseline", "code", "code_path")


def find_file(start: Path) -> Path | None:
    """Look upwards from `start` for the configuration; the first file that holds one wins."""
    for folder in (start, *start.parents):
        if (folder / "memaudit.toml").is_file():
            return folder / "memaudit.toml"
        for name in ("pyproject.toml", "setup.cfg"):
            if (folder / name).is_file() and _table_of(folder / name) is not None:
                return folder / name
    return None


def _table_of(path: Path) -> dict[str, Any] | None:
    """Return the `[memaudit]` table of a file, None when it has none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        hint = say("Save it as UTF-8.") if isinstance(error, UnicodeDecodeError) else None
        raise ConfigError(say("cannot read {name}: {error}.", name=path.name, error=unread(error)), hint) from None
    if path.suffix == ".cfg":
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read_string(text)
        except configparser.Error as error:
            if path.name == "setup.cfg":
                return None
            raise ConfigError(say("{name} is not valid: {error}.", name=path.name, error=error)) from None
        if not parser.has_section("memaudit"):
            return None
        return {name: _toml_value(value) for name, value in parser.items("memaudit")}
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if path.name == "pyproject.toml":
            return None
        raise ConfigError(say("{name} is not valid TOML: {error}.", name=path.name, error=error)) from None
    if path.name == "pyproject.toml":
        found = data.get("tool", {}).get("memaudit")
        return dict(found) if isinstance(found, dict) else None
    found = data.get("memaudit")
    if not isinstance(found, dict):
        raise ConfigError(
            say("{name} has no [memaudit] table.", name=path.name), say("Put the keys under a line [memaudit].")
        )
    return found


def lang_in(path: Path) -> str | None:
    """Return the language that a configuration file names, None when it names none.

    Raises
    ------
    ConfigError
        The file cannot be read.
    """
    table = _table_of(path) if path.is_file() else None
    value = (table or {}).get("lang")
    return value if isinstance(value, str) else None


def _toml_value(text: str) -> Any:
    """Read a value of `--set`, the environment or setup.cfg: TOML if it parses, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def parse_setting(setting: str) -> tuple[str, Any]:
    """Split `KEY=VALUE` of `--set`; the key may be dotted: `limits.MA101.share_on_fallback=0.3`."""
    name, sign, value = setting.partition("=")
    if not sign or not name.strip():
        raise ConfigError(
            say(
                '--set {setting} is no setting; the form is KEY=VALUE, for example --set value_field="sector".',
                setting=repr(setting),
            )
        )
    return name.strip(), _toml_value(value.strip())


def load(
    *,
    file: Path | None = None,
    isolated: bool = False,
    start: Path | None = None,
    environment: Mapping[str, str] | None = None,
    settings: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Config:
    """Read the configuration: command line > environment > file > defaults.

    Parameters
    ----------
    file
        The file to read; None looks upwards from `start` unless `isolated`.
    settings
        `KEY=VALUE` texts of `--set`.
    options
        Values of options of their own; None values are not given.

    Raises
    ------
    ConfigError
        Unknown key (names the nearest), wrong type, unreadable file.
    """
    folder = start or Path.cwd()
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    path = file if file is not None else (None if isolated else find_file(folder))
    if path is not None:
        if path.is_dir():
            raise ConfigError(say("{path} is a folder; a file's name was expected.", path=path))
        if not path.is_file():
            raise ConfigError(say("no such configuration file: {path}.", path=path))
        table = _table_of(path)
        if table is None:
            raise ConfigError(say("{name} has no memaudit table.", name=path.name))
        _merge(values, origins, table, path.name, _line_finder(path))
    variables = os.environ if environment is None else environment
    for variable in sorted(variables):
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in _OTHER_VARIABLES and not isolated:
            name = variable[len(ENVIRONMENT_PREFIX) :].lower()
            _merge(values, origins, {name: _toml_value(variables[variable])}, f"environment {variable}")
    for setting in settings:
        name, value = parse_setting(setting)
        _merge(values, origins, _nested(name, value), f"--set {name}")
    for name, value in (options or {}).items():
        if value is not None:
            _merge(values, origins, {name: value}, f"--{name.replace('_', '-')}")
    base = path.resolve().parent if path is not None else folder
    config = Config(**values, base=base, file=path, origins=MappingProxyType(origins))
    for name in _PATHS_FROM_HERE:
        if origins.get(name, "").startswith("--") and base != folder:
            config = replace(config, **{name: _from_here(getattr(config, name), folder)})
    return config


def _from_here(value: Any, folder: Path) -> Any:
    """Anchor a path of the command line to the current folder, not to the configuration's."""
    if isinstance(value, tuple):
        return tuple(str(folder / v) for v in value)
    return value if "://" in value else str(folder / value)


def _nested(name: str, value: Any) -> dict[str, Any]:
    """Turn `limits.MA101.x` into nested tables."""
    first, *rest = name.split(".")
    for part in reversed(rest):
        value = {part: value}
    return {first: value}


def _line_finder(path: Path) -> Callable[[str], str]:
    """Return a function that finds the line of a key in the file, for messages."""

    def line_of(name: str) -> str:
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
            if line.split("=")[0].strip().strip("\"'") == name or line.strip().strip("[]") == f"memaudit.{name}":
                return f":{number}"
        return ""

    return line_of


def _merge(
    values: dict[str, Any],
    origins: dict[str, str],
    table: Mapping[str, Any],
    origin: str,
    line_of: Any = None,
) -> None:
    for name, value in table.items():
        if name not in KEYS:
            place = f"{origin}{line_of(name)}" if line_of else origin
            raise ConfigError(
                say('unknown key "{name}" in {place}.', name=name, place=place),
                nearest(name, KEYS) or say("`memaudit config` lists all keys."),
            )
        checked = _checked(name, value, origin)
        if name == "limits":
            check_limits(checked, origin)
        if isinstance(checked, Mapping) and isinstance(values.get(name), Mapping) and name == "limits":
            checked = MappingProxyType({**values[name], **checked})
        values[name] = checked
        origins[name] = origin


def _checked(name: str, value: Any, origin: str) -> Any:
    """Check the type of a value; returns it frozen (tuples, mapping proxies)."""
    kind, choices = key_kind(name)

    def wrong(expected: str) -> ConfigError:
        return ConfigError(
            say(
                "{name} is {value} in {origin}; expected {expected}.",
                name=name,
                value=json.dumps(plain(value), ensure_ascii=False, default=repr),  # from Python: anything
                origin=origin,
                expected=expected,
            )
        )

    def text_list() -> tuple[str, ...]:
        items = (value,) if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or not all(isinstance(v, str) for v in items):
            raise wrong(say("a list of texts"))
        return tuple(items)

    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_number = is_number and abs(value) <= sys.float_info.max  # neither inf nor nan
    if kind in ("text", "path"):
        if not isinstance(value, str):
            raise wrong(say("a text"))
        if "\0" in value:
            raise wrong(say("a text without a NUL character"))
        if choices and value not in choices:
            raise wrong(say("one of {choices}", choices=", ".join(choices)))
        return value
    if kind == "integer":
        if not is_number or value != int(value) or value < 0:
            raise wrong(say("a whole number, 0 or more"))
        return int(value)
    if kind == "number":
        if not is_number:
            raise wrong(say("a number"))
        if (name == "alpha" and not 0 < value < 1) or (name == "margin" and not 0 <= value < 1):
            raise wrong(say("a share between 0 and 1"))
        return float(value)
    if kind == "numbers":
        items = value if isinstance(value, (list, tuple)) else None
        if not items or any(isinstance(v, bool) or not isinstance(v, (int, float)) or not 0 < v <= 1 for v in items):
            raise wrong(say("a list of cosines above 0, up to 1"))
        return tuple(sorted({float(v) for v in items}, reverse=True))
    if kind == "flag":
        if not isinstance(value, bool):
            raise wrong(say("true or false"))
        return value
    if kind == "texts":
        return text_list()
    if kind == "texts-or-path":
        return value if isinstance(value, str) else text_list()
    if kind == "integer-or-text":
        if isinstance(value, str) or (is_number and value == int(value)):
            return value if isinstance(value, str) else int(value)
        raise wrong(say("a whole number or a text"))
    if kind == "table":
        if not isinstance(value, Mapping):
            raise wrong(say("a table"))
        return MappingProxyType(dict(value))
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, Mapping) for v in value):
        raise wrong(say("a list of tables"))
    return tuple(MappingProxyType(dict(v)) for v in value)
