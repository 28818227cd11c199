from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memaudit.measures.vector_origin import index_state, models, plain_text, shared_vectors
from memaudit.model import Severity
from memaudit.probes.vector_provenance import PROBE
from tests.probes.builders import blob, codes, make_context, only

ROLES = {"text": "content", "embedding": "embedding"}
BESIDE = {"text": "content", "vectors": {"table": "memory_vectors", "ref": "memory_id", "embedding": "embedding"}}
TEXTS = ["部署前先跑测试", "Use the blue pipeline", "缓存 key 带版本号", "Ask for the time zone", "Back up on Friday"]


def axis(*numbers: tuple[int, float]) -> bytes:
    vector = np.zeros(8)
    for place, value in numbers:
        vector[place] = value
    return blob(*vector)


def rows(*given: tuple[str, str | None, bytes | None]) -> list[dict[str, Any]]:
    return [{"id": i + 1, "content": t, "embedding_model": m, "embedding": v} for i, (t, m, v) in enumerate(given)]


# -- MA014 --------------------------------------------------------------------------------------


def mixed() -> list[dict[str, Any]]:
    # Model a lives on axes 0-3, model b on 4-7; 0.6 * 0.5 = 0.3 is the largest cosine across.
    a = [axis((0, 1.0)), axis((1, 1.0)), axis((2, 0.6), (3, 0.8))]
    b = [axis((4, 1.0)), axis((2, 0.5), (5, np.sqrt(0.75)))]
    return rows(
        (TEXTS[0], "model-a", a[0]), (TEXTS[1], "model-a", a[1]), (TEXTS[2], "model-a", a[2]),
        ("部署前先跑测试 ", "model-b", b[0]), (TEXTS[3], "model-b", b[1]), (TEXTS[4], None, axis((6, 1.0))),
    )  # fmt: skip


def test_models_when_two_stand_in_one_column_then_high_with_figures() -> None:
    finding = only(PROBE.run(make_context(mixed(), roles=ROLES, embedding_model="embedding_model")), "MA014")
    assert finding.severity is Severity.HIGH
    assert finding.figures["model_names"] == {"model-a": 3, "model-b": 2}
    assert finding.figures["rows_without_model_name"] == 1
    assert finding.figures["identical_texts_stored_in_both"] == 1  # the first, but for a blank at its end
    assert finding.figures["max_cosine_across"] == pytest.approx(0.3, abs=1e-6)
    assert finding.figures["median_cosine_of_identical_texts"] == pytest.approx(0.0)
    assert finding.subject["column"] == "embedding"
    assert finding.subject["field"] == "embedding_model"
    assert finding.evidence.ids == (4, 5)


def test_models_when_the_column_is_not_named_then_found_by_its_name() -> None:
    assert "MA014" in codes(PROBE.run(make_context(mixed(), roles=ROLES)))


def test_models_when_the_name_stands_beside_the_vector_then_found() -> None:
    memories = [{"id": i + 1, "content": t} for i, t in enumerate(TEXTS)]
    vectors = [{"memory_id": i + 1, "model": "new" if i > 2 else "old", "embedding": axis((i, 1.0))} for i in range(5)]
    ctx = make_context(memories, roles=BESIDE, tables={"memory_vectors": vectors})
    finding = only(PROBE.run(ctx), "MA014")
    assert finding.figures["model_names"] == {"old": 3, "new": 2}


def test_models_when_no_column_names_them_then_not_looked() -> None:
    given = [{"id": i + 1, "content": t, "embedding": axis((i, 1.0))} for i, t in enumerate(TEXTS)]
    result = PROBE.run(make_context(given, roles=ROLES))
    assert codes(result) == []
    assert result.not_looked["MA014"][1] == "embedding_model"
    assert result.not_looked["MA016"][1] == "vectors"


def test_models_when_one_was_renamed_then_low() -> None:
    same = axis((0, 1.0))
    given = rows((TEXTS[0], "old-name", same), (TEXTS[1], "old-name", axis((1, 1.0))), (TEXTS[0], "new-name", same))
    finding = only(PROBE.run(make_context(given, roles=ROLES)), "MA014")
    assert finding.severity is Severity.LOW


def test_models_when_one_is_spelled_twice_then_silent() -> None:
    given = rows(
        (TEXTS[0], "text-embedding-3-small", axis((0, 1.0))),
        (TEXTS[1], "openai/text-embedding-3-small", axis((1, 1.0))),
        (TEXTS[2], None, None),  # no vector, no name
    )
    assert codes(PROBE.run(make_context(given, roles=ROLES))) == []


def test_models_when_names_are_missing_then_low_from_five_per_cent() -> None:
    vectors = [axis((i % 8, 1.0), ((i + 1) % 8, i / 10)) for i in range(20)]
    named = [(f"text {i} 记忆", "m" if i else None, v) for i, v in enumerate(vectors)]
    assert only(PROBE.run(make_context(rows(*named), roles=ROLES)), "MA014").severity is Severity.LOW
    more = [*named, ("one more", "m", axis((3, 0.1), (4, 0.9)))]
    assert codes(PROBE.run(make_context(rows(*more), roles=ROLES))) == []  # 1 of 21


def test_models_when_empty_then_no_names() -> None:
    found = models([], [], [], np.empty((0, 0), dtype=np.float32), [], np.random.default_rng(0))
    assert (found.names, found.max_across_cos, found.texts_in_both) == ({}, None, 0)


# -- MA015 --------------------------------------------------------------------------------------


def test_shared_when_different_texts_have_one_vector_then_high() -> None:
    one, two = axis((0, 1.0)), axis((1, 1.0))
    given = [
        {"id": i + 1, "content": t, "embedding": v}
        for i, (t, v) in enumerate(
            [(TEXTS[0], one), (TEXTS[1], one), (TEXTS[2], two), ("缓存 KEY  带版本号", two), (TEXTS[3], axis((2, 1.0)))]
        )
    ]
    finding = only(PROBE.run(make_context(given, roles=ROLES)), "MA015")
    assert (finding.figures["groups"], finding.figures["rows_in_groups"], finding.figures["rows"]) == (1, 2, 5)
    assert finding.severity is Severity.HIGH  # 2 of 5
    assert finding.evidence.ids == (1, 2)


def test_shared_when_copies_differ_by_case_space_or_accent_then_silent() -> None:
    matrix = np.ones((4, 3), dtype=np.float32)
    assert (
        shared_vectors(matrix, [0, 1, 2, 3], ["Café  au lait", "cafe au lait", "CAFÉ AU LAIT\n", "ｃafé au lait"]) == ()
    )
    assert plain_text("Ｃafé") == "cafe"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The file grew to 9 GB overnight. Fix: close readers",
            "the file grew to 9 GB overnight . Fix - close readers!",
        ),
        ("缓存，键带版本号。", "缓存键 带版本号"),
        ("It's “done”", 'It\'s "done"'),
        ("a well-known bug", "a well known bug"),
    ],
)
def test_shared_when_texts_differ_by_punctuation_alone_then_silent(one: str, other: str) -> None:
    assert shared_vectors(np.ones((2, 3), dtype=np.float32), [0, 1], [one, other]) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("keep 9 copies.", "keep 8 copies"),
        ("needs version 1.2", "needs version 12"),
        ("opens at 9:30", "opens at 930"),
        ("offset of -5 degrees", "offset of 5 degrees"),
        ("the C# client", "the C client"),
        ("a fee of 5 %", "a fee of 5"),
        ("缓存键带版本号。", "缓存键带版本。"),
    ],
)
def test_shared_when_a_number_or_a_sign_that_means_something_differs_then_counted(one: str, other: str) -> None:
    assert shared_vectors(np.ones((2, 3), dtype=np.float32), [0, 1], [one, other]) == ((0, 1),)


def test_shared_when_vectors_are_nearly_equal_then_silent() -> None:
    matrix = np.array([[1.0, 0.0], [np.nextafter(np.float32(1), np.float32(2)), 0.0]], dtype=np.float32)
    assert shared_vectors(matrix, [0, 1], ["a", "b"]) == ()


def test_shared_when_zero_vectors_then_left_to_another_rule() -> None:
    zero = axis()
    given = [{"id": i + 1, "content": t, "embedding": zero if i else axis((0, 1.0))} for i, t in enumerate(TEXTS)]
    assert codes(PROBE.run(make_context(given, roles=ROLES))) == []


def test_shared_when_cut_before_the_difference_then_said() -> None:
    head = "Memory entry of the agent: "
    given = [{"id": i + 1, "content": head + t, "embedding": axis((0, 1.0))} for i, t in enumerate(TEXTS)]
    finding = only(PROBE.run(make_context(given, roles=ROLES, embed_max_chars=27)), "MA015")
    assert "MA019" in (finding.caveat or "")


# -- MA016 --------------------------------------------------------------------------------------


def index_context(keys: list[Any], refs: list[Any], deleted: tuple[Any, ...] = (), marked: bool = True) -> Any:
    memories = [{"id": k, "content": f"记忆 {k}", "deleted": int(k in deleted)} for k in keys]
    vectors = [{"memory_id": r, "embedding": axis((i % 8, 1.0), ((i + 3) % 8, i))} for i, r in enumerate(refs)]
    roles = {**BESIDE, **({"deleted_where": '"deleted" = 1'} if marked else {})}
    return make_context(
        memories,
        roles=roles,
        tables={"memory_vectors": vectors},
        columns={"memory_vectors": ["memory_id", "embedding"]},
    )


def test_index_when_out_of_step_then_every_count() -> None:
    # 12 rows, 2 and 3 deleted; vectors of 1..10 and of 20..22, which are no rows.
    finding = only(PROBE.run(index_context(list(range(1, 13)), [*range(1, 11), 20, 21, 22], (2, 3))), "MA016")
    figures = finding.figures
    assert (figures["memories"], figures["vectors"], figures["orphan_vectors"]) == (12, 13, 3)
    assert figures["share_orphan"] == pytest.approx(3 / 13)
    assert (figures["memories_without_vector"], figures["deleted_with_vector"]) == (2, 2)
    assert finding.severity is Severity.HIGH
    assert finding.evidence.ids == (20, 21, 22, 2, 3, 11, 12)
    assert finding.subject["tables"] == ["memories", "memory_vectors"]


def test_index_when_in_step_then_silent() -> None:
    keys = list(range(1, 13))
    assert codes(PROBE.run(index_context(keys, keys))) == []
    assert codes(PROBE.run(index_context(keys, keys[2:], (1, 2)))) == []  # deleted with their vectors
    assert codes(PROBE.run(index_context(keys, [*keys, 5, 5]))) == []  # several vectors (chunks) of one row


def test_index_when_keys_are_written_as_text_then_compared_as_text() -> None:
    assert codes(PROBE.run(index_context([1, 2, 3], ["1", "2", "3"]))) == []
    assert index_state(["a", "b"], [], ["a", None]).orphans == (None,)


def test_index_when_only_vectors_are_missing_then_medium_or_low() -> None:
    many = list(range(1, 101))
    assert only(PROBE.run(index_context(many, many[1:])), "MA016").severity is Severity.LOW
    assert only(PROBE.run(index_context(many, many[5:])), "MA016").severity is Severity.MEDIUM


def test_index_when_nothing_marks_deleted_rows_then_unknown_not_zero() -> None:
    finding = only(PROBE.run(index_context([1, 2, 3], [1, 2, 3, 4], marked=False)), "MA016")
    assert finding.figures["deleted_with_vector"] is None


def test_index_when_keys_are_blobs_then_shown_as_text() -> None:
    finding = only(PROBE.run(index_context([b"a", b"b"], [b"a", b"b", b"gone"])), "MA016")
    assert finding.evidence.ids == ("gone",)


def test_index_when_empty_then_nothing() -> None:
    found = index_state([], [], [])
    assert (found.memories, found.vectors, found.orphan_share) == (0, 0, None)
