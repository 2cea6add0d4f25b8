"""Write a prompt as the arguments of ``client.chat.completions.create``.

Read ``write`` first: it writes one message after the other, and then chooses the cache marks to
send. The blocks of a message become parts, the parts become the message's param. The functions that
write blocks come last. Each result is a separate message in the payload.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from sys import maxsize
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import EMPTY, mapping_or_empty
from promptdsl.foundation.unicode import is_blank, is_valid_unicode
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.media_type import MediaSource, is_address, plain_type
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Loss, Prompt, hint
from promptdsl.providers.openai_chat.parts import (
    AUDIO,
    ORIGIN,
    ChatRequest,
    media_part,
    needs_bytes,
    reads_back_as_unknown,
    settings_of,
    tools_of,
)
from promptdsl.providers.openai_chat.reasoning import (
    FIELDS,
    call_keys,
    send_reasoning,
    signature_for,
)
from promptdsl.providers.shared.blocks import (
    ITEM,
    LOADER,
    SIGNATURE,
    TEXT_TYPE,
    are_arguments,
    fenced,
    json_copy,
    left_out_as_blank,
    lose_block,
    lose_keys,
    lose_title,
    mended,
    misplaced,
    text_of_arguments,
    text_of_file,
    with_bytes,
)
from promptdsl.providers.shared.cache_marks import take_longest_mark
from promptdsl.providers.shared.memory import CachedWrite, spans_to_write
from promptdsl.providers.shared.openai_parts import (
    MARK,
    add_error_text,
    begin_turn,
    content_of,
    finish_marked_parts,
    first_of_conversation,
    joined,
    marked,
    open_conversation,
    role_of,
    stay_apart,
    takes_lists,
    trim_answer,
)
from promptdsl.providers.shared.reading import why_unknown
from promptdsl.providers.shared.request import OPENING, Location, Param
from promptdsl.providers.shared.two_sided import exact_id, fitting_id, tool_name

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionMessageParam,
        ChatCompletionToolChoiceOptionParam,
        ChatCompletionToolUnionParam,
    )
    from openai.types.shared_params import ResponseFormatJSONSchema

SIGNATURES = "thought_signatures"
"""LiteLLM's key for the signatures of Gemini on the texts of an answer."""
MARK_OF_MESSAGE = {"mark": "message"}
"""The note in ``extra`` of a text whose cache mark was on its message, as at LiteLLM."""
_SPEAKER = re.compile(r"[^\s<|\\/>\ud800-\udfff]{1,64}")
"""The name of a speaker that the service accepts."""
_NO_NAME = "the target takes no speaker's name"
_REFUSED_NAME = "a name has at most 64 characters, no white space and none of < | \\ / >"
_CALLS = frozenset({"function", "custom"})
"""The types of calls."""
_NEXT_TO_CONTENT = _CALLS | {AUDIO}
"""The types of parts that an assistant message has outside of its content."""


class OpenAIPayload(TypedDict):
    """The arguments of ``client.chat.completions.create`` for a prompt."""

    messages: "list[ChatCompletionMessageParam]"
    tools: "NotRequired[list[ChatCompletionToolUnionParam]]"
    tool_choice: "NotRequired[ChatCompletionToolChoiceOptionParam]"
    response_format: "NotRequired[ResponseFormatJSONSchema]"


def write(
    prompt: Prompt, facts: ModelFacts, cached_write: CachedWrite | None = None
) -> tuple[OpenAIPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt and its losses.

    Passes have given each message a role that the target takes.
    """
    request = ChatRequest(prompt, facts)
    tools = tools_of(request) if prompt.tools else []
    loss_index = len(request.losses)
    for start, stop in spans_to_write(request, cached_write):
        _write_messages(request, start, stop)
        open_conversation(request, loss_index)
    _send_leading(request)
    _send_moved_files(request)
    finish_marked_parts(request, tools, lambda _: ("", "content", "tool_calls"))
    trim_answer(request)
    if not facts.user_after_results:
        _answer_results(request)
    payload: Param = {"messages": request.payload_messages}
    if tools:
        payload["tools"] = tools
    if prompt.has_choice_or_output:
        payload |= settings_of(request)
    return cast("OpenAIPayload", payload), request.final_losses()


# Write messages.


def _write_messages(request: ChatRequest, start: int, stop: int) -> None:
    """Write the messages from ``start`` to ``stop``. Common messages take a shortcut."""
    is_plain = _takes_plain_messages(request)
    for index, message in enumerate(request.messages[start:stop], start):
        if index == request.conversation_start:
            _send_leading(request)
        if message.role != "tool":
            _send_moved_files(request)
        plain_message = _plain_message(request, message) if is_plain else None
        if plain_message is None:
            _write_message(request, Location(index, message, message.role))
        else:
            request.payload_messages.append(plain_message)


def _takes_plain_messages(request: ChatRequest) -> bool:
    """Return whether messages of one text, call or result need no further key at this target."""
    facts = request.facts
    needs_keys = facts.signatures or facts.result_names or facts.missing_reasoning is not None
    return not needs_keys and request.notes is None and request.prompt.lone_text != "list"


def _plain_message(request: ChatRequest, message: Message) -> Param | None:
    """Return the param of a message that is one text, call or result, ``None`` for any other.

    This is a shortcut: it writes an agent of 100 steps 1 ms faster.
    """
    role, text = message.role, message._plain
    if message._details is not NO_DETAILS:
        return None
    if text is not None:
        is_plain = role in ("user", "assistant") and text and not text.isspace()
        return {"role": role, "content": text} if is_plain else None
    match message.content:
        case [ToolResultBlock(content=[TextBlock() as inner], is_error=False) as result]:
            if (
                _is_plain(result)
                and _is_plain(inner)
                and role == "tool"
                and not is_blank(inner.text)
            ):
                id = _payload_id(request, result.tool_use_id)
                return {"role": "tool", "tool_call_id": id, "content": inner.text}
        case [ToolUseBlock() as call] if _is_plain(call) and role == "assistant":
            arguments = call.arguments
            is_unchanged = is_valid_unicode(arguments) and are_arguments(arguments)
            if request.tool_names.get(call.name) == call.name and is_unchanged:
                function = {"name": call.name, "arguments": arguments}
                id = _payload_id(request, call.id)
                call_param = {"id": id, "type": "function", "function": function}
                return {"role": "assistant", "content": None, "tool_calls": [call_param]}
        case _:
            pass
    return None


def _is_plain(block: TextBlock | ToolUseBlock | ToolResultBlock) -> bool:
    """Return whether a block has no cache mark and no further key."""
    return block.cache is None and block.extra is EMPTY


def _write_message(request: ChatRequest, location: Location) -> None:
    """Write a message of any kind. Its results are added to the payload before the message."""
    message = location.message
    request.text_signatures, request.message_mark = [], None
    parts = _parts(request, location, message.content)
    if message.role == "assistant":
        _write_answer(request, location, parts)
        return
    if message.role != "tool":
        _send_moved_files(request)
    if not parts:
        return
    role = role_of(request, location, parts)
    is_leading = role != "user" and location.message_index < request.conversation_start
    if is_leading and not request.facts.several_systems:
        if message._details.name is not None:
            request.hint(location, "speaker_name", "name of a speaker", _NO_NAME)
        request.leading_parts += parts
        return
    param: Param = {"role": role, "content": content_of(request, location, parts)}
    _add_keys_of_message(request, location, param)
    if is_leading and request.facts.behind is not None:
        # Behind a gateway, a leading instruction comes before events.
        request.payload_messages.insert(first_of_conversation(request.payload_messages), param)
    else:
        request.payload_messages.append(param)


def _write_answer(request: ChatRequest, location: Location, parts: list[Param]) -> None:
    """Write a message of the assistant: its texts, reasoning, calls and audio."""
    texts = [part for part in parts if part["type"] not in _NEXT_TO_CONTENT]
    calls = [part for part in parts if part["type"] in _CALLS]
    keys: Param = {}
    send_reasoning(request, location, texts, keys, calls=bool(calls))
    param: Param = {"role": "assistant", "content": None, **keys}
    if texts:
        param["content"] = content_of(request, location, texts)
    elif keys and not parts:
        param["content"] = ""  # only a message with calls may have the content ``None``
    elif not parts:
        return
    if calls:
        param["tool_calls"] = calls
    for part in parts:
        if part["type"] == AUDIO:
            param["audio"] = part["audio"]
            request.note_change(part, param["audio"])
    _add_keys_of_message(request, location, param)
    request.payload_messages.append(param)


def _add_keys_of_message(request: ChatRequest, location: Location, param: Param) -> None:
    """Add the signatures of a message's texts, its cache mark and the name of its speaker."""
    signatures, fields = request.text_signatures, param.get(FIELDS, EMPTY)
    if len(signatures) == 1 and isinstance(param["content"], str) and SIGNATURES not in fields:
        param[FIELDS] = {**fields, SIGNATURES: signatures}
    elif signatures:
        why = "only an answer with one text has a field for it"
        request.lose(location, "content", "the signature of a text", why)
    if request.message_mark:
        marked(request, location, request.message_mark, param)
    name = location.message._details.name
    if not name:
        return
    if not request.facts.names:
        request.hint(location, "speaker_name", "name of a speaker", _NO_NAME)
    elif not _SPEAKER.fullmatch(name):
        request.hint(location, "speaker_name", "name of a speaker", _REFUSED_NAME)
    else:
        param["name"] = name


def _send_moved_files(request: ChatRequest) -> None:
    """Send the files that were moved out of results in a user message after the results."""
    if request.moved_files:
        parts = request.take_moved_files({"type": "text"})
        request.payload_messages.append({"role": "user", "content": joined(parts, request)})


def _send_leading(request: ChatRequest) -> None:
    """Send the leading instructions as one message, if the server takes only one."""
    if request.leading_parts:
        parts, request.leading_parts = request.leading_parts, []
        location = Location(0, request.messages[0], "system")
        request.payload_messages.append(
            {"role": "system", "content": content_of(request, location, parts)}
        )


_WHY_ANSWERED = (
    f"the server takes none directly after results, so an answer {OPENING!r} is sent before it"
)


def _answer_results(request: ChatRequest) -> None:
    """Insert an answer between results and a user message: the server refuses this order."""
    params: list[Param] = []
    for param in request.payload_messages:
        if params and params[-1]["role"] == "tool" and param["role"] == "user":
            params.append({"role": "assistant", "content": OPENING})
            request.losses.append(hint("inserted_text", "a user after results", _WHY_ANSWERED))
        params.append(param)
    request.payload_messages = params


# Write blocks.


def _parts(request: ChatRequest, location: Location, blocks: Sequence[Block]) -> list[Param]:
    """Return the parts and the calls of blocks. Each result is added to the payload at once."""
    parts: list[Param] = []
    separator = None
    apart = stay_apart(request, location)
    # If a block is being written already, it is a result, and these are the blocks in it.
    request.result_index = outer_index = request.block_index
    for index, block in enumerate(blocks):
        request.block_index = index
        separator = request.prompt.joints.get((location.message_index, *request.at), separator)
        part = _WRITERS.get(block.type, _lose_type)(request, location, block)
        if part is not None:
            parts.append(part)
            begin_turn(parts, separator, apart=apart)
            separator = None
            request.note(location, block, part)
    request.block_index, request.result_index = outer_index, None
    return parts


def _lose_type(request: ChatRequest, location: Location, block: Block) -> None:
    """Record that the target takes no block of this type at this location."""
    lose_block(request, location, block, misplaced(location))


def _text_part(request: ChatRequest, location: Location, block: TextBlock) -> Param | None:
    """Return the part of a text, a refusal or a spoken answer; ``None`` for a blank text."""
    sent_keys = ["refusal"]
    part = _recording_part(request, location, block.extra.get("audio"))
    if part is not None:
        sent_keys.append("audio")
    elif left_out_as_blank(request, location, block):
        lose_keys(request, location, block, sent_keys=sent_keys)
        return marked(request, location, block.cache, None)
    else:
        kind = _kind_of_text(request, location, block)
        part = {"type": kind, kind: block.text}
    signature = signature_for(block, request.facts)
    if signature and location.role == "assistant" and request.facts.litellm_keys:
        request.text_signatures.append(signature)
        sent_keys.append(SIGNATURE)
    lose_keys(request, location, block, sent_keys=sent_keys)
    if _has_mark_of_message(request, location, block):
        request.message_mark = block.cache
        return part
    return marked(request, location, block.cache, part)


def _kind_of_text(request: ChatRequest, location: Location, block: TextBlock) -> str:
    """Return the type of a text's part: ``refusal`` for a refusal, otherwise ``text``.

    For some models LiteLLM leaves out the refusals of an answer, so there a refusal is a text.
    """
    is_refusal = location.role == "assistant" and block.extra.get("refusal") is True
    takes_refusal = takes_lists(request, location) and not request.facts.model_wire.two_sided
    if is_refusal and takes_refusal:
        return "refusal"
    return "text"


def _has_mark_of_message(request: ChatRequest, location: Location, block: TextBlock) -> bool:
    """Return whether the cache mark of a text goes to its message.

    It does if it was recorded there, and if the message still has only this text.
    """
    if block.extra.get(ITEM) != MARK_OF_MESSAGE or not request.facts.lasting_marks:
        return False
    blocks = location.message.content
    content = [inner for inner in blocks if inner.type not in ("reasoning", "tool_use")]
    return content == [block] and request.prompt.lone_text != "list"


def _recording_part(request: ChatRequest, location: Location, audio: object) -> Param | None:
    """Return the part of a spoken answer: the id of its audio.

    It is ``None`` for a model without audio, and for a second spoken answer in a message.
    """
    id = mapping_or_empty(audio).get("id")
    if not isinstance(id, str) or request.last_audio_message == location.message_index:
        return None
    is_openai = request.dialect.name == ORIGIN
    if not (is_openai and "audio" in request.facts.media and location.role == "assistant"):
        return None
    request.last_audio_message = location.message_index
    return {"type": AUDIO, "audio": {"id": request.clean(location, id, "an id")}}


def _unknown_part(request: ChatRequest, location: Location, block: b.UnknownBlock) -> Param | None:
    if reason := why_unknown(block, *request.facts.origins):
        lose_block(request, location, block, reason)
        return None
    if block.data.get("type") == AUDIO:
        recording = _recording_part(request, location, block.data.get("audio"))
        if recording is None:
            _lose_type(request, location, block)
        return recording
    has_block = not reads_back_as_unknown(block.data, request.dialect.provider_format)
    if has_block or not takes_lists(request, location):
        _lose_type(request, location, block)
        return None
    part = json_copy(dict(block.data))
    if part.pop(MARK, None):
        return marked(request, location, "default", part)
    return part


def _call_part(request: ChatRequest, location: Location, block: ToolUseBlock) -> Param | None:
    if location.role != "assistant":
        _lose_type(request, location, block)
        return None
    name = tool_name(request, location, block.name)
    kind, key = "function", "arguments"
    if block.extra.get("custom") is True and _takes_custom(request):
        kind, key = "custom", "input"
    function = {"name": name, key: text_of_arguments(request, location, block, key)}
    id = _payload_id(request, block.id)
    request.called_tools[id] = name
    keys = call_keys(
        request, location, block, first=request.last_calling_message != location.message_index
    )
    request.last_calling_message = location.message_index
    call = {"id": id, "type": kind, kind: function, **keys}
    return marked(request, location, block.cache, call)


def _takes_custom(request: ChatRequest) -> bool:
    """Return whether a call may have a text instead of arguments.

    A gateway does not take such a call if its model's provider has another format.
    """
    gateway = request.facts.behind
    return gateway is None or gateway.wire.provider_format == request.dialect.provider_format


def _put_reasoning_aside(request: ChatRequest, location: Location, block: b.ReasoningBlock) -> None:
    """Keep the reasoning of an answer until its texts and calls are written."""
    if location.role != "assistant":
        _lose_type(request, location, block)
    else:
        request.pending_reasoning.append((block, request.at[0]))


def _payload_id(request: ChatRequest, id: str) -> str:
    """Return the id that a call and its result have in the payload."""
    facts = request.facts
    if facts.exact_id:
        return exact_id(id, facts.exact_id)
    return fitting_id(id, facts.longest_id or maxsize)


def _write_result(request: ChatRequest, location: Location, block: ToolResultBlock) -> None:
    """Write a result as a tool message. Its content has the role ``result``."""
    if location.role not in ("tool", "user"):
        _lose_type(request, location, block)
        return
    id = _payload_id(request, block.tool_use_id)
    mark_count = len(request.marks)
    result_location = location.with_role("result", mended(id, request.dialect.longest_name))
    parts = _parts(request, result_location, block.content)
    if block.is_error:
        reason = "Chat has no such flag, so the text says it"
        request.hint(location, "error_flag", "the error flag of a result", reason)
        add_error_text(request, parts, block.error_type or "unknown", kind="text")
    param: Param = {"role": "tool", "tool_call_id": id}
    _mark_result(request, location, block, param, parts=parts, mark_count=mark_count)
    lose_keys(request, location, block)
    param["content"] = content_of(request, location.with_role("result"), parts)
    name = _name_of_result(request, location, block, id)
    if name:
        param["name"] = request.clean(location, name, "the name of a tool")
    request.payload_messages.append(param)
    request.note(location, block, param)


def _mark_result(
    request: ChatRequest,
    location: Location,
    block: ToolResultBlock,
    param: Param,
    *,
    parts: list[Param],
    mark_count: int,
) -> None:
    """Set the cache mark of a result on its message, or on its last part.

    A message has one mark, so the marks in a result become one. ``mark_count`` is the number of
    marks before the result. A recorded result keeps the marks on its parts.
    """
    if not request.facts.message_marks:
        last = parts[-1] if parts else None
        marked(request, location, block.cache, last)
        return
    cache: str | None = block.cache
    if location.message.kind != "recorded":
        cache = take_longest_mark(request, mark_count, cache)
        for part in parts:
            part.pop(MARK, None)
    marked(request, location, cache, param)


def _name_of_result(
    request: ChatRequest, location: Location, block: ToolResultBlock, id: str
) -> str | None:
    """Return the name of the tool to send with a result, ``None`` or empty for no name.

    A result that was recorded with a name keeps it, although the SDK has no type for this key.
    """
    facts, message = request.facts, location.message
    name = None
    if facts.litellm_keys or message.kind == "recorded":
        name = message._details.name
    if facts.result_names:
        return request.called_tools.get(id) or name or block.name
    return name


_URL_KEYS = {
    (False, False): None,
    (False, True): None,
    (True, False): "file_data",
    (True, True): "file_id",
}
"""The key for the URL of a document, by two facts: the target takes URLs, and it is LiteLLM.

LiteLLM takes a URL in the key of an id (prompt_templates/factory.py, 1.110).
"""


def _media_part(request: ChatRequest, location: Location, block: b.MediaBlock) -> Param | None:
    """Return the part of an attachment, or of the text that replaces it in a result."""
    facts = request.facts
    if location.role not in ("user", "result"):
        lose_block(request, location, block, misplaced(location))
        return None
    if block.type not in facts.media:
        lose_block(request, location, block, f"this model takes no {block.type}")
        return None
    url_key = _URL_KEYS[facts.file_addresses, facts.litellm_keys]
    part = media_part(block, url_key=url_key)
    if part is None:
        reason = misplaced(location)
        if needs_bytes(block, "user"):
            reason = f"Chat takes no address of one; {LOADER}"
        lose_block(request, location, block, reason)
        return None
    lose_keys(request, location, block)
    _finish_fields(request, location, block, part)
    if location.role == "result" and block.type not in facts.result_media:
        part = {"type": "text", "text": request.move_file(location, block, part)}
    return marked(request, location, block.cache, part)


def _finish_fields(
    request: ChatRequest, location: Location, block: b.MediaBlock, part: Param
) -> None:
    """Replace lone surrogates in an attachment, and record what has no field in the part.

    That may be its title or its detail.
    """
    kind = part["type"]
    fields: dict[str, str] = part[kind]
    if block.title:
        lose_title(request, location, block.title, fields.get("filename", block.title))
    media_type = block.source.media_type
    if request.facts.litellm_keys and media_type and block.source.kind != "base64":
        fields["format"] = media_type
    for key, value in fields.items():
        fields[key] = request.clean(location, value, key)
    reason = f"Chat has no field for it on a part of type {kind!r}"
    if block.title is not None and "filename" not in fields:
        request.hint(location, "media_field", "title", reason)
    if block.detail is not None and "detail" not in fields:
        request.hint(location, "media_field", "detail", reason)


def _document_part(
    request: ChatRequest, location: Location, block: b.DocumentBlock
) -> Param | None:
    """Return a document as a file, or as text if the target takes no files of its type.

    Chat takes only PDF files (documentation of file inputs, trpc-group/trpc-agent-go#1816).
    """
    source = with_bytes(block.source)
    media_type = plain_type(source.media_type)
    text = text_of_file(source)
    is_lost = text is None and block.type not in request.facts.media
    may_have_files = location.role in ("user", "result")
    if is_lost or not may_have_files or _takes_file(request.facts, source):
        return _media_part(request, location, block)
    why = f"the target takes no file of type {media_type!r}"
    if text is None:
        advice = "write its text in UTF-8, send a PDF, or render for openai_responses"
        if is_address(source) and TEXT_TYPE.fullmatch(str(media_type)):
            advice = LOADER
        lose_block(request, location, block, f"{why}; {advice}")
        return None
    lose_keys(request, location, block)
    request.hint(location, "document_as_text", "document block", f"{why}: it is sent as text")
    if block.detail is not None:
        request.hint(location, "media_field", "detail", "a text has none")
    text = fenced("document", text, name=(block.title or "").strip(), type=media_type)
    param = {"type": "text", "text": text}
    request.note(location, block, param, fence="document")
    return marked(request, location, block.cache, param)


def _takes_file(facts: ModelFacts, source: MediaSource) -> bool:
    """Return whether a document is sent as a file: its type is accepted, or unknown here."""
    if facts.document_types is None or source.kind == "file_id":
        return True
    return plain_type(source.media_type) in (None, *facts.document_types)


_WRITERS: Mapping[str, Callable[[ChatRequest, Location, Any], Param | None]] = {  # Any: its block
    "text": _text_part,
    "tool_use": _call_part,
    "tool_result": _write_result,
    "reasoning": _put_reasoning_aside,
    "unknown": _unknown_part,
    **dict.fromkeys(("image", "audio"), _media_part),
    "document": _document_part,
}
"""The functions that write blocks, by type of block. Any other type is a loss."""
