"""Anthropic Messages, both ways: the rules of ``anthropic.types`` and of the service's refusals.

Content always goes out as lists of blocks. The law: ``write(read(write(m))) == write(m)``.
"""
