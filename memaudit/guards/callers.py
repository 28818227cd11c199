"""Who calls a function, and what a parameter can be when it does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memaudit.guards.classes import SAFE_BASES
from memaudit.guards.constructors import Constructors
from memaudit.guards.declared import field_defaults
from memaudit.guards.lattice import Part, Value, filled, join, restricted, unknown
from memaudit.guards.reach import Doubt, Reach, Site, doubt_at
from memaudit.guards.scopes import CallSite, Function
from memaudit.guards.signature import (
    Argument,
    Default,
    Filled,
    Given,
    defaults,
    is_transparent,
    match_arguments,
    parameters,
)
from memaudit.guards.summaries import World
from memaudit.wording import say

_MAX_HOPS = 6
#: Parameters looked at for one question: functions that all call each other have endless paths.
_MAX_STEPS = 200
#: The parameters that a question has gone through, the first asked first.
_Trail = tuple[tuple[Function, str], ...]


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
        self._reach = Reach(world)
        self._constructors = Constructors(self._reach)
        self._found: dict[tuple[Function, str], Entries] = {}
        self._left = 0
        self._inner: dict[tuple[Function, str], Entries] = {}
        self._sites: dict[Function, tuple[list[Site], list[Doubt]]] = {}

    # -- values -------------------------------------------------------------------------------------

    def entries(self, function: Function, name: str) -> Entries:
        """Give what each caller passes for a parameter, its own parameters replaced by what they can be."""
        self._left = _MAX_STEPS
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
            return seen or unknown(say("the call is not reached by the analysis"))
        if isinstance(argument, Default):
            return self.world.default(function, argument.node)
        if isinstance(argument, Filled):
            return filled("object")
        return unknown(say("not passed by name") if argument is None else argument.reason)

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
            return unknown(say("passed on in a recursion")) if part.stale else (), trail.index(key)
        self._left -= 1
        if len(trail) > _MAX_HOPS or self._left < 0:
            return unknown(say("passed on through too many functions")), 0
        found, cut = self._entries(origin.function, origin.param, trail)
        values = [
            entry.value if not entry.doubt else join(entry.value, unknown(entry.doubt)) for entry in found.entries
        ]
        values += [unknown(doubt.reason) for doubt in found.doubts]
        if not found.entries:
            values += self.uncalled(origin.function, origin.param)
        return join(*values), cut

    def uncalled(self, function: Function, name: str) -> list[Value]:
        """Give what a parameter is when nobody in the tree calls: its default, and anything else."""
        standing = field_defaults(function) if name not in names_of(function) else defaults(function)
        values = [unknown(say("no caller in this tree"))]
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
                sites = self._constructors.sites(function, function.klass, doubts)
            else:
                sites = self._plain_sites(function, doubts)
            sites.sort(key=lambda site: (site.call.scope.module.file, site.call.node.lineno))
            self._sites[function] = (sites, sorted(set(doubts), key=lambda d: (d.file, d.line, d.reason)))
        return self._sites[function]

    def _general_doubts(self, function: Function) -> list[Doubt]:
        file, line, name = function.module.file, function.node.lineno, function.name
        doubts = []
        if not is_transparent(function, self.project):
            doubts.append(Doubt(file, line, say("decorated: it may be registered or wrapped")))
        constructor = name in ("__init__", "__post_init__")
        if name.startswith("__") and name.endswith("__") and not constructor:
            doubts.append(Doubt(file, line, say("called by the language itself")))
        known = function.klass.name if constructor and function.klass is not None else name
        if self._is_named_in_text(known):
            doubts.append(Doubt(file, line, say("its name stands in a string, and attributes are read by name")))
        word = re.compile(rb"(?<![A-Za-z0-9_])" + re.escape(known.encode()) + rb"(?![A-Za-z0-9_])")
        if any(word.search(raw) for raw in self.project.unread):
            doubts.append(Doubt(file, line, say("a file that cannot be parsed names it")))
        if function.klass is not None and self.world.is_rewritten(function.klass):
            doubts.append(Doubt(file, line, say("its class is decorated: it may be registered or wrapped")))
        if function.klass is not None:
            outside = [base for base in self.project.outside_bases(function.klass) if base not in SAFE_BASES]
            if outside:
                base = outside[0] or say("a base that is not found")
                doubts.append(Doubt(file, line, say("its class extends code outside of the tree ({base})", base=base)))
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
            reach = self._reach.reaches(function, call.callee, call.scope)
            if reach is None:
                continue
            doubt, skip = reach
            if skip is None:
                doubts.append(doubt_at(call, say("called through a class held in a variable")))
                continue
            arguments = match_arguments(function, call, skip)
            if arguments is not None:
                sites.append(Site(call, arguments, doubt))
            elif not doubt:
                doubts.append(doubt_at(call, say("a call that does not fit the signature")))
        for use in self.project.uses.get(function.name, ()):
            reach = self._reach.reaches(function, use.node, use.scope)
            if reach is not None:
                doubts.append(doubt_at(use, say("used as a value: others may call it")))
        return sites


def names_of(function: Function) -> set[str]:
    """Give the names of the parameters."""
    return {arg.arg for arg in parameters(function)}
