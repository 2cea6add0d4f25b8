"""Mutants: the package with one small mistake at a time, and whether a test notices it."""
