"""What is known of a module before any name is resolved: scopes, bindings, calls, uses as a value."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from memaudit.guards.tree import Source

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Binding:
    """One place that gives a name a value.

    Parameters
    ----------
    kind
        `param`, `assign`, `def`, `class`, `import`, or `other` (loops, with, except, match, del, ...).
    node
        The statement or expression; for `assign` with one plain target the assigned expression.
    target
        Function, class or import target where there is one.
    """

    kind: str
    node: ast.AST
    target: object = None


@dataclass(frozen=True)
class ImportTarget:
    """What an import statement binds: a module, or a name of one."""

    module: str
    level: int
    name: str | None


@dataclass(eq=False)
class Scope:
    """A module, class, function, lambda or comprehension with the names bound in it."""

    kind: str
    node: ast.AST
    module: Module
    parent: Scope | None
    owner: Function | Class | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    loads: set[str] = field(default_factory=set)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    children: list[Scope] = field(default_factory=list)
    runs_code: bool = False

    @property
    def unit(self) -> Scope:
        """The module, class or function whose statements this scope is part of."""
        scope = self
        while scope.kind in ("lambda", "comp") and scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def qualname(self) -> str:
        """Dotted name inside the module, `<module>` for the module itself."""
        unit = self.unit
        return unit.owner.qualname if unit.owner is not None else "<module>"

    def used_inside(self, name: str) -> bool:
        """Whether a nested function, lambda or class reads `name`."""
        return any(
            name not in child.bindings and (child.used_inside(name) or (child.kind != "comp" and name in child.loads))
            for child in self.children
        )

    def rebound_inside(self, name: str) -> bool:
        """Whether a nested function declares `name` nonlocal."""
        return any(name in child.nonlocal_names or child.rebound_inside(name) for child in self.children)


@dataclass(eq=False)
class Function:
    """A `def`, its scope and where it stands."""

    node: FunctionNode
    qualname: str
    module: Module
    outer: Scope
    klass: Class | None
    scope: Scope = field(init=False)
    is_generator: bool = False

    @property
    def name(self) -> str:
        """Name of the `def`."""
        return self.node.name

    @property
    def is_async(self) -> bool:
        """Whether a call must be awaited."""
        return isinstance(self.node, ast.AsyncFunctionDef)


@dataclass(eq=False)
class Class:
    """A `class`, its methods and its hierarchy inside the tree."""

    node: ast.ClassDef
    qualname: str
    module: Module
    outer: Scope
    scope: Scope = field(init=False)
    methods: dict[str, list[Function]] = field(default_factory=dict)
    #: filled by the project: resolved bases in order, None for one outside of the tree or not found
    bases: list[Class | str | None] = field(default_factory=list)
    children: list[Class] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the class."""
        return self.node.name


@dataclass(frozen=True, eq=False)
class CallSite:
    """A call, a bare decorator (`@timed`) or a bare `raise Error` of something called `name`.

    Parameters
    ----------
    node
        The call; for a bare decorator or raise the expression that names the callee.
    callee
        The expression that names the callee.
    bare
        `""`, `decorator` (called with one positional argument) or `raise` (called with none).
    """

    node: ast.expr
    callee: ast.expr
    name: str
    scope: Scope
    bare: str = ""


@dataclass(frozen=True, eq=False)
class Use:
    """A function, class or attribute used as a value."""

    node: ast.Name | ast.Attribute
    scope: Scope


@dataclass(eq=False)
class Module:
    """Everything the other modules ask about one file."""

    source: Source
    scope: Scope = field(init=False)
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    calls: list[CallSite] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    attribute_stores: list[tuple[ast.Attribute, Scope, ast.expr | None]] = field(default_factory=list)
    star_imports: list[ImportTarget] = field(default_factory=list)
    last_star_line: int = 0
    words: set[str] = field(default_factory=set)  # every name and attribute that is read
    strings: set[str] = field(default_factory=set)
    name_prefixes: set[str] = field(default_factory=set)
    dynamic_access: bool = False
    named_strings: set[str] = field(default_factory=set)  # getattr(x, "name")
    stored_strings: set[str] = field(default_factory=set)  # setattr(x, "name", ...)
    dynamic_store: bool = False
    global_writes: set[str] = field(default_factory=set)

    @property
    def file(self) -> str:
        """Path relative to the base."""
        return self.source.name

    @property
    def is_package(self) -> bool:
        """Whether the file is an `__init__.py`."""
        return self.source.path.name == "__init__.py"
