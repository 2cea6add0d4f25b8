"""OpenAI Responses: a list of items; messages are one type of item.

The rules are those of the service and of ``openai.types.responses``. System text is the first item,
not ``instructions``: an item may have a cache mark, and nothing moves when a mark is left out.
"""
