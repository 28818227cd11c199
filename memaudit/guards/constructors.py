"""Who builds objects of a class: the callers of its `__init__` or `__post_init__`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from memaudit.guards.declared import init_fields, is_dataclass, is_keyword_only, synthetic_init
from memaudit.guards.names import External, Unresolved
from memaudit.guards.reach import Doubt, Reach, Site, doubt_at, enclosing_class, is_super
from memaudit.guards.scopes import CallSite, Class, Function
from memaudit.guards.signature import Argument, match_arguments, parameters
from memaudit.wording import say


class Constructors:
    """Finds the calls that build objects, and the ways to build one that stay hidden."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.world = reach.world
        self.project = reach.project

    def sites(self, function: Function, klass: Class, doubts: list[Doubt]) -> list[Site]:
        """Give the calls that run a constructor; what stays hidden is added to `doubts`."""
        builders = self._builders(function, klass)
        sites: list[Site] = []
        names = {one.name for one in builders} | {"cls", "__class__", "type()", "__init__"}
        for name in sorted(names):
            for call in self.project.calls.get(name, ()):
                doubt = self._constructs(call, klass, builders)
                if doubt is None:
                    continue
                skip = not (name == "__init__" and not is_super(call.callee))
                arguments = self._constructor_arguments(function, klass, call, skip)
                if arguments is not None:
                    sites.append(Site(call, arguments, doubt))
                elif not doubt:
                    doubts.append(doubt_at(call, say("a call that does not fit the signature")))
            for use in self.project.uses.get(name, ()):
                if self.project.resolve(use.node, use.scope) in builders or (
                    isinstance(self.project.resolve(use.node, use.scope), Unresolved)
                    and name in {one.name for one in builders}
                    and self.reach.may_be(use.node, use.scope)
                ):
                    doubts.append(doubt_at(use, say("the class is used as a value: others may build objects")))
        for one in builders:
            if one.node.keywords or (
                one.node.decorator_list and not (is_dataclass(one, self.project) and len(one.node.decorator_list) == 1)
            ):
                doubts.append(
                    Doubt(one.module.file, one.node.lineno, say("decorated: it may be registered or wrapped"))
                )
        if function.name == "__post_init__":
            self._dataclass_doubts(function, klass, doubts)
        return sites

    def _builders(self, function: Function, klass: Class) -> list[Class]:
        """Give the classes whose call runs this constructor."""
        found: list[Class] = []
        for child in self.project.descendants(klass):
            owners = [one for one in self.project.ancestors(child) if "__init__" in one.methods]
            if function.name == "__post_init__" or (owners and owners[0] is klass):
                found.append(child)
        return found

    def _constructs(self, call: CallSite, klass: Class, builders: list[Class]) -> str | None:
        """Say whether a call builds one of the classes: "" for sure, a doubt, or None for no."""
        callee, scope = call.callee, call.scope
        family = self.world.relatives(klass)
        if call.name == "__init__" and isinstance(callee, ast.Attribute):
            if is_super(callee):
                return self.reach.through_super(enclosing_class(scope), klass)
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
            return None if call.name == "cls" else say("an object of a class that is not known is built")
        symbol = self.project.resolve(callee, scope)
        if isinstance(symbol, Class):
            return "" if symbol in builders else None
        if isinstance(symbol, Unresolved) and self.reach.may_be(callee, scope):
            return say("`{name}` is not resolved: {reason}", name=ast.unparse(callee), reason=symbol.reason)
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
            doubts.append(Doubt(file, line, say("not a standard dataclass")))
        if klass.bases or klass.children:
            doubts.append(Doubt(file, line, say("a dataclass with a base or a subclass")))
        if len(parameters(function)) > 1 or "__init__" in klass.methods:
            doubts.append(Doubt(file, line, say("a dataclass with its own constructor arguments")))
        if any(name in klass.methods for name in ("__setattr__", "__getattribute__", "__getattr__")):
            doubts.append(Doubt(file, line, say("a dataclass with its own attribute access")))
        if any(name in klass.methods for name in init_fields(klass)) or is_keyword_only(klass):
            doubts.append(Doubt(file, line, say("a dataclass with fields that are not plain")))
        for call in self.project.calls.get("replace", ()):
            symbol = self.project.resolve(call.callee, call.scope)
            if isinstance(symbol, External) and symbol.dotted in ("dataclasses.replace", "copy.replace"):
                doubts.append(doubt_at(call, say("dataclasses.replace may build one")))
        for call in self.project.calls.get("__post_init__", ()):
            doubts.append(doubt_at(call, say("__post_init__ is called directly")))
