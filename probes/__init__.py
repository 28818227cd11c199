"""The built-in probes: one file, one page and one test each.

Built-ins are listed here and not as entry points of our own: entry points are read from the metadata of the
last install, so that a new probe would stay invisible until then.
"""

#: Modules of the built-in probes, in the order in which they run and appear on the page.
BUILTIN: tuple[str, ...] = (
    "value_domain",
    "dead_branch",
    "summary",
    "contents",
    "text_integrity",
    "timestamps",
    "vector_integrity",
    "vector_provenance",
    "encoder_reach",
    "keyword_index",
    "diversity",
    "groups",
    "deduplication",
    "deleted_copies",
    "recall_counts",
    "recall_cost",
    "duplicates",
    "template_noise",
    "constant_fields",
    "capacity",
    "filters",
    "retention",
    "use_counter",
    "eval_set",
    "eval_figures",
    "eval_slices",
    "eval_leak",
    "eval_truth",
    "eval_arms",
    "eval_reranking",
    "eval_scores",
    "eval_practice",
    "field_ablation",
    "recall_stages",
    "machine_text",
    "recall_loops",
    "stored_secrets",
    "instructions",
    "superseded",
)
