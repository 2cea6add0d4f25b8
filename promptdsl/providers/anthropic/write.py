"""Writing: a prompt becomes the arguments of a request."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, TypedDict, cast

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.anthropic.media import source_param
from promptdsl.providers.anthropic.read import EXTRA, read_block
from promptdsl.providers.anthropic.tools import LONGEST_NAME, read_mark, settings_of, tool_param
from promptdsl.providers.shared.blocks import ITEM, block_to_write, lose_mark
from promptdsl.providers.shared.cache_marks import places_of, settle_marks
from promptdsl.providers.shared.clean import arguments_of, is_sendable, json_copy, utf8
from promptdsl.providers.shared.ids import call_id, result_id, tool_name
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.request import Mark, Param, Place
from promptdsl.providers.shared.tools import write_tools
from promptdsl.providers.shared.two_sided import (
    Dialect,
    Turns,
    add,
    finish,
    stale_before,
    unwritten,
)

if TYPE_CHECKING:
    from anthropic.types import (
        MessageParam,
        OutputConfigParam,
        TextBlockParam,
        ToolChoiceParam,
        ToolUnionParam,
    )


def _params(request: Turns, place: Place) -> list[Param]:
    """Return the blocks of a message as they are sent."""
    message = place.message
    name, text = message.details.name, message.plain
    if name is not None and message.role != "tool":
        request.lose(place, "hint", f"name {name!r}", "a message has no speaker's name")
    if text and not text.isspace():
        return [{"type": "text", "text": text}]
    return _block_params(request, place, message.content)


def _block_params(request: Turns, place: Place, content: Iterable[b.Block]) -> list[Param]:
    params: list[Param] = []
    writers = _WRITERS[place.role]
    for written in content:
        block: b.Block | None = written
        if written.type == "unknown" or written.type not in writers:
            block = block_to_write(
                request,
                place,
                written,
                kinds=writers,
                origin="anthropic",
                read=lambda unknown: read_block(unknown.data),
            )
        param = writers[block.type](request, place, block) if block else None
        if param:
            params.append(param)
        elif block:
            lose_mark(request, place, block)
    return params


def _finished(
    request: Turns, place: Place, param: Param, *, extra: Mapping[str, object], cache: str | None
) -> Param:
    """Return a block with the further keys that its type has here, and note its mark."""
    kind = param["type"]
    for key, value in extra.items():
        cited = kind == "text" and place.message.role != "assistant"
        if value is not None and key in EXTRA[kind] and not cited:
            param[key] = json_copy(value)
        elif value is not None and key != ITEM:
            request.lose(place, "hint", f"key {key!r}", f"{kind} blocks have none here")
    if cache:
        request.mark(place, param, cache)
    return param


def _text_param(request: Turns, place: Place, block: TextBlock) -> Param | None:
    if block.text and not block.text.isspace():
        param = {"type": "text", "text": block.text}
        return _finished(request, place, param, extra=block.extra, cache=block.cache)
    if block.text or block.cache:
        why = "only white space, or empty under a cache mark"
        request.lose(place, "hint", "text block", why)
    return None


def _reasoning_param(request: Turns, place: Place, block: b.ReasoningBlock) -> Param | None:
    """Return reasoning byte for byte, ``None`` (a hint) where it would be refused."""
    own = place.message.role == "assistant" and block.origin == "anthropic"
    if own and not is_sendable(request, place, block.text, block.signature, block.encrypted):
        return None
    if own and place.number >= request.stale and block.encrypted:
        return {"type": "redacted_thinking", "data": block.encrypted}
    if own and place.number >= request.stale and block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    why = "not signed by this provider"
    if own and (block.encrypted or block.signature):
        cause = "a budget" if request.prompt.trimmed else "request-only content"
        why = f"{cause} changed the bytes it is bound to"
    request.lose(place, "hint", "reasoning", why)
    return None


def _media_param(
    request: Turns, place: Place, block: b.ImageBlock | b.DocumentBlock
) -> Param | None:
    if block.type not in request.facts.media:
        request.lose(place, "content", f"{block.type} block", "this model takes none")
        return None
    request.clean(place, block.source.value, f"the {block.source.kind} of the {block.type}")
    source = source_param(block.type, block.source)
    if source is None:
        what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
        request.lose(place, "content", what, "not a source or a media type that is taken")
        return None
    param: Param = {"type": block.type, "source": source}
    for key, value in (("title", block.title), ("detail", block.detail)):
        if value and block.is_document and key == "title":
            param["title"] = request.clean(place, value, "a title")
        elif value:
            request.lose(place, "hint", key, f"{block.type} blocks have none")
    return _finished(request, place, param, extra=block.extra, cache=block.cache)


def _call_param(request: Turns, place: Place, block: ToolUseBlock) -> Param:
    name = block.name
    if name not in request.legal_names:
        name = tool_name(request, place, name, longest=LONGEST_NAME)
    id = call_id(request, block.id)
    input = arguments_of(request, place, block)
    param: Param = {"type": "tool_use", "id": id, "name": name, "input": input}
    if block.cache is None and block.extra is EMPTY:
        return param
    return _finished(request, place, param, extra=block.extra, cache=block.cache)


def _result_param(request: Turns, place: Place, block: ToolResultBlock) -> Param:
    id, content = result_id(request, block.tool_use_id), block.content
    # Most results are one text, which is written here, without a call.
    inner = content[0] if len(content) == 1 and not block.is_error else None
    if type(inner) is TextBlock and inner.cache is block.cache is None:
        text, plain = inner.text, inner.extra is block.extra is EMPTY
        if plain and text and not text.isspace():
            texts = [{"type": "text", "text": text}]
            return {"type": "tool_result", "tool_use_id": id, "content": texts}
    param: Param = {"type": "tool_result", "tool_use_id": id}
    before = len(request.marks)
    # An error contains texts only, and at least one.
    inside = place.inside("error result" if block.is_error else "result")
    params = _block_params(request, inside, content)
    if block.is_error and not params:
        error = utf8((block.error_type or "").strip())
        params = [{"type": "text", "text": error or "error"}]
    param |= {"content": params} if params else {}
    param |= {"is_error": True} if block.is_error else {}
    # A nested mark counts as one of four, and gateways refuse it: it goes on the result.
    marks = [block.cache, *(mark.cache for mark in request.marks[before:])]
    del request.marks[before:]
    cache = "1h" if "1h" in marks else next(filter(None, marks), None)
    return _finished(request, place, param, extra=block.extra, cache=cache)


def _unknown_param(request: Turns, place: Place, block: b.UnknownBlock) -> Param | None:
    kind = str(block.data.get("type"))
    answers = kind == "server_tool_use" or kind.endswith("_tool_result")
    # The service refuses types in an answer that only a user gives.
    from_user = kind in ("image", "document", "search_result", "container_upload")
    if (place.message.role == "assistant") != answers and (answers or from_user):
        why = f"there is none in {place.message.role} content"
        request.lose(place, "content", f"{kind} block", why)
        return None
    param = json_copy(dict(block.data))
    cache = read_mark(param.pop("cache_control", None))
    return _finished(request, place, param, extra=EMPTY, cache=cache)


Writers: TypeAlias = Mapping[str, Callable[[Turns, Place, Any], Param | None]]  # Any: its block
"""The functions that write blocks, by type of block."""

_TEXT: Writers = {"text": _text_param, "reasoning": _reasoning_param}
_MEDIA: Writers = {"image": _media_param, "document": _media_param, "unknown": _unknown_param}
_USER: Writers = {**_TEXT, **_MEDIA, "tool_result": _result_param}
_WRITERS: Mapping[str, Writers] = {
    "system": _TEXT,
    "developer": _TEXT,
    "user": _USER,
    "tool": _USER,
    "assistant": {**_TEXT, "tool_use": _call_param, "unknown": _unknown_param},
    "result": {**_TEXT, **_MEDIA},
    "error result": _TEXT,
}
"""The types of blocks that a content may have, by the role of its place."""


class AnthropicPayload(TypedDict):
    """The arguments of ``client.messages.create``; only ``messages`` is always there."""

    system: "NotRequired[list[TextBlockParam]]"
    messages: "list[MessageParam]"
    tools: "NotRequired[list[ToolUnionParam]]"
    tool_choice: "NotRequired[ToolChoiceParam]"
    output_config: "NotRequired[OutputConfigParam]"


_DIALECT = Dialect("tool_result")


def write(
    prompt: Prompt, facts: ModelFacts, recall: Recall | None = None
) -> tuple[AnthropicPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and its losses.

    With a ``recall`` parts of the payload are shared, and must not be changed. Raises
    :class:`DataError` for an unknown block that cannot be written as JSON.
    """
    stale = stale_before(prompt) if facts.binds_reasoning else 0
    request = Turns(prompt, facts, dialect=_DIALECT, stale=stale)
    tools = write_tools(request, "anthropic", tool_param) if prompt.tools else []
    for start, stop in recall.spans(request) if recall else [(0, len(prompt.messages))]:
        # Messages of one text are written by unwritten() itself: it yields only the others.
        for place in unwritten(request, start, stop):
            add(request, place, _params(request, place))
    finish(request)
    if request.called and not tools:
        why = "calls in the conversation need tools beside them: write them with Tool(...)"
        request.losses.append(Loss("hint", "there are no tools", why))
    settings = settings_of(request) if prompt.tool_choice or prompt.output else {}
    if request.marks:
        _write_marks(request, tools)
    system = {"system": request.system} if request.system else {}
    offered = {"tools": tools} if tools else {}
    payload = {**system, "messages": request.entries, **offered, **settings}
    return cast("AnthropicPayload", payload), request.final_losses()


def _write_marks(request: Turns, tools: list[Param]) -> None:
    """Put the marks on the blocks and tools before them: at most four, an hour before minutes."""
    params = chain(tools, request.system, *(turn["content"] for turn in request.entries))
    kept = {id(mark.param): mark for mark in settle_marks(request, params, ordered=True)}
    tools[:] = _with_marks(tools, kept)
    request.system = _with_marks(request.system, kept)
    for index in places_of(request.entries, kept):
        turn = request.entries[index]
        request.entries[index] = {**turn, "content": _with_marks(turn["content"], kept)}


def _with_marks(params: list[Param], kept: Mapping[int, Mark]) -> list[Param]:
    sent = [*params]
    for index, param in enumerate(params):
        if mark := kept.get(id(param)):
            ttl = {} if mark.cache == "default" else {"ttl": mark.cache}
            sent[index] = {**param, "cache_control": {"type": "ephemeral", **ttl}}
    return sent
