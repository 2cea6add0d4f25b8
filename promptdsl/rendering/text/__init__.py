"""The text of a prompt: from the finished tree to messages.

Read ``lower`` first: it makes messages of turns. ``walk`` writes the parts of any turn on a
``page``: a container has an opening and a closing, one of the ``leaves`` is written at once. It has
shorter ways for most turns, whose content is simple. ``format`` has the two formats, Markdown and
XML.

``encode`` encodes the values of a part, and guards its strings. For that it needs the neighbours of
a value and the ``reserved_tags`` of the turn. ``page`` joins texts between which the author chose
the separator. ``blocks`` reads recorded JSON, code and files.

While the text is written, its pieces are noted in a ``Layout``. ``layout`` reads it for spans,
losses and reports.
"""
