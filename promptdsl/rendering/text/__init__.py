"""The text of a prompt: from the finished tree to messages.

Read ``lower`` first: it makes messages of turns. Then read ``walk``, which writes the nodes of any
turn on a ``page``. A container has an opening and a closing; one of the ``leaves`` is written at
once. Most turns have simple content, so ``walk`` has shorter ways for them. ``format`` has the two
formats, Markdown and XML.

``encode`` encodes values, and guards the author's strings. For that it needs the neighbours of a
value and the ``reserved_tags`` of the turn. ``page`` also joins texts whose separator the author
chose. ``blocks`` makes recorded blocks ready to be sent.

While text is written, its pieces are noted in a ``Layout`` (``layout``). From it, ``layout`` makes
the objects that spans, losses and reports read.
"""
