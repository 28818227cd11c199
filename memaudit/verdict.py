"""The verdict: one pure function from the audit's figures and findings to a sentence and three lanes.

Definitions: D distinct values of the audited field, V values that its generator can return, C(t) clusters at
cosine t. The rule is the table in `docs`/the report's fold; it is tested row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memaudit.model import Basis, Finding, Lane, LaneState, NotRun, Severity, Verdict
from memaudit.wording import part_of, plural, say, sentences

COLLECTION, GENERATOR, RETRIEVAL = "data collection", "generator", "retrieval"
#: From this share of rows on its fallback on, a generator is blamed (limits.verdict.share_on_fallback).
FALLBACK_SHARE = 0.20
#: A domain at most this many times the values in use leaves no room for more data.
DOMAIN_ROOM = 1.2


@dataclass(frozen=True)
class VerdictInput:
    """What the verdict is made from.

    Parameters
    ----------
    rows
        Rows that were audited; None when only evaluation files were given.
    distinct
        D; None when no field was audited.
    clusters
        C(t) by threshold; empty when there were no vectors.
    domain
        V; None when no generator was given, or its domain is open or unknown.
    on_fallback
        (rows on the generator's fallback form, rows counted); None when not known.
    tight_group
        (value, rows, mean cosine, recalled or None) of the largest group that records one event again and
        again, when it holds at least 20 % of the rows.
    findings
        Most severe first.
    looked
        Lanes of which at least one probe ran.
    evaluated
        True when a query set was measured; False when it was given but could not show anything; None when none
        was given.
    new_clusters
        (rows, new clusters) of the last full week; None when not known.
    """

    rows: int | None
    distinct: int | None = None
    clusters: Mapping[float, int] = field(default_factory=dict)
    domain: int | None = None
    on_fallback: tuple[int, int] | None = None
    field_name: str = ""
    findings: Sequence[Finding] = ()
    not_run: Sequence[NotRun] = ()
    n_probes: int = 0
    looked: frozenset[str] = frozenset()
    evaluated: bool | None = None
    new_clusters: tuple[int, int] | None = None
    value_field_guessed: bool = False

    @property
    def fallback_share(self) -> float | None:
        """Share of the counted rows that are on the fallback form."""
        return None if self.on_fallback is None else self.on_fallback[0] / self.on_fallback[1]


def decide(given: VerdictInput) -> Verdict:
    """Decide where the memory is limited.

    Returns
    -------
    Verdict
        Its `state` is a word of the vocabulary; `sentence` is an answer even where no bottleneck can be named.
    """
    if given.rows == 0:
        return Verdict(
            "nothing-audited",
            say("The store holds 0 rows: nothing was audited."),
            lead=say("No probe looked at anything. This says nothing about the quality of the memory."),
            do_first=say("Check that the store and the table are the ones that the agent writes to."),
            lanes=tuple(Lane(name, LaneState.NOT_RUN, say("There are no rows to look at.")) for name in _LANES),
        )
    state, reasons = _state(given)
    lanes = tuple(_lane(name, state, given) for name in _LANES)
    return Verdict(
        state,
        _sentence(state, given),
        lead=_lead(state, given),
        do_first=_do_first(state, given),
        lanes=lanes,
        reasoning=tuple(reasons),
    )


_LANES = (COLLECTION, GENERATOR, RETRIEVAL)
#: Rules that say what a query set cannot show: too little data, no fault of recall.
_ABOUT_THE_QUERY_SET = frozenset({"MA703", "MA704", "MA705"})


def _serious(given: VerdictInput, lane: str | None = None) -> list[Finding]:
    """Return findings at medium or above that are not under-powered, of one lane or of all."""
    return [
        f
        for f in given.findings
        if f.severity >= Severity.MEDIUM and f.basis is not Basis.UNDER_POWERED and (lane is None or f.lane == lane)
    ]


def _state(given: VerdictInput) -> tuple[str, list[str]]:
    """Apply the rule; return the state and the sentences that show how it was reached."""
    d, v, fallback = given.distinct, given.domain, given.fallback_share
    if _has_no_text(given):
        return "not-enough-data", [
            say("No column holds the memory's text, so there was nothing to read or to compare.")
        ]
    if d is None or not given.clusters or given.value_field_guessed:
        return ("undecided" if _serious(given) else "no-finding"), [_why_no_bottleneck(given)]
    above = {t: c > d for t, c in given.clusters.items()}
    shown = " / ".join(f"{c:,}" for c in given.clusters.values())
    at = " / ".join(f"{t:g}" for t in given.clusters)
    reasons = [
        say(
            "Distinct values of {field}: {d}. Clusters: {shown} at cosine {at}, by greedy clustering in row order.",
            field=f"`{given.field_name}`",
            d=d,
            shown=shown,
            at=at,
        )
    ]
    middle = given.clusters.get(0.95)
    generator_room = v is not None and v <= d * DOMAIN_ROOM
    on_fallback = fallback is not None and fallback >= FALLBACK_SHARE
    is_generator = all(above.values()) and (on_fallback or generator_room) and bool(_serious(given, GENERATOR))
    is_collection = (
        (middle is not None and middle <= d)
        or (v is not None and d < v / 2 and fallback is not None and fallback < FALLBACK_SHARE)
    ) and bool(_serious(given, COLLECTION))
    if v is not None:
        reasons.append(say("The generator can return {v} values.", v=v))
    if fallback is not None:
        reasons.append(say("Share of rows on its fallback: {share:.1f} %.", share=100 * fallback))
    if is_generator:
        reasons.append(
            say(
                "The clusters exceed the {d} distinct values at every threshold, so the labels are fewer than the "
                "situations whichever threshold is right; the generator decides how many labels there can be.",
                d=d,
            )
        )
        reasons.append(
            say("It would change to data collection if the clusters at 0.95 were at most {d}, and to undecided if the "
                "thresholds disagreed.", d=d)
        )  # fmt: skip
        return ("both" if _repeats(given) else "generator"), reasons
    if is_collection:
        reasons.append(
            say("There are no more clusters than values: the labels are fine enough for what was collected.")
        )
        return "data-collection", reasons
    if all(above.values()) and v is None and fallback is None:
        reasons.append(
            say("The clusters exceed the values at every threshold. Whether the code or the data limits the values "
                "cannot be said without the generator: `--generator pkg.mod:Class.fn` decides it.")
        )  # fmt: skip
    elif any(above.values()) and not all(above.values()):
        reasons.append(
            say("The thresholds disagree: clusters exceed the values at some and not at others. Reading twenty pairs "
                "near the disputed threshold would decide which one fits this encoder.")
        )  # fmt: skip
    if not _serious(given):
        return "no-finding", reasons
    return "undecided", reasons


def _has_no_text(given: VerdictInput) -> bool:
    """Say whether rules looked for a text in vain, nothing could be compared, and nothing else was found either."""
    wanted = any(n.option == "text" for n in given.not_run)
    return wanted and COLLECTION not in given.looked and bool(given.rows) and not _serious(given)


def _repeats(given: VerdictInput) -> bool:
    """Say whether a group that records one event again and again holds a fifth of the rows (MA303 at medium)."""
    return any(f.code == "MA303" for f in _serious(given, COLLECTION))


def _why_no_bottleneck(given: VerdictInput) -> str:
    if given.distinct is None:
        return say(
            "No field with values to audit was named (`--value-field`), so labels cannot be held against situations."
        )
    if not given.clusters:
        return say("There are no vectors, so situations could not be counted.")
    return say(
        "The audited field {field} was found by looking. Name it with `--value-field` (and its code with "
        "`--generator`) to have the lanes decided.",
        field=f"`{given.field_name}`",
    )


def _sentence(state: str, given: VerdictInput) -> str:
    about = given.clusters.get(0.95) or next(iter(given.clusters.values()), None)
    if state in ("generator", "both") and given.distinct is not None and about is not None:
        return say("The bottleneck is the generator: {d} values for about {c} situations.", d=given.distinct, c=about)
    if state == "data-collection" and given.distinct is not None and about is not None:
        return say(
            "The bottleneck is data collection: about {c} situations in {n} memories, and {d} values to tell them "
            "apart.",
            c=about,
            n=given.rows or 0,
            d=given.distinct,
        )
    serious = _serious(given)
    if serious:
        title = serious[0].title
        return title if title.endswith((".", "!", "?", "。")) else title + say(".")
    memories = _memories(given)
    if state == "not-enough-data":
        return say("Hardly anything was audited in {memories}: no column with their text was found.", memories=memories)
    blind = len({n.probe for n in given.not_run if not n.codes or n.probe})
    if blind:
        return say(
            "No fault found in {memories}; {blind} of {n} probes could not look in full.",
            memories=memories,
            blind=blind,
            n=max(given.n_probes, blind),
        )
    return say("No fault found in {memories}.", memories=memories)


def _memories(given: VerdictInput) -> str:
    return say("the evaluation set") if given.rows is None else plural(given.rows, "memory", "memories")


def _lead(state: str, given: VerdictInput) -> str:
    parts = []
    if state in ("generator", "both"):
        about = given.clusters.get(0.95)
        parts.append(
            say("The store holds about {c} different situations (clusters at cosine 0.95).", c=about)
            if about is not None
            else ""
        )
        if given.domain is not None:
            parts.append(
                say("The generator can return {v} values; the store holds {d}.", v=given.domain, d=given.distinct)
            )
        if given.on_fallback is not None:
            parts.append(say("{rows} rows fall through to its fallback form.", rows=part_of(*given.on_fallback)))
        parts.append(say("Collecting more rows of the same kind does not change that."))
    else:
        high = [f for f in given.findings if f.severity is Severity.HIGH]
        medium = [f for f in given.findings if f.severity is Severity.MEDIUM]
        parts.append(
            say(
                "Audited {memories}: {high} high and {medium} medium finding."
                if (len(high), len(medium)) == (0, 1)
                else "Audited {memories}: {high} high and {medium} medium findings.",
                memories=_memories(given),
                high=len(high),
                medium=len(medium),
            )
        )
        if state in ("undecided", "no-finding", "not-enough-data"):
            parts.append(_what_would_decide(given))
    return sentences(*parts)


def _what_would_decide(given: VerdictInput) -> str:
    if _has_no_text(given):
        return ""
    if given.distinct is None:
        return say("To learn whether collection, generator or retrieval is the limit, name the field with "
                   "`--value-field` and its code with `--generator`.")  # fmt: skip
    if not given.clusters:
        return say("To learn whether collection, generator or retrieval is the limit, the texts have to be encoded: "
                   "see `--encoder`.")  # fmt: skip
    if given.domain is None and given.fallback_share is None:
        return say("Whether the code or the data limits the values of {field} is decided by "
                   "`--generator pkg.mod:Class.fn`.", field=f"`{given.field_name}`")  # fmt: skip
    return ""


def _do_first(state: str, given: VerdictInput) -> str:
    lane = {"generator": GENERATOR, "both": GENERATOR, "data-collection": COLLECTION}.get(state)
    candidates = [f for f in _serious(given, lane) if f.fix] or [f for f in _serious(given) if f.fix]
    if candidates:
        return f"{candidates[0].fix} ({candidates[0].code})"
    if state == "not-enough-data":
        return say("Name the column with the memory's text: `--text COLUMN`.")
    return ""


def _lane(name: str, state: str, given: VerdictInput) -> Lane:
    serious = _serious(given, name)
    codes = tuple(dict.fromkeys(f.code for f in serious))
    bottleneck = {"generator": {GENERATOR}, "both": {GENERATOR}, "data-collection": {COLLECTION}}.get(state, set())
    growth = _growth(given) if name == COLLECTION else ""
    only_the_set = name == RETRIEVAL and given.evaluated is False and _ABOUT_THE_QUERY_SET.issuperset(codes)
    if serious and not only_the_set:
        lane_state = LaneState.BOTTLENECK if name in bottleneck else LaneState.PROBLEM
        do = next((f.fix for f in serious if f.fix), "")
        sentence = sentences(_ended(serious[0].title), growth)
        return Lane(name, lane_state, sentence, do, codes)
    if name == RETRIEVAL and given.evaluated is not True:
        if given.evaluated is None:
            return Lane(
                name,
                LaneState.NOT_ENOUGH_DATA if name in given.looked else LaneState.NOT_RUN,
                say("No query set was given, so whether recall finds the right memory was not measured."),
                say("Give `--queries FILE`, with at least 60 queries written by a person."),
            )
        return Lane(
            name,
            LaneState.NOT_ENOUGH_DATA,
            say("The query set is too small, or too easy, to show a difference."),
            say("Write more and harder queries before tuning anything here."),
            codes,
        )
    unusable = next((f for f in given.findings if f.code == "MA902" and name == GENERATOR), None)
    if unusable is not None:  # the field was looked at, but what was asked about is the code that fills it
        return Lane(name, LaneState.NOT_RUN, _ended(unusable.title), unusable.fix)
    if name not in given.looked:
        reason = next((n.reason for n in given.not_run if n.probe in _LANE_PROBES.get(name, ())), "")
        return Lane(name, LaneState.NOT_RUN, _ended(reason) if reason else say("No probe of this lane could look."))
    sentence = say("Nothing at medium or above was found.")
    return Lane(name, LaneState.NO_FINDING, sentences(sentence, growth))


_LANE_PROBES = {
    GENERATOR: ("value-domain", "dead-branch", "diversity"),
    COLLECTION: ("diversity", "groups", "duplicates"),
}


def _growth(given: VerdictInput) -> str:
    """Say whether collecting still adds variety."""
    if given.new_clusters is None:
        return ""
    rows, new = given.new_clusters
    return say("The last full week added {rows} and {new}.", rows=plural(rows, "row"), new=plural(new, "new cluster"))


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "。")) else sentence + say(".")
