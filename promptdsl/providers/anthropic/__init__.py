"""Anthropic Messages, both ways: the rules of ``anthropic.types`` and of the service's refusals.

Content always goes out as lists of blocks. The law: ``write(read(write(m))) == write(m)``.
"""

from promptdsl.providers.anthropic.read import read, read_response
from promptdsl.providers.anthropic.write import Payload, write

__all__ = ["Payload", "read", "read_response", "write"]
