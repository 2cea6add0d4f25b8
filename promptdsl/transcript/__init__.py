"""Recorded conversations that can be edited, undone, repaired and saved."""
