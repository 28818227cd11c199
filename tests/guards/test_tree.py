from __future__ import annotations

import os
from pathlib import Path

import pytest

from memaudit.errors import ConfigError
from memaudit.guards import find_guards
from memaudit.guards.tree import MAX_FILE_BYTES, read_tree

CODE = "def f(x):\n    return x or 'none'\n"


def write(root: Path, *names: str, text: str = CODE) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def test_tests_environments_and_caches_are_left_out_and_listed(tmp_path: Path) -> None:
    write(
        tmp_path,
        "app/main.py",
        "app/test_main.py",
        "app/main_test.py",
        "app/conftest.py",
        "app/tests/deep/case.py",
        "venv/lib/site.py",
        "env311/lib/x.py",
        ".hidden/x.py",
        "app/__pycache__/x.py",
        "lib/site-packages/y.py",
        "node_modules/z.py",
        "notes.txt",
    )
    (tmp_path / "env311" / "pyvenv.cfg").write_text("home = /usr\n")
    tree = read_tree([tmp_path], base=tmp_path)
    assert [source.name for source in tree.sources] == ["app/main.py"]
    assert {(s.file, s.reason) for s in tree.skipped} == {
        (".hidden/", "hidden folder"),
        ("app/__pycache__/", "cache"),
        ("app/conftest.py", "test"),
        ("app/main_test.py", "test"),
        ("app/test_main.py", "test"),
        ("app/tests/", "tests"),
        ("env311/", "virtual environment"),
        ("lib/site-packages/", "installed packages"),
        ("node_modules/", "installed packages"),
        ("venv/", "virtual environment"),
    }


def test_file_that_is_named_is_read_even_when_it_looks_like_a_test(tmp_path: Path) -> None:
    write(tmp_path, "tests/test_x.py")
    tree = read_tree([tmp_path / "tests" / "test_x.py"], base=tmp_path)
    assert [source.name for source in tree.sources] == ["tests/test_x.py"]


def test_folder_of_tests_above_the_given_folder_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, "tests/data/prod/x.py")
    assert len(read_tree([tmp_path / "tests" / "data" / "prod"], base=tmp_path).sources) == 1


def test_unreadable_files_are_listed_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, "good.py")
    (tmp_path / "bad_bytes.py").write_bytes(b"x = '\xff\xfe'\n")
    (tmp_path / "bad_cookie.py").write_bytes(b"# -*- coding: klingon -*-\nx = 1\n")
    (tmp_path / "old.py").write_text("print 'x'\n")
    (tmp_path / "nul.py").write_bytes(b"x = 1\x00\n")
    (tmp_path / "huge.py").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    (tmp_path / "deep.py").write_text("x = " + "(" * 300 + "1" + ")" * 300 + "\n")
    tree = read_tree([tmp_path], base=tmp_path)
    assert [source.name for source in tree.sources] == ["good.py"]
    reasons = {s.file: s.reason for s in tree.skipped}
    assert set(reasons) == {"bad_bytes.py", "bad_cookie.py", "old.py", "nul.py", "huge.py", "deep.py"}
    assert reasons["bad_bytes.py"].startswith("cannot be decoded")
    assert reasons["bad_cookie.py"].startswith("cannot be decoded")
    assert reasons["old.py"].startswith("not Python of this version")
    assert reasons["huge.py"] == "larger than 2,000,000 bytes"
    assert len(tree.unread) == 6


def test_encodings_and_byte_order_marks_are_understood(tmp_path: Path) -> None:
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbf" + "名 = '标签'\n".encode())
    (tmp_path / "gbk.py").write_bytes("# -*- coding: gbk -*-\nx = '标签'\n".encode("gbk"))
    (tmp_path / "latin.py").write_bytes("# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    assert len(read_tree([tmp_path], base=tmp_path).sources) == 3


def test_invalid_escapes_raise_no_warning(tmp_path: Path) -> None:
    write(tmp_path, "x.py", text="x = '\\d'\n")
    assert len(read_tree([tmp_path], base=tmp_path).sources) == 1


def test_file_given_twice_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, "a/x.py")
    paths = [tmp_path, tmp_path / "a", tmp_path / "a" / "x.py"]
    assert len(read_tree(paths, base=tmp_path).sources) == 1


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no symbolic links here")
def test_folder_that_links_to_its_parent_ends(tmp_path: Path) -> None:
    write(tmp_path, "a/x.py")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    tree = read_tree([tmp_path], base=tmp_path)
    assert len(tree.sources) == 1
    assert [s.reason for s in tree.skipped] == ["symbolic link to a folder"]


def test_missing_path_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        find_guards([tmp_path / "nowhere"], base=tmp_path)


def test_empty_folder_gives_an_empty_report(tmp_path: Path) -> None:
    report = find_guards([tmp_path], base=tmp_path)
    assert (report.guards, report.files, report.skipped) == ((), 0, ())


def test_very_long_expressions_do_not_end_the_search(tmp_path: Path) -> None:
    write(tmp_path, "long.py", text="x = " + " + ".join(["'a'"] * 900) + "\n" + CODE)
    write(tmp_path, "nested.py", text="def f(x):\n    y = x" + ".a" * 90 + "\n    return y or 1\n")
    elifs = "".join(f"    elif x == {n}:\n        return x or 1\n" for n in range(400))
    write(tmp_path, "elif.py", text=f"def f(x):\n    if x == 'a':\n        return 2\n{elifs}")
    report = find_guards([tmp_path], base=tmp_path)
    assert report.files == 3
    assert len(report.guards) == 402
    assert not [g for g in report.guards if g.verdict == "dead"]
