"""The tokens of the nodes of a tree, counted in the format that the target receives.

``Measuring`` counts for a budget, ``messages_total`` for a prompt without a target.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import is_

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PromptError
from promptdsl.messages import (
    Block,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.messages.details import Role
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.passes.expand import dissolved_in_turn, expand
from promptdsl.rendering.passes.merge import merge_key
from promptdsl.rendering.pipeline import ANY, FOR_TARGET
from promptdsl.rendering.text.blocks import MediaRoots, mode_of, prompted_text
from promptdsl.rendering.text.layout import LayoutReader, WrittenNode
from promptdsl.rendering.text.lower import lower
from promptdsl.tokens.count import Tokens
from promptdsl.tokens.counters import tokens_of_user_counter
from promptdsl.tokens.payloads import (
    PER_NAME,
    REPLY,
    block_tokens,
    message_tokens,
    output_tokens,
    tool_tokens,
    tools_frame,
)
from promptdsl.tree.masks import EVENT, SECTION, SPOKEN, SYSTEM
from promptdsl.tree.node import Node, make, walk
from promptdsl.tree.part_nodes import EventBlockNode, ToolResultNode
from promptdsl.tree.recorded import counts_of
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    NoteNode,
    OutputNode,
    RecordedNode,
    ReserveNode,
    RootNode,
    ToolNode,
    ToolTurnNode,
    TurnNode,
)

PRICED = frozenset({"image", "audio", "document", "video", "reasoning", "unknown"})
"""The types of blocks that an adapter may send in another format, or not at all.

Their tokens are the difference between two payloads, one with the block and one without.
"""

PASSES_OF_ONE_TURN = [
    step for step in FOR_TARGET if step[0] in ("merge_system", "render_events", "place")
]
"""The passes for a turn that is counted alone, without its neighbours."""


class Measuring:
    """The counter of the nodes of one prompt for a budget, in tokens of its target.

    Implements the protocol ``Measure`` of ``budget/budget.py``. ``with_bytes`` gets an attachment
    and the role of its message, and returns the attachment with the bytes of a ``media_loader``.
    ``priced`` are the types of blocks that are counted in a payload. ``unpriced`` are the tokens of
    the payload without such blocks, by the role and whether it is in a result with an error.
    ``frames`` are the tokens around a message, by its role.
    """

    def __init__(
        self,
        facts: ModelFacts,
        config: Resolved,
        tokens: Tokens,
        media_roots: MediaRoots = (),
        *,
        with_bytes: Callable[[MediaBlock, Role], MediaBlock] | None = None,
    ) -> None:
        self.facts = facts
        self.config = config
        self.tokens = tokens
        self.media_roots = media_roots
        self.with_bytes = with_bytes
        self.unpriced: dict[tuple[Role, bool | None], int] = {}
        self.priced = PRICED if facts.provider else frozenset[str]()
        self.by_characters: Measuring | None = None
        self.frames: dict[Role, int] = {}

    @property
    def in_characters(self) -> "Measuring":
        """The counter of the same nodes, in characters instead of tokens."""
        if self.by_characters is None:
            counter = tokens_of_user_counter(len)
            self.by_characters = Measuring(
                self.facts, self.config, counter, self.media_roots, with_bytes=self.with_bytes
            )
        return self.by_characters

    def frame(self, role: Role) -> int:
        """Return the tokens around a message of a role."""
        count = self.frames.get(role)
        if count is None:
            count = message_tokens(Message(role, ()), self.tokens, self.facts)
            self.frames[role] = count
        return count

    def messages(self, run: RecordedNode) -> Sequence[int]:
        """Return the tokens of each message of a run, its frame included.

        A message that is sent as one with the message before it has no frame.
        """
        if self.with_bytes is not None:
            return [*self._in_run(run.items, 0)]  # the bytes are for this render alone: no cache
        merging = self.config.merge_consecutive, self.config.event_role
        return counts_of(run, ("planned", self.tokens, self.facts, *merging), self._in_run)

    def _in_run(self, messages: Sequence[Message], start: int) -> Iterator[int]:
        """Yield the tokens of messages in a row, from ``start`` on."""
        for index, message in enumerate(messages[start:], start):
            count = self._message(message)
            if index > 0 and self._merges(messages[index - 1], message):
                count -= self.frame(message.role)
            yield count

    def _merges(self, previous: Message, message: Message) -> bool:
        """Return whether a recorded message is sent as one with the message before it."""
        wire, merges = self.facts.wire, self.config.merge_consecutive
        if not wire.two_sided:
            old_key, key = (merge_key(m.role, m.kind, m.name) for m in (previous, message))
            return merges and message.role != "tool" and old_key == key
        side = self._side(message.role)
        needed = message.role == "tool" or not wire.takes_neighbours
        return side != "" and side == self._side(previous.role) and (merges or needed)

    def _side(self, role: Role) -> str:
        """Return the side of a role at a target with two sides, ``""`` for instructions."""
        if role == "event":
            role = self.config.event_role
        if role in ("system", "developer"):
            return ""
        if role == "tool" and not self.facts.wire.results_apart:
            return "user"
        return role

    def turn(
        self, node: Node, requested_ids: Collection[int] = ()
    ) -> tuple[int, Mapping[int, int]]:
        """Return the tokens of a child of a timeline, and those of nodes in it by their id.

        ``requested_ids`` are the ids of these nodes.
        """
        if isinstance(node, ToolNode):
            return tool_tokens(node.definition, self.tokens), {}
        if isinstance(node, OutputNode):
            if mode_of(node, self.facts)[0] == "prompted":
                return self.tokens.of(prompted_text(node.schema)), {}
            return output_tokens(node.schema, self.tokens), {}
        if isinstance(node, CacheBreakpointNode | ReserveNode):
            return 0, {}
        if isinstance(node, TurnNode) and node._mask & SPOKEN and len(node.content) == 1:
            text = node.content[0]
            if isinstance(text, str):
                return self.frame(node.role) + self.tokens.of(text), {}
        if not requested_ids:
            return self._lowered(node), {}
        tree = self._after_passes(node)
        messages, _, layout = lower(tree, config=self.config, media_roots=self.media_roots)
        missing, reader = {*requested_ids}, LayoutReader(layout, messages)
        counts: dict[int, int] = {}
        # The results of a turn are messages before the message of its other content: so the first
        # role is that of a result, if there is one, and the last is that of other content.
        roles: list[Role] = [message.role for message in messages] or ["user"]
        turns = (turn for entry in range(len(layout.entries)) for turn in reader.turns_of(entry))
        for written_node in (written_node for turn in turns for written_node in turn.nodes):
            if id(written_node.node) in missing:
                is_error = _is_in_error(written_node, node)
                role = roles[-1] if is_error is None else roles[0]
                counts[id(written_node.node)] = self._blocks(written_node.blocks(), role, is_error)
        missing -= counts.keys()
        if missing:
            # Nodes whose text was joined with that of their neighbours are counted alone.
            for inner_node, _ in walk(node):
                if id(inner_node) in missing and inner_node is not node:
                    count = self._lowered(with_content(node, (inner_node,)))
                    counts[id(inner_node)] = max(count - self.frame(roles[0]), 0)
        return self._total(node, messages), dict.fromkeys(missing, 0) | counts

    def _lowered(self, node: Node) -> int:
        tree = self._after_passes(node)
        messages, _, _ = lower(tree, config=self.config, media_roots=self.media_roots)
        return self._total(node, messages)

    def _after_passes(self, node: Node) -> RootNode:
        """Return the tree of a single turn after the passes of one turn."""
        if node._mask & EVENT and not isinstance(node, EventBlockNode):
            # The blocks of an event are direct children of its turn.
            node = with_content(node, dissolved_in_turn(node))
        tree = with_content(make(RootNode, transformation=None, equipment=()), (node,))
        if isinstance(node, NoteNode):  # it becomes a turn
            tree = expand(tree)
        for _, mask, run in PASSES_OF_ONE_TURN:
            if tree._mask & mask or mask == ANY:
                tree = run(tree, self.config, self.facts)
        return tree

    def _total(self, node: Node, messages: Sequence[Message]) -> int:
        if node._mask & (SYSTEM | SECTION):
            frame = self.frame("system")
            return sum(self._blocks(message.content, "system") + frame for message in messages)
        return sum(map(self._message, messages))

    def _message(self, message: Message) -> int:
        """Return the tokens of a message, each block as its target receives it."""
        if message._plain is not None:
            return message_tokens(message, self.tokens, self.facts)
        frame, name = self.frame(message.role), message.name
        if name:
            frame += PER_NAME + self.tokens.of(name)
        return frame + self._blocks(message.content, message.role)

    def _blocks(self, blocks: Iterable[Block], role: Role, is_error: bool | None = None) -> int:
        """Return the tokens of blocks in a message of a role.

        ``is_error`` says whether the result around them is an error, ``None`` outside of results.
        """
        total = 0
        priced: list[Block] = []
        for block in blocks:
            if block.type in self.priced:
                priced.append(block)
            elif isinstance(block, ToolResultBlock) and not self.priced.isdisjoint(
                inner.type for inner in block.content
            ):
                without_content = attrs.evolve(block, content=())
                total += block_tokens(without_content, self.tokens, self.facts)
                total += self._blocks(block.content, role, block.is_error)
            else:
                total += block_tokens(block, self.tokens, self.facts)
        if priced:
            total += self._price(priced, role, is_error)
        return total

    def _price(self, blocks: Sequence[Block], role: Role, is_error: bool | None) -> int:
        """Return the tokens that blocks add to the payload of a short prompt, 0 for a loss."""
        blocks = [*blocks]
        if self.with_bytes is not None:
            for index, block in enumerate(blocks):
                if isinstance(block, MediaBlock):
                    blocks[index] = self.with_bytes(block, role)
        location: tuple[Role, bool | None] = (role, is_error)
        try:
            if location not in self.unpriced:
                self.unpriced[location] = self._payload_tokens((), *location)
            return max(self._payload_tokens(blocks, *location) - self.unpriced[location], 0)
        except PromptError:  # raised again when the blocks are sent
            return sum(block_tokens(block, self.tokens, self.facts) for block in blocks)

    def _payload_tokens(self, blocks: Sequence[Block], role: Role, is_error: bool | None) -> int:
        """Return the tokens of the payload of a prompt with some blocks and a short text."""
        from promptdsl.providers.written import WrittenPayload

        question, content = Message("user", "."), (*blocks, TextBlock("."))
        if is_error is not None:
            call = Message("assistant", (ToolUseBlock("call", "tool", "{}"),))
            result = ToolResultBlock("call", content, is_error=is_error)
            messages: tuple[Message, ...] = (question, call, Message(role, (result,)))
        elif role == "user":
            messages = (Message(role, content),)
        else:
            messages = (question, Message(role, content))
        return WrittenPayload(Prompt(messages), self.facts).tally(self.tokens).total


def _is_in_error(written_node: WrittenNode, turn: Node) -> bool | None:
    """Return whether the result around a node is an error, ``None`` outside of results."""
    enclosing: WrittenNode | None = written_node
    while enclosing is not None:
        if isinstance(enclosing.node, ToolResultNode):
            return enclosing.node.is_error
        enclosing = enclosing.parent
    return turn.is_error if isinstance(turn, ToolTurnNode) else None


def messages_total(prompt: Prompt, tree: RootNode, tokens: Tokens, facts: ModelFacts) -> int:
    """Return the tokens of a prompt without a target: of its messages and its tools."""
    counts = message_counts(tree, prompt.messages, tokens, facts)
    return sum(counts) + definition_tokens(prompt, tokens, facts) + REPLY


def message_counts(
    tree: RootNode, messages: Sequence[Message], tokens: Tokens, facts: ModelFacts
) -> list[int]:
    """Return the tokens of each message that a tree was lowered to, its frame included.

    The counts of recorded messages are cached with their conversation.
    """

    def count(run: Sequence[Message], start: int) -> Iterable[int]:
        return (message_tokens(message, tokens, facts) for message in run[start:])

    counts: list[int] = []
    for run in tree.content:
        if isinstance(run, RecordedNode):
            first_message, size = run.items[0], len(run.items)
            candidates = range(len(counts), len(messages) - size + 1)
            start = next((i for i in candidates if messages[i] is first_message), None)
            # If a message of the run was changed or left out, the run is counted below.
            if start is not None and all(map(is_, messages[start : start + size], run.items)):
                counts += count(messages[:start], len(counts))
                counts += counts_of(run, ("sent", tokens, facts), count)
    return [*counts, *count(messages, len(counts))]


def definition_tokens(prompt: Prompt, tokens: Tokens, facts: ModelFacts) -> int:
    """Return the tokens of a prompt's tools and of its output schema."""
    total = sum(tool_tokens(tool, tokens) for tool in prompt.tools)
    if prompt.tools:
        total += tools_frame(facts)
    if prompt.sent_output:
        total += output_tokens(prompt.sent_output, tokens)
    return total
