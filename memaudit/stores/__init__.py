"""Readers of memory stores, one module a kind; every one opens read-only. `registry` lists them."""
