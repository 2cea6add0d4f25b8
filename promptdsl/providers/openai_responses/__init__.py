"""OpenAI Responses: a list of items; messages are one type of item.

The rules are those of the service and of ``openai.types.responses``. System text is the first item
and never ``instructions``: there a cache mark has a place, and nothing moves when one is dropped.
"""
