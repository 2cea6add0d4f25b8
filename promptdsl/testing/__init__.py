"""Tools for the tests of prompts: snapshots that a person can review, and assertions."""

__all__: list[str] = []
