"""Translations of the sentences of :mod:`memaudit.wording`: one JSON file a language."""
