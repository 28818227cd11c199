"""One pass over a module: scopes, bindings, functions, classes, calls, and uses as a value."""

from __future__ import annotations

import ast
from collections.abc import Callable
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
            name not in child.bindings
            and (child.used_inside(name) or (child.kind != "comp" and name in child.loads))
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


_DYNAMIC = frozenset(
    {"getattr", "setattr", "methodcaller", "attrgetter", "__getattribute__", "__setattr__", "delattr"}
)
_CODE_RUNNERS = frozenset({"exec", "eval", "locals", "vars"})
_TYPE_TESTS = frozenset({"isinstance", "issubclass"})


def index_module(source: Source) -> Module:
    """Index one parsed file."""
    module = Module(source)
    module.scope = Scope("module", source.tree, module, None)
    _Indexer(module).run()
    return module


class _Indexer:
    """Walks with a stack of its own: generated code nests deeper than Python's recursion limit."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.stack: list[tuple[ast.AST, Scope]] = []
        self.named: set[int] = set()  # names already accounted for by their parent

    def run(self) -> None:
        self.push(self.module.source.tree.body, self.module.scope)
        while self.stack:
            node, scope = self.stack.pop()
            handler = _HANDLERS.get(type(node))
            if handler is None:
                self.children(node, scope)
            else:
                handler(self, node, scope)
        _settle(self.module.scope)

    def push(self, nodes: object, scope: Scope) -> None:
        if isinstance(nodes, list):
            self.stack.extend((node, scope) for node in reversed(nodes) if isinstance(node, ast.AST))
        elif isinstance(nodes, ast.AST):
            self.stack.append((nodes, scope))

    def children(self, node: ast.AST, scope: Scope) -> None:
        for name in node._fields:
            child = getattr(node, name, None)
            if isinstance(child, (ast.AST, list)):
                self.push(child, scope)

    def bind(self, scope: Scope, name: str, binding: Binding) -> None:
        scope.bindings.setdefault(name, []).append(binding)

    def harmless(self, node: ast.AST | None) -> None:
        """Mark the names of an expression as no use as a value."""
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(part, ast.BinOp):
                self.harmless(part.left)
                self.harmless(part.right)
            elif part is not None:
                self.named.add(id(part))

    def new_scope(self, kind: str, node: ast.AST, parent: Scope) -> Scope:
        scope = Scope(kind, node, self.module, parent)
        parent.children.append(scope)
        return scope

    def on_function(self, node: FunctionNode, scope: Scope) -> None:
        klass = scope.owner if scope.kind == "class" and isinstance(scope.owner, Class) else None
        prefix = "" if scope.unit.owner is None else scope.unit.owner.qualname + "."
        function = Function(node, prefix + node.name, self.module, scope, klass)
        function.scope = self.new_scope("function", node, scope)
        function.scope.owner = function
        self.module.functions.append(function)
        self.bind(scope, node.name, Binding("def", node, function))
        if klass is not None:
            klass.methods.setdefault(node.name, []).append(function)
        for decorator in node.decorator_list:
            self.decorator(decorator, scope)
        self.arguments(node.args, function.scope, scope)
        self.push(node.body, function.scope)

    def decorator(self, node: ast.expr, scope: Scope) -> None:
        name = _last_name(node)
        if name and not isinstance(node, ast.Call):
            self.named.add(id(node))
            self.module.calls.append(CallSite(node, node, name, scope, "decorator"))
        self.push(node, scope)

    def arguments(self, args: ast.arguments, inner: Scope, outer: Scope) -> None:
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
            if arg is not None:
                inner.bindings.setdefault(arg.arg, []).append(Binding("param", arg))
        self.push([*args.defaults, *(d for d in args.kw_defaults if d is not None)], outer)

    def on_lambda(self, node: ast.Lambda, scope: Scope) -> None:
        inner = self.new_scope("lambda", node, scope)
        self.arguments(node.args, inner, scope)
        self.push(node.body, inner)

    def on_class(self, node: ast.ClassDef, scope: Scope) -> None:
        prefix = "" if scope.unit.owner is None else scope.unit.owner.qualname + "."
        klass = Class(node, prefix + node.name, self.module, scope)
        klass.scope = self.new_scope("class", node, scope)
        klass.scope.owner = klass
        self.module.classes.append(klass)
        self.bind(scope, node.name, Binding("class", node, klass))
        for base in node.bases:
            self.harmless(base)
            if isinstance(base, ast.Subscript):
                self.harmless(base.value)
                self.push(base.value, scope)
            else:
                self.push(base, scope)
        for decorator in node.decorator_list:
            self.decorator(decorator, scope)
        self.push([keyword.value for keyword in node.keywords], scope)
        self.push(node.body, klass.scope)

    def on_comprehension(self, node: ast.AST, scope: Scope) -> None:
        self.children(node, self.new_scope("comp", node, scope))

    def on_call(self, node: ast.Call, scope: Scope) -> None:
        name = _last_name(node.func)
        if name:
            self.named.add(id(node.func))
            self.module.calls.append(CallSite(node, node.func, name, scope))
        if name in _TYPE_TESTS and len(node.args) == 2:
            self.harmless(node.args[1])
        if name in _CODE_RUNNERS and isinstance(node.func, ast.Name):
            scope.unit.runs_code = True
        if name in _DYNAMIC:
            self.dynamic(node, name)
        elif name == "globals":
            self.module.dynamic_access = True
        self.children(node, scope)

    def dynamic(self, node: ast.Call, name: str) -> None:
        stores = name in ("setattr", "delattr", "__setattr__")
        texts = [a.value for a in node.args[:3] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if not texts:
            self.module.dynamic_access |= not stores
            self.module.dynamic_store |= stores
        elif stores:
            self.module.stored_strings.add(texts[0])
        else:
            self.module.named_strings.update(texts)
        for arg in node.args[:2]:
            if isinstance(arg, ast.JoinedStr) and arg.values and isinstance(arg.values[0], ast.Constant):
                self.module.name_prefixes.add(str(arg.values[0].value))
            elif (
                isinstance(arg, ast.BinOp)
                and isinstance(arg.left, ast.Constant)
                and isinstance(arg.left.value, str)
            ):
                self.module.name_prefixes.add(arg.left.value)

    def on_name(self, node: ast.Name, scope: Scope) -> None:
        self.module.words.add(node.id)
        if isinstance(node.ctx, ast.Load):
            scope.loads.add(node.id)
            if id(node) not in self.named:
                self.module.uses.append(Use(node, scope))
        else:
            self.bind(scope, node.id, Binding("other", node))

    def on_named(self, node: ast.NamedExpr, scope: Scope) -> None:
        outer = scope
        while outer.kind == "comp" and outer.parent is not None:
            outer = outer.parent
        self.bind(outer, node.target.id, Binding("other", node))
        self.push(node.value, scope)

    def on_attribute(self, node: ast.Attribute, scope: Scope) -> None:
        self.module.words.add(node.attr)
        if isinstance(node.ctx, ast.Load):
            if id(node) not in self.named:
                self.module.uses.append(Use(node, scope))
            if node.attr == "__dict__":
                self.module.dynamic_access = True
        else:
            self.module.attribute_stores.append((node, scope, None))
        self.named.add(id(node.value))  # `C.x` is no use of C as a value
        self.push(node.value, scope)

    def on_assign(self, node: ast.Assign, scope: Scope) -> None:
        plain = len(node.targets) == 1
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.bind(scope, target.id, Binding("assign" if plain else "other", node.value))
            elif isinstance(target, ast.Attribute) and plain:
                self.module.attribute_stores.append((target, scope, node.value))
                self.named.add(id(target.value))
                self.push(target.value, scope)
            else:
                self.push(target, scope)
        if not (plain and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"):
            self.push(node.value, scope)

    def on_annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        # The annotation is left out: it names types, it passes no values.
        if isinstance(node.target, ast.Name):
            if node.value is not None:
                self.bind(scope, node.target.id, Binding("assign", node.value))
        elif isinstance(node.target, ast.Attribute):
            if node.value is not None:
                self.module.attribute_stores.append((node.target, scope, node.value))
            self.named.add(id(node.target.value))
            self.push(node.target.value, scope)
        else:
            self.push(node.target, scope)
        self.push(node.value, scope)

    def on_import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            if alias.asname:
                target = ImportTarget(alias.name, 0, None)
                self.bind(scope, alias.asname, Binding("import", node, target))
            else:
                head = alias.name.split(".")[0]
                self.bind(scope, head, Binding("import", node, ImportTarget(head, 0, None)))

    def on_import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            self.module.words.add(alias.name)
            target = ImportTarget(node.module or "", node.level, alias.name)
            if alias.name == "*":
                self.module.star_imports.append(target)
            else:
                self.bind(scope, alias.asname or alias.name, Binding("import", node, target))

    def on_handler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        self.harmless(node.type)
        if node.name:
            self.bind(scope, node.name, Binding("other", node))
        self.children(node, scope)

    def on_raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is not None:
            name = _last_name(node.exc)
            if name and not isinstance(node.exc, ast.Call):
                self.named.add(id(node.exc))
                self.module.calls.append(CallSite(node.exc, node.exc, name, scope, "raise"))
        self.children(node, scope)

    def on_compare(self, node: ast.Compare, scope: Scope) -> None:
        if all(isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) for op in node.ops):
            for side in (node.left, *node.comparators):
                self.named.add(id(side))
        self.children(node, scope)

    def on_capture(self, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name:
            self.bind(scope, node.name, Binding("other", node))
        self.children(node, scope)

    def on_match_mapping(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest:
            self.bind(scope, node.rest, Binding("other", node))
        self.children(node, scope)

    def on_match_class(self, node: ast.MatchClass, scope: Scope) -> None:
        self.harmless(node.cls)
        self.children(node, scope)

    def on_global(self, node: ast.Global, scope: Scope) -> None:
        scope.global_names.update(node.names)
        self.module.global_writes.update(node.names)

    def on_nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.nonlocal_names.update(node.names)

    def on_yield(self, node: ast.Yield | ast.YieldFrom, scope: Scope) -> None:
        if isinstance(scope.owner, Function):
            scope.owner.is_generator = True
        self.children(node, scope)

    def on_constant(self, node: ast.Constant, scope: Scope) -> None:
        if isinstance(node.value, str) and len(node.value) < 100 and node.value.isidentifier():
            self.module.strings.add(node.value)


def _settle(scope: Scope) -> None:
    """Move what a scope binds through `global` and `nonlocal` to where it belongs."""
    stack = [scope]
    while stack:
        here = stack.pop()
        stack.extend(here.children)
        for name in here.global_names:
            here.bindings.pop(name, None)
        for name in here.nonlocal_names:
            moved = here.bindings.pop(name, [])
            outer = here.parent
            while outer is not None and (outer.kind == "class" or name not in outer.bindings):
                outer = outer.parent
            if outer is not None:
                outer.bindings[name] = [*outer.bindings[name], *moved]


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
        return "type()"  # type(self)(...) builds an object of the same class
    return node.attr if isinstance(node, ast.Attribute) else ""


_HANDLERS: dict[type, Callable[..., None]] = {
    ast.FunctionDef: _Indexer.on_function,
    ast.AsyncFunctionDef: _Indexer.on_function,
    ast.Lambda: _Indexer.on_lambda,
    ast.ClassDef: _Indexer.on_class,
    ast.ListComp: _Indexer.on_comprehension,
    ast.SetComp: _Indexer.on_comprehension,
    ast.DictComp: _Indexer.on_comprehension,
    ast.GeneratorExp: _Indexer.on_comprehension,
    ast.Call: _Indexer.on_call,
    ast.Name: _Indexer.on_name,
    ast.Attribute: _Indexer.on_attribute,
    ast.Assign: _Indexer.on_assign,
    ast.AnnAssign: _Indexer.on_annotated,
    ast.Import: _Indexer.on_import,
    ast.ImportFrom: _Indexer.on_import_from,
    ast.ExceptHandler: _Indexer.on_handler,
    ast.Raise: _Indexer.on_raise,
    ast.Compare: _Indexer.on_compare,
    ast.MatchAs: _Indexer.on_capture,
    ast.MatchStar: _Indexer.on_capture,
    ast.MatchMapping: _Indexer.on_match_mapping,
    ast.MatchClass: _Indexer.on_match_class,
    ast.Global: _Indexer.on_global,
    ast.Nonlocal: _Indexer.on_nonlocal,
    ast.Yield: _Indexer.on_yield,
    ast.YieldFrom: _Indexer.on_yield,
    ast.NamedExpr: _Indexer.on_named,
    ast.Constant: _Indexer.on_constant,
}
