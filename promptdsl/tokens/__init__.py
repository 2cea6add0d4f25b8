"""Token counts of texts, messages and payloads, and texts cut to a number of tokens.

``count`` defines counters, and ``counters`` chooses one for a model or target. ``encoder`` counts
texts with one of the ``encodings``; a long text is counted in pieces between its ``safe_cuts``.
With a counter, ``messages`` counts neutral messages, and ``payloads`` a provider's payload, part by
part (``payload_parts``, ``wire_json``); both add ``attachments`` (``images``), ``tools`` and
``frames``. ``cut`` finds the longest beginning of a text that fits a limit; ``splitting`` uses it
to divide a text.
"""

from promptdsl.foundation.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    globals(),
    {
        "count": "Count TokenCounter Tokens",
        "counters": "counter tokens_for",
        "cut": "fitting_prefix",
        "encodings": "download",
        "splitting": "split_text",
    },
)
