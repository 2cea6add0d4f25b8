"""Write a prompt as the arguments of ``client.responses.create``.

Read ``write`` first. Each call and each result is an item. A ``ContentDraft`` (``parts.py``) keeps
the texts and attachments of a message until they are sent as one item.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.prompt import Loss, Prompt
from promptdsl.providers.openai_responses.parts import (
    OPAQUE_ITEMS,
    REASONING_KEYS,
    ContentDraft,
    Items,
    call_id,
    identity,
    is_new_id,
    is_of_responses,
    keeps_id,
    media_part,
    needs_bytes,
    origin_of,
    result_id,
    settings_of,
    tools_of,
)
from promptdsl.providers.shared.blocks import (
    is_sendable,
    json_copy,
    left_out_as_blank,
    lose_block,
    lose_keys,
    lose_mark,
    lose_reasoning,
    lose_source,
    lose_title,
    misplaced,
    text_of_arguments,
)
from promptdsl.providers.shared.memory import CachedWrite, spans_to_write
from promptdsl.providers.shared.openai_parts import (
    MARK,
    SEPARATOR,
    add_error_text,
    as_recorded,
    begin_turn,
    finish_marked_parts,
    is_current,
    joined,
    marked,
    open_conversation,
    role_of,
    stay_apart,
    trim_answer,
    why_foreign,
)
from promptdsl.providers.shared.reading import why_unknown
from promptdsl.providers.shared.request import Location, Param, joined_texts
from promptdsl.providers.shared.two_sided import tool_name

if TYPE_CHECKING:
    from openai.types.responses import ResponseInputParam, ResponseTextConfigParam, ToolParam
    from openai.types.responses.response_create_params import ToolChoice


class ResponsesPayload(TypedDict):
    """The arguments of ``responses.create`` for a prompt; only ``input`` is always set."""

    input: "ResponseInputParam"
    tools: "NotRequired[list[ToolParam]]"
    tool_choice: "NotRequired[ToolChoice]"
    text: "NotRequired[ResponseTextConfigParam]"
    instructions: NotRequired[str]


_TYPES: Mapping[str, frozenset[str]] = {
    "system": frozenset({"text", "unknown"}),
    "developer": frozenset({"text", "unknown", "reasoning"}),
    "user": frozenset({"text", "unknown", "reasoning", "tool_result", "image", "document"}),
    "tool": frozenset({"unknown", "reasoning", "tool_result"}),
    "assistant": frozenset({"text", "unknown", "reasoning", "tool_use"}),
    "result": frozenset({"text", "unknown", "image", "document"}),
}
"""By the role of a location, the types of blocks that are sent."""

_MARKED_KEYS: Mapping[str | None, tuple[str, ...]] = {
    None: ("content",),
    **dict.fromkeys(("function_call_output", "custom_tool_call_output"), ("output",)),
}
"""By type of item, the key of the parts that may have a cache mark. A message has no type."""


def write(
    prompt: Prompt, facts: ModelFacts, cached_write: CachedWrite | None = None
) -> tuple[ResponsesPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt and its losses.

    Passes have given each message a role that the target takes.
    """
    request = Items(prompt, facts)
    tools = tools_of(request) if prompt.tools else []
    loss_index = len(request.losses)
    for start, stop in spans_to_write(request, cached_write):
        for index, message in enumerate(request.messages[start:stop], start):
            role, text = message.role, message._plain
            # Most messages consist of one text. They are written here, without calling a function.
            has_no_details = message._details is NO_DETAILS and role in ("user", "assistant")
            if text and has_no_details and not text.isspace():
                request.payload_messages.append({"role": role, "content": text})
                request.note_plain(index, request.payload_messages[-1])
            else:
                _write_message(request, Location(index, message, role))
        open_conversation(request, loss_index)
    trim_answer(request)
    settings = settings_of(request) if prompt.has_choice_or_output else {}
    finish_marked_parts(request, [], lambda item: _MARKED_KEYS.get(item.get("type"), ()))
    if prompt.stored is not None and prompt.stored.instructions:
        settings |= _instructions(request)
    payload: Param = {"input": request.payload_messages}
    if tools:
        payload["tools"] = tools
    return cast("ResponsesPayload", payload | settings), request.final_losses()


def _instructions(request: Items) -> Param:
    """Remove the first system message, and return it as instructions.

    The server does not store instructions with a conversation.
    """
    first = request.payload_messages[0] if request.payload_messages else {}
    if first.get("role") != "system":
        return {}
    del request.payload_messages[0]
    content = first["content"]
    if isinstance(content, str):
        return {"instructions": content}
    return {"instructions": joined_texts(SEPARATOR, content, request.notes)}


def _write_message(request: Items, location: Location) -> None:
    """Write a message. Each call and each result is an item. The other parts become one item."""
    message = location.message
    if message._details.name is not None and message.role != "tool":
        request.hint(
            location, "speaker_name", "name of a speaker", "the target takes no speaker's name"
        )
    draft = ContentDraft(location)
    _write_blocks(request, draft, message.content)
    _send_parts(request, draft)
    _drop_reasoning(request, draft, "the service refuses it without the item that it produced")


def _drop_reasoning(request: Items, draft: ContentDraft, why: str) -> None:
    """Drop the pending reasoning, with a hint for each block.

    The service refuses reasoning without the item that it produced. A text without its recorded id
    is not such an item (mastra-ai/mastra#11103).
    """
    for _, block in draft.pending_reasoning:
        request.hint(draft.location, "unsent_reasoning", "reasoning", why, at=block)
    draft.pending_reasoning = []


def _write_blocks(request: Items, draft: ContentDraft, blocks: Iterable[b.Block]) -> None:
    """Write the blocks of a message or a result: into the draft, or as items of the payload."""
    location, separator = draft.location, None
    apart = stay_apart(request, location)
    # If a block is being written already, it is a result, and these are the blocks in it.
    request.result_index = outer_index = request.block_index
    for index, block in enumerate(blocks):
        request.block_index = index
        separator = request.prompt.joints.get((location.message_index, *request.at), separator)
        if block.type not in _TYPES[location.role]:
            lose_block(request, location, block, misplaced(location))
            continue
        param = _WRITERS[block.type](request, draft, block)
        if param is None:
            continue
        if draft.origin:
            separator = None
        begin_turn(draft.parts, separator, apart=apart)
        separator = None
        request.note(location, block, param)
    request.block_index, request.result_index = outer_index, None


def _send_parts(request: Items, draft: ContentDraft) -> None:
    """Add the parts of a draft to the payload as one message, and empty the draft.

    A message of the model whose id is sent keeps its recorded parts and keys.
    """
    location, parts = draft.location, draft.parts
    if not parts:
        return
    draft.parts = []
    if location.message.role == "assistant":
        binds = request.facts.reasoning_back == "never"
        if binds and not keeps_id(request, "message", draft.origin, draft.pending_ids):
            _drop_reasoning(request, draft, "the text after it is sent without its id")
        _send_reasoning(request, draft)
        annotated, draft.annotated = draft.annotated, []
        recorded_keys = identity(request, "message", draft.origin)
        if "id" in recorded_keys:
            item = {"type": "message", "status": "completed", **recorded_keys}
            recorded = as_recorded(parts, request)
            request.payload_messages.append({**item, "role": "assistant", "content": recorded})
            return
        for block in annotated:
            reason = "they are sent only in the message in which they were recorded"
            request.hint(location, "unsent_key", "annotations", reason, at=block)
        for part in parts:
            if part.get("annotations"):
                part["annotations"] = []
        content = joined(parts, request)
        request.payload_messages.append({"role": "assistant", "content": content, **recorded_keys})
        return
    role = role_of(request, location, parts)
    request.payload_messages.append({"role": role, "content": joined(parts, request)})


def _send_reasoning(request: Items, draft: ContentDraft) -> None:
    """Add the pending reasoning to the payload, before the item that it produced."""
    for reasoning, _ in draft.pending_reasoning:
        request.payload_messages.append(reasoning)
        if "id" in reasoning:
            request.ids.add(reasoning["id"])
    draft.pending_reasoning = []


def _add_text(request: Items, draft: ContentDraft, block: b.TextBlock) -> Param | None:
    """Add a text or a refusal to the draft; return its part, ``None`` for a blank text."""
    location = draft.location
    if location.role != "assistant":
        lose_keys(request, location, block, sent_keys=("refusal",))
        if left_out_as_blank(request, location, block):
            return marked(request, location, block.cache, None)
        text: Param = {"type": "input_text", "text": block.text}
        draft.parts.append(text)
        return marked(request, location, block.cache, text)
    lose_keys(request, location, block, sent_keys=("refusal", "annotations"))
    marked(request, location, block.cache, None)
    origin = origin_of(block)
    # Reasoning needs its message with the recorded id. Such a message is sent unchanged, so a blank
    # text in it stays.
    begins = origin != draft.origin
    is_repeated = begins and bool(draft.parts) and origin.get("id") == draft.origin.get("id")
    stays_blank = not is_repeated and keeps_id(request, "message", origin, draft.pending_ids)
    if not stays_blank and left_out_as_blank(request, location, block):
        return None
    # A text of the model stays in the message in which it was recorded.
    if begins:
        _send_parts(request, draft)
    draft.origin = origin
    part: Param = {"type": "refusal", "refusal": block.text}
    if block.extra.get("refusal") is not True:
        annotations = json_copy(block.extra.get("annotations") or [])
        part = {"type": "output_text", "text": block.text, "annotations": annotations}
        if annotations:
            draft.annotated.append(request.at)
    draft.parts.append(part)
    return part


def _add_attachment(
    request: Items, draft: ContentDraft, block: b.ImageBlock | b.DocumentBlock
) -> Param | None:
    """Add an attachment to the draft; return its part, ``None`` (a loss) if it is refused."""
    location = draft.location
    if location.role == "result" and not request.facts.result_media:
        lose_block(request, location, block, f"this model takes no {block.type} in a tool result")
        return None
    if block.type not in request.facts.media:
        lose_block(request, location, block, f"this model takes no {block.type}")
        return None
    part = media_part(block)
    if part is None:
        loadable = needs_bytes(block, location.message.role)
        reason = "its source or its media type is not taken"
        lose_source(request, location, block, reason, loadable=loadable)
        lose_mark(request, location, block)
        return None
    lose_keys(request, location, block)
    if block.title:
        lose_title(request, location, block.title, part.get("filename", block.title))
    if block.title and "filename" not in part:
        reason = f"a part of type {part['type']} has no title"
        request.hint(location, "media_field", "title", reason)
    if block.detail not in (None, "auto", part.get("detail")):
        reason = f"a part of type {part['type']} has no detail {block.detail!r}"
        request.hint(location, "media_field", "detail", reason)
    clean: Param = {key: request.clean(location, value, key) for key, value in part.items()}
    marked(request, location, block.cache, clean)
    draft.parts.append(clean)
    return clean


def _add_tool_call(request: Items, draft: ContentDraft, block: b.ToolUseBlock) -> Param:
    """Add a call to the payload as an item, after the parts and the reasoning before it."""
    location = draft.location
    custom = block.extra.get("custom") is True
    kind, key = ("custom_tool_call", "input") if custom else ("function_call", "arguments")
    name = tool_name(request, location, block.name)
    marked(request, location, block.cache, {})
    lose_keys(request, location, block, sent_keys=("custom",))
    _send_parts(request, draft)
    _send_reasoning(request, draft)
    call = {"name": name, key: text_of_arguments(request, location, block, key)}
    recorded_keys = identity(request, kind, origin_of(block))
    id = call_id(request, location, block.id)
    if custom:
        request.customs.add(id)
    if "caller" in recorded_keys:
        request.callers[id] = recorded_keys["caller"]
    item = {"type": kind, "call_id": id, **call, **recorded_keys}
    request.payload_messages.append(item)
    return item


def _add_tool_result(request: Items, draft: ContentDraft, block: b.ToolResultBlock) -> Param:
    """Add a result to the payload as an item."""
    id = result_id(request, block.tool_use_id)
    custom = id in request.customs
    kind = "custom_tool_call_output" if custom else "function_call_output"
    recorded_keys = identity(request, kind, origin_of(block))
    # If a program made the call, its result names the program (``FunctionCallOutput.caller``).
    if id in request.callers:
        recorded_keys = {"caller": json_copy(request.callers[id]), **recorded_keys}
    inner = ContentDraft(draft.location.with_role("result"))
    _write_blocks(request, inner, block.content)
    parts = inner.parts
    if block.is_error:
        reason = "the target has no such flag, so the text says it"
        request.hint(inner.location, "error_flag", "error flag", reason)
        add_error_text(request, parts, block.error_type or "unknown", kind="input_text")
    last = parts[-1] if parts else None
    marked(request, draft.location, block.cache, last)
    lose_keys(request, draft.location, block)
    output = joined(parts, request)
    item = {"type": kind, "call_id": id, "output": output, **recorded_keys}
    request.payload_messages.append(item)
    return item


def _add_reasoning(request: Items, draft: ContentDraft, block: b.ReasoningBlock) -> Param | None:
    """Add unchanged reasoning to the draft. It is sent before the item that it produced.

    If it cannot be sent unchanged, this records a hint and returns ``None``.
    """
    location, id = draft.location, block.extra.get("id")
    if reason := _why_unsent(request, draft, block):
        lose_reasoning(request, location, block, reason)
        return None
    item: Param = {"type": "reasoning"}
    if id is not None:
        item["id"] = id
    item["summary"] = []
    if block.text:
        item["summary"] = [{"type": "summary_text", "text": block.text}]
    if block.encrypted is not None:
        item["encrypted_content"] = block.encrypted
    item |= {key: block.extra[key] for key in REASONING_KEYS if key in block.extra}
    lose_keys(request, location, block, sent_keys=REASONING_KEYS)
    if not is_sendable(request, location, json.dumps(item, ensure_ascii=False)):
        return None
    _send_parts(request, draft)
    reasoning: Param = json_copy(item)
    draft.pending_reasoning.append((reasoning, request.at))
    return reasoning


def _why_unsent(request: Items, draft: ContentDraft, block: b.ReasoningBlock) -> str:
    """Return why reasoning is not sent, empty if it is. Only OpenAI requires an id."""
    facts, id = request.facts, block.extra.get("id")
    needs_no_id = id is None and facts.reasoning_back != "never"
    is_new = is_new_id(request, "reasoning", id) and id not in draft.pending_ids
    if draft.location.message.role != "assistant" or not (is_new or needs_no_id):
        return _NO_ITEM
    if why_refused := why_foreign(request, block):
        return why_refused
    if not is_current(request, draft.location):
        return f"{facts.provider} takes only reasoning of the current turn"
    return ""


_NO_ITEM = "it is not an item of this service, or was sent already"


def _add_unknown(request: Items, draft: ContentDraft, block: b.UnknownBlock) -> Param | None:
    """Add an unknown block unchanged: a part to the draft, or an item to the payload."""
    location, data = draft.location, block.data
    has_item_type = OPAQUE_ITEMS.fullmatch(str(data.get("type"))) is not None
    as_item = location.role in ("tool", "assistant") or (
        has_item_type and location.role != "result"
    )
    if reason := why_unknown(block, *request.facts.origins):
        lose_block(request, location, block, reason)
        return None
    if not is_of_responses(data, as_item=as_item):
        lose_block(request, location, block, misplaced(location))
        return None
    param: Param = json_copy(dict(data))
    if not as_item:
        if param.pop(MARK, None):
            marked(request, location, "default", param)
        draft.parts.append(param)
        return param
    # The service refuses a second item with the same id.
    id = param.get("id")
    used_ids = (*request.ids, draft.origin.get("id"), *draft.pending_ids)
    if isinstance(id, str) and id in used_ids:
        kind, reason = param.get("type") or "item_reference", "an item with its id was sent already"
        request.hint(location, "repeated_item", f"{kind} block", reason)
        return None
    _send_parts(request, draft)
    _send_reasoning(request, draft)
    if isinstance(id, str):
        request.ids.add(id)
    request.payload_messages.append(param)
    return param


_WRITERS: Mapping[str, Callable[[Items, ContentDraft, Any], Param | None]] = {  # Any: its block
    "text": _add_text,
    "tool_use": _add_tool_call,
    "tool_result": _add_tool_result,
    "reasoning": _add_reasoning,
    "image": _add_attachment,
    "document": _add_attachment,
    "unknown": _add_unknown,
}
"""By type of block, the function that writes it. It returns the part or the item that it added."""
