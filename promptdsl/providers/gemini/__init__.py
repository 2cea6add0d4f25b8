"""Google Gemini, both ways: the rules of ``google.genai.types`` and of the service's refusals.

Keys are spelled as the SDK's types spell them, and bytes are base64 text, so a payload is plain
JSON data. The law: ``write(read(write(p))) == write(p)``.
"""

from promptdsl.providers.gemini.read import read, read_response
from promptdsl.providers.gemini.write import Payload, write

__all__ = ["Payload", "read", "read_response", "write"]
