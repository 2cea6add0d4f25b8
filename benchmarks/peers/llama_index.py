"""llama-index: core's ``ChatMessage`` and the converter of its OpenAI integration."""

from typing import Any

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, ImageBlock, MessageRole, TextBlock
from llama_index.llms.openai.utils import to_openai_message_dicts

from benchmarks.peers import same_as_handwritten, system_text
from benchmarks.prompt import Data, ToolCall

NAME = "llama-index"
PACKAGE = "llama-index-core"
NOTE = "the converter is in llama-index-llms-openai"


def build(data: Data) -> list[dict[str, Any]]:
    """Return the messages of a Chat Completions request."""
    messages = [ChatMessage(system_text(data), role=MessageRole.SYSTEM)]
    for exchange in data.exchanges:
        messages.append(ChatMessage(exchange.question, role=MessageRole.USER))
        if exchange.call is not None:
            messages.extend(_called(exchange.call))
        messages.append(ChatMessage(exchange.answer, role=MessageRole.ASSISTANT))
    blocks = [TextBlock(text=data.question), ImageBlock(url=data.image_url)]
    messages.append(ChatMessage(blocks, role=MessageRole.USER))
    return to_openai_message_dicts(messages)


def check(data: Data) -> bool:
    """Return whether the result says the same as the hand-written one."""
    return same_as_handwritten(build(data), data)


def _called(call: ToolCall) -> tuple[ChatMessage, ChatMessage]:
    block = ToolCallBlock(tool_call_id=call.id, tool_name=call.name, tool_kwargs=call.arguments)
    answers = {"tool_call_id": call.id}
    return (
        ChatMessage([block], role=MessageRole.ASSISTANT),
        ChatMessage(call.result, role=MessageRole.TOOL, additional_kwargs=answers),
    )
