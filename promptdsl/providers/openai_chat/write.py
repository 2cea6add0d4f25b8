"""Write a prompt as the arguments of ``client.chat.completions.create``."""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from sys import maxsize
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import EMPTY, is_mapping
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import Loss, hint
from promptdsl.messages.media.source import is_address, plain_type
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.openai_chat.media import (
    AUDIO,
    media_part,
    needs_bytes,
    reads_back_as_unknown,
)
from promptdsl.providers.openai_chat.thoughts import (
    FIELDS,
    call_keys,
    send_thoughts,
    signature_for,
)
from promptdsl.providers.openai_chat.tools import ORIGIN, ChatRequest, settings_of, tools_of
from promptdsl.providers.shared.blocks import (
    ITEM,
    LOADER,
    SIGNATURE,
    left_out_as_blank,
    lose_block,
    lose_keys,
    misplaced,
)
from promptdsl.providers.shared.cache_marks import longest_mark
from promptdsl.providers.shared.clean import (
    TEXT_TYPE,
    are_arguments,
    fenced,
    json_copy,
    lose_title,
    mended,
    text_of_arguments,
    text_of_file,
    with_bytes,
)
from promptdsl.providers.shared.ids import exact_id, fitting_id, tool_name
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.openai_parts import (
    MARK,
    add_error_text,
    begin_turn,
    content_of,
    finish_marked_parts,
    is_marked,
    joined,
    marked,
    open_conversation,
    parts_at,
    sent_role,
    stay_apart,
    takes_lists,
    trim_answer,
)
from promptdsl.providers.shared.other_providers import why_unknown
from promptdsl.providers.shared.request import OPENING, Location, Param

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionMessageParam,
        ChatCompletionToolChoiceOptionParam,
        ChatCompletionToolUnionParam,
    )
    from openai.types.shared_params import ResponseFormatJSONSchema

SIGNATURES = "thought_signatures"
"""The key of the signatures of Gemini on the texts of an answer, at LiteLLM."""
MARK_OF_MESSAGE = {"mark": "message"}
"""The recorded data of a text whose cache mark was on its message, at LiteLLM."""
_SPEAKER = re.compile(r"[^\s<|\\/>\ud800-\udfff]{1,64}")
"""A name of a speaker that a message may have."""


def _parts(request: ChatRequest, location: Location, blocks: Sequence[Block]) -> list[Param]:
    """Return the parts and calls of blocks. Results are added as messages at once."""
    parts: list[Param] = []
    joints, joint = request.prompt.joints, None
    apart = len(blocks) > 1 and stay_apart(request, location)
    request.result = outer = request.block
    for request.block, block in enumerate(blocks):
        if joints:
            joint = joints.get((location.number, *request.at), joint)
        part = _WRITERS.get(block.type, _lose_type)(request, location, block)
        if part is not None:
            parts.append(part)
            begin_turn(parts, joint, apart=apart)
            joint = None
            if request.notes is not None:
                request.note(location, block, part)
    request.block, request.result = outer, None
    return parts


def _lose_type(request: ChatRequest, location: Location, block: Block) -> None:
    lose_block(request, location, block, misplaced(location))


def _text_part(request: ChatRequest, location: Location, block: TextBlock) -> Param | None:
    audio = block.extra.get("audio")
    part = _recording_part(request, location, audio) if audio else None
    known = ["refusal", "audio"] if part else ["refusal"]
    if part is None and not left_out_as_blank(request, location, block):
        refused = location.role == "assistant" and block.extra.get("refusal") is True
        kind = "refusal" if refused and _takes_refusals(request, location) else "text"
        part = {"type": kind, kind: block.text}
    cache, facts = block.cache, request.facts
    signature = signature_for(block, facts) if facts.litellm_keys else ""
    if part and signature and location.role == "assistant":
        known.append(SIGNATURE)
        request.text_signatures.append(signature)
    if part and _has_mark_of_message(request, location, block):
        request.message_mark, cache = cache, None
    lose_keys(request, location, block, known=known)
    return marked(request, location, cache, part)


def _takes_refusals(request: ChatRequest, location: Location) -> bool:
    """Return whether an answer may have a refusal. LiteLLM leaves it out for some models."""
    behind = request.facts.behind
    return takes_lists(request, location) and not (behind and behind.wire.two_sided)


def _has_mark_of_message(request: ChatRequest, location: Location, block: TextBlock) -> bool:
    """Return whether the cache mark of a text belongs to its message, which has only this text."""
    if block.extra.get(ITEM) != MARK_OF_MESSAGE or not request.facts.lasting_marks:
        return False
    blocks = location.message.content
    content = [sent for sent in blocks if sent.type not in ("reasoning", "tool_use")]
    return content == [block] and request.prompt.lone_text != "list"


def _recording_part(request: ChatRequest, location: Location, audio: object) -> Param | None:
    """Return a spoken answer as the id of its audio, for models with audio; one in a message."""
    facts = request.facts
    is_openai = request.dialect.name == ORIGIN
    able = "audio" in facts.media and is_openai and location.role == "assistant"
    id = audio.get("id") if is_mapping(audio) else None
    if not able or not isinstance(id, str) or request.spoken == location.number:
        return None
    request.spoken = location.number
    return {"type": AUDIO, "audio": {"id": request.clean(location, id, "an id")}}


def _unknown_part(request: ChatRequest, location: Location, block: b.UnknownBlock) -> Param | None:
    if reason := why_unknown(block, *request.facts.origins):
        lose_block(request, location, block, reason)
        return None
    if block.data.get("type") == AUDIO:
        part = _recording_part(request, location, block.data.get("audio"))
    else:
        part = (
            json_copy(dict(block.data))
            if reads_back_as_unknown(block.data, request.dialect.provider_format)
            else None
        )
    if part is None or not (part["type"] == AUDIO or takes_lists(request, location)):
        _lose_type(request, location, block)
        return None
    return marked(request, location, "default" if part.pop(MARK, None) else None, part)


def _call_part(request: ChatRequest, location: Location, block: ToolUseBlock) -> Param | None:
    if location.role != "assistant":
        _lose_type(request, location, block)
        return None
    name = tool_name(request, location, block.name)
    behind = request.facts.behind
    takes_custom = behind is None or behind.wire.provider_format == request.dialect.provider_format
    custom = takes_custom and block.extra.get("custom") is True
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    function = {"name": name, key: text_of_arguments(request, location, block, key)}
    id = _sent_id(request, block.id)
    request.called[id] = name
    keys = call_keys(request, location, block, first=request.calling != location.number)
    request.calling = location.number
    call = {"id": id, "type": kind, kind: function, **keys}
    return marked(request, location, block.cache, call)


def _put_thought_aside(request: ChatRequest, location: Location, block: b.ReasoningBlock) -> None:
    """Put the reasoning of an answer aside, until its texts and calls are written."""
    if location.role != "assistant":
        _lose_type(request, location, block)
    else:
        request.thoughts.append((block, request.block or 0))


def _sent_id(request: ChatRequest, id: str) -> str:
    """Return the id of a call as it is sent, in the call and in its result."""
    exact = request.facts.exact_id
    return exact_id(id, exact) if exact else fitting_id(id, request.facts.longest_id or maxsize)


def _write_result(request: ChatRequest, location: Location, block: ToolResultBlock) -> None:
    if location.role not in ("tool", "user"):
        _lose_type(request, location, block)
        return
    id = _sent_id(request, block.tool_use_id)
    before = len(request.marks)
    parts = _parts(
        request, location.inside("result", mended(id, request.dialect.longest_name)), block.content
    )
    if block.is_error:
        reason = "Chat has no such flag, so the text says it"
        request.hint(location, "error_flag", "the error flag of a result", reason)
        add_error_text(request, parts, block.error_type or "unknown", kind="text")
    entry: Param = {"role": "tool", "tool_call_id": id}
    if request.facts.message_marks and location.message.kind == "recorded":
        # A recorded result has its marks at their locations.
        marked(request, location, block.cache, entry)
    elif request.facts.message_marks:
        marked(request, location, longest_mark(request, before, block.cache), entry)
        for part in parts:
            part.pop(MARK, None)
    else:
        marked(request, location, block.cache, parts[-1] if parts else None)
    lose_keys(request, location, block)
    entry["content"] = content_of(request, location.inside("result"), parts)
    # A result that was recorded with the name of its tool is sent with it; the SDK has no type.
    is_named = request.facts.litellm_keys or location.message.kind == "recorded"
    name = location.message._details.name if is_named else None
    if request.facts.result_names:
        name = request.called.get(id) or name or block.name
    if name:
        entry["name"] = request.clean(location, name, "the name of a tool")
    request.entries.append(entry)
    request.note(location, block, entry)


def _media_part(request: ChatRequest, location: Location, block: b.MediaBlock) -> Param | None:
    able, here = block.type in request.facts.media, location.role in ("user", "result")
    facts, url_key = request.facts, None
    if facts.file_addresses:
        # LiteLLM takes a URL in the key of an id (prompt_templates/factory.py, 1.110).
        url_key = "file_id" if facts.litellm_keys else "file_data"
    part = media_part(block, url_key=url_key) if able and here else None
    if part is None:
        reason = f"this model takes no {block.type}" if here and not able else misplaced(location)
        if able and here and needs_bytes(block, "user"):
            reason = f"Chat takes no address of one; {LOADER}"
        lose_block(request, location, block, reason)
        return None
    lose_keys(request, location, block)
    kind = part["type"]
    fields: dict[str, str] = part[kind]
    if block.title and "filename" in fields:
        lose_title(request, location, block.title, fields["filename"])
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
    if location.role == "result" and block.type not in request.facts.result_media:
        part = {"type": "text", "text": request.move(location, block, part)}
    return marked(request, location, block.cache, part)


def _document_part(
    request: ChatRequest, location: Location, block: b.DocumentBlock
) -> Param | None:
    """Return a document as a file, or as text if files of its type are not taken.

    Chat takes only PDF files (documentation of file inputs, trpc-group/trpc-agent-go#1816).
    """
    facts, source = request.facts, with_bytes(block.source)
    types, media_type = facts.document_types, plain_type(source.media_type)
    text = text_of_file(source)
    is_file = types is None or media_type in (None, *types) or source.kind == "file_id"
    is_lost = text is None and block.type not in facts.media
    if is_file or is_lost or location.role not in ("user", "result"):
        return _media_part(request, location, block)
    why = f"the target takes no file of type {media_type!r}"
    if text is None:
        advice = "write its text in UTF-8, send a PDF, or render for openai_responses"
        is_far = is_address(source) and TEXT_TYPE.fullmatch(str(media_type))
        lose_block(request, location, block, f"{why}; {LOADER if is_far else advice}")
        return None
    lose_keys(request, location, block)
    request.hint(location, "document_as_text", "document block", f"{why}: it is sent as text")
    if block.detail is not None:
        request.hint(location, "media_field", "detail", "a text has none")
    text = fenced("document", text, name=(block.title or "").strip(), type=media_type)
    param = {"type": "text", "text": text}
    request.note(location, block, param, fence="document")
    return marked(request, location, block.cache, param)


_WRITERS: Mapping[str, Callable[[ChatRequest, Location, Any], Param | None]] = {  # Any: its block
    "text": _text_part,
    "tool_use": _call_part,
    "tool_result": _write_result,
    "reasoning": _put_thought_aside,
    "unknown": _unknown_part,
    **dict.fromkeys(("image", "audio"), _media_part),
    "document": _document_part,
}
"""The functions that write blocks, by type of block. Any other type is a loss."""


_CALLS = frozenset({"function", "custom"})
_NEXT_TO_CONTENT = _CALLS | {AUDIO}
"""The types of parts that an assistant message has next to its content."""
_ROLES = frozenset({"system", "user", "assistant"})
"""The roles that have the same name at every target."""


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
    before = len(request.losses)
    for start, stop in cached_write.spans(request) if cached_write else [(0, len(prompt.messages))]:
        _write_messages(request, start, stop)
        open_conversation(request, before)
    entries = request.entries
    if request.leading:
        _send_leading(request)
    if request.moved:
        _send_moved(request)
    if request.marks:
        locations = [
            (index, key)
            for index, entry in enumerate(entries)
            for key in ("", "content", "tool_calls")
            if is_marked(parts_at(entry, key))
        ]
        finish_marked_parts(request, locations, tools)
    trim_answer(request)
    if not facts.user_after_results:
        _answer_results(request)
    payload = {"messages": request.entries, **({"tools": tools} if tools else {})}
    if prompt.has_choice_or_output:
        payload |= settings_of(request)
    return cast("OpenAIPayload", payload), request.final_losses()


def _plain_roles(request: ChatRequest) -> tuple[Container[str], str | None]:
    """Return the roles whose single texts are sent unchanged, and the role of a developer."""
    facts = request.facts
    if request.prompt.lone_text == "list":
        return (), None
    if not (facts.system and facts.later_system is True and facts.several_systems):
        return _ROLES - {"system"}, None
    return _ROLES, "developer" if facts.developer else None


def _write_messages(request: ChatRequest, start: int, stop: int) -> None:
    """Write the messages from ``start`` to ``stop``; the most common ones are written here."""
    entries, legal_names = request.entries, request.legal_names
    facts, has_notes = request.facts, request.notes is not None
    lists = request.prompt.lone_text == "list"
    roles, developer = _plain_roles(request)
    # Ids of an exact length are mended elsewhere.
    longest = 0 if facts.exact_id or facts.result_names else facts.longest_id or maxsize
    are_calls_bare = not facts.signatures and facts.missing_reasoning is None
    for index, message in enumerate(request.messages[start:stop], start):
        role, text = message.role, message._plain
        if request.leading and index >= request.head:
            _send_leading(request)
        if request.moved and role != "tool":
            _send_moved(request)
        alike = role in roles or (role == developer and message.kind != "recorded_system")
        if alike and text and message._details.name is None and not text.isspace():
            entries.append({"role": role, "content": text})
            if has_notes:
                request.note_plain(index, entries[-1])
            continue
        name = message._details.name
        is_named = name is not None and (role != "tool" or not name.isascii())
        bare = text is None and not is_named and not lists
        content = message.content if bare and not has_notes else ()
        block = content[0] if len(content) == 1 else None
        if type(block) is ToolResultBlock and role == "tool" and len(block.content) == 1:
            inner, id = block.content[0], block.tool_use_id
            short = len(id) <= longest and id.isascii() and not block.is_error
            plain = short and block.extra is EMPTY and block.cache is None
            if type(inner) is TextBlock and inner.cache is None and inner.extra is EMPTY:
                text = inner.text
            if plain and text is not None and not text.isspace():
                entries.append({"role": "tool", "tool_call_id": id, "content": text})
                if name and (message.kind == "recorded" or facts.litellm_keys):
                    entries[-1]["name"] = name
                continue
        elif type(block) is ToolUseBlock and role == "assistant" and block.name in legal_names:
            id, arguments = block.id, block.arguments
            short = len(id) <= longest and id.isascii() and is_valid_unicode(arguments)
            plain = short and block.cache is None and block.extra is EMPTY and are_calls_bare
            if plain and are_arguments(arguments):
                function = {"name": block.name, "arguments": arguments}
                call = {"id": id, "type": "function", "function": function}
                entries.append({"role": "assistant", "content": None, "tool_calls": [call]})
                continue
        _write_message(request, Location(index, message, role))


def _send_moved(request: ChatRequest) -> None:
    """Send the files that were moved out of results in a user message after the results."""
    parts = request.take_moved({"type": "text"})
    request.entries.append({"role": "user", "content": joined(parts, request)})


def _send_leading(request: ChatRequest) -> None:
    """Send the leading instructions as one message, because the server takes only one."""
    parts, request.leading = request.leading, []
    location = Location(0, request.messages[0], "system")
    request.entries.append({"role": "system", "content": content_of(request, location, parts)})


def _answer_results(request: ChatRequest) -> None:
    """Insert an answer between results and a user message, which the server refuses there."""
    entries: list[Param] = []
    for entry in request.entries:
        if entries and entries[-1]["role"] == "tool" and entry["role"] == "user":
            entries.append({"role": "assistant", "content": OPENING})
            request.losses.append(hint("inserted_text", "a user after results", _WHY_ANSWERED))
        entries.append(entry)
    request.entries = entries


_WHY_ANSWERED = (
    f"the server takes none directly after results, so an answer {OPENING!r} is sent before it"
)


_NO_NAME = "the target takes no speaker's name"


def _write_message(request: ChatRequest, location: Location) -> None:
    message = location.message
    request.text_signatures, request.message_mark = [], None
    parts = _parts(request, location, message.content)
    if request.moved and message.role != "tool":
        _send_moved(request)
    if not (parts or request.thoughts):
        return
    role = "assistant" if message.role == "assistant" else sent_role(request, location, parts)
    texts = [part for part in parts if part["type"] not in _NEXT_TO_CONTENT]
    if role != "user" and location.number < request.head and not request.facts.several_systems:
        if message._details.name is not None:
            request.hint(location, "speaker_name", "name of a speaker", _NO_NAME)
        request.leading += texts
        return
    calls = [part for part in parts if part["type"] in _CALLS]
    keys: Param = {}
    if role == "assistant":
        send_thoughts(request, location, texts, keys, calls=bool(calls))
    if not (texts or calls or keys or parts):
        return
    content = content_of(request, location, texts) if texts else None
    if content is None and not (calls or parts):
        content = ""
    entry: Param = {"role": role, "content": content, **keys}
    if calls:
        entry["tool_calls"] = calls
    for part in parts:
        if part["type"] == AUDIO:
            entry["audio"] = part["audio"]
            request.note_change(part, entry["audio"])
    _add_keys_of_message(request, location, entry)
    entries = request.entries
    leads = request.facts.behind is not None and role != "user" and location.number < request.head
    # Behind LiteLLM a leading instruction stays before events.
    roles = (sent["role"] for sent in entries)
    spoken = (n for n, role in enumerate(roles) if role not in ("system", "developer"))
    entries.insert(next(spoken, len(entries)) if leads else len(entries), entry)


def _add_keys_of_message(request: ChatRequest, location: Location, entry: Param) -> None:
    """Add the signatures of the texts in a message, its cache mark and its speaker's name."""
    signatures, fields = request.text_signatures, entry.get(FIELDS, EMPTY)
    if len(signatures) == 1 and isinstance(entry["content"], str) and SIGNATURES not in fields:
        entry[FIELDS] = {**fields, SIGNATURES: signatures}
    elif signatures:
        why = "only an answer with one text has a field for it"
        request.lose(location, "content", "the signature of a text", why)
    if request.message_mark:
        marked(request, location, request.message_mark, entry)
    name = location.message._details.name
    if name and request.facts.names and _SPEAKER.fullmatch(name):
        entry["name"] = name
    elif name:
        reason = _NO_NAME
        if request.facts.names:
            reason = "a name has at most 64 characters, no white space and none of < | \\ / >"
        request.hint(location, "speaker_name", "name of a speaker", reason)
