"""The child process: what a hostile target cannot do, and how each failure is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memaudit.domain.result import DomainResult, domain_to_json
from memaudit.errors import ExitCode, TargetError
from memaudit.target import call_batch, enumerate_domain, parameter_names, replay

CLASSIFIER = 'return "a" if "go" in text else "b"'


def write(folder: Path, **modules: str) -> Path:
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return folder


def run(folder: Path, target: str, **options: object) -> DomainResult:
    return enumerate_domain(target, base=folder, timeout_s=options.pop("timeout_s", 20), **options)


def calling(body: str) -> str:
    return f"import os, sys\ndef f(text):\n    {body}\n    {CLASSIFIER}\n"


# -- calls -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x = bytearray(10 * 1024**3)", "MemoryError"),
        ("os.fork()", "os.fork is not allowed"),
        ("import shutil; shutil.rmtree(os.path.dirname(__file__))", "shutil.rmtree is not allowed"),
        ("os.remove(__file__)", "os.remove is not allowed"),
        ("os.rename(__file__, __file__ + 'x')", "os.rename is not allowed"),
        ("open(__file__, 'a').write('x')", "writing"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen is not allowed"),
        ("os.system('true')", "os.system is not allowed"),
        ("os.kill(os.getppid(), 9)", "os.kill is not allowed"),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "socket"),
        ("import ctypes; ctypes.CDLL(None).abort()", "ctypes"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_hostile_call_is_unknown_with_its_reason_and_does_no_harm(tmp_path: Path, body: str, said: str) -> None:
    folder = write(tmp_path, bad=calling(body))
    before = (folder / "bad.py").read_bytes()
    found = run(folder, "bad.py:f", timeout_s=8, memory_bytes=2 * 1024**3)
    assert found.status == "unknown"
    assert said in str(found.reason)
    assert found.domain_size is None
    assert not found.complete
    assert (folder / "bad.py").read_bytes() == before
    assert sorted(os.listdir(folder)) == ["bad.py"]  # no __pycache__ either


def test_json_replaced_by_a_library_that_gives_bytes_does_no_harm(tmp_path: Path) -> None:
    source = (
        "import json\njson.dumps = lambda *a, **k: b'{}'\njson.loads = None\ndef f(text):\n    " + CLASSIFIER + "\n"
    )
    found = run(write(tmp_path, fast=source), "fast.py:f")
    assert found.complete, found.missing


def test_hook_of_the_target_that_breaks_the_examination_is_no_fault_of_ours(tmp_path: Path) -> None:
    source = "import sys\nsys.settrace(lambda *a: 1 / 0)\ndef f(text):\n    " + CLASSIFIER + "\n"
    with pytest.raises(TargetError, match="The target changes how Python itself runs"):
        run(write(tmp_path, hook=source), "hook.py:f")


def test_endless_loop_ends_soon_and_says_so(tmp_path: Path) -> None:
    found = run(write(tmp_path, bad=calling("while True: pass")), "bad.py:f", timeout_s=4)
    assert found.status == "unknown"
    assert "CallTimeout" in str(found.reason)


def test_loop_that_swallows_every_exception_is_killed(tmp_path: Path) -> None:
    body = "def f(text):\n while True:\n  try:\n   while True: pass\n  except BaseException: pass\n"
    with pytest.raises(TargetError, match="was stopped while it was called: it ran longer than 2 s"):
        run(write(tmp_path, bad=body), "bad.py:f", timeout_s=2)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("os._exit(0)", r"ended the process itself \(exit code 0\) while it was called"),
        ("import ctypes; ctypes.string_at(0)", "was killed by SIGSEGV while it was called"),
    ],
)
def test_process_that_dies_is_an_error_that_names_how(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(TargetError, match=said) as caught:
        run(write(tmp_path, bad=calling(body)), "bad.py:f")
    assert caught.value.exit_code is ExitCode.INCOMPLETE


def test_megabytes_of_output_are_swallowed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = run(write(tmp_path, bad=calling("os.write(1, b'x' * 300_000); print('y' * 300_000)")), "bad.py:f")
    assert found.fixed_values == ("a", "b")
    assert found.complete
    assert capfd.readouterr() == ("", "")


def test_process_left_behind_does_not_outlive_the_audit(tmp_path: Path) -> None:
    """`_posixsubprocess.fork_exec` raises no audit event."""
    body = "import _posixsubprocess; _posixsubprocess.fork_exec(*[None] * 21)"
    found = run(write(tmp_path, bad=calling(body)), "bad.py:f")
    assert "not allowed" in str(found.reason)


def test_environment_is_empty_and_folder_is_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do-not-pass-on")
    source = "import os\nNAMES = sorted(os.environ)\nHERE = os.getcwd()\ndef f(text):\n    return NAMES + [HERE]\n"
    (value,) = run(write(tmp_path, env=source), "env.py:f").fixed_values
    assert set(value[:-1]) <= {
        "PATH",
        "LANG",
        "LC_CTYPE",
        "HOME",
        "PYTHONHASHSEED",
        "PYTHONDONTWRITEBYTECODE",
    }
    assert value[-1] != os.getcwd()
    assert not Path(value[-1]).exists()


# -- imports -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("first_line", "said"),
    [
        (
            "raise SystemError('bad internal call')",
            r"cannot import bad: SystemError: bad internal call.*bad.py:1\.",
        ),
        ("import sys; sys.exit(2)", "cannot import bad: SystemExit: 2"),
        ("raise KeyboardInterrupt", "cannot import bad: KeyboardInterrupt"),
        ("import os; os._exit(0)", r"ended the process itself \(exit code 0\) while it was imported"),
        ("import os; os.system('true')", "os.system is not allowed"),
        ("x = bytearray(10 * 1024**3)", "MemoryError"),
        ("x = [", "is not Python"),
    ],
)
def test_import_that_fails_is_a_clear_error(tmp_path: Path, first_line: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        run(write(tmp_path, bad=f"{first_line}\ndef f(text):\n    {CLASSIFIER}\n"), "bad.py:f")


def test_import_that_never_ends_is_killed(tmp_path: Path) -> None:
    source = f"while True: pass\ndef f(text):\n    {CLASSIFIER}\n"
    with pytest.raises(TargetError, match="was stopped while it was imported: it ran longer than 1 s"):
        run(write(tmp_path, bad=source), "bad.py:f", timeout_s=1)


def test_missing_dependency_falls_back_to_the_slice(tmp_path: Path) -> None:
    source = f"import absent_db_client\ndef f(text):\n    {CLASSIFIER}\n"
    found = run(write(tmp_path, mod=source), "mod:f")
    assert found.mode == "slice"
    assert found.fixed_values == ("a", "b")
    assert found.domain_size == 2
    assert "absent_db_client" in found.notes[0]
    assert run(write(tmp_path, fine=f"def f(text):\n    {CLASSIFIER}\n"), "fine:f").mode == "import"


def test_module_that_makes_a_folder_when_imported_is_cut_instead(tmp_path: Path) -> None:
    source = f"import os\nos.makedirs('logs', exist_ok=True)\ndef f(text):\n    {CLASSIFIER}\n"
    found = run(write(tmp_path, mod=source), "mod:f")
    assert (found.mode, found.fixed_values, found.complete) == ("slice", ("a", "b"), True)
    assert "os.mkdir is not allowed" in found.notes[0]


@pytest.mark.parametrize(
    ("first_lines", "said"),
    [
        ("import ctypes, ctypes.util\nLIBRARY = ctypes.CDLL('libm.so.6')", "loading a library with ctypes"),
        ("import os\nKEY = os.environ['SERVICE_KEY']", "KeyError: 'SERVICE_KEY'"),
        ("SETTINGS = open('settings.yaml').read()", "No such file"),
    ],
)
def test_module_that_needs_its_surroundings_is_cut_instead(tmp_path: Path, first_lines: str, said: str) -> None:
    found = run(write(tmp_path, mod=f"{first_lines}\ndef f(text):\n    {CLASSIFIER}\n"), "mod:f")
    assert (found.mode, found.fixed_values, found.complete) == ("slice", ("a", "b"), True)
    assert said in found.notes[0]


def test_module_that_fails_by_itself_is_not_cut(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="KeyError: 'b'"):
        run(write(tmp_path, mod=f"LABEL = {{'a': 1}}['b']\ndef f(text):\n    {CLASSIFIER}\n"), "mod:f")


def test_missing_dependency_that_the_function_needs_names_module_line_and_stub(tmp_path: Path) -> None:
    source = "\nimport absent_db_client\ndef f(text):\n    return absent_db_client.label(text)\n"
    with pytest.raises(TargetError) as caught:
        run(write(tmp_path, mod=source), "mod:f")
    assert caught.value.message == (
        "cannot import mod: ModuleNotFoundError: No module named 'absent_db_client'. It was raised at mod.py:2."
    )
    assert caught.value.hint == "Run memaudit in the agent's own environment, or use --stub absent_db_client."


def test_stub_lets_the_import_pass_and_its_use_is_named(tmp_path: Path) -> None:
    source = (
        "import absent_db_client as db\nfrom absent_db_client.deep import Base, task\n"
        "class A(Base):\n    @staticmethod\n    @task\n    def f(text):\n"
        f"        {CLASSIFIER}\n"
        "def g(text):\n    return db.label(text) or 'none'\n"
    )
    write(tmp_path, mod=source)
    unused = run(tmp_path, "mod:A.f", stubs=["absent_db_client"])
    assert (unused.mode, unused.fixed_values, unused.complete) == ("import", ("a", "b"), True)
    used = run(tmp_path, "mod:g", stubs=["absent_db_client"])
    assert not used.complete
    assert any("absent_db_client" in line for line in used.missing)


# -- kinds of functions ------------------------------------------------------------------------------------
METHODS = """
class Labeller:
    WORDS = {"bug": ("crash",)}

    def __init__(self, default):
        self.default = default

    def label(self, text):
        return self._find(text) or self.default

    def _find(self, text):
        for name, words in self.WORDS.items():
            if any(word in text for word in words):
                return name
        return None

def make():
    return Labeller("note")

def broken():
    raise RuntimeError("no settings")
"""


def test_method_through_factory(tmp_path: Path) -> None:
    write(tmp_path, lab=METHODS)
    found = run(tmp_path, "lab:Labeller.label", factory="lab:make")
    assert found.fixed_values == ("bug", "note")
    assert found.complete, found.missing
    assert any("factory" in note for note in found.notes)


def test_method_without_factory_is_a_usage_error_before_anything_runs(tmp_path: Path) -> None:
    write(tmp_path, lab=METHODS)
    with pytest.raises(TargetError) as caught:
        run(tmp_path, "lab:Labeller.label")
    assert str(caught.value) == (
        "Labeller.label is an instance method. memaudit does not build objects by guessing. "
        "Give --factory pkg.mod:make, or name a static method or function."
    )
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize("factory", ["lab.py:make", "sub/made.py:make"])
def test_factory_is_named_by_its_file_as_a_target_is(tmp_path: Path, factory: str) -> None:
    write(tmp_path, lab=METHODS)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "made.py").write_text("import lab\n\ndef make():\n    return lab.make()\n")
    assert run(tmp_path, "lab.py:Labeller.label", factory=factory).status == "ok"
    with pytest.raises(TargetError, match=r"no such file: else\.py"):
        run(tmp_path, "lab.py:Labeller.label", factory="else.py:make")


def test_factory_that_raises_is_named(tmp_path: Path) -> None:
    write(tmp_path, lab=METHODS)
    with pytest.raises(TargetError, match="the factory lab:broken raised RuntimeError: no settings"):
        run(tmp_path, "lab:Labeller.label", factory="lab:broken")


def test_helper_of_another_project_module_is_followed(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    write(
        tmp_path / "pkg",
        __init__="",
        words='def has_error(text):\n    return "error" in text or "错误" in text\n'
        'def label(text):\n    return "bad" if has_error(text) else "good"\n',
        main="from .words import label\nfrom pkg import words\n"
        "def one(text):\n    return label(text)\n"
        'def two(text):\n    return "x" if words.has_error(text) else "y"\n',
    )
    one = run(tmp_path, "pkg.main:one")
    assert (one.mode, one.fixed_values, one.complete) == ("import", ("bad", "good"), True)
    assert [k.text for k in one.keywords] == ["error", "错误"]
    two = run(tmp_path, "pkg/main.py:two")
    assert (two.fixed_values, two.domain_size) == (("x", "y"), 2)


# -- purity ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import random\ndef f(text):\n    return random.choice(['a', 'b'])\n", "random.choice"),
        ("from random import choice\ndef f(text):\n    return choice(['a', 'b'])\n", "random.choice"),
        ("import time\ndef f(text):\n    return 'a' if time.time() > 0 else 'b'\n", "time.time"),
        ("import time\ndef f(text):\n    return 'a' if time.strftime('%Y') else 'b'\n", "time.strftime"),
        ("from time import ctime\ndef f(text):\n    return 'a' if ctime(None) else 'b'\n", "time.ctime"),
        (
            "from datetime import datetime\ndef f(text):\n    return str(datetime.now().year > 1)\n",
            "datetime.now",
        ),
        ("import uuid\ndef f(text):\n    return uuid.uuid4().hex\n", "uuid4"),
        ("import os\ndef f(text):\n    return os.environ.get('STAGE', 'dev')\n", "os.environ"),
        ("import os\ndef f(text):\n    return os.getenv('STAGE') or 'dev'\n", "os.environ"),
        ("SEEN = []\ndef f(text):\n    SEEN.append(text)\n    return 'a'\n", "module variable SEEN"),
        ("N = 0\ndef f(text):\n    global N\n    N += 1\n    return 'a'\n", "module variable N"),
        (
            "class A:\n    n = 0\n    @classmethod\n    def f(cls, text):\n        cls.n += 1\n        return 'a'\n",
            "attribute n",
        ),
        ("def f(xs: list):\n    xs.append('x')\n    return 'a'\n", "argument xs"),
        (
            "def f(text):\n    return 'a' if open('/etc/passwd').close() is None else 'b'\n",
            "open('/etc/passwd')",
        ),
        (
            "def f(text):\n    return '-'.join({'alpha', 'beta', 'gamma', 'delta', 'eps'})\n",
            "another hash seed",
        ),
        ("def f(text):\n    return str(hash('alpha') % 1000)\n", "another hash seed"),
    ],
)
def test_impure_function_is_named_and_its_domain_is_a_lower_bound(tmp_path: Path, source: str, said: str) -> None:
    found = run(write(tmp_path, dirty=source), "dirty.py:A.f" if "class A" in source else "dirty.py:f")
    assert not found.pure
    assert any(said in line for line in found.impurities), found.impurities
    assert not found.complete
    assert found.domain_size is None


@pytest.mark.parametrize(
    "source",
    [
        f"def f(text):\n    import json\n    {CLASSIFIER}\n",  # a lazy import reads files
        f"def f(text):\n    print(text)\n    {CLASSIFIER}\n",
        "import logging\nLOG = logging.getLogger('x')\ndef f(text):\n    LOG.warning('looking')\n    "
        + CLASSIFIER
        + "\n",
        "def f(xs: list):\n    ys = list(xs)\n    ys.append('x')\n    return 'a'\n",
        "def f(text):\n    return '-'.join(sorted({'alpha', 'beta', 'gamma'}))\n",
        "import random\nR = random.Random(7)\nPICK = R.choice(['a', 'b'])\ndef f(text):\n    return PICK\n",
        "import time\ndef f(at: int):\n    return 'late' if time.gmtime(at).tm_hour > 12 else 'early'\n",
        "import functools\n@functools.lru_cache\ndef f(text):\n    " + CLASSIFIER + "\n",
    ],
)
def test_pure_function_stays_pure(tmp_path: Path, source: str) -> None:
    found = run(write(tmp_path, clean=source), "clean.py:f")
    assert found.pure, found.impurities
    assert found.complete, found.missing


# -- output ------------------------------------------------------------------------------------------------
def test_json_has_the_stated_keys_and_none_is_null(tmp_path: Path) -> None:
    source = "def f(text, tool):\n    if 'go' in text:\n        return f'{tool} went'\n    return None\n"
    shown = domain_to_json(run(write(tmp_path, mod=source), "mod:f", hole_values={"tool": ["a", "b", "b", None]}))
    stated = (
        "target mode fixed_values forms domain_size complete missing pure impurities witnesses shadowed "
        "calls status reason"
    )
    assert set(stated.split()) <= set(shown)
    assert shown["target"] == "mod:f"
    assert shown["fixed_values"] == [None]
    assert shown["forms"] == [{"text": "{tool} went", "holes": ["tool"], "exact": True}]
    assert shown["domain_size"] == 3  # None, "a went", "b went"
    assert shown["status"] == "ok"
    assert shown["reason"] is None
    assert {"value": None, "arguments": shown["witnesses"][0]["arguments"]} == shown["witnesses"][0]


def test_two_runs_give_the_same_answer(tmp_path: Path) -> None:
    write(tmp_path, mod='def f(text, tool):\n    return f\'{tool} {"x" if "go" in text else "y"}\'\n')
    assert domain_to_json(run(tmp_path, "mod:f")) == domain_to_json(run(tmp_path, "mod:f"))


def test_replay_of_no_rows_and_of_a_row_that_raises(tmp_path: Path) -> None:
    write(tmp_path, mod="def f(text):\n    return 'a' if 'go' in text else 'b'\n")
    domain = run(tmp_path, "mod:f")
    assert replay("mod:f", [], domain=domain, base=tmp_path).rows == ()
    bad, good = replay("mod:f", [[None], {"text": "go"}], domain=domain, base=tmp_path).rows
    assert bad is not None
    assert good is not None
    assert bad.value is None
    assert "TypeError" in str(bad.error)
    assert bad.on_fallback is None
    assert (good.value, good.hits, good.decided, good.on_fallback) == ("a", (0,), (0,), False)


def test_numbers_when_only_an_enum_names_them_then_found(tmp_path: Path) -> None:
    """An HTTP status is compared with a member of an IntEnum: no number stands in the code."""
    (tmp_path / "status.py").write_text(
        "from http import HTTPStatus\n"
        "def word(response):\n"
        "    if response.status_code == HTTPStatus.UNAUTHORIZED:\n"
        '        return "log in"\n'
        "    if response.status_code == HTTPStatus.NOT_FOUND:\n"
        '        return "gone"\n'
        '    return "other"\n'
    )
    result = enumerate_domain("status.py:word", base=tmp_path)
    assert set(result.fixed_values) == {"log in", "gone", "other"}
    assert result.complete


# -- plain calls -------------------------------------------------------------------------------------------
def test_call_batch_gives_values_exceptions_and_times_in_order(tmp_path: Path) -> None:
    write(tmp_path, m="def f(query, rows):\n    rows.append({'id': query})\n    return rows if query else 1 / 0\n")
    given: list[dict[str, object]] = [{"id": "甲", "n": 1, "x": None, "in": {"$": 1}}]
    found = call_batch("m:f", [("a", given), ("", []), ("b", [])], base=tmp_path)
    assert found[0].value == [*given, {"id": "a"}]
    assert found[0].error is None
    assert (found[1].value, found[1].error) == (None, "ZeroDivisionError: division by zero")
    assert found[2].value == [{"id": "b"}]
    assert all(call.ms >= 0 for call in found)
    assert len(given) == 1  # the child has copies
    assert call_batch("m:f", [], base=tmp_path) == []


def test_call_batch_refuses_too_many_arguments_and_absent_functions(tmp_path: Path) -> None:
    write(tmp_path, m="def f(rows):\n    return rows\n")
    with pytest.raises(TargetError, match="takes 1 arguments; 2 were given"):
        call_batch("m:f", [("a", "b")], base=tmp_path)
    with pytest.raises(TargetError, match="has no g"):
        call_batch("m:g", [("a",)], base=tmp_path)
    assert parameter_names("m:f", base=tmp_path) == ["rows"]


def test_call_batch_of_a_method_needs_no_self(tmp_path: Path) -> None:
    write(tmp_path, m="class C:\n    def f(self, rows):\n        return len(rows)\ndef make():\n    return C()\n")
    assert [c.value for c in call_batch("m:C.f", [([1, 2],)], base=tmp_path, factory="m:make")] == [2]
