def redacted(audit): return audit
