"""Token counts of texts, messages and payloads, and texts cut to a number of tokens.

Read the modules in this order:

- ``count`` defines counters, and ``counters`` chooses one for a model.
- ``encodings`` has the encodings with which ``counters`` counts texts, and the cuts between which a
  long text is counted in pieces.
- ``payloads`` counts neutral messages with a counter, and a provider's payload part by part. Both
  have ``attachments``.
- ``cut`` finds the longest beginning of a text that fits a limit, and divides a text into such
  parts.
"""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.tokens.count import Count as Count
    from promptdsl.tokens.count import TokenCounter as TokenCounter
    from promptdsl.tokens.count import Tokens as Tokens
    from promptdsl.tokens.counters import counter as counter
    from promptdsl.tokens.counters import tokens_for as tokens_for
    from promptdsl.tokens.cut import fitting_prefix as fitting_prefix
    from promptdsl.tokens.cut import split_text as split_text
    from promptdsl.tokens.encodings import download as download
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "count": "Count TokenCounter Tokens",
            "counters": "counter tokens_for",
            "cut": "fitting_prefix split_text",
            "encodings": "download",
        },
    )
