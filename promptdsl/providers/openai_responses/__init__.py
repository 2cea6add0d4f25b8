"""OpenAI Responses: a request is a list of items, and a message is one type of item.

The rules are those of the service and of ``openai.types.responses``. System text is the first item,
not ``instructions``, because an item may have a cache mark. Without a mark it is the first item,
too, so nothing moves when a mark is left out.

Read ``write.py`` first, then ``read.py``. ``parts.py`` has the state of a request, the ids of its
items, and what a request has besides its texts.
"""
