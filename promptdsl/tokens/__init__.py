"""Token counts of texts, messages and payloads, and texts cut to a number of tokens.

``count`` defines counters, and ``counters`` chooses one for a model or target. ``encoder`` counts
texts with one of the ``encodings``; a long text is counted in pieces between its ``safe_cuts``.
With a counter, ``messages`` counts neutral messages, and ``payloads`` a provider's payload, part by
part (``payload_parts``, ``wire_json``); both add ``attachments`` (``images``), ``tools`` and
``frames``. ``cut`` finds the longest beginning of a text that fits a limit; ``splitting`` uses it
to divide a text.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptdsl.tokens.count import Count, TokenCounter, Tokens
    from promptdsl.tokens.counters import counter, tokens_for
    from promptdsl.tokens.cut import fitting_prefix
    from promptdsl.tokens.encodings import download
    from promptdsl.tokens.splitting import split_text
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "count": "Count TokenCounter Tokens",
            "counters": "counter tokens_for",
            "cut": "fitting_prefix",
            "encodings": "download",
            "splitting": "split_text",
        },
    )

__all__ = [
    "Count",
    "TokenCounter",
    "Tokens",
    "counter",
    "download",
    "fitting_prefix",
    "split_text",
    "tokens_for",
]
