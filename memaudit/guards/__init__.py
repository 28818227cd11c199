"""Guarded code: fallbacks that run only when a value is empty, and whether they ever can.

The code is read, never imported and never run. A verdict holds for the call sites in the scanned tree;
calls by computed names and callers elsewhere are not covered. When in doubt the verdict is `unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memaudit.guards.callers import Callers
from memaudit.guards.find import find_forms
from memaudit.guards.names import Project
from memaudit.guards.result import (
    Caller,
    Guard,
    GuardReport,
    Producer,
    Skipped,
    guards_to_json,
)
from memaudit.guards.summaries import World
from memaudit.guards.tree import read_tree
from memaudit.guards.verdict import judge

__all__ = ["Caller", "Guard", "GuardReport", "Producer", "Skipped", "find_guards", "guards_to_json"]


def find_guards(paths: Sequence[Path], *, base: Path) -> GuardReport:
    """Find all guards in some files and folders and judge each.

    Parameters
    ----------
    paths
        Files and folders of production code; tests, virtual environments and caches are left out.
    base
        File names are given relative to this folder.

    Returns
    -------
    Guards in order of file, line and column; the number of files read; what was not read.

    Raises
    ------
    ConfigError
        A path does not exist.
    """
    tree = read_tree(paths, base=base)
    project = Project(tree)
    found = find_forms(project)
    watched = {id(form.operand): form for form in found.forms}
    world = World(project, watched, found.fills)
    callers = Callers(world)
    guards = tuple(judge(form, world.flow(form.unit).seen.get(id(form.operand)), callers) for form in found.forms)
    return GuardReport(guards, len(tree.sources), tree.skipped)
