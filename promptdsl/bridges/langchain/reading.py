"""Reading: LangChain's messages become ours."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from promptdsl import (
    Block,
    DataError,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    block_from_dict,
)
from promptdsl.bridges import Bridged
from promptdsl.bridges.foreign import Kind, Role, address
from promptdsl.bridges.langchain.words import REASONING, ROLE, langchain

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_FILES = {"image": "image", "audio": "audio", "video": "video", "file": "document"}
_CALLS = ("tool_call", "invalid_tool_call", "tool_use", "function_call", "input_json_delta")


def from_langchain(messages: "Iterable[BaseMessage]") -> Bridged[tuple[Message, ...]]:
    """Return the messages of a LangChain conversation, for a ``History``.

    A system message behind the leading run becomes a developer's that remembers what it was. Raises
    :class:`DataError` for what is no message of a conversation, or holds what JSON cannot say, and
    :class:`PromptError` when ``langchain-core`` is not installed.
    """
    lc, found = langchain(), list[Message]()
    for index, given in enumerate(messages):
        try:
            found.append(_read(lc, given, leading=all(m.role == "system" for m in found[-1:])))
        except DataError as error:
            raise DataError(f"messages[{index}]: {error.what}", fix=error.fix) from None
    return Bridged(tuple(found))


def _read(lc: Any, given: Any, *, leading: bool) -> Message:
    if isinstance(given, lc.ToolMessage):
        answer, failed = _blocks(given), given.status == "error"
        result = ToolResultBlock(given.tool_call_id, answer, given.name, is_error=failed)
        return Message("tool", (result,), kind="recorded")
    if isinstance(given, lc.AIMessage):
        return _read_reply(given)
    if isinstance(given, lc.HumanMessage):
        return Message("user", _blocks(given), kind="recorded", name=given.name)
    if not isinstance(given, lc.SystemMessage):
        fix = "give system, human, AI and tool messages"
        raise DataError(f"a {type(given).__name__} is no message of a conversation", fix=fix)
    developer = given.additional_kwargs.get(ROLE) == "developer"
    role: Role = "developer" if developer or not leading else "system"
    kind: Kind = "recorded" if developer or leading else "recorded_system"
    return Message(role, _blocks(given), kind=kind, name=given.name)


def _read_reply(given: Any) -> Message:
    refusal = given.additional_kwargs.get("refusal")
    refused = (TextBlock(refusal, extra={"refusal": True}),) if refusal else ()
    invalid = [
        ToolUseBlock(call["id"] or "", call["name"] or "", call["args"] or "")
        for call in given.invalid_tool_calls
    ]
    calls = [_read_call(call) for call in given.tool_calls]
    return Message(
        "assistant",
        (*_blocks(given), *refused, *calls, *invalid),
        kind="recorded",
        name=given.name,
        token_usage=given.usage_metadata,
        finish_reason=given.response_metadata.get("finish_reason"),
    )


def _read_call(call: Mapping[str, Any]) -> Block:
    data = {"id": call["id"] or "", "name": call["name"], "input": call["args"]}
    return block_from_dict({"type": "tool_use", **data})


def _blocks(given: Any) -> tuple[Block, ...]:
    """Return what LangChain reads as standard blocks, calls aside, which it also keeps apart."""
    origin = given.response_metadata.get("model_provider")
    parts = [part for part in given.content_blocks if not _is_call(part)]
    blocks = [_read_part(part, origin) for part in parts]
    return tuple(b for b in blocks if type(b) is not TextBlock or b.text)


def _is_call(part: Mapping[str, Any]) -> bool:
    held = part["value"] if part["type"] == "non_standard" else part
    return held.get("type") in _CALLS


def _read_part(part: Mapping[str, Any], origin: str | None) -> Block:
    kind: str = part["type"]
    extras: Mapping[str, Any] = part.get("extras") or {}
    if kind == "non_standard":
        held = part["value"]
        return block_from_dict(held) if held.get("type") == "unknown" else UnknownBlock(held)
    if kind == "reasoning":
        told = {"origin": origin, **{key: extras[key] for key in REASONING if key in extras}}
        return block_from_dict({"type": kind, "text": part.get("reasoning", ""), **told})
    if "text" in part:
        return TextBlock(part["text"])
    if kind not in _FILES:
        return UnknownBlock(part)
    source = {"media_type": part.get("mime_type"), **_read_source(part)}
    more = {"title": extras.get("filename"), "detail": extras.get("detail")}
    return block_from_dict({"type": _FILES[kind], "source": source, **more})


def _read_source(part: Mapping[str, Any]) -> dict[str, Any]:
    if "base64" in part:
        return {"type": "base64", "data": part["base64"]}
    if "file_id" in part:
        return {"type": "file_id", "file_id": part["file_id"]}
    return address(part.get("url"))
