"""Reading: LangChain's messages become ours."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs

from promptdsl import (
    Block,
    DataError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    block_from_dict,
)
from promptdsl.integrations import Bridged
from promptdsl.integrations.langchain.read_parts import Reading, has_reasoning, read_content
from promptdsl.integrations.langchain.reasoning import ROLE, SIGNATURES, langchain, read_thought
from promptdsl.integrations.values import SIGNATURE, Kind, Role, entries_of, listed

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_FINISHED = ("finish_reason", "stop_reason", "stopReason")


def from_langchain(messages: "Iterable[BaseMessage]") -> Bridged[tuple[Message, ...]]:
    """Return the messages of a LangChain conversation, for a ``History``.

    A system message behind the leading run becomes a developer's that remembers what it was. What
    has no form here is in ``losses``. Raises :class:`DataError` for what is no message of a
    conversation, or holds what JSON cannot say, and :class:`PromptError` when ``langchain-core`` is
    not installed.
    """
    r, found = Reading("promptdsl"), list[Message]()
    r.lc = langchain()
    for r.index, given in enumerate(listed(messages, "LangChain's messages")):
        try:
            found.append(_read(r, given, leading=all(m.role == "system" for m in found[-1:])))
        except DataError as error:
            raise DataError(f"messages[{r.index}]: {error.what}", fix=error.fix) from None
    return Bridged(tuple(found), r.checked(strict=False))


def _read(r: Reading, given: Any, *, leading: bool) -> Message:
    lc = r.lc
    if not isinstance(given, lc.ToolMessage | lc.AIMessage | lc.HumanMessage | lc.SystemMessage):
        fix = "give system, human, AI and tool messages"
        raise DataError(f"a {type(given).__name__} is no message of a conversation", fix=fix)
    r.provider = given.response_metadata.get("model_provider")
    r.version = given.response_metadata.get("output_version")
    r.replied = isinstance(given, lc.AIMessage)
    if r.replied:
        return _reply(r, given)
    blocks = read_content(r, given.content)
    if isinstance(given, lc.ToolMessage):
        return _answer(r, given, blocks)
    if isinstance(given, lc.HumanMessage):
        return Message("user", blocks, kind="recorded", name=given.name)
    developer = given.additional_kwargs.get(ROLE) == "developer"
    role: Role = "developer" if developer or not leading else "system"
    kind: Kind = "recorded" if developer or leading else "recorded_system"
    return Message(role, blocks, kind=kind, name=given.name)


def _answer(r: Reading, given: Any, blocks: tuple[Block, ...]) -> Message:
    if given.artifact is not None:
        r.lose("hint", "the artifact of a result")
    failed = given.status == "error"
    result = ToolResultBlock(given.tool_call_id, blocks, given.name, is_error=failed)
    return Message("tool", (result,), kind="recorded")


def _reply(r: Reading, given: Any) -> Message:
    beside, said = given.additional_kwargs, given.response_metadata
    blocks = read_content(r, given.content)
    thoughts = () if has_reasoning(blocks) else _thoughts(r, beside)
    refusal = beside.get("refusal")
    refused = (TextBlock(refusal, extra={"refusal": True}),) if refusal else ()
    signatures = entries_of(beside.get(SIGNATURES))
    calls = [_call(call, signatures.get(call["id"])) for call in given.tool_calls]
    invalid = [_invalid(r, call, signatures.get(call["id"])) for call in given.invalid_tool_calls]
    return Message(
        "assistant",
        (*thoughts, *blocks, *_spoken(r, beside.get("audio")), *refused, *calls, *invalid),
        kind="recorded",
        name=given.name,
        token_usage=given.usage_metadata,
        finish_reason=next((said[key] for key in _FINISHED if said.get(key)), None),
    )


def _thoughts(r: Reading, beside: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return what older messages keep beside their content of what a model thought."""
    item, text = beside.get("reasoning"), beside.get("reasoning_content")
    if isinstance(item, Mapping) and "summary" in item:
        told = cast("Mapping[str, Any]", item)
        return (read_thought({"type": "reasoning", **told}, r.origin),)
    return (ReasoningBlock(text, origin=r.origin),) if text and isinstance(text, str) else ()


def _spoken(r: Reading, audio: Any) -> tuple[Block, ...]:
    if isinstance(audio, bytes):
        data = b64encode(audio).decode("ascii")
        source = {"type": "base64", "data": data, "media_type": "audio/wav"}
        return (block_from_dict({"type": "audio", "source": source}),)
    if audio:
        r.lose("content", "a spoken answer")
    return ()


def _call(call: Mapping[str, Any], signature: str | None) -> Block:
    data = {"id": call["id"] or "", "name": call["name"], "input": call["args"]}
    return _signed(block_from_dict({"type": "tool_use", **data}), signature)


def _invalid(r: Reading, call: Mapping[str, Any], signature: str | None) -> Block:
    if call.get("error"):
        r.lose("hint", "the error of a call")
    block = ToolUseBlock(call["id"] or "", call["name"] or "", call["args"] or "")
    return _signed(block, signature)


def _signed(block: Any, signature: str | None) -> Block:
    signed = {} if signature is None else {"extra": {SIGNATURE: signature}}
    return cast("Block", attrs.evolve(block, **signed))
