"""Prompts to one provider's request arguments and back: a folder with the same functions for each.

``write(prompt, facts)`` returns the arguments and the losses, ``read(data)`` the prompt of a
request or a recorded conversation, ``read_response(data)`` the message of a response. A prompt that
is written, read and written again is the same bytes.
"""
