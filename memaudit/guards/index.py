"""One pass over a module that fills its scopes, functions, classes, calls and uses."""

from __future__ import annotations

import ast
from collections.abc import Callable

from memaudit.guards.scopes import (
    Binding,
    CallSite,
    Class,
    Function,
    FunctionNode,
    ImportTarget,
    Module,
    Scope,
    Use,
)
from memaudit.guards.tree import Source

_DYNAMIC = frozenset({"getattr", "setattr", "methodcaller", "attrgetter", "__getattribute__", "__setattr__", "delattr"})
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

    def _on_function(self, node: FunctionNode, scope: Scope) -> None:
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
        self._annotation(node.returns, scope)
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
                self._annotation(arg.annotation, outer)
        self.push([*args.defaults, *(d for d in args.kw_defaults if d is not None)], outer)

    def _on_lambda(self, node: ast.Lambda, scope: Scope) -> None:
        inner = self.new_scope("lambda", node, scope)
        self.arguments(node.args, inner, scope)
        self.push(node.body, inner)

    def _on_class(self, node: ast.ClassDef, scope: Scope) -> None:
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

    def _on_comprehension(self, node: ast.AST, scope: Scope) -> None:
        self.children(node, self.new_scope("comp", node, scope))

    def _on_call(self, node: ast.Call, scope: Scope) -> None:
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
        elif name == "type" and len(node.args) == 3:  # a class with attributes that no class body names
            self.module.dynamic_store = True
        self.children(node, scope)

    def dynamic(self, node: ast.Call, name: str) -> None:
        """Note the names of attributes that are read or set by name, or that the name is worked out."""
        stores = name in ("setattr", "delattr", "__setattr__")
        names = _attribute_names(node, name)
        texts = [a.value for a in names if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if not names or len(texts) < len(names):
            self.module.dynamic_access |= not stores
            self.module.dynamic_store |= stores
        if stores:
            self.module.stored_strings.update(texts)
        else:
            self.module.named_strings.update(part for text in texts for part in text.split("."))
        for arg in names:
            if isinstance(arg, ast.JoinedStr) and arg.values and isinstance(arg.values[0], ast.Constant):
                self.module.name_prefixes.add(str(arg.values[0].value))
            elif isinstance(arg, ast.BinOp) and isinstance(arg.left, ast.Constant) and isinstance(arg.left.value, str):
                self.module.name_prefixes.add(arg.left.value)

    def _on_name(self, node: ast.Name, scope: Scope) -> None:
        self.module.words.add(node.id)
        if isinstance(node.ctx, ast.Load):
            scope.loads.add(node.id)
            if id(node) not in self.named:
                self.module.uses.append(Use(node, scope))
        else:
            self.bind(scope, node.id, Binding("other", node))

    def _on_named(self, node: ast.NamedExpr, scope: Scope) -> None:
        outer = scope
        while outer.kind == "comp" and outer.parent is not None:
            outer = outer.parent
        self.bind(outer, node.target.id, Binding("other", node))
        self.push(node.value, scope)

    def _on_attribute(self, node: ast.Attribute, scope: Scope) -> None:
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

    def _on_subscript(self, node: ast.Subscript, scope: Scope) -> None:
        """Note `globals()["f"] = ...` and `x.__dict__["f"] = ...`."""
        holder = node.value
        named = isinstance(holder, ast.Attribute) and holder.attr == "__dict__"
        called = isinstance(holder, ast.Call) and _last_name(holder.func) in ("globals", "vars", "locals")
        if (named or called) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                self.module.stored_strings.add(node.slice.value)
            else:
                self.module.dynamic_store = True
        self.children(node, scope)

    def _annotation(self, node: ast.expr | None, scope: Scope) -> None:
        """Look only at calls inside of an annotation: `Annotated[User, Depends(current_user)]`."""
        stack = [] if node is None else [node]
        while stack:
            part = stack.pop()
            if isinstance(part, ast.Call):
                self.push(part, scope)
            else:
                stack.extend(child for child in ast.iter_child_nodes(part) if isinstance(child, ast.expr))

    def _on_assign(self, node: ast.Assign, scope: Scope) -> None:
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

    def _on_annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        self._annotation(node.annotation, scope)
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

    def _on_import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            if alias.asname:
                target = ImportTarget(alias.name, 0, None)
                self.bind(scope, alias.asname, Binding("import", node, target))
            else:
                head = alias.name.split(".")[0]
                self.bind(scope, head, Binding("import", node, ImportTarget(head, 0, None)))

    def _on_import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            self.module.words.add(alias.name)
            target = ImportTarget(node.module or "", node.level, alias.name)
            if alias.name == "*":
                self.module.star_imports.append(target)
                self.module.last_star_line = max(self.module.last_star_line, node.lineno)
            else:
                self.bind(scope, alias.asname or alias.name, Binding("import", node, target))

    def _on_handler(self, node: ast.ExceptHandler, scope: Scope) -> None:
        self.harmless(node.type)
        if node.name:
            self.bind(scope, node.name, Binding("other", node))
        self.children(node, scope)

    def _on_raise(self, node: ast.Raise, scope: Scope) -> None:
        if node.exc is not None:
            name = _last_name(node.exc)
            if name and not isinstance(node.exc, ast.Call):
                self.named.add(id(node.exc))
                self.module.calls.append(CallSite(node.exc, node.exc, name, scope, "raise"))
        self.children(node, scope)

    def _on_compare(self, node: ast.Compare, scope: Scope) -> None:
        if all(isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) for op in node.ops):
            for side in (node.left, *node.comparators):
                self.named.add(id(side))
        self.children(node, scope)

    def _on_capture(self, node: ast.MatchAs | ast.MatchStar, scope: Scope) -> None:
        if node.name:
            self.bind(scope, node.name, Binding("other", node))
        self.children(node, scope)

    def _on_match_mapping(self, node: ast.MatchMapping, scope: Scope) -> None:
        if node.rest:
            self.bind(scope, node.rest, Binding("other", node))
        self.children(node, scope)

    def _on_match_class(self, node: ast.MatchClass, scope: Scope) -> None:
        self.harmless(node.cls)
        self.children(node, scope)

    def _on_global(self, node: ast.Global, scope: Scope) -> None:
        scope.global_names.update(node.names)
        self.module.global_writes.update(node.names)

    def _on_nonlocal(self, node: ast.Nonlocal, scope: Scope) -> None:
        scope.nonlocal_names.update(node.names)

    def _on_yield(self, node: ast.Yield | ast.YieldFrom, scope: Scope) -> None:
        if isinstance(scope.owner, Function):
            scope.owner.is_generator = True
        self.children(node, scope)

    def _on_constant(self, node: ast.Constant, scope: Scope) -> None:
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


def _attribute_names(node: ast.Call, name: str) -> list[ast.expr]:
    """Give the arguments that name attributes; the object and a value or default beside them do not."""
    if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
        return []
    if name == "attrgetter":
        return node.args
    if name == "methodcaller":
        return node.args[:1]
    # `object.__setattr__(x, "name", value)` has the object before the name, `super().__setattr__("name", value)` has not.
    bound = name.startswith("__") and len(node.args) < (3 if name == "__setattr__" else 2)
    return node.args[:1] if bound else node.args[1:2]


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
        return "type()"  # type(self)(...) builds an object of the same class
    return node.attr if isinstance(node, ast.Attribute) else ""


_HANDLERS: dict[type, Callable[..., None]] = {
    ast.FunctionDef: _Indexer._on_function,
    ast.AsyncFunctionDef: _Indexer._on_function,
    ast.Lambda: _Indexer._on_lambda,
    ast.ClassDef: _Indexer._on_class,
    ast.ListComp: _Indexer._on_comprehension,
    ast.SetComp: _Indexer._on_comprehension,
    ast.DictComp: _Indexer._on_comprehension,
    ast.GeneratorExp: _Indexer._on_comprehension,
    ast.Call: _Indexer._on_call,
    ast.Name: _Indexer._on_name,
    ast.Subscript: _Indexer._on_subscript,
    ast.Attribute: _Indexer._on_attribute,
    ast.Assign: _Indexer._on_assign,
    ast.AnnAssign: _Indexer._on_annotated,
    ast.Import: _Indexer._on_import,
    ast.ImportFrom: _Indexer._on_import_from,
    ast.ExceptHandler: _Indexer._on_handler,
    ast.Raise: _Indexer._on_raise,
    ast.Compare: _Indexer._on_compare,
    ast.MatchAs: _Indexer._on_capture,
    ast.MatchStar: _Indexer._on_capture,
    ast.MatchMapping: _Indexer._on_match_mapping,
    ast.MatchClass: _Indexer._on_match_class,
    ast.Global: _Indexer._on_global,
    ast.Nonlocal: _Indexer._on_nonlocal,
    ast.Yield: _Indexer._on_yield,
    ast.YieldFrom: _Indexer._on_yield,
    ast.NamedExpr: _Indexer._on_named,
    ast.Constant: _Indexer._on_constant,
}
