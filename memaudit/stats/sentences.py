"""The sentences of a comparison: one for each row of the decision table, and for ablations.

A claim of a gain is worded in row 1 only, a claim of equality in row 3 only. A test draws random
comparisons and looks for words that would claim more than the row allows.
"""

from __future__ import annotations

from memaudit.errors import DataError
from memaudit.stats.decision import Decision, Verdict, needed_queries
from memaudit.stats.paired import Comparison
from memaudit.stats.shown import p_text, points, signed_points, units_text
from memaudit.wording import key, plural, say, sentences, space_between


def verdict_word(verdict: Verdict) -> str:
    """Give a verdict in a word or two, for a table whose caption says what was compared."""
    return say(
        {
            Verdict.NOT_MEASURED: key("not measured"),
            Verdict.NOT_TRUSTWORTHY: key("not judged"),
            Verdict.IMPROVES: key("improves"),
            Verdict.DEGRADES: key("degrades"),
            Verdict.EQUIVALENT: key("no difference larger than the margin"),
            Verdict.NO_HARM: key("a drop larger than the margin is excluded"),
            Verdict.TOO_FEW: key("inconclusive, too few queries"),
            Verdict.INCONCLUSIVE: key("inconclusive"),
        }[verdict]
    )


def verdict_sentence(
    decision: Decision, metric: str, variant: str = "B", synthetic: bool = False, selected: bool = False
) -> str:
    """Give what the report may say about a comparison.

    Parameters
    ----------
    decision
        The judged comparison.
    metric
        Name with its cut-off, `hit@5`.
    variant
        Name of the arm compared with the baseline.
    synthetic
        Whether all queries are of synthetic origin.
    selected
        Whether the variant was picked as the best of several on these queries.

    Returns
    -------
    One to three sentences, plain text.
    """
    parts = [_verdict_words(decision, metric, variant)]
    if selected and decision.verdict is Verdict.IMPROVES:
        parts.append(say("Selected on these queries: the figure is optimistic until a held-out set confirms it."))
    return _with_origin(sentences(*parts), synthetic, decision)


def ablation_sentence(decision: Decision, part: str, metric: str, variant: str = "B", synthetic: bool = False) -> str:
    """Give what an ablation may say, where B is A without the part.

    Parameters
    ----------
    decision
        The judged comparison.
    part
        Name of what was left out.
    metric, variant, synthetic
        As for :func:`verdict_sentence`.

    Returns
    -------
    One to three sentences. "No observed contribution" never stands alone: the contribution that the number
    of queries cannot exclude follows.
    """
    comparison, verdict = decision.comparison, decision.verdict
    interval, difference = comparison.interval, comparison.difference
    if verdict.row == 0 or interval is None or difference is None:
        return _verdict_words(decision, metric, variant)
    parts = []
    if verdict is Verdict.DEGRADES:
        parts.append(
            say(
                "{part} contributes {d} points of {metric} [{low}, {high}]: without it {lost} lost, {gained} "
                "gained, of {n} ({p}).",
                part=part,
                d=points(-difference),
                metric=metric,
                # The contribution is the loss that leaving the part out brings: the bounds change sides.
                low=points(-interval.high),
                high=points(-interval.low),
                lost=plural(comparison.lost, "query", "queries"),
                gained=comparison.gained,
                n=comparison.n,
                p=_shown_p(decision),
            )
        )
        return _with_origin(sentences(*parts), synthetic, decision)
    if verdict is Verdict.IMPROVES:
        parts.append(
            say(
                "{part} harms: removing it improves {metric} by {d} points [{low}, {high}]: {gained} gained, "
                "{lost} lost, of {n} ({p}).",
                part=part,
                metric=metric,
                d=points(difference),
                low=signed_points(interval.low),
                high=signed_points(interval.high),
                gained=plural(comparison.gained, "query", "queries"),
                lost=comparison.lost,
                n=comparison.n,
                p=_shown_p(decision),
            )
        )
    if decision.no_observed_contribution:
        parts.append(_no_contribution(comparison, interval.low, part))
    elif verdict in (Verdict.TOO_FEW, Verdict.INCONCLUSIVE):
        parts.append(
            say(
                "A contribution of {part} was observed ({lost} lost without it, {gained} gained, of {n}) but "
                "is not distinguishable from noise ({p}).",
                part=part,
                lost=plural(comparison.lost, "query", "queries"),
                gained=comparison.gained,
                n=comparison.n,
                p=_shown_p(decision),
            )
        )
    if verdict in (Verdict.EQUIVALENT, Verdict.NO_HARM):
        parts.append(
            say(
                "Removing {part} is safe within {margin} points: {gained} gained, {lost} lost, of {n} [{low}, {high}].",
                part=part,
                margin=_margin(decision),
                gained=plural(comparison.gained, "query", "queries"),
                lost=comparison.lost,
                n=comparison.n,
                low=signed_points(interval.low),
                high=signed_points(interval.high),
            )
        )
    return _with_origin(sentences(*parts), synthetic, decision)


def _verdict_words(decision: Decision, metric: str, variant: str) -> str:
    comparison, verdict = decision.comparison, decision.verdict
    interval, difference = comparison.interval, comparison.difference
    if verdict is Verdict.NOT_TRUSTWORTHY:
        return say("Not judged: {finding}.", finding=(decision.finding or "").rstrip(".。 "))
    if interval is None or difference is None:
        return say("Not measured.")
    low, high = signed_points(interval.low), signed_points(interval.high)
    if verdict is Verdict.IMPROVES:
        sentence = say(
            "{variant} improves {metric} by {d} points [{low}, {high}]: {gained} gained, {lost} lost, of {n} ({p}).",
            variant=variant,
            metric=metric,
            d=points(difference),
            low=low,
            high=high,
            gained=plural(comparison.gained, "query", "queries"),
            lost=comparison.lost,
            n=comparison.n,
            p=_shown_p(decision),
        )
        if interval.high < decision.margin:
            sentence += space_between() + say(
                "Real but smaller than the margin of {margin} points.", margin=_margin(decision)
            )
        return sentence
    if verdict is Verdict.DEGRADES:
        sentence = say(
            "{variant} degrades {metric} by {d} points [{low}, {high}]: {lost} lost, {gained} gained, of {n} ({p}).",
            variant=variant,
            metric=metric,
            d=points(-difference),
            low=low,
            high=high,
            lost=plural(comparison.lost, "query", "queries"),
            gained=comparison.gained,
            n=comparison.n,
            p=_shown_p(decision),
        )
        if interval.low > -decision.margin:
            sentence += space_between() + say("By less than the margin of {margin} points.", margin=_margin(decision))
        return sentence
    if verdict is Verdict.EQUIVALENT:
        return (
            say("No difference larger than {margin} points.", margin=_margin(decision))
            + " "
            + _observed(comparison, difference, low, high)
        )
    if verdict is Verdict.NO_HARM:
        # A metric that fell a little may still be inside the margin; then "no harm observed" would be untrue.
        opening = (
            say(
                "No harm observed: a drop larger than {margin} points is excluded. This does not show a gain.",
                margin=_margin(decision),
            )
            if difference >= 0.0
            else say(
                "A drop larger than {margin} points is excluded. This does not show a gain.",
                margin=_margin(decision),
            )
        )
        return opening + " " + _observed(comparison, difference, low, high)
    if verdict is Verdict.TOO_FEW:
        return _too_few(decision, interval.low, interval.high)
    return say(
        "Inconclusive: {gained} gained, {lost} lost, of {n} ({p}); between {low} and {high} points.",
        gained=plural(comparison.gained, "query", "queries"),
        lost=comparison.lost,
        n=comparison.n,
        p=_shown_p(decision),
        low=low,
        high=high,
    )


def _too_few(decision: Decision, low: float, high: float) -> str:
    comparison = decision.comparison
    sentence = say(
        "Inconclusive, too few queries: {m} of {units} changed; at least {m_min} must change the same way "
        "before any test can tell.",
        m=comparison.n_changed,
        units=units_text(comparison, comparison.n_units),
        m_min=decision.m_min,
    )
    # The verdict follows p, so an interval on one side of 0 says nothing about the other side.
    sentence += space_between() + (
        say("Harm up to {harm} points remains possible.", harm=points(-low))
        if high <= 0.0
        else say(
            "Harm up to {harm} and gain up to {gain} points remain possible.",
            harm=points(max(0.0, -low)),
            gain=points(high),
        )
    )
    needed = needed_queries(decision)
    if needed is None:
        return sentence
    values = {"needed": units_text(comparison, needed.n), "margin": _margin(decision)}
    if needed.assumption == "none-changes":
        more = say("Needed: about {needed}, all unchanged, to exclude a drop of {margin} points.", **values)
    elif needed.assumption == "margin-changes":
        more = say(
            "Needed: about {needed} (80 % power for {margin} points, if {margin} of 100 queries change).",
            **values,
        )
    else:
        more = say(
            "Needed: about {needed} (80 % power for {margin} points, if as large a share changes as here).",
            **values,
        )
    return sentence + " " + more


def _no_contribution(comparison: Comparison, low: float, part: str) -> str:
    queries = plural(comparison.n, "query", "queries")
    if low < 0.0:
        return say(
            "No observed contribution of {part}; a contribution of up to {up_to} points cannot be excluded "
            "with {queries}.",
            part=part,
            up_to=points(-low),
            queries=queries,
        )
    return say(
        "No observed contribution of {part}; with {queries} the interval of the difference starts at {low} "
        "points and holds none.",
        part=part,
        queries=queries,
        low=signed_points(low),
    )


def _observed(comparison: Comparison, difference: float, low: str, high: str) -> str:
    return say(
        "Observed: {d} points [{low}, {high}], {gained} gained, {lost} lost, of {n}.",
        d=signed_points(difference),
        low=low,
        high=high,
        gained=plural(comparison.gained, "query", "queries"),
        lost=comparison.lost,
        n=comparison.n,
    )


def _shown_p(decision: Decision) -> str:
    if decision.p_adjusted is None:
        raise DataError("a comparison without a p has no such sentence.", "Judge it first.")
    p = p_text(decision.p_adjusted, decision.alpha)
    if decision.family_size == 1:
        return say("p {p}", p=p)
    return say("p {p}, adjusted for {k} comparisons", p=p, k=decision.family_size)


def _margin(decision: Decision) -> str:
    return f"{100.0 * decision.margin:.4g}"


def _with_origin(sentence: str, synthetic: bool, decision: Decision) -> str:
    if not synthetic or decision.verdict.row == 0:
        return sentence
    return say("On synthetic queries: {sentence}", sentence=sentence)
