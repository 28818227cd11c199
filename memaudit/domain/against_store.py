"""Hold the values a function can return against the values and rows that are stored. Pure."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memaudit.domain.result import DomainResult, Form, Json, Keyword, ReplayResult
from memaudit.wording import plural, say

_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x3040, 0x30FF),
    (0xAC00, 0xD7AF),
    (0x20000, 0x3FFFF),
)


@dataclass(frozen=True)
class FormRows:
    """Rows of one fixed value or form.

    Parameters
    ----------
    form
        The fixed value, or the text of the form; `{"outside": true}` never appears here.
    is_form
        Whether it has holes.
    n_rows
        Rows with it.
    values
        Stored values of the form, the most frequent first.
    """

    form: Json
    is_form: bool
    n_rows: int
    values: tuple[Json, ...]


@dataclass(frozen=True)
class StoreComparison:
    """What the store holds of the domain.

    Parameters
    ----------
    n_rows
        Rows given.
    domain_size
        With holes filled by `hole_values`, else by the stored instances; None when not complete.
    values_seen
        Distinct stored values inside the domain; None when values and field cannot be compared.
    values_never_seen
        Fixed values that no row has; then instances of forms (`hole_values` given) that no row has.
    outside
        (value, rows) of stored values that are neither fixed nor instances of a form, most rows first.
    outside_is_certain
        Whether these cannot come from the function: only when its domain is complete.
    by_form
        Rows by fixed value and form, most rows first.
    fallback_values
        Stored values on the fallback, most rows first.
    n_on_fallback, fallback_share
        Rows on the fallback by value; None when not separable by value (replay) or without one.
    n_cjk, n_cjk_on_fallback
        The same for rows whose text holds Chinese, Japanese or Korean; None without texts.
    why_no_fallback
        One sentence when the share is None.
    """

    n_rows: int
    domain_size: int | None
    values_seen: int | None
    values_never_seen: tuple[Json, ...]
    outside: tuple[tuple[Json, int], ...]
    outside_is_certain: bool
    by_form: tuple[FormRows, ...]
    fallback_values: tuple[Json, ...]
    n_on_fallback: int | None
    fallback_share: float | None
    n_cjk: int | None
    n_cjk_on_fallback: int | None
    why_no_fallback: str | None


@dataclass(frozen=True)
class KeywordRows:
    """What one keyword did on the replayed rows.

    Parameters
    ----------
    n_matched
        Rows whose text it holds for, whether or not it was asked.
    n_decided
        Rows in which the function asked it and found it true.
    n_looked
        Rows whose text is known for it.
    n_places, n_inside_word, n_forms
        Places in the texts, those of them that are a part of a longer word, and those of the latter that are a form of
        the keyword itself (`deploys` for `deploy`).
    shadowed_by
        Keyword that makes it needless, or None.
    """

    keyword: Keyword
    n_matched: int
    n_decided: int
    n_looked: int
    n_places: int
    n_inside_word: int
    n_forms: int
    shadowed_by: Json


@dataclass(frozen=True)
class ReplayComparison:
    """What the replay of the stored rows says.

    Parameters
    ----------
    n_rows, n_replayed, n_failed
        Rows given; rows called; rows on which the function raised.
    n_on_fallback, fallback_share
        Rows that took the fallback, of those that gave a value; None without a fallback or without rows.
    n_cjk, n_cjk_on_fallback
        The same for rows whose text holds Chinese, Japanese or Korean; None without texts.
    n_agree
        Rows whose stored value equals what the function gives now; None without stored values.
    keywords
        In source order.
    never_matched
        Texts of keywords that no row matches (and whose text is known for every row that was called).
    """

    n_rows: int
    n_replayed: int
    n_failed: int
    n_on_fallback: int | None
    fallback_share: float | None
    n_cjk: int | None
    n_cjk_on_fallback: int | None
    n_agree: int | None
    keywords: tuple[KeywordRows, ...]
    never_matched: tuple[Json, ...]


def has_cjk(text: str) -> bool:
    """Tell whether a text holds a Chinese, Japanese or Korean letter."""
    return any(low <= ord(letter) <= high for letter in text for low, high in _CJK)


def key(value: Json) -> str:
    """Give a text that is equal for equal JSON values and keeps 1, true and "1" apart."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True)


def form_instances(form: Form, hole_values: Mapping[str, Sequence[Any]]) -> list[str] | None:
    """Fill the holes with every combination of values; None when values of a hole are not given.

    Empty and missing values are left out: an argument that is not there fills no hole.
    """
    if not all(name in hole_values for name in form.holes):
        return None
    choices = [
        list(dict.fromkeys(str(v) for v in hole_values[name] if v is not None and v != "")) for name in form.holes
    ]
    if len(form.holes) > 1 and _product(map(len, choices)) > 1_000_000:
        return None
    return [form.filled(dict(zip(form.holes, chosen, strict=False))) for chosen in itertools.product(*choices)]


def domain_size(
    result: DomainResult,
    hole_values: Mapping[str, Sequence[Any]] | None = None,
    stored: Sequence[Json] | None = None,
) -> int | None:
    """Count the values: fixed ones, and forms filled with the values given.

    Parameters
    ----------
    hole_values
        Values in the store by parameter.
    stored
        Stored values of the field; for forms whose holes have no values given, their distinct instances among
        these are counted.

    Returns
    -------
    None when the enumeration is not complete or unknown, or when a form can be filled in neither way. Never 0
    for a function that could not be called.
    """
    if result.status != "ok" or not result.complete:
        return None
    every = {key(value) for value in result.fixed_values}
    for form in result.forms:
        filled = form_instances(form, hole_values or {}) if form.exact and not form.is_json else None
        if filled is None:
            if stored is None:
                return None
            filled = [v for v in dict.fromkeys(map(_text, stored)) if v is not None and _fits(form, v)]
            filled = [value for value in filled if _form_of(value, result) is form]
        every |= {key(value) for value in filled}
    return len(every)


def with_proven_values(result: DomainResult, replayed: ReplayResult, stored: Sequence[Json]) -> DomainResult:
    """Add the values that stored rows have and give again, where the enumeration did not find them.

    Such a value is no value from elsewhere: the enumeration missed it, and is not complete.
    """
    known = {key(value) for value in result.fixed_values}
    found: dict[str, Json] = {}
    for value, row in zip(stored, replayed.rows, strict=False):
        if row is None or row.error is not None or key(row.value) != key(value) or key(value) in known:
            continue
        if _form_of(_text(value), result) is None:
            found[key(value)] = value
    if not found:
        return result
    missed = say("not found although stored rows give it again: {values}", values=plural(len(found), "value"))
    return replace(
        result,
        fixed_values=(*result.fixed_values, *(found[name] for name in sorted(found))),
        domain_size=None,
        complete=False,
        missing=(*result.missing, missed),
    )


def compare_values(
    result: DomainResult,
    stored: Sequence[Json],
    *,
    texts: Sequence[str | None] | None = None,
    hole_values: Mapping[str, Sequence[Any]] | None = None,
) -> StoreComparison:
    """Hold the stored values of the field against the domain.

    Parameters
    ----------
    stored
        The field of every row, in row order; None for a row without a value.
    texts
        Text of every row, to tell the languages apart; same length.
    hole_values
        Values in the store by parameter, for the domain size.
    """
    fixed = {key(value): value for value in result.fixed_values}
    rows: dict[str, int] = {}
    shown: dict[str, Json] = {}
    for value in stored:
        rows[key(value)] = rows.get(key(value), 0) + 1
        shown[key(value)] = value
    inside: dict[str, Form | None] = {}
    outside = []
    for name, value in shown.items():
        form = None if name in fixed else _form_of(_text(value), result)
        if name in fixed or form is not None:
            inside[name] = form
        else:
            outside.append((value, rows[name]))
    by_form = _by_form(result, inside, rows, shown) if result.comparable else ()
    on_fallback = {
        name for name, form in inside.items()
        if (form is None and name in {key(v) for v in result.fallback.values})
        or (form is not None and form.text in result.fallback.forms)
    }  # fmt: skip
    why = _why_no_fallback(result)
    usable = why is None and len(stored) > 0
    counted = sum(rows[name] for name in on_fallback)
    cjk = None if texts is None else [has_cjk(text or "") for text in texts]
    return StoreComparison(
        n_rows=len(stored),
        domain_size=domain_size(result, hole_values, stored),
        values_seen=len(inside) if result.comparable else None,
        values_never_seen=_never_seen(result, set(shown), hole_values) if result.comparable else (),
        outside=tuple(sorted(outside, key=lambda item: (-item[1], key(item[0])))) if result.comparable else (),
        outside_is_certain=result.complete and result.comparable and result.status == "ok",
        by_form=by_form,
        fallback_values=tuple(shown[name] for name in sorted(on_fallback, key=lambda n: (-rows[n], n))),
        n_on_fallback=counted if usable else None,
        fallback_share=counted / len(stored) if usable else None,
        n_cjk=None if cjk is None else sum(cjk),
        n_cjk_on_fallback=None
        if cjk is None or not usable
        else sum(1 for value, is_cjk in zip(stored, cjk, strict=False) if is_cjk and key(value) in on_fallback),
        why_no_fallback=why,
    )


def compare_replay(
    result: DomainResult,
    replayed: ReplayResult,
    *,
    stored: Sequence[Json] | None = None,
    texts: Sequence[str | None] | None = None,
) -> ReplayComparison:
    """Sum the replay of the stored rows up.

    Parameters
    ----------
    stored
        The field of every row, in the order of the replay.
    texts
        Text of every row, to tell the languages apart.
    """
    called = [(i, row) for i, row in enumerate(replayed.rows) if row is not None]
    gave = [(i, row) for i, row in called if row.error is None]
    known = [(i, row) for i, row in gave if row.on_fallback is not None]
    fallen = [i for i, row in known if row.on_fallback]
    cjk = None if texts is None else {i for i, _ in known if has_cjk(texts[i] or "")}
    shadows = {(s.line, key(s.keyword)): s.by for s in result.shadowed}
    keywords = []
    for index, keyword in enumerate(replayed.keywords):
        looked = [row for _, row in called if index not in row.not_looked]
        counts = [row.inside[index] for row in looked if index in row.inside]
        keywords.append(
            KeywordRows(
                keyword,
                n_matched=sum(index in row.hits for row in looked),
                n_decided=sum(index in row.decided for row in looked),
                n_looked=len(looked),
                n_places=sum(places for places, _, _ in counts),
                n_inside_word=sum(inside for _, inside, _ in counts),
                n_forms=sum(forms for _, _, forms in counts),
                shadowed_by=shadows.get((keyword.line, key(keyword.text))),
            )
        )
    return ReplayComparison(
        n_rows=len(replayed.rows),
        n_replayed=len(called),
        n_failed=len(called) - len(gave),
        n_on_fallback=len(fallen) if known else None,
        fallback_share=len(fallen) / len(known) if known else None,
        n_cjk=None if cjk is None else len(cjk),
        n_cjk_on_fallback=None if cjk is None or not known else sum(i in cjk for i in fallen),
        n_agree=None
        if stored is None or not result.comparable
        else sum(key(row.value) == key(stored[i]) for i, row in gave),
        keywords=tuple(keywords),
        never_matched=tuple(
            dict.fromkeys(k.keyword.text for k in keywords if called and k.n_looked == len(called) and k.n_matched == 0)
        ),
    )


def _by_form(
    result: DomainResult,
    inside: Mapping[str, Form | None],
    rows: Mapping[str, int],
    shown: Mapping[str, Json],
) -> tuple[FormRows, ...]:
    found = [FormRows(value, False, rows.get(key(value), 0), (value,)) for value in result.fixed_values]
    for form in result.forms:
        names = sorted((n for n, f in inside.items() if f is form), key=lambda n: (-rows[n], n))
        found.append(FormRows(form.text, True, sum(rows[n] for n in names), tuple(shown[n] for n in names)))
    return tuple(sorted(found, key=lambda f: (-f.n_rows, key(f.form))))


def _never_seen(
    result: DomainResult, stored: set[str], hole_values: Mapping[str, Sequence[Any]] | None
) -> tuple[Json, ...]:
    found: list[Json] = [value for value in result.fixed_values if key(value) not in stored]
    for form in result.forms:
        filled = form_instances(form, hole_values or {}) if form.exact and not form.is_json else None
        found += [value for value in dict.fromkeys(filled or ()) if key(value) not in stored]
    return tuple(found)


def _why_no_fallback(result: DomainResult) -> str | None:
    if result.status != "ok":
        return say("the function could not be called: {reason}", reason=result.reason)
    if not result.comparable:
        return say("the values are objects, and it is not known how the field holds them")
    if result.fallback.separable is None:
        return say("the function has no keywords, or raises when none of them holds")
    if not result.fallback.separable:
        return say("not separable by value: a keyword gives the same value as the fallback; only a replay can tell")
    return None


def _text(value: Json) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _fits(form: Form, text: str) -> bool:
    return form.pattern().fullmatch(text) is not None


def _form_of(text: str | None, result: DomainResult) -> Form | None:
    """Give the fitting form with the most constant text."""
    fitting = [form for form in result.forms if text is not None and _fits(form, text)]
    return max(fitting, key=lambda f: sum(len(t) for is_hole, t in f.parts if not is_hole), default=None)


def _product(sizes: Any) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total
