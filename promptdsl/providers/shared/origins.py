"""The origin of content that was read from a server: the server, not the provider it imitates."""

from collections.abc import Sequence

import attrs

from promptdsl.config.wire import Wire
from promptdsl.messages import Block, ReasoningBlock, ToolResultBlock, ToolUseBlock, UnknownBlock
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt, ToolDefinition
from promptdsl.providers.shared.blocks import FROM


def prompt_of_server(prompt: Prompt, wire: Wire) -> Prompt:
    """Return a prompt that was read from a server, with the server as origin of its content."""

    def named(tool: ToolDefinition) -> ToolDefinition:
        # Every server takes functions. Any other tool may exist at this server only.
        is_of_server = tool.raw is not None and tool.origin in wire.origins
        return attrs.evolve(tool, origin=wire.name) if is_of_server else tool

    stored = prompt.stored
    if stored is not None and stored.origin in wire.origins:
        stored = attrs.evolve(stored, origin=wire.name)
    is_unpaired = prompt.unpaired_at in wire.origins
    return attrs.evolve(
        prompt,
        messages=tuple(message_of_server(message, wire) for message in prompt.messages),
        tools=tuple(map(named, prompt.tools)),
        stored=stored,
        unpaired_at=wire.name if is_unpaired else prompt.unpaired_at,
    )


def message_of_server(message: Message, wire: Wire) -> Message:
    """Return a message that was read from a server, with the server as origin of its blocks."""
    if message._plain is not None:
        return message
    blocks = _of_server(message.content, wire)
    return message if blocks == message.content else message.replace(content=blocks)


def _of_server(blocks: Sequence[Block], wire: Wire) -> tuple[Block, ...]:
    named: list[Block] = []
    for block in blocks:
        new: Block = block
        if isinstance(block, ToolResultBlock):
            new = attrs.evolve(block, content=_of_server(block.content, wire))
        elif isinstance(block, ReasoningBlock | UnknownBlock) and block.origin in wire.origins:
            new = attrs.evolve(block, origin=wire.name)
        if isinstance(new, ReasoningBlock | ToolUseBlock) and FROM in new.extra:
            new = attrs.evolve(new, extra={**new.extra, FROM: wire.name})
        named.append(new)
    return tuple(named)
