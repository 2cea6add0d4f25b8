"""Google Gemini: write and read requests by the rules of ``google.genai.types`` and the service.

Keys are spelled as in the types of the SDK, and bytes are base64 text, so a payload is plain JSON
data. The law: ``write(read(write(p))) == write(p)``. Read ``write.py`` first, then ``read.py``;
``parts.py`` has what a request has besides its messages.
"""
