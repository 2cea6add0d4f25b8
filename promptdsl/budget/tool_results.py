"""Tool results that a budget makes shorter: cut to a size, or cleared in steps.

The file has, in this order, the cut in the middle of a text, results that are too long, and results
that are cleared. For the last, read ``clearing_of`` first: it makes a ``Clearing``.
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
from promptdsl.tokens.counters import CACHED_CHARACTERS, TextCache
from promptdsl.tokens.cut import best_boundary, character_boundary, fitting_end
from promptdsl.tokens.payloads import block_tokens
from promptdsl.tree.masks import TEXT, bits
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import JsonNode, TableNode, TextNode, VerbatimNode
from promptdsl.tree.recorded import read_cache_of
from promptdsl.tree.rewrite import replace, with_content
from promptdsl.tree.turn_nodes import ClearResults, ConversationNode, RecordedNode

# The raw texts in a node, joined in order, and the same node without the middle of its text.

ELLIPSIS = "[...]"
"""The text that is sent in place of missing text."""


@attrs.define(eq=False)
class Leaves:
    """The texts in a node, in order; a position counts the characters of all texts before it."""

    node: Node
    texts: list[str]
    starts: list[int]
    """The position at which each text starts."""
    size: int

    @classmethod
    def of(cls, node: Node) -> "Leaves":
        """Return the texts in a node."""
        texts: list[str] = []
        node_stack = [*reversed(node.content)]
        while node_stack:
            child = node_stack.pop()
            text = _leaf_text(child)
            if text is not None:
                texts.append(text)
            elif isinstance(child, Node):
                node_stack += reversed(child.content)
        starts = [0, *accumulate(map(len, texts))]
        return cls(node, texts, starts[:-1], starts[-1])

    def ends_before(self, position: int) -> Iterator[int]:
        """Yield where a head may end: after a paragraph, sentence or word, then anywhere."""
        index = self._leaf(position)
        text, start = self.texts[index], self.starts[index]
        lowest = max((position + 1) // 2 - start, 0)
        best = best_boundary(text, lowest, position - start, last=True)
        if best is not None:
            yield start + best
        elif start and start >= position // 2:
            yield start
        yield start + character_boundary(text, position - start)

    def starts_after(self, position: int) -> Iterator[int]:
        """Yield where a tail may start: after a paragraph, sentence or word, then anywhere."""
        index = self._leaf(position)
        text, start = self.texts[index], self.starts[index]
        if text.isspace():
            yield position  # the text of a table: a tail may start at each row
        middle = position + (self.size - position) // 2
        best = best_boundary(text, position - start, min(middle - start, len(text)), last=False)
        if best is not None:
            yield start + best
        elif start + len(text) <= middle:
            yield start + len(text)
        yield start + character_boundary(text, position - start, forwards=True)

    def _leaf(self, position: int) -> int:
        return max(bisect_right(self.starts, position) - 1, 0)

    def shortened(self, head: int, tail: int) -> Node:
        """Return the node with its first ``head`` and last ``tail`` characters.

        Between them is an ellipsis.
        """
        stop = self.size - tail
        has_ellipsis = False
        leaves = zip(self.texts, self.starts, strict=True)
        # The containers of the current leaf, each with the children it keeps, and those to come.
        levels: list[tuple[Node, list[Child], Iterator[Child]]] = [
            (self.node, [], iter(self.node.content))
        ]
        while True:
            node, children, rest = levels[-1]
            child = next(rest, None)
            if child is None:
                levels.pop()
                if not levels:
                    return with_content(node, tuple(children))
                if any(children):
                    levels[-1][1].append(with_content(node, tuple(children)))
                continue
            if isinstance(child, Node) and _leaf_text(child) is None:
                levels.append((child, [], iter(child.content)))
                continue
            text, start = next(leaves)
            first, last = text[: max(head - start, 0)], text[max(stop - start, 0) :]
            if text in (first, last):
                children.append(child)
                continue
            children += _cut_leaf(child, first, last, ellipsis=not has_ellipsis)
            has_ellipsis = True


def _leaf_text(leaf: Child) -> str | None:
    """Return the raw text of a leaf, ``None`` for another node.

    The text of a table has one character for each row.
    """
    if isinstance(leaf, str):
        return leaf
    if isinstance(leaf, TableNode):
        return "\n" * len(leaf.rows)
    if leaf.content:
        return None
    return getattr(leaf, "text", None) or "\x00"


def _cut_leaf(leaf: Child, head: str, tail: str, *, ellipsis: bool) -> list[Child]:
    """Return a leaf with only the beginning and the end of its text.

    With ``ellipsis``, an ellipsis is between them.
    """
    if isinstance(leaf, TableNode):
        rows = (*leaf.rows[: len(head)], *leaf.rows[len(leaf.rows) - len(tail) :])
        table: list[Child] = [replace(leaf, rows=rows)] if rows else []
        note: list[Child] = []
        if ellipsis:
            note = [make(TextNode, (ELLIPSIS,), mask=bits(TEXT), at=leaf._at)]
        return [*table, *note] if head else [*note, *table]
    text = tail
    if ellipsis:
        before, after = head.rstrip(), tail.lstrip()
        start_gap = "\n\n" if "\n\n" in head[len(before) :] else " "
        end_gap = "\n\n" if "\n\n" in tail[: len(tail) - len(after)] else " "
        text = f"{before}{start_gap if before else ''}{ELLIPSIS}{end_gap if after else ''}{after}"
    if not text:
        return []
    if isinstance(leaf, str):
        return [text]
    if isinstance(leaf, JsonNode):
        # JSON that is cut is not valid JSON, so it becomes plain text.
        pieces = (labelled(text, label_of(leaf.pieces)),)
        return [make(VerbatimNode, mask=bits(TEXT), at=leaf._at, text=text, pieces=pieces)]
    if hasattr(leaf, "text"):
        label = label_of([getattr(leaf, "text", None)])
        return [replace(leaf, text=text if label is None else labelled(text, label))]
    return [make(TextNode, (text,), mask=bits(TEXT), at=leaf._at)]


# Tool results that are too long, cut to a number of tokens.
#
# Text is cut at the end of a line; JSON is cut to shorter JSON that is still valid.

_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_WORD_IN_STRING = re.compile(
    r'(?:\\u[dD][89abAB]\w\w\\u\w{4}|\\u\w{4}|\\.|[^"\\\s]){1,80}\s?', re.DOTALL
)
_CLOSERS = {"[": "]", "{": "}"}
_BEGINNINGS = {*'[{"-0123456789tfn'}
"""The characters with which JSON begins."""


def capped_messages(
    messages: Sequence[Message], start: int, *, maximum: int, tokens: Tokens, facts: ModelFacts
) -> Iterator[Message]:
    """Yield the messages from ``start`` on, with at most ``maximum`` tokens in each result.

    A message without a longer result is the same object.
    """
    for message in messages[start:]:
        yield with_blocks(message, partial(_capped, maximum=maximum, tokens=tokens, facts=facts))


def _capped(result: Block, *, maximum: int, tokens: Tokens, facts: ModelFacts) -> Block:
    """Return the beginning of a result, of at most ``maximum`` tokens.

    A block that is not a result, or that is short enough, is returned as it is. An attachment that
    does not fit becomes a line that names it.
    """
    if not isinstance(result, ToolResultBlock):
        return result
    sizes = [block_tokens(block, tokens, facts) for block in result.content]
    if sum(sizes) <= maximum:
        return result
    free_tokens, blocks, is_cut = maximum, list[Block](), False
    ellipsis = tokens.of(f"\n{ELLIPSIS}")
    for count, (block, size) in enumerate(zip(result.content, sizes, strict=True), start=1):
        # If a later block does not fit, an ellipsis is sent in its place.
        reserve = ellipsis if count < len(sizes) and size + sum(sizes[count:]) > free_tokens else 0
        if size + reserve <= free_tokens and not is_cut:
            blocks.append(block)
            free_tokens -= size
            continue
        line = f"[{described(block)}: left out]"
        if isinstance(block, TextBlock | DataBlock):
            if is_cut:
                continue  # the text before it ends with an ellipsis already
            text = block.text if isinstance(block, TextBlock) else default_text(block)
            line, is_cut = capped_text(text, free_tokens, tokens), True
        if line and tokens.of(line) <= free_tokens:
            blocks.append(TextBlock(line))
            free_tokens -= tokens.of(line)
    return attrs.evolve(result, content=tuple(blocks))


@lru_cache(maxsize=4)
def _cache(_tokens: Tokens) -> TextCache[dict[int, str]]:
    """Return the cache of a token counter: by text, its cut versions by their maximum of tokens."""
    return TextCache(CACHED_CHARACTERS)


def capped_text(text: str, maximum: int, tokens: Tokens) -> str:
    """Return the beginning of a text that has more than ``maximum`` tokens, and an ellipsis.

    The text is cut at the end of a line, if that keeps half of what fits. JSON stays valid JSON, if
    it is nested at most 200 levels deep; a number that does not fit becomes the ellipsis as a
    string. The result is empty if the ellipsis does not fit.
    """
    cache = _cache(tokens)
    cuts = cache.get(text) or {}
    if maximum not in cuts:
        may_be_json = text.lstrip()[:1] in _BEGINNINGS
        cut = _cut_json if may_be_json and is_json(text) else _cut_lines
        cuts = {**cuts, maximum: cut(text, maximum, tokens)}
        cache.put(text, cuts)
    return cuts[maximum]


def _cut_lines(text: str, maximum: int, tokens: Tokens) -> str:
    free_tokens = maximum - tokens.of(f"\n{ELLIPSIS}")
    while free_tokens > 0:
        head = text[: fitting_end(text, 0, free_tokens, tokens)]
        line = head.rfind("\n")
        head = head[:line] if line * 2 >= len(head) else head.rstrip()
        cut = f"{head}\n{ELLIPSIS}"
        excess = tokens.measured(cut) - maximum
        if excess <= 0:
            return cut if head else ELLIPSIS
        free_tokens -= excess
    return ELLIPSIS if tokens.of(ELLIPSIS) <= maximum else ""


def _cut_json(text: str, maximum: int, tokens: Tokens) -> str:
    """Return the longest beginning of a JSON text that fits, with its brackets closed.

    If no beginning fits, the result is the ellipsis as a JSON string, an empty JSON string, or an
    empty text.
    """
    cuts: list[tuple[int, str]] = []

    def fits(index: int) -> bool:
        position, end = cuts[index]
        return tokens.measured(text[:position].rstrip() + end) <= maximum

    # Stop at about twice the length that fits. The first guess is four characters per token.
    checked_position = maximum * 4
    for cut in _json_cuts(text):
        cuts.append(cut)
        if cut[0] > checked_position:
            if not fits(-1):
                break
            checked_position *= 2
    first_too_long = bisect_left(range(len(cuts)), True, key=lambda index: not fits(index))
    if first_too_long:
        position, end = cuts[first_too_long - 1]
        return text[:position].rstrip() + end
    fallbacks = (f'"{ELLIPSIS}"', '""')
    return next((json for json in fallbacks if tokens.of(json) <= maximum), "")


def _json_cuts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the positions where a JSON text may end, each with the ellipsis and closing brackets.

    It may end after each element of a list or an object, and after each word of a string in them.
    """
    closers: list[str] = []
    is_value = True
    for match in _JSON_TOKEN.finditer(text):
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
                words = _WORD_IN_STRING.finditer(text, match.start() + 1, end - 1)
                yield from ((word.end(), f' {ELLIPSIS}"{rest}') for word in words)
            if closers and (is_value or token in "]}"):
                yield end, f", {_ellipsis_in(closers[-1])}{rest}"
            is_value = False


def _ellipsis_in(closer: str) -> str:
    """Return the ellipsis as an element of the list or object that ``closer`` closes."""
    return f'"{ELLIPSIS}": "{ELLIPSIS}"' if closer == "}" else f'"{ELLIPSIS}"'


# Tool results of a history that are cleared, the oldest first, in steps.
#
# ``clear_before`` is the index of a message: all results before this message are cleared. The
# message begins the first round at which clearing has saved another ``at_least`` tokens. So
# ``clear_before`` depends only on the conversation before it.
#
# A budget cuts the history if the last possible ``clear_before`` does not make enough room. Later
# requests clear more results, which makes room again. The cut must not move back then. So it is
# never before the cut of an earlier request that was longer.

_WRITTEN = Message("user")
"""A turn that is written in the history and has no recorded message."""


class LongerRequest(NamedTuple):
    """An earlier request of a history, which needed more tokens than the current request."""

    stop: int
    """The index of the message that answers it."""
    clear_before: int
    extra_tokens: int
    """How many more tokens it needed, with all possible results cleared."""


@attrs.define(eq=False)
class Clearing:
    """How many tokens clearing the results of a history saves, and how far it may go.

    The lists are indexed by message; a turn that is written in the history counts as one message.
    """

    node: ConversationNode
    options: ClearResults
    cleared_messages: Sequence[Message]
    """By message, the message with all results cleared; an empty message for a written turn."""
    cleared_sizes: Sequence[int]
    """By message, its tokens if its results are cleared."""
    savings: Sequence[int]
    """By message, the tokens saved by clearing all messages before it."""
    results_before: Sequence[int]
    """By message, the count of results before it."""
    all_clear_points: Sequence[int]
    """The possible values of ``clear_before``, in order. The first value clears nothing."""
    round_starts: Sequence[int]
    """The index of the first message, and of each message that begins a round."""
    results_before_start: Sequence[int]
    """By index in ``round_starts``, the count of results before that message."""
    tokens_before: Sequence[int]
    """By message, the tokens of all messages before it, without clearing."""
    request_sizes: Sequence[int] = ()
    """By round, the tokens of the request that it answers, with all possible results cleared."""
    longer_before: Sequence[int] = ()
    """By round, the last round before it whose request needed more tokens, -1 for none."""
    clear_points: Sequence[int] = (0,)
    """The possible values of ``clear_before`` for this request."""
    longer: Sequence[LongerRequest] = ()
    """The earlier requests that needed more tokens than this request, the newest first.

    The list has no request after which another needed as many tokens or more.
    """

    def summary(self, clear_before: int, sent_ranges: Ranges) -> str:
        """Return in words how many results before a message are cleared, empty for none.

        Only the results in ``sent_ranges`` count: the other messages are not sent.
        """
        sent_indices = {
            index for start, stop in sent_ranges for index in range(start, min(stop, clear_before))
        }
        count = 0
        for begin, _, member in members_of(self.node):
            messages: Sequence[Message] = member.items if isinstance(member, RecordedNode) else ()
            for index, old in enumerate(messages, begin):
                new = self.cleared_messages[index]
                if new is not old and index in sent_indices:
                    pairs = zip(old.content, new.content, strict=True)
                    count += sum(
                        old_block is not new_block
                        for old_block, new_block in pairs
                        if new_block.type == "tool_result"
                    )
        if count == 1:
            return "1 of its results is cleared"
        return f"{count} of its results are cleared" if count else ""

    def reached(self, stop: int) -> int:
        """Return how many values of ``clear_before`` are possible for the messages before ``stop``.

        At least the last ``options.keep`` results are not cleared.
        """
        round_count = bisect_right(
            self.results_before_start, self.results_before[stop] - self.options.keep
        )
        return bisect_right(self.all_clear_points, self.round_starts[max(round_count - 1, 0)])

    def clear_before(self, stop: int) -> int:
        """Return the last possible ``clear_before`` for the messages before ``stop``."""
        return self.all_clear_points[self.reached(stop) - 1]

    def until(self, stop: int) -> "Clearing":
        """Return how a request with the messages before ``stop`` is cleared."""
        clear_points = self.all_clear_points[: self.reached(stop)]
        longer = [*self._longer(stop, self.tokens_before[stop] - self.savings[clear_points[-1]])]
        if self.options.at_least is not None:
            clear_points = (0,)  # its results were cleared before the budget is applied
        return attrs.evolve(self, clear_points=clear_points, longer=longer)

    def _longer(self, stop: int, newest: int) -> Iterator[LongerRequest]:
        """Yield the earlier requests that needed more than ``newest`` tokens, the newest first."""
        index, longest = bisect_left(self.round_starts, stop, 1) - 2, newest
        while index >= 0:
            if self.request_sizes[index] > longest:
                longest = self.request_sizes[index]
                end = self.round_starts[index + 1]
                yield LongerRequest(end, self.clear_before(end), longest - newest)
            index = self.longer_before[index]

    def applied(self, clear_before: int) -> ConversationNode:
        """Return the history with all results before a message cleared."""
        members: list[Node] = []
        for begin, end, member in members_of(self.node):
            if isinstance(member, RecordedNode):
                stop = max(min(clear_before, end), begin)
                items = (*self.cleared_messages[begin:stop], *member.items[stop - begin :])
                old = read_cache_of(member)
                cache = EditedHistory(member.items, items, old.mask, member.start, made_of=old)
                members.append(with_items(member, items, cache))
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
    """Return how the results of a history are cleared.

    ``step`` is the step of the cut: it is used if the history has no ``at_least``. ``tokens`` has
    the tokens of each message, ``rounds`` the index of each message that begins a round. The
    messages in ``pinned`` are not cleared.
    """
    options = node.clear_results or ClearResults()
    cleared_messages: list[Message] = []
    cleared_sizes, results = [*tokens], [0] * len(tokens)
    pinned_indices = {index for start, stop in pinned for index in range(start, stop)}
    for begin, _, member in members_of(node):
        cleared_messages += member.items if isinstance(member, RecordedNode) else (_WRITTEN,)
        if isinstance(member, RecordedNode):
            run = edited_run(member, ("cleared", options), partial(_cleared, options=options))
            counts = zip(run.items, measure.messages(run), strict=True)
            for index, (message, count) in enumerate(counts, begin):
                results[index] = len(answers_in(message))
                if count < cleared_sizes[index] and index not in pinned_indices:
                    cleared_sizes[index], cleared_messages[index] = count, message
    savings = [0, *accumulate(map(sub, tokens, cleared_sizes))]
    at_least = options.at_least
    if at_least is None:
        at_least = max(step, 1)
    clear_points, next_savings = [0], at_least
    for start in rounds:
        if savings[start] >= next_savings:
            clear_points.append(start)
            next_savings = at_least * (savings[start] // at_least + 1)
    results_before, round_starts = [0, *accumulate(results)], [0, *rounds]
    tokens_before = [0, *accumulate(tokens)]
    results_before_start = [results_before[start] for start in round_starts]
    clearing = Clearing(
        node,
        options,
        cleared_messages,
        cleared_sizes,
        savings,
        results_before,
        clear_points,
        round_starts,
        results_before_start,
        tokens_before,
    )
    # A request was sent before each round.
    clearing.request_sizes = [
        tokens_before[stop] - savings[clearing.clear_before(stop)] for stop in rounds
    ]
    clearing.longer_before = [*_longer_before(clearing.request_sizes)]
    return clearing


def _longer_before(sizes: Sequence[int]) -> Iterator[int]:
    """Yield for each size the index of the last larger size before it, -1 for none."""
    larger: list[int] = []
    for index, size in enumerate(sizes):
        while larger and sizes[larger[-1]] <= size:
            larger.pop()
        yield larger[-1] if larger else -1
        larger.append(index)


def _cleared(
    messages: Sequence[Message], start: int, *, options: ClearResults
) -> Iterator[Message]:
    """Yield the messages from ``start`` on, with placeholders instead of their results.

    With ``options.inputs``, the inputs of their calls are replaced, too.
    """
    # A result may have no name: then the name of its call counts. Of several calls with the same
    # id, this is the last call before the result.
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
    """Return a tool name with only the characters that all providers allow.

    These are letters, digits, ``_`` and ``-``. Each other character becomes ``_``.
    """
    return re.sub("[^A-Za-z0-9_-]", "_", name)
