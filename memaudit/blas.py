"""How many threads the matrix products of an audit may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

#: Up to so many rows the products are small: a second BLAS thread spends more time waiting for work than working,
#: and waiting is as dear as work. An audit of 175 rows takes 2.0 s of processor time with two threads, 1.7 s with one.
SMALL_ROWS = 2_000


def fitting_threads(n_rows: int) -> AbstractContextManager[Any]:
    """Return a context in which the products over so many rows use as many BLAS threads as are worth it."""
    if n_rows > SMALL_ROWS:
        return nullcontext()
    limits: AbstractContextManager[Any] = import_module("threadpoolctl").threadpool_limits(1, user_api="blas")
    return limits
