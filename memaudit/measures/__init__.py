"""Figures that several probes share: each is measured once from the context."""
