"""Tool results that a budget makes shorter: cut to a size, or cleared in steps.

In this order: cutting the middle of a text, results that are too long, results that are cleared.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from operator import sub
from typing import NamedTuple

import attrs

from promptdsl.budget.budget import Measure
from promptdsl.budget.edited_history import (
    EditedHistory,
    Ranges,
    edited_run,
    members_of,
    with_blocks,
    with_items,
)
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.escaping import label_of, labelled
from promptdsl.foundation.json import is_json, write_json
from promptdsl.messages import Block, DataBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.blocks import default_text, described
from promptdsl.messages.message import Message, answers_in
from promptdsl.tokens.count import Tokens
from promptdsl.tokens.counters import REMEMBERED, Remembered
from promptdsl.tokens.cut import best_boundary, character_boundary, fitting_end
from promptdsl.tokens.payloads import block_tokens
from promptdsl.tree.masks import TEXT, bits
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import JsonNode, TableNode, TextNode, VerbatimNode
from promptdsl.tree.recorded import recording
from promptdsl.tree.rewrite import replace, with_content
from promptdsl.tree.turn_nodes import ClearResults, ConversationNode, RecordedNode

# The raw texts in a node, joined in order, and the same node with its middle cut out.

ELLIPSIS = "[...]"
"""The text that is sent in place of missing text."""


@attrs.define(eq=False)
class Leaves:
    """The texts in a node, in order; positions are counted over all of them."""

    node: Node
    texts: list[str]
    starts: list[int]
    """The position at which each text starts."""
    size: int

    @classmethod
    def of(cls, node: Node) -> "Leaves":
        """Return the texts in a node."""
        texts: list[str] = []
        waiting = [*reversed(node.content)]
        while waiting:
            part = waiting.pop()
            text = _leaf_text(part)
            if text is not None:
                texts.append(text)
            elif isinstance(part, Node):
                waiting += reversed(part.content)
        starts = [0, *accumulate(map(len, texts))]
        return cls(node, texts, starts[:-1], starts[-1])

    def ends_before(self, position: int) -> Iterator[int]:
        """Yield where a head may end: after a paragraph, sentence or word, then anywhere."""
        number = self._leaf(position)
        text, start = self.texts[number], self.starts[number]
        lowest = max((position + 1) // 2 - start, 0)
        best = best_boundary(text, lowest, position - start, last=True)
        if best is not None:
            yield start + best
        elif start and start >= position // 2:
            yield start
        yield start + character_boundary(text, position - start)

    def starts_after(self, position: int) -> Iterator[int]:
        """Yield where a tail may start: after a paragraph, sentence or word, then anywhere."""
        number = self._leaf(position)
        text, start = self.texts[number], self.starts[number]
        if text.isspace():
            yield position  # the rows of a table: a tail may start at each row
        middle = position + (self.size - position) // 2
        best = best_boundary(text, position - start, min(middle - start, len(text)), last=False)
        if best is not None:
            yield start + best
        elif start + len(text) <= middle:
            yield start + len(text)
        yield start + character_boundary(text, position - start, forwards=True)

    def _leaf(self, position: int) -> int:
        return max(bisect_right(self.starts, position) - 1, 0)

    def kept(self, head: int, tail: int) -> Node:
        """Return the node with its first ``head`` and last ``tail`` characters.

        Between them is an ellipsis.
        """
        stop = self.size - tail
        has_ellipsis = False
        leaves = zip(self.texts, self.starts, strict=True)
        # The nodes around the current leaf, each with the children it keeps and those to come.
        levels: list[tuple[Node, list[Child], Iterator[Child]]] = [
            (self.node, [], iter(self.node.content))
        ]
        while True:
            node, children, rest = levels[-1]
            part = next(rest, None)
            if part is None:
                levels.pop()
                if not levels:
                    return with_content(node, tuple(children))
                if any(children):
                    levels[-1][1].append(with_content(node, tuple(children)))
                continue
            if isinstance(part, Node) and _leaf_text(part) is None:
                levels.append((part, [], iter(part.content)))
                continue
            text, start = next(leaves)
            first, last = text[: max(head - start, 0)], text[max(stop - start, 0) :]
            if text in (first, last):
                children.append(part)
                continue
            children += _cut_leaf(part, first, last, ellipsis=not has_ellipsis)
            has_ellipsis = True


def _leaf_text(part: Child) -> str | None:
    """Return the raw text of a leaf, ``None`` for another node.

    The text of a table has one character for each row.
    """
    if isinstance(part, str):
        return part
    if isinstance(part, TableNode):
        return "\n" * len(part.rows)
    if part.content:
        return None
    return getattr(part, "text", None) or "\x00"


def _cut_leaf(part: Child, head: str, tail: str, *, ellipsis: bool) -> list[Child]:
    """Return a leaf with only the beginning and the end of its text.

    With ``ellipsis``, an ellipsis is between them.
    """
    if isinstance(part, TableNode):
        rows = (*part.rows[: len(head)], *part.rows[len(part.rows) - len(tail) :])
        table: list[Child] = [replace(part, rows=rows)] if rows else []
        note: list[Child] = []
        if ellipsis:
            note = [make(TextNode, (ELLIPSIS,), mask=bits(TEXT), at=part._at)]
        return [*table, *note] if head else [*note, *table]
    text = tail
    if ellipsis:
        before, after = head.rstrip(), tail.lstrip()
        left = "\n\n" if "\n\n" in head[len(before) :] else " "
        right = "\n\n" if "\n\n" in tail[: len(tail) - len(after)] else " "
        text = f"{before}{left if before else ''}{ELLIPSIS}{right if after else ''}{after}"
    if not text:
        return []
    if isinstance(part, str):
        return [text]
    if isinstance(part, JsonNode):
        # A part of the JSON is not valid JSON, so it becomes plain text.
        pieces = (labelled(text, label_of(part.pieces)),)
        return [make(VerbatimNode, mask=bits(TEXT), at=part._at, text=text, pieces=pieces)]
    if hasattr(part, "text"):
        label = label_of([getattr(part, "text", None)])
        return [replace(part, text=text if label is None else labelled(text, label))]
    return [make(TextNode, (text,), mask=bits(TEXT), at=part._at)]


# Tool results that are too long, cut to a number of tokens.
#
# Text is cut at the end of a line; JSON is cut to shorter JSON that is still valid.

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


# Tool results of a history that are cleared, the oldest first, in steps.
#
# All results before one message are cleared: ``clear_before`` is the index of that message. It
# begins the first round at which clearing has saved another ``at_least`` tokens. So it depends only
# on the conversation before it.
#
# If even the last possible ``clear_before`` does not make enough room, a budget cuts the history.
# Results that are cleared later make room again. So that the cut does not move back then, it is not
# before the cut of any earlier request that was longer.

_WRITTEN = Message("user")


class LongerRequest(NamedTuple):
    """An earlier request of a history, which needed more tokens than the current one."""

    stop: int
    """The index of the message that answers it."""
    clear_before: int
    extra_tokens: int
    """How many tokens more it needed, with all possible results cleared."""


@attrs.define(eq=False)
class Clearing:
    """How many tokens clearing the results of a history saves, and how far it may go.

    The lists are indexed by message; a turn that is written in the history counts as one message.
    """

    node: ConversationNode
    options: ClearResults
    cleared_messages: Sequence[Message]
    """By message, the message with all results cleared; an empty one for a written turn."""
    cleared_sizes: Sequence[int]
    """By message, its tokens if it is cleared."""
    savings: Sequence[int]
    """By message, the tokens saved by clearing all messages before it."""
    results_before: Sequence[int]
    """By message, the count of results before it."""
    all_clear_points: Sequence[int]
    """The possible values of ``clear_before``, in order. The first one clears nothing."""
    round_starts: Sequence[int]
    """The first message, and those that begin a round."""
    results_before_start: Sequence[int]
    """By start, the count of results before it."""
    tokens_before: Sequence[int]
    """By message, the tokens of all messages before it, none of them cleared."""
    request_sizes: Sequence[int] = ()
    """By round, the tokens of the request that it answers, with all possible results cleared."""
    longer_before: Sequence[int] = ()
    """By round, the last round before it whose request needed more tokens, -1 for none."""
    clear_points: Sequence[int] = (0,)
    """The possible values of ``clear_before`` for this request."""
    longer: Sequence[LongerRequest] = ()
    """The earlier requests that needed more tokens than this one, the last of them first.

    A request is left out if a later one needed more.
    """

    def summary(self, clear_before: int, kept: Ranges) -> str:
        """Return in words how many results of the ``kept`` messages before a message are cleared.

        Empty if there are none.
        """
        within = {index for start, stop in kept for index in range(start, min(stop, clear_before))}
        count = 0
        for begin, _, member in members_of(self.node):
            items: Sequence[Message] = member.items if isinstance(member, RecordedNode) else ()
            for index, old in enumerate(items, begin):
                new = self.cleared_messages[index]
                if new is not old and index in within:
                    pairs = zip(old.content, new.content, strict=True)
                    count += sum(a is not b for a, b in pairs if b.type == "tool_result")
        if count == 1:
            return "1 of its results is cleared"
        return f"{count} of its results are cleared" if count else ""

    def reached(self, stop: int) -> int:
        """Return how many values of ``clear_before`` are possible for the messages before ``stop``.

        The results of their last calls stay.
        """
        kept = bisect_right(
            self.results_before_start, self.results_before[stop] - self.options.keep
        )
        return bisect_right(self.all_clear_points, self.round_starts[max(kept - 1, 0)])

    def clear_before(self, stop: int) -> int:
        """Return the last possible ``clear_before`` for the messages before ``stop``."""
        return self.all_clear_points[self.reached(stop) - 1]

    def until(self, stop: int) -> "Clearing":
        """Return how a request with the messages before ``stop`` is cleared."""
        clear_points = self.all_clear_points[: self.reached(stop)]
        longer = [*self._longer(stop, self.tokens_before[stop] - self.savings[clear_points[-1]])]
        if self.options.at_least is not None:
            clear_points = (0,)  # such a history is cleared before
        return attrs.evolve(self, clear_points=clear_points, longer=longer)

    def _longer(self, stop: int, newest: int) -> Iterator[LongerRequest]:
        number, longest = bisect_left(self.round_starts, stop, 1) - 2, newest
        while number >= 0:
            if self.request_sizes[number] > longest:
                longest = self.request_sizes[number]
                end = self.round_starts[number + 1]
                yield LongerRequest(end, self.clear_before(end), longest - newest)
            number = self.longer_before[number]

    def applied(self, clear_before: int) -> ConversationNode:
        """Return the history with all results before a message cleared."""
        members: list[Node] = []
        for begin, end, member in members_of(self.node):
            if isinstance(member, RecordedNode):
                stop = max(min(clear_before, end), begin)
                items = (*self.cleared_messages[begin:stop], *member.items[stop - begin :])
                old = recording(member)
                known = EditedHistory(member.items, items, old.mask, member.start, made_of=old)
                members.append(with_items(member, items, known))
            else:
                members.append(member)
        return with_content(self.node, tuple(members))


def clearing_of(
    node: ConversationNode,
    tokens: Sequence[int],
    rounds: Sequence[int],
    measure: Measure,
    *,
    step: int,
    pinned: Ranges = (),
) -> Clearing:
    """Return how the results of a history are cleared; ``step`` is that of its cut.

    ``tokens`` has the tokens of each message, ``rounds`` the messages that begin a round.
    The messages in ``pinned`` are not cleared.
    """
    options = node.clear_results or ClearResults()
    cleared: list[Message] = []
    sizes, results = [*tokens], [0] * len(tokens)
    stays = {index for start, stop in pinned for index in range(start, stop)}
    for begin, _, member in members_of(node):
        cleared += member.items if isinstance(member, RecordedNode) else (_WRITTEN,)
        if isinstance(member, RecordedNode):
            run = edited_run(member, ("cleared", options), partial(_cleared, options=options))
            counts = zip(run.items, measure.messages(run), strict=True)
            for index, (message, count) in enumerate(counts, begin):
                results[index] = len(answers_in(message))
                if count < sizes[index] and index not in stays:
                    sizes[index], cleared[index] = count, message
    saved = [0, *accumulate(map(sub, tokens, sizes))]
    at_least = options.at_least
    if at_least is None:
        at_least = max(step, 1)
    locations, reached = [0], at_least
    for start in rounds:
        if saved[start] >= reached:
            locations.append(start)
            reached = at_least * (saved[start] // at_least + 1)
    called, starts = [0, *accumulate(results)], [0, *rounds]
    total = [0, *accumulate(tokens)]
    called_at = [called[start] for start in starts]
    clearing = Clearing(
        node, options, cleared, sizes, saved, called, locations, starts, called_at, total
    )
    # One request was sent before each turn of the model.
    clearing.request_sizes = [total[stop] - saved[clearing.clear_before(stop)] for stop in rounds]
    clearing.longer_before = [*_longer_before(clearing.request_sizes)]
    return clearing


def _longer_before(sizes: Sequence[int]) -> Iterator[int]:
    """Yield for each size the index of the last one before it that is larger, -1 for none."""
    larger: list[int] = []
    for index, size in enumerate(sizes):
        while larger and sizes[larger[-1]] <= size:
            larger.pop()
        yield larger[-1] if larger else -1
        larger.append(index)


def _cleared(
    messages: Sequence[Message], start: int, *, options: ClearResults
) -> Iterator[Message]:
    """Yield the messages from ``start`` on, with placeholders for their results.

    With ``inputs``, the inputs of their calls are replaced, too.
    """
    # A result may have no name. An id may be used again: the last call before the result counts.
    names = {call.id: call.name for message in messages[:start] for call in message.calls}
    change = partial(_cleared_block, options=options, names=names)
    for message in messages[start:]:
        names.update((call.id, call.name) for call in message.calls)
        yield with_blocks(message, change)


def _cleared_block(block: Block, *, options: ClearResults, names: dict[str, str]) -> Block:
    new: Block
    if isinstance(block, ToolResultBlock):
        name = block.name or names.get(block.tool_use_id, "")
        new = attrs.evolve(block, content=(TextBlock(options.placeholder),))
    elif isinstance(block, ToolUseBlock) and options.inputs:
        name = block.name
        new = attrs.evolve(block, arguments=write_json({"input": options.placeholder}))
    else:
        return block
    return new if {name, as_sent(name)}.isdisjoint(options.exclude) else block


def as_sent(name: str) -> str:
    """Return a tool name with only the signs that providers allow: letters, digits, ``_``, ``-``.

    Each other sign becomes ``_``.
    """
    return re.sub("[^A-Za-z0-9_-]", "_", name)
