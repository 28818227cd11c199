"""Run the user's production code, always in a child process, and read back JSON.

The only module through which such a process is started, see :mod:`memaudit.domain.child_process`. A guard rail, not a
sandbox: name only targets that you trust.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memaudit.domain.against_store import domain_size
from memaudit.domain.child_process import run_child
from memaudit.domain.codec import pack
from memaudit.domain.result import (
    DomainResult,
    ReplayResult,
    domain_from_child,
    known_for_replay,
    replay_from_child,
)
from memaudit.domain.target_spec import TargetSpec, find_function, parse_file, parse_target, with_factory
from memaudit.errors import TargetError
from memaudit.wording import current_language, say

#: Address space of the child: compiled libraries map far more than they use.
MEMORY_BYTES = 4 * 1024**3
TIMEOUT_S = 30.0
MAX_CALLS = 20_000
_ROOT = Path(__file__).resolve().parent.parent


def enumerate_domain(
    target: str,
    *,
    base: Path,
    code_path: Sequence[Path] = (),
    factory: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    stubs: Sequence[str] = (),
    hole_values: Mapping[str, Sequence[Any]] | None = None,
    mode: str = "auto",
    timeout_s: float = TIMEOUT_S,
    memory_bytes: int = MEMORY_BYTES,
    max_calls: int = MAX_CALLS,
) -> DomainResult:
    """Find every value that a function can return, by running it on inputs made from its own conditions.

    Parameters
    ----------
    target
        `pkg.mod:Class.fn` or `path/file.py:Class.fn`; a path is relative to `base`.
    base
        Folder of the configuration; modules are looked up there, in `base/src` and in `code_path`.
    factory
        `pkg.mod:make` or `path/file.py:make`, called without arguments to get the object of a method.
    inputs
        Shapes and values of parameters (`generator_inputs`).
    stubs
        Modules to replace by permissive stand-ins.
    hole_values
        Values in the store by parameter, to count the forms with.
    mode
        `import`, `slice`, or `auto`: the import, and the slice when a dependency is missing.
    timeout_s
        Wall time of the child, import included; each of the two processes has it.

    Raises
    ------
    TargetError
        The target cannot be found, loaded or run to the end. What the function itself raises is a result.
    """
    spec = parse_target(target, base, code_path, has_factory=factory is not None)
    spec, factory = with_factory(spec, factory, base, code_path)
    job = _job(spec, "domain", factory, inputs, stubs, mode, timeout_s, memory_bytes, max_calls)
    raw = run_child(job, timeout_s, hash_seed=0)
    with _well_formed(spec):
        result = domain_from_child(raw, target=target, file=str(spec.file), line=spec.line, module=spec.module)
    if result.status == "ok":
        result = _second_process(result, raw, job, timeout_s)
    return dataclasses.replace(result, domain_size=domain_size(result, hole_values))


def replay(
    target: str,
    rows: Sequence[Mapping[str, Any] | Sequence[Any]],
    *,
    domain: DomainResult,
    base: Path,
    code_path: Sequence[Path] = (),
    factory: str | None = None,
    stubs: Sequence[str] = (),
    timeout_s: float = TIMEOUT_S,
    memory_bytes: int = MEMORY_BYTES,
) -> ReplayResult:
    """Run stored rows through the target, in one batch.

    Parameters
    ----------
    rows
        Arguments of each row: by parameter, or in their order. Values as JSON knows them.
    domain
        Result of the enumeration of the same target; it names the keywords and the fallback.

    Raises
    ------
    TargetError
        As :func:`enumerate_domain`; a row on which the function raises is a result.
    """
    spec = parse_target(target, base, code_path, has_factory=factory is not None)
    spec, factory = with_factory(spec, factory, base, code_path)
    job = _job(spec, "replay", factory, None, stubs, domain.mode, timeout_s, memory_bytes, MAX_CALLS)
    job["known"] = known_for_replay(domain)
    job["rows"] = [dict(row) if isinstance(row, Mapping) else list(row) for row in rows]
    raw = run_child(job, timeout_s, hash_seed=0)
    with _well_formed(spec):
        return replay_from_child(raw, domain.keywords)


def call_each(
    target: str,
    texts: Sequence[str],
    *,
    base: Path,
    code_path: Sequence[Path] = (),
    factory: str | None = None,
    stubs: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
    databases: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    memory_bytes: int = MEMORY_BYTES,
) -> list[Any]:
    """Call a function once for each text, as its first parameter, and give what it returned.

    Parameters
    ----------
    more
        Values of further parameters by name; those that the function does not have are left out.
    databases
        Real path of a SQLite file -> URI of what the function may open in its place, read-only.

    Returns
    -------
    Values as JSON knows them (what JSON cannot hold is `{"repr": ...}`), None where the call raised or ran too long.

    Raises
    ------
    TargetError
        As :func:`enumerate_domain`, or the function has no parameter, or it was kept from something (a database, the
        network, a process): what it returned may be another answer than production's, even where it did not raise.
    """
    spec = parse_target(target, base, code_path, has_factory=factory is not None)
    spec, factory = with_factory(spec, factory, base, code_path)
    names = parameters_of(spec)
    if not names:
        raise TargetError(
            say("{target} has no parameter that could take a text.", target=target), say("Name a function of one text.")
        )
    job = _job(spec, "values", factory, None, stubs, "auto", timeout_s, memory_bytes, MAX_CALLS)
    known = {name: value for name, value in (more or {}).items() if name in names[1:]}
    job["inputs"] = [{"$": "dict", "items": [[k, v] for k, v in {names[0]: t, **known}.items()]} for t in texts]
    job["databases"] = dict(databases or {})
    raw = run_child(job, timeout_s, hash_seed=0)
    with _well_formed(spec):
        refused = [str(text) for text in raw.get("refused", ())]
        if refused:
            raise TargetError(
                say("{target} was stopped: {refused}.", target=target, refused="; ".join(refused)),
                say("Record what it returns instead."),
            )
        return [None if value is None else json.loads(value) for value in raw["values"]]


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of a production function.

    Parameters
    ----------
    value
        As JSON knows it; None also where the call raised.
    error
        The exception in words, None where there was none.
    ms
        Wall time of the call inside the child.
    refused
        What the function was kept from (a database, the network, a process, a library); it may have gone on without.
    """

    value: Any
    error: str | None
    ms: float
    refused: tuple[str, ...] = ()


def call_batch(
    target: str,
    calls: Sequence[Sequence[Any]],
    *,
    base: Path,
    code_path: Sequence[Path] = (),
    factory: str | None = None,
    stubs: Sequence[str] = (),
    databases: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    memory_bytes: int = MEMORY_BYTES,
) -> list[Call]:
    """Call a function once for each list of arguments, all in one child process.

    Parameters
    ----------
    calls
        Arguments of each call in the order of the parameters; values as JSON knows them (lists, dicts, texts, numbers).
        The function gets copies of its own and may change them.
    databases
        Real path of a SQLite file -> URI of what the function may open in its place, read-only.

    Raises
    ------
    TargetError
        As :func:`enumerate_domain`, or a call has more arguments than the function has parameters. What the function
        itself raises is a result.
    """
    spec = parse_target(target, base, code_path, has_factory=factory is not None)
    spec, factory = with_factory(spec, factory, base, code_path)
    names = parameters_of(spec)
    longest = max((len(call) for call in calls), default=0)
    if longest > len(names):
        raise TargetError(
            say("{target} takes {n} arguments; {longest} were given.", target=target, n=len(names), longest=longest),
            say("Name another function."),
        )
    job = _job(spec, "calls", factory, None, stubs, "auto", timeout_s, memory_bytes, MAX_CALLS)
    job["inputs"] = [pack(dict(zip(names, call, strict=False))) for call in calls]
    job["databases"] = dict(databases or {})
    with _well_formed(spec):
        listed = run_child(job, timeout_s, hash_seed=0)["calls"]
        found = [
            Call(
                one["value"],
                None if one["error"] is None else str(one["error"]),
                float(one["ms"]),
                tuple(str(text) for text in one["refused"]),
            )
            for one in listed
        ]
        if len(found) != len(calls):
            raise ValueError(f"{len(found)} answers to {len(calls)} calls")
        return found


def parameter_names(
    target: str, *, base: Path, code_path: Sequence[Path] = (), factory: str | None = None
) -> list[str]:
    """Return the names of a target's parameters in order, without `self` or `cls`; nothing is run.

    Raises
    ------
    TargetError
        The target cannot be found.
    """
    return parameters_of(parse_target(target, base, code_path, has_factory=factory is not None))


def _second_process(
    result: DomainResult, raw: Mapping[str, Any], job: dict[str, Any], timeout_s: float
) -> DomainResult:
    """Call the witnesses again in a process with another hash seed."""
    job = {**job, "task": "values", "inputs": raw["inputs"], "mode": result.mode}
    try:
        values = run_child(job, timeout_s, hash_seed=4_242)["values"]
    except (TargetError, KeyError) as error:
        missing = say("the second process, with another hash seed, did not come to its end: {error}", error=error)
        return dataclasses.replace(result, complete=False, missing=(*result.missing, missing))
    for first, second in zip(raw["expected"], values, strict=False):
        if first != second:
            line = say(
                "with another hash seed the same input gave {second} instead of {first}",
                second=second or say("an exception"),
                first=first,
            )
            return dataclasses.replace(
                result,
                pure=False,
                impurities=(*result.impurities, line),
                complete=False,
                missing=(*result.missing, say("the function is not pure; the values are a lower bound"))
                if result.pure
                else result.missing,
            )
    return result


def parameters_of(spec: TargetSpec) -> list[str]:
    """Return the names of a target's parameters in order, without `self` or `cls`."""
    node, _ = find_function(parse_file(spec.file), spec.qualname, spec.file)
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    return (names[1:] if spec.binding in ("instance", "class") else names) + [a.arg for a in node.args.kwonlyargs]


def _job(
    spec: TargetSpec, task: str, factory: str | None, inputs: Mapping[str, Any] | None, stubs: Sequence[str],
    mode: str, timeout_s: float, memory_bytes: int, max_calls: int,
) -> dict[str, Any]:  # fmt: skip
    folders = [str(folder) for folder in spec.import_path]
    return {
        "task": task, "file": str(spec.file), "module": spec.module, "qualname": spec.qualname, "mode": mode,
        "factory": factory, "given": dict(inputs or {}), "stubs": list(stubs), "import_path": folders,
        "project": list(dict.fromkeys([*folders, str(spec.file.parent)])), "root": str(_ROOT),
        "root_is_site": "site-packages" in str(_ROOT) or "dist-packages" in str(_ROOT),
        "memory_bytes": memory_bytes, "cpu_s": math.ceil(timeout_s) + 1, "sweep_s": timeout_s * 0.6,
        "lang": current_language(), "call_s": max(0.05, min(1.0, timeout_s / 10)), "max_calls": max_calls,
    }  # fmt: skip


@contextlib.contextmanager
def _well_formed(spec: TargetSpec) -> Any:
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise TargetError(
            say(
                "the child process of {target} gave an answer that cannot be read: {error}.",
                target=spec.target,
                error=error,
            )
        ) from error
