"""The kinds of label-making functions met in public code, each with its right answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Enumerate = Callable[..., dict[str, Any]]


# (function, fixed values, forms): worked out by reading the sample.
CASES = [
    (  # g02
        "FileNotes.language_of",
        {"python", "javascript", "typescript", "go", "rust", "java", "sql", "markdown", "plain"},
        [],
    ),
    ("Planner.category", {"coding", "search", "files", "writing", "calendar", "misc"}, []),  # g03
    ("stage_tag", {"unset", "dev"}, ["{stage}"]),  # g09
    ("script_of", {"en", "zh"}, []),  # g14
    ("verdict_kind", {"invention", "unaware", "broken", "useless", "good"}, []),  # g15
    ("operation_kind", {"producer", "consumer", "creation", "other"}, []),  # g17
    ("snippet_language", {"sh", "python", "unclear"}, []),  # g19
    ("schema_type", {"number", "string", "boolean", "null", "array", "object"}, []),  # g20
    (  # g24
        "missing_token",
        {"No token in the header", "No token"},
        ["No token in the cookie {cookie}", "No token in the header or the cookie {cookie}"],
    ),
    ("usage_kind", {"sub-agent", "summary", "stream", "call"}, []),  # g28
    ("span", set(), ["{seconds}h", "{seconds}m", "{seconds}s"]),  # g30
]


@pytest.mark.parametrize(("name", "fixed", "forms"), CASES, ids=[case[0] for case in CASES])
def test_generator_kind_gives_its_stated_values(
    enumerate_here: Enumerate, samples: Path, name: str, fixed: set[str], forms: list[str]
) -> None:
    found = enumerate_here(samples / "labels.py", name)
    assert found["status"] == "ok"
    assert set(found["fixed_values"]) == fixed
    assert [form["text"] for form in found["forms"]] == forms
    assert found["complete"], found["missing"]
    assert found["pure"], found["impurities"]


def test_random_default_is_impure_and_never_complete(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "labels.py", "session_id")  # g33
    assert found["fixed_values"] == []
    assert not found["pure"]
    assert any("random.randint" in line for line in found["impurities"])
    assert any("uuid.uuid4" in line for line in found["impurities"]) or found["impurities"]
    assert not found["complete"]


def test_value_outside_the_declared_type_is_named(enumerate_here: Enumerate, samples: Path) -> None:
    """4 values for any text, 3 for the declared Literal."""
    assert enumerate_here(samples / "labels.py", "operation_kind")["outside_annotation"] == ["other"]
    assert enumerate_here(samples / "labels.py", "missing_token")["outside_annotation"] == ["No token"]
    assert enumerate_here(samples / "labels.py", "span")["outside_annotation"] == []


def test_default_equal_to_a_mapped_value_is_not_separable(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "labels.py", "schema_type")
    assert found["fallback"]["values"] == ["object"]
    assert found["fallback"]["separable"] is False
    other = enumerate_here(samples / "labels.py", "Planner.category")
    assert other["fallback"]["values"] == ["misc"]
    assert other["fallback"]["separable"] is True


def test_except_part_belongs_to_the_fallback(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "labels.py", "snippet_language")
    assert set(found["fallback"]["values"]) == {"python", "unclear"}


def test_given_shape_is_used_and_an_unknown_parameter_is_named(enumerate_here: Enumerate, samples: Path) -> None:
    shape = {"checks": {name: {"answer": "TEXT"} for name in ("asked", "kept", "invented", "helpful")}}
    assert len(enumerate_here(samples / "labels.py", "verdict_kind", shape)["fixed_values"]) == 5
    from memaudit.domain.loading import LoadError

    with pytest.raises(LoadError, match=r"nothing.*parameters are: checks"):
        enumerate_here(samples / "labels.py", "verdict_kind", {"nothing": "TEXT"})


def test_wrong_shape_is_unknown_and_never_a_domain_of_zero(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "labels.py", "verdict_kind", {"checks": 3})
    assert found["status"] == "unknown"
    assert "TypeError" in found["reason"]
    assert not found["complete"]


# (function, fixed values or their number, forms, complete)
TRICKY: list[tuple[str, Any, list[str], bool]] = [
    (
        "per_item",
        {"auth", "auth+path", "auth+path+time", "auth+time", "other", "path", "path+time", "time"},
        [],
        True,
    ),
    ("by_score", {"critical", "soon", "later"}, [], True),
    ("best_of", {"red", "blue", "green", "grey"}, [], True),
    ("error_name", {"none"}, ["{text}"], True),
    ("by_match", {"write", "read", "danger", "other"}, [], True),
    ("by_length", {"long", "medium", "short"}, [], True),
    ("by_count", {"noisy", "quiet"}, [], True),
    ("two_inputs", {"shell failure", "web failure", "failure", "success"}, [], True),
    ("Tagger.tag", {"bug", "wish", "note"}, [], True),
    ("level", {"low", "mid", "high"}, [], True),
    ("ascii_or_not", {"ascii", "wide"}, [], True),
    ("nested", {"time", "code", "fine"}, [], True),
    ("attribute", {"good"}, ["bad:{result.name}"], True),
    ("later", {"yes", "no"}, [], True),
    ("truncated", set(), ["note: {text}"], True),
    ("digest", set(), ["id-{text}"], True),
    ("at_most", {"many"}, ["{n} tries"], True),
    ("head", {"feature", "repair", "chore"}, [], True),
    ("by_float", {"strong", "weak", "none"}, [], True),
    ("word_set", {"greeting", "talk"}, [], True),
    ("entry", {"compute", "memory", "storage", "network", "missing"}, [], True),
    ("configured", {"on", "off"}, [], True),
    ("with_walrus", {"no ticket"}, ["ticket {text}"], True),
    ("first_of", {"red", "blue", "green", "grey"}, [], True),
    ("formatted", set(), ["{tool} failed", "{tool} worked"], True),
    ("lower_case_only", {"warning", "info"}, [], True),
    ("shadowed", {"net", "none"}, [], True),
    ("single_letters", {"x", "q", "z"}, [], True),
    ("echo", set(), ["{text}"], True),
    ("chatty", {"a", "b"}, [], True),
    ("letter", {"a", "b", "c"}, [], True),
    # Sets of (denied -> acd, id -> ad, connect -> c, rm -> d) with and without b: a never comes without d.
    ("shared_words", {"none", "b", "c", "d", "bc", "bd", "cd", "bcd", "ad", "abd", "acd", "abcd"}, [], True),
    ("guarded", {"shout", "talk", "no text"}, [], True),
    ("tags_of", None, [], True),
    ("both_fields", {"shell denied", "network", "other"}, [], True),
    # What cannot be closed must say so; what was found is real all the same.
    ("between_tags", {""}, ["{text}"], True),
    ("after_colon", {"always"}, ["{text}"], True),
    ("chosen_or_told", {"yaml", "json"}, ["{fmt}"], True),
    ("ratio", {"1"}, ["-{hit}", "{hit, num}"], True),
    ("shown_pipe", {"<in>"}, ["pipe {fd}"], True),
    ("norm_name", {"largest", "smallest", "sum", "root"}, [], True),
    ("norm_name_of_text", {"other"}, [], False),
    ("same_number", {"equal", "more", "less"}, [], True),
    ("three_numbers", {""}, ["{pid} {eid} {lid}"], True),
    ("named_in_text", {"draft final", "draft", "other"}, [], True),
    ("words_in_order", None, [], False),
    ("fourteen_joined", None, [], False),
    ("by_library", None, [], False),
    ("by_lambda", {"red", "blue", "grey"}, [], True),
    ("close_to", None, [], False),
    ("rest", None, [], False),
]


@pytest.mark.parametrize(("name", "fixed", "forms", "complete"), TRICKY, ids=[case[0] for case in TRICKY])
def test_tricky_function_is_right_or_not_complete(
    enumerate_here: Enumerate, samples: Path, name: str, fixed: Any, forms: list[str], complete: bool
) -> None:
    found = enumerate_here(samples / "tricky.py", name)
    assert found["complete"] is complete, found["missing"]
    if fixed is not None:
        assert set(found["fixed_values"]) == fixed
    assert [form["text"] for form in found["forms"]] == forms


def test_items_are_combined(enumerate_here: Enumerate, samples: Path) -> None:
    assert len(enumerate_here(samples / "tricky.py", "tags_of")["fixed_values"]) == 16  # 2**4 sets of labels


def test_value_of_an_except_part_that_no_text_reaches_lies_outside_the_annotation(
    enumerate_here: Enumerate, samples: Path
) -> None:
    assert enumerate_here(samples / "tricky.py", "guarded")["outside_annotation"] == ["no text"]


def test_values_that_are_no_text_keep_their_kind(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "tricky.py", "mixed_kinds")["fixed_values"]
    assert found == [1, ["list", "of", "it"], None, True]
    assert found[0] is not True
    assert enumerate_here(samples / "tricky.py", "pair")["fixed_values"] == [
        {"repr": "('hit', 1)"},
        {"repr": "('miss', 0)"},
    ]


def test_fourteen_groups_first_match_are_closed_and_the_rest_is_stated(
    enumerate_here: Enumerate, samples: Path
) -> None:
    found = enumerate_here(samples / "tricky.py", "fourteen_first")
    assert len(found["fixed_values"]) == 15  # 14 words and "plain"
    assert found["complete"]
    assert any("14 keyword groups" in note for note in found["notes"])


def test_order_of_words_is_named_as_missing(enumerate_here: Enumerate, samples: Path) -> None:
    missing = enumerate_here(samples / "tricky.py", "words_in_order")["missing"]
    assert any("order of the keywords" in line for line in missing)


def test_calls_out_of_sight_are_named(enumerate_here: Enumerate, samples: Path) -> None:
    missing = enumerate_here(samples / "tricky.py", "by_library")["missing"]
    assert any("mimetypes.guess_type" in line for line in missing)


def test_shadowed_keywords_name_what_shadows_them(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "tricky.py", "shadowed")["shadowed"]
    assert {(s["keyword"], s["by"], s["relation"]) for s in found} == {
        ("connection", "connect", "earlier-branch"),
        ("disconnect", "connect", "earlier-branch"),
    }
    (case,) = enumerate_here(samples / "tricky.py", "lower_case_only")["shadowed"]
    assert (case["keyword"], case["by"], case["relation"]) == ("Error", None, "case")
    assert enumerate_here(samples / "labels.py", "Planner.category")["shadowed"] == []


def test_five_groups_joined_are_31_fixed_values_and_one_form(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "labels.py", "Recorder.pattern")
    assert len(found["fixed_values"]) == 31  # 2**5 subsets without the empty one
    assert [form["text"] for form in found["forms"]] == ["工具试错模式: {tool_name}工具重试成功"]
    assert found["complete"]
    assert found["pure"]
    assert found["fallback"]["forms"] == ["工具试错模式: {tool_name}工具重试成功"]
    assert found["fallback"]["separable"] is True
    # `connect` makes `connection` needless; nothing else is.
    assert [(s["keyword"], s["by"]) for s in found["shadowed"]] == [("connection", "connect")]
    assert len(found["keywords"]) == 12
    assert {k["leaf"] for k in found["keywords"]} == {"failures[].error"}


def test_function_that_always_raises_is_unknown(enumerate_here: Enumerate, samples: Path) -> None:
    found = enumerate_here(samples / "tricky.py", "never_returns")
    assert (found["status"], found["fixed_values"], found["complete"]) == ("unknown", [], False)
    assert "ValueError: no" in found["reason"]
