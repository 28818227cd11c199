"""Tell what the function says itself (fixed values) from what it hands on (forms with holes)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from memaudit.domain.codec import to_json
from memaudit.domain.engine import Engine, Outcome
from memaudit.domain.witnesses import Assignment, Choice, with_choice
from memaudit.wording import say

#: (is a hole, text or name of the parameter)
Part = tuple[bool, str]
_INT_STEPS = (1, -1, 2, 5, -5, 13, 37, 101, -101, 997, 10_007)
_LENGTHS = (1, 2, 3, 4, 6)
_MAX_RECORDS = 40
_MAX_SAMPLES = 8
_MIN_PIECE = 4
#: Pieces of one text looked for in a value: a slug of a long text has one for every word.
_MAX_HOLES = 12
#: Digits that the samples of a form happen to share: part of a number that was worked out, no constant.
_NUMBER_END, _NUMBER_START = re.compile(r"[-+]?\d[\d.,]*$"), re.compile(r"^(?:[.,]?\d[\d.,]*)?(?:e[-+]?\d+)?")


@dataclass
class Value:
    """A fixed value and the inputs that gave it."""

    key: str
    value: Any
    records: list[tuple[Assignment, Outcome]] = field(default_factory=list)


@dataclass
class Form:
    """A value with holes.

    Parameters
    ----------
    parts
        Constant texts and holes in turn.
    exact
        The holes carry the argument as it is; else it is changed on the way (cut, counted, hashed).
    is_json
        The value is no text; the form is that of its JSON.
    """

    parts: tuple[Part, ...]
    exact: bool
    is_json: bool
    exits: set[int | None]
    assignment: Assignment
    paths: set[Any] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The form with `{name}` for each hole."""
        return "".join("{" + text + "}" if is_hole else text for is_hole, text in self.parts)


@dataclass
class Classified:
    """All values of a sweep."""

    fixed: list[Value]
    forms: list[Form]
    missing: list[str]


class Classifier:
    """Sorts the outcomes of an engine; runs some more inputs to do so."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.builder = engine.builder
        self._fixed: dict[str, Value] = {}
        self._forms: dict[tuple[Part, ...], Form] = {}
        self._missing: list[str] = []

    def classify(self) -> Classified:
        """Give fixed values and forms: every value of the sweep is one of them or an instance."""
        lonely = 0
        divided: list[Outcome] = []
        varied: dict[tuple[str, Any], list[str]] = {}
        for assignment, first in self._to_sort():
            second = self.engine.run(assignment, 1)
            if first.key is None:
                continue
            if second.key is None:
                lonely += 1
                continue
            if first.key != second.key:
                if first.points == second.points and self.trace(first) == self.trace(second):
                    self._open(assignment, first, second)
                else:  # the markers themselves led two ways: no form, two values to be found elsewhere, too
                    divided += [first, second]
                continue
            sign = (first.key, self.trace(first))
            if sign not in varied:
                varied[sign] = self._vary(assignment, first)
            if varied[sign]:
                continue
            value = self._fixed.setdefault(first.key, Value(first.key, first.value))
            if len(value.records) < _MAX_RECORDS or all(first.exit != seen.exit for _, seen in value.records):
                value.records.append((assignment, first))
        if lonely:
            self._missing.append(say("{lonely} inputs worked with one set of markers only", lonely=lonely))
        self._drop_contained()
        fixed = [value for value in self._fixed.values() if not self._is_instance(value)]
        known = {value.key for value in fixed}
        for outcome in divided:
            if outcome.key not in known and not self._is_filled(outcome):
                self._missing.append(
                    say("the value {value} depends on details of the text", value=repr(_shown(outcome.value)[:60]))
                )
                known.add(str(outcome.key))
        return Classified(fixed, list(self._forms.values()), self._missing)

    def _to_sort(self) -> Iterator[tuple[Assignment, Outcome]]:
        """Give every input of the search, then those that sorting itself added and that went a way of their own."""
        searched = list(dict.fromkeys(a for (a, v) in self.engine.cache if v == 0))
        ways = set()
        for assignment in searched:
            outcome = self.engine.run(assignment, 0)
            ways.add((self.trace(outcome), outcome.points))
            yield assignment, outcome
        done = set(searched)
        while added := [a for (a, v) in self.engine.cache if v == 0 and a not in done]:
            done.update(added)
            for assignment in added:
                outcome = self.engine.run(assignment, 0)
                way = (self.trace(outcome), outcome.points)
                if way not in ways:
                    ways.add(way)
                    yield assignment, outcome

    def trace(self, outcome: Outcome) -> frozenset[tuple[int, str, str, bool]]:
        """Give the conditions of a call without the literals that come from its input."""
        stable = self.engine.stable
        preds = self.engine.recorder.preds
        found = set()
        for site, kind, literal, result in outcome.events:
            pred = preds.get((site, kind, literal))
            own = literal == "*" or (pred is not None and stable(pred))
            found.add((site, kind, literal if own else "~", result))
        return frozenset(found)

    # -- open values ------------------------------------------------------------------------------------
    def _vary(self, assignment: Assignment, first: Outcome) -> list[str]:
        """Change numbers and lengths where that changes no condition; gives the other values it led to."""
        wanted = self.trace(first)
        samples = [(assignment, first)]
        changed: set[str] = set()
        for path, choice in self._changes(assignment):
            other = with_choice(assignment, path, choice, self.builder.defaults)
            outcome = self.engine.run(other, 0)
            if outcome.key is None or outcome.key == first.key:
                continue
            self.engine.run(other, 1)
            if self.trace(outcome) == wanted:
                samples.append((other, outcome))
                changed.add(path.split("#")[0].split("[")[0].split(".")[0])
        if len(samples) > 1:
            self._add_form(samples, sorted(changed))
        return [outcome.key for _, outcome in samples[1:] if outcome.key is not None]

    def _changes(self, assignment: Assignment) -> list[tuple[str, Choice]]:
        chosen = dict(assignment)
        out: list[tuple[str, Choice]] = []
        for leaf in self.builder.leaves:
            choice = chosen.get(leaf.path, leaf.choices[0])
            if leaf.kind in ("int", "float") and choice[0] in ("lit", "num") and choice[-1] is not None:
                number = choice[2] if choice[0] == "lit" else self.builder.free_number(leaf.path, 0) + choice[1]
                if isinstance(number, (int, float)) and not isinstance(number, bool):
                    kind = "int" if leaf.kind == "int" else "float"
                    out += [(leaf.path, ("lit", kind, number + step)) for step in _INT_STEPS]
            elif choice[:2] == ("wild", "int"):
                out += [(leaf.path, ("wild", "int", choice[2] + step)) for step in _INT_STEPS]
            elif _can_spread(choice):
                out.append((leaf.path, ("spread", choice[1])))
            elif leaf.kind == "length" and choice[0] == "len" and choice[1] > 0:
                out += [(leaf.path, ("len", choice[1] + step)) for step in _LENGTHS]
            elif leaf.kind == "length" and choice[0] == "items":
                out += [(leaf.path, changed) for changed in _changed_items(choice[1])]
            elif choice[0] == "size":
                out += [(leaf.path, ("size", max(0, choice[1] + step))) for step in (1, -1, 2, 50)]
        return out

    def _open(self, assignment: Assignment, first: Outcome, second: Outcome) -> None:
        samples = [(assignment, first)]
        holes = []
        for name in self.builder.shapes:
            outcome = self.engine.run(assignment, name)
            if outcome.key is not None and outcome.key != first.key:
                holes.append(name)
        _, texts_0 = self.builder.arguments(assignment, 0)
        _, texts_1 = self.builder.arguments(assignment, 1)
        moving = {path for path in texts_0 if _shown(texts_0[path]) != _shown(texts_1.get(path))}
        one = _template(first.value, {path: texts_0[path] for path in moving})
        two = _template(second.value, {path: texts_1[path] for path in moving if path in texts_1})
        if one == two and any(is_hole for is_hole, _ in one):
            self._put(one, True, first, assignment)
            return
        samples.append((assignment, second))
        wanted = self.trace(first)
        for leaf in self.builder.leaves:
            if leaf.path.split("[")[0].split(".")[0] not in holes or leaf.kind != "text":
                continue
            for name in ("digits", "upper", "words", "letter", "cjk"):
                other = with_choice(assignment, leaf.path, ("gen", name), self.builder.defaults)
                outcome = self.engine.run(other, 0)
                self.engine.run(other, 1)
                if outcome.key is not None and self.trace(outcome) == wanted:
                    samples.append((other, outcome))
        for path, choice in self._changes(assignment):
            if path.split("#")[0].split("[")[0].split(".")[0] in holes:
                other = with_choice(assignment, path, choice, self.builder.defaults)
                outcome = self.engine.run(other, 0)
                if outcome.key is not None and self.trace(outcome) == wanted:
                    samples.append((other, outcome))
        self._add_form(samples[:_MAX_SAMPLES], holes, plain=False)

    def _add_form(
        self, samples: Sequence[tuple[Assignment, Outcome]], holes: Sequence[str], plain: bool = True
    ) -> None:
        assignment, first = samples[0]
        if plain:
            given = [self.builder.arguments(a, 0)[1] for a, _ in samples[:_MAX_SAMPLES]]
            moving = {path for path in given[0] if len({_shown(texts.get(path)) for texts in given}) > 1}
            made = {
                _template(outcome.value, {path: texts[path] for path in moving if path in texts})
                for (_, outcome), texts in zip(samples, given, strict=False)
            }
            only = next(iter(made))
            if len(made) == 1 and any(is_hole for is_hole, _ in only):
                self._put(only, True, first, assignment)
                return
        shown = [_shown(outcome.value) for _, outcome in samples]
        prefix = _NUMBER_END.sub("", _common_start(shown))
        rests = [text[len(prefix) :] for text in shown]
        suffix = _NUMBER_START.sub("", _common_start([text[::-1] for text in rests])[::-1])
        name = ", ".join(holes) or "?"
        parts = [(False, prefix), (True, name), (False, suffix)]
        self._put(tuple(part for part in parts if part[0] or part[1]), False, first, assignment)

    def _put(self, parts: tuple[Part, ...], exact: bool, first: Outcome, assignment: Assignment) -> None:
        form = self._forms.get(parts)
        if form is None:
            is_json = not isinstance(first.value, str)
            form = self._forms[parts] = Form(parts, exact, is_json, set(), assignment)
        form.exits.add(first.exit)
        form.paths.add((self.trace(first), first.points))
        if len(assignment) < len(form.assignment):
            form.assignment = assignment

    def _drop_contained(self) -> None:
        """Drop a form whose own samples are instances of one with more constant text."""
        kept: list[Form] = []
        for form in sorted(self._forms.values(), key=lambda f: (not f.exact, -_constant_size(f.parts))):
            samples = [self.engine.run(form.assignment, variant) for variant in (0, 1)]
            inside = any(
                form.exits & other.exits
                and all(o.key is None or form_pattern(other.parts).fullmatch(_shown(o.value)) for o in samples)
                for other in kept
                if _constant_size(other.parts) >= _constant_size(form.parts)
            )
            if inside:
                del self._forms[form.parts]
            else:
                kept.append(form)
        for form in kept:
            if any(self._is_filled_by_arguments(form, other) for other in kept):
                del self._forms[form.parts]

    def _is_filled_by_arguments(self, form: Form, other: Form) -> bool:
        """Tell whether a form is another one with numbers or literals of its own input in some of the holes."""
        if not other.exact or _constant_size(other.parts) >= _constant_size(form.parts):
            return False
        outcome = self.engine.run(form.assignment, 0)
        return outcome.key is not None and self._fills(
            other, Value(outcome.key, outcome.value), form.assignment, outcome
        )

    # -- instances --------------------------------------------------------------------------------------
    def _is_instance(self, value: Value) -> bool:
        """Tell whether every input that gave the value only filled the hole of a form with an exact text."""
        return all(
            any(
                self._fills(form, value, assignment, outcome) or self._is_number_of(form, value, outcome)
                for form in self._forms.values()
            )
            for assignment, outcome in value.records
        )

    def _is_number_of(self, form: Form, value: Value, outcome: Outcome) -> bool:
        """Tell whether a value is one more number that the form's own way gave (`0` beside `0.25`)."""
        if form.exact or not any(letter.isdigit() for letter in _shown(value.value)):
            return False
        return (_lookups(self.trace(outcome)), outcome.points) in {
            (_lookups(trace), points) for trace, points in form.paths
        }

    def _is_filled(self, outcome: Outcome) -> bool:
        return any(form_pattern(form.parts).fullmatch(_shown(outcome.value)) for form in self._forms.values())

    def _fills(self, form: Form, value: Value, assignment: Assignment, outcome: Outcome) -> bool:
        if outcome.exit not in form.exits:
            return False
        match = form_pattern(form.parts).fullmatch(_shown(value.value))
        if match is None:
            return False
        if not form.exact:
            return (self.trace(outcome), outcome.points) in form.paths
        _, texts = self.builder.arguments(assignment, 0)
        names = [text for is_hole, text in form.parts if is_hole]
        for name, filled in zip(names, match.groups(), strict=False):
            given = [
                shown for path, text in texts.items() if _belongs(path, name) for shown in (_shown(text), str(text))
            ]
            if not any(_alike(filled, text) for text in (given or [""])):
                return False
        return True


def _constant_size(parts: Sequence[Part]) -> int:
    return sum(len(text) for is_hole, text in parts if not is_hole)


def _lookups(trace: frozenset[tuple[int, str, str, bool]]) -> frozenset[tuple[int, str, str, bool]]:
    return frozenset(event for event in trace if event[1] not in ("compare", "truth", "same"))


def _changed_items(items: tuple[Assignment, ...]) -> list[Choice]:
    """Change one number or text of the items, wherever it stands: equal items stay equal."""
    out: list[Choice] = []
    for path, choice in dict.fromkeys(piece for item in items for piece in item):
        changed: list[Choice] = []
        if choice[0] == "lit" and isinstance(choice[2], (int, float)) and not isinstance(choice[2], bool):
            changed = [("lit", choice[1], choice[2] + step) for step in _INT_STEPS]
        elif _can_spread(choice):
            changed = [("spread", choice[1])]
        for new in changed:
            pieces = [tuple((path, new) if p == (path, choice) else p for p in item) for item in items]
            out.append(("items", tuple(pieces)))
    return out


def _can_spread(choice: Choice) -> bool:
    """Tell whether a text has fragments side by side: what stands between them may be what is returned."""
    return bool(choice[0] == "mix" and sum(place == "mid" for place, _ in choice[1]) > 1)


def form_pattern(parts: Sequence[Part]) -> re.Pattern[str]:
    """Give a pattern that the instances of a form match; each hole is a group that takes any text."""
    return re.compile("".join("(.*?)" if is_hole else re.escape(text) for is_hole, text in parts), re.DOTALL)


def _belongs(path: str, hole: str) -> bool:
    path = path.rstrip("#")
    return any(path == name or path.startswith((name + ".", name + "[")) for name in hole.split(", "))


def _alike(filled: str, text: str) -> bool:
    one, two = filled.casefold().strip(), text.casefold().strip()
    return one == two or (len(one) >= 12 and two.startswith(one))


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return dumps(to_json(value), ensure_ascii=False, sort_keys=True)


def _template(value: Any, texts: Mapping[str, Any]) -> tuple[Part, ...]:
    """Replace what came from the leaves by holes."""
    parts: list[Part] = [(False, _shown(value))]
    ordered = sorted(texts.items(), key=lambda item: -len(_shown(item[1])))
    for path, given in ordered:
        text = _shown(given)
        if not text or isinstance(given, bool) or given is None:
            continue
        name = path.replace("#", "")
        new: list[Part] = []
        for is_hole, piece in parts:
            if is_hole:
                new.append((True, piece))
            elif isinstance(given, (int, float)):
                new += _cut_number(piece, text, name)
            else:
                new += _cut(piece, text, name)
        parts = new
    return tuple(part for part in parts if part[0] or part[1])


def _cut_number(piece: str, text: str, name: str) -> list[Part]:
    """Cut out a number that stands alone: `37` in `37 tries`, not in `0.0037`, which was worked out."""
    rests = re.split(rf"(?<!\d)(?<!\d\.){re.escape(text)}(?!\d)(?!\.\d)", piece)
    return [part for rest in rests for part in ((True, name), (False, rest))][1:]


def _cut(piece: str, text: str, name: str, most: int = _MAX_HOLES) -> list[Part]:
    for form in dict.fromkeys((text, text.lower(), text.upper(), text.title(), text.strip(), text.strip().lower())):
        if form and form in piece:
            out: list[Part] = []
            for index, rest in enumerate(piece.split(form)):
                out += ([(True, name)] if index else []) + [(False, rest)]
            return out
    # A part of the text: the longest common piece, when it is long enough to be no accident.
    start, length = _longest_common(piece.lower(), text.lower()) if most else (0, 0)
    if length >= _MIN_PIECE and not text.isdigit():
        return [(False, piece[:start]), (True, name), *_cut(piece[start + length :], text, name, most - 1)]
    return [(False, piece)]


def _common_start(texts: Sequence[str]) -> str:
    low, high = min(texts), max(texts)
    length = next((i for i, letter in enumerate(low) if i >= len(high) or letter != high[i]), len(low))
    return low[:length]


def _longest_common(piece: str, text: str) -> tuple[int, int]:
    """Give start in `piece` and length of the longest common substring (texts cut at 2,000 characters)."""
    piece, text = piece[:2_000], text[:2_000]
    best_start = 0
    low, high = 0, min(len(piece), len(text))
    while low < high:  # a common substring of a length has one of every shorter length inside
        length = (low + high + 1) // 2
        there = {text[i : i + length] for i in range(len(text) - length + 1)}
        start = next((i for i in range(len(piece) - length + 1) if piece[i : i + length] in there), -1)
        if start < 0:
            high = length - 1
        else:
            low, best_start = length, start
    return best_start, low
