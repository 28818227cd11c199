"""Evaluation files: query sets, corpora and recorded rankings, and the figures made from them.

Pure functions on texts and ids; what may be said about a difference is decided in :mod:`memaudit.stats`.
"""
