"""The built-in probes: one file, one page and one test each.

Built-ins are listed here and not as entry points of our own: entry points are read from the metadata of the
last install, so that a new probe would stay invisible until then.
"""

#: Modules of the built-in probes, in the order in which they run and appear on the page.
BUILTIN: tuple[str, ...] = (
    "summary",
    "contents",
    "vector_integrity",
    "diversity",
    "groups",
    "deduplication",
    "recall_counts",
    "duplicates",
    "template_noise",
    "constant_fields",
    "capacity",
    "filters",
    "use_counter",
    "machine_text",
    "recall_loops",
    "stored_secrets",
    "instructions",
    "superseded",
)
