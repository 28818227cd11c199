"""Who calls a function, and what a parameter can be when it does."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from memaudit.guards.lattice import Part, Value, filled, join, restricted, unknown
from memaudit.guards.names import External, Module, Unresolved
from memaudit.guards.scopes import CallSite, Class, Function, Scope, Use
from memaudit.guards.signature import (
    Argument,
    Default,
    Filled,
    Given,
    binds_first,
    defaults,
    is_dataclass,
    is_transparent,
    match_arguments,
    parameters,
)
from memaudit.guards.summaries import SAFE_BASES, World, init_fields

_MAX_HOPS = 6
#: Method names that Python's own types have: a call of one says nothing about whose method it is.
_COMMON = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float, object, Exception)
    for name in dir(kind)
    if not name.startswith("__")
) | {"close", "read", "write", "open", "send", "run", "start", "stop", "submit", "result", "search", "match"}
AMBIGUOUS = "ambiguous-name: several classes have a method of this name"


#: The parameters that a question has gone through, the first asked first.
_Trail = tuple[tuple[Function, str], ...]


@dataclass(frozen=True)
class Site:
    """A call that reaches a function for sure, or perhaps.

    Parameters
    ----------
    arguments
        What each parameter gets.
    doubt
        Why it may not be a call of this function at all; empty when it is for sure.
    """

    call: CallSite
    arguments: Mapping[str, Argument]
    doubt: str = ""


@dataclass(frozen=True)
class Doubt:
    """A way to call the function that the scan cannot follow."""

    file: str
    line: int
    reason: str


@dataclass(frozen=True)
class Entry:
    """What one caller passes for one parameter."""

    file: str
    line: int
    value: Value
    doubt: str = ""
    function: str = ""
    passes: tuple[tuple[str, str | int | float | bool], ...] = ()


@dataclass(frozen=True)
class Entries:
    """All that is known of a parameter's value on entry."""

    entries: tuple[Entry, ...]
    doubts: tuple[Doubt, ...]


class Callers:
    """Index of the callers of every function, found when asked for."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.project = world.project
        self._found: dict[tuple[Function, str], Entries] = {}
        self._inner: dict[tuple[Function, str], Entries] = {}
        self._sites: dict[Function, tuple[list[Site], list[Doubt]]] = {}

    # -- values -------------------------------------------------------------------------------------

    def entries(self, function: Function, name: str) -> Entries:
        """Give what each caller passes for a parameter, its own parameters replaced by what they can be."""
        return self._entries(function, name, ())[0]

    def _entries(self, function: Function, name: str, trail: _Trail) -> tuple[Entries, int]:
        """Give the entries, and the place in the trail where the search was cut short.

        A result that was cut at a function further up is right for the question asked, not for others:
        only results that depend on nothing above them are kept.
        """
        key = (function, name)
        known = self._found.get(key) or (self._inner.get(key) if trail else None)
        if known is not None:
            return known, len(trail)
        sites, doubts = self.sites(function)
        found = []
        lowest = len(trail)
        for site in sites:
            call = site.call
            value = self._passed(function, site.arguments.get(name), call)
            value, cut = self._expanded(value, (*trail, key))
            lowest = min(lowest, cut)
            passes = self._constants(function, site) if not trail else ()
            file = call.scope.module.file
            found.append(Entry(file, call.node.lineno, value, site.doubt, call.scope.qualname, passes))
        entries = Entries(tuple(found), tuple(doubts))
        if lowest == len(trail) and not trail:
            self._found[key] = entries
        elif lowest == len(trail):
            self._inner[key] = entries
        return entries, lowest

    def _constants(self, function: Function, site: Site) -> tuple[tuple[str, str | int | float | bool], ...]:
        found = []
        for name, argument in site.arguments.items():
            value = self._passed(function, argument, site.call)
            literal = value[0].literal if len(value) == 1 else None
            if isinstance(literal, (str, int, float)) and value[0].steady:
                found.append((name, literal))
        return tuple(found)

    def _passed(self, function: Function, argument: Argument | None, call: CallSite) -> Value:
        if isinstance(argument, Given):
            seen = self.world.flow(call.scope.unit).seen.get(id(argument.node))
            return seen or unknown("the call is not reached by the analysis")
        if isinstance(argument, Default):
            return self.world.default(function, argument.node)
        if isinstance(argument, Filled):
            return filled("object")
        return unknown("not passed by name" if argument is None else argument.reason)

    def _expanded(self, value: Value, trail: _Trail) -> tuple[Value, int]:
        """Replace the parameters in a value by what the callers of their functions pass."""
        lowest = len(trail)
        if not any(part.origin is not None and part.origin.param for part in value):
            return value, lowest
        parts: list[Part] = []
        for part in value:
            if part.origin is None or not part.origin.param:
                parts.append(part)
            else:
                entering, cut = self._entering(part, trail)
                lowest = min(lowest, cut)
                parts += restricted(entering, part)
        return join(tuple(parts)), lowest

    def _entering(self, part: Part, trail: _Trail) -> tuple[Value, int]:
        origin = part.origin
        if origin is None:
            return (part,), len(trail)
        key = (origin.function, origin.param)
        if key in trail:
            # Passed round in a circle: it adds nothing, unless the object changed on the way.
            return unknown("passed on in a recursion") if part.stale else (), trail.index(key)
        if len(trail) > _MAX_HOPS:
            return unknown("passed on through too many functions"), 0
        found, cut = self._entries(origin.function, origin.param, trail)
        values = [
            entry.value if not entry.doubt else join(entry.value, unknown(entry.doubt))
            for entry in found.entries
        ]
        values += [unknown(doubt.reason) for doubt in found.doubts]
        if not found.entries:
            values += self.uncalled(origin.function, origin.param)
        return join(*values), cut

    def uncalled(self, function: Function, name: str) -> list[Value]:
        """Give what a parameter is when nobody in the tree calls: its default, and anything else."""
        standing = field_defaults(function) if name not in names_of(function) else defaults(function)
        values = [unknown("no caller in this tree")]
        node = standing.get(name)
        if node is not None:
            values.append(self.world.default(function, node))
        return values

    # -- sites --------------------------------------------------------------------------------------

    def sites(self, function: Function) -> tuple[list[Site], list[Doubt]]:
        """Give the calls of a function in file and line order, and the ways to call it that stay hidden."""
        if function not in self._sites:
            doubts = self._general_doubts(function)
            if function.name in ("__init__", "__post_init__") and function.klass is not None:
                sites = self._constructor_sites(function, function.klass, doubts)
            else:
                sites = self._plain_sites(function, doubts)
            sites.sort(key=lambda site: (site.call.scope.module.file, site.call.node.lineno))
            self._sites[function] = (sites, sorted(set(doubts), key=lambda d: (d.file, d.line, d.reason)))
        return self._sites[function]

    def _general_doubts(self, function: Function) -> list[Doubt]:
        file, line, name = function.module.file, function.node.lineno, function.name
        doubts = []
        if not is_transparent(function, self.project):
            doubts.append(Doubt(file, line, "decorated: it may be registered or wrapped"))
        constructor = name in ("__init__", "__post_init__")
        if name.startswith("__") and name.endswith("__") and not constructor:
            doubts.append(Doubt(file, line, "called by the language itself"))
        known = function.klass.name if constructor and function.klass is not None else name
        if self._is_named_in_text(known):
            doubts.append(Doubt(file, line, "its name stands in a string, and attributes are read by name"))
        if any(known.encode() in raw for raw in self.project.unread):
            doubts.append(Doubt(file, line, "a file that cannot be parsed names it"))
        if function.klass is not None:
            outside = [base for base in self.project.outside_bases(function.klass) if base not in SAFE_BASES]
            if outside:
                base = outside[0] or "a base that is not found"
                doubts.append(Doubt(file, line, f"its class extends code outside of the tree ({base})"))
        return doubts

    def _is_named_in_text(self, name: str) -> bool:
        project = self.project
        return (
            name in project.named_strings
            or (project.dynamic_access and name in project.strings)
            or name.startswith(project.name_prefixes)
        )

    def _plain_sites(self, function: Function, doubts: list[Doubt]) -> list[Site]:
        sites: list[Site] = []
        for call in self.project.calls.get(function.name, ()):
            reach = self._reaches(function, call.callee, call.scope)
            if reach is None:
                continue
            doubt, skip = reach
            if skip is None:
                doubts.append(_doubt(call, "called through a class held in a variable"))
                continue
            arguments = match_arguments(function, call, skip)
            if arguments is not None:
                sites.append(Site(call, arguments, doubt))
            elif not doubt:
                doubts.append(_doubt(call, "a call that does not fit the signature"))
        for use in self.project.uses.get(function.name, ()):
            reach = self._reaches(function, use.node, use.scope)
            if reach is not None:
                doubts.append(_doubt(use, "used as a value: others may call it"))
        return sites

    def _reaches(self, function: Function, callee: ast.expr, scope: Scope) -> tuple[str, bool | None] | None:
        """Say whether an expression means the function: (doubt, first argument bound), None for no."""
        symbol = self.project.resolve(callee, scope)
        if symbol is function:
            return "", False
        if function.klass is None:
            if isinstance(symbol, Unresolved) and self._may_be(callee, scope):
                return f"`{ast.unparse(callee)}` is not resolved: {symbol.reason}", False
            return None
        if not isinstance(callee, ast.Attribute) or not isinstance(symbol, Unresolved):
            return None
        return self._reaches_method(function, function.klass, callee, scope)

    def _may_be(self, callee: ast.expr, scope: Scope) -> bool:
        """Whether an unresolved name can mean a function at the top of some module."""
        if isinstance(callee, ast.Name):
            return True
        if isinstance(callee, ast.Attribute):
            owner = self.project.resolve(callee.value, scope)
            if isinstance(owner, Unresolved):
                # An imported module that is not found; any other object holds no module's functions.
                root = callee.value
                while isinstance(root, ast.Attribute):
                    root = root.value
                return isinstance(root, ast.Name) and "is not a plain name" not in owner.reason
            return isinstance(owner, Module)
        return False

    def _reaches_method(
        self, function: Function, klass: Class, callee: ast.Attribute, scope: Scope
    ) -> tuple[str, bool | None] | None:
        world, receiver = self.world, callee.value
        bound = binds_first(function, self.project)
        owner = self.project.resolve(receiver, scope)
        family = world.relatives(klass)
        if isinstance(owner, Class):
            return ("", bound == "class") if owner in family else None
        if isinstance(owner, (Module, External)):
            return None
        own = world.self_class(receiver, scope)
        if own is not None:
            if own not in family:
                return None
            through_class = isinstance(receiver, ast.Name) and not world.is_instance_name(receiver, scope)
            return "", bound == "class" or (bound == "instance" and not through_class)
        if isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super":
            doubt = self._through_super(_enclosing_class(scope), klass)
            return None if doubt is None else (doubt, bound != "static")
        exact = self._exact_class(receiver, scope)
        if exact is not None:
            return ("", bound != "static") if klass in self.project.ancestors(exact) else None
        if bound == "instance" and isinstance(receiver, ast.Name):
            if receiver.id in ("cls", "klass") or receiver.id[:1].isupper():
                return "", None
        definers = self.project.methods.get(function.name, [])
        if function.name in _COMMON or any(one.klass is None or one.klass not in family for one in definers):
            return AMBIGUOUS, bound != "static"
        return "", bound != "static"

    def _through_super(self, inside: Class | None, klass: Class) -> str | None:
        """Say whether `super()` in a class can mean another: "" for sure, a doubt, or None for no."""
        if inside is None or klass in self.project.descendants(inside):
            return None  # super() goes up: never to the class itself nor to one derived from it
        if klass in self.project.ancestors(inside):
            return ""
        if klass in self.world.relatives(inside):
            return "super() in a class that is combined with it by multiple inheritance"
        return None

    def _exact_class(self, receiver: ast.expr, scope: Scope) -> Class | None:
        if isinstance(receiver, ast.Attribute):
            found = self.world.attribute_class(receiver, scope)
            if found is not None:
                return found
        seen = self.world.flow(scope.unit).seen.get(id(receiver), ())
        owners = {part.owner for part in seen}
        only = owners.pop() if len(owners) == 1 else None
        return only if isinstance(only, Class) and not any(part.none for part in seen) else None

    # -- constructors -------------------------------------------------------------------------------

    def _constructor_sites(self, function: Function, klass: Class, doubts: list[Doubt]) -> list[Site]:
        builders = self._builders(function, klass)
        sites: list[Site] = []
        names = {one.name for one in builders} | {"cls", "__class__", "type()", "__init__"}
        for name in sorted(names):
            for call in self.project.calls.get(name, ()):
                doubt = self._constructs(call, klass, builders)
                if doubt is None:
                    continue
                skip = not (name == "__init__" and not _is_super(call.callee))
                arguments = self._constructor_arguments(function, klass, call, skip)
                if arguments is not None:
                    sites.append(Site(call, arguments, doubt))
                elif not doubt:
                    doubts.append(_doubt(call, "a call that does not fit the signature"))
            for use in self.project.uses.get(name, ()):
                if self.project.resolve(use.node, use.scope) in builders or (
                    isinstance(self.project.resolve(use.node, use.scope), Unresolved)
                    and name in {one.name for one in builders}
                    and self._may_be(use.node, use.scope)
                ):
                    doubts.append(_doubt(use, "the class is used as a value: others may build objects"))
        for one in builders:
            if one.node.keywords or (
                one.node.decorator_list
                and not (is_dataclass(one, self.project) and len(one.node.decorator_list) == 1)
            ):
                doubts.append(
                    Doubt(one.module.file, one.node.lineno, "decorated: it may be registered or wrapped")
                )
        if function.name == "__post_init__":
            self._dataclass_doubts(function, klass, doubts)
        return sites

    def _builders(self, function: Function, klass: Class) -> list[Class]:
        """Give the classes whose call runs this constructor."""
        found: list[Class] = []
        for child in self.project.descendants(klass):
            if child is klass or function.name == "__post_init__" or "__init__" not in child.methods:
                found.append(child)
        return found

    def _constructs(self, call: CallSite, klass: Class, builders: list[Class]) -> str | None:
        """Say whether a call builds one of the classes: "" for sure, a doubt, or None for no."""
        callee, scope = call.callee, call.scope
        family = self.world.relatives(klass)
        if call.name == "__init__" and isinstance(callee, ast.Attribute):
            if _is_super(callee):
                return self._through_super(_enclosing_class(scope), klass)
            owner = self.project.resolve(callee.value, scope)
            return "" if isinstance(owner, Class) and owner in family else None
        if call.name in ("cls", "__class__", "type()"):
            subject: ast.expr = callee
            if isinstance(callee, ast.Attribute):
                subject = callee.value
            elif isinstance(callee, ast.Call):
                subject = callee.args[0] if callee.args else callee
            own = self.world.self_class(subject, scope)
            if own is not None:
                return "" if own in family else None
            # A class that is passed on as a value is a doubt of its own, where it is passed.
            return None if call.name == "cls" else "an object of a class that is not known is built"
        symbol = self.project.resolve(callee, scope)
        if isinstance(symbol, Class):
            return "" if symbol in builders else None
        if isinstance(symbol, Unresolved) and self._may_be(callee, scope):
            return f"`{ast.unparse(callee)}` is not resolved: {symbol.reason}"
        return None

    def _constructor_arguments(
        self, function: Function, klass: Class, call: CallSite, skip: bool
    ) -> Mapping[str, Argument] | None:
        if function.name == "__init__":
            return match_arguments(function, call, skip)
        return match_arguments(synthetic_init(function, klass), call, False)

    def _dataclass_doubts(self, function: Function, klass: Class, doubts: list[Doubt]) -> None:
        file, line = klass.module.file, klass.node.lineno
        if not is_dataclass(klass, self.project):
            doubts.append(Doubt(file, line, "not a standard dataclass"))
        if klass.bases or klass.children:
            doubts.append(Doubt(file, line, "a dataclass with a base or a subclass"))
        if len(parameters(function)) > 1 or "__init__" in klass.methods:
            doubts.append(Doubt(file, line, "a dataclass with its own constructor arguments"))
        if any(name in klass.methods for name in ("__setattr__", "__getattribute__", "__getattr__")):
            doubts.append(Doubt(file, line, "a dataclass with its own attribute access"))
        if any(name in klass.methods for name in init_fields(klass)) or _is_keyword_only(klass):
            doubts.append(Doubt(file, line, "a dataclass with fields that are not plain"))
        for call in self.project.calls.get("replace", ()):
            symbol = self.project.resolve(call.callee, call.scope)
            if isinstance(symbol, External) and symbol.dotted in ("dataclasses.replace", "copy.replace"):
                doubts.append(_doubt(call, "dataclasses.replace may build one"))
        for call in self.project.calls.get("__post_init__", ()):
            doubts.append(_doubt(call, "__post_init__ is called directly"))


def names_of(function: Function) -> set[str]:
    """Give the names of the parameters."""
    return {arg.arg for arg in parameters(function)}


def field_defaults(function: Function) -> dict[str, ast.expr]:
    """Give the defaults of the dataclass fields behind a `__post_init__`."""
    found: dict[str, ast.expr] = {}
    if function.klass is None:
        return found
    wanted = set(init_fields(function.klass))
    for statement in function.klass.node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        node = statement.value
        if statement.target.id not in wanted or node is None:
            continue
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "field":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if "default" in given:
                found[statement.target.id] = given["default"]
            elif "default_factory" in given:
                found[statement.target.id] = ast.copy_location(
                    ast.Call(given["default_factory"], [], []), node
                )
        else:
            found[statement.target.id] = node
    return found


def synthetic_init(function: Function, klass: Class) -> Function:
    """Give a function with the signature that `dataclass` writes for the class."""
    standing = field_defaults(function)
    names = init_fields(klass)
    # A field without a default behind one with a default is no valid dataclass: Python refuses it.
    node = ast.FunctionDef(
        name="__init__",
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(name) for name in names],
            vararg=None,
            kwonlyargs=[],
            kw_defaults=[],
            kwarg=None,
            defaults=[standing[name] for name in names if name in standing],
        ),
        body=[],
        decorator_list=[],
        lineno=function.node.lineno,
        col_offset=0,
    )
    made = Function(node, function.qualname, function.module, klass.scope, klass)
    made.scope = function.scope
    return made


def _is_keyword_only(klass: Class) -> bool:
    return "kw_only" in " ".join(
        ast.unparse(node)
        for node in (*klass.node.decorator_list, *klass.node.body[:50])
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ) or "KW_ONLY" in ast.unparse(ast.Module(list(klass.node.body), []))


def _is_super(callee: ast.expr) -> bool:
    return (
        isinstance(callee, ast.Attribute)
        and isinstance(callee.value, ast.Call)
        and getattr(callee.value.func, "id", "") == "super"
    )


def _enclosing_class(scope: Scope) -> Class | None:
    here: Scope | None = scope
    while here is not None:
        if isinstance(here.owner, Class):
            return here.owner
        here = here.parent
    return None


def _doubt(at: CallSite | Use, reason: str) -> Doubt:
    return Doubt(at.scope.module.file, at.node.lineno, reason)
