"""OpenAI Chat Completions, and servers that speak it.

The rules are those of the service and of ``openai.types.chat``: a tool message for each result,
media in user turns only, names of limited charset, ids of at most 40 characters, no reasoning.
"""
