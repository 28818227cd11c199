"""Addresses of stores without what must not be shown: user, password, query and fragment."""

from __future__ import annotations

import re

URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_REST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://.*", re.DOTALL)


def without_credentials(value: str) -> str:
    """Remove user, password, query and fragment from a URL; any other text is returned as it is."""
    if not URL.match(value):
        return value
    # By hand: `urlsplit` refuses some addresses, and a message about them must not leak the password either.
    scheme, _, rest = value.partition("://")
    rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    host, slash, path = rest.partition("/")
    if "@" in path:  # a password with a slash in it
        host, slash, path = rest.rpartition("@")[2].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def masked(word: str) -> str:
    """Remove the credentials from an address inside one word of a command line (`store=postgres://...`)."""
    return _REST.sub(lambda m: without_credentials(m[0]), word)
