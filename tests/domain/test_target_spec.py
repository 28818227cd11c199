"""Targets are found without importing anything, and every mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from memaudit.domain.target_spec import parse_target
from memaudit.errors import ExitCode, TargetError

SOURCE = """
import no_such_module_at_all
raise RuntimeError("never run")

def plain(text):
    def inner(x):
        return x
    return inner(text)

class A:
    class B:
        @staticmethod
        def deep(text): return text
    @classmethod
    def of(cls, text): return text
    def method(self, text): return text
    value = 3

if True:
    async def later(text): return text
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "mod.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("target", "binding", "line"),
    [
        ("pkg.mod:plain", "function", 5),
        ("pkg.mod:A.of", "class", 15),
        ("pkg.mod:A.B.deep", "static", 13),
        ("pkg.mod:later", "function", 20),
        ("src/pkg/mod.py:plain", "function", 5),
    ],
)
def test_target_is_found_by_module_and_by_path(folder: Path, target: str, binding: str, line: int) -> None:
    found = parse_target(target, folder)
    assert (found.module, found.binding, found.line) == ("pkg.mod", binding, line)
    assert found.file == (folder / "src" / "pkg" / "mod.py").resolve()
    assert found.import_path[0] == (folder / "src").resolve()


def test_code_path_is_searched(folder: Path) -> None:
    other = folder / "lib"
    other.mkdir()
    (other / "labels.py").write_text("def f(x): return x\n", encoding="utf-8")
    assert parse_target("labels:f", folder, [Path("lib")]).file == (other / "labels.py").resolve()
    with pytest.raises(TargetError, match="cannot find the module labels") as caught:
        parse_target("labels:f", folder)
    assert "--code-path" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("target", "said", "code"),
    [
        ("pkg.mod", 'cannot read the target "pkg.mod"', ExitCode.USAGE),
        ("pkg.mod:", "cannot read the target", ExitCode.USAGE),
        ("pkg.mod:a b", "cannot read the target", ExitCode.USAGE),
        ("pkg.mod:plain.inner", "plain.inner is defined inside another function", ExitCode.USAGE),
        ("pkg.mod:plain.<locals>.inner", "plain.inner is defined inside another function", ExitCode.USAGE),
        ("pkg.mod:A", "A is a class", ExitCode.USAGE),
        ("pkg.mod:A.method", "A.method is an instance method", ExitCode.USAGE),
        ("pkg.mod:plian", 'mod.py has no plian. Did you mean "plain"?', ExitCode.INCOMPLETE),
        ("pkg.mod:A.nothing", "A has no nothing.", ExitCode.INCOMPLETE),
        ("src/pkg/none.py:f", "no such file: src/pkg/none.py", ExitCode.INCOMPLETE),
        ("pkg.none:f", "cannot find the module pkg.none", ExitCode.INCOMPLETE),
    ],
)
def test_mistake_is_named(folder: Path, target: str, said: str, code: ExitCode) -> None:
    with pytest.raises(TargetError) as caught:
        parse_target(target, folder)
    assert said in str(caught.value)
    assert caught.value.exit_code is code


def test_instance_method_is_allowed_with_a_factory(folder: Path) -> None:
    assert parse_target("pkg.mod:A.method", folder, has_factory=True).binding == "instance"


def test_file_that_is_no_python_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = 1\ndef f(:\n", encoding="utf-8")
    with pytest.raises(TargetError, match=r"bad.py:2 is not Python that 3"):
        parse_target("bad.py:f", tmp_path)
