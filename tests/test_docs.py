"""The manual and both READMEs: every command runs, every output shown is what comes out, every page is reachable."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from memaudit.cli import cli
from memaudit.config import KEYS
from memaudit.probes import BUILTIN
from memaudit.registry import builtin_probes
from tests import manual_pages

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "docs" / "hooks.py").is_file():
    pytest.skip("not a checkout of the repository: the manual is not here", allow_module_level=True)

Run = Callable[..., Any]

#: Commands that are shown and not run here, each with its reason.
NOT_RUN = {
    "memaudit mcp --root data/": "a server that waits for a client; tests/test_mcp_server.py speaks to it",
    "memaudit mcp --root ~/agent/data": "a server that waits for a client; tests/test_mcp_server.py speaks to it",
    "memaudit stores ~/agents": "names a folder of the reader; the manual's page on stores runs the command on the example",
    "memaudit domain app/recorder.py:Recorder.label --store experiences.db --value-field pattern": (
        "names a column that the example does not have; the manual's page on security runs the command without it"
    ),
}
#: A run that may find something says so with 1.
MAY_FIND = ("--fail-on", "--fail-on-dead")
PAGES = manual_pages.pages()


@lru_cache
def made(name: str) -> str:
    """Return a page as the reader gets it: with what is made from the code."""
    return str(manual_pages.hooks().filled(PAGES[name]))


# -- commands --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the bundled example, and beside it the files that commands of the manual name."""
    folder = tmp_path_factory.mktemp("manual") / "example"
    subprocess.run(
        [sys.executable, str(ROOT / "fixtures" / "build.py"), "--out", str(folder)], check=True, capture_output=True
    )
    (folder / "data").mkdir()
    shutil.copy(folder / "experiences.db", folder / "data" / "experiences.db")
    (folder / "app").mkdir()
    (folder / "app" / "recorder.py").write_text(
        'class Recorder:\n    @staticmethod\n    def label(text):\n        return "timeout" if "timeout" in text else "other"\n'
    )

    def lines(name: str, rows: list[dict[str, Any]]) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    lines(
        "queries.jsonl",
        [{"id": f"q{i}", "text": f"question {i}", "expect_any": [{"doc": str(i)}]} for i in range(1, 9)],
    )
    lines("corpus.jsonl", [{"id": str(i), "text": f"memory {i}"} for i in range(1, 20)])
    lines("runs.jsonl", [{"arm": arm, "query": f"q{i}", "ranking": [str(i + step), str(i)]}
                         for arm, step in (("before", 1), ("after", 0)) for i in range(1, 9)])  # fmt: skip
    lines("stages.jsonl", [{"arm": arm, "query": f"q{i}", "ranking": [str(i), str(i + 1)][: 3 - step]}
                           for arm, step in (("search", 1), ("filter", 1), ("rerank", 2)) for i in range(1, 9)])  # fmt: skip
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t1\t1\nq2\t2\t1\n")
    return folder


@pytest.fixture(scope="module")
def reports(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files that earlier audits left: two kept audits, reports, a baseline."""
    folder = tmp_path_factory.mktemp("left") / "example"
    shutil.copytree(example, folder)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for words in (
        ["run", "--history", "audits", "-q"],
        ["run", "--history", "audits", "-q", "--force"],
        ["baseline", "-q"],
    ):
        subprocess.run(
            [sys.executable, "-m", "memaudit", *words], cwd=folder, env=environment, check=True, capture_output=True
        )
    return folder


def _prepared(kind: str, page: str, folder: Path, example: Path, reports: Path) -> None:
    """Fill the folder that the commands of a page run in."""
    shutil.copytree(example, folder, dirs_exist_ok=True)
    if kind == "bare":
        (folder / "memaudit.toml").unlink()
        shutil.rmtree(folder / "app")
        return
    for name in ("report.json", "report.json last-week.json", "report.json audit/report.json"):
        source, _, target = name.partition(" ")
        (folder / (target or source)).parent.mkdir(exist_ok=True)
        shutil.copy(reports / source, folder / (target or source))
    if page != "docs/weekly.md":
        shutil.copytree(reports / "audits", folder / "audits")
        shutil.copy(reports / "memaudit-baseline.json", folder)


def _with_probe(folder: Path) -> None:
    """Install the probe of the manual: its files, and what pip would make of its entry point."""
    files = {b.title: b.text for b in manual_pages.blocks(PAGES["docs/write-a-probe.md"]) if b.title}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    group, line = re.findall(r'^\[project\.entry-points\."([\w.]+)"\]\n(.+)$', files["pyproject.toml"], re.MULTILINE)[0]
    info = folder / "memaudit_long-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: memaudit-long\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{line.replace(chr(34), '')}\n")


# The Chinese README shows the commands of the English one, as a test below holds.
@pytest.mark.parametrize("page", [n for n in PAGES if n != "README.zh.md" and manual_pages.shown(made(n))])
def test_commands_when_run_in_the_example_then_end_well_and_print_what_is_shown(
    page: str, tmp_path: Path, memaudit: Run, example: Path, reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    kinds: dict[str, Path] = {}
    for shown in manual_pages.shown(made(page)):
        if shown.command in NOT_RUN:
            continue
        if shown.folder not in kinds:
            kinds[shown.folder] = tmp_path / shown.folder
            _prepared(shown.folder, page, kinds[shown.folder], example, reports)
            if shown.folder == "with-probe":
                _with_probe(kinds[shown.folder])
                monkeypatch.syspath_prepend(kinds[shown.folder])
                importlib.invalidate_caches()
        monkeypatch.chdir(kinds[shown.folder])
        words = shlex.split(shown.command)
        # A page of the manual may show a file twice; a reader's shell has it once.
        for place in (words[n + 1] for n, word in enumerate(words[:-1]) if word == "--out"):
            if words[1] == "queries" and Path(place).is_file():
                Path(place).unlink()
        if words[1] == "init" and "--write" in words:
            Path("memaudit.toml").unlink(missing_ok=True)
        ran = memaudit(*words[1:])
        allowed = {0, 1} if any(word in words for word in MAY_FIND) else {0}
        assert ran.code in allowed, f"{shown.command}: exit code {ran.code}\n{ran.err}"
        _assert_printed(shown, ran.out + ran.err)
    sys.modules.pop("memaudit_long", None)


def _assert_printed(shown: manual_pages.Shown, output: str) -> None:
    """Hold the shown lines against the output, in order; … stands for anything."""
    rest = output.splitlines()
    for line in shown.output:
        if line == "…":
            continue
        pattern = ".*".join(re.escape(part) for part in line.rstrip().split("…"))
        place = next((n for n, found in enumerate(rest) if re.fullmatch(pattern, found.rstrip())), None)
        assert place is not None, f"{shown.command} does not print this line (any more):\n{line}\n\nbut:\n{output}"
        rest = rest[place + 1 :]


def test_commands_that_are_not_run_when_listed_then_shown_somewhere() -> None:
    commands = {shown.command for name in PAGES for shown in manual_pages.shown(made(name))}
    assert set(NOT_RUN) <= commands


def test_commands_in_sentences_when_read_then_exist_with_these_options() -> None:
    for page in PAGES:
        for words in map(str.split, manual_pages.in_words(made(page))):
            if words[1].isupper() or words[1].startswith("--"):
                continue
            assert words[1] in cli.commands, f"{page}: {' '.join(words)}"
            known = {opt for param in cli.commands[words[1]].params for opt in param.opts} | {"--help"}
            assert {w for w in words if w.startswith("--")} - {"--"} <= known, f"{page}: {' '.join(words)}"


# -- nothing is missing ----------------------------------------------------------------------------------
def test_command_line_when_listed_then_every_command_and_option_has_its_place() -> None:
    page = made("docs/command-line.md")
    by_hand = "\n".join(PAGES.values())
    for name, command in cli.commands.items():
        section = page.split(f"\n## memaudit {name}\n", 1)[1].split("\n## ", 1)[0]
        for option in (opt for param in command.params if param.param_type_name == "option" for opt in param.opts):
            assert f"`{option}`" in section, f"{name} {option}"
        assert re.search(rf"`?memaudit {name}\b", by_hand), f"no sentence speaks of memaudit {name}"


def test_keys_when_listed_then_all_and_those_that_nothing_reads_are_marked() -> None:
    page = made("docs/configuration.md")
    assert [key for key in KEYS if f"| `{key}` |" not in page] == []
    marked = set(re.findall(r"^\| `(\w+)` .*nothing reads it yet", page, re.MULTILINE))
    assert marked == set(KEYS) - manual_pages.hooks().keys_read()
    assert not marked & {"store", "text", "table", "generator", "queries", "suppress", "where", "encoder", "hits"}


def test_keys_when_read_from_the_code_then_an_independent_reader_agrees() -> None:
    # By the syntax tree instead of a pattern: attributes of something called config, and the roles' names.
    names: set[str] = set()
    for folder in ("memaudit", "probes", "reports"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name in ("config.py", "config_file.py", "config_template.py"):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and ast.unparse(node.value).split(".")[-1] == "config":
                    names.add(node.attr)
                if (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func) == "fill"
                    and isinstance(node.args[0], ast.Constant)
                ):
                    names.add(str(node.args[0].value))
    assert (names & set(KEYS)) | {"lang"} == manual_pages.hooks().keys_read()


def test_rules_when_listed_then_each_has_a_heading_in_a_page() -> None:
    table = made("docs/probes/index.md")
    pages = manual_pages.hooks().probe_pages()
    headings = {code for text in pages.values() for code in re.findall(r"^## (MA\d{3}) ", text, re.MULTILINE)}
    for probe in builtin_probes():
        assert set(probe.codes) <= headings
        assert f"| [{probe.name}]({probe.name.replace('-', '_')}.md) |" in table
    assert set(re.findall(r"^\| \[(MA\d{3})\]", table, re.MULTILINE)) == headings


def test_probe_pages_when_made_then_the_very_text_that_explain_prints() -> None:
    pages = manual_pages.hooks().probe_pages()
    assert list(pages) == [f"probes/{name}.md" for name in (*BUILTIN, "audit")]
    for address, text in pages.items():
        assert text == (ROOT / "probes" / Path(address).name).read_text(encoding="utf-8")


def test_pages_when_listed_then_all_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n", 1)[1]
    named = set(re.findall(r": ([\w/-]+\.md)$", navigation, re.MULTILINE))
    assert named == {name.removeprefix("docs/") for name in PAGES if name.startswith("docs/")}


# -- links -----------------------------------------------------------------------------------------------
def _anchors(text: str) -> set[str]:
    """Return the addresses of the headings, as mkdocs makes them from ASCII headings."""
    without = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = set()
    for title in re.findall(r"^#+ (.+)$", without, re.MULTILINE):
        found.add(re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()))
    return found


def test_links_when_followed_then_arrive() -> None:
    texts = {name: made(name) for name in PAGES}
    texts |= {f"docs/{address}": text for address, text in manual_pages.hooks().probe_pages().items()}
    for name, text in texts.items():
        without = re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", without):
            if "://" in link:
                continue
            address, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), address)) if address else name
            assert target in texts or (ROOT / target).exists(), f"{name}: {link}"
            if anchor:
                assert anchor in _anchors(texts[target]), f"{name}: {link}"
            if name.startswith("docs/"):
                assert target.startswith("docs/"), f"{name}: {link} leaves the manual"


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed (extra docs)")
def test_manual_when_built_strictly_then_no_warning_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|iframe)[^>]* src="([^"]+)"|<link[^>]* href="([^"]+)"', page.read_text("utf-8")
        )
        assert not [a or b for a, b in loaded if "//" in (a or b)], page.name


# -- examples --------------------------------------------------------------------------------------------
def _block(page: str, title: str = "", language: str = "python") -> str:
    return next(b.text for b in manual_pages.blocks(PAGES[page]) if b.language == language and b.title == title)


def _executed(source: str, name: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), names)
    return names


def test_example_of_a_probe_when_its_own_tests_run_then_they_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_probe(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    names = _executed(_block("docs/write-a-probe.md", "test_memaudit_long.py"), "test_memaudit_long")
    tests = [name for name in names if name.startswith("test_")]
    assert len(tests) == 2
    for name in tests:
        names[name]()
    sys.modules.pop("memaudit_long", None)


def test_example_of_the_python_interface_when_run_then_prints_and_saves(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(example / "experiences.db", tmp_path)
    monkeypatch.chdir(tmp_path)
    _executed(_block("docs/python.md"), "example")
    assert "MA303 medium `工具试错模式: shell工具重试成功` is one event" in capsys.readouterr().out
    assert (tmp_path / "audit.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_example_of_the_pytest_plugin_when_run_then_judges_the_store(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memaudit.pytest_plugin import Audits

    shutil.copy(example / "experiences.db", tmp_path)
    monkeypatch.chdir(tmp_path)
    names = _executed(_block("docs/ci.md", "test_memory.py"), "test_memory")
    names["test_memory_is_healthy"](Audits([]))  # 0 high findings without the configuration


def test_toml_when_read_then_a_configuration_that_is_accepted(tmp_path: Path) -> None:
    from memaudit.config_file import load

    path = tmp_path / "memaudit.toml"
    for page in PAGES:
        for block in manual_pages.blocks(PAGES[page]):
            if "[memaudit]" in block.lines:
                path.write_text(block.text, encoding="utf-8")
                assert load(file=path, environment={}).store is not None, page


def test_workflows_when_checked_then_meet_the_services_schemas(tmp_path: Path) -> None:
    check = shutil.which("check-jsonschema", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if check is None:
        pytest.skip("check-jsonschema is not installed")
    kinds: dict[str, list[str]] = {"vendor.github-workflows": [], "vendor.gitlab-ci": []}
    for number, block in enumerate(b for b in manual_pages.blocks(PAGES["docs/ci.md"]) if b.language == "yaml"):
        text = block.text
        if text.startswith("jobs:"):
            kind, text = "vendor.github-workflows", "on: push\n" + text.replace("OWNER/memaudit@VERSION", "o/m@v1")
        elif text.startswith("repos:"):
            continue  # tests/test_action.py holds the hook itself
        else:
            kind = "vendor.gitlab-ci"
        path = tmp_path / f"{number}.yml"
        path.write_text(text, encoding="utf-8")
        kinds[kind].append(str(path))
    kinds["vendor.github-workflows"].append(str(ROOT / ".github" / "workflows" / "release.yml"))
    for kind, files in kinds.items():
        assert files
        subprocess.run([check, "--builtin-schema", kind, *files], check=True)


# -- the Chinese README ----------------------------------------------------------------------------------
def test_chinese_readme_when_compared_then_the_same_commands_tables_and_sections() -> None:
    english, chinese = PAGES["README.md"], PAGES["README.zh.md"]

    def commands(text: str) -> list[str]:
        return [s.command for s in manual_pages.shown(text)] + sorted(manual_pages.in_words(text))

    assert commands(english) == commands(chinese)
    for sign in (r"^#+ ", r"^\| ", r"^- ", r"^!\["):
        assert len(re.findall(sign, english, re.MULTILINE)) == len(re.findall(sign, chinese, re.MULTILINE)), sign
    assert "](README.zh.md)" in english
    assert "](README.md)" in chinese


# -- the release -----------------------------------------------------------------------------------------
def test_release_notes_when_cut_from_the_changelog_then_the_section_of_this_version_only(tmp_path: Path) -> None:
    awk = shutil.which("awk")
    if awk is None:
        pytest.skip("awk is not here")
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    program = re.findall(r"awk -v version=\S+ '([^']+)'", workflow)[0]
    changelog = "# C\n\n## Unreleased\n\n- a\n\n## 0.1.10 - 2027-01-01\n\n- b\n\n## 0.1.1 - 2026-12-01\n\n- c\n\n## 0.0.9\n\n- d\n"
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    done = subprocess.run(
        [awk, "-v", "version=0.1.1", program, "CHANGELOG.md"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "- c"


def test_recorder_of_stages_when_run_then_an_arm_a_stage(
    tmp_path: Path, memaudit: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = next(b for b in manual_pages.blocks(PAGES["docs/evaluation.md"]) if b.title == "record_stages.py")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "recall.py").write_text(
        "STAGES = {\n"
        "    'search': lambda query: [{'id': 1}, {'id': 2}],\n"
        "    'filter': lambda query, results: results,\n"
        "    'rerank': lambda query, results: results[::-1],\n"
        "}\n"
    )
    queries = [{"id": f"q{i}", "text": f"问题 {i}", "expect_any": [{"doc": "2"}]} for i in range(20)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    subprocess.run([sys.executable, "-c", block.text], cwd=tmp_path, check=True)
    ran = memaudit("eval", "--queries", "queries.jsonl", "--runs", "stages.jsonl",
                   "--set", 'stages=["search", "filter", "rerank"]', "--format", "json")  # fmt: skip
    named = [f["subject"]["stage"] for f in json.loads(ran.out)["findings"] if f["code"] == "MA503"]
    assert named == ["filter"]
