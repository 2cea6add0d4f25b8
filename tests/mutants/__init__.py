"""Mutants of the encoder that no tool for Python code makes: of its patterns and its tables."""
