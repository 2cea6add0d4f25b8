"""Write a prompt as the arguments of ``client.messages.create``.

Read :func:`write` first; it is at the end. A ``request`` is the state of the request while it is
written: its turns, losses and cache marks so far (``Turns`` in ``providers/shared/two_sided.py``).
A *param* is a dictionary in the payload. Each function ``_x_param`` writes one type of block.

``location`` says where the block is. ``location.message.role`` is the role of its message.
``location.role`` is the role of the content: ``result`` for the content of a tool result.
``location.leads`` says whether the message is part of the system text.

A request may have only four cache marks. So a mark is noted first, and chosen when all turns are
written. Then it becomes a key of its param. Until then it is found by the ``id()`` of the param, so
a copy of the param has no mark.

``request.notes`` is ``None`` in most writes. :meth:`Rendered.locations` writes the payload a second
time with notes, which say what each block became. A shortcut notes no block. So with notes there
are no shortcuts: every block goes through ``block_params``, which notes it.
"""

from functools import partial
from typing import TYPE_CHECKING, NotRequired, TypedDict, cast

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.frozen import mapping_or_empty
from promptdsl.foundation.unicode import is_blank
from promptdsl.messages import (
    DocumentBlock,
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from promptdsl.messages.prompt import Loss, Prompt, hint
from promptdsl.providers.anthropic.parts import (
    NEEDED,
    needs_bytes,
    settings_of,
    source_param,
    tool_param,
)
from promptdsl.providers.anthropic.read import EXTRA, read_block
from promptdsl.providers.shared.blocks import (
    CONTROL,
    BlockRules,
    arguments_of,
    block_params,
    further_keys,
    holds_file,
    is_sendable,
    json_copy,
    left_out_as_blank,
    lose_reasoning,
    lose_source,
    lose_title,
    misplaced,
    utf8,
)
from promptdsl.providers.shared.cache_marks import take_longest_mark
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.reading import read_mark
from promptdsl.providers.shared.request import Carrier, Location, Param, joined_texts
from promptdsl.providers.shared.tools import write_tools
from promptdsl.providers.shared.two_sided import (
    Dialect,
    Turns,
    call_id,
    finish_no_turns,
    message_params,
    result_id,
    tool_name,
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


_MAX_TITLE = 500
"""The greatest number of characters in the title of a document."""


def _with_extra(
    request: Turns, location: Location, param: Param, block: Carrier, *, cache: str | None = None
) -> Param:
    """Return a param with the keys in ``extra`` that its type may have, and note its cache mark.

    A ``Carrier`` is any block that may have a cache mark. ``cache`` replaces the mark of the block.
    """
    if block.extra:
        allowed = EXTRA[param["type"]]
        # The only further key of a text is ``citations``, and only a text of the model may have it.
        if param["type"] == "text" and location.message.role != "assistant":
            allowed = ()
        param |= further_keys(request, location, block, allowed)
    if mark := cache or block.cache:
        request.mark(location, param, mark)
    return param


def _text_param(request: Turns, location: Location, block: TextBlock) -> Param | None:
    """Return a text, ``None`` for a blank one, which the service refuses."""
    if left_out_as_blank(request, location, block):
        return None
    return _with_extra(request, location, {"type": "text", "text": block.text}, block)


def _reasoning_param(request: Turns, location: Location, block: ReasoningBlock) -> Param | None:
    """Return reasoning unchanged.

    If the service would refuse it, it returns ``None`` and records a hint.
    """
    is_native = location.message.role == "assistant" and block.origin in request.facts.origins
    if not is_native:
        lose_reasoning(request, location, block, _NOT_SIGNED)
        return None
    if not is_sendable(request, location, block.text, block.signature, block.encrypted):
        return None
    # ``first_valid_reasoning`` is the index of the first message whose reasoning is still valid.
    is_valid = location.message_index >= request.first_valid_reasoning
    if is_valid and block.encrypted:
        return {"type": "redacted_thinking", "data": block.encrypted}
    # Some servers do not sign their reasoning, and take it back without a signature.
    if is_valid and (block.signature or request.facts.reasoning_back != "never"):
        return {"type": "thinking", "thinking": block.text, "signature": block.signature or ""}
    reason = _NOT_SIGNED
    if block.encrypted or block.signature:
        # It is signed, but no longer valid: a budget or grounding changed the content before it.
        cause = "a budget" if request.prompt.untrimmed_from else "grounding"
        reason = f"{cause} changed the content before it"
    lose_reasoning(request, location, block, reason)
    return None


_NOT_SIGNED = "not signed by this provider"
"""Why reasoning is not sent, unless the content before it changed."""


def _media_param(
    request: Turns, location: Location, block: ImageBlock | DocumentBlock
) -> Param | None:
    """Return an image or a document, ``None`` (a loss) if it or its source is refused."""
    if block.type not in request.facts.media:
        request.lose(
            location, "content", f"{block.type} block", f"this model takes no {block.type}"
        )
        return None
    # This is for the hint only: ``source_param`` also replaces the lone surrogates of a source.
    request.clean(location, block.source.value, f"the {block.source.kind} of the {block.type}")
    source = source_param(block.type, block.source)
    if source is None:
        # The loss then says that a ``media_loader`` can load the bytes.
        loadable = needs_bytes(block, location.message.role)
        reason = "its source or its media type is not taken"
        lose_source(request, location, block, reason, loadable=loadable)
        return None
    param: Param = {"type": block.type, "source": source}
    if block.title and block.is_document:
        if title := _document_title(request, location, block.title):
            param["title"] = title
    elif block.title:
        request.hint(location, "media_field", "title", f"{block.type} blocks have no title")
    if block.detail:
        request.hint(location, "media_field", "detail", f"{block.type} blocks have no detail")
    return _with_extra(request, location, param, block)


def _document_title(request: Turns, location: Location, title: str) -> str:
    """Return a title that the service takes, empty for a blank one; record a hint if it changed."""
    service_title = "" if title.isspace() else CONTROL.sub("_", title)[:_MAX_TITLE]
    lose_title(request, location, title, service_title)
    return request.clean(location, service_title, "a title")


def _call_param(request: Turns, location: Location, block: ToolUseBlock) -> Param:
    """Return a call, with its id and its tool's name as the service takes them."""
    name = tool_name(request, location, block.name)
    id = call_id(request, block.id)
    input = arguments_of(request, location, block)
    param: Param = {"type": "tool_use", "id": id, "name": name, "input": input}
    return _with_extra(request, location, param, block)


def _result_param(request: Turns, location: Location, block: ToolResultBlock) -> Param:
    """Return a result. Its cache mark and the marks in it become one mark after the result."""
    id = result_id(request, block.tool_use_id)
    # With this setting of the author, a content of one text is a string, not a list.
    as_string = request.prompt.lone_text == "string"
    param: Param = {"type": "tool_result", "tool_use_id": id}
    # Most results consist of one text. It is written here, without calling its writer.
    plain_text = _lone_text_of(block)
    if plain_text is not None and request.notes is None:
        content = plain_text if as_string else [{"type": "text", "text": plain_text}]
        return {**param, "content": content}
    # The marks that are noted from now on are in the result.
    first_mark = len(request.marks)
    # The result of a failed call has only texts, and needs at least one.
    role = "error result" if block.is_error else "result"
    params = block_params(request, location.with_role(role, id), block.content, _RULES)
    if block.is_error and not params:
        error = utf8((block.error_type or "").strip())
        params = [{"type": "text", "text": error or "error"}]
    # ``take_longest_mark`` removes the marks in the result. One mark is noted after it instead.
    cache = take_longest_mark(request, first_mark, block.cache)
    if params:
        param["content"] = _string_or_params(request, params) if as_string else params
    if block.is_error:
        param["is_error"] = True
    return _with_extra(request, location, param, block, cache=cache)


def _lone_text_of(block: ToolResultBlock) -> str | None:
    """Return the text of a result that consists of one text, ``None`` for any other result.

    It is also ``None`` if the result or the text has a cache mark or further keys, if the text is
    blank, and for the result of a failed call.
    """
    if len(block.content) != 1 or block.is_error:
        return None
    inner = block.content[0]
    if type(inner) is not TextBlock or is_blank(inner.text):
        return None
    has_mark = block.cache is not None or inner.cache is not None
    return None if has_mark or block.extra or inner.extra else inner.text


_USER_TYPES = ("image", "document", "search_result", "container_upload")
"""The types of blocks that only a user may send. The service refuses them in an answer."""
_TOOL_CHANGES = ("tool_addition", "tool_removal")
"""The blocks of a later system message that add a tool or remove one."""


def _unknown_param(request: Turns, location: Location, block: UnknownBlock) -> Param | None:
    """Return an unknown block unchanged, ``None`` (a loss) if the service refuses it here."""
    kind = str(block.data.get("type"))
    if location.role == "developer":
        # The system text has only texts. A later system message may also change the tools.
        is_misplaced = location.leads or kind not in _TOOL_CHANGES
    elif location.message.role == "assistant":
        is_misplaced = kind in _USER_TYPES
    else:
        # The service runs some tools itself. Their calls and results may only be in an answer.
        is_misplaced = kind == "server_tool_use" or kind.endswith("_tool_result")
    if is_misplaced:
        request.lose(location, "content", f"{kind} block", misplaced(location))
        return None
    param = json_copy(dict(block.data))
    # Some blocks need further keys of the request, which the author must add.
    if kind in NEEDED:
        request.hint(location, "needed_key", f"{kind} block", f"it needs {NEEDED[kind]}")
    if cache := read_mark(param.pop("cache_control", None)):
        request.mark(location, param, cache)
    return param


# Reasoning is allowed in every content, because its writer says why the service refuses it there.
_TEXT_AND_REASONING = frozenset({"text", "reasoning"})
_MEDIA = frozenset({"image", "document", "unknown"})
_USER = _TEXT_AND_REASONING | _MEDIA | {"tool_result"}
_RULES = BlockRules(
    "anthropic",
    read=read_block,
    types={
        "system": _TEXT_AND_REASONING,
        "developer": _TEXT_AND_REASONING | {"unknown"},
        "user": _USER,
        "tool": _USER,
        "assistant": _TEXT_AND_REASONING | {"tool_use", "unknown"},
        "result": _TEXT_AND_REASONING | _MEDIA,
        "error result": _TEXT_AND_REASONING,
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
    # An attachment that may not stay in a result is moved to the user message after it.
    holds=holds_file,
)


class AnthropicPayload(TypedDict):
    """The arguments of ``client.messages.create`` for a prompt; only ``messages`` is required."""

    system: "NotRequired[list[TextBlockParam]]"
    messages: "list[MessageParam]"
    tools: "NotRequired[list[ToolUnionParam]]"
    tool_choice: "NotRequired[ToolChoiceParam]"
    output_config: "NotRequired[OutputConfigParam]"


_DIALECT = Dialect(result_kind="tool_result")


def _string_or_params(request: Turns, params: list[Param]) -> str | list[Param]:
    """Return a content as a string if it is one text without other keys.

    A string cannot have a cache mark. A noted mark is not a key yet, so the caller must make sure
    that no mark is noted for the params.
    """
    is_lone = len(params) == 1 and params[0].keys() == {"type", "text"}
    if is_lone and params[0]["type"] == "text":
        # This returns the text. With notes, the text also has the note of its block.
        return joined_texts("", params, request.notes)
    return params


def _finish_turns(request: Turns, stop: int) -> None:
    """Replace the content of each turn before the index ``stop`` by a string if it is one text.

    An earlier call did this for the first ``request.finished`` turns. A text with a noted cache
    mark stays in its list.
    """
    marked = {id(mark.param) for mark in request.marks}
    for index in range(request.finished, stop):
        turn = request.payload_messages[index]
        content: str | list[Param] = turn["content"]
        if isinstance(content, list) and marked.isdisjoint(map(id, content)):
            content = _string_or_params(request, content)
            if isinstance(content, str):
                request.payload_messages[index] = {**turn, "content": content}
    request.finished = stop


def write(
    prompt: Prompt, facts: ModelFacts, cached_write: CachedWrite | None = None
) -> tuple[AnthropicPayload, tuple[Loss, ...]]:
    """Return the payload of a prompt and its losses.

    Passes have given each message a role that the target takes.
    """
    # Some models refuse reasoning if the content before it has changed. 0 means: all is valid.
    first_valid_reasoning = valid_reasoning_from(prompt) if facts.binds_reasoning else 0
    request = Turns(prompt, facts, dialect=_DIALECT, first_valid_reasoning=first_valid_reasoning)
    tools = write_tools(request, "anthropic", tool_param) if prompt.tools else []
    for tool in prompt.tools:
        kind = str(mapping_or_empty(tool.raw).get("type"))
        if kind in NEEDED and tool.origin in request.facts.origins:
            request.hint(tool, "needed_key", f"tool {tool.name!r}", f"it needs {NEEDED[kind]}")
    finish_turns = _finish_turns if prompt.lone_text == "string" else finish_no_turns
    # Put all messages into turns. ``message_params`` writes each message that is more than a text.
    write_turns(request, cached_write, partial(message_params, rules=_RULES), finish_turns)
    if request.called_tools and not tools:
        reason = "a conversation with calls needs its tools: add them with Tool(...)"
        request.losses.append(hint("no_tools", "there are no tools", reason))
    settings = settings_of(request) if prompt.has_choice_or_output else {}
    if request.marks:
        write_marks(request, tools, _with_mark)
        # Finish all turns again, because a text whose mark was not chosen can now be a string. The
        # chosen marks are keys of their params now, so no mark needs to be noted any more.
        request.marks, request.finished = [], 0
        finish_turns(request, len(request.payload_messages))
    payload: Param = {"messages": request.payload_messages}
    if request.system:
        payload = {"system": request.system, **payload}
    if tools:
        payload["tools"] = tools
    return cast("AnthropicPayload", payload | settings), request.final_losses()


def _with_mark(param: Param, ttl: Param) -> list[Param]:
    """Return a list with the param and its cache mark in it.

    ``ttl`` is empty, or has the key ``ttl``. The list is for Bedrock, whose mark is a second param.
    """
    return [{**param, "cache_control": {"type": "ephemeral", **ttl}}]
