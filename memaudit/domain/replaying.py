"""Run real rows through the target: values, keywords that hold, and whether the fallback was taken."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from json import dumps, loads
from typing import Any

from memaudit.domain.codec import key_of, to_json
from memaudit.domain.engine import Outcome, apply, call_untouched, containers, drive, words
from memaudit.domain.fallback import Fallback
from memaudit.domain.forms import form_pattern
from memaudit.domain.guard import CallTimeoutError
from memaudit.domain.predicates import holds, inside_word
from memaudit.domain.preds import KEYWORD_KINDS
from memaudit.domain.sweep import Sweep


class Replayer:
    """Replays rows on a loaded target.

    Parameters
    ----------
    sweep
        Gives the untouched function and the instrumented copy; it is not run.
    known
        `keywords`, `forms`, `fixed_values` and `fallback` of the enumeration, as JSON.
    """

    def __init__(self, sweep: Sweep, known: Mapping[str, Any]) -> None:
        self._sweep = sweep
        self._keywords: list[dict[str, Any]] = list(known.get("keywords", ()))
        self._forms = [
            (form["text"], form_pattern([(bool(hole), text) for hole, text in form["parts"]]))
            for form in known.get("forms", ())
        ]
        self._fixed = {key_of(value) for value in known.get("fixed_values", ())}
        found = known.get("fallback") or {}
        self._fallback = Fallback(
            [key_of(value) for value in found.get("values", ())],
            list(found.get("forms", ())),
            set(found.get("points", ())),
            found.get("separable"),
            frozenset((int(site), kind, literal, held) for site, kind, literal, held in found.get("neutral", ())),
        )
        self._element_names = {k["site"] for k in self._keywords if k["kind"] == "element"}
        self._at: dict[tuple[str, str, str], list[int]] = {}
        for index, keyword in enumerate(self._keywords):
            self._at.setdefault((keyword["site"], keyword["kind"], keyword["literal_key"]), []).append(index)

    def rows(self, rows: Sequence[Any], deadline: float) -> list[dict[str, Any] | None]:
        """Replay each row (mapping by parameter, or sequence in order); None for rows out of time."""
        out: list[dict[str, Any] | None] = []
        for row in rows:
            out.append(None if time.monotonic() > deadline else self._row(row))
        return out

    def _row(self, row: Any) -> dict[str, Any]:
        names = list(self._sweep.shapes)
        arguments = dict(row) if isinstance(row, Mapping) else dict(zip(names, row, strict=False))
        value, error = call_untouched(self._sweep.loaded.call, _copied(arguments), self._sweep.clock)
        recorder = self._sweep.maker.recorder
        sites = self._sweep.maker.tables.sites
        recorder.element_sites = {i for i, site in enumerate(sites) if site.name in self._element_names}
        outcome = self._instrumented(arguments)
        decided = sorted(
            index
            for site, kind, literal, held in outcome.events
            if held
            for index in self._at.get((sites[site].name, kind, literal), ())
        )
        looked = {sites[site].name: texts for site, texts in recorder.haystacks.items()}
        hits, inside, unseen = self._hits(looked, set(decided))
        return {
            "value": None if error else to_json(value), "error": error, "hits": hits, "decided": decided,
            "inside": inside, "not_looked": unseen,
            "fallback": None if error or outcome.key is None else self._taken(outcome),
        }  # fmt: skip

    def _instrumented(self, arguments: dict[str, Any]) -> Outcome:
        sweep, recorder = self._sweep, self._sweep.maker.recorder
        value, error = None, None
        own = _copied(arguments)
        recorder.start(0, [], set(), {id(part) for part in containers(own.values())})
        try:
            value = sweep.clock.run(lambda: drive(apply(sweep.copy, sweep.loaded.before, own)))
        except CallTimeoutError:
            error = "CallTimeout"
        except BaseException as raised:
            error = words(raised)
        encoded = to_json(value)
        key = None if error else key_of(encoded)
        # What is no keyword of the enumeration (a field of the row read with `.get`) is no criterion.
        names = sweep.maker.tables.sites
        events = frozenset(
            event
            for event in recorder.events
            if event[1] not in KEYWORD_KINDS or (names[event[0]].name, event[1], event[2]) in self._at
        )
        return Outcome(key, encoded, error, events, frozenset(recorder.points), recorder.exit)

    def _taken(self, outcome: Outcome) -> bool | None:
        if self._fallback.separable is None:
            return None
        if outcome.key in self._fixed:
            return self._fallback.taken(outcome, outcome.key, None)
        text = (
            outcome.value
            if isinstance(outcome.value, str)
            else dumps(outcome.value, ensure_ascii=False, sort_keys=True)
        )
        fitting = [name for name, pattern in self._forms if pattern.fullmatch(text)]
        best = max(fitting, key=len, default=None)
        return self._fallback.taken(outcome, None, best)

    def _hits(self, looked: Mapping[str, list[str]], decided: set[int]) -> tuple[list[int], list[list[int]], list[int]]:
        """Work each keyword out on the text of this row, also where a short-circuit left it out."""
        by_class: dict[str, list[str]] = {}
        for keyword in self._keywords:
            if keyword["site"] in looked:
                by_class.setdefault(keyword["same_text"], looked[keyword["site"]])
        hits, inside, unseen = [], [], []
        for index, keyword in enumerate(self._keywords):
            texts = looked.get(keyword["site"], by_class.get(keyword["same_text"]))
            if index in decided:
                hits.append(index)
            elif texts is None or keyword["kind"] == "element":
                if texts is None and keyword["kind"] != "element":
                    unseen.append(index)
                continue
            elif any(holds(keyword["kind"], _literal(keyword), text) for text in texts):
                hits.append(index)
            counts = [inside_word(keyword["kind"], keyword["literal"], text) for text in texts or ()]
            places, within, forms = (sum(c[part] for c in counts) for part in range(3))
            if places:
                inside.append([index, places, within, forms])
        return hits, inside, unseen


def _literal(keyword: Mapping[str, Any]) -> Any:
    literal = keyword["literal"]
    return tuple(literal) if keyword["kind"] == "regex" else literal


def _copied(arguments: dict[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = loads(dumps(arguments))
    return copied
