"""Rendering: a tree in, messages and a payload out."""
