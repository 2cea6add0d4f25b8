"""Google Gemini: write and read it by the rules of ``google.genai.types`` and the service.

Keys are spelled as in the types of the SDK, and bytes are base64 text, so a payload is plain JSON
data. The law: ``write(read(write(p))) == write(p)``.
"""
