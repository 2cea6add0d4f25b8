"""Write the messages for a chat template, and the text that the template prints.

Read ``write`` first. ``shared/two_sided.py`` puts messages into turns, and ``fold.py`` makes the
template's messages of the turns. The functions after ``write`` write the blocks.
"""

from typing import Any, NotRequired, TypedDict

import attrs

from promptdsl import messages as b
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.escaping import title
from promptdsl.messages.prompt import Loss, Prompt, hint
from promptdsl.providers.chat_template.fold import NO_FORMAT, folded
from promptdsl.providers.chat_template.parts import (
    FIELD_KEYS,
    ORIGIN,
    Abilities,
    Templated,
    break_tokens,
    lose_settings,
    media_part,
    mended_keys,
    mended_name,
    tools_of,
)
from promptdsl.providers.chat_template.probe import probed
from promptdsl.providers.chat_template.run import control_tokens, render, render_open
from promptdsl.providers.shared.blocks import (
    arguments_of,
    fenced,
    has_arguments,
    left_out_as_blank,
    lose_block,
    lose_keys,
    lose_reasoning,
    utf8,
)
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.openai_parts import begin_turn
from promptdsl.providers.shared.reading import why_unknown
from promptdsl.providers.shared.request import Location, Param, joined_texts
from promptdsl.providers.shared.two_sided import Dialect, call_id, result_id, write_turns


class ChatTemplatePayload(TypedDict):
    """The arguments of ``tokenizer.apply_chat_template`` for a prompt, and its text.

    ``prompt`` is the text, if the template is known. It ends where the model begins to answer. If
    the last turn is the model's, it ends after this turn, which the model continues. It begins with
    the ``bos_token`` of the template, so the tokenizer must not add one.
    """

    messages: list[dict[str, Any]]  # Any: the tokenizer takes any messages
    tools: NotRequired[list[dict[str, Any]]]  # Any: the same
    prompt: NotRequired[str]


def write(
    prompt: Prompt, facts: ModelFacts, cached_write: CachedWrite | None = None
) -> tuple[ChatTemplatePayload, tuple[Loss, ...]]:
    """Return the payload of a prompt and its losses.

    Passes have given each message a role that the target takes. ``facts.template`` is the template.
    Without one, the messages have a format that almost every template takes. It uses no cached
    write, because later messages change how a message is sent.
    """
    template = facts.template
    if template is not None and prompt.tools:
        template = template.with_tools()
        facts = attrs.evolve(facts, template=template)
    abilities = Abilities() if template is None else probed(template)
    request = Templated(
        prompt,
        attrs.evolve(facts, instructions=False),
        dialect=Dialect("result", separate_results=True, first_kind="reasoning"),
        abilities=abilities,
        tokens=control_tokens(template),
    )
    tools = tools_of(request)
    noted_write = cached_write if cached_write and cached_write.memory is None else None
    write_turns(request, noted_write, _message_params)
    messages = folded(request)
    lose_settings(request)
    break_tokens(request, messages, tools)
    payload: ChatTemplatePayload = {"messages": messages}
    if tools:
        payload["tools"] = tools
    if template is not None and noted_write is None:
        template_tools = tools or ([] if abilities.tools_list else None)
        last: Param = messages[-1] if messages else {}
        text = None
        if last.get("role") == "assistant" and last["content"] and "tool_calls" not in last:
            text = render_open(template, messages, template_tools)
            if text is None:
                why = "the template cannot print it as an answer to be continued"
                what = "the model has the last turn"
                request.losses.append(hint("ended_conversation", what, why))
        payload["prompt"] = render(template, messages, template_tools) if text is None else text
    return payload, tuple(request.losses)


def _message_params(request: Templated, location: Location) -> list[Param]:
    """Return the params of a message. A text begins with the name of its speaker."""
    message, params = location.message, list[Param]()
    separators, separator = request.prompt.joints, None
    for index, block in enumerate(message.content):
        request.block_index = index
        separator = separators.get((location.message_index, request.block_index), separator)
        match block:
            case b.TextBlock():
                _lose_hints(request, location, block)
                param: Param | None = {"type": "text", "text": utf8(block.text)}
                if left_out_as_blank(request, location, block):
                    continue
            case b.ToolUseBlock() if message.role == "assistant":
                param = _call_param(request, location, block)
            case b.ToolResultBlock() if message.role in ("tool", "user"):
                param = _result_param(request, location, block)
            case b.ImageBlock() | b.AudioBlock() | b.DocumentBlock() | b.VideoBlock():
                param = _media_param(request, location, block)
            case b.ReasoningBlock():
                reasoning = {"type": "reasoning", "reasoning": utf8(block.text)}
                param = {**reasoning, "location": location, "at": request.at}
                is_from_template = message.role == "assistant" and block.origin in (None, ORIGIN)
                if not is_from_template or not block.text or not request.abilities.reasoning:
                    reason = "it comes from another provider, or the template prints none"
                    lose_reasoning(request, location, block, reason)
                    continue
            case b.UnknownBlock() if block.origin == ORIGIN and _printed_types(request, location):
                # It may be a placeholder for media. Any further key could name a file on the
                # machine that runs the template, so only a part without one is sent.
                kind = block.data.get("type")
                is_placeholder = isinstance(kind, str) and len(block.data) == 1
                param = (
                    {"type": kind}
                    if is_placeholder and kind in _printed_types(request, location)
                    else None
                )
                if param is None:
                    _lose_block(request, location, block)
            case _:
                param = None
                _lose_block(request, location, block)
        if param is not None:
            params.append(param)
            begin_turn(params, separator)
            separator = None
            request.note(location, block, param)
    request.block_index = None
    name = message._details.name
    if name is not None and message.role != "tool":
        name = utf8(name)
        texts = [param for param in params if param["type"] == "text"]
        reason = "the message has no text that could begin with the name"
        if message.role in ("user", "assistant") and texts:
            texts[0]["text"] = f"{title(name)}: {texts[0]['text']}"
            request.note_change(texts[0], texts[0], lead=len(f"{title(name)}: "))
            reason = "templates leave it out: the text begins with it"
        request.hint(location, "speaker_name", "name of a speaker", reason)
    return params


def _lose_block(request: Templated, location: Location, block: b.Block) -> None:
    """Record that a block is not sent, because the template cannot print it here."""
    reason = why_unknown(block, ORIGIN) if isinstance(block, b.UnknownBlock) else ""
    reason = reason or f"the template cannot print it in a {location.role} turn"
    lose_block(request, location, block, reason)


def _lose_mark(request: Templated, location: Location, block: b.Block) -> None:
    """Record a hint about the cache mark of a block that is sent, if it has one."""
    if getattr(block, "cache", None) is not None:
        request.hint(location, "cache_mark", "cache mark", "a template has no cache marks")


def _lose_hints(request: Templated, location: Location, block: b.Block) -> None:
    """Record that the cache mark and the further keys of a block are not sent."""
    _lose_mark(request, location, block)
    lose_keys(request, location, block)


def _printed_types(request: Templated, location: Location) -> frozenset[str]:
    """Return the types of media parts that the template prints at a location."""
    media = {"user": request.abilities.media, "assistant": request.abilities.reply_media}
    return media.get(location.role, frozenset())


def _media_param(request: Templated, location: Location, block: b.MediaBlock) -> Param | None:
    """Return the part of an attachment, ``None`` (a loss) if the template cannot print it."""
    part_and_address = media_part(block, _printed_types(request, location))
    if part_and_address is None:
        _lose_block(request, location, block)
        return None
    part, address = part_and_address
    if request.tokens.search(address):
        reason = "its address contains a control token of the template"
        lose_block(request, location, block, reason)
        return None
    _lose_mark(request, location, block)
    lose_keys(request, location, block, sent_keys=set(part) - FIELD_KEYS)
    for key, value in (("title", block.title), ("detail", block.detail)):
        if value is not None:
            request.hint(location, "media_field", key, f"a part of a template has no {key}")
    return part


def _call_param(request: Templated, location: Location, block: b.ToolUseBlock) -> Param:
    """Return a call, or a text in a tag if the template prints no calls."""
    _lose_hints(request, location, block)
    name = mended_name(request, location, utf8(block.name))
    if not request.abilities.calls:
        request.lose(location, "role", "tool_use block", NO_FORMAT)
        text = fenced("tool_use", utf8(block.arguments), name=name)
        return _fenced_param(request, location, block, text)
    arguments: Param | str = "{}"
    if request.abilities.mapping:
        arguments = arguments_of(request, location, block)
        if request.abilities.tag_keys:
            arguments = mended_keys(request, location, arguments)
    elif has_arguments(request, location, block):
        arguments = utf8(block.arguments)
    id = call_id(request, block.id, name)
    request.prompt_ids[id] = utf8(block.id)
    call = {"type": "call", "id": id, "name": name, "arguments": arguments}
    return {**call, "location": location, "at": request.at}


def _fenced_param(request: Templated, location: Location, block: b.Block, text: str) -> Param:
    """Return a text param that replaces a call or a result, and note it."""
    param = {"type": "text", "text": text}
    request.note(location, block, param, fence=block.type)
    return param


def _result_param(request: Templated, location: Location, block: b.ToolResultBlock) -> Param:
    """Return a result, or a text in a tag.

    It is a text if the template prints no calls, or if the result answers no open call.
    """
    _lose_hints(request, location, block)
    texts: list[Param] = []
    # The block that is being written is the result, and these are the blocks in it.
    request.result_index = outer_index = request.block_index
    for index, inner in enumerate(block.content):
        request.block_index = index
        if isinstance(inner, b.TextBlock):
            _lose_hints(request, location, inner)
            if not left_out_as_blank(request, location, inner):
                texts.append({"text": utf8(inner.text)})
                request.note(location, inner, texts[-1])
        else:
            _lose_block(request, location.with_role("result"), inner)
    request.block_index, request.result_index = outer_index, None
    if block.is_error:
        reason = "a template has no such flag, so the text says it"
        request.hint(location, "error_flag", "the error flag of a result", reason)
        texts = texts or [{"text": utf8(block.error_type or "unknown")}]
        if not texts[0]["text"].lower().startswith("error:"):
            texts[0]["text"] = f"Error: {texts[0]['text']}"
            request.note_change(texts[0], texts[0], lead=len("Error: "))
    text = joined_texts("\n\n", texts, request.notes)
    if not request.abilities.calls or block.tool_use_id not in request.calls:
        request.lose(location, "role", "tool_result block", NO_FORMAT)
        text = fenced("tool_result", text, name=utf8(block.name or ""))
        return _fenced_param(request, location, block, text)
    id = result_id(request, block.tool_use_id)
    return {"type": "result", "id": id, "name": request.called_tools[id], "text": text}
