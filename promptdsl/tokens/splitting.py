"""Splitting a text by a delimiter, and into parts of no more than a number of tokens."""

from promptdsl.config.models import facts_for
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, shown
from promptdsl.foundation.source import author, public_api
from promptdsl.foundation.unicode import exact
from promptdsl.tokens.count import UserCounter
from promptdsl.tokens.counters import tokens_for
from promptdsl.tokens.cut import fitting_end


@public_api
def split_text(
    text: str,
    on: str | None = None,
    max_tokens: int | None = None,
    counter: UserCounter | None = None,
) -> list[str]:
    """Return the parts of a text: split at a delimiter, then cut to at most ``max_tokens`` each.

    ``on`` is the delimiter. If no part was cut, ``on.join(parts)`` is the text. A part with more
    than ``max_tokens`` tokens is cut after a paragraph, else a sentence, else a word; without
    ``on``, ``"".join(parts)`` is the text. Only a part of one character may exceed ``max_tokens``.
    An empty text has no parts; between two delimiters there may be an empty part. ``counter``
    counts the tokens, by default in o200k_base.

    >>> from promptdsl import split_text
    >>> split_text("one two---three", on="---")
    ['one two', 'three']
    >>> split_text("One sentence. And another one.", max_tokens=5)
    ['One sentence. ', 'And another one.']

    Raises :class:`OptionError` for a wrong argument, :class:`ContentError` for a text that is not a
    string.
    """
    try:
        _check_arguments(text, on, max_tokens)
        tokens = tokens_for(facts_for(None, None), counter)
    except PromptError as error:
        raise error.located(author()) from None
    text = exact(text)
    if not text:
        return []
    sections = [text] if on is None else text.split(exact(on))
    if max_tokens is None:
        return sections
    parts: list[str] = []
    for section in sections:
        start = 0
        while start < len(section):
            # A character that is larger than the limit is a part of its own.
            end = max(fitting_end(section, start, max_tokens, tokens), start + 1)
            parts.append(section[start:end])
            start = end
        if not section:
            parts.append(section)
    return parts


def _check_arguments(text: object, on: object, max_tokens: object) -> None:
    if not isinstance(text, str):
        raise ContentError(
            f"split_text() takes a string, not {type(text).__name__}", fix="give it the text itself"
        )
    if on is None and max_tokens is None:
        raise OptionError(
            "split_text() needs on= or max_tokens=",
            fix="say where to split, or how large a part may be",
        )
    if on is not None and (not isinstance(on, str) or not on):
        raise OptionError(f"on={shown(on)}", fix="write the delimiter, a string, as on='---'")
    if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 1):
        raise OptionError(
            f"max_tokens={shown(max_tokens)}", fix="write a whole number of tokens, 1 or more"
        )
