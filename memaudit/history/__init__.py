"""From one report to a habit: identity of findings, kept audits, what changed, what was accepted."""
