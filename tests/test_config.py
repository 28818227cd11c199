"""Configuration: where it is found, which value wins, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memaudit.config import DEFAULT_THRESHOLDS, KEYS, Config, key_help, key_kind, nearest, plain
from memaudit.config_file import find_file, load, parse_setting
from memaudit.errors import ConfigError, ExitCode


def toml(folder: Path, text: str, name: str = "memaudit.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read(folder: Path, **more: Any) -> Config:
    return load(start=folder, environment=more.pop("environment", {}), **more)


def test_nothing_given_gives_defaults(tmp_path: Path) -> None:
    config = read(tmp_path, isolated=True)
    assert config.store is None
    assert config.thresholds == DEFAULT_THRESHOLDS == (0.98, 0.95, 0.90, 0.85)
    assert (config.seed, config.fail_on, config.min_severity, config.redact) == (0, "never", "info", False)
    assert config.given() == {}


def test_keys_of_the_file_are_read_with_their_types(tmp_path: Path) -> None:
    toml(
        tmp_path,
        '[memaudit]\nstore = "s.db"\nvectors = {table = "v", ref = "r", embedding = "e"}\nk = 5\nalpha = 0.1\n'
        'embedded_fields = ["a", "b"]\nisolation_keys = "user"\ncapacity = "max"\nevictions = 3\nredact = true\n'
        "thresholds = [0.9, 0.95]\nfilters = ['score >= 0.6']\n"
        "[memaudit.limits]\nMA305.share_extra = 0.5\n"
        '[[memaudit.suppress]]\ncode = "MA602"\nreason = "x"\nuntil = 2027-03-31\n',
    )
    config = read(tmp_path)
    assert config.vectors == {"table": "v", "ref": "r", "embedding": "e"}
    assert (config.k, config.alpha, config.capacity, config.evictions, config.redact) == (5, 0.1, "max", 3, True)
    assert (config.embedded_fields, config.isolation_keys) == (("a", "b"), ("user",))
    assert config.thresholds == (0.95, 0.9)  # falling, whatever the order given
    assert config.limit("MA305", "share_extra", 0.1) == 0.5
    assert config.limit("MA305", "other", 0.1) == 0.1
    assert config.suppress[0]["code"] == "MA602"
    assert config.given()["suppress"] == [{"code": "MA602", "reason": "x", "until": "2027-03-31"}]
    assert config.origins["store"] == "memaudit.toml"
    assert config.file == tmp_path / "memaudit.toml"


def test_unknown_key_names_the_line_and_the_nearest(tmp_path: Path) -> None:
    toml(tmp_path, '\n[memaudit]\nstore = "s.db"\n\n\n\ntreshold = [0.9]\n')
    with pytest.raises(ConfigError) as caught:
        read(tmp_path)
    assert str(caught.value) == 'unknown key "treshold" in memaudit.toml:7. Did you mean "thresholds"?'
    assert caught.value.exit_code == ExitCode.USAGE


def test_unknown_key_without_a_near_one_points_to_the_list(tmp_path: Path) -> None:
    toml(tmp_path, "[memaudit]\nzzzzqqq = 1\n")
    with pytest.raises(ConfigError, match="`memaudit config` lists all keys"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("store=3", "store is 3 in --set store; expected a text."),
        ('queries="a\\u0000b"', 'queries is "a\\u0000b" in --set queries; expected a text without a NUL character.'),
        ("k=2.5", "expected a whole number, 0 or more"),
        ("k=-1", "expected a whole number"),
        ("k=true", "expected a whole number"),
        ("k=nan", "expected a whole number"),
        ("seed=-1", "expected a whole number, 0 or more"),
        ("seed=inf", "expected a whole number"),
        ("capacity=inf", "expected a whole number or a text"),
        ("alpha=nan", "expected a number"),
        ("alpha=5", "alpha is 5 in --set alpha; expected a share between 0 and 1."),
        ("margin=-0.1", "expected a share between 0 and 1"),
        (f"alpha=1{400 * '0'}", "expected a number"),
        ('alpha="x"', "expected a number"),
        ("redact=1", "expected true or false"),
        ("thresholds=[1.5]", "expected a list of cosines above 0, up to 1"),
        ("thresholds=[]", "expected a list of cosines"),
        ("thresholds=[true]", "expected a list of cosines"),
        ("embedded_fields=[1]", "expected a list of texts"),
        ("vectors=v", "expected a table"),
        ("suppress=[1]", "expected a list of tables"),
        ("capacity=1.5", "expected a whole number or a text"),
        ("fail_on=sometimes", "expected one of never, info, low, medium, high, new"),
        ("lang=de", "expected one of en"),
        ("novalue", "the form is KEY=VALUE"),
        ("=x", "the form is KEY=VALUE"),
    ],
)
def test_wrong_values_say_what_was_expected(tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, isolated=True, settings=[setting])
    assert message in str(caught.value)


def test_value_of_python_that_is_no_text_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='generator is "<built-in function len>" in --generator; expected a text'):
        read(tmp_path, isolated=True, options={"generator": len})


def test_command_line_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    toml(tmp_path, '[memaudit]\ntable = "file"\nid = "file"\ntext = "file"\ntime = "file"\n')
    config = read(
        tmp_path,
        environment={"MEMAUDIT_ID": "env", "MEMAUDIT_TEXT": "env", "MEMAUDIT_TIME": "env", "OTHER": "x"},
        settings=["text=set", "time=set"],
        options={"time": "option", "table": None},
    )
    assert (config.table, config.id, config.text, config.time) == ("file", "env", "set", "option")
    assert [config.origins[k] for k in ("table", "id", "text", "time")] == [
        "memaudit.toml", "environment MEMAUDIT_ID", "--set text", "--time",
    ]  # fmt: skip


def test_environment_of_other_uses_is_no_key_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    read(tmp_path, environment={"MEMAUDIT_CACHE_DIR": "x", "MEMAUDIT_SHARED": "y"})
    with pytest.raises(ConfigError, match=r'unknown key "tabel" in environment MEMAUDIT_TABEL\. Did you mean "table"'):
        read(tmp_path, environment={"MEMAUDIT_TABEL": "x"})
    assert read(tmp_path, isolated=True, environment={"MEMAUDIT_TABEL": "x"}).table is None


def test_dotted_limits_of_the_command_line_join_those_of_the_file(tmp_path: Path) -> None:
    toml(tmp_path, "[memaudit.limits]\nMA305.share_extra = 0.5\nMA302.min_cos = 0.9\n")
    config = read(tmp_path, settings=["limits.MA101.share_on_fallback=0.3"])
    assert config.limit("MA101", "share_on_fallback", 0.2) == 0.3
    assert config.limit("MA305", "share_extra", 0.1) == 0.5
    with pytest.raises(ConfigError, match=r"limits\.MA101\.share_on_fallback is 'much'"):
        read(tmp_path, settings=["limits.MA101.share_on_fallback=much"]).limit("MA101", "share_on_fallback", 0.2)


def test_settings_are_toml_or_plain_text() -> None:
    assert parse_setting("k = 5") == ("k", 5)
    assert parse_setting("text=value$.content") == ("text", "value$.content")
    assert parse_setting('where=key = "a=b"') == ("where", 'key = "a=b"')
    assert parse_setting('embedded_fields=["a", "b"]') == ("embedded_fields", ["a", "b"])
    assert parse_setting("text=") == ("text", "")


def test_first_file_upwards_wins(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_file(inner) is None or not str(find_file(inner)).startswith(str(tmp_path))
    outer = toml(tmp_path, "[memaudit]\n")
    assert find_file(inner) == outer
    project = toml(tmp_path / "a", '[tool.other]\nx = 1\n[tool.memaudit]\ntable = "t"\n', "pyproject.toml")
    assert find_file(inner) == project
    assert read(inner).table == "t"
    near = toml(tmp_path / "a", "[memaudit]\n")
    assert find_file(inner) == near


def test_files_without_our_table_are_passed_over(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    outer = toml(tmp_path, "[memaudit]\n")
    toml(inner, "[project]\nname = 'x'\n", "pyproject.toml")
    toml(inner, "[metadata]\nname = x\n", "setup.cfg")
    assert find_file(inner) == outer
    toml(inner, "this is = = no TOML", "pyproject.toml")  # somebody else's file: not ours to complain about
    assert find_file(inner) == outer


def test_setup_cfg_values_are_toml_or_text(tmp_path: Path) -> None:
    toml(tmp_path, "[memaudit]\ntable = memories\nk = 3\nwhere = a % 2 = 1\nredact = true\n", "setup.cfg")
    config = read(tmp_path)
    assert (config.table, config.k, config.where, config.redact) == ("memories", 3, "a % 2 = 1", True)


def test_our_own_file_must_be_valid(tmp_path: Path) -> None:
    toml(tmp_path, "[memaudit\n")
    with pytest.raises(ConfigError, match=r"memaudit\.toml is not valid TOML"):
        read(tmp_path)
    toml(tmp_path, 'store = "x"\n')
    with pytest.raises(ConfigError, match=r"has no \[memaudit\] table"):
        read(tmp_path)
    with pytest.raises(ConfigError, match="no such configuration file"):
        read(tmp_path, file=tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match="is a folder; a file's name was expected"):
        read(tmp_path, file=tmp_path)
    (tmp_path / "memaudit.toml").write_bytes(b'[memaudit]\nstore = "caf\xe9.db"\n')
    with pytest.raises(
        ConfigError, match=r"^cannot read memaudit\.toml: it is not UTF-8 \(byte 0xe9 in line 2\)\. Save it as UTF-8\.$"
    ):
        read(tmp_path)


def test_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "memaudit.toml").write_bytes(b'\xef\xbb\xbf[memaudit]\nstore = "s.db"\n')
    assert read(tmp_path).store == "s.db"


def test_relative_paths_start_from_the_file_or_from_the_command_line(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    toml(tmp_path, '[memaudit]\nstore = "s.db"\nqueries = "q.jsonl"\n')
    config = read(inner)
    assert config.path(config.store or "") == tmp_path / "s.db"
    config = read(inner, options={"store": "here.db"})
    assert config.path(config.store or "") == inner / "here.db"
    assert config.path(config.queries or "") == tmp_path / "q.jsonl"
    config = read(inner, options={"store": "postgresql://host/db"})
    assert config.store == "postgresql://host/db"
    assert config.path(str(tmp_path / "absolute.db")) == tmp_path / "absolute.db"
    assert config.path("") == tmp_path


def test_every_key_has_a_help_and_a_kind() -> None:
    for key in KEYS:
        assert key_help(key)
        assert key_kind(key)[0]
    assert "base" not in KEYS


def test_resolved_values_are_plain(tmp_path: Path) -> None:
    config = read(tmp_path, isolated=True, settings=['vectors={table = "v"}'])
    assert config.resolved()["vectors"] == {"table": "v"}
    assert config.resolved()["thresholds"] == [0.98, 0.95, 0.9, 0.85]
    assert plain((1, {"a": (2,)})) == [1, {"a": [2]}]


def test_nearest_is_silent_when_nothing_is_near() -> None:
    assert nearest("xyz", ["content", "id"]) == ""
    assert nearest("contnt", ["content", "id"]) == 'Did you mean "content"?'
