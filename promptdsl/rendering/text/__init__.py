"""The text of a prompt: from the finished tree to messages.

Read ``lower`` first: it makes messages of turns, each in the way (``ways``) that its content needs.
The ``walk`` writes the parts of any turn: those that hold others have an opening and a closing, the
``leaves`` are written at once, both on a ``page``. ``encode`` encodes and guards their strings, and
sees the ``neighbours`` of a value and the ``reserved_tags``; ``joined`` has texts with a separator
of the author's. ``blocks`` reads recorded JSON, code and files. ``format`` has the two formats,
Markdown and XML. What is written is noted as ``pieces``, and read again in ``layout``.
"""
