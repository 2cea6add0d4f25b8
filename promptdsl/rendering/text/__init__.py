"""The forms a section can be written in."""
