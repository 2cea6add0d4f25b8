"""Jinja templates: finding them, and rendering them to pieces of author text and of values.

Read ``render`` first, then ``environment`` (the sandbox) and ``compiler``. Jinja is imported with
the first template that is rendered.
"""
