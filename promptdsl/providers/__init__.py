"""Messages to the arguments of one provider's request, and back: three functions in each folder.

``write(prompt, facts, recall)`` returns the arguments and the losses: what they could not say.
``read(data)`` returns the :class:`Prompt` of recorded arguments, or of a list of messages.
``read_response(data)`` returns the :class:`Message` of a response. What is written, read and
written again is the same bytes.

``write`` goes in one order: tools, since their names are taken first; the spans of messages that
are not remembered; what only the whole can say (``finish``); then settings, such as the tool choice
and the form of the answer, and cache marks, which need all messages in their places.
"""
