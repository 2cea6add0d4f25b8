"""Tokens: how many a text, a message, a request is, and cutting a text to a number of them."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptdsl.tokens.count import Count, TokenCounter, Tokens
    from promptdsl.tokens.counters import counter, tokens_for
    from promptdsl.tokens.cut import fitting_prefix
    from promptdsl.tokens.downloads import download
    from promptdsl.tokens.splitting import split_text
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "count": "Count TokenCounter Tokens",
            "counters": "counter tokens_for",
            "cut": "fitting_prefix",
            "downloads": "download",
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
