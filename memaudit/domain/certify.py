"""What is missing for calling a domain complete, and which keywords can never decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from memaudit.domain.engine import ENTRY_KINDS, PLACE_KINDS, TABLE_KINDS, Engine
from memaudit.domain.predicates import implies, keyword_text
from memaudit.domain.preds import KEYWORD_KINDS, Event, Pred, PredKey
from memaudit.domain.sites import Tables
from memaudit.wording import say

_CASED = frozenset({"contains", "prefix", "suffix", "equals", "member", "key"})


@dataclass
class Certificate:
    """Which goals were not met, without those that cannot be met and why.

    Parameters
    ----------
    missing
        One line for each open goal, in source order.
    shadowed
        Keywords that can never decide: keyword, by, relation (`earlier-branch`, `same-group`, `case`), place.
    """

    missing: list[str] = field(default_factory=list)
    shadowed: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Certifier:
    """Judges the goals of an engine that has finished its search."""

    def __init__(self, engine: Engine, tables: Tables) -> None:
        self.engine, self.tables = engine, tables
        self._outcomes: list[frozenset[Event]] = list({o.events for o in engine.cache.values()})
        self._explained: set[tuple[PredKey, bool]] = set()
        self._explained_sites: set[int] = set()
        self._explained_points: set[int] = set()
        self.certificate = Certificate()

    def certify(self) -> Certificate:
        """Give the certificate."""
        preds = [p for p in self.engine.recorder.preds.values() if self.engine.stable(p)]
        keywords = [p for p in preds if p.kind in KEYWORD_KINDS]
        for pred in keywords:
            if (*pred.key, True) not in self.engine.seen:
                self._explain_true(pred, keywords)
            elif pred.kind not in TABLE_KINDS | ENTRY_KINDS and (*pred.key, False) not in self.engine.seen:
                self._explain_false(pred, keywords)
        self._redundant(keywords)
        self._explain_branches(preds)
        self._list_conditions()
        self._list_points()
        return self.certificate

    # -- what cannot be seen ----------------------------------------------------------------------------
    def _explain_true(self, pred: Pred, keywords: list[Pred]) -> None:
        for other in keywords:
            if other is pred or (*other.key, True) not in self.engine.seen or not implies(pred, other):
                continue
            if self.engine.same_text(pred.site, other.site) and self._prevents(other, pred):
                same = pred.group is not None and pred.group == other.group
                self._shadow(pred, other, "same-group" if same else "earlier-branch")
                return
        literal = pred.literal
        if pred.kind in _CASED and isinstance(literal, str):
            texts = [t for seen in self.engine.looked.get(pred.site, {}).values() for t in seen]
            for change in (str.lower, str.upper):
                cased = any(t.lower() != t.upper() for t in texts)
                if change(literal) != literal and cased and all(change(text) == text for text in texts):
                    self._shadow(pred, None, "case")
                    return

    def _prevents(self, earlier: Pred, later: Pred) -> bool:
        """Tell whether in no call the earlier condition held and the later one was still asked."""
        held = (*earlier.key, True)
        asked = {(*later.key, True), (*later.key, False)}
        return not any(held in events and not asked.isdisjoint(events) for events in self._outcomes)

    def _explain_false(self, pred: Pred, keywords: list[Pred]) -> None:
        """Explain a condition that is never false: it stands in the branch of one that implies it."""
        with_it = [events for events in self._outcomes if (*pred.key, True) in events]
        for other in keywords:
            if other is pred or not implies(other, pred) or not self.engine.same_text(pred.site, other.site):
                continue
            if with_it and all((*other.key, True) in events for events in with_it):
                self._explained.add((pred.key, False))
                why = say("always true where it stands, because of {keyword}", keyword=repr(keyword_text(other)))
                self.certificate.notes.append(f"{self._place(pred.site)}: {why}")
                return

    def _shadow(self, pred: Pred, by: Pred | None, relation: str, *, explains: bool = True) -> None:
        if explains:
            self._explained |= {(pred.key, True), (pred.key, False)}
        site = self.tables.sites[pred.site]
        self.certificate.shadowed.append(
            {
                "keyword": keyword_text(pred),
                "by": None if by is None else keyword_text(by),
                "relation": relation,
                "file": site.file,
                "line": site.line,
                "by_line": None if by is None else self.tables.sites[by.site].line,
            }
        )

    def _redundant(self, keywords: list[Pred]) -> None:
        """Keywords that a sibling of the same group makes needless, whichever stands first."""
        for pred in keywords:
            if pred.group is None or (pred.key, True) in self._explained:
                continue
            for other in keywords:
                stronger = implies(pred, other) and not implies(other, pred)
                if other.group == pred.group and stronger and self.engine.same_text(pred.site, other.site):
                    self._shadow(pred, other, "same-group", explains=False)
                    break

    def _explain_branches(self, preds: list[Pred]) -> None:
        for branch in self.tables.branches:
            if not branch.sites:
                for side in (branch.body, branch.orelse):
                    if side and not self.engine.points & set(side):
                        self._explained_points |= set(side)
                        sites = branch.inner_sites if side is branch.body else branch.after_sites
                        self._explained_sites |= set(sites)
                continue
            here = [p for p in preds if p.site in branch.sites and p.kind in KEYWORD_KINDS]
            if not here:
                continue
            seen = {p.key for p in here if (*p.key, True) in self.engine.seen}
            never = not seen and all((p.key, True) in self._explained for p in here)
            always = any((p.key, False) in self._explained and p.key in seen for p in here)
            if never and not self.engine.points & set(branch.body):
                self._explained_points |= set(branch.body)
                self._explained_sites |= {*branch.sites, *branch.inner_sites}
            if always and not self.engine.points & set(branch.orelse):
                self._explained_points |= set(branch.orelse)
                self._explained_sites |= {*branch.sites, *branch.after_sites}
        for text in self.tables.constants:
            self.certificate.notes.append(say("{text} is a setting of the module, taken as it is", text=text))

    # -- what is missing --------------------------------------------------------------------------------
    def _place(self, site: int) -> str:
        found = self.tables.sites[site]
        return f"{found.file}:{found.line}: {found.text}"

    def _list_conditions(self) -> None:
        for pred, wanted in sorted(self.engine.goals(), key=lambda goal: (goal[0].site, goal[1])):
            settled = self._explained_sites | self.engine.recorder.chain_parts
            if (pred.key, wanted) in self._explained or pred.site in settled:
                continue
            place = self._place(pred.site)
            if pred.literal is None or pred.kind in PLACE_KINDS:
                line = say("{place} was never seen true" if wanted else "{place} was never seen false", place=place)
            else:
                line = say(
                    "{place} with {keyword} was never seen true"
                    if wanted
                    else "{place} with {keyword} was never seen false",
                    place=place,
                    keyword=repr(keyword_text(pred)),
                )
            self.certificate.missing.append(line)
        touched = {pred.site for pred in self.engine.recorder.preds.values()} | self.engine.recorder.visited
        for site in sorted(self.engine.recorder.too_large):
            self.certificate.missing.append(
                say("{place}: the table has more keys than were tried", place=self._place(site))
            )
        for site in range(len(self.tables.sites)):
            if site not in touched | self.engine.recorder.chain_parts and site not in self._explained_sites:
                self.certificate.missing.append(say("{place} was never reached", place=self._place(site)))

    def _list_points(self) -> None:
        unseen: dict[tuple[str, int], bool] = {}
        for index, point in enumerate(self.tables.points):
            if index not in self.engine.points and index not in self._explained_points:
                unseen[(point.file, point.line)] = unseen.get((point.file, point.line), False) or point.in_handler
        for (file, line), in_handler in sorted(unseen.items()):
            self.certificate.missing.append(
                say(
                    "{place}: the except part never ran to its end"
                    if in_handler
                    else "{place}: the statement never ran to its end",
                    place=f"{file}:{line}",
                )
            )
