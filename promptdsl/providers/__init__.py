"""The adapters: they write a prompt as the arguments of a provider's request, and read it back.

Each provider has a folder with an adapter, whose main functions are:

- ``write(prompt, facts, cached_write)`` returns the arguments, which are called the payload, and
  the losses: the content that the payload cannot express.
- ``read(data)`` returns the :class:`Prompt` of a recorded payload, or of a list of messages.
- ``read_response(data)`` returns the :class:`Message` of a response.

``registry.py`` has all functions of an adapter. A prompt that is written, read and written again
becomes the same bytes.

``write`` has a fixed order:

1. tools, because their names are needed later
2. the messages that are not in the write cache
3. rules about the complete conversation
4. settings: the choice of a tool and the output schema
5. cache marks, because they need all messages

Read ``shared/request.py`` first. Then read ``anthropic/write.py``, which shares
``shared/two_sided.py`` with Gemini, Bedrock and chat templates, or ``openai_chat/write.py``, which
does not need it.
"""
