"""Messages to one provider's request arguments and back: the same two functions in each.

``write(messages, facts)`` returns the arguments and what they could not say; ``read(data)`` returns
the messages of a recorded conversation. What is written, read and written again is the same bytes.
"""
