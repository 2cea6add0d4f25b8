"""Transcripts: recorded conversations that can be edited, undone, repaired and saved.

A transcript is a log: every change is a further entry, and no entry is ever changed. Read
``entries`` first, then ``log`` (the current turns after a list of entries) and ``transcript``.
"""
