"""Only checked, never run: the type of a block tells which it is."""

from typing import assert_type

from promptdsl import Message, TextBlock, ToolResultBlock, ToolUseBlock


def names(message: Message) -> list[str]:
    """Compare the type of a block instead of its class."""
    return [block.name for block in message.content if block.type == "tool_use"]


def answer(call: ToolUseBlock) -> tuple[Message, ToolResultBlock]:
    """Give a result as a text, a block, or blocks."""
    said: list[TextBlock] = [TextBlock("x")]
    assert_type(ToolResultBlock(call.id, said[0]), ToolResultBlock)
    assert_type(Message.tool_result(call.id, said, name=call.name), Message)
    return Message.tool_result(call.id, "x"), ToolResultBlock(call.id, "x")


def told(message: Message) -> tuple[str, tuple[ToolUseBlock, ...]]:
    """Ask what a message says and calls."""
    for block in message.content:
        if block.type == "text":
            assert_type(block, TextBlock)
        if block.type == "tool_result":
            assert_type(block, ToolResultBlock)
    return message.text, message.calls
