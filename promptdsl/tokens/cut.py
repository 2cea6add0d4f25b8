"""Functions that cut a text to a number of tokens, and that split a text into parts of a size."""

import re
import unicodedata
from collections.abc import Callable

from promptdsl.config.models import facts_for
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, shown
from promptdsl.foundation.source import author, public_api
from promptdsl.foundation.unicode import exact
from promptdsl.tokens.count import Tokens, UserCounter
from promptdsl.tokens.counters import tokens_for

# A text that is cut to a number of tokens: after a paragraph, a sentence or a word if possible.
#
# Read ``fitting_end`` first, then ``best_boundary``.

PARAGRAPH, SENTENCE, WORD = 3, 2, 1
"""The levels of a position to cut; the highest is best. A line end counts as a sentence."""

# Ideographic, fullwidth and halfwidth stops need no space after them.
_BOUNDARY = re.compile("\\s+|[\u3002\uff01\uff1f\uff0e\uff61][\u300d\u300f\uff09\u201d\u2019]*")
_STOPS = frozenset(".!?\u2026")
_CLOSERS = "\"'\u201d\u2019\u00bb)]*_"
_CONTEXT = 64
"""The number of characters that are searched before and after a range.

White space may cross the ends of the range."""


def best_boundary(text: str, start: int, end: int, *, last: bool) -> int | None:
    """Return the best position to cut between ``start`` and ``end``, ``None`` without a position.

    The end of a paragraph is best, then the end of a sentence or a line, then the end of a word. Of
    equal positions, the first is returned, or with ``last`` the last. The position is after white
    space; if the white space crosses ``start`` or ``end``, it is inside the white space.
    """
    best, best_level = None, 0
    for match in _BOUNDARY.finditer(text, max(0, start - _CONTEXT), end + _CONTEXT):
        if match.end() < start:
            continue
        if match.start() > end:
            break
        # A sentence ends with a stop and up to three closing characters, such as quotes.
        # A stop of a script without spaces is itself the match.
        separator, position = match[0], match.end()
        line_ends = max(separator.count("\n"), separator.count("\r"))
        before = text[max(0, match.start() - 4) : match.start()].rstrip(_CLOSERS)
        level = WORD
        if line_ends > 1:
            level = PARAGRAPH
        elif line_ends or not separator.isspace() or before[-1:] in _STOPS:
            level = SENTENCE
        # White space that crosses the end may be cut; a stop and its closing characters may not.
        if position > end:
            if not separator.isspace():
                break
            position = end if last else start
        if level > best_level or (last and level == best_level):
            best, best_level = position, level
    return best


def character_boundary(text: str, position: int, *, forwards: bool = False) -> int:
    """Return the nearest position that is not inside a visible character.

    The search goes backwards by default. CR LF, a surrogate pair, and a letter with its combining
    marks and joiners are each a single character. If 32 positions in a row are inside a character,
    ``position`` itself is returned.
    """
    step = 1 if forwards else -1
    for candidate in range(position, position + step * 32, step):
        if not 0 < candidate < len(text):
            return min(max(candidate, 0), len(text))
        before, after = text[candidate - 1], text[candidate]
        if after < "\u0300":
            is_inside = before == "\r" and after == "\n"
        else:
            is_joined = "\u200d" in (before, after) or unicodedata.category(after)[0] == "M"
            is_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
            is_inside = is_joined or is_pair or "\U0001f3fb" <= after <= "\U0001f3ff"
        if not is_inside:
            return candidate
    return position


def fitting_prefix(text: str, limit: int, tokens: Tokens, *, end: bool = False) -> str:
    """Return the longest beginning of a text that has at most ``limit`` tokens.

    With ``end``, return the longest end of the text. The cut is after a paragraph, else after a
    sentence, else after a word, if this keeps at least half of the text that fits. Otherwise it is
    between two characters. White space at the cut belongs to the text before it. A text that fits
    is returned unchanged. If no character fits, the result is empty.

    >>> from promptdsl.tokens import counter, fitting_prefix
    >>> fitting_prefix("One sentence. And another one.", 5, counter("gpt-4o"))
    'One sentence. '
    """
    # Check the complete text first: a part of a text may have more tokens than the complete text.
    if tokens.measured(text) <= limit:
        return text
    if not end:
        return text[: fitting_end(text, 0, limit, tokens)]
    length = len(text)
    fitting = _most_characters(lambda size: text[length - size :], length, limit, tokens)
    begin = length - fitting
    boundary = best_boundary(text, begin, length - (fitting + 1) // 2, last=False)
    for cut in (boundary or begin, begin):
        tail = text[character_boundary(text, cut, forwards=True) :]
        if tokens.measured(tail) <= limit:
            return tail
    return text[begin:]


def fitting_end(text: str, start: int, limit: int, tokens: Tokens) -> int:
    """Return the end of the longest part of a text that begins at ``start`` and fits a limit.

    ``limit`` is a number of tokens; the result is a position. The cut is as in
    :func:`fitting_prefix`.
    """
    length = len(text) - start
    fitting = _most_characters(lambda size: text[start : start + size], length, limit, tokens)
    end = start + fitting
    if end == len(text):
        return end
    boundary = best_boundary(text, start + (fitting + 1) // 2, end, last=True)
    for cut in (boundary or end, end):
        stop = max(start, character_boundary(text, cut))
        # A shorter text may have more tokens.
        if tokens.measured(text[start:stop]) <= limit:
            return stop
    return end


def _most_characters(
    part_of_size: Callable[[int], str], length: int, limit: int, tokens: Tokens
) -> int:
    """Return a number of characters that fits a limit of tokens, while one character more does not.

    ``part_of_size`` returns the part of a text with a number of characters. Tokens have about the
    same length everywhere in a text. So the counts of two sizes show where to search between them:
    of the largest size that fits, and of the smallest that exceeds the limit.
    """
    # The first guess is four characters per token.
    fitting, fitting_tokens, size = 0, 0, min(length, max(1, limit) * 4)
    while (count := tokens.measured(part_of_size(size))) <= limit:
        if size == length:
            return length
        fitting, fitting_tokens, size = size, count, min(length, size * 2)
    exceeding, exceeding_tokens, guesses = size, count, 0
    while exceeding - fitting > 1:
        guesses += 1
        # Six guesses by the counts, alternately above and below the limit; then bisection.
        free_tokens = limit - fitting_tokens + guesses % 2
        share = free_tokens / (exceeding_tokens - fitting_tokens) if guesses <= 6 else 0.5
        guess = fitting + int((exceeding - fitting) * share)
        size = min(max(guess, fitting + 1), exceeding - 1)
        count = tokens.measured(part_of_size(size))
        if count <= limit:
            fitting, fitting_tokens = size, count
        else:
            exceeding, exceeding_tokens = size, count
    return fitting


# A text that is split at a delimiter, and into parts with at most a number of tokens.


@public_api
def split_text(
    text: str,
    on: str | None = None,
    max_tokens: int | None = None,
    counter: UserCounter | None = None,
) -> list[str]:
    """Return the parts of a text: split at a delimiter, then cut to at most ``max_tokens`` each.

    ``on`` is the delimiter. If no part was cut, ``on.join(parts)`` is the text. A part with more
    than ``max_tokens`` tokens is cut after a paragraph, else after a sentence, else after a word.
    Without ``on``, ``"".join(parts)`` is the text. Only a part of a single character may exceed
    ``max_tokens``. An empty text has no parts; between two delimiters there may be an empty part.
    ``counter`` counts the tokens, by default in o200k_base.

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
            # A character with more tokens than the limit is a separate part.
            end = max(fitting_end(section, start, max_tokens, tokens), start + 1)
            parts.append(section[start:end])
            start = end
        if not section:
            parts.append(section)
    return parts


def _check_arguments(text: object, on: object, max_tokens: object) -> None:
    if not isinstance(text, str):
        problem = f"split_text() takes a string, not {type(text).__name__}"
        raise ContentError(problem, fix="pass the text itself, as a str")
    if on is None and max_tokens is None:
        raise OptionError(
            "split_text() needs on= or max_tokens=",
            fix="write on='---', or max_tokens=500",
        )
    if on is not None and (not isinstance(on, str) or not on):
        raise OptionError(f"on={shown(on)}", fix="write the delimiter, a string, as on='---'")
    if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 1):
        raise OptionError(
            f"max_tokens={shown(max_tokens)}", fix="write a whole number of tokens, 1 or more"
        )
