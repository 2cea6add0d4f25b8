"""Jinja templates: where they are, and their text as pieces of author text and values.

Jinja is loaded with the first template that is rendered (``templates.render``).
"""
