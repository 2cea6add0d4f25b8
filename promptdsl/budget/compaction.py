"""A provider's compaction: a block that replaces all messages before it in a history.

For the provider that wrote it, a history is sent from its newest compaction on. For another
provider all messages are sent, and the block is lost.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from promptdsl.budget.dropped import Dropped
from promptdsl.budget.histories import Exchanges, measure_history
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pins import Ranges, united
from promptdsl.config.wire import Wire
from promptdsl.config.wires import compacts, wire_of
from promptdsl.messages import ToolUseBlock, UnknownBlock
from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.masks import COMPACTED, OPAQUE
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import cut, first_of, recording, remember
from promptdsl.tree.rewrite import is_compacted, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, TurnNode


@attrs.frozen
class _Compaction:
    """The newest compaction in the first ``count`` messages of a recorded conversation."""

    count: int = 0
    index: int = -1
    """The index of its message, -1 for none."""
    rest: ReadCache | None = None
    """The messages from that one on. The first is without the blocks before the compaction."""


def without_compacted(
    root: RootNode, provider: str | None
) -> tuple[RootNode, Sequence[tuple[ConversationNode, ConversationNode]]]:
    """Return a tree whose histories begin with the newest compaction by a provider.

    The second result has each changed history, before and after.
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


def compactions_in(
    edits: Sequence[tuple[ConversationNode, ConversationNode]], measuring: Callable[[], Measure]
) -> Iterator[Dropped]:
    """Yield a report of the messages that are left out of each changed history."""
    for before, after in edits:
        old, new = (measure_history(node, measuring())[0] for node in (before, after))
        count = len(old) - len(new)
        what = f"the {count} messages" if count > 1 else "the message" if count else "what is"
        why = f"a compaction stands for {what} before it"
        kept = {id(message) for message in _messages_of(after)}
        gone = tuple(item for item in _messages_of(before) if id(item) not in kept)
        saved = sum(old) - sum(new)
        yield Dropped("history", "history", saved, None, why, before.source, gone=gone)


def _messages_of(history: ConversationNode) -> Iterator[Message]:
    """Yield the recorded messages of a history."""
    for run in history.content:
        if isinstance(run, RecordedNode):
            yield from run.items


def with_compaction(
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
    """Return a history from its newest compaction on, after the system text at its beginning."""
    newest = _newest_in(node, wire)
    if newest is None:
        return node
    number, index, rest = newest
    roles = _roles_before(node, number, index)
    leading = next((n for n, role in enumerate(roles) if role != "system"), len(roles))
    first, run = node.content[0], node.content[number]
    assert isinstance(run, RecordedNode)
    if rest.items[0] is run.items[index]:
        # The provider returned the questions together with the compaction, or nothing is before it.
        returned = wire.keeps_questions and {"assistant", "tool"}.isdisjoint(roles)
        if returned or leading == len(roles):
            return node
    head = (cut(first, 0, leading),) if leading and isinstance(first, RecordedNode) else ()
    kept = cut(run, index)
    object.__setattr__(kept, "items", rest.items[: len(kept.items)])
    object.__setattr__(kept, "known", rest)
    return with_content(node, (*head, kept, *node.content[number + 1 :]))


def _roles_before(node: ConversationNode, number: int, index: int) -> list[str]:
    """Return the roles before message ``index`` of the part ``number`` of a history."""
    roles: list[str] = []
    for part in node.content[: number + 1]:
        if isinstance(part, RecordedNode):
            stop = index if part is node.content[number] else None
            roles += [message.role for message in part.items[:stop]]
        else:
            roles.append(part.role if isinstance(part, TurnNode) else "ephemeral")
    return roles


def _newest_in(node: ConversationNode, wire: Wire) -> tuple[int, int, ReadCache] | None:
    """Return where the newest compaction is, ``None`` without one.

    That is the index of its run, the index of its message in the run, and the messages from it on.
    """
    for number in range(len(node.content) - 1, -1, -1):
        run = node.content[number]
        if isinstance(run, RecordedNode) and run._mask & COMPACTED == COMPACTED:
            find = partial(_find, wire=wire, start=recording(run).start)
            newest = remember(run, ("compaction", wire.provider_format), find)
            index = newest.index - first_of(run)
            if newest.rest is not None and index >= 0:
                return number, index, newest.rest
    return None


def _find(
    messages: Sequence[Message], before: _Compaction | None, *, wire: Wire, start: int
) -> _Compaction:
    """Return the newest compaction of messages, continued from that of their beginning.

    ``start`` is the number of the first message in its history.
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
    """Return a message from its newest compaction on, ``None`` without one.

    A message with calls before the compaction stays complete, because their results follow.
    """
    blocks = message.content if message._plain is None and message.role == "assistant" else ()
    for number in range(len(blocks) - 1, -1, -1):
        block = blocks[number]
        if not isinstance(block, UnknownBlock) or block.origin not in wire.origins:
            continue
        if compacts(wire.provider_format, block.data):
            has_calls = any(isinstance(earlier, ToolUseBlock) for earlier in blocks[:number])
            return message.replace(content=blocks[number:]) if number and not has_calls else message
    return None
