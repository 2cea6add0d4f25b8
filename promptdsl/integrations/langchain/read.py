"""Read LangChain's messages."""

from base64 import b64encode

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from promptdsl import (
    DataError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    block_from_dict,
)
from promptdsl.integrations import Bridged
from promptdsl.integrations.langchain.read_parts import LangChainReader, read_content
from promptdsl.integrations.langchain.reasoning import ROLE, SIGNATURES, read_reasoning
from promptdsl.integrations.values import SIGNATURE, Kind, Role, entries_of, listed


def read(messages: object) -> Bridged[tuple[Message, ...]]:
    """Return the messages of a LangChain conversation; see ``from_langchain``."""
    reader, found = LangChainReader("promptdsl"), list[Message]()
    for index, given in enumerate(listed(messages, "LangChain's messages")):
        with reader.reading(index):
            is_leading = not found or found[-1].role == "system"
            found.append(_read_message(reader, given, is_leading=is_leading))
    return Bridged(tuple(found), reader.checked(strict=False))


def _read_message(reader: LangChainReader, given: object, *, is_leading: bool) -> Message:
    if not isinstance(given, BaseMessage):
        raise _no_message(given)
    metadata = entries_of(given.response_metadata)
    provider, version = metadata.get("model_provider"), metadata.get("output_version")
    reader.provider = provider if isinstance(provider, str) else None
    reader.version = version if isinstance(version, str) else None
    reader.is_reply = isinstance(given, AIMessage)
    match given:
        case AIMessage():
            return _read_reply(reader, given)
        case ToolMessage():
            content = read_content(reader, given.content)
            if given.artifact is not None:
                reader.lose("hint", "the artifact of a result")
            failed = given.status == "error"
            result = ToolResultBlock(given.tool_call_id, content, given.name, is_error=failed)
            return Message("tool", (result,), kind="recorded")
        case HumanMessage():
            content = read_content(reader, given.content)
            return Message("user", content, kind="recorded", name=given.name)
        case SystemMessage():
            is_developer = entries_of(given.additional_kwargs).get(ROLE) == "developer"
            role: Role = "developer" if is_developer or not is_leading else "system"
            kind: Kind = "recorded" if is_developer or is_leading else "recorded_system"
            content = read_content(reader, given.content)
            return Message(role, content, kind=kind, name=given.name)
        case _:
            raise _no_message(given)


def _no_message(given: object) -> DataError:
    fix = "give system, human, AI and tool messages"
    return DataError(f"a {type(given).__name__} is no message of a conversation", fix=fix)


def _read_reply(reader: LangChainReader, given: AIMessage) -> Message:
    blocks = list(read_content(reader, given.content))
    beside = entries_of(given.additional_kwargs)
    # Older messages keep reasoning beside the content: an item of OpenAI Responses, or a text.
    if not any(isinstance(block, ReasoningBlock) for block in blocks):
        item, text = entries_of(beside.get("reasoning")), beside.get("reasoning_content")
        if "summary" in item:
            blocks.insert(0, read_reasoning({"type": "reasoning", **item}, reader.origin))
        elif text and isinstance(text, str):
            blocks.insert(0, ReasoningBlock(text, origin=reader.origin))
    # After the content: a spoken answer, a refusal, and calls with their signatures.
    audio: object = beside.get("audio")
    if isinstance(audio, bytes):
        data = b64encode(audio).decode("ascii")
        source = {"type": "base64", "data": data, "media_type": "audio/wav"}
        blocks.append(block_from_dict({"type": "audio", "source": source}))
    elif audio:
        reader.lose("content", "a spoken answer")
    refusal = beside.get("refusal")
    if refusal:
        blocks.append(TextBlock(str(refusal), extra={"refusal": True}))
    signatures = entries_of(beside.get(SIGNATURES))
    for call in given.tool_calls:
        signature = signatures.get(call["id"] or "")
        signed = {} if signature is None else {SIGNATURE: signature}
        use = {"type": "tool_use", "id": call["id"] or "", "name": call["name"]}
        blocks.append(block_from_dict({**use, "input": call["args"], **signed}))
    for broken in given.invalid_tool_calls:
        if broken.get("error"):
            reader.lose("hint", "the error of a call")
        id = broken["id"] or ""
        signature = signatures.get(id)
        signed = {} if signature is None else {SIGNATURE: signature}
        blocks.append(ToolUseBlock(id, broken["name"] or "", broken["args"] or "", extra=signed))
    metadata = entries_of(given.response_metadata)
    reasons = (metadata.get(key) for key in ("finish_reason", "stop_reason", "stopReason"))
    return Message(
        "assistant",
        tuple(blocks),
        kind="recorded",
        name=given.name,
        token_usage=given.usage_metadata,
        finish_reason=next(filter(None, reasons), None),
    )
