"""What is done to recorded conversations and limited texts, before a budget drops parts.

The file has, in this order, tool results that are cut or cleared, a provider's compaction, and the
limits of texts. ``limited`` does the first and the last, ``without_compacted`` the second. The
limits are not about recorded messages: they cut the texts in a ``Limit``.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import is_not
from typing import TypeAlias

import attrs

from promptdsl.budget.budget import Measure
from promptdsl.budget.dropped import Dropped, in_tokens
from promptdsl.budget.edited_history import (
    EditedHistory,
    Ranges,
    edited_run,
    pinned_messages,
    pinned_ranges,
    uncleared,
    united,
)
from promptdsl.budget.histories import Exchanges, measure_history
from promptdsl.budget.tool_results import Clearing, Leaves, capped_messages, clearing_of
from promptdsl.config.wire import Wire
from promptdsl.config.wires import compacts, wire_of
from promptdsl.messages import ToolUseBlock, UnknownBlock
from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.message import Message
from promptdsl.tokens.payloads import message_tokens
from promptdsl.tree.masks import COMPACTED, OPAQUE, SYSTEM, TURN, bits
from promptdsl.tree.node import Child, Node, make, walk
from promptdsl.tree.recorded import cut, first_of, read_cache_of, remember
from promptdsl.tree.rewrite import (
    clears_early,
    edits_results,
    is_compacted,
    opaque_nodes,
    replace,
    rewrite,
    with_content,
)
from promptdsl.tree.turn_nodes import (
    ConversationNode,
    FragmentNode,
    LimitNode,
    RecordedNode,
    RootNode,
    TurnNode,
)

# Recorded conversations whose tool results are cut or cleared, and the reports about it.


def capped_histories(root: RootNode, measure: Measure) -> RootNode:
    """Return a tree in which no recorded result is longer than its history allows."""

    def change(node: Node) -> Node:
        if not isinstance(node, ConversationNode) or node.max_result_tokens is None:
            return node
        maximum, tokens, facts = node.max_result_tokens, measure.tokens, measure.facts
        cap = partial(capped_messages, maximum=maximum, tokens=tokens, facts=facts)
        members = [*node.content]
        for index, member in enumerate(members):
            if isinstance(member, RecordedNode):
                members[index] = edited_run(member, ("capped", maximum, tokens, facts), cap)
        return with_content(node, tuple(members))

    return rewrite(root, change, within=OPAQUE)


def cleared_histories(
    root: RootNode, measure: Measure
) -> tuple[RootNode, list[tuple[Node | None, Dropped]]]:
    """Return a tree with results that are cleared without a budget, and a report of each history.

    A history clears results without a budget if its ``clear_results`` has ``at_least``. The node of
    each report is ``None``.
    """
    reports: list[tuple[Node | None, Dropped]] = []

    def change(node: Node) -> Node:
        if not isinstance(node, ConversationNode) or not clears_early(node):
            return node
        tokens, structure = measure_history(node, measure)
        pinned: Ranges = ()
        if node.pin is not None:
            # A function ``pin`` is called once for each message.
            node = replace(node, pin=frozenset(pinned_messages(node)))
            pinned = pinned_ranges(node, structure.exchanges, structure.rounds, len(tokens))
        clearing = clearing_of(node, tokens, structure.rounds, measure, step=0, pinned=pinned)
        clear_before = clearing.clear_before(len(tokens))
        if clear_before:
            why = clearing.summary(clear_before, [(0, clear_before)])
            savings = clearing.savings[clear_before]
            at = node.source
            dropped = Dropped("history", "history", savings, None, why, at, gone=(node,))
            reports.append((None, dropped))
        return clearing.applied(clear_before)

    return rewrite(root, change, within=OPAQUE), reports


def planned_clearing(
    node: ConversationNode, measure: Measure, *, step: int, pinned: Ranges
) -> Clearing:
    """Return how a budget clears the results of a history, in steps of ``step`` tokens.

    The plan begins with the results as they were before any clearing. Messages in ``pinned`` stay.
    """
    before = uncleared(node)
    tokens, structure = measure_history(before, measure)
    return clearing_of(before, tokens, structure.rounds, measure, step=step, pinned=pinned)


def cut_result_reports(tree: RootNode, measure: Measure) -> Iterator[Dropped]:
    """Yield a report of the cut results of each history in a tree that has any."""
    count_of = partial(message_tokens, tokens=measure.tokens, facts=measure.facts)
    for history, _ in walk(tree):
        if not isinstance(history, ConversationNode):
            continue
        runs = (member for member in history.content if isinstance(member, RecordedNode))
        pairs = [pair for run in runs for pair in _messages_with_cut_results(run)]
        if pairs:
            old_messages, new_messages = zip(*pairs, strict=True)
            savings = sum(map(count_of, old_messages)) - sum(map(count_of, new_messages))
            count = sum(map(_cut_results, old_messages, new_messages))
            results = "a result is" if count == 1 else f"{count} results are"
            why = f"{results} cut to {in_tokens(history.max_result_tokens or 0)}"
            yield Dropped(
                "history", "history", savings, None, why, history.source, gone=old_messages
            )


def _cut_results(old: Message, new: Message) -> int:
    """Return how many results of a message were cut: their blocks are other objects."""
    return sum(map(is_not, old.content, new.content))


def _messages_with_cut_results(run: RecordedNode) -> Iterator[tuple[Message, Message]]:
    """Yield each message of a run that has a cut result: the message before and after the cut.

    A message whose results are cut, and then cleared, is not yielded: it is reported as cleared.
    """
    cache, first, items = read_cache_of(run), first_of(run), run.items
    if isinstance(cache, EditedHistory) and cache.made_of is not None:
        # Results are cut first, then cleared. ``cache`` has the messages before the clearing, and
        # ``cache.made_of`` those before and after the cuts. A message with cleared results becomes
        # ``None`` here, so that it is not compared with ``cache.made_of``.
        uncleared_messages = cache.messages[first : first + len(items)]
        pairs = zip(uncleared_messages, items, strict=True)
        items = [new if new is old else None for old, new in pairs]
        # ``first`` becomes the index in ``cache.made_of``, whose first message may be another.
        first += cache.start - cache.made_of.start
        cache = cache.made_of
    if isinstance(cache, EditedHistory):
        originals = cache.messages[first : first + len(items)]
        cut_messages = cache.items[first : first + len(items)]
        for original, current, edited in zip(originals, items, cut_messages, strict=True):
            if edited is current and edited is not original:
                yield original, edited


# A provider's compaction: a block that replaces all messages before it in a history.
#
# For the provider that wrote the block, a history is sent from its newest compaction on, after the
# system text at its beginning. For another provider all messages are sent, and the block is a loss.


@attrs.frozen
class _Compaction:
    """The newest compaction in the first ``count`` messages of a recorded conversation."""

    count: int = 0
    index: int = -1
    """The index of its message, -1 for none."""
    rest: ReadCache | None = None
    """The messages from that message on. The first has no blocks before the compaction."""


def without_compacted(
    root: RootNode, provider: str | None
) -> tuple[RootNode, Sequence[tuple[ConversationNode, ConversationNode]]]:
    """Return a tree without the messages that compactions by a provider replace.

    A history with a compaction has its leading system text, and its messages from the newest
    compaction on. The second result has each changed history, before and after.
    """
    wire = wire_of(provider)
    edits: list[tuple[ConversationNode, ConversationNode]] = []

    def change(node: Node) -> Node:
        if not isinstance(node, ConversationNode) or node.keep_compacted or not is_compacted(node):
            return node
        edited = _from_compaction(node, wire)
        if edited is not node:
            edits.append((node, edited))
        return edited

    return rewrite(root, change, within=OPAQUE), edits


def compaction_reports(
    edits: Sequence[tuple[ConversationNode, ConversationNode]], measuring: Callable[[], Measure]
) -> Iterator[Dropped]:
    """Yield a report of the messages that are left out of each changed history."""
    for before, after in edits:
        old, new = (measure_history(node, measuring())[0] for node in (before, after))
        count = len(old) - len(new)
        what = f"the {count} messages" if count > 1 else "the message" if count else "the blocks"
        why = f"a compaction replaces {what} before it"
        sent_ids = {id(message) for message in _messages_of(after)}
        unsent = tuple(message for message in _messages_of(before) if id(message) not in sent_ids)
        savings = sum(old) - sum(new)
        yield Dropped("history", "history", savings, None, why, before.source, gone=unsent)


def _messages_of(history: ConversationNode) -> Iterator[Message]:
    """Yield the recorded messages of a history."""
    for run in history.content:
        if isinstance(run, RecordedNode):
            yield from run.items


def pinned_with_compaction(
    node: ConversationNode, structure: Exchanges, pinned: Ranges, provider: str | None
) -> Ranges:
    """Return the messages in ``pinned``, and the round of the newest compaction by a provider."""
    newest = _newest_in(node, wire_of(provider))
    if newest is None:
        return pinned
    first = len(_roles_before(node, *newest[:2]))
    bounds = sorted({*structure.exchanges, *structure.rounds, structure.count})
    return united([*pinned, (first, bounds[bisect_right(bounds, first)])])


def _from_compaction(node: ConversationNode, wire: Wire) -> ConversationNode:
    """Return a history from its newest compaction on, after the system text at its beginning.

    Returns the same history if there is nothing to leave out.
    """
    newest = _newest_in(node, wire)
    if newest is None:
        return node
    run_index, index, rest = newest
    roles = _roles_before(node, run_index, index)
    leading = next((n for n, role in enumerate(roles) if role != "system"), len(roles))
    first, run = node.content[0], node.content[run_index]
    assert isinstance(run, RecordedNode)
    # The message of the compaction is another object if blocks before the compaction were left out.
    if rest.items[0] is run.items[index]:
        # A provider can return a compacted conversation: the user's questions, then the compaction.
        is_returned = wire.keeps_questions and {"assistant", "tool"}.isdisjoint(roles)
        has_only_system_text = leading == len(roles)
        if is_returned or has_only_system_text:
            return node
    # All leading system text is in the first run. A new run begins after an event or an ephemeral
    # message, and there the pass ``read`` has turned system messages into developer messages: they
    # are instructions inside the conversation, which the compaction replaces.
    head = (cut(first, 0, leading),) if leading and isinstance(first, RecordedNode) else ()
    newest_run = cut(run, index)
    # ``cut`` returned a new node that nobody else has yet, so it may be changed although nodes are
    # frozen. The first message of ``rest`` has no blocks before the compaction.
    object.__setattr__(newest_run, "items", rest.items[: len(newest_run.items)])
    object.__setattr__(newest_run, "read_cache", rest)
    return with_content(node, (*head, newest_run, *node.content[run_index + 1 :]))


def _roles_before(node: ConversationNode, run_index: int, index: int) -> list[str]:
    """Return the roles of the messages before message ``index`` of the run at ``run_index``."""
    roles: list[str] = []
    for member in node.content[: run_index + 1]:
        if isinstance(member, RecordedNode):
            stop = index if member is node.content[run_index] else None
            roles += [message.role for message in member.items[:stop]]
        else:
            roles.append(member.role if isinstance(member, TurnNode) else "ephemeral")
    return roles


def _newest_in(node: ConversationNode, wire: Wire) -> tuple[int, int, ReadCache] | None:
    """Return where the newest compaction is, ``None`` without a compaction.

    The result is the index of its run, the index of its message in the run, and the messages from
    that message on.
    """
    for run_index in range(len(node.content) - 1, -1, -1):
        run = node.content[run_index]
        if isinstance(run, RecordedNode) and run._mask & COMPACTED == COMPACTED:
            find = partial(_newest_compaction, wire=wire, start=read_cache_of(run).start)
            newest = remember(run, ("compaction", wire.provider_format), find)
            index = newest.index - first_of(run)
            if newest.rest is not None and index >= 0:
                return run_index, index, newest.rest
    return None


def _newest_compaction(
    messages: Sequence[Message], before: _Compaction | None, *, wire: Wire, start: int
) -> _Compaction:
    """Return the newest compaction in messages.

    ``before`` is the compaction of the first messages, if it is already known. ``start`` is the
    index of the first message in its history.
    """
    size = len(messages)
    if before is None or before.count > size:
        before = _Compaction()
    if before.count == size:
        return before
    for index in range(size - 1, before.count - 1, -1):
        first = _from_block(messages[index], wire)
        if first is not None:
            items = (first, *messages[index + 1 :])
            return _Compaction(size, index, ReadCache((), items, COMPACTED, start + index))
    rest = before.rest
    if rest is not None:
        items = (*rest.items, *messages[before.count :])
        rest = ReadCache((), items, COMPACTED, rest.start, findings=rest.findings)
    return _Compaction(size, before.index, rest)


def _from_block(message: Message, wire: Wire) -> Message | None:
    """Return a message from its newest compaction on, ``None`` without a compaction.

    A message with calls before the compaction stays complete, because their results follow it.
    """
    blocks = message.content if message._plain is None and message.role == "assistant" else ()
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        if not isinstance(block, UnknownBlock) or block.origin not in wire.origins:
            continue
        if compacts(wire.provider_format, block.data):
            has_calls = any(isinstance(earlier, ToolUseBlock) for earlier in blocks[:index])
            return message.replace(content=blocks[index:]) if index and not has_calls else message
    return None


# Limits: texts that are always cut to a size, after a sentence or a word if possible.

LimitCuts: TypeAlias = Sequence[tuple[Node | None, Dropped]]
"""The reports of limited texts that were cut, and of histories whose results were cleared.

With the report of a text is the node that is sent instead. It is ``None`` if nothing of the text is
sent, and with the report of a history. A report with ``None`` stays in any budget.
"""

CHARACTERS_PER_TOKEN = 4
"""The first guess of the number of characters in a token."""


def limited(root: RootNode, measuring: Callable[[], Measure]) -> tuple[RootNode, LimitCuts]:
    """Return the tree with the raw text of each ``Limit`` cut to its size, and the cuts.

    The results of histories are cut and cleared, too. The cuts include the cleared results, but not
    the cut results, which ``cut_result_reports`` reports.
    """
    nodes = opaque_nodes(root)
    cuts: list[tuple[Node | None, Dropped]] = []
    if any(map(edits_results, nodes)):
        root, cuts = cleared_histories(capped_histories(root, measuring()), measuring())
    if not any(isinstance(node, LimitNode) for node in nodes):
        return root, tuple(cuts)
    # The ids of the children of the timeline: turns, histories, and text outside of turns. A child
    # of a fragment counts as a child of the timeline.
    child_ids: set[int] = set()
    node_stack: list[Child] = [*root.content]
    while node_stack:
        node = node_stack.pop()
        if isinstance(node, FragmentNode) and not isinstance(node, LimitNode):
            node_stack += node.content
        else:
            child_ids.add(id(node))

    def limit_child(node: Node) -> Node | None:
        return _limited_child(node, measuring(), cuts) if id(node) in child_ids else node

    # The same section may be outside of turns and also a part of a turn. Only the first is a child
    # of the timeline. So ``rewrite`` does not visit the content of the children: ``_limited_child``
    # does.
    return rewrite(root, limit_child, within=OPAQUE, unchanged=child_ids), tuple(cuts)


def still_cut(cuts: LimitCuts, root: Node) -> tuple[Dropped, ...]:
    """Return the reports of cuts whose text is still in a tree; a budget may have dropped it."""
    if not cuts:
        return ()
    ids = {id(node) for node in opaque_nodes(root)}
    return tuple(
        dropped for remaining, dropped in cuts if remaining is None or id(remaining) in ids
    )


def _limited_child(
    turn: Node, measure: Measure, cuts: list[tuple[Node | None, Dropped]]
) -> Node | None:
    """Return a turn, or text outside of turns, with its limits applied; ``None`` for nothing.

    Appends to ``cuts`` what was cut.
    """

    def change(node: Node) -> Node | None:
        if not isinstance(node, LimitNode):
            return node
        unit_measure, reason = measure, f"its limit is {in_tokens(node.most)}"
        if node.unit != "tokens":
            unit_measure, reason = measure.in_characters, f"its limit is {node.most:,} characters"
        # The report counts tokens, also for a limit in characters: ``token_counter`` cuts nothing.
        cutter = _LimitCutter(node, turn, unit_measure)
        token_counter = _LimitCutter(node, turn, measure)
        if cutter.size(node) <= node.most:
            return _fragment_of(node)
        shortened, fragment, savings = cutter.cut(), None, token_counter.size(node)
        if shortened is not None:
            fragment, savings = _fragment_of(shortened), savings - token_counter.size(shortened)
        dropped = Dropped("text", "", savings, None, reason, node.source, gone=(node,))
        cuts.append((fragment, dropped))
        return fragment

    # The turn is put into a fragment, so that text outside of turns may be replaced, too.
    outer = with_content(make(FragmentNode, mask=OPAQUE), (turn,))
    content = rewrite(outer, change, within=OPAQUE).content
    return next((child for child in content if not isinstance(child, str)), None)


def _fragment_of(limit: Node) -> Node:
    """Return a fragment with the content of a limit.

    If this content is a single fragment, as for a limit in a limit, this fragment is returned.
    """
    first = limit.content[0] if len(limit.content) == 1 else None
    # Classes that derive from ``FragmentNode``, such as ``GroupNode``, have more meaning than their
    # content. So only a plain fragment is returned.
    if isinstance(first, FragmentNode) and first._node is FragmentNode:
        return first
    return with_content(make(FragmentNode, mask=OPAQUE, at=limit._at), limit.content)


class _LimitCutter:
    """Measures and cuts the text of a limit, inside the turn that the limit is in."""

    def __init__(self, limit: LimitNode, turn: Node, measure: Measure) -> None:
        self.limit = limit
        self.measure = measure
        self.leaves = Leaves.of(limit)
        if isinstance(turn, FragmentNode):  # text outside of turns is system text
            turn = make(TurnNode, mask=bits(TURN | SYSTEM), role="system", kind="written")
        self.turn = turn

    def size(self, node: Node) -> int:
        """Return the tokens or characters of a node in place of the limit."""
        turn = with_content(self.turn, (node,))
        _, size_by_id = self.measure.turn(turn, {id(node)})
        return size_by_id.get(id(node), 0)

    def cut(self) -> Node | None:
        """Return the limit with as much of its text as fits, ``None`` for nothing.

        The text must be longer than the limit.
        """
        leaves, maximum, keep = self.leaves, self.limit.most, self.limit.keep
        head = tail = 0
        if keep != "tail":
            head_limit = maximum if keep == "head" else maximum // 2
            size = self._longest(lambda size: (size, 0), leaves.size, head_limit)
            ends = (end for end in leaves.ends_before(size) if self._fits(end, 0, head_limit))
            head = next(ends, size)
        if keep != "head":
            size = self._longest(lambda size: (head, size), leaves.size - head, maximum)
            tails = (leaves.size - start for start in leaves.starts_after(leaves.size - size))
            tail = next((count for count in tails if self._fits(head, count, maximum)), size)
        cut = leaves.shortened(head, tail)
        return None if self.size(cut) > maximum else cut

    def _fits(self, head: int, tail: int, maximum: int) -> bool:
        return self.size(self.leaves.shortened(head, tail)) <= maximum

    def _longest(self, ends: Callable[[int], tuple[int, int]], length: int, maximum: int) -> int:
        """Return how many of ``length`` characters fit, found by doubling and bisection.

        ``ends`` returns the sizes of head and tail for a number of characters. All ``length``
        characters never fit, because only a text that is too long is cut. So the result is less
        than ``length``, unless ``length`` is 0.
        """
        fitting, size = 0, min(length, maximum * CHARACTERS_PER_TOKEN)
        while size < length and self._fits(*ends(size), maximum):
            fitting, size = size, min(length, size * 2)
        exceeding = size
        while exceeding - fitting > 1:
            size = (fitting + exceeding) // 2
            if self._fits(*ends(size), maximum):
                fitting = size
            else:
                exceeding = size
        return fitting
