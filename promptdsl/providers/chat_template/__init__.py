"""Chat templates of open models: write and read the messages for a template, and print its text.

A template is rendered with short conversations to find its features (:func:`probed`). Messages are
then written with these features only: one system text, turns in alternation, calls as the template
prints them. Its control tokens are broken in all text. The law: ``write(read(write(p))) ==
write(p)``.
"""
