"""The thresholds that rules ask for: a name of `limits` that none asks for is a slip of the pen, not a setting."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from memaudit.config import nearest
from memaudit.errors import ConfigError
from memaudit.wording import say, sentences

#: Rule -> names of its thresholds. A test holds it against what the source asks for.
LIMIT_NAMES: Mapping[str, str] = {
    "MA003": "high_share medium_share",
    "MA004": "medium_share",
    "MA005": "medium_share",
    "MA006": "medium_share",
    "MA007": "huge_times max_share min_chars min_times",
    "MA008": "broken_share missing_share wrong_order_share",
    "MA010": "share",
    "MA011": "share",
    "MA012": "share",
    "MA014": "high_share same_space_cos",
    "MA015": "high_share",
    "MA016": "high_share",
    "MA017": "max_overlap max_unknown_share min_cjk_share min_collapse_cos min_gap",
    "MA018": "max_overlap min_low_cos min_median_cos min_texts",
    "MA019": "min_reach_share nothing_share over_share",
    "MA101": "medium_share share_on_fallback timeout_s",
    "MA102": "high_share medium_share",
    "MA103": "medium_share",
    "MA105": "share_inside_word",
    "MA106": "share_seen",
    "MA201": "share_left_empty share_unreachable",
    "MA301": "min_rows",
    "MA302": "high_rows high_share medium_share min_cos",
    "MA303": "min_mean_cos min_rows min_share",
    "MA304": "max_mean_cos min_rows",
    "MA305": "share_extra",
    "MA306": "share_near share_reworded",
    "MA307": "contradicting_share",
    "MA310": "low_share medium_share min_days",
    "MA401": "high_share low_share medium_share",
    "MA402": "share_rows",
    "MA501": "max_rows_without_queries max_texts timing",
    "MA503": "depth min_queries timing",
    "MA504": "margin",
    "MA505": "high_share medium_share",
    "MA507": "same_set_share",
    "MA508": "min_growing_share",
    "MA509": "high_share medium_share too_many_times",
    "MA601": "min_rows partly_share",
    "MA602": "near_share",
    "MA603": "high_over_share tolerance",
    "MA604": "min_rows",
    "MA606": "medium_share min_rows min_share unscored_share",
    "MA607": "min_rows patchy_share",
    "MA608": "high_share medium_share",
    "MA609": "min_expected",
    "MA701": "known_item_overlap min_chars min_containment min_queries",
    "MA702": "max_other_share min_gold_share",
    "MA703": "max_detectable medium_detectable",
    "MA704": "max_width min_queries",
    "MA705": "high_share medium_share",
    "MA706": "high_gap medium_gap",
    "MA708": "max_chance medium_share min_share",
    "MA711": "max_depth_share",
    "MA712": "min_misses order_share recall_share",
    "MA713": "min_fall short_chars",
    "MA714": "min_gap",
    "MA715": "max_triggered threshold",
    "MA716": "max_vanished",
    "MA717": "min_late_s",
    "MA719": "turns",
    "MA721": "synthetic_share",
    "MA801": "share_high share_medium",
    "MA802": "max_minutes min_chars share_chance share_high share_medium",
    "MA904": "min_rows",
}
_OURS = re.compile(r"MA\d{3}")


def check_limits(limits: Mapping[str, Any], origin: str) -> None:
    """Refuse a threshold that no rule asks for, and one that is no number.

    Rules of other distributions have prefixes of their own, and their names are not known here.

    Raises
    ------
    ConfigError
        Names the nearest threshold, or those of the rule.
    """
    for code, name, value in _each(limits):
        full = f"{code}.{name}" if name else code
        if _OURS.fullmatch(code):
            names = LIMIT_NAMES.get(code, "").split()
            if name not in names:
                listed = say("Thresholds of {code}: {names}.", code=code, names=", ".join(names) or "-")
                raise ConfigError(
                    say('limits has no threshold "{name}" in {place}.', name=full, place=origin),
                    sentences(nearest(full, _known()), listed),
                )
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
            raise ConfigError(
                say("limits.{code}.{name} is {value}; a number was expected.", code=code, name=name, value=repr(value))
            )


def _each(limits: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Take limits apart, written as tables or with a dotted key."""
    for key, value in limits.items():
        if isinstance(value, Mapping):
            for name, inner in value.items():
                yield key, str(name), inner
        else:
            code, _, name = key.partition(".")
            yield code, name, value


def _known() -> list[str]:
    return [f"{code}.{name}" for code, names in LIMIT_NAMES.items() for name in names.split()]
