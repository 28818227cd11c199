"""Audit the quality of an AI agent's memory: `memaudit.audit("experiences.db")`, or `memaudit run`."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["AuditResult", "__version__", "audit"]

if TYPE_CHECKING:
    from memaudit.api import AuditResult, audit


def __getattr__(name: str) -> Any:
    """Import the Python interface when it is first asked for: `import memaudit` stays light."""
    if name in ("AuditResult", "audit"):
        from memaudit import api

        return getattr(api, name)
    raise AttributeError(f"module 'memaudit' has no attribute {name!r}")
