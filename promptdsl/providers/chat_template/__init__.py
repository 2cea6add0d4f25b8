"""Chat templates of open models: write and read the messages for a template, and print its text.

promptdsl renders a template with short conversations to find its features (:func:`probed`). Then it
writes messages that need these features only: one system text, turns that alternate, and calls as
the template prints them. It breaks the template's control tokens in all texts. The law:
``write(read(write(p))) == write(p)``.

Read ``write.py`` first, then ``fold.py``, which makes messages of turns. ``probe.py`` finds the
features of a template, ``run.py`` renders it, and ``jinja.py`` is its Jinja environment.
"""
