"""The probes there are: built-ins and those of other distributions; chosen by name or code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import ClassVar, Protocol, runtime_checkable

from memaudit.config import nearest
from memaudit.context import WITHOUT_STORE, Context, Need
from memaudit.errors import ConfigError, MemauditError
from memaudit.model import ProbeResult
from memaudit.probes import BUILTIN
from memaudit.wording import say

ENTRY_POINTS = "memaudit.probes"


@runtime_checkable
class Probe(Protocol):
    """What a probe has to offer; no base class is needed.

    Attributes
    ----------
    name
        Kebab-case; also its file's name with underscores.
    title
        The question it answers, for lists.
    codes
        Rule code -> kind (`{"MA305": "exact-duplicates"}`); none for a probe that only measures.
    needs
        Inputs without which it is skipped, with the reason.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    codes: ClassVar[Mapping[str, str]]
    needs: ClassVar[frozenset[Need]]

    def run(self, ctx: Context) -> ProbeResult:
        """Look, and return what was found; prints, writes and opens nothing."""
        ...


def works_without_store(probe: Probe) -> bool:
    """Say whether a probe has something to look at where only query files were given.

    What it needs says so; a probe with `without_store` looks at either, and tells itself what it lacks.
    """
    return bool(probe.needs and probe.needs <= WITHOUT_STORE) or getattr(probe, "without_store", False) is True


def builtin_probes() -> tuple[Probe, ...]:
    """Return the built-in probes in their order."""
    return tuple(_made(import_module(f"memaudit.probes.{name}").PROBE, f"memaudit.probes.{name}") for name in BUILTIN)


def all_probes() -> tuple[Probe, ...]:
    """Return built-ins and probes of other distributions.

    Raises
    ------
    MemauditError
        A third-party probe has a wrong shape, or a name or code that is taken.
    """
    probes = list(builtin_probes())
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name):
        try:
            loaded = point.load()
        except (ImportError, AttributeError) as error:
            raise MemauditError(
                say(
                    "probe {name} ({value}) cannot be loaded: {error}.", name=point.name, value=point.value, error=error
                )
            ) from error
        probes.append(_made(loaded() if isinstance(loaded, type) else loaded, f"{point.name} ({point.value})"))
    names: dict[str, str] = {}
    codes: dict[str, str] = {}
    for probe in probes:
        if probe.name in names:
            raise MemauditError(
                say("two probes are called {name}.", name=probe.name), say("Rename or uninstall one of them.")
            )
        names[probe.name] = probe.name
        for code in probe.codes:
            if code in codes:
                raise MemauditError(
                    say(
                        "rule {code} of probe {name} belongs to probe {codes}.",
                        code=code,
                        name=probe.name,
                        codes=codes[code],
                    )
                )
            codes[code] = probe.name
    return tuple(probes)


def _made(probe: object, place: str) -> Probe:
    if not isinstance(probe, Probe):
        raise MemauditError(
            say("{place} is no probe: name, title, codes, needs and run(ctx) are expected.", place=place)
        )
    return probe


def chosen(probes: Iterable[Probe], select: Sequence[str] | None, ignore: Sequence[str] | None) -> dict[str, set[str]]:
    """Return name of each probe that runs -> codes to report, after `--select` and `--ignore`.

    A word is a code (`MA305`), the beginning of codes (`MA3`), or a probe's name. A probe without rules runs unless
    others were selected or it is ignored by its name.

    Raises
    ------
    ConfigError
        A word matches nothing; names the nearest.
    """
    probes = tuple(probes)
    known = [p.name for p in probes] + [c for p in probes for c in p.codes]

    def matched(words: Sequence[str]) -> tuple[set[str], set[str]]:
        """Return the codes and the names of probes that the words mean."""
        found: set[str] = set()
        names: set[str] = set()
        for word in words:
            own = {p.name for p in probes if p.name == word}
            codes = {
                c for p in probes for c in p.codes if c == word.upper() or c.startswith(word.upper()) or p.name == word
            }
            if not codes and not own:
                raise ConfigError(
                    say('no probe or rule is called "{word}".', word=word),
                    nearest(word, known) or say("See `memaudit probes`."),
                )
            found |= codes
            names |= own
        return found, names

    wanted, selected = matched(select) if select else ({c for p in probes for c in p.codes}, {p.name for p in probes})
    unwanted, ignored = matched(ignore) if ignore else (set(), set())
    runs = {p.name: {c for c in p.codes if c in wanted and c not in unwanted} for p in probes}
    left = {
        p.name: runs[p.name]
        for p in probes
        if runs[p.name] or (not p.codes and p.name in selected and p.name not in ignored)
    }
    if not left:
        raise ConfigError(say("select and ignore leave no rule to run."), say("See `memaudit probes`."))
    return left
