"""From the finished tree to messages: lower, then writer, containers, leaves.

``lower`` makes messages of turns; ``fast_path`` does so for plain ones. ``writer`` walks over the
parts of a turn: ``containers`` write an opening and a closing, ``leaves`` are written at once, both
on a ``page``. ``strings`` encodes and guards their text, ``blocks`` does recorded JSON, code and
files. ``format`` has the two formats, Markdown and XML. ``traced`` lowers with notes on the text of
each part.
"""
