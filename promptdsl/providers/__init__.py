"""The adapters: they write a prompt as the arguments of a provider's request, and read it back.

Each provider has a folder with three functions. ``write(prompt, facts, recall)`` returns the
arguments and the losses: the content that they cannot express. ``read(data)`` returns the
:class:`Prompt` of recorded arguments, or of a list of messages. ``read_response(data)`` returns the
:class:`Message` of a response. A prompt that is written, read and written again is the same bytes.

``write`` has a fixed order: tools, because their names are needed later; the messages that are not
in the write cache; rules about the complete conversation; settings such as the choice of a tool and
the output schema; and cache marks, which need all messages. Read ``shared/request.py`` first, then
``openai_chat/write.py``, which has no ``shared/two_sided.py``.
"""
