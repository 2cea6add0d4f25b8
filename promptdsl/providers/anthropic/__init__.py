"""Anthropic Messages: write and read requests by the rules of ``anthropic.types`` and the service.

A content is a list of blocks. With the setting ``lone_text="string"``, a single text is a string.
The law: ``write(read(write(m))) == write(m)``. Read ``write.py`` first, then ``read.py``;
``parts.py`` has what a request has besides its texts.
"""
