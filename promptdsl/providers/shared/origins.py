"""The origin of content that was read from a server: the server, not the provider it imitates.

A server, such as ``openrouter``, is read by the adapter of the provider whose format it has. The
adapter does not know the server, and names itself or its format as origin. The functions here
replace this origin by the name of the server.

A ``Wire`` is the record of one provider or server. ``wire.name`` is its name, ``wire.origins`` are
all origins that its adapter may name.
"""

from collections.abc import Sequence

import attrs

from promptdsl.config.wire import Wire
from promptdsl.messages import Block, ReasoningBlock, ToolResultBlock, ToolUseBlock, UnknownBlock
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt, ToolDefinition
from promptdsl.providers.shared.blocks import ORIGIN_KEY


def prompt_with_server_as_origin(prompt: Prompt, wire: Wire) -> Prompt:
    """Return a prompt that was read from a server, with the server as origin of its content.

    Its messages and tools may have an origin, and so may the conversation that is ``stored`` at the
    server. ``unpaired_at`` is set if there are calls whose results do not follow at once. It is the
    provider that the prompt was read from, since others may refuse such an order.
    """
    stored = prompt.stored
    if stored is not None and stored.origin in wire.origins:
        stored = attrs.evolve(stored, origin=wire.name)
    is_unpaired_here = prompt.unpaired_at in wire.origins
    return attrs.evolve(
        prompt,
        messages=tuple(message_with_server_as_origin(message, wire) for message in prompt.messages),
        tools=tuple(_tool_of_server(tool, wire) for tool in prompt.tools),
        stored=stored,
        unpaired_at=wire.name if is_unpaired_here else prompt.unpaired_at,
    )


def message_with_server_as_origin(message: Message, wire: Wire) -> Message:
    """Return a message that was read from a server, with the server as origin of its blocks."""
    # ``_plain`` is the text of a message that is one text and nothing else. That is most messages,
    # and they have no block with an origin.
    if message._plain is not None:
        return message
    blocks = _blocks_of_server(message.content, wire)
    return message if blocks == message.content else message.replace(content=blocks)


def _tool_of_server(tool: ToolDefinition, wire: Wire) -> ToolDefinition:
    # Only a tool with raw data has an origin. A function has none: every server takes it.
    is_raw_of_server = tool.raw is not None and tool.origin in wire.origins
    return attrs.evolve(tool, origin=wire.name) if is_raw_of_server else tool


def _blocks_of_server(blocks: Sequence[Block], wire: Wire) -> tuple[Block, ...]:
    result: list[Block] = []
    for block in blocks:
        new: Block = block
        if isinstance(block, ToolResultBlock):
            new = attrs.evolve(block, content=_blocks_of_server(block.content, wire))
        elif isinstance(block, ReasoningBlock | UnknownBlock) and block.origin in wire.origins:
            new = attrs.evolve(block, origin=wire.name)
        # ``extra`` has the keys of a block that only some servers know, and under ``ORIGIN_KEY``
        # where they come from. They were read from this server, whatever the adapter wrote there.
        if isinstance(new, ReasoningBlock | ToolUseBlock) and ORIGIN_KEY in new.extra:
            new = attrs.evolve(new, extra={**new.extra, ORIGIN_KEY: wire.name})
        result.append(new)
    return tuple(result)
