"""Write a prompt as the arguments of ``client.messages.create``."""

from functools import partial
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import Loss, hint
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.anthropic.media import needs_bytes, source_param
from promptdsl.providers.anthropic.read import EXTRA, read_block
from promptdsl.providers.anthropic.tools import NEEDED, settings_of, tool_param
from promptdsl.providers.shared.blocks import (
    BlockRules,
    block_params,
    further_keys,
    holds_file,
    lose_blank,
    lose_reasoning,
    lose_source,
    misplaced,
)
from promptdsl.providers.shared.cache_marks import longest_mark
from promptdsl.providers.shared.checks import read_mark
from promptdsl.providers.shared.clean import (
    CONTROL,
    arguments_of,
    is_sendable,
    json_copy,
    lose_title,
    utf8,
)
from promptdsl.providers.shared.ids import call_id, result_id, tool_name
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.request import Carrier, Location, Param
from promptdsl.providers.shared.sent_locations import joined_texts
from promptdsl.providers.shared.tools import write_tools
from promptdsl.providers.shared.two_sided import (
    Dialect,
    Turns,
    message_params,
    valid_reasoning_from,
    write_marks,
    write_turns,
)

if TYPE_CHECKING:
    from anthropic.types import (
        MessageParam,
        OutputConfigParam,
        TextBlockParam,
        ToolChoiceParam,
        ToolUnionParam,
    )


_LONGEST_TITLE = 500
"""The greatest number of characters in the title of a document."""


def _with_extra(
    request: Turns, location: Location, param: Param, block: Carrier, *, cache: str | None = None
) -> Param:
    """Return a param with the keys in ``extra`` that its type may have; note its cache mark."""
    if block.extra:
        kind = param["type"]
        cited = kind == "text" and location.message.role != "assistant"
        param |= further_keys(request, location, block, () if cited else EXTRA[kind])
    if mark := cache or block.cache:
        request.mark(location, param, mark)
    return param


def _text_param(request: Turns, location: Location, block: TextBlock) -> Param | None:
    if lose_blank(request, location, block):
        return None
    return _with_extra(request, location, {"type": "text", "text": block.text}, block)


def _reasoning_param(request: Turns, location: Location, block: b.ReasoningBlock) -> Param | None:
    """Return reasoning unchanged, ``None`` (a hint) if the service would refuse it."""
    is_native = location.message.role == "assistant" and block.origin in request.facts.origins
    if is_native and not is_sendable(
        request, location, block.text, block.signature, block.encrypted
    ):
        return None
    if is_native and location.number >= request.first_valid_reasoning and block.encrypted:
        return {"type": "redacted_thinking", "data": block.encrypted}
    # A server may sign nothing, and still take its reasoning back.
    if block.signature or request.facts.reasoning_back != "never":
        signature = block.signature or ""
    else:
        signature = None
    if is_native and location.number >= request.first_valid_reasoning and signature is not None:
        return {"type": "thinking", "thinking": block.text, "signature": signature}
    reason = "not signed by this provider"
    if is_native and (block.encrypted or block.signature):
        cause = "a budget" if request.prompt.trimmed else "grounding"
        reason = f"{cause} changed the content before it"
    lose_reasoning(request, location, block, reason)
    return None


def _media_param(
    request: Turns, location: Location, block: b.ImageBlock | b.DocumentBlock
) -> Param | None:
    if block.type not in request.facts.media:
        request.lose(
            location, "content", f"{block.type} block", f"this model takes no {block.type}"
        )
        return None
    request.clean(location, block.source.value, f"the {block.source.kind} of the {block.type}")
    source = source_param(block.type, block.source)
    if source is None:
        loadable = needs_bytes(block, location.message.role)
        reason = "its source or its media type is not taken"
        lose_source(request, location, block, reason, loadable=loadable)
        return None
    param: Param = {"type": block.type, "source": source}
    for key, value in (("title", block.title), ("detail", block.detail)):
        if value and block.is_document and key == "title":
            title = "" if value.isspace() else CONTROL.sub("_", value)[:_LONGEST_TITLE]
            lose_title(request, location, value, title)
            if title := request.clean(location, title, "a title"):
                param["title"] = title
        elif value:
            request.hint(location, "media_field", key, f"{block.type} blocks have no {key}")
    return _with_extra(request, location, param, block)


def _call_param(request: Turns, location: Location, block: ToolUseBlock) -> Param:
    name = block.name
    if name not in request.legal_names:
        name = tool_name(request, location, name)
    id = call_id(request, block.id)
    input = arguments_of(request, location, block)
    param: Param = {"type": "tool_use", "id": id, "name": name, "input": input}
    if block.cache is None and block.extra is EMPTY:
        return param
    return _with_extra(request, location, param, block)


def _result_param(request: Turns, location: Location, block: ToolResultBlock) -> Param:
    id, content = result_id(request, block.tool_use_id), block.content
    # Most results are one text, which is written here, without calling a writer.
    string = request.prompt.lone_text == "string"
    is_short = len(content) == 1 and not block.is_error and request.notes is None
    inner = content[0] if is_short else None
    if type(inner) is TextBlock and inner.cache is block.cache is None:
        text, plain = inner.text, inner.extra is block.extra is EMPTY
        if plain and text and not text.isspace():
            sent = text if string else [{"type": "text", "text": text}]
            return {"type": "tool_result", "tool_use_id": id, "content": sent}
    param: Param = {"type": "tool_result", "tool_use_id": id}
    before = len(request.marks)
    # The result of a failed call has only texts, and at least one.
    inside = location.inside("error result" if block.is_error else "result", id)
    params = block_params(request, inside, content, _RULES)
    if block.is_error and not params:
        error = utf8((block.error_type or "").strip())
        params = [{"type": "text", "text": error or "error"}]
    if params:
        param["content"] = _lone_text(request, params) if string else params
    param |= {"is_error": True} if block.is_error else {}
    cache = longest_mark(request, before, block.cache)
    return _with_extra(request, location, param, block, cache=cache)


def _unknown_param(request: Turns, location: Location, block: b.UnknownBlock) -> Param | None:
    kind = str(block.data.get("type"))
    answers = kind == "server_tool_use" or kind.endswith("_tool_result")
    # The service refuses types in an answer that only a user may send.
    from_user = kind in ("image", "document", "search_result", "container_upload")
    is_misplaced = (location.message.role == "assistant") != answers and (answers or from_user)
    if location.role == "developer":
        is_misplaced = location.leads or kind not in _TOOL_CHANGES
    if is_misplaced:
        request.lose(location, "content", f"{kind} block", misplaced(location))
        return None
    param = json_copy(dict(block.data))
    if kind in NEEDED:
        request.hint(location, "needed_key", f"{kind} block", f"it needs {NEEDED[kind]}")
    if cache := read_mark(param.pop("cache_control", None)):
        request.mark(location, param, cache)
    return param


_TOOL_CHANGES = ("tool_addition", "tool_removal")
"""The blocks of a later system message that add a tool or remove one."""
_TEXT = frozenset({"text", "reasoning"})
_MEDIA = frozenset({"image", "document", "unknown"})
_USER = _TEXT | _MEDIA | {"tool_result"}
_RULES = BlockRules(
    "anthropic",
    read=read_block,
    types={
        "system": _TEXT,
        "developer": _TEXT | {"unknown"},
        "user": _USER,
        "tool": _USER,
        "assistant": _TEXT | {"tool_use", "unknown"},
        "result": _TEXT | _MEDIA,
        "error result": _TEXT,
    },
    writers={
        "text": _text_param,
        "reasoning": _reasoning_param,
        "image": _media_param,
        "document": _media_param,
        "tool_use": _call_param,
        "tool_result": _result_param,
        "unknown": _unknown_param,
    },
    holds=holds_file,
)


class AnthropicPayload(TypedDict):
    """The arguments of ``client.messages.create``; only ``messages`` is always there."""

    system: "NotRequired[list[TextBlockParam]]"
    messages: "list[MessageParam]"
    tools: "NotRequired[list[ToolUnionParam]]"
    tool_choice: "NotRequired[ToolChoiceParam]"
    output_config: "NotRequired[OutputConfigParam]"


_DIALECT = Dialect("tool_result")


def _lone_text(request: Turns, content: list[Param]) -> str | list[Param]:
    """Return a content as a string if it is one text without a cache mark or other keys."""
    is_lone = len(content) == 1 and content[0].keys() == {"type", "text"}
    if is_lone and content[0]["type"] == "text":
        return joined_texts("", content, request.notes)
    return content


def _shorten(request: Turns, stop: int) -> None:
    """Make turns before an index strings if they are one text. Texts with a mark come later."""
    marked = {id(mark.param) for mark in request.marks}
    for index in range(request.finished, stop):
        turn = request.entries[index]
        content: str | list[Param] = turn["content"]
        if isinstance(content, list) and marked.isdisjoint(map(id, content)):
            content = _lone_text(request, content)
            if isinstance(content, str):
                request.entries[index] = {**turn, "content": content}
    request.finished = stop


def write(
    prompt: Prompt, facts: ModelFacts, cached_write: CachedWrite | None = None
) -> tuple[AnthropicPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and its losses."""
    first_valid_reasoning = valid_reasoning_from(prompt) if facts.binds_reasoning else 0
    request = Turns(prompt, facts, dialect=_DIALECT, first_valid_reasoning=first_valid_reasoning)
    tools = write_tools(request, "anthropic", tool_param) if prompt.tools else []
    for tool in prompt.tools:
        kind = (
            str(tool.raw.get("type")) if tool.raw and tool.origin in request.facts.origins else ""
        )
        if kind in NEEDED:
            request.hint(tool, "needed_key", f"tool {tool.name!r}", f"it needs {NEEDED[kind]}")
    finish_turns = _shorten if prompt.lone_text == "string" else None
    write_turns(request, cached_write, partial(message_params, rules=_RULES), finish_turns)
    if request.called and not tools:
        reason = "a conversation with calls needs its tools: add them with Tool(...)"
        request.losses.append(hint("no_tools", "there are no tools", reason))
    settings = settings_of(request) if prompt.has_choice_or_output else {}
    if request.marks:
        write_marks(request, tools, _with_mark)
        if finish_turns:  # texts whose marks are not sent
            request.marks, request.finished = [], 0
            finish_turns(request, len(request.entries))
    system = {"system": request.system} if request.system else {}
    offered = {"tools": tools} if tools else {}
    payload = {**system, "messages": request.entries, **offered, **settings}
    return cast("AnthropicPayload", payload), request.final_losses()


def _with_mark(param: Param, ttl: Param) -> list[Param]:
    return [{**param, "cache_control": {"type": "ephemeral", **ttl}}]
