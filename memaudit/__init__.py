"""Audit the quality of an AI agent's memory."""

__version__ = "0.1.0"

__all__ = ["__version__"]
