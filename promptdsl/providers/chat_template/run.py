"""Render a chat template, with the current time if needed; errors name the template's line."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from promptdsl.config.chat_template import ChatTemplate
from promptdsl.foundation.errors import TemplateError
from promptdsl.foundation.frozen import thawed
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.request import Param

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_LOCAL_DIRECTIVE = re.compile("%[EO]?([%aAbBhpPcxXrs])")
"""A directive of ``strftime`` whose text depends on the locale or the time zone."""


def formatted_time(now: datetime, format: str) -> str:
    """Return the text of ``strftime`` in the locale ``C``; a time without a zone is in UTC."""
    day, month = _DAYS[now.weekday()], _MONTHS[now.month - 1]
    half = "PM" if now.hour >= 12 else "AM"
    zoned = now if now.tzinfo else now.replace(tzinfo=UTC)
    directives = {
        "%": "%%",
        "a": day[:3],
        "A": day,
        "b": month[:3],
        "h": month[:3],
        "B": month,
        "p": half,
        "P": half.lower(),
        "c": f"{day[:3]} {month[:3]} %e %H:%M:%S %Y",
        "x": "%m/%d/%y",
        "X": "%H:%M:%S",
        "r": f"%I:%M:%S {half}",
        "s": str(int(zoned.timestamp())),
    }
    return now.strftime(_LOCAL_DIRECTIVE.sub(lambda match: directives[match[1]], format))


def call_param(id: str, name: str, arguments: Param | str) -> Param:
    """Return a call as it is in a conversation."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_param(name: str, description: str, parameters: Param) -> Param:
    """Return the definition of a tool as it is in a conversation."""
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def render(
    template: ChatTemplate,
    messages: Sequence[Param],
    tools: Sequence[Param] | None = None,
    *,
    add_generation_prompt: bool = True,
) -> str:
    """Return the text of a conversation, by default up to the beginning of the next answer.

    Raises :class:`TemplateError` with the template's own message if the template refuses it.
    """
    from promptdsl.providers.chat_template.jinja import compiled

    variables: dict[str, object] = {
        # The template of gpt-oss reads reasoning under the key "thinking".
        "messages": [
            {"thinking": message["reasoning_content"], **message}
            if message.get("reasoning_content") is not None
            else message
            for message in messages
        ],
        "tools": tools,
        "documents": None,
        "add_generation_prompt": add_generation_prompt,
        "bos_token": template.bos_token,
        "eos_token": template.eos_token,
        **thawed(template.variables),
    }
    if template.now is not None:
        variables.setdefault("strftime_now", partial(formatted_time, template.now))
    try:
        text = compiled(template.source)(variables)
    except Exception as error:
        raise _fault(template, error) from None
    return utf8(text)


_END = "END_OF_CONTINUED_TEXT "
"""A word at the end of a text to be continued. Templates that trim texts remove its space."""


def render_open(
    template: ChatTemplate, messages: Sequence[Param], tools: Sequence[Param] | None = None
) -> str | None:
    """Return the text of a conversation up to the end of its last message, to be continued there.

    ``continue_final_message`` of ``transformers`` does the same. Returns ``None`` if the template
    does not print that message. Raises :class:`TemplateError` if it refuses the conversation.
    """
    *before, last = messages
    content: str | list[Param] = last["content"]
    if isinstance(content, str):
        content += _END
    elif content[-1]["type"] == "text":
        *parts, part = content
        content = [*parts, {**part, "text": part["text"] + _END}]
    else:
        content = [*content, {"type": "text", "text": _END}]
    with_end = {**last, "content": content}
    text = render(template, [*before, with_end], tools, add_generation_prompt=False)
    end = text.rfind(_END.strip())
    if end < 0:
        return None
    return text[:end] if text.startswith(_END, end) else text[:end].rstrip()


def _fault(template: ChatTemplate, error: Exception) -> TemplateError:
    """Return the error for an exception in a template, with the line and advice."""
    from jinja2 import TemplateSyntaxError

    from promptdsl.providers.chat_template.jinja import Refusal, TooMuch

    message = str(error)[:300] or type(error).__name__
    if "strftime_now" in message and template.now is None:
        return TemplateError(
            "the chat template asks for the time",
            fix="give it: ChatTemplate(source, now=datetime(2026, 11, 21))",
        )
    fix = "give it more with variables="
    if template.variables:
        fix = f"it has the variables {', '.join(template.variables)}"
    if isinstance(error, TemplateSyntaxError):
        fix = "correct its Jinja, which transformers would refuse too"
    elif isinstance(error, RecursionError):
        message, fix = "it goes too deep", "give it data that is nested less deeply"
    elif isinstance(error, TooMuch):
        fix = "make it print less"
    elif isinstance(error, Refusal):
        fix = "write it in a way that the template takes, or use another template"
    line = getattr(error, "lineno", None)
    where = "the chat template" if line is None else f"the chat template, line {line}"
    return TemplateError(f"{where}: {message}", fix=fix)
