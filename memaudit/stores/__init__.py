"""Readers of memory stores, one module a kind; every one of them only reads."""
