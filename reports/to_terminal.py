def to_terminal(audit): return ""
