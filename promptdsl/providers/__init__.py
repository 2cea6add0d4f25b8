"""The adapters: a prompt becomes the arguments of a provider's request, and is read back.

Each provider has a folder with three functions. ``write(prompt, facts, recall)`` returns the
arguments and the losses: the content they cannot express. ``read(data)`` returns the
:class:`Prompt` of recorded arguments, or of a list of messages. ``read_response(data)`` returns the
:class:`Message` of a response. A prompt that is written, read and written again is the same bytes.

``write`` has a fixed order: tools, whose names come first; the messages that are not remembered;
rules about the whole conversation (``finish``); settings such as the choice of a tool and the form
of the answer; and cache marks, which need all messages at their places.
"""
