"""The chat template of an open model: a Jinja text, and what it prints that no message says."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

import attrs

from promptdsl.errors import ContentError, OptionError, nearest
from promptdsl.json_text import EMPTY, frozen

TOKENS = ("bos_token", "eos_token")
"""The tokens of a tokenizer that templates print."""


def _variables(given: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", frozen(dict(given)))


@attrs.frozen
class ChatTemplate:
    """A Jinja chat template, and the variables it is rendered with.

    ``bos_token`` and ``eos_token`` are the tokenizer's; a template prints nothing in their place
    when they are not given. ``now`` is the time a template is told when it asks for it; without it
    a template that cannot do without is refused, because the same prompt has to be the same text.
    ``variables`` are whatever else a template reads, such as ``enable_thinking``, as a mapping or
    as pairs.
    """

    source: str
    bos_token: str = ""
    eos_token: str = ""
    now: datetime | None = None
    variables: Mapping[str, Any] = attrs.field(default=EMPTY, converter=_variables, hash=False)

    @classmethod
    def of(cls, given: object, **more: Any) -> "ChatTemplate":
        """Return the template of a text, or of a Hugging Face tokenizer or processor.

        Of several templates it is the one called ``default``. Raises :class:`ContentError` for a
        tokenizer that has none, and for anything else; :class:`OptionError` for an unknown keyword.
        """
        for name in more:
            if name not in _OPTIONS:
                raise OptionError(
                    f"a chat template has no option {name!r}", fix=nearest(name, _OPTIONS)
                )
        if isinstance(given, ChatTemplate):
            return attrs.evolve(given, **more)
        if isinstance(given, str):
            return cls(given, **more)
        options: dict[str, Any] = {**_tokens_of(given), **more}
        return cls(_source_of(given), **options)


_OPTIONS = frozenset(field.name for field in attrs.fields(ChatTemplate)) - {"source"}


def _source_of(tokenizer: object) -> str:
    source: Any = getattr(tokenizer, "chat_template", None)
    if isinstance(source, Mapping):
        source = source.get("default")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if isinstance(source, str):
        return source
    raise ContentError(
        f"a chat template is a Jinja text or a tokenizer that has one, not "
        f"{type(tokenizer).__name__}",
        fix="give its text: chat_template=tokenizer.chat_template",
    )


def _tokens_of(tokenizer: object) -> dict[str, str]:
    # A processor of pictures holds its tokenizer.
    holder = getattr(tokenizer, "tokenizer", tokenizer)
    return {name: str(getattr(holder, name, None) or "") for name in TOKENS}
