"""Rewrite a function so that it reports its conditions, look-ups and statements to a recorder."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass

from memaudit.domain.scopes import constant_locals, local_names
from memaudit.domain.sites import Branch, Point, Site, Tables
from memaudit.domain.target_spec import FunctionNode
from memaudit.domain.trace import WATCHED

_OPS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


@dataclass(frozen=True)
class Replacement:
    """Another name to call instead, with expressions to put before the arguments; no name: the run tells which."""

    name: str
    before: tuple[ast.expr, ...] = ()
    label: str = ""


class Rewriter(ast.NodeTransformer):
    """Rewrites one definition; numbers go on from those already in `tables`."""

    def __init__(
        self,
        tables: Tables,
        file: str,
        node: FunctionNode,
        bound_first: str | None,
        resolve: Callable[[ast.expr, set[str], bool], Replacement | None],
    ) -> None:
        self.tables = tables
        self.file = file
        self._resolve = resolve
        self._unused: set[int] = set()
        self.local = local_names(node) - ({bound_first} if bound_first else set())
        self.const_local = constant_locals(node, self.local)
        self._group: int | None = None
        self._handler = 0
        self._last_branch: Branch | None = None

    def rewrite(self, node: FunctionNode) -> FunctionNode:
        """Give a rewritten copy, without decorators but static and class method, without annotations."""
        new = copy.deepcopy(node)
        new.decorator_list = [
            d for d in new.decorator_list if isinstance(d, ast.Name) and d.id in ("staticmethod", "classmethod")
        ]
        _strip_annotations(new)
        new.body = self._body(new.body)
        ast.fix_missing_locations(new)
        return new

    # -- statements -------------------------------------------------------------------------------------
    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        leaving: list[tuple[Branch, int, int]] = []
        for index, statement in enumerate(body):
            is_doc = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if (is_doc and index == 0) or isinstance(statement, (ast.Global, ast.Nonlocal)):
                out.append(statement)
                continue
            point = self._point(statement, type(statement).__name__.lower())
            mark = ast.Expr(_call("memaudit_point", ast.Constant(point)))
            ast.copy_location(mark, statement)
            if isinstance(statement, ast.Expr):
                self._unused.add(id(statement.value))
            leaves = isinstance(statement, ast.If) and not statement.orelse and _always_leaves(statement.body)
            self._last_branch = None
            out += [mark, self.visit(statement)]
            if leaves and self._last_branch is not None:
                leaving.append((self._last_branch, len(self.tables.points), len(self.tables.sites)))
        for branch, first, first_site in leaving:
            # What follows an `if` that leaves the block is its other side.
            branch.orelse += tuple(range(first, len(self.tables.points)))
            branch.after_sites += tuple(range(first_site, len(self.tables.sites)))
        return out

    def _point(self, node: ast.stmt | ast.expr, what: str) -> int:
        self.tables.points.append(Point(self.file, node.lineno, what, self._handler > 0))
        return len(self.tables.points) - 1

    def generic_visit(self, node: ast.AST) -> ast.AST:  # noqa: D102
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(value, list) and value:
                if isinstance(value[0], ast.stmt):
                    setattr(node, name, self._body(value))
            elif isinstance(value, list):
                setattr(node, name, [self.visit(i) if isinstance(i, ast.AST) else i for i in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:  # noqa: D102
        self._handler += 1
        node.body = self._body(node.body)
        self._handler -= 1
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: D102
        _strip_annotations(node)
        node.body = self._body(node.body)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:  # noqa: D102
        _strip_annotations(node)
        node.body = self._body(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: D102
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        node.annotation = ast.copy_location(ast.Constant(None), node)
        node.value = self.visit(node.value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:  # noqa: D102
        value = self.visit(node.value) if node.value is not None else ast.Constant(None)
        point = self._point(node, "return value")
        node.value = _call("memaudit_return", ast.Constant(point), value)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:  # noqa: D102
        constant = self._is_fixed(node.test)
        simple = constant or _is_disjunction(node.test)
        first_site = len(self.tables.sites)
        if constant:
            self.tables.constants.append(f"{ast.unparse(node.test)} (line {node.lineno})")
        else:
            node.test = self._test(node.test)
        test_sites = tuple(range(first_site, len(self.tables.sites)))
        first = len(self.tables.points)
        inner = len(self.tables.sites)
        node.body = self._body(node.body)
        middle = len(self.tables.points)
        inner_sites = tuple(range(inner, len(self.tables.sites)))
        node.orelse = self._body(node.orelse)
        body, orelse = tuple(range(first, middle)), tuple(range(middle, len(self.tables.points)))
        if simple:
            self.tables.branches.append(Branch(test_sites, body, inner_sites, orelse))
            self._last_branch = self.tables.branches[-1]
        return node

    def visit_While(self, node: ast.While) -> ast.AST:  # noqa: D102
        if not self._is_fixed(node.test):
            node.test = self._test(node.test)
        node.body = self._body(node.body)
        node.orelse = self._body(node.orelse)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: D102
        node.test = self._test(node.test)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:  # noqa: D102
        values = [value for case in node.cases for value in _case_values(case.pattern)]
        site = self._site(node.subject, node.subject)
        subject = self.visit(node.subject)
        if values:
            table = ast.Tuple(values, ast.Load())
            subject = ast.copy_location(_call("memaudit_match", ast.Constant(site), subject, table), subject)
        else:
            self.tables.sites.pop()
            for column in (self.tables.left_const, self.tables.right_const, self.tables.group_site):
                column.pop()
        node.subject = subject
        node.cases = [self.visit(case) for case in node.cases]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:  # noqa: D102
        if not isinstance(node.op, ast.BitAnd):
            node.left, node.right = self.visit(node.left), self.visit(node.right)
            return node
        site = self._site(node, node.left, node.right)
        new = _call("memaudit_both", ast.Constant(site), self.visit(node.left), self.visit(node.right))
        return ast.copy_location(new, node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:  # noqa: D102
        if node.guard is not None:
            node.guard = self._test(node.guard)
        node.body = self._body(node.body)
        return node

    # -- conditions -------------------------------------------------------------------------------------
    def _site(self, node: ast.expr, left: ast.expr | None = None, right: ast.expr | None = None) -> int:
        tables = self.tables
        tables.sites.append(Site(self.file, node.lineno, node.col_offset, ast.unparse(node)[:120]))
        tables.left_const.append(left is not None and self._is_const(left))
        tables.right_const.append(right is not None and self._is_const(right))
        tables.group_site.append(self._group)
        return len(tables.sites) - 1

    def _is_fixed(self, node: ast.expr) -> bool:
        """Tell whether an expression reads neither locals nor calls anything: a setting of the module."""
        for part in ast.walk(node):
            if isinstance(part, (ast.Call, ast.Await, ast.NamedExpr)):
                return False
            if isinstance(part, ast.Name) and part.id in self.local:
                return False
            if isinstance(part, ast.Attribute) and not _is_module_like(part):
                return False
        return True

    def _is_const(self, node: ast.expr) -> bool:
        return not any(
            isinstance(part, ast.Name) and part.id in self.local and part.id not in self.const_local
            for part in ast.walk(node)
        )

    def _test(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression of which only the truth counts."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            group, self._group = self._group, None
            node.operand = self._test(node.operand)
            self._group = group
            return node
        if isinstance(node, ast.BoolOp):
            return self._bool_op(node, last_is_test=True)
        new: ast.expr = self.visit(node)
        if _reports_itself(node) or self._is_fixed(node):
            return new
        return ast.copy_location(_call("memaudit_truth", ast.Constant(self._site(node)), new), node)

    def _bool_op(self, node: ast.BoolOp, *, last_is_test: bool) -> ast.expr:
        plain = copy.copy(node)
        group = self._group
        is_or = isinstance(node.op, ast.Or)
        self._group = None
        site = self._site(node) if is_or else -1
        self._group = group if is_or and group is not None else (site if is_or else None)
        own = is_or and group is None
        values = [self._test(value) for value in node.values[:-1]]
        values.append(self._test(node.values[-1]) if last_is_test else self.visit(node.values[-1]))
        self._group = group
        if not own:
            node.values = values
            return node
        opened = _call("memaudit_open", ast.Constant(site))
        new = ast.BoolOp(ast.Or(), [opened, *values])
        return ast.copy_location(_call("memaudit_close", ast.Constant(site), new), plain)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:  # noqa: D102
        return self._bool_op(node, last_is_test=False)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: D102
        if isinstance(node.op, ast.Not):
            return self._test(node)
        node.operand = self.visit(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:  # noqa: D102
        group, self._group = self._group, None
        simple = self._is_fixed(node.test) or _is_disjunction(node.test)
        first_site = len(self.tables.sites)
        node.test = self._test(node.test)
        sites = tuple(range(first_site, len(self.tables.sites)))
        first = len(self.tables.points)
        node.body = self._arm(node.body)
        middle = len(self.tables.points)
        inner = tuple(range(sites[-1] + 1 if sites else first_site, len(self.tables.sites)))
        node.orelse = self._arm(node.orelse)
        self._group = group
        if simple:
            body, other = range(first, middle), range(middle, len(self.tables.points))
            self.tables.branches.append(Branch(sites, tuple(body), inner, tuple(other)))
        return node

    def _arm(self, node: ast.expr) -> ast.expr:
        point = self._point(node, "arm of a conditional expression")
        mark = ast.Subscript(
            ast.Tuple([_call("memaudit_point", ast.Constant(point)), self.visit(node)], ast.Load()),
            ast.Constant(1),
            ast.Load(),
        )
        return ast.copy_location(mark, node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:  # noqa: D102
        group, self._group = self._group, None
        node.iter = self.visit(node.iter)
        node.ifs = [self._test(condition) for condition in node.ifs]
        self._group = group
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: D102
        plain = copy.deepcopy(node)
        group, self._group = self._group, None
        node.left = self.visit(node.left)
        node.comparators = [self.visit(part) for part in node.comparators]
        self._group = group
        if self._is_fixed(plain):
            return node
        if len(node.ops) > 1:
            return ast.copy_location(self._chain(plain, node), plain)
        site = self._site(plain, plain.left, plain.comparators[0])
        op = ast.Constant(_OPS[type(node.ops[0])])
        new = _call("memaudit_compare", ast.Constant(site), op, node.left, node.comparators[0])
        return ast.copy_location(new, plain)

    def _chain(self, plain: ast.Compare, node: ast.Compare) -> ast.expr:
        """Report `1 <= n < 5` as a whole and, once its operands are known, each of its comparisons."""
        whole = self._site(plain)
        operands = [plain.left, *plain.comparators]
        parts: list[int] = [
            self._site(ast.copy_location(ast.Compare(left, [op], [right]), plain), left, right)
            for left, op, right in zip(operands, plain.ops, operands[1:], strict=False)
        ]
        kept = [_call("memaudit_operand", ast.Constant(whole), value) for value in (node.left, *node.comparators)]
        node.left, node.comparators = kept[0], [*kept[1:]]
        facts: list[ast.expr] = [
            ast.Tuple([ast.Constant(part), ast.Constant(_OPS[type(op)])], ast.Load())
            for part, op in zip(parts, node.ops, strict=True)
        ]
        table = ast.Tuple(facts, ast.Load())
        return _call("memaudit_chain", ast.Constant(whole), table, _call("memaudit_begin"), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: D102
        plain = copy.deepcopy(node)
        node.value = self.visit(node.value)
        node.slice = self.visit(node.slice)
        simple = isinstance(plain.slice, (ast.Constant, ast.Slice, ast.UnaryOp, ast.Tuple))
        if simple or not isinstance(node.ctx, ast.Load):
            return node
        site = self._site(plain, plain.value, plain.slice)
        return ast.copy_location(_call("memaudit_item", ast.Constant(site), node.value, node.slice), plain)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: D102
        plain = copy.copy(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("any", "all") and name not in self.local and len(node.args) == 1 and not node.keywords:
            outer, self._group = self._group, None
            site = self._site(node)
            self._group = site if name == "any" else None
            argument = self._any_argument(node.args[0])
            self._group = outer
            return ast.copy_location(_call(f"memaudit_{name}", ast.Constant(site), argument), plain)
        group, self._group = self._group, None
        if isinstance(node.func, ast.Attribute) and node.func.attr in WATCHED:
            self._group = group
            site = self._site(plain, node.func.value)
            self._group = None
            method = ast.Constant(node.func.attr)
            owner = self.visit(node.func.value)
            arguments = [self.visit(argument) for argument in node.args]
            new = _call("memaudit_call", ast.Constant(site), owner, method, *arguments)
            new.keywords = [self.visit(keyword) for keyword in node.keywords]
            self._group = group
            return ast.copy_location(new, plain)
        if name == "isinstance" and name not in self.local and len(node.args) == 2:
            arguments = [self.visit(argument) for argument in node.args]
            self._group = group
            new = _call("memaudit_type", ast.Constant(self._site(plain)), *arguments)
            return ast.copy_location(new, plain)
        used = id(plain) not in self._unused and id(node) not in self._unused
        other = self._resolve(node.func, self.local, used)
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        self._group = group
        if other is not None and not other.name:
            label, counts = ast.Constant(other.label), ast.Constant(used)
            node.func = ast.copy_location(_call("memaudit_follow", label, counts, self.visit(node.func)), node.func)
        elif other is not None:
            node.args = [*other.before, *node.args]
            node.func = ast.copy_location(ast.Name(other.name, ast.Load()), node.func)
        elif not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a project function that is handed on as a value by its rewritten copy."""
        if isinstance(node.ctx, ast.Load) and node.id not in self.local:
            other = self._resolve(node, self.local, False)
            if other is not None and other.name:
                return ast.copy_location(ast.Name(other.name, ast.Load()), node)
        return node

    def _any_argument(self, node: ast.expr) -> ast.expr:
        """Rewrite what `any` runs over: each element is one alternative of the group."""
        if not isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
            new: ast.expr = self.visit(node)
            return new
        node.generators = [self.visit(part) for part in node.generators]
        if self.tables and len(node.generators) > 0:
            node.elt = self._test(node.elt)
        return node


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _reports_itself(node: ast.expr) -> bool:
    if isinstance(node, (ast.Compare, ast.Constant)):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in ("any", "all", "isinstance")
        if isinstance(node.func, ast.Attribute):
            name = node.func.attr
            return name in ("startswith", "endswith") or (name.startswith("is") and name in WATCHED)
    return False


def _is_disjunction(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return isinstance(node.op, ast.Or) and all(_is_disjunction(value) for value in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "any":
        elt = getattr(node.args[0], "elt", None) if node.args else None
        return elt is not None and _is_disjunction(elt)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.Eq))
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WATCHED


def _case_values(pattern: ast.pattern) -> list[ast.expr]:
    if isinstance(pattern, ast.MatchOr):
        return [value for part in pattern.patterns for value in _case_values(part)]
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return _case_values(pattern.pattern)
    return [copy.deepcopy(pattern.value)] if isinstance(pattern, ast.MatchValue) else []


def _always_leaves(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _always_leaves(last.body) and _always_leaves(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _is_module_like(node: ast.Attribute) -> bool:
    return isinstance(node.value, (ast.Name, ast.Attribute))


def _strip_annotations(node: FunctionNode) -> None:
    node.returns = None
    args = node.args
    for argument in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if argument is not None:
            argument.annotation = None
