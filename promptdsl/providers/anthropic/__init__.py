"""Anthropic Messages: write and read them by the rules of ``anthropic.types`` and the service.

Content is always sent as lists of blocks. The law: ``write(read(write(m))) == write(m)``.
"""
