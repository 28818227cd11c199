import json
import random
from typing import Any

import pytest

from memaudit.evaluation.corpus import corpus_of_rows
from memaudit.evaluation.id_prefix import telling_prefix
from memaudit.evaluation.leak import find_leak, normal_form, unescaped, weighted_length
from memaudit.evaluation.query_set import Item, Query
from memaudit.evaluation.resolve import resolve
from memaudit.stats.intervals import wilson_interval


def query(name: Any, text: Any, *contains: Any, doc: Any = None) -> Any:
    items = tuple(Item(contains=c) for c in contains) or (Item(doc=doc or "none"),)
    return Query(name, text, (items,), "expect_any")


def look(queries: Any, documents: Any) -> Any:
    corpus = corpus_of_rows("c", list(documents), list(documents.values()))
    return find_leak(queries, resolve(queries, corpus), corpus)


def test_unescaped_when_json_then_as_it_was_written() -> None:
    text = 'a "q"\n\t路径 C:\\x 😀'
    assert unescaped(json.dumps(text)[1:-1]) == text
    assert unescaped(r"\d+ and \w") == r"\d+ and \w"


def test_length_when_han_then_counted_twice() -> None:
    assert (weighted_length("abc"), weighted_length("数据库 x")) == (3, 8)
    assert normal_form("ＡＢ\n  c") == "ab c"


@pytest.mark.parametrize("ascii_only", [True, False])
def test_leak_when_an_indexed_key_is_escaped_then_all_four_items_are_found(ascii_only: Any) -> None:
    # A four-item key: quotes, a line break and Chinese are escaped inside a JSON file.
    answers = [
        'MODEL = "all-MiniLM-L6-v2"',
        "第一行超时错误处理\n第二行重试三次",
        "plain answer text",
        '说"是"的那个配置项目',
    ]
    queries = [query(f"q{i}", f"which value is asked for in number {i}", a) for i, a in enumerate(answers)]
    key = json.dumps([{"expect": [a]} for a in answers], ensure_ascii=ascii_only)
    leak = look(queries, {"code": "\n".join(answers), "eval.json": key})
    # the document that really holds the answers is none
    assert leak.leaked_documents == ("eval.json",)
    assert leak.n_expected_texts == 4
    assert {c.query for c in leak.copies if c.doc == "eval.json"} == {"q0", "q1", "q2", "q3"}


def test_leak_when_33_of_36_texts_are_in_an_evaluation_file_then_the_published_share() -> None:
    answers = [f"expected text number {i:02d}" for i in range(36)]
    queries = [query(f"q{i}", f"question {i:02d} about the thing", a) for i, a in enumerate(answers)]
    documents = {f"doc{i}": f"chunk: {a}" for i, a in enumerate(answers)} | {"eval.py": "; ".join(answers[:33])}
    leak = look(queries, documents)
    assert leak.leaked_documents == ("eval.py",)
    assert (leak.n_expected_leaked, leak.n_expected_texts) == (33, 36)
    low, high = wilson_interval(33, 36)
    # 33/36 = 91.7 % [78.2, 97.1]
    assert (round(100 * 33 / 36, 1), round(100 * low, 1), round(100 * high, 1)) == (91.7, 78.2, 97.1)


def test_leak_when_a_document_answers_many_queries_and_no_other_holds_the_texts_then_silent() -> None:
    answers = [f"the setting number {i} is explained here" for i in range(5)]
    queries = [query(f"q{i}", f"what does setting {i} do in practice", a) for i, a in enumerate(answers)]
    leak = look(queries, {"manual": " ".join(answers), "other": "something else entirely"})
    assert leak.leaked_documents == ()
    assert not leak.serious


def test_leak_when_one_document_holds_a_query_and_its_answer_then_leaked() -> None:
    asked = query("q1", "which embedding model is used", "all-MiniLM-L6-v2")
    leak = look(
        [asked], {"log": "Q: which embedding model is used A: all-MiniLM-L6-v2", "code": "x = all-MiniLM-L6-v2"}
    )
    assert leak.leaked_documents == ("log",)
    assert leak.serious


def test_leak_when_the_copy_is_the_answer_itself_then_no_leak() -> None:
    leak = look([query("q1", "短信验证码有效期是多久", doc="d1")], {"d1": "问：短信验证码有效期是多久？五分钟。"})
    assert leak.copied == ()
    assert leak.copied_queries(answering=True) == ("q1",)


def test_copies_when_held_against_every_pair_one_by_one_then_the_same() -> None:
    chance = random.Random(7)
    words = ["restart", "the service", "code", "超时错误", "重试三次", "limit", "of worker"]
    texts = [" ".join(chance.choices(words, k=6)) + f" number {chance.randrange(9)}" for _ in range(40)]
    documents = {
        f"d{i}": text[chance.choice([0, 0, 5, 11]) :] + chance.choice(["", " end"]) for i, text in enumerate(texts)
    }
    queries = [query(f"q{i}", text) for i, text in enumerate(texts)]

    def grams(text: str) -> set[str]:
        return {text[i : i + 5] for i in range(len(text) - 4)}

    pairs = {
        (f"q{i}", doc, text in held)
        for i, text in enumerate(texts)
        for doc, held in documents.items()
        if text in held or (len(text) >= 30 and len(grams(text) & grams(held)) / len(grams(text)) >= 0.8)
    }
    assert len({doc for _, doc, verbatim in pairs if verbatim}) >= 3
    assert len({pair for pair in pairs if not pair[2]}) >= 5
    assert {(c.query, c.doc, c.verbatim) for c in look(queries, documents).copies} == pairs


def test_leak_when_queries_are_short_then_passed_over() -> None:
    assert look([query("q1", "question 1", doc="d2")], {"d1": "question 1", "d2": "x"}).copies == ()


def test_near_copy_when_lightly_edited_then_found_and_another_text_of_the_template_is_not() -> None:
    base = "工具 read_file 在读取 /srv/app/config.yaml 时返回权限错误，重试三次后放弃，会话结束"
    edited = base.replace("三次", "四次")
    other = "工具 write_csv 在写入 /tmp/out.csv 时返回磁盘已满，清理之后继续，任务完成"
    queries = [query("q1", base, doc="x")]
    assert [c.verbatim for c in look(queries, {"d": edited, "x": "-"}).copies] == [False]
    assert look(queries, {"d": other, "x": "-"}).copies == ()


def test_leak_when_corpus_or_queries_are_empty_then_nothing() -> None:
    assert look([], {"d": "text of a document"}).copies == ()
    assert look([query("q1", "a long enough query text", doc="d")], {}).copies == ()


# -- ids --


def test_prefix_when_only_expected_ids_have_it_then_named() -> None:
    gold = [f"answer_{i}_1" for i in range(10)]
    found = telling_prefix(gold, [*gold, *(f"sharegpt_{i}" for i in range(40))])
    assert (found.prefix, found.gold_with, found.others_with, found.telling) == ("answer_", 10, 0, True)


def test_prefix_when_letters_meet_digits_then_named() -> None:
    gold = [f"g{i}" for i in range(10)]
    found = telling_prefix(gold, [*gold, *(f"d{i}" for i in range(40))])
    assert (found.prefix, found.telling) == ("g", False)


@pytest.mark.parametrize(
    ("gold", "others"),
    [
        ([f"d{i:03d}" for i in range(20)], [f"d{i:03d}" for i in range(20, 100)]),
        ([f"faq-{i}" for i in range(10)], [f"faq-{i}" for i in range(10, 20)] + [f"log-{i}" for i in range(50)]),
        ([f"answer_{i}" for i in range(4)], [f"x{i}" for i in range(40)]),
        ([f"answer_{i}" for i in range(10)], [f"x{i}" for i in range(5)]),
        ([], []),
    ],
)
def test_prefix_when_ids_are_alike_or_few_then_silent(gold: Any, others: Any) -> None:
    assert telling_prefix(gold, [*gold, *others]) is None


def test_prefix_when_a_word_for_an_answer_stands_on_some_others_too_then_found() -> None:
    others = [*(f"{i:04x}_1" for i in range(58)), "answer_90f1_1", "answer_77c0_2"]  # 2 of 60 = 3.3 %
    gold = [f"answer_{i:04x}_0" for i in range(30)]
    found = telling_prefix(gold, [*gold, *others])
    assert found is not None
    assert (found.prefix, found.gold_with, found.others_with) == ("answer_", 30, 2)
    plain = [g.replace("answer", "note") for g in gold]
    assert telling_prefix(plain, [*plain, *(o.replace("answer", "note") for o in others)]) is None
    many = [f"answer_{i:04x}_9" for i in range(7)]  # 9 of 67 = 13 %
    assert telling_prefix(gold, [*gold, *others, *many]) is None
