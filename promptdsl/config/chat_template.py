"""The chat template of an open model: a Jinja text, and the special tokens that it writes.

:class:`ChatTemplate` comes after the checks of its fields.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import ContentError, OptionError, PromptError, nearest, shown
from promptdsl.foundation.frozen import EMPTY, frozen
from promptdsl.foundation.source import end_traceback, public_api

TOKENS = ("bos_token", "eos_token")
"""The special tokens for which a chat template has a field."""

MAX_SOURCE = 1_000_000
"""The maximum number of characters of a template."""

RESERVED = frozenset((*TOKENS, "messages", "tools", "add_generation_prompt", "strftime_now"))
"""The variables of a template that come from the prompt, or from another field."""


# A converter of attrs may not have a decorator, because mypy reads its types.


def _variables(pairs: Mapping[str, object] | Iterable[tuple[str, object]]) -> Mapping[str, object]:
    return _checked_variables(pairs)


def _special_tokens(texts: Iterable[str]) -> tuple[str, ...]:
    try:
        is_collection = isinstance(texts, Iterable) and not isinstance(texts, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        tokens: tuple[Any, ...] = tuple(texts) if is_collection else (texts,)  # Any: checked below
        for token in tokens:
            _check_text("a special token", token)
    except PromptError as error:
        end_traceback(error)
        raise
    return tokens


@public_api
def _checked_variables(
    pairs: Mapping[str, object] | Iterable[tuple[str, object]],
) -> Mapping[str, object]:
    """Return the variables as a frozen mapping.

    Raises :class:`ContentError` for a value that is not a mapping or pairs, and for a name that is
    not a string. Raises :class:`OptionError` for a variable that the prompt or an option sets.
    """
    try:
        variables = dict(pairs)
    except (TypeError, ValueError):
        raise ContentError(
            f"variables must be a mapping or pairs, not {shown(pairs)}",
            fix='write variables={"enable_thinking": False}',
        ) from None
    for name in variables:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ContentError(
                f"the name of a variable must be a string, not {shown(name)}",
                fix='write variables={"enable_thinking": False}',
            )
        if name in RESERVED:
            option = "now" if name == "strftime_now" else name
            fix = "the prompt sets it: choose another name"
            if option in (*TOKENS, "now"):
                fix = f"write {option}= instead"
            raise OptionError(f"{name!r} cannot be set in variables", fix=fix)
    frozen_variables: Mapping[str, object] = frozen(variables)
    return frozen_variables


@public_api
def _check_field(_: object, field: "attrs.Attribute[str]", value: object) -> None:
    _check_text(field.name, value)
    if field.name.endswith("source") and isinstance(value, str) and len(value) > MAX_SOURCE:
        raise ContentError(
            f"the chat template has more than {MAX_SOURCE:,} characters", fix="give a shorter one"
        )


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ContentError(
            f"{name} must be a string, not {type(value).__name__}",
            fix='leave it out if there is none, or write ""',
        )


@public_api
def _check_time(_: object, __: object, value: Any) -> None:  # Any: not checked yet
    if not isinstance(value, datetime | None):
        raise ContentError(
            f"now must be a datetime, not {type(value).__name__}",
            fix="write now=datetime(2026, 11, 21)",
        )


@attrs.frozen
class ChatTemplate:
    """A Jinja chat template, and the variables with which it is rendered.

    - ``source``: the template, at most 1,000,000 characters.
    - ``bos_token``, ``eos_token``: tokens of the tokenizer, ``""`` by default.
    - ``now``: the time for a template that reads the time; ``None`` by default. Then such a
      template raises an error, because the same prompt has to give the same text each time.
    - ``variables``: all other variables of the template, such as ``enable_thinking``, as a mapping
      or as pairs; none by default. They are author text, so control tokens in them are not changed.
    - ``special_tokens``: other control tokens of the tokenizer, ``()`` by default. A text cannot
      write one of them: promptdsl divides it into two pieces.
    - ``tool_source``: the template for prompts with tools, if it is another one; ``""`` by default.

    >>> from promptdsl import ChatTemplate, Timeline, User, render
    >>> template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    >>> render(Timeline(User("Hi.")), chat_template=template).to_chat_template()["prompt"]
    '<user>Hi.'

    Raises :class:`ContentError` for a value of a wrong type and for a source that is too long,
    :class:`OptionError` for a variable that the prompt or another option sets.
    """

    source: str = attrs.field(validator=_check_field)
    bos_token: str = attrs.field(default="", validator=_check_field)
    eos_token: str = attrs.field(default="", validator=_check_field)
    now: datetime | None = attrs.field(default=None, validator=_check_time)
    variables: Mapping[str, object] = attrs.field(default=EMPTY, converter=_variables, hash=False)
    special_tokens: tuple[str, ...] = attrs.field(default=(), converter=_special_tokens)
    tool_source: str = attrs.field(default="", validator=_check_field)

    @classmethod
    @public_api
    def of(cls, given: object, **options: Any) -> "ChatTemplate":  # Any: the fields of the class
        """Return the template of a text, or of a Hugging Face tokenizer or processor.

        ``options`` are fields, which replace those of the tokenizer. If a tokenizer has several
        templates, ``default`` is used, and ``tool_use`` for prompts with tools.

        Raises :class:`ContentError` for a tokenizer without a template and for a value of another
        type, :class:`OptionError` for an unknown option.
        """
        for name in options:
            if name not in _OPTIONS:
                raise OptionError(
                    f"a chat template has no option {name!r}", fix=nearest(name, _OPTIONS)
                )
        if isinstance(given, ChatTemplate):
            return attrs.evolve(given, **options)
        if isinstance(given, str):
            if _FILE_NAME.fullmatch(given):
                raise _not_a_text(given, f"Path({given!r})")
            return cls(given, **options)
        try:
            fields = _tokenizer_fields(given)
        except PromptError:
            raise
        except Exception as error:
            raise ContentError(
                f"the chat template of {type(given).__name__} cannot be read: {error}",
                fix="give its text: chat_template=tokenizer.chat_template",
            ) from None
        variables = {**fields["variables"], **_variables(options.get("variables", EMPTY))}
        fields.update(options)
        fields["variables"] = variables
        return cls(**fields)

    def with_tools(self) -> "ChatTemplate":
        """Return the template for prompts with tools: its source is ``tool_source``, if any."""
        return attrs.evolve(self, source=self.tool_source or self.source, tool_source="")


_OPTIONS = frozenset(field.name for field in attrs.fields(ChatTemplate)) - {"source"}
"""The options of :meth:`ChatTemplate.of`."""
_FILE_NAME = re.compile(r"[\w.-]*/[\w./-]*|[\w./\\:-]+\.(?:jinja2?|json|txt)")
"""A text that is probably a path, and not a template."""


def _not_a_text(value: object, path: str) -> ContentError:
    return ContentError(
        f"{str(value)!r} is the path of a chat template, not its text",
        fix=f"give its text: {path}.read_text(), or the tokenizer of the model",
    )


def _tokenizer_fields(value: object) -> dict[str, Any]:  # Any: each field has its own type
    """Return the fields of the chat template of a tokenizer, or raise :class:`ContentError`."""
    if isinstance(value, os.PathLike):
        raise _not_a_text(value, "path")  # pyright: ignore[reportUnknownArgumentType]
    tokenizer: Any = value  # Any: a tokenizer of any library
    templates_by_name: Mapping[str, object] = EMPTY
    source: object = None
    with suppress(AttributeError):
        source = tokenizer.chat_template
    if isinstance(source, Mapping):
        templates_by_name = cast("Mapping[str, object]", source)
        source = templates_by_name.get("default")
    if not isinstance(source, str):
        raise ContentError(
            f"a chat template is a Jinja text or a tokenizer that has one, not "
            f"{type(value).__name__}",
            fix="give its text: chat_template=tokenizer.chat_template",
        )
    # The processor of an image model contains the tokenizer.
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    special: dict[str, object] = dict(getattr(tokenizer, "special_tokens_map", None) or {})
    variables: dict[str, object] = {}
    for name, tokens in special.items():
        if name in RESERVED:
            continue
        variables[name] = str(tokens)
        if isinstance(tokens, list | tuple):
            variables[name] = [*map(str, cast("Sequence[object]", tokens))]
    return {
        "source": source,
        "tool_source": str(templates_by_name.get("tool_use") or ""),
        **{name: str(getattr(tokenizer, name, None) or "") for name in TOKENS},
        "variables": variables,
        "special_tokens": tuple(map(str, getattr(tokenizer, "all_special_tokens", None) or ())),
    }
