"""Enumerate the values of one loaded function. Runs in the child; tests call it directly."""

from __future__ import annotations

import ast
import contextlib
import inspect
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memaudit.domain import purity, standins
from memaudit.domain.certify import Certificate, Certifier
from memaudit.domain.codec import key_of, pack, to_json
from memaudit.domain.combine import Combiner
from memaudit.domain.engine import Engine, StopSweepError, call_untouched
from memaudit.domain.fallback import Fallback, find_fallback
from memaudit.domain.forms import Classified, Classifier
from memaudit.domain.guard import CallClock
from memaudit.domain.instrument import Instrumenter
from memaudit.domain.loading import Loaded, LoadError
from memaudit.domain.predicates import keyword_text
from memaudit.domain.preds import HIT_KINDS, KEYWORD_KINDS, Pred, literal_key
from memaudit.domain.search import Search
from memaudit.domain.shape_reader import ShapeReader
from memaudit.domain.shapes import Shape, shape_of_given
from memaudit.domain.target_spec import FunctionNode
from memaudit.domain.trace import Recorder
from memaudit.domain.witnesses import Assignment, Builder, Markers
from memaudit.wording import plural, say

MAX_CALLS = 20_000
_MAX_RESTARTS = 3
_MAX_WITNESSES = 300
_MAX_LINES = 60


@dataclass(frozen=True)
class Limits:
    """How long a sweep may go on; times in seconds."""

    sweep_s: float = 20.0
    call_s: float = 1.0
    max_calls: int = MAX_CALLS


class Sweep:
    """One enumeration.

    Parameters
    ----------
    given
        `generator_inputs`: shapes of parameters that the code does not tell.
    """

    def __init__(
        self, loaded: Loaded, project: Sequence[Path], given: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> None:  # fmt: skip
        self.loaded, self.project = loaded, list(project)
        self.limits = limits or Limits()
        self.clock = CallClock(self.limits.call_s)
        self.maker = Instrumenter(Recorder(), project)
        if loaded.before and not isinstance(loaded.before[0], type):
            self.maker.instance = loaded.before[0]
        self.copy = self.maker.copy_of(loaded.function, loaded.owner)
        node = self.maker.definition(loaded.function)
        if self.copy is None or node is None:
            raise LoadError(say("the source of the function cannot be found; it may be generated or a closure."))
        self.notes = list(loaded.notes)
        self.missing: list[str] = []
        self.shapes = self._read_shapes(node, given or {})

    def _read_shapes(self, node: FunctionNode, given: Mapping[str, Any]) -> dict[str, Shape]:
        reader = ShapeReader(self._look_up, self._function_of)
        shapes = reader.read(node, skip_first=bool(self.loaded.before))
        for name, shape in given.items():
            if name not in shapes:
                raise LoadError(
                    say(
                        "generator_inputs names {name}, but the parameters are: {shapes}.",
                        name=name,
                        shapes=", ".join(shapes) or "none",
                    )
                )
            shapes[name] = shape_of_given(shape)
        stars = [a.arg for a in (node.args.vararg, node.args.kwarg) if a is not None]
        if stars:
            self.missing.append(f"*{', *'.join(stars)}: called without further arguments only")
        return shapes

    def _look_up(self, dotted: str) -> Any:
        first, *rest = dotted.split(".")
        bound = self.loaded.owner if first in ("self", "cls") else None
        found: Any = bound if bound is not None else self.loaded.names.get(first)
        for part in rest:
            found = inspect.getattr_static(found, part, None) if found is not None else None
        return found

    def _function_of(self, func: ast.expr) -> FunctionNode | None:
        if not isinstance(func, (ast.Name, ast.Attribute)):
            return None
        found = self._look_up(ast.unparse(func))
        found = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        return self.maker.definition(found) if isinstance(found, types.FunctionType) else None

    # -- the run ----------------------------------------------------------------------------------------
    def run(self) -> dict[str, Any]:
        """Give the result as JSON (the form that :mod:`memaudit.domain.result` reads)."""
        deadline = time.monotonic() + self.limits.sweep_s
        state = purity.snapshot(self.loaded)
        standins.touched.clear()
        engine, search = self._explored(deadline)
        if engine.n_ok == 0:
            return self._unknown(engine)
        classified = self._classified(engine)
        certificate = Certifier(engine, self.maker.tables).certify()
        fallback = find_fallback(engine, search.base, classified.fixed, classified.forms, self.maker.tables)
        self.missing += [*search.found.missing, *classified.missing]
        self.notes += [*search.found.notes, *certificate.notes]
        self.missing += [
            say("calls {text}, whose inner branches are not followed", text=text) for text in self.maker.opaque
        ]
        self.missing += [say("a stand-in for {name} was used", name=name) for name in sorted(standins.touched)]
        inputs, expected = self._confirm(engine, classified)
        until = time.monotonic() + self.limits.sweep_s / 6
        impurities = purity.examine(self.loaded, inputs, self.clock, self.project, until)
        impurities += _refused(engine)
        impurities += purity.changes(state, purity.snapshot(self.loaded))
        impurities = list(dict.fromkeys(impurities))
        return self._result(engine, search, classified, certificate, fallback, impurities, inputs, expected)

    def _explored(self, deadline: float) -> tuple[Engine, Search]:
        """Search; starts again with other markers when a literal of the target stands in one of them."""
        texts: set[str] = set(self.maker.texts)
        recorder = self.maker.recorder
        for attempt in range(_MAX_RESTARTS + 1):
            recorder.forget()
            builder = Builder(self.shapes, Markers(texts, self.maker.numbers))
            engine = Engine(
                self.copy, self.loaded.before, builder, recorder, self.clock, deadline, self.limits.max_calls
            )
            search = Search(engine, [point.in_handler for point in self.maker.tables.points])
            stopped = None
            try:
                search.explore()
                Combiner(search).combine()
            except StopSweepError as stop:
                stopped = str(stop)
            found = {p.literal for p in recorder.preds.values() if isinstance(p.literal, str) and engine.stable(p)}
            clash = builder.markers.clashes(found)
            if not clash or attempt == _MAX_RESTARTS or stopped:
                break
            texts |= found
        if stopped:
            self.missing.append(stopped)
        return engine, search

    def _classified(self, engine: Engine) -> Classified:
        try:
            return Classifier(engine).classify()
        except StopSweepError:
            engine.lift_limits(extra_s=max(1.0, self.limits.sweep_s / 4))
            try:
                return Classifier(engine).classify()
            except StopSweepError as stop:
                self.missing.append(say("the values could not all be sorted: {reason}", reason=stop))
                return Classified([], [], [])

    def _confirm(self, engine: Engine, classified: Classified) -> tuple[list[Any], list[str | None]]:
        """Call the untouched function on a witness of each value; what it does not confirm is dropped."""
        inputs: list[Any] = []
        expected: list[str | None] = []
        until = time.monotonic() + self.limits.sweep_s / 6

        def keep(arguments: dict[str, Any], key: str | None) -> None:
            # Arguments that cannot be handed to another process are left out of the purity check.
            with contextlib.suppress(TypeError):
                if len(inputs) < _MAX_WITNESSES:
                    inputs.append(pack(arguments))
                    expected.append(key)

        for value in list(classified.fixed):
            if time.monotonic() > until:
                self.missing.append(say("the time limit was reached before all values were confirmed"))
                return inputs, expected
            arguments, _ = engine.builder.arguments(_shortest(value.records), 0)
            given, error = call_untouched(self.loaded.call, arguments, self.clock)
            key = None if error else key_of(to_json(given))
            if key != value.key:
                classified.fixed.remove(value)
                shown = error or str(to_json(given))[:80]
                self.missing.append(
                    say(
                        "the instrumented copy gave {copy}, the function itself {shown}",
                        copy=value.key[:80],
                        shown=shown,
                    )
                )
            else:
                keep(engine.builder.arguments(_shortest(value.records), 0)[0], key)
        for form in classified.forms:
            if len(inputs) < _MAX_WITNESSES:
                arguments, _ = engine.builder.arguments(form.assignment, 0)
                given, error = call_untouched(self.loaded.call, arguments, self.clock)
                key = None if error else key_of(to_json(given))
                if key != engine.run(form.assignment, 0).key:
                    self.missing.append(say("the function itself did not confirm the form {text}", text=form.text[:80]))
                keep(engine.builder.arguments(form.assignment, 0)[0], key)
        return inputs, expected

    # -- the result -------------------------------------------------------------------------------------
    def _unknown(self, engine: Engine) -> dict[str, Any]:
        ranked = sorted(engine.errors.items(), key=lambda item: -item[1])
        reason = (
            say(
                "no call succeeded; {n} of {calls} raised {error}",
                n=ranked[0][1],
                calls=engine.n_calls,
                error=ranked[0][0],
            )
            if ranked
            else say("no call was made")
        )
        result = self._frame(engine)
        tried = _refused(engine)
        result |= {
            "status": "unknown",
            "reason": reason,
            "complete": False,
            "missing": self.missing[:_MAX_LINES],
        }
        result |= {"impurities": tried, "pure": not tried}
        return result

    def _frame(self, engine: Engine) -> dict[str, Any]:
        return {
            "mode": self.loaded.mode,
            "parameters": list(self.shapes),
            "fixed_values": [],
            "forms": [],
            "witnesses": [],
            "shadowed": [],
            "keywords": [],
            "impurities": [],
            "pure": True,
            "calls": engine.n_calls,
            "failed_calls": engine.n_calls - engine.n_ok,
            "status": "ok",
            "reason": None,
            "notes": self.notes,
            "errors": [
                f"{text} ({plural(n, 'call')})" for text, n in sorted(engine.errors.items(), key=lambda e: -e[1])[:5]
            ],
            "fallback": {"values": [], "forms": [], "separable": None, "points": []},
            "outside_annotation": [],
        }

    def _result(
        self,
        engine: Engine,
        search: Search,
        classified: Classified,
        certificate: Certificate,
        fallback: Fallback,
        impurities: list[str],
        inputs: list[Any],
        expected: list[str | None],
    ) -> dict[str, Any]:
        values = sorted(classified.fixed, key=lambda v: v.key)
        forms = sorted(classified.forms, key=lambda f: f.text)
        result = self._frame(engine)
        missing = [*self.missing, *certificate.missing]
        if impurities:
            missing.append(say("the function is not pure; the values are a lower bound"))
        result["fixed_values"] = [value.value for value in values]
        result["forms"] = [
            {"text": f.text, "parts": [list(p) for p in f.parts], "exact": f.exact, "is_json": f.is_json} for f in forms
        ]
        result["witnesses"] = [
            {"value": v.value, "arguments": self._shown(engine, _shortest(v.records))} for v in values
        ] + [
            {
                "value": engine.run(f.assignment, 0).value,
                "form": f.text,
                "arguments": self._shown(engine, f.assignment),
            }
            for f in forms
        ]
        result["outside_annotation"] = [v.value for v in values if all(_is_wild(a) for a, _ in v.records)]
        by_key = {value.key: value.value for value in values}
        result["fallback"] = {
            "values": [by_key[key] for key in fallback.values if key in by_key],
            "forms": fallback.forms,
            "separable": fallback.separable,
            "points": sorted(fallback.points),
            "neutral": [list(event) for event in sorted(fallback.neutral) if event[3] and event[1] in HIT_KINDS],
        }
        result["shadowed"] = certificate.shadowed
        result["keywords"] = self._keywords(engine)
        result["complete"] = not missing
        result["missing"] = missing[:_MAX_LINES]
        if len(missing) > _MAX_LINES:
            result["missing"].append(say("and {n} more", n=len(missing) - _MAX_LINES))
        result["impurities"], result["pure"] = impurities, not impurities
        result["inputs"], result["expected"] = inputs, expected
        return result

    def _shown(self, engine: Engine, assignment: Assignment) -> dict[str, Any]:
        arguments, _ = engine.builder.arguments(assignment, 0)
        return {name: to_json(_plain(value)) for name, value in arguments.items()}

    def _keywords(self, engine: Engine) -> list[dict[str, Any]]:
        """List the keywords in source order, with what the replay needs to know them again."""
        found: list[Pred] = [p for p in engine.recorder.preds.values() if p.kind in KEYWORD_KINDS and engine.stable(p)]
        sites = self.maker.tables.sites
        classes: list[int] = []
        groups: list[Any] = []
        out = []
        for pred in sorted(found, key=lambda p: p.site):
            home = next((site for site in classes if engine.same_text(site, pred.site)), None)
            if home is None:
                classes.append(pred.site)
                home = pred.site
            group = pred.group or (
                pred.site,
                pred.kind if pred.kind in ("member", "key", "entry") else pred.key,
            )
            if group not in groups:
                groups.append(group)
            site = sites[pred.site]
            leaf = min(pred.leaves) if len(pred.leaves) == 1 else None
            out.append(
                {
                    "text": to_json(keyword_text(pred)), "kind": pred.kind, "literal": _literal(pred.literal),
                    "literal_key": literal_key(pred.literal), "site": site.name,
                    "file": site.file, "line": site.line,
                    "group": groups.index(group), "same_text": sites[home].name, "leaf": leaf,
                }
            )  # fmt: skip
        return out


def _refused(engine: Engine) -> list[str]:
    return [
        say("does what is refused ({text})", text=text) for text in engine.errors if text.startswith("RefusedError")
    ]


def _literal(literal: Any) -> Any:
    return list(literal) if isinstance(literal, tuple) else to_json(literal)


def _shortest(records: Sequence[tuple[Assignment, Any]]) -> Assignment:
    return min((a for a, _ in records), key=lambda a: (_is_wild(a), len(a), len(repr(a))))


def _is_wild(assignment: Assignment) -> bool:
    return any(choice[0] == "wild" for _, choice in assignment)


def _plain(value: Any) -> Any:
    """Give records as dicts, for showing."""
    if isinstance(value, types.SimpleNamespace):
        return {key: _plain(item) for key, item in vars(value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
