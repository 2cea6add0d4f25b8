"""The text of a prompt: from the finished tree to messages.

``lower`` makes messages of turns; ``fast_path`` does so for plain turns. It walks over the
parts of a turn: ``containers`` have an opening and a closing, ``leaves`` are written at once, both
on a ``page``. ``strings`` encodes and guards their text, ``blocks`` reads recorded JSON, code and
files. ``format`` contains the two formats, Markdown and XML. ``traced`` lowers a tree and notes the
text of each part.
"""
