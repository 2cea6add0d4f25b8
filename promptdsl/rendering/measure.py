"""Measuring: how many tokens the parts of a tree are, in the words its target gives them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import is_
from typing import Any

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved
from promptdsl.messages import ReasoningBlock, conversation_cache
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.passes.expand import dissolved_in_turn, expand
from promptdsl.rendering.pipeline import ANY, for_target
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.lower import lower
from promptdsl.rendering.text.traced import lower_traced
from promptdsl.tokens.count import Tokens
from promptdsl.tokens.frames import REPLY
from promptdsl.tokens.messages import block_tokens, message_tokens
from promptdsl.tokens.tools import output_tokens, tool_tokens, tools_frame
from promptdsl.tree.group_nodes import NoteNode, ReserveNode
from promptdsl.tree.masks import EVENT, SECTION, SPOKEN, SYSTEM
from promptdsl.tree.node import Node, make, walk
from promptdsl.tree.part_nodes import EventBlockNode
from promptdsl.tree.recorded import first_of, remember
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    OutputNode,
    RecordedNode,
    RootNode,
    ToolNode,
)

SIGNING = ("anthropic", "bedrock")
"""The providers that take back only reasoning they have signed."""
FORGETTING = ("openai", "openai_compatible")
"""The providers that take back none."""
ALONE = ("consolidate", "narrate", "place")
"""The passes, by name, that a turn runs through to be measured alone, without neighbours."""


class Measuring:
    """Counts parts of a prompt in the tokens of its budget, as a ``Measure`` does.

    The protocol is in ``budget/measure_protocol.py``.
    """

    def __init__(
        self, facts: ModelFacts, config: Resolved, tokens: Tokens, media_roots: MediaRoots = ()
    ) -> None:
        self.facts = facts
        self.config = config
        self.tokens = tokens
        self.media_roots = media_roots
        self.frames: dict[str, int] = {}
        self.passes = [one for one in for_target(config) if one.name in ALONE]

    def frame(self, role: str) -> int:
        """Return the tokens around a message of a role."""
        found = self.frames.get(role)
        if found is None:
            empty: Any = Message(role, ())  # type: ignore[arg-type]
            found = self.frames[role] = message_tokens(empty, self.tokens, self.facts)
        return found

    def turn(self, node: Node, wanted: Collection[int] = ()) -> tuple[int, Mapping[int, int]]:
        """Return the tokens of an entry of a timeline, and by id those of the ``wanted`` in it."""
        if isinstance(node, ToolNode):
            return tool_tokens(node.definition, self.tokens), {}
        if isinstance(node, OutputNode):
            return output_tokens(node.schema, self.tokens), {}
        if isinstance(node, CacheBreakpointNode | ReserveNode):
            return 0, {}
        if node.mask & SPOKEN and len(node.content) == 1 and type(node.content[0]) is str:
            turn: Any = node
            return self.frame(turn.role) + self.tokens.of(turn.content[0]), {}
        if not wanted:
            return self._lowered(node), {}
        tree = self._finished(node)
        messages, entries = lower_traced(tree, config=self.config, media_roots=self.media_roots)
        missing = {*wanted}
        found: dict[int, int] = {}
        for turn in (turn for entry in entries for turn in entry.turns):
            for part in turn.parts:
                if id(part.node) in missing:
                    found[id(part.node)] = self._blocks(part.blocks())
        missing -= found.keys()
        if missing:
            found |= self._apart(node, missing)
        return self._total(node, messages), found

    def _lowered(self, node: Node) -> int:
        tree = self._finished(node)
        messages, _ = lower(tree, config=self.config, media_roots=self.media_roots)
        return self._total(node, messages)

    def _finished(self, node: Node) -> Node:
        """Return a tree of one turn after the passes it runs through alone."""
        root: Node = make(RootNode, transformation=None, equipment=())
        tree = with_content(root, (_whole(node),))
        if isinstance(node, NoteNode):
            tree = expand(tree)
        for _, mask, run in self.passes:
            if tree.mask & mask or mask == ANY:
                tree = run(tree)
        return tree

    def _total(self, node: Node, said: Sequence[Message]) -> int:
        if node.mask & (SYSTEM | SECTION):
            # All system content is one message, whose frame is nobody's: a part has a gap.
            return sum(self._blocks(message.content) + self.gap for message in said)
        return sum(map(self._message, said))

    def _message(self, said: Message) -> int:
        return message_tokens(said, self.tokens, self.facts) - self._unsent(said)

    def _unsent(self, said: Message) -> int:
        """Return the tokens of reasoning that its target does not take back."""
        if said.plain is not None:
            return 0
        thoughts = [block for block in said.content if isinstance(block, ReasoningBlock)]
        return self._blocks(one for one in thoughts if not is_replayed(one, self.facts))

    @property
    def reply(self) -> int:
        """The tokens an answer begins with."""
        return REPLY

    @property
    def gap(self) -> int:
        """The tokens of the blank line between two parts."""
        return self.tokens.of("\n\n")

    def _blocks(self, blocks: Iterable[Any]) -> int:
        return sum(block_tokens(block, self.tokens, self.facts) for block in blocks)

    def _apart(self, turn: Node, missing: Collection[int]) -> dict[int, int]:
        """Return the tokens of parts of a turn whose words could not be told, each by itself."""
        found: dict[int, int] = {}
        for one, _ in walk(turn):
            if id(one) in missing:
                alone = with_content(turn, (one,))
                found[id(one)] = max(self._lowered(alone) - self.frame("user"), 0)
        return dict.fromkeys(missing, 0) | found

    def messages(self, run: RecordedNode) -> Sequence[int]:
        """Return the tokens of each message of a run, its frame included."""
        return _counts(run, ("planned", self.tokens, self.facts), self._message)


def is_replayed(thought: ReasoningBlock, facts: ModelFacts) -> bool:
    """Return whether reasoning is sent back to its provider when something else is dropped."""
    provider = facts.provider
    if provider is None:
        return True
    if provider in FORGETTING or facts.binds_reasoning:
        return False
    if provider == "chat_template":
        return thought.origin in (None, provider)
    signed = thought.signature or thought.encrypted or provider not in SIGNING
    return bool(signed) and thought.origin == provider


def _whole(node: Node) -> Node:
    """Return an event whose blocks stand directly in it; other turns as they are."""
    if node.mask & EVENT and not isinstance(node, EventBlockNode):
        return with_content(node, dissolved_in_turn(node))
    return node


def run_tokens(run: RecordedNode, tokens: Tokens, facts: ModelFacts) -> Sequence[int]:
    """Return the tokens of each message of a run, remembered with its conversation."""
    return _counts(run, ("sent", tokens, facts), lambda said: message_tokens(said, tokens, facts))


def _counts(run: RecordedNode, key: object, count: Callable[[Message], int]) -> Sequence[int]:
    """Return the count of each message of a run; ``key`` says what is counted, and by whom."""
    if len(run.items) < conversation_cache.SHORTEST:
        return [*map(count, run.items)]

    def counted(messages: Sequence[Message], before: list[int] | None) -> list[int]:
        known = before or []
        if len(known) >= len(messages):
            return known
        return [*known, *map(count, messages[len(known) :])]

    first = first_of(run)
    return remember(run, key, counted)[first : first + len(run.items)]


def messages_total(prompt: Prompt, tree: Node, tokens: Tokens, facts: ModelFacts) -> int:
    """Return the tokens of the messages and tools of a prompt, as they are without a target.

    ``tree`` is what it was lowered from. Of a long conversation only what is new is counted.
    """
    counts = message_counts(tree, prompt.messages, tokens, facts)
    return sum(counts) + beside_tokens(prompt, tokens, facts) + REPLY


def message_counts(
    tree: Node, said: Sequence[Message], tokens: Tokens, facts: ModelFacts
) -> list[int]:
    """Return the tokens of each message that a tree was lowered to, its frame included.

    Those of recorded messages are remembered with their conversation.
    """
    counts: list[int] = []
    for run in tree.content:
        if isinstance(run, RecordedNode):
            place = _begin(run, said, len(counts))
            if place is not None:
                before = said[len(counts) : place]
                counts += [message_tokens(one, tokens, facts) for one in before]
                counts += run_tokens(run, tokens, facts)
    return counts + [message_tokens(one, tokens, facts) for one in said[len(counts) :]]


def _begin(run: RecordedNode, said: Sequence[Message], start: int) -> int | None:
    """Return where the messages of a run begin, ``None`` where one was changed or left out."""
    first, size = run.items[0], len(run.items)
    for place in range(start, len(said) - size + 1):
        if said[place] is first:
            return place if all(map(is_, said[place : place + size], run.items)) else None
    return None


def beside_tokens(prompt: Prompt, tokens: Tokens, facts: ModelFacts) -> int:
    """Return how many tokens the tools of a prompt are, and the form of its answer."""
    total = sum(tool_tokens(tool, tokens) for tool in prompt.tools)
    total += tools_frame(facts) if prompt.tools else 0
    return total + (output_tokens(prompt.output, tokens) if prompt.output else 0)
