"""Losses: what a conversion to or from another library leaves out."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Literal, Self, TypeAlias

import attrs

from promptdsl import Block, DataError, Loss, Message, ReasoningBlock, Rendered, ToolDefinition
from promptdsl.foundation.unicode import is_valid_unicode, valid_unicode
from promptdsl.integrations import LazyLosses
from promptdsl.integrations.values import JSON, SIGNATURE, mapping_of, signature_of

LossKind: TypeAlias = Literal["content", "role"]
CacheMark: TypeAlias = Literal["default", "5m", "1h"]
_CACHE_MARKS: Mapping[str, CacheMark] = {"default": "default", "5m": "5m", "1h": "1h"}


class Conversion:
    """The losses of a conversion to ``library``, which is ``"promptdsl"`` when messages are read.

    ``index`` and ``message`` are those of the current message, ``None`` outside of messages.
    """

    def __init__(self, library: str, losses: tuple[Loss, ...] = ()) -> None:
        self.library = library
        self.losses = list(losses)
        self.rendered: Rendered | None = None
        self._starts = False
        """Whether the losses of the render come before those of the conversion."""
        self._locations: tuple[Message | None, dict[int, tuple[int, ...]]] = (None, {})
        """By id() of each block in the last message, the indices that lead to it."""
        self.index: int | None = None
        self.message: Message | None = None

    @classmethod
    def of(cls, library: str, rendered: Rendered, *, all_losses: bool = False) -> Self:
        """Return a conversion that begins with the losses of a render without a target.

        With ``all_losses`` it also begins with the losses of a render for a target.
        """
        conversion = cls(library)
        conversion.rendered = rendered
        conversion._starts = all_losses or rendered.facts.provider is None
        return conversion

    def located(self, error: DataError) -> DataError:
        """Return the error with the index of the current message."""
        return DataError(f"messages[{self.index}]: {error.what}", fix=error.fix)

    def hint(self, name: str, what: str, reason: str = "", *, block: Block | None = None) -> None:
        """Record a hint about the current message, or about a ``block`` in it."""
        self._record(Loss("hint", what, reason, name=name), block)

    def lose(self, kind: LossKind, what: str, reason: str = "", block: Block | None = None) -> None:
        """Record a loss of the current message, or of a ``block`` in it."""
        self._record(Loss(kind, what, reason), block)

    def _record(self, loss: Loss, block: Block | None) -> None:
        loss = loss if loss.why else attrs.evolve(loss, why=f"{self.library} does not support it")
        if self.rendered is None or self.message is None or self.index is None:
            path = "" if self.index is None else f"messages[{self.index}]"
            self.losses.append(attrs.evolve(loss, path=path, message=self.message))
        else:
            if self._locations[0] is not self.message:
                locations: dict[int, tuple[int, ...]] = {}
                for index, outer in enumerate(self.message.content):
                    locations.setdefault(id(outer), (index,))
                    for number, inner in enumerate(getattr(outer, "content", ())):
                        locations.setdefault(id(inner), (index, number))
                self._locations = self.message, locations
            at = (self.index, *self._locations[1].get(id(block), ()))
            self.losses.append(attrs.evolve(loss, message=self.message, at=at))

    def lose_block(self, block: Block) -> None:
        """Record a block that the other library does not support."""
        what = f"a block of type {block.to_dict().get('type', block.type)!r}"
        if isinstance(block, ReasoningBlock):
            self.hint("unsent_reasoning", what, block=block)
        else:
            self.lose("content", what, block=block)

    def lose_hints(self, block: Block, *kept: str) -> None:
        """Record hints for the fields of a block other than its content, except the ``kept`` ones.

        ``kept`` may also contain keys in ``extra``. ``SIGNATURE`` is kept only if it is a signature
        of Gemini.
        """
        for field, (name, what) in _HINTS.items():
            value: object = getattr(block, field, None)
            if field == "extra":
                unsigned = {SIGNATURE} if signature_of(block) is None else set[str]()
                value = set(mapping_of(value)) - ({JSON, *kept} - unsigned)
            if value and field not in kept:
                self.hint(name, what, block=block)

    def renamed_counts(
        self, counts: Mapping[str, object], names: Mapping[str, str]
    ) -> dict[str, int]:
        """Return token counts by other names.

        Counts that get the same name are added. A count without another name is a hint.
        """
        renamed: dict[str, int] = {}
        for name, count in counts.items():
            if name in names and type(count) is int:
                renamed[names[name]] = renamed.get(names[name], 0) + count
            elif count:
                self.hint("unsent_key", f"the token count {name!r}")
        return renamed

    def lose_settings(self, rendered: Rendered) -> None:
        """Record the settings of a prompt that the other library takes with its call."""
        self.index = self.message = None
        for setting in ("tool_choice", "output"):
            is_text = setting == "output" and rendered.output_mode == "prompted"
            if getattr(rendered, setting) is not None and not is_text:
                reason = f"{self.library} takes it with the call, not with messages"
                self.hint("unsent_setting", setting, reason)

    def clean(self, text: str, name: str) -> str:
        """Return a text with U+FFFD in place of lone surrogates; a hint names such a text."""
        clean, is_changed = valid_unicode(text)
        if is_changed:
            reason = "it has no UTF-8 form: U+FFFD is sent"
            self.hint("lone_surrogate", f"a lone surrogate in {name}", reason)
        return clean

    def clean_optional(self, text: str | None, name: str = "a name") -> str | None:
        """Return the same as :meth:`clean`, and ``None`` for ``None``."""
        return None if text is None else self.clean(text, name)

    def clean_json(self, text: str, name: str = "arguments") -> str:
        """Return the same as :meth:`clean` for a JSON text, in which surrogates may be escaped."""
        return self.clean(_ESCAPE.sub(_unescaped, text), name)

    def clean_id(self, id: str) -> str:
        """Return an id without lone surrogates; a digest keeps a changed id unique."""
        if is_valid_unicode(id):
            return id
        digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{valid_unicode(id)[0]}_{digest[:32]}"

    def portable_tools(self, rendered: Rendered) -> list[ToolDefinition]:
        """Return the tools. Those that only one provider has are lost."""
        self.lose_settings(rendered)
        for tool in rendered.tools:
            if tool.raw is not None:
                what, why = f"the tool {tool.name!r}", f"only {tool.origin} has it"
                self.losses.append(Loss("content", what, why, f"tools/{tool.name}", tool.source))
                continue
            if tool.cache:
                self.hint("cache_mark", f"the cache mark of the tool {tool.name!r}")
            if tool.extra:
                self.hint("unsent_key", f"further keys of the tool {tool.name!r}")
        return [tool for tool in rendered.tools if tool.raw is None]

    def read_cache(self, control: object) -> CacheMark | None:
        """Return the cache mark of a ``cache_control``; an unknown one is a hint."""
        if control is None:
            return None
        entries = mapping_of(control)
        mark = _CACHE_MARKS.get(str(entries.get("ttl", "default")))
        if mark is None or entries.get("type") != "ephemeral":
            self.hint("cache_mark", "a cache mark", "its type is unknown")
            return None
        return mark

    def checked(self, *, strict: bool) -> LazyLosses:
        """Return a function that returns the losses with the author's lines.

        With ``strict`` it is called at once, and :class:`LossError` is raised for a loss that is
        not a hint. Content of the author that is lost is a :class:`LostContentWarning`.
        """
        losses = partial(_located, self.rendered, tuple(self.losses), starts=self._starts)
        located = strictly(losses, self.library) if strict else losses
        if self.rendered is not None:
            self.rendered._warn_of(self.losses)
        return located


def strictly(losses: Callable[[], tuple[Loss, ...]], library: str) -> tuple[Loss, ...]:
    """Return the losses; :class:`LossError` for a loss that is not a hint."""
    located = losses()
    fix = "change the prompt, or leave out strict=True"
    Loss.refuse(located, f"sent to {library}", fix=fix)
    return located


def _located(
    rendered: Rendered | None, losses: tuple[Loss, ...], *, starts: bool
) -> tuple[Loss, ...]:
    """Return losses with the author's lines; with ``starts`` those of the render come first."""
    if rendered is None:
        return losses
    first = (*rendered.losses, *rendered.hints) if starts else ()
    return rendered.located((*first, *losses))


_HINTS = {
    "cache": ("cache_mark", "a cache mark"),
    "title": ("media_field", "the title of an attachment"),
    "detail": ("media_field", "the detail of an attachment"),
    "error_type": ("error_flag", "the type of an error"),
    "extra": ("unsent_key", "further keys of a block"),
}
"""By field of a block other than its content, the name of a hint and what is left out."""
# Two escapes of a pair are one character. An escaped backslash does not begin an escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _unescaped(escape: re.Match[str]) -> str:
    """Return a lone surrogate for its escape, and any other escape unchanged."""
    return "\ud800" if escape[1] else escape[0]
