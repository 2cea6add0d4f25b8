"""A provider's compaction: a block that stands for all that was said before it in its history.

For the provider that wrote it, a history begins with its newest compaction. Elsewhere all messages
are sent, and the block is a loss.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs

from promptdsl.budget.dropped import Dropped
from promptdsl.budget.histories import Exchanges, entries_of
from promptdsl.budget.measure_protocol import Measure
from promptdsl.budget.pins import Ranges, united
from promptdsl.config.wire import Wire
from promptdsl.config.wires import compacts, wire_of
from promptdsl.messages import ToolUseBlock, UnknownBlock
from promptdsl.messages.conversation_cache import Recording
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.masks import COMPACTED, HOLLOW
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import cut, first_of, recording, remember
from promptdsl.tree.rewrite import is_compacted, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, TurnNode


@attrs.frozen
class _Found:
    """The newest compaction of the first ``count`` messages of a recording."""

    count: int = 0
    index: int = -1
    """The index of its message, -1 for none."""
    rest: Recording | None = None
    """The messages from there on, the first without the blocks before the compaction."""


def without_compacted(
    root: RootNode, provider: str | None
) -> tuple[RootNode, Sequence[tuple[ConversationNode, ConversationNode]]]:
    """Return a tree whose histories begin with their newest compaction by a provider.

    And each history that is changed, before and after.
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

    return rewrite(root, change, within=HOLLOW), edits


def compactions_in(
    edits: Sequence[tuple[ConversationNode, ConversationNode]], measuring: Callable[[], Measure]
) -> Iterator[Dropped]:
    """Yield what is left out of each history that was changed."""
    for before, after in edits:
        old, new = (entries_of(node, measuring())[0] for node in (before, after))
        count = len(old) - len(new)
        what = f"the {count} messages" if count > 1 else "the message" if count else "what is"
        why = f"a compaction stands for {what} before it"
        yield Dropped("history", "history", sum(old) - sum(new), None, why, before.source)


def with_compaction(
    node: ConversationNode, known: Exchanges, pinned: Ranges, provider: str | None
) -> Ranges:
    """Return the entries in ``pinned``, and the round of the newest compaction by a provider."""
    found = _newest_in(node, wire_of(provider))
    if found is None:
        return pinned
    entry = len(_roles_before(node, *found[:2]))
    bounds = sorted({*known.exchanges, *known.rounds, known.count})
    return united([*pinned, (entry, bounds[bisect_right(bounds, entry)])])


def _from_compaction(node: ConversationNode, wire: Wire) -> ConversationNode:
    """Return a history from its newest compaction on, with the system text that it begins with."""
    found = _newest_in(node, wire)
    if found is None:
        return node
    number, index, rest = found
    roles = _roles_before(node, number, index)
    leading = next((n for n, role in enumerate(roles) if role != "system"), len(roles))
    first, run = node.content[0], node.content[number]
    assert isinstance(run, RecordedNode)
    if rest.items[0] is run.items[index]:
        # The provider returned the questions together with the compaction, or there are none.
        returned = wire.keeps_questions and {"assistant", "tool"}.isdisjoint(roles)
        if returned or leading == len(roles):
            return node
    head = (cut(first, 0, leading),) if leading and isinstance(first, RecordedNode) else ()
    kept = cut(run, index)
    object.__setattr__(kept, "items", rest.items[: len(kept.items)])
    object.__setattr__(kept, "known", rest)
    return with_content(node, (*head, kept, *node.content[number + 1 :]))


def _roles_before(node: ConversationNode, number: int, index: int) -> list[str]:
    """Return the roles of the entries before a message, by its run and its place in it."""
    roles: list[str] = []
    for part in node.content[: number + 1]:
        if isinstance(part, RecordedNode):
            stop = index if part is node.content[number] else None
            roles += [message.role for message in part.items[:stop]]
        else:
            roles.append(part.role if isinstance(part, TurnNode) else "ephemeral")
    return roles


def _newest_in(node: ConversationNode, wire: Wire) -> tuple[int, int, Recording] | None:
    """Return where the newest compaction is: its run, its message there, and what follows."""
    for number in range(len(node.content) - 1, -1, -1):
        run = node.content[number]
        if isinstance(run, RecordedNode) and run._mask & COMPACTED == COMPACTED:
            find = partial(_find, wire=wire, start=recording(run).start)
            found = remember(run, ("compaction", wire.form), find)
            index = found.index - first_of(run)
            if found.rest is not None and index >= 0:
                return number, index, found.rest
    return None


def _find(messages: Sequence[Message], before: _Found | None, *, wire: Wire, start: int) -> _Found:
    """Return the newest compaction of a recording that starts there, continued from before."""
    size = len(messages)
    if before is None or before.count > size:
        before = _Found()
    if before.count == size:
        return before
    for index in range(size - 1, before.count - 1, -1):
        first = _from_block(messages[index], wire)
        if first is not None:
            items = (first, *messages[index + 1 :])
            return _Found(size, index, Recording((), items, COMPACTED, start + index))
    rest = before.rest
    if rest is not None:
        items = (*rest.items, *messages[before.count :])
        rest = Recording((), items, COMPACTED, rest.start, found=rest.found)
    return _Found(size, before.index, rest)


def _from_block(message: Message, wire: Wire) -> Message | None:
    """Return a message from its newest compaction on, ``None`` without one.

    It stays whole with calls before that: their results follow.
    """
    blocks = message.content if message._plain is None and message.role == "assistant" else ()
    for number in range(len(blocks) - 1, -1, -1):
        block = blocks[number]
        if not isinstance(block, UnknownBlock) or block.origin not in wire.origins:
            continue
        if compacts(wire.form, block.data):
            has_calls = any(isinstance(it, ToolUseBlock) for it in blocks[:number])
            return message.replace(content=blocks[number:]) if number and not has_calls else message
    return None
