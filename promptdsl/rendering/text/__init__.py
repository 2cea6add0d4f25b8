"""From the finished tree to messages: lower, then writer, containers, leaves.

``lower`` makes messages of turns; ``fast_path`` does so for plain ones. ``writer`` walks over the
parts of a turn: ``containers`` write an opening and a closing, ``leaves`` are written at once, both
on a ``page``. ``strings`` encodes and guards their text, ``data`` and ``blocks`` do recorded JSON,
code and files. ``markdown`` and ``xml`` are the formats; ``format`` says what one has to write.
``traced`` lowers with notes on which part wrote what.
"""
