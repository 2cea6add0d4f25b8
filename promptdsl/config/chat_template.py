"""The chat template of an open model: a Jinja text, and the special tokens it prints."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import ContentError, OptionError, PromptError, nearest
from promptdsl.foundation.frozen import EMPTY, frozen

TOKENS = ("bos_token", "eos_token")
"""The tokens of a tokenizer that have a field of their own."""

MAX_SOURCE = 1_000_000
"""Characters of a template."""

RESERVED = frozenset((*TOKENS, "messages", "tools", "add_generation_prompt", "strftime_now"))
"""The variables of a template that come from the prompt, or have a field of their own."""


def _variables(given: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    try:
        found = dict[Any, Any](given)
    except (TypeError, ValueError):
        raise ContentError(
            f"variables are a mapping or pairs, not {given!r:.60}",
            fix='write variables={"enable_thinking": False}',
        ) from None
    for name in found:
        _check_name(name)
    return cast("Mapping[str, Any]", frozen(found))


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ContentError(
            f"the name of a variable is a string, not {name!r:.60}",
            fix='write variables={"enable_thinking": False}',
        )
    if name in RESERVED:
        own = "now" if name == "strftime_now" else name
        here = name in TOKENS or own == "now"
        fix = f"write {own}= instead" if here else "the prompt says it: choose another name"
        raise OptionError(f"variables may not replace {name!r}", fix=fix)


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given)
    for text in found:
        _check_text("a special token", text)
    return found


def _text(_: object, field: "attrs.Attribute[Any]", value: object) -> None:
    _check_text(field.name, value)
    if field.name.endswith("source") and len(cast("str", value)) > MAX_SOURCE:
        raise ContentError(
            f"a chat template of more than {MAX_SOURCE:,} characters", fix="give a shorter one"
        )


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ContentError(
            f"{name} is a string, not {type(value).__name__}",
            fix='leave it out where there is none, or write ""',
        )


def _time(_: object, __: object, value: Any) -> None:
    if not isinstance(value, datetime | None):
        raise ContentError(
            f"now is a datetime, not {type(value).__name__}", fix="write now=datetime(2026, 11, 21)"
        )


@attrs.frozen
class ChatTemplate:
    """A Jinja chat template, and the variables it is rendered with.

    ``bos_token`` and ``eos_token`` are the tokenizer's; a template prints nothing in their place
    when they are not given. ``now`` is the time a template is told when it asks for it; without it
    a template that cannot do without is refused, because the same prompt has to be the same text.
    ``variables`` are whatever else a template reads, such as ``enable_thinking``, as a mapping or
    as pairs; they are author text, so their control tokens stay whole. ``special_tokens`` are
    further control tokens of the tokenizer, which are broken in all text. ``tool_source`` is the
    template of prompts with tools, where they have one of their own.
    """

    source: str = attrs.field(validator=_text)
    bos_token: str = attrs.field(default="", validator=_text)
    eos_token: str = attrs.field(default="", validator=_text)
    now: datetime | None = attrs.field(default=None, validator=_time)
    variables: Mapping[str, Any] = attrs.field(default=EMPTY, converter=_variables, hash=False)
    special_tokens: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    tool_source: str = attrs.field(default="", validator=_text)

    @classmethod
    def of(cls, given: object, **more: Any) -> "ChatTemplate":
        """Return the template of a text, or of a Hugging Face tokenizer or processor.

        Of several templates it is the one called ``default``, and ``tool_use`` for prompts with
        tools. Raises :class:`ContentError` for a tokenizer that has none, and for anything else;
        :class:`OptionError` for an unknown keyword.
        """
        for name in more:
            if name not in _OPTIONS:
                raise OptionError(
                    f"a chat template has no option {name!r}", fix=nearest(name, _OPTIONS)
                )
        if isinstance(given, ChatTemplate):
            return attrs.evolve(given, **more)
        if isinstance(given, str):
            return cls(_text_of(given), **more)
        return _of_tokenizer(cls, given, more)

    def with_tools(self) -> "ChatTemplate":
        """Return the template of prompts with tools."""
        return attrs.evolve(self, source=self.tool_source or self.source, tool_source="")


_OPTIONS = frozenset(field.name for field in attrs.fields(ChatTemplate)) - {"source"}
_NAME = re.compile(r"[\w.-]*/[\w./-]*|[\w./\\:-]+\.(?:jinja2?|json|txt)")


def _text_of(given: str) -> str:
    """Return the text of a template; a name or a path of one is refused."""
    if _NAME.fullmatch(given):
        raise _is_place(given, f"Path({given!r})")
    return given


def _is_place(given: object, path: str) -> ContentError:
    return ContentError(
        f"{str(given)!r} is where a chat template is, not its text",
        fix=f"give its text: {path}.read_text(), or the tokenizer it belongs to",
    )


def _of_tokenizer(
    cls: Callable[..., ChatTemplate], tokenizer: object, more: Mapping[str, Any]
) -> ChatTemplate:
    try:
        sources, held = _sources_of(tokenizer), _held(tokenizer)
    except PromptError:
        raise
    except Exception as error:
        raise ContentError(
            f"{type(tokenizer).__name__} does not tell its chat template: {error}",
            fix="give its text: chat_template=tokenizer.chat_template",
        ) from None
    held["variables"] = {**held["variables"], **_variables(more.get("variables", EMPTY))}
    return cls(**{**sources, **held, **{k: v for k, v in more.items() if k != "variables"}})


def _sources_of(tokenizer: object) -> dict[str, str]:
    if isinstance(tokenizer, os.PathLike):
        raise _is_place(tokenizer, "path")  # pyright: ignore[reportUnknownArgumentType]
    given: Any = getattr(tokenizer, "chat_template", None)
    named = cast("Mapping[str, Any]", given if isinstance(given, Mapping) else EMPTY)
    source = named.get("default") if named else cast("object", given)
    if not isinstance(source, str):
        raise ContentError(
            f"a chat template is a Jinja text or a tokenizer that has one, not "
            f"{type(tokenizer).__name__}",
            fix="give its text: chat_template=tokenizer.chat_template",
        )
    return {"source": source, "tool_source": str(named.get("tool_use") or "")}


def _held(tokenizer: object) -> dict[str, Any]:
    """Return the special tokens of a tokenizer: its own two, those by name, and all of them."""
    # A processor of pictures holds its tokenizer.
    holder = getattr(tokenizer, "tokenizer", tokenizer)
    by_name = dict(getattr(holder, "special_tokens_map", None) or {})
    tokens = {name: str(getattr(holder, name, None) or "") for name in TOKENS}
    told = {name: _plain(value) for name, value in by_name.items() if name not in RESERVED}
    listed = map(str, getattr(holder, "all_special_tokens", None) or ())
    return {**tokens, "variables": told, "special_tokens": tuple(listed)}


def _plain(value: Any) -> Any:
    return [str(token) for token in value] if isinstance(value, list | tuple) else str(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
