"""Writing: messages become those of a template, and its text."""

from typing import Any, NotRequired, TypedDict

import attrs

from promptdsl.adapters.chat_template.abilities import CAREFUL
from promptdsl.adapters.chat_template.control_tokens import control_tokens
from promptdsl.adapters.chat_template.engine import render, render_open
from promptdsl.adapters.chat_template.folding import folded
from promptdsl.adapters.chat_template.harmless import break_tokens
from promptdsl.adapters.chat_template.probing import probed
from promptdsl.adapters.chat_template.request import Templated
from promptdsl.adapters.chat_template.tools import lose_settings, tools_of
from promptdsl.adapters.chat_template.writing_blocks import params_of
from promptdsl.chat_templates import ChatTemplate
from promptdsl.losses import Loss
from promptdsl.models import ModelFacts
from promptdsl.prompts import Prompt
from promptdsl.wire.conversation import write_turns
from promptdsl.wire.memory import Recall
from promptdsl.wire.request import Param
from promptdsl.wire.turns import Dialect


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
    write_turns(request)
    tools = tools_of(request)
    messages = folded(request)
    lose_settings(request)
    break_tokens(request, messages, tools)
    payload: Payload = {"messages": messages}
    if tools:
        payload["tools"] = tools
    if template is not None:
        payload["prompt"] = _text(request, template, messages, tools)
    return payload, tuple(request.losses)


def _request(prompt: Prompt, facts: ModelFacts) -> Templated:
    template = facts.template
    abilities = CAREFUL if template is None else probed(template)
    dialect = Dialect(
        params=params_of,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        is_result=lambda param: param["type"] == "result",
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


def _text(
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
