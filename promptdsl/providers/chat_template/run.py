"""The rendering of a chat template: its text, its clock, and the errors that name its lines."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from promptdsl.config.chat_template import ChatTemplate
from promptdsl.foundation.errors import TemplateError
from promptdsl.foundation.frozen import thawed
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.request import Param

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WORD = re.compile("%[EO]?([%aAbBhpPcxXrs])")
_HALF = ("AM", "PM")


def told(now: datetime, format: str) -> str:
    """Return the time in the form of :meth:`datetime.strftime`, as in the locale ``C``.

    A time without a zone is counted in that of Greenwich.
    """
    return now.strftime(_WORD.sub(lambda match: _WORDS[match[1]](now), format))


def _seconds(now: datetime) -> str:
    zoned = now if now.tzinfo else now.replace(tzinfo=UTC)
    return str(int(zoned.timestamp()))


_WORDS: Mapping[str, Callable[[datetime], str]] = {
    "%": lambda _: "%%",
    "a": lambda now: _DAYS[now.weekday()][:3],
    "A": lambda now: _DAYS[now.weekday()],
    **dict.fromkeys("bh", lambda now: _MONTHS[now.month - 1][:3]),
    "B": lambda now: _MONTHS[now.month - 1],
    "p": lambda now: _HALF[now.hour // 12],
    "P": lambda now: _HALF[now.hour // 12].lower(),
    "c": lambda now: told(now, "%a %b %e %H:%M:%S %Y"),
    "x": lambda _: "%m/%d/%y",
    "X": lambda _: "%H:%M:%S",
    "r": lambda now: f"%I:%M:%S {_HALF[now.hour // 12]}",
    "s": _seconds,
}


class Clock:
    """The time as a template asks for it. It is a class so that printing it tells no address."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def __call__(self, format: str) -> str:
        """Return the time in the form of :func:`told`."""
        return told(self._now, format)

    def __repr__(self) -> str:
        return "strftime_now"


_END = "END_OF_WHAT_IS_CONTINUED "
"""Stands behind a text to be continued. A template that trims takes its last space."""


def render(
    template: ChatTemplate, messages: Sequence[Param], tools: Sequence[Param] | None = None
) -> str:
    """Return the text of a conversation, up to where the model begins to answer.

    Raises :class:`TemplateError` with what the template said when it refuses.
    """
    return _run(template, messages, tools, add_generation_prompt=True)


def render_open(
    template: ChatTemplate, messages: Sequence[Param], tools: Sequence[Param] | None = None
) -> str | None:
    """Return the text of a conversation up to the end of its last message, to be continued there.

    That is what ``continue_final_message`` of ``transformers`` does. ``None`` when the template
    does not print that message. Raises :class:`TemplateError` when it refuses.
    """
    *before, last = messages
    ended = {**last, "content": _ended(last["content"])}
    text = _run(template, [*before, ended], tools, add_generation_prompt=False)
    place = text.rfind(_END.strip())
    if place < 0:
        return None
    return text[:place] if text.startswith(_END, place) else text[:place].rstrip()


def _ended(content: Any) -> Any:
    if isinstance(content, str):
        return content + _END
    *parts, last = content
    return [*parts, {**last, "text": last["text"] + _END}]


def _run(
    template: ChatTemplate,
    messages: Sequence[Param],
    tools: Sequence[Param] | None,
    *,
    add_generation_prompt: bool,
) -> str:
    from promptdsl.providers.chat_template.jinja import compiled

    given = _given(template)
    try:
        text = compiled(template.source)(
            {
                "messages": [_aliased(entry) for entry in messages],
                "tools": tools,
                "documents": None,
                "add_generation_prompt": add_generation_prompt,
                **given,
            }
        )
    except Exception as error:
        raise _fault(template, error) from None
    return utf8(text)


def _given(template: ChatTemplate) -> dict[str, Any]:
    now = template.now
    clock = {} if now is None else {"strftime_now": Clock(now)}
    tokens = {"bos_token": template.bos_token, "eos_token": template.eos_token}
    return {**tokens, **clock, **thawed(template.variables)}


def _aliased(entry: Param) -> Param:
    # As transformers does: the template of gpt-oss reads what was thought under another name.
    thought = entry.get("reasoning_content")
    return entry if thought is None else {"thinking": thought, **entry}


def _fault(template: ChatTemplate, error: Exception) -> TemplateError:
    said = str(error)[:300] or type(error).__name__
    if "strftime_now" in said and template.now is None:
        return TemplateError(
            "the chat template asks for the time",
            fix="say which: ChatTemplate(source, now=datetime(2026, 11, 21))",
        )
    if isinstance(error, RecursionError):
        said = "it goes too deep"
    line = getattr(error, "lineno", None)
    place = "the chat template" if line is None else f"the chat template, line {line}"
    return TemplateError(f"{place}: {said}", fix=_way_out(template, error))


def _way_out(template: ChatTemplate, error: Exception) -> str:
    """Return what can be done about a fault, by who found it."""
    from promptdsl.providers.chat_template.jinja import Refusal, TooMuch, is_unread

    if is_unread(error):
        return "mend its Jinja: that is what transformers runs"
    if isinstance(error, RecursionError):
        return "give it what is nested less deep"
    if isinstance(error, TooMuch):
        return "have it print less"
    if isinstance(error, Refusal):
        return "say it in a form the template takes, or give another template"
    known: Mapping[str, Any] = template.variables
    return f"it is given the variables {', '.join(known)}" if known else "variables= gives it more"
