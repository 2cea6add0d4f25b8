"""Google Gemini, both ways: the rules of ``google.genai.types`` and of the service's refusals.

Keys are spelled as the SDK's types spell them, and bytes are base64 text, so a payload is plain
JSON data. The law: ``write(read(write(p))) == write(p)``.
"""
