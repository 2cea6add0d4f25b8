"""OpenAI Chat Completions, and servers with the same format.

The rules are those of the service and of ``openai.types.chat``: a tool message for each result,
media in user messages only, names with few allowed characters, ids of at most 40 characters, and
no reasoning. The facts of a server change some of these rules.

Read ``write.py`` first, then ``read.py``. ``reasoning.py`` has the reasoning of servers, and
``parts.py`` what a request has besides its texts.
"""
