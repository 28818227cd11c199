from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from memaudit.guards import Guard, GuardReport, guards_to_json

#: form -> (body of `def f(x, d, xs)`, target, whether the value is filled in the dead variant by `V = "a"`)
FORMS = {
    "if-not": ("v = V\nif not v:\n    v = make()\nreturn v", "v"),
    "or": ("v = V\nreturn v or make()", "v"),
    "ternary": ("v = V\nreturn v if v else make()", "v"),
    "is-none": ("v = V\nif v is None:\n    v = make()\nreturn v", "v"),
    "walrus": ("if not (v := V):\n    v = make()\nreturn v", "v"),
    "early-return": ("v = V\nif v:\n    return v\nreturn make()", "v"),
    "get-or": ("t = {'k': V}\nreturn t.get('k') or make()", "t.get('k')"),
}


def module_of(body: str, value: str) -> str:
    lines = "\n".join("    " + line for line in body.replace("V", value).splitlines())
    return f"def f(x, d, xs):\n{lines}\n"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("value", "dead"), [('"a"', True), ("None", False), ("x.get('k')", False)])
def test_each_form_is_found_and_judged(form: str, value: str, dead: bool, guard: Callable[..., Guard]) -> None:
    body, target = FORMS[form]
    found = guard(module_of(body, value), target)
    assert found.form == form
    assert (found.verdict == "dead") is dead
    assert "make()" in found.fallback


@pytest.mark.parametrize(
    "line",
    [
        "return call(key=v or make())",
        "return call(v or make())",
        "return {'k': v or make()}",
        "return f'{v or make()}'",
        "for one in v or make():\n    pass",
        "return [one for one in v or make()]",
        "v: str = v or make()",
        "await_it = v or make()",
        "return (v or make()).strip()",
        "return make() if not v else v",
        "return v if v is not None else make()",
        "return make() if v is None else v.strip()",
        "if v:\n    w = v\nelse:\n    v = make()",
        "if not v:\n    return make()\nreturn v",
        "if v is not None:\n    return v\nreturn make()",
        "if v == None:\n    v = make()",
        "if not v and x:\n    v = make()",
    ],
)
def test_other_ways_to_write_a_guard_are_found(line: str, guard: Callable[..., Guard]) -> None:
    assert guard(module_of(f'v = "a"\n{line}', ""), "v").verdict == "dead"


@pytest.mark.parametrize(
    "line",
    [
        "if x or d:\n    pass",
        "while x or d:\n    pass",
        "return x == 1 or d",
        "return isinstance(x, str) or d",
        "assert x or d",
        "return not x or d",
        "if x:\n    xs = d",
        "if not x:\n    raise ValueError",
        "if not x:\n    return",
        "if not x:\n    return None",
        "if x is None:\n    d = 1",
        "return 1 if x else 2",
    ],
)
def test_conditions_are_no_guards(line: str, scan: Callable[..., GuardReport]) -> None:
    assert scan(module_of(line, "")).guards == ()


def test_none_and_empty_are_kept_apart(verdict: Callable[..., str]) -> None:
    empty_list = "def f():\n    v = []\n    if v is None:\n        v = make()\n    return v\n"
    assert verdict(empty_list, "v") == "dead"
    assert verdict(empty_list.replace("v is None", "not v"), "v") == "reachable"


def test_always_taken_is_said_of_parameters_only(verdict: Callable[..., str]) -> None:
    local = "def f():\n    v = ''\n    return v or make()\n"
    assert verdict(local, "v") == "reachable"
    parameter = "def f(v=''):\n    return v or make()\ndef g():\n    return f()\n"
    assert verdict(parameter, "v") == "always-taken"
    # is None of a caller that passes an empty list is not always taken
    none = "def f(v=None):\n    return v if v is not None else make()\ndef g():\n    return f([])\n"
    assert verdict(none, "v") == "dead"


def test_further_condition_is_never_always_taken(verdict: Callable[..., str]) -> None:
    code = "def f(v='', x=1):\n    if not v and x:\n        v = make()\n    return v\ndef g():\n    return f()\n"
    assert verdict(code, "v") == "reachable"


def test_function_without_callers_is_reachable_by_its_default_and_else_unknown(
    guard: Callable[..., Guard],
) -> None:
    assert guard("def f(v=None):\n    return v or make()\n", "v").verdict == "reachable"
    found = guard("def f(v):\n    return v or make()\n", "v")
    assert (found.verdict, found.reason) == ("unknown", "no caller in this tree")


@pytest.mark.parametrize(
    ("code", "verdict_"),
    [
        ("d = {'a': 1}\n    return d.setdefault('a', make())", "dead"),
        ("d = {'b': 1}\n    return d.setdefault('a', make())", "reachable"),
        ("d = {'a': 1}\n    d.pop('a')\n    return d.setdefault('a', make())", "unknown"),
        ("d = {'a': 1}\n    change(d)\n    return d.setdefault('a', make())", "unknown"),
        ("d = {**x}\n    return d.setdefault('a', make())", "unknown"),
        ("d = {k: 1}\n    return d.setdefault('a', make())", "unknown"),
        ("d = {1: 1}\n    return d.setdefault(True, make())", "reachable"),
    ],
)
def test_setdefault_asks_for_the_key(code: str, verdict_: str, guard: Callable[..., Guard]) -> None:
    found = guard(f"def f(x, k):\n    {code}\n", "d[True]" if "True" in code else "d['a']")
    assert (found.form, found.asks, found.verdict) == ("setdefault", "missing", verdict_)


def test_post_init_of_a_dataclass(guard: Callable[..., Guard]) -> None:
    code = """
        from dataclasses import dataclass, field

        @dataclass
        class Item:
            text: str
            label: str = ""
            tags: list = field(default_factory=list)

            def __post_init__(self):
                if not self.label:
                    self.label = self.text[:5]
                self.tags = self.tags or [self.label]
                if self.text is None:
                    object.__setattr__(self, "text", "")

        def make(text):
            return Item(text, f"label of {text}")
    """
    label = guard(code, "self.label")
    assert (label.form, label.verdict, label.function) == ("post-init", "dead", "Item.__post_init__")
    assert [(c.line, c.side) for c in label.callers] == [(18, "dead")]
    assert guard(code, "self.tags").verdict == "reachable"
    assert guard(code, "self.text").verdict == "unknown"


def test_guard_behind_a_test_on_the_same_name_is_dead_without_callers(guard: Callable[..., Guard]) -> None:
    found = guard("def f(v: str):\n    if v:\n        return v or make()\n    return 1\n", "v", 3)
    assert (found.verdict, found.callers) == ("dead", ())
    assert "test on the way" in found.reason


def test_chain_of_or_gives_a_guard_for_each_step(scan: Callable[..., GuardReport]) -> None:
    report = scan("def f(a, b):\n    return a or b or 'c'\n")
    assert [(g.target, g.fallback) for g in report.guards] == [("a", "b"), ("b", "'c'")]


def test_json_has_the_documented_keys(scan: Callable[..., GuardReport]) -> None:
    report = scan(
        {
            "a.py": "def f(label=''):\n    return label or '其他'\ndef g():\n    return f('标签')\n",
            "broken.py": "def (\n",
        }
    )
    data = json.loads(json.dumps(guards_to_json(report), ensure_ascii=False))
    assert set(data) == {"guards", "files", "skipped"}
    assert data["files"] == 1
    assert data["guards"] == [
        {
            "file": "a.py",
            "line": 2,
            "function": "f",
            "form": "or",
            "target": "label",
            "verdict": "dead",
            "reason": "never empty: the only caller in this tree passes something else",
            "callers": [{"file": "a.py", "line": 4, "side": "dead"}],
        }
    ]
    assert [s["file"] for s in data["skipped"]] == ["broken.py"]
    assert set(data["skipped"][0]) == {"file", "reason"}


def test_two_searches_give_the_same_report(scan: Callable[..., GuardReport]) -> None:
    files = {f"m{n}.py": f"def f{n}(v=''):\n    return v or 1\ndef g{n}():\n    return f{n}('a')\n" for n in range(9)}
    assert scan(files) == scan(files)
