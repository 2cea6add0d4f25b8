"""Results of tools that are cut to a number of tokens: at lines, JSON to shorter JSON."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

import attrs

from promptdsl.budget.cut_text import MARK
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


def capped_message(message: Message, most: int, tokens: Tokens, facts: ModelFacts) -> Message:
    """Return a message whose results have at most ``most`` tokens, the same one if they do."""
    blocks = [
        _capped(block, most, tokens, facts) if isinstance(block, ToolResultBlock) else block
        for block in message.content
    ]
    same = all(new is old for new, old in zip(blocks, message.content, strict=True))
    return message if same else message.replace(content=tuple(blocks))


def _capped(
    result: ToolResultBlock, most: int, tokens: Tokens, facts: ModelFacts
) -> ToolResultBlock:
    """Return a result with as much of its beginning as fits, an attachment whole or as a line."""
    sizes = [block_tokens(block, tokens, facts) for block in result.content]
    if sum(sizes) <= most:
        return result
    room, kept, is_cut = most, list[Block](), False
    mark = tokens.of(f"\n{MARK}")
    for number, (block, size) in enumerate(zip(result.content, sizes, strict=True), start=1):
        # What is left out behind it needs a mark.
        reserve = mark if number < len(sizes) and size + sum(sizes[number:]) > room else 0
        if size + reserve <= room and not is_cut:
            kept.append(block)
            room -= size
            continue
        left = f"[{described(block)}: left out]"
        if isinstance(block, TextBlock | DataBlock):
            if is_cut:
                continue  # the mark of the text before it stands for it
            text = block.text if isinstance(block, TextBlock) else default_text(block)
            left, is_cut = capped_text(text, room, tokens), True
        if left and tokens.of(left) <= room:
            kept.append(TextBlock(left))
            room -= tokens.of(left)
    return attrs.evolve(result, content=tuple(kept))


@lru_cache(maxsize=4)
def _known(_tokens: Tokens) -> Remembered[dict[int, str]]:
    """Return what is left of the latest texts, by their most tokens, as a counter counts them."""
    return Remembered(REMEMBERED)


def capped_text(text: str, most: int, tokens: Tokens) -> str:
    """Return what is left of a text that has more than ``most`` tokens, with a mark at its end.

    It is cut at the end of a line, if that keeps half of what fits. JSON stays valid JSON, if it is
    nested at most 200 deep: a number that does not fit is the mark as a text. Where not even the
    mark fits, the result is empty.
    """
    memory = _known(tokens)
    known = memory.get(text) or {}
    if most not in known:
        may_be_json = text.lstrip()[:1] in _BEGINNINGS
        cut = _cut_json if may_be_json and is_json(text) else _cut_lines
        known = {**known, most: cut(text, most, tokens)}
        memory.put(text, known)
    return known[most]


def _cut_lines(text: str, most: int, tokens: Tokens) -> str:
    room = most - tokens.of(f"\n{MARK}")
    while room > 0:
        head = text[: fitting_end(text, 0, room, tokens)]
        line = head.rfind("\n")
        head = head[:line] if line * 2 >= len(head) else head.rstrip()
        cut = f"{head}\n{MARK}"
        over = tokens.measured(cut) - most
        if over <= 0:
            return cut if head else MARK
        room -= over
    return MARK if tokens.of(MARK) <= most else ""


def _cut_json(text: str, most: int, tokens: Tokens) -> str:
    """Return the longest beginning of a JSON text that fits, closed, else the mark as JSON."""
    left: list[tuple[int, str]] = []

    def fits(number: int) -> bool:
        position, end = left[number]
        return tokens.measured(text[:position].rstrip() + end) <= most

    # Look no further than at about twice of what fits: four characters a token at first.
    reach = most * 4
    for cut in _json_cuts(text):
        left.append(cut)
        if cut[0] > reach:
            if not fits(-1):
                break
            reach *= 2
    over = bisect_left(range(len(left)), True, key=lambda number: not fits(number))
    if over:
        position, end = left[over - 1]
        return text[:position].rstrip() + end
    alone = f'"{MARK}"'
    return alone if tokens.of(alone) <= most else ""


def _json_cuts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the positions where a JSON text may end, each with the mark and what closes it.

    That is after each element of a list or an object, and after the words of a text in it.
    """
    closers: list[str] = []
    is_value = True
    for match in _JSON.finditer(text):
        token, end = match[0], match.end()
        rest = "".join(reversed(closers))
        if token in _CLOSERS:
            closers.append(_CLOSERS[token])
            yield end, _marked(closers[-1]) + closers[-1] + rest
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
                yield from ((word.end(), f' {MARK}"{rest}') for word in words)
            if closers and (is_value or token in "]}"):
                yield end, f", {_marked(closers[-1])}{rest}"
            is_value = False


def _marked(closer: str) -> str:
    """Return the mark as an element of a list, or as one of an object."""
    return f'"{MARK}": "{MARK}"' if closer == "}" else f'"{MARK}"'
