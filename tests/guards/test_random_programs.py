"""Random programs are analysed and then run: no guard called dead is ever entered.

The programs have 2 to 4 modules, producers that always or sometimes give something, guards of several
forms on parameters and locals, and callers that pass values in ordinary and in roundabout ways. Only the
functions called `main_*` are run from outside, with every argument of `ARGUMENTS`; they are never called
dead themselves because they have no caller in the tree.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memaudit.guards import find_guards

ARGUMENTS = ("", "a", "tool x", "7")
HITS = "hits_of_the_test"


class Program:
    """One random program; `dead` are the guards built so that nothing can enter them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.n_modules = self.rng.randint(2, 4)
        self.is_async = self.rng.random() < 0.3
        self.bodies: list[list[str]] = [[] for _ in range(self.n_modules)]
        self.imports: list[set[str]] = [set() for _ in range(self.n_modules)]
        self.producers: list[tuple[int, str, str, bool]] = []  # module, name, style, always filled
        self.guards: list[int] = []
        self.dead: set[int] = set()
        self.count = 0
        for _ in range(self.rng.randint(3, 6)):
            self.producer(self.rng.random() < 0.6)
        for _ in range(self.rng.randint(2, 5)):
            self.guarded_parameter()
        for _ in range(self.rng.randint(1, 4)):
            self.guarded_local()
        for _ in range(self.rng.randint(0, 2)):
            self.guarded_method()
        for _ in range(self.rng.randint(0, 2)):
            self.guarded_constructor()

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def sources(self) -> dict[str, str]:
        found = {}
        for index, body in enumerate(self.bodies):
            lines = [
                f"from {HITS} import hit",
                *sorted(self.imports[index]),
                'TABLE = {"a": "A", "7": "seven"}',
            ]
            found[f"gm{index}.py"] = "\n".join([*lines, *body]) + "\n"
        return found

    # -- pieces -------------------------------------------------------------------------------------

    @property
    def define(self) -> str:
        return "async def" if self.is_async else "def"

    @property
    def wait(self) -> str:
        return "await " if self.is_async else ""

    def call(self, here: int, target: tuple[int, str, str, bool], arguments: str) -> str:
        """Give a call of a function of this or an earlier module, imported in one of three ways."""
        module, name, style, _ = target
        owner = name.title().replace("_", "") if style != "plain" else name
        if module != here:
            way = self.rng.randint(0, 2)
            if way == 0:
                self.imports[here].add(f"from gm{module} import {owner}")
            elif way == 1:
                self.imports[here].add(f"import gm{module}")
                owner = f"gm{module}.{owner}"
            else:
                self.imports[here].add(f"from gm{module} import {owner} as alias_{owner}")
                owner = f"alias_{owner}"
        if style == "static":
            owner = f"{owner}.{name}"
        elif style == "method":
            owner = f"{owner}().{name}"
        return f"{self.wait}{owner}({arguments})"

    def usable(self, here: int, full: bool) -> list[tuple[int, str, str, bool]]:
        return [p for p in self.producers if p[0] <= here and p[3] is full]

    def filled(self, here: int) -> str:
        options = [
            '"fixed"',
            'f"tag {x}"',
            '"p:" + str(x)',
            'x or "other"',
            'TABLE.get(x, "none")',
            '"y" if x else "n"',
            '"%s!" % x',
            '["one", x]',
            "str(len(x))",
        ]
        options += [self.call(here, p, "x") for p in self.usable(here, True)]
        return self.rng.choice(options)

    def loose(self, here: int) -> str:
        options = [
            "x",
            "str(x)",
            "x.strip()",
            'x and "y"',
            "None",
            '""',
            "[c for c in x]",
            '{"a": "A"}.get(x)',
            'TABLE.get(x, "")',
            "x[:2]",
            'f"{x}"',
            '"".join([x])',
            "x.split()",
        ]
        options += [self.call(here, p, "x") for p in self.usable(here, False)]
        return self.rng.choice(options)

    def add(self, here: int, name: str, style: str, params: str, body: list[str]) -> None:
        out = self.bodies[here]
        if style == "plain":
            out += [f"{self.define} {name}({params}):", *("    " + line for line in body)]
            return
        out.append(f"class {name.title().replace('_', '')}:")
        if style == "static":
            out += ["    @staticmethod", f"    {self.define} {name}({params}):"]
        else:
            out.append(f"    {self.define} {name}(self, {params}):")
        out += ["        " + line for line in body]

    def producer(self, full: bool) -> None:
        here = self.rng.randrange(self.n_modules)
        name, style = self.name("make"), self.rng.choice(["plain", "plain", "static", "method"])
        value = self.filled(here) if full else self.loose(here)
        good = self.filled(here)
        shapes = [
            [f"return {value}"],
            ["if x:", f"    return {good}", f"return {value}"],
            ["try:", "    int(x)", "except ValueError:", f"    return {value}", f"return {good}"],
            ["for c in x:", '    if c == "a":', f"        return {value}", f"return {good}"],
            [f"v = {value}", "if x == 'a':", f"    v = {good}", "return v"],
            ["match x:", "    case 'a':", f"        return {good}", "    case _:", f"        return {value}"],
        ]
        if not full:
            shapes += [
                ["if x:", f"    return {good}"],
                ["v = ['a']", "w = v", "if x:", "    w.clear()", "return v"],
                ["v = []", "for c in x:", "    v.append(c)", "return v"],
                ["v = ''", "for c in x:", "    v = '' if v else c", "return v"],
                ["v = 'a'", "def inner():", "    nonlocal v", "    v = x", "inner()", "return v"],
                [
                    "from contextlib import suppress",
                    "with suppress(ValueError):",
                    "    int(x)",
                    "    return 'n'",
                ],
                ["v = ''", "try:", "    int(x)", "    v = 'n'", "except ValueError:", "    pass", "return v"],
                ["v = 'a'", "while x:", "    v = ''", "    break", "return v"],
                ["v = {'k': x}", "if x:", "    v.pop('k')", "return v"],
                ["v = ['a']", "run = lambda: v.clear()", "if x:", "    run()", "return v"],
            ]
        self.add(here, name, style, "x", self.rng.choice(shapes))
        self.producers.append((here, name, style, full))

    def guard(self, target: str) -> list[str]:
        self.guards.append(self.count)
        number = self.count
        return self.rng.choice(
            [
                [f"if not {target}:", f"    {target} = hit({number})"],
                [f"{target} = {target} or hit({number})"],
                [f"{target} = {target} if {target} else hit({number})"],
                [f"if {target} is None:", f"    {target} = hit({number})"],
                [f"if {target}:", f"    return {target}", f"return hit({number})"],
                [f"if not (w := {target}):", f"    w = hit({number})"],
                [f"dict(value={target} or hit({number}))"],
            ]
        )

    def noise(self, target: str, harmless: bool) -> list[str]:
        calm = [[], [], ["n = len(str(x))"], ["if x:", "    n = 1"], ["for c in x:", "    n = c"]]
        wild = [
            ["if x == 'a':", f"    {target} = ''"],
            [f"if isinstance({target}, list):", f"    {target}.clear()"],
            ["try:", f"    {target} = {target}.strip()", "except AttributeError:", "    pass"],
            ["for c in x:", f"    {target} = {target} and None"],
            [f"other = {target}", "if isinstance(other, list):", "    other.pop()"],
            [f"if not {target}:", f"    {target} = 'set'", f"{target} = x"],
        ]
        return self.rng.choice(calm if harmless else calm + wild)

    def guarded_parameter(self) -> None:
        here = self.rng.randrange(self.n_modules)
        name, style = self.name("keep"), self.rng.choice(["plain", "plain", "static", "method"])
        number = self.count
        dead = self.rng.random() < 0.5
        default = self.rng.choice(["''", "None"])
        body = [*self.noise("p", dead), *self.guard("p"), "return p"]
        self.add(here, name, style, f"x, p={default}", body)
        target = (here, name, style, False)
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randrange(here, self.n_modules)
            value = self.filled(at) if dead else self.rng.choice([self.filled(at), self.loose(at)])
            way = self.rng.randint(0, 7)
            main = self.name("main")
            if way == 0:
                inner = self.name("pass")
                self.add(at, inner, "plain", "x, p", [f"return {self.call(at, target, 'x, p=p')}"])
                lines = [f"return {self.wait}{inner}(x, {value})"]
            elif way == 1:
                lines = [f"v = {value}", f"return {self.call(at, target, 'x, v')}"]
            elif not dead and way == 2:
                lines = [f"return {self.call(at, target, 'x')}"]
            elif not dead and way == 3:
                lines = [f"return {self.call(at, target, '*[x, x]')}"]
            elif not dead and way == 4:
                lines = [f"return {self.call(at, target, '**dict(x=x, p=x)')}"]
            elif not dead and way == 5:
                reference = self.call(at, target, "x, x").removeprefix("await ").removesuffix("(x, x)")
                lines = [f"other = {reference}", f"return {self.wait}other(x, x)"]
            elif not dead and way == 6:
                reference = self.call(at, target, "x, x").removeprefix("await ").removesuffix("(x, x)")
                lines = ["from functools import partial", f"return {self.wait}partial({reference}, p=x)(x)"]
            else:
                lines = [f"return {self.call(at, target, 'x, p=' + value)}"]
            self.add(at, main, "plain", "x", lines)
        if dead:
            self.dead.add(number)

    def guarded_local(self) -> None:
        here = self.rng.randrange(self.n_modules)
        main = self.name("main")
        number = self.count
        dead = self.rng.random() < 0.6
        value = self.filled(here) if dead else self.loose(here)
        body = [f"v = {value}", *self.noise("v", dead), *self.guard("v"), "return v"]
        if dead:
            self.dead.add(number)
        self.add(here, main, "plain", "x", body)

    def from_module(self, at: int, module: int, name: str) -> str:
        """Give the name of a class where it is used, imported when it is elsewhere."""
        if at != module:
            self.imports[at].add(f"from gm{module} import {name}")
        return name

    def guarded_method(self) -> None:
        """Guard the result of a method of one's own, which classes derived from it can override."""
        here = self.rng.randrange(self.n_modules)
        base, dead = self.name("Base"), self.rng.random() < 0.5
        number = self.count
        label = f"label_{number}" if self.rng.random() < 0.5 else "label"
        self.bodies[here] += [
            f"class {base}:",
            f"    {self.define} {label}(self, x):",
            f"        return {self.filled(here)}",
            f"    {self.define} go_{number}(self, x):",
            f"        v = {self.wait}self.{label}(x)",
            *("        " + line for line in [*self.noise("v", dead), *self.guard("v")]),
            "        return v",
        ]
        if dead:
            self.dead.add(number)
        used, at = base, here
        for _ in range(self.rng.randint(0, 2)):
            at = self.rng.randrange(at, self.n_modules)
            sub, parent = self.name("Sub"), self.from_module(at, here, used)
            value = self.filled(at) if dead else self.rng.choice([self.filled(at), self.loose(at)])
            body = [f"    {self.define} {label}(self, x):", f"        return {value}"]
            mixed = not dead and self.rng.random() < 0.4
            if mixed:
                mixin = self.name("Mixin")
                self.bodies[at] += [f"class {mixin}:", *body, f"class {sub}({mixin}, {parent}):", "    pass"]
            else:
                self.bodies[at] += [f"class {sub}({parent}):", *body]
            if not dead and self.rng.random() < 0.2:
                self.bodies[at].append(f"{sub}.{label} = lambda self, x: x")
            used, here = sub, at
        main = self.name("main")
        self.add(at, main, "plain", "x", [f"return {self.wait}{used}().go_{number}(x)"])

    def guarded_constructor(self) -> None:
        """Guard an argument of a constructor, or a field of a dataclass after it."""
        here = self.rng.randrange(self.n_modules)
        item, dead = self.name("Item"), self.rng.random() < 0.5
        number = self.count
        self.guards.append(number)
        if self.rng.random() < 0.5:
            self.imports[here].add("from dataclasses import dataclass")
            lines = [
                "@dataclass",
                f"class {item}:",
                "    x: str",
                "    p: str = ''",
                "    def __post_init__(self):",
            ]
            guard = [["if not self.p:", f"    self.p = hit({number})"], [f"self.p = self.p or hit({number})"]]
            lines += ["        " + line for line in self.rng.choice(guard)]
        else:
            lines = [
                f"class {item}:",
                "    def __init__(self, x, p=None):",
                f"        self.p = p or hit({number})",
            ]
        lines += ["    @classmethod", "    def made(cls, x, p):", "        return cls(x, p)"]
        self.bodies[here] += lines
        if dead:
            self.dead.add(number)
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randrange(here, self.n_modules)
            name, main = self.from_module(at, here, item), self.name("main")
            value = self.filled(at) if dead else self.rng.choice([self.filled(at), self.loose(at)])
            ways = [
                f"return {name}(x, p={value})",
                f"return {name}.made(x, {value})",
                f"return {name}(x, {value})",
            ]
            if not dead:
                ways += [
                    f"return {name}(x)",
                    f"return (lambda k: k(x))({name})",
                    f"return type({name}(x, 'a'))(x, x)",
                    f"return {name}(**dict(x=x, p=x))",
                    f"return {name}(*(x, x))",
                    f"return type('Derived', ({name},), {{}})(x)",
                    f"return {name}(x, 'a').__class__(x)",
                    f"class Inner({name}):\n        pass\n    return Inner(x)",
                ]
            self.add(at, main, "plain", "x", [self.rng.choice(ways)])


def run(program: Program) -> set[int]:
    """Run all entry points with all arguments; give the numbers of the guards that were entered."""
    entered: set[int] = set()
    results: list[object] = ["", None, "filled", []]

    def hit(number: int) -> object:
        entered.add(number)
        return results[number % len(results)]

    recorder = types.ModuleType(HITS)
    recorder.hit = hit
    loaded = {HITS: recorder}
    saved = {name: sys.modules.get(name) for name in (HITS, *(f"gm{i}" for i in range(4)))}
    try:
        sys.modules[HITS] = recorder
        for file, text in program.sources().items():
            module = types.ModuleType(file.removesuffix(".py"))
            sys.modules[module.__name__] = module
            exec(compile(text, file, "exec"), module.__dict__)
            loaded[module.__name__] = module
        for module in loaded.values():
            for name, entry in list(vars(module).items()):
                if name.startswith("main_"):
                    for argument in ARGUMENTS:
                        try:
                            result = entry(argument)
                            if inspect.iscoroutine(result):
                                asyncio.run(result)
                        except Exception:
                            continue  # many of these programs are nonsense; the rest of them is run
    finally:
        for name, before in saved.items():
            if before is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = before
    return entered


def verdicts(program: Program, folder: Path) -> dict[int, str]:
    """Analyse a program; give the verdict of each guard that calls `hit(number)`."""
    for old in folder.glob("*.py"):
        old.unlink()
    for file, text in program.sources().items():
        (folder / file).write_text(text, encoding="utf-8")
    found: dict[int, str] = {}
    for guard in find_guards([folder], base=folder).guards:
        if "hit(" in guard.fallback:
            found[int(guard.fallback.split("hit(")[1].split(")")[0])] = guard.verdict
    return found


@given(seed=st.integers(min_value=0, max_value=10**9))
@settings(max_examples=60, deadline=None)
def test_no_guard_called_dead_is_ever_entered(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    program = Program(seed)
    found = verdicts(program, tmp_path_factory.mktemp("program"))
    entered = run(program)
    wrong = [number for number in entered if found.get(number) == "dead"]
    assert not wrong, "\n".join(f"# {name}\n{text}" for name, text in program.sources().items())


def test_guards_built_to_be_dead_are_called_dead(tmp_path: Path) -> None:
    built = called = entered_all = guards = 0
    for seed in range(60):
        program = Program(seed)
        found = verdicts(program, tmp_path)
        entered = run(program)
        assert not [number for number in entered if found.get(number) == "dead"], seed
        # Built wrongly if it was entered: the generator's mistake, not the analysis'.
        assert not entered & program.dead, (seed, entered & program.dead)
        built += len(program.dead)
        called += sum(found.get(number) == "dead" for number in program.dead)
        guards += len(program.guards)
        entered_all += len(entered)
    assert built > 150
    assert guards - built > 100
    assert entered_all > 100  # the other guards really are entered
    assert called / built >= 0.8, (called, built)
