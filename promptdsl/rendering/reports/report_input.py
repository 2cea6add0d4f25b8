"""The input of all reports, made of a ``Rendered``: its messages, tokens, and dropped parts.

Read :class:`ReportInput` first. Below it are dropped parts: those of pairing, and those that an
earlier request still had.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs

from promptdsl.budget.budget import Budget
from promptdsl.budget.dropped import Dropped, described
from promptdsl.budget.units import reserved
from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import Resolved
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.source import LibrarySection, Source
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.message import Message, open_calls
from promptdsl.messages.prompt import Loss, Prompt
from promptdsl.providers.shared.request import SentLocation
from promptdsl.providers.written import WrittenPayload
from promptdsl.rendering.measure import message_counts, messages_total
from promptdsl.rendering.passes.pair import removed_by_pairing
from promptdsl.rendering.reports.cache_order import Payload
from promptdsl.rendering.reports.cards import BudgetUse, or_none_on_error
from promptdsl.rendering.spans import Span, TimelineEntry
from promptdsl.rendering.text.blocks import MediaRoots
from promptdsl.rendering.text.lower import lower
from promptdsl.tokens import Tokens
from promptdsl.tokens.payloads import block_tokens
from promptdsl.tree.node import walk
from promptdsl.tree.rewrite import with_content
from promptdsl.tree.turn_nodes import ConversationNode, RecordedNode, RootNode

# The input of all reports: the tree, the messages and the payload of a render.


@attrs.frozen(eq=False)
class ReportInput:
    """The input of all reports, made of the result of a render.

    ``tree`` is the tree after all passes, and ``messages`` are the messages that it became.
    ``sent`` is the prompt with all cache marks. ``written_payload`` is its payload, ``None``
    without a target. What takes time is a function, because most reports need only some of it.
    """

    tree: RootNode
    messages: tuple[Message, ...]
    sent: Prompt
    written_payload: WrittenPayload | None
    locations: Callable[[], tuple[SentLocation, ...]]
    dropped: Callable[[], tuple[Dropped, ...]]
    config: Resolved
    facts: ModelFacts
    tokens: Tokens
    media_roots: MediaRoots
    spans: Callable[[], Iterable[Span]]
    timeline: Callable[[], Sequence[TimelineEntry]]
    """Returns the timeline entries of the tree, with the text of each node."""
    losses: Callable[[], tuple[Loss, ...]]
    """Returns the losses, and after them the hints."""
    libraries: Callable[[], tuple[LibrarySection, ...]]
    budget: Budget | None
    stages: Mapping[str, RootNode]
    is_masked: bool = False
    """Whether volatile values have other texts. Then no text of a dropped part is reported."""

    @property
    def payload(self) -> Payload | None:
        """The payload; do not change it. It may have calls without a result."""
        return None if self.written_payload is None else self.written_payload.shared

    @property
    def equipped(self) -> Prompt:
        """The prompt with the tools and the output schema that the target sends."""
        payload, prompt = self.written_payload, self.sent
        lost = {loss.what for loss in (payload.losses if payload else ()) if loss.kind == "content"}
        tools = tuple(tool for tool in prompt.tools if f"tool {tool.name!r}" not in lost)
        output = None if "output schema" in lost else prompt.sent_output
        return attrs.evolve(prompt, tools=tools, output=output)

    @property
    def can_be_sent(self) -> bool:
        """Whether there is a target, and the last calls have results or need none."""
        if self.written_payload is None:
            return False
        return self.config.tool_pairing == "keep" or not open_calls(self.sent.messages)

    def sent_blocks(self) -> list[list[JsonDict | None]] | None:
        """Return, for each message, how each of its blocks is sent; ``None`` if it is not sent.

        ``role`` is the role that it is sent in. ``message`` is the index of its message in the
        payload, ``None`` for separate system text. ``inner`` has the same for the blocks in a tool
        result. The result is ``None`` without a target, with open calls, and if the payload cannot
        be written again.
        """
        messages = self.sent.messages
        if not self.can_be_sent:
            return None
        locations = or_none_on_error(self.locations)
        if locations is None:
            return None
        rows: dict[tuple[int | None, int | None, int | None], JsonDict] = {}
        for location in locations:
            at = location.message, location.block, location.inner
            rows.setdefault(at, {"role": location.role, "message": location.entry})
        return [
            [
                _sent_block(block, rows, (index, block_index))
                for block_index, block in enumerate(message.content)
            ]
            for index, message in enumerate(messages)
        ]

    def sent_as(self) -> dict[int, str]:
        """Return the role ``user`` for each instruction that is sent in that role, by index.

        These are instructions that the target takes in no other role. Events and groundings that
        the configuration maps to the role of a user are not among them. The result is empty if the
        payload cannot be written again, for example because a file is missing.
        """
        instructions = self._instructions()
        if self.written_payload is None or not instructions:
            return {}
        locations = {
            location.message: location.role for location in or_none_on_error(self.locations) or ()
        }
        return {index: "user" for index in instructions if locations.get(index) == "user"}

    def budget_use(self, total: int) -> BudgetUse | None:
        """Return the use of the budget by ``total`` tokens, ``None`` without a budget."""
        budget = self.budget
        limit = None if budget is None else budget.of(self.facts.window, self.facts.model)
        if budget is None or limit is None:
            return None
        reserve = budget.reserve + reserved(self.stages["read"])
        return BudgetUse(limit, total, reserve, limit - total - reserve)

    def known_sent_as(self) -> dict[int, str]:
        """Return what is known of ``sent_as`` without writing the payload.

        A target with separate system text may take no instructions in a conversation at all: then
        all of them are known. Or it takes them at some locations alone: then none is known.
        """
        facts = self.facts
        takes_none = facts.wire.two_sided and not facts.instructions
        if self.written_payload is None or not takes_none:
            return {}
        return {index: "user" for index in self._instructions() if self.messages[index].text}

    def _instructions(self) -> list[int]:
        """Return the indices of the instructions that are not system text.

        Instructions at the beginning are system text, unless they are events or groundings.
        """
        instructions: list[int] = []
        has_begun = False
        for index, message in enumerate(self.messages):
            if message.role not in ("developer", "system"):
                has_begun = True
            elif has_begun or message.kind in ("event", "request"):
                instructions.append(index)
        return instructions

    def counts(self) -> tuple[int, ...]:
        """Return the tokens of each message, its frame included."""
        return tuple(message_counts(self.tree, self.messages, self.tokens, self.facts))

    def total(self) -> int:
        """Return the tokens that are sent; counts of a long conversation are cached."""
        payload = self.written_payload
        if payload is not None:
            return payload.tally(self.tokens).total
        return messages_total(self.sent, self.tree, self.tokens, self.facts)


def _sent_block(
    block: Block,
    rows: Mapping[tuple[int | None, int | None, int | None], JsonDict],
    at: tuple[int, int],
) -> JsonDict | None:
    """Return how one block is sent, and for a tool result the blocks in it."""
    row = rows.get((*at, None))
    if row is None or not isinstance(block, ToolResultBlock) or not block.content:
        return row
    return {**row, "inner": [rows.get((*at, inner)) for inner in range(len(block.content))]}


# The calls and results that pairing removed, each with its text, as dropped parts.


def dropped_by_pairing(root: RootNode, report_input: ReportInput) -> tuple[Dropped, ...]:
    """Return the calls and results that pairing removes from a tree, in document order."""
    config = report_input.config
    if config.tool_pairing in ("error", "keep"):
        return ()
    removed = removed_by_pairing(root, mode=config.tool_pairing)
    turns = with_content(root, tuple(part.turn for part in removed))
    messages, _, _ = lower(turns, config=config, media_roots=report_input.media_roots)
    dropped: list[Dropped] = []
    for part, message in zip(removed, messages, strict=True):
        (block,) = message.content
        count = block_tokens(block, report_input.tokens, report_input.facts)
        what, text = _described_block(block)
        _, address = part.location
        dropped.append(Dropped(what, address, count, None, part.why, part.source, text))
    return tuple(dropped)


def _described_block(block: Block) -> tuple[str, str]:
    """Return the name and the text of a call or a result."""
    if isinstance(block, ToolUseBlock):
        return f"call {block.id!r}", f"{block.name}({block.arguments})"
    if not isinstance(block, ToolResultBlock):
        return block.type, ""
    texts = [
        inner.text if isinstance(inner, TextBlock) else f"[{inner.type}]" for inner in block.content
    ]
    return f"result {block.tool_use_id!r}", "\n\n".join(texts)


# The tokens that were sent in a request, but dropped, cut or cleared in a later request.

RecordedAddress: TypeAlias = tuple[Source | None, int]
"""The line of a history, and the index of a message in it."""


def newly_dropped(before: ReportInput, after: ReportInput) -> int:
    """Return the tokens of the first request that were dropped, cut or cleared in the second.

    A recorded message counts with the tokens that the first request sent of it. A part that only
    the second prompt has does not count, and neither does a part that the first request dropped.
    """
    if not after.dropped():
        return 0
    old_messages, new_messages = dict(_recorded(before)), dict(_recorded(after))
    counts, new_counts = _sent_counts(before), _sent_counts(after)
    total = sum(
        max(count - new_counts.get(address, 0), 0)
        for address, count in counts.items()
        if address in new_messages and old_messages.get(address) == new_messages[address]
    )
    parts = {(described(node), node.source) for node, _ in walk(before.stages["read"])}
    dropped = {(part.what, part.path): part.tokens for part in before.dropped()}
    for part in after.dropped():
        if (part.what, part.source) in parts and not _is_recorded(part):
            total += max(part.tokens - dropped.get((part.what, part.path), 0), 0)
    return total


def _recorded(report_input: ReportInput) -> Iterator[tuple[RecordedAddress, Message]]:
    """Yield the recorded messages of a prompt with their addresses, before any is dropped."""
    for run, _ in walk(report_input.stages["read"]):
        if isinstance(run, RecordedNode):
            for position, message in enumerate(run.items, run.start):
                yield (run.source, position), message


def _sent_counts(report_input: ReportInput) -> dict[RecordedAddress, int]:
    """Return the tokens of the recorded messages that are sent, by address."""
    counts, by_address, start = report_input.counts(), dict[RecordedAddress, int](), 0
    for node, entry in zip(report_input.tree.content, report_input.timeline(), strict=True):
        if isinstance(node, RecordedNode):
            for position, count in enumerate(counts[start : entry.message_end], node.start):
                by_address[node.source, position] = count
        start = entry.message_end
    return by_address


def _is_recorded(part: Dropped) -> bool:
    """Return whether a dropped part is of recorded messages: of messages, calls or results."""
    if part.what.startswith(("call ", "result ")):
        return True
    return any(
        isinstance(item, Message)
        or (isinstance(item, ConversationNode) and all(_are_recorded(item)))
        for item in part.gone
    )


def _are_recorded(history: ConversationNode) -> Iterator[bool]:
    return (isinstance(child, RecordedNode) for child in history.content)
