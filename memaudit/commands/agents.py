"""Commands for agents: `mcp`."""

from __future__ import annotations

import os

import click


@click.command()
@click.option(
    "--root", "roots", multiple=True, required=True, metavar="DIR", help="Stores below it may be read (repeatable)."
)
def mcp(roots: tuple[str, ...]) -> None:
    """Serve audits to an agent over the Model Context Protocol, on stdin and stdout. Read-only.

    \b
    Example:
      memaudit mcp --root ~/agent/data
    """
    from pathlib import Path

    from memaudit.mcp_server import serve

    serve([Path(os.path.expanduser(root)) for root in roots])
