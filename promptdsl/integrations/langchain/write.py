"""Writing: messages become LangChain's."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from promptdsl import Block, Message, Rendered, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl import UnknownBlock as Plain
from promptdsl.integrations import Bridged
from promptdsl.integrations.langchain.reasoning import ROLE, SIGNATURES, langchain
from promptdsl.integrations.langchain.write_parts import (
    Writing,
    content_of,
    is_refusal,
    lose_hints,
    origin_of,
    signature_of,
)

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_USAGE = ("input_tokens", "output_tokens", "total_tokens")


def to_langchain(rendered: Rendered, *, strict: bool = False) -> "Bridged[tuple[BaseMessage, ...]]":
    """Return LangChain's messages, and tools as ``bind_tools`` takes them.

    Raises :class:`LossError` with ``strict=True`` when text, media or a tool is lost, and
    :class:`PromptError` when ``langchain-core`` is not installed.
    """
    w = Writing.of("LangChain", rendered)
    w.lc = langchain()
    messages: list[BaseMessage] = []
    for w.index, w.message in enumerate(rendered.messages):
        messages.extend(_written(w, w.message))
    tools = tuple(_tools(w, rendered))
    return Bridged(tuple(messages), w.checked(strict=strict), tools)


def _written(w: Writing, said: Message) -> "Iterator[BaseMessage]":
    rest: list[Block] = []
    for block in said.content:
        if type(block) is ToolResultBlock and said.role in ("tool", "user"):
            yield _answer(w, block, said.name if said.role == "tool" else None)
        elif _has_place(block, said.role):
            rest.append(block)
        else:
            w.lose_block(block)
    w.origin = origin_of(rest)
    if said.role == "assistant":
        yield from _reply(w, said, rest)
    elif content := content_of(w, rest):
        more = {"name": w.name(said.name), "response_metadata": w.metadata}
        if said.role == "user":
            yield w.lc.HumanMessage(content, **more)
        else:
            yield w.lc.SystemMessage(content, additional_kwargs=_role(said), **more)


def _has_place(block: Block, role: str) -> bool:
    """Whether a block may stand in a message of a role, beside results."""
    called = type(block) is ToolUseBlock and role != "assistant"
    return not (called or type(block) is ToolResultBlock)


def _role(said: Message) -> dict[str, str]:
    developer = said.role == "developer" and said.kind != "recorded_system"
    return {ROLE: "developer"} if developer else {}


def _reply(w: Writing, said: Message, blocks: Sequence[Block]) -> "Iterator[BaseMessage]":
    made = [_call(w, block) for block in blocks if type(block) is ToolUseBlock]
    # LangChain holds broken calls apart, so they come back last.
    calls = sorted(made, key=lambda call: call["type"] != "tool_call")
    content = content_of(w, [b for b in blocks if type(b) is not ToolUseBlock])
    beside = _beside(w, blocks)
    if not (content or calls or beside):
        return
    metadata: dict[str, Any] = w.metadata
    if said.finish_reason is not None:
        metadata["finish_reason"] = said.finish_reason
    if w.origin is not None and isinstance(content, list):
        # What a provider has of its own is read there only in this form, which holds calls too.
        metadata["output_version"] = "v1"
        content = [*content, *calls]
    counts = {key: (said.token_usage or {}).get(key) for key in _USAGE}
    counted = all(type(count) is int for count in counts.values())
    yield w.lc.AIMessage(
        content,
        name=w.name(said.name),
        additional_kwargs=beside,
        response_metadata=metadata,
        usage_metadata=counts if counted else None,
        tool_calls=[call for call in calls if call["type"] == "tool_call"],
        invalid_tool_calls=[call for call in calls if call["type"] != "tool_call"],
    )


def _beside(w: Writing, blocks: Sequence[Block]) -> dict[str, Any]:
    """Return what stands beside a content: a refusal, the signatures of calls."""
    refusals = [block.text for block in blocks if type(block) is TextBlock and is_refusal(block)]
    signatures = {
        w.id(block.id): w.name(signature_of(block), "a signature")
        for block in blocks
        if type(block) is ToolUseBlock and signature_of(block) is not None
    }
    beside: dict[str, Any] = {SIGNATURES: signatures} if signatures else {}
    if refusal := "\n\n".join(filter(None, refusals)):
        beside["refusal"] = w.clean(refusal, "a refusal")
    return beside


def _call(w: Writing, block: ToolUseBlock) -> dict[str, Any]:
    lose_hints(w, block)
    name, id = w.clean(block.name, "a tool's name"), w.id(block.id)
    arguments = w.clean_json(block.arguments)
    args = ToolUseBlock(id, name, arguments).input
    if args is not None:
        return {"type": "tool_call", "name": name, "args": args, "id": id}
    return {"type": "invalid_tool_call", "name": name, "args": arguments, "id": id, "error": None}


def _answer(w: Writing, block: ToolResultBlock, name: str | None) -> "BaseMessage":
    w.lose_hints(block)
    w.origin = origin_of(block.content)
    return w.lc.ToolMessage(  # type: ignore[no-any-return]
        content_of(w, block.content),
        tool_call_id=w.id(block.tool_use_id),
        name=w.name(name if block.name is None else block.name),
        status="error" if block.is_error else "success",
        response_metadata=w.metadata,
    )


def _tools(w: Writing, rendered: Rendered) -> Iterator[dict[str, Any]]:
    for tool in w.portable(rendered):
        told = {} if tool.description is None else {"description": tool.description}
        function: dict[str, Any] = {"name": tool.name, **told, "parameters": tool.input_schema}
        # As plain data that belongs to who asked for it.
        yield Plain({"type": "function", "function": function}).to_dict()
