"""Chat templates of open models, both ways: the messages a template takes, and the text it makes.

What a template can say is found by running it (:func:`probed`), and the messages are folded to
that: one system text, turns in alternation, calls as it prints them. Its control tokens are broken
in all text. The law: ``write(read(write(p))) == write(p)``.
"""
