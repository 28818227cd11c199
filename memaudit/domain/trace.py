"""What the instrumented copy of the target reports while it runs: conditions, literals, lines."""

from __future__ import annotations

import contextlib
import itertools
import operator
import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from memaudit.domain.preds import KEYWORD_KINDS, Event, Pred, PredKey, literal_key

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "is": operator.is_, "is not": operator.is_not,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
_NEGATED = frozenset({"!=", "not in", "is not"})
_REGEX = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "split"})
_SETS = frozenset({"intersection", "isdisjoint", "issubset", "issuperset"})
_SEPARATORS = frozenset({"split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix", "replace"})
_FINDERS = frozenset({"find", "rfind", "index", "rindex", "count"})
_FLAGS = frozenset(
    {"isdigit", "isalpha", "isascii", "isupper", "islower", "isspace", "isalnum", "istitle", "isnumeric",
     "isdecimal", "isidentifier"}
)  # fmt: skip
#: Method calls that are reported; a call of one of them in any other class is passed on unchanged.
WATCHED = frozenset({"startswith", "endswith", "get", "pop"}) | _REGEX | _SETS | _SEPARATORS | _FINDERS | _FLAGS
_MAX_ELEMENTS = 600
_SCALARS = (str, int, float, bool, type(None), bytes)


class Recorder:
    """Receives the calls that :mod:`memaudit.domain.rewrite` puts into the copy."""

    def __init__(self) -> None:
        self.preds: dict[PredKey, Pred] = {}
        self.events: set[Event] = set()
        self.points: set[int] = set()
        self.exit: int | None = None
        self.haystacks: dict[int, list[str]] = {}
        self.variant = 0
        #: The current input has values of another type than expected.
        self.odd = False
        #: The current input has numbers or lengths that are the same in both variants.
        self.exact = False
        #: (leaf, marker in lower case) of the current input.
        self.markers: list[tuple[str, str]] = []
        self.input_ints: set[int] = set()
        self.input_ids: set[int] = set()
        #: Places that were come to, whether or not there was something to record.
        self.visited: set[int] = set()
        #: Tables with more keys than are tried.
        self.too_large: set[int] = set()
        #: Places known from an enumeration to look into a container of the input (replay only).
        self.element_sites: set[int] = set()
        self.left_const: list[bool] = []
        self.right_const: list[bool] = []
        self.group_site: list[int | None] = []
        self._n_literals: dict[int, int] = {}
        self._taints: dict[str, frozenset[str]] = {}
        self._groups: list[tuple[int, list[PredKey]]] = []
        #: Places of the single comparisons of a chain: worth trying, but the chain is what decides.
        self.chain_parts: set[int] = set()
        self._operands: list[tuple[int, Any]] = []

    # -- one call ---------------------------------------------------------------------------------------
    def start(
        self,
        variant: int,
        markers: list[tuple[str, str]],
        ints: set[int],
        ids: set[int],
        *,
        odd: bool = False,
        exact: bool = False,
    ) -> None:
        """Forget the last call and prepare for one with these markers."""
        self.events, self.points, self.exit, self.haystacks = set(), set(), None, {}
        self.variant, self.markers, self.input_ints, self.input_ids = variant, markers, ints, ids
        self._taints, self._groups, self.odd, self.exact = {}, [], odd, exact
        self._operands = []

    def forget(self) -> None:
        """Forget all conditions, for a search with other markers."""
        self.preds.clear()
        self.visited.clear()
        self.too_large.clear()
        self._n_literals.clear()

    def names(self) -> dict[str, Any]:
        """Give the names that the rewritten code calls; none starts with two underscores (mangling)."""
        return {
            "memaudit_point": self.points_add, "memaudit_compare": self.compare, "memaudit_truth": self.truth,
            "memaudit_call": self.call, "memaudit_item": self.item, "memaudit_type": self.type_test,
            "memaudit_any": self.any_of, "memaudit_all": self.all_of, "memaudit_open": self.open_group,
            "memaudit_close": self.close_group, "memaudit_match": self.match, "memaudit_both": self.both_of,
            "memaudit_return": self.returned, "memaudit_begin": self.begin, "memaudit_operand": self.operand,
            "memaudit_chain": self.chain,
        }  # fmt: skip

    def points_add(self, point: int) -> None:
        """Note that a statement starts."""
        self.points.add(point)

    def returned(self, point: int, value: Any) -> Any:
        """Note that a return value was worked out."""
        self.points.add(point)
        self.exit = point
        return value

    # -- taint ------------------------------------------------------------------------------------------
    def taints(self, value: Any) -> frozenset[str]:
        """Give the leaves whose marker stands in a text (or in an element of a container of texts)."""
        if isinstance(value, str):
            found = self._taints.get(value)
            if found is None:
                low = value.lower()
                found = frozenset(leaf for leaf, marker in self.markers if marker in low)
                self._taints[value] = found
            return found
        if isinstance(value, (list, tuple, set, frozenset)) and len(value) <= _MAX_ELEMENTS:
            return frozenset(leaf for item in value if isinstance(item, str) for leaf in self.taints(item))
        return frozenset()

    def _from_input(self, value: Any) -> bool:
        if isinstance(value, int) and not isinstance(value, bool):
            return value in self.input_ints
        return id(value) in self.input_ids or bool(self.taints(value))

    def note(self, site: int, kind: str, literal: Any, outcome: bool, other: Any = None) -> Pred:
        """Record one condition with its literal and its outcome."""
        if isinstance(literal, str) and self.taints(literal):
            literal = None
            kind = "same" if kind in ("equals", "contains", "within") else kind
        key = (site, kind, literal_key(literal))
        pred = self.preds.get(key)
        if pred is None:
            n_here = self._n_literals[site] = self._n_literals.get(site, 0) + 1
            if n_here > _MAX_ELEMENTS and literal is not None:  # values of the input taken for literals
                self.too_large.add(site)
                return self.note(site, kind, None, outcome, other)
            pred = self.preds[key] = Pred(site, kind, literal)
        # A number worked out from one that both variants share looks like the target's own.
        shared = self.exact and isinstance(literal, (int, float)) and not isinstance(literal, bool)
        if not shared or self.left_const[site] or self.right_const[site]:
            pred.variants.add(self.variant)
        pred.usual = pred.usual or not self.odd
        if other is not None:
            found = self.taints(other)
            if found:
                pred.leaves |= found
            if isinstance(other, str):
                seen = self.haystacks.setdefault(site, [])
                if other not in seen and len(seen) < 50:
                    seen.append(other)
        self.events.add((*key, outcome))
        if kind in KEYWORD_KINDS:
            self._join_group(site, [key])
        return pred

    def _join_group(self, site: int, keys: list[PredKey]) -> None:
        wanted = self.group_site[site]
        if wanted is None:
            return
        for group, members in reversed(self._groups):
            if group == wanted:
                members += keys
                return

    # -- groups -----------------------------------------------------------------------------------------
    def open_group(self, site: int) -> bool:
        """Begin an `or`; false, so that the `or` goes on."""
        self.visited.add(site)
        self._groups.append((site, []))
        return False

    def close_group(self, site: int, value: Any) -> Any:
        """End an `or`: when no alternative held, all of them are known."""
        while self._groups:
            group, members = self._groups.pop()
            if group == site:
                self._keep_group(site, members, bool(value))
                break
        return value

    def _keep_group(self, site: int, members: list[PredKey], outcome: bool) -> None:
        if outcome:  # a short-circuit left alternatives out
            return
        literals = tuple(dict.fromkeys(key[2] for key in members))
        for key in members:
            if self.preds[key].group is None:
                self.preds[key].group = (site, literals)

    def any_of(self, site: int, items: Iterable[Any]) -> bool:
        """Stand for `any`."""
        self._groups.append((site, []))
        result = any(items)
        self.close_group(site, result)
        self.note(site, "truth", None, result)
        return result

    def all_of(self, site: int, items: Iterable[Any]) -> bool:
        """Stand for `all`."""
        result = all(items)
        self.note(site, "truth", None, result)
        return result

    # -- conditions -------------------------------------------------------------------------------------
    def truth(self, site: int, value: Any) -> Any:
        """Record the truth of a value that stands as a condition."""
        if self.taints(value):
            self.note(site, "truth", None, bool(value), value)
        else:
            self.note(site, "truth", None, bool(value))
        return value

    def type_test(self, site: int, value: Any, kinds: Any) -> bool:
        """Stand for `isinstance`."""
        result = isinstance(value, kinds)
        for kind in kinds if isinstance(kinds, tuple) else (kinds,):
            if isinstance(kind, type):
                self.note(site, "type", kind, isinstance(value, kind), value if isinstance(value, str) else None)
        return result

    def compare(self, site: int, op: str, left: Any, right: Any) -> Any:
        """Stand for one comparison."""
        result = _OPERATORS[op](left, right)
        with contextlib.suppress(Exception):  # an operand's own __repr__ or __bool__ must not change the run
            self._compared(site, op, left, right, bool(result) != (op in _NEGATED))
        return result

    def begin(self) -> int:
        """Begin a chain of comparisons; gives the place of its first operand."""
        return len(self._operands)

    def operand(self, chain: int, value: Any) -> Any:
        """Keep one operand of a chain."""
        self._operands.append((chain, value))
        return value

    def chain(self, site: int, parts: tuple[tuple[int, str], ...], first: int, result: Any) -> Any:
        """Record a chain as a whole; of numbers also the comparisons that were made, for their borders."""
        values = [value for chain, value in self._operands[first:] if chain == site]
        del self._operands[first:]
        self.chain_parts.update(part for part, _ in parts)
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            for (part, op), left, right in zip(parts, values, values[1:], strict=False):
                self._compared(part, op, left, right, bool(_OPERATORS[op](left, right)) != (op in _NEGATED))
        return self.truth(site, result)

    def _compared(self, site: int, op: str, left: Any, right: Any, outcome: bool) -> None:
        if op in ("is", "is not"):
            self.note(site, "none", None if right is None else right, outcome)
        elif op in ("in", "not in"):
            self._membership(site, left, right, outcome)
        elif op in ("==", "!="):
            literal, other = self._sides(site, left, right)
            self._equal(site, literal, other, outcome)
        else:
            literal, other = self._sides(site, left, right)
            usable = isinstance(literal, (int, float)) and not isinstance(literal, bool)
            self.note(site, "compare", literal if usable else None, outcome)

    def _sides(self, site: int, left: Any, right: Any) -> tuple[Any, Any]:
        """Tell the constant side from the one that comes from the input."""
        if self.right_const[site]:
            return right, left
        if self.left_const[site]:
            return left, right
        if self._from_input(right) and not self._from_input(left):
            return left, right
        return right, left

    def _equal(self, site: int, literal: Any, other: Any, outcome: bool) -> None:
        if isinstance(literal, Enum) and isinstance(literal, (int, str)) and not isinstance(other, Enum):
            literal = literal.value  # a member of an IntEnum or a text enum equals its plain value
        if literal == "":  # an empty text is no criterion
            self.note(site, "truth", None, outcome)
        elif isinstance(literal, (*_SCALARS, Enum, type)):
            both = self.taints(literal) if isinstance(literal, str) else frozenset()
            self.note(site, "equals", literal, outcome, other)
            if both:
                self._relate(site, "same", both | self.taints(other))
        else:
            self.note(site, "truth", None, outcome)

    def _relate(self, site: int, kind: str, leaves: frozenset[str]) -> None:
        pred = self.preds.get((site, kind, literal_key(None)))
        if pred is not None:
            pred.relation |= leaves

    def _membership(self, site: int, left: Any, right: Any, outcome: bool) -> None:
        if isinstance(right, str) and isinstance(left, str):
            inside = self.taints(left)
            constant = self.right_const[site] and not self.left_const[site]
            if constant or (inside and not self.taints(right) and not self.left_const[site]):
                self.note(site, "within", right, outcome, left)
            else:
                self.note(site, "contains", left, outcome, right)
                if inside:
                    self._relate(site, "same", inside | self.taints(right))
            return
        constant = self.right_const[site]
        if isinstance(right, (list, tuple, set, frozenset, dict)) or hasattr(right, "__iter__"):
            from_input = not constant and (self.left_const[site] or self._from_input(right))
            from_input = from_input or site in self.element_sites
            if from_input and isinstance(left, _SCALARS):
                self.note(site, "element", left, outcome).leaves.update(self.taints(right))
                return
            self._lookup(site, "member", right, left, outcome)
            return
        self.note(site, "truth", None, outcome)

    def _lookup(self, site: int, kind: str, table: Any, wanted: Any, outcome: bool) -> None:
        """Record a look-up in a constant table: every key is a condition of its own."""
        try:
            keys = list(itertools.islice(table, _MAX_ELEMENTS + 1))
        except Exception:
            keys = []
        if len(keys) > _MAX_ELEMENTS:
            self.too_large.add(site)
        if isinstance(wanted, tuple):
            self._compound(site, keys, wanted)
        if any(not isinstance(key, (*_SCALARS, Enum, type, tuple)) for key in keys):
            self.note(site, "truth", None, outcome)  # keys that are not followed: one of them must be found
        leaves = self.taints(wanted)
        scalar = isinstance(wanted, (*_SCALARS, Enum, type))
        for key in keys:
            if isinstance(key, (*_SCALARS, Enum, type)):
                name = (site, kind, literal_key(key))
                pred = self.preds.get(name)
                if pred is None:
                    pred = self.preds[name] = Pred(site, kind, key)
                pred.variants.add(self.variant)
                pred.usual = pred.usual or not self.odd
                pred.leaves |= leaves
        if isinstance(wanted, str):
            self.haystacks.setdefault(site, []).append(wanted)
        if outcome and scalar:
            self.events.add((site, kind, literal_key(next((k for k in keys if k == wanted), wanted)), True))
        elif not outcome:
            self.events.add((site, kind, "*", False))
        self._join_group(site, [(site, kind, literal_key(k)) for k in keys if isinstance(k, _SCALARS)])

    def _compound(self, site: int, keys: list[Any], wanted: tuple[Any, ...]) -> None:
        """Record a look-up by several values at once: each key as a whole, and its texts to be found one by one."""
        rows = [key for key in keys if isinstance(key, tuple) and len(key) == len(wanted)]
        for row in rows:
            self.note(site, "compound", row, row == wanted)
            for part, given in zip(row, wanted, strict=True):
                if isinstance(part, str) and isinstance(given, str) and not self.taints(part):
                    self.note(site, "part", part, part == given, given)

    def match(self, site: int, subject: Any, cases: tuple[Any, ...]) -> Any:
        """Record the subject of a `match` with the constants of its cases."""
        with contextlib.suppress(Exception):
            if isinstance(subject, (*_SCALARS, Enum)):
                self._lookup(site, "member", cases, subject, subject in cases)
        return subject

    def both_of(self, site: int, left: Any, right: Any) -> Any:
        """Stand for `left & right`: for sets every element of the constant side is a condition."""
        result = left & right
        with contextlib.suppress(Exception):
            if isinstance(left, (set, frozenset)) and isinstance(right, (set, frozenset)):
                self._elements(site, left, right)
        return result

    def _elements(self, site: int, one: Any, two: Any) -> None:
        from_one = self.right_const[site] or (not self.left_const[site] and self._from_input(one))
        fixed, given = (two, one) if from_one else (one, two)
        for element in sorted(map(str, fixed))[:_MAX_ELEMENTS]:
            self.note(site, "element", element, element in given).leaves.update(self.taints(given))

    def item(self, site: int, table: Any, key: Any) -> Any:
        """Stand for `table[key]` with a key that is worked out."""
        self.visited.add(site)
        if self.left_const[site] or not (self._from_input(table) or isinstance(table, str)):
            if isinstance(table, dict):
                with contextlib.suppress(TypeError):
                    self._lookup(site, "entry", table, key, key in table)
            elif isinstance(table, (list, tuple, str)) and isinstance(key, int):
                inside = -len(table) <= key < len(table)
                self._lookup(site, "index", range(len(table)), key % len(table) if inside else key, inside)
        return table[key]

    def call(self, site: int, owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """Stand for one call of a watched method."""
        self.visited.add(site)
        result = getattr(owner, name)(*args, **kwargs)
        try:
            self._watch(site, owner, name, args, result)
        except (TypeError, ValueError, re.error, RecursionError):
            return result
        return result

    def _watch(self, site: int, owner: Any, name: str, args: tuple[Any, ...], result: Any) -> None:
        if isinstance(owner, str):
            if name in ("startswith", "endswith"):
                kind = "prefix" if name == "startswith" else "suffix"
                test = owner.startswith if name == "startswith" else owner.endswith
                for part in args[0] if isinstance(args[0], tuple) else (args[0],):
                    self.note(site, kind, part, test(part), owner)
            elif (name in _FINDERS and args) or (name in _SEPARATORS and args and isinstance(args[0], str)):
                self.note(site, "part", args[0], args[0] in owner, owner)
            elif name in _FLAGS:
                self.note(site, "truth", None, bool(result), owner)
        elif owner is re or isinstance(owner, re.Pattern):
            self._regex(site, owner, name, args, result)
        elif name in ("get", "pop") and isinstance(owner, dict):
            if self.left_const[site] or not self._from_input(owner):
                self._lookup(site, "key", owner, args[0], args[0] in owner)
            else:
                self.note(site, "has-key", None, args[0] in owner)
        elif name in _SETS and isinstance(owner, (set, frozenset)):
            self._elements(site, owner, args[0] if args else ())

    def _regex(self, site: int, owner: Any, name: str, args: tuple[Any, ...], result: Any) -> None:
        if owner is re:
            if name not in _REGEX:
                return
            pattern = args[0] if isinstance(args[0], re.Pattern) else re.compile(args[0], *args[2:3])
            text = args[2] if name == "sub" else args[1]
        else:
            pattern, text = owner, args[1] if name == "sub" else args[0]
        if not isinstance(pattern.pattern, str) or not isinstance(text, str):
            return
        function = name if name in ("match", "fullmatch") else "search"
        hit = getattr(pattern, function)(text) is not None
        literal = (pattern.pattern, int(pattern.flags) & ~int(re.UNICODE), function)
        self.note(site, "regex" if name in ("search", "match", "fullmatch") else "part", literal, hit, text)
