"""Writing: messages become those of a template, and its text."""

from collections.abc import Callable, Mapping
from typing import Any, NotRequired, TypedDict

import attrs

from promptdsl import messages as b
from promptdsl.config.chat_template import ChatTemplate
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.escaping import title
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.block_keys import MEDIA_KINDS
from promptdsl.messages.loss import Loss, LossKind
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.chat_template.abilities import CAREFUL
from promptdsl.providers.chat_template.control_tokens import control_tokens
from promptdsl.providers.chat_template.fold import NO_FORM, fenced, folded
from promptdsl.providers.chat_template.media import CLASSES, OWN, address_of, media_part
from promptdsl.providers.chat_template.names import mended_keys, mended_name
from promptdsl.providers.chat_template.neutralise import break_tokens
from promptdsl.providers.chat_template.probe import probed
from promptdsl.providers.chat_template.request import ORIGIN, Templated
from promptdsl.providers.chat_template.run import render, render_open
from promptdsl.providers.chat_template.tools import lose_settings, tools_of
from promptdsl.providers.shared.blocks import lose_keys
from promptdsl.providers.shared.clean import arguments_of, utf8
from promptdsl.providers.shared.ids import call_id, result_id
from promptdsl.providers.shared.memory import Recall
from promptdsl.providers.shared.request import Param, Place
from promptdsl.providers.shared.two_sided import Dialect, add, finish, unwritten

_SPEAKERS = ("user", "assistant")


def _params(request: Templated, place: Place) -> list[Param]:
    """Return what a message says."""
    message = place.message
    params: list[Param] = []
    for block in message.content:
        param = _WRITERS.get(block.type, _unsaid)(request, place, block)
        params += [] if param is None else [param]
    name = message.details.name
    if name is not None and message.role != "tool":
        name = utf8(name)
        spoken = [param for param in params if param["type"] == "text"]
        why = "there is no text of a speaker that it could stand in"
        if message.role in _SPEAKERS and spoken:
            spoken[0]["text"] = f"{title(name)}: {spoken[0]['text']}"
            why = "templates drop it: the text begins with it"
        request.lose(place, "hint", f"name {name!r}", why)
    return params


def _unsaid(request: Templated, place: Place, block: Any) -> None:
    kind: LossKind = "hint" if block.type == "reasoning" else "content"
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    why = f"the template has no form for it in a {place.role} turn"
    request.lose(place, kind, f"{what} block", why)


def _text(request: Templated, place: Place, block: TextBlock) -> Param | None:
    _lose_hints(request, place, block)
    return {"type": "text", "text": utf8(block.text)} if block.text else None


def _lose_mark(request: Templated, place: Place, block: Any) -> None:
    if getattr(block, "cache", None) is not None:
        request.lose(place, "hint", "cache mark", "a template has none")


def _lose_hints(request: Templated, place: Place, block: Any) -> None:
    _lose_mark(request, place, block)
    lose_keys(request, place, block, service="a template")


def _media(request: Templated, place: Place, block: b.MediaBlock) -> Param | None:
    _lose_mark(request, place, block)
    role = place.role
    part = media_part(block, request.abilities.media) if role == "user" else None
    if part is None:
        _unsaid(request, place, block)
        return None
    if request.tokens.search(address_of(part)):
        why = "its address holds a token of the template"
        request.lose(place, "content", f"{block.type} block", why)
        return None
    lose_keys(request, place, block, service="a template", known=set(part) - OWN)
    for key, value in (("title", block.title), ("detail", block.detail)):
        if value is not None:
            request.lose(place, "hint", f"{key} {value!r}", "a part has none")
    return part


def _unknown(request: Templated, place: Place, block: b.UnknownBlock) -> Param | None:
    # A place for what the program holds; whatever else it says could be a file of the machine.
    kind, mine = block.data.get("type"), block.origin in (None, ORIGIN)
    user = place.role == "user" and isinstance(kind, str)
    shown = user and kind in request.abilities.media
    if shown and mine and len(block.data) == 1 and kind in CLASSES:
        return {"type": kind}
    _unsaid(request, place, block)
    return None


def _reasoning(request: Templated, place: Place, block: b.ReasoningBlock) -> Param | None:
    mine = place.role == "assistant" and block.origin in (None, ORIGIN)
    if not mine or not block.text or not request.abilities.reasoning:
        why = "of another provider, or the template shows none"
        request.lose(place, "hint", "reasoning", why)
        return None
    return {"type": "reasoning", "thought": utf8(block.text)}


def _call(request: Templated, place: Place, block: ToolUseBlock) -> Param | None:
    if place.role != "assistant":
        _unsaid(request, place, block)
        return None
    _lose_hints(request, place, block)
    name = mended_name(request, place, utf8(block.name))
    if not request.abilities.calls:
        return _fenced(request, place, "tool_use", name=name, text=utf8(block.arguments))
    mapping = request.abilities.mapping
    arguments = arguments_of(request, place, block) if mapping else utf8(block.arguments)
    if request.abilities.tag_keys and not isinstance(arguments, str):
        arguments = mended_keys(request, place, arguments)
    id = call_id(request, block.id, name)
    request.given[id] = utf8(block.id)
    return {"type": "call", "id": id, "name": name, "arguments": arguments}


def _result(request: Templated, place: Place, block: ToolResultBlock) -> Param | None:
    if place.role not in ("tool", "user"):
        _unsaid(request, place, block)
        return None
    _lose_hints(request, place, block)
    text = _result_text(request, place, block)
    if not request.abilities.calls or block.tool_use_id not in request.calls:
        name = utf8(block.name or "")
        return _fenced(request, place, "tool_result", name=name, text=text)
    id = result_id(request, block.tool_use_id)
    return {"type": "result", "id": id, "name": request.called[id], "text": text}


def _result_text(request: Templated, place: Place, block: ToolResultBlock) -> str:
    texts: list[str] = []
    for inner in block.content:
        if type(inner) is TextBlock:
            _lose_hints(request, place, inner)
            texts += [utf8(inner.text)] if inner.text else []
        else:
            why = "a template's result is text alone"
            request.lose(place, "content", f"{inner.type} block", why)
            _lose_mark(request, place, inner)
    if not block.is_error:
        return "\n\n".join(texts)
    why = "a template has none: the text says it"
    request.lose(place, "hint", "the error flag of a result", why)
    text = "\n\n".join(texts) or utf8(block.error_type or "unknown")
    return text if text.lower().startswith("error:") else f"Error: {text}"


def _fenced(request: Templated, place: Place, tag: str, *, name: str, text: str) -> Param:
    request.lose(place, "role", f"{tag} block", NO_FORM)
    return fenced(tag, name, text)


_WRITERS: Mapping[str, Callable[[Templated, Place, Any], Param | None]] = {
    "text": _text,
    "tool_use": _call,
    "tool_result": _result,
    "reasoning": _reasoning,
    "unknown": _unknown,
    **dict.fromkeys(MEDIA_KINDS, _media),
}
"""What writes each type of block; any other is a loss."""


class Payload(TypedDict):
    """What ``tokenizer.apply_chat_template`` takes of a prompt, and the text it makes of it.

    ``prompt`` is there when the template is known. It ends where the model begins to answer, or
    behind a last turn of the model, which it continues. It begins with the template's own
    ``bos_token``, so the tokenizer must not add another.
    """

    messages: list[dict[str, Any]]
    tools: NotRequired[list[dict[str, Any]]]
    prompt: NotRequired[str]


def write(
    prompt: Prompt,
    facts: ModelFacts,
    recall: Recall | None = None,  # noqa: ARG001 (all targets are told)
) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of a prompt, whose roles are mapped, and what the template cannot say.

    ``facts.template`` is the template; without one the messages are in the form that hardly any
    template refuses. ``recall`` is of no use: what is folded depends on what comes later. Raises
    :class:`TemplateError` with what the template says when it refuses.
    """
    template = facts.template
    if template is not None and prompt.tools:
        template = template.with_tools()
        facts = attrs.evolve(facts, template=template)
    request = _request(prompt, facts)
    tools = tools_of(request)
    for place in unwritten(request, 0, len(prompt.messages)):
        add(request, place, _params(request, place))
    finish(request)
    messages = folded(request)
    lose_settings(request)
    break_tokens(request, messages, tools)
    payload: Payload = {"messages": messages}
    if tools:
        payload["tools"] = tools
    if template is not None:
        payload["prompt"] = _prompt_text(request, template, messages, tools)
    return payload, tuple(request.losses)


def _request(prompt: Prompt, facts: ModelFacts) -> Templated:
    template = facts.template
    abilities = CAREFUL if template is None else probed(template)
    dialect = Dialect(
        "result",
        apart=True,
        trims=False,
        opens=bool(prompt.tools) or not (abilities.assistant_first and abilities.system),
    )
    return Templated(
        prompt,
        attrs.evolve(facts, instructions=False, prefill=True),
        dialect=dialect,
        abilities=abilities,
        tokens=control_tokens(template),
    )


def _prompt_text(
    request: Templated, template: ChatTemplate, messages: list[Param], tools: list[Param]
) -> str:
    given = tools or ([] if request.abilities.tools_list else None)
    last: Param = messages[-1] if messages else {}
    if last.get("role") == "assistant" and last["content"] and "tool_calls" not in last:
        text = render_open(template, messages, given)
        if text is not None:
            return text
        why = "the template does not print it so that it could be continued"
        request.losses.append(Loss("hint", "trailing assistant turn", why))
    return render(template, messages, given)
