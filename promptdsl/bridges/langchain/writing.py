"""Writing: messages become LangChain's."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from promptdsl import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    MediaSource,
    Message,
    ReasoningBlock,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from promptdsl.bridges import Bridged
from promptdsl.bridges.crossing import Crossing
from promptdsl.bridges.langchain.words import REASONING, ROLE, langchain

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_USAGE = ("input_tokens", "output_tokens", "total_tokens")


def to_langchain(rendered: Rendered, *, strict: bool = False) -> "Bridged[tuple[BaseMessage, ...]]":
    """Return LangChain's messages, and tools as ``bind_tools`` takes them.

    Raises :class:`LossError` with ``strict=True`` when text, media or a tool is lost, and
    :class:`PromptError` when ``langchain-core`` is not installed.
    """
    lc, crossing = langchain(), Crossing.of("LangChain", rendered)
    messages: list[BaseMessage] = []
    for crossing.index, crossing.message in enumerate(rendered.messages):
        messages.extend(_written(lc, crossing, crossing.message))
    tools = tuple(_tools(crossing, rendered))
    return Bridged(tuple(messages), crossing.checked(strict=strict), tools)


def _written(lc: Any, crossing: Crossing, said: Message) -> "Iterator[BaseMessage]":
    rest: list[Block] = []
    for block in said.content:
        if type(block) is ToolResultBlock and said.role in ("tool", "user"):
            yield _answer(lc, crossing, block, said.name if said.role == "tool" else None)
        elif _has_place(block, said.role):
            rest.append(block)
        else:
            crossing.lose_block(block)
    if said.role == "assistant":
        yield from _reply(lc, crossing, rest)
    elif content := _content(crossing, rest):
        name = crossing.name(said.name)
        if said.role == "user":
            yield lc.HumanMessage(content, name=name)
        else:
            yield lc.SystemMessage(content, additional_kwargs=_role(said), name=name)


def _has_place(block: Block, role: str) -> bool:
    """Whether a block may stand in a message of a role: LangChain keeps no text beside a result."""
    if role == "tool" or type(block) is ToolResultBlock:
        return False
    return role == "assistant" or type(block) is not ToolUseBlock


def _role(said: Message) -> dict[str, str]:
    developer = said.role == "developer" and said.kind != "recorded_system"
    return {ROLE: "developer"} if developer else {}


def _reply(lc: Any, crossing: Crossing, blocks: Sequence[Block]) -> "Iterator[BaseMessage]":
    calls = [_call(crossing, block) for block in blocks if type(block) is ToolUseBlock]
    refusals = [block.text for block in blocks if type(block) is TextBlock and _is_refusal(block)]
    content = _content(crossing, [b for b in blocks if type(b) is not ToolUseBlock])
    more: dict[str, Any] = {}
    if refusal := "\n\n".join(filter(None, refusals)):
        more["additional_kwargs"] = {"refusal": crossing.clean(refusal, "a refusal")}
    if not (content or calls or more):
        return
    said = crossing.message
    assert said is not None
    more["name"] = crossing.name(said.name)
    if said.finish_reason is not None:
        more["response_metadata"] = {"finish_reason": said.finish_reason}
    counts = {key: (said.token_usage or {}).get(key) for key in _USAGE}
    if all(type(count) is int for count in counts.values()):
        more["usage_metadata"] = counts
    more["tool_calls"] = [call for call in calls if call["type"] == "tool_call"]
    more["invalid_tool_calls"] = [call for call in calls if call["type"] != "tool_call"]
    yield lc.AIMessage(content, **more)


def _is_refusal(block: Block) -> bool:
    return type(block) is TextBlock and block.extra.get("refusal") is True


def _call(crossing: Crossing, block: ToolUseBlock) -> dict[str, Any]:
    crossing.lose_hints(block)
    name, id = crossing.clean(block.name, "a tool's name"), crossing.id(block.id)
    arguments = crossing.clean_json(block.arguments)
    args = ToolUseBlock(id, name, arguments).input
    if args is not None:
        return {"type": "tool_call", "name": name, "args": args, "id": id}
    return {"type": "invalid_tool_call", "name": name, "args": arguments, "id": id, "error": None}


def _answer(lc: Any, crossing: Crossing, block: ToolResultBlock, name: str | None) -> "BaseMessage":
    crossing.lose_hints(block)
    return lc.ToolMessage(  # type: ignore[no-any-return]
        _content(crossing, block.content),
        tool_call_id=crossing.id(block.tool_use_id),
        name=crossing.name(name if block.name is None else block.name),
        status="error" if block.is_error else "success",
    )


def _content(crossing: Crossing, blocks: Sequence[Block]) -> str | list[str | dict[Any, Any]]:
    """Return one text as a string, all else as standard content blocks."""
    parts: list[Any] = [
        _part(crossing, block)
        for block in blocks
        if not _is_refusal(block) and not (type(block) is TextBlock and not block.text)
    ]
    kept = [part for part in parts if part is not None]
    if not kept:
        return ""
    return kept[0]["text"] if len(kept) == 1 and kept[0]["type"] == "text" else kept


def _part(crossing: Crossing, block: Block) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            crossing.lose_hints(block)
            return {"type": "text", "text": crossing.clean(block.text, "a text")}
        case ImageBlock() | AudioBlock() | VideoBlock() | DocumentBlock():
            return _file(crossing, block)
        case ReasoningBlock():
            return _thought(crossing, block)
        case UnknownBlock():
            return {"type": "non_standard", "value": block.to_dict()}
        case _:
            crossing.lose_block(block)
            return None


def _thought(crossing: Crossing, block: ReasoningBlock) -> dict[str, Any]:
    crossing.lose_hints(block)
    given = {key: crossing.name(getattr(block, key), key) for key in REASONING}
    told = {key: text for key, text in given.items() if text is not None}
    part = {"type": "reasoning", "reasoning": crossing.clean(block.text, "reasoning")}
    return {**part, "extras": told} if told else part


def _file(crossing: Crossing, block: Any) -> dict[str, Any]:
    crossing.lose_hints(block, "title", "detail")
    source: MediaSource = block.source
    kind = "file" if type(block) is DocumentBlock else block.type
    part = {
        "type": kind,
        source.kind if source.kind in ("base64", "file_id") else "url": crossing.clean(
            source.value, "a source"
        ),
    }
    if source.media_type is not None:
        part["mime_type"] = crossing.clean(source.media_type, "a media type")
    extras = {"filename": block.title, "detail": block.detail}
    told = {key: crossing.clean(text, key) for key, text in extras.items() if text is not None}
    return {**part, "extras": told} if told else part


def _tools(crossing: Crossing, rendered: Rendered) -> Iterator[dict[str, Any]]:
    for tool in crossing.portable(rendered):
        told = {} if tool.description is None else {"description": tool.description}
        function = {"name": tool.name, **told, "parameters": tool.input_schema}
        # As plain data that belongs to who asked for it.
        yield UnknownBlock({"type": "function", "function": function}).to_dict()
