"""Writing: a prompt becomes the arguments of a request."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.loss import Loss, LossKind
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.openai_chat.marks import write_marks
from promptdsl.providers.openai_chat.media import media_part
from promptdsl.providers.openai_chat.request import LONGEST_ID, Chat, fitting_id, is_speaker
from promptdsl.providers.openai_chat.rules import AUDIO, ORIGIN, is_own_part, lose_keys
from promptdsl.providers.openai_chat.tools import LONGEST_NAME, settings_of, tools_of
from promptdsl.providers.shared.blocks import lose_mark
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import tool_name
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.openai_parts import (
    MARK,
    joined,
    marked,
    tell_error,
)
from promptdsl.providers.shared.request import Param, Place

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionMessageParam,
        ChatCompletionToolChoiceOptionParam,
        ChatCompletionToolUnionParam,
    )
    from openai.types.shared_params import ResponseFormatJSONSchema


def _parts(request: Chat, place: Place, blocks: Sequence[Block]) -> list[Param]:
    """Return parts and calls; results become messages at once."""
    written = [_WRITERS.get(block.type, _unsaid)(request, place, block) for block in blocks]
    return [part for part in written if part is not None]


def _unsaid(request: Chat, place: Place, block: Block, why: str = "") -> None:
    kind: LossKind = "hint" if block.type == "reasoning" else "content"
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    why = why or f"a Chat {place.role} message has no word for it"
    request.lose(place, kind, f"a block of type {what!r}", why)
    lose_mark(request, place, block)


def _text(request: Chat, place: Place, block: TextBlock) -> Param | None:
    spoken = block.extra.get("audio")
    part = _audio(request, place, spoken) if spoken else None
    if part is None:
        key = (
            "refusal"
            if place.role == "assistant" and block.extra.get("refusal") is True
            else "text"
        )
        part = {"type": key, key: block.text} if block.text else None
    lose_keys(
        request, place, block, ("refusal", "audio") if part and part["type"] == AUDIO else _REFUSAL
    )
    return marked(request, place, block.cache, part)


_REFUSAL = ("refusal",)


def _audio(request: Chat, place: Place, said: object) -> Param | None:
    """Return a spoken answer as the id of its recording, one in a message and only where it is."""
    facts = request.facts
    able = (
        "audio" in facts.media
        and facts.provider != "openai_compatible"
        and place.role == "assistant"
    )
    id = cast("Mapping[str, Any]", said).get("id") if isinstance(said, Mapping) else None
    if not able or not isinstance(id, str) or request.spoken == place.number:
        return None
    request.spoken = place.number
    return {"type": AUDIO, "audio": {"id": request.clean(place, id, "an id")}}


def _unknown(request: Chat, place: Place, block: b.UnknownBlock) -> Param | None:
    if block.origin not in (None, ORIGIN):
        _unsaid(request, place, block, f"only {block.origin} knows it")
        return None
    if block.data.get("type") == AUDIO:
        part = _audio(request, place, block.data.get("audio"))
    else:
        part = json_copy(dict(block.data)) if is_own_part(block.data) else None
    if part is None:
        _unsaid(request, place, block)
        return None
    return marked(request, place, "default" if part.pop(MARK, None) else None, part)


def _call(request: Chat, place: Place, block: ToolUseBlock) -> Param | None:
    if place.role != "assistant":
        _unsaid(request, place, block)
        return None
    name = tool_name(request, place, block.name, longest=LONGEST_NAME)
    custom = block.extra.get("custom") is True
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    made = {"name": name, key: request.clean(place, block.arguments, key)}
    call = {"id": fitting_id(block.id), "type": kind, kind: made}
    lose_keys(request, place, block, ("custom",))
    return marked(request, place, block.cache, call)


def _result(request: Chat, place: Place, block: ToolResultBlock) -> None:
    if place.role not in ("tool", "user"):
        _unsaid(request, place, block)
        return
    parts = _parts(request, place.inside("result"), block.content)
    if block.is_error:
        request.lose(place, "hint", "the error flag of a result", "Chat has none: the text says it")
        tell_error(parts, block.error_type or "unknown", kind="text")
    marked(request, place, block.cache, parts[-1] if parts else None)
    lose_keys(request, place, block)
    id = fitting_id(block.tool_use_id)
    request.entries.append({"role": "tool", "tool_call_id": id, "content": joined(parts)})


def _media(request: Chat, place: Place, block: b.MediaBlock) -> Param | None:
    able = block.type in request.facts.media
    part = media_part(block) if able and place.role == "user" else None
    if part is None:
        why = "" if able or place.role != "user" else "this model takes none"
        _unsaid(request, place, block, why)
        return None
    lose_keys(request, place, block)
    said = cast("dict[str, str]", part[part["type"]])
    for key, value in said.items():
        said[key] = request.clean(place, value, key)
    why = f"Chat has no word for it on a part of type {part['type']!r}"
    if block.title is not None and "filename" not in said:
        request.lose(place, "hint", f"the title {block.title!r}", why)
    if block.detail is not None and "detail" not in said:
        request.lose(place, "hint", f"the detail {block.detail!r}", why)
    return marked(request, place, block.cache, part)


_WRITERS: Mapping[str, Callable[[Chat, Place, Any], Param | None]] = {
    "text": _text,
    "tool_use": _call,
    "tool_result": _result,
    "unknown": _unknown,
    **dict.fromkeys(("image", "audio", "document"), _media),
}
"""What writes each type of block; any other is a loss."""

_CALLS = frozenset({"function", "custom"})
_BESIDE = _CALLS | {AUDIO}
"""What of an assistant's message stands beside its content."""
_ROLES = frozenset({"system", "user", "assistant"})
"""The roles that have the same name on every wire."""


class OpenAIPayload(TypedDict):
    """What ``client.chat.completions.create`` takes of a prompt; ``messages`` is always there."""

    messages: "list[ChatCompletionMessageParam]"
    tools: "NotRequired[list[ChatCompletionToolUnionParam]]"
    tool_choice: "NotRequired[ChatCompletionToolChoiceOptionParam]"
    response_format: "NotRequired[ResponseFormatJSONSchema]"


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[OpenAIPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what Chat cannot say of it.

    With a ``recall`` some of the payload is remembered, and must not be changed.
    """
    request = Chat(prompt, facts)
    tools = tools_of(request) if prompt.tools else []
    for start, stop in recall.spans(request) if recall else [(0, len(prompt.messages))]:
        _write_messages(request, start, stop)
    if not request.entries:
        request.losses.append(Loss("hint", "messages", "there are none, a request needs one"))
    if request.marks:
        write_marks(request)
    payload = {"messages": request.entries, **({"tools": tools} if tools else {})}
    if prompt.tool_choice or prompt.output:
        payload |= settings_of(request)
    return cast("OpenAIPayload", payload), request.told()


def _write_messages(request: Chat, start: int, stop: int) -> None:
    facts = request.facts
    out, fitting = request.entries, request.legal_names
    roles = _ROLES if facts.system else _ROLES - {"system"}
    for index, said in enumerate(request.messages[start:stop], start):
        role, text = said.role, said.plain
        bare = said.details is NO_DETAILS
        # What conversations mostly consist of is written here, without a call.
        if text and bare and role in roles:
            out.append({"role": role, "content": text})
            continue
        content = said.content if bare and text is None else ()
        block = content[0] if len(content) == 1 else None
        if type(block) is ToolResultBlock and role == "tool" and len(block.content) == 1:
            inner, id = block.content[0], block.tool_use_id
            short = len(id) <= LONGEST_ID and id.isascii() and not block.is_error
            plain = short and block.extra is EMPTY and block.cache is None
            if plain and type(inner) is TextBlock and inner.cache is None and inner.extra is EMPTY:
                out.append({"role": "tool", "tool_call_id": id, "content": inner.text})
                continue
        elif type(block) is ToolUseBlock and role == "assistant" and block.name in fitting:
            id, arguments = block.id, block.arguments
            short = len(id) <= LONGEST_ID and id.isascii() and is_whole(arguments)
            if short and block.cache is None and block.extra is EMPTY:
                function = {"name": block.name, "arguments": arguments}
                call = {"id": id, "type": "function", "function": function}
                out.append({"role": "assistant", "content": None, "tool_calls": [call]})
                continue
        _write_message(request, Place(index, said, role))


def _write_message(request: Chat, place: Place) -> None:
    said = place.message
    if said.plain is None:
        parts = _parts(request, place, said.content)
    else:
        parts = [{"type": "text", "text": said.plain}] if said.plain else []
    if not parts:
        return
    texts = [part for part in parts if part["type"] not in _BESIDE]
    entry = {"role": _role(request, place), "content": joined(texts) if texts else None}
    if calls := [part for part in parts if part["type"] in _CALLS]:
        entry["tool_calls"] = calls
    for part in parts:
        if part["type"] == AUDIO:
            entry["audio"] = part["audio"]
    name = said.details.name
    if name and request.facts.names and is_speaker(name):
        entry["name"] = name
    elif name:
        why = "the target takes no such speaker's name"
        request.lose(place, "hint", f"the name {name!r}", why)
    request.entries.append(entry)


def _role(request: Chat, place: Place) -> str:
    """Return the wire's role; what was recorded as a system message is one again, in its place."""
    said = place.message
    if said.role in ("user", "assistant"):
        return said.role
    if not request.facts.system:
        why = "this model takes neither system nor developer messages: sent as a user's"
        request.lose(place, "role", f"{said.role} message", why)
        return "user"
    system = said.role == "system" or said.kind == "recorded_system" or not request.facts.developer
    return "system" if system else "developer"
