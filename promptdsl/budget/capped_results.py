"""Tool results that are too long, cut to a number of tokens.

Text is cut at the end of a line; JSON is cut to shorter JSON that is still valid.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial

import attrs

from promptdsl.budget.cut_text import ELLIPSIS
from promptdsl.budget.edited_history import with_blocks
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.json import is_json
from promptdsl.messages import Block, DataBlock, TextBlock, ToolResultBlock
from promptdsl.messages.description import default_text, described
from promptdsl.messages.message import Message
from promptdsl.tokens.count import Tokens
from promptdsl.tokens.cut import fitting_end
from promptdsl.tokens.encoder import REMEMBERED, Remembered
from promptdsl.tokens.messages import block_tokens

_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_IN_STRING = re.compile(
    r'(?:\\u[dD][89abAB]\w\w\\u\w{4}|\\u\w{4}|\\.|[^"\\\s]){1,80}\s?', re.DOTALL
)
_CLOSERS = {"[": "]", "{": "}"}
_BEGINNINGS = {*'[{"-0123456789tfn'}
"""The characters with which JSON begins."""


def capped_messages(
    messages: Sequence[Message], start: int, *, most: int, tokens: Tokens, facts: ModelFacts
) -> Iterator[Message]:
    """Yield the messages from ``start`` on, with at most ``most`` tokens in each of their results.

    A message is the same if no result is longer.
    """
    for message in messages[start:]:
        yield with_blocks(message, partial(_capped, most=most, tokens=tokens, facts=facts))


def _capped(result: Block, *, most: int, tokens: Tokens, facts: ModelFacts) -> Block:
    """Return the beginning of a result that fits into ``most`` tokens; another block is the same.

    An attachment that does not fit becomes a line that names it.
    """
    if not isinstance(result, ToolResultBlock):
        return result
    sizes = [block_tokens(block, tokens, facts) for block in result.content]
    if sum(sizes) <= most:
        return result
    room, kept, is_cut = most, list[Block](), False
    ellipsis = tokens.of(f"\n{ELLIPSIS}")
    for number, (block, size) in enumerate(zip(result.content, sizes, strict=True), start=1):
        # If a later block is left out, an ellipsis is sent in its position.
        reserve = ellipsis if number < len(sizes) and size + sum(sizes[number:]) > room else 0
        if size + reserve <= room and not is_cut:
            kept.append(block)
            room -= size
            continue
        left = f"[{described(block)}: left out]"
        if isinstance(block, TextBlock | DataBlock):
            if is_cut:
                continue  # the text before it ends with an ellipsis already
            text = block.text if isinstance(block, TextBlock) else default_text(block)
            left, is_cut = capped_text(text, room, tokens), True
        if left and tokens.of(left) <= room:
            kept.append(TextBlock(left))
            room -= tokens.of(left)
    return attrs.evolve(result, content=tuple(kept))


@lru_cache(maxsize=4)
def _cache(_tokens: Tokens) -> Remembered[dict[int, str]]:
    """Return the cache of a token counter: by text, its cut versions by their most tokens."""
    return Remembered(REMEMBERED)


def capped_text(text: str, most: int, tokens: Tokens) -> str:
    """Return the beginning of a text that has more than ``most`` tokens, and an ellipsis.

    It is cut at the end of a line, if that keeps half of what fits. JSON stays valid JSON, if it is
    nested at most 200 deep; in place of a number that does not fit is the ellipsis as a string.
    The result is empty if the ellipsis does not fit.
    """
    cache = _cache(tokens)
    cuts = cache.get(text) or {}
    if most not in cuts:
        may_be_json = text.lstrip()[:1] in _BEGINNINGS
        cut = _cut_json if may_be_json and is_json(text) else _cut_lines
        cuts = {**cuts, most: cut(text, most, tokens)}
        cache.put(text, cuts)
    return cuts[most]


def _cut_lines(text: str, most: int, tokens: Tokens) -> str:
    room = most - tokens.of(f"\n{ELLIPSIS}")
    while room > 0:
        head = text[: fitting_end(text, 0, room, tokens)]
        line = head.rfind("\n")
        head = head[:line] if line * 2 >= len(head) else head.rstrip()
        cut = f"{head}\n{ELLIPSIS}"
        over = tokens.measured(cut) - most
        if over <= 0:
            return cut if head else ELLIPSIS
        room -= over
    return ELLIPSIS if tokens.of(ELLIPSIS) <= most else ""


def _cut_json(text: str, most: int, tokens: Tokens) -> str:
    """Return the longest beginning of a JSON text that fits, with its brackets closed.

    If none fits, return the ellipsis as a JSON string, or an empty string of JSON.
    """
    cuts: list[tuple[int, str]] = []

    def fits(number: int) -> bool:
        position, end = cuts[number]
        return tokens.measured(text[:position].rstrip() + end) <= most

    # Stop at about twice the length that fits. The first guess is four characters a token.
    reach = most * 4
    for cut in _json_cuts(text):
        cuts.append(cut)
        if cut[0] > reach:
            if not fits(-1):
                break
            reach *= 2
    over = bisect_left(range(len(cuts)), True, key=lambda number: not fits(number))
    if over:
        position, end = cuts[over - 1]
        return text[:position].rstrip() + end
    alone = (f'"{ELLIPSIS}"', '""')
    return next((json for json in alone if tokens.of(json) <= most), "")


def _json_cuts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the positions where a JSON text may end, each with the ellipsis and closing brackets.

    It may end after each element of a list or an object, and after each word of a string in them.
    """
    closers: list[str] = []
    is_value = True
    for match in _JSON.finditer(text):
        token, end = match[0], match.end()
        rest = "".join(reversed(closers))
        if token in _CLOSERS:
            closers.append(_CLOSERS[token])
            yield end, _ellipsis_in(closers[-1]) + closers[-1] + rest
            is_value = token == "["
        elif token == ":":
            is_value = True
        elif token == ",":
            is_value = closers[-1] == "]"
        else:
            if token in "]}":
                closers.pop()
                rest = "".join(reversed(closers))
            elif is_value and token[0] == '"':
                words = _IN_STRING.finditer(text, match.start() + 1, end - 1)
                yield from ((word.end(), f' {ELLIPSIS}"{rest}') for word in words)
            if closers and (is_value or token in "]}"):
                yield end, f", {_ellipsis_in(closers[-1])}{rest}"
            is_value = False


def _ellipsis_in(closer: str) -> str:
    """Return the ellipsis as an element of the list or object that ``closer`` closes."""
    return f'"{ELLIPSIS}": "{ELLIPSIS}"' if closer == "}" else f'"{ELLIPSIS}"'
