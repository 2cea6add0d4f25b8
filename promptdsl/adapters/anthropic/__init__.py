"""Anthropic Messages, both ways: the rules of ``anthropic.types`` and of the service's refusals.

Content always goes out as lists of blocks. The law: ``write(read(write(m))) == write(m)``.
"""

from promptdsl.adapters.anthropic.reading import read, read_response
from promptdsl.adapters.anthropic.writing import Payload, write

__all__ = ["Payload", "read", "read_response", "write"]
