"""Jinja templates: they are found, and rendered to pieces of author text and of values.

Read ``render`` first, then ``environment`` (the sandbox), ``compiler`` and ``limits``. ``sources``
finds the files; ``front_matter`` and ``variables`` check what goes into a template. ``installed``
finds libraries of sections. Jinja is imported with the first template that is rendered.
"""
